/* The walk down the trees of an ensemble, and the sum of the leaves' votes. A map over rows and trees takes one step,
 * from a node to a child, by comparing a feature with the node's value. Leaves lead to themselves, so that all trees
 * take as many steps as the deepest one. */
#include "ops/ml/tree.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 512 }; /* each level is a stage, and a kernel holds about six */

/* ---- Down the trees --------------------------------------------------------------------------------------------- */

struct tables {
	struct value feature, value, on_true, on_false, mode, missing;
	bool has_mode[TREE_MODES], has_missing;
	int modes, last; /* the number of modes, and one of them */
};

static int new_tables(struct lower *l, const struct forest *f, enum type c, struct tables *out)
{
	struct arena *a = l->program->arena;
	int64_t *list[5];
	double *value = NEWN(a, double, f->nodes);

	*out = (struct tables){ 0 };
	for (int k = 0; k < 5; k++)
		list[k] = NEWN(a, int64_t, f->nodes);
	for (int i = 0; i < f->nodes; i++) {
		const struct tree_node *x = &f->node[i];

		list[0][i] = x->feature;
		list[1][i] = x->on_true;
		list[2][i] = x->on_false;
		list[3][i] = x->mode;
		list[4][i] = x->missing;
		value[i] = x->value;
		if (i >= f->inner)
			continue;
		out->modes += !out->has_mode[x->mode];
		out->has_mode[x->mode] = true;
		out->last = x->mode;
		out->has_missing |= x->missing;
	}
	TRY(ml_ints(l, "node_feature", TYPE_I32, list[0], f->nodes, &out->feature));
	TRY(ml_ints(l, "node_true", TYPE_I32, list[1], f->nodes, &out->on_true));
	TRY(ml_ints(l, "node_false", TYPE_I32, list[2], f->nodes, &out->on_false));
	TRY(ml_constant(l, "node_value", c, value, f->nodes, &out->value));
	if (out->modes > 1)
		TRY(ml_ints(l, "node_mode", TYPE_U8, list[3], f->nodes, &out->mode));
	if (out->has_missing)
		TRY(ml_ints(l, "node_missing", TYPE_U8, list[4], f->nodes, &out->missing));
	return 0;
}

static expr compare(int mode, expr x, expr value)
{
	switch ((enum tree_mode)mode) {
	case TREE_LEQ: return le(x, value);
	case TREE_LT: return lt(x, value);
	case TREE_GTE: return ge(x, value);
	case TREE_GT: return gt(x, value);
	case TREE_EQ: return eq(x, value);
	case TREE_NEQ:
	case TREE_MODES: break;
	}
	return ne(x, value);
}

/* The condition that x takes the branch "true" at a node. */
static expr decide(const struct tables *t, expr node, expr x, expr value)
{
	expr e = compare(t->last, x, value), mode = NULL;

	if (t->modes > 1)
		mode = cast(load(t->mode, &node), TYPE_I32);
	for (int k = 0; k < TREE_MODES; k++)
		if (t->has_mode[k] && k != t->last)
			e = select_(eq(mode, with(mode, k)), compare(k, x, value), e);
	if (t->has_missing)
		e = or_(e, and_(unary(IR_ISNAN, x),
		                ne(cast(load(t->missing, &node), TYPE_I32), ir_int(x->pool, TYPE_I32, 0))));
	return e;
}

/* The feature of row `row` of x, in type c; x may be one row. */
static expr feature_of(struct value x, expr row, expr feature, enum type c)
{
	expr extent = value_dim(x, value_rank(x) - 1);

	feature = cast(feature, TYPE_INDEX);
	if (!ir_const_int(extent, &(int64_t){ 0 })) /* known extents are checked before */
		feature = max_(min_(feature, addi(extent, -1)), with(feature, 0));
	return cast(value_rank(x) == 1 ? load(x, &feature) : load_list(x, 2, row, feature), c);
}

int forest_walk(struct lower *l, const struct forest *f, enum type c, struct value *out)
{
	struct value x = lower_input(l, 0), root, node;
	struct arena *a = l->program->arena;
	int64_t *start = NEWN(a, int64_t, f->trees), features;
	struct space s = { 0 };
	struct tables t;
	expr row, tree, here;

	if (f->depth > MAX_DEPTH)
		return lower_fail(l, ERR_UNSUPPORTED, "a tree is %d comparisons deep; %d are the most.", f->depth,
		                  MAX_DEPTH);
	if (value_rank(x) < 1 || value_rank(x) > 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have one or two.", value_rank(x));
	if (ir_const_int(value_dim(x, value_rank(x) - 1), &features))
		for (int i = 0; i < f->inner; i++)
			if (f->node[i].feature >= features)
				return lower_fail(l, ERR_MODEL, "a node asks for feature %d, and the input has %lld.",
				                  f->node[i].feature, (long long)features);
	for (int i = 0; i < f->trees; i++)
		start[i] = f->root[i];
	TRY(ml_ints(l, "root", TYPE_I32, start, f->trees, &root));
	TRY(new_tables(l, f, c, &t));
	row = space_push(l, &s, value_rank(x) == 1 ? idx(l, 1) : value_dim(x, 0));
	tree = space_push(l, &s, idx(l, f->trees));
	here = load(root, &tree);
	for (int step = 0; step < f->depth; step++) {
		expr i = cast(here, TYPE_INDEX), e;

		e = feature_of(x, row, load(t.feature, &i), c);
		e = select_(decide(&t, i, e, load(t.value, &i)), load(t.on_true, &i), load(t.on_false, &i));
		if (step + 1 == f->depth)
			e = addi(e, -f->inner);
		node = lower_map(l, step + 1 == f->depth ? "leaf" : "node", TYPE_I32, &s, e);
		here = load(node, s.at);
	}
	*out = f->depth ? node : lower_map(l, "leaf", TYPE_I32, &s, addi(here, -f->inner));
	return 0;
}

/* ---- Votes ------------------------------------------------------------------------------------------------------ */

static int new_table(struct lower *l, const char *name, enum type t, int rows, int columns, struct tensor **data,
                     struct value *out)
{
	*data = NEW(l->program->arena, struct tensor);
	TRY(tensor_new(*data, t, 2, (int64_t[]){ rows, columns }, l->program->arena, l->err));
	*out = lower_data(l, name, *data);
	return 0;
}

static double combined(enum ir_combine c, double a, double b)
{
	return c == IR_MINIMUM ? fmin(a, b) : c == IR_MAXIMUM ? fmax(a, b) : a + b;
}

int forest_votes(struct lower *l, const struct forest *f, enum type c, struct forest_votes *v)
{
	const double none = v->combine == IR_SUM ? 0 : v->combine == IR_MINIMUM ? (double)INFINITY : -(double)INFINITY;
	int leaves = f->nodes - f->inner, *used = NEWN(l->program->arena, int, leaves + 1);
	struct tensor *weight, *target = NULL, *present = NULL;

	for (int i = 0; i < f->votes; i++) {
		if (f->vote[i].target >= v->targets)
			return lower_fail(l, ERR_MODEL, "a vote is for number %d, and there are %d.", f->vote[i].target,
			                  v->targets);
		if (++used[f->vote[i].leaf] > v->width)
			v->width = used[f->vote[i].leaf];
	}
	v->dense = v->targets <= 2 * v->width;
	v->width = v->dense ? v->targets : v->width < 1 ? 1 : v->width;
	if ((int64_t)leaves * v->width > INT32_MAX)
		return lower_fail(l, ERR_UNSUPPORTED, "%d leaves with %d votes are too many.", leaves, v->width);
	TRY(new_table(l, "leaf_weight", c, leaves, v->width, &weight, &v->weight));
	if (v->dense)
		TRY(new_table(l, "leaf_present", TYPE_BOOL, leaves, v->width, &present, &v->present));
	else
		TRY(new_table(l, "leaf_target", TYPE_I32, leaves, v->width, &target, &v->target));
	for (int64_t i = 0; i < (int64_t)leaves * v->width; i++) {
		tensor_set_float(weight, i, none);
		if (target)
			tensor_set_int(target, i, -1);
	}
	memset(used, 0, sizeof *used * (size_t)leaves);
	for (int i = 0; i < f->votes; i++) {
		const struct tree_vote *x = &f->vote[i];
		int64_t at = (int64_t)x->leaf * v->width + (v->dense ? x->target : used[x->leaf]++);

		tensor_set_float(weight, at, combined(v->combine, tensor_float(weight, at), x->weight));
		if (target)
			tensor_set_int(target, at, x->target);
		else
			tensor_set_int(present, at, 1);
	}
	return 0;
}

/* The space over rows and targets, then trees (and pairs), which are reduced; the condition that the leaf's vote is
 * for the target, and its weight. */
static struct space vote_space(struct lower *l, const struct forest_votes *v, struct value leaf, expr *is, expr *weight)
{
	struct space s = { 0 };
	expr at[2], row = space_push(l, &s, value_dim(leaf, 0)), target = space_push(l, &s, idx(l, v->targets));
	expr tree = space_push(l, &s, value_dim(leaf, 1));

	at[0] = cast(load_list(leaf, 2, row, tree), TYPE_INDEX);
	at[1] = v->dense ? target : space_push(l, &s, idx(l, v->width));
	*weight = load(v->weight, at);
	*is = v->dense ? load(v->present, at) : eq(load(v->target, at), cast(target, TYPE_I32));
	return s;
}

struct value forest_count(struct lower *l, const struct forest_votes *v, struct value leaf, bool average,
                          const struct value *base)
{
	expr is, weight, y;
	struct space s = vote_space(l, v, leaf, &is, &weight);
	enum type c = weight->type;
	expr none = ir_identity(l->program->pool, v->combine, c);

	if (!v->dense)
		weight = select_(is, weight, none);
	y = acc(l, c);
	if (v->combine != IR_SUM) /* no votes */
		y = select_(eq(y, none), with(y, 0), y);
	if (average)
		y = divide(y, cast(value_dim(leaf, 1), c));
	if (base)
		y = add(y, load(*base, &s.at[1]));
	return lower_reduce(l, "votes", c, &s, 2, v->combine, weight, y);
}

struct value forest_voted(struct lower *l, const struct forest_votes *v, struct value leaf)
{
	expr is, weight;
	struct space s = vote_space(l, v, leaf, &is, &weight);

	return lower_reduce(l, "voted", TYPE_BOOL, &s, 2, IR_ANY, is, NULL);
}
