/* Rule patch_plain: sums of products over windows of an image in f32, with ordinary multiply-adds. A block makes `down`
 * x `across` elements of `rows` rows: it copies the patch of the image that their windows cover, `channels` at a time,
 * to shared memory as it is. All taps read it there, so an element is copied once for all of them, and no copy of the
 * image by channels is needed. See patch.h. */
#include "sched/contract/patch.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, LANE_ROWS = 8, LANE_COLUMNS = 8, BANKS = 32, FOUR = 4 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct patch f;
	if (patch_match(&f, p, s, true) && f.c.side[0].type == TYPE_F32)
		return FOUND(p, f);
	*why = "the stage is not a sum of products of f32 over windows and channels of an image";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct patch *)site->found)->c.stages;
}

/* ---- Choices. */

/* Rows of a lane: a warp has four lanes with other rows. */
static int lane_rows(int rows)
{
	return rows < 4 * LANE_ROWS ? rows / 4 : LANE_ROWS;
}

/* Elements of one class of columns that a lane reads at once. */
static int lane_width(const struct patch *f)
{
	int beyond = ((int)f->taps[PATCH_ACROSS] - 1) * f->apart[PATCH_ACROSS] / f->step[PATCH_ACROSS];
	return (4 + beyond + 3) / FOUR * FOUR;
}

/* Words from one line of the patch to the next: eight lanes that read vectors of several lines do so from different
 * banks, if the lines' step allows it. */
static int pitch_of(const struct patch *f, const struct patch_shape *s)
{
	int classes = f->step[PATCH_ACROSS], words = ((s->columns + classes - 1) / classes + 3) / FOUR * FOUR * classes;
	int together = s->across < BANKS ? s->across : BANKS; /* words that neighbouring lanes read of a line */
	for (int pitch = words; pitch < words + BANKS; pitch += FOUR)
		if (pitch * f->step[PATCH_DOWN] % (2 * together) == together || together == BANKS)
			return pitch;
	return words;
}

static struct patch_shape shape_of(const struct patch *f, const struct sched_choice *c)
{
	struct patch_shape s = {
		.down = c->param[0], .across = c->param[1], .channels = c->param[2], .rows = c->param[3]
	};
	s.threads = WARP * (s.rows / (4 * lane_rows(s.rows))) * (s.down * s.across / (8 * LANE_COLUMNS));
	patch_find_size(&s, f);
	s.bytes = 2 * 4 * s.channels * (s.lines * pitch_of(f, &s) + patch_taps(f) * (s.rows + 4));
	return s;
}

static double registers_of(const struct patch *f, const struct sched_choice *c)
{
	int own = lane_rows(c->param[3]);
	return 50 + own * LANE_COLUMNS + own + 2 * f->step[PATCH_ACROSS] * lane_width(f);
}

/* As many channels as fit, at most eight; a thread has at most so many copies under way. */
static bool find_channels(const struct patch *f, struct sched_choice *c, int64_t channels)
{
	enum { COPIES = 96 };
	for (c->param[2] = 8; c->param[2] >= 1; c->param[2] /= 2) {
		struct patch_shape s = shape_of(f, c);
		int copies = s.bytes / (2 * 4) / s.threads;
		bool few = c->param[2] == 1 || c->param[2] < 2 * channels;
		if (few && s.bytes <= TARGET_SHARED_EVERYWHERE && copies <= COPIES)
			return true;
	}
	return false;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int place[][2] = { { 4, 32 }, { 8, 32 }, { 2, 32 }, { 8, 16 },  { 4, 16 }, { 16, 16 },
		                        { 8, 8 },  { 16, 8 }, { 1, 64 }, { 1, 128 }, { 1, 256 } };
	static const int tile[] = { 64, 32, 128, 16 };
	enum { PLACES = sizeof place / sizeof *place, TILES = sizeof tile / sizeof *tile, SMALLEST = 6 };
	const struct patch *f = site->found;
	const struct sched_target *t = site->t;
	int64_t rows = about(f->c.extent[CONTRACT_ROW], t), across = patch_extent(f, PATCH_ACROSS, t),
	        down = patch_extent(f, PATCH_DOWN, t);
	int n = 0;
	for (int i = 0; i < PLACES * TILES; i++) {
		const int *size = place[i / TILES], most = tile[i % TILES];
		struct sched_choice now = { &sched_patch_plain, { size[0], size[1], 0, most } };
		bool flat = size[0] == 1, wasteful = size[0] >= 2 * down || size[1] >= 2 * across;
		if (flat ? down > 1 || (wasteful && size[1] > 64) : wasteful && i / TILES != SMALLEST)
			continue;
		if (most >= 2 * rows && most > 16)
			continue;
		if (!find_channels(f, &now, patch_channels(f, t)))
			continue;
		int threads = shape_of(f, &now).threads;
		if (threads <= 512 && registers_of(f, &now) <= target_thread_registers(t, threads))
			out[n++] = now;
	}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct patch *f = site->found;
	const struct patch_shape s = shape_of(f, c);
	const struct patch_function product = {
		&device_patch_plain, &device_patch_product_plain,
		IR_OF(IR_NUMBER(s.channels), IR_NUMBER(s.rows), IR_NUMBER(patch_taps(f)), IR_NUMBER(s.lines),
		      IR_NUMBER(s.columns), IR_NUMBER(f->step[PATCH_ACROSS]), IR_NUMBER(pitch_of(f, &s))),
		IR_OF(IR_NUMBER(s.down), IR_NUMBER(s.across), IR_NUMBER((int)f->taps[PATCH_ACROSS]),
		      IR_NUMBER(f->step[PATCH_DOWN]), IR_NUMBER(f->apart[PATCH_DOWN]),
		      IR_NUMBER(f->apart[PATCH_ACROSS]))
	};
	patch_kernels(plan, step_new(plan), f, c, &s, &product);
}

/* ---- Time: the instructions of a multiprocessor's blocks. */

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	/* Clocks of a block's start and end; instructions to copy an element of the image, or a weight; of a result;
	 * waits for the next channels, in instructions. Within 20 % of what three convolutions took on an H200. */
	enum { START = 3000, OF_PLACE = 16, OF_WEIGHT = 10, OF_RESULT = 20, OF_TURN = 700 };
	const struct sched_target *t = site->t;
	const struct patch *f = site->found;
	const struct contract *c = &f->c;
	const struct patch_shape s = shape_of(f, choice);
	double taps = patch_taps(f), channels = (double)patch_channels(f, t), own = lane_rows(s.rows);
	double turns = ceil(channels / s.channels), blocks = (double)about(patch_blocks(f, &s), t);
	double warps = s.threads / 32.0;
	double reads =
	        taps * own / FOUR + (double)f->taps[PATCH_DOWN] * 2 * f->step[PATCH_ACROSS] * lane_width(f) / FOUR;
	double multiply = taps * own * LANE_COLUMNS * 32 * t->schedulers / t->fma[TYPE_F32];
	double copies = s.lines * s.columns * OF_PLACE + taps * s.rows * OF_WEIGHT;
	double lane = turns * s.channels * (multiply + reads + 8 + copies / s.threads) + turns * OF_TURN +
	              own * LANE_COLUMNS * OF_RESULT;
	double share = ceil(blocks / t->processors);
	double here = target_resident(t, s.threads, registers_of(f, choice), s.bytes);
	here = fmax(1, fmin(here, share));
	double gaps = 1 + 2 / (here * warps);
	double time = (share * lane * warps / t->schedulers * gaps + START) / (t->clock_ghz * cost_table(t)->mma_clock);

	double results = 0, image = (double)about(ir_buffer_count(c->p, contract_load_of(&c->side[1])->buf), t) * 4;
	double elements = (double)about(c->extent[CONTRACT_BATCH], t) * (double)about(c->extent[CONTRACT_ROW], t) *
	                  (double)about(c->extent[CONTRACT_COLUMN], t);
	for (int i = 0; i < c->stages; i++)
		results += elements * type_info(c->made[i]->out->type)->bits / 8.0;
	double tiles = blocks * turns * s.channels * (s.lines * s.columns + taps * s.rows) * 4.0;
	double memory = (image + results) / t->bytes_per_ns, cache = (tiles + results) / cost_tiles_rate(t);
	return t->launch_ns + fmax(fmax(time, memory), cache);
}

const struct sched_rule sched_patch_plain = {
	.name = "patch_plain",
	.version = 1,
	.about =
	        "A block computes {down} x {across} elements of the image in {rows} output channels. It copies the "
	        "part of "
	        "the input that their windows cover to shared memory, {channels} channels at a time. A lane computes 8 "
	        "elements of several output channels.",
	.param = { { "down", 1, 16 }, { "across", 8, 256 }, { "channels", 1, 8 }, { "rows", 16, 128 } },
	.heavy = true,
	.none = "a patch does not fit into shared memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
