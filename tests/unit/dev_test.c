/* Devices: null, the processor, NVRTC, and the GPU if there is one (else its error message). */
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/file.h"
#include "base/threads.h"
#include "dev/dev.h"
#include "dev/nvrtc.h"
#include "test.h"

static struct arena *arena;

/* Fills x[0..n) with i + offset on the device and reads it back. */
static void check_fill(struct dev *d, struct dev_kernel *k, int n, uint32_t blocks, uint32_t threads)
{
	struct err e = { 0 };
	void *x = NULL;
	int32_t *y = NEWN(arena, int32_t, n), offset = 7, wrong = 0;
	void *args[] = { &x, &offset, &n };
	const uint32_t grid[3] = { blocks, 1, 1 }, block[3] = { threads, 1, 1 };
	CHECK_INT(d->alloc(d, &x, (size_t)n * 4, &e), 0);
	CHECK((uintptr_t)x % 256 == 0);
	CHECK_INT(d->memset(d, x, 0xff, (size_t)n * 4, &e), 0);
	CHECK_INT(d->launch(d, k, grid, block, 0, args, &e), 0);
	CHECK_INT(d->copy_out(d, y, x, (size_t)n * 4, &e), 0);
	for (int i = 0; i < n; i++)
		wrong += y[i] != i + offset;
	CHECK_INT(wrong, 0);

	struct dev_event *from, *to;
	double ns = -1;
	CHECK_INT(d->event_new(d, &from, &e), 0);
	CHECK_INT(d->event_new(d, &to, &e), 0);
	CHECK_INT(d->event_record(d, from, &e), 0);
	CHECK_INT(d->launch(d, k, grid, block, 0, args, &e), 0);
	CHECK_INT(d->event_record(d, to, &e), 0);
	CHECK_INT(d->event_ns(d, &ns, from, to, &e), 0);
	CHECK(ns > 0 && ns < 1e9);
	d->event_free(d, from);
	d->event_free(d, to);

	if (d->capture_begin) {
		struct dev_graph *g;
		CHECK_INT(d->capture_begin(d, &e), 0);
		CHECK_INT(d->memset(d, x, 0, 8, &e), 0);
		offset = 100;
		CHECK_INT(d->launch(d, k, grid, block, 0, args, &e), 0);
		CHECK_INT(d->capture_end(d, &g, &e), 0);
		CHECK_INT(d->copy_out(d, y, x, 8, &e), 0);
		CHECK_INT(y[1], 8); /* captured is not run */
		CHECK_INT(d->graph_launch(d, g, &e), 0);
		CHECK_INT(d->copy_out(d, y, x, 8, &e), 0);
		CHECK_INT(y[1], 101);
		d->graph_free(d, g);
	}
	CHECK_INT(d->synchronize(d, &e), 0);
	CHECK_STR(e.text, "");
	d->free(d, x);
	d->free(d, NULL);
}

static void test_names(void)
{
	struct dev *d;
	struct err e = { 0 };
	CHECK_INT(dev_open(&d, "gpu", &e), ERR_USAGE);
	CHECK_STR(e.text, "There is no device \"gpu\".");
	CHECK(strstr(e.advice, "cuda:1"));
	err_clear(&e);
	CHECK_INT(dev_open(&d, "cuda:x", &e), ERR_USAGE);
	err_clear(&e);
	CHECK_INT(dev_open(&d, "null:90", &e), 0);
	CHECK_STR(d->kind, "null");
	CHECK_INT(d->props.arch, 90);
	struct dev_source s = { .file = "a.cu", .text = "whatever" };
	struct dev_code code;
	struct dev_module *m;
	struct dev_kernel *k;
	const uint32_t one[3] = { 1, 1, 1 };
	int32_t x = 5, y = 0;
	void *p;
	CHECK_INT(d->compile(d, &code, &s, NULL, arena, &e), 0);
	CHECK_INT(d->load(d, &m, &code, &e), 0);
	CHECK_INT(d->kernel(d, &k, m, "f", 0, &e), 0);
	CHECK_INT(d->launch(d, k, one, one, 0, NULL, &e), 0);
	CHECK_INT(d->alloc(d, &p, 4, &e), 0);
	CHECK_INT(d->copy_in(d, p, &x, 4, &e), 0);
	CHECK_INT(d->copy_out(d, &y, p, 4, &e), 0);
	CHECK_INT(y, 5);
	d->free(d, p);
	d->unload(d, m);
	d->close(d);
}

static void test_cpu(void)
{
	struct dev *d;
	struct err e = { 0 };
	struct dev_code code;
	struct dev_module *m;
	struct dev_kernel *k;
	char *log;
	CHECK_INT(dev_open(&d, "cpu", &e), 0);
	CHECK(d->props.name[0] && d->props.sms > 0 && d->props.memory_bytes > 0);
	struct dev_source s = {
		.file = "fill.c",
		.text = "#include <stdint.h>\n"
		        "void fill(void *const *args, const uint32_t block[3])\n{\n"
		        "\tint *x = *(int **)args[0], offset = *(int *)args[1], n = *(int *)args[2];\n"
		        "\tfor (int i = (int)block[0] * 64; i < n && i < (int)block[0] * 64 + 64; i++)\n"
		        "\t\tx[i] = i + offset;\n}\n"
	};
	CHECK_INT(d->compile(d, &code, &s, &log, arena, &e), 0);
	CHECK_INT(d->load(d, &m, &code, &e), 0);
	CHECK_INT(d->kernel(d, &k, m, "missing", 0, &e), ERR_DEVICE);
	CHECK_STR(e.text, "The compiled C code has no function \"missing\".");
	err_clear(&e);
	CHECK_INT(d->kernel(d, &k, m, "fill", 0, &e), 0);
	check_fill(d, k, 1000, 16, 1);
	d->unload(d, m);
	s.text = "int f(void) { return missing; }\n";
	CHECK_INT(d->compile(d, &code, &s, &log, arena, &e), ERR_DEVICE);
	CHECK(strstr(e.text, "failed on fill.c: fill.c:1:") && strstr(e.text, "missing"));
	CHECK(strstr(log, "missing"));
	d->close(d);
}

static const char fill_cu[] = "#include \"tpat_device.h\"\n"
                              "extern \"C\" __global__ void fill(int *x, int offset, int n)\n{\n"
                              "\tconst int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "\tif (i < n)\n\t\tx[i] = to_i32(to_f32(to_bf16(1.0f))) * i + offset;\n}\n";

struct parallel {
	int arch[16];
	bool right[16];
};

static void compile_one(void *arg, int i)
{
	struct parallel *p = arg;
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct dev_nvrtc_header header[] = { { "tpat_device.h", embed_find("rt/device/tpat_device.h")->text },
		                             { "tpat_types.h", embed_find("rt/device/tpat_types.h")->text },
		                             { "tpat_vector.h", embed_find("rt/device/tpat_vector.h")->text },
		                             { "tpat_warp.h", embed_find("rt/device/tpat_warp.h")->text } };
	struct dev_nvrtc_job job = { .file = "fill.cu",
		                     .text = fill_cu,
		                     .header = header,
		                     .headers = sizeof header / sizeof *header,
		                     .arch = p->arch[i],
		                     .ptx = i % 2 };
	const void *code = NULL;
	size_t size = 0;
	char *log;
	p->right[i] = dev_nvrtc_compile(&code, &size, &job, &log, a, &e) == 0 && size > 100 && !*log &&
	              (i % 2 ? strstr(code, ".entry fill") != NULL : memcmp(code, "\177ELF", 4) == 0);
	if (!p->right[i])
		printf("sm_%d: %s %s\n", job.arch, e.text, log);
	arena_free(a);
}

static void test_nvrtc(void)
{
	struct err e = { 0 };
	CHECK_INT(dev_nvrtc_version(), 0);
	CHECK(dev_nvrtc_path() == NULL);
	setenv("TPAT_NVRTC", "/nonexistent/libnvrtc.so", 1);
	CHECK_INT(dev_nvrtc_open(&e), ERR_DEVICE);
	CHECK_STR(e.text, "TPAT_NVRTC names /nonexistent/libnvrtc.so, which does not exist.");
	err_clear(&e);
	setenv("TPAT_NVRTC", "/proc/self", 1);
	CHECK_INT(dev_nvrtc_open(&e), ERR_DEVICE);
	CHECK_STR(e.text, "TPAT_NVRTC names /proc/self, which contains no usable NVRTC.");
	err_clear(&e);
	unsetenv("TPAT_NVRTC");
	if (dev_nvrtc_open(&e) < 0) {
		CHECK_INT(e.code, ERR_DEVICE);
		CHECK(strstr(e.advice, "pip install nvidia-cuda-nvrtc"));
		printf("without NVRTC: %s\n", e.text);
		return;
	}
	int *arch, n;
	CHECK(dev_nvrtc_version() >= 11020 && dev_nvrtc_path());
	CHECK_INT(dev_nvrtc_archs(&arch, &n, arena, &e), 0);
	CHECK(n > 0 && dev_nvrtc_has_arch(arch[0]) && !dev_nvrtc_has_arch(1));
	struct parallel p = { 0 };
	for (int i = 0; i < 16; i++)
		p.arch[i] = arch[i % n] < 75 ? 75 : arch[i % n];
	threads_for(16, 4, compile_one, &p);
	for (int i = 0; i < 16; i++)
		CHECK(p.right[i]);

	struct dev_nvrtc_job job = { .file = "bad.cu",
		                     .text = "extern \"C\" __global__ void f(int *x)\n{\n\t*x = missing;\n}\n",
		                     .arch = arch[0] };
	const void *code;
	size_t size;
	char *log;
	CHECK_INT(dev_nvrtc_compile(&code, &size, &job, &log, arena, &e), ERR_DEVICE);
	CHECK_STR(e.text, "NVRTC failed on bad.cu: bad.cu(3): error: identifier \"missing\" is undefined");
	CHECK(strstr(log, "1 error detected"));
	err_clear(&e);
	job.arch = 1;
	CHECK_INT(dev_nvrtc_compile(&code, &size, &job, NULL, arena, &e), ERR_DEVICE);
	CHECK(strstr(e.text, "cannot compile for sm_1.") && strstr(e.advice, "75"));
}

static void test_cuda(void)
{
	struct dev *d;
	struct err e = { 0 };
	char why[256] = "";
	if (dev_cuda_count(why) == 0) {
		CHECK(*why);
		CHECK_INT(dev_open(&d, "cuda", &e), ERR_DEVICE);
		CHECK(*e.text);
		printf("without a GPU: %s\n", e.text);
		return;
	}
	CHECK_INT(dev_open(&d, "cuda:99", &e), ERR_DEVICE);
	CHECK(strstr(e.text, "There is no GPU number 99"));
	err_clear(&e);
	CHECK_INT(dev_open(&d, "cuda", &e), 0);
	CHECK(d->props.arch >= 75 && d->props.sms > 0 && d->props.memory_bytes > 0 &&
	      d->props.shared_per_block >= 48 << 10);
	printf("%s: sm_%d, driver %d, %d multiprocessors, %d bytes shared, L2 %d bytes, %d kHz, memory %d bits at %d "
	       "kHz\n",
	       d->props.name, d->props.arch, d->props.driver, d->props.sms, d->props.shared_per_block,
	       d->props.l2_bytes, d->props.clock_khz, d->props.memory_bus_bits, d->props.memory_clock_khz);
	struct dev_source s = { .file = "fill.cu", .text = fill_cu };
	struct dev_code code;
	struct dev_module *m;
	struct dev_kernel *k;
	char *log;
	CHECK_INT(d->compile(d, &code, &s, &log, arena, &e), 0);
	CHECK_INT(d->load(d, &m, &code, &e), 0);
	CHECK_INT(d->kernel(d, &k, m, "missing", 0, &e), ERR_DEVICE);
	err_clear(&e);
	CHECK_INT(d->kernel(d, &k, m, "fill", 0, &e), 0);
	int registers = 0, local = -1, shared = -1;
	CHECK_INT(d->kernel_use(d, k, &registers, &local, &shared, &e), 0);
	CHECK(registers > 0 && local == 0 && shared == 0);
	check_fill(d, k, 100000, 400, 256);
	const uint32_t grid[3] = { 1, 1, 1 }, block[3] = { 2048, 1, 1 };
	void *none = NULL, *args[] = { &none, &registers, &local };
	CHECK_INT(d->launch(d, k, grid, block, 0, args, &e), ERR_DEVICE);
	CHECK(strstr(e.text, "fill cannot be launched with a grid of 1 x 1 x 1 blocks of 2048 x 1 x 1 threads"));
	err_clear(&e);
	d->unload(d, m);
	code.data = "not code";
	CHECK_INT(d->load(d, &m, &code, &e), ERR_DEVICE);
	d->close(d);
}

int main(void)
{
	arena = arena_new();
	test_names();
	test_cpu();
	test_nvrtc();
	test_cuda();
	arena_free(arena);
	return test_done();
}
