/* Random operators: known answers of the generator; statistics of large samples, deterministic by their seeds; equal
 * results on all devices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/program/op_case.h"
#include "ops/lower/philox.h"
#include "sched/sched.h"
#include "tests/nodes/plan_run.h"
#include "tests/nodes/plugin_run.h"
#include "tests/unit/graph_models.h"

/* ---- Running. */

enum device { INTERPRETER, EMULATOR, CPU };

/* Output `which` of a case; `in`: its inputs' values, as many as the program has. */
static struct tensor *run(enum device device, const char *op, const char *text, const struct tensor *in)
{
	struct tensor *out = NEWN(arena, struct tensor, OP_MAX_OUTPUTS);
	struct ir_program *p = NULL;
	struct err e = { 0 };
	int rc = op_case_program(&p, op_find("", op), text, arena, &e);
	const struct tensor *list[4] = { NULL };

	for (int i = 0; p && i < p->inputs.n; i++)
		list[i] = p->inputs.at[i]->data ? p->inputs.at[i]->data : in++;
	if (rc == 0)
		rc = ir_optimise(p, NULL, NULL, &e);
	if (rc == 0 && device == INTERPRETER)
		rc = eval_program(p, list, out, NULL, arena, &e);
	if (rc == 0 && device == EMULATOR)
		rc = plan_run_emulated(sched_program(p, NULL, NULL), 0, list, out, arena, &e);
	if (rc == 0 && device == CPU)
		rc = plugin_run("cpu", p, list, out, arena, &e);
	CHECK(rc == 0);
	if (rc)
		printf("  %s, \"%s\": %s%s\n", op, text, e.where, e.text);
	return out;
}

static struct tensor filled(enum type t, int64_t n, double x)
{
	struct tensor out;
	struct err e = { 0 };

	CHECK(tensor_new(&out, t, 1, &n, arena, &e) == 0);
	for (int64_t i = 0; i < n; i++)
		tensor_set_float(&out, i, x);
	return out;
}

static bool same(const struct tensor *a, const struct tensor *b)
{
	bool equal = a->type == b->type && tensor_count(a) == tensor_count(b);

	for (int64_t i = 0; equal && i < tensor_count(a); i++)
		equal = type_is_float(a->type) ? tensor_float(a, i) == tensor_float(b, i)
		                               : tensor_int(a, i) == tensor_int(b, i);
	return equal;
}

/* ---- Statistics. */

static double uniform_cdf(double x)
{
	return x;
}

static double normal_cdf(double x)
{
	return erfc(-x / sqrt(2)) / 2;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's statistic of (x - offset) / scale, times sqrt(n): above 1.95 in one of a thousand samples.
 * */
static double distance(const struct tensor *t, double offset, double scale, double (*cdf)(double))
{
	int64_t n = tensor_count(t);
	double *x = NEWN(arena, double, n), worst = 0;

	for (int64_t i = 0; i < n; i++)
		x[i] = (tensor_float(t, i) - offset) / scale;
	qsort(x, (size_t)n, sizeof *x, by_value);
	for (int64_t i = 0; i < n; i++) {
		double p = cdf(x[i]);

		worst = fmax(worst, fmax(fabs(p - (double)i / (double)n), fabs(p - (double)(i + 1) / (double)n)));
	}
	return worst * sqrt((double)n);
}

/* Correlation of a's elements with b's at distance `lag`, times sqrt(n): standard normal if they are independent. */
static double correlation(const struct tensor *a, const struct tensor *b, int64_t lag)
{
	int64_t n = tensor_count(a) - lag;
	double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0, m = (double)n;

	for (int64_t i = 0; i < n; i++) {
		double x = tensor_float(a, i), y = tensor_float(b, i + lag);

		sa += x, sb += y, aa += x * x, bb += y * y, ab += x * y;
	}
	return (ab / m - sa * sb / m / m) / sqrt((aa / m - sa * sa / m / m) * (bb / m - sb * sb / m / m)) * sqrt(m);
}

static void moments(const struct tensor *t, double *mean, double *variance)
{
	double n = (double)tensor_count(t), s = 0, q = 0;

	for (int64_t i = 0; i < tensor_count(t); i++)
		s += tensor_float(t, i);
	for (int64_t i = 0; i < tensor_count(t); i++)
		q += (tensor_float(t, i) - s / n) * (tensor_float(t, i) - s / n);
	*mean = s / n;
	*variance = q / n;
}

/* ---- The generator. */

/* The known answers published by its authors (Random123, kat_vectors). */
static void known_answers(void)
{
	static const struct {
		uint64_t key, counter, stream;
		uint32_t word[4];
	} known[] = {
		{ 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ 0x299f31d0a4093822,
		  0x85a308d3243f6a88,
		  0x0370734413198a2e,
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct ir_program *p = ir_program_new(arena, "words");
		struct ir_buffer *counter = ir_buffer_new(p, "counter", TYPE_U64, 0, NULL, IR_INPUT);
		struct tensor x, out[4];
		struct err e = { 0 };
		expr word[4];

		philox(known[i].key, ir_load(p->pool, counter, NULL), known[i].stream, word);
		for (int k = 0; k < 4; k++) {
			struct ir_buffer *b = ir_buffer_new(p, "word", TYPE_U32, 0, NULL, IR_OUTPUT);

			ir_stage_new(p, IR_MAP, b)->value = word[k];
		}
		CHECK(tensor_new(&x, TYPE_U64, 0, NULL, arena, &e) == 0);
		tensor_set_int(&x, 0, (int64_t)known[i].counter);
		CHECK(eval_program(p, (const struct tensor *[]){ &x }, out, NULL, arena, &e) == 0);
		for (int k = 0; k < 4; k++)
			CHECK((uint32_t)tensor_int(&out[k], 0) == known[i].word[k]);
	}
}

/* ---- Operators. */

static void uniform(void)
{
	struct tensor *x = run(INTERPRETER, "RandomUniform", "shape=400,500 seed=1", NULL);
	struct tensor *y = run(INTERPRETER, "RandomUniform", "shape=200000 seed=2", NULL);
	struct tensor *z = run(INTERPRETER, "RandomUniform", "shape=200000 seed=1 low=-3 high=7", NULL);
	struct tensor *d = run(INTERPRETER, "RandomUniform", "shape=200000 seed=1 dtype=11", NULL);
	struct tensor *h = run(INTERPRETER, "RandomUniform", "shape=200000 seed=1 dtype=10", NULL);
	double mean, variance;

	CHECK(x->type == TYPE_F32 && x->rank == 2 && x->dim[0] == 400 && x->dim[1] == 500);
	CHECK(d->type == TYPE_F64 && h->type == TYPE_F16 && h->rank == 1);
	CHECK(distance(x, 0, 1, uniform_cdf) < 1.95);
	CHECK(distance(y, 0, 1, uniform_cdf) < 1.95);
	CHECK(distance(z, -3, 10, uniform_cdf) < 1.95);
	CHECK(distance(d, 0, 1, uniform_cdf) < 1.95);
	moments(x, &mean, &variance);
	CHECK(fabs(mean - 0.5) < 3 * sqrt(1. / 12 / 200000));
	CHECK(fabs(variance - 1. / 12) < 3 * sqrt(1. / 180 / 200000));
	for (int64_t lag = 1; lag <= 4; lag++)
		CHECK(fabs(correlation(x, x, lag)) < 3);
	CHECK(fabs(correlation(x, y, 0)) < 3);
	for (int64_t i = 0; i < 200000; i++)
		if (!(tensor_float(x, i) >= 0 && tensor_float(x, i) < 1 && tensor_float(z, i) >= -3 &&
		      tensor_float(z, i) <= 7 && fabs(tensor_float(h, i) - tensor_float(x, i)) < 0x1p-11))
			CHECK(!"in bounds");
	/* f64 has the same first bits, and more of them. */
	CHECK(tensor_float(d, 7) != tensor_float(x, 7) && fabs(tensor_float(d, 7) - tensor_float(x, 7)) < 0x1p-24);
	CHECK(same(x, run(INTERPRETER, "RandomUniform", "shape=400,500 seed=1", NULL)) && !same(x, y));
}

static void normal(void)
{
	struct tensor *x = run(INTERPRETER, "RandomNormal", "shape=200000 seed=1", NULL);
	struct tensor *y = run(INTERPRETER, "RandomNormal", "shape=200000 seed=5 mean=-4 scale=0.25", NULL);
	struct tensor *d = run(INTERPRETER, "RandomNormal", "shape=200000 seed=1 dtype=11", NULL);
	double mean, variance;

	CHECK(distance(x, 0, 1, normal_cdf) < 1.95);
	CHECK(distance(y, -4, 0.25, normal_cdf) < 1.95);
	CHECK(distance(d, 0, 1, normal_cdf) < 1.95);
	moments(x, &mean, &variance);
	CHECK(fabs(mean) < 3 / sqrt(200000) && fabs(variance - 1) < 3 * sqrt(2. / 200000));
	for (int64_t lag = 1; lag <= 4; lag++)
		CHECK(fabs(correlation(x, x, lag)) < 3);
	CHECK(fabs(correlation(x, y, 0)) < 3);
	CHECK(same(x, run(INTERPRETER, "RandomNormal", "shape=200000 seed=1", NULL)));
}

static void like(void)
{
	struct tensor x = filled(TYPE_F32, 5000, 9), i = filled(TYPE_F16, 5000, 1);

	CHECK(same(run(INTERPRETER, "RandomUniformLike", "input:f32[N] seed=4", &x),
	           run(INTERPRETER, "RandomUniform", "shape=5000 seed=4", NULL)));
	CHECK(same(run(INTERPRETER, "RandomNormalLike", "input:f16[N] seed=4 dtype=11", &i),
	           run(INTERPRETER, "RandomNormal", "shape=5000 seed=4 dtype=11", NULL)));
	CHECK(run(INTERPRETER, "RandomNormalLike", "input:f16[N] seed=4", &i)->type == TYPE_F16);
}

static void bernoulli(void)
{
	static const double p[] = { 0, 0.001, 0.2, 0.5, 0.9, 1 };
	enum { N = 50000 };

	for (int k = 0; k < 6; k++) {
		struct tensor x = filled(TYPE_F32, N, p[k]);
		struct tensor *y = run(INTERPRETER, "Bernoulli", "input:f32[N] seed=11 dtype=6", &x);
		int64_t ones = 0;

		CHECK(y->type == TYPE_I32);
		for (int64_t i = 0; i < N; i++)
			ones += tensor_int(y, i) == 1;
		CHECK(fabs((double)ones - N * p[k]) <= 3 * sqrt(N * p[k] * (1 - p[k])));
		for (int64_t i = 0; i < N; i++)
			if (tensor_int(y, i) != 0 && tensor_int(y, i) != 1)
				CHECK(!"zero or one");
	}
}

static void multinomial(void)
{
	static const double weight[6] = { 0, 1, 5, 0, 3, 1 };
	enum { N = 100000 };
	struct tensor x;
	struct tensor *y;
	struct err e = { 0 };
	double chi = 0;
	int64_t count[2][6] = { { 0 } };

	CHECK(tensor_new(&x, TYPE_F32, 2, (int64_t[]){ 2, 6 }, arena, &e) == 0);
	for (int k = 0; k < 6; k++) {
		tensor_set_float(&x, k, log(weight[k]) + 100);
		tensor_set_float(&x, 6 + k, k == 3 ? 0 : -(double)INFINITY);
	}
	y = run(INTERPRETER, "Multinomial", "input:f32[2,6] sample_size=100000 seed=2 dtype=7", &x);
	CHECK(y->type == TYPE_I64 && y->rank == 2 && y->dim[0] == 2 && y->dim[1] == N);
	for (int i = 0; i < 2 * N; i++)
		count[i / N][tensor_int(y, i)]++;
	for (int k = 0; k < 6; k++)
		if (weight[k])
			chi += pow((double)count[0][k] - N * weight[k] / 10, 2) / (N * weight[k] / 10);
	CHECK(count[0][0] == 0 && count[0][3] == 0);
	CHECK(chi < 16.27); /* three degrees of freedom: exceeded in one of a thousand samples */
	CHECK(count[1][3] == N);
}

static void dropout(void)
{
	static const double ratio[] = { 0.1, 0.5, 0.75 };
	enum { N = 100000 };

	for (int k = 0; k < 3; k++) {
		struct tensor in[2] = { filled(TYPE_F32, N, 3), filled(TYPE_F32, 1, ratio[k]) };
		const char *text = "data:f32[N] ratio:f32[1] training_mode:bool[]={1} outputs=2 seed=3";
		struct tensor *out = run(INTERPRETER, "Dropout", text, in);
		float scale = 1 / (1 - (float)ratio[k]);
		int64_t kept = 0;

		CHECK(out[1].type == TYPE_BOOL);
		for (int64_t i = 0; i < N; i++) {
			bool mask = tensor_int(&out[1], i);

			kept += mask;
			if (tensor_float(&out[0], i) != (mask ? 3 * scale : 0))
				CHECK(!"the mask's");
		}
		CHECK(fabs((double)kept - N * (1 - ratio[k])) < 3 * sqrt(N * ratio[k] * (1 - ratio[k])));
	}
}

static void refusals(void)
{
	static const struct {
		const char *op, *text, *why;
	} refused[] = {
		{ "Dropout", "data:f32[N] ratio:f32[] training_mode:bool[]", "not known at build time" },
		{ "Dropout", "data:f32[N] ratio:f32[]={1} training_mode:bool[]={1}", "must be at least 0 and below 1" },
		{ "RandomNormal", "shape=3 dtype=7", "random values" },
		{ "RandomUniform", "shape=3,-1", "the extent -1" },
		{ "RandomNormalLike", "input:i64[N]", "random values" },
		{ "Multinomial", "input:f32[N]", "it must have two" },
		{ "Multinomial", "input:f32[N,3] sample_size=0", "must be positive" },
	};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct ir_program *p;
		struct err e = { 0 };

		CHECK(op_case_program(&p, op_find("", refused[i].op), refused[i].text, arena, &e) < 0);
		CHECK(strstr(e.text, refused[i].why) != NULL);
	}
}

/* ---- Devices, models. */

static void devices_agree(void)
{
	enum { N = 3001 };
	struct tensor p = filled(TYPE_F32, N, 0.3), d = filled(TYPE_F64, N, 0.3), rows;
	struct err e = { 0 };

	CHECK(tensor_new(&rows, TYPE_F32, 2, (int64_t[]){ 3, 50 }, arena, &e) == 0);
	tensor_random(&rows, 1, -2, 2);
	const struct {
		const char *op, *text;
		const struct tensor *in;
		int output;
	} test[] = {
		{ "RandomUniform", "shape=3001 seed=6", NULL, 0 },
		{ "RandomUniform", "shape=3001 seed=6 dtype=11", NULL, 0 },
		{ "RandomUniformLike", "input:f32[N] seed=6", &p, 0 },
		{ "Bernoulli", "input:f32[N] seed=6 dtype=6", &p, 0 },
		{ "Bernoulli", "input:f64[N] seed=6 dtype=7", &d, 0 },
		{ "Multinomial", "input:f32[N,50] sample_size=700 seed=6", &rows, 0 },
		{ "Dropout", "data:f32[N] ratio:f32[]={0.5} training_mode:bool[]={1} outputs=2", &p, 1 },
	};
	for (size_t i = 0; i < sizeof test / sizeof *test; i++) {
		struct tensor *want = run(INTERPRETER, test[i].op, test[i].text, test[i].in);

		CHECK(same(&want[test[i].output],
		           &run(EMULATOR, test[i].op, test[i].text, test[i].in)[test[i].output]));
		CHECK(same(&want[test[i].output], &run(CPU, test[i].op, test[i].text, test[i].in)[test[i].output]));
	}
}

/* A node's random values are not constant and differ from its neighbour's, but are the same in every program. */
static void in_models(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	struct ir_program *p;
	struct graph_region *r;
	struct tensor yz[2], b;
	struct err e = { 0 };

	onnx_node_set_ints(m, node(m, "RandomNormal", "", "a"), "shape", (int64_t[]){ 5 }, 1);
	onnx_node_set_ints(m, node(m, "RandomNormal", "", "b"), "shape", (int64_t[]){ 5 }, 1);
	node(m, "Add", "a x", "y");
	node(m, "Sub", "b x", "z");
	constant(m, "x", TYPE_F32, 0, NULL, (double[]){ 1 });
	output(m, "y", TYPE_F32, "5");
	output(m, "z", TYPE_F32, "5");
	g = graph_of(m, NULL);
	CHECK(!graph_value_find(g, "a")->is_constant && !graph_value_find(g, "y")->is_constant);
	for (int k = 0; k < 2; k++) {
		CHECK(graph_region_new(&r, g, k ? (int[]){ 1 } : (int[]){ 0, 1, 2, 3 }, k ? 1 : 4, &e) == 0);
		CHECK(graph_region_program(&p, r, NULL, arena, &e) == 0);
		CHECK(eval_program(p, NULL, k ? &b : yz, NULL, arena, &e) == 0);
	}
	for (int i = 0; i < 5; i++) {
		CHECK(fabs(tensor_float(&yz[0], i) - tensor_float(&yz[1], i) - 2) > 1e-3);
		CHECK(tensor_float(&yz[1], i) == (float)(tensor_float(&b, i) - 1));
	}
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	known_answers();
	uniform();
	normal();
	like();
	bernoulli();
	multinomial();
	dropout();
	refusals();
	devices_agree();
	in_models();
	arena_free(arena);
	return test_done();
}
