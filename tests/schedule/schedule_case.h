/* Stages that every applicable rule must run in all its ways, listed in *_cases.h of this folder. `shapes`: values of
 * symbols, one set per line. Names of inputs determine their values: t_... has ties and NaNs (integers: ties), n_...
 * small integers to index with, others any numbers. */
#ifndef TPAT_TESTS_SCHEDULE_CASE_H
#define TPAT_TESTS_SCHEDULE_CASE_H

struct schedule_case {
	const char *name, *program;
	const char *shapes[6]; /* "N=5 K=7" */
};

#endif
