/* Inside src/sched/: numbers of points and bytes, exact or estimated. */
#ifndef TPAT_SCHED_EXTENTS_H
#define TPAT_SCHED_EXTENTS_H

#include "sched/rule.h"
#include "sched/target/cost.h"

/* Number of elements of out; number of points of the stage's space: its out axes and, for reductions, the reduced ones;
 * for scatters, the updates; for compactions, the candidates. */
expr out_count(const struct ir_program *p, const struct ir_stage *s);
expr space_count(const struct ir_program *p, const struct ir_stage *s);
/* The product of out's extents of axes from ... to - 1. */
expr out_extents(const struct ir_program *p, const struct ir_stage *s, int from, int to);
/* The last axis longer than 1; the first one if there is none, -1 without axes. Neighbours along it are contiguous. */
int last_long_axis(expr const *extent, int rank);
expr rows_along(const struct ir_program *p, const struct ir_stage *s); /* number of out's rows along s->axis */
/* The value of e with the target's extents of symbols. */
int64_t about(expr e, const struct sched_target *t);
bool about_holds(expr condition, const struct sched_target *t); /* the same for a bool */
/* Estimated total size in bytes of the buffers that e reads. */
double about_bytes_read(struct ir_program *p, expr e, const struct sched_target *t);
/* Estimated bytes moved by a load that runs `points` times, with neighbouring threads along `axis` (-1: none). */
double about_bytes_loaded(struct ir_program *p, expr load, int axis, double points, const struct sched_target *t);
/* Returns the target with an expected value for sizes found at run time: half of their upper bound. */
struct sched_target with_sizes(struct ir_program *p, const struct sched_target *t);

/* True if the extent is constant and divisible by n. */
static inline bool divides(expr extent, int n)
{
	int64_t x;
	return ir_const_int(extent, &x) && x % n == 0;
}

/* True if the stage's output extent on this axis is divisible by n. Axis -1 (none) has extent 1. */
static inline bool axis_divides(const struct ir_stage *s, int axis, int n)
{
	return n == 1 || (axis >= 0 && divides(s->out->dim[axis], n));
}

#endif
