/* Programs that every rule must run with each of its choices, listed in *_cases.h of this folder. `shapes`: values of
 * symbols, one set per line. Names of inputs decide their contents: t_... has ties and NaNs (integers: ties), n_...
 * small integers to index with, others any numbers. */
#ifndef TPAT_TESTS_SCHEDULE_CASE_H
#define TPAT_TESTS_SCHEDULE_CASE_H

struct schedule_case {
	const char *name, *program;
	const char *shapes[6]; /* "N=5 K=7" */
};

#endif
