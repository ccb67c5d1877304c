/* The arithmetic of sliding windows, shared by convolutions and poolings: extents of the result, positions in the
 * input, and the condition that they are not in the padding. Spatial axes are the input's axes from 2 on. */
#ifndef TPAT_OPS_WINDOW_H
#define TPAT_OPS_WINDOW_H

#include "ops/lower/lower.h"

struct window {
	int n; /* spatial axes */
	expr in[IR_MAX_RANK], out[IR_MAX_RANK], kernel[IR_MAX_RANK];
	int64_t stride[IR_MAX_RANK], dilation[IR_MAX_RANK];
	expr before[IR_MAX_RANK], after[IR_MAX_RANK]; /* padding */
};

#define WINDOW_ATTRS \
	ATTR_INTS("kernel_shape", "extents of the window"), \
	        ATTR_INTS("strides", "steps of the window; 1 when absent"), \
	        ATTR_INTS("dilations", "steps inside the window; 1 when absent"), \
	        ATTR_INTS("pads", "padding before each spatial axis, then after each; 0 when absent"), \
	        ATTR_WORD("auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID", \
	                  "SAME: as many windows as steps fit, padded around; VALID: no padding")

/* Reads strides, dilations, pads and auto_pad of the node with input x. `kernel`: the extents of the window. With
 * `ceil` the last window may extend past the end, but must start inside the input or the padding before it. */
int window_read(struct lower *l, struct value x, int n, const expr *kernel, bool ceil, struct window *out);
/* The attribute kernel_shape as extents. */
int window_kernel(struct lower *l, int n, expr *kernel);

/* True if the operator's data have their channels as the last axis: its attribute channels_last or, if its op_def has
 * none, its name ("Nhwc...") says so. */
bool window_channels_last(struct lower *l);
/* For data whose channels are the last axis: x with the channels' extent moved to axis 1, for its extents only; and
 * the function that brings an index of such an element back into the real order. */
struct value window_channels_first(struct lower *l, struct value x);
void window_move_channel(int rank, expr *index);

/* The input position along spatial axis i for window `o` and place `k` in it; and the condition that all n positions
 * are inside. */
expr window_position(const struct window *w, int i, expr o, expr k);
expr window_inside(const struct window *w, const expr *position);
/* The number of places of window `o` along axis i that lie in the input, or with `padded` in the input and its
 * padding. */
expr window_count(const struct window *w, int i, expr o, bool padded);

#endif
