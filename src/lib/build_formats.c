/* The plugins of a build again, with tensors in formats of --format. */
#include "lib/build_inside.h"

/* Returns the plugin that is `m` in this format, or null. */
static struct made *layout_of(const struct build *b, const struct made *m, const struct engine_layout *l)
{
	vec_each (x, &b->stored)
		if ((*x)->of == m && (*x)->layout == l)
			return *x;
	return NULL;
}

/* Makes kernels for the plugin's tensors in another format. */
static int make_layout(struct made **out, struct build *b, const struct graph_region *r, struct made *m,
                       const struct engine_layout *l)
{
	struct graph_program_options options = build_program_options(b);
	struct ir_program *program;
	options.layout = l;
	options.in_place = false;
	TRY(graph_region_program(&program, r, &options, b->arena, b->err));
	program->checked = b->o->debug_kernels;
	struct made *like = m->like ? layout_of(b, m->like, l) : NULL, *x = NEW(b->arena, struct made);
	int *format = NEWN(b->arena, int, program->inputs.n + program->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++)
		format[i] = graph_has_layout(b->graph, r->inputs.at[i], l, &options) ? l->number : 0;
	for (int i = 0; i < r->outputs.n; i++)
		format[program->inputs.n + i] =
		        graph_has_layout(b->graph, r->outputs.at[i], l, &options) ? l->number : 0;
	if (like)
		*x = *like;
	x->like = like;
	x->of = m;
	x->layout = l;
	x->format = format;
	x->region = r;
	x->weights = build_weights(program, b->arena);
	x->nodes = (struct tpat_texts){ 0 };
	ir_hash(program, x->hash);
	*out = x;
	return like ? 0 : build_schedule(b, r, x, program);
}

static void keep(struct build *b, struct made *m, struct made *x)
{
	if (!x->like)
		m->all_decisions =
		        arena_printf(b->arena, "%s%s\n%s", m->all_decisions, x->layout->name, x->all_decisions);
	vec_push(b->arena, &b->stored, x);
}

/* True if `m` was in this format before, or was found not to gain by it. */
static bool is_known(const struct build *b, const struct made *m, const struct engine_layout *l)
{
	vec_each (w, &b->weighed)
		if (w->of == m && w->layout == l)
			return true;
	return layout_of(b, m, l) != NULL;
}

/* Keeps a format of the convolutions around the region if the plugin does not lose more time by it than the engine's
 * reformatting takes. */
static int weigh(struct build *b, const struct graph_region *r, struct made *m, const struct engine_layout *l)
{
	const struct graph_program_options options = build_program_options(b);
	struct ir_program *program = build_scheduled(m)->plan[0]->program;
	struct sched_points points = tpat_profile_points(b->extents, &b->target, r, program, NULL);
	struct build_weighed w = { .of = m, .layout = l };
	struct made *x;
	w.reformats_ns =
	        tpat_layout_reformats(r, &b->regions, program, l, &options, &points.target[points.opt], b->arena);
	if (w.reformats_ns <= 0)
		return 0;
	TRY(make_layout(&x, b, r, m, l));
	w.ns = build_scheduled(x)->ns;
	w.taken = w.ns < build_scheduled(m)->ns + w.reformats_ns;
	if (w.taken)
		keep(b, m, x);
	vec_push(b->arena, &b->weighed, w);
	return 0;
}

int build_layouts(struct build *b, const struct graph_region *r, struct made *m)
{
	const struct graph_program_options options = build_program_options(b);
	const struct tpat_layouts *x = &b->layouts;
	struct made *made;
	for (int i = 0; i < x->n; i++) {
		if (is_known(b, m, x->at[i]) || !graph_region_has_layout(r, x->at[i], &options))
			continue;
		TRY(make_layout(&made, b, r, m, x->at[i]));
		keep(b, m, made);
	}
	for (const struct engine_layout *l = b->graph->engine->layouts; x->automatic && l && l->name; l++)
		if (!is_known(b, m, l) && graph_region_has_layout(r, l, &options))
			TRY(weigh(b, r, m, l));
	return 0;
}
