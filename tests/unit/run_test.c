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

/* Sizes that turn out not to agree. Only the sum of their positions leaves the program. */
static void run_sizes(const char *device, const char *x, const char *y, double want)
{
	struct arena *own = arena_new();
	struct onnx_model *m = model(8, 13);
	struct run_device on = { 0 };
	struct run_counts counts;
	struct tensor in[2], out;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N");
	input(m, "y", TYPE_F32, "N");
	output(m, "sum", TYPE_I64, "");
	node(m, "NonZero", "x", "first");
	node(m, "NonZero", "y", "second");
	node(m, "Add", "first second", "both");
	onnx_node_set_int(m, node(m, "ReduceSum", "both", "sum"), "keepdims", 0);
	struct graph *g = graph_of(m, NULL);
	if (device) {
		CHECK_INT(dev_open(&on.dev, device, &e), 0);
		tpat_target_of_device(&on.target, &on.dev->props);
	}
	struct run_session *s = run_open(&on, g, own);
	for (int i = 0; i < 2; i++) {
		const char *digit = i ? y : x;
		CHECK_INT(tensor_new(&in[i], TYPE_F32, 1, (int64_t[]){ (int64_t)strlen(digit) }, arena, &e), 0);
		for (int k = 0; digit[k]; k++)
			tensor_set_float(&in[i], k, digit[k] - '0');
	}
	int rc = run_graph(&out, &counts, s, in, &e);
	if (want >= 0) {
		CHECK_STR(e.text, "");
		CHECK(tensor_float(&out, 0) == want);
	} else {
		CHECK_INT(rc, ERR_MODEL);
		CHECK(strstr(e.text, "extent 1 of first is 2 and extent 1 of second is 3; they must be equal"));
	}
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

/* ---- Sessions of several threads. */

/* The same with the positions of y's elements that are not zero, whose number only the device knows. */
static struct onnx_model *with_positions(void)
{
	struct onnx_model *m = two_results();

	output(m, "p", TYPE_I64, "2 P");
	node(m, "NonZero", "y", "p");
	return m;
}

enum { THREADS = 4, RUNS = 150 };

struct user {
	struct run_session *s;
	struct dev *d;
	int outputs, seed, faults;
};

static bool same_rows(const struct user *u, const struct run_tensor *out, int outputs, int64_t rows, int first,
                      struct arena *a)
{
	struct err e = { 0 };
	struct tensor got[3];
	int64_t positive = 0;
	bool same = true;

	for (int i = 0; i < outputs; i++) {
		const struct tensor *t = &out[i].tensor;

		if (tensor_new(&got[i], t->type, t->rank, t->dim, a, &e) < 0 ||
		    u->d->copy_out(u->d, got[i].data, out[i].at, (size_t)tensor_bytes(t), &e) < 0)
			return false;
	}
	for (int64_t i = 0; i < 2 * rows; i++) {
		double want = (double)(first + i) + (i % 2 ? -1 : 1);

		positive += want > 0;
		same &= tensor_float(&got[0], i) == (want > 0 ? want : 0);
	}
	for (int64_t i = 0; i < rows; i++)
		same &= tensor_float(&got[1], i) == 110 * (double)(first + 2 * i) + 100;
	return same && (outputs < 3 || got[2].dim[1] == positive);
}

/* Runs with extents and elements of its own, now and then with an error. */
static void use(void *arg, int i)
{
	struct user *u = (struct user *)arg + i;

	for (int k = 0; k < RUNS; k++) {
		struct arena *a = arena_new();
		struct memory m = { .nowhere = k % 3 == 2 };
		const struct run_places places = { place, &m };
		int64_t rows = 1 + (k * 7 + u->seed) % 5;
		bool wrong = k % 11 == 10; /* it has a column too many */
		int first = u->seed + k - RUNS / 2, outputs = u->outputs;
		struct run_tensor in = { 0 }, out[3];
		struct run_counts counts;
		struct err e = { 0 };
		void *memory[2] = { 0 };

		if (tensor_new(&in.tensor, TYPE_F32, 2, (int64_t[]){ rows, 2 + wrong }, a, &e) < 0)
			u->faults++;
		for (int64_t j = 0; j < tensor_count(&in.tensor); j++)
			tensor_set_float(&in.tensor, j, (double)(first + j));
		for (int j = 0; j < 2; j++) {
			u->faults += u->d->alloc(u->d, &memory[j], 2 * (size_t)rows * sizeof(float), &e) < 0;
			m.at[j] = memory[j];
		}
		m.nowhere |= outputs > 2; /* place() has memory for two */
		int rc = run_enqueue(out, &counts, u->s, &in, &places, &e);
		u->faults += wrong ? rc != ERR_MODEL : rc < 0 || !same_rows(u, out, outputs, rows, first, a);
		for (int j = 0; j < 2; j++)
			u->d->free(u->d, memory[j]);
		arena_free(a);
	}
}

/* Sessions with the same code, of as many threads, one of which is closed before the others begin. */
static void run_together(struct onnx_model *m)
{
	struct arena *own = arena_new(), *each[THREADS];
	struct graph *g = graph_of(m, NULL);
	struct run_device on = { .fit = true, .lock = lock_new(own) };
	struct user user[THREADS];
	struct err e = { 0 };

	CHECK_INT(dev_open(&on.dev, "cpu", &e), 0);
	tpat_target_of_device(&on.target, &on.dev->props);
	compile_text = on.dev->compile;
	on.dev->compile = count_compile;
	compiled = 0;
	struct run_session *s = run_open(&on, g, own);
	run_graphs(s, true);
	for (int i = 0; i < THREADS; i++) {
		user[i] = (struct user){ s, on.dev, g->outputs.n, 13 * i, 0 };
		each[i] = arena_new();
		if (!i)
			continue;
		CHECK_INT(on.dev->also(on.dev, &user[i].d, &e), 0);
		user[i].d->compile = count_compile;
		user[i].s = run_also(s, user[i].d, each[i]);
	}
	for (int turn = 0; turn < 2; turn++) {
		threads_for(THREADS - turn, THREADS - turn, use, user);
		for (int i = 0; i < THREADS; i++)
			CHECK_INT(user[i].faults, 0);
		if (!turn) {
			run_close(user[THREADS - 1].s);
			user[THREADS - 1].d->close(user[THREADS - 1].d);
		}
	}
	CHECK(compiled >= 1 && compiled <= 3); /* pieces, not threads */
	for (int i = 1; i < THREADS - 1; i++) {
		run_close(user[i].s);
		user[i].d->close(user[i].d);
	}
	run_close(s);
	on.dev->close(on.dev);
	graph_free(g);
	onnx_model_free(m);
	lock_free(on.lock);
	for (int i = 0; i < THREADS; i++)
		arena_free(each[i]);
	arena_free(own);
}

/* With an argument only what has several threads, for ThreadSanitizer, under which there is no emulator. */
int main(int argc, char **argv)
{
	arena = arena_new();
	(void)argv;
	run_together(two_results());
	run_together(with_positions());
	if (argc > 1)
		return test_done();
	run_repeats("cpu");
	run_repeats("emulator");
	run_again(NULL);
	run_again("cpu");
	run_again("emulator");
	for (int i = 0; i < 3; i++) {
		static const char *const device[] = { NULL, "cpu", "emulator" };
		run_sizes(device[i], "1100", "0110", 4);
		run_sizes(device[i], "1100", "0010", 5);
		run_sizes(device[i], "1100", "1110", -1);
	}
	arena_free(arena);
	return test_done();
}
