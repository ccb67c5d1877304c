/* SPDX-License-Identifier: Apache-2.0 */
/* rt_table.c: the generated tables of a plugin, and checks that the runtime never reads beyond an array. */
#include <stdarg.h>
#include <stdio.h>

#include "rt_core.h"

int rt_why(char why[RT_WHY], const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, RT_WHY, format, ap);
	va_end(ap);
	return -1;
}

int32_t rt_shape_inputs(const struct tpat_rt_plugin *p)
{
	int32_t n = 0;

	for (int32_t i = 0; i < p->inputs; i++)
		n += p->input[i].shape_input != 0;
	return n;
}

const struct tpat_rt_tensor *rt_tensor(const struct tpat_rt_plugin *p, int32_t index)
{
	return index < p->inputs ? &p->input[index] : &p->output[index - p->inputs];
}

bool rt_is_size(const struct tpat_rt_plugin *p, int32_t output)
{
	for (int32_t i = 0; i < p->exprs; i++)
		if (p->expr[i].op == TPAT_RT_SIZE && p->expr[i].a == output)
			return true;
	return false;
}

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
	    k->maps < 0 || k->maps > TPAT_RT_MAX_MAPS || k->args + k->maps > TPAT_RT_MAX_ARGS || k->part < 0 ||
	    k->part >= TPAT_RT_MAX_PARTS)
		return false;
	if (k->fills < 0 || k->fills > p->outputs || (k->fills && !p->output[k->fills - 1].replaces))
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

int rt_check_library(const struct tpat_rt_library *l, char why[RT_WHY])
{
	if (l->version != TPAT_RT_VERSION)
		return rt_why(why,
		              "the library's tables have version %u, but its runtime reads version %d; build it again",
		              (unsigned)l->version, TPAT_RT_VERSION);
	return l->plugins > 0 ? 0 : rt_why(why, "the library has no plugins");
}

int rt_check_table(const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	bool shapes = false;

	if (!p->name || !p->version || !p->name_space)
		return rt_why(why, "the library is damaged: a plugin has no name, version or namespace");
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		const struct tpat_rt_tensor *t = rt_tensor(p, i);
		if (t->rank < 0 || t->rank > TPAT_RT_MAX_RANK)
			return rt_why(why, "tensor %s has rank %d, and the runtime takes at most %d", t->name,
			              (int)t->rank, TPAT_RT_MAX_RANK);
		for (int32_t d = 0; d < t->rank; d++)
			if (!is_node(p, t->dim[d]))
				return rt_why(why, "the library is damaged: extent %d of %s", (int)d, t->name);
		if (t->replaces < 0 || t->replaces > (i < p->inputs ? 0 : p->inputs))
			return rt_why(why, "the library is damaged: the memory of %s", t->name);
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
