/* Selection: nodes that the user names, and nodes that the engine lacks, as regions. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph_internal.h"

struct select {
	struct graph *g; /* the main graph */
	const struct graph_selection *s;
	struct graph_regions *out;
	struct err *err;
	bool **taken, **excepted, **wanted, **refused; /* by graph number and node; wanted: by its type; refused: by the
	                                                  engine */
};

/* ---- Bodies: nodes inside a node go with it ---------------------------------------------------- */

static bool is_inside_taken(const struct select *s, const struct graph *g)
{
	for (; g->outer; g = g->outer)
		if (s->taken[g->outer->number][g->holder])
			return true;
	return false;
}

/* Returns a selected node inside this one, or null. */
static const struct graph_node *find_taken(const struct select *s, const struct graph_node *n)
{
	const struct graph_node *found = NULL;

	vec_each (body, &n->bodies)
		vec_each (inner, &(*body)->nodes) {
			if (s->taken[(*body)->number][inner->index])
				return inner;
			if ((found = find_taken(s, inner)))
				return found;
		}
	return NULL;
}

static int in_two(struct select *s, const struct graph_node *n, const struct graph_node *inner)
{
	err_set(s->err, ERR_USAGE, "%s: node %s is inside of node %s, and both are selected.", s->g->model->path,
	        inner->label, n->label);
	return err_advise(s->err,
	                  "A node includes all nodes inside it: select one of the two. With --except %s the node is "
	                  "not selected by its type.",
	                  n->label);
}

/* Fails if a node around these, or inside one of them, is selected. */
static int check_inside(struct select *s, const struct graph *g, const int *node, int n)
{
	const struct graph_node *inner;

	for (const struct graph *x = g; x->outer; x = x->outer)
		if (s->taken[x->outer->number][x->holder])
			return in_two(s, &x->outer->nodes.at[x->holder], &g->nodes.at[node[0]]);
	for (int i = 0; i < n; i++)
		if ((inner = find_taken(s, &g->nodes.at[node[i]])))
			return in_two(s, &g->nodes.at[node[i]], inner);
	return 0;
}

/* ---- Regions. */

static int add_region(struct select *s, struct graph *g, const int *node, int n)
{
	struct graph_region *r;

	TRY(check_inside(s, g, node, n));
	TRY(graph_region_new(&r, g, node, n, s->err));
	for (int i = 0; i < n; i++)
		s->taken[g->number][node[i]] = true;
	vec_push(s->g->arena, s->out, r);
	return 0;
}

/* Nodes of constants in a region of others become initializers separately. */
static int add_nodes(struct select *s, struct graph *g, const int *node, int n)
{
	int folded = 0;

	for (int i = 0; i < n; i++)
		folded += g->nodes.at[node[i]].folded;
	TRY(add_region(s, g, node, n));
	const struct graph_region *r = s->out->at[s->out->n - 1];
	for (int i = 0; folded < n && i < n; i++)
		if (g->nodes.at[node[i]].folded && !graph_region_has(r, node[i]))
			TRY(add_region(s, g, &node[i], 1));
	return 0;
}

static const char *graph_text(const struct graph *g)
{
	return *g->name ? arena_printf(g->arena, "the graph %s", g->name) : "the main graph";
}

static int in_two_graphs(struct select *s, const struct graph *a, int i, const struct graph *b, int k)
{
	err_set(s->err, ERR_USAGE, "%s: a region's nodes must be in one graph: node %s is in %s, node %s in %s.",
	        s->g->model->path, a->nodes.at[i].label, graph_text(a), b->nodes.at[k].label, graph_text(b));
	return err_advise(s->err,
	                  "Make a region of each graph's nodes, or select the node that contains the inner graph.");
}

static int select_region(struct select *s, const struct graph_region_names *names)
{
	int *node = NEWN(s->g->arena, int, names->n + 1), n = 0;
	struct graph *g = NULL;

	for (int i = 0; i < names->n; i++) {
		struct graph *in;
		int x;

		TRY(graph_node_find(&in, &x, s->g, names->name[i], s->err));
		if (s->taken[in->number][x])
			return err_set(s->err, ERR_USAGE, "%s: node %s is in two regions.", s->g->model->path,
			               in->nodes.at[x].label);
		if (g && g != in)
			return in_two_graphs(s, g, node[0], in, x);
		g = in;
		node[n++] = x;
	}
	return n ? add_nodes(s, g, node, n)
	         : err_set(s->err, ERR_USAGE, "%s: a region names no node.", s->g->model->path);
}

static int select_name(struct select *s, const char *name)
{
	struct graph *g;
	int node;

	TRY(graph_node_find(&g, &node, s->g, name, s->err));
	return s->taken[g->number][node] ? 0 : add_region(s, g, &node, 1);
}

/* "Type", or "domain.Type". */
static bool is_type(const struct graph_node *n, const char *type)
{
	const char *domain = onnx_domain(n->proto->domain), *op = onnx_text(n->proto->op_type);
	size_t len = strlen(domain);

	if (strcmp(op, type) == 0)
		return true;
	return len && strncmp(type, domain, len) == 0 && type[len] == '.' && strcmp(type + len + 1, op) == 0;
}

static int no_type(struct select *s, const char *type)
{
	struct graph *g = s->g;
	const char **names, *closest;
	struct map seen = map_new(g->arena);
	struct str list = str_new(g->arena);

	vec_each (some, &g->graphs)
		vec_each (n, &(*some)->nodes)
			map_put(&seen, onnx_text(n->proto->op_type), g);
	names = NEWN(g->arena, const char *, seen.n + 1);
	for (int i = 0; i < seen.n; i++) {
		names[i] = seen.entry[i].name;
		if (i < 24)
			str_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	closest = str_closest(type, names);
	err_set(s->err, ERR_USAGE, "%s: there is no node of type %s.", g->model->path, type);
	vec_each (some, &g->graphs)
		vec_each (n, &(*some)->nodes)
			if (strcmp(onnx_text(n->proto->name), type) == 0)
				return err_advise(s->err, "%s is the name of a node: -n %s selects it.", type, type);
	return closest ? err_advise(s->err, "Did you mean %s?", closest)
	               : err_advise(s->err, "The model has %s%s.", str_text(&list), seen.n > 24 ? " ..." : "");
}

static bool can_take(const struct select *s, const struct graph *g, const struct graph_node *n)
{
	return n->known && !s->taken[g->number][n->index] && !s->excepted[g->number][n->index] &&
	       graph_node_used(g, n->index);
}

/* Says which nodes of a type are left out, and why. */
static void warn_left(struct select *s, const char *type, int left)
{
	struct str text = str_new(s->g->arena);

	str_printf(&text, "%d node%s of type %s %s not taken:", left, left == 1 ? "" : "s", type,
	           left == 1 ? "is" : "are");
	vec_each (some, &s->g->graphs)
		vec_each (n, &(*some)->nodes)
			if (is_type(n, type) && !n->known)
				str_printf(&text, " %s: %s", str_printable(s->g->arena, n->label), n->why);
	vec_push(s->g->arena, &s->g->warnings, str_text(&text));
}

static int want_type(struct select *s, const char *type)
{
	const struct graph *refused_in = NULL;
	int found = 0, known = 0, refused = -1;

	vec_each (some, &s->g->graphs)
		vec_each (n, &(*some)->nodes) {
			if (!is_type(n, type))
				continue;
			found++;
			known += n->known;
			if (!n->known && !refused_in) {
				refused_in = *some;
				refused = n->index;
			}
			s->wanted[(*some)->number][n->index] |= n->known;
		}
	if (!found)
		return no_type(s, type);
	if (known && known < found)
		warn_left(s, type, found - known);
	return known ? 0 : graph_node_check(refused_in, refused, s->err);
}

static int select_between(struct select *s)
{
	struct graph *g;
	int *node, n;

	TRY(graph_between(&g, &node, &n, s->g, s->s, s->err));
	return add_nodes(s, g, node, n);
}

/* Skips places with nodes that are taken, or that cannot become one node. */
static int add_match(void *user, struct graph *g, const int *node, int n)
{
	struct select *s = user;
	struct graph_region *r;
	struct err ignored = { 0 };

	if (is_inside_taken(s, g))
		return 0;
	for (int i = 0; i < n; i++)
		if (!can_take(s, g, &g->nodes.at[node[i]]) || g->nodes.at[node[i]].folded ||
		    find_taken(s, &g->nodes.at[node[i]]))
			return 0;
	if (graph_region_new(&r, g, node, n, &ignored) < 0)
		return 0;
	for (int i = 0; i < n; i++)
		s->taken[g->number][node[i]] = true;
	vec_push(s->g->arena, s->out, r);
	return 0;
}

static int select_pattern(struct select *s, const char *name)
{
	int before = s->out->n;

	TRY(graph_matches(s->g, name, add_match, s, s->err));
	return s->out->n > before ? 0
	                          : err_set(s->err, ERR_UNSUPPORTED, "%s: the pattern %s occurs nowhere.",
	                                    s->g->model->path, name);
}

/* True if the engine supports all nodes that hold the graph. */
static bool is_reached(const struct graph *g)
{
	const char *reason;

	for (; g->outer; g = g->outer)
		if (graph_support(g->outer, g->holder, &reason) == ENGINE_NO)
			return false;
	return true;
}

/* Nodes that the engine refuses; with `all`, every node of the main graph. */
static void want_refused(struct select *s)
{
	const char *reason;

	vec_each (some, &s->g->graphs) {
		bool reached = is_reached(*some);

		vec_each (n, &(*some)->nodes)
			if (s->s->all)
				s->refused[(*some)->number][n->index] = n->known && *some == s->g && !n->folded;
			else if (reached && n->known && (s->s->rates || !graph_misfit(*some, n->index)) &&
			         graph_support(*some, n->index, &reason) == ENGINE_NO)
				s->refused[(*some)->number][n->index] = true;
	}
}

/* Notes which region has each node, and which nodes must stay with the engine. */
static void find_owners(const struct select *s, const struct graph *g, int *owner, bool *blocked)
{
	vec_each (n, &g->nodes) {
		owner[n->index] = -1;
		blocked[n->index] = s->excepted[g->number][n->index] || find_taken(s, n);
	}
	for (int i = 0; i < s->out->n; i++)
		vec_each (node, &s->out->at[i]->nodes)
			if (s->out->at[i]->graph == g)
				owner[*node] = i;
}

static void take_regions(struct select *s, const struct graph *g, int first)
{
	for (int i = first; i < s->out->n; i++)
		vec_each (node, &s->out->at[i]->nodes)
			s->taken[g->number][*node] = true;
}

/* Joins the graph's refused nodes with what connects them. */
static int join_refused(struct select *s, struct graph *g)
{
	int *owner = NEWN(g->arena, int, g->nodes.n + 1), first;
	bool *seed = s->refused[g->number], *blocked = NEWN(g->arena, bool, g->nodes.n + 1);

	find_owners(s, g, owner, blocked);
	vec_each (n, &g->nodes)
		seed[n->index] = seed[n->index] && !blocked[n->index] && can_take(s, g, n);
	vec_each (n, &g->nodes)
		if (seed[n->index] && n->folded)
			TRY(add_region(s, g, &n->index, 1));
	first = s->out->n;
	TRY(graph_join_regions(s->out, g, seed, owner, blocked, s->s->rates, s->err));
	take_regions(s, g, first);
	return 0;
}

/* Adds chains of nodes that no region has. */
static int join_fast(struct select *s, struct graph *g)
{
	int *owner = NEWN(g->arena, int, g->nodes.n + 1), first = s->out->n;
	bool *blocked = NEWN(g->arena, bool, g->nodes.n + 1);

	find_owners(s, g, owner, blocked);
	TRY(graph_join_fast(s->out, g, owner, blocked, s->s->rates, s->err));
	take_regions(s, g, first);
	return 0;
}

/* Outer graphs come first, so that nodes inside a selected node are skipped. */
static int select_wanted(struct select *s)
{
	vec_each (some, &s->g->graphs) {
		struct graph *g = *some;

		if (!graph_used(g) || is_inside_taken(s, g))
			continue;
		vec_each (n, &g->nodes)
			if ((s->wanted[g->number][n->index] || (!s->s->rates && s->refused[g->number][n->index])) &&
			    can_take(s, g, n))
				TRY(add_region(s, g, &n->index, 1));
		if (s->s->rates)
			TRY(join_refused(s, g));
		if (s->s->rates && s->s->fast && is_reached(g))
			TRY(join_fast(s, g));
	}
	return 0;
}

static int compare_regions(const void *a, const void *b)
{
	const struct graph_region *x = *(struct graph_region *const *)a, *y = *(struct graph_region *const *)b;

	return x->graph != y->graph ? x->graph->number - y->graph->number : x->nodes.at[0] - y->nodes.at[0];
}

static int select_all(struct select *s)
{
	const struct graph_selection *o = s->s;

	for (int i = 0; i < o->excepts; i++) {
		struct graph *g;
		int node;

		TRY(graph_node_find(&g, &node, s->g, o->except[i], s->err));
		s->excepted[g->number][node] = true;
	}
	for (int i = 0; i < o->regions; i++)
		TRY(select_region(s, &o->region[i]));
	for (int i = 0; i < o->names; i++)
		TRY(select_name(s, o->name[i]));
	for (int i = 0; i < o->types; i++)
		TRY(want_type(s, o->type[i]));
	for (int i = 0; i < o->patterns; i++)
		TRY(select_pattern(s, o->pattern[i]));
	if (o->froms + o->tos)
		TRY(select_between(s));
	if (o->automatic || o->all)
		want_refused(s);
	return select_wanted(s);
}

static bool **marks(const struct graph *g)
{
	bool **out = NEWN(g->arena, bool *, g->graphs.n);

	for (int i = 0; i < g->graphs.n; i++)
		out[i] = NEWN(g->arena, bool, g->graphs.at[i]->nodes.n + 1);
	return out;
}

int graph_select(struct graph_regions *out, struct graph *g, const struct graph_selection *o, struct err *e)
{
	struct select s = { g, o, out, e, marks(g), marks(g), marks(g), marks(g) };

	*out = (struct graph_regions){ 0 };
	TRY(select_all(&s));
	if (out->n)
		qsort(out->at, (size_t)out->n, sizeof out->at[0], compare_regions);
	return 0;
}
