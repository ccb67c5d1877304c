/* rt/core by itself, without an engine's part, runs a plugin's table. The test does what such a part does;
 * docs/add-an-engine.md explains it. */
#include "core/rt_core.h"

#include <stdlib.h>

#include "tests/unit/test.h"

/* ---- A plugin as tables: y[N] = 2 x[N], by blocks of 4. */

static const struct tpat_rt_expr expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },     /* N */
	{ TPAT_RT_CONST, 0, 0, 0, 4 },   /* threads */
	{ TPAT_RT_CEILDIV, 0, 1, 0, 0 }, /* blocks */
	{ TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const int32_t dims[] = { 0 };
static const struct tpat_rt_tensor x = { .name = "x", .type = 1, .rank = 1, .dim = dims },
                                   y = { .name = "y", .type = 1, .rank = 1, .dim = dims };
static const struct tpat_rt_arg args[] = { { TPAT_RT_ARG_INPUT, 0 },
	                                   { TPAT_RT_ARG_OUTPUT, 0 },
	                                   { TPAT_RT_ARG_LONG, 0 } };
#define KERNEL(NAME, TOGETHER) \
	{ .name = NAME, \
	  .arg = args, \
	  .args = 3, \
	  .grid = { 2, 3, 3 }, \
	  .block = { 4, 1, 1 }, \
	  .guard = -1, \
	  .together = TOGETHER }
static const struct tpat_rt_kernel kernel[] = { KERNEL("together", 1), KERNEL("twice", 0) };
static const struct tpat_rt_step step = { kernel, 2 };
static const struct tpat_rt_tactic tactic = { &step, 1 };
static const struct tpat_rt_plugin twice = { .name = "Twice",
	                                     .version = "1",
	                                     .name_space = "",
	                                     .input = &x,
	                                     .output = &y,
	                                     .inputs = 1,
	                                     .outputs = 1,
	                                     .expr = expr,
	                                     .exprs = 4,
	                                     .tactic = &tactic,
	                                     .tactics = 1 };

/* ---- A device. */

static int load(void *user, const struct tpat_rt_plugin *plugin, void **module, char why[256])
{
	(void)user, (void)why;
	*module = (void *)(uintptr_t)plugin;
	return 0;
}

static int upload(void *user, const void *data, size_t bytes, void **pointer, char why[256])
{
	(void)user, (void)data, (void)bytes, (void)pointer;
	return rt_why(why, "there are no constants");
}

static int launch(void *user, void *function, const struct tpat_rt_plugin *plugin, const struct tpat_rt_kernel *k,
                  const uint32_t grid[3], void **arg, void *stream, char why[256])
{
	const float *from = *(const float **)arg[0];
	float *to = *(float **)arg[1];
	(void)user, (void)function, (void)plugin, (void)stream, (void)why;
	for (int64_t i = 0; i < (int64_t)grid[0] * k->block[0]; i++)
		if (i < *(int64_t *)arg[2])
			to[i] = 2 * from[i];
	return 0;
}

/* Two blocks of four threads can wait for each other. */
static int32_t together(void *user, void *module, int32_t threads)
{
	(void)user, (void)module;
	return threads == 4 ? 2 : 0;
}

static int current(void *user, char why[256])
{
	(void)user, (void)why;
	return 0;
}

static const struct tpat_rt_device device = {
	.version = TPAT_RT_VERSION,
	.load = load,
	.upload = upload,
	.launch = launch,
	.current = current,
	.together = together,
};

/* ---- The engine's part. */

/* Extents have changed: `n` of x, and of y. */
static int prepare(struct rt_plan *plan, struct rt_binding *binding, int64_t n, char why[RT_WHY])
{
	plan->extent[0] = plan->extent[TPAT_RT_MAX_RANK] = n;
	plan->narrow[0] = -1; /* y is not a size */
	if (rt_device_bind(&twice, binding, why))
		return -1;
	return rt_plan_make(&twice, &tactic, binding->loaded, plan, why);
}

static int enqueue(const struct rt_plan *plan, const float *from, float *to, char why[RT_WHY])
{
	const void *const inputs[] = { from };
	void *const outputs[] = { to };
	return rt_plan_run(&twice, plan, inputs, 1, outputs, NULL, NULL, why);
}

/* ---- Workspace: y = 32 x through a, b, c of one size, then d of another. */

static const struct tpat_rt_expr chain_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },   { TPAT_RT_CONST, 0, 0, 0, 4 }, { TPAT_RT_CEILDIV, 0, 1, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 1 }, { TPAT_RT_MUL, 0, 1, 0, 0 },   { TPAT_RT_ADD, 4, 1, 0, 0 },
};
static const struct tpat_rt_buffer chain_buffer[] = {
	{ "a", 4, NULL }, { "b", 4, NULL }, { "d", 5, NULL }, { "c", 4, NULL }
};
#define WAY(FROM, I, TO, K) { { TPAT_RT_ARG_##FROM, I }, { TPAT_RT_ARG_##TO, K }, { TPAT_RT_ARG_LONG, 0 } }
static const struct tpat_rt_arg chain_arg[][3] = { WAY(INPUT, 0, BUFFER, 0), WAY(BUFFER, 0, BUFFER, 1),
	                                           WAY(BUFFER, 1, BUFFER, 3), WAY(BUFFER, 3, BUFFER, 2),
	                                           WAY(BUFFER, 2, OUTPUT, 0) };
#define CHAIN(I) \
	{ .name = "twice", .arg = chain_arg[I], .args = 3, .grid = { 2, 3, 3 }, .block = { 4, 1, 1 }, .guard = -1 }
static const struct tpat_rt_kernel chain_kernel[] = { CHAIN(0), CHAIN(1), CHAIN(2), CHAIN(3), CHAIN(4) };
static const struct tpat_rt_step chain_step[] = { { &chain_kernel[0], 1 },
	                                          { &chain_kernel[1], 1 },
	                                          { &chain_kernel[2], 1 },
	                                          { &chain_kernel[3], 1 },
	                                          { &chain_kernel[4], 1 } };
static const struct tpat_rt_tactic chain_tactic = { chain_step, 5 };

static void shares_memory(void)
{
	struct tpat_rt_plugin p = twice;
	struct rt_binding binding = { 0 };
	struct rt_plan plan;
	float from[100], to[100] = { 0 };
	char why[RT_WHY] = "";
	_Alignas(256) char workspace[3 * 512];
	const void *const inputs[] = { from };
	void *const outputs[] = { to };
	int64_t low[2 * TPAT_RT_MAX_RANK] = { 1 }, high[2 * TPAT_RT_MAX_RANK] = { 100 };

	p.name = "Chain";
	p.expr = chain_expr;
	p.exprs = 6;
	p.buffer = chain_buffer;
	p.buffers = 4;
	p.tactic = &chain_tactic;
	for (int i = 0; i < 100; i++)
		from[i] = (float)i;
	CHECK_INT(rt_check_table(&p, why), 0);
	CHECK_INT(rt_plan_alloc(&p, &plan), 0);
	plan.extent[0] = plan.extent[TPAT_RT_MAX_RANK] = 100;
	plan.narrow[0] = -1;
	CHECK_INT(rt_device_bind(&p, &binding, why), 0);
	CHECK_INT(rt_plan_make(&p, &chain_tactic, binding.loaded, &plan, why), 0);
	CHECK_INT(plan.bytes, 3 * 512); /* c is where a was */
	CHECK_INT(rt_plan_workspace(&p, low, high, why), 3 * 512);
	CHECK(plan.offset[3] == plan.offset[0] && plan.offset[1] != plan.offset[0]);
	CHECK_INT(rt_plan_run(&p, &plan, inputs, 1, outputs, workspace, NULL, why), 0);
	for (int i = 0; i < 100; i++)
		CHECK(to[i] == 32 * from[i]);
	rt_plan_free(&plan);
}

/* ---- An output with the memory of an input: y = 2 (2 x), but the first step only fills y where that is not x. */

static const struct tpat_rt_arg place_arg[][3] = { WAY(INPUT, 0, OUTPUT, 0), WAY(OUTPUT, 0, OUTPUT, 0) };

static void fills_other_memory(void)
{
	struct tpat_rt_plugin p = twice;
	struct tpat_rt_tensor out = y;
	struct tpat_rt_kernel k[] = { CHAIN(0), CHAIN(0) };
	const struct tpat_rt_step steps[] = { { &k[0], 1 }, { &k[1], 1 } };
	const struct tpat_rt_tactic two = { steps, 2 };
	struct rt_binding binding = { 0 };
	struct rt_plan plan;
	float from[7] = { 1, 2, 3, 4, 5, 6, 7 }, to[7] = { 0 };
	char why[RT_WHY] = "";

	k[0].arg = place_arg[0];
	k[1].arg = place_arg[1];
	k[0].fills = 1;
	p.name = "Place";
	p.output = &out;
	p.tactic = &two;
	CHECK(rt_check_table(&p, why) != 0); /* y replaces nothing */
	out.replaces = 2;
	CHECK(rt_check_table(&p, why) != 0); /* there is one input */
	out.replaces = 1;
	CHECK_INT(rt_check_table(&p, why), 0);
	CHECK_INT(rt_plan_alloc(&p, &plan), 0);
	plan.extent[0] = plan.extent[TPAT_RT_MAX_RANK] = 7;
	plan.narrow[0] = -1;
	CHECK_INT(rt_device_bind(&p, &binding, why), 0);
	CHECK_INT(rt_plan_make(&p, &two, binding.loaded, &plan, why), 0);
	const void *const inputs[] = { from };
	void *const other[] = { to }, *const same[] = { from };
	CHECK_INT(rt_plan_run(&p, &plan, inputs, 1, other, NULL, NULL, why), 0);
	for (int i = 0; i < 7; i++)
		CHECK(to[i] == 4.0f * (float)(i + 1) && from[i] == (float)(i + 1));
	CHECK_INT(rt_plan_run(&p, &plan, inputs, 1, same, NULL, NULL, why), 0);
	for (int i = 0; i < 7; i++)
		CHECK(from[i] == 2.0f * (float)(i + 1));
	rt_plan_free(&plan);
}

int main(void)
{
	struct rt_binding binding = { 0 };
	struct tpat_rt_device old = device;
	struct tpat_rt_library library = { TPAT_RT_VERSION, "twice.onnx", "by hand", &twice, 1 };
	struct rt_plan plan;
	float from[7] = { 1, 2, 3, 4, 5, 6, 7 }, to[7] = { 0 };
	char why[RT_WHY] = "";

	old.version = 0;
	CHECK(rt_device_set(&old, why) != 0 && strstr(why, "version 0"));
	CHECK_INT(rt_device_set(&device, why), 0);
	CHECK_INT(rt_check_library(&library, why), 0);
	library.plugins = 0;
	CHECK(rt_check_library(&library, why) != 0 && strstr(why, "no plugins"));
	library.version++;
	CHECK(rt_check_library(&library, why) != 0 && strstr(why, "build it again"));
	CHECK_INT(rt_check_table(&twice, why), 0);
	CHECK_INT(rt_plan_alloc(&twice, &plan), 0);
	CHECK_INT(prepare(&plan, &binding, 7, why), 0);
	CHECK(plan.ready && plan.launches == 1 && plan.launch[0].grid[0] == 2 && plan.bytes == 0);
	CHECK(plan.launch[0].kernel == &kernel[0]);
	CHECK_INT(enqueue(&plan, from, to, why), 0);
	for (int i = 0; i < 7; i++)
		CHECK(to[i] == 2 * from[i]);
	CHECK_INT(prepare(&plan, &binding, 0, why), 0);
	CHECK_INT(plan.launches, 0);                    /* no block, no launch */
	CHECK_INT(prepare(&plan, &binding, 9, why), 0); /* three blocks do not run at the same time */
	CHECK(plan.launches == 1 && plan.launch[0].kernel == &kernel[1]);
	rt_plan_free(&plan);
	shares_memory();
	fills_other_memory();
	rt_device_forget();
	return test_done();
}
