/* Runs folders of ONNX models with inputs and expected outputs (tests/cases.py writes them): each node becomes its own
 * program, which a backend runs; the results are compared.
 *
 *   node_test [OPTION ...] FOLDER/index.tsv
 *   node_test --rules                              prints the names of all rules
 *
 *   --device interp|emulator|cpu|aarch64|cuda
 *                    the interpreter; the generated .cu on the emulator; the plugin library, called through its ABI,
 * with its kernels in C, or those of a library for AArch64 under QEMU, or on a GPU
 *   --whole          the whole graph becomes one program
 *   --every N        only every N-th case
 *   --filter PATTERN only matching cases
 *   --rule NAME      use that schedule rule wherever it applies; skip cases where it applies nowhere
 *   --gpu NAME       schedule for that GPU
 *   --table FILE     write the results (result_table.h)
 *   --like FILE      tests that passed in that table must pass here, too
 *   --but FILE       exceptions from --like, which must not pass
 *   --jobs N, --verbose
 *
 * Prints "FAIL name: sentence" for wrong results, and "REFUSED name: sentence" (counted as failed) for unsupported
 * nodes whose operator is supported. Models with missing operators are skipped, and counted by reason at the end. Cases
 * run in worker processes, so that a crash, or a case that never ends, fails alone. */
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/threads.h"
#include "graph/graph.h"
#include "tests/nodes/backends.h"
#include "tests/nodes/batch.h"
#include "tests/nodes/forced_rule.h"
#include "tests/nodes/random_check.h"
#include "tests/nodes/result_table.h"

enum { CASE_SECONDS = 900 /* for what hangs */, MOST_JOBS = 256 };
enum { BIND_MAX = 1024 }; /* largest input, in elements, made constant if a value must be known */

/* ---- Backends. */

static const struct backend {
	const char *name;
	backend_fn *run;
} backends[] = {
	{ "interp", backend_interp },          { "emulator", backend_emulator }, { "cpu", backend_cpu_plugin },
	{ "aarch64", backend_aarch64_plugin }, { "cuda", backend_cuda_plugin },
};

/* ---- One model. */

static int run_region(struct graph *g, struct graph_region *r, struct map *tensors, backend_fn *run, struct arena *a,
                      struct err *e)
{
	struct graph_program_options options = { .any_types = true, .keep_types = true, .sizes = true };
	const struct tensor **in = NEWN(a, const struct tensor *, r->inputs.n + 1);
	struct tensor *out;
	struct ir_program *p;

	TRY(graph_region_program(&p, r, &options, a, e));
	out = NEWN(a, struct tensor, p->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++) {
		struct graph_value *v = r->inputs.at[i];

		in[i] = map_get(tensors, v->name);
		if (!in[i] && v->is_constant)
			TRY(graph_constant(&in[i], g, v, e));
		if (!in[i])
			return err_set(e, ERR_MODEL, "\"%s\" has no value.", v->name);
	}
	TRY(run(p, in, out, a, e));
	for (int i = 0; i < r->outputs.n; i++)
		map_put(tensors, r->outputs.at[i]->name, &out[i]);
	return 0;
}

/* True if a result of the node is an output of the model, or a needed node reads it. */
static bool is_needed(const struct graph *g, int node, const bool *needed)
{
	const Onnx__NodeProto *p = g->nodes.at[node].proto;

	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, p->output[k]);

		if (v && v->is_output)
			return true;
		for (int i = 0; v && i < v->consumers.n; i++)
			if (needed[v->consumers.at[i]])
				return true;
	}
	return false;
}

static int run_whole(struct graph *g, struct map *tensors, backend_fn *run, struct arena *a, struct err *e)
{
	int *node = NEWN(a, int, g->nodes.n + 1), n = 0;
	bool *needed = NEWN(a, bool, g->nodes.n + 1);
	struct graph_region *r;

	for (int i = g->nodes.n - 1; i >= 0; i--) {
		TRY(graph_node_check(g, i, e));
		needed[i] = !g->nodes.at[i].folded && is_needed(g, i, needed);
		if (needed[i])
			node[n++] = i;
	}
	if (!n)
		return 0;
	TRY(graph_region_new(&r, g, node, n, e));
	return run_region(g, r, tensors, run, a, e);
}

/* Computes all tensors of the graph, by name, from its inputs, node by node. */
static int run_model(struct graph *g, struct map *tensors, backend_fn *run, struct arena *a, struct err *e)
{
	vec_each (n, &g->nodes) {
		struct graph_region *r;

		TRY(graph_node_check(g, n->index, e));
		if (n->folded || !graph_node_used(g, n->index))
			continue;
		TRY(graph_region_new(&r, g, &n->index, 1, e));
		TRY(run_region(g, r, tensors, run, a, e));
	}
	return 0;
}

/* ---- One data set. */

struct data {
	int inputs, outputs;
	struct tensor *input, *output;
	const char **input_name, **output_name;
};

static bool is_initializer(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), onnx_text(name)) == 0)
			return true;
	return false;
}

static int read_data(struct data *d, const struct onnx_model *m, const char *dir, struct arena *a, struct err *e)
{
	const Onnx__GraphProto *g = m->proto->graph;
	const char *ignored;
	int n = 0;

	*d = (struct data){ .input = NEWN(a, struct tensor, g->n_input + 1),
		            .output = NEWN(a, struct tensor, g->n_output + 1),
		            .input_name = NEWN(a, const char *, g->n_input + 1),
		            .output_name = NEWN(a, const char *, g->n_output + 1) };
	for (size_t i = 0; i < g->n_input; i++) {
		if (is_initializer(g, g->input[i]->name))
			continue;
		const char *path = arena_printf(a, "%s/input_%d.pb", dir, n++);
		if (!file_exists(path))
			continue;
		TRY(onnx_tensor_read_file(&d->input[d->inputs], &ignored, path, a, e));
		d->input_name[d->inputs++] = g->input[i]->name;
	}
	for (size_t i = 0; i < g->n_output; i++) {
		TRY(onnx_tensor_read_file(&d->output[i], &ignored, arena_printf(a, "%s/output_%zu.pb", dir, i), a, e));
		d->output_name[d->outputs++] = g->output[i]->name;
	}
	return 0;
}

static const struct graph_node *unknown_node(const struct graph *g)
{
	vec_each (n, &g->nodes)
		if (!n->known)
			return n;
	return NULL;
}

static struct graph_shape shape_of(const char *name, const struct tensor *t)
{
	struct graph_shape s = { .name = name, .rank = t->rank };

	for (int i = 0; i < t->rank; i++)
		s.dim[i].value = t->dim[i];
	return s;
}

/* The graph with the model's inputs as variables; if a node is unsupported, with the data set's extents, with its
 * small inputs as constants, and with both. */
static int new_graph(struct graph **g, struct onnx_model *m, const struct data *d, struct arena *a, struct err *e)
{
	struct graph_bound *bound = NEWN(a, struct graph_bound, d->inputs + 1);
	struct graph_shape *shape = NEWN(a, struct graph_shape, d->inputs + 1);
	int shapes = 0, bounds = 0;

	for (int i = 0; i < d->inputs; i++) {
		const struct tensor *t = &d->input[i];
		int64_t n = tensor_count(t);

		shape[shapes++] = shape_of(d->input_name[i], t);
		if (n >= 0 && n <= (type_is_int(t->type) || t->type == TYPE_BOOL || t->rank < 2 ? BIND_MAX : 1))
			bound[bounds++] = (struct graph_bound){ d->input_name[i], t };
	}
	for (int try = 0; try < 4; try++) {
		struct graph_options o = { try & 1 ? shapes : 0, try & 2 ? bounds : 0, shape, bound, NULL, NULL };

		TRY(graph_new(g, m, &o, e));
		if (!unknown_node(*g) || try == 3)
			return 0;
		graph_free(*g);
		*g = NULL;
	}
	return 0;
}

static int compare_output(const struct tensor *got, const struct tensor *want, const char *name,
                          struct tensor_tolerance tolerance, struct arena *a, struct err *e)
{
	struct tensor_difference d;

	if (!tensor_compare(&d, got, want, tolerance))
		return err_set(e, ERR_DIFFER, "output \"%s\" is %s; it should be %s.", name, tensor_describe(got, a),
		               tensor_describe(want, a));
	if (!d.differing)
		return 0;
	return err_set(e, ERR_DIFFER,
	               "output \"%s\" (%s): %lld of %lld elements differ; element %lld is %.9g, not %.9g.", name,
	               tensor_describe(want, a), (long long)d.differing, (long long)d.count, (long long)d.worst,
	               d.worst_got, d.worst_want);
}

/* Expected values carry the rounding of whoever computed them: for narrow floats the library's own tolerance, since one
 * step of bf16 alone is more than the tests' 1e-3; and for f32 a few units in the last place of the largest element (an
 * inverse transform's zeros). */
static struct tensor_tolerance at_least_rounding(struct tensor_tolerance t, const struct tensor *want)
{
	bool narrow = want->type == TYPE_BF16 || want->type == TYPE_F16;
	double largest = 0;

	if (want->type == TYPE_F32)
		for (int64_t i = 0; i < tensor_count(want); i++)
			if (isfinite(tensor_float(want, i)))
				largest = fmax(largest, fabs(tensor_float(want, i)));
	if (narrow)
		t.relative = fmax(t.relative, tensor_tolerance_of(want->type).relative);
	t.absolute = fmax(t.absolute, 0x1p-21 * largest);
	return t;
}

/* Random elements: types and shapes are as expected, and the values are plausible. */
static int check_drawn(const char *name, const struct data *d, const struct tensor *const *got, struct err *e)
{
	const struct tensor_tolerance any = { .absolute = INFINITY };
	struct tensor_difference difference;
	const char *wrong = NULL;

	for (int i = 0; i < d->outputs; i++)
		if (!tensor_compare(&difference, got[i], &d->output[i], any))
			wrong = "an output has another type or shape";
	if (!wrong)
		wrong = random_check(name, d->input, got[0], d->outputs > 1 ? got[1] : NULL);
	return wrong ? err_set(e, ERR_DIFFER, "Drawn elements: %s.", wrong) : 0;
}

static int compare_outputs(struct graph *g, const struct data *d, struct map *tensors, const char *name,
                           struct tensor_tolerance tolerance, struct arena *a, struct err *e)
{
	const struct tensor **drawn = NEWN(a, const struct tensor *, d->outputs + 1);

	for (int i = 0; i < d->outputs; i++) {
		struct graph_value *v = graph_value_find(g, d->output_name[i]);
		const struct tensor *got = map_get(tensors, d->output_name[i]);

		if (!got && v && v->is_constant)
			TRY(graph_constant(&got, g, v, e));
		if (!got)
			return err_set(e, ERR_DIFFER, "output \"%s\" has no value.", d->output_name[i]);
		drawn[i] = got;
		if (random_case(name))
			continue;
		TRY(compare_output(got, &d->output[i], d->output_name[i], at_least_rounding(tolerance, &d->output[i]),
		                   a, e));
	}
	return random_case(name) ? check_drawn(name, d, drawn, e) : 0;
}

/* ---- One case. */

enum verdict { PASSED, FAILED, REFUSED, SKIPPED, PASSED_OVER /* counts for nothing */, VERDICTS };

/* A worker process's report on a case, in shared memory. */
struct result {
	bool done;
	enum verdict verdict;
	char text[sizeof(struct err)]; /* why it is not passed */
	char missing[128];             /* skipped: the missing operator, or another reason */
};

struct test {
	const char *name, *dir, *operators;
	const char *types; /* of inputs and outputs, as in the index */
	struct tensor_tolerance tolerance;
	int sets;
};

struct suite {
	struct arena *arena;
	backend_fn *run;
	bool whole, plain;
	int every, seen;
	struct {
		VEC(struct test);
	} tests;
	struct result *result; /* by test */
	int *current;          /* by worker: the test that runs; both in memory that all processes share */
	const char *table;     /* --table, or null */
	struct result_table like, but;
};

static void note(struct result *r, enum verdict verdict, const struct err *e)
{
	r->verdict = verdict;
	snprintf(r->text, sizeof r->text, "%.255s%.1140s", e->where, e->text); /* long sentences are cut */
}

struct missing {
	const struct onnx_model *model;
	struct result *result;
};

/* Stops the walk over all nodes, also those of subgraphs and functions, at one whose operator is missing. */
static int is_missing(void *arg, ProtobufCMessage *message)
{
	struct missing *x = arg;
	const Onnx__NodeProto *n = (const Onnx__NodeProto *)message;
	const char *domain = onnx_domain(n->domain), *type = onnx_text(n->op_type);

	if (op_find(domain, type) || onnx_function_find(x->model, domain, type, n->overload))
		return 0;
	snprintf(x->result->missing, sizeof x->result->missing, "%s%s%s", domain, *domain ? "." : "", type);
	return -1;
}

/* Replaces nodes of the model by plain ones, whether the engine supports them or not, and the graph by that of the new
 * model, which it also writes next to the old one. *out null: none can be replaced. */
static int put_plain(struct graph_plains **out, struct graph **g, struct onnx_model *m, const struct data *d,
                     const struct test *t, struct arena *a, struct err *e)
{
	*out = graph_plains_new(*g, true);
	if (graph_plains_put(*out)) {
		TRY(onnx_model_write(m, arena_printf(a, "%s/plain.onnx", t->dir), NULL, e));
		return new_graph(g, m, d, a, e);
	}
	*out = NULL;
	return 0;
}

static int run_set(const struct test *t, struct result *r, struct onnx_model *m, const char *dir, const struct suite *s,
                   struct arena *a, struct err *e)
{
	struct graph *g = NULL;
	struct map tensors = map_new(a);
	struct missing missing = { m, r };
	struct data d;
	int rc;

	TRY(read_data(&d, m, dir, a, e));
	TRY(new_graph(&g, m, &d, a, e));
	const struct graph_node *n = unknown_node(g);
	if (n && onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, is_missing, &missing) < 0) {
		r->verdict = SKIPPED;
		snprintf(r->text, sizeof r->text, "%s", n->why);
		graph_free(g);
		return 0;
	}
	struct graph *before = g;
	struct graph_plains *plains = NULL;
	if (s->plain && (rc = put_plain(&plains, &g, m, &d, t, a, e)) < 0) {
		graph_free(before);
		return rc;
	}
	if (s->plain && !plains) {
		r->verdict = PASSED_OVER;
		graph_free(g);
		return 0;
	}
	for (int i = 0; i < d.inputs; i++)
		map_put(&tensors, d.input_name[i], &d.input[i]);
	rc = s->whole ? run_whole(g, &tensors, s->run, a, e) : run_model(g, &tensors, s->run, a, e);
	if (rc == 0)
		rc = compare_outputs(g, &d, &tensors, t->name, t->tolerance, a, e);
	if (plains) {
		graph_plains_take_out(plains);
		graph_free(before);
	}
	graph_free(g);
	return rc;
}

/* Sequences, optional values, text. */
static bool has_other_values(const struct test *t)
{
	return strpbrk(t->types, "()") || strstr(t->types, "string");
}

static void skip(struct result *r, const char *why)
{
	r->verdict = SKIPPED;
	snprintf(r->missing, sizeof r->missing, "(%s)", why);
	snprintf(r->text, sizeof r->text, "%s", why);
}

static void run_test(const struct test *t, const struct suite *s, struct result *r)
{
	struct arena *a = arena_new();
	struct onnx_model *m = NULL;
	struct err e = { 0 };

	if (has_other_values(t)) {
		skip(r, "sequences, optional values, strings");
	} else if (onnx_model_read(&m, arena_printf(a, "%s/model.onnx", t->dir), &e) < 0 ||
	           onnx_model_check(m, &e) < 0) {
		note(r, FAILED, &e);
	}
	for (int i = 0; i < t->sets && r->verdict == PASSED; i++)
		if (run_set(t, r, m, arena_printf(a, "%s/test_data_set_%d", t->dir, i), s, a, &e) < 0)
			note(r, e.code == ERR_UNSUPPORTED ? REFUSED : FAILED, &e);
	if ((r->verdict == REFUSED && forced_nowhere()) || (r->verdict == SKIPPED && forced_any()))
		r->verdict = PASSED_OVER;
	onnx_model_free(m);
	arena_free(a);
	r->done = true;
}

/* One worker's remaining jobs. */
struct share {
	const struct suite *suite;
	int worker;
	struct {
		VEC(int);
	} tests;
};

static void begin_share(void *user, int i)
{
	const struct share *share = user;
	share->suite->current[share->worker] = share->tests.at[i];
	alarm(CASE_SECONDS);
}

static void run_share(void *user, int i)
{
	const struct share *share = user;
	int at = share->tests.at[i];
	run_test(&share->suite->tests.at[at], share->suite, &share->suite->result[at]);
}

/* Worker w of n: every n-th case. A worker that dies restarts without the case that killed it. */
static void work(const struct suite *s, int w, int n)
{
	struct share share = { s, w, { 0 } };
	for (int i = w; i < s->tests.n; i += n)
		if (!s->result[i].done)
			vec_push(s->arena, &share.tests, i);
	batch_run(share.tests.n, run_share, begin_share, &share);
	alarm(0);
}

static pid_t start_worker(const struct suite *s, int w, int n)
{
	fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		work(s, w, n);
		exit(0);
	}
	return pid;
}

static void run_all(const struct suite *s, int jobs)
{
	pid_t worker[MOST_JOBS];
	int running = 0, status;

	jobs = jobs < 1 ? threads_count() : jobs > MOST_JOBS ? MOST_JOBS : jobs;
	for (int w = 0; w < jobs; w++, running++) {
		s->current[w] = w;
		worker[w] = start_worker(s, w, jobs);
	}
	while (running > 0) {
		pid_t pid = wait(&status);

		for (int w = 0; w < jobs; w++) {
			if (worker[w] != pid)
				continue;
			running--;
			int i = w;
			while (i < s->tests.n && s->result[i].done)
				i += jobs;
			if (i >= s->tests.n)
				continue;
			if (!s->result[s->current[w]].done)
				i = s->current[w];
			s->result[i].done = true;
			s->result[i].verdict = FAILED;
			snprintf(s->result[i].text, sizeof s->result[i].text, "the test died: %s %d.",
			         WIFSIGNALED(status) ? "signal" : "exit",
			         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			worker[w] = start_worker(s, w, jobs);
			running++;
		}
	}
}

/* ---- The index. */

/* The next of the tab-separated columns. */
static char *column(char **line)
{
	char *start = *line, *end = start + strcspn(start, "\t");

	*line = *end ? end + 1 : end;
	*end = 0;
	return start;
}

static void add_test(struct suite *s, const char *folder, char *line, const char *filter)
{
	struct test t = { .name = column(&line) };
	char *inputs, *outputs;

	if (filter && fnmatch(filter, t.name, 0) != 0 && !strstr(t.name, filter))
		return;
	if (s->seen++ % s->every)
		return;
	t.operators = column(&line);
	column(&line);
	inputs = column(&line);
	outputs = column(&line);
	t.types = arena_printf(s->arena, "%s %s", inputs, outputs);
	t.tolerance.relative = strtod(column(&line), NULL);
	t.tolerance.absolute = strtod(column(&line), NULL);
	t.sets = atoi(column(&line));
	t.dir = path_join(s->arena, folder, t.name);
	vec_push(s->arena, &s->tests, t);
}

static int read_index(struct suite *s, const char *path, const char *filter, struct err *e)
{
	char *text, *folder = path_dir(s->arena, path);

	TRY(file_read(&text, NULL, path, s->arena, e));
	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (*line && *line != '#')
			add_test(s, folder, line, filter);
	}
	return 0;
}

static int write_table(const struct suite *s, struct err *e)
{
	static const char *const verdict[] = { [PASSED] = "passed",
		                               [FAILED] = "failed",
		                               [REFUSED] = "refused",
		                               [SKIPPED] = "skipped",
		                               [PASSED_OVER] = "passed over" };
	FILE *file = fopen(s->table, "w");

	if (!file)
		return err_set(e, ERR_USAGE, "%s cannot be written.", s->table);
	result_table_head(file);
	for (int i = 0; i < s->tests.n; i++) {
		const struct test *t = &s->tests.at[i];
		const struct result *r = &s->result[i];

		result_table_write(file, &(struct result_row){ t->name, t->operators,
		                                               has_other_values(t) ? "other" : "numbers",
		                                               verdict[r->verdict], r->text });
	}
	fclose(file);
	return 0;
}

/* --like: a test that passes elsewhere must pass here, unless it is listed as an exception. */
static void compare_with(const struct suite *s)
{
	for (int i = 0; i < s->tests.n; i++) {
		const struct result_row *row = result_table_find(&s->like, s->tests.at[i].name);
		bool named = result_table_find(&s->but, s->tests.at[i].name) != NULL;
		struct result *r = &s->result[i];

		if (!row || strcmp(row->verdict, "passed") != 0)
			continue;
		if (named && r->verdict == PASSED) {
			snprintf(r->text, sizeof r->text, "it passes, and is named as one that does not: take it out.");
			r->verdict = FAILED;
		} else if (r->verdict != PASSED) {
			r->verdict = named ? SKIPPED : r->verdict == SKIPPED ? REFUSED : r->verdict;
			snprintf(r->missing, sizeof r->missing, "(not on this device)");
		}
	}
}

static int report(const struct suite *s, int verbose)
{
	int count[VERDICTS] = { 0 };
	struct map missing = map_new(s->arena);

	for (int i = 0; i < s->tests.n; i++) {
		const struct test *t = &s->tests.at[i];
		const struct result *r = &s->result[i];

		count[r->verdict]++;
		if (r->verdict == FAILED)
			printf("FAIL %s: %s\n", t->name, r->text);
		if (r->verdict == REFUSED)
			printf("REFUSED %s: %s\n", t->name, r->text);
		if (r->verdict == PASSED && verbose)
			printf("ok %s\n", t->name);
		if (r->verdict == SKIPPED)
			map_put(&missing, r->missing, (char *)map_get(&missing, r->missing) + 1);
	}
	for (int i = 0; i < missing.n; i++)
		printf("skipped for %s: %d\n", missing.entry[i].name, (int)(intptr_t)missing.entry[i].value);
	printf("%d passed, %d failed, %d skipped\n", count[PASSED], count[FAILED] + count[REFUSED], count[SKIPPED]);
	return count[FAILED] + count[REFUSED] > 0;
}

int main(int argc, char **argv)
{
	struct suite s = { .arena = arena_new(), .run = backend_interp, .every = 1 };
	const char *path = NULL, *filter = NULL, *like = NULL, *but = NULL;
	int jobs = 0, verbose = 0, rc;
	struct err e = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0) {
			verbose = 1;
		} else if (strcmp(argv[i], "--whole") == 0) {
			s.whole = true;
		} else if (strcmp(argv[i], "--plain") == 0) {
			s.plain = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--table") == 0) {
			s.table = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--like") == 0) {
			like = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--but") == 0) {
			but = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--filter") == 0) {
			filter = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--jobs") == 0) {
			jobs = atoi(argv[++i]);
		} else if (i + 1 < argc && strcmp(argv[i], "--every") == 0) {
			s.every = atoi(argv[++i]);
		} else if (strcmp(argv[i], "--rules") == 0) {
			for (const struct sched_rule *const *r = sched_rules; *r; r++)
				printf("%s\n", (*r)->name);
			return 0;
		} else if (i + 1 < argc && strcmp(argv[i], "--rule") == 0) {
			if (!forced_rule_set(argv[++i])) {
				fprintf(stderr, "node_test: there is no rule %s.\n", argv[i]);
				return 2;
			}
		} else if (i + 1 < argc && strcmp(argv[i], "--gpu") == 0) {
			if (!forced_gpu_set(argv[++i])) {
				fprintf(stderr, "node_test: there is no GPU %s.\n", argv[i]);
				return 2;
			}
		} else if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
			s.run = NULL;
			i++;
			for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
				if (strcmp(backends[k].name, argv[i]) == 0)
					s.run = backends[k].run;
		} else {
			path = argv[i];
		}
	}
	if (!path || !s.run || s.every < 1) {
		fprintf(stderr,
		        "usage: node_test [--device interp|emulator|cpu|aarch64|cuda] [--whole] [--plain] [--every N] "
		        "[--filter PATTERN] "
		        "[--jobs N] [--verbose] [--rule NAME] [--table FILE] [--like FILE] [--but FILE] "
		        "FOLDER/index.tsv, or node_test --rules\n");
		return 2;
	}
	s.like.by_name = s.but.by_name = map_new(s.arena);
	if (read_index(&s, path, filter, &e) < 0 || (like && result_table_read(&s.like, like, s.arena, &e) < 0) ||
	    (but && result_table_read(&s.but, but, s.arena, &e) < 0)) {
		fprintf(stderr, "node_test: %s\n", e.text);
		return 3;
	}
	s.result = mmap(NULL, sizeof *s.result * (size_t)(s.tests.n + 1), PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s.current =
	        mmap(NULL, sizeof *s.current * MOST_JOBS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.result == MAP_FAILED || s.current == MAP_FAILED) {
		perror("node_test");
		return 5;
	}
	run_all(&s, jobs);
	compare_with(&s);
	if (s.table && write_table(&s, &e) < 0) {
		fprintf(stderr, "node_test: %s\n", e.text);
		return 3;
	}
	rc = report(&s, verbose);
	arena_free(s.arena);
	return rc;
}
