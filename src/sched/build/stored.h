/* Inside src/sched/: which results are stored, and how. */
#ifndef TPAT_SCHED_STORED_H
#define TPAT_SCHED_STORED_H

#include "sched/rule.h"

/* Whether a map's result goes past the caches: it is more than they hold, and most of what moves. Measured on an H100:
 * images that are made of smaller ones, or floats of bytes, in 1 to 4 % less time; where as much is read, it makes no
 * difference. */
bool stored_past_caches(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t);
/* Whether the result of made[which] must be stored by the kernel that makes all `n` stages: somebody else reads it. */
bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which);

#endif
