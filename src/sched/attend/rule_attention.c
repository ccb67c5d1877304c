/* Rule attention: all stages of attention in one kernel, without tensor cores. A block takes `queries` queries of one
 * head, 16 lanes `rows` of them, and loops over tiles of `keys` keys and values. It wins where the types have no tensor
 * cores. Its parts are functions of rt/device/tpat_attention.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { LANES = 16 };

/* ---- Choices. ---- */

static int group_of(const struct attend *a)
{
	bool whole = (a->value_size + 63) / 64 * 64 == (a->value_size + 31) / 32 * 32;
	return a->value_size > 32 && whole ? 4 : a->value_size > 16 ? 2 : 1;
}

static int columns_of(const struct attend *a)
{
	int each = LANES * group_of(a);
	return (a->value_size + each - 1) / each * each;
}

static int shared_bytes(const struct attend *a, int queries, int keys)
{
	int each = type_info(attend_type(a))->bits / 8, pad = 16 / each, size = (a->size + 3) / 4 * 4;
	int columns = columns_of(a);
	int longer = size > columns ? size : columns;
	return each * (queries * (size + pad) + keys * (longer + pad) + queries * (keys + pad));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shapes[][3] = { { 64, 32, 8 }, { 64, 64, 8 }, { 128, 32, 8 }, { 32, 32, 8 },
		                         { 64, 32, 4 }, { 32, 64, 4 }, { 32, 32, 4 },  { 16, 64, 4 },
		                         { 16, 32, 4 }, { 16, 16, 4 }, { 8, 16, 4 } };
	int n = 0;
	struct attend a = *(const struct attend *)site->found;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (shared_bytes(&a, shapes[i][0], shapes[i][1]) <= TARGET_SHARED_EVERYWHERE)
			out[n++] =
			        (struct sched_choice){ &sched_attention, { shapes[i][0], shapes[i][1], shapes[i][2] } };
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

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct attend a = *(const struct attend *)site->found;
	const struct ir_stage *last = a.stage[a.stages - 1];
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, last, "", c);
	struct attend_mma m = { .a = a };
	attend_mma_bounds(&m);
	struct attend_place at = { .a = &a, .uneven = m.bounds }, alone = at;
	int queries = c->param[0], keys = c->param[1];
	k->threads = queries / c->param[2] * LANES;
	k->blocks = attend_blocks(&a, queries);
	expr block = ir_block(p->pool, k->blocks);
	expr first = attend_block(&at, &k->body, queries, block);
	emit_functions(&at, &k->body);
	attend_mma_emit_some(&at, &k->body, &m);
	struct ir_template shape = IR_OF(IR_NUMBER(queries), IR_NUMBER(keys), IR_NUMBER(a.size),
	                                 IR_NUMBER(a.value_size), IR_NUMBER(c->param[2]), IR_TYPE(attend_type(&a)));
	struct ir_variable *object = ir_object_new(p->pool, &device_attention_tiles, shape, "tiles");
	int bytes = shared_bytes(&a, queries, keys);
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

/* ---- Time: the instructions of a lane for each tile, in waves of blocks. ---- */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	struct attend a = *(const struct attend *)site->found;
	struct attend_mma m = { .a = a };
	attend_mma_bounds(&m);
	int queries = c->param[0], keys = c->param[1], rows = c->param[2], threads = queries / rows * LANES;
	int shared = shared_bytes(&a, queries, keys), columns = columns_of(&a), group = group_of(&a);
	double all = (double)about(a.dim[a.rows], t), blocks = (double)about(attend_blocks(&a, queries), t);
	double tiles = fmax(1, ceil(all / keys) * (m.bounds ? 0.5 : 1)), passes = a.weight ? 2 : 1,
	       mine = keys / (double)LANES;
	double multiply = t->fma[TYPE_F32] / t->fma[attend_type(&a)]; /* clocks of a multiply-add */

	/* Products, with a further addition for eight of them; weighted sums; the softmax; copies of keys and values.
	 */
	double fours = keys / 4 * (a.size + columns) / (double)threads;
	double product = a.size / 4.0 * (rows + mine + rows * mine * 4.5 * multiply);
	double weigh = keys / 4.0 * (rows + columns / (4.0 * group) + rows * columns / 4.0 * multiply);
	double soften = rows * mine * (12 + ir_cost(a.score)) + 30 * rows + rows * columns / 16.0;
	double lane = passes * (product + soften) + weigh + 20 * fours;
	double held = rows * mine * 2 + rows * columns / 16.0 + 4 * fours + 50, most = t->thread_registers;
	lane *= held > 0.8 * most ? 1.3 : 1; /* some of them in memory */
	double here = target_resident(t, threads, fmin(held, most), shared);
	here = fmax(1, fmin(here, ceil(blocks / t->processors)));
	double waves = ceil(blocks / (here * t->processors)), warps = here * threads / 32;

	/* Measured on an H100 in f32: lanes with 8 queries lose 15 % to waits, in blocks of 64 threads 60 %; those with
	 * 4 lose 35 %, and with few queries they copy keys more often. */
	double lost = rows < 8 ? (queries < 32 ? 1.55 : 1.35) : threads < 128 ? 1.6 : 1.15;
	if (type_info(a.query->type)->bits < 32) /* on an H200: few rows of f16 */
		lost *= 2;
	double busy = lane * lost * fmax(1, warps / t->schedulers), barriers = 1000 * passes;
	return t->launch_ns + waves * tiles * (busy + barriers) / (t->clock_ghz * cost_table(t)->steady_clock);
}

const struct sched_rule sched_attention = {
	.name = "attention",
	.version = 2,
	.about = "A block computes {queries} queries of one head, and goes over tiles of {keys} keys and "
	         "values. 16 lanes share {rows} queries. Scores are never stored.",
	.param = { { "queries", 8, 128 }, { "keys", 16, 64 }, { "rows", 4, 8 } },
	.none = "the heads are too large for a block's shared memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
