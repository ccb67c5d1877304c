/* The step from a real number to an integer of 16 bits or less that all quantising operators share. */
#ifndef TPAT_OPS_QUANTIZE_H
#define TPAT_OPS_QUANTIZE_H

#include "ops/lower/lower.h"

#define TS_Q8 (TS(I8) | TS(U8))
#define TS_QUANTIZED (TS_Q8 | TS(I16) | TS(U16) | TS_F8 | TS_PACKED) /* what ONNX quantises to */

/* saturate(round(scaled) + zero) in type `t`; halves to even. `scaled` is f32; `zero` of an integer type, or null. */
expr quantize_element(expr scaled, expr zero, enum type t);

/* Lower functions of QuantizeLinear and DequantizeLinear, with the attributes QUANTIZE_PLACE and QUANTIZE_TYPE;
 * QuantizeLinear also reads "saturate" and "precision". */
int quantize_lower(struct lower *l);
int dequantize_lower(struct lower *l);
#define QUANTIZE_PLACE \
	ATTR_INT("axis", 1, "the axis that a list of scales belongs to"), \
	        ATTR_INT("block_size", 0, "elements along the axis that share a scale, where it has the input's axes")
#define QUANTIZE_TYPE ATTR_INT("output_dtype", 0, "the result's type, as a number of TensorProto.DataType")

#endif
