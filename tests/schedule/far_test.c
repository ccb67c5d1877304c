/* Positions beyond 2^31: for each schedule rule a program whose tensors have more elements than that, most of them more
 * than 2^32.
 *
 *   far_test [RULE ...]       all rules, or these; far_test --rules: the names
 *
 * Along its first axis, N, a program's results depend only on the same rows of its inputs. So only result rows near
 * 2^31, 2^32, both ends and some between are fetched, and compared with the interpreter's for the same input rows, a
 * small program. Inputs repeat a pattern whose length is coprime to a row. A compaction is the exception: the number
 * kept of the pattern decides which element of x comes k-th.
 *
 * Needs a GPU with 80 GB. Without one it schedules, and checks that the kernels for these extents have 64-bit
 * positions; NVRTC compiles them if available. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "eval/eval.h"
#include "sched/sched.h"
#include "lib/tpat_decisions.h"
#include "tests/nodes/plan_run.h"
#include "tests/schedule/far_cases.h"
#include "tests/schedule/shapes.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { PATTERN = 8388593, MOST_ROWS = 48, MOST_EDGES = 8 }; /* a prime number of elements */

struct far {
	const struct far_case *c;
	struct ir_program *program; /* of any number of rows */
	struct ir_program *far;     /* the same, or with a fixed number of rows */
	struct shapes shapes;
	struct dev *dev;
	struct tensor in[MOST_EDGES];      /* extents alone */
	struct tensor pattern[MOST_EDGES]; /* their repeated contents */
	struct tensor want[MOST_EDGES];    /* of the rows */
	int64_t row[MOST_ROWS];
	int rows;
	struct arena *arena;
	struct err err;
};

/* Returns the text with the number of rows instead of N. */
static const char *fixed_text(struct far *f)
{
	struct str out = str_new(f->arena);
	int64_t n = 0;
	ck(shapes_value(&f->shapes, "N", &n));
	for (const char *s = f->c->program; *s; s++)
		if (*s == 'N')
			str_printf(&out, "%" PRId64, n);
		else
			str_addn(&out, s, 1);
	return str_text(&out);
}

static struct ir_program *parse(struct far *f, const char *text)
{
	struct ir_program *p = NULL;
	if (ir_parse_program(&p, arena_printf(f->arena, "program far_%s%s", f->c->rule, text), f->arena, &f->err) < 0) {
		printf("%s: %s\n", f->c->rule, f->err.text);
		CHECK(!"the case can be read");
	}
	return p;
}

static int64_t evaluate(struct far *f, expr e)
{
	int64_t x = 0;
	ck(ir_eval_int(e, symbol_value, &f->shapes, &x));
	return x;
}

static int64_t count_of(struct far *f, const struct ir_buffer *b)
{
	return evaluate(f, ir_size_limit(f->program, ir_buffer_count(f->program, b)));
}

/* True if its first axis is N. */
static bool has_rows(const struct ir_buffer *b)
{
	return b->rank && b->dim[0]->op == IR_SYMBOL && strcmp(b->dim[0]->name, "N") == 0;
}

/* ---- Rows to check. */

static void add_row(struct far *f, int64_t row, int64_t n)
{
	for (int i = 0; i < f->rows; i++)
		if (f->row[i] == row)
			return;
	if (row >= 0 && row < n && f->rows < MOST_ROWS)
		f->row[f->rows++] = row;
}

/* Chooses rows at and next to elements and bytes 0, 2^31 and 2^32, the last row and some others. */
static void choose_rows(struct far *f)
{
	int64_t n = 0;
	ck(shapes_value(&f->shapes, "N", &n));
	add_row(f, 0, n);
	add_row(f, n - 1, n);
	vec_each (b, &f->program->buffers) {
		if (!has_rows(*b) || ((*b)->role != IR_INPUT && (*b)->role != IR_OUTPUT))
			continue;
		int64_t inside = count_of(f, *b) / n, bits = type_info((*b)->type)->bits;
		for (int power = 31; power <= 32; power++) {
			int64_t at = ((int64_t)1 << power) / inside, byte = ((int64_t)1 << power) * 8 / bits / inside;
			for (int k = -1; k <= 1; k++) {
				add_row(f, at + k, n);
				add_row(f, byte + k, n);
			}
		}
	}
	for (uint64_t i = 0; i < 6; i++)
		add_row(f, (int64_t)(hash_u64(5, i) % (uint64_t)n), n);
}

/* ---- Inputs. */

static void make_patterns(struct far *f)
{
	for (int i = 0; i < f->program->inputs.n; i++) {
		const struct ir_buffer *b = f->program->inputs.at[i];
		struct tensor *t = &f->pattern[i];
		int64_t n = PATTERN;
		bool real = type_is_float(b->type);
		f->in[i] = (struct tensor){ .type = b->type, .rank = b->rank };
		for (int k = 0; k < b->rank; k++)
			f->in[i].dim[k] = evaluate(f, b->dim[k]);
		ck(tensor_new(t, b->type, 1, &n, f->arena, &f->err) == 0);
		tensor_random(t, (uint64_t)i + 3, type_is_signed(b->type) || real ? -2 : 0, real ? 2 : 120);
	}
}

/* Rows of the input, or all of it. */
static void gather(struct far *f, int input, struct tensor *out)
{
	const struct ir_buffer *b = f->program->inputs.at[input];
	int64_t dim[IR_MAX_RANK], inside = 1, bytes = type_info(b->type)->bits / 8;
	memcpy(dim, f->in[input].dim, sizeof dim);
	for (int k = has_rows(b); k < b->rank; k++)
		inside *= dim[k];
	if (has_rows(b))
		dim[0] = f->rows;
	ck(tensor_new(out, b->type, b->rank, dim, f->arena, &f->err) == 0);
	for (int64_t r = 0; r < (has_rows(b) ? f->rows : 1); r++) {
		int64_t from = has_rows(b) ? f->row[r] * inside : 0;
		for (int64_t i = 0; i < inside; i++)
			memcpy((char *)out->data + (r * inside + i) * bytes,
			       (const char *)f->pattern[input].data + (from + i) % PATTERN * bytes, (size_t)bytes);
	}
}

/* Computes a compaction of x: its elements at f->row, and their total number. Replaces choose_rows() and
 * interpret(). */
static void compact(struct far *f)
{
	const struct tensor *x = &f->pattern[0];
	int64_t *kept = NEWN(f->arena, int64_t, PATTERN), n = 0, all = f->in[0].dim[0], found;
	for (int64_t i = 0; i < PATTERN; i++)
		if (((const uint8_t *)x->data)[i] < f->c->below)
			kept[n++] = i;
	found = all / PATTERN * n;
	for (int64_t i = 0; i < n && kept[i] < all % PATTERN; i++)
		found++;
	for (int power = 31; power <= 32; power++)
		for (int64_t k = -1; k <= 1; k++)
			add_row(f, ((int64_t)1 << power) + k, found);
	for (uint64_t i = 0; i < 8; i++)
		add_row(f, i < 2 ? (found - 1) * (int64_t)i : (int64_t)(hash_u64(5, i) % (uint64_t)found), found);
	enum type type = f->program->outputs.at[0]->type;
	int64_t rows = f->rows;
	ck(tensor_new(&f->want[0], type, 1, &rows, f->arena, &f->err) == 0);
	ck(tensor_new(&f->want[1], TYPE_I64, 0, NULL, f->arena, &f->err) == 0);
	*(int64_t *)f->want[1].data = found;
	for (int i = 0; i < f->rows; i++) {
		int64_t at = f->row[i] / n * PATTERN + kept[f->row[i] % n];
		if (f->c->places)
			((int64_t *)f->want[0].data)[i] = at;
		else
			((uint8_t *)f->want[0].data)[i] = ((const uint8_t *)x->data)[at % PATTERN];
	}
}

static bool interpret(struct far *f)
{
	const struct tensor *in[MOST_EDGES];
	struct tensor rows[MOST_EDGES];
	for (int i = 0; i < f->program->inputs.n; i++) {
		gather(f, i, &rows[i]);
		in[i] = &rows[i];
	}
	int rc = eval_program(f->program, in, f->want, NULL, f->arena, &f->err);
	if (!test_check(rc == 0, __FILE__, __LINE__, "the rows can be interpreted"))
		printf("  %s: %s\n", f->c->rule, f->err.text);
	return rc == 0;
}

static int fill(void *user, const struct ir_buffer *input, void *at, size_t bytes, struct err *e)
{
	struct far *f = user;
	int i = 0;
	while (f->far->inputs.at[i] != input)
		i++;
	size_t whole = (size_t)tensor_bytes(&f->pattern[i]);
	for (size_t done = 0; done < bytes; done += whole)
		TRY(f->dev->copy_in(f->dev, (char *)at + done, f->pattern[i].data,
		                    bytes - done < whole ? bytes - done : whole, e));
	return 0;
}

/* ---- Results. */

static int take(void *user, int output, const void *at, struct err *e)
{
	struct far *f = user;
	const struct tensor *want = &f->want[output];
	struct tensor got;
	struct tensor_difference d = { 0 };
	TRY(tensor_new(&got, want->type, want->rank, want->dim, f->arena, e));
	int rows = want->rank ? f->rows : 1;
	size_t bytes = (size_t)(tensor_bytes(want) / rows);
	for (int r = 0; r < rows; r++)
		TRY(f->dev->copy_out(f->dev, (char *)got.data + (size_t)r * bytes,
		                     (const char *)at + (want->rank ? (size_t)f->row[r] * bytes : 0), bytes, e));
	struct tensor_tolerance t = tensor_tolerance_of(want->type);
	t.absolute = f->c->tolerance > t.absolute ? f->c->tolerance : t.absolute;
	bool same = tensor_compare(&d, &got, want, t) && d.differing == 0;
	if (!test_check(same, __FILE__, __LINE__, "rows as the interpreter makes them"))
		printf("  %s, %s: %" PRId64 " of %" PRId64 " differ, the worst in row %" PRId64
		       ": got %.9g, want %.9g\n",
		       f->c->rule, f->program->outputs.at[output]->name, d.differing, d.count,
		       f->row[d.worst / (d.count / f->rows)], d.worst_got, d.worst_want);
	return 0;
}

/* ---- Kernels. */

/* Makes a plan with the rule's first choice for a stage of the program. */
static struct ir_plan *schedule(struct far *f)
{
	struct sched_extent extent[16];
	struct sched_choice choice[SCHED_MAX_CHOICES], given[16] = { { 0 } };
	struct sched_target target = sched_default_target;
	for (int i = 0; i < f->shapes.n; i++)
		extent[i] = (struct sched_extent){ ir_symbol(f->far->pool, f->shapes.name[i]), f->shapes.value[i] };
	target.extent = extent;
	target.extents = f->shapes.n;
	ck(f->far->stages.n <= 16);
	for (int i = 0; i < f->far->stages.n; i++) {
		int n = sched_choices(f->far, f->far->stages.at[i], &target, choice);
		for (int k = 0; k < n; k++) {
			if (strcmp(choice[k].rule->name, f->c->rule) != 0)
				continue;
			given[i] = choice[k];
			return sched_program(f->far, &target, given);
		}
	}
	return NULL;
}

static void print_why(struct far *f)
{
	const struct sched_rule *rule = tpat_rule_named(f->c->rule);
	vec_each (s, &f->far->stages) {
		struct sched_choice any[SCHED_RULE_CHOICES];
		const char *why;
		if (sched_candidates(f->far, *s, rule, &sched_default_target, any, &why) > 0)
			why = "it applies";
		printf("  %s, stage %s: %s\n", rule->name, (*s)->out->name, why);
	}
}

/* Checks that kernels beyond 2^31 have 64-bit positions, and that one of them is the rule's, or its twin's. */
static bool check_widths(struct far *f, const struct ir_plan *plan, const struct tensor *const *in)
{
	const struct ir_kernel **kernel = NEWN(f->arena, const struct ir_kernel *, plan->steps.n + 1);
	bool rule = false, wide = true;
	CHECK_INT(plan_kernels(kernel, plan, 90, in, &f->err), 0);
	for (int i = 0; i < plan->steps.n; i++) {
		if (!test_check(kernel[i] != NULL, __FILE__, __LINE__, "a kernel with blocks"))
			break;
		bool far = false;
		vec_each (b, &kernel[i]->buffers)
			far |= count_of(f, *b) > INT32_MAX;
		bool narrow = far && !kernel[i]->index64;
		if (!test_check(!narrow, __FILE__, __LINE__, "64-bit positions"))
			printf("  %s: kernel %s (%s)\n", f->c->rule, kernel[i]->name, kernel[i]->rule);
		wide &= !narrow;
		const char *name = f->c->twin ? f->c->twin : f->c->rule;
		rule |= far && strncmp(kernel[i]->rule, name, strlen(name)) == 0;
		int64_t blocks = evaluate(f, kernel[i]->blocks);
		CHECK(blocks > 0 && blocks <= INT32_MAX);
	}
	if (!test_check(rule, __FILE__, __LINE__, "a kernel of the rule reaches beyond 2^31"))
		printf("  %s: the first is %s's\n", f->c->rule,
		       plan->steps.n && kernel[0] ? kernel[0]->rule : "nothing");
	return wide;
}

static int compile_on(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e)
{
	struct dev *d = user;
	return d ? d->compile(d, out, s, NULL, a, e) : language_cuda.compile(out, 90, s, NULL, a, e);
}

static void run_case(const struct far_case *c, struct dev *d, bool compiles)
{
	struct far f = { .c = c, .dev = d, .arena = arena_new() };
	struct tune_code code = { compile_on, d, &language_cuda };
	struct plan_edges edges = { fill, take, &f };
	const struct tensor *in[MOST_EDGES];
	read_shapes(&f.shapes, c->shapes, f.arena);
	f.program = parse(&f, c->program);
	f.far = c->fixed ? parse(&f, fixed_text(&f)) : f.program;
	struct ir_plan *plan = f.program ? schedule(&f) : NULL;
	if (f.program && !test_check(plan != NULL, __FILE__, __LINE__, "the rule has a choice for the case"))
		print_why(&f);
	if (plan) {
		make_patterns(&f);
		if (c->below)
			compact(&f);
		else
			choose_rows(&f);
		for (int i = 0; i < f.program->inputs.n; i++)
			in[i] = &f.in[i];
		bool wide = check_widths(&f, plan, in), known = c->below || interpret(&f);
		int rc = 0;
		if (d && wide && known)
			rc = plan_run_edges(d, &code, plan, in, &edges, f.arena, &f.err);
		else if (!d && compiles)
			rc = plan_compile(&code, 90, plan, in, f.arena, &f.err);
		if (!test_check(rc == 0, __FILE__, __LINE__, d ? "runs" : "compiles"))
			printf("  %s: %s\n", c->rule, f.err.text);
	}
	arena_free(f.arena);
}

static bool is_asked(const char *rule, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], rule) == 0)
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	enum { CASES = sizeof far_cases / sizeof *far_cases };
	struct err e = { 0 };
	struct dev *d = NULL;
	struct dev_code unused;
	struct arena *a = arena_new();
	int asked = 0;
	for (int i = 0; i < CASES && argc == 2 && strcmp(argv[1], "--rules") == 0; i++)
		puts(far_cases[i].rule);
	if (argc == 2 && strcmp(argv[1], "--rules") == 0)
		return 0;
	if (dev_open(&d, "cuda", &e) < 0)
		printf("The results need a GPU; only kernels are looked at: %s\n", e.text);
	err_clear(&e);
	struct dev_source probe = { "probe.cu", "#include \"tpat_device.h\"\n", NULL, false };
	bool compiles = d || language_cuda.compile(&unused, 90, &probe, NULL, a, &e) == 0;
	for (int i = 0; i < CASES; i++) {
		if (!is_asked(far_cases[i].rule, argc, argv))
			continue;
		asked++;
		run_case(&far_cases[i], d, compiles);
		printf("%s: %d passed, %d failed so far\n", far_cases[i].rule, test_passed, test_failed);
		fflush(stdout);
	}
	CHECK(asked > 0);
	if (d)
		d->close(d);
	arena_free(a);
	return test_done();
}
