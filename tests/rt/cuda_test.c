/* The runtime on a GPU: the PTX of tests/rt/example_library.c through the CUDA driver: load, constants, launch, stream
 * capture (also of the very first enqueue), two streams at once. Argument: the library's path. Without a GPU it says so
 * and fails nothing.
 *
 * Build it by hand as rt_test.c, without tests/host/trt_host.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensorrt/host.h"
#include "unit/test.h"

typedef void *handle;

/* The version that a process with TensorRT reports; 0: no TensorRT. */
static int32_t fake_version;
__attribute__((visibility("default"), used)) int32_t getInferLibVersion(void);

int32_t getInferLibVersion(void)
{
	return fake_version;
}

/* The driver's functions that the test itself needs. */
static struct {
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*retain)(handle *, int);
	int (*set)(handle);
	int (*alloc)(unsigned long long *, size_t);
	int (*free)(unsigned long long);
	int (*to)(unsigned long long, const void *, size_t);
	int (*from)(void *, unsigned long long, size_t);
	int (*stream)(handle *, unsigned);
	int (*wait)(handle);
	int (*begin)(handle, int);
	int (*end)(handle, handle *);
	int (*instantiate)(handle *, handle, unsigned long long);
	int (*launch)(handle, handle);
} cu;

static bool open_cuda(void)
{
	static const char *const name[] = { "cuInit",
		                            "cuDeviceGet",
		                            "cuDevicePrimaryCtxRetain",
		                            "cuCtxSetCurrent",
		                            "cuMemAlloc_v2",
		                            "cuMemFree_v2",
		                            "cuMemcpyHtoD_v2",
		                            "cuMemcpyDtoH_v2",
		                            "cuStreamCreate",
		                            "cuStreamSynchronize",
		                            "cuStreamBeginCapture_v2",
		                            "cuStreamEndCapture",
		                            "cuGraphInstantiateWithFlags",
		                            "cuGraphLaunch" };
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	handle context;
	int device;

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		void *f = dlsym(library, name[i]);
		if (!f)
			return false;
		memcpy((char *)&cu + i * sizeof f, &f, sizeof f);
	}
	return cu.init(0) == 0 && cu.device(&device, 0) == 0 && cu.retain(&context, device) == 0 &&
	       cu.set(context) == 0;
}

static struct arena *arena;
static struct err err;

static void *upload(const void *data, size_t bytes)
{
	unsigned long long p = 0;

	CHECK_INT(cu.alloc(&p, bytes), 0);
	CHECK_INT(cu.to(p, data, bytes), 0);
	return (void *)(uintptr_t)p;
}

static void download(void *data, const void *pointer, size_t bytes)
{
	CHECK_INT(cu.from(data, (unsigned long long)(uintptr_t)pointer, bytes), 0);
}

static struct host_engine *build(struct host *h, const char *name, const struct host_tensor *min,
                                 const struct host_tensor *max)
{
	struct host_engine *x = NULL;

	if (host_build(&x, h, name, "1", "tpat", min, max, max, 1, arena, &err) < 0)
		printf("  %s\n", err.text);
	return x;
}

enum { N = 1000, H = 37 };

static bool doubled(const float *x, const void *pointer)
{
	float *y = malloc(N * H * sizeof *y);
	bool right = true;

	download(y, pointer, N * H * sizeof *y);
	for (int i = 0; i < N * H; i++)
		right = right && y[i] == 2 * x[i];
	free(y);
	return right;
}

/* Enqueue under capture, replay. `fresh`: a plugin object that never ran, so that the capture loads everything. */
static void test_capture(struct host_engine *x, const float *data, bool prepare)
{
	struct host_tensor in = { .type = 1, .rank = 2, .dim = { N, H } }, out = in;
	handle stream, graph, exec;
	float *zero = calloc(N * H, sizeof *zero);

	in.pointer = upload(data, N * H * sizeof *data);
	out.pointer = upload(zero, N * H * sizeof *zero);
	CHECK_INT(cu.stream(&stream, 1), 0);
	if (prepare)
		CHECK_INT(host_prepare(x, &in, &out, &err), 0);
	CHECK_INT(cu.begin(stream, 0 /* global: the strictest */), 0);
	CHECK_INT(host_enqueue(x, &in, &out, NULL, stream, &err), 0);
	CHECK_INT(cu.end(stream, &graph), 0);
	CHECK(!doubled(data, out.pointer)); /* captured, not run */
	CHECK_INT(cu.instantiate(&exec, graph, 0), 0);
	CHECK_INT(cu.launch(exec, stream), 0);
	CHECK_INT(cu.wait(stream), 0);
	CHECK(doubled(data, out.pointer));
	free(zero);
	cu.free((unsigned long long)(uintptr_t)in.pointer);
	cu.free((unsigned long long)(uintptr_t)out.pointer);
}

static void test_table(struct host *h)
{
	struct host_tensor min = { .type = 6, .rank = 2, .dim = { 1, 4 } },
	                   max = { .type = 6, .rank = 2, .dim = { 64, 4 } };
	struct host_engine *x = build(h, "AddTable", &min, &max), *y = NULL;
	int32_t data[64 * 4], result[2][64 * 4];
	struct host_tensor in[2], out[2];
	handle stream[2];
	bool right = true;

	CHECK(x);
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	for (int i = 0; i < 64 * 4; i++)
		data[i] = i;
	for (int k = 0; k < 2; k++) {
		in[k] = (struct host_tensor){ .type = 6, .rank = 2, .dim = { 63 + k, 4 } }; /* both kernels */
		out[k] = in[k];
		in[k].pointer = upload(data, sizeof data);
		out[k].pointer = upload(data, sizeof data);
		CHECK_INT(cu.stream(&stream[k], 1), 0);
		CHECK_INT(host_prepare(k ? y : x, &in[k], &out[k], &err), 0);
	}
	for (int i = 0; i < 100; i++)
		for (int k = 0; k < 2; k++)
			right = host_enqueue(k ? y : x, &in[k], &out[k], NULL, stream[k], &err) == 0 && right;
	for (int k = 0; k < 2; k++) {
		CHECK_INT(cu.wait(stream[k]), 0);
		download(result[k], out[k].pointer, sizeof result[k]);
		for (int i = 0; i < (63 + k) * 4; i++)
			right = right && result[k][i] == i + (int[]){ 1, 10, 100, 1000 }[i % 4];
	}
	CHECK(right);
	CHECK_INT(result[0][63 * 4], 63 * 4); /* nothing after the output */
	host_engine_free(y);
	host_engine_free(x);
}

/* TensorRT 10.3 requires INT32 size tensors: it gets the lower half of the kernel's INT64, also from a graph. */
static void test_narrow_size(const char *path)
{
	struct host_options o = { .version = 100300 };
	struct host *h = NULL;
	struct host_tensor in = { .type = 6, .rank = 1, .dim = { 6 } };
	struct host_tensor out[2] = { in, { .type = 6 } };
	const int32_t data[6] = { 4, 3, 2, 1, 0, 9 }, other[2] = { 77, 78 };
	int32_t index[6], count[2];
	handle stream, graph, exec;

	fake_version = 100300;
	CHECK_INT(host_open(&h, path, &o, arena, &err), 0);
	struct host_engine *x = build(h, "FindOdd", &in, &in);
	CHECK(x && host_workspace(x) == 256);
	in.pointer = upload(data, sizeof data);
	out[0].pointer = upload(data, sizeof data);
	static const char zeros[256];
	void *workspace = upload(zeros, sizeof zeros);
	CHECK_INT(cu.stream(&stream, 1), 0);
	for (int captured = 0; captured < 2; captured++) {
		out[1].pointer = upload(other, sizeof other);
		CHECK_INT(host_prepare(x, &in, out, &err), 0);
		if (captured)
			CHECK_INT(cu.begin(stream, 0), 0);
		CHECK_INT(host_enqueue(x, &in, out, workspace, stream, &err), 0);
		if (captured) {
			CHECK_INT(cu.end(stream, &graph), 0);
			CHECK_INT(cu.instantiate(&exec, graph, 0), 0);
			CHECK_INT(cu.launch(exec, stream), 0);
		}
		CHECK_INT(cu.wait(stream), 0);
		download(index, out[0].pointer, sizeof index);
		download(count, out[1].pointer, sizeof count);
		CHECK(index[0] == 1 && index[1] == 3 && index[2] == 5);
		CHECK(count[0] == 3 && count[1] == 78); /* nothing after the output */
	}
	host_engine_free(x);
	host_close(h);
	fake_version = 0;
}

int main(int argc, char **argv)
{
	struct host_options o = { 0 };
	struct host *h = NULL;
	struct host_engine *x = NULL, *y = NULL;
	struct host_tensor min = { .type = 1, .rank = 2, .dim = { 1, 1 } },
	                   max = { .type = 1, .rank = 2, .dim = { N, H } };
	static float data[N * H];

	if (argc != 2) {
		fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
		return 2;
	}
	if (!open_cuda()) {
		printf("there is no GPU\n");
		return test_done();
	}
	arena = arena_new();
	for (int i = 0; i < N * H; i++)
		data[i] = (float)(i % 1013 + 1);
	CHECK_INT(host_open(&h, argv[1], &o, arena, &err), 0);
	x = build(h, "Double", &min, &max);
	CHECK(x);
	test_capture(x, data, true);
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	test_capture(y, data, false);
	test_table(h);

	/* A plugin without code logs a clear line. */
	struct host_tensor in = max;
	CHECK(host_build(&y, h, "RowSoftmax", "1", "tpat", &in, &in, &in, 1, arena, &err) < 0);
	CHECK(strstr(err.text, "the library has no code for this GPU (sm_"));
	err_clear(&err);
	CHECK(strlen(host_log(h)) > 0);
	host_engine_free(x);
	host_close(h);

	/* Everything loaded for the first time inside a capture: a new process state is a newly opened library. */
	CHECK_INT(host_open(&h, argv[1], &o, arena, &err), 0);
	void *creator = host_creator(h, "Double", NULL, NULL);
	void *plugin = TRT_CALL(creator, trt_creator, create, "n", NULL, TRT_PHASE_BUILD);
	void *runtime = TRT_CALL(plugin, trt_plugin, capability, TRT_RUNTIME);
	struct trt_desc desc = { { 2, { N, H } }, TRT_FLOAT, TRT_LINEAR, -1 };
	const void *inputs[1] = { upload(data, sizeof data) };
	void *outputs[1] = { upload(data, sizeof data) };
	handle stream, graph, exec;
	CHECK_INT(cu.stream(&stream, 1), 0);
	CHECK_INT(cu.begin(stream, 0), 0);
	CHECK_INT(TRT_CALL(runtime, trt_runtime, enqueue, &desc, &desc, inputs, outputs, NULL, stream), 0);
	CHECK_INT(cu.end(stream, &graph), 0);
	CHECK_INT(cu.instantiate(&exec, graph, 0), 0);
	CHECK_INT(cu.launch(exec, stream), 0);
	CHECK_INT(cu.wait(stream), 0);
	CHECK(doubled(data, outputs[0]));
	TRT_CALL(plugin, trt_plugin, v.d0);
	CHECK_STR(host_log(h), "");
	host_close(h);
	test_narrow_size(argv[1]);
	arena_free(arena);
	return test_done();
}
