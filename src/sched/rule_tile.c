/* Rule tile: a map that reads along another axis than it writes along. A block moves a square of both axes: read in the one
 * direction, turned in shared memory, written in the other. Neighbouring axes that stay neighbours everywhere are one. */
#include "sched/build.h"

#include <string.h>

#include "ir/axis_names.h"

enum { SIDE = 32, LINES = 8, MAX_TURNED = 4 };

/* The map with its axes merged, and the loads that run along axis `b` while the result runs along `a`. */
struct turned {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value;
	int rank, a, b;
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK]; /* axis: AXIS nodes */
	int loads;
	expr load[MAX_TURNED];
};

/* ---- Merging axes. */

struct merge {
	int axis; /* with the one behind it */
	expr together, inner;
};

static expr merge_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct merge *m = user;
	(void)arg;
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

static void merge_axes(struct turned *t)
{
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
	for (int k = 0; k < t->rank; k++)
		t->axis[k] = ir_axis(t->p->pool, k, t->dim[k]);
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
	walk_unconditional(t->value, find_turned, t);
	return t->loads > 0;
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct turned t;
	if (find(&t, (struct ir_program *)p, s))
		return true;
	*why = "no map that reads along another axis than it writes along";
	return false;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	(void)p;
	(void)s;
	(void)t;
	out[0] = (struct sched_choice){ &sched_tile, { SIDE } };
	return 1;
}

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *target)
{
	struct turned t;
	(void)c;
	ck(find(&t, (struct ir_program *)p, s));
	double a = (double)about(t.dim[t.a], target), b = (double)about(t.dim[t.b], target);
	double points = (double)about(out_count(t.p, s), target), size = type_info(s->out->type)->bits / 8.0;
	for (int i = 0; i < t.loads; i++)
		size += type_info(t.load[i]->type)->bits / 8.0;
	/* What hangs over the edges takes part, too. */
	double whole_a = (double)((int64_t)(a + SIDE - 1) / SIDE * SIDE), whole_b = (double)((int64_t)(b + SIDE - 1) / SIDE * SIDE);
	double blocks = points / (a * b) * whole_a * whole_b / (SIDE * SIDE), fill = blocks / (target->processors * 4.0);
	double time = points * size / target->bytes_per_ns * (whole_a / a) * (whole_b / b) * 1.05;
	return target->launch_ns + 300 + time / (fill < 1 ? fill : 1);
}

/* ---- The kernel. */

struct tile_load {
	struct turned *t;
	const char **name; /* of the squares */
	const char *row, *column;
};

static expr from_square(void *user, expr e, expr flat)
{
	const struct tile_load *l = user;
	(void)flat;
	for (int i = 0; i < l->t->loads; i++)
		if (l->t->load[i] == e)
			return ir_var(l->t->p->pool, e->type,
			              arena_printf(l->t->p->arena, "%s[%s][%s]", l->name[i], l->row, l->column), NULL);
	return NULL;
}

/* Position of a square's corner along an axis, and how many squares there are. */
static expr squares(struct turned *t, int axis)
{
	return ceil_div(t->p, t->dim[axis], SIDE);
}

/* Declares the other axes from the number of the block. */
static void declare_block(struct turned *t, struct ir_block *b, expr block, expr *axis, expr *a0, expr *b0)
{
	struct ir_program *p = t->p;
	expr side = ir_index(p->pool, SIDE), na = squares(t, t->a), nb = squares(t, t->b), dim[IR_MAX_RANK], got[IR_MAX_RANK];
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

/* An axis inside the square: declared, and from there on known to be inside. */
static expr inside(struct turned *t, struct ir_block **b, int axis, expr at, const char *name)
{
	struct ir_program *p = t->p;
	int64_t extent;
	expr x = emit_constant(p, *b, name, at, NULL);
	if (!ir_const_int(t->dim[axis], &extent) || extent % SIDE)
		*b = emit_if(p, *b, ir_binary(IR_LT, x, t->dim[axis]));
	return ir_var(p->pool, TYPE_INDEX, name, t->dim[axis]);
}

static void store_element(struct turned *t, struct ir_block *b, expr *axis, struct tile_load *from)
{
	struct axes here = { .value = axis, .load = from ? from_square : NULL, .user = from };
	expr at = ir_index(t->p->pool, 0);
	for (int k = 0; k < t->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, t->dim[k]), axis[k]);
	emit_store(t->p, b, t->s->out, at, to_kernel(t->p, t->value, &here));
}

static struct ir_block *lines(struct turned *t, struct ir_block *b, expr line, expr *at)
{
	struct ir_program *p = t->p;
	b = emit_for(p, b, "row", line, ir_index(p->pool, SIDE), ir_index(p->pool, LINES));
	*at = ir_var(p->pool, TYPE_INDEX, "row", ir_index(p->pool, SIDE));
	return b;
}

/* One block: squares in, all threads wait, squares out. */
static void move_square(struct turned *t, struct ir_block *b, expr block)
{
	struct ir_program *p = t->p;
	expr axis[IR_MAX_RANK], a0, b0, row, thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, SIDE * LINES));
	expr side = ir_index(p->pool, SIDE);
	const char *name[MAX_TURNED];
	struct tile_load from = { t, name, "lane", "row" };
	declare_block(t, b, block, axis, &a0, &b0);
	expr lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, thread, side), side);
	expr line = emit_constant(p, b, "line", ir_binary(IR_FLOORDIV, thread, side), ir_index(p->pool, LINES));
	for (int i = 0; i < t->loads; i++) {
		bool again = false;
		for (int j = 0; j < i; j++)
			again |= t->load[j]->buf == t->load[i]->buf;
		name[i] = again ? arena_printf(p->arena, "%s_square%d", t->load[i]->buf->name, i + 1)
		                : arena_printf(p->arena, "%s_square", t->load[i]->buf->name);
		struct ir_stmt *array = emit(p, b, IR_SHARED);
		array->type = t->load[i]->type;
		array->name = arena_printf(p->arena, "%s[%d][%d]", name[i], SIDE, SIDE + 1); /* no two rows begin in one bank */
	}
	struct ir_block *in = lines(t, b, line, &row);
	axis[t->a] = inside(t, &in, t->a, ir_binary(IR_ADD, a0, row), ir_axis_names[0][t->a]);
	axis[t->b] = inside(t, &in, t->b, ir_binary(IR_ADD, b0, lane), ir_axis_names[0][t->b]);
	for (int i = 0; i < t->loads; i++) {
		struct axes here = { .value = axis };
		struct ir_stmt *set = emit(p, in, IR_SET);
		set->name = arena_printf(p->arena, "%s[row]", name[i]);
		set->at = lane;
		set->value = to_kernel(p, t->load[i], &here);
	}
	emit(p, b, IR_SYNC);
	struct ir_block *out = lines(t, b, line, &row);
	axis[t->b] = inside(t, &out, t->b, ir_binary(IR_ADD, b0, row), ir_axis_names[0][t->b]);
	axis[t->a] = inside(t, &out, t->a, ir_binary(IR_ADD, a0, lane), ir_axis_names[0][t->a]);
	store_element(t, out, axis, &from);
}

/* The same square by one processor. */
static void serial_square(struct turned *t, struct ir_block *b, expr block)
{
	struct ir_program *p = t->p;
	expr axis[IR_MAX_RANK], corner[2], one = ir_index(p->pool, 1), side = ir_index(p->pool, SIDE);
	int which[2] = { t->b, t->a };
	declare_block(t, b, block, axis, &corner[1], &corner[0]);
	for (int i = 0; i < 2; i++) {
		const char *name = ir_axis_names[0][which[i]];
		expr end = ir_binary(IR_MIN, t->dim[which[i]], ir_binary(IR_ADD, corner[i], side));
		b = emit_for(p, b, name, corner[i], end, one);
		axis[which[i]] = ir_var(p->pool, TYPE_INDEX, name, t->dim[which[i]]);
	}
	store_element(t, b, axis, NULL);
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct turned t;
	ck(find(&t, p, s));
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr blocks = ir_binary(IR_MUL, squares(&t, t.a), squares(&t, t.b));
	for (int i = 0; i < t.rank; i++)
		if (i != t.a && i != t.b)
			blocks = ir_binary(IR_MUL, blocks, t.dim[i]);
	k->threads = SIDE * LINES;
	k->blocks = blocks;
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, blocks);
	move_square(&t, &k->body, block);
	serial_square(&t, &k->serial, block);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_tile = {
	.name = "tile",
	.version = 1,
	.help = "a block turns a square of `side` times `side` elements in shared memory",
	.params = { "side" },
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
