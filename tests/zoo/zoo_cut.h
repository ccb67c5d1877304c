/* Ways to cut a model into regions. */
#ifndef TPAT_TESTS_ZOO_CUT_H
#define TPAT_TESTS_ZOO_CUT_H

#include "graph/graph.h"

/* Random convex sets; what --auto joins if the engine refuses a third of the nodes; the chains of --auto=fast; regions
 * of 1 to 4 consecutive nodes that exchange tensors of other types than the engine has. */
enum { ZOO_MOST_CUTS = 16, ZOO_RANDOM = -1, ZOO_JOINED = -2, ZOO_FAST = -3, ZOO_EXCHANGE = -4 };

/* Parses "1,3,8,20,r,j,f,x": nodes per region, or one of these. Returns their number; 0 for invalid text. */
int zoo_cuts_read(int *cut, const char *text);
/* Sets the seed of what is random; 0, the default, is one like any other. */
void zoo_cut_seed(uint64_t seed);
const char *zoo_cut_name(int cut, struct arena *a);

/* Calls `each` with the nodes (ascending) of every region of the cut: consecutive supported nodes that something needs,
 * or one of the above, the same every time. During the calls of ZOO_EXCHANGE the values are marked
 * (graph_exchange). Returns the number of supported nodes. */
int zoo_cut(struct graph *g, int cut, void (*each)(void *user, const int *node, int n), void *user);

/* Rewrites the graph's model with a plugin per region of the cut; for ZOO_RANDOM, only regions that share no node and
 * do not depend on each other cyclically. Leaves regions that cannot be plugins unchanged. */
int zoo_rewrite(struct graph *g, int cut, struct arena *a, struct err *e);

#endif
