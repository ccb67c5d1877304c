/* Rule across: a row program with strided rows in one kernel. A lane has `width` neighbouring rows, the 32 lanes of a
 * warp have adjacent rows, so that accesses are coalesced, and `parts` warps share the elements of the rows. `steps`
 * elements of each row stay in a thread's registers from the first stage to the last, so memory is read once. Rows of
 * open length that are longer than that are read again by each stage, mostly from the caches. */
#include "sched/row/across.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

enum { MAX_PARTS = 32, WIDEST = 16 /* bytes */, MAX_WIDTH = 8, MAX_STEPS = 32, INDEX_BYTES = 4 };
enum { AT_ONCE = 4 /* loads in flight of a loop */ };
enum { MAX_REGISTERS = 96 /* for elements, in addition to the GPU's limit, since all loads are unrolled */ };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct across r;
	if (across_match(&r, p, s))
		return FOUND(p, r);
	*why = "the stage does not begin several reductions, or reductions and maps, of rows that lie next to each "
	       "other in memory";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct across *)site->found)->stages;
}

/* ---- Choices. */

static int widest_type(const struct across *r)
{
	int bits = 8;
	for (int i = 0; i < r->cached; i++)
		bits = type_info(r->cache[i]->type)->bits > bits ? type_info(r->cache[i]->type)->bits : bits;
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ACROSS_MAP && type_info(r->stage[i].s->out->type)->bits > bits)
			bits = type_info(r->stage[i].s->out->type)->bits;
	return bits / 8;
}

/* 32-bit registers for the elements of a thread. */
static double registers_of(const struct across *r, int elements)
{
	double bits = 0;
	for (int i = 0; i < r->cached; i++)
		bits += type_info(r->cache[i]->type)->bits;
	return bits / 32 * elements;
}

/* Bytes of shared memory in which the warps exchange partial results. */
static int shared_bytes(const struct across *r, int parts, int width)
{
	int bytes = 0;
	for (int i = 0; i < r->stages && parts > 1; i++)
		if (r->stage[i].kind == ACROSS_REDUCE)
			bytes += ACROSS_LANES * parts * width *
			         (type_info(r->stage[i].s->value->type)->bits / 8 +
			          (ir_combine_is_arg(r->stage[i].s->combine) ? INDEX_BYTES : 0));
	return bytes;
}

/* True if warps can exchange what they have of `width` rows each: the places of best values one by one. */
static bool can_exchange(const struct across *r, int parts, int width)
{
	bool any = false;
	for (int i = 0; i < r->stages; i++)
		any |= r->stage[i].kind == ACROSS_REDUCE && ir_combine_is_arg(r->stage[i].s->combine);
	return !any || parts == 1 || width == 1;
}

/* The steps of rows of about this length: those that it needs, or for an open length some more. */
static int steps_of(int64_t length, int parts, bool open)
{
	int64_t need = (length + parts - 1) / parts, steps = 1;
	while (open && steps < need && steps <= MAX_STEPS)
		steps += steps < 4 ? 1 : steps < 8 ? 2 : 4;
	return (int)(open ? steps : need < MAX_STEPS ? need : MAX_STEPS + 1);
}

/* Bools over symbols: vectors of `width` rows begin at multiples of it; a thread holds its elements of a row. */
static expr whole_vectors(const struct across *r, int width)
{
	return whole_multiple(r->p, r->dim[r->rank - 1], width);
}

static expr holds_rows(const struct across *r, int parts, int steps)
{
	return ir_binary(IR_LE, r->length, ir_index(r->p->pool, (int64_t)parts * steps));
}

/* The kernels of a choice: as chosen, for any number of columns, for rows of any length. Returns their number. */
static int shapes_of(const struct across *r, const struct sched_choice *c, struct across_shape out[3])
{
	const struct across_shape own = { .parts = c->param[0], .width = c->param[1], .steps = c->param[2] };
	expr whole = whole_vectors(r, own.width), held = holds_rows(r, own.parts, own.steps);
	int n = 0;
	out[n] = own;
	out[n++].fits = guard_both(whole, held);
	if (!ir_is_int(whole, 1)) {
		out[n] = own;
		out[n].width = 1;
		out[n++].fits = held;
	}
	if (!ir_is_int(held, 1))
		out[n++] = (struct across_shape){ .parts = own.parts,
			                          .width = 1,
			                          .fits = ir_int(r->p->pool, TYPE_BOOL, 1) };
	return n;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	int64_t length;
	struct across r = *(const struct across *)site->found;
	bool open = !ir_const_int(r.length, &length);
	if (open)
		length = about(r.length, site->t);
	for (int width = WIDEST / widest_type(&r) < MAX_WIDTH ? WIDEST / widest_type(&r) : MAX_WIDTH; width >= 1;
	     width /= 2) {
		if (width > 1 && (ir_is_int(whole_vectors(&r, width), 0) || !across_fits(&r, width)))
			continue;
		for (int parts = 1; parts <= MAX_PARTS && (parts <= length || parts == 1); parts *= 2) {
			int steps = steps_of(length, parts, open);
			if (can_exchange(&r, parts, width) && steps <= MAX_STEPS &&
			    registers_of(&r, steps * width) <= MAX_REGISTERS &&
			    registers_of(&r, steps * width) <= target_thread_registers(site->t, ACROSS_LANES * parts) &&
			    shared_bytes(&r, parts, width) <= TARGET_DECLARED_DATA)
				out[n++] = (struct sched_choice){ &sched_across, { parts, width, steps } };
		}
	}
	return n;
}

/* ---- The kernels. */

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_step *step = step_new(plan);
	struct across_shape shape[3];
	int n = shapes_of(site->found, c, shape);
	for (int i = 0; i < n && !step_fits_all(step); i++)
		across_kernel(plan, step, site->found, c, &shape[i]);
}

/* Nanoseconds that a thread waits for elements that it reads again, some at once. */
static double waits_of_turns(const struct sched_target *t, double turns)
{
	enum { L2_NS = 250 };
	return cost_wait(t, ceil(turns / AT_ONCE) * L2_NS);
}

/* ---- Time: each byte once, at the bandwidth of the loads in flight, plus the exchanges between warps. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	struct across r = *(const struct across *)site->found;
	struct across_shape shape[3];
	int n = shapes_of(&r, c, shape), runs = 0;
	while (runs < n - 1 && !about_holds(shape[runs].fits, t))
		runs++;
	int parts = shape[runs].parts, width = shape[runs].width, held = shape[runs].steps,
	    threads = ACROSS_LANES * parts;
	double count = (double)about(r.count, t), length = (double)about(r.length, t), elements = count * length,
	       each = 0, written = 0, work = 0;
	double turns = ceil(length / parts), steps = held ? fmin(held, turns) : fmin(turns, AT_ONCE);
	for (int i = 0; i < r.cached; i++)
		each += type_info(r.cache[i]->type)->bits / 8.0;
	for (int i = 0; i < r.stages; i++) {
		const struct across_stage *st = &r.stage[i];
		bool whole = st->kind == ACROSS_MAP;
		written += whole ? type_info(st->s->out->type)->bits / 8.0 : 0;
		work += (st->kind == ACROSS_VALUE || st->kind == ACROSS_JOINED ? count : elements) * ir_cost(st->value);
	}
	double registers = 8 * ceil((22 + registers_of(&r, (held ? held : 1) * width) + width) / 8); /* as compiled for
	                                                                                                sm_90 */
	double here = fmax(target_resident(t, threads, registers, 0), 1);
	double blocks = count / (ACROSS_LANES * width),
	       resident = blocks / t->processors < here ? blocks / t->processors : here;
	double fill = resident * threads * steps * width * each / cost_in_flight(t);
	fill = fill > 1 ? 1 : fill < 0.01 ? 0.01 : fill;
	double waves = blocks / (resident * t->processors), whole = waves < 1 ? 1 : waves;
	double tail = whole < 8 ? (double)(int)(whole + 0.999) / whole : 1;
	/* Measured on an H100: accesses of fewer than 8 bytes, and too few threads for the memory bandwidth, take
	 * longer. */
	double lane = width * each / r.cached, busy = resident * threads * t->processors / cost_full_threads(t);
	double slow = (lane < 4 ? 1.25 : lane < 8 ? 1.15 : 1) * (1 + 0.15 * (busy < 1 ? 1 - busy : 0));
	double again = held ? 0
	                    : (r.reductions + r.maps - 1) *
	                               cost_missed(t, resident * t->processors * ACROSS_LANES * width * length * each);
	double bytes = elements * (each * (1 + again) + written) / t->bytes_per_ns * slow, time = bytes / fill * tail;
	/* All loads of a wave are in flight at once: a last wave of few blocks takes at most the latency plus its
	 * bytes. */
	double waits = whole < 8 ? cost_table(t)->apart_way * ceil(whole) : 0;
	if (waits > 0)
		time = (time < bytes + waits ? time : bytes + waits) + 0.15 * waits;
	double compute = work / cost_mixed_rate(t);
	double levels = 2;
	for (int n = 1; n < parts; n *= 2)
		levels++;
	/* For `width` values, of one block; other blocks hide it in part. */
	double exchange = parts > 1 ? cost_wait(t, 30 * levels * r.reductions * (1 + width / 8.0)) : 0;
	double stall = exchange * (waves < 1 ? 1 : waves) / (resident > 2 ? 2 : 1);
	time = (compute > time ? compute : time) * (here < 2 ? 1.05 : 1);
	if (!held) /* the stages load one after the other, from the L2 cache */
		time += waits_of_turns(t, turns) * (r.reductions + r.maps) * fmax(waves, 1);
	/* A single resident block loads nothing while its warps wait for each other. */
	return t->launch_ns + time + (stall > time || here < 2 ? stall : stall * 0.5) + exchange;
}

const struct sched_rule sched_across = {
	.name = "across",
	.version = 2,
	.about = "A thread has {width row}{width> next to each other}, and neighbouring threads have the "
	         "next rows, so that accesses are coalesced.{parts> {parts warp} share the elements of a row.} "
	         "A thread keeps {steps element} of each row in registers.",
	.param = { { "parts", 1, 32 }, { "width", 1, 8 }, { "steps", 1, 32 } },
	.none = "the rows are too long for a block's registers",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
