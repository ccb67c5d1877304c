/* In which range the integers of a program's tensors index, or are compared with indices: what the program says of the
 * values that its inputs may have. */
#ifndef TPAT_CHECK_INDEX_RANGE_H
#define TPAT_CHECK_INDEX_RANGE_H

#include "ir/ir.h"

struct index_range {
	expr limit;    /* values are below it; over symbols. Null: the buffer's elements index nothing */
	bool negative; /* down to -limit: those count from the end */
};

/* One for each buffer of the program, by id, in `a`. Of several uses as an index the smallest limit counts,
 * of several comparisons the largest. */
struct index_range *index_ranges(const struct ir_program *p, struct arena *a);

#endif
