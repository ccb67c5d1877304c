/* Rule sort_select: the first k of long rows (TopK), in one read of each row. A block keeps the best elements seen so
 * far in shared memory and drops the ones after the k-th. If there are few rows, several blocks share a row, and a
 * second kernel takes the first k of their results. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

enum { LEAST_KEYS = 1024, THREADS = 256, MANY_ITEMS = 32, FEW_ITEMS = 8, LEAST_SEGMENTED = 8192 };
enum { SHORT_ROW = 4096, SHORT_KEYS = 128 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	int64_t k;
	if (!sort_match(p, s, why))
		return NULL;
	if (!ir_const_int(s->out->dim[s->axis], &k) || k <= sort_most_keys(s) / 2)
		return s;
	*why = "more elements are asked for than shared memory holds";
	return NULL;
}

/* Elements that a thread reads at once. */
static int items(const struct ir_stage *s, int64_t n)
{
	int many = n >= THREADS * MANY_ITEMS / 2 ? MANY_ITEMS : FEW_ITEMS;
	return sort_key_bits(s) == 64 && many == MANY_ITEMS ? many / 2 : many; /* each takes two registers */
}

/* Short rows with small k: as few threads as the bound allows, or slightly more. Measured on an H100, 4096 rows of
 * 1000: one warp that reads twice takes 14.2 us, one with 32 items at once 18.8, two warps 14.9, eight 22.3. */
static int short_rows(const struct ir_stage *s, int64_t n, int64_t k, struct sched_choice *out)
{
	int count = 0, keys = SHORT_KEYS, most = sort_key_bits(s) == 64 ? MANY_ITEMS / 4 : MANY_ITEMS / 2;
	while (keys < 4 * k)
		keys *= 2;
	for (int threads = 32; threads <= THREADS && n <= SHORT_ROW; threads *= 2) {
		int items = FEW_ITEMS;
		while (items < most && threads * items < n)
			items *= 2;
		if (4 * k <= threads && threads * items * 2 >= n && threads * FEW_ITEMS / 2 <= n)
			out[count++] = (struct sched_choice){ &sched_sort_select, { keys, threads, 1, items } };
	}
	return count;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t k, rows = about(rows_along(p, s), t), n = about(s->space[0], t);
	int count = 0, keys = LEAST_KEYS, parts = 1;
	if (!ir_const_int(s->out->dim[s->axis], &k))
		k = t->typical;
	while (rows * parts < 2 * t->processors && n >= 2 * parts * LEAST_SEGMENTED)
		parts *= 2;
	for (; 4 * k <= THREADS && n >= LEAST_SEGMENTED && parts; parts = parts > 1) /* and without parts */
		out[count++] = (struct sched_choice){ &sched_sort_select,
			                              { SORT_DELEGATE_KEYS, THREADS, parts, SORT_SEGMENT } };
	count += short_rows(s, n, k, out + count);
	parts = 1;
	while (keys < 2 * k)
		keys *= 2;
	while (rows * parts < 2 * t->processors && parts * 8 * keys <= n)
		parts *= 2;
	if (parts > 1)
		out[count++] =
		        (struct sched_choice){ &sched_sort_select, { keys, THREADS, parts, items(s, n / parts) } };
	out[count++] = (struct sched_choice){ &sched_sort_select, { keys, THREADS, 1, items(s, n) } };
	if (keys < sort_most_keys(s))
		out[count++] =
		        (struct sched_choice){ &sched_sort_select, { 2 * keys, 2 * THREADS, 1, items(s, n) / 2 } };
	return count;
}

/* Data shared by the kernels of one stage. */
struct select {
	struct ir_plan *plan;
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_choice *c;
	expr fits; /* null: always */
	int keys, parts, width;
	expr rows, n, k;
	struct ir_buffer *key, *place; /* [rows][parts][k]: results of the parts */
	/* The current kernel's: kept elements; functions. */
	const struct ir_variable *kept, *keys_of, *place_of, *put;
};

/* One block per row or part of a row. Sets *serial to the body of the serial twin. */
static struct ir_kernel *row_kernel(struct select *x, const char *suffix, int parts, int segments,
                                    struct ir_block **serial)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = kernel_new(x->plan, x->s, suffix, x->c);
	k->threads = x->c->param[1];
	k->blocks = ir_binary(IR_MUL, x->rows, ir_index(p->pool, parts));
	*serial = sort_only_if(p, k, x->fits);
	struct ir_template of = IR_OF(IR_TYPE(sort_key_type(x->s)), IR_NUMBER(x->keys));
	if (segments)
		of.at[of.n++] = (struct ir_of_arg)IR_NUMBER(segments);
	x->kept = emit_shared(
	        p, &k->body, ir_object_new(p->pool, segments ? &device_sort_delegates : &device_sort_kept, of, "kept"));
	return k;
}

/* Segments that a block keeps; 0: it uses select_row. */
static int segments_of(const struct select *x)
{
	enum { FEW = 2048, MANY = 4096 };
	return x->keys != SORT_DELEGATE_KEYS ? 0 : sort_key_bits(x->s) == 64 ? FEW : MANY;
}

static void emit_select(struct select *x, struct ir_block *b, expr from, expr to, int width, bool segments)
{
	struct ir_program *p = x->p;
	const int *param = x->c->param;
	struct ir_template of = IR_OF(IR_NUMBER(param[1]), IR_NUMBER(param[3]), IR_NUMBER(width));
	if (segments)
		of = IR_OF(IR_TYPE(sort_key(x->s)->type), IR_TRUTH(x->s->reverse), IR_NUMBER(param[1]),
		           IR_NUMBER(param[3]), IR_NUMBER(width));
	struct ir_call *call = emit_invoke(p, b, segments ? &device_select_delegates : &device_select_row, of);
	add_variable(p, call, x->kept);
	add_value(p, call, from);
	add_value(p, call, to);
	add_value(p, call, x->k);
	add_variable(p, call, x->keys_of);
	add_variable(p, call, x->place_of);
	add_variable(p, call, x->put);
}

/* const auto place = [&](r) { return r or buf[...]; }; */
static void emit_place(struct select *x, struct ir_block *b, const struct ir_buffer *buf, expr from, expr extent)
{
	struct ir_program *p = x->p;
	struct ir_lambda *read = emit_lambda(p, b, "place");
	x->place_of = read->var;
	expr r = emit_parameter(p, read, TYPE_INDEX, "r", extent), at = r;
	read->value = r;
	if (!buf)
		return;
	at = ir_binary(IR_ADD, from, r);
	read->value = ir_load(p->pool, flat_view(p, buf), &at);
}

/* const auto keys = [&](r, found) { found[0] = buf[...]; }; */
static void emit_found_keys(struct select *x, struct ir_block *b, const struct ir_buffer *buf, expr from, expr extent)
{
	struct ir_program *p = x->p;
	struct ir_lambda *read = emit_lambda(p, b, "keys");
	x->keys_of = read->var;
	expr at = ir_binary(IR_ADD, from, emit_parameter(p, read, TYPE_INDEX, "r", extent));
	const struct ir_variable *loaded = emit_array_parameter(p, read, buf->type, "loaded", 1);
	emit_set(p, read->body, loaded, ir_index(p->pool, 0), ir_load(p->pool, flat_view(p, buf), &at));
}

static void emit_serial_row(struct select *x, struct ir_block *serial, expr number)
{
	struct sort_row row = sort_row_begin(x->p, serial, x->s, number);
	emit_serial(&row, serial);
}

/* Each part of a row finds its own first k; parts start at multiples of x->width. */
static void parts_kernel(struct select *x, struct ir_step *step, int width)
{
	struct ir_program *p = x->p;
	struct ir_block *serial;
	struct ir_kernel *k = row_kernel(x, "_parts", x->parts, segments_of(x), &serial);
	struct ir_block *b = &k->body;
	expr parts = ir_index(p->pool, x->parts), block = ir_block(p->pool, k->blocks);
	expr number = emit_constant(p, b, "row", ir_binary(IR_FLOORDIV, block, parts), x->rows);
	expr part = emit_constant(p, b, "part", ir_binary(IR_MOD, block, parts), parts);
	struct sort_row row = sort_row_begin(p, b, x->s, number);
	expr length = ir_binary(IR_MUL, ceil_div(p, x->n, x->parts * x->width), ir_index(p->pool, x->width));
	expr from = emit_declare(p, b, "first", ir_binary(IR_MUL, part, length), NULL);
	x->keys_of = (segments_of(x) ? emit_values : emit_keys)(p, b, x->s, &row, width);
	emit_place(x, b, NULL, NULL, x->n);
	struct ir_lambda *put = emit_lambda(p, b, "put");
	x->put = put->var;
	expr rank = emit_parameter(p, put, TYPE_INDEX, SORT_RANK, x->k);
	expr key = emit_parameter(p, put, sort_key_type(x->s), "key", NULL);
	expr r = emit_parameter(p, put, TYPE_INDEX, "r", x->n);
	expr own = ir_binary(IR_ADD, ir_binary(IR_MUL, number, parts), part);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, own, x->k), rank);
	emit_store(p, put->body, x->key, at, key);
	emit_store(p, put->body, x->place, at, ir_cast(r, TYPE_I32));
	emit_select(x, b, from, ir_binary(IR_MIN, x->n, ir_binary(IR_ADD, from, length)), width, segments_of(x));
	emit_comment(p, serial, "on one processor, the next kernel does all of it");
	kernel_needs(k, whole_multiple(p, x->n, width));
	kernel_finish(x->plan, step, k, x->s);
}

/* The first k of a row, or of its parts' results. */
static void rows_kernel(struct select *x, struct ir_step *step, int width)
{
	struct ir_program *p = x->p;
	struct ir_block *serial;
	int segments = x->parts > 1 ? 0 : segments_of(x);
	struct ir_kernel *k = row_kernel(x, x->parts > 1 ? "_best" : "", 1, segments, &serial);
	struct ir_block *b = &k->body;
	expr block = ir_block(p->pool, x->rows), zero = ir_index(p->pool, 0), count = x->n;
	expr number = emit_constant(p, b, "row", block, x->rows);
	struct sort_row row = sort_row_begin(p, b, x->s, number);
	if (x->parts > 1) {
		count = ir_binary(IR_MUL, x->k, ir_index(p->pool, x->parts));
		expr from = ir_binary(IR_MUL, number, count);
		emit_found_keys(x, b, x->key, from, count);
		emit_place(x, b, x->place, from, count);
	} else {
		x->keys_of = (segments ? emit_values : emit_keys)(p, b, x->s, &row, width);
		emit_place(x, b, NULL, NULL, x->n);
	}
	x->put = emit_put(p, b, x->s, &row, true, false);
	emit_select(x, b, zero, count, width, segments);
	emit_serial_row(x, serial, emit_constant(p, serial, "row", block, x->rows));
	kernel_needs(k, whole_multiple(p, x->n, width));
	kernel_finish(x->plan, step, k, x->s);
}

/* A vectorised kernel for rows that are whole vectors, and a scalar one for the others. */
static void both_ways(struct select *x, void (*kernel)(struct select *x, struct ir_step *step, int width), int width)
{
	struct ir_step *step = step_new(x->plan);
	kernel(x, step, width);
	if (!step_fits_all(step))
		kernel(x, step, 1);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct select x = { .plan = plan, .p = p, .s = s, .c = c };
	x.keys = c->param[0];
	x.parts = c->param[2];
	x.width = sort_width(p, s);
	while (x.width > c->param[3]) /* an iteration takes whole vectors */
		x.width /= 2;
	x.rows = rows_along(p, s);
	x.n = s->space[0];
	x.k = s->out->dim[s->axis];
	x.fits = sort_at_most(p, x.k, x.keys / 2);
	if (x.parts > 1) {
		expr found = ir_binary(IR_MUL, ir_binary(IR_MUL, x.rows, x.k), ir_index(p->pool, x.parts));
		x.key = sort_workspace(p, s, "keys", sort_key_type(s), found, x.fits);
		x.place = sort_workspace(p, s, "places", TYPE_I32, found, x.fits);
		both_ways(&x, parts_kernel, x.width);
	}
	both_ways(&x, rows_kernel, x.parts > 1 ? 1 : x.width);
	if (x.fits)
		sort_radix_steps(plan, s, c, ir_unary(IR_NOT, x.fits));
}

const struct sched_rule sched_sort_select = {
	.name = "sort_select",
	.version = 5,
	.param = { { "keys", 64, 8192 }, { "threads", 32, 1024 }, { "parts", 1, 1048576 }, { "items", 1, 64 } },
	.match = match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = sort_select_estimate,
};
