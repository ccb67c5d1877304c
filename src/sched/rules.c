/* The table of rules. See rules.def and sched.h. */
#include "sched/core/choose.h"

#include <string.h>

const struct sched_rule *const sched_rules[] = {
#define RULE(name) &sched_##name,
#include "sched/rules.def"
#undef RULE
	NULL,
};

const struct sched_rule *sched_find(const char *name)
{
	for (const struct sched_rule *const *r = sched_rules; *r; r++)
		if (strcmp((*r)->name, name) == 0)
			return *r;
	return NULL;
}
