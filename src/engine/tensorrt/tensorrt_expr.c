/* IR expressions over symbols as rows of the runtime's table, where a symbol is an extent of an input, an element of an
 * input, or a size that is an output. */
#include "engine/tensorrt/tensorrt.h"

struct tensorrt_exprs tensorrt_exprs_new(const struct ir_program *p, struct arena *a)
{
	return (struct tensorrt_exprs){ .arena = a, .program = p, .memo = map_new(a) };
}

static int32_t add_row(struct tensorrt_exprs *t, int op, int32_t a, int32_t b, int32_t c, int64_t value)
{
	struct tpat_rt_expr x = { op, a, b, c, value };
	for (int i = 0; i < t->row.n; i++) {
		const struct tpat_rt_expr *r = &t->row.at[i];
		if (r->op == x.op && r->a == a && r->b == b && r->c == c && r->value == value)
			return i;
	}
	vec_push(t->arena, &t->row, x);
	vec_push(t->arena, &t->text, NULL);
	return t->row.n - 1;
}

int32_t tensorrt_expr_number(struct tensorrt_exprs *t, int64_t value)
{
	return add_row(t, TPAT_RT_CONST, 0, 0, 0, value);
}

static int32_t extent_row(struct tensorrt_exprs *t, int input, int axis)
{
	return add_row(t, TPAT_RT_DIM, input, axis, 0, 0);
}

int32_t tensorrt_expr_times(struct tensorrt_exprs *t, int32_t row, int64_t by)
{
	const struct tpat_rt_expr *r = &t->row.at[row];
	int64_t product;
	if (by == 1)
		return row;
	if (r->op == TPAT_RT_CONST && !__builtin_mul_overflow(r->value, by, &product))
		return tensorrt_expr_number(t, product);
	return add_row(t, TPAT_RT_MUL, row, tensorrt_expr_number(t, by), 0, 0);
}

static int no_place(const struct tensorrt_exprs *t, expr x, const char *why, struct err *e)
{
	struct str s = str_new(t->arena);
	ir_print_expr(&s, x, 0);
	return err_set(e, ERR_UNSUPPORTED, "The plugin of %s needs the size %s at run time, %s.", t->program->name,
	               str_text(&s), why);
}

/* Returns the table's operation for one of the language, or -1. */
static int shared_op(enum ir_op op)
{
	switch ((int)op) {
	case IR_ADD: return TPAT_RT_ADD;
	case IR_SUB: return TPAT_RT_SUB;
	case IR_MUL: return TPAT_RT_MUL;
	case IR_FLOORDIV: return TPAT_RT_FLOORDIV;
	case IR_MOD: return TPAT_RT_MOD;
	case IR_MIN: return TPAT_RT_MIN;
	case IR_MAX: return TPAT_RT_MAX;
	case IR_EQ: return TPAT_RT_EQ;
	case IR_LT: return TPAT_RT_LT;
	case IR_LE: return TPAT_RT_LE;
	case IR_AND: return TPAT_RT_AND;
	case IR_OR: return TPAT_RT_OR;
	case IR_NOT: return TPAT_RT_NOT;
	case IR_SELECT: return TPAT_RT_SELECT;
	default: return -1;
	}
}

/* A size that only the kernels compute: it is an output. */
static int size_row(int32_t *row, struct tensorrt_exprs *t, const struct ir_size *size, expr x, struct err *e)
{
	const struct ir_program *p = t->program;
	int32_t limit, likely;
	int output = -1;
	for (int i = 0; i < p->outputs.n; i++)
		if (p->outputs.at[i] == size->count)
			output = i;
	if (output < 0)
		return no_place(t, x, "which its kernels compute and which is not an output", e);
	TRY(tensorrt_expr_row(&limit, t, size->limit, e));
	/* TensorRT tunes the following layers for the likely value: half the upper bound. */
	likely = add_row(t, TPAT_RT_CEILDIV, limit, tensorrt_expr_number(t, 2), 0, 0);
	*row = add_row(t, TPAT_RT_SIZE, output, likely, limit, 0);
	return 0;
}

static int new_row(int32_t *row, struct tensorrt_exprs *t, expr x, const int32_t *arg, struct err *e)
{
	int input, axis;
	const struct ir_value *value = ir_value_find(t->program, x);
	const struct ir_size *size = ir_size_find(t->program, x);
	if (size)
		return size_row(row, t, size, x, e);
	if (value && value->known)
		return tensorrt_expr_row(row, t, value->known, e);
	if (value) {
		for (input = 0; t->program->inputs.at[input] != value->buf; input++)
			;
		*row = add_row(t, TPAT_RT_VALUE, input, (int32_t)value->element, 0, 0);
		return 0;
	}
	if (type_is_float(x->type))
		return no_place(t, x, "which is not an integer", e);
	if (x->op == IR_CONST_INT) {
		*row = tensorrt_expr_number(t, x->i);
	} else if (x->op == IR_SYMBOL) {
		if (!ir_symbol_source(t->program, x, &input, &axis))
			return no_place(t, x, "which is not an extent of an input", e);
		*row = extent_row(t, input, axis);
	} else if (x->op == IR_CAST) {
		*row = arg[0];
	} else if (x->op == IR_NEG || x->op == IR_ABS) {
		int32_t zero = tensorrt_expr_number(t, 0), minus = add_row(t, TPAT_RT_SUB, zero, arg[0], 0, 0);
		*row = minus;
		if (x->op == IR_ABS)
			*row = add_row(t, TPAT_RT_SELECT, add_row(t, TPAT_RT_LT, arg[0], zero, 0, 0), minus, arg[0], 0);
	} else if (shared_op(x->op) >= 0) {
		*row = add_row(t, shared_op(x->op), arg[0], x->n > 1 ? arg[1] : 0, x->n > 2 ? arg[2] : 0, 0);
	} else {
		return no_place(t, x, "which does not follow from extents", e);
	}
	return 0;
}

int tensorrt_expr_row(int32_t *row, struct tensorrt_exprs *t, expr x, struct err *e)
{
	uintptr_t known = (uintptr_t)map_get_u64(&t->memo, x->id);
	int32_t arg[3] = { 0 };
	if (known) {
		*row = (int32_t)(known - 1);
		return 0;
	}
	for (int i = 0; i < x->n && i < 3; i++)
		TRY(tensorrt_expr_row(&arg[i], t, x->arg[i], e));
	TRY(new_row(row, t, x, arg, e));
	if (!t->text.at[*row] && x->op != IR_CONST_INT) {
		struct str s = str_new(t->arena);
		ir_print_expr(&s, x, 0);
		t->text.at[*row] = str_text(&s);
	}
	map_put_u64(&t->memo, x->id, (void *)((uintptr_t)*row + 1));
	return 0;
}

expr tensorrt_extent(const struct ir_buffer *b, int axis)
{
	int64_t n;
	if (!b->edge || axis < b->rank - 1 || !type_is_packed(b->type))
		return b->dim[axis];
	ck(ir_const_int(b->dim[axis], &n));
	return ir_int(b->dim[axis]->pool, b->dim[axis]->type, n * type_info(b->type)->bits / type_info(b->edge)->bits);
}

const char *tensorrt_expr_op(int32_t op)
{
	static const char *const name[] = {
		[TPAT_RT_CONST] = "CONST",
		[TPAT_RT_DIM] = "DIM",
		[TPAT_RT_VALUE] = "VALUE",
		[TPAT_RT_ADD] = "ADD",
		[TPAT_RT_SUB] = "SUB",
		[TPAT_RT_MUL] = "MUL",
		[TPAT_RT_FLOORDIV] = "FLOORDIV",
		[TPAT_RT_CEILDIV] = "CEILDIV",
		[TPAT_RT_MOD] = "MOD",
		[TPAT_RT_MIN] = "MIN",
		[TPAT_RT_MAX] = "MAX",
		[TPAT_RT_EQ] = "EQ",
		[TPAT_RT_LT] = "LT",
		[TPAT_RT_LE] = "LE",
		[TPAT_RT_AND] = "AND",
		[TPAT_RT_OR] = "OR",
		[TPAT_RT_NOT] = "NOT",
		[TPAT_RT_SELECT] = "SELECT",
		[TPAT_RT_SIZE] = "SIZE",
	};
	return name[op];
}
