/* Ranges of integer tensors that a program uses as indices or compares with indices. They tell which values its inputs
 * may have. */
#ifndef TPAT_CHECK_INDEX_RANGE_H
#define TPAT_CHECK_INDEX_RANGE_H

#include "ir/ir.h"

struct index_range {
	expr limit;    /* exclusive upper bound, over symbols; null: not used as an index */
	bool negative; /* values from -limit on are valid and count from the end */
};

/* Returns one for each buffer of the program, by id, in `a`. Takes the smallest limit of several uses as an index, the
 * largest of several comparisons. */
struct index_range *index_ranges(const struct ir_program *p, struct arena *a);

#endif
