/* The search space: the options of each stage, points, and their text. See search.h. */
#include <string.h>

#include "tune/search.h"

const char *const tune_status_name[TUNE_STATUS_COUNT] = {
	[TUNE_OK] = "ok",         [TUNE_COMPILER] = "compiler", [TUNE_FAILED] = "failed", [TUNE_WRONG] = "wrong",
	[TUNE_BOUNDS] = "bounds", [TUNE_CRASHED] = "crashed",   [TUNE_HUNG] = "hung",
};

int tune_space_new(struct tune_space **out, struct ir_program *p, const struct sched_target *t, struct arena *a,
                   struct err *e)
{
	struct sched_choice *choice = NEWN(a, struct sched_choice, SCHED_MAX_CHOICES);
	struct tune_space *s = *out = NEW(a, struct tune_space);
	if (p->stages.n > TUNE_MAX_STAGES)
		return err_set(e, ERR_UNSUPPORTED, "Program %s has %d stages; at most %d can be tuned.", p->name,
		               p->stages.n, TUNE_MAX_STAGES);
	*s = (struct tune_space){ .program = p, .target = t, .stages = p->stages.n, .arena = a };
	s->stage = NEWN(a, struct tune_stage, p->stages.n + 1);
	for (int i = 0; i < p->stages.n; i++) {
		int n = sched_choices(p, p->stages.at[i], t, choice);
		for (int k = 0; k < n; k++)
			tune_space_add(s, i, &choice[k]);
	}
	return 0;
}

int tune_space_add(struct tune_space *s, int stage, const struct sched_choice *c)
{
	struct tune_stage *t = &s->stage[stage];
	vec_room(s->arena, (void **)&t->option, t->options, &t->cap, sizeof *t->option);
	t->option[t->options] = *c;
	return t->options++;
}

static int span_of(const struct tune_space *s, int stage, int option)
{
	int n = sched_span(s->program, s->program->stages.at[stage], &s->stage[stage].option[option]);
	return n < s->stages - stage ? n : s->stages - stage;
}

struct tune_point tune_point_copy(const struct tune_space *s, struct tune_point p, struct arena *a)
{
	struct tune_point out = { NEWN(a, int16_t, s->stages + 1) };
	memcpy(out.option, p.option, sizeof *p.option * (size_t)s->stages);
	return out;
}

struct tune_point tune_point_first(const struct tune_space *s, struct arena *a)
{
	struct tune_point p = { NEWN(a, int16_t, s->stages + 1) };
	for (int i = 0; i < s->stages;) {
		int span = span_of(s, i, 0);
		for (int k = 1; k < span; k++)
			p.option[i + k] = -1;
		i += span;
	}
	return p;
}

struct sched_choice *tune_point_choices(const struct tune_space *s, struct tune_point p, struct arena *a)
{
	struct sched_choice *c = NEWN(a, struct sched_choice, s->stages + 1);
	for (int i = 0; i < s->stages; i++)
		if (p.option[i] >= 0)
			c[i] = s->stage[i].option[p.option[i]];
	return c;
}

const char *tune_point_text(const struct tune_space *s, struct tune_point p, struct arena *a)
{
	return sched_decisions_text(s->program, tune_point_choices(s, p, a), a);
}

/* The option of a stage with this text; -1: none. */
static int find_option(const struct tune_space *s, int stage, const char *text, size_t n, struct sched_choice *all,
                       struct arena *a)
{
	int found = -1;
	for (int k = 0; k < s->stage[stage].options && found < 0; k++) {
		all[stage] = s->stage[stage].option[k];
		const char *option = sched_decisions_text(s->program, all, a);
		if (strlen(option) == n && memcmp(option, text, n) == 0)
			found = k;
	}
	all[stage] = (struct sched_choice){ 0 };
	return found;
}

bool tune_point_read(const struct tune_space *s, struct tune_point *out, const char *text, struct arena *a)
{
	struct sched_choice *all = NEWN(a, struct sched_choice, s->stages + 1);
	out->option = NEWN(a, int16_t, s->stages + 1);
	for (int i = 0; i < s->stages;) {
		size_t n = strcspn(text, ";");
		int found = find_option(s, i, text, n, all, a);
		if (found < 0)
			return false;
		text += n;
		text += strspn(text, "; ");
		out->option[i] = (int16_t)found;
		int span = span_of(s, i, found);
		for (int k = 1; k < span; k++)
			out->option[i + k] = -1;
		i += span;
	}
	return !*text;
}

bool tune_point_same(const struct tune_space *s, struct tune_point x, struct tune_point y)
{
	return memcmp(x.option, y.option, sizeof *x.option * (size_t)s->stages) == 0;
}
