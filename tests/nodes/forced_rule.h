/* Plans for tests: the cost model's own, with one schedule rule wherever it applies, or as for another GPU. */
#ifndef TPAT_TESTS_FORCED_RULE_H
#define TPAT_TESTS_FORCED_RULE_H

#include "sched/sched.h"

/* The rule, or null; false: there is none of that name. */
bool forced_rule_set(const char *name);

/* Plans from now on are for this GPU of the table, whose shared memory the emulator has then; false: none of that
 * name. */
bool forced_gpu_set(const char *name);
int forced_arch(void); /* its architecture; 0: none was set */

/* With a rule: stages that it applies to take one of its choices (not always the same one of different programs), all
 * others the best of all rules. ERR_UNSUPPORTED when it applies to no stage. With a GPU: as scheduled for it;
 * ERR_UNSUPPORTED when that gives the same kernels as for the default one. */
int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e);
/* Whether the last plan was refused for that. */
bool forced_nowhere(void);
bool forced_any(void); /* whether there is a rule */

#endif
