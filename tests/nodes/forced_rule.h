/* Plans for tests: the cost model's own, with one schedule rule wherever it applies, or as for another GPU. */
#ifndef TPAT_TESTS_FORCED_RULE_H
#define TPAT_TESTS_FORCED_RULE_H

#include "sched/sched.h"

/* Sets the rule, or null; returns false if there is none of that name. */
bool forced_rule_set(const char *name);

/* Makes later plans for this GPU of the table, and gives the emulator its shared memory; false if there is none of that
 * name. */
bool forced_gpu_set(const char *name);
int forced_arch(void); /* architecture of that GPU; 0: none set */

/* With a rule: stages that it applies to use one of its choices (varies between programs), others the best of all
 * rules. ERR_UNSUPPORTED if it applies to no stage. With a GPU: schedules for it; ERR_UNSUPPORTED if the kernels are
 * the same as for the default GPU. */
int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e);
/* True if the last plan was refused for that reason. */
bool forced_nowhere(void);
bool forced_any(void); /* true if a rule is set */

#endif
