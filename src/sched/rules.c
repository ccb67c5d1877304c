/* The table of rules. See rules.def and sched.h. */
#include "sched/core/choose.h"

const struct sched_rule *const sched_rules[] = {
#define RULE(name) &sched_##name,
#include "sched/rules.def"
#undef RULE
	NULL,
};

const struct sched_rule *const sched_rule_of_maps = &sched_map, *const sched_rule_of_transposes = &sched_tile;
