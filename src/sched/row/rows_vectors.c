/* The loop over the vectors of a lane, in the kernel of rule rows. See rows_kernel.h. */
#include "sched/row/rows_kernel.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

const struct ahead *rows_ahead_of(const struct row_kernel *k, expr load)
{
	for (int i = 0; i < k->loaded.n; i++)
		if (k->loaded.at[i].st == k->st && k->loaded.at[i].load == load)
			return &k->loaded.at[i];
	return NULL;
}

/* True if the lanes' vectors are exactly the row. */
static bool fills_row(const struct row_kernel *k)
{
	int64_t length;
	return ir_const_int(k->r->length, &length) && length == (int64_t)k->lanes * k->width * k->steps;
}

struct find_read {
	const struct row_kernel *k;
	bool found;
};

/* Whether the current stage reads elements from memory: neither registers nor shared memory have them. */
static void find_read(void *user, expr e)
{
	struct find_read *f = user;
	const struct row_kernel *k = f->k;
	f->found |= e->op == IR_LOAD && rows_value_of(k->r, k->st, e) < 0 && rows_cached_of(k->r, k->st, e) < 0 &&
	            !rows_ahead_of(k, e);
}

/* Rows of open length. A branch around each vector would make the arithmetic of one wait for that of another, and what
 * they share, such as a reciprocal, would be computed in each. So groups of neighbouring vectors have one branch, and
 * the first group none. Vectors past the row's end compute like its last one: `inside` is false. */
static struct ir_block *in_groups(struct row_kernel *k, struct ir_block *b, expr first)
{
	enum { TOGETHER = 4 /* elements */ };
	struct ir_program *p = k->p;
	int group = k->width < TOGETHER ? TOGETHER / k->width : 1;
	expr number = ir_binary(IR_FLOORDIV, k->step, ir_index(p->pool, group));
	expr stride = ir_index(p->pool, (int64_t)group * k->lanes * k->width);
	expr begin = ir_binary(IR_ADD, ir_binary(IR_MUL, number, stride), first);
	struct find_read f = { .k = k };
	k->place = k->at;
	k->inside = ir_binary(IR_LT, ir_var_of(k->at->var, NULL), k->r->length);
	if (group < k->held)
		b = emit_if(p, b,
		            ir_binary(IR_OR, ir_binary(IR_LT, k->step, ir_index(p->pool, group)),
		                      group > 1 ? ir_binary(IR_LT, begin, k->r->length) : k->inside));
	ir_walk(k->st->value, find_read, &f);
	if (f.found) {
		const struct ir_variable *near = ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_AT, 1, "near");
		expr last = ir_binary(IR_SUB, k->r->length, ir_index(p->pool, k->width));
		emit_define(p, b, near, ir_binary(IR_MIN, ir_var_of(k->at->var, NULL), last), k->r->length);
		k->at = ir_var_multiple(near, k->r->length, k->width);
	}
	return b;
}

struct ir_block *rows_each_vector(struct row_kernel *k, struct ir_block *b, expr lane, bool clamped)
{
	struct ir_program *p = k->p;
	expr width = ir_index(p->pool, k->width), first = ir_binary(IR_MUL, lane, width);
	int stride = k->lanes * k->width;
	int64_t length;
	if (k->shifted)
		return shifted_each_vector(k, b, lane);
	/* The same variable in all stages, as are the next two. */
	const struct ir_variable *v = ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_AT, 0, "at");
	if (k->steps == 0) {
		b = emit_for_each(p, b, v, first, k->r->length, ir_index(p->pool, stride));
		k->at = ir_var_multiple(v, k->r->length, k->width);
		return b;
	}
	int begin = k->rest ? k->held : 0, end = k->rest ? k->steps : k->held;
	b = emit_unrolled_each(p, b, ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_STEP, 0, "step"), end - begin,
	                       &k->step);
	expr vector = ir_binary(IR_ADD, k->step, ir_index(p->pool, begin));
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, vector, ir_index(p->pool, stride)), first);
	if (clamped && !fills_row(k))
		at = ir_binary(IR_MIN, at, ir_binary(IR_SUB, k->r->length, width));
	emit_define(p, b, v, at, k->r->length);
	k->at = ir_var_multiple(v, k->r->length, k->width);
	if (clamped || fills_row(k))
		return b;
	if (!k->rest && !ir_const_int(k->r->length, &length))
		return in_groups(k, b, first);
	return emit_if(p, b, ir_binary(IR_LT, ir_var_of(v, NULL), k->r->length));
}
