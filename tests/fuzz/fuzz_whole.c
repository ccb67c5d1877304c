/* Fuzz target: a model from its bytes through everything that a build does but compiling: reading, types and extents,
 * constant folding, lowering, schedules, texts in both languages, the rewrite, and reading what was written.
 *
 * Bytes changed at random are hardly ever a model any more, so the mutator changes models: other operators, attributes,
 * extents, types and connections. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"
#include "graph/graph.h"
#include "ops/op.h"
#include "sched/sched.h"
#include "tests/fuzz/fuzz_main.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { MOST_BYTES = 1 << 15, MOST_NODES = 24, REGION = 6 };

/* ---- Numbers drawn: of an input, or by the mutator. */

static uint64_t state;

static unsigned draw(size_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n ? (unsigned)((state >> 33) % n) : 0;
}

/* ---- A build without the compiler. */

/* Any rule that applies, with any of its choices: the cost model would take most of the time. */
static void draw_choices(struct ir_program *p, struct sched_choice *given)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int rules = 0;
	while (sched_rules[rules])
		rules++;
	for (int i = 0; i < p->stages.n; i++) {
		const struct ir_stage *s = p->stages.at[i];
		const char *why;
		unsigned first = draw((size_t)rules);
		for (int k = 0; k < rules && !given[i].rule; k++) {
			const struct sched_rule *rule = sched_rules[(first + (unsigned)k) % (unsigned)rules];
			int n = rule->applicable(p, s, &why) ? rule->candidates(p, s, &sched_default_target, choice) : 0;
			if (n)
				given[i] = choice[draw((size_t)n)];
		}
	}
}

static void print_program(struct ir_program *p, struct arena *a)
{
	struct str cuda = str_new(a), c = str_new(a);
	struct sched_choice *given = NEWN(a, struct sched_choice, p->stages.n + 1);
	draw_choices(p, given);
	const struct ir_plan *plan = sched_program(p, NULL, given);
	gen_cuda(&cuda, &plan, 1);
	gen_c(&c, &plan, 1);
}

/* A region of these nodes, and its texts; false where tpat refuses it. */
static bool take(struct graph_region **r, struct graph *g, const int *node, int n, struct arena *a)
{
	struct err e = { 0 };
	struct ir_program *p;
	struct graph_program_options o = { .sizes = true };
	bool fine = graph_region_new(r, g, node, n, &e) == 0 &&
	            ((*r)->folded || graph_region_program(&p, *r, &o, a, &e) == 0);
	if (fine && !(*r)->folded)
		print_program(p, a);
	if (!fine && !e.text[0])
		abort(); /* a failure without a word */
	return fine;
}

static void read_again(struct onnx_model *m, struct arena *a)
{
	struct onnx_model *again;
	struct err e = { 0 };
	size_t n = protobuf_c_message_get_packed_size(&m->proto->base);
	uint8_t *bytes = arena_alloc(a, n + 1);
	if (protobuf_c_message_pack(&m->proto->base, bytes) != n || onnx_model_parse(&again, bytes, n, NULL, &e) < 0)
		abort();
	if (onnx_model_check(again, &e) < 0)
		abort(); /* the rewritten model is worse than the original */
	onnx_model_free(again);
}

/* Each node by itself; runs of nodes; and the model with the nodes replaced. */
static void build(struct onnx_model *m, struct graph *g, struct arena *a)
{
	struct graph_regions regions = { 0 };
	struct graph_plugin plugin[MOST_NODES];
	struct err e = { 0 };
	int node[REGION], n = 0;
	vec_each (x, &g->nodes) {
		const char *reason;
		graph_trt_support(g, x->index, &reason);
		struct graph_region *r;
		if (!x->known || x->folded || !graph_node_used(g, x->index) || regions.n == MOST_NODES)
			continue;
		if (take(&r, g, &x->index, 1, a)) {
			plugin[regions.n] = (struct graph_plugin){ .name = arena_printf(a, "fuzz_%d", regions.n) };
			vec_push(a, &regions, r);
		}
		node[n++] = x->index;
		if (n == REGION) {
			take(&r, g, node, n, a);
			n = 0;
		}
	}
	struct graph_region *rest;
	if (n > 1)
		take(&rest, g, node, n, a);
	if (regions.n && graph_rewrite(g, &regions, plugin, &(struct graph_rewrite_options){ .keep_types = false }, &e) == 0)
		read_again(m, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct onnx_model *m;
	struct graph *g = NULL;
	struct err e = { 0 };
	struct arena_guard guard;
	if (size > MOST_BYTES || onnx_model_parse(&m, data, size, NULL, &e) < 0)
		return 0;
	struct arena *a = arena_new();
	state = hash_bytes(1, data, size);
	if (setjmp(*arena_guard_push(&guard))) { /* memory was out */
		arena_guard_pop(&guard);
		return 0;
	}
	if (onnx_model_check(m, &e) == 0 && graph_new(&g, m, NULL, &e) == 0)
		build(m, g, a);
	arena_guard_pop(&guard);
	graph_free(g);
	onnx_model_free(m);
	arena_free(a);
	return 0;
}

/* ---- The mutator. */

static int64_t number(void)
{
	static const int64_t some[] = { 0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 64, 1000, -1, -2, -3, INT32_MAX,
	                                INT64_MAX, INT64_MIN, 1 << 20 };
	return some[draw(sizeof some / sizeof *some)];
}

/* Any tensor of the graph. */
static char *tensor_of(const Onnx__GraphProto *g)
{
	const Onnx__NodeProto *n = g->n_node ? g->node[draw(g->n_node)] : NULL;
	unsigned from = draw(4);
	if (from == 0 && g->n_input)
		return g->input[draw(g->n_input)]->name;
	if (from == 1 && g->n_initializer)
		return g->initializer[draw(g->n_initializer)]->name;
	if (n && from == 2 && n->n_output)
		return n->output[draw(n->n_output)];
	return n && n->n_input ? n->input[draw(n->n_input)] : NULL;
}

static void change_attribute(Onnx__AttributeProto *a)
{
	static const float some[] = { 0, 1, -1, 0.5f, 1e-5f, 1e30f, 2, 3 };
	if (a->has_i)
		a->i = draw(2) ? number() : a->i + (int64_t)draw(3) - 1;
	if (a->has_f)
		a->f = some[draw(8)];
	if (a->n_ints)
		a->ints[draw(a->n_ints)] = number();
	if (a->n_ints > 1 && draw(4) == 0)
		a->n_ints--;
}

static void change_type(Onnx__TypeProto *t)
{
	Onnx__TypeProto__Tensor *x = t ? t->tensor_type : NULL;
	if (!x)
		return;
	if (draw(4) == 0)
		x->elem_type = (int)draw(26);
	if (!x->shape || !x->shape->n_dim)
		return;
	Onnx__TensorShapeProto__Dimension *d = x->shape->dim[draw(x->shape->n_dim)];
	if (d->has_dim_value)
		d->dim_value = number();
	if (draw(8) == 0)
		x->shape->n_dim--;
}

static void set_text(char **to, const char *text)
{
	char *copy = malloc(strlen(text) + 1);
	strcpy(copy, text);
	if (*to != protobuf_c_empty_string)
		free(*to);
	*to = copy;
}

static void swap(char **x, char **y)
{
	char *t = *x;
	*x = *y;
	*y = t;
}

static void rename_operator(Onnx__NodeProto *n)
{
	int ops = 0;
	while (op_all()[ops])
		ops++;
	set_text(&n->op_type, op_all()[draw((size_t)ops)]->name);
}

static void change(Onnx__GraphProto *g)
{
	Onnx__NodeProto *n = g->n_node ? g->node[draw(g->n_node)] : NULL;
	char *name = tensor_of(g);
	switch (draw(9)) {
	case 0:
		if (n)
			rename_operator(n);
		break;
	case 1:
	case 2:
		if (n && n->n_attribute)
			change_attribute(n->attribute[draw(n->n_attribute)]);
		break;
	case 3:
	case 4:
		if (g->n_input)
			change_type(g->input[draw(g->n_input)]->type);
		break;
	case 5:
		if (n && n->n_input > 1)
			swap(&n->input[draw(n->n_input)], &n->input[draw(n->n_input)]);
		break;
	case 6:
		if (n && n->n_input && name)
			set_text(&n->input[draw(n->n_input)], name);
		break;
	case 7:
		if (g->n_initializer) {
			Onnx__TensorProto *t = g->initializer[draw(g->n_initializer)];
			if (t->n_dims && draw(2))
				t->dims[draw(t->n_dims)] = number();
			else if (t->n_int64_data)
				t->int64_data[draw(t->n_int64_data)] = number();
			else if (t->raw_data.len)
				t->raw_data.data[draw(t->raw_data.len)] = (uint8_t)draw(256);
		}
		break;
	default:
		if (g->n_value_info)
			change_type(g->value_info[draw(g->n_value_info)]->type);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	state = seed;
	Onnx__ModelProto *m = draw(10) ? onnx__model_proto__unpack(NULL, size, data) : NULL;
	if (!m || !m->graph) {
		if (m)
			onnx__model_proto__free_unpacked(m, NULL);
		return LLVMFuzzerMutate(data, size, most);
	}
	for (unsigned i = 0; i <= draw(3); i++)
		change(m->graph);
	size_t n = onnx__model_proto__get_packed_size(m);
	if (n <= most)
		onnx__model_proto__pack(m, data);
	onnx__model_proto__free_unpacked(m, NULL);
	return n <= most ? n : size;
}
