/* The runtime of generated libraries, driven by a host that acts as TensorRT: tests/rt/example_library.c through its
 * whole life on a CPU device, and everything that must be refused. Argument: the library's path.
 *
 * To build it by hand (for the library see its first comment):
 *   cc -std=c11 -D_GNU_SOURCE -rdynamic -Isrc -Iinclude -Itests -o rt_test tests/rt/rt_test.c tests/host/trt_host.c
 *      src/engine/tensorrt/host*.c src/base/(all).c src/tensor/(all).c -lz -ldl -lpthread -lm
 * -rdynamic, because the program itself exports TensorRT's symbols: getInferLibVersion and getPluginRegistry. */
#include "rt/rt_common.h"

#include "rt/rt_refuse.h"

#include "rt/rt_process.h"

#include "rt/rt_faults.h"

#include "rt/rt_range.h"

static void fill(float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)random_in(-500, 500) / 100;
}

static void test_double(struct host *h)
{
	struct host_tensor min = tensor(1, 2, 1, 1), max = tensor(1, 2, 40, 60), out;
	struct host_engine *x = build(h, "Double", &min, &max, 1);
	struct host_memory m = trt_host_memory(&memory);
	bool right = true;

	CHECK(x);
	CHECK_INT(host_workspace(x), 0);
	CHECK_INT(host_outputs(x), 1);
	for (int i = 0; i < 20; i++) {
		struct host_tensor in = tensor(1, 2, random_in(1, 40), random_in(1, 60));
		int64_t n = in.dim[0] * in.dim[1];
		float *data = trt_host_alloc(&memory, (size_t)n * 4);
		fill(data, n);
		in.pointer = data;
		CHECK_INT(host_run(x, &in, &out, &m, NULL, &err), 0);
		CHECK(out.type == 1 && out.rank == 2 && out.dim[0] == in.dim[0] && out.dim[1] == in.dim[1]);
		for (int64_t j = 0; j < n; j++)
			right = right && ((float *)out.pointer)[j] == 2 * data[j];
		free_outputs(&out, 1);
		trt_host_free(&memory, data);
	}
	CHECK(right);
	/* No elements: nothing to launch. */
	int launches = device.launches;
	struct host_tensor in = tensor(1, 2, 0, 5);
	in.pointer = trt_host_alloc(&memory, 0);
	CHECK_INT(host_run(x, &in, &out, &m, NULL, &err), 0);
	CHECK_INT(device.launches, launches);
	free_outputs(&out, 1);
	trt_host_free(&memory, in.pointer);
	host_engine_free(x);
	CHECK_STR(host_log(h), "");
}

static void check_softmax(const float *x, const float *y, int64_t n, int64_t h, bool *right)
{
	for (int64_t i = 0; i < n; i++) {
		double sum = 0;
		for (int64_t j = 0; j < h; j++)
			sum += exp((double)x[i * h + j]);
		for (int64_t j = 0; j < h; j++)
			*right = *right && fabs(exp((double)x[i * h + j]) / sum - (double)y[i * h + j]) < 1e-5;
	}
}

static void test_workspace(struct host *h)
{
	struct host_tensor min = tensor(1, 2, 1, 1), max = tensor(1, 2, 100, 30), out;
	struct host_engine *x = build(h, "RowSoftmax", &min, &max, 1);
	struct host_memory m = trt_host_memory(&memory);
	bool right = true;

	CHECK(x);
	CHECK_INT(host_workspace(x), 2 * 512); /* 400 bytes of each buffer at N = 100 */
	for (int i = 0; i < 20; i++) {
		struct host_tensor in = tensor(1, 2, random_in(1, 100), random_in(1, 30));
		float *data = trt_host_alloc(&memory, (size_t)(in.dim[0] * in.dim[1]) * 4);
		fill(data, in.dim[0] * in.dim[1]);
		in.pointer = data;
		CHECK_INT(host_run(x, &in, &out, &m, NULL, &err), 0);
		check_softmax(data, out.pointer, in.dim[0], in.dim[1], &right);
		free_outputs(&out, 1);
		trt_host_free(&memory, data);
	}
	CHECK(right);

	/* The workspace is needed. */
	struct host_tensor in = tensor(1, 2, 2, 2);
	float data[4] = { 0 }, result[4];
	in.pointer = data;
	out = in;
	out.pointer = result;
	CHECK_INT(host_enqueue(x, &in, &out, NULL, NULL, &err), ERR_DEVICE);
	CHECK(err_has("enqueue failed: tpat plugin RowSoftmax: enqueue: it needs 512 bytes of workspace"));
	host_engine_free(x);

	/* Largest in the middle of the range. */
	struct host_tensor low = tensor(6, 1, 1, 0), high = tensor(6, 1, 100, 0);
	x = build(h, "Bump", &low, &high, 1);
	CHECK(x && host_workspace(x) >= 9216);
	host_engine_free(x);
	x = build(h, "Bump", &high, &high, 1);
	CHECK_INT(host_workspace(x), 256);
	host_engine_free(x);
}

/* Each tactic gives the same result; further contexts keep the engine's tactic; the workspace fits the largest. */
static void test_tactics(struct host *h)
{
	struct host_tensor min = tensor(1, 2, 1, 1), max = tensor(1, 2, 100, 30), in = tensor(1, 2, 17, 23), out[2];
	struct host_engine *x = build(h, "RowSoftmax", &min, &max, 1), *y = NULL;
	struct host_memory m = trt_host_memory(&memory);
	int *whole = host_symbol(h, "example_whole_launches");
	float data[17 * 23], result[17 * 23];
	bool right = true;

	CHECK(x && whole);
	CHECK_INT(host_tactics(x), 2);
	CHECK_INT(host_workspace(x), 2 * 512);
	fill(data, 17 * 23);
	in.pointer = data;
	for (int t = 0; t < 2; t++) {
		int before = *whole, launches = device.launches;
		CHECK_INT(host_set_tactic(x, t, &err), 0);
		CHECK_INT(host_run(x, &in, &out[t], &m, NULL, &err), 0);
		check_softmax(data, out[t].pointer, 17, 23, &right);
		CHECK_INT(*whole - before, t);
		CHECK_INT(device.launches - launches, 2 - t);
	}
	CHECK(right && memcmp(out[0].pointer, out[1].pointer, sizeof data) == 0);
	free_outputs(out, 2);

	/* Another context of the engine; the second tactic needs no workspace. */
	out[0] = in;
	out[0].pointer = result;
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	CHECK_INT(host_prepare(y, &in, out, &err), 0);
	CHECK_INT(host_enqueue(y, &in, out, NULL, NULL, &err), 0);
	check_softmax(data, result, 17, 23, &right);
	CHECK(right);
	/* After onShapeChange, and in a clone afterwards. */
	CHECK_INT(host_set_tactic(y, 0, &err), 0);
	CHECK_INT(host_enqueue(y, &in, out, NULL, NULL, &err), ERR_DEVICE);
	CHECK(err_has("it needs 512 bytes of workspace"));
	host_log_clear(h);
	CHECK_INT(host_set_tactic(y, 1, &err), 0);
	CHECK_INT(host_enqueue(y, &in, out, NULL, NULL, &err), 0);
	host_engine_free(y);
	host_engine_free(x);

	struct raw r = raw_new(h, "RowSoftmax");
	int32_t tactic[3] = { 0 };
	CHECK_INT(TRT_CALL(r.build, trt_build, tactics), 2);
	CHECK_INT(TRT_CALL(r.build, trt_build, valid_tactics, tactic, 2), 0);
	CHECK(tactic[0] == 1 && tactic[1] == 2);
	CHECK(TRT_CALL(r.build, trt_build, valid_tactics, tactic, 3) != 0);
	CHECK(log_has(h, "getValidTactics: it has 2 tactics, but TensorRT asks for 3"));
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, set_tactic, 0), 0);
	CHECK(TRT_CALL(r.runtime, trt_runtime, set_tactic, 3) != 0);
	CHECK(log_has(h, "setTactic: there is no tactic 3; there are 2"));
	CHECK(TRT_CALL(r.runtime, trt_runtime, set_tactic, -1) != 0);
	CHECK_STR(TRT_CALL(r.build, trt_build, timing_cache_id), "RowSoftmax/5f/5f");
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	host_log_clear(h);
}

/* Plugins that differ in their weights share code; the same weights are on the device once. */
static void test_shared_weights(struct host *h)
{
	static const int table[4] = { 1, 10, 100, 1000 };
	static const struct {
		const char *plugin;
		int uploads, first;
	} cases[] = { { "AddTable", 1, 1 }, { "AddOther", 1, 2 }, { "AddAgain", 0, 1 }, { "AddOther", 0, 2 } };
	struct host_memory m = trt_host_memory(&memory);
	int loads = device.loads, uploads = device.uploads;

	for (int i = 0; i < 4; i++) {
		struct host_tensor in = tensor(6, 2, 3, 4), out;
		struct host_engine *x = build(h, cases[i].plugin, &in, &in, 1), *y = NULL;
		int32_t *data = trt_host_alloc(&memory, 48);
		uploads += cases[i].uploads;
		for (int k = 0; k < 12; k++)
			data[k] = k;
		in.pointer = data;
		CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
		for (int second = 0; second < 2; second++) {
			CHECK_INT(host_run(second ? y : x, &in, &out, &m, NULL, &err), 0);
			for (int k = 0; k < 12; k++)
				CHECK_INT(((int32_t *)out.pointer)[k], k + cases[i].first * table[k % 4]);
			free_outputs(&out, 1);
		}
		CHECK_INT(device.loads, loads + 1);
		CHECK_INT(device.uploads, uploads);
		trt_host_free(&memory, data);
		host_engine_free(y);
		host_engine_free(x);
	}
}

static void test_constant_and_guard(struct host *h)
{
	struct host_tensor min = tensor(6, 2, 1, 4), max = tensor(6, 2, 9, 4), out;
	struct host_engine *x = build(h, "AddTable", &min, &max, 1);
	struct host_memory m = trt_host_memory(&memory);
	int *even = host_symbol(h, "example_even_launches");

	CHECK(x && even);
	CHECK_INT(device.uploads, 1);
	for (int n = 1; n <= 9; n++) {
		struct host_tensor in = tensor(6, 2, n, 4);
		int32_t *data = trt_host_alloc(&memory, (size_t)n * 16), before = *even;
		bool right = true;
		for (int i = 0; i < 4 * n; i++)
			data[i] = i;
		in.pointer = data;
		CHECK_INT(host_run(x, &in, &out, &m, NULL, &err), 0);
		for (int i = 0; i < 4 * n; i++)
			right = right && ((int32_t *)out.pointer)[i] == i + (int[]){ 1, 10, 100, 1000 }[i % 4];
		CHECK(right);
		CHECK_INT(*even - before, n % 2 == 0);
		free_outputs(&out, 1);
		trt_host_free(&memory, data);
	}

	/* A context on another device loads the code again; a second one there does not. */
	struct host_engine *y = NULL, *z = NULL;
	int loads = device.loads;
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	CHECK_INT(device.loads, loads);
	device.current = 1;
	CHECK_INT(host_engine_context(&z, x, arena, &err), 0);
	CHECK_INT(device.loads, loads + 1);
	CHECK_INT(device.uploads, 2);
	host_engine_free(z);
	CHECK_INT(host_engine_context(&z, x, arena, &err), 0);
	CHECK_INT(device.loads, loads + 1);
	host_engine_free(z);
	device.current = 0;
	host_engine_free(y);

	/* Extents that the plugin was not built for. */
	struct host_tensor wide = tensor(6, 2, 3, 5);
	CHECK(!build(h, "AddTable", &wide, &wide, 1));
	CHECK(err_has("must have extent 4 at dimension 1, but it has 5"));
	host_log_clear(h);
	CHECK_INT(host_prepare(x, &wide, &wide, &err), ERR_DEVICE);
	CHECK(err_has("onShapeChange: input 0 (x) must have extent 4 at dimension 1, but it has 5"));
	host_engine_free(x);
}

static void test_shape_input(bool passed)
{
	struct host *h = open_as(110100, passed);
	struct host_tensor min[2] = { tensor(1, 1, 1, 0), tensor(7, 1, 1, 0) }, max[2] = { tensor(1, 1, 9, 0), min[1] };
	int64_t least = 1, most = 300;
	struct host_memory m = trt_host_memory(&memory);
	bool right = true;

	min[1].value = &least;
	max[1].value = &most;
	struct host_engine *x = build(h, "Repeat", min, max, 2);
	CHECK(x);
	CHECK_INT(host_workspace(x), 1280); /* 1200 bytes */
	for (int i = 0; i < 20; i++) {
		int64_t size = random_in(1, 300), n = random_in(1, 9);
		struct host_tensor in[2] = { tensor(1, 1, n, 0), min[1] }, out;
		float *data = trt_host_alloc(&memory, (size_t)n * 4);
		fill(data, n);
		in[0].pointer = data;
		in[1].pointer = &size;
		in[1].value = &size;
		CHECK_INT(host_run(x, in, &out, &m, NULL, &err), 0);
		CHECK(out.rank == 1 && out.dim[0] == size);
		for (int64_t j = 0; j < size; j++)
			right = right && ((float *)out.pointer)[j] == data[j % n];
		free_outputs(&out, 1);
		trt_host_free(&memory, data);
	}
	CHECK(right);
	host_engine_free(x);

	/* A value that no output has: its workspace is unknown, and it cannot run. */
	CHECK(!build(h, "Blind", min, max, 2));
	CHECK(err_has("tpat plugin Blind: getWorkspaceSize: the size of buffer 0 (stage) cannot be computed: element 0 "
	              "of shape input 1 (size) is not known at run time"));
	close_all(h);
}

static int64_t floor_of(int64_t a, int64_t b)
{
	return (int64_t)floor((double)a / (double)b);
}

static void test_shapes(struct host *h)
{
	struct host_tensor min = tensor(6, 2, 1, 1), max = tensor(6, 2, 4, 50);
	struct host_engine *x = build(h, "Shapes", &min, &max, 1);

	CHECK(x);
	CHECK_INT(host_outputs(x), 3);
	for (int i = 0; i < 60; i++) {
		int64_t a = random_in(1, i % 2 ? 4 : 50), b = i % 7 == 0 ? a : random_in(1, 50), c = a - b;
		struct host_tensor in = tensor(6, 2, a, b), out[3] = { { 0 } };
		int64_t want[3][8] = {
			{ a + b, c > 0 ? c : 0, a * b, floor_of(c, 3) + 1000, -floor_of(-c, 3) + 1000,
			  c - 3 * floor_of(c, 3), a < b ? a : b, 0 },
			{ a == b, a < b, a <= b, c != 0 && c % 3 != 0, c % 3 != 0 || a < b, c == 0,
			  a < b ? a + b : 3 * b, a != b ? a : a * b },
			{ a < 5 ? INT64_MAX / 4 * a : b, b, b },
		};
		CHECK_INT(host_shapes(x, &in, out, &err), 0);
		CHECK(out[0].rank == 8 && out[1].rank == 8 && out[2].rank == 3);
		for (int o = 0; o < 3; o++)
			for (int d = 0; d < out[o].rank; d++)
				if (out[o].dim[d] != want[o][d]) {
					printf("A %d B %d output %d extent %d: ", (int)a, (int)b, o, d);
					CHECK_INT(out[o].dim[d], want[o][d]);
				}
		/* The numbers of the runtime are the same as TensorRT's: else onShapeChange refuses. */
		CHECK_INT(host_prepare(x, &in, out, &err), 0);
		CHECK_INT(host_enqueue(x, &in, out, NULL, NULL, &err), 0);
		out[1].dim[6]++;
		CHECK_INT(host_prepare(x, &in, out, &err), ERR_DEVICE);
		CHECK(err_has("output 1 (logic) must have extent"));
	}
	host_engine_free(x);
	host_log_clear(h);
}

/* Constant extents are folded: no operation reaches TensorRT. */
static void test_folding(struct host *h)
{
	struct raw r = raw_new(h, "Shapes");
	struct trt_expr *builder = host_expr_builder(arena);
	struct trt_dims_exprs in = { 2, { host_expr_new(builder, 7, true), host_expr_new(builder, 3, true) } }, out[3];

	CHECK_INT(TRT_CALL(r.build, trt_build, output_shapes, &in, 1, NULL, 0, out, 3, builder), 0);
	CHECK_INT(host_expr_count(builder), 0);
	CHECK_INT(host_expr_value(out[0].d[0]), 10);
	CHECK_INT(host_expr_value(out[2].d[0]), 3);
	TRT_CALL(r.plugin, trt_plugin, v.d0);
}

static void test_found_size(struct host *h)
{
	struct host_tensor in = tensor(6, 1, 6, 0), out[2];
	struct host_engine *x = build(h, "FindEven", &in, &in, 1);
	struct host_memory m = trt_host_memory(&memory);
	int32_t data[6] = { 4, 3, 2, 1, 0, 8 };

	CHECK(x);
	in.pointer = data;
	CHECK_INT(host_shapes(x, &in, out, &err), 0);
	CHECK(out[0].rank == 1 && out[0].dim[0] == 6 && out[1].rank == 0); /* six at most */
	CHECK_INT(host_run(x, &in, out, &m, NULL, &err), 0);
	CHECK(out[0].rank == 1 && out[0].dim[0] == 4 && out[1].rank == 0);
	CHECK_INT(*(int32_t *)out[1].pointer, 4);
	/* An impossible size is reported. */
	*(int32_t *)out[1].pointer = 7;
	CHECK_INT(host_found(x, &in, out, &m, &err), ERR_DIFFER);
	CHECK(err_has("has extent 7 at dimension 0; it can have 0 to 6"));
	CHECK_INT(((int32_t *)out[0].pointer)[3], 5);
	free_outputs(out, 2);
	host_engine_free(x);
}

static void test_private_type(struct host *h)
{
	struct host_tensor in = tensor(11, 2, 1, 3), out;
	struct host_engine *x = build(h, "HalveDouble", &in, &in, 1);
	struct host_memory m = trt_host_memory(&memory);
	double data[3] = { 1, 2, 3 };

	CHECK(x);
	in.pointer = data;
	CHECK_INT(host_run(x, &in, &out, &m, NULL, &err), 0);
	CHECK(out.type == 11 && ((double *)out.pointer)[2] == 1.5);
	free_outputs(&out, 1);
	host_engine_free(x);
	/* TensorRT's own refusal. */
	struct raw r = raw_new(h, "HalveDouble");
	int32_t type = TRT_FLOAT, result;
	CHECK(TRT_CALL(r.build, trt_build, output_types, &result, 1, &type, 1) != 0);
	CHECK(log_has(h, "input 0 (x) must be a type that TensorRT does not have (1011), but it is FLOAT (0)"));
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	host_log_clear(h);
}

/* enqueue: no allocation, with the prepared extents and with others; without onShapeChange; in a clone. */
static void test_enqueue(struct host *h)
{
	struct host_tensor min = tensor(1, 2, 1, 1), max = tensor(1, 2, 9, 9), a = tensor(1, 2, 3, 4),
	                   b = tensor(1, 2, 9, 9);
	struct host_engine *x = build(h, "RowSoftmax", &min, &max, 1), *y;
	float in[81], out[81], *workspace = trt_host_alloc(&memory, host_workspace(x));
	struct host_tensor ao = a, bo = b;
	bool right = true;

	CHECK(x);
	fill(in, 81);
	a.pointer = b.pointer = in;
	ao.pointer = bo.pointer = out;
	CHECK_INT(host_enqueue(x, &a, &ao, workspace, NULL, &err), 0); /* never prepared */
	check_softmax(in, out, 3, 4, &right);
	CHECK_INT(host_prepare(x, &a, &ao, &err), 0);
	long before = allocations;
	CHECK_INT(host_enqueue(x, &a, &ao, workspace, NULL, &err), 0);
	check_softmax(in, out, 3, 4, &right);
	CHECK_INT(host_enqueue(x, &b, &bo, workspace, NULL, &err), 0); /* prepared for others */
	CHECK_INT(allocations - before, 0);
	check_softmax(in, out, 9, 9, &right);
	CHECK(right);

	/* A clone works after its original is freed, and without setting the extents again. */
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	CHECK_INT(host_prepare(y, &a, &ao, &err), 0);
	CHECK_INT(host_enqueue(y, &a, &ao, workspace, NULL, &err), 0);
	host_engine_free(y);
	before = allocations;
	struct raw r = raw_new(h, "RowSoftmax");
	CHECK(!COUNTS_ALLOCATIONS || allocations > before); /* the counter sees the library's allocations */
	struct trt_desc d = desc(TRT_FLOAT, TRT_LINEAR, 2, 3, 4).desc;
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, shape_change, &d, 1, &d, 1), 0);
	void *clone = TRT_CALL(r.plugin, trt_plugin, clone);
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	r.runtime = TRT_CALL(clone, trt_plugin, capability, TRT_RUNTIME);
	const void *inputs[1] = { in };
	void *outputs[1] = { out };
	memset(out, 0, sizeof out);
	CHECK_INT(TRT_CALL(r.runtime, trt_runtime, enqueue, &d, &d, inputs, outputs, workspace, NULL), 0);
	check_softmax(in, out, 3, 4, &right);
	CHECK(right);
	TRT_CALL(clone, trt_plugin, v.d0);

	/* A launch that fails. */
	device.fail = "launch";
	CHECK_INT(host_enqueue(x, &a, &ao, workspace, NULL, &err), ERR_DEVICE);
	CHECK(err_has("tpat plugin RowSoftmax: enqueue: the test lets launch fail"));
	device.fail = NULL;
	host_log_clear(h);
	host_engine_free(x);
	trt_host_free(&memory, workspace);
}

/* A tensor map is made for a new pointer or new extents, and kept for pointers that return. */
static void test_maps(struct host *h)
{
	enum { POINTERS = 6, KEPT = 4 };
	struct host_tensor min = tensor(6, 1, 1, 0), max = tensor(6, 1, 9, 0), in = tensor(6, 1, 5, 0), out = in;
	struct host_engine *x = build(h, "Mapped", &min, &max, 1);
	int32_t data[POINTERS][9], result[9];
	bool right = true;

	CHECK(x);
	for (int i = 0; i < POINTERS; i++)
		for (int k = 0; k < 9; k++)
			data[i][k] = 100 * i + k;
	out.pointer = result;
	for (int extent = 5; extent <= 9; extent += 4) { /* maps for other extents are dropped */
		int made = device.maps;
		in.dim[0] = out.dim[0] = extent;
		CHECK_INT(host_prepare(x, &in, &out, &err), 0);
		for (int i = 0; i < 4 * POINTERS; i++) {
			/* the same four in turn, then two others and the newest two of the four */
			int which = i < 3 * KEPT ? i % KEPT : KEPT - 2 + i % 4;
			in.pointer = data[which];
			memset(result, 0, sizeof result);
			CHECK_INT(host_enqueue(x, &in, &out, NULL, NULL, &err), 0);
			right = right && memcmp(result, data[which], (size_t)extent * sizeof *result) == 0;
		}
		CHECK_INT(device.maps - made, POINTERS);
	}
	CHECK(right);
	/* A map that failed is not kept, and is tried again. */
	in.pointer = data[0];
	device.fail = "map";
	CHECK_INT(host_enqueue(x, &in, &out, NULL, NULL, &err), ERR_DEVICE);
	CHECK(err_has("tpat plugin Mapped: enqueue: the test lets map fail"));
	device.fail = NULL;
	CHECK_INT(host_enqueue(x, &in, &out, NULL, NULL, &err), 0);
	CHECK(memcmp(result, data[0], sizeof result) == 0);
	host_log_clear(h);
	host_engine_free(x);
}

struct worker {
	struct host_engine *engine;
	int rows;
	bool right;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct host_tensor in = tensor(1, 2, w->rows, 16), out = in;
	float data[9 * 16], result[9 * 16], workspace[256];
	struct err e = { 0 };

	w->right = true;
	for (int i = 0; i < 9 * 16; i++)
		data[i] = (float)((i * 7 + w->rows) % 11) / 4;
	in.pointer = data;
	out.pointer = result;
	for (int i = 0; i < 300; i++) {
		/* Every third time without setting the extents first. */
		in.dim[0] = out.dim[0] = 1 + (w->rows + i) % 9;
		if (i % 3)
			w->right = host_prepare(w->engine, &in, &out, &e) == 0 && w->right;
		memset(result, 0, sizeof result);
		w->right = host_enqueue(w->engine, &in, &out, workspace, NULL, &e) == 0 && w->right;
		check_softmax(data, result, in.dim[0], 16, &w->right);
	}
	return NULL;
}

static void test_threads(struct host *h)
{
	struct host_tensor min = tensor(1, 2, 1, 16), max = tensor(1, 2, 9, 16);
	struct host_engine *x = build(h, "RowSoftmax", &min, &max, 1);
	struct worker w[2] = { { x, 3, false }, { NULL, 8, false } };
	pthread_t thread[2];

	CHECK_INT(host_engine_context(&w[1].engine, x, arena, &err), 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, &w[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK(w[0].right && w[1].right);
	host_engine_free(w[1].engine);
	host_engine_free(x);
	CHECK_STR(host_log(h), "");
}

#include "rt/rt_v2.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
		return 2;
	}
	library_path = argv[1];
	if (!dlsym(RTLD_DEFAULT, "getInferLibVersion")) {
		fprintf(stderr, "%s must be linked with -rdynamic\n", argv[0]);
		return 2;
	}
	arena = arena_new();
	struct host *h = open_as(110100, false);
	test_double(h);
	test_workspace(h);
	host_log_clear(h);
	test_tactics(h);
	test_constant_and_guard(h);
	host_log_clear(h);
	test_refusals(h);
	test_demands(h);
	close_all(h);
	h = open_as(110100, false);
	test_shared_weights(h);
	test_saved_fields(h);
	test_shapes(h);
	test_folding(h);
	test_found_size(h);
	test_private_type(h);
	test_enqueue(h);
	test_maps(h);
	test_threads(h);
	close_all(h);
	test_shape_input(false);
	test_shape_input(true);
	test_no_device();
	test_private_output();
	test_versions();
	test_registration();
	test_two_libraries();
	test_refusing_registry();
	test_opened_early();
	test_narrow_size();
	test_v2();
	test_faults();
	test_range();
	arena_free(arena);
	return test_done();
}
