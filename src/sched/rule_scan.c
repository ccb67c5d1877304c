/* Rules for scans; the rows along the scanned axis are independent of each other. scan_thread: one thread makes a row,
 * neighbouring threads neighbouring ones. scan_lanes: a warp or a block makes each row, chunk by chunk. */
#include "sched/build.h"

#include "ir/axis_names.h"

enum { THREADS = 256, WARP = 32, WARP_BLOCK = 128 };

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCAN)
		return true;
	*why = "the stage is no scan";
	return false;
}

/* The product of the extents from axis `from` to before `to`. */
static expr extents(struct ir_program *p, const struct ir_stage *s, int from, int to)
{
	expr n = ir_index(p->pool, 1);
	for (int k = from; k < to; k++)
		n = ir_binary(IR_MUL, n, s->out->dim[k]);
	return n;
}

static expr row_count(struct ir_program *p, const struct ir_stage *s)
{
	return ir_binary(IR_MUL, extents(p, s, 0, s->axis), extents(p, s, s->axis + 1, s->out->rank));
}

/* One row of the result: where its elements are, and what its axes are called. */
struct row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr extent;       /* of the scanned axis */
	expr outer, inner; /* position among the axes before it, and behind it */
	expr inner_count;
	expr own[IR_MAX_RANK];  /* AXIS nodes */
	expr axis[IR_MAX_RANK]; /* kernel variables */
	expr sum;
};

static expr position(const struct row *r, expr at)
{
	expr x = ir_binary(IR_ADD, ir_binary(IR_MUL, r->outer, r->extent), at);
	return ir_binary(IR_ADD, ir_binary(IR_MUL, x, r->inner_count), r->inner);
}

/* `e` at position `at` of the row, with the axes called `axis`. */
static expr in_row(const struct row *r, expr e, const expr *axis, expr at)
{
	struct axes a = {
		.value = axis, .same = ir_flat(r->p->pool, r->s->out, r->own), .same_as = position(r, at), .acc = r->sum
	};
	return to_kernel(r->p, e, &a);
}

static expr value_at(struct row *r, expr at)
{
	r->axis[r->s->axis] = at;
	return in_row(r, r->s->value, r->axis, at);
}

static void store_at(struct row *r, struct ir_block *b, expr at, expr sum)
{
	const struct ir_stage *s = r->s;
	r->axis[s->axis] = at;
	r->sum = sum;
	expr y = s->post ? in_row(r, s->post, r->axis, at) : ir_cast(sum, s->out->type);
	emit_store(r->p, b, s->out, position(r, at), y);
}

static struct row row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row)
{
	struct row r = { .p = p, .s = s, .extent = s->out->dim[s->axis] };
	const char *names[IR_MAX_RANK];
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK], outer_count = extents(p, s, 0, s->axis);
	bool used[IR_MAX_RANK] = { false }, others[IR_MAX_RANK];
	int n = 0, rank = s->out->rank;
	r.inner_count = extents(p, s, s->axis + 1, rank);
	r.outer = row;
	r.inner = ir_index(p->pool, 0);
	if (ir_is_int(outer_count, 1)) {
		r.outer = r.inner;
		r.inner = row;
	} else if (!ir_is_int(r.inner_count, 1)) {
		r.outer = emit_declare(p, b, "outer", ir_binary(IR_FLOORDIV, row, r.inner_count), outer_count);
		r.inner = emit_declare(p, b, "inner", ir_binary(IR_MOD, row, r.inner_count), r.inner_count);
	}
	/* Only the axes that are still met after loads at the own position became x[position]. */
	for (int k = 0; k < rank; k++)
		r.own[k] = ir_axis(p->pool, k, s->out->dim[k]);
	r.sum = ir_acc(p->pool, s->value->type);
	expr somewhere = ir_var(p->pool, TYPE_INDEX, "step", r.extent);
	mark_axes(in_row(&r, s->value, r.own, somewhere), used);
	if (s->post)
		mark_axes(in_row(&r, s->post, r.own, somewhere), used);
	for (int k = 0; k < rank; k++) {
		if (k == s->axis)
			continue;
		names[n] = ir_axis_names[0][k];
		others[n] = used[k];
		dim[n++] = s->out->dim[k];
	}
	declare_axes(p, b, row, n, dim, names, others, axis);
	for (int k = 0; k < rank; k++) /* what is not met may be anything */
		r.axis[k] = k == s->axis || !axis[k - (k > s->axis)] ? ir_index(p->pool, 0) : axis[k - (k > s->axis)];
	r.sum = emit_variable(p, b, "sum", ir_identity(p->pool, s->combine, s->value->type));
	return r;
}

/* `step` counts in the direction of the scan. */
static expr axis_of_step(const struct row *r, expr step)
{
	expr last = ir_binary(IR_SUB, r->extent, ir_index(r->p->pool, 1));
	return r->s->reverse ? ir_binary(IR_SUB, last, step) : step;
}

/* A row by one thread. */
static void whole_row(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row)
{
	struct row r = row_begin(p, b, s, row);
	const char *axis_name = ir_axis_names[0][s->axis], *name = s->reverse ? "step" : axis_name;
	b = emit_for(p, b, name, ir_index(p->pool, 0), r.extent, ir_index(p->pool, 1));
	expr at = axis_of_step(&r, ir_var(p->pool, TYPE_INDEX, name, r.extent));
	if (s->reverse)
		at = emit_constant(p, b, axis_name, at, r.extent);
	expr sum = r.sum, next = ir_combine_expr(s->combine, sum, value_at(&r, at));
	if (s->exclusive)
		store_at(&r, b, at, sum);
	emit_assign(p, b, sum, next);
	if (!s->exclusive)
		store_at(&r, b, at, sum);
}

/* ---- scan_thread */

static int thread_candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                             struct sched_choice *out)
{
	(void)p;
	(void)s;
	(void)t;
	out[0] = (struct sched_choice){ &sched_scan_thread, { 0 } };
	return 1;
}

static void thread_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr row = declare_element(p, k, row_count(p, s), THREADS, 1);
	whole_row(p, &k->body, s, row);
	kernel_finish(plan, step, k, s);
}

/* ---- scan_lanes */

static int lanes_candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                            struct sched_choice *out)
{
	int64_t points = about(s->out->dim[s->axis], t);
	int n = 0;
	(void)p;
	for (int lanes = 1024; lanes >= WARP; lanes /= 2)
		if (lanes == WARP || points >= 2 * lanes)
			out[n++] = (struct sched_choice){ &sched_scan_lanes, { lanes } };
	return n;
}

/* A row by `lanes` threads, of which this is `lane`. An exclusive scan is an inclusive one of the values before. */
static void shared_row(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row, expr lane,
                       int lanes)
{
	struct row r = row_begin(p, b, s, row);
	expr zero = ir_index(p->pool, 0), one = ir_index(p->pool, 1), sum = r.sum;
	b = emit_for(p, b, "chunk", zero, r.extent, ir_index(p->pool, lanes));
	expr chunk = ir_var(p->pool, TYPE_INDEX, "chunk", r.extent);
	expr step = emit_constant(p, b, "step", ir_binary(IR_ADD, chunk, lane), NULL), at = step;
	expr inside = ir_binary(IR_LT, step, r.extent), read = inside;
	if (s->exclusive)
		read = ir_binary(IR_AND, ir_binary(IR_LT, zero, step), inside);
	expr part = emit_variable(p, b, "part", ir_identity(p->pool, s->combine, s->value->type));

	struct ir_block *then = emit_if(p, b, read);
	if (s->exclusive)
		at = emit_constant(p, then, "before", axis_of_step(&r, ir_binary(IR_SUB, step, one)), r.extent);
	else if (s->reverse)
		at = emit_constant(p, then, ir_axis_names[0][s->axis], axis_of_step(&r, step), r.extent);
	else
		at = ir_var(p->pool, TYPE_INDEX, "step", r.extent);
	emit_assign(p, then, part, value_at(&r, at));

	struct ir_stmt *all = emit(p, b, IR_LANES_SCAN);
	all->name = part->name;
	all->name2 = sum->name;
	all->type = part->type;
	all->width = lanes;
	all->combine = s->combine;

	then = emit_if(p, b, inside);
	at = ir_var(p->pool, TYPE_INDEX, "step", r.extent);
	if (s->reverse)
		at = emit_constant(p, then, ir_axis_names[0][s->axis], axis_of_step(&r, step), r.extent);
	store_at(&r, then, at, part);
}

static void lanes_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int lanes = c->param[0], rows_a_block = lanes == WARP ? WARP_BLOCK / WARP : 1;
	expr rows = row_count(p, s), several = ir_index(p->pool, rows_a_block), warp = ir_index(p->pool, WARP);
	k->threads = lanes * rows_a_block;
	k->blocks = ceil_div(p, rows, rows_a_block);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, k->threads));
	expr row = block, lane = thread, first = ir_binary(IR_MUL, block, several);
	if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, warp);
		row = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, thread, warp));
	}
	lane = emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, lanes));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	row = ir_var(p->pool, TYPE_INDEX, "row", rows);
	shared_row(p, &k->body, s, row, lane, lanes);

	/* The same rows on one processor. */
	struct ir_block *b = emit_for(p, &k->serial, "row", first,
	                              ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, several)), ir_index(p->pool, 1));
	whole_row(p, b, s, row);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_scan_lanes = {
	.name = "scan_lanes",
	.version = 1,
	.help = "a warp or a block of `lanes` threads makes each row",
	.params = { "lanes" },
	.applicable = applicable,
	.candidates = lanes_candidates,
	.apply = lanes_apply,
};

const struct sched_rule sched_scan_thread = {
	.name = "scan_thread",
	.version = 1,
	.help = "one thread makes each row",
	.applicable = applicable,
	.candidates = thread_candidates,
	.apply = thread_apply,
};
