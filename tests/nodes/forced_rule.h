/* Plans for tests: the cost model's own, or with one schedule rule wherever it applies. */
#ifndef TPAT_TESTS_FORCED_RULE_H
#define TPAT_TESTS_FORCED_RULE_H

#include "sched/sched.h"

/* The rule, or null; false: there is none of that name. */
bool forced_rule_set(const char *name);

/* With a rule: stages that it applies to take one of its choices (not always the same one of different programs), all others
 * the best of all rules. ERR_UNSUPPORTED when it applies to no stage. */
int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e);
/* Whether the last plan was refused for that. */
bool forced_nowhere(void);
bool forced_any(void); /* whether there is a rule */

#endif
