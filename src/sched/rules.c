/* The table of rules. See rules.def and sched.h. */
#include "sched/core/choose.h"

const struct sched_rule *const sched_rules[] = {
#define RULE(name) &sched_##name,
#include "sched/rules.def"
#undef RULE
	NULL,
};
_Static_assert(sizeof sched_rules / sizeof *sched_rules <= SCHED_MAX_RULES, "tables by rule have room for all");

const struct sched_rule
        *const sched_rule_of_maps = &sched_map,
               *const sched_rule_of_flat_maps = &sched_flat, *const sched_rule_of_transposes = &sched_tile,
               *const sched_rule_of_sums = &sched_reduce_thread, *const sched_rule_of_columns = &sched_reduce_columns,
               *const sched_rule_of_row_sums = &sched_reduce_lanes, *const sched_rule_of_rows = &sched_rows;
