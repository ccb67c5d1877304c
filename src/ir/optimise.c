/* The passes over a program, and the order in which they run. */
#include "ir/pool.h"

#include "ir/passes.h"

/* Ends with a null name. */
static const struct ir_pass ir_passes[] = {
	{ "simplify", ir_pass_simplify, false }, /* rebuilds every expression, so that known values fold */
	{ "merge", ir_pass_merge, false },       /* stages that compute the same become one */
	{ "gather", ir_pass_gather, true },      /* scatters of whole rows that a map reads become gathers */
	{ "invert", ir_pass_invert, true },      /* scatters whose updates never collide become maps */
	{ "unscale", ir_pass_unscale, true },    /* sums of products of quantised numbers become sums of integers */
	{ "inline", ir_pass_inline, true }, /* maps move into their readers, and after the reductions that feed them */
	{ "prune", ir_pass_prune, false },  /* unused stages and buffers vanish */
	{ "place", ir_pass_place, false },  /* outputs that change a few elements of a spare input get its memory */
	{ 0 },
};

static int run(struct ir_program *p, bool fuse, ir_dump_fn dump, void *user, struct err *e)
{
	p->found = NULL;
	TRY(ir_check(p, e));
	if (dump)
		dump(user, "lower", p);
	for (const struct ir_pass *pass = ir_passes; pass->name; pass++) {
		if (pass->fuses && !fuse)
			continue;
		TRY(pass->run(p, e));
		if (ir_check(p, e) < 0)
			return err_where(e, "after pass %s: ", pass->name);
		if (dump)
			dump(user, pass->name, p);
	}
	return 0;
}

int ir_optimise(struct ir_program *p, ir_dump_fn dump, void *user, struct err *e)
{
	return run(p, true, dump, user, e);
}

int ir_optimise_unfused(struct ir_program *p, struct err *e)
{
	return run(p, false, NULL, NULL, e);
}
