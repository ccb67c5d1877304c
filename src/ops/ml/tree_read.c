/* Decision trees from lists of nodes that refer to each other by numbers of tree and node; and the parts of reading
 * that TreeEnsemble (tree_compact.c) shares. Source: ONNX, TreeEnsembleRegressor and TreeEnsembleClassifier of
 * ai.onnx.ml, versions 1, 3 and 5. */
#include "ops/ml/tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lists ------------------------------------------------------------------------------------------------------ */

int forest_tensor(struct lower *l, const struct tensor *t, const double **at, int *n)
{
	int64_t count = tensor_count(t);
	double *x;

	if (!type_is_float(t->type) || count < 0 || count > FOREST_MAX_NODES)
		return lower_fail(l, ERR_MODEL, "a tensor of its attributes is %s; it must be of floats.",
		                  tensor_describe(t, l->program->arena));
	*at = x = NEWN(l->program->arena, double, count + 1);
	*n = (int)count;
	for (int64_t i = 0; i < count; i++)
		x[i] = tensor_float(t, i);
	return 0;
}

int forest_numbers(struct lower *l, const char *name, const double **at, int *n, bool *wide)
{
	const struct tensor *t = lower_tensor(l, arena_printf(l->program->arena, "%s_as_tensor", name));

	*n = lower_floats(l, name, at);
	if (*n || !t)
		return 0;
	*wide |= t->type == TYPE_F64;
	return forest_tensor(l, t, at, n);
}

/* Integers of one list of the nodes or votes, which has `n` elements. */
int forest_list(struct lower *l, const char *name, int n, const int64_t **at)
{
	int count = lower_int_list(l, name, at);

	if (count != n)
		return lower_fail(l, ERR_MODEL, "%s has %d elements, but the lists next to it have %d.", name, count,
		                  n);
	return 0;
}

int forest_place(struct lower *l, const char *name, int64_t x, int64_t end, int *out)
{
	if (x < 0 || x >= end)
		return lower_fail(l, ERR_MODEL, "%s has the element %lld; it must be at least 0 and below %lld.", name,
		                  (long long)x, (long long)end);
	*out = (int)x;
	return 0;
}

/* ---- Depth ------------------------------------------------------------------------------------------------------ */

/* The comparisons from the roots to the deepest leaf; fails if nodes form a cycle. */
int forest_measure(struct lower *l, struct forest *f)
{
	struct arena *a = l->program->arena;
	int *now = NEWN(a, int, f->inner + f->trees + 1), *next = NEWN(a, int, f->inner + f->trees + 1);
	int *seen = NEWN(a, int, f->inner + 1), n = 0; /* depth in which a node was found last */

	for (int t = 0; t < f->trees; t++)
		if (f->root[t] < f->inner)
			now[n++] = f->root[t];
	f->reached = n;
	for (f->depth = 0; n; f->depth++) {
		int m = 0, *swap = now;

		if (f->depth > f->inner)
			return lower_fail(l, ERR_MODEL, "the nodes of a tree form a cycle.");
		for (int i = 0; i < n; i++) {
			int child[2] = { f->node[now[i]].on_true, f->node[now[i]].on_false };

			for (int k = 0; k < 2; k++) {
				if (child[k] >= f->inner || seen[child[k]] == f->depth + 1)
					continue;
				f->reached += !seen[child[k]];
				seen[child[k]] = f->depth + 1;
				next[m++] = child[k];
			}
		}
		now = next;
		next = swap;
		n = m;
	}
	return 0;
}

/* ---- TreeEnsembleRegressor, TreeEnsembleClassifier -------------------------------------------------------------- */

/* A node's numbers, and its place in the lists. */
struct key {
	int64_t tree, node;
	int place;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

struct reader {
	struct lower *l;
	struct forest *f;
	int n;           /* nodes in the lists */
	struct key *key; /* sorted */
	const int64_t *tree, *id, *feature, *on_true, *on_false, *missing;
	const double *value;
	const char *const *mode;
	int *number; /* the number in the forest of each node of the lists */
	bool *is_leaf, *is_child;
};

static int find(struct reader *r, int64_t tree, int64_t node, int *place)
{
	struct key want = { tree, node, 0 }, *found = bsearch(&want, r->key, (size_t)r->n, sizeof want, by_key);

	if (!found)
		return lower_fail(r->l, ERR_MODEL, "tree %lld has no node %lld.", (long long)tree, (long long)node);
	*place = found->place;
	return 0;
}

static int read_lists(struct reader *r)
{
	struct lower *l = r->l;
	struct arena *a = l->program->arena;
	int values, modes = lower_strings(l, "nodes_modes", &r->mode);

	r->n = lower_int_list(l, "nodes_nodeids", &r->id);
	if (r->n < 1 || r->n > FOREST_MAX_NODES)
		return lower_fail(l, ERR_MODEL, "there are %d nodes (nodes_nodeids), which are too many or none.",
		                  r->n);
	TRY(forest_list(l, "nodes_treeids", r->n, &r->tree));
	TRY(forest_list(l, "nodes_featureids", r->n, &r->feature));
	TRY(forest_list(l, "nodes_truenodeids", r->n, &r->on_true));
	TRY(forest_list(l, "nodes_falsenodeids", r->n, &r->on_false));
	if (lower_int_list(l, "nodes_missing_value_tracks_true", &r->missing))
		TRY(forest_list(l, "nodes_missing_value_tracks_true", r->n, &r->missing));
	TRY(forest_numbers(l, "nodes_values", &r->value, &values, &r->f->wide));
	if (values != r->n || modes != r->n)
		return lower_fail(l, ERR_MODEL, "there are %d nodes, but %d nodes_values and %d nodes_modes.", r->n,
		                  values, modes);
	r->key = NEWN(a, struct key, r->n);
	for (int i = 0; i < r->n; i++)
		r->key[i] = (struct key){ r->tree[i], r->id[i], i };
	qsort(r->key, (size_t)r->n, sizeof *r->key, by_key);
	for (int i = 1; i < r->n; i++)
		if (by_key(&r->key[i - 1], &r->key[i]) == 0)
			return lower_fail(l, ERR_MODEL, "tree %lld has two nodes %lld.", (long long)r->key[i].tree,
			                  (long long)r->key[i].node);
	return 0;
}

/* Numbers of all nodes, the inner ones first. */
static int number_nodes(struct reader *r)
{
	struct forest *f = r->f;
	struct arena *a = r->l->program->arena;
	int leaf;

	r->number = NEWN(a, int, r->n);
	r->is_leaf = NEWN(a, bool, r->n);
	r->is_child = NEWN(a, bool, r->n);
	for (int i = 0; i < r->n; i++)
		f->inner += !(r->is_leaf[i] = strcmp(r->mode[i], "LEAF") == 0);
	f->nodes = r->n;
	f->node = NEWN(a, struct tree_node, r->n);
	f->tree = NEWN(a, int, r->n - f->inner + 1);
	leaf = f->inner;
	for (int i = 0, inner = 0; i < r->n; i++)
		r->number[i] = r->is_leaf[i] ? leaf++ : inner++;
	return 0;
}

static int mode_of(struct lower *l, const char *word, enum tree_mode *out)
{
	static const char *const words[TREE_MODES] = { "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
		                                       "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ" };

	for (int k = 0; k < TREE_MODES; k++)
		if (strcmp(words[k], word) == 0) {
			*out = (enum tree_mode)k;
			return 0;
		}
	return lower_fail(l, ERR_MODEL, "nodes_modes has the word \"%s\", which is not a mode.", word);
}

static int read_nodes(struct reader *r)
{
	for (int i = 0; i < r->n; i++) {
		struct tree_node *x = &r->f->node[r->number[i]];
		int on_true, on_false;

		x->on_true = x->on_false = r->number[i];
		if (r->is_leaf[i])
			continue;
		TRY(mode_of(r->l, r->mode[i], &x->mode));
		TRY(forest_place(r->l, "nodes_featureids", r->feature[i], INT32_MAX, &x->feature));
		TRY(find(r, r->tree[i], r->on_true[i], &on_true));
		TRY(find(r, r->tree[i], r->on_false[i], &on_false));
		r->is_child[on_true] = r->is_child[on_false] = true;
		x->on_true = r->number[on_true];
		x->on_false = r->number[on_false];
		x->value = r->value[i];
		x->missing = r->missing && r->missing[i];
	}
	return 0;
}

/* Trees: runs of equal tree numbers in the sorted keys, each with one node that has no parent. */
static int find_roots(struct reader *r)
{
	struct forest *f = r->f;

	f->root = NEWN(r->l->program->arena, int, r->n);
	for (int i = 0, end; i < r->n; i = end) {
		int roots = 0;

		for (end = i; end < r->n && r->key[end].tree == r->key[i].tree; end++) {
			int place = r->key[end].place, number = r->number[place];

			if (number >= f->inner)
				f->tree[number - f->inner] = f->trees;
			if (r->is_child[place])
				continue;
			f->root[f->trees] = number;
			roots++;
		}
		if (roots != 1)
			return lower_fail(r->l, ERR_MODEL, "tree %lld has %d roots: nodes that no other leads to.",
			                  (long long)r->key[i].tree, roots);
		f->trees++;
	}
	return 0;
}

static int read_votes(struct reader *r, const char *what)
{
	struct lower *l = r->l;
	struct arena *a = l->program->arena;
	const int64_t *tree, *node, *target;
	const double *weight;
	int n, weights, place;

	n = lower_int_list(l, arena_printf(a, "%s_ids", what), &target);
	TRY(forest_list(l, arena_printf(a, "%s_treeids", what), n, &tree));
	TRY(forest_list(l, arena_printf(a, "%s_nodeids", what), n, &node));
	TRY(forest_numbers(l, arena_printf(a, "%s_weights", what), &weight, &weights, &r->f->wide));
	if (weights != n)
		return lower_fail(l, ERR_MODEL, "there are %d elements in %s_ids, but %d weights.", n, what, weights);
	r->f->vote = NEWN(a, struct tree_vote, n + 1);
	for (int i = 0; i < n; i++) {
		TRY(find(r, tree[i], node[i], &place));
		if (!r->is_leaf[place]) /* it is never arrived at */
			continue;
		struct tree_vote *v = &r->f->vote[r->f->votes++];

		v->leaf = r->number[place] - r->f->inner;
		v->weight = weight[i];
		TRY(forest_place(l, arena_printf(a, "%s_ids", what), target[i], INT32_MAX, &v->target));
	}
	return 0;
}

int forest_read(struct lower *l, const char *votes, struct forest *out)
{
	struct reader r = { .l = l, .f = out };

	*out = (struct forest){ 0 };
	TRY(read_lists(&r));
	TRY(number_nodes(&r));
	TRY(read_nodes(&r));
	TRY(find_roots(&r));
	TRY(read_votes(&r, votes));
	TRY(forest_measure(l, out));
	if (out->reached < out->inner)
		return lower_fail(l, ERR_MODEL, "no root leads to %d of the nodes.", out->inner - out->reached);
	return 0;
}
