/* The passes over a program, and the order in which they run. */
#include "ir/pool.h"

#include "ir/passes.h"

/* Ends with a null name. */
static const struct ir_pass ir_passes[] = {
	{ "simplify", "rebuild every expression, so that known values fold", ir_pass_simplify, false },
	{ "merge", "stages that compute the same become one", ir_pass_merge, false },
	{ "gather", "scatters of whole rows that a map reads become gathers", ir_pass_gather, true },
	{ "invert", "scatters whose updates never collide become maps", ir_pass_invert, true },
	{ "inline", "maps move into the stages that read them, and after the reductions that feed them", ir_pass_inline,
	  true },
	{ "prune", "unused stages and buffers vanish", ir_pass_prune, false },
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
