/* The tuner with candidates that do what candidates must not: each costs one trial and nothing else. On the device cpu. */
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "eval/eval.h"
#include "tests/unit/test.h"
#include "tune/tuner.h"

static bool applies(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p, (void)s, (void)why;
	return true;
}

static struct ir_kernel *as_map(struct ir_plan *plan, const struct ir_stage *s)
{
	struct sched_choice c = { sched_find("map"), { 1, 1 } };
	c.rule->apply(plan, s, &c);
	return plan->steps.at[plan->steps.n - 1]->at[0];
}

static struct ir_stmt *store_of(struct ir_block *b)
{
	struct ir_stmt *found = NULL;
	for (int i = 0; i < b->n && !found; i++)
		found = b->at[i].kind == IR_STORE ? &b->at[i] : b->at[i].body ? store_of(b->at[i].body) : NULL;
	return found;
}

static void store_elsewhere(struct ir_plan *plan, const struct ir_stage *s, int64_t by)
{
	struct ir_stmt *store = store_of(&as_map(plan, s)->body);
	ck(store);
	store->at = ir_binary(IR_ADD, store->at, ir_index(plan->program->pool, by));
}

static void apply_killed(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	(void)plan, (void)s, (void)c;
	raise(SIGKILL);
}

static void apply_endless(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	(void)plan, (void)s, (void)c;
	for (;;)
		pause();
}

static void apply_beside(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	(void)c;
	store_elsewhere(plan, s, 3);
}

static void apply_far(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	(void)c;
	store_elsewhere(plan, s, 1 << 28);
}

static void apply_wrong(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_stmt *store = store_of(&as_map(plan, s)->body);
	(void)c;
	store->value = ir_binary(IR_ADD, store->value, ir_float(plan->program->pool, TYPE_F32, 1));
}

static void apply_refused(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	(void)c;
	as_map(plan, s)->name = "not a name";
}

static const struct {
	struct sched_rule rule;
	enum tune_status status;
} bad[] = {
	{ { .name = "killed", .applicable = applies, .apply = apply_killed }, TUNE_CRASHED },
	{ { .name = "endless", .applicable = applies, .apply = apply_endless }, TUNE_HUNG },
	{ { .name = "beside", .applicable = applies, .apply = apply_beside }, TUNE_BOUNDS },
	{ { .name = "far", .applicable = applies, .apply = apply_far }, TUNE_CRASHED },
	{ { .name = "wrong", .applicable = applies, .apply = apply_wrong }, TUNE_WRONG },
	{ { .name = "refused", .applicable = applies, .apply = apply_refused }, TUNE_COMPILER },
};
enum { BAD = sizeof bad / sizeof *bad };

struct seen {
	const struct tune_space *space;
	int first_bad, trials, of_bad[BAD];
	enum tune_status status[BAD];
};

static void tried(void *user, const struct tune_trial *t, double bytes)
{
	struct seen *s = user;
	int k = t->point.option[0] - s->first_bad;
	(void)bytes;
	s->trials++;
	if (k >= 0) {
		s->of_bad[k]++;
		s->status[k] = t->status;
	} else if (!test_check(t->status == TUNE_OK, __FILE__, __LINE__, "the rules' own candidates are ok")) {
		printf("  %s: %s: %s\n", tune_point_text(s->space, t->point, s->space->arena), tune_status_name[t->status], t->why);
	}
}

int main(void)
{
	static const char text[] = "program p(x: f32[64,96]) -> (y: f32[64,96])\n"
	                           "  y: f32[64,96] = map (i, j) x[i, j] * 2.0 + 1.0\n";
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct ir_program *p;
	struct tune_space *space;
	struct tensor in, want;
	const struct tensor *inputs[] = { &in };
	int64_t dim[] = { 64, 96 };
	char *folder;
	ck(ir_parse_program(&p, text, a, &e) == 0);
	ck(tensor_new(&in, TYPE_F32, 2, dim, a, &e) == 0);
	tensor_random(&in, 1, -2, 2);
	ck(eval_program(p, inputs, &want, NULL, a, &e) == 0);
	ck(tune_space_new(&space, p, &sched_default_target, a, &e) == 0);
	ck(file_temp_dir(&folder, a, &e) == 0);
	struct seen seen = { .space = space, .first_bad = space->stage[0].options };
	struct tune_search *search;
	for (int i = 0; i < BAD; i++)
		tune_space_add(space, 0, &(struct sched_choice){ .rule = &bad[i].rule });
	search = tune_search_new(space, 1, a);
	/* The bad ones first, while there is nothing else to fall back to. */
	for (int i = 0; i < BAD; i++) {
		struct tune_point point = tune_point_first(space, a);
		point.option[0] = (int16_t)(seen.first_bad + i);
		tune_search_suggest(search, point);
	}
	struct tune_job job = {
		.bench = { space, inputs, &want, "cpu", 0, 1 << 20, folder },
		.search = search,
		.seconds = 600,
		.compilers = 2,
		.deadline = 8,
		.tried = tried,
		.user = &seen,
	};
	struct tune_result r;
	tune_program(&r, &job, a);
	for (int i = 0; i < BAD; i++) {
		CHECK_INT(seen.of_bad[i], 1);
		if (!test_check(seen.status[i] == bad[i].status, __FILE__, __LINE__, "it ended as it must"))
			printf("  %s: %s\n", bad[i].rule.name, tune_status_name[seen.status[i]]);
	}
	CHECK_INT(seen.trials, space->stage[0].options);
	CHECK_INT(r.trials, seen.trials);
	CHECK_INT(r.failed, BAD);
	CHECK(r.end == TUNE_END_SEARCH);
	CHECK(r.best.point.option && r.best.point.option[0] < seen.first_bad && r.best.ns > 0);
	CHECK(r.first.status == TUNE_OK && r.best.ns <= r.first.ns);
	file_remove_tree(folder);
	arena_free(a);
	return test_done();
}
