/* Times plugins through their ABI, with inputs that TensorRT would give them. Needs a GPU.
 *
 *     hosted JOBS [FOLDER [LOCK]]
 *
 * JOBS has lines of tab-separated fields: a label, a library with one plugin, and for each input
 * MIN:OPT:MAX:SHAPE:VALUES. Shapes are written 8x3x64, a scalar as nothing. MIN, OPT and MAX are the profile;
 * SHAPE is the one to time. VALUES is LOW,HIGH, of which random numbers are drawn, or an .npy file. The plugin
 * is built for the profile, and the tactic that is fastest at OPT is kept, as TensorRT does.
 *
 * Successive lines with the same label are variants of one case, such as a static and a dynamic build: they get the
 * same inputs and are timed in turn. A line is printed for each: label, library, number of launches, microseconds, and
 * the norm of the difference from the first variant's outputs, or the error. With FOLDER, the last variant's outputs
 * are written to it as 0.npy, 1.npy and so on. LOCK is a file that is locked while the GPU is used.
 *
 * Times are medians of CUDA graphs. Each graph enqueues the plugin many times, with buffers that rotate over more
 * memory than the L2 cache has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"
#include "dev/dev.h"
#include "engine/tensorrt/host.h"
#include "tensor/npy.h"
#include "tune/tune.h"

enum { MOST_TENSORS = 64, MOST_VARIANTS = 8, MOST_FIELDS = MOST_TENSORS + 3, MOST_COPIES = 64, MOST_LAUNCHES = 512 };
enum {
	ROUNDS = 3,
	REPLAYS = 7,
	TRIALS = 3,
	LEAST_NS = 100 /* no launch is faster */,
	DRAWN = 1 << 18,
	MOST_COMPARED = 1 << 20
};
static const double SAMPLE_NS = 1e6;

static struct dev *dev;
static const char *folder, *lock;

struct input {
	char *values;
	struct host_tensor min, opt, max, at;
};

/* A line of the jobs. */
struct variant {
	char *label, *library;
	struct input input[MOST_TENSORS];
	int inputs;
	struct host *host;
	struct host_engine *engine;
	const struct tpat_rt_plugin *plugin;
	int tactic;
	void *workspace;
	struct dev_graph *graph;
	int launches; /* of the plugin in the graph */
	double sample[ROUNDS * REPLAYS], norm;
	struct err err;
};

/* Buffers of all copies for one shape, which all variants share. */
struct buffers {
	int copies, inputs, outputs;
	struct host_tensor in[MOST_COPIES][MOST_TENSORS], out[MOST_COPIES][MOST_TENSORS];
};

/* The tactics chosen so far. */
static struct {
	struct {
		VEC(struct chosen {
			const char *library;
			int tactic;
		});
	} list;
	struct arena *arena;
} chosen;

/* ---- Jobs. */

static bool read_shape(struct host_tensor *t, char *text)
{
	char *end = text;
	t->rank = 0;
	while (*text && t->rank < TPAT_RT_MAX_RANK) {
		t->dim[t->rank++] = strtoll(text, &end, 10);
		if (end == text || (*end && *end != 'x'))
			return false;
		text = end + (*end == 'x');
	}
	return !*text;
}

/* Parses "1x8:4x8:16x8:3x8:-2,2". */
static bool read_input(struct input *in, char *value)
{
	char *part[5];
	for (int i = 0; i < 5; i++) {
		part[i] = value;
		value = i < 4 ? strchr(value, ':') : value;
		if (!value)
			return false;
		if (i < 4)
			*value++ = '\0';
	}
	in->values = part[4];
	return read_shape(&in->min, part[0]) && read_shape(&in->opt, part[1]) && read_shape(&in->max, part[2]) &&
	       read_shape(&in->at, part[3]);
}

static bool read_job(struct variant *v, char *line)
{
	char *rest, *field = strtok_r(line, "\t", &rest);
	*v = (struct variant){ .label = field, .library = strtok_r(NULL, "\t", &rest) };
	while ((field = strtok_r(NULL, "\t", &rest)))
		if (v->inputs == MOST_TENSORS || !read_input(&v->input[v->inputs++], field))
			return false;
	return v->library != NULL;
}

/* ---- Data. */

static int64_t count_of(const struct host_tensor *t)
{
	int64_t n = 1;
	for (int k = 0; k < t->rank; k++)
		n *= t->dim[k];
	return n;
}

static size_t bytes_of(const struct host_tensor *t)
{
	return (size_t)type_bytes((enum type)t->type, count_of(t));
}

/* Random numbers: some are drawn and repeated. */
static void draw(struct tensor *x, double low, double high, int i)
{
	struct tensor some = *x;
	size_t all = (size_t)tensor_bytes(x), drawn;
	if (tensor_count(x) > DRAWN) {
		some.rank = 1;
		some.dim[0] = DRAWN;
	}
	tensor_random(&some, (uint64_t)i + 1, low, high);
	drawn = (size_t)tensor_bytes(&some);
	for (size_t at = drawn; at < all; at += drawn)
		memcpy((char *)x->data + at, x->data, all - at < drawn ? all - at : drawn);
}

static int values(struct tensor *x, const struct input *in, enum type type, const struct host_tensor *shape, int i,
                  struct arena *a, struct err *e)
{
	char *end;
	double low = strtod(in->values, &end);
	if (*end != ',') {
		struct tensor given;
		TRY(npy_read(&given, in->values, type, a, e));
		return given.type == type ? (*x = given, 0) : tensor_convert(x, &given, type, a, e);
	}
	TRY(tensor_new(x, type, shape->rank, shape->dim, a, e));
	draw(x, low, strtod(end + 1, NULL), i);
	return 0;
}

/* Allocates buffers at the profile's optimum or at the shape to time, and fills the inputs. */
static int buffers_new(struct buffers *b, struct variant *v, bool opt, struct arena *a, struct err *e)
{
	size_t edge = 0, rotate = tune_rotated_bytes(true);
	*b = (struct buffers){ .inputs = v->plugin->inputs, .outputs = host_outputs(v->engine) };
	for (int i = 0; i < b->inputs; i++) {
		b->in[0][i] = opt ? v->input[i].opt : v->input[i].at;
		edge += bytes_of(&b->in[0][i]);
	}
	TRY(host_shapes(v->engine, b->in[0], b->out[0], e));
	for (int o = 0; o < b->outputs; o++)
		edge += bytes_of(&b->out[0][o]);
	b->copies = edge && rotate > edge ? (int)((rotate + edge - 1) / edge) : 1;
	b->copies = b->copies > MOST_COPIES ? MOST_COPIES : b->copies;
	for (int i = 0; i < b->inputs; i++) {
		struct tensor x;
		TRY(values(&x, &v->input[i], (enum type)b->in[0][i].type, &b->in[0][i], i, a, e));
		for (int c = 0; c < b->copies; c++) {
			b->in[c][i] = b->in[0][i];
			TRY(dev->alloc(dev, &b->in[c][i].pointer, bytes_of(&b->in[c][i]) + 1, e));
			TRY(dev->copy_in(dev, b->in[c][i].pointer, x.data, (size_t)tensor_bytes(&x), e));
		}
	}
	for (int c = 0; c < b->copies; c++)
		for (int o = 0; o < b->outputs; o++) {
			b->out[c][o] = b->out[0][o];
			TRY(dev->alloc(dev, &b->out[c][o].pointer, bytes_of(&b->out[c][o]) + 1, e));
		}
	return dev->synchronize(dev, e);
}

static void buffers_free(struct buffers *b)
{
	for (int c = 0; c < b->copies; c++) {
		for (int i = 0; i < b->inputs; i++)
			dev->free(dev, b->in[c][i].pointer);
		for (int o = 0; o < b->outputs; o++)
			dev->free(dev, b->out[c][o].pointer);
	}
	b->copies = 0;
}

/* ---- Timing. */

static int enqueue_all(struct variant *v, struct buffers *b, int launches, struct err *e)
{
	for (int i = 0; i < launches; i++) {
		int c = i % b->copies;
		TRY(host_enqueue(v->engine, b->in[c], b->out[c], v->workspace, dev->queue, e));
	}
	return 0;
}

static int sample(struct variant *v, double *ns, struct err *e)
{
	struct dev_event *from, *to;
	TRY(dev->event_new(dev, &from, e));
	TRY(dev->event_new(dev, &to, e));
	TRY(dev->event_record(dev, from, e));
	TRY(dev->graph_launch(dev, v->graph, e));
	TRY(dev->event_record(dev, to, e));
	TRY(dev->event_ns(dev, ns, from, to, e));
	dev->event_free(dev, from);
	dev->event_free(dev, to);
	*ns /= v->launches;
	if (*ns < LEAST_NS)
		return err_set(e, ERR_DEVICE, "A launch would take %.3f ns: the graph of the plugin is empty.", *ns);
	return 0;
}

static int record(struct variant *v, struct buffers *b, int launches, struct err *e)
{
	v->launches = launches;
	TRY(dev->capture_begin(dev, e));
	TRY(enqueue_all(v, b, launches, e));
	return dev->capture_end(dev, &v->graph, e);
}

/* Records a graph that is long enough to time. */
static int make_graph(struct variant *v, struct buffers *b, struct err *e)
{
	double ns;
	TRY(host_prepare(v->engine, b->in[0], b->out[0], e));
	TRY(enqueue_all(v, b, 1, e));
	TRY(dev->synchronize(dev, e));
	TRY(record(v, b, b->copies, e));
	for (int i = 0; i < 2; i++)
		TRY(sample(v, &ns, e));
	double all = ns * b->copies;
	int rounds = all > 0 && all < SAMPLE_NS ? (int)(SAMPLE_NS / all) + 1 : 1;
	if (rounds * b->copies > MOST_LAUNCHES)
		rounds = MOST_LAUNCHES / b->copies;
	if (rounds <= 1)
		return 0;
	dev->graph_free(dev, v->graph);
	TRY(record(v, b, rounds * b->copies, e));
	return sample(v, &ns, e);
}

static void free_graph(struct variant *v)
{
	if (v->graph)
		dev->graph_free(dev, v->graph);
	v->graph = NULL;
}

static bool same_types(const struct variant *v, const struct buffers *b)
{
	bool same = v->plugin->inputs == b->inputs && host_outputs(v->engine) == b->outputs;
	for (int i = 0; i < b->inputs && same; i++)
		same = v->plugin->input[i].type == b->in[0][i].type;
	return same;
}

/* Finds the tactic that is fastest at the profile's optimum. */
static int choose_tactic(struct variant *v, struct arena *a, struct err *e)
{
	struct buffers *b = NEW(a, struct buffers);
	double best = 0;
	vec_each (c, &chosen.list)
		if (strcmp(c->library, v->library) == 0) {
			v->tactic = c->tactic;
			return host_set_tactic(v->engine, v->tactic, e);
		}
	if (host_tactics(v->engine) < 2)
		return 0;
	TRY(buffers_new(b, v, true, a, e));
	for (int t = 0; t < host_tactics(v->engine); t++) {
		double ns[TRIALS];
		TRY(host_set_tactic(v->engine, t, e));
		TRY(make_graph(v, b, e));
		for (int i = 0; i < TRIALS; i++)
			TRY(sample(v, &ns[i], e));
		free_graph(v);
		double middle = tune_median(ns, TRIALS, NULL);
		if (t && middle >= best)
			continue;
		best = middle;
		v->tactic = t;
	}
	buffers_free(b);
	vec_push(chosen.arena, &chosen.list, ((struct chosen){ v->library, v->tactic }));
	return host_set_tactic(v->engine, v->tactic, e);
}

static int start(struct variant *v, struct arena *a, struct err *e)
{
	struct host_options o = { 0 };
	struct host_tensor min[MOST_TENSORS], opt[MOST_TENSORS], max[MOST_TENSORS];
	TRY(host_open(&v->host, v->library, &o, a, e));
	v->plugin = host_library(v->host)->plugin;
	if (v->plugin->inputs != v->inputs)
		return err_set(e, ERR_USAGE, "%s has %d inputs, not %d.", v->library, v->plugin->inputs, v->inputs);
	for (int i = 0; i < v->inputs; i++) {
		struct input *in = &v->input[i];
		const struct tpat_rt_tensor *t = &v->plugin->input[i];
		if (t->shape_input || t->rank != in->at.rank)
			return err_set(e, ERR_USAGE, "Input %d of %s, %s, is of rank %d%s.", i, v->library, t->name,
			               t->rank, t->shape_input ? ", a shape input" : "");
		in->min.type = in->opt.type = in->max.type = in->at.type = t->type;
		min[i] = in->min, opt[i] = in->opt, max[i] = in->max;
	}
	TRY(host_build(&v->engine, v->host, v->plugin->name, v->plugin->version, v->plugin->name_space, min, opt, max,
	               v->inputs, a, e));
	TRY(dev->alloc(dev, &v->workspace, host_workspace(v->engine) + 1, e));
	return choose_tactic(v, a, e);
}

/* ---- One case. */

static int read_outputs(struct variant *v, struct buffers *b, struct tensor *out, struct arena *a, struct err *e)
{
	TRY(host_prepare(v->engine, b->in[0], b->out[0], e));
	for (int o = 0; o < b->outputs; o++)
		TRY(dev->memset(dev, b->out[0][o].pointer, 0xff, bytes_of(&b->out[0][o]), e));
	TRY(enqueue_all(v, b, 1, e));
	for (int o = 0; o < b->outputs; o++) {
		const struct host_tensor *t = &b->out[0][o];
		TRY(tensor_new(&out[o], (enum type)t->type, t->rank, t->dim, a, e));
		TRY(dev->copy_out(dev, out[o].data, t->pointer, bytes_of(t), e));
		if (folder)
			TRY(npy_write(path_join(a, folder, arena_printf(a, "%d.npy", o)), &out[o], e));
	}
	return 0;
}

/* Compares the first or last elements of a large tensor. */
static double difference_of_part(struct tensor got, struct tensor want, bool last)
{
	struct tensor_difference d;
	int64_t n = tensor_count(&got), part = n > MOST_COMPARED ? MOST_COMPARED : n;
	got.rank = want.rank = 1;
	got.dim[0] = want.dim[0] = part;
	if (last) {
		int64_t bytes = tensor_bytes(&got), all = type_bytes(got.type, n);
		got.data = (char *)got.data + (all - bytes);
		want.data = (char *)want.data + (all - bytes);
	}
	if (!tensor_compare(&d, &got, &want, (struct tensor_tolerance){ 0, 0 }))
		return INFINITY;
	return isinf(d.max_absolute) ? INFINITY : d.norm;
}

/* The largest norm of the difference of an output; infinite if one is NaN or infinite only here. */
static double difference(const struct tensor *got, const struct tensor *want, int n)
{
	double worst = 0;
	for (int o = 0; o < n; o++) {
		if (!tensor_same_shape(&got[o], &want[o]) || got[o].type != want[o].type)
			return INFINITY;
		worst = fmax(worst, difference_of_part(got[o], want[o], false));
		if (tensor_count(&got[o]) > MOST_COMPARED)
			worst = fmax(worst, difference_of_part(got[o], want[o], true));
	}
	return worst;
}

static void time_case(struct variant *v, int n)
{
	struct arena *a = arena_new();
	struct buffers *b = NEW(a, struct buffers);
	struct tensor *out = NEWN(a, struct tensor, n * MOST_TENSORS);
	int locked = -1;
	bool failed = lock && file_lock(&locked, lock, &v[0].err) < 0;
	for (int i = 0; i < n; i++) {
		struct variant *x = &v[i];
		failed = failed || start(x, a, &x->err) < 0 || (i == 0 && buffers_new(b, x, false, a, &x->err) < 0);
		if (!failed && !same_types(x, b))
			failed = err_set(&x->err, ERR_USAGE, "%s has other types.", x->library) < 0;
		failed = failed || read_outputs(x, b, out + (ptrdiff_t)i * MOST_TENSORS, a, &x->err) < 0 ||
		         make_graph(x, b, &x->err) < 0;
		x->norm = failed ? 0 : difference(out + (ptrdiff_t)i * MOST_TENSORS, out, b->outputs);
	}
	for (int r = 0; r < ROUNDS && !failed; r++)
		for (int i = 0; i < n; i++) {
			struct variant *x = &v[r % 2 ? n - 1 - i : i];
			for (int k = 0; k < REPLAYS; k++)
				failed = failed || sample(x, &x->sample[r * REPLAYS + k], &x->err) < 0;
		}
	if (locked >= 0)
		file_unlock(locked);
	for (int i = 0; i < n; i++) {
		struct variant *x = &v[i];
		const char *why = x->err.text[0] ? x->err.text : "another variant failed";
		if (failed)
			printf("%s\t%s\t\t\t%s\n", x->label, x->library, why);
		else
			printf("%s\t%s\t%d\t%.3f\t%.3g\n", x->label, x->library, x->plugin->tactic[x->tactic].steps,
			       tune_median(x->sample, ROUNDS * REPLAYS, NULL) / 1e3, x->norm);
		free_graph(x);
		dev->free(dev, x->workspace);
		host_engine_free(x->engine);
		host_close(x->host);
	}
	buffers_free(b);
	fflush(stdout);
	arena_free(a);
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();
	struct variant *v = NEWN(a, struct variant, MOST_VARIANTS);
	struct err e = { 0 };
	char *text, *line, *rest;
	int n = 0;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: hosted JOBS [FOLDER [LOCK]]\n");
		return 2;
	}
	folder = argc > 2 ? argv[2] : NULL;
	lock = argc > 3 ? argv[3] : NULL;
	number_use_c_locale();
	chosen.arena = a;
	if (file_read(&text, NULL, argv[1], a, &e) < 0 || dev_open(&dev, "cuda", &e) < 0) {
		fprintf(stderr, "%s%s\n", e.where, e.text);
		return 5;
	}
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct variant next;
		if (!read_job(&next, line)) {
			fprintf(stderr, "%s: this line is not a job: %s\n", argv[1], line);
			return 2;
		}
		if (n && (strcmp(v[0].label, next.label) != 0 || n == MOST_VARIANTS)) {
			time_case(v, n);
			n = 0;
		}
		v[n++] = next;
	}
	if (n)
		time_case(v, n);
	dev->close(dev);
	arena_free(a);
	return 0;
}
