/* Rule sort_block: sorts short rows in a block's shared memory. Either a bitonic network, with several very short rows
 * per block, or a radix sort with `items` keys per thread. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { SOME_KEYS = 1024, LEAST_DIGITS = 128, MAX_THREADS = 256, LONGER = 4 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	int64_t n;
	if (!sort_match(p, s, why))
		return NULL;
	if (!ir_const_int(s->space[0], &n) || n <= sort_most_keys(s))
		return s;
	*why = "the rows are too long for shared memory";
	return NULL;
}

static struct sched_choice choice(int keys, int rows, int keys_a_thread)
{
	int threads = keys * rows / keys_a_thread;
	threads = threads < 32 ? 32 : threads > 1024 ? 1024 : threads;
	return (struct sched_choice){ &sched_sort_block, { keys, rows, threads } };
}

/* A radix sort: about 8 keys per thread, at most 256 threads. */
static struct sched_choice by_digits(int64_t keys)
{
	int threads = 32;
	while (threads < MAX_THREADS && keys > threads * 8)
		threads *= 2;
	int items = (int)((keys + threads - 1) / threads);
	return (struct sched_choice){ &sched_sort_block, { threads * items, 1, threads, items } };
}

/* The choices for rows of at most `extent` elements. */
static int choices_of(int64_t extent, struct sched_choice *out)
{
	int n = 0, keys = 2;
	while (keys < extent)
		keys *= 2;
	out[n++] = choice(keys, 1, 2);
	if (keys >= 256)
		out[n++] = choice(keys, 1, 8);
	if (keys < SOME_KEYS)
		out[n++] = choice(keys, SOME_KEYS / keys, 4);
	if (extent >= LEAST_DIGITS)
		out[n++] = by_digits(extent);
	return n;
}

/* For rows of symbolic length: those for the expected length, and for longer ones. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int64_t extent = 0, usual = about(s->space[0], site->t);
	int n = 0, most = sort_most_keys(s);
	if (ir_const_int(s->space[0], &extent))
		return choices_of(extent, out);
	if (usual < most && !sort_has_size(site->p, s->space[0])) {
		int64_t keys = 2;
		while (keys < usual)
			keys *= 2;
		n = choices_of(keys, out);
	}
	out[n++] = choice(most, 1, 8);
	out[n++] = choice(SOME_KEYS, 1, 4);
	out[n++] = by_digits(most);
	out[n++] = by_digits(SOME_KEYS);
	return n;
}

/* A call of a device function, and the functions that are its last arguments. */
struct row_call {
	struct ir_call *call;
	const struct ir_variable *key, *put;
};

static struct row_call one_row(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s,
                               const struct ir_variable *item)
{
	struct ir_block *b = &k->body;
	expr block = ir_block(p->pool, rows_along(p, s));
	struct sort_row row = sort_row_begin(p, b, s, emit_constant(p, b, "row", block, rows_along(p, s)));
	struct row_call c = { .key = emit_key(p, b, s, &row) };
	c.put = emit_put(p, b, s, &row, false, false);
	c.call = emit_invoke(p, b, &device_sort_row, IR_OF(IR_NUMBER(k->threads), IR_TYPE(sort_key_type(s))));
	add_variable(p, c.call, item);
	return c;
}

static struct row_call one_row_by_digits(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, int items)
{
	struct ir_block *b = &k->body;
	expr block = ir_block(p->pool, rows_along(p, s));
	bool alone = sort_is_alone(p, s);
	struct row_call c = { 0 };
	struct ir_template of = IR_OF(IR_TYPE(sort_key_type(s)), IR_NUMBER(k->threads), IR_NUMBER(items));
	if (alone)
		of.at[of.n++] = (struct ir_of_arg)IR_TRUTH(false);
	const struct ir_variable *shared =
	        emit_shared(p, b, ir_object_new(p->pool, &device_radix_row_keys, of, "shared"));
	struct sort_row row = sort_row_begin(p, b, s, emit_constant(p, b, "row", block, rows_along(p, s)));
	row.alone = alone;
	c.key = emit_key(p, b, s, &row);
	c.put = alone ? emit_put_alone(p, b, s, &row) : emit_put(p, b, s, &row, false, false);
	c.call = emit_invoke(p, b, &device_radix_row, IR_OF(IR_NUMBER(k->threads), IR_NUMBER(items)));
	add_variable(p, c.call, shared);
	return c;
}

static struct row_call several_rows(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, int keys,
                                    int rows, const struct ir_variable *item)
{
	struct ir_block *b = &k->body;
	expr block = ir_block(p->pool, k->blocks), count = rows_along(p, s);
	expr first = emit_constant(p, b, "first", ir_binary(IR_MUL, block, ir_index(p->pool, rows)), count);
	struct row_call c = { .key = emit_key(p, b, s, NULL) };
	c.put = emit_put(p, b, s, NULL, false, false);
	c.call = emit_invoke(p, b, &device_sort_rows,
	                     IR_OF(IR_NUMBER(k->threads), IR_NUMBER(keys), IR_TYPE(sort_key_type(s))));
	add_variable(p, c.call, item);
	add_value(p, c.call, first);
	add_value(p, c.call, ir_binary(IR_MIN, ir_index(p->pool, rows), ir_binary(IR_SUB, count, first)));
	return c;
}

/* Adds the kernel of choice c. `fits`: the rows are short enough for the longest kernel; null: always. */
static void add_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, const char *suffix, expr fits)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	int keys = c->param[0], rows = c->param[1], items = c->param[3];
	expr count = rows_along(p, s);
	const struct ir_variable *item = NULL;
	struct row_call own;
	k->threads = c->param[2];
	k->blocks = ceil_div(p, count, rows);
	struct ir_block *serial = sort_only_if(p, k, fits);
	if (!items) {
		struct ir_variable *v = sort_key_bits(s) == 64
		                                ? ir_object_new(p->pool, &device_long_item, IR_OF_NOTHING, "item")
		                                : ir_variable_new(p->pool, TYPE_U64, "item");
		item = emit_shared(p, &k->body, array_of(v, keys * rows));
	}
	if (items)
		own = one_row_by_digits(p, k, s, items);
	else if (rows == 1)
		own = one_row(p, k, s, item);
	else
		own = several_rows(p, k, s, keys, rows, item);
	add_value(p, own.call, s->space[0]);
	add_value(p, own.call, s->out->dim[s->axis]);
	add_variable(p, own.call, own.key);
	add_variable(p, own.call, own.put);

	/* The serial twin. */
	expr several = ir_index(p->pool, rows), block = ir_block(p->pool, k->blocks);
	expr first = ir_binary(IR_MUL, block, several),
	     end = ir_binary(IR_MIN, count, ir_binary(IR_ADD, first, several));
	expr number;
	serial = emit_loop(p, serial, "row", first, end, ir_index(p->pool, 1), count, &number);
	struct sort_row row = sort_row_begin(p, serial, s, number);
	emit_serial(&row, serial);
	if (!fits)
		kernel_needs(k, ir_binary(IR_LE, s->space[0], ir_index(p->pool, keys)));
	kernel_finish(plan, step, k, s);
}

/* Rows of symbolic length: kernels for few keys precede those for more. Rows too long for all are sorted by tiles. */
static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct sched_choice longer = *c;
	int most = sort_most_keys(s);
	expr fits = sort_at_most(p, s->space[0], c->param[0]);
	if (fits && !sort_has_size(p, fits) && c->param[0] < most) {
		add_kernel(plan, step, s, c, "", NULL);
		for (int keys = c->param[0] * LONGER; keys < most; keys *= LONGER) {
			longer = choice(keys, 1, 8);
			add_kernel(plan, step, s, &longer, "_longer", NULL);
		}
		longer = choice(most, 1, 8);
		fits = sort_at_most(p, s->space[0], most);
	}
	add_kernel(plan, step, s, &longer, step->n ? "_longest" : "", fits);
	if (fits)
		sort_radix_steps(plan, s, c, ir_unary(IR_NOT, fits));
}

const struct sched_rule sched_sort_block = {
	.name = "sort_block",
	.version = 4,
	.about = "A block sorts {rows row} in shared memory, {items?by a radix sort with {items key} in "
	         "each thread}{items!by a bitonic network}.",
	.param = { { "keys", 2, 8192 }, { "rows", 1, 4096 }, { "threads", 32, 1024 }, { "items", 0, 64 } },
	.match = match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = sort_block_estimate,
};
