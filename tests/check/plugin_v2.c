/* A small TensorRT plugin in C (IPluginV2DynamicExt): y = 2 x + bias for one input of floats, computed on the
 * processor. -DFORM=8, 10 or 11: the layout of that TensorRT. -DFAULT=n plants one fault, whose finding check_test.py
 * knows. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tpat/tpat_abi.h"

#ifndef FAULT
#define FAULT 0
#endif
#ifndef RIGHT
#define RIGHT 0 /* 1: an IPluginV2IOExt */
#endif
#ifndef FORM
#define FORM 10
#endif
#if FORM == 8
typedef struct trt_dims_8 dims;
typedef struct trt_desc_8 desc;
typedef struct trt_dynamic_desc_8 dynamic_desc;
#define EXPRESSIONS trt_expr_builder_8
#else
typedef struct trt_dims dims;
typedef struct trt_desc desc;
typedef struct trt_dynamic_desc dynamic_desc;
#define EXPRESSIONS trt_expr_builder
#endif
enum { SERIALIZED = 2 * sizeof(int32_t) };

struct plugin {
	const void *vptr;
	int32_t factor, bias;
	int64_t elements, first;
	const int32_t *kept;
	char space[64];
	bool configured;
};

static int64_t static_elements;
static void *make(int32_t factor, int32_t bias);

static int32_t tensorrt_version(void *self)
{
	(void)self;
	return (FAULT == 1 ? 9 : RIGHT == 1 ? 2 : TRT_V2_DYNAMIC_EXT) << 24 | (FORM == 8 ? 8601 : FORM * 10000);
}
static const char *type(void *self)
{
	(void)self;
	return FAULT == 2 ? NULL : FAULT == 3 ? "Other" : "Same";
}
static const char *version(void *self)
{
	(void)self;
	return FAULT == 4 ? "" : "1";
}
static int32_t outputs(void *self)
{
	(void)self;
	return FAULT == 5 ? -1 : 1;
}
static dims old_dimensions(void *self, int32_t index, const dims *in, int32_t inputs)
{
	(void)self, (void)index, (void)in, (void)inputs;
	return (dims){ .rank = -1 };
}
static int32_t no(void *self)
{
	(void)self;
	return 0;
}
static int32_t initialize(void *self)
{
	(void)self;
	return FAULT == 6;
}
static void terminate(void *self)
{
	(void)self;
	if (FAULT == 7)
		abort();
}
static size_t serialization_size(void *self)
{
	static size_t calls;
	(void)self;
	return FAULT == 8 ? SERIALIZED + calls++ : FAULT == 9 ? SIZE_MAX : SERIALIZED;
}
static void serialize(void *self, void *buffer)
{
	static int32_t calls;
	const struct plugin *p = self;
	int32_t to[3] = { p->factor, FAULT == 10 ? calls++ : FAULT == 11 ? (int32_t)(intptr_t)self : p->bias, 0 };
	memcpy(buffer, to, FAULT == 12 ? 3 * sizeof *to : FAULT == 13 ? sizeof *to : sizeof to - sizeof *to);
}
static void destroy(void *self)
{
	if (FAULT == 14)
		abort();
	if (FAULT != 15)
		free(self);
}
static void *clone(void *self)
{
	const struct plugin *p = self;
	if (FAULT == 16 || FAULT == 17)
		return FAULT == 16 ? NULL : self;
	struct plugin *q = make(p->factor, FAULT == 18 ? 0 : p->bias);
	memcpy(q->space, FAULT == 19 ? "" : p->space, FAULT == 19 ? 1 : sizeof q->space);
	q->kept = p->kept;
	return q;
}
static void set_name_space(void *self, const char *name_space)
{
	struct plugin *p = self;
	strncpy(p->space, name_space, FAULT == 20 ? 1 : sizeof p->space - 1);
	if (FAULT == 20)
		p->space[1] = 0;
}
static const char *name_space(void *self)
{
	return ((struct plugin *)self)->space;
}
static int32_t output_type(void *self, int32_t index, const int32_t *in, int32_t inputs)
{
	(void)self, (void)index, (void)inputs;
	return FAULT == 21 ? 99 : in[0];
}
static void old_configure(void *self)
{
	(void)self;
}
static struct trt_dims_exprs output_dimensions(void *self, int32_t index, const struct trt_dims_exprs *in,
                                               int32_t inputs, struct trt_expr *builder)
{
	struct trt_dims_exprs r = in[0];
	(void)self, (void)index, (void)inputs;
	if (FAULT == 22)
		r.rank = -1;
	if (FAULT == 23)
		r.d[0] = NULL;
	if (FAULT == 24)
		r.d[0] = TRT_CALL(builder->impl, EXPRESSIONS, constant, -3);
	return r;
}
static bool supports(void *self, int32_t pos, const desc *in_out, int32_t inputs, int32_t outputs)
{
	(void)self;
	if (FAULT == 25 || FAULT == 26)
		return FAULT == 26;
	if (FAULT == 27 && in_out[inputs + outputs - 1].type != TRT_FLOAT)
		return false;
	return in_out[pos].type == TRT_FLOAT && in_out[pos].format == TRT_LINEAR;
}
static int64_t elements_of(const dims *d)
{
	int64_t n = 1;
	for (int32_t i = 0; i < d->rank; i++)
		n *= d->d[i];
	return n;
}
static void configure(void *self, const dynamic_desc *in, int32_t inputs, const dynamic_desc *out, int32_t outputs)
{
	struct plugin *p = self;
	(void)inputs, (void)out, (void)outputs;
	p->elements = static_elements = elements_of(&in[0].desc.dims);
	if (!p->configured)
		p->first = p->elements;
	p->configured = true;
}
static size_t workspace(void *self, const desc *in, int32_t inputs, const desc *out, int32_t outputs)
{
	size_t bytes = 4 * (size_t)elements_of(&in[0].dims);
	(void)self, (void)inputs, (void)out, (void)outputs;
	return FAULT == 28 ? 4096 - bytes : bytes;
}
static int32_t enqueue(void *self, const desc *in, const desc *out, const void *const *inputs, void *const *outs,
                       void *space, void *stream)
{
	const struct plugin *p = self;
	const float *x = inputs[0];
	float *y = outs[0], *w = space;
	int64_t n = FAULT == 29 ? static_elements : FAULT == 30 ? p->first : p->elements;
	(void)in, (void)out, (void)stream;
	if (FAULT == 31)
		return 1;
	for (int64_t i = 0; i < n + (FAULT == 32); i++)
		w[i] = 2 * x[i];
	if (FAULT == 47)
		n = n / 2 * 2;
	for (int64_t i = 0; i < n + (FAULT == 33) - (FAULT == 34); i++)
		y[i] = w[i] + (float)(p->kept ? p->kept[1] : p->bias);
	if (FAULT == 35 && n)
		*(float *)(uintptr_t)x = 1;
	if (FAULT == 46 && n)
		y[0] += 0 * x[n];
	return FAULT == 36 && !malloc(64);
}

static const struct {
	struct trt_table_head head;
	const void *slot[30];
} table = { .slot = { tensorrt_version,
	              type,
	              version,
	              outputs,
	              old_dimensions,
	              no,
	              old_configure,
	              initialize,
	              terminate,
	              no,
	              no,
	              serialization_size,
	              serialize,
	              destroy,
	              clone,
	              set_name_space,
	              name_space,
	              old_configure,
	              old_configure,
	              output_type,
#if FORM != 11
	              no,
	              no,
#endif
	              old_configure,
	              old_configure,
	              old_configure,
	              output_dimensions,
	              supports,
	              configure,
	              workspace,
	              enqueue } };

static void *make(int32_t factor, int32_t bias)
{
	struct plugin *p = calloc(1, sizeof *p);
	*p = (struct plugin){ .vptr = table.slot, .factor = factor, .bias = bias, .space = "mine" };
	return p;
}

/* ---- The creator. */

static const char *creator_name(void *self)
{
	(void)self;
	return FAULT == 37 ? "" : "Same";
}
static const char *creator_version(void *self)
{
	(void)self;
	return FAULT == 4 ? "" : "1";
}
static const char *creator_space(void *self)
{
	(void)self;
	return FAULT == 38 ? NULL : "mine";
}
static void set_creator_space(void *self, const char *name_space)
{
	(void)self, (void)name_space;
}
static const struct trt_fields *field_names(void *self)
{
	static const struct trt_field field[] = { { FAULT == 39 ? NULL : "bias", NULL, TRT_FIELD_INT32,
		                                    FAULT == 40 ? 0 : 1 } };
	static const struct trt_fields all = { 1, field };
	(void)self;
	return &all;
}
static void *create(void *self, const char *label, const struct trt_fields *f)
{
	int32_t bias = 1;
	(void)self, (void)label;
	for (int32_t i = 0; i < f->count; i++) {
		if (f->field[i].type != TRT_FIELD_INT32 || (FAULT != 40 && f->field[i].length != 1))
			return NULL;
		bias = *(const int32_t *)f->field[i].data;
	}
	return make(1, bias);
}
static void *deserialize(void *self, const char *label, const void *data, size_t bytes)
{
	const int32_t *from = data;
	(void)self, (void)label;
	if (FAULT == 41 || bytes != SERIALIZED)
		return NULL;
	struct plugin *p = make(from[0], from[FAULT == 42 ? 2 : 1] + (FAULT == 43));
	p->kept = FAULT == 44 ? from : NULL;
	return p;
}

static void nothing(void *self)
{
	(void)self;
}

#if FORM == 8
static int32_t creator_tensorrt(void *self)
{
	(void)self;
	return 8601;
}
static const struct trt_creator_8 creator_table = { creator_tensorrt, creator_name, creator_version,   field_names,
	                                            create,           deserialize,  set_creator_space, creator_space,
	                                            nothing,          nothing };
#define GET_CREATORS getPluginCreators
#else
static struct trt_info creator_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN CREATOR_V1", FAULT == 45 ? 2 : 1, 0 };
}
static const struct trt_creator_v1 creator_table = { { no, creator_info, nothing, nothing },
	                                             creator_name,
	                                             creator_version,
	                                             field_names,
	                                             create,
	                                             deserialize,
	                                             set_creator_space,
	                                             creator_space };
#define GET_CREATORS getCreators
#endif

static const struct trt_object creator = { &creator_table };
static const void *const creators[] = { &creator };

#define EXPORT __attribute__((visibility("default")))
EXPORT void setLoggerFinder(void *finder);
EXPORT void setLoggerFinder(void *finder)
{
	(void)finder;
}
EXPORT const void *const *GET_CREATORS(int32_t *n);
EXPORT const void *const *GET_CREATORS(int32_t *n)
{
	*n = 1;
	return creators;
}
