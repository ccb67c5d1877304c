/* Finds weights of recurrences. See recurrence.h. A product of an expression that follows from the loop's states and of
 * one that does not has its weights in the second. */
#include "check/recurrence.h"

struct finder {
	const struct ir_program *p;
	struct recurrence_weight *weight;
	bool *varies;                 /* by buffer: follows from a state of the loop */
	const struct ir_stage *stage; /* whose expressions are read */
};

/* ---- What an expression reads. */

struct reads {
	struct finder *f;
	bool state; /* something that follows from a state */
	int bits;   /* of the widest small integer that becomes a float */
};

static void note_read(void *user, expr e)
{
	struct reads *r = user;
	if (e->op != IR_LOAD)
		return;
	r->state |= r->f->varies[e->buf->id];
	int bits = type_is_int(e->buf->type) ? type_info(e->buf->type)->bits : 0;
	if (bits > r->bits && bits <= 8)
		r->bits = bits;
}

static struct reads reads_of(struct finder *f, expr e)
{
	struct reads r = { .f = f };
	ir_walk(e, note_read, &r);
	return r;
}

/* ---- From a factor to the inputs that it is made of. */

struct factor {
	struct finder *f;
	expr terms;
	int bits, depth;
};

enum { DEEPEST = 20 }; /* maps between an input and the loop */

static void note_factor(void *user, expr e)
{
	struct factor *x = user;
	if (e->op != IR_LOAD)
		return;
	const struct ir_stage *maker = ir_stage_of(x->f->p, e->buf);
	struct recurrence_weight *w = &x->f->weight[e->buf->id];
	if (e->buf->role == IR_INPUT && type_is_float(e->buf->type) && !w->terms)
		*w = (struct recurrence_weight){ x->terms, x->bits };
	if (!maker || maker->kind != IR_MAP || x->depth >= DEEPEST)
		return;
	struct reads r = reads_of(x->f, maker->value);
	struct factor inner = { x->f, x->terms, r.bits > x->bits ? r.bits : x->bits, x->depth + 1 };
	ir_walk(maker->value, note_factor, &inner);
}

static void add_factor(struct finder *f, expr e, expr terms)
{
	struct factor x = { f, terms, reads_of(f, e).bits, 0 };
	if (!terms->varies)
		ir_walk(e, note_factor, &x);
}

static expr terms_of(const struct ir_stage *s)
{
	expr n = ir_index(s->value->pool, 1);
	for (int k = 0; k < s->space_rank && s->kind == IR_REDUCE; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return n;
}

static void note_product(void *user, expr e)
{
	struct finder *f = user;
	if (e->op != IR_MUL || !type_is_float(e->type))
		return;
	bool state[2] = { reads_of(f, e->arg[0]).state, reads_of(f, e->arg[1]).state };
	for (int i = 0; i < 2; i++)
		if (!state[i] && state[!i])
			add_factor(f, e->arg[i], terms_of(f->stage));
}

/* ---- Sums before the loop of which each iteration reads a part: weights are in the operand that is the same for all
 * iterations. */

struct part {
	struct finder *f;
	const struct ir_stage *sum;
	unsigned axes; /* of its result, which the loop's index selects */
};

static bool uses_axes(expr e, unsigned axes)
{
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	for (int k = 0; k < IR_MAX_RANK; k++)
		if (used[k] && (axes >> k & 1))
			return true;
	return false;
}

static void note_part(void *user, expr e)
{
	struct part *x = user;
	if (e->op != IR_MUL || !type_is_float(e->type))
		return;
	bool turns[2] = { uses_axes(e->arg[0], x->axes), uses_axes(e->arg[1], x->axes) };
	for (int i = 0; i < 2; i++)
		if (!turns[i] && turns[!i])
			add_factor(x->f, e->arg[i], terms_of(x->sum));
}

static void note_index(void *user, expr e)
{
	struct finder *f = user;
	unsigned axes = 0;
	if (e->op != IR_LOAD || f->varies[e->buf->id])
		return;
	for (int k = 0; k < e->n; k++)
		axes |= (unsigned)ir_uses(e->arg[k], IR_VAR) << k;
	const struct ir_stage *s = axes ? ir_stage_of(f->p, e->buf) : NULL;
	if (s && s->kind == IR_REDUCE && s->combine == IR_SUM)
		ir_walk(s->value, note_part, &(struct part){ f, s, axes });
}

/* ---- Loops. */

static void note_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, note_product, user);
	ir_walk(e, note_index, user);
}

static void note_state(void *user, expr e, const char *role)
{
	struct reads *r = user;
	(void)role;
	ir_walk(e, note_read, r);
}

static void visit_loop(struct finder *f, const struct ir_stage *s);

static void visit_body(struct finder *f, const struct ir_stage *s)
{
	struct ir_buffer *made;
	struct reads r = { .f = f };
	if (s->loop) {
		visit_loop(f, s);
		r.state = true; /* its states may start from this loop's */
	} else {
		f->stage = s;
		ir_stage_exprs(s, note_expr, f);
		ir_stage_exprs(s, note_state, &r);
	}
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		f->varies[made->id] |= r.state;
}

static void visit_loop(struct finder *f, const struct ir_stage *s)
{
	vec_each (c, &s->loop->carries)
		f->varies[c->state->id] = true;
	vec_each (b, &s->loop->body)
		visit_body(f, *b);
}

struct recurrence_weight *recurrence_weights(const struct ir_program *p, struct arena *a)
{
	struct finder f = { .p = p,
		            .weight = NEWN(a, struct recurrence_weight, p->buffers.n + 1),
		            .varies = NEWN(a, bool, p->buffers.n + 1) };
	vec_each (s, &p->stages)
		if ((*s)->loop)
			visit_loop(&f, *s);
	return f.weight;
}
