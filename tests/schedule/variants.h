/* The plans tried for a case: choices of rules for stages, and 64-bit positions. */
#ifndef TPAT_TESTS_VARIANTS_H
#define TPAT_TESTS_VARIANTS_H

#include "base/map.h"
#include "tests/schedule/schedule_job.h"
#include "tests/unit/random_program.h"

static struct ir_program *optimised(struct job *j, struct ir_program *p)
{
	struct err e = { 0 };
	if (ir_optimise(p, NULL, NULL, &e) < 0) {
		printf("%s: %s\n", p->name, e.text);
		CHECK(!"the passes run");
	}
	(void)j;
	return p;
}

/* Uses 64-bit positions, as beyond 2^31: the kernels made for that and those after them, or with known extents all
 * kernels. */
static void widen(struct job *j, struct ir_step *step)
{
	struct ir_step wide = { 0 };
	int last = -1;
	for (int i = 0; i < step->n; i++)
		last = step->at[i]->index64 ? i : last;
	for (int i = 0; i < step->n && last >= 0; i++)
		if (step->at[i]->index64 || i > last)
			vec_push(j->arena, &wide, step->at[i]);
	if (wide.n)
		*step = wide;
	vec_each (k, step) {
		(*k)->index64 = true;
		vec_each (part, &(*k)->parts) {
			struct ir_kernel *wider = NEW(j->arena, struct ir_kernel);
			*wider = **part;
			wider->index64 = true;
			*part = wider;
		}
	}
}

static void check_kernels(const struct variant *v)
{
	struct err e = { 0 };
	vec_each (step, &v->plan->steps)
		vec_each (k, *step)
			if (!test_check(ir_kernel_check(*k, &e) == 0, __FILE__, __LINE__,
			                "a kernel by the language's rules"))
				printf("  %s (%s, %s): %s\n", v->name, (*k)->rule, (*k)->params, e.text);
}

/* `passes`: the program after the passes. */
static void add_variant(struct job *j, bool passes, int stage, const struct sched_choice *choice, bool wide)
{
	ck(j->variants < MAX_VARIANTS);
	struct variant *v = &j->variant[j->variants];
	v->name = arena_printf(j->arena, "%s_%d", j->c->name, j->variants++);
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	struct sched_choice given[24] = { { 0 } };
	p = passes ? optimised(j, p) : p;
	ck(p->stages.n <= 24);
	if (stage >= 0)
		given[stage] = *choice;
	v->plan = sched_program(p, NULL, given);
	check_kernels(v);
	v->may_race = ir_replaces(p);
	if (!wide)
		return;
	vec_each (step, &v->plan->steps)
		widen(j, *step);
}

/* One plan with different schedules for small, medium and large extents. */
static void add_dispatch(struct job *j)
{
	static const int64_t extent[] = { 2, 9, 70 };
	struct variant *v = &j->variant[j->variants];
	ck(j->variants < MAX_VARIANTS);
	v->name = arena_printf(j->arena, "%s_%d", j->c->name, j->variants);
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic tactic = { { 0 } };
	for (int i = 0; i < points.n; i++) {
		struct sched_choice *list = NEWN(j->arena, struct sched_choice, p->stages.n), choice[SCHED_MAX_CHOICES];
		struct sched_extent *at = NEWN(j->arena, struct sched_extent, points.target[i].extents + 1);
		for (int k = 0; k < points.target[i].extents; k++)
			at[k] = (struct sched_extent){ points.target[i].extent[k].symbol, extent[i] };
		points.target[i].extent = at;
		for (int s = 0; s < p->stages.n; s += sched_span(p, p->stages.at[s], &list[s]))
			list[s] = choice[(i * 5 + s) % sched_choices(p, p->stages.at[s], &points.target[i], choice)];
		tactic.choice[i] = list;
	}
	if (points.n == 1) /* no dynamic extent */
		return;
	sched_plans(&v->plan, p, &points, &tactic, 1);
	check_kernels(v);
	v->may_race = ir_replaces(p);
	j->variants++;
}

/* If `at` is the first choice of a rule in the list, returns a random one of that rule; else -1. */
static int drawn_of_rule(const struct sched_choice *choice, int n, int at, uint64_t drawn)
{
	int same = 0;
	for (int i = 0; i < n; i++)
		if (choice[i].rule == choice[at].rule) {
			if (i < at)
				return -1;
			same++;
		}
	for (int left = (int)(drawn % (uint64_t)same), i = at;; i++)
		if (choice[i].rule == choice[at].rule && left-- == 0)
			return i;
}

/* The choices of a stage that the job requests. */
static int asked_choices(const struct job *j, struct ir_program *p, int stage, struct sched_choice *out)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int n = sched_choices(p, p->stages.at[stage], target, choice), asked = 0;
	for (int k = 0; k < n; k++) {
		if (j->rule && strcmp(choice[k].rule->name, j->rule) != 0)
			continue;
		bool shares =
		        strcmp(choice[k].rule->name, "contract_wide") != 0 || choice[k].param[5] || choice[k].param[7];
		if (target == &seven_processors && !shares) /* others are tried on every target */
			continue;
		out[asked++] = choice[k];
	}
	return asked;
}

static void make_variants(struct job *j)
{
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	struct sched_choice choice[SCHED_MAX_CHOICES];
	if (!p)
		return;
	add_variant(j, false, -1, NULL, false);
	for (int i = 0; i < p->stages.n; i++) {
		int n = asked_choices(j, p, i, choice);
		for (int k = 0; k < n; k++) {
			if (k > 0 || j->rule) /* the first is the default */
				add_variant(j, false, i, &choice[k], false);
			int wide = all_wide ? k : drawn_of_rule(choice, n, k, hash_str((uint64_t)i, j->c->name));
			if (wide >= 0)
				add_variant(j, false, i, &choice[wide], true);
		}
	}
	CHECK(!j->rule || j->variants > 1);
	if (!j->rule)
		add_dispatch(j);
}

/* The whole program with the best choices; each loop with some choices, before and after the passes. */
static void make_random_variants(struct job *j)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	for (int passes = 0; passes < 2; passes++) {
		struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
		if (!p)
			return;
		p = passes ? optimised(j, p) : p;
		add_variant(j, passes, -1, NULL, false);
		for (int i = 0; i < p->stages.n; i++) {
			int n = p->stages.at[i]->loop ? sched_choices(p, p->stages.at[i], &sched_default_target, choice)
			                              : 0;
			for (int k = 1 + pick(3); k < n; k += 4) /* the first is the default */
				add_variant(j, passes, i, &choice[k], k % 2 == 0);
		}
	}
}

/* One choice of each rule for each stage, and a plan with several schedules. */
static void make_form_variants(struct job *j)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	if (!p)
		return;
	add_variant(j, pick(2), -1, NULL, false);
	for (int i = 0; i < p->stages.n; i++) {
		int n = asked_choices(j, p, i, choice);
		for (int k = 0; k < n; k++) {
			int at = drawn_of_rule(choice, n, k, (uint64_t)pick(1 << 20));
			if (at >= 0)
				add_variant(j, false, i, &choice[at], pick(8) == 0);
		}
	}
	if (!j->rule)
		add_dispatch(j);
}

/* One choice for one stage, or a plan with several schedules, on one device. */
static void make_form_sample(struct job *j)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	if (!p)
		return;
	if (run_c && run_emulator) /* the emulator's text compiles eight times as slowly */
		j->as_c = !(j->as_cuda = pick(8) == 0);
	if (!j->rule && pick(8) == 0)
		add_dispatch(j);
	if (j->variants)
		return;
	int stage = pick(p->stages.n), n = asked_choices(j, p, stage, choice);
	if (n && (j->rule || pick(6)))
		add_variant(j, false, stage, &choice[pick(n)], pick(6) == 0);
	else
		add_variant(j, pick(2), -1, NULL, false);
}

/* True if its extents are random. */
static bool is_form(const struct job *j)
{
	return j->make == make_form_variants || j->make == make_form_sample;
}

#endif
