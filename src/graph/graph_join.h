/* Joins nodes that the engine refuses with what connects them cheaply, into few convex regions of one graph. Only files
 * of src/graph/ include this.
 *
 * A seed is a node that must become a part of a plugin. A link is a node whose stages are maps: inside a region it
 * fuses with its neighbours. All other nodes stay with the engine, except those that graph_join() adopts: nodes with
 * seeds and links all around them, which cost less in a plugin than two boundaries. */
#ifndef TPAT_GRAPH_GRAPH_JOIN_H
#define TPAT_GRAPH_GRAPH_JOIN_H

#include "graph/graph_internal.h"

enum { JOIN_NONE = -1 };

struct join {
	struct graph *g;
	const struct graph_rates *rates;
	bool *seed, *link;   /* of each node */
	const int *owner;    /* the region outside of this that has the node, from 0; or JOIN_NONE */
	const bool *blocked; /* the node stays with the engine */
	bool fast;           /* the engine could run all nodes: it keeps those that are no seed or link */
	int *of;             /* region of each node, or JOIN_NONE */
	int *level;
	struct arena *scratch;
};

/* Sets j->of for all nodes. Regions are numbered in the order of their first nodes; the number is returned. All are
 * convex and connected, have a seed, and no two need each other's results. Deterministic; takes time in proportion to
 * the graph's edges and the number of links that it leaves out. */
int graph_join(struct join *j);

/* Removes nodes at the edges of regions if without them fewer bytes cross the edges. */
void join_trim(struct join *j);
/* Numbers the connected parts of the regions in j->of, or of the levels if `by_level`, in the order of their first
 * nodes, and returns their number. Nodes of parts without a seed get JOIN_NONE. */
int join_number(struct join *j, bool by_level);

/* graph_join_cost.c */

/* Returns the bytes of a tensor's elements at a plugin's edge. 0 if it is constant. */
double join_edge_bytes(const struct join *j, const struct graph_value *v);
/* Returns the estimated nanoseconds of these nodes (ascending) with one plugin for each seed and the engine for all
 * others, or as one plugin. */
double join_apart_ns(const struct join *j, const int *node, int n);
double join_together_ns(const struct join *j, const int *node, int n);
/* True if a node with regions all around it costs less inside. */
bool join_adopts(const struct join *j, int node);

/* graph_join_kind.c: returns a number for each node, the same for nodes that have operator, types, extents and the maps
 * after them in common: their kernels are then likely to be one function. */
uint64_t *join_kinds(const struct join *j);

/* graph_join_cut.c */

/* The cost of compiling these nodes as one plugin: nodes of one kind count once. Without kinds, all nodes count. */
struct join_size {
	int products, nodes;
};
struct join_size join_size(const struct join *j, const uint64_t *kind, const int *node, int n);
/* Cuts a region (nodes ascending) in two, where the fewest bytes cross, so that the first part has at most `most`
 * products. Returns the number of nodes in the first part. Both parts are convex. */
int join_cut(const struct join *j, const uint64_t *kind, const int *node, int n, int most);

#endif
