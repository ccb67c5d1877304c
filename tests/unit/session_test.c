/* Sessions of tpat.h: a model that runs many times on the caller's tensors, on every device that needs no GPU. */
#include "tpat/tpat.h"

#include <string.h>

#include "base/file.h"
#include "graph_models.h"

static char *folder;
static struct tpat *t;

/* y = relu(x + c) and same = x, for x: f32[N,2]; z = a + b, for a: f32[N,1] and b: f32[M,1]: M must be N or 1, or N 1.
 */
static const char *write_model(void)
{
	const char *path = path_join(arena, folder, "two.onnx");
	struct onnx_model *m = model(8, 13);
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N 2");
	input(m, "a", TYPE_F32, "N 1");
	input(m, "b", TYPE_F32, "M 1");
	constant(m, "c", TYPE_F32, 1, (int64_t[]){ 2 }, (double[]){ 1, -1 });
	output(m, "y", TYPE_F32, "N 2");
	output(m, "z", TYPE_F32, "? 1");
	output(m, "same", TYPE_F32, "N 2");
	node(m, "Add", "x c", "sum");
	node(m, "Relu", "sum", "y");
	node(m, "Add", "a b", "z");
	node(m, "Identity", "x", "same");
	CHECK_INT(onnx_model_write(m, path, NULL, &e), 0);
	onnx_model_free(m);
	return path;
}

static struct tpat_session *open_session(const char *path, const char *device, bool stay)
{
	struct tpat_session_options o = TPAT_SESSION_OPTIONS;
	struct tpat_session *s;

	o.model = path;
	o.device = device;
	o.stay = stay;
	CHECK_INT(tpat_session_open(t, &s, &o), 0);
	CHECK_STR(tpat_error(t), "");
	return s;
}

struct values {
	int64_t x_dim[2], a_dim[2], b_dim[2];
	float x[64], a[32], b[32];
	struct tpat_tensor input[3];
};

/* x[i] = first + i, a[i] = i, b[i] = 100. */
static void fill(struct values *v, int64_t n, int64_t m, int first)
{
	*v = (struct values){ .x_dim = { n, 2 }, .a_dim = { n, 1 }, .b_dim = { m, 1 } };
	for (int i = 0; i < 2 * n; i++)
		v->x[i] = (float)(first + i);
	for (int i = 0; i < n; i++)
		v->a[i] = (float)i;
	for (int i = 0; i < m; i++)
		v->b[i] = 100;
	v->input[0] = (struct tpat_tensor){ "b", TPAT_F32, 2, v->b_dim, v->b, NULL };
	v->input[1] = (struct tpat_tensor){ "x", TPAT_F32, 2, v->x_dim, v->x, NULL };
	v->input[2] = (struct tpat_tensor){ "a", TPAT_F32, 2, v->a_dim, v->a, NULL };
}

static void check_values(const float *y, const float *z, const float *same, int64_t n, int first)
{
	for (int64_t i = 0; i < 2 * n; i++) {
		float x = (float)(first + i), sum = i % 2 ? x - 1 : x + 1;

		CHECK(y[i] == (sum > 0 ? sum : 0));
		CHECK(same[i] == x);
	}
	for (int64_t i = 0; i < n; i++)
		CHECK(z[i] == (float)i + 100);
}

static void run_rows(struct tpat_session *s, int64_t n, int64_t m, int first)
{
	const struct tpat_session_ran *r;
	struct values v;

	fill(&v, n, m, first);
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), 0);
	CHECK_STR(tpat_error(t), "");
	if (!r)
		return;
	CHECK_INT(r->outputs, 3);
	CHECK_STR(r->output[0].name, "y");
	CHECK_INT(r->output[0].type, TPAT_F32);
	CHECK_INT(r->output[0].rank, 2);
	CHECK_INT(r->output[0].dim[0], n);
	CHECK_INT(r->output[1].dim[0], n);
	memset(&v, 0, sizeof v); /* the results do not need the inputs */
	check_values(r->output[0].data, r->output[1].data, r->output[2].data, n, first);
}

static void check_about(const struct tpat_session *s)
{
	const struct tpat_session_about *a = tpat_session_about(s);

	CHECK_INT(a->inputs, 3);
	CHECK_INT(a->outputs, 3);
	CHECK_STR(a->input[0].name, "x");
	CHECK_INT(a->input[0].type, TPAT_F32);
	CHECK_INT(a->input[0].dim[0], -1);
	CHECK_INT(a->input[0].dim[1], 2);
	CHECK_STR(a->output[2].name, "same");
	CHECK(*a->device);
}

/* Each wrong input is refused with a sentence, and the session still runs. */
static void check_errors(struct tpat_session *s)
{
	static const struct {
		int input, axis, extent, type, code;
		const char *name, *says;
	} wrong[] = {
		{ 1, 1, 3, 0, TPAT_USAGE, NULL, "extent 1 of input \"x\" is 2; the given tensor has 3" },
		{ 1, 0, 4, 0, TPAT_USAGE, NULL, "in another input; the given tensor has " },
		{ 1, 0, -5, 0, TPAT_USAGE, NULL, "is negative" },
		{ 1, -1, 0, TPAT_F64, TPAT_USAGE, NULL, "input \"x\" is f32; the given tensor is f64" },
		{ 1, -1, 0, 99, TPAT_USAGE, NULL, "of no known type" },
		{ 1, -1, 0, 0, TPAT_USAGE, "w", "has no input \"w\"" },
		{ 1, -1, 0, 0, TPAT_USAGE, "a", "input \"a\" is given twice" },
		{ 0, 0, 2, 0, TPAT_MODEL, NULL, "is 2; they must be equal, or one of them 1" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const struct tpat_session_ran *r;
		struct values v;

		fill(&v, 3, 3, 0);
		struct tpat_tensor *x = &v.input[wrong[i].input];
		if (wrong[i].axis >= 0)
			((int64_t *)(uintptr_t)x->dim)[wrong[i].axis] = wrong[i].extent;
		if (wrong[i].type)
			x->type = (enum tpat_type)wrong[i].type;
		if (wrong[i].name)
			x->name = wrong[i].name;
		CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), wrong[i].code);
		CHECK(r == NULL);
		CHECK(strstr(tpat_error(t), wrong[i].says) != NULL);
		if (!strstr(tpat_error(t), wrong[i].says))
			printf("  case %zu: %s\n", i, tpat_error(t));
		run_rows(s, 3, 3, 0);
	}
	struct values v;
	const struct tpat_session_ran *r;
	fill(&v, 3, 3, 0);
	CHECK_INT(tpat_session_run(t, &r, s, v.input + 1, 2), TPAT_USAGE);
	CHECK(strstr(tpat_error(t), "the input \"b\" is not given") != NULL);
	CHECK_STR(tpat_error_tensor(t), "b");
	v.input[0].data = NULL;
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), TPAT_USAGE);
	CHECK(strstr(tpat_error(t), "has no memory") != NULL);
}

/* Odd addresses are fine on the host. */
static void check_unaligned(struct tpat_session *s)
{
	const struct tpat_session_ran *r;
	struct values v;
	char odd[sizeof v.x + 1];

	fill(&v, 5, 1, -4);
	memcpy(odd + 1, v.x, sizeof v.x);
	v.input[1].data = odd + 1;
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), 0);
	if (r)
		check_values(r->output[0].data, r->output[1].data, r->output[2].data, 5, -4);
}

static void check_device(const char *path, const char *device)
{
	struct tpat_session *s = open_session(path, device, false);

	if (!s)
		return;
	check_about(s);
	run_rows(s, 3, 3, -2);
	run_rows(s, 3, 1, -5);
	run_rows(s, 20, 20, -7);
	run_rows(s, 1, 1, 4);
	check_errors(s);
	check_unaligned(s);
	run_rows(s, 0, 1, 0);
	tpat_session_close(s);
}

/* Device memory of the device cpu is host memory: inputs are read in place, and outputs stay there. */
static void check_device_memory(const char *path)
{
	static _Alignas(256) float x[64];
	struct tpat_session *s = open_session(path, "cpu", true);
	const struct tpat_session_ran *r;
	struct values v;

	if (!s)
		return;
	for (int n = 2; n < 12; n += 3) {
		fill(&v, n, 1, -n);
		memcpy(x, v.x, sizeof x);
		v.input[1].data = NULL;
		v.input[1].device = x;
		CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), 0);
		CHECK_STR(tpat_error(t), "");
		if (!r)
			break;
		CHECK(!r->output[0].data && r->output[0].device && !r->output[1].data && r->output[1].device);
		const struct tpat_tensor *same = &r->output[2];
		CHECK(same->device != x && same->data != x);
		check_values(r->output[0].device, r->output[1].device, same->data ? same->data : same->device, n, -n);
	}
	v.input[1].device = x + 1;
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), TPAT_USAGE);
	CHECK(strstr(tpat_error(t), "not aligned to 256 bytes") != NULL);
	tpat_session_close(s);

	s = open_session(path, "interpreter", true);
	v.input[1].device = x;
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), TPAT_USAGE);
	CHECK(strstr(tpat_error(t), "which this device does not take") != NULL);
	fill(&v, 2, 1, 3);
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), 0);
	CHECK(r && r->output[0].data && !r->output[0].device);
	tpat_session_close(s);
}

static int asked, compiled;

static bool stop_once(void *user)
{
	(void)user;
	return asked++ == 0;
}

static void count_compiled(void *user, enum tpat_log_level level, const char *text)
{
	(void)user;
	compiled += level == TPAT_LOG_NOTE && strstr(text, ": compiled") != NULL;
}

/* A run that is stopped leaves a session that runs. */
static void check_cancel(const char *path)
{
	struct tpat_session *s = open_session(path, "cpu", false);
	const struct tpat_session_ran *r;
	struct values v;

	if (!s)
		return;
	fill(&v, 3, 3, 0);
	tpat_set_callbacks(t, &(struct tpat_callbacks){ stop_once, count_compiled, NULL });
	CHECK_INT(tpat_session_run(t, &r, s, v.input, 3), TPAT_CANCELLED);
	CHECK(r == NULL);
	CHECK_INT(compiled, 0);
	run_rows(s, 3, 3, -2);
	CHECK(compiled > 0);
	int once = compiled;
	run_rows(s, 4, 4, -2);
	CHECK_INT(compiled, once);
	tpat_set_callbacks(t, NULL);
	tpat_session_close(s);
}

static void check_open(const char *path)
{
	struct tpat_session_options o = TPAT_SESSION_OPTIONS;
	struct tpat_session *s;
	const char *const shape[] = { "x:4x2" };

	CHECK_INT(tpat_session_open(t, &s, &o), TPAT_USAGE);
	CHECK(s == NULL);
	o.model = path_join(arena, folder, "none.onnx");
	CHECK_INT(tpat_session_open(t, &s, &o), TPAT_MODEL);
	o.model = path;
	o.device = "null";
	CHECK_INT(tpat_session_open(t, &s, &o), TPAT_USAGE);
	o.device = "toaster";
	CHECK_INT(tpat_session_open(t, &s, &o), TPAT_USAGE);
	o.device = "interpreter";
	o.shape = (struct tpat_strings){ shape, 1 };
	CHECK_INT(tpat_session_open(t, &s, &o), 0);
	CHECK(s && tpat_session_about(s)->input[0].dim[0] == 4);
	tpat_session_close(s);
	tpat_session_close(NULL);
}

int main(void)
{
	static const char *const device[] = { "interpreter", "cpu", "emulator" };
	struct err e = { 0 };

	arena = arena_new();
	t = tpat_new();
	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	const char *path = write_model();
	check_open(path);
	for (int i = 0; i < 3; i++)
		check_device(path, device[i]);
	check_device_memory(path);
	check_cancel(path);
	file_remove_tree(folder);
	tpat_free(t);
	arena_free(arena);
	return test_done();
}
