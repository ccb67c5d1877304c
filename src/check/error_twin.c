/* Perturbed copies of a loop's stages: each computes what its original does from the copies' own states, and then moves
 * by a random part of what the stage alone may be rounded. How far the copies drift apart is a measure of the loop's
 * condition. See error_bound.h. */
#include "check/error_inside.h"

#include <math.h>
#include <string.h>

/* A measured error is this multiple of the largest distance of a twin, or of the root mean square of the twins'
 * distances along the last axis: single elements of four twins may agree by chance. */
static const double MULTIPLE = 2;
/* The part of a float's own error by which it moves: that error is a bound of several roundings at once, and one kernel
 * reaches a small part of it. */
static const double PART = 0.25;
static const double PERTURBED_MOST = 1e30; /* a larger error has no bound anyway */

static expr number(const struct error_twins *t, double x)
{
	return error_number(t->b, x);
}

static expr value_of(const struct error_twins *t, const struct ir_buffer *b)
{
	return ir_cast(error_own(t->b, b), TYPE_F64);
}

/* ---- Reading twins. */

const struct ir_buffer *error_twin(const struct error_twins *t, int k, const struct ir_buffer *b)
{
	const struct ir_buffer *twin = map_get_u64(&t->of[k], (uintptr_t)b);
	return twin ? twin : b;
}

struct reading {
	const struct error_twins *twins;
	int k;
};

static expr read_twin(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const struct reading *r = user;
	return e->op == IR_LOAD ? ir_load(p, error_twin(r->twins, r->k, e->buf), arg) : NULL;
}

expr error_twin_expr(const struct error_twins *t, int k, expr e)
{
	return ir_copy(t->b->x.p->pool, e, read_twin, &(struct reading){ t, k });
}

/* ---- Perturbing. */

/* A number in [-1, 1) that looks random, for an element of a buffer, an iteration, and a twin. */
static expr noise(const struct error_twins *t, int k, const struct ir_buffer *b)
{
	struct ir_pool *pool = t->b->x.p->pool;
	expr at[IR_MAX_RANK], place = number(t, 1 + 0.37 * k + 0.0173 * b->id);
	for (int i = 0; i < b->rank; i++)
		at[i] = ir_axis(pool, i, b->dim[i]);
	if (b->rank)
		place = ir_binary(IR_ADD, place,
		                  ir_binary(IR_MUL, ir_cast(ir_flat(pool, b, at), TYPE_F64), number(t, 12.9898)));
	if (t->turn)
		place = ir_binary(IR_ADD, place, ir_binary(IR_MUL, t->turn, number(t, 78.233)));
	expr spread = ir_binary(IR_MUL, ir_unary(IR_SIN, place), number(t, 43758.5453));
	spread = ir_binary(IR_SUB, spread, ir_unary(IR_FLOOR, spread));
	return ir_binary(IR_SUB, ir_binary(IR_MUL, spread, number(t, 2)), number(t, 1));
}

/* An integer moved by `by`, inside of its type's range. */
static expr moved_integer(const struct error_twins *t, expr x, enum type type, expr by)
{
	int bits = type_info(type)->bits;
	double low = type_is_signed(type) ? -ldexp(1, bits - 1) : 0;
	double high = ldexp(1, type_is_signed(type) ? bits - 1 : bits) - 1;
	expr moved = ir_binary(IR_ADD, x, ir_unary(IR_ROUND_EVEN, by));
	if (bits <= 32)
		moved = ir_binary(IR_MAX, ir_binary(IR_MIN, moved, number(t, high)), number(t, low));
	return ir_cast(moved, type);
}

/* A map of `raw`, moved at random: an integer by up to its error, a float by a part of it. */
static struct ir_buffer *perturbed(const struct error_twins *t, int k, const struct ir_buffer *raw,
                                   const struct ir_buffer *error)
{
	expr most = error_own(t->b, error), random = noise(t, k, raw), zero = number(t, 0), made;
	expr by = ir_binary(IR_MUL, ir_binary(IR_MIN, most, number(t, PERTURBED_MOST)), random);
	if (raw->type == TYPE_BOOL)
		made = ir_select(ir_binary(IR_AND, ir_binary(IR_LT, zero, most), ir_binary(IR_LT, zero, random)),
		                 ir_unary(IR_NOT, error_own(t->b, raw)), error_own(t->b, raw));
	else if (type_is_float(raw->type))
		made = ir_cast(ir_binary(IR_ADD, value_of(t, raw), ir_binary(IR_MUL, by, number(t, PART))), raw->type);
	else
		made = ir_select(ir_binary(IR_LT, zero, most), moved_integer(t, value_of(t, raw), raw->type, by),
		                 error_own(t->b, raw));
	return error_map(t->b, raw, "perturbed", made);
}

static bool has_error(const struct ir_buffer *error)
{
	return error && error != &error_unknown;
}

static void set_twin(struct error_twins *t, int k, const struct ir_buffer *of, const struct ir_buffer *twin)
{
	map_put_u64(&t->of[k], (uintptr_t)of, twin);
}

/* A stage that makes `out` from the k-th twins of what s reads. */
static void copy_stage(struct error_twins *t, int k, const struct ir_stage *s, struct ir_buffer *out)
{
	struct ir_stage *made = ir_stage_new(t->b->x.p, s->kind, out);
	*made = *s;
	made->out = out;
	expr *slot[] = { &made->value, &made->post, &made->init, &made->where };
	for (size_t i = 0; i < sizeof slot / sizeof *slot; i++)
		if (*slot[i])
			*slot[i] = error_twin_expr(t, k, *slot[i]);
	for (int i = 0; s->kind == IR_SCATTER && i < out->rank; i++)
		made->at[i] = error_twin_expr(t, k, s->at[i]);
}

/* The error of stage s alone, or null. */
static const struct ir_buffer *own_error(struct error_twins *t, const struct ir_stage *s)
{
	struct error_program carried = t->b->x;
	t->b->x = t->rounding;
	t->b->x.jumps = t->jumps ? &t->apart : NULL;
	error_stage(t->b, s);
	t->rounding = t->b->x;
	t->b->x = carried;
	const struct ir_buffer *error = error_get(&t->rounding, s->out);
	return has_error(error) ? error : NULL;
}

void error_twins_stage(struct error_twins *t, const struct ir_stage *s)
{
	struct ir_program *p = t->b->x.p;
	if (!has_error(error_get(&t->b->x, s->out)))
		return;
	const struct ir_buffer *error = own_error(t, s);
	for (int k = 0; k < ERROR_TWINS; k++) {
		struct ir_buffer *raw = ir_buffer_new(p, arena_printf(p->arena, "%s_twin", s->out->name), s->out->type,
		                                      s->out->rank, s->out->dim, IR_TEMP);
		copy_stage(t, k, s, raw);
		set_twin(t, k, s->out, error ? perturbed(t, k, raw, error) : raw);
	}
	error_twins_note(t, s->out);
}

/* ---- Measuring. */

/* The largest distance of the twins from the buffer, as an expression over its axes. */
static expr distance(const struct error_twins *t, const struct ir_buffer *of)
{
	expr most = NULL;
	for (int k = 0; k < ERROR_TWINS; k++) {
		expr one = ir_unary(IR_ABS, ir_binary(IR_SUB, value_of(t, error_twin(t, k, of)), value_of(t, of)));
		most = most ? ir_binary(IR_MAX, most, one) : one;
	}
	return most;
}

/* The root mean square of `x` along its last axis, over all axes but that one. */
static struct ir_buffer *mean_along_last(const struct error_twins *t, const struct ir_buffer *x)
{
	struct ir_program *p = t->b->x.p;
	int last = x->rank - 1;
	struct ir_buffer *out =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_mean", x->name), TYPE_F64, last, x->dim, IR_TEMP);
	struct ir_stage *s = ir_stage_new(p, IR_REDUCE, out);
	expr own = error_own(t->b, x), count = ir_cast(x->dim[last], TYPE_F64);
	s->value = ir_binary(IR_MUL, own, own);
	s->combine = IR_SUM;
	s->space_rank = 1;
	s->space[0] = x->dim[last];
	s->post = ir_unary(IR_SQRT, ir_binary(IR_DIV, ir_acc(p->pool, TYPE_F64), count));
	return out;
}

struct ir_buffer *error_twins_apart(const struct error_twins *t, const struct ir_buffer *of)
{
	struct ir_buffer *one = error_map(t->b, of, "distance", distance(t, of));
	expr most = error_own(t->b, one);
	if (of->rank) {
		const struct ir_buffer *mean = mean_along_last(t, one);
		most = ir_binary(IR_MAX, most, error_own(t->b, mean));
	}
	return error_map(t->b, of, "apart", ir_binary(IR_MUL, most, number(t, MULTIPLE)));
}

void error_twins_note(struct error_twins *t, const struct ir_buffer *of)
{
	if (t->jumps)
		error_set(&t->apart, of, error_twins_apart(t, of));
}

/* ---- The beginning of a loop. */

void error_twins_forget(struct error_twins *t)
{
	struct arena *a = t->b->x.p->arena;
	t->rounding = error_context(t->b);
	t->apart.known = map_new(a);
}

static void twin_outside(struct error_twins *t, const struct ir_buffer *b)
{
	const struct ir_buffer *error = error_get(&t->b->x, b);
	if (!has_error(error) || error_twin(t, 0, b) != b)
		return;
	for (int k = 0; k < ERROR_TWINS; k++)
		set_twin(t, k, b, perturbed(t, k, b, error));
	error_twins_note(t, b);
}

static void note_read(void *user, expr e)
{
	if (e->op == IR_LOAD)
		twin_outside(user, e->buf);
}

static void note_jump(void *user, expr e)
{
	((struct error_twins *)user)->jumps |= error_jumps(e);
}

static void find_jumps(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, note_jump, user);
}

static void find_reads(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, note_read, user);
}

static void find_copies(struct error_twins *t, const struct ir_loop *l)
{
	vec_each (c, &l->carries)
		twin_outside(t, c->next);
	vec_each (c, &l->collects)
		twin_outside(t, c->from);
	vec_each (s, &l->body)
		if ((*s)->loop)
			find_copies(t, (*s)->loop);
}

void error_twins_begin(struct error_twins *t, struct error_builder *b, const struct ir_stage *s)
{
	*t = (struct error_twins){ .b = b, .rounding = error_context(b), .apart = error_context(b) };
	for (int k = 0; k < ERROR_TWINS; k++)
		t->of[k] = map_new(b->x.p->arena);
	ir_stage_exprs(s, find_jumps, t);
	ir_stage_exprs(s, find_reads, t);
	find_copies(t, s->loop);
}
