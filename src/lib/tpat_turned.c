/* Weights that kernels would copy before each product, with their axes in another order. They have that order in the
 * rewritten model, or in the library, where the estimate gains from it. */
#include "lib/tpat_inside.h"

struct turning {
	struct tpat_extents *extents;
	const struct sched_target *target;
};

static double time_of(void *user, const struct graph_region *r, struct ir_program *p)
{
	const struct turning *x = user;
	struct sched_points points = tpat_profile_points(x->extents, x->target, r, p, NULL);
	return sched_program_time(p, &points.target[points.opt]);
}

void tpat_turn(const struct graph_regions *r, struct tpat_extents *extents, const struct sched_target *t,
               const struct graph_program_options *o)
{
	struct arena *scratch = arena_new();
	struct map gains = map_new(scratch);
	struct graph_program_options quiet = *o;
	struct turning turning = { extents, t };
	const struct graph_turning x = { &quiet, sched_reorders, time_of, &turning, &gains };
	quiet.dump = NULL;
	vec_each (region, r)
		graph_turn(&x, *region);
	arena_free(scratch);
}
