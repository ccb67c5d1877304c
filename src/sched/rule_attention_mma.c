/* Rule attention_mma: attention of 16-bit floats on tensor cores, all stages in one kernel. A block has `queries` queries of one
 * head, a warp 16 * `tiles` of them, and goes over tiles of `keys` keys and values. See attend_mma.h; the parts of the kernel
 * are functions of rt/device/tpat_attention.h. */
#include "sched/attend_mma.h"

#include <math.h>
#include <string.h>

#include "sched/attend_kernel.h"

enum { WARP = 32, ROWS = 16 /* of a product */, SHARED_BYTES = 48 << 10, REGISTERS = 255 };

/* ---- Choices. ---- */

static int width(int size) /* as attention_width */
{
	int row = 16;
	while (row < size)
		row *= 2;
	return row;
}

static int whole(int size)
{
	return (size + 15) / 16 * 16;
}

static int slot_bytes(const struct attend *a, int keys)
{
	return keys * (width(a->size) + width(a->value_size)) * 2;
}

static int slots_of(const struct attend *a, int keys)
{
	return 2 * slot_bytes(a, keys) <= SHARED_BYTES ? 2 : 1;
}

/* Of a thread: a warp's queries, sums, scores and weights, and what else there is. */
static int registers(const struct attend *a, int keys, int tiles)
{
	return tiles * (whole(a->size) / 4 + whole(a->value_size) / 2 + keys / 2 + keys / 4) + 50;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	static const int shapes[][3] = { { 128, 64, 2 }, { 128, 64, 1 }, { 64, 64, 1 }, { 128, 32, 2 }, { 128, 32, 1 },
		                         { 64, 32, 1 },  { 32, 64, 1 },  { 32, 32, 1 }, { 16, 64, 1 },  { 16, 16, 1 } };
	enum { FIRST = 80, SHAPES = sizeof shapes / sizeof *shapes };
	struct attend_mma m;
	const char *why;
	int n = 0;
	if (t->arch < FIRST || !attend_mma_match(&m, (struct ir_program *)p, s, &why))
		return 0;
	for (int i = 0; i < SHAPES; i++)
		if (slot_bytes(&m.a, shapes[i][1]) <= SHARED_BYTES && registers(&m.a, shapes[i][1], shapes[i][2]) <= REGISTERS)
			out[n++] = (struct sched_choice){ &sched_attention_mma, { shapes[i][0], shapes[i][1], shapes[i][2] } };
	return n;
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend_mma m;
	return attend_mma_match(&m, (struct ir_program *)p, s, why);
}

static int span(const struct ir_program *p, const struct ir_stage *s)
{
	struct attend_mma m;
	const char *why;
	return attend_mma_match(&m, (struct ir_program *)p, s, &why) ? m.a.stages : 1;
}

/* ---- The kernel. ---- */

static expr flat_place(const struct attend_mma *m, expr load)
{
	return ir_flat(m->a.p->pool, load->buf, load->arg);
}

static void emit_rows(struct attend_place *at, struct ir_block *b, const char *name, const struct attend_mma *m, expr load,
                      const char *place, int size)
{
	struct ir_program *p = m->a.p;
	struct attend_function f = attend_begin(at, b, name, false, true, place, size);
	expr inside = ir_binary(IR_LT, ir_var(p->pool, TYPE_INDEX, "this_key", NULL), m->a.dim[m->a.rows]);
	f.lambda->value = ir_select(inside, attend_here(&f, flat_place(m, load)), ir_index(p->pool, -1));
}

/* Whether some, or all, of the elements of a tile are within all bounds: the first and last query and key decide. */
static void emit_bounds_of(struct attend_place *at, struct ir_block *b, const struct attend_mma *m, bool all)
{
	struct ir_program *p = m->a.p;
	struct ir_stmt *lambda = emit_lambda(p, b, all ? "kept_all" : "kept_some");
	expr query[2], key[2], holds = ir_int(p->pool, TYPE_BOOL, 1);
	query[0] = emit_parameter(p, lambda, TYPE_INDEX, "this_query", NULL);
	query[1] = emit_parameter(p, lambda, TYPE_INDEX, "to_query", NULL);
	key[0] = emit_parameter(p, lambda, TYPE_INDEX, "this_key", NULL);
	key[1] = emit_parameter(p, lambda, TYPE_INDEX, "to_key", NULL);
	for (int i = 0; i < m->bounds; i++) {
		int64_t of_query, of_key;
		attend_bound_strides(m, i, &of_query, &of_key);
		expr bound = attend_expr(at, m->bound[i], query[(of_query > 0) != all], key[(of_key > 0) != all], NULL);
		holds = ir_binary(IR_AND, holds, bound);
	}
	lambda->value = holds;
}

static void emit_bounds(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	if (!m->bounds)
		return;
	struct attend_function f = attend_begin(at, b, "kept", true, true, NULL, 0);
	expr holds = ir_int(m->a.p->pool, TYPE_BOOL, 1);
	for (int i = 0; i < m->bounds; i++)
		holds = ir_binary(IR_AND, holds, attend_here(&f, m->bound[i]));
	f.lambda->value = holds;
	emit_bounds_of(at, b, m, false);
	emit_bounds_of(at, b, m, true);
}

static void emit_functions(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	const struct attend *a = &m->a;
	struct attend_function f = attend_begin(at, b, "query_at", true, false, "r", a->size);
	f.lambda->value = attend_here(&f, m->query_pairs ? flat_place(m, m->query) : m->query);
	emit_rows(at, b, "key_at", m, m->key, "r", a->size);
	emit_rows(at, b, "value_at", m, m->value, "s", a->value_size);
	if (m->score)
		attend_emit_score(at, b, m->score);
	emit_bounds(at, b, m);
	attend_emit_softmax(at, b);
	f = attend_begin(at, b, "result_at", true, false, "s", a->value_size);
	attend_parameter(&f, a->total);
	attend_parameter(&f, attend_largest(a));
	attend_parameter(&f, attend_sum(a));
	attend_parameter(&f, m->inverse);
	f.lambda->value = attend_here(&f, m->result);
	f = attend_begin(at, b, "place_at", true, false, "s", a->value_size);
	f.lambda->value = attend_here(&f, a->at);
}

static const char *scaled(const struct attend_mma *m)
{
	const char *type = m->rounded == TYPE_F32 ? "float" : type_name(m->rounded);
	const char *scale = arena_printf(m->a.p->arena, "%.9g", m->scale);
	return arena_printf(m->a.p->arena, "attention_scaled<%s>{ %s%s }", type, scale, strpbrk(scale, ".e") ? "f" : ".0f");
}

static void call_attention(struct ir_block *b, const struct attend_mma *m, const struct sched_choice *c, expr first)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	int queries = c->param[0], keys = c->param[1], tiles = c->param[2];
	expr zero = ir_index(p->pool, 0);
	emit_shared(p, b,
	            arena_printf(p->arena, "attention_slots<%s, %s, %d, %d, %d, %d>", type_name(m->key_type),
	                         type_name(m->value_type), keys, a->size, a->value_size, slots_of(a, keys)),
	            "slots");
	const char *function = arena_printf(p->arena, "attention_mma<%d, %d, %s>", queries / (ROWS * tiles), tiles,
	                                    m->pairs ? "true" : "false");
	struct ir_stmt *call = emit_invoke(p, b, function, "tpat_attention.h");
	add_text(p, call, "slots");
	add_value(p, call, first);
	add_value(p, call, a->dim[a->tile]);
	add_value(p, call, a->dim[a->rows]);
	if (m->query_pairs)
		add_address(p, call, m->query->buf, zero, false);
	else
		add_text(p, call, "attention_elements()");
	add_text(p, call, "query_at");
	add_address(p, call, m->key->buf, zero, false);
	add_text(p, call, "key_at");
	add_address(p, call, m->value->buf, zero, false);
	add_text(p, call, "value_at");
	add_text(p, call, m->score ? "score_at" : scaled(m));
	add_text(p, call, m->bounds ? "kept" : "attention_always()");
	add_text(p, call, m->bounds ? "kept_some" : "attention_always()");
	add_text(p, call, m->bounds ? "kept_all" : "attention_always()");
	add_text(p, call, "largest_at");
	add_text(p, call, "sum_at");
	add_text(p, call, "result_at");
	add_address(p, call, a->out, zero, true);
	add_text(p, call, "place_at");
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct attend_mma m;
	const char *why;
	ck(attend_mma_match(&m, p, s, &why));
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, m.a.stage[m.a.stages - 1], "", c);
	struct attend_place at = { .a = &m.a }, alone = { .a = &m.a };
	int queries = c->param[0];
	k->threads = queries / (ROWS * c->param[2]) * WARP;
	k->blocks = attend_blocks(&m.a, queries);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr first = attend_block(&at, &k->body, queries, block);
	emit_functions(&at, &k->body, &m);
	call_attention(&k->body, &m, c, first);

	/* The same queries on one processor. */
	first = attend_block(&alone, &k->serial, queries, block);
	attend_serial(&alone, &k->serial, queries, first);
	attend_finish(plan, step, k, &m.a);
}

/* ---- Time: products at the rate of mma.sync (see rule_contract.c), exponentials at 16 a clock, in waves of blocks. ---- */

static double products_a_clock(int arch)
{
	return arch == 80 ? 1024 : arch >= 90 && arch < 110 ? 1300 : 512;
}

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *t)
{
	enum { SHARED_ALL = 220 << 10, ALL_REGISTERS = 65536, LATENCY = 900, START = 3000, BYTES_A_CLOCK = 128 };
	const double clock = 1.6; /* cycles a ns */
	struct attend_mma m;
	const char *why;
	ck(attend_mma_match(&m, (struct ir_program *)p, s, &why));
	const struct attend *a = &m.a;
	int queries = c->param[0], keys = c->param[1], tiles = c->param[2], warps = queries / (ROWS * tiles);
	double blocks = (double)about(attend_blocks(a, queries), t), steps = ceil((double)about(a->dim[a->rows], t) / keys);
	if (m.bounds) /* half of what could be is kept, as where masks are causal */
		steps = (steps + 1) / 2;

	/* One tile of keys of one block, alone on a processor. */
	double size = whole(a->size) + whole(a->value_size), scores = (double)queries * keys;
	double multiply = scores * size / products_a_clock(t->arch);
	double feed = warps * keys * size * 2 / BYTES_A_CLOCK;
	double soften = scores * (1 / 16.0 + (8.0 + (m.score ? ir_cost(m.score) : 0)) / 128);
	double step = fmax(multiply, feed) + 0.5 * soften + 60;

	double used = fmin(registers(a, keys, tiles) + 20, REGISTERS), slots = slots_of(a, keys);
	double here = fmin(floor(ALL_REGISTERS / (used * warps * WARP)), floor(SHARED_ALL / (slots * slot_bytes(a, keys))));
	here = fmax(1, fmin(here, ceil(blocks / t->processors)));
	double together = fmax(step * here, step + LATENCY / slots);
	double waves = ceil(blocks / (t->processors * here)), time = (waves * steps * together + START) / clock;

	double rows = (double)about(attend_blocks(a, queries), t) * queries;
	double bytes = rows * size * 2, cache = blocks * steps * keys * size * 2;
	return t->launch_ns + fmax(time, fmax(bytes / t->bytes_per_ns, cache / (2 * t->bytes_per_ns)));
}

const struct sched_rule sched_attention_mma = {
	.name = "attention_mma",
	.version = 1,
	.help = "tensor cores; a block makes `queries` results over tiles of `keys` keys, a warp 16 * `tiles` of them",
	.params = { "queries", "keys", "tiles" },
	.applicable = applicable,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
