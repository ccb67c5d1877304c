/* Rule tile: a tiled transpose, for a map whose loads are contiguous along another axis than its stores. A block loads
 * a square of both axes, transposes it in shared memory and stores it, with coalesced accesses on both sides. Axes that
 * are neighbours in all buffers are merged. A lane loads and stores side / 32 neighbouring elements, so that narrow
 * types fill whole words. Loads may have a condition, as in a map that pads. */
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum { LANES = 32, LINES = 8, MAX_TURNED = 4, MAX_WIDTH = 4, WIDEST = 8 };

/* The map with merged axes, and the loads that are contiguous along axis `b`; the result is contiguous along `a`. */
struct turned {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value;
	int rank, a, b;
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK]; /* axis: AXIS nodes */
	expr condition;                           /* of the loads; null: none */
	int loads;
	expr load[MAX_TURNED];
	int side, width; /* of a square; elements per access of a lane */
};

/* ---- Merging axes. */

struct merge {
	int axis; /* merged with the next one */
	expr together, inner;
};

/* Merges two axes in a position that is contiguous across lines: the first becomes 0, the second both. */
static expr merge_position(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct merge *m = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i < m->axis)
		return NULL;
	return e->i == m->axis       ? ir_index(pool, 0)
	       : e->i == m->axis + 1 ? ir_axis(pool, m->axis, m->together)
	                             : ir_axis(pool, (int)e->i - 1, e->arg[0]);
}

static expr merge_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct merge *m = user;
	(void)arg;
	if (e->op == IR_LOAD && e->n == 1) {
		expr outer = ir_stride(e->arg[0], m->axis), inner = ir_stride(e->arg[0], m->axis + 1);
		if (!outer || !inner || outer != ir_binary(IR_MUL, inner, m->inner))
			return NULL;
		expr at = ir_copy(pool, e->arg[0], merge_position, user);
		return ir_load(pool, e->buf, &at);
	}
	if (e->op != IR_AXIS || e->i < m->axis)
		return NULL;
	expr both = ir_axis(pool, m->axis, m->together);
	if (e->i == m->axis)
		return ir_binary(IR_FLOORDIV, both, m->inner);
	return e->i == m->axis + 1 ? ir_binary(IR_MOD, both, m->inner) : ir_axis(pool, (int)e->i - 1, e->arg[0]);
}

struct divided {
	expr axis;
	bool found;
};

static void find_divided(void *user, expr e)
{
	struct divided *d = user;
	for (int i = 0; (e->op == IR_FLOORDIV || e->op == IR_MOD) && i < e->n; i++)
		d->found |= e->arg[i] == d->axis;
}

static void name_axes(struct turned *t)
{
	for (int k = 0; k < t->rank; k++)
		t->axis[k] = ir_axis(t->p->pool, k, t->dim[k]);
}

/* The largest divisor below `below` by which the expressions split an axis: j / 6400, j / 80 % 80, j % 80. */
struct cut {
	expr axis;
	int64_t below, at;
};

static void find_cut(void *user, expr e)
{
	struct cut *c = user;
	int64_t by, inner = 1;
	if ((e->op != IR_FLOORDIV && e->op != IR_MOD) || !ir_const_int(e->arg[1], &by))
		return;
	expr of = e->arg[0];
	if (e->op == IR_MOD && of->op == IR_FLOORDIV && ir_const_int(of->arg[1], &inner))
		of = of->arg[0];
	if (of == c->axis && by * inner < c->below && by * inner > c->at)
		c->at = by * inner;
}

/* Splits an axis that a reshape had merged: k keeps the quotient, and a new axis after it gets the remainder. */
static void split_axis(struct turned *t, int k)
{
	int64_t extent;
	if (t->rank == IR_MAX_RANK || !ir_const_int(t->dim[k], &extent))
		return;
	struct cut c = { t->axis[k], extent, 1 };
	ir_walk(t->value, find_cut, &c);
	if (c.at == 1 || extent % c.at)
		return;
	memmove(&t->dim[k + 1], &t->dim[k], sizeof t->dim[0] * (size_t)(t->rank++ - k));
	t->dim[k] = ir_index(t->p->pool, extent / c.at);
	t->dim[k + 1] = ir_index(t->p->pool, c.at);
	name_axes(t);
	expr old[IR_MAX_RANK];
	memcpy(old, t->axis, sizeof old[0] * (size_t)(k + 1));
	memcpy(old + k + 1, t->axis + k + 2, sizeof old[0] * (size_t)(t->rank - k - 2));
	old[k] = ir_binary(IR_ADD, ir_binary(IR_MUL, t->axis[k], t->dim[k + 1]), t->axis[k + 1]);
	t->value = to_kernel(t->p, t->value, &(struct axes){ .value = old });
}

/* Flattens loads first: only positions in memory matter, not the buffers' axes. */
static void merge_axes(struct turned *t)
{
	name_axes(t);
	t->value = to_kernel(t->p, t->value, &(struct axes){ .value = t->axis });
	for (int k = 0; k < t->rank; k++)
		split_axis(t, k);
	for (int k = t->rank - 2; k >= 0; k--) {
		struct merge m = { k, ir_binary(IR_MUL, t->dim[k], t->dim[k + 1]), t->dim[k + 1] };
		struct divided d = { ir_axis(t->p->pool, k, m.together), false };
		expr value = ir_copy(t->p->pool, t->value, merge_axis, &m);
		ir_walk(value, find_divided, &d);
		if (d.found)
			continue;
		t->value = value;
		t->dim[k] = m.together;
		memmove(&t->dim[k + 1], &t->dim[k + 2], sizeof t->dim[0] * (size_t)(t->rank - k - 2));
		t->rank--;
	}
	name_axes(t);
}

/* ---- Loads. */

static bool is_one(expr e)
{
	return e && ir_is_int(e, 1);
}

static void find_turned(void *user, expr e)
{
	struct turned *t = user;
	if (e->op != IR_LOAD || type_is_packed(e->type) || t->loads == MAX_TURNED)
		return;
	expr flat = ir_flat(t->p->pool, e->buf, e->arg), along = ir_stride(flat, t->a);
	if (!along || is_one(along) || ir_is_int(along, 0))
		return;
	for (int k = 0; k < t->rank; k++) {
		if (k == t->a || ir_is_int(t->dim[k], 1) || !is_one(ir_stride(flat, k)) || (t->b >= 0 && t->b != k))
			continue;
		t->b = k;
		t->load[t->loads++] = e;
		return;
	}
}

static bool find(struct turned *t, struct ir_program *p, const struct ir_stage *s)
{
	*t = (struct turned){ .p = p, .s = s, .value = s->value, .rank = s->out->rank, .a = -1, .b = -1 };
	if (s->kind != IR_MAP || t->rank < 2 || type_is_packed(s->out->type))
		return false;
	memcpy(t->dim, s->out->dim, sizeof t->dim[0] * (size_t)t->rank);
	merge_axes(t);
	for (int k = 0; k < t->rank; k++)
		if (!ir_is_int(t->dim[k], 1))
			t->a = k;
	if (t->a < 0)
		return false;
	expr loaded = t->value;
	if (loaded->op == IR_SELECT && !ir_uses(loaded->arg[0], IR_LOAD) && !ir_uses(loaded->arg[2], IR_LOAD)) {
		t->condition = loaded->arg[0]; /* as with padding */
		loaded = loaded->arg[1];
	}
	ir_walk_unconditional(loaded, find_turned, t);
	return t->loads > 0;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct turned t;
	if (find(&t, p, s))
		return FOUND(p, t);
	*why = "the stage is not a map that reads and writes along different axes";
	return NULL;
}

struct aligned {
	int64_t width;
	bool all;
};

static void check_term(void *user, int64_t c, int factors, const expr *factor)
{
	struct aligned *a = user;
	(void)factors;
	(void)factor;
	a->all &= c % a->width == 0;
}

/* True if lanes can access `width` elements at once: all vectors are complete and aligned. */
static bool width_fits(const struct turned *t, int width)
{
	int64_t a, b, side = LANES * width;
	int64_t shared = 0, bytes = type_info(t->s->out->type)->bits / 8 * width;
	if (width == 1)
		return true;
	bool tested[2 * IR_MAX_RANK] = { false };
	if (t->condition)
		ir_mark_axes(t->condition, tested);
	if (tested[t->b] || !ir_const_int(t->dim[t->a], &a) || !ir_const_int(t->dim[t->b], &b) || a % width ||
	    b % width || bytes > WIDEST)
		return false;
	for (int i = 0; i < t->loads; i++) {
		int64_t size = type_info(t->load[i]->type)->bits / 8;
		struct aligned d = { width, true };
		expr flat = ir_flat(t->p->pool, t->load[i]->buf, t->load[i]->arg);
		ir_poly_terms(ir_binary(IR_SUB, flat, t->axis[t->b]), check_term, &d);
		shared += side * (side + 1) * size;
		if (!d.all || size * width > WIDEST)
			return false;
	}
	return shared <= TARGET_DECLARED_DATA;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	struct turned f = *(const struct turned *)site->found;
	for (int width = 1; width <= MAX_WIDTH; width *= 2)
		if (width_fits(&f, width))
			out[n++] = (struct sched_choice){ &sched_tile, { LANES * width } };
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *target = site->t;
	enum { WORD = 4 };
	int side = c->param[0], width = side / LANES;
	struct turned t = *(const struct turned *)site->found;
	double a = (double)about(t.dim[t.a], target), b = (double)about(t.dim[t.b], target);
	double points = (double)about(out_count(t.p, s), target), size = type_info(s->out->type)->bits / 8.0,
	       narrow = size;
	for (int i = 0; i < t.loads; i++) {
		double bytes = type_info(t.load[i]->type)->bits / 8.0;
		size += bytes;
		narrow = bytes < narrow ? bytes : narrow;
	}
	/* Measured on an H100: compared with accesses of eight bytes per lane, four bytes take 1.03 times as long, two
	 * 1.25 times. Squares past the edges move no bytes there, but idle some of the threads. */
	double whole_a = ceil(a / side) * side, whole_b = ceil(b / side) * side, over = whole_a / a * (whole_b / b);
	double blocks = points / (a * b) * whole_a * whole_b / ((double)side * side);
	double fill = blocks / (target->processors * 4.0), access = narrow * width;
	double slower = access < WORD ? 1.25 * WORD / 2 / access : access < 2 * WORD ? 1.05 : 1.02;
	double time = points * size / target->bytes_per_ns * slower;
	time *= over < 2 ? 1 + 0.02 * (over - 1) : over / 2 * 1.02;
	return target->launch_ns + 300 + time / (fill < 1 ? fill : 1);
}

/* ---- The kernel. */

struct tile_load {
	struct turned *t;
	struct ir_variable **square;
	expr row, column;
};

static expr from_square(void *user, expr e, expr flat)
{
	const struct tile_load *l = user;
	(void)flat;
	for (int i = 0; i < l->t->loads; i++)
		if (l->t->load[i] == e)
			return item_of_row(l->square[i], l->row, l->column);
	return NULL;
}

/* The number of squares along an axis. */
static expr squares(struct turned *t, int axis)
{
	return ceil_div(t->p, t->dim[axis], t->side);
}

/* Declares the square's corner and the other axes from the block number. */
static void declare_block(struct turned *t, struct ir_block *b, expr block, expr *axis, expr *a0, expr *b0)
{
	struct ir_program *p = t->p;
	expr side = ir_index(p->pool, t->side), na = squares(t, t->a), nb = squares(t, t->b), dim[IR_MAX_RANK],
	     got[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	int n = 0;
	*a0 = emit_constant(p, b, "corner_a", ir_binary(IR_MUL, ir_binary(IR_MOD, block, na), side), NULL);
	expr rest = ir_binary(IR_FLOORDIV, block, na);
	*b0 = emit_constant(p, b, "corner_b", ir_binary(IR_MUL, ir_binary(IR_MOD, rest, nb), side), NULL);
	rest = ir_binary(IR_FLOORDIV, rest, nb);
	for (int k = 0; k < t->rank; k++) {
		if (k == t->a || k == t->b)
			continue;
		dim[n] = t->dim[k];
		name[n] = ir_axis_names[0][k];
		used[n++] = true;
	}
	declare_axes(p, b, rest, n, dim, name, used, got);
	for (int k = 0, i = 0; k < t->rank; k++)
		if (k != t->a && k != t->b)
			axis[k] = got[i++];
}

/* Declares an axis inside the square, which is known to be in range from there on. */
static expr inside(struct turned *t, struct ir_block **b, int axis, expr at, const char *name)
{
	struct ir_program *p = t->p;
	int64_t extent;
	expr x = emit_constant(p, *b, name, at, NULL);
	if (!ir_const_int(t->dim[axis], &extent) || extent % t->side)
		*b = emit_if(p, *b, ir_binary(IR_LT, x, t->dim[axis]));
	return ir_var_of(x->var, t->dim[axis]);
}

static expr out_place(const struct turned *t, const expr *axis)
{
	expr at = ir_index(t->p->pool, 0);
	for (int k = 0; k < t->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, t->dim[k]), axis[k]);
	return at;
}

static expr element(struct turned *t, const expr *axis, struct tile_load *from)
{
	struct axes here = { .value = axis, .load = from ? from_square : NULL, .user = from };
	return to_kernel(t->p, t->value, &here);
}

/* The loop over a warp's lines of a square: unrolled, so that all loads are in flight before the first use. */
static struct ir_block *lines(struct turned *t, struct ir_block *b, expr line, expr *at)
{
	struct ir_program *p = t->p;
	expr step;
	struct ir_block *body = emit_unrolled(p, b, "step", t->side / LINES, &step);
	expr row = ir_binary(IR_ADD, ir_binary(IR_MUL, step, ir_index(p->pool, LINES)), line);
	*at = emit_constant(p, body, "row", row, ir_index(p->pool, t->side));
	return body;
}

/* The loop over a lane's elements; *place: the element's index in its line of the square. */
static struct ir_block *elements(struct turned *t, struct ir_block *b, expr lane, expr *v, expr *place)
{
	struct ir_program *p = t->p;
	expr width = ir_index(p->pool, t->width);
	struct ir_block *body = emit_unrolled(p, b, "v", t->width, v);
	*place = emit_constant(p, body, "place", ir_binary(IR_ADD, ir_binary(IR_MUL, lane, width), *v),
	                       ir_index(p->pool, t->side));
	return body;
}

/* Copies the lane's elements of one line from memory into a square. */
static void read_line(struct turned *t, struct ir_block *b, expr lane, const struct ir_variable *square, expr row,
                      expr load, const expr *axis)
{
	struct ir_program *p = t->p;
	struct axes here = { .value = axis };
	expr v, place, value = to_kernel(p, load, &here);
	if (t->width == 1) {
		emit_set_in_row(p, b, square, row, lane, value);
		return;
	}
	struct ir_variable *vector = ir_variable_new(p->pool, load->type, "%s_v", square->hint);
	emit_load_vector(p, b, load->buf, value->arg[0], vector, t->width);
	struct ir_block *body = elements(t, b, lane, &v, &place);
	emit_set_in_row(p, body, square, row, place, item_of(vector, v));
}

/* Computes and stores the lane's elements of one line of the result, from the squares. */
static void write_line(struct turned *t, struct ir_block *b, expr lane, struct tile_load *from, expr *axis)
{
	struct ir_program *p = t->p;
	const struct ir_buffer *out = t->s->out;
	expr at = out_place(t, axis), v;
	if (t->width == 1) {
		emit_store(p, b, out, at, element(t, axis, from));
		return;
	}
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	emit_array(p, b, result, t->width);
	struct ir_block *body = elements(t, b, lane, &v, &from->row);
	axis[t->a] = ir_binary(IR_ADD, axis[t->a], v);
	emit_set(p, body, result, v, element(t, axis, from));
	emit_store_vector(p, b, out, at, result, t->width);
}

/* One block: loads squares, synchronises, stores squares. */
static void move_square(struct turned *t, struct ir_block *b, expr block)
{
	struct ir_program *p = t->p;
	expr axis[IR_MAX_RANK], a0, b0, row, thread = ir_thread(p->pool, ir_index(p->pool, LANES * LINES));
	expr lanes = ir_index(p->pool, LANES);
	struct ir_variable *square[MAX_TURNED];
	struct tile_load from = { .t = t, .square = square };
	declare_block(t, b, block, axis, &a0, &b0);
	expr lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, thread, lanes), lanes);
	expr line = emit_constant(p, b, "line", ir_binary(IR_FLOORDIV, thread, lanes), ir_index(p->pool, LINES));
	expr first = ir_binary(IR_MUL, lane, ir_index(p->pool, t->width));
	for (int i = 0; i < t->loads; i++) {
		bool again = false;
		for (int j = 0; j < i; j++)
			again |= t->load[j]->buf == t->load[i]->buf;
		const struct ir_buffer *buf = t->load[i]->buf;
		square[i] = again ? ir_variable_new(p->pool, buf->type, "%s_square%d", buf->name, i + 1)
		                  : ir_variable_new(p->pool, buf->type, "%s_square", buf->name);
		/* Pad each line by one element: a column that a warp reads then has no bank conflicts. Lanes with
		 * two-byte elements skip a line, so that they access separate words. */
		emit_shared(p, b, array_of_rows(square[i], t->side, t->side + 1));
	}
	struct ir_block *in = lines(t, b, line, &row);
	axis[t->a] = inside(t, &in, t->a, ir_binary(IR_ADD, a0, row), ir_axis_names[0][t->a]);
	axis[t->b] = inside(t, &in, t->b, ir_binary(IR_ADD, b0, first), ir_axis_names[0][t->b]);
	if (t->condition)
		in = emit_if(p, in, to_kernel(p, t->condition, &(struct axes){ .value = axis }));
	for (int i = 0; i < t->loads; i++)
		read_line(t, in, lane, square[i], row, t->load[i], axis);
	emit(p, b, IR_SYNC);
	struct ir_block *out = lines(t, b, line, &row);
	axis[t->b] = inside(t, &out, t->b, ir_binary(IR_ADD, b0, row), ir_axis_names[0][t->b]);
	axis[t->a] = inside(t, &out, t->a, ir_binary(IR_ADD, a0, first), ir_axis_names[0][t->a]);
	from.row = lane; /* the square is transposed */
	from.column = row;
	write_line(t, out, lane, &from, axis);
}

/* The same square for a CPU. */
static void serial_square(struct turned *t, struct ir_block *b, expr block)
{
	struct ir_program *p = t->p;
	expr axis[IR_MAX_RANK], corner[2], one = ir_index(p->pool, 1), side = ir_index(p->pool, t->side);
	int which[2] = { t->b, t->a };
	declare_block(t, b, block, axis, &corner[1], &corner[0]);
	for (int i = 0; i < 2; i++) {
		const char *name = ir_axis_names[0][which[i]];
		expr end = ir_binary(IR_MIN, t->dim[which[i]], ir_binary(IR_ADD, corner[i], side));
		b = emit_loop(p, b, name, corner[i], end, one, t->dim[which[i]], &axis[which[i]]);
	}
	emit_store(p, b, t->s->out, out_place(t, axis), element(t, axis, NULL));
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct turned t = *(const struct turned *)site->found;
	t.side = c->param[0];
	t.width = t.side / LANES;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr blocks = ir_binary(IR_MUL, squares(&t, t.a), squares(&t, t.b));
	for (int i = 0; i < t.rank; i++)
		if (i != t.a && i != t.b)
			blocks = ir_binary(IR_MUL, blocks, t.dim[i]);
	k->threads = LANES * LINES;
	k->blocks = blocks;
	expr block = ir_block(p->pool, blocks);
	move_square(&t, &k->body, block);
	serial_square(&t, &k->serial, block);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_tile = {
	.name = "tile",
	.version = 1,
	.about = "A block transposes a tile of {side} x {side} elements in shared memory, so that both "
	         "loads and stores are coalesced.",
	.param = { { "side", 32, 128 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
