/* Rule rows_cluster: the row programs of rule rows for long rows, or for few: the blocks of a cluster share a row,
 * which their registers and shared memory hold together. They exchange the results of its reductions through each
 * other's shared memory. Vectors as in rule rows, or in rule rows_shift where none divides the length. If that is open,
 * there are kernels for both, and for rows that exceed what a cluster holds at the extents of the choice. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { LEAST_LANES = 256, MAX_LANES = 1024, MAX_STEPS = 16 };

/* True if no vector divides the rows of this length. */
static bool is_shifted(const struct rows *r, int64_t length)
{
	return length % rows_widest(r) != 0;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct rows *found = sched_match(p, s, &sched_rows, why);
	struct rows r;
	int64_t length;
	if (!found)
		return NULL;
	r = *found;
	*why = "a reduction finds the place of a best element";
	if (found->args)
		return NULL;
	if (!ir_const_int(r.length, &length))
		return FOUND(p, r);
	*why = "the rows are short";
	if (length < (int64_t)LEAST_LANES * rows_widest(&r))
		return NULL;
	*why = "vectors of 16 bytes do not divide the rows, and cannot go on from one row to the next";
	if (is_shifted(found, length) && !rows_shifted(&r, found))
		return NULL;
	return FOUND(p, r);
}

static int span(const struct sched_site *site)
{
	return ((const struct rows *)site->found)->stages;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct rows *r = site->found;
	const struct sched_target *t = site->t;
	int64_t length = about(r->length, t);
	struct rows shifted;
	int n = 0, width = rows_widest(r), once = rows_once(r, t), more = is_shifted(r, length) ? width - 1 : 0;
	if (more && !rows_shifted(&shifted, r))
		return 0;
	for (int blocks = 2; blocks <= t->cluster_blocks; blocks *= 2)
		for (int lanes = LEAST_LANES; lanes <= MAX_LANES; lanes *= 2) {
			int64_t step = (int64_t)lanes * blocks * width, steps = (length + more + step - 1) / step;
			if (2 * length < step || steps > 2 * MAX_STEPS || (steps > MAX_STEPS + 1 && lanes < MAX_LANES))
				continue;
			bool held = steps <= MAX_STEPS && rows_steps_held(r, lanes, width, (int)steps, 1) == steps;
			int shared = held ? 0 : rows_steps_shared(r, t, lanes, width, steps, 1);
			if (held || shared)
				out[n++] =
				        (struct sched_choice){ &sched_rows_cluster,
					                       { lanes, width, (int)steps, once, 0, shared, blocks } };
		}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct rows r = *(const struct rows *)site->found;
	r.arch = site->t->arch;
	rows_apply_cluster(plan, step_new(plan), &r, c);
}

const struct sched_rule sched_rows_cluster = {
	.name = "rows_cluster",
	.version = 1,
	.needs = TARGET_CLUSTERS,
	.about = "A row has {lanes} threads{blocks? in the {blocks} blocks of a cluster}{steps?, and stays in "
	         "registers from "
	         "the first stage to the last: {steps vector} of {width} elements each}{steps!, and every stage reads "
	         "it "
	         "again}.{shared? The last {shared vector} of each thread are in shared memory.}",
	.param = { { "lanes", 256, 1024 },
	           { "width", 2, 16 },
	           { "steps", 1, 32 },
	           { "once", 0, 1 },
	           { "ahead", 0, 0 },
	           { "shared", 0, 32 },
	           { "blocks", 2, 8 } },
	.none = "no cluster's registers and shared memory have room for a row",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = rows_estimate,
};
