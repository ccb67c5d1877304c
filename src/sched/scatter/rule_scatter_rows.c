/* Rule scatter_rows: scatters whose updates stay within their row. A block makes a row in shared memory: the initial
 * values, then the updates; then it stores the row once, in vectors. */
#include "sched/scatter/scatter.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { BYTES = 16, LEAST_BYTES = 512, ANY_BYTES = TARGET_SHARED_EVERYWHERE };

struct scatter_rows {
	struct ir_program *p;
	const struct ir_stage *s;
	int lead, inner, threads, width;
	int64_t size; /* elements of a row, over the axes from `lead` on */
	expr rows;
	struct ir_buffer *shared;
};

/* Number of leading axes shared by the result and the updates. */
static int common_axes(const struct ir_stage *s)
{
	int n = 0;
	while (n < s->out->rank - 1 && n < s->space_rank && s->at[n]->op == IR_AXIS && s->at[n]->i == n &&
	       s->out->dim[n] == s->space[n])
		n++;
	return n;
}

/* Elements of a row over the axes from `lead` on; 0: unknown, or too many. */
static int64_t row_size(const struct ir_stage *s, int lead)
{
	int64_t extent, size = 1;
	for (int k = lead; k < s->out->rank; k++) {
		if (!ir_const_int(s->out->dim[k], &extent) || extent < 1 || extent > ANY_BYTES)
			return 0;
		size *= extent;
		if (size * type_info(s->out->type)->bits / 8 > ANY_BYTES)
			return 0;
	}
	return size;
}

static struct scatter_rows rows_of(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	struct scatter_rows r = {
		.p = p, .s = s, .lead = c->param[0], .threads = c->param[1], .inner = s->out->rank - 1
	};
	int64_t extent;
	r.size = row_size(s, r.lead);
	ck(r.size > 0 && ir_const_int(s->out->dim[r.inner], &extent));
	r.width = BYTES * 8 / type_info(s->out->type)->bits;
	while (extent % r.width)
		r.width /= 2;
	r.rows = ir_index(p->pool, 1);
	for (int k = 0; k < r.lead; k++)
		r.rows = ir_binary(IR_MUL, r.rows, s->out->dim[k]);
	return r;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int n = 0;
	for (int lead = common_axes(s); lead >= 0; lead--) {
		int64_t bytes = row_size(s, lead) * type_info(s->out->type)->bits / 8;
		if (bytes < LEAST_BYTES && lead > 0)
			continue;
		if (bytes < 1)
			break;
		out[n++] = (struct sched_choice){ &sched_scatter_rows, { lead, bytes < 16 << 10 ? 256 : 512 } };
	}
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCATTER && !type_is_packed(s->out->type))
		return s;
	*why = "the stage is not a scatter into rows that fit into shared memory";
	return NULL;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { START_NS = 1800, UPDATES_NS = 4 /* UPDATES_NS: per nanosecond on one multiprocessor */ };
	struct scatter_rows r = rows_of(p, s, c);
	double size = type_info(s->out->type)->bits / 8.0, rows = (double)about(r.rows, t), row = (double)r.size * size;
	double updates = (double)about(space_count(p, s), t), outs = rows * (double)r.size;
	double resident = fmin(target_resident(t, r.threads, 0, row), ceil(rows / t->processors));
	double waves = ceil(rows / (t->processors * fmax(resident, 1)));
	double bytes = outs * size + about_bytes_read(p, s->init, t) + scatter_bytes_read(p, s, t);
	double work = cost_wait(t, updates / (t->processors * (double)UPDATES_NS)),
	       full = fmin(1, rows * r.threads / cost_full_threads(t));
	return t->launch_ns + waves * START_NS / fmax(resident, 1) + START_NS +
	       fmax(bytes / t->bytes_per_ns / full, work / full);
}

/* ---- The kernel. */

static struct ir_variable *row_vector(const struct scatter_rows *r)
{
	return ir_variable_of(r->p->pool, r->s->out->type, r->s->out, IR_HOLDS_VECTOR, 0, "%s_v", r->s->out->name);
}

/* Loops over the thread's vectors of the row. */
static struct ir_block *each_vector(struct scatter_rows *r, struct ir_block *b, expr *place)
{
	struct ir_program *p = r->p;
	expr thread = ir_thread(p->pool, ir_index(p->pool, r->threads)), size = ir_index(p->pool, r->size);
	return emit_loop(p, b, "place", ir_binary(IR_MUL, thread, ir_index(p->pool, r->width)), size,
	                 ir_index(p->pool, (int64_t)r->threads * r->width), size, place);
}

static void begin_row(struct scatter_rows *r, struct ir_block *b, expr *axis)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	bool used[IR_MAX_RANK] = { false };
	expr place, v, lane[IR_MAX_RANK];
	int rank = s->out->rank;
	b = each_vector(r, b, &place);
	ir_mark_axes(s->init, used);
	declare_axes(p, b, place, rank - r->lead, s->out->dim + r->lead, ir_axis_names[0] + r->lead, used + r->lead,
	             axis + r->lead);
	for (int k = r->lead; k < rank; k++)
		axis[k] = axis[k] ? axis[k] : ir_index(p->pool, 0); /* unused */
	struct scatter_vectors x = { p, r->inner, r->width, 1, s->out->dim[r->inner], { 0 }, NULL };
	struct axes start = { .value = axis }, here = { .value = lane, .load = scatter_vectors_item, .user = &x };
	scatter_vectors_find(&x, s->init);
	for (int i = 0; i < x.load.n; i++) {
		expr e = x.load.at[i];
		emit_load_vector(p, b, e->buf, to_kernel(p, ir_flat(p->pool, e->buf, e->arg), &start),
		                 scatter_vector(&x, i), r->width);
	}
	emit_array(p, b, row_vector(r), r->width);
	struct ir_block *items = emit_unrolled(p, b, "v", r->width, &v);
	x.v = v;
	for (int k = 0; k < rank; k++)
		lane[k] = k == r->inner ? ir_binary(IR_ADD, axis[k], v) : axis[k];
	emit_set(p, items, row_vector(r), v, to_kernel(p, s->init, &here));
	emit_store_vector_flat(p, b, r->shared, place, row_vector(r), NULL, r->width);
}

static void update_row(struct scatter_rows *r, struct ir_block *b, const expr *row)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK], count = ir_index(p->pool, 1), thread, update;
	struct axes here = { .value = axis };
	scatter_axes_read(s, used);
	for (int k = 0; k < r->lead; k++)
		axis[k] = row[k];
	for (int k = r->lead; k < s->space_rank; k++)
		count = ir_binary(IR_MUL, count, s->space[k]);
	thread = ir_thread(p->pool, ir_index(p->pool, r->threads));
	b = emit_loop(p, b, "update", thread, count, ir_index(p->pool, r->threads), count, &update);
	declare_axes(p, b, update, s->space_rank - r->lead, s->space + r->lead, ir_axis_names[1] + r->lead,
	             used + r->lead, axis + r->lead);
	if (s->where)
		b = emit_if(p, b, to_kernel(p, s->where, &here));
	emit_update(p, b, s, r->shared, scatter_place(p, s, r->lead, axis), to_kernel(p, s->value, &here));
}

static void end_row(struct scatter_rows *r, struct ir_block *b, expr row)
{
	struct ir_program *p = r->p;
	expr place;
	b = each_vector(r, b, &place);
	emit_load_flat(p, b, r->shared, place, row_vector(r), r->width);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, row, ir_index(p->pool, r->size)), place);
	emit_store_vector(p, b, r->s->out, at, row_vector(r), r->width);
}

static void serial_row(struct scatter_rows *r, struct ir_block *b, expr row)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	expr axis[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	struct axes here = { .value = axis };
	for (int k = 0; k < IR_MAX_RANK; k++)
		used[k] = true;
	declare_axes(p, b, row, r->lead, s->out->dim, ir_axis_names[0], used, axis);
	struct ir_block *each = b;
	for (int k = r->lead; k < s->out->rank; k++) {
		expr none = ir_index(p->pool, 0), one = ir_index(p->pool, 1);
		each = emit_loop(p, each, ir_axis_names[0][k], none, s->out->dim[k], one, s->out->dim[k], &axis[k]);
	}
	emit_store(p, each, s->out, ir_flat(p->pool, s->out, axis), to_kernel(p, s->init, &here));
	emit_serial_updates(p, b, s, r->lead, axis);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct scatter_rows r = rows_of(p, s, c);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK];
	k->threads = r.threads;
	k->blocks = r.rows;
	k->shared_bytes = (int)(r.size * type_info(s->out->type)->bits / 8 + BYTES - 1) / BYTES * BYTES;
	r.shared = NEW(p->arena, struct ir_buffer);
	*r.shared = (struct ir_buffer){
		.name = "shared_row", .type = s->out->type, .rank = 1, .role = IR_TEMP, .id = s->out->id
	};
	r.shared->dim[0] = ir_index(p->pool, r.size);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)r.shared);
	expr block = ir_block(p->pool, r.rows), row = emit_constant(p, &k->body, "row", block, r.rows);
	ir_mark_axes(s->init, used);
	scatter_axes_read(s, used);
	declare_axes(p, &k->body, row, r.lead, s->out->dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < r.lead; i++)
		axis[i] = axis[i] ? axis[i] : ir_index(p->pool, 0);
	begin_row(&r, &k->body, axis);
	emit(p, &k->body, IR_SYNC);
	update_row(&r, &k->body, axis);
	emit(p, &k->body, IR_SYNC);
	end_row(&r, &k->body, row);
	serial_row(&r, &k->serial, emit_constant(p, &k->serial, "row", block, r.rows));
	kernel_finish(plan, step_new(plan), k, s);
}

const struct sched_rule sched_scatter_rows = {
	.name = "scatter_rows",
	.version = 1,
	.param = { { "lead", 0, 16 }, { "threads", 256, 512 } },
	.none = "its rows do not fit into shared memory, or are too short",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
