/* Numbers of few bits, packed in bytes. */
#ifndef TPAT_OPS_PACKED_BYTES_H
#define TPAT_OPS_PACKED_BYTES_H

#include "ops/lower/lower.h"

/* The number of `bits`-bit numbers in a byte, of i's type. */
expr packed_a_byte(expr i, int64_t bits);
/* Number i of a packed row, low bits first, from `byte` (i32), the byte at i / packed_a_byte(). The result is i32. */
expr packed_number(expr byte, expr i, int64_t bits);
/* The same for numbers of 4 bits; `high_first`: even numbers are in the high bits. */
expr packed_half(expr byte, expr i, bool high_first);

#endif
