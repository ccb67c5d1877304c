/* Rule fourier: a Fourier transform in one kernel. Each thread makes one short transform of a pass in registers; a
 * row's numbers are read once and written once, and go through shared memory between passes. */
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/fourier/fourier_chain.h"

#include <math.h>

enum { SOME_THREADS = 512 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct fourier_chain f;
	if (fourier_find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage does not begin the steps of Fourier transforms that fit into shared memory";
	return NULL;
}

static int span(const struct sched_site *site)
{
	const struct fourier_chain *f = site->found;
	return f->passes + (f->after != NULL);
}

/* Rows of a block: one to as many as have SOME_THREADS threads. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct fourier_chain *f = site->found;
	int n = 0, threads = fourier_threads(f);
	for (int rows = 1; rows == 1 || (rows * threads <= SOME_THREADS && fourier_fits(f, rows)); rows *= 2)
		out[n++] = (struct sched_choice){ &sched_fourier, { rows } };
	return n;
}

/* ---- Time: of the bytes, at the rate of the loads on their way, or of the instructions; and the exchanges between
 * passes, as far as no other block hides them. Fitted on an H200, from a GPU's worth of rows to 8192 of 1024. */

/* Instructions of the short transforms of all passes, for one row. Compiled for sm_90: 18 an element of radix 16, 20 of
 * radix 8. */
static double row_work(const struct fourier_chain *f)
{
	enum { OF_ELEMENT = 12, OF_TERM = 2 };
	double work = 0;
	for (int i = 0; i < f->passes; i++) {
		double radix = f->pass[i].radix;
		work += fourier_parts(f, i) * radix * (OF_ELEMENT + OF_TERM * log2(radix));
	}
	return work;
}

/* Slowdown of the bytes by the shape of a block. Across memory, `rows` neighbours are one access; measured: 512 columns
 * of 512, 4.8 times the best of 8 columns for one, 2.3 for 2, 1.4 for 4. Larger blocks wait longer at a barrier: 1024
 * elements, 1.11 with 256 threads, 1.3 with 512. */
static double slower(const struct fourier_chain *f, double rows, double threads)
{
	enum { WHOLE = 64 /* bytes */, SMALL = 128 };
	double access = rows * 2 * type_info(f->turn->type)->bits / 8;
	double across = fourier_across(f) && access < WHOLE ? 1 + 0.5 * (WHOLE / access - 1) : 1;
	return across * (threads > SMALL ? 1 + 0.0007 * (threads - SMALL) : 1);
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { EXCHANGE = 200, HIDING = 4, REGISTERS = 24 };
	const struct fourier_chain *f = site->found;
	const struct sched_target *t = site->t;
	const struct ir_stage *end = fourier_stored(f);
	double rows = c->param[0], count = (double)about(f->rows, t), blocks = ceil(count / rows), wide = 0;
	double threads = ceil(fourier_threads(f) * rows / 32) * 32, element = type_info(f->turn->type)->bits / 8;
	for (int i = 0; i < f->passes; i++)
		wide = f->pass[i].radix > wide ? f->pass[i].radix : wide;
	double registers = REGISTERS + 2 * wide * element / 4;
	double resident = fmax(1, target_resident(t, threads, registers, fourier_shared_bytes(f, c->param[0])));
	double here = fmin(resident, blocks / t->processors), waves = ceil(blocks / (t->processors * resident));
	double read = about_bytes_read(f->p, f->re, t); /* the buffers have the imaginary parts, too */
	double bytes = read + (double)about(out_count(f->p, end), t) * type_info(end->out->type)->bits / 8;
	double flying = here * rows * fourier_parts(f, 0) * f->pass[0].radix * element * (f->im ? 2 : 1);
	double moving = bytes / t->bytes_per_ns, full = moving / fmin(1, fmax(0.01, flying / cost_in_flight(t)));
	full = fmin(full, moving + cost_table(t)->wave_way * waves); /* a wave's loads are on their way together */
	double idle = threads / (rows * fourier_threads(f));
	double work = count * row_work(f) * idle / cost_mixed_rate(t) * fmax(1, 1 / fmax(0.05, here));
	double exchange = cost_wait(t, EXCHANGE) * f->passes * waves / fmin(HIDING, resident);
	return t->launch_ns + fmax(full * slower(f, rows, threads), work) + exchange;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct fourier_chain *f = site->found;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, fourier_stored(f), "", c);
	fourier_emit(plan->program, k, f, c->param[0]);
	kernel_finish(plan, step, k, fourier_stored(f));
}

const struct sched_rule sched_fourier = {
	.name = "fourier",
	.version = 1,
	.about = "Each thread computes short transforms in registers, and shared memory exchanges the "
	         "values between steps.",
	.param = { { "rows", 1, 512 } },
	.match = match,
	.span = span,
	.candidates = candidates,
	.estimate = estimate,
	.apply = apply,
};
