/* Quantisation: from real numbers to integers of at most 16 bits, and back. All quantising operators share it. */
#ifndef TPAT_OPS_QUANTIZE_H
#define TPAT_OPS_QUANTIZE_H

#include "ops/lower/lower.h"

#define TS_Q8 (TS(I8) | TS(U8))
#define TS_QUANTIZED (TS_Q8 | TS(I16) | TS(U16) | TS_F8 | TS_PACKED) /* the types ONNX quantises to */

/* saturate(round(scaled) + zero) in type `t`, rounding half to even. `scaled` is f32; `zero` is of an integer type, or
 * null. */
expr quantize_element(expr scaled, expr zero, enum type t);

/* The u8 quantisation of x from its own range, which always includes 0:
 *   high = max(0, max x), low = min(0, min x), scale = (high - low) / 255, or 1 if that is 0
 *   zero = round(saturate(0 - low / scale))
 * The range is taken over the axes of s after the first `rank`; scale and zero point have those first axes. Every step
 * is one f32 operation. `name`: the names of high, low, scale and zero. */
struct quantize_range {
	struct value scale, zero; /* f32, u8 */
};
struct quantize_range quantize_range(struct lower *l, const char *const name[4], const struct space *s, int rank,
                                     expr x);

/* Lower functions of QuantizeLinear and DequantizeLinear, with the attributes QUANTIZE_PLACE and QUANTIZE_TYPE;
 * QuantizeLinear also reads "saturate" and "precision". */
int quantize_lower(struct lower *l);
int dequantize_lower(struct lower *l);
#define QUANTIZE_PLACE \
	ATTR_INT("axis", 1, "the axis that a list of scales belongs to"), \
	        ATTR_INT("block_size", 0, "elements along the axis that share a scale, where it has the input's axes")
#define QUANTIZE_TYPE ATTR_INT("output_dtype", 0, "the result's type, as a number of TensorProto.DataType")

#endif
