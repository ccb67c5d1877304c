/* The library as a program uses it: only tpat.h, and a model made here. */
#include "tpat/tpat.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"
#include "onnx_make.h"
#include "test.h"

static struct arena *arena;
static char *folder;

static const char *place(const char *name)
{
	return path_join(arena, folder, name);
}

/* y = Softmax(Relu(x)), x: f32[N,5] */
static void write_model(const char *path)
{
	struct err e = { 0 };
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	const char *const symbol[] = { "N", NULL };
	const int64_t dim[] = { -1, 5 };
	Onnx__NodeProto *relu = onnx_node_new(m, "", "Relu", "first"),
	                *softmax = onnx_node_new(m, "", "Softmax", "second");
	onnx_node_input(m, relu, "x");
	onnx_node_output(m, relu, "h");
	onnx_node_input(m, softmax, "h");
	onnx_node_output(m, softmax, "y");
	onnx_graph_add_node(m, m->proto->graph, relu);
	onnx_graph_add_node(m, m->proto->graph, softmax);
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "x", TYPE_F32, 2, dim, symbol));
	onnx_graph_add_output(m, m->proto->graph, onnx_value_info_new(m, "y", TYPE_F32, 2, dim, symbol));
	CHECK_INT(onnx_model_write(m, path, NULL, &e), 0);
	onnx_model_free(m);
}

static void test_list(struct tpat *t)
{
	const struct tpat_list *l;
	struct tpat_list_options o = TPAT_LIST_OPTIONS;
	o.model = place("model.onnx");
	CHECK_INT(tpat_list(t, &l, &o), TPAT_OK);
	CHECK_INT(l->nodes, 2);
	CHECK_STR(l->node[1].label, "second");
	CHECK_STR(l->node[1].op_type, "Softmax");
	CHECK_STR(l->node[1].inputs, "f32[N,5]");
	CHECK(l->node[1].taken);
	CHECK_STR(l->inputs.at[0], "x: f32[N,5]");
	o.version = 0;
	CHECK_INT(tpat_list(t, &l, &o), TPAT_USAGE);
	CHECK(l == NULL);
}

struct seen {
	int programs, steps;
	bool stop;
};

static bool progress(void *user, const struct tpat_progress *p)
{
	struct seen *s = user;
	(void)p;
	__atomic_fetch_add(&s->steps, 1, __ATOMIC_RELAXED);
	return s->stop;
}

static void dump(void *user, const char *pass, const char *text)
{
	struct seen *s = user;
	s->programs += strcmp(pass, "lower") == 0 && strncmp(text, "program ", 8) == 0;
}

static void test_stop(struct tpat *t)
{
	const struct tpat_built *b;
	struct seen seen = { .stop = true };
	const char *const type[] = { "Softmax" };
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	o.model = place("model.onnx");
	o.output = place("stopped.onnx");
	o.type = (struct tpat_strings){ type, 1 };
	o.progress = progress;
	o.user = &seen;
	CHECK_INT(tpat_build(t, &b, &o), TPAT_CANCELLED);
	CHECK_STR(tpat_error(t), "Interrupted.");
	CHECK(!file_exists(o.output) && !file_exists(place("libtpat_stopped.so")) &&
	      !file_exists(place("stopped.tpat")));
}

/* ---- Callbacks of the context. */

struct talk {
	int asked, stop_at; /* stop_at: the number of the question that is answered with yes; 0: none */
	int warnings, notes, schedules, codes;
};

static bool cancel(void *user)
{
	struct talk *x = user;
	return __atomic_add_fetch(&x->asked, 1, __ATOMIC_RELAXED) == x->stop_at;
}

static void take_log(void *user, enum tpat_log_level level, const char *text)
{
	struct talk *x = user;
	*(level == TPAT_LOG_WARNING ? &x->warnings : &x->notes) += 1;
	x->schedules += strstr(text, ": schedule ") != NULL;
	x->codes += strstr(text, " for sm_90") != NULL;
	CHECK(*text && !strchr(text, '\n'));
}

/* Names in the test's folder, hidden ones too. */
static int files(void)
{
	int n = 0;
	file_list(&n, folder, arena);
	return n;
}

/* Stops a build at each of its questions in turn: every time the code says so, and no file is left. */
static void test_cancel(struct tpat *t)
{
	const struct tpat_built *b;
	struct talk x = { 0 };
	const char *const type[] = { "Relu", "Softmax" }, *const arch[] = { "sm_90" };
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	int before = files(), code = TPAT_CANCELLED, stopped = 0;
	o.model = place("model.onnx");
	o.output = place("cancelled.onnx");
	o.type = (struct tpat_strings){ type, 2 };
	o.arch = (struct tpat_strings){ arch, 1 };
	o.workers = 2;
	for (int at = 1; code == TPAT_CANCELLED && at < 100; at++) {
		x = (struct talk){ .stop_at = at };
		tpat_set_callbacks(t, &(struct tpat_callbacks){ cancel, take_log, &x });
		code = tpat_build(t, &b, &o);
		if (code != TPAT_CANCELLED)
			break;
		CHECK(b == NULL);
		CHECK_STR(tpat_error(t), "Interrupted.");
		CHECK_INT(files(), before);
		stopped++;
	}
	tpat_set_callbacks(t, NULL);
	CHECK(stopped >= 2);     /* before each program at least */
	if (code == TPAT_DEVICE) /* no NVRTC */
		return;
	CHECK_INT(code, 0);
	CHECK(stopped > 4);
	CHECK_INT(x.schedules, 2);
	CHECK_INT(x.codes, 2);
	CHECK(files() > before);

	struct tpat_verify_options v = TPAT_VERIFY_OPTIONS;
	const struct tpat_verified *r;
	int asked = 0;
	v.model = o.output;
	v.device = "cpu";
	for (int at = 0; at <= asked; at++) {
		x = (struct talk){ .stop_at = at };
		tpat_set_callbacks(t, &(struct tpat_callbacks){ cancel, take_log, &x });
		code = tpat_verify(t, &r, &v);
		asked = at ? asked : x.asked;
		CHECK_INT(code, at ? TPAT_CANCELLED : 0);
		CHECK(r && r->interrupted == (at > 0) && r->checks == x.notes);
		CHECK(at || (r && r->checks == 2));
	}
	CHECK_INT(asked, 2 + 2 * 3); /* each plugin, and each of its runs */
	tpat_set_callbacks(t, NULL);
}

/* A tuning that is stopped gives what it has. */
static void test_cancel_tune(struct tpat *t)
{
	const struct tpat_tuning *r;
	struct talk x = { .stop_at = 1 };
	const char *const type[] = { "Softmax" };
	struct tpat_tune_options o = TPAT_TUNE_OPTIONS;
	o.model = place("model.onnx");
	o.type = (struct tpat_strings){ type, 1 };
	o.device = "cpu";
	o.db = place("tuning.db");
	o.seconds = 60;
	o.workers = 1;
	tpat_set_callbacks(t, &(struct tpat_callbacks){ cancel, take_log, &x });
	CHECK_INT(tpat_tune(t, &r, &o), 0);
	CHECK(r && r->interrupted);
	CHECK(x.asked >= 1);
	tpat_set_callbacks(t, NULL);
}

/* With NVRTC: build, inspect, verify. Without: the error says so and no file is left. */
static void test_build(struct tpat *t)
{
	const struct tpat_built *b;
	const struct tpat_inspected *i;
	const struct tpat_verified *v;
	struct seen seen = { 0 };
	const char *const region[] = { "first,second" }, *const name[] = { "first..second=Both" },
	                  *const arch[] = { "sm_90" };
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	struct tpat_verify_options vo = TPAT_VERIFY_OPTIONS;
	o.model = place("model.onnx");
	o.region = (struct tpat_strings){ region, 1 };
	o.name = (struct tpat_strings){ name, 1 };
	o.arch = (struct tpat_strings){ arch, 1 };
	o.progress = progress;
	o.dump = dump;
	o.user = &seen;
	int rc = tpat_build(t, &b, &o);
	CHECK_INT(seen.programs, 1);
	if (rc == TPAT_DEVICE) {
		CHECK(*tpat_error(t) && !file_exists(place("model_tpat.onnx")));
		return;
	}
	CHECK_INT(rc, TPAT_OK);
	CHECK_INT(b->nodes, 2);
	CHECK_INT(b->plugins, 1);
	CHECK_STR(b->plugin[0].name, "Both");
	CHECK_STR(b->plugin[0].nodes.at[0], "first..second");
	CHECK_STR(b->libraries.at[0], place("libtpat_model.so"));
	CHECK(seen.steps > 2);
	CHECK_INT(tpat_inspect(t, &i, place("libtpat_model.so")), TPAT_OK);
	CHECK_INT(i->plugins, 1);
	CHECK_INT(i->problems.n, 0);
	CHECK(strncmp(i->plugin[0].code.at[0], "sm_90, ", 7) == 0);
	vo.model = place("model_tpat.onnx");
	vo.device = "cpu";
	CHECK_INT(tpat_verify(t, &v, &vo), TPAT_OK);
	CHECK(v && v->checks == 1 && v->check[0].passed && v->failed == 0);
}

int main(void)
{
	struct err e = { 0 };
	struct tpat *t = tpat_new();
	arena = arena_new();
	CHECK(t != NULL);
	CHECK_STR(tpat_version(), TPAT_VERSION);
	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	write_model(place("model.onnx"));
	test_list(t);
	test_stop(t);
	test_cancel(t);
	test_cancel_tune(t);
	test_build(t);
	file_remove_tree(folder);
	tpat_free(t);
	tpat_free(NULL);
	arena_free(arena);
	return test_done();
}
