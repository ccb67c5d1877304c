/* Plans for tests: the cost model's own, with one schedule rule wherever it applies, or for another GPU. */
#ifndef TPAT_TESTS_FORCED_RULE_H
#define TPAT_TESTS_FORCED_RULE_H

#include "sched/sched.h"

/* Sets the rule; "any": each stage takes a choice of some rule, varying between programs. False if there is none of
 * that name. */
bool forced_rule_set(const char *name);

/* Makes later plans for this GPU of the table, with its shared memory in the emulator; false if there is none of that
 * name. */
bool forced_gpu_set(const char *name);
int forced_arch(void); /* architecture of that GPU; 0: none set */

/* With a rule: stages it applies to take one of its choices (varying between programs), all others the best of all
 * rules; ERR_UNSUPPORTED if it applies to no stage. With a GPU: schedules for it; ERR_UNSUPPORTED if that gives the
 * default GPU's kernels. */
int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e);
/* True if the last plan was refused for that reason. */
bool forced_nowhere(void);
bool forced_any(void); /* true if a rule is set */

#endif
