/* Caches the results of match() with the program. */
#include "sched/core/choose.h"

#include <string.h>

struct found_by {
	const void *found;
	const char *why;
	bool looked;
};

/* Cached results of one stage; `value`: its expression at that time. */
struct found_in {
	const struct ir_stage *s;
	expr value;
	struct found_by by[SCHED_MAX_RULES];
};

struct ir_found {
	const struct ir_program *of; /* results refer to it; a copy of the program needs its own */
	int stages;
	struct found_in **in; /* by the stage's index; null: not matched yet */
};

const void *keep_found(struct ir_program *p, const void *found, size_t size)
{
	void *copy = NEWN(p->arena, char, size);
	return memcpy(copy, found, size);
}

static int rule_number(const struct sched_rule *r)
{
	for (int i = 0; sched_rules[i]; i++)
		if (sched_rules[i] == r)
			return i;
	return -1;
}

/* Returns the cache entry of a rule and a stage; null if the stage is not the program's or the rule is not in the
 * table. */
static struct found_by *place_for(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r)
{
	int rule = rule_number(r), i = 0;
	while (i < p->stages.n && p->stages.at[i] != s)
		i++;
	if (i == p->stages.n || rule < 0)
		return NULL;
	if (!p->found || p->found->of != p || p->found->stages != p->stages.n) {
		p->found = NEW(p->arena, struct ir_found);
		p->found->of = p;
		p->found->stages = p->stages.n;
		p->found->in = NEWN(p->arena, struct found_in *, p->stages.n);
	}
	struct found_in **in = &p->found->in[i];
	if (!*in || (*in)->s != s || (*in)->value != s->value) {
		*in = NEW(p->arena, struct found_in);
		**in = (struct found_in){ .s = s, .value = s->value };
	}
	return &(*in)->by[rule];
}

struct mention {
	expr symbol;
	bool found;
};

static void find_mention(void *user, expr e)
{
	struct mention *m = user;
	m->found |= e == m->symbol;
}

static void find_in_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, find_mention, user);
}

/* True if one of the stages that the rule computes together mentions a size that another one of them computes: kernels
 * load sizes before anything else. */
static bool reads_own_size(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r,
                           const void *found)
{
	const struct sched_site site = { p, s, NULL, found };
	int n = r->span && p->sizes.n ? r->span(&site) : 1, first = 0;
	struct mention m = { 0 };
	while (n > 1 && first < p->stages.n && p->stages.at[first] != s)
		first++;
	for (int i = first; n > 1 && i < first + n && i < p->stages.n; i++)
		vec_each (size, &p->sizes)
			for (int k = i + 1; size->count == p->stages.at[i]->out && k < first + n && k < p->stages.n;
			     k++) {
				m.symbol = size->symbol;
				ir_stage_exprs(p->stages.at[k], find_in_expr, &m);
			}
	return m.found;
}

const void *sched_match(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r, const char **why)
{
	struct found_by *kept = place_for(p, s, r), now = { .why = "the stage is of another kind" };
	if (!kept || !kept->looked) {
		now.found = r->match(p, s, &now.why);
		if (now.found && reads_own_size(p, s, r, now.found)) {
			now.found = NULL;
			now.why = "it would compute a size and use it in the same kernel";
		}
		now.looked = true;
		kept = place_for(p, s, r); /* match() may have called sched_match() and moved it */
		if (kept)
			*kept = now;
	} else {
		now = *kept;
	}
	if (!now.found)
		*why = now.why;
	return now.found;
}

static const char *lacks(unsigned features)
{
	return features & TARGET_WGMMA      ? "the GPU has no warpgroup matrix instructions (wgmma)"
	       : features & TARGET_TMA      ? "the GPU has no tensor memory accelerator (TMA)"
	       : features & TARGET_CLUSTERS ? "the GPU has no thread block clusters"
	                                    : "the GPU has no asynchronous copies (cp.async)";
}

int sched_candidates(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r,
                     const struct sched_target *t, struct sched_choice *out, const char **why)
{
	const char *reason = "";
	struct sched_site site = { p, s, t, sched_match(p, s, r, &reason) };
	int n = 0;
	if (site.found && !target_has(t, r->needs))
		reason = lacks(r->needs & ~t->features);
	else if (site.found && (n = r->candidates(&site, out)) == 0)
		reason = r->none ? r->none : "no choice of its parameters fits the stage's extents and the GPU";
	ck(n <= SCHED_RULE_CHOICES);
	if (why)
		*why = reason;
	return n;
}

int rule_candidates(const struct sched_rule *r, struct ir_program *p, const struct ir_stage *s,
                    const struct sched_target *t, struct sched_choice *out)
{
	return sched_candidates(p, s, r, t, out, NULL);
}

bool sched_reorders(struct ir_program *p, const struct ir_buffer *b, int *axis)
{
	const char *why;
	vec_each (s, &p->stages) {
		for (const struct sched_rule *const *r = sched_rules; *r; r++) {
			const struct sched_site site = { p, *s, NULL,
				                         (*r)->reorders ? sched_match(p, *s, *r, &why) : NULL };
			if (site.found && (*r)->reorders(&site, b, axis))
				return true;
		}
	}
	return false;
}
