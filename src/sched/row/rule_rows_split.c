/* Rule rows_split: split reductions of few long rows that several reductions share, with one pass over the elements. A
 * first kernel treats parts of rows as rows, and computes all reductions of each part. A second kernel combines the
 * parts and computes the values that depend on them. Parts are equal and whole vectors; what remains of a row, less
 * than a vector for each part, is left to the second kernel. It wins if there are too few rows to fill the GPU. A sum
 * of squared differences from the mean uses the part's mean; parts are combined as in Chan, Golub and LeVeque,
 * "Algorithms for computing the sample variance" (1983). A softmax's sum uses the part's largest element, and parts are
 * combined as in Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018). */
#include "sched/row/rows.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { WARP = 32, LANES = 256, LAST_LANES = 1024, FEW = 4 /* turns */, MAX_STEPS = 16, MAX_PARTS = 1 << 16 };
enum { MAX_REGISTERS = 64 /* for elements, per thread */ };
enum { WIDEST = 16 /* bytes */, REST_NS = 300 /* a turn of the second kernel */ };

/* The stages to compute: those of the row program from s on, up to the first that reads the elements of a row again. */
struct group {
	struct rows rows;
	int stages;
	expr points; /* of a row */
	/* Of a sum of squared differences from the mean, or of exponentials of those from the largest element: the
	 * stage of the mean or the largest; else -1. */
	int center[ROWS_MAX_STAGES];
};

struct find_value {
	struct rows *r;
	const struct rows_stage *st;
	bool found;
};

static void find_value(void *user, expr e)
{
	struct find_value *f = user;
	f->found |= e->op == IR_LOAD && rows_value_of(f->r, f->st, e) >= 0;
}

/* True if stage `mean` computes the mean of its elements. */
static bool is_mean(const struct group *g, int mean)
{
	const struct rows_stage *st = &g->rows.stage[mean];
	int64_t n;
	if (st->kind != ROWS_REDUCE || st->s->combine != IR_SUM || !st->post || st->post->n != 2 ||
	    st->post->arg[0]->op != IR_ACC || st->post->type != st->value->type)
		return false;
	expr number = st->post->arg[1];
	if (number->op == IR_CAST)
		return st->post->op == IR_DIV && number->arg[0] == g->points;
	if (number->op != IR_CONST_FLOAT || !ir_const_int(g->points, &n))
		return false;
	double by = number->f;
	return st->post->op == IR_MUL ? fabs(by * (double)n - 1) < 1e-6 : st->post->op == IR_DIV && by == (double)n;
}

/* True if stage `largest` is the largest of its elements. */
static bool is_largest(const struct group *g, int largest)
{
	const struct rows_stage *st = &g->rows.stage[largest];
	return st->kind == ROWS_REDUCE && st->s->combine == IR_MAXIMUM && !st->post && type_is_float(st->value->type);
}

/* If stage i is the sum of (element - m)^2 and m the mean of the same elements, or of exp(element - m) and m the
 * largest of them: the stage of m; else -1. */
static int center_of(const struct group *g, int i)
{
	const struct rows_stage *st = &g->rows.stage[i];
	expr value = st->value, d = value->n ? value->arg[0] : NULL;
	bool square = value->op == IR_MUL && value->arg[1] == d;
	if (st->s->combine != IR_SUM || (!square && value->op != IR_EXP) || d->op != IR_SUB || d->arg[1]->op != IR_LOAD)
		return -1;
	int m = rows_value_of(&g->rows, st, d->arg[1]);
	if (m < 0 || m >= i || g->rows.stage[m].value != d->arg[0])
		return -1;
	return (square ? is_mean : is_largest)(g, m) ? m : -1;
}

static bool find_group(struct group *g, struct ir_program *p, const struct ir_stage *s)
{
	struct rows *r = &g->rows;
	const char *why;
	g->stages = 0;
	const struct rows *found = sched_match(p, s, &sched_rows, &why);
	if (s->kind != IR_REDUCE || s->out->rank + 1 >= IR_MAX_RANK || !found)
		return false;
	*r = *found;
	g->points = r->length;
	for (; g->stages < r->stages; g->stages++) {
		const struct rows_stage *st = &r->stage[g->stages];
		struct find_value f = { r, st, false };
		if (st->kind == ROWS_MAP || st->kind == ROWS_JOINED ||
		    (st->kind == ROWS_REDUCE && ir_combine_is_arg(st->s->combine)))
			break;
		if (st->kind == ROWS_REDUCE)
			ir_walk(st->value, find_value, &f);
		g->center[g->stages] = f.found ? center_of(g, g->stages) : -1;
		if (f.found && g->center[g->stages] < 0)
			break;
	}
	return g->stages > 0;
}

/* ---- Choices. */

static double bytes_each(const struct rows *r)
{
	double bits = 0;
	for (int i = 0; i < r->cached; i++)
		bits += type_info(r->cache[i].buf->type)->bits;
	return bits / 8;
}

/* Elements of a vector: 16 bytes of the widest type. A row of constant length begins at a whole vector. */
static int vector_width(const struct group *g)
{
	int bytes = 1, width;
	int64_t points;
	for (int i = 0; i < g->rows.cached; i++)
		if (type_info(g->rows.cache[i].buf->type)->bits / 8 > bytes)
			bytes = type_info(g->rows.cache[i].buf->type)->bits / 8;
	width = WIDEST / bytes;
	if (!ir_is_int(g->rows.count, 1) && ir_const_int(g->points, &points))
		while (points % width)
			width /= 2;
	return width;
}

static int add_choice(struct sched_choice *out, int n, int64_t parts, int width, int steps)
{
	for (int i = 0; i < n; i++)
		if (out[i].param[0] == parts && out[i].param[2] == steps)
			return n;
	if (parts < 4 || parts > MAX_PARTS)
		return n;
	out[n] = (struct sched_choice){ &sched_rows_split, { (int)parts, width, steps } };
	return n + 1;
}

/* Elements of a row that parts of whole vectors leave to the second kernel. */
static int64_t left_by(int64_t points, int64_t parts, int width)
{
	return points % (parts * width);
}

/* The number of parts of at most `share` elements: the fewest, or slightly more that leave less. */
static int64_t parts_of_share(int64_t points, int64_t share, int width)
{
	enum { MORE = 16 /* one of so many */ };
	int64_t fewest = (points + share - 1) / share, best = fewest;
	for (int64_t parts = fewest + 1; parts <= fewest + fewest / MORE; parts++)
		if (left_by(points, parts, width) < left_by(points, best, width))
			best = parts;
	return best;
}

/* Parts of complete steps of vectors that divide the row, or as few as have room for their elements in registers; parts
 * of any length that divide it, or any. */
static int choices_of(const struct group *g, const struct sched_target *t, struct sched_choice *out)
{
	static const int steps[] = { 8, 4, 16, 2 };
	int n = 0, width = vector_width(g), held;
	int64_t points = about(g->points, t);
	for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
		int64_t share = (int64_t)LANES * width * steps[i];
		if (points % share == 0 && steps[i] * width * bytes_each(&g->rows) / 4 <= MAX_REGISTERS)
			n = add_choice(out, n, points / share, width, steps[i]);
	}
	held = n;
	for (int i = 0; i < (int)(sizeof steps / sizeof *steps) && !held; i++) {
		int64_t share = (int64_t)LANES * width * steps[i];
		if (steps[i] * width * bytes_each(&g->rows) / 4 <= MAX_REGISTERS)
			n = add_choice(out, n, parts_of_share(points, share, width), width, steps[i]);
	}
	held = n;
	for (int parts = 2048; parts >= 4 && n < 6; parts /= 4)
		if (points % ((int64_t)parts * width) == 0 && points / parts >= (int64_t)LANES * width)
			n = add_choice(out, n, parts, width, 0);
	for (int parts = 512; parts >= 4 && n == held; parts /= 4)
		if (points / parts >= (int64_t)LANES * width)
			n = add_choice(out, n, parts, width, 0);
	if (!n && !ir_const_int(g->points, &points))
		n = add_choice(out, n, 4, width, 0);
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct group g;
	if (find_group(&g, p, s))
		return FOUND(p, g);
	*why = "the stage is not a reduction of rows whose parts can be combined";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct group *)site->found)->stages;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	struct group g = *(const struct group *)site->found;
	return choices_of(&g, t, out);
}

/* ---- The stages of the two kernels. */

/* How rows are divided: elements of each part and of the rest. */
struct shares {
	struct ir_program *p;
	const struct group *g;
	int parts;
	expr share, rest;
};

static struct shares shares_of(struct ir_program *p, const struct group *g, int parts, int width)
{
	struct shares s = { .p = p, .g = g, .parts = parts };
	expr vectors = ir_binary(IR_FLOORDIV, g->points, ir_index(p->pool, (int64_t)parts * width));
	s.share = ir_binary(IR_MUL, vectors, ir_index(p->pool, width));
	s.rest = ir_binary(IR_SUB, g->points, ir_binary(IR_MUL, s.share, ir_index(p->pool, parts)));
	return s;
}

static expr share_as_float(const struct shares *s, enum type t)
{
	return ir_cast(ir_binary(IR_MAX, s->share, ir_index(s->p->pool, 1)), t);
}

struct part {
	const struct shares *shares;
	const struct rows_stage *st;
	int rank;
	expr axis[IR_MAX_RANK]; /* values of the reduced axes */
	expr full;              /* position of the element in the rows */
};

/* Renames loads for an element of a part: those of the row stay contiguous; other loads keep their positions. */
static expr in_part(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct part *t = user;
	(void)pool;
	(void)arg;
	if (e->op == IR_AXIS && e->i >= t->rank)
		return t->axis[e->i - t->rank];
	if (e->op == IR_LOAD && rows_is_own(&t->shares->g->rows, t->st, e) && !type_is_packed(e->type))
		return ir_load(t->shares->p->pool, flat_view(t->shares->p, e->buf), &t->full);
	return NULL;
}

/* The stage's value at that point of its row. `length`: of a row; as a multiple of vectors if it is one. */
static expr value_at(const struct shares *x, const struct rows_stage *st, expr point, expr length)
{
	const struct ir_stage *s = st->s;
	struct ir_pool *pool = x->p->pool;
	struct part t = { .shares = x, .st = st, .rank = s->out->rank };
	expr row = ir_index(pool, 0);
	for (int k = 0; k < t.rank; k++)
		row = ir_binary(IR_ADD, ir_binary(IR_MUL, row, s->out->dim[k]), ir_axis(pool, k, s->out->dim[k]));
	t.full = ir_binary(IR_ADD, ir_binary(IR_MUL, row, length), point);
	for (int k = s->space_rank - 1; k >= 0; k--) {
		t.axis[k] = k ? ir_binary(IR_MOD, point, s->space[k]) : point;
		point = ir_binary(IR_FLOORDIV, point, s->space[k]);
	}
	return ir_copy(pool, s->value, in_part, &t);
}

static bool of_largest(const struct rows_stage *center)
{
	return center->s->combine == IR_MAXIMUM;
}

/* part[i..., k] = combine over r of value at point k * share + r. With `sums`, the parts' sums of the values of
 * `center`: sum of squared differences from the part's mean; or with its largest ones, sum of the exponentials. `out`:
 * the buffer; null: a new one. */
static struct ir_stage *part_stage(const struct shares *x, const struct rows_stage *st, const struct rows_stage *center,
                                   expr length, struct ir_buffer *out, struct ir_buffer *sums)
{
	const struct ir_stage *s = st->s;
	struct ir_program *p = x->p;
	struct ir_pool *pool = p->pool;
	int rank = s->out->rank;
	bool squares = center && !of_largest(center);
	expr dim[IR_MAX_RANK];
	for (int k = 0; k < rank; k++)
		dim[k] = s->out->dim[k];
	dim[rank] = ir_index(pool, x->parts);
	expr point = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_axis(pool, rank, dim[rank]), x->share),
	                       ir_axis(pool, rank + 1, x->share));
	struct ir_stage *first = NEW(p->arena, struct ir_stage);
	*first = (struct ir_stage){ .kind = IR_REDUCE, .combine = s->combine, .space_rank = 1 };
	first->out = out;
	if (!out)
		first->out = ir_buffer_new(p, arena_printf(p->arena, squares ? "%s_squares" : "%s_parts", s->out->name),
		                           s->value->type, rank + 1, dim, IR_TEMP);
	first->value = value_at(x, center ? center : st, point, length);
	if (center) {
		expr own[IR_MAX_RANK], d, from;
		for (int k = 0; k <= rank; k++)
			own[k] = ir_axis(pool, k, dim[k]);
		from = ir_load(pool, sums, own);
		if (squares)
			from = ir_binary(IR_DIV, from, share_as_float(x, sums->type));
		d = ir_binary(IR_SUB, first->value, from);
		first->value = squares ? ir_binary(IR_MUL, d, d) : ir_unary(IR_EXP, d);
	}
	first->space[0] = x->share;
	return first;
}

/* A part's sum of exponentials, of which `own` is the largest argument, as one where `all` is. Of nothing, or of minus
 * infinity alone, the sum is no number, but adds nothing to one of larger arguments. */
static expr scaled_sum(expr sum, expr own, expr all)
{
	expr scaled = ir_binary(IR_MUL, sum, ir_unary(IR_EXP, ir_binary(IR_SUB, own, all)));
	expr none = ir_float(sum->pool, sum->type, 0), least = ir_float(own->pool, own->type, -INFINITY);
	return ir_select(ir_binary(IR_LT, own, all), ir_select(ir_binary(IR_LT, least, own), scaled, none), sum);
}

/* The stage that combines the parts and the rest of the row; with `center`: adds each part's squared difference from
 * the total mean, or scales its sum by the exponential of that from the row's largest element. */
static struct ir_stage *whole_stage(const struct shares *x, const struct rows_stage *st, struct ir_buffer *part,
                                    const struct rows_stage *center, struct ir_buffer *sums)
{
	struct ir_program *p = x->p;
	struct ir_pool *pool = p->pool;
	struct ir_stage *second = NEW(p->arena, struct ir_stage);
	int last = part->rank - 1;
	expr own[IR_MAX_RANK], parts = part->dim[last], all = ir_binary(IR_ADD, parts, x->rest);
	for (int k = 0; k < part->rank; k++)
		own[k] = ir_axis(pool, k, k < last ? part->dim[k] : all);
	*second = *st->s;
	second->value = ir_load(pool, part, own);
	if (center && of_largest(center)) {
		second->value = scaled_sum(second->value, ir_load(pool, sums, own), ir_load(pool, center->s->out, own));
	} else if (center) {
		expr share = share_as_float(x, sums->type), d = ir_binary(IR_DIV, ir_load(pool, sums, own), share);
		d = ir_binary(IR_SUB, d, ir_load(pool, center->s->out, own));
		d = ir_binary(IR_MUL, ir_binary(IR_MUL, d, d), ir_cast(x->share, sums->type));
		second->value = ir_binary(IR_ADD, second->value, d);
	}
	second->space_rank = 1;
	second->space[0] = all;
	if (ir_is_int(x->rest, 0))
		return second;
	expr point = ir_binary(IR_ADD, ir_binary(IR_MUL, x->share, parts), ir_binary(IR_SUB, own[last], parts));
	second->value =
	        ir_select(ir_binary(IR_LT, own[last], parts), second->value, value_at(x, st, point, x->g->points));
	return second;
}

static void rows_of(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *const *stage, int n,
                    const struct sched_choice *c, bool backwards, expr needs, bool others)
{
	struct rows r;
	ck(rows_match_stages(&r, plan->program, stage, n) == n);
	r.store_all = true;
	r.backwards = backwards;
	r.needs = needs;
	rows_apply(plan, step, &r, c, others);
}

/* The lanes for the rest of a row. */
static int rest_lanes(const struct shares *x)
{
	expr most = ir_upper_bound(x->rest);
	int64_t rest;
	return most && ir_const_int(most, &rest) && x->parts + rest <= 2 * FEW * LANES ? LANES : LAST_LANES;
}

/* The lanes, width and steps of the second kernel: one warp, or as many threads as most kernels have, so that the
 * blocks of the next one can repeat it (core/repeat.c). */
static struct sched_choice second_choice(const struct shares *x, int reductions)
{
	int lanes = WARP, width = x->parts % 4 ? 1 : 4;
	if (!ir_is_int(x->rest, 0))
		return (struct sched_choice){ &sched_rows, { rest_lanes(x), 1, 0, 0 } };
	if (x->parts > WARP * MAX_STEPS / 2 || x->parts > FEW * WARP * width)
		lanes = LANES;
	while (lanes < LAST_LANES && FEW * lanes * width < x->parts)
		lanes *= 2;
	int turns = (x->parts + lanes * width - 1) / (lanes * width);
	return (struct sched_choice){ &sched_rows, { lanes, width, turns <= MAX_STEPS / reductions ? turns : 0, 0 } };
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	const struct ir_stage *first[ROWS_MAX_STAGES], *any[ROWS_MAX_STAGES], *second[ROWS_MAX_STAGES];
	struct ir_buffer *part[ROWS_MAX_STAGES];
	int width = c->param[1], reductions = 0, steps = plan->steps.n;
	struct group g = *(const struct group *)site->found;
	struct shares x = shares_of(p, &g, c->param[0], width);
	bool one_row = ir_is_int(g.rows.count, 1);
	expr whole = one_row ? ir_int(p->pool, TYPE_BOOL, 1) : whole_multiple(p, g.points, width), length = g.points;
	if (!ir_is_int(x.rest, 0) && !ir_is_int(whole, 1)) { /* a multiple, as the kernel needs it */
		expr vector = ir_index(p->pool, width);
		length = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, length, vector), vector);
	}
	for (int i = 0; i < g.stages; i++) {
		const struct rows_stage *st = &g.rows.stage[i];
		second[i] = st->s;
		if (st->kind != ROWS_REDUCE)
			continue;
		const struct rows_stage *center = g.center[i] >= 0 ? &g.rows.stage[g.center[i]] : NULL;
		struct ir_buffer *sums = center ? part[g.center[i]] : NULL;
		first[reductions] = part_stage(&x, st, center, length, NULL, sums);
		part[i] = first[reductions]->out;
		any[reductions] = part_stage(&x, st, center, g.points, part[i], sums);
		second[i] = whole_stage(&x, st, part[i], center, sums);
		reductions++;
	}
	struct ir_step *step = step_new(plan);
	struct sched_choice fast = { &sched_rows, { LANES, width, c->param[2], 0 } };
	rows_of(plan, step, first, reductions, &fast, true, whole, !ir_is_int(whole, 1));
	if (!step_fits_all(step))
		rows_of(plan, step, any, reductions, &(struct sched_choice){ &sched_rows, { LANES, 1, 0, 0 } }, true,
		        NULL, false);
	struct sched_choice last = second_choice(&x, reductions);
	rows_of(plan, step_new(plan), second, g.stages, &last, false, NULL, false);
	explained_by(plan, steps, c);
	decided_by(plan, steps, c,
	           arena_printf(p->arena, "parts=%d width=%d steps=%d", x.parts, c->param[1], c->param[2]));
}

/* ---- Time: the elements once, with one block per part, and two launches. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	struct group g = *(const struct group *)site->found;
	double outs = (double)about(g.rows.count, t), blocks = outs * c->param[0], each = bytes_each(&g.rows), work = 0;
	double points = outs * (double)about(g.points, t), bytes = points * each, width = c->param[1];
	struct shares x = shares_of(site->p, &g, c->param[0], c->param[1]);
	double share = (double)about(x.share, t), rest = (double)about(x.rest, t);
	if (!ir_is_int(g.rows.count, 1) && !about_holds(whole_multiple(site->p, g.points, c->param[1]), t))
		width = 1;
	for (int i = 0; i < g.stages; i++)
		if (g.rows.stage[i].kind == ROWS_REDUCE)
			work += points * ir_cost(g.rows.stage[i].value);
	/* A part of symbolic length that exceeds its registers is read element by element. */
	bool fits = share <= (double)LANES * width * c->param[2], kept = c->param[2] && fits;
	if (!kept)
		bytes *= 1 + cost_missed(t, bytes) * (g.rows.reductions - 1);
	double resident = blocks / t->processors, most = (double)t->threads / LANES, ahead = kept ? c->param[2] : 2;
	double flying = (resident < most ? resident : most) * LANES * (c->param[2] && !fits ? 1 : width) * ahead * each;
	double fill = flying / cost_in_flight(t), compute = work / cost_mixed_rate(t);
	fill = fill < 1 ? fill : 1;
	fill = fill < resident ? fill : resident; /* a multiprocessor has at most its share of the bandwidth */
	double time = bytes / t->bytes_per_ns / fill;
	time = time > compute ? time : compute;
	/* As in cost.c: the exchange between lanes. */
	time += g.rows.reductions * blocks * LANES * 12 / (cost_mixed_rate(t) / 3);
	/* The rest of a row is read by one block, element by element. */
	if (rest > 1)
		time += g.rows.reductions * cost_wait(t, REST_NS) * ceil(rest / rest_lanes(&x));
	/* Measured on an H200 for norms of 1 to 8 rows: the second launch begins early. */
	const double SECOND = 0.5, EXCHANGE_NS = 500;
	return (1 + SECOND) * t->launch_ns + time * (kept ? 1 : 1.05) + EXCHANGE_NS + c->param[0] * 0.2;
}

const struct sched_rule sched_rows_split = {
	.name = "rows_split",
	.version = 3,
	.about = "A first kernel reduces parts of the rows, and a second kernel combines them.",
	.param = { { "parts", 4, 65536 }, { "width", 1, 16 }, { "steps", 0, 16 } },
	.none = "the rows are too short for several parts",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
