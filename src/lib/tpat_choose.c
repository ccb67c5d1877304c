/* The nodes of a model that a command applies to: options as a selection of regions. */
#include "lib/tpat_inside.h"

#include <string.h>

/* "A,B,C" as names; a node's own name may not hold a comma here. */
static struct graph_region_names split_names(const char *text, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (const char *p = text; p;) {
		size_t n = strcspn(p, ",");
		if (n)
			vec_push(a, &list, arena_strndup(a, p, n));
		p = p[n] ? p + n + 1 : NULL;
	}
	return (struct graph_region_names){ list.n, list.at };
}

/* If no node is supported because the model is wrong (missing external data ...), reports that. */
static int check_nodes(struct graph *g, struct err *e)
{
	vec_each (n, &g->nodes)
		if (!n->known && n->code == ERR_MODEL)
			return graph_node_check(g, n->index, e);
	return 0;
}

bool tpat_chooses(const struct tpat_choice *c)
{
	return c->node->n || c->type->n || c->region->n || c->automatic || c->all || c->from->n || c->to->n ||
	       c->pattern->n;
}

int tpat_select(struct graph_regions *out, struct graph_rates *rates, struct graph *g, const struct tpat_choice *c,
                struct arena *a, struct err *e)
{
	struct graph_region_names *region = NEWN(a, struct graph_region_names, c->region->n + 1);
	for (int i = 0; i < c->region->n; i++)
		region[i] = split_names(c->region->at[i], a);
	if (c->automatic || c->all)
		TRY(tpat_rates(rates, g, c->target, c->profile, a, e));
	struct graph_selection s = {
		.names = c->node->n,
		.name = c->node->at,
		.types = c->type->n,
		.type = c->type->at,
		.regions = c->region->n,
		.region = region,
		.excepts = c->except->n,
		.except = c->except->at,
		.automatic = c->automatic,
		.rates = c->automatic || c->all ? rates : NULL,
		.all = c->all,
		.fast = c->fast,
	};
	if (c->from) {
		s.froms = c->from->n;
		s.from = c->from->at;
		s.tos = c->to->n;
		s.to = c->to->at;
		s.patterns = c->pattern->n;
		s.pattern = c->pattern->at;
	}
	return graph_select(out, g, &s, e);
}

/* True if the engine refuses a node of the graph or of a graph inside it. */
static bool refuses_any(struct graph *g)
{
	const char *why;
	vec_each (some, &g->graphs)
		vec_each (n, &(*some)->nodes)
			if (!n->folded && graph_node_used(*some, n->index) &&
			    graph_support(*some, n->index, &why) == ENGINE_NO)
				return true;
	return false;
}

/* The first node that cannot be a plugin, with the reason; null: there is none. `refused`: among those that the engine
 * refuses. */
static const struct graph_node *first_not_taken(const char **why, const char **advice, struct graph *g, bool refused,
                                                struct arena *a)
{
	const char *ignored;
	vec_each (some, &g->graphs)
		vec_each (n, &(*some)->nodes)
			if (!n->folded && graph_node_used(*some, n->index) &&
			    (!refused || graph_support(*some, n->index, &ignored) == ENGINE_NO) &&
			    (*why = tpat_why_not(advice, *some, n, false, a)))
				return n;
	return NULL;
}

/* --auto or --all selects no node: says why by an example. */
static int nothing_taken(struct graph *g, bool refused, struct arena *a, struct err *e)
{
	const char *path = g->model->path, *why, *advice;
	const char *which =
	        refused ? arena_printf(a, "that %s refuses and tpat supports", g->engine->name) : "that tpat supports";
	const struct graph_node *n = first_not_taken(&why, &advice, g, refused, a);
	err_set(e, ERR_UNSUPPORTED, "%s has no node %s%s%s%s%s", path, which, n ? ". Node " : ".", n ? n->label : "",
	        n ? ": " : "", n ? why : "");
	if (n)
		err_about(e, ERR_NODE, n->label);
	return err_advise(e, "%s%stpat list %s shows the reason for each node.", n ? advice : "",
	                  n && *advice ? " " : "", str_shell_path(a, path));
}

int tpat_choose(struct graph_regions *out, struct graph *g, const struct tpat_choice *c, struct arena *a, struct err *e)
{
	const char *path = g->model->path;
	struct graph_rates rates;
	struct tpat_gain gain;
	if (c->min_gain && !c->fast)
		return err_set(e, ERR_USAGE, "--min-gain is for --auto=fast.");
	if (c->chains && !c->fast)
		return err_set(e, ERR_USAGE, "--chains is for --auto=fast.");
	TRY(tpat_gain_read(&gain, c->min_gain, e));
	gain.chains = c->chains;
	TRY(tpat_select(out, &rates, g, c, a, e));
	if (c->automatic || c->all)
		TRY(tpat_settle(out, &rates, a, e));
	if (c->fast)
		tpat_keep_worth(out, &rates, c->target, &gain, a);
	graph_regions_settle(out);
	graph_exchange(out);
	if (out->n || c->plain)
		return 0;
	TRY(check_nodes(g, e));
	if (c->fast) {
		err_set(e, ERR_UNSUPPORTED,
		        "%s has no node that %s refuses, and no chain of others that gains enough in a plugin.", path,
		        g->engine->name);
		return gain.share > 0 || gain.ns > 0
		               ? err_advise(e, "A lower --min-gain takes smaller gains.")
		               : err_advise(e, "-n or -t selects nodes whatever the estimate says.");
	}
	if (c->automatic && !refuses_any(g)) {
		err_set(e, ERR_UNSUPPORTED, "%s refuses no node of %s, so --auto selects none.", g->engine->name, path);
		return err_advise(
		        e,
		        "If it did refuse the model, tpat fix %s LOG reads its log. -n, -t or --auto=fast select "
		        "nodes to speed up.",
		        str_shell_path(a, path));
	}
	if (!c->automatic && c->except->n)
		return err_set(e, ERR_USAGE, "%s: --except leaves out every node that other options select.", path);
	if (!c->automatic && !c->all) {
		err_set(e, ERR_UNSUPPORTED, "%s: no selected node needs a plugin.", path);
		return err_advise(e, "Their results are known at build time, or nothing uses them.");
	}
	return nothing_taken(g, c->automatic, a, e);
}

static int choose_in(struct graph_regions *out, struct graph *g, struct arena *a, struct err *e)
{
	vec_each (n, &g->nodes) {
		struct graph_region *r;
		if (!n->known || n->folded || !graph_node_used(g, n->index))
			continue;
		TRY(graph_region_new(&r, g, &n->index, 1, e));
		vec_push(a, out, r);
	}
	return 0;
}

int tpat_choose_all(struct graph_regions *out, struct graph *g, struct arena *a, struct err *e)
{
	vec_each (some, &g->graphs)
		if (graph_used(*some) && !tpat_goes_along(*some))
			TRY(choose_in(out, *some, a, e));
	if (out->n)
		return 0;
	TRY(check_nodes(g, e));
	return err_set(e, ERR_UNSUPPORTED, "%s has no node that tpat supports.", g->model->path);
}
