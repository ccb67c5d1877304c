/* Convolutions, which ONNX and com.microsoft define in several forms. The data have the axes n, c, o..., or n, o..., c
 * where the operator's name begins with "Nhwc" or its attribute channels_last is set; weights are m, c / group, k... */
#ifndef TPAT_OPS_CONVOLUTION_H
#define TPAT_OPS_CONVOLUTION_H

#include "ops/lower/window.h"

/* Lower functions: of Conv (x, w, bias), ConvInteger (x, w and their zero points) and QLinearConv, with the order of
 * inputs and the attributes that ONNX gives them. */
int convolution_lower(struct lower *l);
int convolution_integer_lower(struct lower *l);
int convolution_qlinear_lower(struct lower *l);

/* As convolution_lower(), with a last step. */
int convolution_fused(struct lower *l, lower_finish finish);

/* Makes the output of a transposed convolution of inputs 0 and 1. The padding is input `pads`, or the attribute pads
 * when that is negative; the bias is input `bias`. */
int convolution_transposed(struct lower *l, int pads, int bias);

#define GROUP_ATTR ATTR_INT("group", 1, "groups of channels that do not mix")

#endif
