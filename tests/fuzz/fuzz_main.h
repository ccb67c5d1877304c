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

/* A failure without a sentence, or one that the library itself calls a bug: its advice says so, since names from the
 * input may say anything in the text. */
static inline void look_at(const struct err *e)
{
	static const char *const bugs[] = { "This is a bug in tpat", "Please report it with the model" };
	if (!e->text[0])
		finding("a failure without a sentence", "");
	for (int i = 0; i < 2; i++)
		if (strncmp(e->advice, bugs[i], strlen(bugs[i])) == 0)
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
