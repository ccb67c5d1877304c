/* What fuzz targets share: the function that each of them is, and what is a finding. With libFuzzer the program is its
 * own; else replay.c runs the function on files. */
#ifndef TPAT_TESTS_FUZZ_FUZZ_MAIN_H
#define TPAT_TESTS_FUZZ_FUZZ_MAIN_H

#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process: a finding. */
_Noreturn static inline void finding(const char *what, const char *text)
{
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

/* A failure without a sentence, or one that the library itself calls a bug. */
static inline void look_at(const struct err *e)
{
	if (!e->text[0])
		finding("a failure without a sentence", "");
	if (strstr(e->text, "bug in tpat") || strstr(e->advice, "bug in tpat"))
		finding("a bug", e->text);
}

/* Processor time, which does not depend on what else the machine does. */
enum { MOST_SECONDS = 10 };

static inline void too_slow(int number)
{
	(void)number;
	finding("it takes too long", "");
}

/* From here on MOST_SECONDS: more is a finding. The next call begins anew. */
static inline void limit_time(void)
{
	struct itimerval t = { .it_value = { .tv_sec = MOST_SECONDS } };
	signal(SIGPROF, too_slow);
	setitimer(ITIMER_PROF, &t, NULL);
}

#endif
