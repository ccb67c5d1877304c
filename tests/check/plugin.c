/* A small TensorRT plugin in C (IPluginV3): y = 2 x + bias for one input of floats, computed on the processor.
 * -DFAULT=n plants one fault, whose finding check_test.py knows. -DRIGHT=n adds what some plugins do and no rule
 * forbids. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tpat/tpat_abi.h"

#ifndef FAULT
#define FAULT 0
#endif
#ifndef RIGHT
#define RIGHT 0
#endif
enum { HWC8 = 2, MOST = 4096, FIELD_TYPE = FAULT == 52 ? TRT_FIELD_INT64 : TRT_FIELD_INT32 };

struct part {
	const void *vptr;
	struct plugin *whole;
};
struct plugin {
	struct part self, core, build, runtime;
	struct plugin *shared; /* whose core is given away */
	int64_t factor;        /* the number of outputs */
	int bias, runtime_phase, configured, tactic;
	int64_t elements, first; /* by the last shape change, and by the first */
	char *extra;
	const void *kept;
	const struct trt_desc *shapes;         /* of the last shape change, not copied */
	const struct trt_dynamic_desc *ranges; /* the same of the last configuration */
	struct trt_field field[3];
	struct trt_fields fields;
};

static int64_t static_elements;

static struct plugin *of(void *part)
{
	return ((struct part *)part)->whole;
}

static int32_t language(void *self)
{
	(void)self;
	return FAULT == 103 ? 7 : 0;
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
	return (struct trt_info){ FAULT == 3 ? NULL : "PLUGIN_V3ONE_BUILD",
		                  RIGHT == 5 || FAULT == 118 || FAULT == 119 ? 2 : 1, 0 };
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
	free(of(self)->extra);
	if (FAULT != 5)
		free(of(self));
}

static void *make(int64_t factor, int bias, int phase);

static void *clone(void *self)
{
	const struct plugin *p = of(self);
	if (FAULT == 6)
		return NULL;
	if (FAULT == 7)
		return self;
	struct plugin *q = of(make(p->factor + (FAULT == 8), FAULT == 60 ? 0 : p->bias, p->runtime_phase));
	if (FAULT == 59)
		q->shared = p->shared;
	q->configured = p->configured;
	q->kept = p->kept;
	return FAULT == 97 && !malloc(40) ? NULL : &q->self;
}

static void *capability(void *self, int32_t which)
{
	struct plugin *p = of(self);
	if (FAULT == 9 && which == TRT_BUILD)
		return NULL;
	if (FAULT == 10 && which == TRT_CORE)
		return malloc(64) ? &((struct plugin *)make(1, 0, 0))->core : NULL;
	return which == TRT_CORE    ? (void *)&p->shared->core
	       : which == TRT_BUILD ? (void *)&p->build
	                            : (void *)&p->runtime;
}

static const char *name(void *self)
{
	static char longer[2000];
	(void)self;
	if (FAULT == 108)
		memset(longer, 'a', sizeof longer - 1);
	return FAULT == 11 ? NULL : FAULT == 12 ? "" : FAULT == 108 ? longer : "Same";
}
static const char *core_name(void *self)
{
	return FAULT == 13 ? "Other" : name(self);
}
static const char *version(void *self)
{
	static char text[] = "1";
	(void)self;
	if (FAULT == 14)
		text[0]++;
	return FAULT == 15 ? NULL : FAULT == 107 ? "" : text;
}
static const char *name_space(void *self)
{
	static int calls;
	(void)self;
	return FAULT == 16 ? NULL : FAULT == 106 && calls++ % 2 ? "other" : "";
}

/* ---- Building. */

static int64_t elements_of(const struct trt_dims *d, int32_t format)
{
	int64_t n = 1;
	for (int32_t i = 0; i < d->rank; i++)
		n *= format == HWC8 && i == d->rank - 3 ? (d->d[i] + 7) / 8 * 8 : d->d[i];
	return n;
}

static int32_t configure(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                         const struct trt_dynamic_desc *out, int32_t outputs)
{
	struct plugin *p = of(self);
	(void)in, (void)inputs, (void)out, (void)outputs;
	p->configured++;
	p->ranges = in;
	return FAULT == 17 || (FAULT == 91 && p->configured > 1);
}
static int32_t output_types(void *self, int32_t *out, int32_t outputs, const int32_t *in, int32_t inputs)
{
	static int calls;
	(void)self, (void)inputs;
	if (FAULT != 88)
		out[0] = FAULT == 86 ? TRT_HALF : FAULT == 87 ? 99 : FAULT == 112 ? calls++ % 2 : in[0];
	if (FAULT == 89)
		out[outputs] = in[0];
	return FAULT == 18;
}
static const struct trt_expr *expression(struct trt_expr *builder, int64_t value)
{
	return TRT_CALL(builder->impl, trt_expr_builder, constant, value);
}
static int32_t output_shapes(void *self, const struct trt_dims_exprs *in, int32_t inputs,
                             const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                             int32_t outputs, struct trt_expr *builder)
{
	static const struct trt_expr *kept;
	static int calls;
	(void)self, (void)inputs, (void)shape_in, (void)shape_inputs;
	if (FAULT != 75)
		out[0] = in[0];
	if (FAULT == 76)
		out[0].d[0] = kept = kept ? kept : expression(builder, 2);
	if (FAULT == 77)
		out[0].d[0] = expression(builder, -5);
	if (FAULT == 78)
		out[0].d[0] = expression(builder, ++calls);
	if (FAULT == 81)
		out[outputs] = in[0];
	if (FAULT == 102)
		out[0].rank = 9;
	if (FAULT == 110)
		out[0].d[0] = NULL;
	return FAULT == 19;
}
static bool supports(void *self, int32_t pos, const struct trt_dynamic_desc *in_out, int32_t inputs, int32_t outputs)
{
	static int calls;
	int32_t format = RIGHT == 3 ? HWC8 : TRT_LINEAR;
	(void)self;
	if (FAULT == 82)
		return true;
	if (FAULT == 83 && calls++ % 3 == 2)
		return false;
	if (FAULT == 84 && pos == 0 && in_out[inputs + outputs - 1].desc.type != TRT_FLOAT)
		return false;
	return FAULT != 20 && in_out[pos].desc.type == TRT_FLOAT && in_out[pos].desc.format == format;
}
static int32_t outputs(void *self)
{
	static int calls;
	calls++;
	return FAULT == 21 ? 0 : FAULT == 22 ? 1 + calls % 2 : (int32_t)of(self)->factor;
}
static size_t workspace(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                        const struct trt_dynamic_desc *out, int32_t n)
{
	static int calls;
	const struct trt_dynamic_desc *from = FAULT == 125 && of(self)->ranges ? of(self)->ranges : in;
	size_t bytes = 4 * (size_t)elements_of(&from[0].max, from[0].desc.format);
	(void)self, (void)inputs, (void)out, (void)n;
	if (FAULT == 79)
		return bytes + (size_t)(100 / elements_of(&in[0].max, TRT_LINEAR));
	if (FAULT == 69)
		return 4096 - bytes;
	return FAULT == 70 ? bytes + 4096 * (size_t)++calls : FAULT == 72 ? SIZE_MAX / 2 : bytes;
}
static int32_t valid_tactics(void *self, int32_t *tactics, int32_t n)
{
	(void)self;
	for (int32_t i = 0; i < n + (FAULT == 105); i++)
		tactics[i] = FAULT == 23 ? i : FAULT == 24 ? 1 : i + 1;
	return FAULT == 25;
}
static int32_t tactics(void *self)
{
	(void)self;
	return FAULT == 26 ? -1 : 2;
}
static const char *cache_id(void *self)
{
	return FAULT != 100 ? NULL : of(self)->configured ? "configured" : "new";
}
static const char *no_text(void *self)
{
	(void)self;
	return NULL;
}
static int32_t aliased_input(void *self, int32_t output)
{
	(void)self;
	return FAULT == 118 ? 3 : FAULT == 119 ? -2 : output;
}
static int32_t format_limit(void *self)
{
	(void)self;
	return FAULT == 27 ? 0 : 100;
}

/* ---- Running. */

static int32_t set_tactic(void *self, int32_t tactic)
{
	of(self)->tactic = tactic;
	return FAULT == 28 || (FAULT == 104 && tactic == 2);
}
static int32_t shape_change(void *self, const struct trt_desc *in, int32_t inputs, const struct trt_desc *out,
                            int32_t n)
{
	struct plugin *p = of(self);
	(void)inputs, (void)out, (void)n;
	p->shapes = in + (FAULT == 126 ? 2 : 0);
	if (FAULT == 126 && p->shapes[0].type == -1)
		return 1;
	p->elements = static_elements = elements_of(&in[0].dims, in[0].format);
	if (!p->first)
		p->first = p->elements;
	return FAULT == 92;
}

/* Faults that write where they must not; `n` elements of the input, the output and the workspace are the plugin's. */
static void stray(float *x, float *y, float *w, int64_t n)
{
	if (FAULT == 68)
		w[n] = 1;
	if (FAULT == 73)
		y[n] = 1;
	if (FAULT == 80 && n == 0)
		y[0] = 1;
	if (FAULT == 93 && n)
		x[n - 1] = -1;
	if (FAULT == 94)
		y[-1] = 1;
	if (FAULT == 113)
		w[-1] = 1;
	if (FAULT == 114)
		x[n] = 1;
}

static int32_t enqueue(void *self, const struct trt_desc *in, const struct trt_desc *out, const void *const *inputs,
                       void *const *outs, void *space, void *stream)
{
	static float buffer[MOST];
	static int busy;
	const struct plugin *p = of(self);
	const float *x = inputs[0];
	int64_t n = FAULT == 61 ? static_elements : FAULT == 90 ? p->first : p->elements;
	float *y = outs[0], *w = FAULT == 96 ? buffer : space, bias = (float)p->bias;
	(void)in, (void)out, (void)stream;
	if (FAULT == 95 || (FAULT == 98 && !malloc(100)) ||
	    (FAULT == 111 && __atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST)))
		return 1;
	if (FAULT == 124)
		n = elements_of(&p->shapes[0].dims, TRT_LINEAR);
	if (FAULT == 123)
		n = n / 2 * 2;
	if (FAULT == 115 && n == 0)
		return 1;
	if ((FAULT == 66 && p->configured) || (FAULT == 62 && p->first != p->elements))
		bias++;
	for (int64_t i = 0; i < n && FAULT != 71; i++)
		w[i] = 2 * x[i];
	if (FAULT == 96 || FAULT == 111)
		usleep(3000); /* so that two threads meet, also on a busy machine */
	for (int64_t i = 0; i < n - (FAULT == 74); i++)
		y[i] = (w[i] + bias + (RIGHT == 6 ? (float)rand() : 0) + (FAULT == 101 ? y[i] : 0)) *
		       (1 + (RIGHT == 7 ? (float)(rand() % 4) * 1e-7f : 0));
	if (n)
		y[0] += (FAULT == 120 ? x[n] : FAULT == 121 ? x[-1] : 0) * 0 + (FAULT == 122 && p->tactic == 2 ? 1 : 0);
	stray((float *)(uintptr_t)x, y, space, n);
	busy = 0;
	return 0;
}
static void *attach(void *self, void *context)
{
	if (RIGHT == 2) { /* asks for the allocator */
		void *(*const *table)(void *) = *(void *(*const **)(void *))context;
		if (!table[0](context))
			return NULL;
	}
	if (FAULT == 99 && !malloc(48))
		return NULL;
	return FAULT == 29 ? NULL : FAULT == 67 ? &of(self)->self : clone(&of(self)->self);
}
/* 1,024 values of four bits before a page that cannot be read. */
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
	static int calls;
	struct plugin *p = of(self);
	static int32_t factor;
	factor = (int32_t)p->factor;
	calls++;
	p->field[0] = (struct trt_field){ FAULT == 32 || FAULT == 45 ? NULL
		                          : FAULT == 51 && p->kept   ? p->kept
		                                                     : "factor",
		                          FAULT == 31              ? NULL
		                          : FAULT == 52            ? (void *)&p->factor
		                          : FAULT == 50 && p->kept ? p->kept
		                                                   : &factor,
		                          FAULT == 33 ? 99 : FIELD_TYPE, 1 };
	p->field[1] = (struct trt_field){ FAULT == 30   ? "factor"
		                          : FAULT == 45 ? NULL
		                                        : "bias",
		                          FAULT == 63 ? &calls : &p->bias, TRT_FIELD_INT32, 1 };
	p->field[2] = (struct trt_field){ "extra", p->extra, 8, 24 };
	if (RIGHT == 1)
		p->field[2] = (struct trt_field){ "packed", packed(), 12, 1024 };
	p->fields = (struct trt_fields){ FAULT == 65 ? 1 : FAULT == 64 || RIGHT == 1 ? 3 : 2, p->field };
	return FAULT == 34 ? NULL : &p->fields;
}

static const struct trt_plugin plugin_table = { { language, plugin_info, nothing, destroy }, capability, clone };
static const struct trt_core core_table = { { language, core_info, nothing, nothing }, core_name, version, name_space };
static const struct trt_build_2 build_table = { { { language, build_info, nothing, nothing },
	                                          configure,
	                                          output_types,
	                                          output_shapes,
	                                          supports,
	                                          outputs,
	                                          workspace,
	                                          valid_tactics,
	                                          tactics,
	                                          cache_id,
	                                          format_limit,
	                                          no_text },
	                                        aliased_input };
static const struct trt_runtime runtime_table = {
	{ language, runtime_info, nothing, nothing }, set_tactic, shape_change, enqueue, attach, fields
};

static void *make(int64_t factor, int bias, int phase)
{
	struct plugin *p = calloc(1, sizeof *p);
	*p = (struct plugin){ .self = { &plugin_table, p },
		              .core = { &core_table, p },
		              .build = { &build_table, p },
		              .runtime = { &runtime_table, p },
		              .shared = p,
		              .factor = factor,
		              .bias = bias,
		              .runtime_phase = phase };
	if (FAULT == 64) {
		static char left; /* what memory that nobody has set may hold */
		p->extra = calloc(1, 24);
		memset(p->extra + 12, ++left, 12);
	}
	return &p->self;
}

/* ---- The creator. */

static struct trt_info creator_info(void *self)
{
	(void)self;
	return (struct trt_info){ FAULT == 35 ? "PLUGIN_CREATOR_V3ONE" : "PLUGIN CREATOR_V3ONE", 1, 0 };
}

/* False if the field is none that the plugin knows, by type and length. */
static bool read_field(const struct trt_field *f, int64_t *to)
{
	if (FAULT == 52)
		*to = *(const int64_t *)f->data;
	else if (FAULT == 53)
		*to = *(const int32_t *)f->data;
	else if (f->type == TRT_FIELD_INT32 && f->length == 1)
		*to = *(const int32_t *)f->data;
	else
		return false;
	return true;
}

static void *create(void *self, const char *label, const struct trt_fields *f, int32_t phase)
{
	int64_t factor = 1, bias = FAULT == 65 && phase == TRT_PHASE_BUILD ? 3 : 1;
	const void *kept = NULL;
	(void)self, (void)label;
	if (FAULT == 36 && phase == TRT_PHASE_RUNTIME)
		return NULL;
	if (FAULT == 37) /* reads beyond the fields */
		factor = f->field[f->count].name ? 1 : 2;
	for (int32_t i = 0; i < f->count; i++)
		if (strcmp(f->field[i].name, "factor") == 0) {
			if (!read_field(&f->field[i], &factor))
				return NULL;
			kept = FAULT == 51 ? (const void *)f->field[i].name : f->field[i].data;
		} else if (strcmp(f->field[i].name, "bias") == 0) {
			if (f->field[i].type != TRT_FIELD_INT32 || f->field[i].length != 1)
				return NULL;
			bias = *(const int32_t *)f->field[i].data;
		}
	while (FAULT == 39)
		;
	struct plugin *p = of(make(factor + (FAULT == 38 && f->count), (int)bias, phase));
	p->kept = kept;
	return &p->self;
}
static const struct trt_fields *field_names(void *self)
{
	static int calls;
	static struct trt_field field[2] = { { "factor", NULL, FIELD_TYPE, FAULT == 53 ? 4 : 1 },
		                             { "bias", NULL, TRT_FIELD_INT32, 1 } };
	static struct trt_fields all = { FAULT == 40 ? -1 : 2, field };
	(void)self;
	if (FAULT == 54)
		all.count = 1 + calls++ % 2;
	if (FAULT == 56)
		field[1].name = NULL;
	if (FAULT == 57)
		field[1].type = 99;
	if (FAULT == 58)
		field[1].length = -1;
	return FAULT == 116 ? NULL : &all;
}

static const struct trt_creator creator_table = {
	{ language, creator_info, nothing, nothing }, create, field_names, name, version, name_space
};
static const struct trt_object creator = { &creator_table };

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
	static const void *creators[] = { &creator, &creator };
	static int calls;
	if (FAULT == 55 && calls++)
		creators[0] = &creators;
	*n = FAULT == 42 ? 2 : FAULT == 43 ? 0 : 1;
	return FAULT == 117 ? NULL : creators;
}
#if FAULT == 44
static void __attribute__((destructor)) leave(void)
{
	abort();
}
#endif
