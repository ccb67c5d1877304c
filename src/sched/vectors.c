/* Which loads can be vectors of neighbouring elements, and statements that load and store them. See vectors.h. */
#include "sched/axes.h"
#include "sched/emit.h"
#include "sched/vectors.h"

struct divisible {
	int64_t width;
	expr symbol; /* an extent that is known to be a multiple */
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

void emit_array(struct ir_program *p, struct ir_block *b, const char *name, enum type t, int width)
{
	struct ir_stmt *s = emit(p, b, IR_ARRAY);
	s->name = name;
	s->type = t;
	s->width = width;
}

void emit_set(struct ir_program *p, struct ir_block *b, const char *name, expr at, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_SET);
	s->name = name;
	s->at = at;
	s->value = value;
}

struct ir_stmt *emit_load_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                 const char *name, int width, bool declared)
{
	struct ir_stmt *s = emit(p, b, IR_LOAD_VECTOR);
	s->name = name;
	s->type = buf->type;
	s->width = width;
	s->buf = flat_view(p, buf);
	s->at = at;
	s->mutable = declared;
	return s;
}

struct ir_stmt *emit_store_vector(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at,
                                  const char *name, int width)
{
	struct ir_stmt *s = emit(p, b, IR_STORE_VECTOR);
	s->name = name;
	s->type = buf->type;
	s->width = width;
	s->buf = flat_view(p, buf);
	s->at = at;
	return s;
}

struct ir_block *emit_unrolled(struct ir_program *p, struct ir_block *b, const char *name, int n, expr *variable)
{
	expr count = ir_index(p->pool, n);
	name = ir_name_declared(p->pool, name);
	struct ir_block *body = emit_for(p, b, name, ir_index(p->pool, 0), count, ir_index(p->pool, 1));
	b->at[b->n - 1].width = n;
	*variable = ir_var(p->pool, TYPE_INDEX, name, count);
	return body;
}
