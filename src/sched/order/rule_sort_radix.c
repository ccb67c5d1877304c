/* Rule sort_radix: a least significant digit radix sort for rows of any length. One kernel makes the digit histograms
 * of all keys. Each pass then moves a row's elements stably to the positions of their digits, between two buffers of
 * keys and indices, or of keys only if no index is needed. A row's tiles exchange their digit counts with a look-back
 * scan. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { CLEARS = 256, DIGITS = 256, GROUP = 16 /* tiles per published sum, as in tpat_radix.h */ };

/* Data shared by the kernels of one stage. */
struct radix {
	struct ir_plan *plan;
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_choice *c;
	expr fits; /* null: always */
	int tile, threads, passes;
	bool alone; /* keys, no indices */
	enum type key_type;
	expr rows, n, tiles, groups, blocks;
	struct ir_buffer *count;    /* [rows][passes][DIGITS], the tickets taken in each pass,
	                               [passes][rows][groups][DIGITS] */
	struct ir_buffer *progress; /* [passes][rows][tiles][DIGITS] */
	struct ir_buffer *key[2], *place[2];
};

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int n = 0;
	if (sort_key_bits(s) < 64)
		out[n++] = (struct sched_choice){ &sched_sort_radix, { 8192, 1024 } };
	out[n++] = (struct sched_choice){ &sched_sort_radix, { 4096, 512 } };
	out[n++] = (struct sched_choice){ &sched_sort_radix, { 1024, 256 } };
	return n;
}

static expr times(expr a, int64_t b)
{
	return ir_binary(IR_MUL, a, ir_index(a->pool, b));
}

static struct radix radix_of(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                             const struct sched_choice *shape, expr fits)
{
	struct ir_program *p = plan->program;
	struct radix x = { .plan = plan, .p = p, .s = s, .c = c, .fits = fits, .passes = sort_key_bits(s) / 8 };
	x.tile = shape->param[0];
	x.threads = shape->param[1];
	x.alone = sort_is_alone(p, s);
	x.key_type = sort_key_type(s);
	x.passes = x.passes ? x.passes : 1;
	x.rows = rows_along(p, s);
	x.n = s->space[0];
	x.tiles = ceil_div(p, x.n, x.tile);
	x.groups = ceil_div(p, x.tiles, GROUP);
	x.blocks = ir_binary(IR_MUL, x.rows, x.tiles);
	expr counts = ir_binary(IR_ADD, times(x.rows, x.passes * DIGITS), ir_index(p->pool, x.passes));
	counts = ir_binary(IR_ADD, counts, times(ir_binary(IR_MUL, x.rows, x.groups), x.passes * DIGITS));
	x.count = sort_workspace(p, s, "digits", TYPE_U32, counts, fits);
	x.progress = sort_workspace(p, s, "progress", TYPE_U32, times(x.blocks, x.passes * DIGITS), fits);
	for (int i = 0; i < x.passes - 1 && i < 2; i++) {
		x.key[i] = sort_workspace(p, s, "keys", sort_key_type(s), ir_binary(IR_MUL, x.rows, x.n), fits);
		if (!x.alone)
			x.place[i] = sort_workspace(p, s, "places", TYPE_I32, ir_binary(IR_MUL, x.rows, x.n), fits);
	}
	return x;
}

/* A kernel with one block per tile. Its serial twin is empty: the last pass does everything. */
static struct ir_kernel *tile_kernel(struct radix *x, const char *suffix)
{
	struct ir_kernel *k = kernel_new(x->plan, x->s, suffix, x->c);
	k->threads = x->threads;
	k->blocks = x->blocks;
	struct ir_block *serial = sort_only_if(x->p, k, x->fits);
	emit_comment(x->p, serial, "on one processor, the last pass sorts");
	return k;
}

/* The block's row and tile. Blocks return if the size at run time is smaller than launched for. */
static struct sort_row tile_begin(struct radix *x, struct ir_block *b, expr block, expr *tile)
{
	struct ir_program *p = x->p;
	if (sort_has_size(p, x->blocks))
		emit_return_if(p, b, ir_binary(IR_LE, x->blocks, block));
	block = ir_var_of(block->var, x->blocks);
	expr row = emit_declare(p, b, "row", ir_binary(IR_FLOORDIV, block, x->tiles), x->rows);
	*tile = emit_declare(p, b, "tile", ir_binary(IR_MOD, block, x->tiles), x->tiles);
	struct sort_row own = sort_row_begin(p, b, x->s, row);
	own.alone = x->alone;
	return own;
}

/* The kernels for rows too long for another rule have no copy with other indices: copies take as long to compile. */
static void finish(struct radix *x, struct ir_kernel *k)
{
	(x->fits ? kernel_finish_once : kernel_finish)(x->plan, step_new(x->plan), k, x->s);
}

static void clear(struct radix *x)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = kernel_new(x->plan, x->s, "_clear", x->c);
	expr element = declare_element(p, k, x->count->dim[0], CLEARS, 1);
	emit_store(p, &k->body, x->count, element, ir_int(p->pool, TYPE_U32, 0));
	finish(x, k);
}

static void count(struct radix *x)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = tile_kernel(x, "_count");
	struct ir_block *b = &k->body;
	expr tile, block = ir_block(p->pool, x->blocks);
	struct sort_row row = tile_begin(x, b, block, &tile);
	const struct ir_variable *key = emit_key(p, b, x->s, &row), *shared;
	shared = emit_shared(p, b, ir_object_new(p->pool, &device_radix_counts, IR_OF(IR_TYPE(x->key_type)), "shared"));
	struct ir_call *call = emit_invoke(p, b, &device_radix_count, IR_OF(IR_NUMBER(x->threads), IR_NUMBER(x->tile)));
	add_variable(p, call, shared);
	add_value(p, call, tile);
	add_value(p, call, x->n);
	add_address(p, call, x->count, times(row.number, x->passes * DIGITS), true);
	add_address(p, call, x->progress, times(block, DIGITS), true);
	add_value(p, call, times(x->blocks, DIGITS));
	add_variable(p, call, key);
	finish(x, k);
}

/* The element at position r between two passes: const auto name = [&](r) { return buffer[...]; }; */
static const struct ir_variable *emit_read(struct radix *x, struct ir_block *b, const char *name,
                                           const struct ir_buffer *buf, const struct sort_row *row)
{
	struct ir_program *p = x->p;
	struct ir_lambda *read = emit_lambda(p, b, name);
	expr r = emit_parameter(p, read, TYPE_INDEX, "r", x->n), at = r;
	read->value = r; /* before the first pass, the position itself */
	if (!buf)
		return read->var;
	at = ir_binary(IR_ADD, ir_binary(IR_MUL, row->number, x->n), r);
	read->value = ir_load(p->pool, flat_view(p, buf), &at);
	return read->var;
}

/* const auto put = [&](rank, key, r) { ... }; stores to the buffers between two passes. Keys only: without r. */
static const struct ir_variable *emit_keep(struct radix *x, struct ir_block *b, int to, const struct sort_row *row)
{
	struct ir_program *p = x->p;
	struct ir_lambda *put = emit_lambda(p, b, "put");
	expr rank = emit_parameter(p, put, TYPE_INDEX, SORT_RANK, x->n);
	expr key = emit_parameter(p, put, sort_key_type(x->s), "key", NULL);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, row->number, x->n), rank);
	emit_store(p, put->body, x->key[to], at, key);
	if (!x->alone)
		emit_store(p, put->body, x->place[to], at,
		           ir_cast(emit_parameter(p, put, TYPE_INDEX, "r", x->n), TYPE_I32));
	return put->var;
}

/* Serial twin: the block of a row's first tile sorts the whole row. */
static void serial(struct radix *x, struct ir_kernel *k)
{
	struct ir_program *p = x->p;
	expr block = ir_block(p->pool, x->blocks), zero = ir_index(p->pool, 0);
	struct ir_block *b = &k->serial;
	if (sort_has_size(p, x->blocks))
		b = emit_if(p, b, ir_binary(IR_LT, ir_block(p->pool, NULL), x->blocks));
	b = emit_if(p, b, ir_binary(IR_EQ, ir_binary(IR_MOD, block, x->tiles), zero));
	expr number = emit_constant(p, b, "row", ir_binary(IR_FLOORDIV, block, x->tiles), x->rows);
	struct sort_row row = sort_row_begin(p, b, x->s, number);
	emit_serial(&row, b);
}

/* Passes between the first and the last differ only in their number and buffers, so that they are launches of one
 * kernel (ir_merge_kernels()). */
static void pass(struct radix *x, int number)
{
	struct ir_program *p = x->p;
	bool first = number == 0, last = number == x->passes - 1;
	struct ir_kernel *k = tile_kernel(x, first ? "_first_pass" : last ? "_last_pass" : "_pass");
	struct ir_block *b = &k->body;
	int from = (number + 1) % 2, to = number % 2;
	expr tile, pass = ir_cast(emit_constant(p, b, "pass", ir_int(p->pool, TYPE_I32, number), NULL), TYPE_INDEX);
	expr turn = ir_binary(IR_ADD, times(x->rows, x->passes * DIGITS), pass);
	const struct ir_variable *key, *place = NULL, *put, *shared;
	struct ir_template of = IR_OF(IR_TYPE(x->key_type), IR_NUMBER(x->threads), IR_NUMBER(x->tile));
	shared = emit_shared(p, b, ir_object_new(p->pool, &device_radix_tile, of, "shared"));
	struct ir_call *call = emit_invoke(p, b, &device_radix_turn, IR_OF_NOTHING);
	const struct ir_variable *turned = take_result(p, call, "block");
	add_variable(p, call, shared);
	add_address(p, call, x->count, turn, true);
	struct sort_row row = tile_begin(x, b, ir_var_of(turned, NULL), &tile);
	key = first ? emit_key(p, b, x->s, &row) : emit_read(x, b, "key", x->key[from], &row);
	if (!x->alone)
		place = emit_read(x, b, "place", first ? NULL : x->place[from], &row);
	if (!last)
		put = emit_keep(x, b, to, &row);
	else
		put = x->alone ? emit_put_alone(p, b, x->s, &row) : emit_put(p, b, x->s, &row, true, true);
	call = emit_invoke(p, b, x->alone ? &device_radix_pass_alone : &device_radix_pass, IR_OF_NOTHING);
	add_variable(p, call, shared);
	add_value(p, call, tile);
	add_value(p, call, x->n);
	add_value(p, call, pass);
	expr digits = ir_binary(IR_ADD, times(row.number, x->passes), pass);
	add_address(p, call, x->count, times(digits, DIGITS), false);
	expr block = ir_var_of(turned, x->blocks), before = ir_binary(IR_MUL, x->blocks, pass);
	add_address(p, call, x->progress, times(ir_binary(IR_ADD, before, block), DIGITS), true);
	expr rows = ir_binary(IR_ADD, ir_binary(IR_MUL, x->rows, pass), row.number);
	expr group = ir_binary(IR_ADD, ir_binary(IR_MUL, rows, x->groups),
	                       ir_binary(IR_FLOORDIV, tile, ir_index(p->pool, GROUP)));
	expr groups = ir_binary(IR_ADD, times(x->rows, x->passes * DIGITS), ir_index(p->pool, x->passes));
	add_address(p, call, x->count, ir_binary(IR_ADD, groups, times(group, DIGITS)), true);
	add_variable(p, call, key);
	if (!x->alone)
		add_variable(p, call, place);
	add_variable(p, call, put);
	if (last) {
		k->serial.n = 0;
		serial(x, k);
	}
	finish(x, k);
}

static void all_steps(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                      const struct sched_choice *shape, expr fits)
{
	struct radix x = radix_of(plan, s, c, shape, fits);
	clear(&x);
	count(&x);
	for (int i = 0; i < x.passes; i++)
		pass(&x, i);
}

void sort_radix_steps(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c, expr fits)
{
	struct sched_choice best[SCHED_RULE_CHOICES];
	rule_candidates(&sched_sort_radix, plan->program, s, &sched_default_target, best); /* the same for all GPUs */
	all_steps(plan, s, c, &best[0], fits);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	all_steps(plan, s, c, c, NULL);
}

const struct sched_rule sched_sort_radix = {
	.name = "sort_radix",
	.version = 3,
	.about = "One kernel counts the digits of all keys. Each pass then moves the elements to the "
	         "positions of one digit, in tiles of {tile}.",
	.param = { { "tile", 1024, 8192 }, { "threads", 256, 1024 } },
	.match = sort_match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = sort_radix_estimate,
};
