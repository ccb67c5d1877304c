/* Kernels: what is asked of them. See kernel.h. */
#include "ir/kernel.h"

static bool holds(int n, const struct ir_buffer *const *list, const struct ir_buffer *b)
{
	for (int i = 0; i < n; i++)
		if (list[i] == b)
			return true;
	return false;
}

bool ir_kernel_writes(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->written.n, k->written.at, b);
}

bool ir_kernel_exchanges(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->exchanged.n, k->exchanged.at, b);
}

bool ir_kernel_shares(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->shared.n, k->shared.at, b);
}
