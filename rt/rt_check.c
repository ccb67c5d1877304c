/* SPDX-License-Identifier: Apache-2.0 */
/* rt_check.c: does what TensorRT offers fit what the plugin was built for, and is the generated table sound? Every
 * function returns 0, or -1 with a sentence in `why`. */
#include "rt.h"

int32_t rt_shape_inputs(const struct tpat_rt_plugin *p)
{
	int32_t n = 0;

	for (int32_t i = 0; i < p->inputs; i++)
		n += p->input[i].shape_input != 0;
	return n;
}

int32_t rt_tactics(const struct tpat_rt_plugin *p)
{
	return p->tactics > 1 ? p->tactics : 0;
}

const struct tpat_rt_tensor *rt_tensor(const struct tpat_rt_plugin *p, int32_t index)
{
	return index < p->inputs ? &p->input[index] : &p->output[index - p->inputs];
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

/* The headers of TensorRT 10 and 11 ask for INT32; NVIDIA's own sample has INT64 from 10.15 on. */
static bool wants_narrow_sizes(void)
{
	int32_t version = rt_version();
	return version >= 100000 && version < 101500;
}

static bool is_size(const struct tpat_rt_plugin *p, int32_t output)
{
	for (int32_t i = 0; i < p->exprs; i++)
		if (p->expr[i].op == TPAT_RT_SIZE && p->expr[i].a == output)
			return true;
	return false;
}

bool rt_is_narrowed(const struct tpat_rt_plugin *p, int32_t output, int32_t type)
{
	return type == TRT_INT32 && trt_type_of_onnx(p->output[output].type) == TRT_INT64 && is_size(p, output);
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

	/* An engine keeps the type that it was built with, whichever TensorRT runs it. */
	bool size = index >= p->inputs && (desc->type == TRT_INT32 || desc->type == TRT_INT64) &&
	            rt_is_narrowed(p, index - p->inputs, TRT_INT32);
	if (!size && rt_check_type(p, index, desc->type, why))
		return -1;
	const char *where = side(p, &index);
	if (desc->format != TRT_LINEAR)
		return rt_why(why, "%s %d (%s) must have format LINEAR (0), but it has format %d", where, (int)index,
		              t->name, (int)desc->format);
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

/* The table. What is checked here is what would make the runtime read beyond an array. */

static bool is_node(const struct tpat_rt_plugin *p, int32_t node)
{
	return node >= 0 && node < p->exprs;
}

static bool expr_sound(const struct tpat_rt_plugin *p, int32_t i)
{
	const struct tpat_rt_expr *e = &p->expr[i];
	bool a = e->a >= 0 && e->a < i, b = e->b >= 0 && e->b < i, c = e->c >= 0 && e->c < i;

	switch (e->op) {
	case TPAT_RT_CONST: return e->value != RT_NONE;
	case TPAT_RT_DIM: return e->a >= 0 && e->a < p->inputs && e->b >= 0 && e->b < p->input[e->a].rank;
	case TPAT_RT_VALUE: return e->a >= 0 && e->a < p->inputs && p->input[e->a].shape_input && e->b >= 0;
	case TPAT_RT_NOT: return a;
	case TPAT_RT_SELECT: return a && b && c;
	case TPAT_RT_SIZE: return e->a >= 0 && e->a < p->outputs && b && c;
	default: return e->op > TPAT_RT_VALUE && e->op < TPAT_RT_SIZE && a && b;
	}
}

static bool arg_sound(const struct tpat_rt_plugin *p, const struct tpat_rt_arg *a)
{
	int32_t n = 0;

	switch (a->kind) {
	case TPAT_RT_ARG_INPUT: n = p->inputs; break;
	case TPAT_RT_ARG_OUTPUT: n = p->outputs; break;
	case TPAT_RT_ARG_BUFFER: n = p->buffers; break;
	case TPAT_RT_ARG_INT:
	case TPAT_RT_ARG_LONG: n = p->exprs; break;
	default: break;
	}
	return a->index >= 0 && a->index < n;
}

static bool map_sound(const struct tpat_rt_plugin *p, const struct tpat_rt_map *m)
{
	if (!arg_sound(p, &m->from) || m->from.kind == TPAT_RT_ARG_INT || m->from.kind == TPAT_RT_ARG_LONG ||
	    m->rank < 1 || m->rank > TPAT_RT_MAP_RANK || (m->element_bytes != 1 && m->element_bytes != 2))
		return false;
	for (int32_t i = 0; i < m->rank; i++)
		if (!is_node(p, m->dim[i]) || !is_node(p, m->stride[i]) || m->box[i] < 1 || m->box[i] > 256)
			return false;
	for (int32_t i = 1; m->pixels && i < m->rank - 1; i++)
		if (m->step[i] < 1 || m->step[i] > 8 || !is_node(p, m->count[i]))
			return false;
	return m->pixels >= 0 && m->pixels <= 1024 && (!m->pixels || m->rank >= 3);
}

static bool kernel_sound(const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k)
{
	if (!k->name || k->args < 0 || k->args > TPAT_RT_MAX_ARGS || k->shared_bytes < 0 || k->arch < 0 ||
	    k->maps < 0 || k->maps > TPAT_RT_MAX_MAPS || k->args + k->maps > TPAT_RT_MAX_ARGS)
		return false;
	if (k->guard != -1 && !is_node(p, k->guard))
		return false;
	for (int i = 0; i < 3; i++)
		if (!is_node(p, k->grid[i]) || k->block[i] < 1)
			return false;
	for (int32_t i = 0; i < k->args; i++)
		if (!arg_sound(p, &k->arg[i]))
			return false;
	for (int32_t i = 0; i < k->maps; i++)
		if (!map_sound(p, &k->map[i]))
			return false;
	return true;
}

int rt_check_table(const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	bool shapes = false;

	if (!p->name || !p->version || !p->name_space)
		return rt_why(why, "the library is damaged: a plugin has no name, version or namespace");
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		const struct tpat_rt_tensor *t = rt_tensor(p, i);
		if (t->rank < 0 || t->rank > TPAT_RT_MAX_RANK)
			return rt_why(why, "tensor %s has rank %d, and TensorRT has at most %d", t->name, (int)t->rank,
			              TPAT_RT_MAX_RANK);
		for (int32_t d = 0; d < t->rank; d++)
			if (!is_node(p, t->dim[d]))
				return rt_why(why, "the library is damaged: extent %d of %s", (int)d, t->name);
		if (i < p->inputs && shapes && !t->shape_input)
			return rt_why(why, "the library is damaged: input %s comes after a shape input", t->name);
		shapes = shapes || (i < p->inputs && t->shape_input);
	}
	for (int32_t i = 0; i < p->exprs; i++)
		if (!expr_sound(p, i))
			return rt_why(why, "the library is damaged: expression %d", (int)i);
	for (int32_t i = 0; i < p->buffers; i++)
		if (!is_node(p, p->buffer[i].bytes))
			return rt_why(why, "the library is damaged: buffer %d", (int)i);
	for (int32_t i = 0; i < p->demands; i++) {
		const struct tpat_rt_demand *d = &p->demand[i];
		if (!is_node(p, d->holds) || !is_node(p, d->extent[0]) || !is_node(p, d->extent[1]) || !d->name[1] ||
		    !d->node || !d->rule)
			return rt_why(why, "the library is damaged: demand %d", (int)i);
	}
	if (p->tactics < 1)
		return rt_why(why, "the library is damaged: a plugin has no tactic");
	for (int32_t t = 0; t < p->tactics; t++)
		for (int32_t i = 0; i < p->tactic[t].steps; i++)
			for (int32_t k = 0; k < p->tactic[t].step[i].kernels; k++)
				if (!kernel_sound(p, &p->tactic[t].step[i].kernel[k]))
					return rt_why(why, "the library is damaged: kernel %d of step %d of tactic %d",
					              (int)k, (int)i, (int)t + 1);
	return 0;
}
