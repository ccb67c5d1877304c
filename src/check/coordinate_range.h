/* Ranges of float tensors whose elements become positions along an axis, such as the corners of regions. They tell
 * which values of an input reach the whole axis. */
#ifndef TPAT_CHECK_COORDINATE_RANGE_H
#define TPAT_CHECK_COORDINATE_RANGE_H

#include "ir/ir.h"

/* Positions 0 .. limit - 1 come from values of `low` to low + step * limit. */
struct coordinate_range {
	expr limit; /* an extent; null: no element is known to become a position */
	double low, step;
};

/* Returns one for each buffer of the program, by id, in `a`. Of several uses the range contains each, with the largest
 * limit. Values that are added to positions of the result, such as offsets, have no range. */
struct coordinate_range *coordinate_ranges(const struct ir_program *p, struct arena *a);

#endif
