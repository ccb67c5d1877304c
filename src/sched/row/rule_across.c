/* Rule across: a row program with strided rows in one kernel. A lane has `width` neighbouring rows, the 32 lanes of a
 * warp have adjacent rows, so that accesses are coalesced, and `parts` warps share the elements of the rows. Elements
 * stay in registers from the first stage to the last, so memory is read once. */
#include "sched/row/across.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum { LANES = 32, MAX_PARTS = 32, WIDEST = 16 /* bytes */, MAX_WIDTH = 8, MAX_STEPS = 32 };
enum { MAX_REGISTERS = 96 /* for elements, in addition to the GPU's limit, since all loads are unrolled */ };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct across r;
	if (across_match(&r, p, s))
		return FOUND(p, r);
	*why = "the stage does not begin several reductions, or reductions and maps, of rows that lie next to each "
	       "other in memory";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct across *)site->found)->stages;
}

/* ---- Choices. */

static int widest_type(const struct across *r)
{
	int bits = 8;
	for (int i = 0; i < r->cached; i++)
		bits = type_info(r->cache[i]->type)->bits > bits ? type_info(r->cache[i]->type)->bits : bits;
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ACROSS_MAP && type_info(r->stage[i].s->out->type)->bits > bits)
			bits = type_info(r->stage[i].s->out->type)->bits;
	return bits / 8;
}

/* 32-bit registers for the elements of a thread. */
static double registers_of(const struct across *r, int elements)
{
	double bits = 0;
	for (int i = 0; i < r->cached; i++)
		bits += type_info(r->cache[i]->type)->bits;
	return bits / 32 * elements;
}

/* Bytes of shared memory in which the warps exchange partial results. */
static int shared_bytes(const struct across *r, int parts, int width)
{
	int bytes = 0;
	for (int i = 0; i < r->stages && parts > 1; i++)
		if (r->stage[i].kind == ACROSS_REDUCE)
			bytes += LANES * parts * width * type_info(r->stage[i].s->value->type)->bits / 8;
	return bytes;
}

static int steps_of(const struct across *r, int parts)
{
	int64_t length;
	ck(ir_const_int(r->length, &length));
	return (int)((length + parts - 1) / parts);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	int64_t length;
	struct across r = *(const struct across *)site->found;
	if (!ir_const_int(r.length, &length))
		return 0;
	for (int width = WIDEST / widest_type(&r) < MAX_WIDTH ? WIDEST / widest_type(&r) : MAX_WIDTH; width >= 1;
	     width /= 2) {
		bool whole = divides(r.dim[r.rank - 1], width);
		if (width > 1 && (!whole || !across_fits(&r, width)))
			continue;
		for (int parts = 1; parts <= MAX_PARTS && parts <= length; parts *= 2) {
			int steps = steps_of(&r, parts);
			if (steps <= MAX_STEPS && registers_of(&r, steps * width) <= MAX_REGISTERS &&
			    registers_of(&r, steps * width) <= target_thread_registers(site->t, LANES * parts) &&
			    shared_bytes(&r, parts, width) <= TARGET_DECLARED_DATA)
				out[n++] = (struct sched_choice){ &sched_across, { parts, width } };
		}
	}
	return n;
}

/* ---- The kernel. */

struct across_kernel {
	const struct across *r;
	struct ir_program *p;
	int parts, width;
	bool serial;                    /* for a CPU: one row after the other */
	expr axis[IR_MAX_RANK + 1];     /* of the rows, followed inside a loop by the index along the row */
	const struct ir_variable *item; /* of all loops over the thread's rows */
	expr step, v;                   /* register indices; null: none */
	expr acc;
};

/* The variable of a row's value: an array over the thread's rows, or of length 1. */
static struct ir_variable *value_variable(const struct across_kernel *k, const struct ir_buffer *b)
{
	return k->serial ? ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VALUE, 0, "this_%s", b->name)
	                 : ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VALUES, 0, "this_%s", b->name);
}

static expr value_of(const struct across_kernel *k, const struct ir_buffer *b)
{
	const struct ir_variable *v = value_variable(k, b);
	return k->serial ? ir_var_of(v, NULL) : item_of(v, ir_var_of(k->item, ir_index(k->p->pool, k->width)));
}

static struct ir_variable *cache_array(const struct across_kernel *k, int cached)
{
	const struct ir_buffer *b = k->r->cache[cached]->buf;
	for (int i = 0; i < cached; i++)
		if (k->r->cache[i]->buf == b)
			return ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VECTOR, cached + 1, "%s_v%d", b->name,
			                      cached + 1);
	return ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VECTOR, 0, "%s_v", b->name);
}

static expr from_registers(void *user, expr e, expr flat)
{
	struct across_kernel *k = user;
	int made = across_value_of(k->r, e), cached = across_cached_of(k->r, e);
	(void)flat;
	if (made >= 0)
		return value_of(k, e->buf);
	if (cached < 0 || k->serial || !k->step)
		return NULL;
	return item_of_row(cache_array(k, cached), k->step, ir_var_of(k->item, ir_index(k->p->pool, k->width)));
}

/* The expression at this row, or at the item-th of these, and at this index along it. */
static expr here(struct across_kernel *k, expr e)
{
	expr axis[IR_MAX_RANK + 1];
	int last = k->r->rank - 1;
	memcpy(axis, k->axis, sizeof axis);
	if (k->v && axis[last])
		axis[last] = ir_binary(IR_ADD, axis[last], k->v);
	struct axes a = { .value = axis, .load = from_registers, .user = k, .acc = k->acc };
	return to_kernel(k->p, e, &a);
}

static struct ir_block *each_item(struct across_kernel *k, struct ir_block *b)
{
	return k->serial ? b : emit_unrolled_each(k->p, b, k->item, k->width, &k->v);
}

/* The loop over this thread's indices along the row. */
static struct ir_block *each_place(struct across_kernel *k, struct ir_block *b, expr part)
{
	struct ir_program *p = k->p;
	int64_t length;
	expr *at = &k->axis[k->r->rank];
	if (k->serial) {
		const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "at");
		b = emit_for_each(p, b, v, ir_index(p->pool, 0), k->r->length, ir_index(p->pool, 1));
		*at = ir_var_of(v, k->r->length);
		return b;
	}
	b = emit_unrolled(p, b, "step", steps_of(k->r, k->parts), &k->step);
	expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, k->step, ir_index(p->pool, k->parts)), part);
	*at = emit_constant(p, b, "at", place, k->r->length);
	if (ir_const_int(k->r->length, &length) && length % k->parts == 0)
		return b;
	return emit_if(p, b, ir_binary(IR_LT, ir_var_of((*at)->var, NULL), k->r->length));
}

static void leave_place(struct across_kernel *k)
{
	k->axis[k->r->rank] = k->step = k->v = NULL;
}

static void load_rows(struct across_kernel *k, struct ir_block *b, expr part)
{
	struct ir_program *p = k->p;
	int steps = steps_of(k->r, k->parts);
	for (int i = 0; i < k->r->cached; i++)
		emit_array_of_rows(p, b, cache_array(k, i), steps, k->width);
	struct ir_block *body = each_place(k, b, part);
	expr step = k->step;
	for (int i = 0; i < k->r->cached; i++) {
		k->step = NULL; /* from memory */
		expr at = here(k, k->r->cache[i])->arg[0];
		k->step = step;
		emit_load_into(p, body, k->r->cache[i]->buf, at, cache_array(k, i), step, k->width);
	}
	leave_place(k);
}

/* Computes one value for each of the thread's rows. */
static void set_value(struct across_kernel *k, struct ir_block *b, const struct ir_stage *s, expr e)
{
	struct ir_program *p = k->p;
	if (k->serial) {
		emit_define(p, b, value_variable(k, s->out), here(k, e), NULL);
		return;
	}
	emit_array(p, b, value_variable(k, s->out), k->width);
	struct ir_block *items = each_item(k, b);
	emit_set(p, items, value_variable(k, s->out), k->v, here(k, e));
	k->v = NULL;
}

static void reduce_rows(struct across_kernel *k, struct ir_block *b, int stage, expr part)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_stage *s = st->s;
	enum type t = s->value->type;
	struct ir_variable *v = ir_variable_new(p->pool, t, "%s_of_%s", ir_combine_name[s->combine], s->out->name);
	expr sum = k->serial ? ir_var_of(v, NULL) : item_of(v, ir_var_of(k->item, ir_index(p->pool, k->width)));
	if (k->serial) {
		emit_define_variable(p, b, v, ir_identity(p->pool, s->combine, t));
	} else {
		emit_array(p, b, v, k->width);
		struct ir_block *items = each_item(k, b);
		emit_set(p, items, v, k->v, ir_identity(p->pool, s->combine, t));
		k->v = NULL;
	}
	struct ir_block *body = each_item(k, each_place(k, b, part));
	expr more = ir_combine_expr(s->combine, sum, here(k, st->value));
	if (k->serial)
		emit_assign(p, body, sum, more);
	else
		emit_set(p, body, v, k->v, more);
	leave_place(k);
	if (!k->serial && k->parts > 1) {
		struct ir_lanes *all = emit_lanes_combine(p, b, v, s->combine, k->parts);
		all->across = ir_variable_new(p->pool, t, "%s_across", v->hint);
		all->columns = LANES;
		all->items = k->width;
	}
	k->acc = sum;
	set_value(k, b, s, st->post ? st->post : ir_cast(ir_acc(p->pool, t), s->out->type));
	k->acc = NULL;
}

static void map_rows(struct across_kernel *k, struct ir_block *b, int stage, expr part, expr inside)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_buffer *out = st->s->out;
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	struct ir_block *body = each_place(k, b, part);
	if (k->serial) {
		emit_store(p, body, out, here(k, st->at), here(k, st->value));
		leave_place(k);
		return;
	}
	expr at = here(k, st->at);
	emit_array(p, body, result, k->width);
	struct ir_block *items = each_item(k, body);
	emit_set(p, items, result, k->v, here(k, st->value));
	if (inside)
		body = emit_if(p, body, inside);
	emit_store_vector(p, body, out, at, result, k->width);
	leave_place(k);
}

/* Stores a value of the rows that has readers outside; the first warp stores it. */
static void store_value(struct across_kernel *k, struct ir_block *b, int stage, expr part, expr inside)
{
	struct ir_program *p = k->p;
	const struct ir_buffer *out = k->r->stage[stage].s->out;
	if (k->serial) {
		emit_store(p, b, out, here(k, k->r->stage[stage].at), value_of(k, out));
		return;
	}
	if (inside)
		b = emit_if(p, b, inside);
	if (k->parts > 1)
		b = emit_if(p, b, ir_binary(IR_EQ, part, ir_index(p->pool, 0)));
	b = each_item(k, b);
	emit_store(p, b, out, here(k, k->r->stage[stage].at), value_of(k, out));
	k->v = NULL;
}

/* Declares the rows' axes for the thread's first row, number `row`. */
static void declare_rows(struct across_kernel *k, struct ir_block *b, expr row)
{
	bool used[IR_MAX_RANK + 1] = { false };
	for (int i = 0; i < k->r->stages; i++) {
		const struct across_stage *st = &k->r->stage[i];
		ir_mark_axes(st->value, used);
		if (st->post)
			ir_mark_axes(st->post, used);
		ir_mark_axes(st->at, used);
	}
	declare_axes(k->p, b, row, k->r->rank, k->r->dim, ir_axis_names[0], used, k->axis);
}

static void all_stages(struct across_kernel *k, struct ir_block *b, expr part, expr inside)
{
	if (!k->serial)
		load_rows(k, b, part);
	for (int i = 0; i < k->r->stages; i++) {
		const struct across_stage *st = &k->r->stage[i];
		if (st->kind == ACROSS_REDUCE)
			reduce_rows(k, b, i, part);
		else if (st->kind == ACROSS_VALUE)
			set_value(k, b, st->s, st->value);
		else
			map_rows(k, b, i, part, inside);
		if (st->kind != ACROSS_MAP && across_stored(k->r, i))
			store_value(k, b, i, part, inside);
	}
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct across r = *(const struct across *)site->found;
	const struct ir_stage *last = r.stage[r.stages - 1].s;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, last, "", c);
	int parts = c->param[0], width = c->param[1];
	struct across_kernel own = {
		.r = &r, .p = p, .parts = parts, .width = width, .item = ir_variable_new(p->pool, TYPE_INDEX, "item")
	};
	struct across_kernel alone = { .r = &r, .p = p, .parts = 1, .width = 1, .serial = true };
	expr rows = ir_index(p->pool, LANES * width), lanes = ir_index(p->pool, LANES), inside = NULL;
	int64_t count;
	k->threads = LANES * parts;
	k->blocks = ceil_div(p, r.count, LANES * width);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr first = ir_binary(IR_MUL, block, rows), part = ir_index(p->pool, 0);
	if (parts > 1)
		part = emit_constant(p, &k->body, "part", ir_binary(IR_FLOORDIV, thread, lanes),
		                     ir_index(p->pool, parts));
	expr lane = ir_binary(IR_MUL, ir_binary(IR_MOD, thread, lanes), ir_index(p->pool, width));
	expr row = emit_constant(p, &k->body, "row", ir_binary(IR_ADD, first, lane), r.count);
	/* Threads past the last row repeat it: all threads take part in the exchanges. */
	if (!ir_const_int(r.count, &count) || count % (LANES * width)) {
		expr any = ir_var_of(row->var, NULL), end = ir_binary(IR_SUB, r.count, ir_index(p->pool, width));
		if (parts == 1) {
			emit_return_if(p, &k->body, ir_binary(IR_LE, r.count, any));
		} else {
			inside = ir_binary(IR_LT, any, r.count);
			row = emit_constant(p, &k->body, "here", ir_binary(IR_MIN, any, end), r.count);
		}
	}
	declare_rows(&own, &k->body, row);
	all_stages(&own, &k->body, part, inside);

	/* The same rows for a CPU. */
	const struct ir_variable *alone_row = ir_variable_new(p->pool, TYPE_INDEX, "row");
	expr end = ir_binary(IR_MIN, r.count, ir_binary(IR_ADD, first, rows));
	struct ir_block *b = emit_for_each(p, &k->serial, alone_row, first, end, ir_index(p->pool, 1));
	declare_rows(&alone, b, ir_var_of(alone_row, r.count));
	all_stages(&alone, b, NULL, NULL);
	kernel_finish(plan, step, k, last);
	struct str about = str_new(p->arena);
	for (int i = 0; i < r.stages; i++)
		ir_print_stage(&about, r.stage[i].s);
	k->about = str_text(&about);
}

/* ---- Time: each byte once, at the bandwidth of the loads in flight, plus the exchanges between warps. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	struct across r = *(const struct across *)site->found;
	int parts = c->param[0], width = c->param[1], steps = steps_of(&r, parts), threads = LANES * parts;
	double count = (double)about(r.count, t), elements = count * (double)about(r.length, t), each = 0, written = 0,
	       work = 0;
	for (int i = 0; i < r.cached; i++)
		each += type_info(r.cache[i]->type)->bits / 8.0;
	for (int i = 0; i < r.stages; i++) {
		const struct across_stage *st = &r.stage[i];
		bool whole = st->kind == ACROSS_MAP;
		written += whole ? type_info(st->s->out->type)->bits / 8.0 : 0;
		work += (st->kind == ACROSS_VALUE ? count : elements) * ir_cost(st->value);
	}
	double registers = 8 * ceil((22 + registers_of(&r, steps * width) + width) / 8); /* as compiled for sm_90 */
	double here = fmax(target_resident(t, threads, registers, 0), 1);
	double blocks = count / (LANES * width),
	       resident = blocks / t->processors < here ? blocks / t->processors : here;
	double fill = resident * threads * steps * width * each / cost_in_flight(t);
	fill = fill > 1 ? 1 : fill < 0.01 ? 0.01 : fill;
	double waves = blocks / (resident * t->processors), whole = waves < 1 ? 1 : waves;
	double tail = whole < 8 ? (double)(int)(whole + 0.999) / whole : 1;
	/* Measured on an H100: accesses of fewer than 8 bytes, and too few threads for the memory bandwidth, take
	 * longer. */
	double lane = width * each / r.cached, busy = resident * threads * t->processors / cost_full_threads(t);
	double slow = (lane < 4 ? 1.25 : lane < 8 ? 1.15 : 1) * (1 + 0.15 * (busy < 1 ? 1 - busy : 0));
	double bytes = elements * (each + written) / t->bytes_per_ns * slow, time = bytes / fill * tail;
	/* All loads of a wave are in flight at once: a last wave of few blocks takes at most the latency plus its
	 * bytes. */
	double waits = whole < 8 ? cost_table(t)->apart_way * ceil(whole) : 0;
	if (waits > 0)
		time = (time < bytes + waits ? time : bytes + waits) + 0.15 * waits;
	double compute = work / cost_mixed_rate(t);
	double levels = 2;
	for (int n = 1; n < parts; n *= 2)
		levels++;
	/* For `width` values, of one block; other blocks hide it in part. */
	double exchange = parts > 1 ? cost_wait(t, 30 * levels * r.reductions * (1 + width / 8.0)) : 0;
	double stall = exchange * (waves < 1 ? 1 : waves) / (resident > 2 ? 2 : 1);
	time = (compute > time ? compute : time) * (here < 2 ? 1.05 : 1);
	/* A single resident block loads nothing while its warps wait for each other. */
	return t->launch_ns + time + (stall > time || here < 2 ? stall : stall * 0.5) + exchange;
}

const struct sched_rule sched_across = {
	.name = "across",
	.version = 1,
	.param = { { "parts", 1, 32 }, { "width", 1, 8 } },
	.none = "the rows are too long for a block's registers, or of unknown length",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
