/* TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble: each row of x goes down every tree; the leaves that it
 * reaches vote for targets or classes.
 *
 * ONNX leaves open the results of a classifier of two classes when all votes are for one of them. Here they follow
 * ONNX Runtime: the label follows from that score's threshold; with votes for the first class the two scores are -s
 * and s, or 1 - s and s if no vote is negative. Votes for both classes are two ordinary scores.
 * Source: ONNX, the operators of these names in ai.onnx.ml. Labels that are strings are not supported. */
#include "ops/ml/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Base values as a constant [targets] in type c; *given is true if there are any. */
static int base_of(struct lower *l, int targets, enum type c, bool *given, struct value *out)
{
	const double *at;
	bool wide = false;
	int n;

	TRY(forest_numbers(l, "base_values", &at, &n, &wide));
	*given = n > 0;
	if (!n)
		return 0;
	if (n != targets)
		return lower_fail(l, ERR_MODEL, "there are %d base values for %d scores.", n, targets);
	return ml_constant(l, "base_values", c, at, n, out);
}

static enum type type_of(struct lower *l, const struct forest *f)
{
	return f->wide || value_type(lower_input(l, 0)) == TYPE_F64 ? TYPE_F64 : TYPE_F32;
}

/* Makes output i from a result, in type t. */
static void output_as(struct lower *l, int i, enum type t, struct value v)
{
	struct space s = space_of(l, v);

	if (value_type(v) != t)
		v = lower_map(l, NULL, t, &s, cast(at(v, &s), t));
	lower_output(l, i, v);
}

/* ---- Regression ------------------------------------------------------------------------------------------------- */

/* `aggregate`: 0 AVERAGE, 1 SUM, 2 MIN, 3 MAX. */
static int regress(struct lower *l, const struct forest *f, int64_t targets, int64_t aggregate, const char *transform,
                   bool has_base, enum type t)
{
	struct forest_votes v = { .combine = aggregate == 2 ? IR_MINIMUM : aggregate == 3 ? IR_MAXIMUM : IR_SUM };
	enum type c = type_of(l, f);
	struct value leaf, base;

	if (targets < 1 || targets > INT32_MAX)
		return lower_fail(l, ERR_MODEL, "n_targets is %lld; it must be positive.", (long long)targets);
	v.targets = (int)targets;
	if (has_base)
		TRY(base_of(l, v.targets, c, &has_base, &base));
	TRY(forest_walk(l, f, c, &leaf));
	TRY(forest_votes(l, f, c, &v));
	output_as(l, 0, t,
	          ml_transform_regression(l, forest_count(l, &v, leaf, aggregate == 0, has_base ? &base : NULL),
	                                  transform));
	return 0;
}

static int regressor_lower(struct lower *l)
{
	static const char *const words[] = { "AVERAGE", "SUM", "MIN", "MAX" };
	const char *word = lower_word(l, "aggregate_function");
	struct forest f;
	int64_t aggregate = 0;

	while (strcmp(words[aggregate], word) != 0)
		aggregate++;
	TRY(forest_read(l, "target", &f));
	return regress(l, &f, lower_int(l, "n_targets"), aggregate, lower_word(l, "post_transform"), true, TYPE_F32);
}

static int ensemble_lower(struct lower *l)
{
	static const char *const words[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" };
	int64_t aggregate = lower_int(l, "aggregate_function"), transform = lower_int(l, "post_transform");
	struct forest f;

	if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
		return lower_fail(l, ERR_MODEL,
		                  "aggregate_function is %lld and post_transform %lld; they end at 3 and 4.",
		                  (long long)aggregate, (long long)transform);
	TRY(forest_read_compact(l, &f));
	return regress(l, &f, lower_int(l, "n_targets"), aggregate, words[transform], false,
	               value_type(lower_input(l, 0)));
}

/* ---- Classification --------------------------------------------------------------------------------------------- */

/* The class that all votes are for, or -1. */
static int only_class(const struct forest *f)
{
	for (int i = 1; i < f->votes; i++)
		if (f->vote[i].target != f->vote[0].target)
			return -1;
	return f->votes ? f->vote[0].target : -1;
}

static bool any_negative(const struct forest *f)
{
	for (int i = 0; i < f->votes; i++)
		if (f->vote[i].weight < 0)
			return true;
	return false;
}

static void output_label(struct lower *l, struct value labels, struct value score, expr which)
{
	struct space s = space_new(l, 1, &score.buf->dim[0]);

	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &s, load(labels, (expr[]){ cast(which, TYPE_INDEX) })));
}

/* Two classes, and all votes are for class `only`: `score` is [n, 1]. */
static void classify_pair(struct lower *l, struct value score, int only, bool negative, struct value labels)
{
	const char *transform = lower_word(l, "post_transform");
	bool logistic = !strcmp(transform, "LOGISTIC"), probit = !strcmp(transform, "PROBIT");
	struct space s = { 0 };
	expr row = space_push(l, &s, value_dim(score, 0)), column, first, second;
	struct value pair;

	second = load_list(score, 2, row, idx(l, 0));
	output_label(l, labels, score, gt(second, with(second, negative ? 0 : 0.5)));
	column = space_push(l, &s, idx(l, 2));
	if (only == 1)
		first = with(second, 0);
	else if (logistic || negative)
		first = unary(IR_NEG, second);
	else
		first = sub(with(second, 1), second);
	pair = lower_map(l, "pair", second->type, &s, select_(eq(column, idx(l, 0)), first, second));
	output_as(l, 1, TYPE_F32, only == 1 || logistic || probit ? ml_transform(l, pair, transform) : pair);
}

struct seat {
	int tree, class, leaf;
};

static int by_seat(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* The classes that have a vote wherever a row arrives: some tree votes for them in all its leaves. */
static const bool *certain(struct lower *l, const struct forest *f, int classes)
{
	struct arena *a = l->program->arena;
	int *leaves = NEWN(a, int, f->trees);
	bool *out = NEWN(a, bool, classes);
	struct seat *seat = NEWN(a, struct seat, f->votes + 1);

	for (int i = 0; i < f->nodes - f->inner; i++)
		leaves[f->tree[i]]++;
	for (int i = 0; i < f->votes; i++)
		seat[i] = (struct seat){ f->tree[f->vote[i].leaf], f->vote[i].target, f->vote[i].leaf };
	qsort(seat, (size_t)f->votes, sizeof *seat, by_seat);
	for (int i = 0, n = 0; i < f->votes; i++) {
		bool same = i && seat[i].class == seat[i - 1].class && seat[i].tree == seat[i - 1].tree;

		n = same ? n + (seat[i].leaf != seat[i - 1].leaf) : 1;
		out[seat[i].class] |= n == leaves[seat[i].tree];
	}
	return out;
}

/* The class with the largest score among those with votes; a base value is a vote. */
static void classify_many(struct lower *l, const struct forest *f, const struct forest_votes *v, struct value leaf,
                          struct value score, bool based, struct value labels)
{
	const bool *always = certain(l, f, v->targets);
	struct space s = space_of(l, score);
	struct value voted, best;
	expr e = load(score, s.at);
	bool all = true;

	for (int k = 0; k < v->targets; k++)
		all &= always[k];
	if (!all && !based) {
		voted = forest_voted(l, v, leaf);
		e = select_(load(voted, s.at), e, num(l, e->type, -(double)INFINITY));
	}
	best = lower_reduce(l, "best", TYPE_I64, &s, 1, IR_ARGMAX, e, NULL);
	output_label(l, labels, score, load(best, s.at));
	output_as(l, 1, TYPE_F32, ml_transform(l, score, lower_word(l, "post_transform")));
}

static int classifier_lower(struct lower *l)
{
	struct forest_votes v = { .combine = IR_SUM };
	struct value leaf, score, labels, base;
	int classes, only, bases;
	const int64_t *label;
	const double *number;
	struct forest f;
	bool wide = false, based;
	struct space s;
	enum type c;
	expr e;

	TRY(ml_check_labels(l, "classlabels_int64s"));
	classes = lower_int_list(l, "classlabels_int64s", &label);
	TRY(forest_numbers(l, "base_values", &number, &bases, &wide));
	TRY(forest_read(l, "class", &f));
	c = type_of(l, &f);
	only = classes == 2 && bases < 2 ? only_class(&f) : -1;
	if (bases == 1 && only == 1)
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "one base value is given with votes for the second of two classes, and engines "
		                  "differ on what it is added to.");
	for (int i = 0; only >= 0 && i < f.votes; i++)
		f.vote[i].target = 0;
	v.targets = only >= 0 ? 1 : classes;
	TRY(base_of(l, v.targets, c, &based, &base));
	TRY(forest_walk(l, &f, c, &leaf));
	TRY(forest_votes(l, &f, c, &v));
	score = forest_count(l, &v, leaf, false, based ? &base : NULL);
	if (classes == 1) { /* the label, or 0 */
		TRY(ml_ints(l, "labels", TYPE_I64, (int64_t[]){ 0, label[0] }, 2, &labels));
		s = space_of(l, score);
		e = load_list(score, 2, s.at[0], idx(l, 0));
		output_label(l, labels, score, gt(e, with(e, 0)));
		output_as(l, 1, TYPE_F32, ml_transform(l, score, lower_word(l, "post_transform")));
		return 0;
	}
	TRY(ml_ints(l, "labels", TYPE_I64, label, classes, &labels));
	if (only >= 0)
		classify_pair(l, score, only, any_negative(&f), labels);
	else
		classify_many(l, &f, &v, leaf, score, based, labels);
	return 0;
}

/* clang-format off */
#define TREES ATTR_LONG_INTS("nodes_nodeids", "number of each node in its tree"), \
	ATTR_LONG_INTS("nodes_treeids", "its tree"), \
	ATTR_LONG_INTS("nodes_featureids", "the feature that it looks at"), \
	ATTR_STRINGS("nodes_modes", "how: BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, or LEAF"), \
	ATTR_FLOATS("nodes_values", "what it is compared with"), \
	ATTR_TENSOR("nodes_values_as_tensor", "the same, f64"), \
	ATTR_LONG_INTS("nodes_truenodeids", "where to go on then"), \
	ATTR_LONG_INTS("nodes_falsenodeids", "where to go on otherwise"), \
	ATTR_LONG_INTS("nodes_missing_value_tracks_true", "NaN counts as true"), \
	ATTR_FLOATS("nodes_hitrates", "no effect"), ATTR_TENSOR("nodes_hitrates_as_tensor", "no effect"), \
	ATTR_FLOATS("base_values", "what scores begin with"), ATTR_TENSOR("base_values_as_tensor", "the same, f64"), \
	ATTR_TRANSFORM
#define VOTES(what) ATTR_LONG_INTS(what "_treeids", "tree of each vote"), \
	ATTR_LONG_INTS(what "_nodeids", "its leaf"), ATTR_LONG_INTS(what "_ids", "what it is for"), \
	ATTR_FLOATS(what "_weights", "and how much"), ATTR_TENSOR(what "_weights_as_tensor", "the same, f64")
#define TWO_TREES "nodes_treeids=0,0,0,0,0,1,1,1 nodes_nodeids=0,1,2,3,4,0,1,2 nodes_featureids=0,1,0,0,0,2,0,0 " \
	"nodes_values=0,0.5,0,0,0,-0.25,0,0 nodes_truenodeids=1,2,0,0,0,1,0,0 nodes_falsenodeids=4,3,0,0,0,2,0,0 "

const struct op_def ops_tree[] = {
	{ .name = "TreeEnsembleRegressor", .domain = "ai.onnx.ml", .since = { 1, 3, 5 },
	  .formula = "y = votes of the leaves where x arrives, summed up (or averaged, ...) over the trees",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y") },
	  .attrs = { TREES, VOTES("target"), ATTR_WORD("aggregate_function", "SUM|AVERAGE|MIN|MAX", "over the trees"),
		     ATTR_INT("n_targets", 1, "numbers of a row") },
	  .lower = regressor_lower,
	  .cases = { "x:f32[N,3] " TWO_TREES "target_treeids=0,0,0,1,1 target_nodeids=2,3,4,1,2 target_ids=0,0,1,1,0 "
		     "nodes_modes=BRANCH_LEQ,BRANCH_LEQ,LEAF,LEAF,LEAF,BRANCH_LEQ,LEAF,LEAF target_weights=1,2,3,4,5 "
		     "n_targets=2 base_values=0.5,1",
		     "x:f64[N,F] " TWO_TREES "target_treeids=0,0,0,1,1 target_nodeids=2,3,4,1,2 target_ids=0,3,1,6,0 "
		     "nodes_modes=BRANCH_LT,BRANCH_GT,LEAF,LEAF,LEAF,BRANCH_GTE,LEAF,LEAF "
		     "nodes_missing_value_tracks_true=1,0,0,0,0,1,0,0 target_weights=1,2,3,4,5 n_targets=9 "
		     "aggregate_function=MIN post_transform=LOGISTIC" } },
	{ .name = "TreeEnsembleClassifier", .domain = "ai.onnx.ml", .since = { 1, 3, 5 },
	  .formula = "z = votes of the leaves where x arrives, summed up; y = the label of the largest",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y"), OUT("z") },
	  .attrs = { TREES, VOTES("class"), ATTR_LONG_INTS("classlabels_int64s", "the labels"),
		     ATTR_STRINGS("classlabels_strings", "not supported") },
	  .lower = classifier_lower,
	  .cases = { "x:f32[N,3] " TWO_TREES "class_treeids=0,0,0,1,1 class_nodeids=2,3,4,1,2 class_ids=0,2,1,1,0 "
		     "nodes_modes=BRANCH_LEQ,BRANCH_LEQ,LEAF,LEAF,LEAF,BRANCH_LEQ,LEAF,LEAF class_weights=1,2,3,4,5 "
		     "classlabels_int64s=7,9,8 post_transform=SOFTMAX outputs=2",
		     "x:f32[3] " TWO_TREES "class_treeids=0,0,0,1,1 class_nodeids=2,3,4,1,2 class_ids=0,0,0,0,0 "
		     "nodes_modes=BRANCH_EQ,BRANCH_NEQ,LEAF,LEAF,LEAF,BRANCH_LEQ,LEAF,LEAF class_weights=-1,2,3,4,-5 "
		     "classlabels_int64s=7,9 base_values=0.5 post_transform=LOGISTIC outputs=2" } },
	{ .name = "TreeEnsemble", .domain = "ai.onnx.ml", .since = { 5 },
	  .formula = "y = weights of the leaves where x arrives, summed up (or averaged, ...) over the trees",
	  .inputs = { IN("x", TS(F32) | TS(F64) | TS(F16)) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_LONG_INTS("tree_roots", "the root of each tree"),
		     ATTR_TENSOR("nodes_modes", "0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=, 6 is a member"),
		     ATTR_LONG_INTS("nodes_featureids", "the feature that a node looks at"),
		     ATTR_TENSOR("nodes_splits", "what it is compared with"),
		     ATTR_LONG_INTS("nodes_truenodeids", "where to go on then: a node, or a leaf"),
		     ATTR_LONG_INTS("nodes_trueleafs", "1: a leaf"),
		     ATTR_LONG_INTS("nodes_falsenodeids", "where to go on otherwise"),
		     ATTR_LONG_INTS("nodes_falseleafs", "1: a leaf"),
		     ATTR_LONG_INTS("nodes_missing_value_tracks_true", "NaN counts as true"),
		     ATTR_TENSOR("membership_values", "a set for each node of mode 6, followed by NaN"),
		     ATTR_LONG_INTS("leaf_targetids", "what a leaf's weight is for"), ATTR_TENSOR("leaf_weights", ""),
		     ATTR_TENSOR("nodes_hitrates", "no effect"), ATTR_INT("n_targets", 1, "numbers of a row"),
		     ATTR_INT("aggregate_function", 1, "0 average, 1 sum, 2 least, 3 largest, over the trees"),
		     ATTR_INT("post_transform", 0, "0 none, 1 softmax, 2 logistic, 3 softmax_zero, 4 probit") },
	  .lower = ensemble_lower,
	  .cases = { "x:f32[N,3] tree_roots=0,1 nodes_modes=u8{0,6} nodes_featureids=0,2 nodes_splits=f32{0.5,0} "
		     "nodes_truenodeids=0,2 nodes_trueleafs=1,1 nodes_falsenodeids=1,0 nodes_falseleafs=0,1 "
		     "membership_values=f32{0.5,-1,1,nan} leaf_targetids=0,1,1 leaf_weights=f32{1,2,4} n_targets=2",
		     "x:f16[N,2] tree_roots=0 nodes_modes=u8{3} nodes_featureids=1 nodes_splits=f16{0.25} "
		     "nodes_truenodeids=0 nodes_trueleafs=1 nodes_falsenodeids=0 nodes_falseleafs=1 leaf_targetids=0 "
		     "leaf_weights=f16{1.5} aggregate_function=3" } },
	{ .name = NULL },
};
/* clang-format on */
