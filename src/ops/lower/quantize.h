/* The step from a real number to an integer of 16 bits or less that all quantising operators share. */
#ifndef TPAT_OPS_QUANTIZE_H
#define TPAT_OPS_QUANTIZE_H

#include "ops/lower/lower.h"

#define TS_Q8 (TS(I8) | TS(U8))

/* saturate(round(scaled) + zero) in type `t`; halves to even. `scaled` is f32; `zero` of an integer type, or null. */
expr quantize_element(expr scaled, expr zero, enum type t);

#endif
