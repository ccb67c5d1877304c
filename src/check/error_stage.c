/* The error of a stage: adds stages that compute the error of its result. Loops: error_loop.c. See error_bound.h. */
#include "check/error_inside.h"
#include "ir/launch.h"

#include <math.h>
#include <string.h>

/* n additions round at most n times, in both directions: the total error grows as sqrt(n) times one rounding of a
 * partial sum. The sum and the root of the sum of squares bound partial sums in any order. Measured: of 40,000 sums of
 * 3 to 2,000 terms in f16, of both signs or of one, two orders differ by at most 0.43 of the bound, and by 0.1 of it in
 * the root mean square. */
static const double ROOTS = 1.5;

/* Ties are not looked for among more pairs of elements: the interpreter would take seconds. */
static const double MOST_PAIRS = 2e8;

static expr number(const struct error_builder *b, double x)
{
	return error_number(b, x);
}

static expr sum(expr a, expr b)
{
	return !a ? b : !b ? a : ir_binary(IR_ADD, a, b);
}

static void set_error(struct error_builder *b, const struct ir_buffer *of, const struct ir_buffer *error)
{
	error_set(&b->x, of, error);
}

static void lose(struct error_builder *b, const struct ir_buffer *of)
{
	set_error(b, of, &error_unknown);
}

expr error_number(const struct error_builder *b, double x)
{
	return ir_float(b->x.p->pool, TYPE_F64, x);
}

const struct ir_buffer *error_get(const struct error_program *x, const struct ir_buffer *of)
{
	return map_get_u64(&x->errors, (uintptr_t)of);
}

void error_set(struct error_program *x, const struct ir_buffer *of, const struct ir_buffer *error)
{
	map_put_u64(&x->errors, (uintptr_t)of, (void *)(uintptr_t)error);
}

expr error_here(struct error_builder *b, expr e, bool *lost)
{
	b->x.lost = false;
	expr error = error_of(&b->x, e);
	*lost |= b->x.lost;
	return error;
}

/* A stage like `s`, over the same axes, that computes `value` (f64). */
static struct ir_buffer *stage_like(struct error_builder *b, const struct ir_stage *s, enum ir_stage_kind kind,
                                    enum ir_combine c, const char *what, expr value)
{
	struct ir_program *p = b->x.p;
	struct ir_buffer *out = ir_buffer_new(p, arena_printf(p->arena, "%s_%s", s->out->name, what), value->type,
	                                      s->out->rank, s->out->dim, IR_TEMP);
	struct ir_stage *made = ir_stage_new(p, kind, out);
	made->value = value;
	made->combine = c;
	made->axis = s->axis;
	made->exclusive = s->exclusive;
	made->reverse = s->reverse;
	if (kind == IR_MAP)
		return out;
	made->space_rank = s->space_rank;
	memcpy(made->space, s->space, sizeof made->space);
	return out;
}

expr error_own(const struct error_builder *b, const struct ir_buffer *x)
{
	expr at[IR_MAX_RANK];
	for (int k = 0; k < x->rank; k++)
		at[k] = ir_axis(b->x.p->pool, k, x->dim[k]);
	return ir_load(b->x.p->pool, x, at);
}

struct ir_buffer *error_map(struct error_builder *b, const struct ir_buffer *like, const char *what, expr value)
{
	struct ir_program *p = b->x.p;
	struct ir_buffer *out = ir_buffer_new(p, arena_printf(p->arena, "%s_%s", like->name, what), value->type,
	                                      like->rank, like->dim, IR_TEMP);
	ir_stage_new(p, IR_MAP, out)->value = value;
	return out;
}

/* The buffer that `known` has for the stage, or a new stage like it. A loop asks for these twice: for the errors that
 * it carries, and for those of a stage alone. */
static struct ir_buffer *stage_once(struct error_builder *b, struct map *known, const struct ir_stage *s,
                                    enum ir_combine c, const char *what, expr value)
{
	struct ir_buffer *made = map_get_u64(known, (uintptr_t)s);
	if (!made)
		map_put_u64(known, (uintptr_t)s, made = stage_like(b, s, s->kind, c, what, value));
	return made;
}

static void map_error(struct error_builder *b, const struct ir_stage *s, expr error, bool lost)
{
	if (lost)
		lose(b, s->out);
	else if (error)
		set_error(b, s->out, stage_like(b, s, IR_MAP, IR_NONE, "error", error));
}

/* Tensor cores of sm_89 and sm_90 keep 13 bits of a sum of products of 8-bit floats, and round down; a kernel adds up
 * to 128 of them that way. Those errors have the sign of the sum, so that they do not average out. */
static expr f8_rounding(const struct error_builder *b, expr total, expr squares)
{
	const double unit = 0x1p-13, roundings = 6; /* of four instructions, and of their terms */
	return ir_binary(IR_MUL, number(b, unit * roundings), sum(ir_unary(IR_ABS, total), ir_unary(IR_SQRT, squares)));
}

/* The rounding error of a sum `total` of n terms whose squares add up to `squares`. */
static expr sum_rounding(const struct error_builder *b, expr n, expr total, expr squares, enum type t)
{
	expr roundings = ir_binary(IR_MIN, n, ir_binary(IR_MUL, number(b, ROOTS), ir_unary(IR_SQRT, n)));
	expr partial = sum(ir_unary(IR_ABS, total), ir_unary(IR_SQRT, squares));
	return ir_binary(IR_MUL, ir_binary(IR_MUL, number(b, error_unit(t)), roundings), partial);
}

/* ---- Reductions and scans: the accumulator as a buffer, its error, and the post expression of both. */

/* The number of terms. */
static expr terms(struct error_builder *b, const struct ir_stage *s)
{
	expr n = ir_index(b->x.p->pool, 1);
	if (s->kind == IR_SCAN)
		n = s->out->dim[s->axis];
	for (int k = 0; k < s->space_rank; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return ir_cast(n, TYPE_F64);
}

/* How far one end of the range of the largest or smallest term can be from its value. */
static expr end_error(struct error_builder *b, const struct ir_stage *s, const struct ir_buffer *total, expr term,
                      const char *what)
{
	expr end = error_own(b, stage_like(b, s, s->kind, s->combine, what, term)),
	     own = ir_cast(error_own(b, total), TYPE_F64);
	/* Infinities differ by NaN. */
	return ir_select(ir_binary(IR_EQ, end, own), number(b, 0), ir_unary(IR_ABS, ir_binary(IR_SUB, end, own)));
}

/* The error of the largest or smallest term: an error of the others matters only as far as it makes them that term. */
static expr pick_error(struct error_builder *b, const struct ir_stage *s, const struct ir_buffer *total, expr error)
{
	expr x = ir_cast(s->value, TYPE_F64);
	return ir_binary(IR_MAX, end_error(b, s, total, ir_binary(IR_ADD, x, error), "most"),
	                 end_error(b, s, total, ir_binary(IR_SUB, x, error), "least"));
}

/* The error of the accumulator `total` (null: exact), as a buffer. */
static const struct ir_buffer *total_error(struct error_builder *b, const struct ir_stage *s,
                                           const struct ir_buffer *total, bool *lost)
{
	expr error = error_here(b, s->value, lost), rounded = NULL;
	bool sums = s->combine == IR_SUM, picks = s->combine == IR_MAXIMUM || s->combine == IR_MINIMUM;
	bool judges = (s->combine == IR_ALL || s->combine == IR_ANY) && s->kind == IR_REDUCE;
	if (*lost || (!sums && !picks && !judges)) {
		*lost |= error || type_is_float(s->value->type);
		return NULL;
	}
	if (error && picks)
		error = pick_error(b, s, total, error);
	else if (error)
		error = error_own(b, stage_like(b, s, s->kind, sums ? IR_SUM : IR_MAXIMUM, "term_error", error));
	if (sums && type_is_float(s->value->type)) {
		expr x = ir_cast(s->value, TYPE_F64);
		struct ir_buffer *squares = error_window_squares(b, s);
		if (!squares)
			squares = stage_once(b, &b->squares, s, IR_SUM, "squares", ir_binary(IR_MUL, x, x));
		rounded = sum_rounding(b, terms(b, s), error_own(b, total), error_own(b, squares), s->value->type);
		if (ir_sums_f8(s))
			rounded = sum(rounded, f8_rounding(b, error_own(b, total), error_own(b, squares)));
	}
	error = sum(error, rounded);
	return error ? stage_like(b, s, IR_MAP, IR_NONE, "total_error", error) : NULL;
}

/* ---- Positions: of the largest element, of the first ones in order. */

/* The number of pairs of a position and an element that may have it. */
static double pairs(const struct error_builder *b, const struct ir_stage *s)
{
	struct ir_inputs in = { b->from, b->inputs };
	double n = 1;
	for (int k = 0; k < s->out->rank + s->space_rank; k++) {
		expr extent = k < s->out->rank ? s->out->dim[k] : s->space[k - s->out->rank];
		int64_t one;
		n *= ir_eval_int(ir_size_limit(b->from, extent), ir_inputs_symbol, &in, &one) ? (double)one
		                                                                              : MOST_PAIRS;
	}
	return n;
}

/* The position may be that of any element whose value is as near to the chosen one's as both may be wrong. The error is
 * the distance of the farthest of them. */
static void position_error(struct error_builder *b, const struct ir_stage *s)
{
	struct ir_pool *pool = b->x.p->pool;
	bool lost = false;
	expr error = error_here(b, s->value, &lost), x = ir_cast(s->value, TYPE_F64), own = error_own(b, s->out);
	expr chosen[2 * IR_MAX_RANK], place = ir_index(pool, 0), left = ir_cast(own, TYPE_INDEX);
	if (!error && !lost)
		return;
	if (lost || s->post || pairs(b, s) > MOST_PAIRS) {
		lose(b, s->out);
		return;
	}
	int rank = s->out->rank;
	for (int k = 0; k < rank; k++)
		chosen[k] = ir_axis(pool, k, s->out->dim[k]);
	for (int i = s->space_rank - 1; i >= 0; i--) {
		chosen[rank + i] = i ? ir_binary(IR_MOD, left, s->space[i]) : left;
		left = ir_binary(IR_FLOORDIV, left, s->space[i]);
	}
	for (int i = 0; i < s->space_rank; i++)
		place = ir_binary(IR_ADD, ir_binary(IR_MUL, place, s->space[i]), ir_axis(pool, rank + i, s->space[i]));
	expr apart = ir_unary(IR_ABS, ir_binary(IR_SUB, x, ir_bind_axes(pool, x, chosen)));
	expr near = ir_binary(IR_LE, apart, sum(error, ir_bind_axes(pool, error, chosen)));
	expr distance = ir_unary(IR_ABS, ir_binary(IR_SUB, ir_cast(place, TYPE_F64), ir_cast(own, TYPE_F64)));
	set_error(b, s->out,
	          stage_like(b, s, IR_REDUCE, IR_MAXIMUM, "farthest", ir_select(near, distance, number(b, 0))));
}

static void accumulated_error(struct error_builder *b, const struct ir_stage *s)
{
	bool lost = false, is_float = type_is_float(s->value->type);
	enum type t = s->value->type;
	if (ir_combine_is_arg(s->combine)) {
		position_error(b, s);
		return;
	}
	struct ir_buffer *total =
	        stage_once(b, &b->totals, s, s->combine, "total", is_float ? ir_cast(s->value, TYPE_F64) : s->value);
	const struct ir_buffer *error = total_error(b, s, total, &lost);
	if (error)
		set_error(b, total, error);
	expr post = ir_stage_result(b->x.p->pool, s, ir_cast(error_own(b, total), t));
	expr made = lost ? NULL : error_here(b, post, &lost);
	map_error(b, s, made, lost);
}

/* ---- Scatters. */

/* A scatter of `value` to the positions of s, over zeros. */
static struct ir_buffer *scatter_like(struct error_builder *b, const struct ir_stage *s, const char *what,
                                      enum ir_combine c, expr value, expr init)
{
	struct ir_buffer *out = stage_like(b, s, IR_SCATTER, c, what, value);
	struct ir_stage *made = b->x.p->stages.at[b->x.p->stages.n - 1];
	made->init = init ? init : number(b, 0);
	made->where = s->where;
	memcpy(made->at, s->at, sizeof made->at);
	return out;
}

/* Each update rounds to the buffer's own type. */
static void scatter_sum(struct error_builder *b, const struct ir_stage *s, expr error, expr init)
{
	expr x = ir_cast(s->value, TYPE_F64);
	expr n = error_own(b, scatter_like(b, s, "updates", IR_SUM, number(b, 1), NULL));
	expr squares = error_own(b, scatter_like(b, s, "squares", IR_SUM, ir_binary(IR_MUL, x, x), NULL));
	expr rounded = sum_rounding(b, n, ir_cast(error_own(b, s->out), TYPE_F64), squares, s->out->type);
	if (!error && !init) /* a single addition has only one order */
		rounded = ir_select(ir_binary(IR_LE, n, number(b, 1)), number(b, 0), rounded);
	else
		rounded = sum(
		        error_own(b, scatter_like(b, s, "update_errors", IR_SUM, error ? error : number(b, 0), init)),
		        rounded);
	map_error(b, s, rounded, false);
}

static void scatter_error(struct error_builder *b, const struct ir_stage *s)
{
	bool lost = false, moved = s->where && error_here(b, s->where, &lost);
	expr error = error_here(b, s->value, &lost), init = error_here(b, s->init, &lost);
	bool sums = s->combine == IR_SUM && type_is_float(s->out->type);
	for (int k = 0; k < s->out->rank; k++)
		moved |= error_here(b, s->at[k], &lost) != NULL;
	if (lost || moved || (s->combine == IR_PROD && type_is_float(s->out->type))) {
		lose(b, s->out);
	} else if (sums) {
		scatter_sum(b, s, error, init);
	} else if (error || init) {
		bool picks = s->combine == IR_MAXIMUM || s->combine == IR_MINIMUM;
		error = error ? error : number(b, 0);
		struct ir_buffer *made = scatter_like(b, s, "error",
		                                      picks                   ? IR_MAXIMUM
		                                      : s->combine == IR_NONE ? IR_NONE
		                                                              : IR_SUM,
		                                      error, init);
		set_error(b, s->out, made);
	}
}

/* ---- Stages. */

static bool is_exact(struct error_builder *b, expr e)
{
	bool lost = false;
	return !e || (!error_here(b, e, &lost) && !lost);
}

void error_stage(struct error_builder *b, const struct ir_stage *s)
{
	struct ir_buffer *made;
	bool lost = false;
	expr error;
	switch (s->kind) {
	case IR_MAP:
		error = error_here(b, s->value, &lost);
		map_error(b, s, error, lost);
		return;
	case IR_REDUCE:
	case IR_SCAN: accumulated_error(b, s); return;
	case IR_SCATTER: scatter_error(b, s); return;
	case IR_SORT: position_error(b, s); return;
	case IR_PICK:
	case IR_COMPACT: /* rounding may change which elements are kept */
		lost = !is_exact(b, s->value) || !is_exact(b, s->where);
		break;
	case IR_LOOP: lost = true; break;
	}
	for (int i = 0; lost && (made = ir_stage_made(s, i)); i++)
		lose(b, made);
}

struct error_program error_context(const struct error_builder *b)
{
	struct arena *a = b->x.p->arena;
	return (struct error_program){ .p = b->x.p, .errors = map_new(a), .known = map_new(a) };
}
