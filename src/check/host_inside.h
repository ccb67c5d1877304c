/* What host.c and host_engine.c share: the library as it was opened. */
#ifndef TPAT_CHECK_HOST_INSIDE_H
#define TPAT_CHECK_HOST_INSIDE_H

#include <pthread.h>

#include "base/str.h"
#include "check/host.h"

/* ILogger and ILoggerFinder in one object each; which table they carry depends on the version that the host imitates.
 */
struct host_object {
	const void *vptr;
	struct host *host;
};

struct host {
	struct arena *arena;
	void *handle;
	const char *path;
	bool pass_shape_inputs;
	void *const *creator;
	int32_t creators;
	struct host_object logger, finder;
	pthread_mutex_t lock; /* of the log: plugins may log from several threads */
	struct str log;
	void *const *(*get_creators)(int32_t *);
};

/* Null matches all. */
bool host_matches(const char *want, const char *got);

#endif
