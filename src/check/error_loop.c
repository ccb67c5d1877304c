/* Loops with errors: the loop carries the error of each state, and perturbed copies of it, next to the state. See
 * error_bound.h. */
#include "check/error_inside.h"

#include <string.h>

enum status { EXACT, INEXACT, LOST }; /* of a state; grows from pass to pass */

/* One loop while it is built. */
struct loop {
	struct error_builder *b;
	struct error_twins *twins; /* null in a trial, which only finds out what is exact */
	const struct ir_stage *from;
	struct ir_stage *made;
	enum status *status; /* of each state */
	bool changed;        /* some status grew in this pass */
};

static struct ir_program *program(const struct loop *x)
{
	return x->b->x.p;
}

static bool is_bound(const struct ir_buffer *error)
{
	return error && error != &error_unknown;
}

/* A buffer that a loop makes: no stage of its own. */
static struct ir_buffer *new_buffer(const struct loop *x, const struct ir_buffer *like, const char *what, enum type t)
{
	struct ir_program *p = program(x);
	return ir_buffer_new(p, arena_printf(p->arena, "%s_%s", like->name, what), t, like->rank, like->dim, IR_TEMP);
}

static void add_carry(struct loop *x, struct ir_buffer *state, expr init, const struct ir_buffer *next)
{
	struct ir_carry c = { state, init, next };
	vec_push(program(x)->arena, &x->made->loop->carries, c);
}

static void add_collect(struct loop *x, struct ir_buffer *out, expr at, const struct ir_buffer *from)
{
	struct ir_collect c = { out, at, from };
	vec_push(program(x)->arena, &x->made->loop->collects, c);
}

static void grow(struct loop *x, int i, enum status to)
{
	x->changed |= x->status[i] < to;
	x->status[i] = x->status[i] < to ? to : x->status[i];
}

/* ---- States. Their next values are known after the body. */

/* Declares the original state, its error and its twins; the indices of these carries follow from the order. */
static void begin_state(struct loop *x, int i)
{
	const struct ir_carry *c = &x->from->loop->carries.at[i];
	bool lost = false;
	expr error = error_here(x->b, c->init, &lost);
	grow(x, i, lost ? LOST : error ? INEXACT : EXACT);
	add_carry(x, c->state, c->init, c->next);
	if (x->status[i] != INEXACT)
		return;
	add_carry(x, new_buffer(x, c->state, "error", TYPE_F64), error ? error : error_number(x->b, 0), NULL);
	for (int k = 0; x->twins && k < ERROR_TWINS; k++)
		add_carry(x, new_buffer(x, c->state, "twin", c->state->type), error_twin_expr(x->twins, k, c->init),
		          NULL);
}

/* All states begin before the body sees any: an initial value does not read the loop's own states. */
static void begin_states(struct loop *x)
{
	const struct ir_loop *l = x->from->loop;
	int at = 0;
	for (int i = 0; i < l->carries.n; i++)
		begin_state(x, i);
	for (int i = 0; i < l->carries.n; i++) {
		const struct ir_buffer *state = l->carries.at[i].state;
		const struct ir_carry *made = x->made->loop->carries.at;
		at++;
		error_set(&x->b->x, state, x->status[i] == LOST ? &error_unknown : NULL);
		if (x->status[i] != INEXACT)
			continue;
		error_set(&x->b->x, state, made[at++].state);
		for (int k = 0; x->twins && k < ERROR_TWINS; k++)
			map_put_u64(&x->twins->of[k], (uintptr_t)state, made[at++].state);
	}
}

/* The error of a buffer inside the body; zeros if it is exact. */
static const struct ir_buffer *error_or_zero(struct loop *x, const struct ir_buffer *of)
{
	const struct ir_buffer *error = error_get(&x->b->x, of);
	return error ? error : error_map(x->b, of, "no_error", error_number(x->b, 0));
}

static void end_states(struct loop *x)
{
	const struct ir_loop *l = x->from->loop;
	int at = 0;
	for (int i = 0; i < l->carries.n; i++) {
		const struct ir_buffer *next = l->carries.at[i].next, *error = error_get(&x->b->x, next);
		bool carried = x->status[i] == INEXACT;
		at++;
		if (error)
			grow(x, i, error == &error_unknown ? LOST : INEXACT);
		if (!carried)
			continue;
		error = error_or_zero(x, next); /* adds to the carries' list of no other loop */
		x->made->loop->carries.at[at++].next = error;
		for (int k = 0; x->twins && k < ERROR_TWINS; k++)
			x->made->loop->carries.at[at++].next = error_twin(x->twins, k, next);
	}
}

/* ---- Results. */

static void collect_results(struct loop *x)
{
	vec_each (c, &x->from->loop->collects) {
		const struct ir_buffer *error = error_get(&x->b->x, c->from);
		struct ir_buffer *errors;
		add_collect(x, c->out, c->at, c->from);
		error_set(&x->b->x, c->out, error == &error_unknown ? error : NULL);
		if (!is_bound(error))
			continue;
		add_collect(x, errors = new_buffer(x, c->out, "error", TYPE_F64), c->at, error);
		error_set(&x->b->x, c->out, errors);
		for (int k = 0; x->twins && k < ERROR_TWINS; k++) {
			struct ir_buffer *twin = new_buffer(x, c->out, "twin", c->out->type);
			add_collect(x, twin, c->at, error_twin(x->twins, k, c->from));
			map_put_u64(&x->twins->of[k], (uintptr_t)c->out, twin);
		}
	}
}

/* ---- The body. */

static void add_loop(struct error_builder *b, struct error_twins *twins, const struct ir_stage *s);

static void body_stage(struct loop *x, const struct ir_stage *s)
{
	struct ir_program *p = program(x);
	if (s->loop) {
		add_loop(x->b, x->twins, s);
		return;
	}
	vec_push(p->arena, &p->stages, (struct ir_stage *)(uintptr_t)s);
	error_stage(x->b, s);
	if (x->twins)
		error_twins_stage(x->twins, s);
}

/* Forgets what expressions over the states were found to be. */
static void forget(struct loop *x)
{
	struct arena *a = program(x)->arena;
	x->b->x.known = map_new(a);
	x->b->totals = map_new(a);
	x->b->squares = map_new(a);
	if (x->twins)
		error_twins_forget(x->twins);
}

/* The loop as a new last stage of the program. */
static void build(struct loop *x)
{
	const struct ir_loop *l = x->from->loop;
	struct ir_program *p = program(x), outer = *p;
	expr turn = x->twins ? x->twins->turn : NULL;
	x->changed = false;
	forget(x);
	x->made = NEW(p->arena, struct ir_stage);
	*x->made = *x->from;
	x->made->loop = NEW(p->arena, struct ir_loop);
	*x->made->loop = (struct ir_loop){ .index = l->index, .trip = l->trip };
	begin_states(x);
	memset(&p->stages, 0, sizeof p->stages);
	if (x->twins) {
		x->twins->turn = ir_cast(l->index, TYPE_F64);
		for (int i = 0; i < l->carries.n; i++)
			if (x->status[i] == INEXACT)
				error_twins_note(x->twins, l->carries.at[i].state);
	}
	vec_each (s, &l->body)
		body_stage(x, *s);
	end_states(x);
	collect_results(x);
	x->made->loop->body.at = p->stages.at;
	x->made->loop->body.n = p->stages.n;
	x->made->loop->body.cap = p->stages.cap;
	p->stages = outer.stages;
	vec_push(p->arena, &p->stages, x->made);
	if (x->twins)
		x->twins->turn = turn;
	forget(x);
}

/* Rounding may end the loop in another iteration: then nothing is known of its results. */
static void check_end(struct loop *x)
{
	struct ir_buffer *made;
	bool lost = false;
	if (!x->from->where || (!error_here(x->b, x->from->where, &lost) && !lost))
		return;
	for (int i = 0; (made = ir_stage_made(x->from, i)); i++)
		error_set(&x->b->x, made, &error_unknown);
}

/* Builds the loop again until no further state turns out to be inexact; what earlier passes added is taken back. */
static void add_loop(struct error_builder *b, struct error_twins *twins, const struct ir_stage *s)
{
	struct ir_program *p = b->x.p;
	struct loop x = { .b = b, .from = s, .status = NEWN(p->arena, enum status, s->loop->carries.n + 1) };
	struct ir_buffer *made;
	int stages = p->stages.n, buffers = p->buffers.n;
	do {
		p->stages.n = stages;
		p->buffers.n = buffers;
		build(&x);
	} while (x.changed);
	if (twins) {
		p->stages.n = stages;
		p->buffers.n = buffers;
		x.twins = twins;
		build(&x);
	}
	check_end(&x);
	for (int i = 0; twins && twins->turn && (made = ir_stage_made(s, i)); i++)
		if (is_bound(error_get(&b->x, made)))
			error_twins_note(twins, made);
}

/* ---- The bounds. */

/* The root mean square of all elements, a scalar. */
static struct ir_buffer *mean_of(struct error_builder *b, const struct ir_buffer *x)
{
	struct ir_program *p = b->x.p;
	struct ir_buffer *out =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_scale", x->name), TYPE_F64, 0, NULL, IR_TEMP);
	struct ir_stage *s = ir_stage_new(p, IR_REDUCE, out);
	expr at = ir_cast(error_own(b, x), TYPE_F64), n = ir_cast(ir_buffer_count(p, x), TYPE_F64);
	s->value = ir_binary(IR_MUL, at, at);
	s->combine = IR_SUM;
	s->space_rank = x->rank;
	memcpy(s->space, x->dim, sizeof *x->dim * (size_t)x->rank);
	s->post = ir_unary(IR_SQRT, ir_binary(IR_DIV, ir_acc(p->pool, TYPE_F64), n));
	return out;
}

/* The carried bound of a result, where it is not far above the measured error; else that, unless it is as large as the
 * values. */
static void choose_bound(struct error_builder *b, const struct error_twins *twins, const struct ir_stage *s,
                         const struct ir_buffer *of)
{
	const struct ir_buffer *carried = error_get(&b->x, of);
	struct error_loop l = { .stage = s, .result = of };
	if (!is_bound(carried))
		return;
	l.bound = (struct ir_buffer *)(uintptr_t)carried;
	l.measured = error_twins_apart(twins, of);
	l.scale = mean_of(b, of);
	expr bound = error_own(b, l.bound), measured = error_own(b, l.measured), scale = error_own(b, l.scale);
	expr limit = ir_binary(IR_MUL, measured, error_number(b, ERROR_GROWTH));
	expr chaos = ir_binary(IR_LT, ir_binary(IR_MUL, scale, error_number(b, ERROR_CHAOS)), measured);
	expr chosen = ir_select(ir_binary(IR_LE, bound, limit), bound,
	                        ir_select(chaos, error_number(b, ERROR_HUGE), measured));
	error_set(&b->x, of, error_map(b, of, "chosen", chosen));
	vec_push(b->x.p->arena, &b->loops, l);
}

void error_loop(struct error_builder *b, const struct ir_stage *s)
{
	struct error_twins twins;
	struct ir_buffer *made;
	error_twins_begin(&twins, b, s);
	add_loop(b, &twins, s);
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		choose_bound(b, &twins, s, made);
}
