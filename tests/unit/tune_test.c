/* The tuner with faulty candidates: each costs one trial and nothing else. And with a full disk: results cannot be
 * stored, but are still found. On the device cpu. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "db/db.h"
#include "eval/eval.h"
#include "onnx/onnx.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/finish.h"
#include "tests/unit/onnx_make.h"
#include "tests/unit/test.h"
#include "tpat/tpat.h"
#include "tests/program/program_text.h"
#include "tune/tuner.h"

static const void *match_any(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p, (void)why;
	return s;
}

static struct ir_kernel *as_map(struct ir_plan *plan, const struct ir_stage *s)
{
	struct sched_choice c = { sched_rule_of_maps, { 1, 1 } };
	apply_choice(plan, s, &c, &sched_default_target);
	return plan->steps.at[plan->steps.n - 1]->at[0];
}

static struct ir_store *store_of(struct ir_block *b)
{
	struct ir_store *found = NULL;
	for (int i = 0; i < b->n && !found; i++)
		if (b->at[i].kind == IR_STORE)
			found = &b->at[i].store;
		else if (ir_stmt_body(&b->at[i]))
			found = store_of(ir_stmt_body(&b->at[i]));
	return found;
}

static void store_elsewhere(struct ir_plan *plan, const struct ir_stage *s, int64_t by)
{
	struct ir_store *store = store_of(&as_map(plan, s)->body);
	ck(store);
	store->at = ir_binary(IR_ADD, store->at, ir_index(plan->program->pool, by));
}

static void apply_killed(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	(void)plan, (void)site, (void)c;
	raise(SIGKILL);
}

static void apply_endless(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	(void)plan, (void)site, (void)c;
	for (;;)
		pause();
}

static void apply_beside(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	(void)c;
	store_elsewhere(plan, site->s, 3);
}

static void apply_far(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	(void)c;
	store_elsewhere(plan, site->s, 1 << 28);
}

/* The kernel, not what makes it. */
static void apply_forever(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = as_map(plan, site->s);
	expr zero = ir_index(p->pool, 0), again;
	struct ir_block *body = emit_loop(p, &k->serial, "again", zero, ir_index(p->pool, 2), zero, NULL, &again);
	emit_store(p, body, site->s->out, zero, ir_float(p->pool, TYPE_F32, 1));
	(void)c;
}

static void apply_wrong(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_store *store = store_of(&as_map(plan, site->s)->body);
	(void)c;
	store->value = ir_binary(IR_ADD, store->value, ir_float(plan->program->pool, TYPE_F32, 1));
}

static void apply_refused(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	(void)c;
	as_map(plan, site->s)->name = "not a name";
}

static const struct {
	struct sched_rule rule;
	enum tune_status status;
} bad[] = {
	{ { .name = "killed", .match = match_any, .apply = apply_killed }, TUNE_CRASHED },
	{ { .name = "endless", .match = match_any, .apply = apply_endless }, TUNE_HUNG },
	{ { .name = "forever", .match = match_any, .apply = apply_forever }, TUNE_HUNG },
	{ { .name = "beside", .match = match_any, .apply = apply_beside }, TUNE_BOUNDS },
	{ { .name = "far", .match = match_any, .apply = apply_far }, TUNE_CRASHED },
	{ { .name = "wrong", .match = match_any, .apply = apply_wrong }, TUNE_WRONG },
	{ { .name = "refused", .match = match_any, .apply = apply_refused }, TUNE_COMPILER },
};
enum { BAD = sizeof bad / sizeof *bad };

/* One element that no sample holds. */
static int64_t beside_samples;

static void apply_one_wrong(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_store *store = store_of(&as_map(plan, site->s)->body);
	expr there = ir_binary(IR_EQ, store->at, ir_index(p->pool, beside_samples));
	(void)c;
	store->value = ir_select(there, ir_float(p->pool, TYPE_F32, 1000), store->value);
}

struct seen {
	const struct tune_space *space;
	int first_bad, trials, killed, of_bad[BAD];
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
		printf("  %s: %s: %s\n", tune_point_text(s->space, t->point, s->space->arena),
		       tune_status_name[t->status], t->why);
	}
}

/* Every child of this process, when the first trial is over. */
static bool kill_all(void *user, const struct tune_state *state)
{
	struct seen *s = user;
	char path[64];
	int pid;
	FILE *f;
	if (s->killed || !state->trials)
		return false;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	while (f && fscanf(f, "%d", &pid) == 1)
		s->killed += kill(pid, SIGKILL) == 0;
	if (f)
		fclose(f);
	return false;
}

static void test_faults(void)
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
		.bench = { space, inputs, &want, NULL, "cpu", 0, &language_c, 1 << 20, folder },
		.search = search,
		.seconds = 600,
		.compilers = 2,
		.deadline = 8,
		.opening = 4,
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

	/* Again, and everything that works is killed once, as somebody may, or the system when memory is out. */
	struct seen once_more = { .space = space, .first_bad = seen.first_bad };
	space->stage[0].options = seen.first_bad;
	job.search = tune_search_new(space, 2, a);
	job.progress = kill_all;
	job.user = &once_more;
	tune_program(&r, &job, a);
	CHECK(once_more.killed > 0 && r.end == TUNE_END_SEARCH);
	CHECK_INT(r.failed, 0);
	CHECK_INT(once_more.trials, seen.first_bad);
	file_remove_tree(folder);
	arena_free(a);
}

/* ---- Rules that add buffers to the program: each candidate has a program of its own, which the results of matching
 * must refer to. */

static void test_buffers(void)
{
	static const char text[] =
	        "program p(x: f32[40,32], at_rows: i64[300], updates: f32[300,32]) -> (y: f32[40,32])\n"
	        "  y: f32[40,32] = scatter sum (i, j | r<300, s<32) init x[i, j] at [index(at_rows[r]), s] value "
	        "updates[r, s]\n";
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct ir_program *p;
	struct tune_space *space;
	struct tensor in[3], want;
	const struct tensor *inputs[] = { &in[0], &in[1], &in[2] };
	const enum type type[] = { TYPE_F32, TYPE_I64, TYPE_F32 };
	const int rank[] = { 2, 1, 2 };
	int64_t dim[3][2] = { { 40, 32 }, { 300 }, { 300, 32 } };
	bool lists = false;
	char *folder;
	ck(ir_parse_program(&p, text, a, &e) == 0);
	for (int i = 0; i < 3; i++) {
		ck(tensor_new(&in[i], type[i], rank[i], dim[i], a, &e) == 0);
		tensor_random(&in[i], (uint64_t)i + 1, 0, 39);
	}
	ck(eval_program(p, inputs, &want, NULL, a, &e) == 0);
	ck(tune_space_new(&space, p, &sched_default_target, a, &e) == 0);
	for (int i = 0; i < space->stage[0].options; i++)
		lists |= strcmp(space->stage[0].option[i].rule->name, "scatter_lists") == 0;
	CHECK(lists);
	ck(file_temp_dir(&folder, a, &e) == 0);
	struct seen seen = { .space = space, .first_bad = space->stage[0].options };
	struct tune_job job = {
		.bench = { space, inputs, &want, NULL, "cpu", 0, &language_c, 1 << 20, folder },
		.search = tune_search_new(space, 1, a),
		.seconds = 600,
		.compilers = 2,
		.tried = tried,
		.user = &seen,
	};
	struct tune_result r;
	tune_program(&r, &job, a);
	CHECK_INT(r.failed, 0);
	CHECK_INT(seen.trials, space->stage[0].options);
	file_remove_tree(folder);
	arena_free(a);
}

/* ---- A sampled reference: the other elements must equal those of correct candidates. */

static void tried_of_three(void *user, const struct tune_trial *t, double bytes)
{
	struct seen *s = user;
	int k = t->point.option[0] - s->first_bad;
	(void)bytes;
	if (k >= 0) {
		s->of_bad[k]++;
		s->status[k] = t->status;
	} else {
		CHECK_INT(t->status, TUNE_OK);
	}
}

static void test_sampled(void)
{
	static const char text[] = "program p(x: f32[64,96], other: f32[96,128]) -> (y: f32[64,128])\n"
	                           "  y: f32[64,128] = map (i, j) x[i, 3] * other[4, j] + other[min(i, 5), j]\n";
	static const struct sched_rule wrong = { .name = "wrong", .match = match_any, .apply = apply_wrong },
	                               one = { .name = "one", .match = match_any, .apply = apply_one_wrong };
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct ir_program *p;
	struct tune_space *space;
	struct tensor in[2], whole, some;
	const struct tensor *inputs[] = { &in[0], &in[1] };
	int64_t dim[2][2] = { { 64, 96 }, { 96, 128 } };
	struct sample *sample;
	char *folder;
	ck(ir_parse_program(&p, text, a, &e) == 0);
	for (int i = 0; i < 2; i++) {
		ck(tensor_new(&in[i], TYPE_F32, 2, dim[i], a, &e) == 0);
		tensor_random(&in[i], (uint64_t)i + 1, -2, 2);
	}
	ck(sample_new(&sample, p, inputs, 1, a, &e) == 0 && sample);
	/* An element that is not among the sample's: changed, and the sample of it is the same. */
	ck(eval_program(p, inputs, &whole, NULL, a, &e) == 0);
	for (bool held = true; held; beside_samples++) {
		struct tensor_difference d;
		float kept = ((float *)whole.data)[beside_samples];
		((float *)whole.data)[beside_samples] = 1000;
		ck(sample_take(&some, sample, &whole, a, &e) == 0);
		ck(tensor_compare(&d, &some, sample_want(sample), (struct tensor_tolerance){ 0, 0 }));
		((float *)whole.data)[beside_samples] = kept;
		held = d.differing > 0;
		beside_samples -= !held;
	}
	ck(tune_space_new(&space, p, &sched_default_target, a, &e) == 0);
	ck(file_temp_dir(&folder, a, &e) == 0);
	struct seen seen = { .space = space, .first_bad = space->stage[0].options };
	tune_space_add(space, 0, &(struct sched_choice){ .rule = &wrong });
	tune_space_add(space, 0, &(struct sched_choice){ .rule = &one });
	struct tune_job job = {
		.bench = { space, inputs, NULL, sample, "cpu", 0, &language_c, 0, folder },
		.search = tune_search_new(space, 1, a),
		.seconds = 600,
		.compilers = 2,
		.tried = tried_of_three,
		.user = &seen,
	};
	struct tune_result r;
	tune_program(&r, &job, a);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(seen.of_bad[i], 1);
		CHECK_INT(seen.status[i], TUNE_WRONG);
	}
	CHECK_INT(r.failed, 2);
	CHECK(r.end == TUNE_END_SEARCH && r.best.point.option && r.best.point.option[0] < seen.first_bad);
	file_remove_tree(folder);
	arena_free(a);
}

/* ---- A full disk. */

enum { ROOM = 1 << 20, FULL_TRIALS = 3 }; /* more than any file that a compiler writes here */

static void write_model(const char *path)
{
	struct err e = { 0 };
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	const char *const symbol[] = { NULL };
	const int64_t dim[] = { 300 };
	Onnx__NodeProto *relu = onnx_node_new(m, "", "Relu", "rectify");
	onnx_node_input(m, relu, "x");
	onnx_node_output(m, relu, "y");
	onnx_graph_add_node(m, m->proto->graph, relu);
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "x", TYPE_F32, 1, dim, symbol));
	onnx_graph_add_output(m, m->proto->graph, onnx_value_info_new(m, "y", TYPE_F32, 1, dim, symbol));
	CHECK_INT(onnx_model_write(m, path, NULL, &e), 0);
	onnx_model_free(m);
}

static int64_t rows(const char *path, struct arena *a)
{
	struct err e = { 0 };
	struct db *d;
	struct db_trials all = { 0 };
	const struct db_key any = { 0 };
	int64_t foreign = 0;
	CHECK_INT(db_open(&d, path, DB_READ, &e), 0);
	CHECK_INT(db_each(&all, d, &any, &foreign, a, &e), 0);
	CHECK_INT(foreign, 0);
	db_close(d);
	return all.n;
}

static void fill(const char *path, struct arena *a)
{
	struct db_trial t = { .key = { "0123456789abcdef0123456789abcdef", "", "cpu", "a processor" },
		              .name = "p(x: f32[1]) -> (y: f32[1])",
		              .status = DB_OK,
		              .ns = 1,
		              .version = "0",
		              .when = 1 };
	struct err e = { 0 };
	struct db *d;
	char *text;
	size_t size = 0;
	CHECK_INT(db_open(&d, path, DB_WRITE, &e), 0);
	for (int i = 0; size < ROOM && i < 100; i++) {
		struct db_trial many[200];
		for (int k = 0; k < 200; k++) {
			t.decisions = arena_printf(a, "0 map@1 %d", 200 * i + k + 10);
			many[k] = t;
		}
		CHECK_INT(db_put(d, many, 200, &e), 0);
		CHECK_INT(file_read(&text, &size, path, a, &e), 0);
	}
	db_close(d);
	CHECK(size >= ROOM);
}

static void test_full_disk(void)
{
	struct tpat_tune_options o = TPAT_TUNE_OPTIONS;
	struct arena *a = arena_new();
	struct err e = { 0 };
	const struct tpat_tuning *r;
	struct tpat *t = tpat_new();
	struct rlimit old, few;
	char *folder;
	ck(file_temp_dir(&folder, a, &e) == 0);
	o.model = path_join(a, folder, "model.onnx");
	o.db = path_join(a, folder, "full.db");
	o.device = "cpu";
	o.trials = FULL_TRIALS;
	o.workers = 1;
	write_model(o.model);
	fill(o.db, a);
	int64_t before = rows(o.db, a);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	few = old;
	few.rlim_cur = ROOM;
	setrlimit(RLIMIT_FSIZE, &few);
	int rc = tpat_tune(t, &r, &o);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_INT(rc, TPAT_OK);
	CHECK(r && r->n == 1 && r->tuned[0].ns > 0 && r->tuned[0].trials == FULL_TRIALS && !r->tuned[0].error);
	CHECK(r && r->warnings.n == 1 && strstr(r->warnings.at[0], o.db));
	CHECK(rows(o.db, a) >= before && rows(o.db, a) < before + FULL_TRIALS); /* there may have been room between the
	                                                                           rows */
	CHECK_INT(tpat_tune(t, &r, &o), TPAT_OK);                               /* there is room again */
	CHECK(r && !r->warnings.n);
	CHECK_INT(rows(o.db, a), before + FULL_TRIALS);
	tpat_free(t);
	file_remove_tree(folder);
	arena_free(a);
}

int main(void)
{
	test_faults();
	test_buffers();
	test_sampled();
	test_full_disk();
	return test_done();
}
