/* Inside src/sched/: shared by the compaction rules: the points that a compaction chooses from, as a kernel sees
 * them. */
#ifndef TPAT_SCHED_COMPACT_H
#define TPAT_SCHED_COMPACT_H

#include "sched/rule.h"

struct compact_points {
	struct ir_program *p;
	const struct ir_stage *s;
	expr count;
	expr same; /* a point's position in the space, over its axes */
};

/* `match` of struct sched_rule, for all compaction rules. */
const void *compact_match(struct ir_program *p, const struct ir_stage *s, const char **why);
struct compact_points compact_points_of(struct ir_program *p, const struct ir_stage *s);
/* `e` at the point. Declares the axes that it needs. */
expr compact_at_point(const struct compact_points *x, struct ir_block *b, expr e, expr point);

#endif
