/* A plugin library at length, through the CUDA driver: shape changes, contexts, loads and unloads without a byte of
 * growth, graph capture and updates, several contexts, process exit in any order, drivers that cannot run it. Prints
 * numbers.
 *
 *     endurance_test [--results FOLDER] LIBRARY [SHAPES [CYCLES]]
 *
 * SHAPES is the number of shape changes of each plugin (3000), CYCLES that of loads and of contexts (50). Needs a GPU,
 * or tests/driver/fake_cuda.c in its place. With --results it only runs each plugin at some shapes and writes the
 * outputs, for comparison with another machine's. GLIBC_TUNABLES=glibc.malloc.tcache_count=0 makes the heap's bytes
 * exact: blocks that a thread keeps for itself count as in use otherwise. */
#include "rt/endurance.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/proc.h"
#include "tensor/npy.h"

static const char *library_path, *self;
static bool fake; /* the driver is fake_cuda.c */

static struct host *open_host(int32_t version, struct arena *a)
{
	struct host_options o = { .version = version };
	struct host *h = NULL;
	if (host_open(&h, library_path, &o, a, &err) < 0) {
		printf("%s\n", err.text);
		exit(2);
	}
	return h;
}

static bool is_loaded(void)
{
	void *library = dlopen(library_path, RTLD_NOW | RTLD_NOLOAD);
	if (library)
		dlclose(library);
	return library != NULL;
}

/* Nothing grew between two moments, `turns` turns apart. A GPU's driver allocates for itself now and then; a block that
 * is lost in each turn is at least 32 bytes a turn. */
static void check_growth(const char *what, const struct memory *before, const struct memory *after, int turns)
{
	long long device = after->device - before->device, heap = after->heap - before->heap;
	printf("  %-34s %8d   device %lld bytes, heap %lld bytes, resident %lld KiB\n", what, turns, device, heap,
	       (after->resident - before->resident) / 1024);
	CHECK_INT(device, 0);
	if (fake && getenv("GLIBC_TUNABLES"))
		CHECK_INT(heap, 0);
	else
		CHECK(heap < 16LL * turns);
}

/* ---- One plugin. */

/* The outputs of a new context at each shape: what all others must give, to the bit. */
static void references(struct subject *s, struct host_engine *x)
{
	for (int k = 0; k < SHAPES; k++) {
		struct arena *a = arena_new();
		struct host_engine *y = NULL;
		struct shape *at = &s->shape[k];
		CHECK_INT(host_engine_context(&y, x, a, &err), 0);
		CHECK_INT(host_prepare(y, at->in, at->out, &err), 0);
		CHECK_INT(enqueue(s, y, at, stream), 0);
		at->result = result(s, at);
		host_engine_free(y);
		arena_free(a);
	}
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void change_shapes(struct subject *s, struct host_engine *x, struct host_engine *y, int n)
{
	double *us = malloc(sizeof *us * (size_t)n);
	struct memory before = { 0 };
	bool right = true, ran = true;
	for (int i = -2 * SHAPES; i < n; i++) {
		const struct shape *at = &s->shape[i < 0 ? (i + 2 * SHAPES) % SHAPES : random_in(0, SHAPES - 1)];
		struct host_engine *z = i % 2 ? y : x;
		if (i == 0)
			before = in_use();
		double from = now_us();
		ran = host_prepare(z, at->in, at->out, &err) == 0 && ran;
		if (i >= 0)
			us[i] = now_us() - from;
		ran = enqueue(s, z, at, stream) == 0 && ran;
		if (i % 97 == 0)
			right = result(s, at) == at->result && right;
	}
	CHECK_INT(cu.wait(stream), 0);
	struct memory after = in_use();
	check_growth("shape changes in two contexts", &before, &after, n);
	CHECK(ran);
	CHECK(right);
	qsort(us, (size_t)n, sizeof *us, compare);
	printf("  %-34s            median %.2f us, 99 %% below %.2f us, longest %.0f us\n", "onShapeChange", us[n / 2],
	       us[n - 1 - n / 100], us[n - 1]);
	CHECK(us[n / 2] < 1000);
	free(us);
}

/* Records an enqueue at a shape; the caller frees the graph. */
static handle capture(const struct subject *s, struct host_engine *x, const struct shape *at)
{
	handle graph = NULL;
	CHECK_INT(cu.begin(stream, 0), 0);
	CHECK_INT(enqueue(s, x, at, stream), 0);
	CHECK_INT(cu.end(stream, &graph), 0);
	CHECK(graph);
	return graph;
}

static void launch(const struct subject *s, handle exec, const struct shape *at)
{
	clear(s, at);
	CHECK_INT(cu.launch(exec, stream), 0);
	CHECK(result(s, at) == at->result);
}

/* A graph of the first enqueue of a new context; then its update to other memory, and of that to another context's
 * enqueue. */
static void graphs(struct subject *s, struct host_engine *x)
{
	struct {
		int result;
		void *at, *from;
	} info = { 0 };
	for (int k = 0; k < 4; k++) {
		struct arena *a = arena_new();
		struct host_engine *y = NULL, *z = NULL;
		struct shape at = s->shape[k];
		handle exec = NULL, graph;
		CHECK_INT(host_engine_context(&y, x, a, &err), 0);
		CHECK_INT(host_prepare(y, at.in, at.out, &err), 0);
		graph = capture(s, y, &at);
		CHECK_INT(cu.instantiate(&exec, graph, 0), 0);
		launch(s, exec, &at);
		cu.graph_free(graph);
		for (int o = 0; o < s->outputs; o++)
			at.out[o].pointer = device_new(s->out_bytes[o]);
		CHECK_INT(host_engine_context(&z, x, a, &err), 0);
		CHECK_INT(host_prepare(z, at.in, at.out, &err), 0);
		for (int other = 0; other < 2; other++) {
			graph = capture(s, other ? z : y, &at);
			CHECK_INT(cu.update(exec, graph, &info), 0);
			CHECK_INT(info.result, 0);
			launch(s, exec, &at);
			cu.graph_free(graph);
		}
		cu.exec_free(exec);
		for (int o = 0; o < s->outputs; o++)
			device_free(at.out[o].pointer);
		host_engine_free(z);
		host_engine_free(y);
		arena_free(a);
	}
}

/* Engines and contexts come and go in an open library. */
static void contexts(struct subject *s, struct host *h, int n)
{
	struct memory before = { 0 };
	bool right = true;
	for (int i = -5; i < n; i++) {
		if (i == 0)
			before = in_use();
		struct arena *a = arena_new();
		const struct shape *at = &s->shape[(i + 5) % SHAPES];
		struct host_engine *x = build(s, h, a), *y = NULL;
		right = host_engine_context(&y, x, a, &err) == 0 && right;
		for (int k = 0; k < 2; k++) {
			struct host_engine *z = k ? x : y;
			right = host_prepare(z, at->in, at->out, &err) == 0 && enqueue(s, z, at, stream) == 0 && right;
			right = result(s, at) == at->result && right;
		}
		host_engine_free(i % 2 ? x : y);
		host_engine_free(i % 2 ? y : x);
		arena_free(a);
	}
	struct memory after = in_use();
	check_growth("engines with two contexts", &before, &after, n);
	CHECK(right);
}

/* Contexts share code and weights: the first one's are all. */
static void sharing(struct subject *s, struct host_engine *x)
{
	struct host_engine *y[64] = { 0 };
	struct arena *a = arena_new();
	struct memory before = in_use();
	for (int i = 0; i < 64; i++) {
		CHECK_INT(host_engine_context(&y[i], x, a, &err), 0);
		CHECK_INT(host_prepare(y[i], s->shape[0].in, s->shape[0].out, &err), 0);
		CHECK_INT(enqueue(s, y[i], &s->shape[0], stream), 0);
	}
	CHECK(result(s, &s->shape[0]) == s->shape[0].result);
	struct memory after = in_use();
	printf("  %-34s %8d   device %lld bytes, heap %lld bytes a context\n", "more contexts of an engine", 64,
	       after.device - before.device, (after.heap - before.heap) / 64);
	CHECK_INT(after.device - before.device, 0);
	for (int i = 0; i < 64; i++)
		host_engine_free(y[i]);
	arena_free(a);
}

static long long weight_bytes(const struct tpat_rt_plugin *p)
{
	long long n = 0;
	for (int i = 0; i < p->buffers; i++)
		if (p->buffer[i].data && p->expr[p->buffer[i].bytes].op == TPAT_RT_CONST)
			n += p->expr[p->buffer[i].bytes].value;
	return n;
}

/* ---- The library. */

/* Opened, run and closed: everything goes, also the device's memory. Each second time as TensorRT 8.6, which takes V2
 * plugins. */
static void loads(struct subject *s, int n)
{
	struct memory before = { 0 };
	bool right = true, gone = true;
	CHECK(!is_loaded());
	for (int i = -6; i < n; i++) {
		if (i == 0)
			before = in_use();
		struct arena *a = arena_new();
		const struct shape *at = &s->shape[(i + 6) % SHAPES];
		struct host *h = open_host(i % 2 ? 80601 : 110100, a);
		struct host_engine *x = build(s, h, a), *y = NULL;
		right = host_engine_context(&y, x, a, &err) == 0 && right;
		right = host_prepare(y, at->in, at->out, &err) == 0 && enqueue(s, y, at, stream) == 0 && right;
		right = result(s, at) == at->result && right;
		host_engine_free(y);
		host_engine_free(x);
		host_close(h);
		gone = gone && !is_loaded();
		arena_free(a);
	}
	struct memory after = in_use();
	check_growth("loads and unloads, V3 and V2", &before, &after, n);
	CHECK(right);
	CHECK(gone);
}

/* A library that was just loaded: its first enqueue is recorded. */
static void first_capture(struct subject *s)
{
	struct arena *a = arena_new();
	struct host *h = open_host(110100, a);
	struct host_engine *x = build(s, h, a);
	handle exec = NULL;
	CHECK_INT(host_prepare(x, s->shape[1].in, s->shape[1].out, &err), 0);
	handle graph = capture(s, x, &s->shape[1]);
	CHECK_INT(cu.instantiate(&exec, graph, 0), 0);
	launch(s, exec, &s->shape[1]);
	cu.exec_free(exec);
	cu.graph_free(graph);
	host_engine_free(x);
	host_close(h);
	arena_free(a);
}

/* Contexts of CUDA, on a second GPU if there is one, in turn; one ends before the library does. */
static void cuda_contexts(struct subject *s, handle context)
{
	struct arena *a = arena_new();
	struct host *h = open_host(110100, a);
	struct host_engine *x = build(s, h, a), *y = NULL;
	struct subject *other = NEW(a, struct subject);
	handle second = NULL, first_stream = stream;
	int devices = 1;
	struct memory before = in_use();
	cu.count(&devices);
	CHECK_INT(cu.create(&second, 0, devices > 1), 0);
	CHECK_INT(cu.set(second), 0);
	CHECK_INT(cu.stream(&stream, 1), 0);
	*other = *s;
	y = build(other, h, a);
	fill(other, y);
	handle second_stream = stream;
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 2; k++) {
			const struct shape *at = k ? &other->shape[i] : &s->shape[i];
			CHECK_INT(cu.set(k ? second : context), 0);
			stream = k ? second_stream : first_stream;
			CHECK_INT(host_prepare(k ? y : x, at->in, at->out, &err), 0);
			CHECK_INT(enqueue(k ? other : s, k ? y : x, at, stream), 0);
			CHECK(result(k ? other : s, at) == s->shape[i].result);
		}
	host_engine_free(y);
	CHECK_INT(cu.destroy(second), 0); /* with what the library has loaded in it */
	CHECK_INT(cu.set(context), 0);
	stream = first_stream;
	CHECK_INT(host_prepare(x, s->shape[0].in, s->shape[0].out, &err), 0);
	CHECK_INT(enqueue(s, x, &s->shape[0], stream), 0);
	CHECK(result(s, &s->shape[0]) == s->shape[0].result);
	struct memory after = in_use();
	printf("  two CUDA contexts on %d GPU%s: %lld bytes stay on the device\n", devices > 1 ? 2 : 1,
	       devices > 1 ? "s" : "", after.device - before.device);
	if (fake)
		CHECK_INT(after.device - before.device, 0);
	host_engine_free(x);
	host_close(h);
	arena_free(a);
}

static void one_plugin(struct subject *s, const struct tpat_rt_plugin *p, struct host *h, int shapes, int cycles)
{
	struct arena *a = arena_new();
	struct memory before = in_use();
	struct host_engine *x = build(s, h, a), *y = NULL;
	struct memory after = in_use();
	printf("%s: %d inputs, %d kernels, %lld bytes of constants; loaded: %lld bytes on the device\n", s->name,
	       s->inputs, (int)p->tactic[0].steps, weight_bytes(p), after.device - before.device);
	fill(s, x);
	references(s, x);
	CHECK_INT(host_engine_context(&y, x, a, &err), 0);
	change_shapes(s, x, y, shapes);
	graphs(s, x);
	sharing(s, x);
	contexts(s, h, cycles);
	host_engine_free(y);
	host_engine_free(x);
	arena_free(a);
}

/* ---- Other processes: this program with --exit WAY or --log. */

static const char *const ways[] = { "kept", "closed", "context first", "library last", "at exit", "thread" };
enum { WAYS = sizeof ways / sizeof *ways };

static struct host *late_host;
static struct host_engine *late_engine;

static void free_late(void)
{
	host_engine_free(late_engine);
	host_close(late_host);
}

static void *run_in_thread(void *arg)
{
	handle context;
	struct subject *s = arg;
	cu.retain(&context, 0);
	cu.set(context);
	CHECK_INT(host_prepare(late_engine, s->shape[0].in, s->shape[0].out, &err), 0);
	CHECK_INT(enqueue(s, late_engine, &s->shape[0], stream), 0);
	cu.wait(stream);
	return NULL;
}

/* Prepares the first plugin that can be run. */
static int first_subject(struct subject *s, struct host *h)
{
	const struct tpat_rt_library *l = host_library(h);
	for (int p = 0; p < l->plugins; p++)
		if (!subject_init(s, &l->plugin[p]))
			return 0;
	return -1;
}

/* Runs a plugin and ends: with all as it is; closed in order; the GPU's context before the library; the library in a
 * handler of exit(), after main; from a thread that has ended. */
static int end_in_a_way(int way)
{
	static struct subject s;
	handle context;
	pthread_t thread;
	const char *why;
	if (!open_driver(&why) || cu.retain(&context, 0) || cu.set(context) || cu.stream(&stream, 1))
		return 2;
	if (way == 4)
		atexit(free_late);
	late_host = open_host(110100, arena);
	if (first_subject(&s, late_host))
		return 2;
	late_engine = build(&s, late_host, arena);
	fill(&s, late_engine);
	if (way == 5 && pthread_create(&thread, NULL, run_in_thread, &s) == 0)
		pthread_join(thread, NULL);
	CHECK_INT(host_prepare(late_engine, s.shape[0].in, s.shape[0].out, &err), 0);
	CHECK_INT(enqueue(&s, late_engine, &s.shape[0], stream), 0);
	CHECK_INT(cu.wait(stream), 0);
	if (way == 2 || way == 3)
		cu.release(0);
	if (way == 1 || way == 2)
		free_late();
	if (way == 3)
		dlclose(dlopen(library_path, RTLD_NOW)); /* the loader closes it at exit */
	return test_failed != 0;
}

/* Runs this program in another environment, and returns its status and all that it printed. $RUN may name a program
 * that runs it, such as QEMU. */
static int run_self(const char *const environment[2], const char *first, const char *second, char **said)
{
	const char *const argv[] = { "env", environment[0], environment[1], "sh", "-c", "exec $RUN \"$0\" \"$@\"", self,
		                     first, second,         library_path,   NULL };
	int status = -1;
	if (proc_run_in(&status, said, ".", argv, arena, &err) < 0)
		printf("%s\n", err.text);
	return status;
}

static void exits(void)
{
	for (int w = 0; w < WAYS; w++) {
		char way[8], *said = "";
		snprintf(way, sizeof way, "%d", w);
		int status = run_self((const char *const[]){ "LC_ALL=C", "LC_ALL=C" }, "--exit", way, &said);
		printf("  process exit, %-20s            status %d%s%s\n", ways[w], status, *said ? ": " : "", said);
		CHECK_INT(status, 0);
		CHECK_STR(said, "");
	}
}

/* Prints the log of a build that cannot succeed. */
static int print_log(void)
{
	struct host *h = open_host(110100, arena);
	struct host_engine *x = NULL;
	static struct subject s;
	handle context;
	const char *why;
	if (open_driver(&why)) {
		cu.retain(&context, 0);
		cu.set(context);
	}
	if (first_subject(&s, h))
		return 2;
	host_build(&x, h, s.name, s.version, s.name_space, s.min, s.max, s.max, s.inputs, arena, &err);
	printf("%s", host_log(h));
	host_engine_free(x);
	host_close(h);
	return 0;
}

/* What the engine's log says where the code cannot run: one line each. */
static void drivers(void)
{
	static const struct {
		const char *environment[2], *line; /* null: it runs */
	} driver_of[] = {
		{ { "LD_LIBRARY_PATH=", "LC_ALL=C" }, "there is no CUDA driver: libcuda.so.1 cannot be opened" },
		{ { "FAKE_CUDA_INIT=100", "LC_ALL=C" },
		  "cuInit failed: no CUDA-capable device is detected (CUDA error 100)" },
		/* Another toolkit's compiled code: the driver compiles the PTX. */
		{ { "FAKE_CUDA_CUBINS=209", "LC_ALL=C" }, NULL },
		/* It takes the compiled code of a later toolkit of its own major version. */
		{ { "FAKE_CUDA_VERSION=12020", "LC_ALL=C" }, NULL },
		{ { "FAKE_CUDA_VERSION=11080", "FAKE_CUDA_CUBINS=209" },
		  "the CUDA driver (11.8) is older than the library's code: update it, or build with NVRTC 11.8 (CUDA "
		  "error 222)" },
	};
	for (size_t i = 0; i < sizeof driver_of / sizeof *driver_of; i++) {
		char *said = "";
		int status = run_self(driver_of[i].environment, "--log", "-", &said);
		const char *line = driver_of[i].line;
		printf("  %s %s: %s", driver_of[i].environment[0], driver_of[i].environment[1],
		       *said ? said : "runs\n");
		CHECK_INT(status, 0);
		CHECK(line ? strstr(said, line) && strchr(said, '\n') == strrchr(said, '\n') : !*said);
	}
}

/* The same before the driver's library is in the folder that is searched, and after. */
static int print_later(const char *driver)
{
	const char *folder = getenv("LD_LIBRARY_PATH");
	if (print_log())
		return 2;
	printf("then\n");
	return symlink(driver, path_join(arena, folder, "libcuda.so.1")) || print_log();
}

/* A driver that appears after a plugin could not run. Only the one without a GPU can do that. */
static void appears(void)
{
	const char *folder = getenv("LD_LIBRARY_PATH"),
	           *empty = arena_printf(arena, "/tmp/tpat_later.%d", (int)getpid());
	const char *driver = path_join(arena, folder ? folder : ".", "libcuda.so.1");
	char *said = "";
	if (!file_exists(driver))
		return;
	CHECK_INT(mkdir(empty, 0700), 0);
	const char *search = arena_printf(arena, "LD_LIBRARY_PATH=%s", empty);
	int status =
	        run_self((const char *const[]){ search, "LC_ALL=C" }, "--later", file_absolute(arena, driver), &said);
	printf("  a driver that appears: %s", said);
	CHECK_INT(status, 0);
	const char *then = strstr(said, "then\n");
	CHECK(strstr(said, "there is no CUDA driver") && then && !then[5]);
	unlink(path_join(arena, empty, "libcuda.so.1"));
	rmdir(empty);
}

/* ---- The program. */

static int write_results(const char *folder, struct subject *s, int number, struct host *h)
{
	struct host_engine *x = build(s, h, arena);
	fill(s, x);
	for (int k = 0; k < 5; k++) {
		const struct shape *at = &s->shape[k];
		CHECK_INT(host_prepare(x, at->in, at->out, &err), 0);
		CHECK_INT(enqueue(s, x, at, stream), 0);
		CHECK_INT(cu.wait(stream), 0);
		for (int o = 0; o < s->outputs; o++) {
			struct tensor t;
			CHECK_INT(tensor_new(&t, (enum type)at->out[o].type, at->out[o].rank, at->out[o].dim, arena,
			                     &err),
			          0);
			fetch(t.data, at->out[o].pointer, bytes_of(&at->out[o]));
			CHECK_INT(npy_write(path_join(arena, folder, arena_printf(arena, "%d_%d_%d.npy", number, k, o)),
			                    &t, &err),
			          0);
		}
	}
	host_engine_free(x);
	empty(s);
	return 0;
}

/* Returns the number of plugins run. */
static int whole(handle context, int shapes, int cycles, const char *results)
{
	static struct subject s;
	struct host *h = open_host(110100, arena);
	const struct tpat_rt_library *l = host_library(h);
	int plugins = l->plugins, done = 0;
	struct memory start = in_use();
	for (int p = 0; p < plugins; p++) {
		l = host_library(h);
		const char *why = subject_init(&s, &l->plugin[p]);
		if (why) {
			printf("%s: left out, %s\n", l->plugin[p].name, why);
			continue;
		}
		done++;
		if (results) {
			write_results(results, &s, p, h);
			continue;
		}
		one_plugin(&s, &l->plugin[p], h, shapes, cycles);
		host_close(h);
		loads(&s, cycles);
		first_capture(&s);
		cuda_contexts(&s, context);
		empty(&s);
		h = open_host(110100, arena);
	}
	host_close(h);
	struct memory end = in_use();
	if (fake && !results)
		CHECK_INT(end.device, start.device);
	return done;
}

int main(int argc, char **argv)
{
	const char *why = NULL, *results = NULL;
	char name[100] = "";
	handle context;
	arena = arena_new();
	self = argv[0];
	library_path = argc > 1 ? argv[argc > 3 && argv[1][0] == '-' ? 3 : 1] : NULL;
	if (argc == 4 && strcmp(argv[1], "--exit") == 0)
		return end_in_a_way(atoi(argv[2]));
	if (argc == 4 && strcmp(argv[1], "--later") == 0)
		return print_later(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--log") == 0)
		return print_log();
	if (argc == 4 && strcmp(argv[1], "--results") == 0)
		results = argv[2];
	if (argc < 2 || argc > 4 || (argv[1][0] == '-' && !results)) {
		fprintf(stderr, "usage: %s [--results FOLDER] LIBRARY [SHAPES [CYCLES]]\n", argv[0]);
		return 2;
	}
	if (!open_driver(&why)) {
		printf("%s\n", why);
		return 2;
	}
	cu.name(name, sizeof name, 0);
	fake = strncmp(name, "Fake", 4) == 0;
	printf("%s\n", name);
	CHECK_INT(cu.retain(&context, 0), 0);
	CHECK_INT(cu.set(context), 0);
	CHECK_INT(cu.stream(&stream, 1), 0);
	int shapes = !results && argc > 2 ? atoi(argv[2]) : 3000, cycles = !results && argc > 3 ? atoi(argv[3]) : 50;
	int done = whole(context, shapes, cycles, results);
	if (!done)
		printf("%s has no plugin that can be run here\n", library_path);
	CHECK(done > 0);
	if (!results && done) {
		exits();
		if (fake)
			drivers();
		appears();
	}
	cu.stream_free(stream);
	return test_done();
}
