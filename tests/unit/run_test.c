/* A session of src/run/ compiles once and runs many times. */
#include <string.h>

#include "graph_models.h"
#include "lib/tpat_inside.h"
#include "run/run.h"

static int compiled; /* texts that the device has compiled */
static int (*compile_text)(struct dev *, struct dev_code *, const struct dev_source *, char **, struct arena *,
                           struct err *);

static int count_compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                         struct err *e)
{
	compiled++;
	return compile_text(d, out, s, log, a, e);
}

/* y = relu(x + c) and z = x @ w: an initializer of each kind of operand. */
static struct onnx_model *two_results(void)
{
	struct onnx_model *m = model(8, 13);

	input(m, "x", TYPE_F32, "N 2");
	constant(m, "c", TYPE_F32, 1, (int64_t[]){ 2 }, (double[]){ 1, -1 });
	constant(m, "w", TYPE_F32, 2, (int64_t[]){ 2, 1 }, (double[]){ 10, 100 });
	output(m, "y", TYPE_F32, "N 2");
	output(m, "z", TYPE_F32, "N 1");
	node(m, "Add", "x c", "sum");
	node(m, "Relu", "sum", "y");
	node(m, "MatMul", "x w", "z");
	return m;
}

/* x[i] = first + i for `rows` rows; expected values are those of the formulas above. */
static void run_rows(struct run_session *s, struct run_counts *counts, int64_t rows, int first)
{
	struct tensor x, out[2];
	struct err e = { 0 };

	CHECK_INT(tensor_new(&x, TYPE_F32, 2, (int64_t[]){ rows, 2 }, arena, &e), 0);
	for (int64_t i = 0; i < 2 * rows; i++)
		tensor_set_float(&x, i, (double)(first + i));
	CHECK_INT(run_graph(out, counts, s, &x, &e), 0);
	CHECK_STR(e.text, "");
	if (e.code)
		return;
	CHECK_INT(tensor_count(&out[0]), 2 * rows);
	CHECK_INT(tensor_count(&out[1]), rows);
	for (int64_t i = 0; i < rows; i++) {
		double a = (double)(first + 2 * i), b = a + 1;

		CHECK(tensor_float(&out[0], 2 * i) == (a + 1 > 0 ? a + 1 : 0));
		CHECK(tensor_float(&out[0], 2 * i + 1) == (b - 1 > 0 ? b - 1 : 0));
		CHECK(tensor_float(&out[1], i) == 10 * a + 100 * b);
	}
}

static void run_again(const char *device)
{
	struct arena *own = arena_new();
	struct onnx_model *m = two_results();
	struct graph *g = graph_of(m, NULL);
	struct run_device on = { 0 };
	struct run_counts first, later;
	struct tensor small;
	struct tensor out[2];
	struct err e = { 0 };

	if (device) {
		CHECK_INT(dev_open(&on.dev, device, &e), 0);
		compile_text = on.dev->compile;
		on.dev->compile = count_compile;
		tpat_target_of_device(&on.target, &on.dev->props);
	}
	struct run_session *s = run_open(&on, g, own);

	compiled = 0;
	run_rows(s, &first, 3, -2);
	CHECK_INT(compiled > 0, device != NULL);
	int once = compiled;
	run_rows(s, &later, 3, -5); /* other elements */
	CHECK(memcmp(&first, &later, sizeof first) == 0);
	run_rows(s, &later, 40, -7); /* other extents */
	CHECK_INT(later.weights, first.weights);
	run_rows(s, &later, 1, 4);
	CHECK_INT(later.nodes, 3);

	/* An error leaves the session usable. */
	CHECK_INT(tensor_new(&small, TYPE_F32, 2, (int64_t[]){ 3, 1 }, arena, &e), 0);
	CHECK(run_graph(out, &later, s, &small, &e) < 0);
	run_rows(s, &later, 3, 0);
	CHECK_INT(compiled, once);
	run_close(s);
	if (on.dev)
		on.dev->close(on.dev);
	graph_free(g);
	onnx_model_free(m);
	arena_free(own);
}

/* ---- Runs that repeat an earlier one, in the caller's memory. */

struct memory {
	void *at[2];
	int asked;
	bool nowhere; /* gives none */
};

static int place(void *user, void **at, int i, const struct tensor *t, struct err *e)
{
	struct memory *m = user;

	(void)t, (void)e;
	m->asked++;
	*at = m->nowhere ? NULL : m->at[i];
	return 0;
}

/* Device memory, `odd` bytes after an aligned address. */
static void *memory_of(struct dev *d, size_t bytes, size_t odd)
{
	void *at = NULL;
	struct err e = { 0 };

	CHECK_INT(d->alloc(d, &at, bytes + 256, &e), 0);
	return (char *)at + odd;
}

static void enqueue_rows(struct run_session *s, struct dev *d, int64_t rows, int first, size_t odd, bool nowhere)
{
	size_t bytes = (size_t)rows * 2 * sizeof(float);
	struct memory m = { { memory_of(d, bytes, 0), memory_of(d, bytes, odd) }, 0, nowhere };
	const struct run_places places = { place, &m };
	struct run_tensor in = { .at = memory_of(d, bytes, odd) }, out[2];
	struct run_counts counts;
	struct tensor x, y, z;
	struct err e = { 0 };

	CHECK_INT(tensor_new(&x, TYPE_F32, 2, (int64_t[]){ rows, 2 }, arena, &e), 0);
	CHECK_INT(tensor_new(&y, TYPE_F32, 2, (int64_t[]){ rows, 2 }, arena, &e), 0);
	CHECK_INT(tensor_new(&z, TYPE_F32, 2, (int64_t[]){ rows, 1 }, arena, &e), 0);
	for (int64_t i = 0; i < 2 * rows; i++)
		tensor_set_float(&x, i, (double)(first + i));
	in.tensor = x;
	if (first % 3) /* from the device, else from the host */
		CHECK_INT(d->copy_in(d, in.at, x.data, bytes, &e), 0);
	else
		in.at = NULL;
	in.tensor.data = first % 3 ? NULL : x.data;
	CHECK_INT(run_enqueue(out, &counts, s, &in, &places, &e), 0);
	CHECK_STR(e.text, "");
	CHECK(m.asked >= 2);
	CHECK(nowhere ? out[0].at != m.at[0] : out[0].at == m.at[0]);
	CHECK((out[1].at == m.at[1]) == (!nowhere && !odd));
	CHECK_INT(out[1].tensor.dim[0], rows);
	CHECK_INT(d->copy_out(d, y.data, out[0].at, bytes, &e), 0);
	CHECK_INT(d->copy_out(d, z.data, out[1].at, bytes / 2, &e), 0);
	for (int64_t i = 0; i < rows; i++) {
		double a = (double)(first + 2 * i), b = a + 1;

		CHECK(tensor_float(&y, 2 * i) == (a + 1 > 0 ? a + 1 : 0));
		CHECK(tensor_float(&y, 2 * i + 1) == (b - 1 > 0 ? b - 1 : 0));
		CHECK(tensor_float(&z, i) == 10 * a + 100 * b);
	}
}

static void run_repeats(const char *device)
{
	struct arena *own = arena_new();
	struct onnx_model *m = two_results();
	struct graph *g = graph_of(m, NULL);
	struct run_device on = { .fit = true };
	struct err e = { 0 };

	CHECK_INT(tpat_open_device(&on.dev, &on.target, device, &e), 0);
	if (!on.dev)
		return;
	compile_text = on.dev->compile;
	on.dev->compile = count_compile;
	compiled = 0;
	struct run_session *s = run_open(&on, g, own);
	run_graphs(s, true);
	for (int i = 0; i < 60; i++) { /* more extents than are kept */
		int64_t rows = 1 + i * 7 % 11;
		enqueue_rows(s, on.dev, rows, i - 20, i % 5 == 4 ? 16 : 0, i % 7 == 6);
		if (i % 9 == 8) { /* another kind of run between them */
			struct run_counts counts;
			run_rows(s, &counts, rows, i);
		}
	}
	CHECK_INT(compiled, 1);
	run_close(s);
	on.dev->close(on.dev);
	graph_free(g);
	onnx_model_free(m);
	arena_free(own);
}

int main(void)
{
	arena = arena_new();
	run_repeats("cpu");
	run_repeats("emulator");
	run_again(NULL);
	run_again("cpu");
	run_again("emulator");
	arena_free(arena);
	return test_done();
}
