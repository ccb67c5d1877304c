/* Operators that no plugin can run, and kinds of values that are not dense tensors of numbers, with advice for each.
 * The rows are in refused.def. */
#include <string.h>

#include "graph/graph_internal.h"

static const struct graph_refusal rows[] = {
#define KIND(kind, title, subject, reason)
#define REFUSED(domain, op, kind, what, way_out) { domain, op, GRAPH_REFUSED_##kind, what, way_out },
#include "graph/refused.def"
#undef KIND
#undef REFUSED
	{ .op = NULL },
};

enum subject { ENGINE, NONE };

static const struct kind {
	const char *title;
	enum subject subject;
	const char *reason;
} kinds[] = {
#define KIND(kind, title, subject, reason) { title, subject, reason },
#define REFUSED(domain, op, kind, what, way_out)
#include "graph/refused.def"
#undef KIND
#undef REFUSED
};

const struct graph_refusal *graph_refusals(void)
{
	return rows;
}

const char *graph_refusal_title(enum graph_refusal_kind kind)
{
	return kinds[kind].title;
}

const char *graph_refusal_reason(enum graph_refusal_kind kind, const struct engine *engine, struct arena *a)
{
	const struct kind *k = &kinds[kind];

	return k->subject == ENGINE ? arena_printf(a, "%s %s", engine->name, k->reason) : k->reason;
}

const struct graph_refusal *graph_refusal_find(const char *domain, const char *op)
{
	for (const struct graph_refusal *r = rows; r->op; r++)
		if (strcmp(r->op, op) == 0 && strcmp(r->domain, domain) == 0)
			return r;
	return NULL;
}

/* Values that are not dense tensors: a word for each kind, and advice. */
static const struct form {
	enum graph_refusal_kind kind;
	const char *name, *way_out;
} forms[] = {
	{ GRAPH_REFUSED_SEQUENCES, "a sequence", "Give the node the sequence's tensors, one by one or as one tensor." },
	{ GRAPH_REFUSED_OPTIONALS, "an optional value", "Simplify the model for the case in use." },
	{ GRAPH_REFUSED_MAPS, "a map", "Fill a tensor on the processor, before the engine runs." },
	{ GRAPH_REFUSED_SPARSE, "a sparse tensor", "Make it dense." },
};

/* Returns the declared form of a value, or null. */
static const struct form *form_of(const struct graph *g, const char *name)
{
	const struct onnx_value *v = onnx_value_find(g->index, name);
	const Onnx__TypeProto *t = v && v->info ? v->info->type : NULL;
	const bool found[] = { t && t->sequence_type, t && t->optional_type, t && t->map_type,
		               (t && t->sparse_tensor_type) || (v && v->sparse) };

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (found[i])
			return &forms[i];
	return NULL;
}

static const char *reason_of(const struct graph *g, enum graph_refusal_kind kind)
{
	return graph_refusal_reason(kind, g->engine, g->arena);
}

/* True for a domain of operators that ONNX Runtime's optimiser makes for one of its own providers, with layouts that
 * only that provider knows. */
static bool is_internal(const char *domain)
{
	static const char *const internal[] = { "com.microsoft.nchwc", "com.ms.internal.nhwc" };

	for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
		if (strcmp(domain, internal[i]) == 0)
			return true;
	return false;
}

/* Returns the node's output that is a sequence and an output of the graph, or null. */
static const char *sequence_output(const struct graph *g, const Onnx__NodeProto *node)
{
	const Onnx__GraphProto *p = g->index->graph;

	for (size_t i = 0; i < node->n_output; i++)
		for (size_t k = 0; k < p->n_output; k++) {
			const Onnx__TypeProto *t = p->output[k]->type;

			if (t && t->sequence_type && strcmp(onnx_text(p->output[k]->name), node->output[i]) == 0)
				return node->output[i];
		}
	return NULL;
}

int graph_refuse_operator(const struct graph *g, const Onnx__NodeProto *node, const char *label, struct err *e)
{
	const char *domain = onnx_domain(node->domain), *op = onnx_text(node->op_type);
	const struct graph_refusal *r = graph_refusal_find(domain, op);
	const char *out;

	if (r && r->kind == GRAPH_REFUSED_SEQUENCES && (out = sequence_output(g, node))) {
		err_set(e, ERR_UNSUPPORTED,
		        "node %s (%s): it makes \"%s\", a sequence, for an output of the model; %s.", label, op, out,
		        reason_of(g, r->kind));
		return err_advise(e,
		                  "Make its tensors the model's outputs, one by one or joined by ConcatFromSequence.");
	}
	if (r) {
		err_set(e, ERR_UNSUPPORTED, "node %s (%s): %s; %s.", label, op, r->what, reason_of(g, r->kind));
		return err_advise(e, "%s", r->way_out);
	}
	err_set(e, ERR_UNSUPPORTED, "node %s (%s): tpat does not support the operator %s%s%s.", label, op, domain,
	        *domain ? "." : "", op);
	if (is_internal(domain))
		return err_advise(
		        e, "ONNX Runtime's optimiser wrote it for its own kernels: give tpat the model from before, or "
		           "one that it optimised at the level \"extended\".");
	return err_advise(e, "Leave this node out of the selection.");
}

int graph_refuse_value(const struct graph *g, const char *name, struct err *e)
{
	const struct form *f = form_of(g, name);

	if (!f)
		return 0;
	err_set(e, ERR_UNSUPPORTED, "its input \"%s\" is %s; %s.", name, f->name, reason_of(g, f->kind));
	return err_advise(e, "%s", f->way_out);
}
