/* Rule winograd: convolutions with windows of 3 x 3 and stride 1 in f32, with 16 products for 4 results of a channel,
 * where a sum over the window takes 36. A block makes `rows` rows of 32 tiles of 2 x 2 results, `channels` channels at
 * a time. See winograd.h. */
#include "sched/contract/winograd.h"
#include "sched/build/extents.h"
#include "sched/core/choose.h"

#include <math.h>

enum { TAPS = 3, WARP = 32, RESULTS = 2 };

/* The window is 3 x 3, of neighbours; an image's other indices are always inside. */
static bool fits(const struct patch *f)
{
	expr load = contract_load_of(&f->c.side[1]);
	for (int way = 0; way < PATCH_WAYS; way++)
		if (f->axis[way] < 0 || f->taps[way] != TAPS || f->step[way] != 1 || f->apart[way] != 1)
			return false;
	for (int d = 0; d < load->buf->rank; d++) {
		expr at = load->arg[d], in = ir_binary(IR_AND, ir_binary(IR_LE, ir_index(at->pool, 0), at),
		                                       ir_binary(IR_LT, at, load->buf->dim[d]));
		if (d != f->dim[PATCH_DOWN] && d != f->dim[PATCH_ACROSS] && !ir_is_int(in, 1))
			return false;
	}
	return true;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct patch f;
	if (patch_match(&f, p, s, true) && f.c.side[0].type == TYPE_F32 && fits(&f))
		return FOUND(p, f);
	*why = "the stage is not a convolution of f32 with windows of 3 x 3 and stride 1";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct patch *)site->found)->c.stages;
}

/* ---- Choices. */

static struct winograd_shape shape_of(const struct sched_choice *c)
{
	return winograd_shape(c->param[0], c->param[1]);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shape[][2] = { { 64, 8 }, { 64, 4 }, { 32, 8 }, { 32, 4 } };
	enum { SHAPES = sizeof shape / sizeof *shape };
	int n = 0;
	for (int i = 0; i < SHAPES; i++) {
		out[n] = (struct sched_choice){ &sched_winograd, { shape[i][0], shape[i][1] } };
		n += shape_of(&out[n]).bytes <= site->t->block_shared_most;
	}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct winograd_shape s = shape_of(c);
	winograd_kernels(plan, site->found, c, &s, s.bytes > TARGET_SHARED_EVERYWHERE ? site->t->arch : 0);
}

/* ---- Time: the instructions of a multiprocessor's blocks. */

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	/* Clocks of a block's start; instructions of a thread for its part of a step's image and weights, and for one
	 * row of its tile at the end; clocks that a step waits. With GAPS within 9 %, in the root mean square, of what
	 * 40 choices for 10 convolutions took on an H200. */
	enum { START = 500, OF_PART = 110, OF_RESULT = 100, OF_STEP = 100 };
	const double GAPS = 1.2; /* of clocks over instructions */
	const struct sched_target *t = site->t;
	const struct patch *f = site->found;
	const struct contract *c = &f->c;
	const struct winograd_shape s = shape_of(choice);
	double channels = (double)patch_channels(f, t), steps = ceil(channels / s.channels);
	double blocks = (double)about(winograd_blocks(f, &s), t), share = ceil(blocks / t->processors);
	double own_rows = s.rows / 8.0, own_tiles = WINOGRAD_TILES / 4.0, warps = WINOGRAD_WARPS;
	double multiply = s.channels * 2 * own_rows * own_tiles * WARP * t->schedulers / t->fma[TYPE_F32];
	double reads = s.channels * (own_rows + own_tiles) / 2, weights = s.channels * s.rows / 32.0;
	double registers = t->registers / (double)(s.resident * WINOGRAD_WARPS * WARP);
	double here = fmax(1, fmin(share, target_resident(t, warps * WARP, registers, s.bytes)));
	double step = (multiply + reads + weights + OF_PART) * warps / t->schedulers + OF_STEP / here;
	if (!target_has(t, TARGET_COPY_ASYNC)) /* a block waits for its weights while others multiply */
		step += cost_table(t)->tile_way / here;
	double end = s.rows / warps * OF_RESULT * warps / t->schedulers;
	double clocks = GAPS * share * (steps * step + end + START / here);
	double time = clocks / (t->clock_ghz * cost_table(t)->mma_clock);

	double results = 0, image = (double)about(ir_buffer_count(c->p, contract_load_of(&c->side[1])->buf), t) * 4;
	double batch = (double)about(c->extent[CONTRACT_BATCH], t), rows = (double)about(c->extent[CONTRACT_ROW], t);
	double elements = batch * rows * (double)about(c->extent[CONTRACT_COLUMN], t);
	for (int i = 0; i < c->stages; i++)
		results += elements * type_info(c->made[i]->out->type)->bits / 8.0;
	double tiles = blocks * steps * s.channels * WINOGRAD_PLACES * (s.rows + WINOGRAD_TILES) * 4.0;
	double memory = (image + results) / t->bytes_per_ns, cache = (tiles + results) / cost_tiles_rate(t);
	double transform =
	        cost_following(t) + batch * rows * channels * (TAPS * TAPS + WINOGRAD_PLACES) * 4 / t->bytes_per_ns;
	return t->launch_ns + transform + fmax(fmax(time, memory), cache);
}

const struct sched_rule sched_winograd = {
	.name = "winograd",
	.version = 1,
	.about =
	        "A block computes tiles of 2 x 2 elements of the image in {rows} output channels by Winograd's method: "
	        "16 products for each tile and channel. It transforms {channels} channels of the image at a time in "
	        "shared memory; a kernel before it transforms the weights.",
	.param = { { "rows", 32, 64 }, { "channels", 4, 8 } },
	.heavy = true,
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
