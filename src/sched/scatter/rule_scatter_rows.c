/* Rule scatter_rows: scatters whose updates stay within their row. A block makes a row, or several short ones, in
 * shared memory: the initial values, then the updates; then it stores them once, in vectors. Rows of open length get a
 * place of fixed size, and a kernel after that one for longer rows, which updates the result itself. */
#include "sched/scatter/scatter.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { BYTES = 16, LEAST_BYTES = 512, SEVERAL_BYTES = 4096, ANY_BYTES = TARGET_SHARED_EVERYWHERE };
enum { MOST_TOGETHER = 256, ROOM_UNIT = 1024 /* bytes */ };

struct scatter_rows {
	struct ir_program *p;
	const struct ir_stage *s;
	int lead, inner, threads, width, together; /* together: rows of a block */
	int64_t room;                              /* elements of shared memory; 0: the result itself is updated */
	expr rows, size;                           /* size: elements of a row, over the axes from `lead` on */
	expr first, end;                           /* in the kernel: the block's first row; the elements of its rows */
	struct ir_buffer *shared;
};

static int element_bytes(const struct ir_stage *s)
{
	return type_info(s->out->type)->bits / 8;
}

/* Parameters: rows of a block; for rows of open length also their room in units of ROOM_UNIT. */
static struct scatter_rows rows_of(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	struct scatter_rows r = { .p = p,
		                  .s = s,
		                  .lead = c->param[0],
		                  .threads = c->param[1],
		                  .together = c->param[2],
		                  .inner = s->out->rank - 1 };
	int64_t extent, size;
	r.rows = out_extents(p, s, 0, r.lead);
	r.size = out_extents(p, s, r.lead, s->out->rank);
	r.width = BYTES / element_bytes(s);
	if (ir_const_int(s->out->dim[r.inner], &extent))
		while (extent % r.width)
			r.width /= 2;
	r.room = (int64_t)c->param[3] * ROOM_UNIT / element_bytes(s);
	if (!r.room) {
		ck(ir_const_int(r.size, &size) && size > 0);
		r.room = size * r.together;
	}
	return r;
}

/* bool: the block's rows fit into shared memory. */
static expr has_room(const struct scatter_rows *r)
{
	expr elements = ir_binary(IR_MUL, r->size, ir_index(r->p->pool, r->together));
	return ir_binary(IR_LE, elements, ir_index(r->p->pool, r->room));
}

static expr whole_vectors(const struct scatter_rows *r)
{
	return whole_multiple(r->p, r->s->out->dim[r->inner], r->width);
}

/* Adds the choice of as many rows of `size` elements as have `bytes`, if it is new. */
static int add_choice(const struct sched_site *site, struct sched_choice *out, int n, int lead, int64_t size, int bytes)
{
	int64_t together = 1, known, row = size * element_bytes(site->s), room = 0;
	bool open = !ir_const_int(out_extents(site->p, site->s, lead, site->s->out->rank), &known);
	while (lead > 0 && together * row < bytes && together < MOST_TOGETHER)
		together *= 2;
	for (room = open ? SEVERAL_BYTES : 0; room && room < together * row;)
		room *= 2;
	int threads = together * row < 16 << 10 ? 256 : 512;
	bool known_choice = n && out[n - 1].param[0] == lead && out[n - 1].param[2] == together;
	if (room > ANY_BYTES || known_choice)
		return n;
	out[n] = (struct sched_choice){ &sched_scatter_rows, { lead, threads, (int)together, (int)room / ROOM_UNIT } };
	return n + 1;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int bytes[] = { 0, LEAST_BYTES, SEVERAL_BYTES };
	const struct ir_stage *s = site->s;
	int n = 0;
	for (int lead = scatter_common_axes(s); lead >= 0; lead--) {
		expr elements = out_extents(site->p, s, lead, s->out->rank);
		int64_t size = about(elements, site->t);
		if (ir_is_int(elements, 0) || size > ANY_BYTES / element_bytes(s))
			break;
		n = add_choice(site, out, n, lead, size, bytes[0]);
		for (int i = 1; i < 3 && size * element_bytes(s) < LEAST_BYTES; i++)
			n = add_choice(site, out, n, lead, size, bytes[i]);
	}
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCATTER && !type_is_packed(s->out->type) && !s->out->replaces)
		return s;
	*why = s->out->replaces ? scatter_in_place : "the stage is not a scatter into rows that fit into shared memory";
	return NULL;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { START_NS = 1800, UPDATES_NS = 4 /* UPDATES_NS: per nanosecond on one multiprocessor */, SECTOR = 32 };
	struct scatter_rows r = rows_of(p, s, c);
	double size = element_bytes(s), rows = (double)about(r.rows, t), outs = rows * (double)about(r.size, t);
	double blocks = ceil(rows / r.together), updates = (double)about(space_count(p, s), t);
	bool fits = about_holds(has_room(&r), t);
	double shared = fits ? (double)r.room * size : 0;
	double resident = fmin(target_resident(t, r.threads, 0, shared), ceil(blocks / t->processors));
	double waves = ceil(blocks / (t->processors * fmax(resident, 1)));
	double bytes = outs * size + about_bytes_read(p, s->init, t) + scatter_bytes_read(p, s, t);
	double work = cost_wait(t, updates / (t->processors * (double)UPDATES_NS)),
	       full = fmin(1, blocks * r.threads / cost_full_threads(t));
	if (!fits) /* atomics in the L2 cache */
		bytes += updates * SECTOR * 2;
	if (r.width > 1 && !about_holds(whole_vectors(&r), t)) /* element by element */
		bytes *= 1.1;
	/* Blocks of a wave overlap; where each has little to do, the waves take as long as they wait. */
	double moved = waves * START_NS / fmax(resident, 1) + fmax(bytes / t->bytes_per_ns / full, work / full);
	return t->launch_ns + START_NS + fmax(moved, (waves - 1) * START_NS);
}

/* ---- The kernel. */

static struct ir_variable *row_vector(const struct scatter_rows *r)
{
	return ir_variable_of(r->p->pool, r->s->out->type, r->s->out, IR_HOLDS_VECTOR, 0, "%s_v", r->s->out->name);
}

/* Loops over the thread's vectors of the block's rows. */
static struct ir_block *each_vector(struct scatter_rows *r, struct ir_block *b, expr *place)
{
	struct ir_program *p = r->p;
	expr thread = ir_thread(p->pool, ir_index(p->pool, r->threads));
	return emit_loop(p, b, "place", ir_binary(IR_MUL, thread, ir_index(p->pool, r->width)), r->end,
	                 ir_index(p->pool, (int64_t)r->threads * r->width), r->end, place);
}

/* Divides a position in the block's rows, `size` for each: declares the row's axes, and returns the rest. `own`: the
 * row's number in the block. */
static expr find_row(struct scatter_rows *r, struct ir_block *b, expr at, expr size, const char *const *names,
                     const bool *used, expr *axis, expr *own)
{
	struct ir_program *p = r->p;
	*own = ir_index(p->pool, 0);
	if (r->together == 1) /* its axes are known */
		return at;
	*own = emit_declare(p, b, "own", ir_binary(IR_FLOORDIV, at, size), ir_index(p->pool, r->together));
	declare_axes(p, b, ir_binary(IR_ADD, r->first, *own), r->lead, r->s->out->dim, names, used, axis);
	for (int k = 0; k < r->lead; k++)
		axis[k] = axis[k] ? axis[k] : ir_index(p->pool, 0); /* unused */
	return emit_declare(p, b, "rest", ir_binary(IR_MOD, at, size), size);
}

static expr in_result(const struct scatter_rows *r, expr place)
{
	return ir_binary(IR_ADD, ir_binary(IR_MUL, r->first, r->size), place);
}

static void begin_rows(struct scatter_rows *r, struct ir_block *b, expr *axis)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	bool used[IR_MAX_RANK] = { false };
	expr place, own, v, lane[IR_MAX_RANK];
	int rank = s->out->rank;
	b = each_vector(r, b, &place);
	ir_mark_axes(s->init, used);
	expr rest = find_row(r, b, place, r->size, ir_axis_names[0], used, axis, &own);
	declare_axes(p, b, rest, rank - r->lead, s->out->dim + r->lead, ir_axis_names[0] + r->lead, used + r->lead,
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
	if (r->shared)
		emit_store_vector_flat(p, b, r->shared, place, row_vector(r), NULL, r->width);
	else
		emit_store_vector(p, b, s->out, in_result(r, place), row_vector(r), r->width);
}

static void update_rows(struct scatter_rows *r, struct ir_block *b, const expr *row)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK], each = ir_index(p->pool, 1), thread, update, own;
	struct axes here = { .value = axis };
	scatter_axes_read(s, used);
	for (int k = 0; k < r->lead; k++)
		axis[k] = row[k];
	for (int k = r->lead; k < s->space_rank; k++)
		each = ir_binary(IR_MUL, each, s->space[k]);
	expr count = each;
	if (r->together > 1) {
		expr here_rows = ir_binary(IR_SUB, r->rows, r->first);
		here_rows = ir_binary(IR_MIN, here_rows, ir_index(p->pool, r->together));
		count = emit_declare(p, b, "updates", ir_binary(IR_MUL, here_rows, each), NULL);
	}
	thread = ir_thread(p->pool, ir_index(p->pool, r->threads));
	b = emit_loop(p, b, "update", thread, count, ir_index(p->pool, r->threads), count, &update);
	expr rest = find_row(r, b, update, each, ir_axis_names[1], used, axis, &own);
	declare_axes(p, b, rest, s->space_rank - r->lead, s->space + r->lead, ir_axis_names[1] + r->lead,
	             used + r->lead, axis + r->lead);
	if (s->where)
		b = emit_if(p, b, to_kernel(p, s->where, &here));
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, own, r->size), scatter_place(p, s, r->lead, axis));
	expr value = to_kernel(p, s->value, &here);
	if (r->shared)
		emit_update(p, b, s, r->shared, at, value);
	else
		emit_update_of_result(p, b, s, in_result(r, at), value);
}

static void end_rows(struct scatter_rows *r, struct ir_block *b)
{
	struct ir_program *p = r->p;
	expr place;
	b = each_vector(r, b, &place);
	emit_load_flat(p, b, r->shared, place, row_vector(r), r->width);
	emit_store_vector(p, b, r->s->out, in_result(r, place), row_vector(r), r->width);
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

static void serial_rows(struct scatter_rows *r, struct ir_kernel *k)
{
	struct ir_program *p = r->p;
	struct ir_block *b = &k->serial;
	expr row, together = ir_index(p->pool, r->together);
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), together);
	if (r->together == 1)
		row = emit_constant(p, b, "row", first, r->rows);
	else
		b = emit_loop(p, b, "row", first, ir_binary(IR_MIN, r->rows, ir_binary(IR_ADD, first, together)),
		              ir_index(p->pool, 1), r->rows, &row);
	serial_row(r, b, row);
}

/* Shared memory for the block's rows. */
static struct ir_buffer *room_for(const struct scatter_rows *r)
{
	struct ir_buffer *b = NEW(r->p->arena, struct ir_buffer);
	*b = (struct ir_buffer){
		.name = "shared_row", .type = r->s->out->type, .rank = 1, .role = IR_TEMP, .id = r->s->out->id
	};
	b->dim[0] = ir_index(r->p->pool, r->room);
	return b;
}

static void one_kernel(struct ir_plan *plan, struct ir_step *step, struct scatter_rows *r, const struct sched_choice *c,
                       const char *suffix, expr needs)
{
	const struct ir_stage *s = r->s;
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK], together = ir_index(p->pool, r->together);
	k->threads = r->threads;
	k->blocks = ceil_div(p, r->rows, r->together);
	if (r->shared) {
		k->shared_bytes = (int)(r->room * element_bytes(s) + BYTES - 1) / BYTES * BYTES;
		vec_push(p->arena, &k->shared, (const struct ir_buffer *)r->shared);
	}
	expr block = ir_block(p->pool, k->blocks);
	r->end = r->size;
	if (r->together > 1) {
		r->first = emit_constant(p, &k->body, "first_row", ir_binary(IR_MUL, block, together), r->rows);
		expr here = ir_binary(IR_MIN, ir_binary(IR_SUB, r->rows, r->first), together);
		r->end = emit_constant(p, &k->body, "end", ir_binary(IR_MUL, here, r->size), NULL);
	} else {
		r->first = emit_constant(p, &k->body, "row", block, r->rows);
		ir_mark_axes(s->init, used);
		scatter_axes_read(s, used);
		declare_axes(p, &k->body, r->first, r->lead, s->out->dim, ir_axis_names[0], used, axis);
		for (int i = 0; i < r->lead; i++)
			axis[i] = axis[i] ? axis[i] : ir_index(p->pool, 0);
	}
	begin_rows(r, &k->body, axis);
	emit(p, &k->body, IR_SYNC);
	update_rows(r, &k->body, axis);
	if (r->shared) {
		emit(p, &k->body, IR_SYNC);
		end_rows(r, &k->body);
	}
	serial_rows(r, k);
	kernel_needs(k, needs);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct scatter_rows r = rows_of(plan->program, site->s, c);
	struct ir_step *step = step_new(plan);
	expr room = has_room(&r);
	r.shared = room_for(&r);
	one_kernel(plan, step, &r, c, "", guard_both(room, whole_vectors(&r)));
	if (r.width > 1 && !step_fits_all(step)) {
		r.width = 1;
		one_kernel(plan, step, &r, c, "_any", room);
	}
	if (!step_fits_all(step)) {
		r.shared = NULL;
		r.width = 1;
		one_kernel(plan, step, &r, c, "_long", NULL);
	}
}

const struct sched_rule sched_scatter_rows = {
	.name = "scatter_rows",
	.version = 2,
	.about = "A block makes {rows row} in shared memory, first the initial values and then the updates, "
	         "and stores them once.",
	.param = { { "lead", 0, 16 }, { "threads", 256, 512 }, { "rows", 1, MOST_TOGETHER }, { "room", 0, 64 } },
	.none = "its rows do not fit into shared memory",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
