/* Numbers of few bits that are packed in bytes. */
#ifndef TPAT_OPS_PACKED_BYTES_H
#define TPAT_OPS_PACKED_BYTES_H

#include "ops/lower/lower.h"

/* How many numbers of `bits` bits a byte holds, as an index like i. */
expr packed_a_byte(expr i, int64_t bits);
/* Number i of a row of packed ones, low bits first, out of `byte` (i32), the one at i / packed_a_byte(). i32. */
expr packed_number(expr byte, expr i, int64_t bits);
/* The same of numbers of 4 bits; `high_first`: even numbers are the high bits. */
expr packed_half(expr byte, expr i, bool high_first);

#endif
