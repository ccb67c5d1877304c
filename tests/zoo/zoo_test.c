/* Cuts the models of the zoo (data.py writes them with the tensors of some runs) into regions, and runs each region on
 * a device: its inputs are the tensors of the run, and its outputs are compared with them.
 *
 *   zoo_test [OPTION ...] FOLDER/index.tsv
 *
 *   --device interp|emulator|cpu|cuda|plugin|nvrtc
 *                      the interpreter; the CUDA texts on the emulator; plugin libraries with kernels in C (cpu) or on
 *                      a GPU (plugin); only the kernels on a GPU (cuda); nvrtc compiles these for sm_90 and
 *                      runs nothing
 *   --cuts 1,3,8,20,r,j,f,x
 *                      8: regions of 8 consecutive supported nodes; 1: each node by itself; r: random convex regions,
 *                      always the same ones; j: what --auto joins if TensorRT refuses a third of the nodes, by chance;
 *                      f: the chains of --auto=fast, of any gain; x: regions of 1 to 4 nodes that exchange
 *                      tensors of 8 bits or less, with the types at their edges that a build gives them
 *   --seed N           of these random choices (default 0)
 *   --every N          only every N-th region
 *   --part K/N         the programs of the K-th of N parts, from 0
 *   --filter PATTERN   only matching models
 *   --code FOLDER      keep kernels compiled by cuda and nvrtc there, by their text; by default nowhere
 *   --rule, --gpu NAME as in forced_rule.h
 *   --rewrite FOLDER   instead write each model there as each cut rewrites it
 *   --jobs N, --verbose
 *
 * A model whose extents have names is cut with these for each of its runs, and once more with the extents of the first
 * run. The emulator and GPUs run a region only once if another one has the same program and extents.
 *
 * Prints "FAIL model run cut first..last: sentence" for differences; "refused" for regions that the library refuses.
 * Workers are processes: a region that crashes, or never ends, fails alone. */
#include <fnmatch.h>
#include <math.h>
#include <stdatomic.h>
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
#include "tests/nodes/forced_rule.h"
#include "tests/nodes/plan_run.h"
#include "tests/zoo/zoo_cut.h"
#include "tune/code_cache.h"

enum { REGION_SECONDS = 900, MOST_JOBS = 64, MOST_PROGRAMS = 1 << 18, LOST_DEVICE = 77 };

/* ---- Devices. */

static struct code_cache kernels = { .arch = 90, .language = &language_cuda }; /* of cuda and nvrtc */

static int run_cuda(struct ir_program *p, const struct tensor *const *in, struct tensor *out, struct arena *a,
                    struct err *e)
{
	static struct dev *dev;
	struct tune_code code = code_cache_use(&kernels);
	struct ir_plan *plan;
	if (!dev)
		TRY(dev_open(&dev, "cuda", e));
	kernels.arch = dev->props.arch;
	TRY(forced_plan(&plan, p, e));
	return plan_run_on(dev, &code, plan, in, out, a, e);
}

static int run_nvrtc(struct ir_program *p, const struct tensor *const *in, struct tensor *out, struct arena *a,
                     struct err *e)
{
	struct tune_code code = code_cache_use(&kernels);
	struct ir_plan *plan;
	(void)out;
	TRY(forced_plan(&plan, p, e));
	return plan_compile(&code, kernels.arch, plan, in, a, e);
}

static const struct device {
	const char *name;
	backend_fn *run;
	bool once;     /* run equal programs at equal extents once */
	bool compares; /* has results */
} devices[] = {
	{ "interp", backend_interp, false, true },  { "emulator", backend_emulator, true, true },
	{ "cpu", backend_cpu_plugin, false, true }, { "plugin", backend_cuda_plugin, false, true },
	{ "cuda", run_cuda, true, true },           { "nvrtc", run_nvrtc, true, false },
};

/* ---- One region. */

struct model {
	const char *name, *folder;
	struct tensor_tolerance tolerance; /* of floats; absolute: times the largest element */
	double steps;                      /* of integers: largest difference allowed */
};

struct suite {
	struct arena *arena;
	const struct device *device;
	int every, cuts, verbose, part, parts;
	int jobs, worker; /* number of processes; index of this one */
	int cut[ZOO_MOST_CUTS];
	const char *rewrite;
	struct {
		VEC(struct model);
	} models;
	struct tally *tally;     /* by worker and model; in memory that all processes share */
	_Atomic uint64_t *begun; /* programs, by hash; likewise */
};

struct tally {
	int seen; /* regions begun */
	int from; /* earlier ones were run by a worker that died */
	int passed, failed, refused, nodes;
	int equal; /* passed as equal to a region that some worker has begun */
	bool done;
	char now[160]; /* the current region */
};

static int compare(const struct tensor *got, const struct tensor *want, const char *name, const struct model *m,
                   struct arena *a, struct err *e)
{
	struct tensor_tolerance t = m->tolerance;
	struct tensor_difference d;
	double largest = 0;
	for (int64_t i = 0; !type_is_int(want->type) && i < tensor_count(want); i++)
		if (isfinite(tensor_float(want, i)))
			largest = fmax(largest, fabs(tensor_float(want, i)));
	t.absolute *= largest;
	if (type_is_int(want->type)) /* values rounded to bytes may differ by one, their sums by a few */
		t = (struct tensor_tolerance){ .relative = m->steps ? t.relative : 0, .absolute = m->steps };
	if (!tensor_compare(&d, got, want, t))
		return err_set(e, ERR_DIFFER, "\"%s\" is %s; it should be %s.", name, tensor_describe(got, a),
		               tensor_describe(want, a));
	if (!d.differing)
		return 0;
	return err_set(e, ERR_DIFFER, "\"%s\" (%s): %lld of %lld elements differ; element %lld is %.9g, not %.9g.",
	               name, tensor_describe(want, a), (long long)d.differing, (long long)d.count, (long long)d.worst,
	               d.worst_got, d.worst_want);
}

/* Returns a hash of the program at these inputs' extents, and values that decide extents; never 0. */
static uint64_t number_of(const struct ir_program *p, const struct tensor *const *in)
{
	char hash[33];
	ir_hash(p, hash);
	uint64_t x = hash_bytes(1, hash, sizeof hash);
	for (int i = 0; i < p->inputs.n; i++) {
		for (int k = 0; k < in[i]->rank; k++)
			x = hash_u64(x, (uint64_t)in[i]->dim[k]);
		if (ir_value_is(p, p->inputs.at[i]))
			x = hash_bytes(x, in[i]->data, (size_t)tensor_bytes(in[i]));
	}
	return x ? x : 1;
}

/* Records the program; true if it was recorded before. */
static bool begun_before(const struct suite *s, uint64_t number)
{
	for (uint64_t at = number;; at++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&s->begun[at % MOST_PROGRAMS], &none, number))
			return false;
		if (none == number)
			return true;
	}
}

enum { RUN, EQUAL, OTHER_PART }; /* outcome of a region without a failure */

/* Converts a tensor to the type that it has at the edge, or back; an edge may be the tensor itself. */
static int convert(const struct tensor **x, enum type t, struct arena *a, struct err *e)
{
	struct tensor *out = NEW(a, struct tensor);
	if ((*x)->type == t)
		return 0;
	TRY(tensor_convert(out, *x, t, a, e));
	*x = out;
	return 0;
}

static int run_region(struct graph *g, struct graph_region *r, struct map *tensors, const struct model *m,
                      const struct suite *s, bool edges, struct arena *a, struct err *e)
{
	struct graph_program_options options = { .any_types = true, .keep_types = !edges, .sizes = true };
	const struct tensor **in = NEWN(a, const struct tensor *, r->inputs.n + 1);
	struct ir_program *p;
	TRY(graph_region_program(&p, r, &options, a, e));
	struct tensor *out = NEWN(a, struct tensor, p->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++) {
		struct graph_value *v = r->inputs.at[i];
		in[i] = map_get(tensors, v->name);
		if (!in[i] && v->is_constant)
			TRY(graph_constant(&in[i], g, v, e));
		if (!in[i])
			return err_set(e, ERR_DIFFER, "its input \"%s\" has no value.", v->name);
		TRY(convert(&in[i], p->inputs.at[i]->type, a, e));
	}
	uint64_t number = number_of(p, in);
	if (number / MOST_PROGRAMS % (uint64_t)s->parts != (uint64_t)s->part)
		return OTHER_PART;
	if (s->device->once && begun_before(s, number))
		return EQUAL;
	TRY(s->device->run(p, in, out, a, e));
	for (int i = 0; i < r->outputs.n && s->device->compares; i++) {
		const char *name = r->outputs.at[i]->name;
		const struct tensor *want = map_get(tensors, name), *got = &out[i];
		if (!want)
			return err_set(e, ERR_DIFFER, "its output \"%s\" has no value.", name);
		TRY(convert(&got, want->type, a, e));
		TRY(compare(got, want, name, m, a, e));
	}
	return RUN;
}

/* ---- One model. */

struct cutting {
	const struct suite *suite;
	const struct model *model;
	struct graph *graph;
	struct map *tensors;
	struct tally *tally;
	const char *how; /* the run and the cut: "0 8", "1 r", "0 fixed 8" */
	bool edges;      /* tensors have the types at a plugin's edge */
};

static void describe(char *out, size_t size, const struct cutting *c, const int *node, int n)
{
	snprintf(out, size, "%s %s %s..%s", c->model->name, c->how, c->graph->nodes.at[node[0]].label,
	         c->graph->nodes.at[node[n - 1]].label);
}

static void count(const struct suite *s, struct tally *t, int rc, const struct err *e)
{
	if (rc >= 0 && rc != OTHER_PART)
		t->passed++;
	else if (rc < 0 && e->code == ERR_UNSUPPORTED)
		t->refused += s->part == 0; /* it has no program that would belong to a part */
	else if (rc < 0)
		t->failed++;
	t->equal += rc == EQUAL;
}

static void run_nodes(void *user, const int *node, int n)
{
	struct cutting *c = user;
	struct tally *t = c->tally;
	const struct suite *s = c->suite;
	struct err e = { 0 };
	struct graph_region *r;
	int number = t->seen++;
	if (number < t->from || number % s->every || number / s->every % s->jobs != s->worker)
		return;
	describe(t->now, sizeof t->now, c, node, n);
	alarm(REGION_SECONDS);
	struct arena *a = arena_new();
	int rc = graph_region_new(&r, c->graph, node, n, &e);
	if (rc == 0)
		rc = run_region(c->graph, r, c->tensors, c->model, s, c->edges, a, &e);
	arena_free(a);
	count(s, t, rc, &e);
	if (rc < 0 && (e.code != ERR_UNSUPPORTED || s->verbose))
		printf("%s %s: %s%s\n", e.code == ERR_UNSUPPORTED ? "refused" : "FAIL", t->now, e.where, e.text);
	else if (rc != OTHER_PART && s->verbose)
		printf("%s %s\n", rc == EQUAL ? "equal" : "ok", t->now);
	fflush(stdout);
	if (rc == ERR_DEVICE && s->device->run == run_cuda)
		_exit(LOST_DEVICE); /* after a kernel fault nothing runs in this process */
}

static int read_tensors(struct map *tensors, struct onnx_model **m, const char *path, struct arena *a, struct err *e)
{
	TRY(onnx_model_read(m, path, e));
	const Onnx__GraphProto *g = (*m)->proto->graph;
	for (size_t i = 0; i < g->n_initializer; i++) {
		struct tensor *t = NEW(a, struct tensor);
		TRY(onnx_tensor_load(t, g->initializer[i], *m, a, e));
		map_put(tensors, g->initializer[i]->name, t);
	}
	return 0;
}

/* Sets the extents of the model's inputs in the run. Returns the number of inputs. */
static int shapes_of_run(struct graph_shape *shape, const struct onnx_model *m, const struct map *tensors)
{
	int n = 0;
	for (size_t i = 0; i < m->proto->graph->n_input; i++) {
		const struct tensor *t = map_get(tensors, m->proto->graph->input[i]->name);
		if (!t)
			continue;
		shape[n] = (struct graph_shape){ .name = m->proto->graph->input[i]->name, .rank = t->rank };
		for (int k = 0; k < t->rank; k++)
			shape[n].dim[k].value = t->dim[k];
		n++;
	}
	return n;
}

static char *run_path(const struct model *m, int number, struct arena *a)
{
	return arena_printf(a, "%s/tensors_%d.onnx", m->folder, number);
}

/* Cuts the model for run `number`. Fixed: with the extents of the run; else named extents stay dynamic. */
static int cut_run(const struct suite *s, const struct model *m, struct tally *t, int number, bool fixed, bool *open,
                   struct arena *a, struct err *e)
{
	struct onnx_model *model = NULL, *held = NULL;
	struct graph *g = NULL;
	struct map tensors = map_new(a);
	TRY(onnx_model_read(&model, path_join(a, m->folder, "model.onnx"), e));
	TRY(onnx_model_check(model, e));
	TRY(read_tensors(&tensors, &held, run_path(m, number, a), a, e));
	struct graph_shape *shape = NEWN(a, struct graph_shape, model->proto->graph->n_input + 1);
	struct graph_options o = { .shape = shape };
	if (fixed)
		o.shapes = shapes_of_run(shape, model, &tensors);
	TRY(graph_new(&g, model, &o, e));
	*open = g->symbols.n > 0;
	for (int i = 0; i < s->cuts; i++) {
		struct cutting c = { s, m, g, &tensors, t, NULL, s->cut[i] == ZOO_EXCHANGE };
		c.how = arena_printf(a, "%d%s %s", number, fixed ? " fixed" : "", zoo_cut_name(s->cut[i], a));
		int nodes = zoo_cut(g, s->cut[i], run_nodes, &c);
		t->nodes = nodes > t->nodes ? nodes : t->nodes;
	}
	graph_free(g);
	onnx_model_free(held);
	onnx_model_free(model);
	return 0;
}

static int cut_model(const struct suite *s, const struct model *m, struct tally *t, struct arena *a, struct err *e)
{
	bool open = false;
	TRY(cut_run(s, m, t, 0, false, &open, a, e));
	if (open)
		TRY(cut_run(s, m, t, 0, true, &open, a, e));
	for (int i = 1; file_exists(run_path(m, i, a)); i++)
		TRY(cut_run(s, m, t, i, false, &open, a, e));
	return 0;
}

static int write_model(const struct suite *s, const struct model *m, int cut, struct arena *a, struct err *e)
{
	struct onnx_model *model = NULL;
	struct graph *g = NULL;
	TRY(onnx_model_read(&model, path_join(a, m->folder, "model.onnx"), e));
	TRY(onnx_model_check(model, e));
	TRY(graph_new(&g, model, NULL, e));
	TRY(zoo_rewrite(g, cut, a, e));
	graph_free(g);
	int rc = onnx_model_write(model, arena_printf(a, "%s/%s.%s.onnx", s->rewrite, m->name, zoo_cut_name(cut, a)),
	                          NULL, e);
	onnx_model_free(model);
	return rc;
}

static struct tally *tally_of(const struct suite *s, int worker, int model)
{
	return &s->tally[worker * s->models.n + model];
}

static void run_model(const struct suite *s, int i)
{
	const struct model *m = &s->models.at[i];
	struct tally *t = tally_of(s, s->worker, i);
	struct arena *a = arena_new();
	struct err e = { 0 };
	int rc = 0;
	t->seen = 0;
	if (!s->rewrite)
		rc = cut_model(s, m, t, a, &e);
	bool writes = s->rewrite && i % s->jobs == s->worker;
	for (int k = 0; writes && k < s->cuts && rc == 0; k++)
		rc = write_model(s, m, s->cut[k], a, &e);
	if (rc < 0) {
		printf("FAIL %s: %s%s\n", m->name, e.where, e.text);
		t->failed++;
	} else if (writes) {
		t->passed++;
	}
	fflush(stdout);
	t->done = true;
	arena_free(a);
}

/* ---- Workers. */

/* Starts a worker, which runs its share of each model's regions. */
static pid_t start_worker(struct suite *s, int w)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		s->worker = w;
		for (int i = 0; i < s->models.n; i++)
			if (!tally_of(s, w, i)->done)
				run_model(s, i);
		exit(0);
	}
	return pid;
}

/* Handles a worker that ended: if it did not finish, its current region failed. */
static bool unfinished(const struct suite *s, int w, int status)
{
	int i = 0;
	while (i < s->models.n && tally_of(s, w, i)->done)
		i++;
	if (i >= s->models.n)
		return false;
	struct tally *t = tally_of(s, w, i);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != LOST_DEVICE) { /* else it has reported that */
		printf("FAIL %s: the test died: %s %d.\n", t->now[0] ? t->now : s->models.at[i].name,
		       WIFSIGNALED(status) ? "signal" : "exit",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		t->failed++;
	}
	t->done = t->seen <= t->from; /* it died before its first region: give up */
	t->from = t->seen;
	return true;
}

static void run_all(struct suite *s)
{
	pid_t worker[MOST_JOBS];
	int status, running = s->jobs;
	for (int w = 0; w < s->jobs; w++)
		worker[w] = start_worker(s, w);
	while (running > 0) {
		pid_t pid = wait(&status);
		for (int w = 0; w < s->jobs; w++) {
			if (worker[w] != pid)
				continue;
			if (unfinished(s, w, status))
				worker[w] = start_worker(s, w);
			else
				running--;
		}
	}
}

static int report(const struct suite *s)
{
	struct tally all = { 0 };
	for (int i = 0; i < s->models.n; i++) {
		struct tally t = { 0 };
		for (int w = 0; w < s->jobs; w++) {
			const struct tally *own = tally_of(s, w, i);
			t.passed += own->passed;
			t.failed += own->failed;
			t.refused += own->refused;
			t.equal += own->equal;
			t.nodes = own->nodes > t.nodes ? own->nodes : t.nodes;
		}
		all.passed += t.passed;
		all.failed += t.failed;
		all.refused += t.refused;
		all.equal += t.equal;
		if (s->verbose)
			printf("%s: %d nodes; %d passed, %d refused, %d failed.\n", s->models.at[i].name, t.nodes,
			       t.passed, t.refused, t.failed);
	}
	if (all.equal)
		printf("%d programs were run; %d regions have an equal one.\n", all.passed + all.failed - all.equal,
		       all.equal);
	printf("%d passed, %d failed, %d skipped\n", all.passed, all.failed, all.refused);
	return all.failed > 0;
}

/* ---- The command line. */

static char *column(char **line)
{
	char *start = *line, *end = start + strcspn(start, "\t");
	*line = *end ? end + 1 : end;
	*end = 0;
	return start;
}

static int read_index(struct suite *s, const char *path, const char *filter, struct err *e)
{
	char *text, *folder = path_dir(s->arena, path);
	TRY(file_read(&text, NULL, path, s->arena, e));
	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (*line == '#' || !*line)
			continue;
		struct model m = { .name = column(&line) };
		m.folder = path_join(s->arena, folder, m.name);
		m.tolerance.relative = strtod(column(&line), NULL);
		m.tolerance.absolute = strtod(column(&line), NULL);
		column(&line);
		m.steps = strtod(column(&line), NULL);
		if (!filter || fnmatch(filter, m.name, 0) == 0)
			vec_push(s->arena, &s->models, m);
	}
	return 0;
}

static const char *option(const char *name, char **argv, int argc, int *i)
{
	return strcmp(argv[*i], name) == 0 && *i + 1 < argc ? argv[++*i] : NULL;
}

static const struct device *device_named(const char *name)
{
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (strcmp(devices[i].name, name) == 0)
			return &devices[i];
	return NULL;
}

/* Allocates zeroed memory that child processes share; null if out of memory. */
static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	struct suite s = { .arena = arena_new(), .device = devices, .every = 1, .parts = 1 };
	const char *path = NULL, *filter = NULL, *cuts = "1,3,8,20,r,j,f,x", *value;
	struct err e = { 0 };
	bool known = true;
	int jobs = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0)
			s.verbose = 1;
		else if ((value = option("--device", argv, argc, &i)))
			s.device = device_named(value);
		else if ((value = option("--every", argv, argc, &i)))
			s.every = atoi(value);
		else if ((value = option("--seed", argv, argc, &i)))
			zoo_cut_seed(strtoull(value, NULL, 10));
		else if ((value = option("--part", argv, argc, &i)))
			known = known && sscanf(value, "%d/%d", &s.part, &s.parts) == 2 && s.part >= 0 &&
			        s.part < s.parts;
		else if ((value = option("--code", argv, argc, &i)))
			kernels.folder = value;
		else if ((value = option("--jobs", argv, argc, &i)))
			jobs = atoi(value);
		else if ((value = option("--cuts", argv, argc, &i)))
			cuts = value;
		else if ((value = option("--filter", argv, argc, &i)))
			filter = value;
		else if ((value = option("--rewrite", argv, argc, &i)))
			s.rewrite = value;
		else if ((value = option("--rule", argv, argc, &i)))
			known = known && forced_rule_set(value);
		else if ((value = option("--gpu", argv, argc, &i)))
			known = known && forced_gpu_set(value);
		else
			path = argv[i];
	}
	s.cuts = zoo_cuts_read(s.cut, cuts);
	if (!path || !s.device || !known || s.every < 1 || s.cuts < 1) {
		fprintf(stderr,
		        "usage: zoo_test [--device interp|emulator|cpu|cuda|plugin|nvrtc] [--cuts 1,3,8,20,r,j,f,x] "
		        "[--seed N] [--every N] [--part K/N] [--filter PATTERN] [--jobs N] [--code FOLDER] [--verbose] "
		        "[--rule NAME] [--gpu NAME] [--rewrite FOLDER] FOLDER/index.tsv\n");
		return 2;
	}
	if (read_index(&s, path, filter, &e) < 0) {
		fprintf(stderr, "zoo_test: %s\n", e.text);
		return 3;
	}
	jobs = jobs < 1 ? threads_count() : jobs;
	s.jobs = jobs > MOST_JOBS ? MOST_JOBS : jobs;
	s.tally = shared(sizeof *s.tally * (size_t)(s.models.n * s.jobs + 1));
	s.begun = shared(sizeof *s.begun * MOST_PROGRAMS);
	char *own = NULL;
	if (!s.tally || !s.begun ||
	    (kernels.folder ? file_mkdir(kernels.folder, &e) : file_temp_dir(&own, s.arena, &e)) < 0) {
		fprintf(stderr, "zoo_test: %s\n", e.code ? e.text : "out of memory");
		return 5;
	}
	kernels.folder = own ? own : kernels.folder;
	run_all(&s);
	if (own)
		file_remove_tree(own);
	int rc = report(&s);
	arena_free(s.arena);
	return rc;
}
