/* Numbers of few bits, packed in bytes. */
#include "ops/microsoft/packed_bytes.h"

expr packed_a_byte(expr i, int64_t bits)
{
	return with(i, (double)(8 / bits));
}

expr packed_number(expr byte, expr i, int64_t bits)
{
	expr shift;

	if (bits == 8)
		return byte;
	shift = cast(muli(mod(i, packed_a_byte(i, bits)), bits), TYPE_I32);
	return ir_binary(IR_BITAND, ir_binary(IR_SHR, byte, shift), with(byte, (double)((1 << bits) - 1)));
}

expr packed_half(expr byte, expr i, bool high_first)
{
	expr even = eq(mod(i, with(i, 2)), with(i, 0)), low = ir_binary(IR_BITAND, byte, with(byte, 15)),
	     high = ir_binary(IR_SHR, byte, with(byte, 4));

	return high_first ? select_(even, high, low) : select_(even, low, high);
}
