/* Models in which the values of integers decide extents that lowering must know: they run in phases. The first node
 * that cannot be lowered without the values of its integers ends a phase; the values become constants of the model, and
 * the graph is made anew. Other tensors that the phase makes become inputs, so that no node runs in two phases. A
 * session keeps each phase, and makes one again only if the values or extents before it have changed. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"
#include "run/run.h"

/* ---- One phase. */

/* Values of at most one axis, which may decide extents: integers; and few floats, such as the limit of a Range, or the
 * scales of a Resize. */
static bool may_decide(const struct graph_value *v, bool floats)
{
	int64_t n = 1;
	if (v->is_constant || v->rank < 0 || v->rank > 1)
		return false;
	if (floats)
		return type_is_float(v->type) && (!v->rank || ir_const_int(v->dim[0], &n)) && n <= IR_MAX_RANK;
	return v->type == TYPE_I64 || v->type == TYPE_I32 || v->type == TYPE_BOOL;
}

struct wanted {
	VEC(struct graph_value *);
};

/* Adds those that the node reads. Returns their number. */
static int add_wanted(struct wanted *w, const struct graph_node *n, bool floats, struct arena *a)
{
	int found = 0;
	vec_each (v, &n->reads) {
		bool known = false;
		if (!may_decide(*v, floats))
			continue;
		found++;
		vec_each (old, w)
			known |= *old == *v;
		if (!known)
			vec_push(a, w, *v);
	}
	return found;
}

static bool is_listed(const struct wanted *w, const struct graph_value *v)
{
	vec_each (old, w)
		if (*old == v)
			return true;
	return false;
}

/* Marks the nodes that compute the wanted values. */
static bool *run_by(const struct graph *g, const struct wanted *w, struct arena *a)
{
	bool *runs = NEWN(a, bool, g->nodes.n + 1);
	vec_each (v, w)
		if ((*v)->producer >= 0)
			runs[(*v)->producer] = true;
	for (int i = g->nodes.n - 1; i >= 0; i--)
		vec_each (v, &g->nodes.at[i].reads)
			if (runs[i] && (*v)->producer >= 0)
				runs[(*v)->producer] = true;
	return runs;
}

/* Adds a value that one of these nodes makes. If it is no tensor, or follows from extents, its node stays. */
static void add_kept(struct wanted *w, const struct graph *g, const bool *runs, struct graph_value *v, struct arena *a)
{
	if (v->producer >= 0 && runs[v->producer] && graph_node_used(g, v->producer) && !v->is_constant &&
	    v->type != TYPE_NONE && !is_listed(w, v))
		vec_push(a, w, v);
}

int tpat_phase_end(struct tpat_phase_end *out, const struct graph *g, struct arena *a, struct err *e)
{
	const bool *stuck = graph_stuck(g, a);
	struct wanted w = { 0 };
	vec_each (n, &g->nodes)
		if (stuck[n->index] && !add_wanted(&w, n, false, a) && !add_wanted(&w, n, true, a))
			return graph_node_check(g, n->index, e);
	int constants = w.n;
	const bool *runs = run_by(g, &w, a);
	vec_each (n, &g->nodes)
		vec_each (v, &n->reads)
			if (!runs[n->index] && !n->folded)
				add_kept(&w, g, runs, *v, a);
	vec_each (v, &g->outputs)
		add_kept(&w, g, runs, *v, a);
	*out = (struct tpat_phase_end){ w.at, constants, w.n };
	return 0;
}

/* Gives the result of a node another name. */
static void free_name(struct onnx_model *m, const char *name)
{
	Onnx__GraphProto *g = m->proto->graph;
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t k = 0; k < g->node[i]->n_output; k++)
			if (strcmp(onnx_text(g->node[i]->output[k]), name) == 0)
				g->node[i]->output[k] = arena_printf(m->arena, "%s of an earlier phase", name);
}

void tpat_phase_bind(struct onnx_model *m, const char *name, const struct tensor *t)
{
	Onnx__GraphProto *g = m->proto->graph;
	Onnx__TensorProto *value = onnx_tensor_store(t, name, m->arena);
	for (size_t i = 0; i < g->n_input; i++)
		if (strcmp(onnx_text(g->input[i]->name), name) == 0) {
			onnx_graph_bind_input(m, g, (int)i, value);
			return;
		}
	free_name(m, name);
	onnx_graph_add_initializer(m, g, value);
}

void tpat_phase_give(struct onnx_model *m, const char *name, const struct tensor *t)
{
	Onnx__GraphProto *g = m->proto->graph;
	size_t n = 0;
	for (size_t i = 0; i < g->n_value_info; i++) /* its extents may be names there */
		if (strcmp(onnx_text(g->value_info[i]->name), name) != 0)
			g->value_info[n++] = g->value_info[i];
	g->n_value_info = n;
	free_name(m, name);
	onnx_graph_add_input(m, g,
	                     onnx_value_info_new(m, arena_strdup(m->arena, name), t->type, t->rank, t->dim, NULL));
}

/* ---- The phases of a session. */

struct phase {
	struct arena *arena; /* holds this struct */
	struct onnx_model *model;
	struct graph *graph;
	struct run_session *run;
	struct tpat_phase_end end;
	struct run_tensor *value; /* of these, in its last run; constants have their data in `arena` */
};

struct tpat_phases {
	const struct run_device *on;
	const struct onnx_model *model; /* the user's; its file stays mapped */
	struct tpat_strings value;      /* inputs made constant */
	struct run_codes codes;
	struct {
		VEC(struct phase *);
	} list;
	struct arena *arena;
};

struct tpat_phases *tpat_phases_new(const struct run_device *on, const struct onnx_model *m,
                                    const struct tpat_strings *value, struct arena *a)
{
	struct tpat_phases *x = NEW(a, struct tpat_phases);
	const char **text = NEWN(a, const char *, value->n + 1);
	for (int i = 0; i < value->n; i++)
		text[i] = arena_strdup(a, value->at[i]);
	*x = (struct tpat_phases){ on, m, { text, value->n }, run_codes_kept(a), { 0 }, a };
	return x;
}

static void phase_free(struct phase *p)
{
	run_close(p->run);
	graph_free(p->graph);
	onnx_model_free(p->model);
	arena_free(p->arena);
}

static void drop(struct tpat_phases *x, int first)
{
	while (x->list.n > first)
		phase_free(x->list.at[--x->list.n]);
}

void tpat_phases_free(struct tpat_phases *x)
{
	if (x)
		drop(x, 0);
}

/* The graph, with the shapes of those inputs that no phase has bound. */
static int open_graph(struct phase *p, const struct graph_shape *shape, int shapes, const struct map *bound,
                      struct err *e)
{
	struct graph_shape *left = NEWN(p->arena, struct graph_shape, shapes + 1);
	struct graph_options o = { .shape = left, .take_apart = true };
	for (int i = 0; i < shapes; i++)
		if (!map_get(bound, shape[i].name)) /* else no input any more */
			left[o.shapes++] = shape[i];
	graph_free(p->graph);
	p->graph = NULL;
	return graph_open(&p->graph, p->model, &o, e);
}

/* Opens the model with these shapes and the values of all phases so far. */
static int phase_open(struct phase *p, struct tpat_phases *x, const struct graph_shape *shape, int shapes,
                      struct err *e)
{
	TRY(onnx_model_parse(&p->model, x->model->file.data, x->model->file.size, x->model->dir, e));
	p->model->path = x->model->path;
	TRY(onnx_model_check(p->model, e));
	TRY(tpat_bind_values(p->model, &x->value, p->arena, e));
	struct map bound = map_new(p->arena);
	vec_each (before, &x->list) {
		if ((*before)->graph->rewritten) /* some names are of what replaced others */
			TRY(open_graph(p, shape, shapes, &bound, e));
		const struct tpat_phase_end *end = &(*before)->end;
		for (int i = 0; i < end->n; i++) {
			const struct tensor *t = &(*before)->value[i].tensor;
			if (i < end->constants)
				tpat_phase_bind(p->model, end->value[i]->name, t);
			else
				tpat_phase_give(p->model, end->value[i]->name, t);
			map_put(&bound, end->value[i]->name, p);
		}
	}
	TRY(open_graph(p, shape, shapes, &bound, e));
	p->run = run_open(x->on, p->graph, p->arena);
	run_codes(p->run, &x->codes);
	TRY(tpat_phase_end(&p->end, p->graph, p->arena, e));
	p->value = NEWN(p->arena, struct run_tensor, p->end.n + 1);
	return 0;
}

static int phase_new(struct phase **out, struct tpat_phases *x, const struct graph_shape *shape, int shapes,
                     struct err *e)
{
	struct arena *a = arena_new();
	struct phase *p = NEW(a, struct phase);
	p->arena = a;
	vec_push(x->arena, &x->list, p); /* so that it is freed in any case */
	x->list.n--;
	int rc = phase_open(p, x, shape, shapes, e);
	if (rc < 0) {
		phase_free(p);
		return rc;
	}
	x->list.n++;
	*out = p;
	return 0;
}

/* True if the inputs have the extents of the first phase. */
static bool same_shapes(const struct tpat_phases *x, const struct graph_shape *shape, int shapes)
{
	const struct graph *g = x->list.n ? x->list.at[0]->graph : NULL;
	for (int i = 0; g && i < shapes; i++) {
		const struct graph_value *v = graph_value_find(g, shape[i].name);
		int64_t n;
		for (int k = 0; v && k < shape[i].rank; k++)
			if (k >= v->rank || !ir_const_int(v->dim[k], &n) || n != shape[i].dim[k].value)
				return false;
	}
	return g != NULL;
}

const struct run_tensor *tpat_phases_kept(const struct tpat_phases *x, const char *name)
{
	vec_each (p, &x->list)
		for (int i = (*p)->end.constants; i < (*p)->end.n; i++)
			if (strcmp((*p)->end.value[i]->name, name) == 0)
				return &(*p)->value[i];
	return NULL;
}

/* Notes a value. *changed: it is not that of the run before. */
static int note_constant(struct phase *p, int i, const struct tensor *t, bool *changed, struct err *e)
{
	struct tensor *known = &p->value[i].tensor;
	size_t bytes = (size_t)tensor_bytes(t);
	if (known->type && tensor_same_shape(known, t) && (!bytes || memcmp(known->data, t->data, bytes) == 0))
		return 0;
	TRY(tensor_new(known, t->type, t->rank, t->dim, p->arena, e));
	if (bytes)
		memcpy(known->data, t->data, bytes);
	*changed = true;
	return 0;
}

/* Computes the values at the end of a phase. *changed: they, or extents, are not those of the run before. */
static int phase_run(struct phase *p, const struct tpat_phases *x, tpat_input_fn input, void *user, bool *changed,
                     struct arena *scratch, struct err *e)
{
	const struct tpat_phase_end *end = &p->end;
	struct run_counts counts;
	struct run_tensor *out = NEWN(scratch, struct run_tensor, end->n + 1),
	                  *in = NEWN(scratch, struct run_tensor, p->graph->inputs.n + 1);
	for (int i = 0; i < p->graph->inputs.n; i++) {
		const char *name = p->graph->inputs.at[i]->name;
		const struct run_tensor *kept = tpat_phases_kept(x, name);
		if (kept)
			in[i] = *kept;
		else
			TRY(input(&in[i].tensor, user, name, e));
	}
	TRY(run_values(out, &counts, p->run, end->value, end->n, end->constants, in, e));
	*changed = false;
	for (int i = 0; i < end->constants; i++)
		TRY(note_constant(p, i, &out[i].tensor, changed, e));
	for (int i = end->constants; i < end->n; i++) {
		struct tensor *known = &p->value[i].tensor;
		*changed |= !known->type || !tensor_same_shape(known, &out[i].tensor);
		p->value[i] = out[i];
	}
	return 0;
}

int tpat_phases_run(struct run_session **run, struct graph **graph, struct tpat_phases *x,
                    const struct graph_shape *shape, int shapes, tpat_input_fn input, void *user,
                    struct tpat_talk *talk, struct err *e)
{
	if (!same_shapes(x, shape, shapes))
		drop(x, 0);
	for (int i = 0; i < TPAT_MOST_PHASES; i++) {
		struct phase *p = i < x->list.n ? x->list.at[i] : NULL;
		bool changed;
		if (!p)
			TRY(phase_new(&p, x, shape, shapes, e));
		tpat_watch(p->run, talk);
		*run = p->run;
		*graph = p->graph;
		if (!p->end.constants)
			return 0;
		struct arena *scratch = arena_new();
		int rc = phase_run(p, x, input, user, &changed, scratch, e);
		arena_free(scratch);
		if (rc < 0 || changed)
			drop(x, i + 1);
		TRY(rc);
	}
	return err_set(e, ERR_UNSUPPORTED, "%s: integers decide extents again and again, after %d phases.",
	               x->model->path, TPAT_MOST_PHASES);
}
