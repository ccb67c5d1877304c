/* SPDX-License-Identifier: Apache-2.0 */
/* rt_log.c: writes one line to the log of the calling TensorRT. Finder and logger changed their form in TensorRT 11, so
 * the version of the finder's library is read first. Without TensorRT (in tpat's own hosts), the line goes to the
 * device's log, or else to stderr: no failure is silent. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr, dl_iterate_phdr */
#endif
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include "rt_tensorrt.h"

void *rt_finder;

static void (*device_log)(void *user, int severity, const char *line);
static void *device_user;

void tpat_rt_set_device(const struct tpat_rt_device *d)
{
	char why[RT_WHY];

	if (rt_device_set(d, why)) {
		rt_log(NULL, TRT_LOG_ERROR, "tpat_rt_set_device: %s", why);
		return;
	}
	device_log = d ? d->log : NULL;
	device_user = d ? d->log_user : NULL;
}

/* Returns the logger and its form: through TensorRT's finder (null: it has none yet), or the global one if TensorRT did
 * not load the library. */
static void *find_logger(int *form)
{
	if (rt_finder) {
		*form = trt_form(rt_tensorrt_version(rt_finder));
		if (*form == 11)
			return TRT_CALL(rt_finder, trt_finder_11, find);
		return *form ? TRT_CALL(rt_finder, trt_finder_10, find) : NULL;
	}
	void *(*get)(void) = NULL;
	*(void **)&get = dlsym(RTLD_DEFAULT, "getLogger");
	*form = get ? trt_form(rt_tensorrt_version(NULL)) : 0;
	return *form ? get() : NULL;
}

void rt_log(const struct tpat_rt_plugin *p, int severity, const char *format, ...)
{
	char line[TRT_MAX_STRING];
	va_list ap;
	int form = 0;

	int n = p ? snprintf(line, sizeof line, "tpat plugin %s: ", p->name ? p->name : "?")
	          : snprintf(line, sizeof line, "tpat library %s: ", tpat_library.model ? tpat_library.model : "?");
	if (n < 0 || n >= (int)sizeof line)
		n = 0;
	va_start(ap, format);
	vsnprintf(line + n, sizeof line - (size_t)n, format, ap);
	va_end(ap);

	void *logger = find_logger(&form);
	if (logger && form == 11)
		TRT_CALL(logger, trt_logger_11, log, severity, line);
	else if (logger)
		TRT_CALL(logger, trt_logger_10, log, severity, line);
	else if (device_log)
		device_log(device_user, severity, line);
	else
		fprintf(stderr, "%s\n", line);
}

int32_t rt_fail(const struct tpat_rt_plugin *p, const char *method, const char why[RT_WHY])
{
	rt_log(p, TRT_LOG_ERROR, "%s: %s", method, why);
	return -1;
}
