/* A small TensorRT plugin in C (IPluginV3): y = x for one input of floats. -DFAULT=n plants one fault, whose
 * finding check_test.py knows. -DRIGHT=n adds what some plugins do and no rule forbids. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tpat/tpat_abi.h"

#ifndef FAULT
#define FAULT 0
#endif
#ifndef RIGHT
#define RIGHT 0
#endif

struct part {
	const void *vptr;
	struct plugin *whole;
};
struct plugin {
	struct part self, core, build, runtime;
	int factor, references;
};

static struct plugin *of(void *part)
{
	return ((struct part *)part)->whole;
}

static int32_t language(void *self)
{
	(void)self;
	return 0;
}

static void nothing(void *self)
{
	(void)self;
}

static struct trt_info plugin_info(void *self)
{
	(void)self;
	return (struct trt_info){ FAULT == 1 ? "PLUGIN_V2" : "PLUGIN", 1, 0 };
}
static struct trt_info core_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_CORE", FAULT == 2 ? 2 : 1, 0 };
}
static struct trt_info build_info(void *self)
{
	(void)self;
	return (struct trt_info){ FAULT == 3 ? NULL : "PLUGIN_V3ONE_BUILD", 1, 0 };
}
static struct trt_info runtime_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_RUNTIME", 1, 0 };
}

static void destroy(void *self)
{
	if (FAULT == 4)
		abort();
	if (FAULT != 5)
		free(of(self));
}

static void *make(int factor);

static void *clone(void *self)
{
	if (FAULT == 6)
		return NULL;
	return FAULT == 7 ? self : make(of(self)->factor + (FAULT == 8));
}

static void *capability(void *self, int32_t which)
{
	struct plugin *p = of(self);
	if (FAULT == 9 && which == TRT_BUILD)
		return NULL;
	if (FAULT == 10 && which == TRT_CORE)
		return malloc(64) ? &((struct plugin *)make(1))->core : NULL;
	return which == TRT_CORE ? (void *)&p->core : which == TRT_BUILD ? (void *)&p->build : (void *)&p->runtime;
}

static const char *name(void *self)
{
	(void)self;
	return FAULT == 11 ? NULL : FAULT == 12 ? "" : "Same";
}
static const char *core_name(void *self)
{
	(void)self;
	return FAULT == 13 ? "Other" : "Same";
}
static const char *version(void *self)
{
	static char text[] = "1";
	(void)self;
	if (FAULT == 14)
		text[0]++;
	return FAULT == 15 ? NULL : text;
}
static const char *name_space(void *self)
{
	(void)self;
	return FAULT == 16 ? NULL : "";
}

/* ---- Building. */

static int32_t configure(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                         const struct trt_dynamic_desc *out, int32_t outputs)
{
	(void)self, (void)in, (void)inputs, (void)out, (void)outputs;
	return FAULT == 17;
}
static int32_t output_types(void *self, int32_t *out, int32_t outputs, const int32_t *in, int32_t inputs)
{
	(void)self, (void)outputs, (void)inputs;
	out[0] = in[0];
	return FAULT == 18;
}
static int32_t output_shapes(void *self, const struct trt_dims_exprs *in, int32_t inputs,
                             const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                             int32_t outputs, struct trt_expr *builder)
{
	(void)self, (void)inputs, (void)shape_in, (void)shape_inputs, (void)outputs, (void)builder;
	out[0] = in[0];
	return FAULT == 19;
}
static bool supports(void *self, int32_t pos, const struct trt_dynamic_desc *in_out, int32_t inputs, int32_t outputs)
{
	(void)self, (void)inputs, (void)outputs;
	return FAULT != 20 && in_out[pos].desc.type == TRT_FLOAT && in_out[pos].desc.format == TRT_LINEAR;
}
static int32_t outputs(void *self)
{
	static int calls;
	calls++;
	return FAULT == 21 ? 0 : FAULT == 22 ? 1 + calls % 2 : of(self)->factor;
}
static size_t workspace(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                        const struct trt_dynamic_desc *out, int32_t n)
{
	(void)self, (void)in, (void)inputs, (void)out, (void)n;
	return 0;
}
static int32_t valid_tactics(void *self, int32_t *tactics, int32_t n)
{
	(void)self;
	for (int32_t i = 0; i < n; i++)
		tactics[i] = FAULT == 23 ? i : FAULT == 24 ? 1 : i + 1;
	return FAULT == 25;
}
static int32_t tactics(void *self)
{
	(void)self;
	return FAULT == 26 ? -1 : 2;
}
static const char *no_text(void *self)
{
	(void)self;
	return NULL;
}
static int32_t format_limit(void *self)
{
	(void)self;
	return FAULT == 27 ? 0 : 100;
}

/* ---- Running. */

static int32_t set_tactic(void *self, int32_t tactic)
{
	(void)self, (void)tactic;
	return FAULT == 28;
}
static int32_t shape_change(void *self, const struct trt_desc *in, int32_t inputs, const struct trt_desc *out,
                            int32_t n)
{
	(void)self, (void)in, (void)inputs, (void)out, (void)n;
	return 0;
}
static int32_t enqueue(void *self, const struct trt_desc *in, const struct trt_desc *out, const void *const *inputs,
                       void *const *outs, void *space, void *stream)
{
	(void)self, (void)in, (void)out, (void)inputs, (void)outs, (void)space, (void)stream;
	return 1;
}
static void *attach(void *self, void *context)
{
	if (RIGHT == 2) { /* asks for the allocator */
		void *(*const *table)(void *) = *(void *(*const **)(void *))context;
		if (!table[0](context))
			return NULL;
	}
	return FAULT == 29 ? NULL : clone(&of(self)->self);
}
/* 1,024 values of four bits, whose last byte is the last of a page before one that cannot be read. */
static const void *packed(void)
{
	static char *two;
	if (!two) {
		two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(two + 4096, 4096, PROT_NONE);
	}
	return two + 4096 - 512;
}
static const struct trt_fields *fields(void *self)
{
	static struct trt_field field[2] = { { "factor", NULL, 4, 1 }, { "factor", NULL, 4, 1 } };
	static struct trt_fields all = { FAULT == 30 || FAULT == 45 || RIGHT == 1 ? 2 : 1, field };
	field[0].data = FAULT == 31 ? NULL : &of(self)->factor;
	field[1].data = field[0].data;
	field[0].name = FAULT == 32 || FAULT == 45 ? NULL : "factor";
	if (RIGHT == 1)
		field[1] = (struct trt_field){ "packed", packed(), 12, 1024 };
	field[0].type = FAULT == 33 ? 99 : 4;
	return FAULT == 34 ? NULL : &all;
}

static const struct trt_plugin plugin_table = { { language, plugin_info, nothing, destroy }, capability, clone };
static const struct trt_core core_table = { { language, core_info, nothing, nothing }, core_name, version, name_space };
static const struct trt_build build_table = { { language, build_info, nothing, nothing },
	                                      configure,
	                                      output_types,
	                                      output_shapes,
	                                      supports,
	                                      outputs,
	                                      workspace,
	                                      valid_tactics,
	                                      tactics,
	                                      no_text,
	                                      format_limit,
	                                      no_text };
static const struct trt_runtime runtime_table = {
	{ language, runtime_info, nothing, nothing }, set_tactic, shape_change, enqueue, attach, fields
};

static void *make(int factor)
{
	struct plugin *p = calloc(1, sizeof *p);
	*p = (struct plugin){
		{ &plugin_table, p }, { &core_table, p }, { &build_table, p }, { &runtime_table, p }, factor, 1
	};
	return &p->self;
}

/* ---- The creator. */

static struct trt_info creator_info(void *self)
{
	(void)self;
	return (struct trt_info){ FAULT == 35 ? "PLUGIN CREATOR_V1" : "PLUGIN CREATOR_V3ONE", 1, 0 };
}
static void *create(void *self, const char *label, const struct trt_fields *f, int32_t phase)
{
	(void)self, (void)label;
	int factor = 1;
	if (FAULT == 36 && phase == TRT_PHASE_RUNTIME)
		return NULL;
	if (FAULT == 37) /* reads beyond the fields */
		factor = f->field[f->count].name ? 1 : 2;
	for (int32_t i = 0; i < f->count; i++)
		if (strcmp(f->field[i].name, "factor") == 0)
			factor = *(const int *)f->field[i].data + (FAULT == 38);
	while (FAULT == 39)
		;
	return make(factor);
}
static const struct trt_fields *field_names(void *self)
{
	static const struct trt_field field[1] = { { "factor", NULL, 4, 1 } };
	static const struct trt_fields all = { FAULT == 40 ? -1 : 1, field };
	(void)self;
	return &all;
}

static const struct trt_creator creator_table = {
	{ language, creator_info, nothing, nothing }, create, field_names, name, version, name_space
};
static const struct trt_object creator = { &creator_table };
static const void *const creators[] = { &creator, &creator };

#define EXPORT __attribute__((visibility("default")))
#if FAULT != 41
EXPORT void setLoggerFinder(void *finder);
EXPORT void setLoggerFinder(void *finder)
{
	(void)finder;
}
#endif
EXPORT const void *const *getCreators(int32_t *n);
EXPORT const void *const *getCreators(int32_t *n)
{
	*n = FAULT == 42 ? 2 : FAULT == 43 ? 0 : 1;
	return creators;
}
#if FAULT == 44
static void __attribute__((destructor)) leave(void)
{
	abort();
}
#endif
