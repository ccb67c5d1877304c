/* The table of rules. See rules.def and sched.h. */
#include "sched/core/choose.h"

const struct sched_rule *const sched_rules[] = {
#define RULE(name) &sched_##name,
#include "sched/rules.def"
#undef RULE
	NULL,
};
