/* Gathers: finds them, vectorises the loads of their coordinates, and builds the value from the gathered elements. See
 * gathers.h. */
#include "sched/map/gathers.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

bool gathers_decided(expr index)
{
	return ir_uses(index, IR_LOAD);
}

static bool is_gather(expr e)
{
	bool decided = false;
	for (int i = 0; e->op == IR_LOAD && i < e->n; i++)
		decided |= gathers_decided(e->arg[i]);
	return decided;
}

/* True for a select between a gather and a constant: the gather runs if the condition holds. */
static bool is_choice(expr e)
{
	return e->op == IR_SELECT && is_gather(e->arg[1]) &&
	       (e->arg[2]->op == IR_CONST_INT || e->arg[2]->op == IR_CONST_FLOAT);
}

struct find {
	struct gathers *g;
	int axis;
	/* By node: */
	bool *sure;    /* evaluated unconditionally */
	bool *decided; /* contains a load */
	bool *place;   /* independent of the axis; contains only loads that are unconditional and no gathers */
	int *uses;     /* number of nodes that it is an operand of */
	bool fits;
};

static void note_sure(void *user, expr e)
{
	((struct find *)user)->sure[e->id] = true;
}

static void note_node(void *user, expr e)
{
	struct find *f = user;
	bool load = e->op == IR_LOAD, decided = false, place = e->op != IR_AXIS || e->i != f->axis;
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++) {
		f->uses[e->arg[i]->id]++;
		decided |= f->decided[e->arg[i]->id];
		place &= f->place[e->arg[i]->id];
	}
	f->decided[e->id] = decided || load;
	f->place[e->id] = place && (!load || (f->sure[e->id] && !decided));
}

static void add(struct find *f, struct gather one)
{
	struct gathers *g = f->g;
	for (int i = 0; i < g->n; i++)
		if (g->at[i].node == one.node)
			return;
	f->fits &= g->n < GATHERS_MAX && (!one.where || f->place[one.where->id]);
	for (int i = 0; i < one.load->n; i++) /* the axis selects the plane only */
		f->fits &= f->place[one.load->arg[i]->id] || !f->decided[one.load->arg[i]->id];
	one.sure = f->sure[one.node->id];
	if (f->fits)
		g->at[g->n++] = one;
}

static void look_at(void *user, expr e)
{
	if (is_choice(e))
		add(user, (struct gather){ .node = e, .load = e->arg[1], .where = e->arg[0], .other = e->arg[2] });
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++)
		if (is_gather(e->arg[i]) && !(is_choice(e) && i == 1))
			add(user, (struct gather){ .node = e->arg[i], .load = e->arg[i] });
}

static void look_for_shared(void *user, expr e)
{
	struct find *f = user;
	struct gathers *g = f->g;
	bool small = e->op == IR_LOAD || (e->op == IR_CAST && e->arg[0]->op == IR_LOAD);
	if (f->place[e->id] && f->decided[e->id] && f->uses[e->id] > 1 && !small && g->shared < GATHERS_MAX_SHARED)
		g->what[g->shared++] = e;
}

bool gathers_find(struct gathers *g, struct ir_program *p, expr value, int axis)
{
	struct arena *scratch = arena_new();
	uint32_t n = value->id + 1;
	struct find f = { g,
		          axis,
		          NEWN(scratch, bool, n),
		          NEWN(scratch, bool, n),
		          NEWN(scratch, bool, n),
		          NEWN(scratch, int, n),
		          true };
	*g = (struct gathers){ .p = p, .axis = axis };
	ir_walk_unconditional(value, note_sure, &f);
	ir_walk(value, note_node, &f);
	if (is_gather(value))
		add(&f, (struct gather){ .node = value, .load = value });
	ir_walk(value, look_at, &f);
	ir_walk(value, look_for_shared, &f);
	arena_free(scratch);
	return f.fits && g->n > 0;
}

/* ---- Coordinates. */

/* The load's constant offset from a multiple of its stride along `inner`; -1 if it has no such stride or depends on the
 * plane. */
static int64_t place_in(const struct gathers *g, expr load, int *stride)
{
	int64_t step, c = 0;
	expr flat = ir_flat(g->p->pool, load->buf, load->arg), by = ir_stride(flat, g->inner);
	if (is_gather(load) || type_is_packed(load->type) || !by || !ir_const_int(by, &step) || step < 1 ||
	    step > GATHERS_MAX_STRIDE || step * g->width == 1 || ir_stride(flat, g->axis) != ir_index(g->p->pool, 0))
		return -1;
	*stride = (int)step;
	expr rest = ir_binary(IR_MOD, flat, by);
	return ir_const_int(rest, &c) ? c : -1;
}

struct look {
	struct gathers *g;
	const expr *axis;
	struct {
		struct gather_vector vector;
		expr start; /* of the first position */
	} found[GATHERS_MAX_VECTORS];
	int n;
};

static void find_vector(void *user, expr e)
{
	struct look *l = user;
	struct gathers *g = l->g;
	struct axes first = { .value = l->axis };
	int stride, i = 0;
	int64_t c = e->op == IR_LOAD ? place_in(g, e, &stride) : -1;
	if (c < 0)
		return;
	expr start = ir_binary(IR_SUB, ir_flat(g->p->pool, e->buf, e->arg), ir_index(g->p->pool, c));
	start = to_kernel(g->p, start, &first);
	if (ir_multiple(start) % (stride * g->width))
		return;
	while (i < l->n &&
	       (l->found[i].start != start || l->found[i].vector.stride != stride || l->found[i].vector.buf != e->buf))
		i++;
	if (i == GATHERS_MAX_VECTORS)
		return;
	if (i == l->n)
		l->found[l->n++].vector = (struct gather_vector){ .buf = e->buf, .stride = stride };
	l->found[i].start = start;
	l->found[i].vector.load[c] = e;
}

void gathers_find_vectors(struct gathers *g, expr value, int inner, int width, const expr *axis)
{
	struct look l = { .g = g, .axis = axis };
	g->inner = inner;
	g->width = width;
	g->vectors = 0;
	ir_walk_unconditional(value, find_vector, &l);
	for (int i = 0; i < l.n; i++) {
		struct gather_vector *one = &l.found[i].vector;
		bool all = true; /* the other loads may be out of bounds */
		for (int c = 0; c < one->stride; c++)
			all &= one->load[c] != NULL;
		if (!all)
			continue;
		one->array = ir_variable_new(g->p->pool, one->buf->type, "%s_v%d", one->buf->name, g->vectors);
		g->vector[g->vectors++] = *one;
	}
}

void gathers_declare_vectors(const struct gathers *g, struct ir_block *b)
{
	for (int i = 0; i < g->vectors; i++)
		emit_array(g->p, b, g->vector[i].array, g->vector[i].stride * g->width);
}

void gathers_load_vectors(const struct gathers *g, struct ir_block *b, const expr *axis, bool declared)
{
	struct axes first = { .value = axis };
	for (int i = 0; i < g->vectors; i++) {
		const struct gather_vector *one = &g->vector[i];
		expr start = to_kernel(g->p, ir_flat(g->p->pool, one->buf, one->load[0]->arg), &first);
		if (declared)
			emit_load_into(g->p, b, one->buf, start, one->array, NULL, one->stride * g->width);
		else
			emit_load_vector(g->p, b, one->buf, start, one->array, one->stride * g->width);
	}
}

expr gathers_vector_item(void *user, expr e, expr flat)
{
	const struct gathers *g = user;
	(void)flat;
	for (int i = 0; i < g->vectors; i++)
		for (int c = 0; c < g->vector[i].stride; c++) {
			if (g->vector[i].load[c] != e)
				continue;
			expr at =
			        ir_binary(IR_ADD, ir_binary(IR_MUL, g->lane, ir_index(g->p->pool, g->vector[i].stride)),
			                  ir_index(g->p->pool, c));
			return item_of(g->vector[i].array, at);
		}
	return NULL;
}

/* ---- Expressions with variables. */

void gathers_emit_shared(struct gathers *g, struct ir_block *b, const struct axes *here)
{
	struct ir_program *p = g->p;
	for (int i = 0; i < g->shared; i++) {
		expr e = substitute(&(struct substitution){ g->what, g->with, i }, g->what[i]);
		g->with[i] = emit_constant(p, b, "", to_kernel(p, e, here), NULL);
	}
}

expr gathers_replace(struct gathers *g, expr e, const expr *with)
{
	int n = g->shared;
	for (int i = 0; with && i < g->n; i++, n++) {
		g->what[n] = g->at[i].node;
		g->with[n] = with[i];
	}
	return substitute(&(struct substitution){ g->what, g->with, n }, e);
}
