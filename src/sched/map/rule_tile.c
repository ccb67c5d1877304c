/* Rule tile: a tiled transpose, for a map whose loads are contiguous along another axis than its stores. A block loads
 * a square of both axes, transposes it in shared memory and stores it, with coalesced accesses on both sides. Axes that
 * are neighbours in all buffers are merged. A lane loads and stores side / 32 neighbouring elements, so that narrow
 * types fill whole words. Loads may have a condition, as in a map that pads. */
#include "sched/map/turned.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { LANES = 32, LINES = 8, MAX_WIDTH = 4, WIDEST = 8 };

/* The map, and the square of a block. */
struct tile {
	struct turned t;
	int side, width; /* of a square; elements per access of a lane */
};

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct turned t;
	if (turned_find(&t, p, s))
		return FOUND(p, t);
	*why = "the stage is not a map that reads and writes along different axes";
	return NULL;
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
		expr flat = ir_flat(t->p->pool, t->load[i]->buf, t->load[i]->arg);
		shared += side * (side + 1) * size;
		if (!turned_aligned(ir_binary(IR_SUB, flat, t->axis[t->b]), width) || size * width > WIDEST)
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
	const struct sched_target *target = site->t;
	struct turned t = *(const struct turned *)site->found;
	int side = c->param[0], least, most, loaded = turned_load_bytes(&t, &least, &most);
	int store = type_info(site->s->out->type)->bits / 8;
	double a = (double)about(t.dim[t.a], target), b = (double)about(t.dim[t.b], target);
	double points = (double)about(out_count(t.p, site->s), target), area = (double)side * side;
	double whole_a = ceil(a / side) * side, whole_b = ceil(b / side) * side;
	struct turned_blocks shape = { .blocks = points / (a * b) * whole_a * whole_b / area,
		                       .bytes = area * loaded,
		                       .over = whole_a / a * (whole_b / b),
		                       .slower = 1,
		                       .access = (double)side / LANES * (least < store ? least : store) };
	shape.resident = target_resident(target, LANES * LINES, 0, (double)side * (side + 1) * loaded);
	return turned_time(&t, &shape, target);
}

/* ---- The kernel. */

struct tile_load {
	struct tile *f;
	struct ir_variable **square;
	expr row, column;
};

static expr from_square(void *user, expr e, expr flat)
{
	const struct tile_load *l = user;
	(void)flat;
	for (int i = 0; i < l->f->t.loads; i++)
		if (l->f->t.load[i] == e)
			return item_of_row(l->square[i], l->row, l->column);
	return NULL;
}

/* The number of squares along an axis. */
static expr squares(struct tile *f, int axis)
{
	return ceil_div(f->t.p, f->t.dim[axis], f->side);
}

/* Declares the square's corner and the other axes from the block number. */
static void declare_block(struct tile *f, struct ir_block *b, expr block, expr *axis, expr *a0, expr *b0)
{
	struct ir_program *p = f->t.p;
	expr side = ir_index(p->pool, f->side), na = squares(f, f->t.a), nb = squares(f, f->t.b);
	*a0 = emit_constant(p, b, "corner_a", ir_binary(IR_MUL, ir_binary(IR_MOD, block, na), side), NULL);
	expr rest = ir_binary(IR_FLOORDIV, block, na);
	*b0 = emit_constant(p, b, "corner_b", ir_binary(IR_MUL, ir_binary(IR_MOD, rest, nb), side), NULL);
	bool taken[IR_MAX_RANK] = { false };
	taken[f->t.a] = taken[f->t.b] = true;
	turned_axes(&f->t, b, ir_binary(IR_FLOORDIV, rest, nb), taken, true, axis);
}

/* Declares an axis inside the square, which is known to be in range from there on. */
static expr inside(struct tile *f, struct ir_block **b, int axis, expr at, const char *name)
{
	struct ir_program *p = f->t.p;
	int64_t extent;
	expr x = emit_constant(p, *b, name, at, NULL);
	if (!ir_const_int(f->t.dim[axis], &extent) || extent % f->side)
		*b = emit_if(p, *b, ir_binary(IR_LT, x, f->t.dim[axis]));
	return ir_var_of(x->var, f->t.dim[axis]);
}

static expr element(struct tile *f, const expr *axis, struct tile_load *from)
{
	struct axes here = { .value = axis, .load = from ? from_square : NULL, .user = from };
	return to_kernel(f->t.p, f->t.value, &here);
}

/* The loop over a warp's lines of a square: unrolled, so that all loads are in flight before the first use. */
static struct ir_block *lines(struct tile *f, struct ir_block *b, expr line, expr *at)
{
	struct ir_program *p = f->t.p;
	expr step;
	struct ir_block *body = emit_unrolled(p, b, "step", f->side / LINES, &step);
	expr row = ir_binary(IR_ADD, ir_binary(IR_MUL, step, ir_index(p->pool, LINES)), line);
	*at = emit_constant(p, body, "row", row, ir_index(p->pool, f->side));
	return body;
}

/* The loop over a lane's elements; *place: the element's index in its line of the square. */
static struct ir_block *elements(struct tile *f, struct ir_block *b, expr lane, expr *v, expr *place)
{
	struct ir_program *p = f->t.p;
	expr width = ir_index(p->pool, f->width);
	struct ir_block *body = emit_unrolled(p, b, "v", f->width, v);
	*place = emit_constant(p, body, "place", ir_binary(IR_ADD, ir_binary(IR_MUL, lane, width), *v),
	                       ir_index(p->pool, f->side));
	return body;
}

/* Copies the lane's elements of one line from memory into a square. */
static void read_line(struct tile *f, struct ir_block *b, expr lane, const struct ir_variable *square, expr row,
                      expr load, const expr *axis)
{
	struct ir_program *p = f->t.p;
	struct axes here = { .value = axis };
	expr v, place, value = to_kernel(p, load, &here);
	if (f->width == 1) {
		emit_set_in_row(p, b, square, row, lane, value);
		return;
	}
	struct ir_variable *vector = ir_variable_new(p->pool, load->type, "%s_v", square->hint);
	emit_load_vector(p, b, load->buf, value->arg[0], vector, f->width);
	struct ir_block *body = elements(f, b, lane, &v, &place);
	emit_set_in_row(p, body, square, row, place, item_of(vector, v));
}

/* Computes and stores the lane's elements of one line of the result, from the squares. */
static void write_line(struct tile *f, struct ir_block *b, expr lane, struct tile_load *from, expr *axis)
{
	struct ir_program *p = f->t.p;
	const struct ir_buffer *out = f->t.s->out;
	expr at = turned_place(&f->t, axis), v;
	if (f->width == 1) {
		emit_store(p, b, out, at, element(f, axis, from));
		return;
	}
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	emit_array(p, b, result, f->width);
	struct ir_block *body = elements(f, b, lane, &v, &from->row);
	axis[f->t.a] = ir_binary(IR_ADD, axis[f->t.a], v);
	emit_set(p, body, result, v, element(f, axis, from));
	emit_store_vector(p, b, out, at, result, f->width);
}

/* One block: loads squares, synchronises, stores squares. */
static void move_square(struct tile *f, struct ir_block *b, expr block)
{
	struct ir_program *p = f->t.p;
	expr axis[IR_MAX_RANK], a0, b0, row, thread = ir_thread(p->pool, ir_index(p->pool, LANES * LINES));
	expr lanes = ir_index(p->pool, LANES);
	struct ir_variable *square[MAX_TURNED];
	struct tile_load from = { .f = f, .square = square };
	declare_block(f, b, block, axis, &a0, &b0);
	expr lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, thread, lanes), lanes);
	expr line = emit_constant(p, b, "line", ir_binary(IR_FLOORDIV, thread, lanes), ir_index(p->pool, LINES));
	expr first = ir_binary(IR_MUL, lane, ir_index(p->pool, f->width));
	for (int i = 0; i < f->t.loads; i++) {
		bool again = false;
		for (int j = 0; j < i; j++)
			again |= f->t.load[j]->buf == f->t.load[i]->buf;
		const struct ir_buffer *buf = f->t.load[i]->buf;
		square[i] = again ? ir_variable_new(p->pool, buf->type, "%s_square%d", buf->name, i + 1)
		                  : ir_variable_new(p->pool, buf->type, "%s_square", buf->name);
		/* Pad each line by one element: a column that a warp reads then has no bank conflicts. Lanes with
		 * two-byte elements skip a line, so that they access separate words. */
		emit_shared(p, b, array_of_rows(square[i], f->side, f->side + 1));
	}
	struct ir_block *in = lines(f, b, line, &row);
	axis[f->t.a] = inside(f, &in, f->t.a, ir_binary(IR_ADD, a0, row), ir_axis_names[0][f->t.a]);
	axis[f->t.b] = inside(f, &in, f->t.b, ir_binary(IR_ADD, b0, first), ir_axis_names[0][f->t.b]);
	if (f->t.condition)
		in = emit_if(p, in, to_kernel(p, f->t.condition, &(struct axes){ .value = axis }));
	for (int i = 0; i < f->t.loads; i++)
		read_line(f, in, lane, square[i], row, f->t.load[i], axis);
	emit(p, b, IR_SYNC);
	struct ir_block *out = lines(f, b, line, &row);
	axis[f->t.b] = inside(f, &out, f->t.b, ir_binary(IR_ADD, b0, row), ir_axis_names[0][f->t.b]);
	axis[f->t.a] = inside(f, &out, f->t.a, ir_binary(IR_ADD, a0, first), ir_axis_names[0][f->t.a]);
	from.row = lane; /* the square is transposed */
	from.column = row;
	write_line(f, out, lane, &from, axis);
}

/* The same square for a CPU. */
static void serial_square(struct tile *f, struct ir_block *b, expr block)
{
	struct ir_program *p = f->t.p;
	expr axis[IR_MAX_RANK], corner[2], one = ir_index(p->pool, 1), side = ir_index(p->pool, f->side);
	int which[2] = { f->t.b, f->t.a };
	declare_block(f, b, block, axis, &corner[1], &corner[0]);
	for (int i = 0; i < 2; i++) {
		const char *name = ir_axis_names[0][which[i]];
		expr end = ir_binary(IR_MIN, f->t.dim[which[i]], ir_binary(IR_ADD, corner[i], side));
		b = emit_loop(p, b, name, corner[i], end, one, f->t.dim[which[i]], &axis[which[i]]);
	}
	emit_store(p, b, f->t.s->out, turned_place(&f->t, axis), element(f, axis, NULL));
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct tile f = { *(const struct turned *)site->found, c->param[0], c->param[0] / LANES };
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr blocks = ir_binary(IR_MUL, squares(&f, f.t.a), squares(&f, f.t.b));
	for (int i = 0; i < f.t.rank; i++)
		if (i != f.t.a && i != f.t.b)
			blocks = ir_binary(IR_MUL, blocks, f.t.dim[i]);
	k->threads = LANES * LINES;
	k->blocks = blocks;
	expr block = ir_block(p->pool, blocks);
	move_square(&f, &k->body, block);
	serial_square(&f, &k->serial, block);
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
