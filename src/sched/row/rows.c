/* Finds consecutive stages that work on the same rows. See rows.h. */
#include "sched/row/rows.h"
#include "sched/build/stored.h"

#include <string.h>

static expr product(struct ir_program *p, int n, const expr *dim)
{
	expr x = ir_index(p->pool, 1);
	for (int i = 0; i < n; i++)
		x = ir_binary(IR_MUL, x, dim[i]);
	return x;
}

/* ---- Splitting one axis of a map in two. */

struct split {
	int axis;
	expr outer, inner; /* extents */
};

static expr split_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct split *s = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i < s->axis)
		return NULL;
	if (e->i > s->axis)
		return ir_axis(pool, (int)e->i + 1, e->arg[0]);
	return ir_binary(IR_ADD, ir_binary(IR_MUL, ir_axis(pool, s->axis, s->outer), s->inner),
	                 ir_axis(pool, s->axis + 1, s->inner));
}

/* Divides the map's axes into row axes and axes along a row of `length`; splits an axis if a row begins inside it. */
static bool map_rows(struct rows_stage *st, struct ir_program *p, const struct ir_stage *s, expr length)
{
	int rank = s->out->rank, k = rank;
	expr elements = ir_index(p->pool, 1);
	st->s = s;
	st->kind = ROWS_MAP;
	st->value = s->value;
	st->rank = rank;
	memcpy(st->dim, s->out->dim, sizeof st->dim[0] * (size_t)rank);
	while (k > 0 && elements != length) {
		int64_t extent, inner;
		expr parts, rest;
		if (ir_is_int(elements, 0))
			return false;
		ir_split(length, elements, &parts, &rest);
		bool ends = parts && ir_is_int(rest, 0) && ir_const_int(s->out->dim[k - 1], &extent) &&
		            ir_const_int(parts, &inner) && inner < extent;
		if (!ends) {
			elements = ir_binary(IR_MUL, elements, s->out->dim[--k]);
			continue;
		}
		if (inner <= 1 || extent % inner || rank + 1 > IR_MAX_RANK) /* the row ends inside axis k - 1 */
			return false;
		struct split split = { k - 1, ir_index(p->pool, extent / inner), parts };
		st->value = ir_copy(p->pool, s->value, split_axis, &split);
		memmove(&st->dim[k], &st->dim[k - 1], sizeof st->dim[0] * (size_t)(rank - k + 1));
		st->dim[k - 1] = split.outer;
		st->dim[k] = split.inner;
		st->rank++;
		elements = length;
	}
	if (elements != length)
		return false;
	st->row_rank = k;
	/* Leading axes of extent 1 also are row axes. */
	return true;
}

/* ---- Loads. */

static expr flat_of(const struct rows *r, expr load)
{
	return ir_flat(r->p->pool, load->buf, load->arg);
}

bool rows_of_values(const struct rows_stage *st)
{
	return st->kind == ROWS_VALUE || st->kind == ROWS_JOINED;
}

int rows_value_of(const struct rows *r, const struct rows_stage *st, expr load)
{
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].s->out == load->buf &&
		    (r->stage[i].kind == ROWS_REDUCE || r->stage[i].kind == ROWS_VALUE))
			return flat_of(r, load) == st->row_at ? i : -1;
	return -1;
}

bool rows_is_own(const struct rows *r, const struct rows_stage *st, expr load)
{
	return flat_of(r, load) == st->full;
}

struct axes_met {
	int from;
	bool any;
};

/* An axis from the given one on, or a value that is only known once something was read. */
static void meet_axis(void *user, expr e)
{
	struct axes_met *m = user;
	m->any |= (e->op == IR_AXIS && e->i >= m->from) || e->op == IR_LOAD || e->op == IR_ACC;
}

bool rows_runs_along(const struct rows *r, const struct rows_stage *st, expr load)
{
	struct axes_met met = { 0, type_is_packed(load->type) };
	if (rows_is_own(r, st, load) || rows_value_of(r, st, load) >= 0) /* one row, or rows of one element */
		return false;
	ir_walk(ir_binary(IR_SUB, flat_of(r, load), st->at), meet_axis, &met);
	return !met.any;
}

bool rows_is_of_row(const struct rows *r, const struct rows_stage *st, expr load)
{
	struct axes_met met = { st->row_rank, false };
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].s->out == load->buf)
			return false;
	ir_walk(flat_of(r, load), meet_axis, &met);
	return !met.any;
}

struct load_check {
	struct rows *r;
	struct rows_stage *st;
	bool fine;
};

/* Checks that results of the rows' own stages are read at the current row only. */
static void check_load(void *user, expr e)
{
	struct load_check *c = user;
	if (e->op != IR_LOAD)
		return;
	for (int i = 0; i < c->r->stages; i++)
		if (c->r->stage[i].s->out == e->buf)
			c->fine &= rows_value_of(c->r, c->st, e) >= 0;
}

void rows_axes(struct ir_program *p, const struct rows_stage *st, expr row, expr *axis)
{
	for (int i = st->rank - 1; i >= 0; i--) {
		bool outside = i >= st->row_rank, inner = i > 0 && !outside;
		axis[i] = outside ? ir_index(p->pool, 0) : inner ? ir_binary(IR_MOD, row, st->dim[i]) : row;
		if (inner)
			row = ir_binary(IR_FLOORDIV, row, st->dim[i]);
	}
}

/* The start of a row over the row's index. */
static expr from_row(const struct rows *r, const struct rows_stage *st, expr from)
{
	expr axis[2 * IR_MAX_RANK];
	rows_axes(r->p, st, ir_axis(r->p->pool, 0, r->count), axis);
	return ir_bind_axes(r->p->pool, from, axis);
}

int rows_cached_of(const struct rows *r, const struct rows_stage *st, expr load)
{
	if (load->op != IR_LOAD || type_is_packed(load->type) || rows_value_of(r, st, load) >= 0)
		return -1; /* a row of one element is also a value of the row, and such a value is not in
		              memory */
	bool own = rows_is_own(r, st, load);
	expr flat = flat_of(r, load);
	for (int i = 0; i < r->cached; i++) {
		const struct rows_cached *c = &r->cache[i];
		expr at = c->stride ? ir_binary(IR_MUL, st->at, c->stride) : st->at;
		if (c->buf == load->buf &&
		    (own ? !c->from : c->from && c->from_row == from_row(r, st, ir_binary(IR_SUB, flat, at))))
			return i;
	}
	return -1;
}

static void cache(struct load_check *c, expr load, expr from, expr stride)
{
	struct rows *r = c->r;
	if (rows_cached_of(r, c->st, load) >= 0)
		return;
	if (r->cached < ROWS_MAX_CACHED)
		r->cache[r->cached++] = (struct rows_cached){ .buf = load->buf,
			                                      .from = from,
			                                      .from_row = from ? from_row(r, c->st, from) : NULL,
			                                      .stride = stride,
			                                      .stage = r->stages };
	else
		c->fine &= from != NULL; /* else it is loaded at each use */
}

static bool may_cache(const struct load_check *c, expr e)
{
	return e->op == IR_LOAD && !type_is_packed(e->type) && rows_value_of(c->r, c->st, e) < 0;
}

static void find_cached(void *user, expr e)
{
	struct load_check *c = user;
	if (!may_cache(c, e))
		return;
	bool own = rows_is_own(c->r, c->st, e);
	expr from = own ? NULL : rows_start(c->r, c->st, e, ir_index(c->r->p->pool, 1)), stride;
	if (own || from)
		cache(c, e, from, NULL);
	else if (c->r->turned && rows_turned_load(c->r, c->st, e, &from, &stride))
		cache(c, e, from, stride);
}

/* Finds loads that may run unconditionally: a load under a condition counts only if the buffer has an element for each
 * element of the rows. */
static void find_whole(void *user, expr e)
{
	struct load_check *c = user;
	struct ir_program *p = c->r->p;
	if (may_cache(c, e) && rows_is_own(c->r, c->st, e) &&
	    ir_buffer_count(p, e->buf) == ir_binary(IR_MUL, c->r->count, c->r->length))
		cache(c, e, NULL, NULL);
}

struct find_value {
	const struct rows *r;
	const struct rows_stage *st;
	bool found;
};

static void find_value(void *user, expr e)
{
	struct find_value *f = user;
	f->found |= e->op == IR_LOAD && rows_value_of(f->r, f->st, e) >= 0;
}

struct own_element {
	const struct rows *r;
	const struct rows_stage *st;
};

/* The value of a leading map's element, in place of a load of it. */
static expr of_leading(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct own_element *own = user;
	(void)arg;
	for (int i = 0; i < own->r->leading && e->op == IR_LOAD; i++)
		if (own->r->stage[i].s->out == e->buf && rows_is_own(own->r, own->st, e))
			return ir_copy(pool, ir_bind_axes(pool, own->r->stage[i].s->value, e->arg), of_leading, user);
	return NULL;
}

static bool add_stage(struct rows *r, struct rows_stage *st)
{
	struct load_check c = { r, st, true };
	int cached = r->cached;
	struct rows_cached before[ROWS_MAX_CACHED];
	memcpy(before, r->cache, sizeof before);
	rows_set_positions(r->p, st, r->length);
	if (!rows_of_values(st))
		st->value = ir_copy(r->p->pool, st->value, of_leading, &(struct own_element){ r, st });
	ir_walk(st->value, check_load, &c);
	if (st->post)
		ir_walk(st->post, check_load, &c);
	for (int i = 0; i < st->joined; i++)
		ir_walk(st->each[i], check_load, &c);
	if (c.fine && !rows_of_values(st)) {
		ir_walk_unconditional(st->value, find_cached, &c);
		ir_walk(st->value, find_whole, &c);
	}
	if (!c.fine) {
		r->cached = cached;
		memcpy(r->cache, before, sizeof before);
		return false;
	}
	r->reductions += st->kind == ROWS_REDUCE;
	r->maps += st->kind == ROWS_MAP;
	r->stage[r->stages++] = *st;
	return true;
}

static bool take_reduction(struct rows *r, const struct ir_stage *s)
{
	struct rows_stage st = { .s = s, .kind = ROWS_REDUCE, .value = s->value, .post = s->post };
	int rank = s->out->rank;
	bool arg = ir_combine_is_arg(s->combine);
	if ((arg && !r->reductions) || !s->space_rank || product(r->p, rank, s->out->dim) != r->count ||
	    product(r->p, s->space_rank, s->space) != r->length)
		return false;
	st.row_rank = rank;
	st.rank = rank + s->space_rank;
	memcpy(st.dim, s->out->dim, sizeof st.dim[0] * (size_t)rank);
	memcpy(st.dim + rank, s->space, sizeof st.dim[0] * (size_t)s->space_rank);
	if (!add_stage(r, &st))
		return false;
	r->args += arg;
	return true;
}

/* True if the value reads one of the row's own. */
static bool reads_value(const struct rows *r, const struct rows_stage *st, expr value)
{
	struct find_value f = { r, st, false };
	ir_walk(value, find_value, &f);
	return f.found;
}

void rows_args_first(struct rows *r)
{
	int to = 0;
	while (to < r->stages && r->stage[to].kind != ROWS_REDUCE)
		to++;
	for (int i = to + 1; i < r->stages && r->args; i++) {
		struct rows_stage moved = r->stage[i];
		if (moved.kind != ROWS_REDUCE || !ir_combine_is_arg(moved.s->combine) ||
		    reads_value(r, &moved, moved.value))
			continue;
		to++;
		memmove(&r->stage[to + 1], &r->stage[to], sizeof moved * (size_t)(i - to));
		r->stage[to] = moved;
		for (int j = 0; j < r->cached; j++) {
			int *stage = &r->cache[j].stage;
			*stage = *stage == i ? to : *stage >= to && *stage < i ? *stage + 1 : *stage;
		}
	}
}

/* A map of `n` values for each row, which divide its axis `k`: each of them is one expression over the rows. */
static bool take_parts(struct rows *r, const struct ir_stage *s, int n, int k)
{
	struct ir_pool *pool = r->p->pool;
	expr extent, rest, axis[IR_MAX_RANK];
	struct rows_stage st = {
		.s = s, .kind = ROWS_JOINED, .row_rank = s->out->rank, .rank = s->out->rank, .joined = n
	};
	ir_split(s->out->dim[k], ir_index(pool, n), &extent, &rest);
	if (!extent || !ir_is_int(rest, 0))
		return false;
	memcpy(st.dim, s->out->dim, sizeof st.dim[0] * (size_t)st.rank);
	st.dim[k] = extent;
	rows_set_positions(r->p, &st, r->length);
	for (int part = 0; part < n; part++) {
		for (int i = 0; i < st.rank; i++)
			axis[i] = ir_axis(pool, i, st.dim[i]);
		axis[k] = ir_binary(IR_ADD, axis[k], ir_binary(IR_MUL, ir_index(pool, part), extent));
		st.each[part] = ir_bind_axes(pool, s->value, axis);
		st.place[part] = ir_flat(pool, s->out, axis);
		if (!reads_value(r, &st, st.each[part]))
			return false;
	}
	st.value = st.each[0];
	return add_stage(r, &st);
}

/* A map of a few values for each row, such as a concatenation of them. */
static bool take_joined(struct rows *r, const struct ir_stage *s, expr all)
{
	for (int n = 2; n <= ROWS_MAX_JOINED && r->reductions; n++)
		for (int k = 0; k < s->out->rank && all == ir_binary(IR_MUL, r->count, ir_index(r->p->pool, n)); k++)
			if (take_parts(r, s, n, k))
				return true;
	return false;
}

static bool take_map(struct rows *r, const struct ir_stage *s)
{
	expr all = product(r->p, s->out->rank, s->out->dim);
	struct rows_stage st = { .s = s, .kind = ROWS_VALUE, .value = s->value, .row_rank = s->out->rank };
	if (type_is_packed(s->out->type))
		return false;
	if (all == r->count && all != ir_binary(IR_MUL, r->count, r->length)) {
		st.rank = st.row_rank;
		memcpy(st.dim, s->out->dim, sizeof st.dim[0] * (size_t)st.rank);
		return add_stage(r, &st);
	}
	if (all != ir_binary(IR_MUL, r->count, r->length))
		return take_joined(r, s, all);
	if (map_rows(&st, r->p, s, r->length) && add_stage(r, &st))
		return true;
	for (int along = s->out->rank - 1; r->turned && along >= 0; along--)
		if (rows_turned_map(&st, r, s, along) && add_stage(r, &st))
			return true;
	return false;
}

struct apart_load {
	struct rows *r;
	const struct rows_stage *st;
};

static void note_apart(void *user, expr e)
{
	struct apart_load *a = user;
	if (e->op != IR_LOAD)
		return;
	bool along = !rows_of_values(a->st) && rows_runs_along(a->r, a->st, e);
	a->r->along += along ? type_info(e->type)->bits / 32.0 : 0;
	a->r->apart |= along || rows_is_of_row(a->r, a->st, e);
}

static void note_loads_apart(struct rows *r)
{
	for (int i = 0; i < r->stages; i++) {
		struct apart_load a = { r, &r->stage[i] };
		ir_walk_unconditional(a.st->value, note_apart, &a);
		if (a.st->post)
			ir_walk_unconditional(a.st->post, note_apart, &a);
	}
}

/* The number of maps in front of the first reduction that it reads, which rows compute and store before it. */
static int leading_maps(const struct ir_stage *const *stage, int n)
{
	int maps = 0;
	while (maps < n && stage[maps]->kind == IR_MAP)
		maps++;
	if (maps == n || stage[maps]->kind != IR_REDUCE)
		return 0;
	for (int i = 0; i < maps; i++)
		if (!ir_stage_reads(stage[maps], stage[i]->out) || stage[i]->out->replaces)
			return 0;
	return maps;
}

/* Finds the rows of n stages; returns how many match. */
static int match_stages(struct rows *r, const struct ir_stage *const *stage, int n)
{
	int leading = r->turned ? 0 : leading_maps(stage, n);
	const struct ir_stage *s = stage[leading];
	if (s->kind != IR_REDUCE || !s->space_rank)
		return 0;
	r->count = product(r->p, s->out->rank, s->out->dim);
	r->length = product(r->p, s->space_rank, s->space);
	for (int i = 0; i < n && r->stages < ROWS_MAX_STAGES; i++) {
		const struct ir_stage *next = stage[i];
		bool taken = next->kind == IR_REDUCE ? take_reduction(r, next)
		             : next->kind == IR_MAP  ? take_map(r, next)
		                                     : false;
		if (!taken || (i < leading && r->stage[i].kind != ROWS_MAP))
			break;
		r->leading += i < leading;
	}
	if (r->stages <= leading)
		return 0;
	note_loads_apart(r);
	return r->stages;
}

int rows_match_stages(struct rows *out, struct ir_program *p, const struct ir_stage *const *stage, int n)
{
	*out = (struct rows){ .p = p };
	return match_stages(out, stage, n);
}

static bool match_from(struct rows *out, const struct ir_stage *s)
{
	const struct ir_program *p = out->p;
	const struct ir_stage *stage[ROWS_MAX_STAGES];
	int first = 0, n = 0;
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	if (first == p->stages.n) /* a stage that a rule made for its other kernels */
		stage[n++] = s;
	for (; n < ROWS_MAX_STAGES && first + n < p->stages.n; n++)
		stage[n] = p->stages.at[first + n];
	/* At least one load must be contiguous along the rows, or along neighbouring ones. */
	return n > 0 && match_stages(out, stage, n) && out->cached > 0;
}

bool rows_match(struct rows *out, struct ir_program *p, const struct ir_stage *s)
{
	*out = (struct rows){ .p = p };
	return match_from(out, s);
}

bool rows_match_turned(struct rows *out, struct ir_program *p, const struct ir_stage *s)
{
	bool across = false;
	*out = (struct rows){ .p = p, .turned = true };
	if (!match_from(out, s) || (!out->maps && out->reductions < 2))
		return false;
	for (int i = 0; i < out->cached; i++)
		across |= out->cache[i].stride != NULL;
	for (int i = 0; i < out->stages; i++)
		across |= out->stage[i].to != NULL;
	return across;
}

bool rows_stored(const struct rows *r, int stage)
{
	const struct ir_stage *made[ROWS_MAX_STAGES];
	for (int i = 0; i < r->stages; i++)
		made[i] = r->stage[i].s;
	return r->stage[stage].kind == ROWS_MAP || r->store_all || stage_is_stored(r->p, made, r->stages, stage);
}
