/* Rule march: a map that reads rows at places which its own row alone decides and which several of its rows share, as those of a
 * resize to a larger image. A thread makes `width` neighbouring elements of `rows` rows, one row after the other, and keeps
 * what it made of a row that was read until its own rows leave it. */
#include "sched/build.h"

#include <string.h>

#include "ir/axis_names.h"

enum { THREADS = 256, MAX_KEPT = 4, MAX_WIDTH = 8, MOST_ROWS = 16, MOST_TURNS = 64, LEAST_WORK = 6 };

struct march {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis, inner;     /* along which a thread goes; the last one */
	int n;               /* what it keeps: */
	expr kept[MAX_KEPT]; /* the longest expressions that know the axis by one place alone */
	expr place[MAX_KEPT], of_place[MAX_KEPT]; /* the place; the same expression, of a variable instead */
	double turns;        /* how many elements along the axis have one place */
};

/* ---- What knows the axis by a place alone. */

struct look {
	struct march *m;
	uint32_t *axes; /* by node: a bit an axis */
	bool *loads;    /* by node: whether it reads */
	expr *place;    /* by node: null: it does not know the axis; a place; `mixed`: anything else */
	expr mixed;
};

/* Whether a place is one for several elements: the axis is longer than what it runs along. */
static bool shared_place(struct look *l, expr place, expr extent)
{
	int64_t from, to;
	const struct march *m = l->m;
	if (l->axes[place->id] != 1u << m->axis || l->loads[place->id])
		return false;
	return ir_const_int(m->s->out->dim[m->axis], &to) && ir_const_int(extent, &from) && 2 * to >= 3 * from;
}

static void look_at(void *user, expr e)
{
	struct look *l = user;
	expr place = NULL;
	l->loads[e->id] = e->op == IR_LOAD;
	if (e->op == IR_AXIS) {
		l->axes[e->id] = 1u << e->i;
		l->place[e->id] = e->i == l->m->axis ? l->mixed : NULL;
		return;
	}
	for (int i = 0; i < e->n; i++) {
		expr x = e->arg[i], known = l->place[x->id];
		l->axes[e->id] |= l->axes[x->id];
		l->loads[e->id] |= l->loads[x->id];
		if (e->op == IR_LOAD && known && shared_place(l, x, e->buf->dim[i]))
			known = x;
		if (known)
			place = !place || place == known ? known : l->mixed;
	}
	l->place[e->id] = place;
}

/* The extent of what a place indexes. */
struct indexed {
	expr place, extent;
};

static void find_extent(void *user, expr e)
{
	struct indexed *x = user;
	for (int i = 0; e->op == IR_LOAD && i < e->n; i++)
		if (e->arg[i] == x->place)
			x->extent = e->buf->dim[i];
}

static void keep(struct look *l, expr e, expr place)
{
	struct march *m = l->m;
	for (int i = 0; i < m->n; i++)
		if (m->kept[i] == e)
			return;
	if (m->n < MAX_KEPT) {
		m->kept[m->n] = e;
		m->place[m->n] = place;
	}
	m->n++; /* more than there is room for: the rule does not apply */
}

/* The longest expressions with a place, of those that are surely evaluated. */
static void find_kept(struct look *l, expr e)
{
	expr place = l->place[e->id];
	if (place && place != l->mixed && l->loads[e->id]) {
		keep(l, e, place);
		return;
	}
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; place == l->mixed && e->op != IR_LOAD && e->op != IR_AXIS && i < (lazy ? 1 : e->n); i++)
		find_kept(l, e->arg[i]);
}

static void name_places(struct march *m)
{
	m->turns = MOST_TURNS;
	for (int i = 0; i < m->n; i++) {
		struct indexed x = { m->place[i], NULL };
		int64_t from, to;
		ir_walk(m->kept[i], find_extent, &x);
		ck(x.extent && ir_const_int(x.extent, &from) && ir_const_int(m->s->out->dim[m->axis], &to));
		expr place = ir_var(m->p->pool, TYPE_INDEX, "place", x.extent);
		struct substitution s = { &m->place[i], &place, 1 };
		m->of_place[i] = substitute(&s, m->kept[i]);
		if ((double)to < m->turns * (double)from)
			m->turns = (double)to / (double)from;
	}
}

static bool find_along(struct march *m, int axis)
{
	struct arena *scratch = arena_new();
	expr value = m->s->value;
	struct look l = { m, NEWN(scratch, uint32_t, value->id + 1), NEWN(scratch, bool, value->id + 1),
		          NEWN(scratch, expr, value->id + 1), ir_axis(m->p->pool, axis, m->s->out->dim[axis]) };
	m->axis = axis;
	m->n = 0;
	ir_walk(value, look_at, &l);
	find_kept(&l, value);
	arena_free(scratch);
	int work = 0;
	for (int i = 0; i < m->n && i < MAX_KEPT; i++)
		work += ir_cost(m->kept[i]);
	/* To read a single element again is faster (measured on an H100: nearest neighbours). */
	return m->n > 0 && m->n <= MAX_KEPT && work >= LEAST_WORK * m->n;
}

static bool find(struct march *m, struct ir_program *p, const struct ir_stage *s)
{
	*m = (struct march){ .p = p, .s = s, .inner = -1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			m->inner = k;
	for (int k = m->inner - 1; k >= 0; k--)
		if (find_along(m, k)) {
			name_places(m);
			return true;
		}
	return false;
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct march m;
	if (find(&m, (struct ir_program *)p, s))
		return true;
	*why = "no map that reads at places which several of its rows share";
	return false;
}

static bool width_fits(const struct march *m, int width)
{
	int64_t extent;
	return width == 1 || (type_info(m->s->out->type)->bits * width <= 128 &&
	                      ir_const_int(m->s->out->dim[m->inner], &extent) && extent % width == 0);
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	struct march m;
	int n = 0;
	int64_t extent;
	(void)t;
	if (!find(&m, (struct ir_program *)p, s))
		return 0;
	ck(ir_const_int(s->out->dim[m.axis], &extent));
	for (int width = MAX_WIDTH; width >= 1; width /= 2)
		for (int rows = MOST_ROWS; rows >= 4; rows /= 2)
			if (width_fits(&m, width) && rows < 2 * extent)
				out[n++] = (struct sched_choice){ &sched_march, { rows, width } };
	if (!n)
		out[n++] = (struct sched_choice){ &sched_march, { 4, 1 } };
	return n;
}

/* What is read comes once from memory, however many loads there are. */
struct buffers_read {
	int n;
	const struct ir_buffer *buf[2 * MAX_KEPT];
};

static void note_buffer(void *user, expr e)
{
	struct buffers_read *r = user;
	if (e->op != IR_LOAD || r->n == 2 * MAX_KEPT)
		return;
	for (int i = 0; i < r->n; i++)
		if (r->buf[i] == e->buf)
			return;
	r->buf[r->n++] = e->buf;
}

/* The work for one element of what is kept, of neighbours that share what is the same for them. */
static double kept_cost(const struct march *m, int width)
{
	struct ir_pool *pool = m->p->pool;
	expr extent = m->s->out->dim[m->inner], axis = ir_axis(pool, m->inner, extent), all = NULL;
	expr first = ir_binary(IR_FLOORDIV, extent, ir_index(pool, width));
	first = ir_binary(IR_MUL, ir_axis(pool, m->inner, first), ir_index(pool, width));
	for (int i = 0; i < m->n; i++)
		for (int v = 0; v < width; v++) {
			expr at = ir_binary(IR_ADD, first, ir_index(pool, v));
			expr one = ir_cast(substitute(&(struct substitution){ &axis, &at, 1 }, m->kept[i]), TYPE_F64);
			all = all ? ir_binary(IR_ADD, all, one) : one;
		}
	return ((double)ir_cost(all) - 2.0 * m->n * width) / width;
}

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *t)
{
	struct march m;
	ck(find(&m, (struct ir_program *)p, s));
	double rows = c->param[0], width = c->param[1], size = type_info(s->out->type)->bits / 8.0;
	double points = (double)about(out_count(m.p, s), t), threads = points / (rows * width), kept;
	double moved = points * size;
	struct buffers_read read = { 0 };
	ir_walk(s->value, note_buffer, &read);
	for (int i = 0; i < read.n; i++)
		moved += (double)about(ir_buffer_count(m.p, read.buf[i]), t) * type_info(read.buf[i]->type)->bits / 8.0;
	kept = kept_cost(&m, c->param[1]);
	/* A row that is read is made once in a thread's turns on it, and once more where a thread begins. The rest fits what an
	 * H100 took for 4, 8 and 16 rows of 1 to 8 elements. */
	double each = 5 + 40 / width + 2 * kept / m.n * (1 / m.turns + m.n / rows) + 60 / (rows * width);
	double work = points * each / (t->processors * 128.0 * 1.7), bytes = moved / t->bytes_per_ns;
	double fill = threads * 2 / (t->processors * 1024.0);
	double time = work > bytes ? work : bytes;
	/* Measured as well: longer strips take longer, 4 to 7 in a hundred for twice 4 rows, 7 to 10 for twice 8. */
	return t->launch_ns + (time + 0.1 * (work + bytes - time)) * (1 + 0.016 * rows) / (fill < 1 ? fill : 1);
}

/* ---- The kernel: positions are counted in the space of the threads' strips. */

/* An array kept[width] of what a place gives, and the place that it is of. */
struct slot {
	const char *name;
	expr at; /* a variable */
};

static expr slot_item(const struct march *m, const struct slot *slot, int which, expr v)
{
	const char *name = arena_printf(m->p->arena, "%s[%s]", slot[which].name, v->name);
	return ir_var(m->p->pool, m->kept[which]->type, name, NULL);
}

/* Brings slot `which` to the place of this row: from the next slot, if that has it, or by reading. */
static void fill_slot(const struct march *m, struct ir_block *b, const struct slot *slot, int which, const expr *axis, int width)
{
	struct ir_program *p = m->p;
	struct axes here = { .value = axis };
	struct indexed x = { m->place[which], NULL };
	expr v, lane[IR_MAX_RANK], at = slot[which].at;
	const char *name = arena_printf(p->arena, "this_place_%d", which);
	int next = which + 1 < m->n && m->of_place[which + 1] == m->of_place[which] ? which + 1 : -1;
	ir_walk(m->kept[which], find_extent, &x);
	expr place = emit_constant(p, b, name, to_kernel(p, m->place[which], &here), x.extent);
	b = emit_if(p, b, ir_unary(IR_NOT, ir_binary(IR_EQ, at, place)));
	emit_assign(p, b, at, place);
	struct ir_block *read = b;
	if (next >= 0) {
		expr same = ir_binary(IR_EQ, slot[next].at, place);
		struct ir_block *move = emit_if(p, b, same);
		struct ir_block *items = emit_unrolled(p, move, "v", width, &v);
		emit_set(p, items, slot[which].name, v, slot_item(m, slot, next, v));
		read = emit_if(p, b, ir_unary(IR_NOT, same));
	}
	struct ir_block *items = emit_unrolled(p, read, "v", width, &v);
	memcpy(lane, axis, sizeof lane);
	lane[m->inner] = ir_binary(IR_ADD, axis[m->inner], v);
	struct substitution s = { &m->place[which], &place, 1 };
	here.value = lane;
	emit_set(p, items, slot[which].name, v, to_kernel(p, substitute(&s, m->kept[which]), &here));
}

/* The elements of one row, of what is kept. */
static void store_row(const struct march *m, struct ir_block *b, const struct slot *slot, const expr *axis, int width)
{
	struct ir_program *p = m->p;
	const struct ir_buffer *out = m->s->out;
	const char *result = arena_printf(p->arena, "%s_v", out->name);
	expr kept[MAX_KEPT], v = ir_index(p->pool, 0), lane[IR_MAX_RANK], at = ir_index(p->pool, 0);
	struct axes here = { .value = lane };
	emit_array(p, b, result, out->type, width);
	struct ir_block *items = emit_unrolled(p, b, "v", width, &v);
	memcpy(lane, axis, sizeof lane);
	lane[m->inner] = ir_binary(IR_ADD, axis[m->inner], v);
	for (int i = 0; i < m->n; i++)
		kept[i] = slot_item(m, slot, i, v);
	struct substitution s = { m->kept, kept, m->n };
	emit_set(p, items, result, v, to_kernel(p, substitute(&s, m->s->value), &here));
	for (int i = 0; i < out->rank; i++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[i]), axis[i]);
	emit_store_vector(p, b, out, at, result, width);
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct march m;
	ck(find(&m, p, s));
	int rows = c->param[0], width = c->param[1], rank = s->out->rank;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	struct slot slot[MAX_KEPT];
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK], v, count = ir_index(p->pool, 1), extent = s->out->dim[m.axis];
	bool used[IR_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		dim[i] = i == m.axis ? ceil_div(p, s->out->dim[i], rows) :
		         i == m.inner ? ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, width)) : s->out->dim[i];
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	expr element = declare_element(p, k, count, THREADS, 1);
	declare_axes(p, &k->body, element, rank, dim, ir_axis_names[0], used, axis);
	axis[m.inner] = ir_binary(IR_MUL, axis[m.inner], ir_index(p->pool, width));
	for (int i = 0; i < m.n; i++) {
		slot[i].name = arena_printf(p->arena, "this_kept_%d", i);
		emit_array(p, &k->body, slot[i].name, m.kept[i]->type, width);
		struct ir_block *items = emit_unrolled(p, &k->body, "v", width, &v);
		emit_set(p, items, slot[i].name, v, ir_const(p->pool, m.kept[i]->type, 0));
		slot[i].at = emit_variable(p, &k->body, arena_printf(p->arena, "this_at_%d", i), ir_index(p->pool, -1));
	}
	expr first = emit_declare(p, &k->body, "first", ir_binary(IR_MUL, axis[m.axis], ir_index(p->pool, rows)), extent);
	expr end = ir_binary(IR_MIN, extent, ir_binary(IR_ADD, first, ir_index(p->pool, rows)));
	struct ir_block *b = emit_for(p, &k->body, "row", first, end, ir_index(p->pool, 1));
	axis[m.axis] = ir_var(p->pool, TYPE_INDEX, "row", extent);
	for (int i = 0; i < m.n; i++)
		fill_slot(&m, b, slot, i, axis, width);
	store_row(&m, b, slot, axis, width);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_march = {
	.name = "march",
	.version = 1,
	.help = "one thread makes `width` neighbouring elements of `rows` rows, and keeps what rows that it reads have in common",
	.params = { "rows", "width" },
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
