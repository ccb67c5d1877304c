/* Rule patch: sums of products over windows of an image on tensor cores, for few channels at a time. A block makes
 * `down` x `across` elements of 16 * `tiles` rows: it copies the patch of the image that their windows cover, 2 *
 * `pairs` channels at a time, to shared memory as it is, and takes the right operands of its products from there. So no
 * copy of the image by channels is needed, and few channels of a group do not leave the products' depth empty. See
 * patch.h. */
#include "sched/contract/patch.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, ROWS = 16, COLUMNS = 8, MOST_PAIRS = 8, MOST_TILES = 4, PRODUCT_WORDS = 8, BANKS = 32 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct patch f;
	if (patch_match(&f, p, s, false))
		return FOUND(p, f);
	*why = "the stage is not a sum of products of 16-bit floats over windows and channels of an image";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct patch *)site->found)->c.stages;
}

/* ---- Choices. */

/* Products of 16 x 8 x 16 for all taps of the channels, for 16 rows and 8 elements. */
static int steps_of(const struct patch *f, const struct sched_choice *c)
{
	return (c->param[2] * patch_taps(f) + PRODUCT_WORDS - 1) / PRODUCT_WORDS;
}

static struct patch_shape shape_of(const struct patch *f, const struct sched_choice *c)
{
	int pairs = c->param[2], tiles = c->param[3], classes = f->step[PATCH_ACROSS];
	struct patch_shape s = { .down = c->param[0],
		                 .across = c->param[1],
		                 .channels = 2 * pairs,
		                 .rows = ROWS * tiles,
		                 .threads = WARP * c->param[4] };
	patch_find_size(&s, f);
	/* As struct patch of rt/device/tpat_patch.h lays them out. */
	int pair = (s.lines * ((s.columns + classes - 1) / classes * classes) + 23) / BANKS * BANKS + 8;
	s.bytes = 4 * pairs * pair + steps_of(f, c) * (tiles * WARP * 16 + PRODUCT_WORDS * 2);
	return s;
}

static int whole(int n, int parts)
{
	return (n + parts - 1) / parts;
}

/* As struct patch_rounds of rt/device/tpat_patch.h: the rounds of a thread's loads, and the words of each. */
struct rounds {
	int n, image, weights;
};

static struct rounds rounds_of(const struct patch *f, const struct sched_choice *c)
{
	enum { AT_ONCE = 12 };
	const struct patch_shape s = shape_of(f, c);
	int together = s.threads / s.columns; /* lines; see patch_place of tpat_patch.h */
	int image = 4 * together * s.columns >= 3 * s.threads ? whole(c->param[2] * s.lines, together)
	                                                      : whole(c->param[2] * s.lines * s.columns, s.threads);
	int weights = whole(s.rows * c->param[2] * (int)patch_taps(f), s.threads);
	int n = whole(image + weights, AT_ONCE);
	return (struct rounds){ n, whole(image, n), whole(weights, n) };
}

static double registers_of(const struct patch *f, const struct sched_choice *c)
{
	int tiles = c->param[3], pieces = c->param[0] * c->param[1] / COLUMNS / c->param[4];
	const struct rounds r = rounds_of(f, c);
	return 52 + 4 * tiles * pieces + 4 * tiles + pieces + 2 * (r.image + r.weights);
}

/* The most pairs of channels whose patch and weights leave room for two blocks where one has `most` bytes. */
static bool find_pairs(const struct patch *f, struct sched_choice *c, int64_t channels, int most)
{
	for (int pairs = MOST_PAIRS; pairs >= 1; pairs /= 2) {
		c->param[2] = pairs;
		if ((pairs == 1 || 2 * pairs < channels + 2) && shape_of(f, c).bytes <= most)
			return true;
	}
	return false;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shape[][3] = { { 8, 16, 4 },  { 16, 16, 8 }, { 8, 32, 8 }, { 4, 32, 4 }, { 8, 8, 4 },
		                        { 16, 32, 8 }, { 4, 16, 4 },  { 4, 8, 4 },  { 1, 64, 4 }, { 1, 256, 8 } };
	const struct patch *f = site->found;
	const struct sched_target *t = site->t;
	const struct contract *c = &f->c;
	int64_t rows = about(c->extent[CONTRACT_ROW], t), across = patch_extent(f, PATCH_ACROSS, t);
	int64_t down = patch_extent(f, PATCH_DOWN, t);
	int tiles = (int)fmin(MOST_TILES, ceil((double)rows / ROWS)), n = 0;
	if (!t->mma[c->side[0].type])
		return 0;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		struct sched_choice now = { &sched_patch, { shape[i][0], shape[i][1], 0, tiles, shape[i][2] } };
		bool wasteful = shape[i][0] >= 2 * down || (shape[i][1] >= 2 * across && shape[i][1] > COLUMNS);
		bool flat = shape[i][0] == 1;
		if ((wasteful && !(i == 7 && n == 0)) || (flat && f->axis[PATCH_DOWN] >= 0 && down > 1))
			continue;
		if (!find_pairs(f, &now, patch_channels(f, t), TARGET_SHARED_EVERYWHERE / 2) &&
		    !find_pairs(f, &now, patch_channels(f, t), TARGET_SHARED_EVERYWHERE))
			continue;
		if (registers_of(f, &now) <= target_thread_registers(t, WARP * now.param[4]))
			out[n++] = now;
	}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct patch *f = site->found;
	const struct patch_shape s = shape_of(f, c);
	const struct patch_function product = {
		&device_patch, &device_patch_product,
		IR_OF(IR_NUMBER(c->param[2]), IR_NUMBER(c->param[3]), IR_NUMBER(patch_taps(f)), IR_NUMBER(s.lines),
		      IR_NUMBER(s.columns), IR_NUMBER(f->step[PATCH_ACROSS])),
		IR_OF(IR_NUMBER(c->param[4]), IR_NUMBER(s.down), IR_NUMBER(s.across),
		      IR_NUMBER((int)f->taps[PATCH_ACROSS]), IR_NUMBER(f->step[PATCH_DOWN]),
		      IR_NUMBER(f->apart[PATCH_DOWN]), IR_NUMBER(f->apart[PATCH_ACROSS]))
	};
	patch_kernels(plan, step_new(plan), f, c, &s, &product);
}

/* ---- Time. For each group of channels a block waits for all rounds of loads, of which the first overlaps with the
 * products before, and then multiplies. */

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	/* Clocks: start and end of a block; a round of loads. Instructions of a warp: a word of the patch or of the
	 * weights for all lanes; a step; eight columns of it; a result. As trials of five convolutions on an H200 have
	 * them, within 26 % in the root mean square. */
	enum { START = 1500, ROUND = 2000, OF_WORD = 24, OF_WEIGHT = 55, OF_STEP = 1, OF_PIECE = 8, OF_RESULT = 20 };
	const struct sched_target *t = site->t;
	const struct patch *f = site->found;
	const struct contract *c = &f->c;
	const struct patch_shape s = shape_of(f, choice);
	const double clock = t->clock_ghz * cost_table(t)->mma_clock;
	double rows = (double)about(c->extent[CONTRACT_ROW], t), batch = (double)about(c->extent[CONTRACT_BATCH], t);
	double columns = (double)about(c->extent[CONTRACT_COLUMN], t), channels = (double)patch_channels(f, t);
	double across = (double)patch_extent(f, PATCH_ACROSS, t), down = (double)patch_extent(f, PATCH_DOWN, t);
	double row_blocks = ceil(rows / s.rows), taps = patch_taps(f);
	int pairs = choice->param[2], tiles_down = choice->param[3], warps = choice->param[4],
	    steps = steps_of(f, choice);
	double blocks = batch * columns / (across * down) * ceil(across / s.across) * ceil(down / s.down) * row_blocks;
	double turns = ceil(channels / (2 * pairs)), pieces = s.down * s.across / (double)COLUMNS / warps;

	double words = pairs * s.lines * s.columns / 32.0, weights = fmin(rows, s.rows) * pairs * taps / 32;
	double products = steps * warps * pieces * tiles_down;
	double issue = words * OF_WORD + weights * OF_WEIGHT +
	               steps * warps * (OF_STEP + tiles_down + pieces * OF_PIECE) + products;
	double end = warps * pieces * tiles_down * 4 * OF_RESULT / t->schedulers; /* 4 results of a lane */
	double reads = steps * warps * (2 + 4 * tiles_down + 2 * pieces) + 3 * words + 3 * weights;
	double multiply = products * ROWS * COLUMNS * 16 / t->mma[c->side[0].type];
	double busy = fmax(fmax(issue / t->schedulers, reads), multiply);
	double wait = ROUND * (turns * (rounds_of(f, choice).n - 1) + 1);
	double here = target_resident(t, s.threads, registers_of(f, choice), s.bytes);
	here = fmax(1, fmin(here, ceil(blocks / t->processors)));
	double waves = fmax(1, blocks / (t->processors * here));
	double time = (ceil(waves) * wait + waves * (turns * busy + end) * here + START) / clock;

	/* Bytes: a patch's edges come from the caches; 16 bytes of a row are stored at a time. */
	double tiles = blocks * turns * (pairs * s.lines * s.columns * 4.0 + weights * 32 * 4), results = 0;
	double image = (double)about(ir_buffer_count(c->p, contract_load_of(&c->side[1])->buf), t) * 2;
	for (int i = 0; i < c->stages; i++)
		results += batch * rows * columns * type_info(c->made[i]->out->type)->bits / 8.0;
	double memory = (image + 1.5 * results) / t->bytes_per_ns, cache = (tiles + results) / cost_tiles_rate(t);
	return t->launch_ns + fmax(fmax(time, memory), cache);
}

const struct sched_rule sched_patch = {
	.name = "patch",
	.version = 2,
	.about = "A block computes {down} x {across} elements of the image in {tiles tile} of 16 output "
	         "channels. It copies the part of the input that their windows cover to shared memory, "
	         "{pairs pair} of channels at a time.",
	.param = { { "down", 1, 16 }, { "across", 8, 256 }, { "pairs", 1, 8 }, { "tiles", 1, 4 }, { "warps", 4, 8 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types, or a patch does not fit into shared memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
