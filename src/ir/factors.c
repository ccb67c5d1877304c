/* The factors of products of matrices: which expressions the rules take as they are, so that the maps that make them
 * move into the product. */
#include "ir/passes.h"

bool ir_no_more(expr a, expr b)
{
	return ir_nonnegative(ir_binary(IR_SUB, b, a));
}

bool ir_at_most(expr n, int64_t most)
{
	return ir_no_more(n, ir_index(n->pool, most));
}

bool ir_multiplies_matrices(const struct ir_stage *s)
{
	bool used[2][2 * IR_MAX_RANK] = { { false } };
	if (!ir_sums_products(s))
		return false;
	expr own[2] = { ir_index(s->value->pool, 1), ir_index(s->value->pool, 1) };
	for (int side = 0; side < 2; side++)
		ir_mark_axes(s->value->arg[side], used[side]);
	for (int k = 0; k < s->out->rank; k++)
		if (used[0][k] != used[1][k])
			own[used[1][k]] = ir_binary(IR_MUL, own[used[1][k]], s->out->dim[k]);
	for (int side = 0; side < 2; side++)
		if (ir_at_most(own[side], IR_OFTEN - 1))
			return false;
	return true;
}

static void find_buffer(void *user, expr e)
{
	const struct ir_buffer **first = user;
	if (e->op == IR_LOAD && !*first)
		*first = e->buf;
}

const struct ir_buffer *ir_first_buffer(expr e)
{
	const struct ir_buffer *first = NULL;
	ir_walk(e, find_buffer, &first);
	return first;
}

static void find_bytes(void *user, expr e)
{
	*(bool *)user |= e->op == IR_LOAD && type_info(e->buf->type)->bits <= 8;
}

bool ir_reads_bytes(expr e)
{
	bool bytes = false;
	ir_walk(e, find_bytes, &bytes);
	return bytes;
}

bool ir_is_operand(expr e)
{
	if (e->op == IR_LOAD)
		return true;
	if (e->op == IR_SELECT)
		return !ir_uses(e->arg[0], IR_LOAD) && ir_is_operand(e->arg[1]) && ir_is_zero(e->arg[2]);
	if (e->op == IR_CAST)
		return ir_is_operand(e->arg[0]);
	bool packed = ir_reads_bytes(e);
	bool scales = packed && (e->op == IR_MUL || e->op == IR_DIV || e->op == IR_SHR || e->op == IR_BITAND);
	bool moves = (packed || type_is_int(e->type)) && (e->op == IR_ADD || e->op == IR_SUB);
	return (scales || moves) && ir_is_operand(e->arg[0]);
}

/* The type of what a product reads in memory for e, when buffer `own`, which is made by a map, and the maps that may
 * move with another factor have moved into it; *plain: it is at most cast. */
static enum type factor_type(struct ir_stage *const *at, int n, const struct ir_buffer *own, expr e, bool *plain)
{
	const struct ir_buffer *b = ir_first_buffer(e);
	if (!b)
		return e->type;
	while (e->op == IR_CAST)
		e = e->arg[0];
	*plain &= e->op == IR_LOAD;
	for (int i = 0; i < n && own; i++) {
		bool moves = at[i]->out == b && at[i]->kind == IR_MAP && b->role == IR_TEMP;
		if (moves && ir_is_operand(at[i]->value)) /* what own's map reads is stored, or it would be in it */
			return factor_type(at, n, b == own ? NULL : own, at[i]->value, plain);
	}
	return b->type;
}

bool ir_factors_match(struct ir_stage *const *at, int n, const struct ir_stage *s, const struct ir_buffer *own)
{
	bool plain[2] = { true, true };
	enum type type[2];
	for (int side = 0; side < 2; side++)
		type[side] = factor_type(at, n, own, s->value->arg[side], &plain[side]);
	if (type[0] == type[1] || (type_is_int(type[0]) && type_is_int(type[1])) || (plain[0] && plain[1]))
		return true;
	for (int side = 0; side < 2; side++)
		if (type_info(type[side])->bits <= 8 && !plain[side])
			return type[!side] == TYPE_F16 || type[!side] == TYPE_BF16;
	return false;
}
