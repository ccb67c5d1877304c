/* A session divides a model where numbers decide extents; pieces that compute the same share their code, and few
 * numbers that the host needs take no kernel. */
#include "graph_models.h"
#include "lib/tpat_inside.h"
#include "run/run.h"

enum { MOST = 9 };

static uint64_t state = 1;

static int draw(int n)
{
	state = hash_u64(state, 0x9e3779b97f4a7c15u);
	return (int)(state % (uint64_t)n);
}

static int compiled; /* texts */
static int (*compile_text)(struct dev *, struct dev_code *, const struct dev_source *, char **, struct arena *,
                           struct err *);

static int count_compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                         struct err *e)
{
	compiled++;
	return compile_text(d, out, s, log, a, e);
}

/* n times: y = 1 + zeros of the extents x + extra */
static struct onnx_model *repeated(int n, int extra)
{
	struct onnx_model *m = model(8, 13);
	char in[2][32], out[32];
	constant(m, "extra", TYPE_I64, 1, (int64_t[]){ 1 }, (double[]){ extra });
	constant(m, "one", TYPE_F32, 0, NULL, (double[]){ 1 });
	for (int i = 0; i < n; i++) {
		snprintf(in[0], sizeof in[0], "x%d", i);
		input(m, in[0], TYPE_I64, "2");
		snprintf(in[0], sizeof in[0], "x%d extra", i);
		snprintf(out, sizeof out, "extents%d", i);
		node(m, "Add", in[0], out);
		snprintf(in[1], sizeof in[1], "zeros%d", i);
		node(m, "ConstantOfShape", out, in[1]);
		snprintf(in[1], sizeof in[1], "zeros%d one", i);
		snprintf(out, sizeof out, "y%d", i);
		node(m, "Add", in[1], out);
		output(m, out, TYPE_F32, "? ?");
	}
	return m;
}

static void check_ones(const struct tensor *t, const int64_t dim[2])
{
	CHECK_INT(t->rank, 2);
	CHECK_INT(t->dim[0], dim[0]);
	CHECK_INT(t->dim[1], dim[1]);
	bool ones = true;
	for (int64_t i = 0; i < tensor_count(t); i++)
		ones &= tensor_float(t, i) == 1;
	CHECK(ones);
}

/* Runs it, and returns the number of texts that were compiled. */
static int run(int n, int extra, struct run_codes *codes)
{
	struct arena *own = arena_new();
	struct onnx_model *m = repeated(n, extra);
	struct graph *g = graph_of(m, NULL);
	struct run_device on = { 0 };
	struct run_counts counts;
	struct tensor x[MOST], out[MOST];
	struct err e = { 0 };
	CHECK_INT(dev_open(&on.dev, "cpu", &e), 0);
	compile_text = on.dev->compile;
	on.dev->compile = count_compile;
	tpat_target_of_device(&on.target, &on.dev->props);
	struct run_session *s = run_open(&on, g, own);
	run_codes(s, codes);
	compiled = 0;
	for (int again = 0; again < 2; again++) {
		int64_t dim[MOST][2];
		for (int i = 0; i < n; i++) {
			CHECK_INT(tensor_new(&x[i], TYPE_I64, 1, (int64_t[]){ 2 }, own, &e), 0);
			for (int k = 0; k < 2; k++) {
				dim[i][k] = draw(9) + extra;
				tensor_set_int(&x[i], k, dim[i][k] - extra);
			}
		}
		CHECK_INT(run_graph(out, &counts, s, x, &e), 0);
		CHECK_STR(e.text, "");
		for (int i = 0; i < n && !e.code; i++)
			check_ones(&out[i], dim[i]);
		CHECK_INT(counts.nodes, 3 * n);
	}
	run_close(s);
	on.dev->close(on.dev);
	graph_free(g);
	onnx_model_free(m);
	arena_free(own);
	return compiled;
}

int main(void)
{
	arena = arena_new();
	for (int i = 0; i < 8; i++) {
		struct run_codes codes = run_codes_kept(arena);
		int n = 2 + draw(MOST - 1), extra = draw(4);
		/* The first sum takes no kernel; the last zeros have no sum after them. */
		CHECK_INT(run(n, extra, &codes), 2);
		CHECK_INT(run(n, extra, &codes), 0);
	}
	arena_free(arena);
	return test_done();
}
