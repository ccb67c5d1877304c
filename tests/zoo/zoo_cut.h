/* Ways to cut a model into regions. */
#ifndef TPAT_TESTS_ZOO_CUT_H
#define TPAT_TESTS_ZOO_CUT_H

#include "graph/graph.h"

enum { ZOO_MOST_CUTS = 16, ZOO_RANDOM = -1 };

/* "1,3,8,20,r": nodes a region, or ZOO_RANDOM. Returns how many there are; 0: the text is none. */
int zoo_cuts_read(int *cut, const char *text);
const char *zoo_cut_name(int cut, struct arena *a);

/* Calls `each` with the nodes (ascending) of every region of the cut: consecutive ones of the nodes that can be taken
 * and that something needs, or convex sets by chance, the same ones every time. Returns how many nodes can be taken. */
int zoo_cut(struct graph *g, int cut, void (*each)(void *user, const int *node, int n), void *user);

/* Rewrites the graph's model with a plugin for each region of the cut; of ZOO_RANDOM for those that share no node, and
 * that do not need each other both ways. Regions that no plugin can be stay as they are. */
int zoo_rewrite(struct graph *g, int cut, struct arena *a, struct err *e);

#endif
