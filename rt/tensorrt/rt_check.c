/* SPDX-License-Identifier: Apache-2.0 */
/* rt_check.c: checks that TensorRT's tensors fit the plugin. */
#include "rt_tensorrt.h"

int32_t rt_tactics(const struct tpat_rt_plugin *p)
{
	return p->tactics > 1 ? p->tactics : 0;
}

int rt_check_counts(const struct tpat_rt_plugin *p, int32_t inputs, int32_t outputs, char why[RT_WHY])
{
	int32_t data = p->inputs - rt_shape_inputs(p);

	if (inputs != p->inputs && inputs != data)
		return rt_why(why, "it has %d inputs, %d without shape inputs, but TensorRT passed %d", (int)p->inputs,
		              (int)data, (int)inputs);
	if (outputs != p->outputs)
		return rt_why(why, "it has %d outputs, but TensorRT asks for %d", (int)p->outputs, (int)outputs);
	return 0;
}

static const char *side(const struct tpat_rt_plugin *p, int32_t *index)
{
	if (*index < p->inputs)
		return "input";
	*index -= p->inputs;
	return "output";
}

static const char *type_name(int32_t type)
{
	static const char *const name[] = { "FLOAT", "HALF", "INT8",  "INT32", "BOOL", "UINT8",
		                            "FP8",   "BF16", "INT64", "INT4",  "FP4",  "E8M0" };

	if (type >= TRT_PRIVATE)
		return "a type that TensorRT does not have";
	return type >= 0 && type < (int32_t)(sizeof name / sizeof *name) ? name[type] : "an unknown type";
}

/* The headers of TensorRT 10 and 11 require INT32; NVIDIA's own sample uses INT64 from 10.15 on. */
static bool wants_narrow_sizes(void)
{
	int32_t version = rt_version();
	return version >= 100000 && version < 101500;
}

bool rt_is_narrowed(const struct tpat_rt_plugin *p, int32_t output, int32_t type)
{
	return type == TRT_INT32 && trt_type_of_onnx(p->output[output].type) == TRT_INT64 && rt_is_size(p, output);
}

int32_t rt_type(const struct tpat_rt_plugin *p, int32_t index)
{
	int32_t type = trt_type_of_onnx(rt_tensor(p, index)->type);
	bool narrow = index >= p->inputs && rt_is_narrowed(p, index - p->inputs, TRT_INT32) && wants_narrow_sizes();
	return narrow ? TRT_INT32 : type;
}

int rt_check_type(const struct tpat_rt_plugin *p, int32_t index, int32_t type, char why[RT_WHY])
{
	const struct tpat_rt_tensor *t = rt_tensor(p, index);
	int32_t want = rt_type(p, index);

	if (type == want)
		return 0;
	const char *where = side(p, &index);
	return rt_why(why, "%s %d (%s) must be %s (%d), but it is %s (%d)", where, (int)index, t->name, type_name(want),
	              (int)want, type_name(type), (int)type);
}

int rt_check_desc(const struct tpat_rt_plugin *p, int32_t index, const struct trt_desc *desc, char why[RT_WHY])
{
	const struct tpat_rt_tensor *t = rt_tensor(p, index);

	/* An engine keeps the type that it was built with, in any TensorRT. */
	bool size = index >= p->inputs && (desc->type == TRT_INT32 || desc->type == TRT_INT64) &&
	            rt_is_narrowed(p, index - p->inputs, TRT_INT32);
	if (!size && rt_check_type(p, index, desc->type, why))
		return -1;
	const char *where = side(p, &index);
	if (desc->format != t->format)
		return rt_why(why, "%s %d (%s) must have format %s%d%s, but it has format %d", where, (int)index,
		              t->name, t->format ? "" : "LINEAR (", (int)t->format, t->format ? "" : ")",
		              (int)desc->format);
	if (desc->dims.rank != t->rank)
		return rt_why(why, "%s %d (%s) must have rank %d, but it has rank %d", where, (int)index, t->name,
		              (int)t->rank, (int)desc->dims.rank);
	for (int32_t d = 0; d < t->rank; d++) {
		const struct tpat_rt_expr *e = &p->expr[t->dim[d]];
		int64_t got = desc->dims.d[d];
		if (got >= 0 && e->op == TPAT_RT_CONST && e->value != got)
			return rt_why(why, "%s %d (%s) must have extent %lld at dimension %d, but it has %lld", where,
			              (int)index, t->name, (long long)e->value, (int)d, (long long)got);
	}
	return 0;
}
