/* What a block of lanes for each unit needs to know of a loop: what it keeps, what it loads ahead, what it reads of
 * other units. See loop_lanes.h. */
#include "sched/build/accumulate.h"
#include "sched/loop/loop_lanes.h"

enum { WARP = 32, VECTOR_BYTES = 16, MOST_WIDTH = 8 };

/* ---- Loads of an expression, but for those in parts that registers keep. */

struct rest {
	const struct lanes_loop *l;
	struct lanes_stage *s;
	bool outside; /* also loads what is not the loop's */
	bool in_sum;  /* of the summand */
	int widest;   /* bits of what vectors read */
};

static bool is_part(const struct lanes_parts *x, expr e)
{
	for (int i = 0; i < x->n; i++)
		if (x->part[i] == e)
			return true;
	return false;
}

/* The place of a load in its row as a number and the summed axis; false if it is something else. */
static bool along_sum(const struct grid_loop *g, const struct ir_stage *s, expr load, int64_t *first)
{
	struct ir_pool *pool = g->p->pool;
	expr place = grid_place(g->p, g->lead, load->buf, load->arg), axis[2 * IR_MAX_RANK] = { 0 };
	expr stride = ir_stride(place, s->out->rank);
	if (s->space_rank != 1 || !stride || !ir_is_int(stride, 1))
		return false;
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		axis[k] = ir_axis(pool, k, ir_index(pool, INT32_MAX));
	axis[s->out->rank] = ir_index(pool, 0);
	return ir_const_int(ir_bind_axes(pool, place, axis), first);
}

static void note_load(struct rest *r, expr load)
{
	const struct grid_loop *g = r->l->g;
	struct lanes_stage *s = r->s;
	int64_t first;
	if (!grid_inside(g, load->buf)) {
		r->outside = true;
		return;
	}
	if (grid_where(g, s->s->out, load) != GRID_AT_OTHER)
		return;
	s->reads_others = true;
	if (!r->in_sum || s->vectors == LANES_HELD || !along_sum(g, s->s, load, &first) ||
	    first % g->units + lanes_points(r->l, s) > g->units)
		return;
	int bits = type_info(load->type)->bits;
	r->widest = bits > r->widest ? bits : r->widest;
	s->vector[s->vectors++] = load;
}

static void note_loads(struct rest *r, expr e, bool *seen)
{
	if (seen[e->id] || is_part(&r->s->held, e))
		return;
	seen[e->id] = true;
	if (e->op == IR_LOAD)
		note_load(r, e);
	for (int i = 0; i < e->n; i++)
		note_loads(r, e->arg[i], seen);
}

static void note_all(struct rest *r, expr e, bool in_sum)
{
	struct arena *scratch = arena_new();
	r->in_sum = in_sum;
	if (e)
		note_loads(r, e, NEWN(scratch, bool, e->id + 1));
	arena_free(scratch);
}

/* ---- Sums. */

int64_t lanes_points(const struct lanes_loop *l, const struct lanes_stage *s)
{
	int64_t n = 0;
	ir_const_int(reduced_count(l->g->p, s->s), &n);
	return n;
}

/* True if the value is a product of what is kept, and of vectors. */
static bool only_products(const struct lanes_stage *s, expr e)
{
	if (is_part(&s->held, e))
		return true;
	for (int i = 0; i < s->vectors; i++)
		if (s->vector[i] == e)
			return true;
	if (e->op == IR_CAST)
		return only_products(s, e->arg[0]);
	return e->op == IR_MUL && only_products(s, e->arg[0]) && only_products(s, e->arg[1]);
}

/* How many neighbours are read at once; and whether rows are padded with zeros where that does not divide them. */
static void find_width(const struct lanes_loop *l, struct lanes_stage *s, int bits)
{
	int64_t points = lanes_points(l, s), first;
	s->width = 1;
	if (!s->vectors)
		return;
	int most = 8 * VECTOR_BYTES / bits;
	s->width = most < MOST_WIDTH ? most : MOST_WIDTH;
	s->zeros = s->s->combine == IR_SUM && type_is_float(s->s->value->type) && points == l->g->units &&
	           only_products(s, s->s->value);
	for (int i = 0; i < s->vectors; i++) {
		along_sum(l->g, s->s, s->vector[i], &first);
		while (first % l->g->units % s->width)
			s->width /= 2;
	}
	while (!s->zeros && (points % s->width || l->g->units % s->width))
		s->width /= 2;
}

/* ---- Stages. */

static void must_exist(void *user, expr e)
{
	bool *all = user;
	for (int k = 0; e->op == IR_LOAD && k < e->n; k++)
		*all &= ir_nonnegative(e->arg[k]) && ir_less(e->arg[k], e->buf->dim[k]);
}

static bool exists(expr e)
{
	bool all = true;
	ir_walk(e, must_exist, &all);
	return all;
}

/* A loop that may end early does not reach all turns, so that a load of a later one may be of no element. */
static void find_early(const struct lanes_loop *l, struct lanes_stage *s)
{
	expr value = s->s->kind == IR_REDUCE ? s->s->post : s->s->value, found[LANES_HELD];
	int n = value ? grid_early_parts(l->g, value, found, LANES_HELD) : 0;
	for (int i = 0; i < n; i++)
		if (!l->g->s->where || exists(found[i]))
			s->early.part[s->early.n++] = found[i];
}

static const struct grid_item *item_of_stage(const struct grid_loop *g, const struct ir_stage *s)
{
	vec_each (item, &g->items)
		vec_each (e, &item->entries)
			if (e->makes && e->stage == s)
				return item;
	return NULL;
}

static const char *add_stage(struct lanes_loop *l, const struct ir_stage *s)
{
	static const struct grid_shape a_row = { .rows = 1 };
	struct lanes_stage x = { .s = s, .item = item_of_stage(l->g, s) };
	struct rest r = { .l = l, .s = &x };
	bool sums = s->kind == IR_REDUCE;
	ck(x.item);
	if (sums)
		x.held.n = grid_constants(l->g, x.item, &a_row, x.held.part, LANES_HELD);
	note_all(&r, s->value, sums);
	if (sums && r.outside)
		return "a sum of its body reads what differs from turn to turn";
	if (sums)
		find_width(l, &x, r.widest);
	note_all(&r, sums ? s->post : NULL, false);
	find_early(l, &x);
	vec_push(l->g->p->arena, &l->stages, x);
	return NULL;
}

const struct lanes_loop *lanes_find(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct grid_loop *g = grid_find(p, s, why);
	if (!g)
		return NULL;
	struct lanes_loop *l = NEW(p->arena, struct lanes_loop);
	l->g = g;
	*why = "a row has too many units for the threads of a block";
	if (g->units > LANES_MOST_THREADS)
		return NULL;
	*why = NULL;
	vec_each (stage, &s->loop->body)
		if ((*why = add_stage(l, *stage)))
			return NULL;
	return l;
}

/* ---- Sizes. */

int lanes_steps(const struct lanes_loop *l, const struct lanes_stage *s, int lanes)
{
	int64_t each = (int64_t)lanes * s->width;
	return (int)((lanes_points(l, s) + each - 1) / each);
}

int lanes_room(const struct lanes_loop *l, int lanes)
{
	int room = (int)l->g->units;
	vec_each (s, &l->stages) {
		int read = s->zeros ? lanes_steps(l, s, lanes) * lanes * s->width : 0;
		room = read > room ? read : room;
	}
	return room == l->g->units ? room : (room + MOST_WIDTH - 1) / MOST_WIDTH * MOST_WIDTH;
}

expr lanes_place(const struct lanes_loop *l, int lanes, expr place)
{
	struct ir_pool *pool = l->g->p->pool;
	int room = lanes_room(l, lanes);
	expr units = ir_index(pool, l->g->units), copy = ir_binary(IR_FLOORDIV, place, units);
	if (room == l->g->units)
		return place;
	return ir_binary(IR_ADD, ir_binary(IR_MUL, copy, ir_index(pool, room)), ir_binary(IR_MOD, place, units));
}

int64_t lanes_shared_bytes(const struct lanes_loop *l, int lanes)
{
	const struct grid_loop *g = l->g;
	int64_t bytes = 0;
	for (int id = 0; id < g->buffers; id++)
		if (g->published[id])
			bytes += type_bytes(g->p->buffers.at[id]->type,
			                    2 * (int64_t)g->copies[id] * lanes_room(l, lanes)) +
			         VECTOR_BYTES;
	return bytes;
}

int lanes_threads(const struct lanes_loop *l, int lanes)
{
	return (int)((l->g->units * lanes + WARP - 1) / WARP * WARP);
}

static int words_of(enum type t)
{
	return type_info(t)->bits > 32 ? 2 : 1;
}

int lanes_registers(const struct lanes_loop *l, int lanes)
{
	const struct grid_loop *g = l->g;
	int kept = 0, used = 0;
	vec_each (c, &g->s->loop->carries)
		kept += g->copies[c->state->id] * words_of(c->state->type);
	vec_each (s, &l->stages) {
		int copies = g->copies[s->s->out->id], now = copies * words_of(s->s->out->type);
		for (int i = 0; i < s->early.n; i++)
			kept += 2 * copies * words_of(s->early.part[i]->type);
		for (int i = 0; i < s->held.n; i++)
			kept += copies * lanes_steps(l, s, lanes) * s->width * words_of(s->held.part[i]->type);
		for (int i = 0; i < s->vectors; i++)
			now += s->width * words_of(s->vector[i]->type);
		used = now > used ? now : used;
	}
	return kept + used;
}
