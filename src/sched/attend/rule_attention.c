/* Rule attention: all stages of attention in one kernel, without tensor cores. A block takes `queries` queries of one
 * head, 16 lanes `rows` of them, and loops over tiles of `keys` keys and values. It wins where the types have no tensor
 * cores. Its parts are functions of rt/device/tpat_attention.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

/* ---- Choices. As struct attention_tiles of rt/device/tpat_attention.h has them. ---- */

static int lanes_of(const struct sched_choice *c)
{
	return c->param[1] < 16 ? 8 : 16;
}

static int threads_of(const struct sched_choice *c)
{
	return c->param[0] / c->param[2] * lanes_of(c);
}

/* Columns of a value that a lane sums. */
static int columns_of(const struct attend *a, const struct sched_choice *c)
{
	return (a->value_size + lanes_of(c) - 1) / lanes_of(c);
}

static int shared_bytes(const struct attend *a, const struct sched_choice *c)
{
	int queries = c->param[0], keys = c->param[1], columns = columns_of(a, c) * lanes_of(c);
	int each = type_info(attend_type(a))->bits / 8, pad = 16 / each, size = (a->size + 3) / 4 * 4;
	return each * (queries * size + keys * (size + pad) + keys * columns + queries * keys);
}

/* Registers of a thread: scores, weighted sums, operands of two steps, and the rest. */
static double registers_of(const struct attend *a, const struct sched_choice *c)
{
	int words = type_info(attend_type(a))->bits / 32, rows = c->param[2], mine = c->param[1] / lanes_of(c);
	return words * (rows * mine + rows * columns_of(a, c) + 4 * (rows + mine)) + 40;
}

static int resident(const struct sched_site *site, const struct sched_choice *c)
{
	double registers = fmin(registers_of(site->found, c), site->t->thread_registers);
	return (int)target_resident(site->t, threads_of(c), registers, shared_bytes(site->found, c));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shapes[][3] = { { 32, 64, 4 }, { 64, 64, 4 }, { 64, 64, 8 }, { 128, 64, 8 },
		                         { 64, 48, 8 }, { 64, 32, 4 }, { 32, 32, 4 }, { 16, 64, 4 },
		                         { 16, 32, 4 }, { 16, 16, 4 }, { 8, 16, 4 },  { 8, 8, 2 } };
	int n = 0;
	const struct sched_target *t = site->t;
	const struct attend *a = site->found;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct sched_choice c = { &sched_attention, { shapes[i][0], shapes[i][1], shapes[i][2] } };
		bool fits = shared_bytes(a, &c) <= t->block_shared_most;
		if (fits && (c.param[0] < 32 || registers_of(a, &c) <= t->thread_registers))
			out[n++] = c;
	}
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend a;
	return attend_match(&a, p, s, why) ? FOUND(p, a) : NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct attend *)site->found)->stages;
}

/* ---- The kernel. ---- */

static void emit_functions(struct attend_place *at, struct ir_block *b)
{
	const struct attend *a = at->a;
	struct attend_function f;
	attend_emit_elements(at, b);
	attend_emit_score(at, b, a->score);
	attend_emit_softmax(at, b);
	if (a->weight) {
		f = attend_begin(at, b, ATTEND_WEIGHT, true, true, NULL, 0);
		attend_parameter(&f, a->product);
		attend_parameter(&f, attend_largest(a));
		attend_parameter(&f, attend_sum(a));
		f.lambda->value = attend_here(&f, a->weight);
	}
	f = attend_begin(at, b, ATTEND_PUT, true, false, "s", a->value_size);
	attend_parameter(&f, a->total);
	attend_parameter(&f, attend_largest(a));
	attend_parameter(&f, attend_sum(a));
	emit_store(a->p, f.lambda->body, a->out, attend_here(&f, a->at), attend_here(&f, a->result));
}

static void attention_kernel(struct ir_plan *plan, struct ir_step *step, const struct sched_site *site,
                             const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct attend a = *(const struct attend *)site->found;
	const struct ir_stage *last = a.stage[a.stages - 1];
	struct ir_kernel *k = kernel_new(plan, last, "", c);
	struct attend_mma m = { .a = a };
	attend_mma_bounds(&m);
	struct attend_place at = { .a = &a, .uneven = m.bounds }, alone = at;
	int queries = c->param[0], keys = c->param[1], bytes = shared_bytes(&a, c);
	k->threads = threads_of(c);
	k->blocks = attend_blocks(&a, queries);
	if (bytes > TARGET_SHARED_EVERYWHERE) {
		k->arch = site->t->arch;
		k->resident = resident(site, c);
	}
	expr block = ir_block(p->pool, k->blocks);
	expr first = attend_block(&at, &k->body, queries, block);
	emit_functions(&at, &k->body);
	attend_mma_emit_some(&at, &k->body, &m);
	struct ir_template shape = IR_OF(IR_NUMBER(queries), IR_NUMBER(keys), IR_NUMBER(a.size),
	                                 IR_NUMBER(a.value_size), IR_NUMBER(c->param[2]), IR_TYPE(attend_type(&a)));
	struct ir_variable *object = ir_object_new(p->pool, &device_attention_tiles, shape, "tiles");
	if (bytes > TARGET_DECLARED)
		k->shared_bytes = bytes;
	const struct ir_variable *tiles =
	        k->shared_bytes ? emit_placed(p, &k->body, object, NULL) : emit_shared(p, &k->body, object);
	struct ir_template types = IR_OF(IR_TYPE(a.product->type), IR_TYPE(a.score->type), IR_TYPE(a.total->type));
	struct ir_call *call = emit_invoke(p, &k->body, &device_attention, types);
	add_variable(p, call, tiles);
	add_value(p, call, first);
	add_value(p, call, attend_queries(&a));
	add_value(p, call, a.dim[a.rows]);
	attend_add_elements(call, &at);
	add_variable(p, call, at.function[ATTEND_SCORE]);
	attend_mma_add_kept(call, &at, ATTEND_KEPT_SOME);
	add_variable(p, call, at.function[ATTEND_LARGEST]);
	add_variable(p, call, at.function[ATTEND_SUM]);
	if (a.weight)
		add_variable(p, call, at.function[ATTEND_WEIGHT]);
	else
		add_object(p, call, &device_attention_exponential, IR_OF_NOTHING, NULL);
	add_variable(p, call, at.function[ATTEND_PUT]);

	/* The serial twin. */
	first = attend_block(&alone, &k->serial, queries, block);
	attend_serial(&alone, &k->serial, queries, first);
	attend_finish(plan, step, k, &a);
}

/* The largest choice of these that fits every GPU. */
static struct sched_choice elsewhere(const struct sched_site *site)
{
	static const int shapes[][3] = { { 32, 32, 4 }, { 16, 32, 4 }, { 16, 16, 4 }, { 8, 16, 4 } };
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct sched_choice c = { &sched_attention, { shapes[i][0], shapes[i][1], shapes[i][2] } };
		if (shared_bytes(site->found, &c) <= TARGET_SHARED_EVERYWHERE)
			return c;
	}
	return (struct sched_choice){ &sched_attention, { 8, 8, 2 } };
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_step *step = step_new(plan);
	attention_kernel(plan, step, site, c);
	if (shared_bytes(site->found, c) <= TARGET_SHARED_EVERYWHERE)
		return;
	const struct sched_choice other = elsewhere(site);
	attention_kernel(plan, step, site, &other);
}

/* ---- Time: the instructions of a multiprocessor's blocks. ---- */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	/* Measured on an H200 in f32 (11 choices, four shapes, on average 14 % off): waits of a tile, in instructions;
	 * few warps hide less of each other's waits; 8 queries a lane leave fewer registers for loads ahead; more warps
	 * of a block wait at its barriers. */
	enum { OF_TILE = 600, OF_COPY = 10 };
	const double MANY_ROWS = 1.15, MANY_WARPS = 1.15;
	const struct sched_target *t = site->t;
	struct attend a = *(const struct attend *)site->found;
	struct attend_mma m = { .a = a };
	attend_mma_bounds(&m);
	int queries = c->param[0], keys = c->param[1], rows = c->param[2], threads = threads_of(c);
	int columns = columns_of(&a, c), mine = keys / lanes_of(c), width = columns * lanes_of(c);
	double all = (double)about(a.dim[a.rows], t), blocks = (double)about(attend_blocks(&a, queries), t);
	double tiles = fmax(1, ceil(all / keys) * (m.bounds ? 0.5 : 1)), passes = a.weight ? 2 : 1;
	double multiply = t->fma[TYPE_F32] / t->fma[attend_type(&a)]; /* clocks of a multiply-add */

	/* Products; weighted sums; the softmax; copies of keys and values. */
	double product = a.size / 4.0 * (rows + mine + 4.0 * rows * mine * multiply);
	int reads = columns / 4 + columns % 4 / 2 + columns % 2;
	double weigh = keys / 4.0 * (rows + 4.0 * reads + 4.0 * rows * columns * multiply);
	double soften = rows * mine * (14 + ir_cost(a.score)) + 25 * rows + rows * columns;
	double copy = keys * (a.size * passes + width) / 4.0 / threads * OF_COPY;
	double lane = passes * (product + soften + OF_TILE) + weigh + copy;
	double share = ceil(blocks / t->processors), warps = threads / 32.0;
	double here = fmax(1, fmin(resident(site, c), share)), gaps = 1.1 + 2 / (here * warps);
	gaps *= (rows > 4 ? MANY_ROWS : 1) * (threads > 128 ? MANY_WARPS : 1);
	if (type_info(a.query->type)->bits < 32) /* elements are converted, and copied in turn with the sums */
		gaps *= 2;
	return t->launch_ns + share * tiles * lane * warps / t->schedulers * gaps / t->clock_ghz;
}

const struct sched_rule sched_attention = {
	.name = "attention",
	.version = 3,
	.about = "A block computes {queries} queries of one head, and goes over tiles of {keys} keys and "
	         "values. 16 lanes share {rows} queries. Scores are never stored.",
	.param = { { "queries", 8, 128 }, { "keys", 8, 64 }, { "rows", 2, 8 } },
	.none = "the heads are too large for a block's shared memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
