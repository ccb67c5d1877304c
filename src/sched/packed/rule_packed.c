/* Rule packed: products of packed weights and 16-bit floats. A warp copies rows of weights to shared memory as they
 * are, converts them in registers, exactly, and multiplies them on tensor cores, where they are the left operand: a
 * weight is read once for all columns of a block. The warps of a block share the depth. See rt/device/tpat_packed.h. */
#include "sched/packed/packed.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, ROWS = 16, COLUMNS = 8 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct packed m;
	if (packed_match(&m, p, s))
		return FOUND(p, m);
	*why = "the stage is not a sum of products of 16-bit floats and weights of 4 or 8 bits in rows of whole 16 "
	       "bytes";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct packed *)site->found)->stages;
}

/* As compiled for sm_90: 50 others, the sums, twice the columns' elements of a piece, and scales. */
static int registers_of(const struct packed *m, const struct packed_shape *s)
{
	bool parts = m->block && !m->rounded;
	bool elements = m->zero->type == TYPE_F32 && !m->rounded;
	int sums = 4 * s->tiles * s->columns * (parts ? 2 : 1) + (elements ? 4 * s->columns : 0),
	    ahead = s->columns <= 2 ? 32 / m->bits * 4 * s->columns : 16;
	return 50 + sums + ahead + 8 * s->tiles;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shapes[][5] = { { 2, 8, 2, 2, 1 }, { 2, 4, 4, 1, 1 }, { 1, 8, 2, 2, 2 },
		                         { 2, 8, 3, 1, 2 }, { 4, 4, 3, 1, 1 }, { 1, 4, 4, 1, 1 } };
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	const struct packed *m = site->found;
	const struct sched_target *t = site->t;
	int64_t columns = about(m->columns, t);
	int n = 0;
	if (!t->mma[m->type])
		return 0;
	/* Groups that do not hold all columns, up to 32, read the weights again. */
	int least = 1;
	while (least < 4 && COLUMNS * least < columns)
		least *= 2;
	for (int i = 0; i < SHAPES; i++)
		for (int wide = least; wide <= 8; wide *= 2) {
			struct sched_choice c = { &sched_packed,
				                  { shapes[i][0], wide, shapes[i][1], shapes[i][2], shapes[i][3],
				                    shapes[i][4] } };
			struct packed_shape s = packed_shape(&c);
			/* Four tiles pay with many columns: measured. */
			bool wasteful = (wide > least && COLUMNS * wide >= 2 * columns) || (s.tiles == 4 && wide < 4);
			bool stored = ROWS * COLUMNS * s.tiles * s.columns * s.warps * 4 <= packed_shared_bytes(&s);
			if (!wasteful && stored && s.tiles * s.columns <= 16 &&
			    packed_shared_bytes(&s) <= t->block_shared_most &&
			    registers_of(m, &s) <= target_thread_registers(t, WARP * s.warps))
				out[n++] = c;
		}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	packed_kernels(plan, step_new(plan), site->found, c, site->t->arch);
}

/* ---- Time: weights from memory, columns from the L2 cache for each tile of rows, conversion and products. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	/* Clocks: start and end of a block; the latency of a copy beyond its work, and of columns that are not loaded
	 * ahead; bytes that L1 delivers. Fitted to 12 products of 1 to 64 columns with 4096 to 14336 rows on an H200.
	 */
	enum { START = 3500, WAY = 500, LATE = 1200, FEED = 128 };
	const double apart = 0.3; /* of the shorter of two times does not overlap with the other */
	const struct packed *m = site->found;
	const struct sched_target *t = site->t;
	const struct packed_shape s = packed_shape(c);
	const double clock = t->clock_ghz * cost_table(t)->mma_clock;
	double columns = (double)about(m->columns, t), rows = (double)m->rows, depth = (double)m->depth;
	double row_blocks = ceil(rows / (ROWS * s.tiles * s.down)),
	       column_blocks = ceil(columns / (COLUMNS * s.columns));
	double blocks = row_blocks * column_blocks, piece = 512.0 / m->bits;

	/* A piece of a warp: instructions to convert a word, and products of 16 x 8 x 16. */
	double words = 8.0 * s.tiles, spans = m->block && m->block < piece ? piece / m->block : 1;
	double parts = m->block && !m->rounded ? 4.0 * s.tiles * s.columns * spans : 0;
	double issue = words * (m->bits == 4 ? 12 : 9) + 40.0 * s.columns + parts + 8.0 * s.tiles * spans + 60;
	int more = m->zero->type == TYPE_F32 && !m->rounded ? 1 : 0; /* products with ones: sums of the elements */
	double multiply = ROWS * (s.tiles + more) * COLUMNS * s.columns * piece / t->mma[m->type];
	double pieces = ceil(depth * m->bits / 512 / s.pieces) * s.pieces, turns = ceil(pieces * s.down / s.warps);
	double here = target_resident(t, WARP * s.warps, registers_of(m, &s), packed_shared_bytes(&s));
	here = fmax(1, fmin(here, ceil(blocks / t->processors)));
	double waves = ceil(blocks / (t->processors * here));
	double feed = fmin(COLUMNS * s.columns, columns) * piece * 2 / FEED;
	bool late = s.columns > 2;
	double busy = fmax(issue / t->schedulers + feed, multiply) * s.warps * here;
	double turn = fmax(busy, issue + (double)WAY / s.pieces + (late ? LATE : 0));
	double time = (waves * turns * turn + START) / clock;

	double bytes = rows * depth * m->bits / 8, scales = m->block ? rows * depth / m->block * 2 : rows * 2;
	double memory = (bytes + scales) / (0.85 * t->bytes_per_ns);
	double cache = (bytes * (column_blocks - 1) + row_blocks * columns * depth * 2) / cost_tiles_rate(t);
	double traffic = fmax(memory, cache);
	return t->launch_ns + fmax(traffic, time) + apart * fmin(traffic, time) + (double)START / clock / 2;
}

const struct sched_rule sched_packed = {
	.name = "packed",
	.version = 1,
	.about = "A warp copies rows of packed weights to shared memory, converts them in registers, and "
	         "multiplies them on tensor cores. The {warps} warps of a block share the depth.",
	.param = { { "tiles", 1, 4 },
	           { "columns", 1, 8 },
	           { "warps", 4, 8 },
	           { "stages", 2, 4 },
	           { "pieces", 1, 2 },
	           { "down", 1, 2 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for the columns' type",
	.match = match,
	.span = span,
	.candidates = candidates,
	.estimate = estimate,
	.apply = apply,
};
