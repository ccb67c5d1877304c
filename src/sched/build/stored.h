/* Inside src/sched/: decides which results are stored, and with which cache policy. */
#ifndef TPAT_SCHED_STORED_H
#define TPAT_SCHED_STORED_H

#include "sched/rule.h"

/* True if a map should use streaming stores (evict first): its result exceeds the L2 cache and is most of the traffic.
 * Measured on an H100: upscaled images and conversions of bytes to floats take 1 to 4 % less time; with as many bytes
 * read as written there is no difference. */
bool stored_past_caches(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t);
/* True if a kernel that computes all `n` stages must store the result of made[which], because it has other readers. */
bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which);

#endif
