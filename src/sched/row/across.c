/* Finds consecutive stages that work on the same strided rows. See across.h. */
#include "sched/row/across.h"
#include "sched/build/axes.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

#include <string.h>

/* ---- Renaming a stage's axes to those of the rows, and the axis along them. */

struct renamed {
	expr axis[2 * IR_MAX_RANK];
};

static expr along(const struct across *r)
{
	return ir_axis(r->p->pool, r->rank, r->length);
}

/* Maps the buffer's axes except number `skip` (-1: none) to the rows'. False if they differ. */
static bool name_rows(const struct across *r, const struct ir_buffer *b, int skip, struct renamed *out)
{
	int next = 0;
	for (int k = 0; k < b->rank; k++) {
		if (k == skip)
			out->axis[k] = along(r);
		else if (ir_is_int(b->dim[k], 1))
			out->axis[k] = ir_index(r->p->pool, 0);
		else if (next < r->rank && b->dim[k] == r->dim[next])
			out->axis[k] = ir_axis(r->p->pool, next, r->dim[next]), next++;
		else
			return false;
	}
	return next == r->rank;
}

/* ---- Loads. */

int across_value_of(const struct across *r, expr load)
{
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].s->out == load->buf &&
		    (r->stage[i].kind == ACROSS_REDUCE || r->stage[i].kind == ACROSS_VALUE))
			return ir_flat(r->p->pool, load->buf, load->arg) == r->row ? i : -1;
	return -1;
}

int across_cached_of(const struct across *r, expr load)
{
	for (int i = 0; i < r->cached; i++)
		if (r->cache[i] == load)
			return i;
	return -1;
}

struct load_check {
	struct across *r;
	bool fine;
};

/* Checks that results of the rows' own stages are read at the current row only. */
static void check_load(void *user, expr e)
{
	struct load_check *c = user;
	for (int i = 0; e->op == IR_LOAD && i < c->r->stages; i++)
		if (c->r->stage[i].s->out == e->buf)
			c->fine &= across_value_of(c->r, e) >= 0;
}

static bool neighbours(const struct across *r, expr load, int width)
{
	return vector_along(r->p, load, r->rank - 1, r->dim[r->rank - 1], width);
}

static void find_cached(void *user, expr e)
{
	struct load_check *c = user;
	struct across *r = c->r;
	if (e->op != IR_LOAD || type_is_packed(e->type) || across_value_of(r, e) >= 0 || across_cached_of(r, e) >= 0)
		return;
	expr stride = ir_stride(ir_flat(r->p->pool, e->buf, e->arg), r->rank);
	if (!stride || ir_is_int(stride, 0) || !neighbours(r, e, 1))
		return;
	if (r->cached < ACROSS_MAX_CACHED)
		r->cache[r->cached++] = e;
	else
		c->fine = false;
}

/* ---- Stages. */

static bool add_stage(struct across *r, const struct ir_stage *s, enum across_kind kind, struct renamed *names)
{
	struct across_stage st = { .s = s, .kind = kind };
	struct load_check c = { r, true };
	int cached = r->cached;
	st.value = ir_bind_axes(r->p->pool, s->value, names->axis);
	st.post = s->post ? ir_bind_axes(r->p->pool, s->post, names->axis) : NULL;
	st.at = ir_flat(r->p->pool, s->out, names->axis);
	ir_walk(st.value, check_load, &c);
	if (st.post)
		ir_walk(st.post, check_load, &c);
	if (c.fine && kind != ACROSS_VALUE)
		ir_walk_unconditional(st.value, find_cached, &c);
	if (kind == ACROSS_MAP)
		c.fine &= neighbours(r, ir_load(r->p->pool, s->out, names->axis), 1);
	if (!c.fine) {
		r->cached = cached;
		return false;
	}
	r->reductions += kind == ACROSS_REDUCE;
	r->maps += kind == ACROSS_MAP;
	r->stage[r->stages++] = st;
	return true;
}

struct find_value {
	const struct across *r;
	bool found;
};

static void find_value(void *user, expr e)
{
	struct find_value *f = user;
	f->found |= e->op == IR_LOAD && across_value_of(f->r, e) >= 0;
}

/* A map of a few values for each row, which lie along its axis `k`. */
static bool take_joined(struct across *r, const struct ir_stage *s, int k)
{
	struct ir_pool *pool = r->p->pool;
	struct across_stage st = { .s = s, .kind = ACROSS_JOINED };
	struct load_check c = { r, true };
	struct renamed names;
	int64_t n;
	if (!ir_const_int(s->out->dim[k], &n) || n < 2 || n > ACROSS_MAX_JOINED || !r->reductions ||
	    !name_rows(r, s->out, k, &names))
		return false;
	for (st.joined = 0; st.joined < n; st.joined++) {
		struct find_value f = { r, false };
		names.axis[k] = ir_index(pool, st.joined);
		expr value = ir_bind_axes(pool, s->value, names.axis);
		ir_walk(value, check_load, &c);
		ir_walk(value, find_value, &f);
		c.fine &= f.found && neighbours(r, ir_load(pool, s->out, names.axis), 1);
		st.each[st.joined] = value;
		st.place[st.joined] = ir_flat(pool, s->out, names.axis);
	}
	st.value = st.each[0];
	st.at = st.place[0];
	if (c.fine)
		r->stage[r->stages++] = st;
	return c.fine;
}

static bool take(struct across *r, const struct ir_stage *s)
{
	struct renamed names;
	if (type_is_packed(s->out->type))
		return false;
	if (s->kind == IR_REDUCE) {
		if (s->space_rank != 1 || s->space[0] != r->length || !name_rows(r, s->out, -1, &names))
			return false;
		names.axis[s->out->rank] = along(r);
		return add_stage(r, s, ACROSS_REDUCE, &names);
	}
	if (s->kind != IR_MAP)
		return false;
	if (name_rows(r, s->out, -1, &names))
		return add_stage(r, s, ACROSS_VALUE, &names);
	for (int k = 0; k < s->out->rank; k++)
		if (s->out->dim[k] == r->length && name_rows(r, s->out, k, &names) &&
		    add_stage(r, s, ACROSS_MAP, &names))
			return true;
	for (int k = 0; k < s->out->rank; k++)
		if (take_joined(r, s, k))
			return true;
	return false;
}

bool across_match(struct across *out, struct ir_program *p, const struct ir_stage *s)
{
	int first = 0;
	int64_t length;
	*out = (struct across){ .p = p, .count = ir_index(p->pool, 1), .row = ir_index(p->pool, 0) };
	if (s->kind != IR_REDUCE || s->space_rank != 1 || (ir_const_int(s->space[0], &length) && length < 2))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			out->dim[out->rank++] = s->out->dim[k];
	if (!out->rank || out->rank == IR_MAX_RANK)
		return false;
	out->length = out->dim[out->rank] = s->space[0];
	for (int k = 0; k < out->rank; k++) {
		out->count = ir_binary(IR_MUL, out->count, out->dim[k]);
		out->row =
		        ir_binary(IR_ADD, ir_binary(IR_MUL, out->row, out->dim[k]), ir_axis(p->pool, k, out->dim[k]));
	}
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	for (int i = first; i < p->stages.n && out->stages < ACROSS_MAX_STAGES; i++)
		if (!take(out, p->stages.at[i]) || (i == first && !out->cached))
			break;
	return out->cached && (out->maps || out->reductions > 1);
}

bool across_fits(const struct across *r, int width)
{
	for (int i = 0; i < r->cached; i++)
		if (!neighbours(r, r->cache[i], width))
			return false;
	for (int i = 0; i < r->stages; i++) {
		const struct across_stage *st = &r->stage[i];
		const struct ir_buffer *flat = flat_view(r->p, st->s->out);
		if (st->kind == ACROSS_MAP && !neighbours(r, ir_load(r->p->pool, flat, &st->at), width))
			return false;
		for (int k = 0; k < st->joined; k++)
			if (!neighbours(r, ir_load(r->p->pool, flat, &st->place[k]), width))
				return false;
	}
	return true;
}

bool across_stored(const struct across *r, int stage)
{
	const struct ir_stage *made[ACROSS_MAX_STAGES];
	for (int i = 0; i < r->stages; i++)
		made[i] = r->stage[i].s;
	return stage_is_stored(r->p, made, r->stages, stage);
}
