/* Rule fourier: a Fourier transform in one kernel. Each thread makes one short transform of a pass in registers; a
 * row's numbers are read once and written once, and go through shared memory between passes. */
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/fourier/fourier_chain.h"

#include <math.h>

enum { MAX_THREADS = 1024, SOME_THREADS = 512 };

static bool fits(const struct fourier_chain *f, int rows)
{
	return fourier_threads(f) * rows <= MAX_THREADS && fourier_shared_bytes(f, rows) <= TARGET_SHARED_EVERYWHERE;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct fourier_chain f;
	if (fourier_find(&f, p, s) && fits(&f, 1))
		return FOUND(p, f);
	*why = "the stage does not begin the steps of Fourier transforms that fit into shared memory";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct fourier_chain *)site->found)->passes;
}

/* Rows of a block: one to as many as have SOME_THREADS threads. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct fourier_chain *f = site->found;
	int n = 0, threads = fourier_threads(f);
	for (int rows = 1; rows == 1 || (rows * threads <= SOME_THREADS && fits(f, rows)); rows *= 2)
		out[n++] = (struct sched_choice){ &sched_fourier, { rows } };
	return n;
}

/* ---- Time: of the bytes, of the instructions, and of a wave's passes, which wait for each other. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { OF_ELEMENT = 30, OF_TERM = 8, OF_PASS = 500, REGISTERS = 40 };
	const struct fourier_chain *f = site->found;
	const struct sched_target *t = site->t;
	const struct ir_stage *last = fourier_last(f);
	double rows = c->param[0], count = (double)about(f->rows, t), blocks = ceil(count / rows), work = 0, wide = 0;
	double threads = ceil(fourier_threads(f) * rows / 32) * 32;
	double read = about_bytes_read(f->p, f->pass[0].s->value, t);
	double bytes = read + (double)about(out_count(f->p, last), t) * type_info(last->out->type)->bits / 8;
	for (int i = 0; i < f->passes; i++) {
		double radix = f->pass[i].radix;
		work += threads * radix * (OF_ELEMENT + OF_TERM * log2(radix));
		wide = radix > wide ? radix : wide;
	}
	double resident = target_resident(t, threads, REGISTERS + 3 * wide, fourier_shared_bytes(f, c->param[0]));
	double waves = ceil(blocks / (t->processors * (resident < 1 ? 1 : resident)));
	double fill = blocks * threads / cost_full_threads(t);
	double time = fmax(bytes / t->bytes_per_ns / fmin(fill, 1), blocks * work / cost_mixed_rate(t));
	return t->launch_ns + time + waves * cost_wait(t, OF_PASS) * f->passes;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct fourier_chain *f = site->found;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, fourier_last(f), "", c);
	fourier_emit(plan->program, k, f, c->param[0]);
	kernel_finish(plan, step, k, fourier_last(f));
}

const struct sched_rule sched_fourier = {
	.name = "fourier",
	.version = 1,
	.param = { { "rows", 1, 512 } },
	.match = match,
	.span = span,
	.candidates = candidates,
	.estimate = estimate,
	.apply = apply,
};
