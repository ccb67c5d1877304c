/* Rule attention_lanes: attention of few queries over many keys, as in decoding, by ordinary arithmetic in f32, for any
 * types of elements. A block takes `rows` queries of the heads that share keys and values; eight lanes share a key, and
 * the block's warps take the keys in turn. With `blocks`, about so many blocks share the keys of all heads, and a
 * second kernel joins their sums (attend_parts.h). The parts of the kernels are functions of
 * rt/device/tpat_attention_few.h. */
#include "sched/attend/attend_parts.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, KEYS = 8 /* of a warp at a time */, MOST_QUERIES = 64, MOST_ROWS = 8, OTHERS = 50 /* registers */ };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend a;
	struct attend_mma m;
	if (!attend_match(&a, p, s, why))
		return NULL;
	*why = "the scores are not f32, or the weights are not a plain softmax of the scores";
	if (a.product->type != TYPE_F32 || a.score->type != TYPE_F32 || a.total->type != TYPE_F32 || a.weight)
		return NULL;
	attend_mma_plain(&m, &a);
	return FOUND(p, m);
}

static int span(const struct sched_site *site)
{
	return ((const struct attend_mma *)site->found)->a.stages;
}

/* ---- Choices. ---- */

/* A lane's elements of a key and its value. */
static int elements(const struct attend *a)
{
	return ((a->size + 31) / 32 + (a->value_size + 31) / 32) * 4;
}

static int registers(const struct attend *a, int rows)
{
	return (rows + 2) * elements(a) + OTHERS;
}

static int shared_bytes(const struct attend *a, int warps, int rows)
{
	return warps * rows * ((a->value_size + 31) / 32 * 32 + 2) * 4;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	const struct attend *a = &((const struct attend_mma *)site->found)->a;
	int64_t queries = about(attend_queries(a), t);
	int n = 0, rows = 1;
	if (queries > MOST_QUERIES)
		return 0;
	while (rows < queries && rows < MOST_ROWS && registers(a, 2 * rows) <= t->thread_registers)
		rows *= 2;
	for (int each = rows; each > 0 && 2 * each >= rows; each /= 2)
		for (int waves = 0; waves <= 4; waves = waves ? 2 * waves : 1) {
			int warps = registers(a, each) * 8 * WARP <= t->registers ? 8 : 4;
			if (registers(a, each) <= t->thread_registers &&
			    shared_bytes(a, warps, each) <= TARGET_DECLARED)
				out[n++] = (struct sched_choice){ &sched_attention_lanes,
					                          { warps, each, waves * t->processors } };
		}
	return n;
}

static struct attend_parts parts_of(const struct sched_choice *c)
{
	return (struct attend_parts){ c->param[1], 2 * KEYS * c->param[0], c->param[2] };
}

/* ---- The kernels. ---- */

static struct ir_kernel *lanes_new(struct ir_plan *plan, const struct attend *a, const struct sched_choice *c,
                                   const char *ending)
{
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], ending, c);
	k->threads = c->param[0] * WARP;
	return k;
}

/* Starts a call with the arguments for partial sums. */
static struct ir_call *call_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_mma *m,
                                  const struct sched_choice *c, expr first, const struct ir_device_function *function,
                                  struct ir_template way)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	attend_emit_elements(at, &k->body);
	attend_emit_score(at, &k->body, a->score);
	attend_mma_emit_some(at, &k->body, m);
	struct ir_template shape = IR_OF(IR_NUMBER(c->param[0]), IR_NUMBER(c->param[1]), IR_NUMBER(a->value_size));
	const struct ir_variable *shared =
	        emit_shared(p, &k->body, ir_object_new(p->pool, &device_attention_few_lanes_parts, shape, "shared"));
	struct ir_call *call = emit_invoke(p, &k->body, function, way);
	add_variable(p, call, shared);
	add_value(p, call, first);
	add_value(p, call, attend_queries(a));
	add_value(p, call, a->dim[a->rows]);
	attend_add_elements(call, at);
	add_variable(p, call, at->function[ATTEND_SCORE]);
	attend_mma_add_kept(call, at, ATTEND_KEPT_SOME);
	return call;
}

static void apply_whole(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	struct ir_kernel *k = lanes_new(plan, a, c, "_lanes");
	struct attend_place at = { .a = a }, alone = at;
	k->blocks = attend_blocks(a, c->param[1]);
	expr block = ir_block(p->pool, k->blocks);
	attend_serial(&alone, &k->serial, c->param[1], attend_block(&alone, &k->serial, c->param[1], block));
	expr first = attend_block(&at, &k->body, c->param[1], block);
	attend_mma_results(&at, &k->body, m);
	struct ir_call *call = call_begin(k, &at, m, c, first, &device_attention_few_lanes,
	                                  IR_OF(IR_NUMBER(a->size), IR_TRUTH(m->places > 1)));
	attend_mma_add_results(call, &at, m);
	attend_finish(plan, step_new(plan), k, a);
}

static void part_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct attend_parts *parts, const struct ir_buffer *records)
{
	const struct attend *a = &m->a;
	struct ir_kernel *k = lanes_new(plan, a, c, "_parts");
	struct attend_place at = { .a = a };
	struct attend_part part = attend_part_begin(k, &at, parts);
	struct ir_call *call =
	        call_begin(k, &at, m, c, part.first, &device_attention_few_lanes_part, IR_OF(IR_NUMBER(a->size)));
	attend_part_arguments(a->p, call, &part, records);
	attend_finish(plan, step_new(plan), k, a);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct attend_mma m = *(const struct attend_mma *)site->found;
	const struct attend_parts parts = parts_of(c);
	if (!c->param[2]) {
		apply_whole(plan, &m, c);
		return;
	}
	const struct ir_buffer *records = attend_records_new(&m.a, &parts);
	part_kernel(plan, &m, c, &parts, records);
	attend_join_kernel(plan, &m, c, &parts, records);
}

/* ---- Time: the bytes of keys and values, or the instructions of the warps that are resident. ---- */

static void find_bytes(void *user, expr e)
{
	if (e->op == IR_LOAD)
		*(double *)user += type_info(e->type)->bits / 8.0;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	const struct attend_mma *m = site->found;
	const struct attend *a = &m->a;
	const struct attend_parts shares = parts_of(c);
	int warps = c->param[0], rows = c->param[1];
	double alone = (double)about(attend_blocks(a, rows), t), keys = (double)about(a->dim[a->rows], t);
	double parts = c->param[2] ? (double)about(attend_parts_of(a, &shares), t) : 1, blocks = alone * parts;
	double heads = (double)about(attend_heads(a), t), queries = heads * (double)about(attend_queries(a), t);
	double of_key = 0, of_value = 0, kept = m->bounds && queries > heads ? 0.5 : 1;
	ir_walk(a->key, find_bytes, &of_key);
	ir_walk(a->value, find_bytes, &of_value);
	double each = a->size * of_key + a->value_size * of_value, bytes = heads * keys * each,
	       cache = alone * keys * each * kept;

	/* A warp's steps: loads, products and their reductions, the softmax, weighted sums; and their latency. */
	double latency = 1200, own = elements(a), load = 0.5 * own;
	if (a->key->op != IR_LOAD || a->value->op != IR_LOAD) /* element by element */
		load = own * (4 + ir_cost(a->key) + ir_cost(a->value));
	double issue = 2 * load + rows * (2 * own + own + 60 + 2 * ir_cost(a->score));
	double steps = ceil(keys * kept / (parts * warps * KEYS));
	double here = fmax(1, fmin(target_resident(t, warps * WARP, registers(a, rows), shared_bytes(a, warps, rows)),
	                           ceil(blocks / t->processors)));
	double waves = ceil(blocks / (t->processors * here));
	double turn = fmax(latency + issue, here * warps * issue / t->schedulers), start = 1300 + 100 * rows;
	double time = waves * (steps * turn / t->clock_ghz + cost_wait(t, start));
	double moving = attend_load_time(t, bytes, cache, blocks) + cost_wait(t, start);
	return t->launch_ns + fmax(time, moving) + (c->param[2] ? attend_join_time(a, t, queries * parts) : 0);
}

const struct sched_rule sched_attention_lanes = {
	.name = "attention_lanes",
	.version = 1,
	.about = "The {warps} warps of a block take the keys in turn, for {rows} queries of the heads that share "
	         "them; eight lanes share a key.{blocks? About {blocks} blocks share the keys of all heads, and a "
	         "second kernel joins their sums.}",
	.param = { { "warps", 4, 8 }, { "rows", 1, 8 }, { "blocks", 0, 4096 } },
	.none = "the queries are too many, or the heads too large for a thread's registers",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
