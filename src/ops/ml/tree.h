/* Ensembles of decision trees: read from a node's attributes (tree_read.c) and lowered (tree.c). */
#ifndef TPAT_OPS_TREE_H
#define TPAT_OPS_TREE_H

#include "ops/ml/ml.h"

enum tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MODES };

/* Nodes are numbered: the inner ones first, then the leaves, which lead to themselves. */
struct tree_node {
	double value; /* the feature is compared with it */
	int feature;
	int on_true, on_false;
	enum tree_mode mode;
	bool missing; /* NaN counts as true */
};

struct tree_vote {
	int leaf, target; /* the leaf's number among the leaves */
	double weight;
};

struct forest {
	int nodes, inner, trees, votes;
	struct tree_node *node;
	int *root; /* the root of each tree */
	int *tree; /* the tree of each leaf; or null */
	struct tree_vote *vote;
	int depth;   /* number of comparisons on the longest path */
	int reached; /* number of inner nodes that a root leads to */
	bool wide;   /* numbers are f64 */
};

/* Reads the attributes of TreeEnsembleRegressor and TreeEnsembleClassifier; those of votes begin with `votes`:
 * "target" or "class". */
int forest_read(struct lower *l, const char *votes, struct forest *out);
/* Reads the attributes of TreeEnsemble. */
int forest_read_compact(struct lower *l, struct forest *out);

/* *out is i32[n, trees]: the leaf, numbered among the leaves, that each row of the node's input reaches in each tree.
 * Comparisons are in type c. */
int forest_walk(struct lower *l, const struct forest *f, enum type c, struct value *out);

/* Votes as a table: each leaf has a row of weights, one for each target; or, if most would be empty, a row of pairs of
 * target and weight, as long as the largest leaf needs. */
struct forest_votes {
	int targets; /* given, as is `combine`: IR_SUM, IR_MINIMUM or IR_MAXIMUM */
	enum ir_combine combine;
	bool dense;
	int width; /* entries of a row */
	struct value weight, target, present;
};
int forest_votes(struct lower *l, const struct forest *f, enum type c, struct forest_votes *v);
/* [n, targets]: votes of all trees; `average`: over the trees; base values, one for each target, or null. */
struct value forest_count(struct lower *l, const struct forest_votes *v, struct value leaf, bool average,
                          const struct value *base);
/* bool[n, targets]: true where there was a vote. */
struct value forest_voted(struct lower *l, const struct forest_votes *v, struct value leaf);

/* ---- Parts of reading, each of which fails with a sentence. */

enum { FOREST_MAX_NODES = 1 << 26 };

/* A list of numbers from an attribute, or from the tensor `NAME_as_tensor`, whose f64 make the forest wide. */
int forest_numbers(struct lower *l, const char *name, const double **at, int *n, bool *wide);
/* The floats of a tensor. */
int forest_tensor(struct lower *l, const struct tensor *t, const double **at, int *n);
/* A list that must have `n` integers. */
int forest_list(struct lower *l, const char *name, int n, const int64_t **at);
/* An element of list `name`, which must be at least 0 and below `end`. */
int forest_place(struct lower *l, const char *name, int64_t x, int64_t end, int *out);
/* Fills in the depth; fails if nodes form a cycle. */
int forest_measure(struct lower *l, struct forest *f);

#endif
