/* The reason why a node cannot become a plugin. */
#include "lib/tpat_inside.h"

const struct graph_value *tpat_misfit(const struct graph *g, const struct graph_node *n)
{
	return n->known && !n->folded ? graph_misfit(g, n->index) : NULL;
}

bool tpat_goes_along(const struct graph *g)
{
	for (; g->outer; g = g->outer)
		if (g->outer->nodes.at[g->holder].known)
			return true;
	return false;
}

const char *tpat_why_not(const char **advice, const struct graph *g, const struct graph_node *n, bool together,
                         struct arena *a)
{
	const struct graph_value *v;
	*advice = "";
	if (!n->known && tpat_goes_along(g))
		return NULL;
	if (!n->known) {
		*advice = arena_strdup(a, n->advice ? n->advice : "");
		return arena_strdup(a, n->why ? n->why : "");
	}
	if (!(v = tpat_misfit(g, n)))
		return NULL;
	const char *what = v->rank > g->engine->most_axes
	                           ? arena_printf(a, "has %d axes; %s's tensors have at most %d", v->rank,
	                                          g->engine->name, g->engine->most_axes)
	                           : arena_printf(a, "is of type %s; %s", type_info(v->type)->onnx_name,
	                                          g->engine->lack(g->version, v->type, advice, a));
	if (together || v->rank > g->engine->most_axes)
		*advice = "Select it together with the nodes around it: --auto, or --from and --to.";
	return arena_printf(a, "\"%s\" %s, so no plugin can take it%s.", str_printable(a, v->name), what,
	                    together ? " alone" : "");
}
