/* Every rule, every choice: stages run as C on the processor and as CUDA on the emulator, each also with 64-bit
 * positions, against the interpreter.
 *   schedule_test [-c | -e] [-s] [-p K/N] [-o FOLDER] [-r ROUNDS] [-n ROUND] [case ...]
 *                       only C, only the emulator; only every Nth case, from the Kth on (from 0), so that several processes
 *                       share the work; FOLDER gets the CUDA texts, to try a real compiler on
 * -r ROUNDS: instead, whether kernels of the same cases with other names (renamed.h) are the same text but for these, in so many
 * rounds of names; all that there are where it is 0. -n ROUND: the cases as renamed in that round.
 * Then random programs, as they are and after the passes, with some choices for their loops; and random cases of the lists with
 * their extents in other forms (extent_forms.h), with one choice of each rule. SCHEDULE_TEST=seed,count: other or more of them;
 * the cases "random" and "extents": only they. -s: of each case with other forms one variant alone, on one device, at two shapes:
 * many more of them in the same time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dev/dev.h"
#include "eval/eval.h"
#include "gen/gen.h"
#include "sched/sched.h"
#include "emulator/emulator.h"
#include "tests/schedule/attention_cases.h"
#include "tests/schedule/contract_cases.h"
#include "tests/schedule/extent_forms.h"
#include "tests/schedule/loop_cases.h"
#include "tests/schedule/map_cases.h"
#include "tests/schedule/order_cases.h"
#include "tests/schedule/renamed.h"
#include "tests/schedule/row_cases.h"
#include "tests/schedule/scatter_cases.h"
#include "tests/schedule/shapes.h"
#include "tests/unit/random_program.h"
#include "tests/unit/test.h"

enum { MAX_VARIANTS = 256, MAX_SHAPES = 6, MAX_BUFFERS = 64 };

/* One way to run a case's program. */
struct variant {
	const char *name;
	struct ir_plan *plan;
	bool may_race;
};

struct job {
	const struct schedule_case *c;
	const char *rule; /* null: all; else only its choices */
	const struct ir_program *like; /* whose inputs' names say what is in them; null: the case's own */
	void (*make)(struct job *j); /* its variants */
	struct arena *arena;
	struct variant variant[MAX_VARIANTS];
	int variants;
	bool as_cuda, as_c; /* on the emulator, on the processor */
	struct code *code;
};

/* Of the jobs that are compiled together. */
struct code {
	struct arena *arena;
	struct emulator_module *emulated;
	struct dev *dev;
	struct dev_module *module;
};

static bool run_c = true, run_emulator = true;
static int part, parts = 1, met; /* of the cases; those that were chosen so far */
static bool sampled;
static int passed_over; /* shapes that a case with other forms of extents cannot have */
static const char *texts_folder;
static int rounds = -1, renamed_round = -1;

static int64_t evaluate(expr e, struct shapes *s)
{
	int64_t x = -1;
	if (!test_check(ir_eval_int(e, symbol_value, s, &x), __FILE__, __LINE__, "an extent of the plan has a value"))
		x = 0;
	return x;
}

static struct ir_program *parse(struct arena *a, const char *name, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;
	if (ir_parse_program(&p, arena_printf(a, "program %s%s", name, text), a, &e) < 0) {
		printf("%s: %s\n", name, e.text);
		CHECK(!"the case can be read");
		return NULL;
	}
	return p;
}

/* ---- Variants. */

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

/* As it runs where positions pass 2^31: the kernels for such positions, or, where extents are known, all of them so. */
static void widen(struct job *j, struct ir_step *step)
{
	struct ir_step wide = { 0 };
	vec_each(k, step)
		if ((*k)->index64)
			vec_push(j->arena, &wide, *k);
	if (wide.n)
		*step = wide;
	vec_each(k, step) {
		(*k)->index64 = true;
		vec_each(part, &(*k)->parts)
			((struct ir_kernel *)*part)->index64 = true;
	}
}

static void check_kernels(const struct variant *v)
{
	struct err e = { 0 };
	vec_each(step, &v->plan->steps)
		vec_each(k, *step)
			if (!test_check(ir_kernel_check(*k, &e) == 0, __FILE__, __LINE__, "a kernel by the language's rules"))
				printf("  %s (%s, %s): %s\n", v->name, (*k)->rule, (*k)->params, e.text);
}

/* `passes`: of the program after the passes. */
static void add_variant(struct job *j, bool passes, int stage, const struct sched_choice *choice, bool wide)
{
	ck(j->variants < MAX_VARIANTS);
	struct variant *v = &j->variant[j->variants];
	v->name = arena_printf(j->arena, "%s_%d", j->c->name, j->variants++);
	struct ir_program *p = parse(j->arena, v->name, j->c->program);
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
	vec_each(step, &v->plan->steps)
		widen(j, *step);
}

/* One plan that holds a different schedule for small, for middle and for large extents. */
static void add_dispatch(struct job *j)
{
	static const int64_t extent[] = { 2, 9, 70 };
	struct variant *v = &j->variant[j->variants];
	ck(j->variants < MAX_VARIANTS);
	v->name = arena_printf(j->arena, "%s_%d", j->c->name, j->variants);
	struct ir_program *p = parse(j->arena, v->name, j->c->program);
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic tactic = { { 0 } };
	for (int i = 0; i < points.n; i++) {
		struct sched_choice *list = NEWN(j->arena, struct sched_choice, p->stages.n), choice[SCHED_MAX_CHOICES];
		struct sched_extent *at = (struct sched_extent *)points.target[i].extent;
		for (int k = 0; k < points.target[i].extents; k++)
			at[k].value = extent[i];
		for (int s = 0; s < p->stages.n; s += sched_span(p, p->stages.at[s], &list[s]))
			list[s] = choice[(i * 5 + s) % sched_choices(p, p->stages.at[s], &points.target[i], choice)];
		tactic.choice[i] = list;
	}
	if (points.n == 1) /* no extent is open */
		return;
	v->plan = sched_plan(p, &points, &tactic);
	check_kernels(v);
	v->may_race = ir_replaces(p);
	j->variants++;
}

/* Whose choices are tried. */
static const struct sched_target *target = &sched_default_target;
static struct sched_target seven_processors; /* a small H100 */

static void make_variants(struct job *j)
{
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	struct sched_choice choice[SCHED_MAX_CHOICES];
	if (!p)
		return;
	add_variant(j, false, -1, NULL, false);
	for (int i = 0; i < p->stages.n; i++) {
		int n = sched_choices(p, p->stages.at[i], target, choice);
		for (int k = 0; k < n; k++) {
			if (j->rule && strcmp(choice[k].rule->name, j->rule) != 0)
				continue;
			bool shares = strcmp(choice[k].rule->name, "contract_wide") != 0 || choice[k].param[5];
			if (target == &seven_processors && !shares) /* others are tried for all of them */
				continue;
			if (k > 0 || j->rule) /* the first is what the default takes */
				add_variant(j, false, i, &choice[k], false);
			add_variant(j, false, i, &choice[k], true);
		}
	}
	CHECK(!j->rule || j->variants > 1);
	if (!j->rule)
		add_dispatch(j);
}

/* The whole program with what is best; each loop with some choices, before the passes and after. */
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
			int n = p->stages.at[i]->loop ? sched_choices(p, p->stages.at[i], &sched_default_target, choice) : 0;
			for (int k = 1 + pick(3); k < n; k += 4) /* the first is what the default takes */
				add_variant(j, passes, i, &choice[k], k % 2 == 0);
		}
	}
}

/* One choice of each rule for each stage, and a plan of several. */
static void make_form_variants(struct job *j)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	if (!p)
		return;
	add_variant(j, pick(2), -1, NULL, false);
	for (int i = 0; i < p->stages.n; i++) {
		int n = sched_choices(p, p->stages.at[i], target, choice);
		for (int k = 0; k < n; k++) {
			int same = 0, earlier = 0;
			for (int other = 0; other < n; other++) {
				same += choice[other].rule == choice[k].rule;
				earlier += other < k && choice[other].rule == choice[k].rule;
			}
			if (!earlier && (!j->rule || strcmp(choice[k].rule->name, j->rule) == 0)) {
				int left = pick(same), at = k;
				for (; left || choice[at].rule != choice[k].rule; at++)
					left -= choice[at].rule == choice[k].rule;
				add_variant(j, false, i, &choice[at], pick(8) == 0);
			}
		}
	}
	if (!j->rule)
		add_dispatch(j);
}

/* One choice for one stage, or a plan of several, on one device. */
static void make_form_sample(struct job *j)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct ir_program *p = parse(j->arena, j->c->name, j->c->program);
	if (!p)
		return;
	if (run_c && run_emulator) /* whose text takes a compiler eight times as long */
		j->as_c = !(j->as_cuda = pick(8) == 0);
	if (!j->rule && pick(8) == 0)
		add_dispatch(j);
	if (j->variants)
		return;
	int stage = pick(p->stages.n), n = sched_choices(p, p->stages.at[stage], target, choice);
	int of[SCHED_MAX_CHOICES], left = 0;
	for (int k = 0; k < n; k++)
		if (!j->rule || strcmp(choice[k].rule->name, j->rule) == 0)
			of[left++] = k;
	if (left && (j->rule || pick(6)))
		add_variant(j, false, stage, &choice[of[pick(left)]], pick(6) == 0);
	else
		add_variant(j, pick(2), -1, NULL, false);
}

/* Whether its extents are drawn. */
static bool is_form(const struct job *j)
{
	return j->make == make_form_variants || j->make == make_form_sample;
}

/* ---- Inputs. */

static void fill_input(struct tensor *t, const char *name, uint64_t seed)
{
	int64_t n = tensor_count(t);
	bool real = type_is_float(t->type), ties = strncmp(name, "t_", 2) == 0;
	int range = ties ? 3 : real ? 2 : type_is_signed(t->type) ? 1000000 : 200;
	if (strncmp(name, "n_", 2) == 0)
		range = 6;
	if (!real && type_info(t->type)->bits <= 16 && range > 100)
		range = type_info(t->type)->bits == 8 ? 100 : 30000;
	tensor_random(t, seed, type_is_signed(t->type) || real ? -range : 0, range);
	for (int64_t i = 0; i < n && ties && real; i++) {
		uint64_t x = hash_u64(seed, (uint64_t)i);
		tensor_set_float(t, i, x % 50 == 0 ? NAN : x % 51 == 1 ? INFINITY : (double)(int64_t)(x % 7) - 3);
	}
}

static void make_inputs(struct job *j, const struct ir_program *p, struct shapes *s, struct tensor *in, uint64_t seed,
			struct arena *a)
{
	struct err e = { 0 };
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i], *like = j->like ? j->like->inputs.at[i] : b;
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			dim[k] = evaluate(b->dim[k], s);
		ck(tensor_new(&in[i], b->type, b->rank, dim, a, &e) == 0);
		fill_input(&in[i], like->name, seed + (uint64_t)i);
	}
}

/* ---- Runs. */

struct run {
	struct job *job;
	const struct variant *v;
	struct shapes *shapes;
	const struct tensor *in;
	void *memory[MAX_BUFFERS];
	bool emulated;
	struct err err;
};

static int allocate(struct run *r)
{
	const struct ir_program *p = r->v->plan->program;
	ck(p->buffers.n <= MAX_BUFFERS);
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		struct ir_program *any = (struct ir_program *)p;
		int64_t n = evaluate(ir_size_limit(any, ir_buffer_count(any, b)), r->shapes);
		size_t bytes = (size_t)type_bytes(b->type, n);
		const struct tensor *t = b->role == IR_CONSTANT ? b->data : NULL;
		for (int k = 0; k < p->inputs.n; k++)
			if (p->inputs.at[k] == b)
				t = &r->in[k];
		if (r->emulated)
			r->memory[i] = emulator_alloc(b->name, bytes, 0);
		else if (r->job->code->dev->alloc(r->job->code->dev, &r->memory[i], bytes ? bytes : 1, &r->err) < 0)
			return r->err.code;
		if (!r->emulated && bytes)
			memset(r->memory[i], 0xa5, bytes);
		if (t && bytes && r->emulated)
			emulator_copy_in(r->memory[i], t->data, bytes);
		else if (t && bytes)
			memcpy(r->memory[i], t->data, bytes);
		if (t && r->emulated)
			emulator_mark(r->memory[i], NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
	}
	return 0;
}

static int launch(struct run *r, const struct ir_kernel *k)
{
	void *args[64], *pointers[64];
	int64_t values[64];
	int32_t narrow[64];
	int n = 0;
	vec_each(b, &k->buffers) {
		pointers[n] = r->memory[(*b)->id];
		args[n] = &pointers[n];
		n++;
	}
	vec_each(s, &k->symbols) {
		CHECK(symbol_value(r->shapes, *s, &values[n]));
		narrow[n] = (int32_t)values[n];
		args[n] = k->index64 ? (void *)&values[n] : (void *)&narrow[n];
		n++;
	}
	int64_t blocks = evaluate(k->blocks, r->shapes);
	if (blocks == 0)
		return 0;
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];
	for (int i = 0; i < k->maps.n; i++) {
		const struct ir_tensor_map *m = &k->maps.at[i];
		struct tpat_rt_map_values v = { .element_bytes = type_info(m->buf->type)->bits / 8, .rank = m->rank,
			                        .pixels = m->pixels };
		v.from = r->memory[m->buf->id];
		for (int d = 0; d < m->rank; d++) {
			v.dim[d] = evaluate(m->dim[d], r->shapes);
			v.stride[d] = evaluate(m->stride[d], r->shapes);
			v.box[d] = m->box[d];
			v.first[d] = m->first[d];
			v.step[d] = m->step[d];
			if (m->count[d])
				v.count[d] = evaluate(m->count[d], r->shapes);
		}
		emulator_tensor_map(map[i], &v);
		args[n++] = map[i];
	}
	uint32_t grid[3] = { (uint32_t)blocks, 1, 1 }, block[3] = { (uint32_t)k->threads, 1, 1 };
	if (r->emulated)
		return emulator_launch(r->job->code->emulated, r->v->name, k->name, grid, block, (uint32_t)k->shared_bytes, args,
		                       &r->err);
	struct dev_kernel *kernel;
	struct dev *d = r->job->code->dev;
	TRY(d->kernel(d, &kernel, r->job->code->module, k->name, k->shared_bytes, &r->err));
	return d->launch(d, kernel, grid, block, k->shared_bytes, args, &r->err);
}

static int run_steps(struct run *r)
{
	vec_each(step, &r->v->plan->steps) {
		const struct ir_kernel *chosen = NULL;
		for (int i = 0; i < (*step)->n && !chosen; i++)
			if (!(*step)->at[i]->guard || evaluate((*step)->at[i]->guard, r->shapes))
				chosen = (*step)->at[i];
		if (!chosen)
			return err_set(&r->err, ERR_DIFFER, "a step has no kernel that fits.");
		TRY(launch(r, chosen));
	}
	return 0;
}

/* Where extents are drawn, sums may be long: their rounding goes with the largest of their terms. */
static struct tensor_tolerance tolerance_of(const struct run *r, const struct tensor *want)
{
	struct tensor_tolerance t = tensor_tolerance_of(want->type);
	double largest = 0;
	if (!is_form(r->job) || !type_is_float(want->type))
		return t;
	for (int64_t i = 0; i < tensor_count(want); i++)
		largest = fmax(largest, isfinite(tensor_float(want, i)) ? fabs(tensor_float(want, i)) : 0);
	t.absolute += t.relative * largest;
	return t;
}

static void compare(struct run *r, const struct tensor *want)
{
	const struct ir_program *p = r->v->plan->program;
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		struct tensor got = want[i];
		struct tensor_difference d;
		size_t bytes = (size_t)tensor_bytes(&got);
		got.data = r->memory[b->id];
		int64_t missing = bytes && r->emulated ? emulator_first_unwritten(got.data, bytes) : -1;
		bool same = missing < 0 && tensor_compare(&d, &got, &want[i], tolerance_of(r, &want[i])) && d.differing == 0;
		if (test_check(same, __FILE__, __LINE__, "same as the interpreter"))
			continue;
		const struct ir_kernel *k = r->v->plan->steps.at[0]->at[0];
		printf("  %s (first kernel: %s, %s%s), %s: %s", r->v->name, k->rule, k->params, k->index64 ? ", 64 bits" : "",
		       r->emulated ? "emulator" : "C", b->name);
		for (int s = 0; s < r->shapes->n; s++)
			printf(" %s=%" PRId64, r->shapes->name[s], r->shapes->value[s]);
		if (missing >= 0)
			printf(": byte %" PRId64 " was never written\n", missing);
		else
			printf(": %" PRId64 " of %" PRId64 " differ, at %" PRId64 " got %.9g, want %.9g\n", d.differing, d.count,
			       d.worst, d.worst_got, d.worst_want);
	}
}

static void run_variant(struct job *j, const struct variant *v, struct shapes *s, const struct tensor *in,
			const struct tensor *want, bool emulated)
{
	struct run r = { .job = j, .v = v, .shapes = s, .in = in, .emulated = emulated };
	int rc = allocate(&r);
	if (rc == 0)
		rc = run_steps(&r);
	if (test_check(rc == 0, __FILE__, __LINE__, "runs"))
		compare(&r, want);
	else
		printf("  %s: %s\n", v->name, r.err.text);
	for (int i = 0; i < v->plan->program->buffers.n; i++) {
		if (emulated)
			emulator_free(r.memory[i]);
		else
			j->code->dev->free(j->code->dev, r.memory[i]);
	}
}

static void run_shapes(struct job *j, const char *text, uint64_t seed)
{
	struct arena *a = arena_new();
	struct shapes s;
	struct tensor in[MAX_BUFFERS] = { { 0 } }, want[MAX_BUFFERS] = { { 0 } };
	const struct tensor *inputs[MAX_BUFFERS];
	const struct ir_program *p = j->variant[0].plan->program;
	struct err e = { 0 };
	read_shapes(&s, text, a);
	make_inputs(j, p, &s, in, seed, a);
	for (int i = 0; i < p->inputs.n; i++)
		inputs[i] = &in[i];
	bool runs = eval_program(p, inputs, want, NULL, a, &e) == 0;
	if (!runs && is_form(j)) { /* other extents than the case is made for */
		arena_free(a);
		passed_over++;
		return;
	}
	if (test_check(runs, __FILE__, __LINE__, "can be interpreted")) {
		for (int v = 0; v < j->variants && test_failed < 40; v++) {
			if (j->as_cuda && j->code->emulated)
				run_variant(j, &j->variant[v], &s, in, want, true);
			if (j->as_c && j->code->module)
				run_variant(j, &j->variant[v], &s, in, want, false);
		}
	} else {
		printf("  %s: %s\n", j->c->name, e.text);
	}
	arena_free(a);
}

/* ---- Texts to code: one module a case, or some cases. */

static void write_texts(struct job *j)
{
	const struct ir_plan *plan[MAX_VARIANTS];
	struct str s = str_new(j->arena);
	struct err e = { 0 };
	for (int i = 0; i < j->variants; i++)
		plan[i] = j->variant[i].plan;
	gen_cuda(&s, plan, j->variants);
	char *path = path_join(j->arena, texts_folder, arena_printf(j->arena, "%s.cu", j->c->name));
	if (!test_check(file_write(path, str_text(&s), strlen(str_text(&s)), &e) == 0, __FILE__, __LINE__, "written"))
		printf("  %s\n", e.text);
}

static void build_emulated(struct code *code, struct job *const *jobs, int n)
{
	struct {
		VEC(struct emulator_text);
	} texts = { 0 };
	struct err e = { 0 };
	for (int i = 0; i < n; i++) {
		const struct job *j = jobs[i];
		for (int v = 0; j->as_cuda && v < j->variants; v++) {
			struct str s = str_new(code->arena);
			const struct ir_plan *plan = j->variant[v].plan;
			gen_cuda(&s, &plan, 1);
			struct emulator_text text = { j->variant[v].name, str_text(&s), j->variant[v].may_race };
			vec_push(code->arena, &texts, text);
		}
	}
	if (texts.n && !test_check(emulator_build(&code->emulated, texts.at, texts.n, &e) == 0, __FILE__, __LINE__,
	                           "compiles as CUDA"))
		printf("  %s: %s\n", jobs[0]->c->name, e.text);
}

static void build_c(struct code *code, struct job *const *jobs, int n)
{
	const char *const options[] = { sampled ? "-O0" : "-O1", "-Wall", "-Wno-unused", NULL };
	struct str s = str_new(code->arena);
	struct dev_code compiled;
	struct err e = { 0 };
	char *log = NULL;
	for (int i = 0; i < n; i++) {
		for (int v = 0; jobs[i]->as_c && v < jobs[i]->variants; v++) {
			const struct ir_plan *plan = jobs[i]->variant[v].plan;
			gen_c(&s, &plan, 1);
		}
	}
	if (!s.n)
		return;
	struct dev_source source = { "kernels.c", str_text(&s), options, false };
	int rc = dev_cpu_open(&code->dev, &e);
	if (rc == 0)
		rc = code->dev->compile(code->dev, &compiled, &source, &log, code->arena, &e);
	if (rc == 0)
		rc = code->dev->load(code->dev, &code->module, &compiled, &e);
	if (!test_check(rc == 0, __FILE__, __LINE__, "compiles as C"))
		printf("  %s: %s\n", jobs[0]->c->name, e.text);
	if (rc == 0 && !test_check(!*log, __FILE__, __LINE__, "compiles without a warning"))
		printf("%s\n", log);
}

/* ---- The same with other names. */

/* Words of the case's kernels, and those that are always tried. */
static struct map words_of(const struct job *j)
{
	struct map words = map_new(j->arena);
	for (int v = 0; v < j->variants; v++)
		for (int c = 0; c < 2; c++)
			renamed_collect(&words, renamed_kernels(j->variant[v].plan, c, j->arena));
	for (size_t i = 0; i < sizeof renamed_usual / sizeof *renamed_usual; i++)
		map_put(&words, renamed_usual[i], j->arena);
	return words;
}

static void same_but_names(const struct job *j, const struct job *other, int variant, bool c)
{
	struct arena *a = arena_new();
	const char *own = renamed_kernels(j->variant[variant].plan, c, a);
	const char *same = renamed_kernels(other->variant[variant].plan, c, a);
	if (!c)
		CHECK(renamed_signed(own));
	if (!test_check(renamed_same(&own, &same, a), __FILE__, __LINE__, "the same but for names"))
		printf("  %s, %s\n  %.600s\n  %.600s\n%s", other->variant[variant].name, c ? "C" : "CUDA", own, same,
		       other->c->program);
	arena_free(a);
}

static void check_names(const struct schedule_case *c, const char *rule)
{
	struct job j = { .c = c, .rule = rule, .arena = arena_new() };
	make_variants(&j);
	struct map words = words_of(&j);
	const struct ir_program *p = j.variant[0].plan->program;
	int all = words.n / (p->buffers.n ? p->buffers.n : 1) + 1;
	for (int round = 0; round < (rounds ? rounds : all) && test_failed < 40; round++) {
		struct arena *a = arena_new();
		/* A few rounds are spread over all names. */
		struct schedule_case with = renamed_case(c, p, &words, rounds ? round * all / rounds : round, a);
		struct job other = { .c = &with, .rule = rule, .arena = a };
		make_variants(&other);
		CHECK_INT(other.variants, j.variants);
		for (int v = 0; v < j.variants && v < other.variants && test_failed < 40; v++) {
			same_but_names(&j, &other, v, false);
			same_but_names(&j, &other, v, true);
		}
		arena_free(a);
	}
	arena_free(j.arena);
}

static struct job *job_new(const struct schedule_case *c, const char *rule, void (*make)(struct job *j),
                           const struct ir_program *like)
{
	struct arena *a = arena_new();
	struct job *j = NEW(a, struct job);
	*j = (struct job){ .c = c, .rule = rule, .arena = a, .make = make, .like = like, .as_cuda = run_emulator, .as_c = run_c };
	make(j);
	return j;
}

/* Compiles them together, runs and frees them. */
static void run_jobs(struct job *const *jobs, int n)
{
	struct code code = { .arena = arena_new() };
	for (int i = 0; i < n && texts_folder; i++)
		write_texts(jobs[i]);
	build_emulated(&code, jobs, n);
	build_c(&code, jobs, n);
	for (int k = 0; k < n; k++) {
		struct job *j = jobs[k];
		int failed = test_failed;
		j->code = &code;
		for (int i = 0; i < MAX_SHAPES && j->variants && j->c->shapes[i]; i++)
			run_shapes(j, j->c->shapes[i], (uint64_t)i * 100 + 7);
		if (test_failed > failed && is_form(j))
			printf("%s%s", j->c->name, j->c->program);
		arena_free(j->arena);
	}
	emulator_unload(code.emulated);
	if (code.module)
		code.dev->unload(code.dev, code.module);
	if (code.dev)
		code.dev->close(code.dev);
	arena_free(code.arena);
}

static void run_case(const struct schedule_case *c, const char *rule, void (*make)(struct job *j), const struct ir_program *like)
{
	struct job *j = job_new(c, rule, make, like);
	run_jobs(&j, 1);
}

static void run_renamed(const struct schedule_case *c, const char *rule)
{
	struct job j = { .c = c, .rule = rule, .arena = arena_new() };
	make_variants(&j);
	struct map words = words_of(&j);
	const struct ir_program *like = j.variant[0].plan->program;
	struct schedule_case with = renamed_case(c, like, &words, renamed_round, j.arena);
	run_case(&with, rule, make_variants, like);
	arena_free(j.arena);
}

/* ---- Which kernel is taken: one with 64-bit positions where 32 bits do not hold them, or a step on the way. */

static void positions(void)
{
	static const struct {
		const char *program, *shapes;
		bool wide;
	} cases[] = {
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[i]\n", "N=2100000000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[i]\n", "N=2147483647", true },
		{ "(x: u8[N,K]) -> (y: u8[N,K])\n  y: u8[N,K] = map (i, j) x[i, j]\n", "N=65536 K=65536", true },
		{ "(x: u8[N], q: u8[K]) -> (y: u8[K])\n  y: u8[K] = map (i) x[floordiv(i * N, K)]\n", "N=40000 K=40000", false },
		{ "(x: u8[N], q: u8[K]) -> (y: u8[K])\n  y: u8[K] = map (i) x[floordiv(i * N, K)]\n", "N=60000 K=60000", true },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[floordiv(i * 5000, 5001)]\n", "N=400000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[floordiv(i * 5000, 5001)]\n", "N=500000", true },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[mod(N - i * 7000, N)]\n", "N=300000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[mod(N - i * 7000, N)]\n", "N=400000", true },
		{ "(x: u8[N], q: i32[K]) -> (y: i32[N])\n"
		  "  y: i32[N] = sum (i | r<K) q[r] + i32(i * K)\n", "N=60000 K=60000", true },
		{ "(x: u8[N], q: i32[K]) -> (y: i32[N])\n  y: i32[N] = sum (i | r<K) q[r]\n", "N=60000 K=60000", false },
		{ "(x: u8[N], d: u8[K]) -> (y: u8[N])\n"
		  "  y: u8[N] = scatter sum (i | r<K, s<5) init x[i] at [mod(r, N)] value d[r]\n", "N=6 K=500000000", true },
		{ "(x: u8[70000,70000]) -> (y: u8[70000])\n  y: u8[70000] = map (i) x[i, 3]\n", "", true },
		{ "(x: u8[N]) -> (y: u8[N])\n" /* a float is for no guard */
		  "  y: u8[N] = map (i) x[min(i + index(floor(f32(N) * 0.5)), N - 1)]\n", "N=70000", false },
		{ "(x: u8[7000,7000]) -> (y: u8[7000])\n  y: u8[7000] = map (i) x[i, 3]\n", "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_new();
		struct shapes s;
		struct ir_program *p = parse(a, "positions", cases[i].program);
		const struct ir_kernel *last = NULL;
		read_shapes(&s, cases[i].shapes, a);
		if (p) {
			const struct ir_plan *plan = sched_program(p, NULL, NULL);
			vec_each(k, plan->steps.at[plan->steps.n - 1])
				if (!last && (!(*k)->guard || evaluate((*k)->guard, &s)))
					last = *k;
			if (!test_check(last && last->index64 == cases[i].wide, __FILE__, __LINE__, "width of positions"))
				printf("  %s %s\n", cases[i].shapes, cases[i].program);
		}
		arena_free(a);
	}
}

/* What SCHEDULE_TEST says, or these. */
static void read_setting(unsigned long *seed, unsigned long *count)
{
	const char *setting = getenv("SCHEDULE_TEST");
	if (setting)
		ck(sscanf(setting, "%lu,%lu", seed, count) == 2);
}

static void random_cases(void)
{
	unsigned long seed = 1, count = 5;
	read_setting(&seed, &count);
	for (unsigned long i = 0; i < count && test_failed < 40; i++) {
		struct arena *a = arena_new();
		random_state = hash_u64(seed, i);
		struct schedule_case c = { .shapes = { "N=4 K=6", "N=1 K=1", "N=3 K=40" } };
		c.name = arena_printf(a, "random_%lu", i);
		c.program = random_text(a) + strlen("program random");
		run_case(&c, NULL, make_random_variants, NULL);
		if (test_failed)
			printf("%s%s", c.name, c.program);
		arena_free(a);
	}
}

#define CASES(list, rule) { list, sizeof list / sizeof *list, rule }
static const struct {
	const struct schedule_case *at;
	size_t n;
	const char *rule; /* that is asked for these; null: every one */
} lists[] = {
	CASES(map_cases, NULL),
	CASES(contract_cases, NULL),
	CASES(row_cases, NULL),
	CASES(order_cases, NULL),
	CASES(scatter_cases, NULL),
	CASES(loop_cases, NULL),
	CASES(contract_wide_cases, "contract_wide"),
	CASES(contract_stream_cases, "contract_wide"),
	CASES(attention_cases, "attention"),
	CASES(attention_mma_cases, "attention_mma"),
	CASES(attention_wide_cases, "attention_wide"),
};

/* Those that are named, or all. */
static void run_list(const struct schedule_case *c, size_t n, const char *rule, int names, char **name)
{
	for (size_t i = 0; i < n && test_failed < 40; i++) {
		bool chosen = names == 0;
		for (int k = 0; k < names; k++)
			chosen |= strcmp(name[k], c[i].name) == 0;
		if (!chosen || met++ % parts != part)
			continue;
		if (rounds >= 0)
			check_names(&c[i], rule);
		else if (renamed_round >= 0)
			run_renamed(&c[i], rule);
		else
			run_case(&c[i], rule, make_variants, NULL);
	}
}

/* The i-th case that is drawn from all lists, with extents of other forms; in `a`, which must outlive the job. */
static struct job *form_job(unsigned long seed, unsigned long i, struct arena *a)
{
	size_t all = 0, list = 0;
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
		all += lists[k].n;
	random_state = hash_u64(seed, i);
	size_t at = (size_t)pick((int)all);
	while (at >= lists[list].n)
		at -= lists[list++].n;
	const struct schedule_case *drawn = &lists[list].at[at];
	target = lists[list].at == contract_stream_cases ? &seven_processors : &sched_default_target;
	struct schedule_case *c = NEW(a, struct schedule_case);
	*c = form_case(drawn, arena_printf(a, "extents_%lu_%s", i, drawn->name), sampled, a);
	return job_new(c, lists[list].rule, sampled ? make_form_sample : make_form_variants, NULL);
}

/* Those, one by one; where each has a single variant, some together, since a compiler's start takes as long as they do. */
static void form_cases(void)
{
	enum { TOGETHER = 32 };
	unsigned long seed = 1, count = 25;
	struct job *jobs[TOGETHER];
	int n = 0;
	read_setting(&seed, &count);
	struct arena *a = arena_new();
	for (unsigned long i = (unsigned long)part; i < count && test_failed < 40; i += (unsigned long)parts) {
		jobs[n++] = form_job(seed, i, a);
		if (n < (sampled ? TOGETHER : 1) && i + (unsigned long)parts < count)
			continue;
		run_jobs(jobs, n);
		arena_free(a);
		a = arena_new();
		n = 0;
	}
	arena_free(a);
	if (passed_over)
		printf("%d shapes passed over\n", passed_over);
}

int main(int argc, char **argv)
{
	int names = 0;
	seven_processors = sched_default_target;
	seven_processors.processors = 7;
	seven_processors.typical = 1000;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-c") == 0)
			run_emulator = false;
		else if (strcmp(argv[i], "-e") == 0)
			run_c = false;
		else if (strcmp(argv[i], "-s") == 0)
			sampled = true;
		else if (strcmp(argv[i], "-p") == 0 && i + 1 < argc)
			ck(sscanf(argv[++i], "%d/%d", &part, &parts) == 2 && parts > 0 && part >= 0 && part < parts);
		else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			texts_folder = argv[++i];
		else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
			renamed_round = atoi(argv[++i]);
		else
			argv[++names] = argv[i];
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		target = lists[i].at == contract_stream_cases ? &seven_processors : &sched_default_target;
		run_list(lists[i].at, lists[i].n, lists[i].rule, names, argv + 1);
	}
	if (rounds >= 0 || renamed_round >= 0)
		return test_done();
	if (names == 0 && part == 0)
		positions();
	if ((names == 0 && part == parts - 1) || (names && strcmp(argv[1], "random") == 0))
		random_cases();
	if (names == 0 || strcmp(argv[1], "extents") == 0)
		form_cases();
	return test_done();
}
