/* The formats of --format, and where "auto" offers one: next to the engine's own convolutions that use it. */
#include "base/ascii.h"
#include "lib/tpat_inside.h"

int tpat_layouts_read(struct tpat_layouts *out, const struct graph *g, const struct tpat_strings *format,
                      struct arena *a, struct err *e)
{
	const struct engine_layout *all = g->engine->layouts;
	*out = (struct tpat_layouts){ .at = NEWN(a, const struct engine_layout *, format->n + 1) };
	for (int i = 0; i < format->n; i++) {
		const struct engine_layout *found = NULL;
		struct str names = str_new(a);
		if (ascii_same(format->at[i], "auto")) {
			out->automatic = !g->version->no_layouts;
			continue;
		}
		for (const struct engine_layout *l = all; l && l->name; l++) {
			str_printf(&names, "%s, ", l->name);
			found = ascii_same(l->name, format->at[i]) ? l : found;
		}
		if (!found)
			return err_set(e, ERR_USAGE, "--format is one of %sor auto, not \"%s\".", str_text(&names),
			               format->at[i]);
		if (!tpat_layouts_have(out, found))
			out->at[out->n++] = found;
	}
	return 0;
}

bool tpat_layouts_have(const struct tpat_layouts *x, const struct engine_layout *l)
{
	int i = 0;
	while (i < x->n && x->at[i] != l)
		i++;
	return i < x->n;
}

/* Marks the nodes of the region's graph that are in plugins. */
static const bool *nodes_taken(const struct graph_region *r, const struct graph_regions *all, struct arena *a)
{
	bool *taken = NEWN(a, bool, r->graph->nodes.n + 1);
	vec_each (other, all)
		if ((*other)->graph == r->graph)
			vec_each (i, &(*other)->nodes)
				taken[*i] = true;
	return taken;
}

static bool is_own_type(const struct engine_layout *l, enum type t)
{
	for (int i = 0; i < 2; i++)
		if (l->own[i] && l->own[i] == t)
			return true;
	return false;
}

double tpat_layout_reformats(const struct graph_region *r, const struct graph_regions *all, const struct ir_program *p,
                             const struct engine_layout *l, const struct graph_program_options *o,
                             const struct sched_target *t, struct arena *a)
{
	const bool *taken = NULL;
	double ns = 0;
	for (int i = 0; i < r->inputs.n + r->outputs.n; i++) {
		bool out = i >= r->inputs.n;
		int k = out ? i - r->inputs.n : i;
		const struct graph_value *v = out ? r->outputs.at[k] : r->inputs.at[k];
		if (!is_own_type(l, v->type) || v->rank != l->axis + 1 || !graph_has_layout(r->graph, v, l, o))
			continue; /* a convolution's channels come after the batch */
		taken = taken ? taken : nodes_taken(r, all, a);
		if (!graph_meets_convolution(r->graph, v, out, taken))
			continue;
		double bytes = tpat_bytes_at(out ? p->outputs.at[k] : p->inputs.at[k], t);
		ns += t->launch_ns + (bytes > 0 ? 2 * bytes / t->bytes_per_ns : 0);
	}
	return ns;
}
