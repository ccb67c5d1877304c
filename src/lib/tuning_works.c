/* The programs to tune: those of all regions, with their tensors in the formats that a build would make. */
#include "lib/tuning_inside.h"

static struct graph_program_options program_options(const struct tuning *t, const struct engine_layout *l)
{
	return (struct graph_program_options){ .any_types = true,
		                               .keep_types = t->o->keep_types,
		                               .in_place = t->o->in_place && !l,
		                               .layout = l,
		                               .sizes = true };
}

int tuning_program(struct ir_program **out, const struct tuning *t, const struct tuning_work *w, struct arena *a,
                   struct err *e)
{
	const struct graph_program_options options = program_options(t, w->layout);
	return graph_region_program(out, w->region, &options, a, e);
}

/* True if a build with these formats may make a plugin of the region in this one. */
static bool is_wanted(const struct tuning *t, const struct tpat_layouts *x, const struct graph_region *r,
                      const struct engine_layout *l)
{
	const struct graph_program_options options = program_options(t, NULL);
	struct arena *a = arena_new();
	struct err ignored = { 0 };
	struct ir_program *p;
	bool wanted = !r->folded && graph_region_has_layout(r, l, &options);
	if (wanted && !tpat_layouts_have(x, l))
		wanted = x->automatic && graph_region_program(&p, r, &options, a, &ignored) == 0 &&
		         tpat_layout_reformats(r, &t->regions, p, l, &options, &t->target, a) > 0;
	arena_free(a);
	return wanted;
}

int tuning_find_works(struct tuning *t)
{
	const struct engine_layout *l = t->graph->engine->layouts;
	struct tpat_layouts x;
	TRY(tpat_layouts_read(&x, t->graph, &t->o->format, t->arena, t->err));
	const struct graph_program_options options = program_options(t, NULL);
	tpat_turn(&t->regions, t->extents, &t->target, &options);
	vec_each (r, &t->regions)
		vec_push(t->arena, &t->works, ((struct tuning_work){ *r, NULL }));
	for (; (x.n || x.automatic) && l && l->name; l++)
		vec_each (r, &t->regions)
			if (is_wanted(t, &x, *r, l))
				vec_push(t->arena, &t->works, ((struct tuning_work){ *r, l }));
	return 0;
}
