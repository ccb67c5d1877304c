/* Refused nodes that nodes of the engine's own replace: no plugin is needed for them. A region that --auto finds gets
 * plain nodes if all of its refused nodes can have some, and if the engine is estimated to run the region no slower
 * than a plugin. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"

enum mode { AUTO, NONE, ALL };

struct plain {
	struct tpat_plain *out;
	struct graph *before, *after; /* of the model as it was, and with plain nodes */
	struct graph_plains *plains;
	const struct tpat_open_options *open;
	const struct tpat_choice *choice;
	struct arena *arena;
	struct err *err;
};

static int mode_of(enum mode *out, const char *text, struct err *e)
{
	static const char *const name[] = { "auto", "no", "all" };
	*out = AUTO;
	if (!text)
		return 0;
	for (int i = 0; i < 3; i++)
		if (strcmp(text, name[i]) == 0) {
			*out = (enum mode)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "--decompose is auto, no or all, not \"%s\".", text);
}

/* ---- The model with plain nodes. */

/* Notes in the new graph what a log said about nodes that are still there. */
static void keep_reports(const struct graph *from, struct graph *to)
{
	struct map reported = map_new(to->arena);
	vec_each (g, &from->graphs)
		vec_each (n, &(*g)->nodes)
			if (n->reported)
				map_put_u64(&reported, (uintptr_t)n->proto, arena_strdup(to->arena, n->reported));
	vec_each (g, &to->graphs)
		vec_each (n, &(*g)->nodes)
			n->reported = map_get_u64(&reported, (uintptr_t)n->proto);
}

/* Puts the wanted plain nodes in. Takes those out again that the engine refuses, with all that depends on them. */
static int put(struct plain *x)
{
	for (;;) {
		graph_free(x->after);
		x->after = NULL;
		if (!graph_plains_put(x->plains)) {
			graph_plains_take_out(x->plains);
			return 0;
		}
		TRY(tpat_graph(&x->after, x->before->model, x->open, x->arena, x->err));
		keep_reports(x->before, x->after);
		if (!graph_plains_check(x->plains, x->after))
			return 0;
		graph_plains_take_out(x->plains);
	}
}

/* ---- Which regions gain. */

static struct graph_plain *plain_at(const struct plain *x, const struct graph *g, int node)
{
	int n;
	struct graph_plain *list = graph_plains_list(x->plains, &n);
	for (int i = 0; i < n; i++)
		if (list[i].graph == g && list[i].node == node)
			return &list[i];
	return NULL;
}

/* True if each of the region's refused nodes has plain nodes. */
static bool is_covered(const struct plain *x, const struct graph_region *r)
{
	const char *reason;
	bool any = false;
	vec_each (i, &r->nodes) {
		const struct graph_plain *one = plain_at(x, r->graph, *i);
		if (one && one->wanted)
			any = true;
		else if (graph_support(r->graph, *i, &reason) == ENGINE_NO)
			return false;
	}
	return any;
}

static bool is_worth(struct plain *x, const struct graph_region *r, const struct graph_rates *rates)
{
	if (!r->joined || r->fast || !is_covered(x, r))
		return false;
	/* A plugin's edge costs a conversion of layouts, or a fusion with the node before it. */
	return graph_plains_ns(x->plains, r, x->after, rates) <= r->together_ns + rates->launch_ns;
}

static int keep_worth(struct plain *x, bool *changed)
{
	struct graph_regions regions;
	struct graph_rates before, after;
	TRY(tpat_select(&regions, &before, x->before, x->choice, x->arena, x->err));
	TRY(tpat_rates(&after, x->after, x->choice->target, x->choice->profile, x->arena, x->err));
	vec_each (r, &regions) {
		if ((*r)->folded || is_worth(x, *r, &after))
			continue;
		vec_each (i, &(*r)->nodes) {
			struct graph_plain *one = plain_at(x, (*r)->graph, *i);
			if (!one || !one->wanted)
				continue;
			one->wanted = false;
			*changed = true;
		}
	}
	return 0;
}

/* Nodes that the user names stay. */
static int leave_named(struct plain *x)
{
	const struct tpat_strings *list[] = { x->choice->node, x->choice->except };
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < list[k]->n; i++) {
			struct graph *g;
			int node;
			TRY(graph_node_find(&g, &node, x->before, list[k]->at[i], x->err));
			struct graph_plain *one = plain_at(x, g, node);
			if (one)
				one->wanted = false;
		}
	return 0;
}

/* ---- Names: nodes without one are called by their number, which plain nodes before them would change. */

static void name_nodes(struct plain *x)
{
	vec_each (n, &x->before->nodes) {
		struct tpat_named one = { n->proto, n->proto->name };
		if (strcmp(onnx_text(n->proto->name), n->label) == 0)
			continue;
		n->proto->name = arena_strdup(x->before->model->arena, n->label);
		vec_push(x->arena, &x->out->named, one);
	}
}

void tpat_plain_restore_names(const struct tpat_plain *p)
{
	vec_each (one, &p->named)
		one->node->name = one->name;
}

/* ---- */

static void report(struct plain *x)
{
	int n;
	const struct graph_plain *list = graph_plains_list(x->plains, &n);
	struct tpat_plain_node *node = NEWN(x->arena, struct tpat_plain_node, n + x->out->n + 1);
	for (int i = 0; i < x->out->n; i++)
		node[i] = x->out->node[i];
	for (int i = 0; i < n; i++)
		if (list[i].wanted)
			node[x->out->n++] =
			        (struct tpat_plain_node){ arena_strdup(x->arena, list[i].label),
				                          arena_strdup(x->arena, list[i].op), list[i].nodes };
	x->out->node = node;
}

static int decompose(struct plain *x, enum mode mode, struct graph **graph)
{
	bool changed = false;
	TRY(leave_named(x));
	TRY(put(x));
	if (x->after && mode == AUTO)
		TRY(keep_worth(x, &changed));
	if (changed) {
		graph_plains_take_out(x->plains);
		TRY(put(x));
	}
	if (!x->after)
		return 0;
	report(x);
	name_nodes(x);
	graph_plains_finish(x->plains);
	/* Once more, now that all nodes have their names. */
	graph_free(x->after);
	x->after = NULL;
	TRY(tpat_graph(&x->after, x->before->model, x->open, x->arena, x->err));
	keep_reports(x->before, x->after);
	graph_free(x->before);
	*graph = x->after;
	x->after = NULL;
	return 0;
}

const struct tpat_plain_node *tpat_replaced(const struct graph *g, int *n, struct arena *a)
{
	struct tpat_plain_node *node = NEWN(a, struct tpat_plain_node, g->replaced.n + 1);
	*n = 0;
	vec_each (r, &g->replaced)
		node[(*n)++] = (struct tpat_plain_node){ arena_strdup(a, r->label), arena_strdup(a, r->op), r->nodes };
	return node;
}

int tpat_decompose(struct tpat_plain *out, struct graph **graph, const struct tpat_open_options *open,
                   const struct tpat_choice *c, const char *how, struct arena *a, struct err *e)
{
	struct plain x = { .out = out, .before = *graph, .open = open, .choice = c, .arena = a, .err = e };
	enum mode mode;
	int n;
	*out = (struct tpat_plain){ 0 };
	out->node = tpat_replaced(*graph, &out->n, a);
	TRY(mode_of(&mode, how, e));
	if (how && !c->automatic)
		return err_set(e, ERR_USAGE, "--decompose is for --auto.");
	if (mode == NONE || !c->automatic)
		return 0;
	x.plains = graph_plains_new(*graph, false);
	graph_plains_list(x.plains, &n);
	if (!n)
		return 0;
	int rc = decompose(&x, mode, graph);
	graph_free(x.after);
	return rc;
}
