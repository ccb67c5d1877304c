/* Rule rows_shift: the row programs of rule rows whose constant length no vector divides. Vectors start where memory is
 * aligned, so that a row may begin and end inside one (rows_shifted.c). Rows of symbolic length have such kernels in
 * rule rows. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { FEW_LANES = 4, WARP = 32, MAX_LANES = 1024, MAX_STEPS = 16 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct rows *found = sched_match(p, s, &sched_rows, why);
	struct rows r;
	int64_t length;
	if (!found)
		return NULL;
	if (rows_shifted(&r, found) && ir_const_int(r.length, &length) && length % rows_widest(&r) != 0)
		return FOUND(p, r);
	*why = "vectors of 16 bytes divide the rows, or may do so for some extents";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct rows *)site->found)->stages;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct rows *r = site->found;
	int64_t length = about(r->length, site->t);
	int n = 0, once = rows_once(r, site->t);
	for (int width = rows_widest(r); width > 1; width /= 2)
		for (int lanes = length <= (int64_t)2 * WARP * width ? FEW_LANES : WARP; lanes <= MAX_LANES;
		     lanes *= 2) {
			int64_t step = (int64_t)lanes * width, steps = (length + width - 1 + step - 1) / step;
			bool wasteful = lanes != WARP && step >= 2 * length;
			if (wasteful || n + 2 > SCHED_RULE_CHOICES)
				continue;
			bool held = steps <= MAX_STEPS && rows_steps_held(r, lanes, width, (int)steps, 1) == steps;
			int alone = 0, both = 0;
			if (!held && lanes == MAX_LANES)
				alone = rows_steps_shared(r, site->t, lanes, width, steps, 1);
			if (lanes == MAX_LANES / 2)
				both = rows_steps_shared(r, site->t, lanes, width, steps, 2);
			if (held || alone)
				out[n++] = (struct sched_choice){ &sched_rows_shift,
					                          { lanes, width, (int)steps, once, 0, alone } };
			if (both)
				out[n++] = (struct sched_choice){ &sched_rows_shift,
					                          { lanes, width, (int)steps, once, 0, both } };
		}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct rows r = *(const struct rows *)site->found;
	r.arch = site->t->arch;
	struct ir_step *step = step_new(plan);
	rows_apply_shift(plan, step, &r, c);
}

/* As rule rows with these vectors; the neighbours' elements and the comparisons cost a little. Elements that are loaded
 * one by one, such as a mask's, are the farther apart in a warp the wider the vectors are: measured on an H200 for
 * masked softmax of 385, 1001 and 2047 elements, vectors of 4 take 1.08 times as long as those of 2, of 8 1.27 times.
 * Shifted vectors of a mask: f16, 1001 elements, 48.5 us with vectors of 4, 49.8 with 8; 52.4 with 2, which load the
 * mask one by one; 385 elements 65.1, 62.4 and 62.0; f32 109.6 with 4, 101.8 with 2.
 */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const double DEARER = 1.03 /* measured on an H100 */, SHIFTED = 1.03;
	const struct rows *r = site->found;
	int width = c->param[1];
	bool apart = false, shifted = false;
	for (int i = 0; i < r->cached; i++) {
		bool vectors = rows_in_shifted_vectors(r, i, width);
		apart |= r->cache[i].from && !vectors;
		shifted |= r->cache[i].from && vectors;
	}
	return rows_estimate(site, c) * DEARER * (apart ? 1 + 0.045 * (width - 2) : 1) * (shifted ? SHIFTED : 1);
}

const struct sched_rule sched_rows_shift = {
	.name = "rows_shift",
	.version = 1,
	.about = "A row has {lanes} threads{steps?, and stays in registers from the first stage to the last: "
	         "{steps vector} of {width} elements each. Vectors start where memory is aligned, so a row "
	         "may begin and end inside one}{steps!, and every stage reads it again}.",
	.param = { { "lanes", 4, 1024 },
	           { "width", 2, 16 },
	           { "steps", 1, 128 },
	           { "once", 0, 1 },
	           { "ahead", 0, 0 },
	           { "shared", 0, 32 } },
	.none = "registers and shared memory have no room for a row",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
