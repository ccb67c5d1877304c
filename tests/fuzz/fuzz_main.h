/* Shared by the fuzz targets: the target function's declaration, and findings. libFuzzer has its own main(); without it
 * replay.c runs the function on files. */
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

/* Reports a finding and ends the process. */
_Noreturn static inline void finding(const char *what, const char *text)
{
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

/* A finding: a failure without a sentence, or a bug by the library's own advice. The text itself may contain anything,
 * as names from the input. */
static inline void look_at(const struct err *e)
{
	static const char *const bugs[] = { "This is a bug in tpat", "Please report it with the model" };
	if (!e->text[0])
		finding("a failure without a sentence", "");
	for (int i = 0; i < 2; i++)
		if (strncmp(e->advice, bugs[i], strlen(bugs[i])) == 0)
			finding("a bug", e->text);
}

/* CPU time, which does not depend on the machine's load. */
enum { MOST_SECONDS = 10 };

static inline void too_slow(int number)
{
	(void)number;
	finding("it takes too long", "");
}

/* Makes it a finding if the run takes more than MOST_SECONDS from here on. Each call restarts the limit. */
static inline void limit_time(void)
{
	struct itimerval t = { .it_value = { .tv_sec = MOST_SECONDS } };
	signal(SIGPROF, too_slow);
	setitimer(ITIMER_PROF, &t, NULL);
}

#endif
