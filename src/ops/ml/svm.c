/* SVMRegressor, SVMClassifier: k(x, v) for each support vector v, with the kernel LINEAR x.v, POLY (gamma x.v +
 * coef0)^degree, RBF exp(-gamma |x - v|^2) or SIGMOID tanh(gamma x.v + coef0).
 *   Regressor:  y = sum of coefficients k + rho; with one class the sign of that.
 *   Classifier: each pair of classes i < j has a score, the sum of coefficients k of both classes' vectors + rho. It
 *     is a vote for i if positive, else for j; y is the label with the most votes. z are the scores (-s and s for a
 *     single pair), or with prob_a and prob_b the probabilities of the classes: those of pairs are 1 / (1 + exp(a s +
 *     b)) (Platt), joined by svm_couple().
 * Without support vectors the coefficients themselves are vectors, one score for each class.
 * Source: ONNX, the operators of these names in ai.onnx.ml, version 1. The layout of a pair's coefficients and the
 * results for two classes follow LIBSVM and ONNX Runtime; a regressor's post_transform has no effect, as there. Labels
 * that are strings are not supported. */
#include "ops/lower/formulas.h"
#include "ops/ml/svm.h"

#include <string.h>

struct svm {
	struct value x;
	const char *kernel;
	double gamma, coef0, degree;
	int64_t features;
};

/* Reads the kernel, and the length of each of `vectors` vectors that make up `numbers` numbers. */
static int svm_read(struct lower *l, int64_t vectors, int64_t numbers, struct svm *out)
{
	const double *p;
	int n = lower_floats(l, "kernel_params", &p), rank;
	int64_t given;

	*out = (struct svm){ .x = lower_input(l, 0), .kernel = lower_word(l, "kernel_type") };
	rank = value_rank(out->x);
	if (n && n != 3)
		return lower_fail(l, ERR_MODEL, "kernel_params has %d numbers; it must have 3.", n);
	if (n) {
		out->gamma = p[0];
		out->coef0 = p[1];
		out->degree = p[2];
	}
	if (rank < 1 || rank > 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have one or two.", rank);
	if (vectors < 1 || numbers < vectors || numbers % vectors)
		return lower_fail(l, ERR_MODEL, "%lld numbers cannot be %lld vectors.", (long long)numbers,
		                  (long long)vectors);
	out->features = numbers / vectors;
	if (ir_const_int(value_dim(out->x, rank - 1), &given) && given != out->features)
		return lower_fail(l, ERR_MODEL, "vectors have %lld features, and the input has %lld.",
		                  (long long)out->features, (long long)given);
	return 0;
}

static expr kernel_of(const struct svm *m, expr sum)
{
	expr e = sum;

	if (!strcmp(m->kernel, "RBF"))
		return unary(IR_EXP, mul(sum, with(sum, -m->gamma)));
	if (strcmp(m->kernel, "LINEAR") != 0)
		e = add(mul(sum, with(sum, m->gamma)), with(sum, m->coef0));
	if (!strcmp(m->kernel, "SIGMOID"))
		return unary(IR_TANH, e);
	if (strcmp(m->kernel, "POLY") != 0)
		return e;
	if (m->degree == 2)
		return mul(e, e);
	if (m->degree == 3)
		return mul(mul(e, e), e);
	return pow_(e, with(e, m->degree));
}

/* [n, vectors]: the kernel of each row with each vector, + rho. */
static int kernels(struct lower *l, const struct svm *m, const char *name, const double *at, int64_t vectors,
                   double rho, struct value *out)
{
	bool one = value_rank(m->x) == 1;
	struct space s = { 0 };
	struct value v;
	expr row, vector, k, e, y;

	TRY(ml_constant(l, name, TYPE_F32, at, (int)(vectors * m->features), &v));
	row = space_push(l, &s, one ? idx(l, 1) : value_dim(m->x, 0));
	vector = space_push(l, &s, idx(l, vectors));
	k = space_push(l, &s, idx(l, m->features));
	e = cast(one ? load(m->x, &k) : load_list(m->x, 2, row, k), TYPE_F32);
	y = load_list(v, 1, add(muli(vector, m->features), k));
	if (!strcmp(m->kernel, "RBF")) {
		e = sub(e, y);
		e = mul(e, e);
	} else {
		e = mul(e, y);
	}
	y = kernel_of(m, acc(l, TYPE_F32));
	*out = lower_reduce(l, "kernel", TYPE_F32, &s, 2, IR_SUM, e, rho ? add(y, with(y, rho)) : y);
	return 0;
}

static int regressor_lower(struct lower *l)
{
	const double *coefficient, *vector, *rho;
	int n = lower_floats(l, "coefficients", &coefficient), numbers = lower_floats(l, "support_vectors", &vector);
	int64_t vectors = lower_int(l, "n_supports");
	struct value k, c, y;
	struct space s, one;
	struct svm m;
	expr e;

	if (lower_floats(l, "rho", &rho) < 1 || n < 1)
		return lower_fail(l, ERR_MODEL, "there are no coefficients, or there is no rho.");
	if (vectors < 1) {
		TRY(svm_read(l, 1, n, &m));
		m.kernel = "LINEAR";
		TRY(kernels(l, &m, "coefficients", coefficient, 1, rho[0], &y));
	} else {
		if (vectors > n)
			return lower_fail(l, ERR_MODEL, "there are %d coefficients for %lld support vectors.", n,
			                  (long long)vectors);
		TRY(svm_read(l, vectors, numbers, &m));
		TRY(kernels(l, &m, "support_vectors", vector, vectors, 0, &k));
		TRY(ml_constant(l, "coefficients", TYPE_F32, coefficient, (int)vectors, &c));
		s = space_new(l, 2, (expr[]){ value_dim(k, 0), idx(l, 1) });
		e = space_push(l, &s, idx(l, vectors));
		e = mul(load_list(k, 2, s.at[0], e), load(c, &e));
		y = lower_reduce(l, "score", TYPE_F32, &s, 2, IR_SUM, e,
		                 add(acc(l, TYPE_F32), num(l, TYPE_F32, rho[0])));
	}
	one = space_of(l, y);
	e = at(y, &one);
	if (lower_int(l, "one_class"))
		y = lower_map(l, NULL, TYPE_F32, &one, select_(gt(e, with(e, 0)), with(e, 1), with(e, -1)));
	lower_output(l, 0, y);
	return 0;
}

/* ---- Classifier ------------------------------------------------------------------------------------------------- */

/* Classes in pairs: 0 1, 0 2 ... 1 2 ... */
struct pairs {
	int64_t classes, n, vectors;
	struct value first, second, number; /* the classes of each pair; the pair of any two classes */
	struct value class_of;              /* the class of each vector */
};

static int new_pairs(struct lower *l, struct pairs *p, const int64_t *vectors_of)
{
	struct arena *a = l->program->arena;
	int64_t n = 0, v = 0, k = p->classes;
	int64_t *first = NEWN(a, int64_t, p->n), *second = NEWN(a, int64_t, p->n),
	        *owner = NEWN(a, int64_t, p->vectors);
	struct tensor *number = NEW(a, struct tensor);

	TRY(tensor_new(number, TYPE_I32, 2, (int64_t[]){ k, k }, a, l->err));
	for (int64_t i = 0; i < k; i++) {
		for (int64_t j = i + 1; j < k; j++) {
			first[n] = i;
			second[n] = j;
			tensor_set_int(number, i * k + j, n++);
		}
		for (int64_t m = 0; m < vectors_of[i]; m++)
			owner[v++] = i;
	}
	TRY(ml_ints(l, "first", TYPE_I32, first, (int)n, &p->first));
	TRY(ml_ints(l, "second", TYPE_I32, second, (int)n, &p->second));
	TRY(ml_ints(l, "class_of", TYPE_I32, owner, (int)v, &p->class_of));
	p->number = lower_data(l, "pair_number", number);
	return 0;
}

/* [n, pairs]. In the pair i < j a vector of class i has its coefficient in row j - 1, one of class j in row i. */
static int pair_scores(struct lower *l, const struct pairs *p, struct value kernel, const double *coefficient,
                       const double *rho, struct value *out)
{
	struct space s = { 0 };
	struct value c, r;
	expr row = space_push(l, &s, value_dim(kernel, 0)), pair = space_push(l, &s, idx(l, p->n));
	expr v = space_push(l, &s, idx(l, p->vectors)), i, j, of_i, of_j, owner, e;

	TRY(ml_constant(l, "coefficients", TYPE_F32, coefficient, (int)((p->classes - 1) * p->vectors), &c));
	TRY(ml_constant(l, "rho", TYPE_F32, rho, (int)p->n, &r));
	i = load(p->first, &pair);
	j = load(p->second, &pair);
	owner = load(p->class_of, &v);
	of_i = load_list(c, 1, add(mul(cast(addi(j, -1), TYPE_INDEX), idx(l, p->vectors)), v));
	of_j = load_list(c, 1, add(mul(cast(i, TYPE_INDEX), idx(l, p->vectors)), v));
	e = select_(eq(owner, i), of_i, select_(eq(owner, j), of_j, with(of_i, 0)));
	*out = lower_reduce(l, "score", TYPE_F32, &s, 2, IR_SUM, mul(e, load_list(kernel, 2, row, v)),
	                    add(acc(l, TYPE_F32), load(r, &pair)));
	return 0;
}

/* [n]: the class with the most votes of pairs, the first among equals. */
static struct value most_votes(struct lower *l, const struct pairs *p, struct value score)
{
	struct space s = { 0 }, classes;
	expr row = space_push(l, &s, value_dim(score, 0)), class = space_push(l, &s, idx(l, p->classes)), pair, e;
	struct value votes;

	pair = space_push(l, &s, idx(l, p->n));
	e = load_list(score, 2, row, pair);
	e = select_(gt(e, with(e, 0)), load(p->first, &pair), load(p->second, &pair));
	e = cast(eq(e, cast(class, TYPE_I32)), TYPE_I32);
	votes = lower_reduce(l, "votes", TYPE_I32, &s, 2, IR_SUM, e, NULL);
	classes = space_of(l, votes);
	return lower_reduce(l, "best", TYPE_I64, &classes, 1, IR_ARGMAX, at(votes, &classes), NULL);
}

/* [n, pairs]: Platt's probabilities of each pair's first class. */
static int platt(struct lower *l, const struct pairs *p, struct value score, struct value *out)
{
	struct space s = space_of(l, score);
	const double *a, *b;
	struct value va, vb;
	expr e;

	if (lower_floats(l, "prob_a", &a) < p->n || lower_floats(l, "prob_b", &b) < p->n)
		return lower_fail(l, ERR_MODEL, "prob_a and prob_b must have %lld numbers each.", (long long)p->n);
	TRY(ml_constant(l, "prob_a", TYPE_F32, a, (int)p->n, &va));
	TRY(ml_constant(l, "prob_b", TYPE_F32, b, (int)p->n, &vb));
	e = add(mul(at(score, &s), load(va, &s.at[1])), load(vb, &s.at[1]));
	*out = lower_map(l, "platt", TYPE_F32, &s, sigmoid(unary(IR_NEG, e)));
	return 0;
}

static int vector_classifier(struct lower *l, struct pairs *p, const int64_t *vectors_of, struct value *best,
                             struct value *z)
{
	const double *vector, *coefficient, *rho, *ignored;
	const char *transform = lower_word(l, "post_transform");
	struct value kernel, probability, score;
	struct svm m;

	if (p->classes < 2 || p->classes > 1000)
		return lower_fail(l, ERR_UNSUPPORTED, "there are %lld classes; support vectors need 2 to 1000.",
		                  (long long)p->classes);
	p->n = p->classes * (p->classes - 1) / 2;
	TRY(svm_read(l, p->vectors, lower_floats(l, "support_vectors", &vector), &m));
	if (lower_floats(l, "coefficients", &coefficient) < (p->classes - 1) * p->vectors ||
	    lower_floats(l, "rho", &rho) < p->n)
		return lower_fail(l, ERR_MODEL,
		                  "of %lld classes with %lld vectors there must be %lld coefficients and %lld numbers "
		                  "rho.",
		                  (long long)p->classes, (long long)p->vectors,
		                  (long long)((p->classes - 1) * p->vectors), (long long)p->n);
	TRY(new_pairs(l, p, vectors_of));
	TRY(kernels(l, &m, "support_vectors", vector, p->vectors, 0, &kernel));
	TRY(pair_scores(l, p, kernel, coefficient, rho, &score));
	*best = most_votes(l, p, score);
	if (lower_floats(l, "prob_a", &ignored)) {
		TRY(platt(l, p, score, &probability));
		score = svm_couple(l, probability, p->number, p->classes);
	} else if (p->classes == 2) {
		return ml_pair(l, score, transform, true, z);
	}
	*z = ml_transform(l, score, transform);
	return 0;
}

/* The index of the label for the scores of two classes without support vectors, as in ONNX Runtime: the second one if
 * either score reaches a threshold: 0, or 0.5 if no coefficient is negative. */
static expr linear_pair(struct value score, expr row, bool negative)
{
	expr a = load_list(score, 2, row, with(row, 0)), b = load_list(score, 2, row, with(row, 1)), top = max_(a, b);
	expr second = negative ? gt(top, with(top, 0)) : ge(top, with(top, 0.5));

	return cast(or_(second, gt(b, a)), TYPE_I64);
}

static int linear_classifier(struct lower *l, int64_t classes, struct value *best, struct value *z)
{
	const double *coefficient, *rho;
	const char *transform = lower_word(l, "post_transform");
	int n = lower_floats(l, "coefficients", &coefficient);
	bool negative = false;
	struct value score;
	struct space s, one;
	struct svm m;

	if (lower_floats(l, "rho", &rho) < 1)
		return lower_fail(l, ERR_MODEL, "there is no rho.");
	TRY(svm_read(l, classes, n, &m));
	m.kernel = "LINEAR";
	TRY(kernels(l, &m, "coefficients", coefficient, classes, rho[0], &score));
	s = space_of(l, score);
	one = space_new(l, 1, s.dim);
	for (int i = 0; i < n; i++)
		negative |= coefficient[i] < 0;
	if (classes == 2)
		*best = lower_map(l, "best", TYPE_I64, &one, linear_pair(score, one.at[0], negative));
	else
		*best = lower_reduce(l, "best", TYPE_I64, &s, 1, IR_ARGMAX, at(score, &s), NULL);
	*z = classes == 1 ? ml_transform_regression(l, score, transform) : ml_transform(l, score, transform);
	return 0;
}

static int classifier_lower(struct lower *l)
{
	const int64_t *label, *vectors_of;
	int n = lower_int_list(l, "vectors_per_class", &vectors_of);
	struct value best, z, labels;
	struct pairs p = { 0 };
	struct space s;

	TRY(ml_check_labels(l, "classlabels_ints"));
	p.classes = lower_int_list(l, "classlabels_ints", &label);
	for (int i = 0; i < n; i++) {
		if (vectors_of[i] < 0 || vectors_of[i] > INT32_MAX)
			return lower_fail(l, ERR_MODEL,
			                  "vectors_per_class has the element %lld, which is not possible.",
			                  (long long)vectors_of[i]);
		p.vectors += vectors_of[i];
	}
	if (p.vectors && n != p.classes)
		return lower_fail(l, ERR_MODEL, "vectors_per_class has %d elements for %lld classes.", n,
		                  (long long)p.classes);
	TRY(ml_ints(l, "labels", TYPE_I64, label, (int)p.classes, &labels));
	if (p.vectors)
		TRY(vector_classifier(l, &p, vectors_of, &best, &z));
	else
		TRY(linear_classifier(l, p.classes, &best, &z));
	s = space_of(l, best);
	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &s, load_list(labels, 1, cast(at(best, &s), TYPE_INDEX))));
	lower_output(l, 1, z);
	return 0;
}

/* clang-format off */
#define SVM ATTR_FLOATS("coefficients", "of the vectors"), ATTR_FLOATS("support_vectors", "one after the other"), \
	ATTR_FLOATS("rho", "what is added to scores"), ATTR_WORD("kernel_type", "LINEAR|POLY|RBF|SIGMOID", ""), \
	ATTR_FLOATS("kernel_params", "gamma, coef0, degree"), ATTR_TRANSFORM

const struct op_def ops_svm[] = {
	{ .name = "SVMRegressor", .domain = "ai.onnx.ml", .since = { 1 },
	  .formula = "y = sum over support vectors v of coefficient kernel(x, v), + rho",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y") },
	  .attrs = { SVM, ATTR_INT("n_supports", 0, "how many vectors"), ATTR_INT("one_class", 0, "the sign alone") },
	  .lower = regressor_lower,
	  .cases = { "x:f32[N,3] coefficients=1,-2 support_vectors=0.5,1,-1,0.25,0.75,1 rho=0.5 n_supports=2 "
		     "kernel_type=RBF kernel_params=0.5,0,0",
		     "x:f64[3] coefficients=1,-2,0.5 rho=0.5 one_class=1" } },
	{ .name = "SVMClassifier", .domain = "ai.onnx.ml", .since = { 1 },
	  .formula = "z = scores of pairs of classes by their support vectors, or probabilities; y = the label of the "
		     "most votes",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y"), OUT("z") },
	  .attrs = { SVM, ATTR_LONG_INTS("vectors_per_class", "support vectors of each class"),
		     ATTR_FLOATS("prob_a", "of each pair"), ATTR_FLOATS("prob_b", "of each pair"),
		     ATTR_LONG_INTS("classlabels_ints", "the labels"),
		     ATTR_STRINGS("classlabels_strings", "not supported") },
	  .lower = classifier_lower,
	  .cases = { "x:f32[N,2] coefficients=1,-2,0.5,0.25,1.5,-0.75,2,-1 "
		     "support_vectors=0.5,1,-1,0.25,0.75,1,0.5,-0.5 rho=0.5,0.25,-1 vectors_per_class=1,2,1 "
		     "classlabels_ints=5,3,9 kernel_type=POLY kernel_params=0.5,1,3 outputs=2",
		     "x:f32[N,3] coefficients=1,-2,0.5,0.25,1.5,-0.75 rho=0.5 classlabels_ints=4,2 outputs=2",
		     "x:f32[N,2] coefficients=1,-2 support_vectors=0.5,1,-1,0.25 rho=0.5 vectors_per_class=1,1 "
		     "classlabels_ints=5,3 post_transform=SOFTMAX outputs=2",
		     "x:i64[N,2] coefficients=1,-2,0.5,0.25,1.5,-0.75,2,-1 "
		     "support_vectors=0.5,1,-1,0.25,0.75,1,0.5,-0.5 rho=0.5,0.25,-1 vectors_per_class=1,2,1 "
		     "classlabels_ints=5,3,9 prob_a=-1,-2,-0.5 prob_b=0.5,0.25,0 kernel_type=SIGMOID "
		     "kernel_params=0.5,1,0 outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
