/* Each graph of a model as two pictures: its nodes, coloured by region; and with a box for each plugin. Runs of nodes
 * outside of all regions become one box each. The graphs inside If, Loop and Scan follow the main graph. */
#include <string.h>

#include "lib/page_inside.h"

enum { MOST_BYTES_OF_BODIES = 2000000 }; /* of the page, after which no more bodies are drawn */

struct view {
	struct page *p;
	struct graph *g;
	int *region;               /* of each node; -1: none */
	int *box;                  /* of each node; -1: it is not drawn */
	int *first, *last, *count; /* nodes of each box */
	int boxes;
	bool after;
};

static int plugin_of(const struct page *p, int region)
{
	const struct made *m = region < 0 ? NULL : p->b->made[region];
	for (int i = 0; m && i < p->b->plugins.n; i++)
		if (p->b->plugins.at[i] == m)
			return i;
	return -1;
}

/* The only node whose results this one reads, if it alone reads them and both are outside of all regions; else -1. */
static int run_before(const struct view *v, const struct graph_node *n)
{
	int before = -1;
	vec_each (r, &n->reads) {
		int producer = (*r)->outside ? -1 : (*r)->producer;
		if (producer < 0 || v->g->nodes.at[producer].folded)
			continue;
		if ((before >= 0 && before != producer) || (*r)->consumers.n != 1 || (*r)->is_output || (*r)->captured)
			return -1;
		before = producer;
	}
	if (before < 0 || v->region[before] >= 0)
		return -1;
	const Onnx__NodeProto *proto = v->g->nodes.at[before].proto;
	for (size_t i = 0; i < proto->n_output; i++) {
		const struct graph_value *x = graph_value_find(v->g, onnx_text(proto->output[i]));
		if (x && (x->is_output || x->captured || (x->consumers.n && x->consumers.at[0] != n->index)))
			return -1;
	}
	return before;
}

static void add_box(struct view *v, int node, int box)
{
	v->box[node] = box;
	v->last[box] = node;
	if (!v->count[box]++)
		v->first[box] = node;
}

static void group_nodes(struct view *v)
{
	int *of_region = NEWN(v->p->b->arena, int, v->p->b->regions.n + 1);
	for (int i = 0; i < v->g->nodes.n; i++) {
		const struct graph_node *n = &v->g->nodes.at[i];
		int region = v->region[i], before;
		v->box[i] = -1;
		if (region < 0 && n->folded)
			continue;
		if (region >= 0 && v->after) {
			if (v->p->b->regions.at[region]->folded)
				continue;
			if (!of_region[region])
				of_region[region] = ++v->boxes;
			add_box(v, i, of_region[region] - 1);
		} else if (region < 0 && (before = run_before(v, n)) >= 0 && v->box[before] >= 0) {
			add_box(v, i, v->box[before]);
		} else {
			add_box(v, i, v->boxes++);
		}
	}
}

static const char *type_of(const struct view *v, int node)
{
	return onnx_text(v->g->nodes.at[node].proto->op_type);
}

/* "conv1: Conv" and the shapes of its results. */
static const char *title_of(const struct view *v, int node)
{
	const Onnx__NodeProto *proto = v->g->nodes.at[node].proto;
	struct arena *a = v->p->b->arena;
	return arena_printf(a, "%s: %s -> %s", v->g->nodes.at[node].label, type_of(v, node),
	                    tpat_types_text(v->g, proto->output, proto->n_output, a));
}

static struct html_box describe(const struct view *v, int box)
{
	struct arena *a = v->p->b->arena;
	int first = v->first[box], last = v->last[box], n = v->count[box], region = v->region[first];
	struct html_box out = { .colour = plugin_of(v->p, region), .target = plugin_of(v->p, region) };
	if (region >= 0 && v->after) {
		out.text = out.target < 0 ? "constant" : arena_printf(a, "plugin %d", out.target + 1);
		out.title = arena_printf(a, "%s: %d node%s", v->p->b->regions.at[region]->label, n, n == 1 ? "" : "s");
	} else if (n == 1) {
		out.text = type_of(v, first);
		out.title = title_of(v, first);
	} else {
		out.text = n == 2 ? arena_printf(a, "%s, %s", type_of(v, first), type_of(v, last))
		                  : arena_printf(a, "%d: %s .. %s", n, type_of(v, first), type_of(v, last));
		out.title = arena_printf(a, "%d nodes, from %s to %s", n, title_of(v, first), title_of(v, last));
	}
	return out;
}

static void add_end(struct html_graph *out, const struct view *v, const struct graph_value *x)
{
	struct arena *a = v->p->b->arena;
	struct str title = str_new(a);
	str_printf(&title, "%s: ", x->name);
	graph_value_print(&title, x);
	vec_push(a, &out->boxes,
	         ((struct html_box){ x->name, str_text(&title), .colour = -1, .target = -1, .outside = 1 }));
}

static void connect(struct html_graph *out, const struct view *v, int from, int to)
{
	if (from >= 0 && to >= 0 && from != to)
		vec_push(v->p->b->arena, &out->edges, ((struct html_edge){ from, to }));
}

/* A body also reads values of the graphs around it: adds those that its nodes read. */
static void add_captured(struct html_graph *out, const struct view *v)
{
	vec_each (x, &v->g->values) {
		if (!(*x)->outside || !(*x)->consumers.n || (*x)->is_constant)
			continue;
		add_end(out, v, *x);
		vec_each (reader, &(*x)->consumers)
			connect(out, v, out->boxes.n - 1, v->box[*reader]);
	}
}

static void draw(struct page *p, struct graph *g, int *region, bool after)
{
	struct arena *a = p->b->arena;
	struct html_graph out = { 0 };
	struct view v = { .p = p, .g = g, .region = region, .after = after };
	v.box = NEWN(a, int, g->nodes.n + 1);
	v.first = NEWN(a, int, g->nodes.n + 1);
	v.last = NEWN(a, int, g->nodes.n + 1);
	v.count = NEWN(a, int, g->nodes.n + 1);
	group_nodes(&v);
	for (int i = 0; i < v.boxes; i++)
		vec_push(a, &out.boxes, describe(&v, i));
	for (int i = 0; i < g->nodes.n; i++)
		vec_each (r, &g->nodes.at[i].reads)
			if (!(*r)->outside && (*r)->producer >= 0)
				connect(&out, &v, v.box[(*r)->producer], v.box[i]);
	vec_each (x, &g->inputs) {
		add_end(&out, &v, *x);
		vec_each (reader, &(*x)->consumers)
			connect(&out, &v, out.boxes.n - 1, v.box[*reader]);
	}
	add_captured(&out, &v);
	vec_each (x, &g->outputs) {
		add_end(&out, &v, *x);
		if ((*x)->producer >= 0)
			connect(&out, &v, v.box[(*x)->producer], out.boxes.n - 1);
	}
	const char *when = after ? "after" : "before";
	html_picture(&p->html,
	             *g->name ? arena_printf(a, "%s, %s", g->name, when) : arena_printf(a, "The model %s", when), &out);
}

/* The region of each node of the graph, -1: none; and the number of regions. */
static int *regions_of(struct page *p, const struct graph *g, int *count)
{
	int *region = NEWN(p->b->arena, int, g->nodes.n + 1);
	*count = 0;
	for (int i = 0; i < g->nodes.n; i++)
		region[i] = -1;
	for (int k = 0; k < p->b->regions.n; k++) {
		const struct graph_region *r = p->b->regions.at[k];
		if (r->graph != g)
			continue;
		++*count;
		vec_each (node, &r->nodes)
			region[*node] = k;
	}
	return region;
}

/* True if the node that holds the body, or one around it, is in a region: the body is then part of that plugin. */
static bool is_taken(const struct page *p, const struct graph *body)
{
	for (const struct graph *g = body; g->outer; g = g->outer)
		for (int k = 0; k < p->b->regions.n; k++) {
			const struct graph_region *r = p->b->regions.at[k];
			vec_each (node, &r->nodes)
				if (r->graph == g->outer && *node == g->holder)
					return true;
		}
	return false;
}

/* The graphs inside If, Loop and Scan; the first with regions are open. */
static void draw_bodies(struct page *p, bool after)
{
	enum { OPEN = 4 };
	int left_out = 0, open = 0;
	vec_each (g, &p->b->graph->graphs) {
		struct graph *body = *g;
		int regions, *region = regions_of(p, body, &regions);
		bool taken = body->outer && is_taken(p, body);
		if (!body->outer || !body->nodes.n || (after && (!regions || taken)))
			continue;
		if (p->html.n > MOST_BYTES_OF_BODIES) {
			left_out++;
			continue;
		}
		open += regions > 0;
		str_printf(&p->html, "<details%s><summary>", regions && open <= OPEN ? " open=\"open\"" : "");
		html_text(&p->html, body->name);
		str_printf(&p->html, ": %d node%s%s</summary>", body->nodes.n, body->nodes.n == 1 ? "" : "s",
		           taken ? ", inside a region" : "");
		draw(p, body, region, after);
		str_add(&p->html, "</details>\n");
	}
	if (left_out)
		str_printf(&p->html, "<p>%d more graph%s inside nodes %s left out, to keep the page short.</p>\n",
		           left_out, left_out == 1 ? "" : "s", left_out == 1 ? "is" : "are");
}

void page_graphs(struct page *p)
{
	struct graph *g = p->b->graph;
	int regions, *region = regions_of(p, g, &regions);
	str_add(&p->html,
	        "<section id=\"before\"><h2>The model before</h2>\n<p>Each box is a node. A region's nodes have "
	        "the colour of its plugin. Consecutive nodes outside of all regions share a box. Nodes whose "
	        "results are known at build time are not shown.</p>\n");
	draw(p, g, region, false);
	draw_bodies(p, false);
	str_add(&p->html, "</section>\n<section id=\"after\"><h2>The model after</h2>\n");
	draw(p, g, region, true);
	draw_bodies(p, true);
	str_add(&p->html, "</section>\n");
}
