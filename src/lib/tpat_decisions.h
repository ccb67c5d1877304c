/* Inside src/lib/: decisions that are read from text, as sched_decisions_text() writes it. The text is untrusted. */
#ifndef TPAT_LIB_TPAT_DECISIONS_H
#define TPAT_LIB_TPAT_DECISIONS_H

#include "sched/sched.h"

struct tpat_decisions {
	VEC(struct sched_decision);
};

/* Returns the rule of that name, or null. */
const struct sched_rule *tpat_rule_named(const char *name);
/* Appends a text's decisions. Returns false, and *why as a clause, unless the text is well formed and names existing
 * rules in their current versions. Parameters may come without names ("3 map@1 4"), an older form. */
bool tpat_decisions_read(struct tpat_decisions *out, const char *text, const char **why, struct arena *a);
/* Reads the text and takes its decisions for the program: see sched_decisions_take(). */
bool tpat_decisions_parse(struct sched_choice *out, const char *text, struct ir_program *p,
                          const struct sched_target *t, const char **why, struct arena *a);

#endif
