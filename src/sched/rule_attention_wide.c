/* Rule attention_wide: attention of 16-bit floats by warpgroups, on Hopper alone. A block has `queries` queries of one head, 64
 * a warpgroup, and goes over tiles of `keys` keys and values. Other GPUs that the code is compiled for run what rule attention_mma
 * would make. See attend_mma.h; the parts of the kernel are functions of rt/device/tpat_attention_wide.h. */
#include "sched/attend_mma.h"

#include <math.h>

enum { ARCH = 90, GROUP = 128, ROWS = 64 /* of a warpgroup */, SHARED_BYTES = 227 << 10, REGISTERS = 255, ALL_REGISTERS = 65536 };

static bool fits(int size)
{
	return size == 64 || size == 128 || size == 256;
}

static bool matches(struct attend_mma *m, const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	if (!attend_mma_match(m, (struct ir_program *)p, s, why))
		return false;
	*why = "heads are not of 64, 128 or 256 elements";
	return fits(m->a.size) && fits(m->a.value_size);
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend_mma m;
	return matches(&m, p, s, why);
}

static int span(const struct ir_program *p, const struct ir_stage *s)
{
	struct attend_mma m;
	const char *why;
	return matches(&m, p, s, &why) ? m.a.stages : 1;
}

/* ---- Choices. ---- */

static int shared_bytes(const struct attend *a, int keys)
{
	return 2 * keys * (a->size + a->value_size) * 2;
}

static int registers(const struct attend *a, int keys)
{
	return a->size / 4 + a->value_size / 2 + keys / 2 + keys / 4 + 30;
}

static int most_registers(int queries)
{
	int most = ALL_REGISTERS / (queries / ROWS * GROUP) / 8 * 8;
	return most < REGISTERS ? most : REGISTERS;
}

/* Blocks on a processor. */
static int resident(const struct attend *a, int queries, int keys)
{
	int threads = queries / ROWS * GROUP, here = ALL_REGISTERS / (threads * ((registers(a, keys) + 7) / 8 * 8));
	int fit = SHARED_BYTES / shared_bytes(a, keys);
	here = here < fit ? here : fit;
	return here > 1 ? here : 1;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	static const int shapes[][2] = { { 128, 64 }, { 64, 64 }, { 128, 128 }, { 64, 128 }, { 192, 128 } };
	struct attend_mma m;
	const char *why;
	int n = 0;
	if (t->arch != ARCH || !matches(&m, p, s, &why))
		return 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		int queries = shapes[i][0], keys = shapes[i][1];
		if (shared_bytes(&m.a, keys) <= SHARED_BYTES && registers(&m.a, keys) <= most_registers(queries))
			out[n++] = (struct sched_choice){ &sched_attention_wide, { queries, keys } };
	}
	return n;
}

/* ---- The kernel. ---- */

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct attend_mma m;
	const char *why;
	ck(matches(&m, plan->program, s, &why));
	struct ir_program *p = m.a.p;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, m.a.stage[m.a.stages - 1], "_wide", c);
	struct attend_place at = { .a = &m.a };
	int queries = c->param[0], keys = c->param[1];
	k->threads = queries / ROWS * GROUP;
	k->arch = ARCH;
	k->resident = resident(&m.a, queries, keys);
	k->shared_bytes = shared_bytes(&m.a, keys);
	expr first = attend_mma_begin(k, &at, &m, queries);
	const char *type = arena_printf(p->arena, "attention_wide_slots<%s, %s, %d, %d, %d, %s>", type_name(m.key_type),
	                                type_name(m.value_type), keys, m.a.size, m.a.value_size, m.turned ? "true" : "false");
	const struct ir_variable *slots = emit_local(p, &k->body, arena_printf(p->arena, "%s &", type), "slots",
	           arena_printf(p->arena, " = *(%s *)shared_memory", type));
	const char *function = arena_printf(p->arena, "attention_wide<%d, %s>", queries / ROWS, m.pairs ? "true" : "false");
	attend_mma_arguments(emit_invoke(p, &k->body, function, "tpat_attention_wide.h"), &at, &m, slots, first);
	attend_finish(plan, step, k, &m.a);

	/* What is small enough for every GPU with tensor cores, whatever the heads. */
	const struct sched_choice other = { &sched_attention_mma, { 64, m.a.size + m.a.value_size > 256 ? 32 : 64, 1 } };
	attend_mma_kernel(plan, step, &m, &other);
}

/* ---- Time. Rates: whitepaper of the H100, 2048 products of f16 a clock, 16 exponentials. ---- */

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *t)
{
	enum { PRODUCTS_A_CLOCK = 2048, LATENCY = 900 };
	const double clock = 1.6; /* cycles a ns */
	struct attend_mma m;
	const char *why;
	ck(matches(&m, p, s, &why));
	const struct attend *a = &m.a;
	int queries = c->param[0], keys = c->param[1], threads = queries / ROWS * GROUP;
	double blocks = (double)about(attend_blocks(a, queries), t), steps = ceil((double)about(a->dim[a->rows], t) / keys);
	if (m.bounds) /* half of what could be is kept, as where masks are causal */
		steps = (steps + 1) / 2;

	/* One tile of keys of one block. Softmax is hidden behind the products of other blocks, and half of a block's groups'. */
	double size = a->size + a->value_size, scores = (double)queries * keys;
	double multiply = scores * size / PRODUCTS_A_CLOCK;
	double soften = scores * (1 / 16.0 + (8.0 + (m.score ? ir_cost(m.score) : 0)) / 128);
	double here = fmax(1, fmin(resident(a, queries, keys), ceil(blocks / t->processors)));
	double step = multiply + (here > 1 ? 0.6 : threads > GROUP ? 0.9 : 1.2) * soften + 50;
	double waves = ceil(blocks / (t->processors * here)), start = 2000 + 30.0 * keys + 10.0 * queries;
	double time = waves * (steps * fmax(step * here, LATENCY) + start) / clock;

	double bytes = blocks * queries * size * 2, cache = blocks * steps * keys * size * 2;
	return t->launch_ns + fmax(time, fmax(bytes / t->bytes_per_ns, cache / (2 * t->bytes_per_ns)));
}

const struct sched_rule sched_attention_wide = {
	.name = "attention_wide",
	.version = 1,
	.help = "tensor cores of Hopper: a block makes `queries` results over tiles of `keys` keys, 64 a warpgroup",
	.params = { "queries", "keys" },
	.heavy = true,
	.applicable = applicable,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
