/* Shared by fuzz targets: the target function, and what counts as a finding. libFuzzer brings its own main(); without
 * it replay.c runs the function on files. */
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

/* Findings: a failure without a sentence, or one that the library reports as a bug. Tests the advice for that, since
 * the text may contain names from the input. */
static inline void look_at(const struct err *e)
{
	static const char *const bugs[] = { "This is a bug in tpat", "Please report it with the model" };
	if (!e->text[0])
		finding("a failure without a sentence", "");
	for (int i = 0; i < 2; i++)
		if (strncmp(e->advice, bugs[i], strlen(bugs[i])) == 0)
			finding("a bug", e->text);
}

/* Processor time, which does not depend on the machine's load. */
enum { MOST_SECONDS = 10 };

static inline void too_slow(int number)
{
	(void)number;
	finding("it takes too long", "");
}

/* Starts a limit of MOST_SECONDS, beyond which is a finding. The next call restarts it. */
static inline void limit_time(void)
{
	struct itimerval t = { .it_value = { .tv_sec = MOST_SECONDS } };
	signal(SIGPROF, too_slow);
	setitimer(ITIMER_PROF, &t, NULL);
}

#endif
