/* Inside src/sched/: how many points and bytes there are, exactly or about. */
#ifndef TPAT_SCHED_EXTENTS_H
#define TPAT_SCHED_EXTENTS_H

#include "sched/rule.h"
#include "sched/target/cost.h"

/* The number of points of a stage's space: its out axes and, for reductions, the reduced ones; for scatters, updates;
 * for compactions, what they choose from. */
expr out_count(const struct ir_program *p, const struct ir_stage *s);
expr space_count(const struct ir_program *p, const struct ir_stage *s);
/* The product of out's extents from axis `from` to before `to`. */
expr out_extents(const struct ir_program *p, const struct ir_stage *s, int from, int to);
expr rows_along(const struct ir_program *p, const struct ir_stage *s); /* of out, along s->axis: of a scan or a sort */
/* About how many, for the target's extents of symbols. */
int64_t about(expr e, const struct sched_target *t);
/* About how many bytes the buffers have that e reads. */
double about_bytes_read(struct ir_program *p, expr e, const struct sched_target *t);
/* About how many bytes move for a load that is made `points` times, by neighbouring threads along `axis` (-1: along
 * none). */
double about_bytes_loaded(struct ir_program *p, expr load, int axis, double points, const struct sched_target *t);
/* The target that also knows what to expect of sizes that are found at run time: half of what there can be. */
struct sched_target with_sizes(struct ir_program *p, const struct sched_target *t);

/* Whether an extent is a number that n divides. */
static inline bool divides(expr extent, int n)
{
	int64_t x;
	return ir_const_int(extent, &x) && x % n == 0;
}

/* Whether an axis of what the stage makes can be had n elements at a time; -1, which is no axis: only one. */
static inline bool axis_divides(const struct ir_stage *s, int axis, int n)
{
	return n == 1 || (axis >= 0 && divides(s->out->dim[axis], n));
}

#endif
