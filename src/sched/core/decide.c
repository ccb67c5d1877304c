/* Decisions: the choice for each stage of a program; their text form, and its parser for untrusted texts. */
#include "sched/sched.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void sched_decide(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given,
                  struct sched_choice *out)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	for (int i = 0, span; i < p->stages.n; i += span) {
		const struct ir_stage *s = p->stages.at[i];
		if (given && given[i].rule)
			choice[0] = given[i];
		else
			sched_choices(p, s, t ? t : &sched_default_target, choice);
		span = sched_span(p, s, &choice[0]);
		out[i] = choice[0];
		for (int k = 1; k < span && i + k < p->stages.n; k++)
			out[i + k] = (struct sched_choice){ 0 };
	}
}

/* ---- Text. */

static int params_of(const struct sched_rule *r)
{
	int n = 0;
	while (n < SCHED_MAX_PARAMS && r->param[n].name)
		n++;
	return n;
}

static void put_params(struct str *s, const struct sched_choice *c)
{
	for (int k = 0; k < params_of(c->rule); k++)
		str_printf(s, " %s=%d", c->rule->param[k].name, c->param[k]);
}

const char *sched_params_text(const struct sched_choice *c, struct arena *a)
{
	struct str s = str_new(a);
	put_params(&s, c);
	return str_text(&s) + (s.n > 0); /* without the leading space */
}

const char *sched_decisions_text(const struct ir_program *p, const struct sched_choice *c, struct arena *a)
{
	struct str s = str_new(a);
	for (int i = 0; i < p->stages.n; i++) {
		if (!c[i].rule)
			continue;
		str_printf(&s, "%s%d %s@%d", s.n ? "; " : "", i, c[i].rule->name, c[i].rule->version);
		put_params(&s, &c[i]);
	}
	return str_text(&s);
}

/* Reads "N" or "-N" as an int. */
static bool read_int(const char **at, int *out)
{
	const char *p = *at;
	bool minus = *p == '-';
	long long x = 0;
	p += minus;
	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if ((x = x * 10 + (*p - '0')) > INT_MAX)
			return false;
	*out = (int)(minus ? -x : x);
	*at = p;
	return true;
}

static bool skip(const char **at, const char *text)
{
	size_t n = strlen(text);
	if (strncmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Reads " width=4 steps=2", or the older form " 4,2". */
static bool read_params(const char **at, struct sched_choice *c, const char **why, struct arena *a)
{
	const struct sched_rule *r = c->rule;
	bool named = (*at)[0] == ' ' && (*at)[1] >= 'a' && (*at)[1] <= 'z';
	for (int k = 0; k < params_of(r); k++) {
		const struct sched_param *x = &r->param[k];
		const char *before = named ? arena_printf(a, " %s=", x->name) : k ? "," : " ";
		if (!skip(at, before) || !read_int(at, &c->param[k])) {
			*why = arena_printf(a, "rule %s has %d parameters, and number %d is %s", r->name, params_of(r),
			                    k + 1, x->name);
			return false;
		}
		if (c->param[k] < x->least || c->param[k] > x->most) {
			*why = arena_printf(a, "%s of rule %s is from %d to %d, and none that the rule would try is %d",
			                    x->name, r->name, x->least, x->most, c->param[k]);
			return false;
		}
	}
	return true;
}

/* Reads one decision: "3 map@1 width=4". */
static bool read_decision(const char **at, int *stage, struct sched_choice *c, const char **why, struct arena *a)
{
	char name[64];
	int version;
	*c = (struct sched_choice){ 0 };
	*why = "it is not a text of decisions";
	if (!read_int(at, stage) || *stage < 0 || !skip(at, " "))
		return false;
	size_t n = strcspn(*at, "@ ;,");
	if (n == 0 || n >= sizeof name)
		return false;
	memcpy(name, *at, n);
	name[n] = 0;
	*at += n;
	if (!skip(at, "@") || !read_int(at, &version))
		return false;
	c->rule = sched_find(name);
	if (!c->rule) {
		*why = arena_printf(a, "there is no rule %s", name);
		return false;
	}
	if (version != c->rule->version) {
		*why = arena_printf(a, "rule %s has version %d now, not %d", name, c->rule->version, version);
		return false;
	}
	return read_params(at, c, why, a);
}

bool sched_decisions_current(const char *text, const char **why, struct arena *a)
{
	struct sched_choice c;
	int stage, last = -1;
	for (const char *at = text;;) {
		if (!read_decision(&at, &stage, &c, why, a))
			return false;
		if (stage <= last || (*at && !skip(&at, "; "))) {
			*why = "it is not a text of decisions";
			return false;
		}
		last = stage;
		if (!*at)
			return true;
	}
}

/* ---- Parser. */

/* True if this is one of the rule's candidates for the stage. */
static bool is_candidate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                         const struct sched_target *t, const char **why)
{
	struct sched_choice one[SCHED_RULE_CHOICES];
	int n = sched_candidates(p, s, c->rule, t, one, why);
	for (int i = 0; i < n; i++)
		if (memcmp(one[i].param, c->param, sizeof c->param) == 0)
			return true;
	if (n)
		*why = "its parameters are none that the rule would try";
	return false;
}

bool sched_decisions_parse(struct sched_choice *out, const char *text, struct ir_program *p,
                           const struct sched_target *t, const char **why, struct arena *a)
{
	const char *at = text;
	t = t ? t : &sched_default_target;
	for (int i = 0, span, stage; i < p->stages.n; i += span) {
		const struct ir_stage *s = p->stages.at[i];
		const char *reason;
		if ((i && !skip(&at, "; ")) || !*at) {
			*why = arena_printf(a, "it decides nothing for stage %d", i);
			return false;
		}
		if (!read_decision(&at, &stage, &out[i], why, a))
			return false;
		if (stage != i) {
			*why = arena_printf(a, "it decides stage %d where stage %d is due", stage, i);
			return false;
		}
		if (!is_candidate(p, s, &out[i], t, &reason)) {
			*why = arena_printf(a, "rule %s does not fit stage %d: %s", out[i].rule->name, i, reason);
			return false;
		}
		span = sched_span(p, s, &out[i]);
		for (int k = 1; k < span && i + k < p->stages.n; k++)
			out[i + k] = (struct sched_choice){ 0 };
	}
	if (*at)
		*why = "it decides more stages than there are";
	return !*at;
}

/* ---- Extents as text. */

const char *sched_shape_text(const struct ir_program *p, ir_symbol_fn value, void *user, struct arena *a)
{
	struct str s = str_new(a);
	struct map seen = map_new(a);
	int64_t x;
	vec_each (in, &p->inputs)
		for (int k = 0; k < (*in)->rank; k++) {
			expr d = (*in)->dim[k];
			if (d->op != IR_SYMBOL || map_get(&seen, d->name))
				continue;
			map_put(&seen, d->name, d);
			str_add(&s, seen.n > 1 ? "," : "");
			if (value(user, d->name, &x))
				str_printf(&s, "%lld", (long long)x);
			else
				str_add(&s, "?");
		}
	return str_text(&s);
}
