/* A library for Windows, in a program for Windows: it loads, exports what ONNX Runtime looks for and nothing else,
 * contains the code of the GPU unchanged, and computes a matrix product with the runtime and its kernels for the
 * processor. Arguments: the DLL of a model y[N,C,H,K] = x[N,C,H,W] w[C,W,K], and a file of its compiled code. */
#include "core/rt_core.h"

#include <math.h>
#include <stdlib.h>

#include "tests/unit/test.h"

static char why[RT_WHY];

/* One product, in the plan for these extents. */
static void multiply(const struct tpat_rt_plugin *p, struct rt_binding *binding, struct rt_plan *plan, int n, int c,
                     int h, int w, int k)
{
	const int64_t extent[] = { n, c, h, w, c, w, k, n, c, h, k };
	size_t left = (size_t)n * c * h * w, right = (size_t)c * w * k, all = (size_t)n * c * h * k;
	float *x = malloc(left * sizeof *x), *y = malloc(right * sizeof *y), *z = malloc(all * sizeof *z);
	double worst = 0;

	for (size_t i = 0; i < left; i++)
		x[i] = (float)(i * 7 % 31) / 8 - 2;
	for (size_t i = 0; i < right; i++)
		y[i] = (float)(i * 5 % 23) / 8 - 1;
	memcpy(&plan->extent[0], extent, 4 * sizeof *extent);
	memcpy(&plan->extent[TPAT_RT_MAX_RANK], extent + 4, 3 * sizeof *extent);
	memcpy(&plan->extent[2 * TPAT_RT_MAX_RANK], extent + 7, 4 * sizeof *extent);
	plan->narrow[0] = -1;
	CHECK_INT(rt_plan_make(p, p->tactic, binding->loaded, plan, why), 0);
	void *workspace = NULL;
	CHECK_INT(rt_cpu.alloc(NULL, (size_t)plan->bytes, NULL, &workspace, why), 0);
	CHECK_INT(rt_plan_run(p, plan, (const void *const[]){ x, y }, 2, (void *const[]){ z }, workspace, NULL, why),
	          0);
	rt_cpu.free(NULL, workspace, NULL);
	for (size_t i = 0; i < all; i++) {
		size_t column = i % (size_t)k, row = i / (size_t)k, matrix = row / (size_t)h % (size_t)c;
		double sum = 0;
		for (int q = 0; q < w; q++)
			sum += (double)x[row * (size_t)w + (size_t)q] *
			       y[(matrix * (size_t)w + (size_t)q) * (size_t)k + column];
		worst = fmax(worst, fabs(sum - z[i]));
	}
	CHECK(worst < 1e-4);
	free(x);
	free(y);
	free(z);
}

static void compare_code(const struct tpat_rt_plugin *p, const char *path)
{
	size_t bytes = (size_t)((const char *)p->image[0].end - (const char *)p->image[0].data);
	char *data = malloc(bytes + 1);
	FILE *f = fopen(path, "rb");
	CHECK(f && fread(data, 1, bytes + 1, f) == bytes);
	CHECK(memcmp(data, p->image[0].data, bytes) == 0);
	if (f)
		fclose(f);
	free(data);
}

int main(int argc, char **argv)
{
	struct rt_binding binding = { 0 };
	struct rt_plan plan;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DLL CODE\n", argv[0]);
		return 2;
	}
	void *library = dlopen(argv[1], RTLD_NOW);
	CHECK(library);
	const struct tpat_rt_library *l = library ? dlsym(library, "tpat_library") : NULL;
	if (!l)
		return test_done() + 1;
	CHECK(dlsym(library, "RegisterCustomOps"));
	CHECK(!dlsym(library, "getCreators") && !dlsym(library, "rt_plan_make"));
	CHECK_INT(rt_check_library(l, why), 0);
	CHECK_INT(l->plugins, 1);
	const struct tpat_rt_plugin *p = &l->plugin[0];
	CHECK_INT(rt_check_table(p, why), 0);
	CHECK_INT(p->inputs, 2);
	compare_code(p, argv[2]);
	/* No driver: a sentence. */
	CHECK(rt_device_bind(p, &binding, why) != 0 &&
	      strstr(why, "there is no CUDA driver: nvcuda.dll cannot be opened"));
	CHECK_INT(rt_device_bind_on(p, &rt_cpu, &binding, why), 0);
	CHECK_INT(rt_plan_alloc(p, &plan), 0);
	multiply(p, &binding, &plan, 1, 1, 1, 1, 1);
	multiply(p, &binding, &plan, 2, 3, 17, 33, 9);
	multiply(p, &binding, &plan, 1, 2, 64, 40, 128);
	rt_plan_free(&plan);
	rt_device_forget();
	CHECK(FreeLibrary(library));
	return test_done();
}
