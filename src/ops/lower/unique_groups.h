/* The distinct elements of a tensor, or its distinct slices along an axis, as groups of equal ones. -0 equals 0. NaNs
 * are one element; slices with a NaN are all distinct, as in numpy.unique, which ONNX refers to. The number of groups
 * is known only at run time. */
#ifndef TPAT_OPS_UNIQUE_GROUPS_H
#define TPAT_OPS_UNIQUE_GROUPS_H

#include "ops/lower/lower.h"

struct unique {
	struct value values; /* one element a group, [groups]; or one slice: x's shape with extent [groups] along the
	                        axis */
	struct value first;  /* i64[groups]: the position of the first element or slice of each group */
	struct value which;  /* i32[n]: the group of each element (flattened) or slice */
	struct value count;  /* i64[groups]: the number of equal ones */
};
/* `axis` is the axis of the slices; negative: elements. Groups are in ascending order (slices lexicographically), or
 * without `sorted` in the order of their first elements. Fails on more than 2^31 - 1 elements, and on slices without
 * elements. */
int unique_groups(struct lower *l, struct value x, int axis, bool sorted, struct unique *out);
/* The field `which` as the operators return it, i64[n]. */
struct value unique_positions(struct lower *l, const char *name, const struct unique *u);

#endif
