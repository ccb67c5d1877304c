/* Fuzz target: a model through a whole build without compiling: reading, types and extents, constant folding, lowering,
 * schedules, texts in both languages, the rewrite, and reading the result. A run uses one region, rarely two, and
 * chooses rules for its stages. A hash of the model is the seed, so that a file always does the same. mutate.c changes
 * models. */
#include <setjmp.h>

#include "gen/language.h"
#include "graph/graph.h"
#include "sched/sched.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/fuzz_main.h"

enum { MOST_BYTES = 1 << 14, MOST_NODES = 40, MOST_STAGES = 24, REGION = 6, TAKES = 2 };

struct run {
	struct onnx_model *m;
	struct graph *g;
	struct arena *arena;
	struct draw d;
};

/* ---- A region's program and texts. */

/* Picks any rule that applies, with any of its choices: the cost model would take most of the time. */
static void draw_choices(struct run *r, struct ir_program *p, struct sched_choice *given)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int rules = 0;
	while (sched_rules[rules])
		rules++;
	for (int i = 0; i < p->stages.n; i++) {
		const struct ir_stage *s = p->stages.at[i];
		unsigned first = draw(&r->d, (size_t)rules);
		for (int k = 0; k < rules && !given[i].rule; k++) {
			const struct sched_rule *rule = sched_rules[(first + (unsigned)k) % (unsigned)rules];
			int n = sched_candidates(p, s, rule, &sched_default_target, choice, NULL);
			if (n)
				given[i] = choice[draw(&r->d, (size_t)n)];
		}
	}
}

/* One run in eight uses the cost model. */
static void print_program(struct run *r, struct ir_program *p)
{
	struct str text = str_new(r->arena);
	struct sched_choice *given = NEWN(r->arena, struct sched_choice, p->stages.n + 1);
	bool modelled = draw(&r->d, 8) == 0;
	if (p->stages.n > MOST_STAGES)
		return;
	if (!modelled)
		draw_choices(r, p, given);
	const struct ir_plan *plan = sched_program(p, NULL, modelled ? NULL : given);
	language_of(draw(&r->d, 4) ? KERNEL_CUDA : KERNEL_C)->print(&text, &plan, 1);
}

/* Returns a region of these nodes; null if tpat refuses it. */
static struct graph_region *take(struct run *r, const int *node, int n)
{
	struct graph_region *region;
	struct ir_program *p;
	struct err e = { 0 };
	struct graph_program_options o = { .sizes = true,
		                           .any_types = draw(&r->d, 4) == 0,
		                           .keep_types = draw(&r->d, 4) == 0,
		                           .unfused = draw(&r->d, 16) == 0 };
	if (graph_region_new(&region, r->g, node, n, &e) < 0 ||
	    (!region->folded && graph_region_program(&p, region, &o, r->arena, &e) < 0)) {
		look_at(&e);
		return NULL;
	}
	if (!region->folded)
		print_program(r, p);
	return o.any_types || o.keep_types ? NULL : region; /* those cannot be plugins */
}

/* ---- The model. */

static void read_again(struct run *r)
{
	struct onnx_model *again;
	struct err e = { 0 };
	size_t n = protobuf_c_message_get_packed_size(&r->m->proto->base);
	uint8_t *bytes = arena_alloc(r->arena, n + 1);
	if (protobuf_c_message_pack(&r->m->proto->base, bytes) != n)
		finding("packed, it has another size", "");
	if (onnx_model_parse(&again, bytes, n, NULL, &e) < 0)
		finding("the rewritten model cannot be read", e.text);
	if (onnx_model_check(again, &e) < 0)
		finding("the rewritten model is worse than the original", e.text);
	onnx_model_free(again);
}

static void rewrite(struct run *r, const struct graph_regions *regions)
{
	struct graph_plugin plugin[TAKES] = { 0 };
	struct err e = { 0 };
	for (int i = 0; i < regions->n; i++)
		plugin[i].name = regions->at[i]->folded ? NULL : arena_printf(r->arena, "fuzz_%d", i);
	if (graph_rewrite(r->g, regions, plugin, &(struct graph_rewrite_options){ .keep_types = false }, &e) < 0)
		look_at(&e);
	else
		read_again(r);
}

/* Lists supported nodes, and checks the messages for the others. */
static int takeable(struct run *r, int *node)
{
	int n = 0;
	vec_each (x, &r->g->nodes) {
		const char *reason;
		struct err e = { 0 };
		graph_support(r->g, x->index, &reason);
		if (graph_node_check(r->g, x->index, &e) < 0)
			look_at(&e);
		if (x->known && !x->folded && graph_node_used(r->g, x->index) && n < MOST_NODES)
			node[n++] = x->index;
	}
	return n;
}

/* Runs of neighbouring nodes, one after the other. */
static void build(struct run *r)
{
	struct graph_regions regions = { 0 };
	int node[MOST_NODES], n = takeable(r, node), at = (int)draw(&r->d, (size_t)n),
	                      takes = draw(&r->d, 4) ? 1 : TAKES;
	for (int i = 0; i < takes && at < n; i++) {
		int most = n - at < REGION ? n - at : REGION,
		    count = draw(&r->d, 3) ? 1 + (int)draw(&r->d, (size_t)most) : 1;
		struct graph_region *region = take(r, node + at, count);
		if (region)
			vec_push(r->arena, &regions, region);
		at += count;
	}
	if (regions.n)
		rewrite(r, &regions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run r; /* static, so that a jump to the guard keeps it */
	struct err e = { 0 };
	struct arena_guard guard;
	limit_time();
	r = (struct run){ .d = { hash_bytes(1, data, size) } };
	if (size > MOST_BYTES)
		return -1;
	if (setjmp(*arena_guard_push(&guard)) == 0) {
		r.arena = arena_new();
		if (onnx_model_parse(&r.m, data, size, NULL, &e) == 0 && onnx_model_check(r.m, &e) == 0 &&
		    graph_open(&r.g, r.m, NULL, &e) == 0)
			build(&r);
		else
			look_at(&e);
	} else if (arena_guard_bug()) {
		finding("a bug", arena_guard_bug());
	}
	arena_guard_pop(&guard);
	graph_free(r.g);
	onnx_model_free(r.m);
	arena_free(r.arena);
	return 0;
}
