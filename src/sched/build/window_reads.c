/* Reads of overlapping windows: see window_reads.h. A read under a condition or with a cast is kept in a variable
 * including these. Reads that cover most of an aligned vector become one load. */
#include "sched/build/window_reads.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

enum { BYTES = 16 };

/* True if e is kept as one read: a load, its cast, or a select with a load. */
static bool is_read(expr e)
{
	bool read = e->op == IR_LOAD;
	if (e->op == IR_CAST)
		read = e->arg[0]->op == IR_LOAD || e->arg[0]->op == IR_SELECT;
	return (e->op == IR_SELECT || read) && ir_uses(e, IR_LOAD);
}

/* Splits a read into a load and a condition; false if it is more than that. */
static bool split_read(expr e, expr *load, expr *where)
{
	bool loads = false;
	*where = NULL;
	if (e->op == IR_CAST)
		e = e->arg[0];
	if (e->op == IR_SELECT) {
		*where = e->arg[0];
		loads = ir_uses(e->arg[0], IR_LOAD) || ir_uses(e->arg[2], IR_LOAD);
		e = e->arg[1]->op == IR_CAST ? e->arg[1]->arg[0] : e->arg[1];
	}
	*load = e;
	return e->op == IR_LOAD && !loads && !ir_uses(e->arg[0], IR_LOAD);
}

/* ---- Vectors. */

static void add_constant(void *user, int64_t c, int factors, const expr *factor)
{
	(void)factor;
	if (factors == 0)
		*(int64_t *)user += c;
}

/* True if vectors of `width` elements fill the buffer and the load is element *which of one of them. */
static bool in_vectors(const struct window_reads *r, expr load, int width, int64_t *which)
{
	struct ir_pool *pool = load->pool;
	expr at = load->arg[0], by = ir_index(pool, width);
	if (ir_is_int(ir_binary(IR_MOD, load->buf->dim[0], by), 0) && ir_const_int(ir_binary(IR_MOD, at, by), which))
		return true;
	if (!r->symbol || r->multiple % width || !is_multiple(load->buf->dim[0], width, r->symbol))
		return false;
	*which = 0;
	ir_poly_terms(at, add_constant, which);
	*which = (*which % width + width) % width;
	return is_multiple(ir_binary(IR_SUB, at, ir_index(pool, *which)), width, r->symbol);
}

/* Finds the aligned vector that contains a load, and the load's item in it; false if alignment is unknown. */
static bool vector_of(const struct window_reads *r, expr load, struct window_vector *v, int *which)
{
	int64_t c = 0;
	int width = type_is_packed(load->type) ? 1 : BYTES / (type_info(load->type)->bits / 8);
	while (width > 1 && !in_vectors(r, load, width, &c))
		width /= 2;
	*v = (struct window_vector){ .buf = load->buf,
		                     .at = ir_binary(IR_SUB, load->arg[0], ir_index(load->pool, c)),
		                     .width = width,
		                     .reads = 1 };
	*which = (int)c;
	return width > 1;
}

static struct window_vector *find_vector(struct window_reads *r, const struct window_vector *v)
{
	vec_each (have, &r->vectors)
		if (have->buf == v->buf && have->at == v->at && have->width == v->width)
			return have;
	return NULL;
}

static void find_read(struct window_reads *r, expr e)
{
	struct window_vector v, *have;
	expr load, where;
	bool again = false;
	int which;
	if (!split_read(e, &load, &where) || !vector_of(r, load, &v, &which))
		return;
	vec_each (known, &r->loads)
		again |= *known == load;
	if (!again)
		vec_push(r->p->arena, &r->loads, load);
	have = find_vector(r, &v);
	if (!have) {
		v.where = where;
		vec_push(r->p->arena, &r->vectors, v);
		return;
	}
	have->reads += !again;
	have->where = !have->where || !where ? NULL : ir_binary(IR_OR, have->where, where);
}

void window_reads_find(struct window_reads *r, expr value)
{
	if (is_read(value)) {
		find_read(r, value);
		return;
	}
	for (int i = 0; i < value->n && value->op != IR_AXIS; i++)
		window_reads_find(r, value->arg[i]);
}

/* ---- Statements. */

/* Returns the read with an element of its vector, if most of the vector is read. A condition that keeps one element
 * inside the buffer keeps the whole vector inside, because the buffer consists of whole vectors. */
static expr with_vector(struct window_reads *r, struct ir_block *b, expr e)
{
	struct window_vector v, *have;
	struct ir_program *p = r->p;
	expr load, where;
	int which;
	if (!split_read(e, &load, &where) || !vector_of(r, load, &v, &which))
		return e;
	have = find_vector(r, &v);
	if (have->reads < 2 || have->reads * 2 < have->width)
		return e;
	if (!have->array) {
		have->array = ir_variable_new(p->pool, have->buf->type, "%s_v%d", have->buf->name,
		                              (int)(have - r->vectors.at));
		if (have->where)
			emit_array(p, b, have->array, have->width);
		if (have->where)
			emit_load_into(p, emit_if(p, b, have->where), have->buf, have->at, have->array, NULL,
			               have->width);
		else
			emit_load_vector(p, b, have->buf, have->at, have->array, have->width);
	}
	expr element = item_of(have->array, ir_index(p->pool, which));
	return substitute(&(struct substitution){ &load, &element, 1 }, e);
}

expr window_reads_emit(struct window_reads *r, struct ir_block *b, expr value)
{
	expr arg[IR_MAX_RANK];
	if (is_read(value)) {
		for (int i = 0; i < r->read.n; i++)
			if (r->read.at[i] == value)
				return r->name.at[i];
		expr load, where, read = with_vector(r, b, value);
		const char *of = split_read(value, &load, &where) ? load->buf->name : "value";
		const char *name = arena_printf(r->p->arena, "%s_%d", of, r->read.n);
		vec_push(r->p->arena, &r->read, value);
		vec_push(r->p->arena, &r->name, emit_declare(r->p, b, name, read, NULL));
		return r->name.at[r->name.n - 1];
	}
	if (value->n == 0 || value->op == IR_AXIS || value->op == IR_VAR || value->op == IR_ELEMENT)
		return value;
	for (int i = 0; i < value->n; i++)
		arg[i] = window_reads_emit(r, b, value->arg[i]);
	return ir_rebuild(value, arg);
}
