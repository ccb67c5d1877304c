/* Reads decisions as text, from the tuning database. The text is untrusted. See tpat_decisions.h. */
#include "lib/tpat_decisions.h"

#include <limits.h>
#include <string.h>

const struct sched_rule *tpat_rule_named(const char *name)
{
	for (const struct sched_rule *const *r = sched_rules; *r; r++)
		if (strcmp((*r)->name, name) == 0)
			return *r;
	return NULL;
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
	for (int k = 0; k < sched_params(r); k++) {
		const struct sched_param *x = &r->param[k];
		const char *before = named ? arena_printf(a, " %s=", x->name) : k ? "," : " ";
		if (!skip(at, before) || !read_int(at, &c->param[k])) {
			*why = arena_printf(a, "rule %s has %d parameters, and number %d is %s", r->name,
			                    sched_params(r), k + 1, x->name);
			return false;
		}
		if (c->param[k] < x->least || c->param[k] > x->most) {
			*why = arena_printf(a, "%s of rule %s ranges from %d to %d, so it cannot be %d", x->name,
			                    r->name, x->least, x->most, c->param[k]);
			return false;
		}
	}
	return true;
}

/* Reads one decision: "3 map@1 width=4". */
static bool read_decision(const char **at, struct sched_decision *d, const char **why, struct arena *a)
{
	struct sched_choice *c = &d->choice;
	char name[64];
	int version;
	*d = (struct sched_decision){ 0 };
	*why = "it is not a list of decisions";
	if (!read_int(at, &d->stage) || d->stage < 0 || !skip(at, " "))
		return false;
	size_t n = strcspn(*at, "@ ;,");
	if (n == 0 || n >= sizeof name)
		return false;
	memcpy(name, *at, n);
	name[n] = 0;
	*at += n;
	if (!skip(at, "@") || !read_int(at, &version))
		return false;
	c->rule = tpat_rule_named(name);
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

bool tpat_decisions_read(struct tpat_decisions *out, const char *text, const char **why, struct arena *a)
{
	struct sched_decision d;
	for (const char *at = text;;) {
		if (!read_decision(&at, &d, why, a))
			return false;
		if ((out->n && d.stage <= out->at[out->n - 1].stage) || (*at && !skip(&at, "; "))) {
			*why = "it is not a list of decisions";
			return false;
		}
		vec_push(a, out, d);
		if (!*at)
			return true;
	}
}

bool tpat_decisions_parse(struct sched_choice *out, const char *text, struct ir_program *p,
                          const struct sched_target *t, const char **why, struct arena *a)
{
	struct tpat_decisions d = { 0 };
	return tpat_decisions_read(&d, text, why, a) && sched_decisions_take(out, d.at, d.n, p, t, why, a);
}
