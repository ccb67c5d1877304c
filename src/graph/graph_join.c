/* See graph_join.h. A node's level is the number of times that a path from a seed to it must leave the plugins, at
 * most. Levels never decrease along an edge, and increase where a path returns from the engine. So the nodes of one
 * level that are connected form a convex region, and of two regions only one can need the other's results. */
#include "graph/graph_join.h"

enum { MOST_PRODUCTS = 8, MOST_KINDS = 256, MOST_NODES = 1024, ROUNDS = 4 };

/* ---- Neighbours. */

static bool is_reader(const struct join *j, int node)
{
	return !j->g->nodes.at[node].folded;
}

static bool joins(const struct join *j, int node)
{
	return j->seed[node] || j->link[node];
}

/* True if the region has a node that makes `v`. */
static bool makes(const struct join *j, const struct graph_value *v, int region)
{
	return v->producer >= 0 && j->of[v->producer] == region;
}

/* Calls fn for each node that reads a result of this one and is not computed at build time, until it returns false. */
static bool each_reader(const struct join *j, int node, bool (*fn)(const struct join *j, int reader, int x), int x)
{
	const Onnx__NodeProto *p = j->g->nodes.at[node].proto;

	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(j->g, p->output[k]);

		for (int i = 0; v && i < v->consumers.n; i++)
			if (is_reader(j, v->consumers.at[i]) && !fn(j, v->consumers.at[i], x))
				return false;
	}
	return true;
}

/* True if a body, or the caller, reads a result of the node. */
static bool leaves_graph(const struct join *j, int node)
{
	const Onnx__NodeProto *p = j->g->nodes.at[node].proto;

	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(j->g, p->output[k]);

		if (v && (v->is_output || v->captured))
			return true;
	}
	return false;
}

/* ---- Levels, and connected nodes. */

/* Returns a node's level by those of its inputs; JOIN_NONE: it follows from no seed. */
static int level_of(const struct join *j, const struct graph_node *n)
{
	int level = j->seed[n->index] ? 0 : JOIN_NONE;
	bool inside = joins(j, n->index);

	vec_each (v, &n->reads) {
		int p = (*v)->producer, own;

		if (p < 0 || (*v)->is_constant || j->level[p] == JOIN_NONE)
			continue;
		own = j->level[p] + (inside && !joins(j, p));
		level = own > level ? own : level;
	}
	return level;
}

/* All nodes of a region that was selected otherwise have one level, as they become one node. */
static bool level_owners(struct join *j, int *most)
{
	bool changed = false;

	for (int i = 0; i < j->g->nodes.n; i++)
		if (j->owner[i] >= 0 && j->level[i] > most[j->owner[i]])
			most[j->owner[i]] = j->level[i];
	for (int i = 0; i < j->g->nodes.n; i++)
		if (j->owner[i] >= 0 && j->level[i] != most[j->owner[i]]) {
			j->level[i] = most[j->owner[i]];
			changed = true;
		}
	return changed;
}

static void set_levels(struct join *j)
{
	int owners = 0, *most;
	bool again = true;

	for (int i = 0; i < j->g->nodes.n; i++)
		owners = j->owner[i] >= owners ? j->owner[i] + 1 : owners;
	most = NEWN(j->scratch, int, owners + 1);
	for (int i = 0; i < owners; i++)
		most[i] = JOIN_NONE;
	for (int i = 0; i < j->g->nodes.n; i++)
		j->level[i] = JOIN_NONE;
	while (again) {
		vec_each (n, &j->g->nodes) {
			int level = n->folded ? JOIN_NONE : level_of(j, n);

			if (level > j->level[n->index])
				j->level[n->index] = level;
		}
		again = owners && level_owners(j, most);
	}
}

static int root_of(int *up, int i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

int join_number(struct join *j, bool by_level)
{
	int n = j->g->nodes.n, regions = 0, *up = NEWN(j->scratch, int, n + 1), *number = NEWN(j->scratch, int, n + 1);
	const int *same = by_level ? j->level : j->of;
	bool *seeded = NEWN(j->scratch, bool, n + 1);

	for (int i = 0; i < n; i++)
		up[i] = i;
	vec_each (x, &j->g->nodes) {
		if (!joins(j, x->index) || same[x->index] == JOIN_NONE)
			continue;
		vec_each (v, &x->reads) {
			int p = (*v)->producer;

			if (p >= 0 && joins(j, p) && !(*v)->is_constant && same[p] == same[x->index])
				up[root_of(up, x->index)] = root_of(up, p);
		}
	}
	for (int i = 0; i < n; i++) {
		seeded[root_of(up, i)] |= j->seed[i];
		number[i] = JOIN_NONE;
	}
	for (int i = 0; i < n; i++) {
		int top = root_of(up, i);

		if (!joins(j, i) || same[i] == JOIN_NONE || !seeded[top]) {
			j->of[i] = JOIN_NONE;
			continue;
		}
		if (number[top] == JOIN_NONE)
			number[top] = regions++;
		j->of[i] = number[top];
	}
	return regions;
}

/* ---- Adopting nodes that the engine takes. */

static bool in_region(const struct join *j, int reader, int unused)
{
	(void)unused;
	return j->of[reader] >= 0;
}

static bool is_surrounded(const struct join *j, const struct graph_node *n)
{
	bool reads = false;

	if (!n->known || n->folded || n->bodies.n || j->blocked[n->index] || leaves_graph(j, n->index))
		return false;
	vec_each (v, &n->reads) {
		if ((*v)->is_constant)
			continue;
		if ((*v)->producer < 0 || j->of[(*v)->producer] < 0)
			return false;
		reads = true;
	}
	return reads && graph_node_used(j->g, n->index) && each_reader(j, n->index, in_region, 0);
}

static bool adopt(struct join *j)
{
	bool any = false;

	vec_each (n, &j->g->nodes)
		if (!joins(j, n->index) && is_surrounded(j, n) && join_adopts(j, n->index))
			j->link[n->index] = any = true;
	return any;
}

/* ---- Moving a region's edge to where the fewest bytes cross it. */

static bool is_outside(const struct join *j, int reader, int region)
{
	return j->of[reader] != region;
}

static bool is_inside(const struct join *j, int reader, int region)
{
	return j->of[reader] == region;
}

/* True if a node of the region other than `node` reads the value. */
static bool is_read_inside(const struct join *j, const struct graph_value *v, int node, int region)
{
	for (int i = 0; i < v->consumers.n; i++)
		if (v->consumers.at[i] != node && j->of[v->consumers.at[i]] == region)
			return true;
	return false;
}

/* True if something outside the region needs the value, apart from `node`. */
static bool is_read_outside(const struct join *j, const struct graph_value *v, int node, int region)
{
	for (int i = 0; i < v->consumers.n; i++)
		if (v->consumers.at[i] != node && j->of[v->consumers.at[i]] != region &&
		    is_reader(j, v->consumers.at[i]))
			return true;
	return v->is_output || v->captured;
}

static double output_bytes(const struct join *j, int node)
{
	const Onnx__NodeProto *p = j->g->nodes.at[node].proto;
	double bytes = 0;

	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(j->g, p->output[k]);

		bytes += v && v->consumers.n + v->is_output ? join_edge_bytes(j, v) : 0;
	}
	return bytes;
}

/* A last node of a region stays if its results are no more bytes than what would leave the region without it. */
static bool ends_well(const struct join *j, int node, int region)
{
	double saved = 0;

	vec_each (v, &j->g->nodes.at[node].reads)
		if (makes(j, *v, region) && !is_read_outside(j, *v, node, region))
			saved += join_edge_bytes(j, *v);
	return output_bytes(j, node) <= saved;
}

/* True if the engine can fuse the node into one before it. */
static bool follows_engine(const struct join *j, const struct graph_node *n)
{
	vec_each (v, &n->reads) {
		int p = (*v)->producer;

		if (p >= 0 && !(*v)->is_constant && j->of[p] < 0 && j->owner[p] < 0 && j->g->nodes.at[p].known)
			return true;
	}
	return false;
}

/* A first node of a region stays if it reads fewer bytes than it passes on; or as many, and the engine would need a
 * kernel for it. Shape arithmetic reads no elements. */
static bool begins_well(const struct join *j, int node, int region)
{
	const struct graph_node *n = &j->g->nodes.at[node];
	const struct graph_value *out = graph_value_find(j->g, n->proto->output[0]);
	double read = 0, made = output_bytes(j, node);

	if (!each_reader(j, node, is_inside, region) || leaves_graph(j, node))
		return false;
	if (out && out->content)
		return true;
	vec_each (v, &n->reads)
		if (!is_read_inside(j, *v, node, region))
			read += join_edge_bytes(j, *v);
	return read < made || (read == made && !follows_engine(j, n));
}

static bool is_first(const struct join *j, int node)
{
	vec_each (v, &j->g->nodes.at[node].reads)
		if (!(*v)->is_constant && makes(j, *v, j->of[node]))
			return false;
	return true;
}

static bool is_last(const struct join *j, int node)
{
	return each_reader(j, node, is_outside, j->of[node]);
}

/* A node that is not a map fuses with nothing outside. */
static bool spoils(const struct join *j, int i)
{
	bool map = j->g->nodes.at[i].work == GRAPH_MAPS;

	if (j->of[i] < 0 || j->seed[i])
		return false;
	return (is_last(j, i) && !(map && ends_well(j, i, j->of[i]))) ||
	       (is_first(j, i) && !(map && begins_well(j, i, j->of[i])));
}

static bool trim_at(struct join *j, int i)
{
	bool out = spoils(j, i);

	if (out)
		j->of[i] = JOIN_NONE;
	return out;
}

void join_trim(struct join *j)
{
	bool again = true;

	while (again) {
		again = false;
		for (int i = j->g->nodes.n; i-- > 0;)
			again |= trim_at(j, i);
		for (int i = 0; i < j->g->nodes.n; i++)
			again |= trim_at(j, i);
	}
}

static bool first_reader(const struct join *j, int reader, int unused)
{
	(void)unused;
	j->level[j->g->nodes.n] = j->of[reader];
	return false;
}

/* Takes links that come before all seeds, and only feed one region. */
static void extend(struct join *j)
{
	for (int i = j->g->nodes.n; i-- > 0;) {
		int *found = &j->level[j->g->nodes.n];

		*found = JOIN_NONE;
		if (j->of[i] >= 0 || !j->link[i] || j->g->nodes.at[i].work != GRAPH_MAPS)
			continue;
		each_reader(j, i, first_reader, 0);
		if (*found >= 0 && begins_well(j, i, *found))
			j->of[i] = *found;
	}
}

/* ---- Size. */

/* A region has a limited number of kernels to compile, most of all of products. Layers that repeat share theirs. */
static void cut_large(struct join *j, int regions)
{
	int *node = NEWN(j->scratch, int, j->g->nodes.n + 1);
	const uint64_t *kind = join_kinds(j);

	for (int r = 0; r < regions; r++) {
		int n = 0, first;
		struct join_size size;

		for (int i = 0; i < j->g->nodes.n; i++)
			if (j->of[i] == r)
				node[n++] = i;
		size = join_size(j, kind, node, n);
		if (size.products <= MOST_PRODUCTS && size.nodes <= MOST_KINDS && n <= MOST_NODES)
			continue;
		first = join_cut(j, kind, node, n, MOST_PRODUCTS);
		for (int i = first; i < n; i++)
			j->of[node[i]] = regions;
		regions++;
	}
}

int graph_join(struct join *j)
{
	j->level = NEWN(j->scratch, int, j->g->nodes.n + 1);
	j->of = NEWN(j->scratch, int, j->g->nodes.n + 1);
	for (int round = 0;; round++) {
		set_levels(j);
		join_number(j, true);
		if (j->fast || round == ROUNDS || !adopt(j))
			break;
	}
	join_trim(j);
	join_number(j, false);
	extend(j);
	cut_large(j, join_number(j, false));
	join_trim(j);
	return join_number(j, false);
}
