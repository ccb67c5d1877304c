/* Decision trees from lists of nodes that refer to each other by position. A node that tests for members of a set
 * becomes a search tree of comparisons. Source: ONNX, TreeEnsemble of ai.onnx.ml, version 5. */
#include "ops/ml/tree.h"

#include <math.h>
#include <stdlib.h>

enum { MEMBER = 6 }; /* in nodes_modes, after those of enum tree_mode */

struct grower {
	struct lower *l;
	struct {
		VEC(struct tree_node);
	} inner;              /* the given nodes, then those made from sets; leaf k is ~k until all are known */
	const double *member; /* the rest of membership_values */
	int members;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Grows a search tree over n > 0 sorted numbers: true if x is one of them. The root goes to position `at`, which
 * exists already. */
static void grow_search(struct grower *g, int at, struct tree_node like, const double *set, int n)
{
	struct tree_node x = like;

	x.mode = TREE_EQ;
	x.value = set[0];
	if (n > 1) {
		x.mode = TREE_LT;
		x.value = set[n / 2];
		x.on_true = g->inner.n;
		vec_push(g->l->program->arena, &g->inner, like);
		grow_search(g, x.on_true, like, set, n / 2);
		x.on_false = g->inner.n;
		vec_push(g->l->program->arena, &g->inner, like);
		grow_search(g, x.on_false, like, set + n / 2, n - n / 2);
	}
	g->inner.at[at] = x;
}

/* The next set of membership_values; sets end with NaN. */
static int grow_member(struct grower *g, int at, struct tree_node like)
{
	double *set = NEWN(g->l->program->arena, double, g->members + 1);
	int n = 0;

	if (!g->members)
		return lower_fail(g->l, ERR_MODEL,
		                  "membership_values has fewer sets than there are nodes BRANCH_MEMBER.");
	while (g->members && !isnan(*g->member)) {
		set[n++] = *g->member++;
		g->members--;
	}
	if (g->members) {
		g->member++;
		g->members--;
	}
	if (!n) { /* an empty set: only a missing value may count as a member */
		like.mode = TREE_LT;
		like.value = -(double)INFINITY;
		g->inner.at[at] = like;
		return 0;
	}
	qsort(set, (size_t)n, sizeof *set, by_value);
	grow_search(g, at, like, set, n);
	return 0;
}

static int child_of(struct lower *l, const char *name, int64_t x, int64_t leaf, int inner, int leaves, int *out)
{
	TRY(forest_place(l, name, x, leaf ? leaves : inner, out));
	if (leaf)
		*out = ~*out;
	return 0;
}

static int grow_nodes(struct grower *g, const struct tensor *modes, int n, int leaves)
{
	struct lower *l = g->l;
	const int64_t *feature, *on_true, *on_false, *true_leaf, *false_leaf, *missing = NULL;
	const struct tensor *splits = lower_tensor(l, "nodes_splits");
	const double *split;
	int values;

	TRY(forest_list(l, "nodes_featureids", n, &feature));
	TRY(forest_list(l, "nodes_truenodeids", n, &on_true));
	TRY(forest_list(l, "nodes_falsenodeids", n, &on_false));
	TRY(forest_list(l, "nodes_trueleafs", n, &true_leaf));
	TRY(forest_list(l, "nodes_falseleafs", n, &false_leaf));
	if (lower_int_list(l, "nodes_missing_value_tracks_true", &missing))
		TRY(forest_list(l, "nodes_missing_value_tracks_true", n, &missing));
	if (!splits)
		return lower_fail(l, ERR_MODEL, "attribute \"nodes_splits\" is missing.");
	TRY(forest_tensor(l, splits, &split, &values));
	if (values != n)
		return lower_fail(l, ERR_MODEL, "there are %d nodes, but %d nodes_splits.", n, values);
	for (int i = 0; i < n; i++) {
		struct tree_node x = { .value = split[i], .missing = missing && missing[i] };

		TRY(forest_place(l, "nodes_featureids", feature[i], INT32_MAX, &x.feature));
		TRY(child_of(l, "nodes_truenodeids", on_true[i], true_leaf[i], n, leaves, &x.on_true));
		TRY(child_of(l, "nodes_falsenodeids", on_false[i], false_leaf[i], n, leaves, &x.on_false));
		vec_push(l->program->arena, &g->inner, x);
	}
	for (int i = 0; i < n; i++) {
		int mode;

		TRY(forest_place(l, "nodes_modes", tensor_int(modes, i), MEMBER + 1, &mode));
		if (mode == MEMBER)
			TRY(grow_member(g, i, g->inner.at[i]));
		else
			g->inner.at[i].mode = (enum tree_mode)mode;
	}
	return 0;
}

static int read_leaves(struct lower *l, struct forest *f, int *leaves)
{
	const struct tensor *weights = lower_tensor(l, "leaf_weights");
	const int64_t *target;
	const double *weight;

	if (!weights)
		return lower_fail(l, ERR_MODEL, "attribute \"leaf_weights\" is missing.");
	f->wide = weights->type == TYPE_F64;
	TRY(forest_tensor(l, weights, &weight, leaves));
	TRY(forest_list(l, "leaf_targetids", *leaves, &target));
	f->votes = *leaves;
	f->vote = NEWN(l->program->arena, struct tree_vote, *leaves + 1);
	for (int i = 0; i < *leaves; i++) {
		f->vote[i] = (struct tree_vote){ .leaf = i, .weight = weight[i] };
		TRY(forest_place(l, "leaf_targetids", target[i], INT32_MAX, &f->vote[i].target));
	}
	return 0;
}

int forest_read_compact(struct lower *l, struct forest *out)
{
	const struct tensor *modes = lower_tensor(l, "nodes_modes"), *members = lower_tensor(l, "membership_values");
	struct arena *a = l->program->arena;
	struct grower g = { .l = l };
	const int64_t *root;
	int leaves, n;

	*out = (struct forest){ .trees = lower_int_list(l, "tree_roots", &root) };
	if (!modes || tensor_count(modes) < 1 || tensor_count(modes) > FOREST_MAX_NODES || modes->type != TYPE_U8)
		return lower_fail(l, ERR_MODEL, "nodes_modes must be a tensor of u8 with an element for each node.");
	n = (int)tensor_count(modes);
	if (members)
		TRY(forest_tensor(l, members, &g.member, &g.members));
	TRY(read_leaves(l, out, &leaves));
	TRY(grow_nodes(&g, modes, n, leaves));
	out->inner = g.inner.n;
	out->nodes = g.inner.n + leaves;
	out->node = NEWN(a, struct tree_node, out->nodes + 1);
	for (int i = 0; i < out->nodes; i++) {
		struct tree_node *x = &out->node[i];

		*x = i < out->inner ? g.inner.at[i] : (struct tree_node){ .on_true = i, .on_false = i };
		x->on_true = x->on_true < 0 ? out->inner + ~x->on_true : x->on_true;
		x->on_false = x->on_false < 0 ? out->inner + ~x->on_false : x->on_false;
	}
	out->root = NEWN(a, int, out->trees + 1);
	for (int i = 0; i < out->trees; i++)
		TRY(forest_place(l, "tree_roots", root[i], n, &out->root[i]));
	return forest_measure(l, out);
}
