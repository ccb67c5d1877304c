/* Kernels: what is asked of them. See kernel.h. */
#include "ir/kernel.h"

bool ir_kernel_writes(const struct ir_kernel *k, const struct ir_buffer *b)
{
	vec_each (w, &k->written)
		if (*w == b)
			return true;
	return false;
}
