/* Decides which chains of nodes that the engine runs itself are worth a plugin: the cost model estimates the plugin's
 * kernels, and one program for each kernel that the engine is taken to run. */
#include "lib/tpat_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* The gain that a region must have, without --min-gain. */
static const struct tpat_gain usual = { 0.2, 1000, 0 };

struct worth {
	const struct graph_rates *rates;
	const struct sched_target *target;
	struct tpat_gain gain;
	struct map seen; /* estimates by a program's hash and extents */
	struct graph_regions *out;
	struct arena *arena;
};

int tpat_gain_read(struct tpat_gain *out, const char *text, struct err *e)
{
	char *end;
	*out = usual;
	if (!text)
		return 0;
	double x = number_read(text, &end);
	bool share = strcmp(end, "%") == 0, us = strcmp(end, "us") == 0 || (x == 0 && !*end);
	if (end == text || !(share || us) || !(x >= 0) || x > (share ? 99 : 1e6))
		return err_set(e, ERR_USAGE, "--min-gain needs a share or a time like 20%% or 5us, not \"%s\".", text);
	*out = share ? (struct tpat_gain){ x / 100, 0, 0 } : (struct tpat_gain){ 0, x * 1e3, 0 };
	return 0;
}

/* ---- One region's time. */

/* Sets the program's symbols to the extents of the region's inputs. */
static void set_extents(struct sched_target *t, const struct worth *w, const struct ir_program *p,
                        const struct graph_region *r, struct arena *a)
{
	int n = 0;
	for (int i = 0; i < r->inputs.n; i++)
		n += p->inputs.at[i]->rank;
	struct sched_extent *extent = NEWN(a, struct sched_extent, n + 1);
	t->extents = 0;
	for (int i = 0; i < r->inputs.n; i++)
		for (int k = 0; k < p->inputs.at[i]->rank; k++)
			if (p->inputs.at[i]->dim[k]->op == IR_SYMBOL)
				extent[t->extents++] =
				        (struct sched_extent){ p->inputs.at[i]->dim[k],
					                       w->rates->extent(w->rates->user,
					                                        r->inputs.at[i]->dim[k]) };
	t->extent = extent;
}

/* Returns the estimated time of a region as one plugin; negative if it cannot be one. Layers repeat, so equal programs
 * are estimated once. */
static double region_ns(struct worth *w, const struct graph_region *r)
{
	const struct graph_program_options options = { .sizes = true };
	struct arena *scratch = arena_new();
	struct ir_program *p;
	struct err ignored = { 0 };
	double ns = -1;
	if (!r->folded && graph_region_program(&p, r, &options, scratch, &ignored) == 0 && !ir_value_unlaunched(p)) {
		struct sched_target t = *w->target;
		set_extents(&t, w, p, r, scratch);
		struct str key = str_new(scratch);
		char hash[33];
		ir_hash(p, hash);
		str_add(&key, hash);
		for (int i = 0; i < t.extents; i++)
			str_printf(&key, ",%lld", (long long)t.extent[i].value);
		const double *known = map_get(&w->seen, str_text(&key));
		if (!known) {
			double *made = NEW(w->arena, double);
			*made = sched_program_time(p, &t);
			map_put(&w->seen, arena_strdup(w->arena, str_text(&key)), made);
			known = made;
		}
		ns = *known;
	}
	arena_free(scratch);
	return ns;
}

/* Returns the estimated time of the engine's kernels for a region, negative if unknown. Sets their number. */
static double engine_ns(struct worth *w, struct graph_region *r)
{
	int *kernel = NEWN(w->arena, int, r->nodes.n + 1), *node = NEWN(w->arena, int, r->nodes.n + 1);
	double all = 0;
	r->kernels = graph_engine_kernels(r, kernel);
	for (int k = 0; k < r->kernels && all >= 0; k++) {
		struct graph_region *part;
		struct err ignored = { 0 };
		int n = 0;
		for (int i = 0; i < r->nodes.n; i++)
			if (kernel[i] == k)
				node[n++] = r->nodes.at[i];
		double ns = graph_region_new(&part, r->graph, node, n, &ignored) < 0 ? -1 : region_ns(w, part);
		all = ns < 0 ? -1 : all + ns;
	}
	return all;
}

/* ---- All regions. */

/* Takes the region if it is worth it, or else those of its parts that are. */
static void take(struct worth *w, struct graph_region *r)
{
	struct graph_regions parts = { 0 };
	r->apart_ns = engine_ns(w, r);
	r->together_ns = r->apart_ns > 0 && r->kernels > 1 ? region_ns(w, r) : -1;
	if (r->together_ns >= 0 && r->apart_ns - r->together_ns >= w->gain.share * r->apart_ns &&
	    r->apart_ns - r->together_ns >= w->gain.ns) {
		vec_push(w->arena, w->out, r);
		return;
	}
	if ((r->kernels <= 1 && r->apart_ns >= 0) || !graph_region_cut(&parts, r, w->rates))
		return;
	vec_each (part, &parts)
		if ((*part)->nodes.n > 1 && (*part)->nodes.n < r->nodes.n)
			take(w, *part);
}

static int compare_gains(const void *a, const void *b)
{
	const struct graph_region *x = *(struct graph_region *const *)a, *y = *(struct graph_region *const *)b;
	double gain = (y->apart_ns - y->together_ns) - (x->apart_ns - x->together_ns);
	return gain > 0 ? 1 : gain < 0 ? -1 : x->nodes.at[0] - y->nodes.at[0];
}

/* Keeps the `most` chains with the largest gains, and all other regions, in their order. */
static void keep_best(struct graph_regions *r, int most, struct arena *a)
{
	struct graph_regions chains = { 0 };
	int kept = 0;
	vec_each (region, r)
		if ((*region)->fast)
			vec_push(a, &chains, *region);
	if (!most || chains.n <= most)
		return;
	qsort(chains.at, (size_t)chains.n, sizeof chains.at[0], compare_gains);
	for (int i = 0; i < r->n; i++) {
		bool dropped = false;
		for (int k = most; k < chains.n; k++)
			dropped |= chains.at[k] == r->at[i];
		if (!dropped)
			r->at[kept++] = r->at[i];
	}
	r->n = kept;
}

void tpat_keep_worth(struct graph_regions *r, const struct graph_rates *rates, const struct sched_target *t,
                     const struct tpat_gain *gain, struct arena *a)
{
	struct graph_regions out = { 0 };
	struct worth w = { rates, t ? t : &sched_default_target, *gain, map_new(a), &out, a };
	vec_each (region, r)
		if ((*region)->fast)
			take(&w, *region);
		else
			vec_push(a, &out, *region);
	keep_best(&out, gain->chains, a);
	*r = out;
}
