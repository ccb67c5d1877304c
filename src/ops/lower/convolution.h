/* Convolutions in the forms that ONNX and com.microsoft define. Data have the axes n, c, o...; or n, o..., c, see
 * window_channels_last(). Weights are [m, c / group, k...]. */
#ifndef TPAT_OPS_CONVOLUTION_H
#define TPAT_OPS_CONVOLUTION_H

#include "ops/lower/window.h"

/* Lower functions of Conv (inputs x, w, bias), ConvInteger (x, w and their zero points) and QLinearConv, with the
 * inputs' order and the attributes of ONNX. */
int convolution_lower(struct lower *l);
int convolution_integer_lower(struct lower *l);
int convolution_qlinear_lower(struct lower *l);

/* As convolution_lower(), with a last step; see lower_finish. */
int convolution_fused(struct lower *l, lower_finish finish);

/* Makes output 0, the transposed convolution of inputs 0 (x) and 1 (w). The padding is input number `pads`, or the
 * attribute pads if that is negative; the bias is input number `bias`. */
int convolution_transposed(struct lower *l, int pads, int bias);

#define GROUP_ATTR ATTR_INT("group", 1, "groups of channels that do not mix")

#endif
