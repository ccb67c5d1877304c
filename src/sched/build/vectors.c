/* Vectorised loads and stores: the conditions for them and their statements. See vectors.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

struct divisible {
	int64_t width;
	expr symbol; /* an extent that is known to be a multiple of the width */
	bool all;
};

static void check_term(void *user, int64_t c, int factors, const expr *factor)
{
	struct divisible *d = user;
	bool ok = c % d->width == 0;
	for (int i = 0; i < factors && !ok; i++)
		ok = factor[i] == d->symbol;
	d->all &= ok;
}

bool is_multiple(expr e, int width, expr symbol)
{
	struct divisible d = { width, symbol, true };
	ir_poly_terms(e, check_term, &d);
	return d.all;
}

bool vector_along(struct ir_program *p, expr e, int axis, expr extent, int width)
{
	expr flat = ir_flat(p->pool, e->buf, e->arg), stride = ir_stride(flat, axis);
	int bits = type_info(e->type)->bits * width;
	if (!stride || !ir_is_int(stride, 1) || bits > 256 || bits < 8)
		return false;
	return is_multiple(ir_binary(IR_SUB, flat, ir_axis(p->pool, axis, extent)), width, extent);
}

static void declare_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rank, const int *dim)
{
	ir_variable_dims(array, rank, dim);
	emit(p, b, IR_ARRAY)->array = (struct ir_array){ array };
}

void emit_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int width)
{
	declare_array(p, b, array, 1, &width);
}

void emit_array_of_rows(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rows, int width)
{
	const int dim[] = { rows, width };
	declare_array(p, b, array, 2, dim);
}

expr item_of(const struct ir_variable *array, expr at)
{
	return ir_element_of(array, 1, &at);
}

expr item_of_row(const struct ir_variable *array, expr row, expr at)
{
	const expr index[] = { row, at };
	return ir_element_of(array, 2, index);
}

void emit_set_in_row(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr row, expr at,
                     expr value)
{
	emit(p, b, IR_SET)->set = (struct ir_set){ array, row, at, value };
}

void emit_set(struct ir_program *p, struct ir_block *b, const struct ir_variable *array, expr at, expr value)
{
	emit_set_in_row(p, b, array, NULL, at, value);
}

/* buf: of rank 1. */
static struct ir_vector *move(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind,
                              const struct ir_buffer *buf, expr at, const struct ir_variable *array, expr row,
                              int width)
{
	struct ir_stmt *s = emit(p, b, kind);
	s->vector = (struct ir_vector){ .array = array, .row = row, .buf = buf, .at = at, .width = width };
	return &s->vector;
}

struct ir_vector *emit_load_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                                 struct ir_variable *array, int width)
{
	ir_variable_dims(array, 1, &width);
	return move(p, b, IR_LOAD_VECTOR, view, at, array, NULL, width);
}

struct ir_vector *emit_load_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                   struct ir_variable *array, int width)
{
	return emit_load_flat(p, b, flat_view(p, buf), at, array, width);
}

struct ir_vector *emit_load_flat_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                                      const struct ir_variable *array, expr row, int width)
{
	struct ir_vector *v = move(p, b, IR_LOAD_VECTOR, view, at, array, row, width);
	v->stands = true;
	return v;
}

struct ir_vector *emit_load_into(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width)
{
	return emit_load_flat_into(p, b, flat_view(p, buf), at, array, row, width);
}

void emit_store_vector_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at,
                            const struct ir_variable *array, expr row, int width)
{
	move(p, b, IR_STORE_VECTOR, view, at, array, row, width);
}

struct ir_vector *emit_store_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                    const struct ir_variable *array, int width)
{
	return move(p, b, IR_STORE_VECTOR, flat_view(p, buf), at, array, NULL, width);
}

struct ir_vector *emit_store_row(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const struct ir_variable *array, expr row, int width)
{
	return move(p, b, IR_STORE_VECTOR, flat_view(p, buf), at, array, row, width);
}

struct ir_block *emit_unrolled_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, int n,
                                    expr *variable)
{
	expr count = ir_index(p->pool, n);
	struct ir_block *body = emit_for_each(p, b, v, ir_index(p->pool, 0), count, ir_index(p->pool, 1));
	b->at[b->n - 1].loop.unrolled = n;
	*variable = ir_var_of(v, count);
	return body;
}

struct ir_block *emit_unrolled(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable)
{
	return emit_unrolled_each(p, b, ir_variable_new(p->pool, TYPE_INDEX, "%s", name), n, variable);
}

struct ir_block *emit_turns(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable)
{
	*variable = ir_index(p->pool, 0);
	return n > 1 ? emit_unrolled(p, b, name, n, variable) : b;
}
