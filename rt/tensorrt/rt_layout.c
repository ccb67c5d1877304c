/* SPDX-License-Identifier: Apache-2.0 */
/* rt_layout.c: formats of tensors. A plugin has one table of kernels for row-major tensors, and may have more for
 * combinations of other formats. Those have the extents in memory. */
#include <string.h>

#include "rt_tensorrt.h"

/* The plugin's tables, one after another; the first is itself. Null: there are no more. */
static const struct tpat_rt_plugin *next(const struct tpat_rt_plugin *main, int32_t *at)
{
	while (*at < tpat_library.plugins) {
		const struct tpat_rt_plugin *p = &tpat_library.plugin[(*at)++];
		if (p->of && strcmp(p->of, main->name) == 0 && strcmp(p->name_space, main->name_space) == 0)
			return p;
	}
	return NULL;
}

static int32_t format_of(const struct rt_descs *d, int32_t i)
{
	const void *desc = (const char *)d->first + (size_t)i * d->bytes;

	return ((const struct trt_desc *)desc)->format;
}

/* True if the first `n` tensors, of which `inputs` come before the outputs, have a table's formats. */
static bool fits(const struct tpat_rt_plugin *p, const struct rt_descs *in, const struct rt_descs *out, int32_t inputs,
                 int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		int32_t index = i < inputs ? i : p->inputs + i - inputs;
		if (rt_tensor(p, index)->format != (i < inputs ? format_of(in, i) : format_of(out, i - inputs)))
			return false;
	}
	return true;
}

bool rt_layout_exists(const struct tpat_rt_plugin *main, const struct rt_descs *all, int32_t inputs, int32_t n)
{
	struct rt_descs out = { (const char *)all->first + (size_t)inputs * all->bytes, all->bytes };
	int32_t at = 0;

	for (const struct tpat_rt_plugin *p = main; p; p = next(main, &at))
		if (fits(p, all, &out, inputs, n))
			return true;
	return false;
}

int32_t rt_layout_tactics(const struct tpat_rt_plugin *main)
{
	int32_t most = 0, at = 0;

	for (const struct tpat_rt_plugin *p = main; p; p = next(main, &at))
		most = rt_tactics(p) > most ? rt_tactics(p) : most;
	return most;
}

static int use(struct rt_plugin *x, const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	struct rt_plan plan = { 0 }, scratch = { 0 };

	if (x->number > rt_tactics(p))
		return rt_why(why, "there is no tactic %d for these formats; there are %d", (int)x->number,
		              (int)rt_tactics(p));
	if (rt_check_table(p, why))
		return -1;
	if (rt_plan_alloc(p, &plan))
		return rt_why(why, "out of memory");
	if (rt_plan_alloc(p, &scratch)) {
		rt_plan_free(&plan);
		return rt_why(why, "out of memory");
	}
	rt_plan_free(&x->plan);
	rt_plan_free(&x->scratch);
	x->plan = plan;
	x->scratch = scratch;
	x->table = p;
	x->binding = (struct rt_binding){ 0 };
	x->tactic = &p->tactic[x->number > 0 ? x->number - 1 : 0];
	return 0;
}

int rt_layout_use(struct rt_plugin *x, const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	return x->table == p ? 0 : use(x, p, why);
}

int rt_layout_take(struct rt_plugin *x, const struct rt_descs *in, int32_t inputs, const struct rt_descs *out,
                   char why[RT_WHY])
{
	int32_t at = 0, n = inputs + x->main->outputs;

	if (fits(x->table, in, out, inputs, n))
		return 0;
	for (const struct tpat_rt_plugin *p = x->main; p; p = next(x->main, &at))
		if (fits(p, in, out, inputs, n))
			return use(x, p, why);
	for (int32_t i = 0; i < n; i++) {
		int32_t index = i < inputs ? i : x->main->inputs + i - inputs;
		int32_t format = i < inputs ? format_of(in, i) : format_of(out, i - inputs);
		if (format != TRT_LINEAR)
			return rt_why(why, "%s %d (%s) must have format LINEAR (0), but it has format %d",
			              i < inputs ? "input" : "output", (int)(i < inputs ? i : i - inputs),
			              rt_tensor(x->main, index)->name, (int)format);
	}
	return rt_why(why, "it has no kernels for these formats together");
}

void rt_store(struct trt_dims *d, int32_t format)
{
	struct trt_dims stored = *d;

	stored.rank = trt_stored(stored.d, d->rank, format);
	if (stored.rank >= 0)
		*d = stored;
}
