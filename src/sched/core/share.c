/* Horizontal fusion: several kernels share a launch. A launch costs the host some microseconds and the GPU about one,
 * which is more than a small kernel takes. So neighbouring independent steps that would leave the GPU partly idle are
 * merged: each kernel keeps its blocks, and the block number selects the kernel. Dependent steps of one block each run
 * in sequence in that block.
 *
 * Only plain kernels take part, because a launch has the threads, registers and shared memory of its largest part. */
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/launches.h"

enum {
	MOST_WAVES = 4, /* of all blocks: longer kernels hide their launch, and need their own register count */
	MOST_PARTS = 8,
};

/* One kernel for all extents, or one and its copy with 64-bit positions. */
static bool is_plain(const struct ir_step *s)
{
	if (s->n < 1 || s->n > 2 || !step_fits_all(s) || !part_needs(s->at[0]).plain)
		return false;
	const struct ir_kernel *k = s->at[0];
	return s->n == 1 || (k->parts.n ? k->parts.n == s->at[1]->parts.n : k->about == s->at[1]->about);
}

/* ---- Feasibility and gain. */

static bool may_share(const struct ir_step *a, const struct ir_step *b)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	return is_plain(a) && is_plain(b) && x->threads == y->threads && parts_of(x) + parts_of(y) <= MOST_PARTS &&
	       part_needs(x).shared + part_needs(y).shared <= TARGET_DECLARED_DATA &&
	       ir_kernel_args(x) + ir_kernel_args(y) <= PARTS_ARGUMENTS;
}

/* True if kernel `small` needs no more registers and shared memory than k, whose occupancy it leaves as it is. */
static bool needs_no_more(const struct ir_kernel *small, const struct ir_kernel *k)
{
	const struct part_needs x = part_needs(small), y = part_needs(k);
	return x.registers <= y.registers && x.shared <= y.shared;
}

static bool side_by_side(const struct ir_step *a, const struct ir_step *b, const struct sched_target *t)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	double wave = (double)t->processors * t->threads / x->threads;
	double first = (double)about(x->blocks, t), second = (double)about(y->blocks, t);
	if (!may_share(a, b) || x->in_turn || y->in_turn)
		return false;
	if (first + second <= MOST_WAVES * wave)
		return first < wave || second < wave;
	return first < wave ? needs_no_more(x, y) : second < wave && needs_no_more(y, x);
}

static bool in_turn(const struct ir_step *a, const struct ir_step *b)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	return may_share(a, b) && (x->in_turn || !x->parts.n) && !y->parts.n && ir_is_int(x->blocks, 1) &&
	       ir_is_int(y->blocks, 1);
}

static struct ir_kernel *share(struct ir_plan *all, const struct ir_kernel *a, const struct ir_kernel *b, bool turn,
                               const struct sched_target *t)
{
	struct ir_kernel *k = parts_join(all->program, a, b);
	k->in_turn = turn;
	k->blocks = turn ? a->blocks : ir_binary(IR_ADD, a->blocks, b->blocks);
	k->early = may_start_early(k, t);
	return parts_kernel(all, k, turn ? "in turn" : "side by side");
}

static struct ir_step *share_step(struct ir_plan *all, const struct ir_step *a, const struct ir_step *b, bool turn,
                                  const struct sched_target *t)
{
	struct ir_step *s = NEW(all->program->arena, struct ir_step);
	for (int i = 0; i < a->n || i < b->n; i++)
		step_add(all->program, s,
		         share(all, a->at[i < a->n ? i : a->n - 1], b->at[i < b->n ? i : b->n - 1], turn, t));
	vec_push(all->program->arena, &all->steps, s);
	return s;
}

/* True if s has fewer blocks: these are likely to be longer, and would end last. */
static bool starts_first(const struct ir_step *s, const struct ir_step *other, const struct sched_target *t)
{
	const struct ir_kernel *k = other->at[0];
	return about(s->at[0]->blocks, t) < about((k->parts.n ? k->parts.at[0] : k)->blocks, t);
}

/* Index of the step of `out` that s may share a launch with, if no later step keeps s from moving there; -1: none. Of
 * several, the one that leaves most of the GPU idle. */
static int partner(const struct ir_plan *out, const struct ir_step *s, const struct sched_target *t, bool *turn)
{
	int best = -1;
	int64_t fewest = 0;
	*turn = false;
	for (int i = out->steps.n - 1; i >= 0; i--) {
		if (steps_depend(out->steps.at[i], s)) {
			*turn = best < 0 && in_turn(out->steps.at[i], s);
			return *turn ? i : best;
		}
		int64_t blocks = out->steps.at[i]->n ? about(out->steps.at[i]->at[0]->blocks, t) : 0;
		if (!side_by_side(out->steps.at[i], s, t) || (best >= 0 && blocks >= fewest))
			continue;
		best = i;
		fewest = blocks;
	}
	return best;
}

void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t)
{
	struct ir_plan out = { .program = plan->program };
	int n = plan->steps.n;
	for (int i = 0; i < n; i++) {
		struct ir_step *s = plan->steps.at[i];
		bool turn;
		int with = partner(&out, s, t, &turn);
		struct ir_step *other = with >= 0 ? out.steps.at[with] : NULL;
		if (other)
			out.steps.at[with] = !turn && starts_first(s, other, t) ? share_step(all, s, other, turn, t)
			                                                        : share_step(all, other, s, turn, t);
		else
			vec_push(plan->program->arena, &out.steps, s);
	}
	plan->steps.at = out.steps.at;
	plan->steps.n = out.steps.n;
	plan->steps.cap = out.steps.cap;
	repeat_small(plan, all, t);
}
