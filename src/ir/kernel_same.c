/* Whether two kernels are one function: the same text but for its name, launched with the same arguments and as many threads. */
#include <string.h>

#include "ir/kernel.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_args(const struct ir_stmt *a, const struct ir_stmt *b)
{
	if (a->args.n != b->args.n)
		return false;
	for (int i = 0; i < a->args.n; i++) {
		const struct ir_arg *x = &a->args.at[i], *y = &b->args.at[i];
		if (!same_text(x->name, y->name) || x->type != y->type || x->value != y->value || x->at != y->at ||
		    x->buf != y->buf || x->written != y->written)
			return false;
	}
	return true;
}

static bool same_block(const struct ir_block *a, const struct ir_block *b);

/* Expressions are unique in their pool. What comments say is no part of the function. */
static bool same_stmt(const struct ir_stmt *a, const struct ir_stmt *b)
{
	if (a->kind == IR_COMMENT && b->kind == IR_COMMENT)
		return true;
	return a->kind == b->kind && same_text(a->name, b->name) && same_text(a->name2, b->name2) &&
	       same_text(a->text, b->text) && a->type == b->type && a->mutable == b->mutable && a->once == b->once &&
	       a->width == b->width && a->columns == b->columns && a->items == b->items && a->combine == b->combine &&
	       a->buf == b->buf && a->at == b->at && a->value == b->value && a->from == b->from && a->to == b->to &&
	       a->step == b->step && same_args(a, b) && !a->body == !b->body && (!a->body || same_block(a->body, b->body));
}

static bool same_block(const struct ir_block *a, const struct ir_block *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!same_stmt(&a->at[i], &b->at[i]))
			return false;
	return true;
}

static bool same_buffers(int n, const struct ir_buffer *const *a, int m, const struct ir_buffer *const *b)
{
	return n == m && (n == 0 || memcmp(a, b, sizeof *a * (size_t)n) == 0);
}

static bool same_symbols(const struct ir_kernel *a, const struct ir_kernel *b)
{
	if (a->symbols.n != b->symbols.n)
		return false;
	for (int i = 0; i < a->symbols.n; i++)
		if (strcmp(a->symbols.at[i], b->symbols.at[i]) != 0)
			return false;
	return true;
}

bool ir_kernel_same(const struct ir_kernel *a, const struct ir_kernel *b)
{
	if (a->parts.n || b->parts.n || a->maps.n || b->maps.n) /* each its own */
		return false;
	return a->threads == b->threads && a->cluster == b->cluster && a->resident == b->resident &&
	       a->shared_bytes == b->shared_bytes && a->arch == b->arch && a->index64 == b->index64 && a->early == b->early &&
	       same_buffers(a->buffers.n, a->buffers.at, b->buffers.n, b->buffers.at) && same_symbols(a, b) &&
	       same_buffers(a->written.n, a->written.at, b->written.n, b->written.at) &&
	       same_buffers(a->exchanged.n, a->exchanged.at, b->exchanged.n, b->exchanged.at) &&
	       same_buffers(a->shared.n, a->shared.at, b->shared.n, b->shared.at) && same_block(&a->body, &b->body) &&
	       same_block(&a->serial, &b->serial);
}
