/* Constant folding: the interpreter runs a node whose inputs are all known: at once if its results are small, else on
 * the first call of graph_constant(). */
#include "graph/graph_internal.h"

enum { FOLD_WORK = 1 << 28 }; /* elements times reduced elements: a node of constants with more work is not run */

static bool inputs_constant(const struct graph_node *n)
{
	vec_each (v, &n->reads)
		if (!(*v)->is_constant)
			return false;
	return true;
}

/* As graph_count(), with upper bounds for sizes. */
static int64_t most(struct ir_program *p, int rank, const expr *dim)
{
	expr limit[IR_MAX_RANK];

	for (int i = 0; i < rank; i++)
		limit[i] = ir_size_limit(p, dim[i]);
	return graph_count(rank, limit);
}

/* Elements times reduced elements of all stages, times the turns of a loop; -1: too large, or not known. */
static int64_t work_of(struct ir_program *p, int n, struct ir_stage *const *stage)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++) {
		const struct ir_stage *s = stage[i];
		int64_t work = most(p, s->out->rank, s->out->dim), times = 1;

		if (work < 0 || work > GRAPH_FOLD_MAX)
			return -1;
		if (s->kind == IR_LOOP) {
			times = most(p, 1, &s->loop->trip);
			work = work_of(p, s->loop->body.n, s->loop->body.at);
			if (work < 0)
				return -1;
		} else if (s->kind != IR_MAP) {
			times = most(p, s->space_rank, s->space);
		}
		if (times < 0 || __builtin_mul_overflow(work ? work : 1, times, &work) || work > FOLD_WORK)
			return -1;
		sum += work;
	}
	return sum;
}

/* True if the program is cheap to run. */
static bool is_light(struct ir_program *p)
{
	return work_of(p, p->stages.n, p->stages.at) >= 0;
}

/* Runs the node's program, lowered in `s`: its results become constants. */
static int run(struct graph_scope *s, const struct graph_node *n)
{
	struct graph *g = s->g;
	struct ir_program *p = s->program;
	struct eval_options options = { .threads = 1 };
	const struct tensor **in = NEWN(p->arena, const struct tensor *, p->inputs.n + 1);
	struct tensor *out = NEWN(p->arena, struct tensor, n->proto->n_output + 1);
	struct {
		VEC(struct graph_value *);
	} values = { 0 };

	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct graph_value *v = graph_value_find(g, n->proto->output[i]);
		struct ir_buffer *b = v ? map_get(&s->buffers, v->name) : NULL;

		if (!v || v->constant)
			continue;
		b->role = IR_OUTPUT;
		vec_push(p->arena, &p->outputs, b);
		vec_push(p->arena, &values, v);
	}
	for (int i = 0; i < p->inputs.n; i++)
		in[i] = p->inputs.at[i]->data;
	TRY(ir_optimise(p, NULL, NULL, s->err));
	TRY(eval_program(p, in, out, &options, g->arena, s->err));
	for (int i = 0; i < values.n; i++) {
		struct tensor *t = NEW(g->arena, struct tensor);

		*t = out[i];
		values.at[i]->constant = t;
		values.at[i]->is_constant = true;
		values.at[i]->content = values.at[i]->some = NULL;
		for (int k = 0; k < t->rank; k++) /* now sizes are known */
			values.at[i]->dim[k] = ir_index(g->pool, t->dim[k]);
	}
	return 0;
}

/* True if the node's results are distinct buffers of its own: a function or a body graph may return an input, or one
 * result twice. */
static bool has_own_outputs(const struct graph_scope *s, const struct graph_node *n)
{
	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct ir_buffer *b = *n->proto->output[i] ? map_get(&s->buffers, n->proto->output[i]) : NULL;

		if (b && b->role != IR_TEMP)
			return false;
		for (size_t k = 0; b && k < i; k++)
			if (*n->proto->output[k] && map_get(&s->buffers, n->proto->output[k]) == b)
				return false;
	}
	return true;
}

void graph_fold(struct graph_scope *s, const struct graph_node *n)
{
	struct err ignored = { 0 }, *outer = s->err;
	bool small = true;

	if (s->random || !inputs_constant(n) || !is_light(s->program) || !has_own_outputs(s, n))
		return;
	vec_each (b, &s->program->inputs)
		small &= (*b)->data != NULL;
	vec_each (ps, &s->program->stages)
		small &= graph_count((*ps)->out->rank, (*ps)->out->dim) <= GRAPH_DATA_MAX;
	if (small || s->program->sizes.n) { /* extents depend on sizes */
		s->err = &ignored;          /* a failure only means that the node is not folded */
		run(s, n);
		s->err = outer;
		return;
	}
	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct graph_value *v = graph_value_find(s->g, n->proto->output[i]);

		if (v) {
			v->is_constant = true;
			v->content = v->some = NULL;
		}
	}
}

int graph_fold_run(struct graph *g, int node, struct err *e)
{
	const struct graph_node *n = &g->nodes.at[node];
	struct arena *scratch = arena_new();
	struct ir_program *p = ir_program_new(scratch, "node");
	struct graph_scope s = graph_scope_new(g, p, e);
	int rc = graph_add_inputs(&s, n, INT64_MAX);

	if (rc == 0)
		rc = graph_lower(&s, n->proto, n->label);
	if (rc == 0)
		rc = run(&s, n);
	arena_free(scratch);
	return rc;
}
