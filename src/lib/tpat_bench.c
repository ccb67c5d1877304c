/* Measuring a model's nodes on a device. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"
#include "check/sample.h"
#include "check/verify.h"
#include "eval/eval.h"
#include "ir/launch.h"
#include "tensor/npy.h"
#include "tune/tune.h"

enum { REPEATS = 25 };

struct bench {
	const struct tpat_bench_options *o;
	struct tpat_benched *result;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct tpat_given given;
	struct dev *dev;
	struct sched_target target;   /* the device, without extents */
	struct tpat_tuned *tuned;     /* null: the cost model decides */
	struct tpat_extents *extents; /* expected by the user */
	int lock;                     /* descriptor of o->lock while held, else -1 */
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct bench *b = arg;
	tpat_tuned_close(b->tuned);
	if (b->dev)
		b->dev->close(b->dev);
	graph_free(b->graph);
	onnx_model_free(b->model);
}

static const char *schedule_text(const struct ir_plan *plan, struct arena *a)
{
	struct str s = str_new(a);
	vec_each (step, &plan->steps) {
		const struct ir_kernel *k = (*step)->at[0];
		str_printf(&s, "%s%s", s.n ? "; " : "", ir_kernel_decision(k, a));
	}
	return str_text(&s);
}

/* Writes the outputs to FOLDER/NAME.npy. */
static int save_outputs(struct bench *b, const struct graph_region *region, const struct tensor *got, struct err *e)
{
	for (int i = 0; b->o->save_outputs && i < region->outputs.n; i++) {
		const char *name = str_identifier(b->arena, region->outputs.at[i]->name);
		TRY(npy_write(path_join(b->arena, b->o->save_outputs, arena_printf(b->arena, "%s.npy", name)), &got[i],
		              e));
	}
	return 0;
}

struct taken {
	struct ir_inputs in;
	struct sched_extent *extent;
	int n;
};

static bool take_extent(void *user, expr symbol, int64_t *value)
{
	struct taken *x = user;
	if (!ir_inputs_symbol(&x->in, symbol, value))
		return false;
	x->extent[x->n++] = (struct sched_extent){ symbol, *value };
	return true;
}

/* Returns the device with these inputs' extents. */
static struct sched_target target_for(struct bench *b, const struct ir_program *p, const struct tensor *const *in,
                                      struct arena *a)
{
	struct taken x = { { p, in }, NEWN(a, struct sched_extent, p->inputs.n * IR_MAX_RANK + 1), 0 };
	struct sched_target t = b->target;
	sched_shape_text(p, take_extent, &x, a); /* calls take_extent for each symbol */
	t.extent = x.extent;
	t.extents = x.n;
	return t;
}

/* Schedules by the database if it has the program, else by the cost model. */
static int schedule(struct bench *b, const struct ir_plan **plan, struct tpat_timing *t, struct ir_program *p,
                    const struct sched_target *target, struct err *e)
{
	struct tpat_tuned_choice tuned = { 0 };
	char hash[33];
	ir_hash(p, hash);
	if (b->tuned)
		TRY(tpat_tuned_find(&tuned, b->tuned, p, hash, target, false, e));
	*plan = sched_program(p, target, tuned.choice);
	if (tuned.choice) {
		t->tuned_shape = tuned.shape;
		t->tuned_on = tuned.device;
	}
	return 0;
}

static void compare(struct bench *b, struct tpat_timing *t, const struct tensor *got, struct tune_reference *r)
{
	const char *worst;
	if (r->want && !tune_same(got, r, &worst, b->arena))
		t->wrong = worst;
}

/* Takes the lock that all processes share which measure on one device. */
static int begin_timing(struct bench *b, struct err *e)
{
	return b->o->lock ? file_lock(&b->lock, b->o->lock, e) : 0;
}

static int end_timing(struct bench *b, int rc)
{
	if (b->lock >= 0)
		file_unlock(b->lock);
	b->lock = -1;
	return rc;
}

static int measure(struct bench *b, struct tpat_timing *t, const struct graph_region *region, struct ir_program *p,
                   struct tune_reference *reference, struct tune_runner **r, struct arena *scratch, struct err *e)
{
	const struct tensor *const *inputs = reference->inputs;
	const struct sched_target target = target_for(b, p, inputs, scratch);
	const struct ir_plan *plan;
	TRY(schedule(b, &plan, t, p, &target, e));
	struct tensor *got = NEWN(scratch, struct tensor, p->outputs.n + 1);
	const struct tune_setup setup = { .rotate = tune_rotated_bytes(b->dev->props.arch) };
	TRY(tune_runner_new(r, b->dev, plan, inputs, &setup, scratch, e));
	t->schedule = schedule_text(plan, b->arena);
	t->kernels = tune_runner_kernels(*r);
	t->bytes = tune_runner_bytes(*r);
	const struct tune_roofline roof =
	        tune_roofline(p, inputs, &b->dev->props, &b->target, t->bytes, b->result->bytes_per_ns, t->kernels);
	t->operations = roof.operations;
	t->arithmetic_ns = roof.arithmetic_ns;
	t->bound = roof.bound;
	TRY(tune_runner_outputs(*r, got, scratch, e));
	t->outputs = tpat_tensors_text(got, p->outputs.n, b->arena);
	TRY(save_outputs(b, region, got, e));
	compare(b, t, got, reference);
	TRY(begin_timing(b, e));
	return end_timing(b, tune_runner_time(*r, &t->ns, &t->spread, b->o->repeats > 0 ? b->o->repeats : REPEATS, e));
}

/* Interprets only some results, if all would take too long. */
static int interpret_some(struct tune_reference *r, struct tensor *want, struct arena *a, struct err *e)
{
	struct sample *sample;
	if (!want || !r->program->outputs.n || want[0].type != TYPE_NONE)
		return 0;
	TRY(sample_new(&sample, r->program, r->inputs, 1, a, e));
	r->sample = sample;
	return sample ? 0 : eval_program(r->program, r->inputs, want, NULL, a, e);
}

static int bench_region(struct bench *b, const struct graph_region *region, struct tpat_timing *t,
                        struct arena *scratch, struct err *e)
{
	/* With a database: exactly a plugin's program. */
	struct graph_program_options options = { .any_types = true,
		                                 .keep_types = !b->tuned,
		                                 .sizes = b->tuned != NULL };
	struct ir_program *p;
	TRY(graph_region_program(&p, region, &options, scratch, e));
	struct verify_input *input = NEWN(scratch, struct verify_input, p->inputs.n + 1);
	struct tensor *in = NEWN(scratch, struct tensor, p->inputs.n + 1);
	const struct tensor **inputs = NEWN(scratch, const struct tensor *, p->inputs.n + 1);
	struct tensor *want = b->o->unchecked ? NULL : NEWN(scratch, struct tensor, p->outputs.n + 1);
	struct tune_reference reference = { .program = p, .inputs = inputs, .want = want, .arena = scratch };
	struct verify_case c = { .plugin = region->label, .reference = p, .input = input, .seed = 1 };
	c.demand = b->graph->demands.at;
	c.demands = b->graph->demands.n;
	c.most_work = sample_patience();
	struct tune_runner *r = NULL;
	const struct sched_points points = tpat_profile_points(b->extents, &b->target, region, p, NULL);
	for (int i = 0; i < p->inputs.n; i++) {
		inputs[i] = &in[i];
		struct graph_value *value = region->inputs.at[i];
		TRY(tpat_given_type(&b->given, value->name, value->type, b->arena, e));
		input[i] = (struct verify_input){ .rank = -1, .tensor = tpat_given_find(&b->given, value->name) };
		if (b->o->profile.n)
			tpat_extents_of(&input[i], p->inputs.at[i], &points.target[points.opt]);
		if (!input[i].tensor && value->is_constant)
			TRY(graph_constant(&input[i].tensor, region->graph, value, e));
	}
	TRY(verify_draw(in, want, &c, 0, scratch, e));
	TRY(interpret_some(&reference, want, scratch, e));
	t->inputs = tpat_tensors_text(in, p->inputs.n, b->arena);
	int rc = measure(b, t, region, p, &reference, &r, scratch, e);
	tune_runner_free(r);
	return rc;
}

static int bench_all(struct bench *b)
{
	struct tpat_benched *out = b->result;
	struct tpat_timing *timing = NEWN(b->arena, struct tpat_timing, b->regions.n + 1);
	out->timing = timing;
	for (int i = 0; i < b->regions.n; i++) {
		const struct graph_region *region = b->regions.at[i];
		struct tpat_progress progress = { "bench", region->label, i, b->regions.n };
		struct tpat_timing *t = &timing[out->timings];
		struct err e = { 0 };
		if (region->folded)
			continue;
		if ((b->o->progress && b->o->progress(b->o->user, &progress)) || tpat_stops(b->talk))
			return tpat_cancelled(b->err);
		struct arena *scratch = arena_new();
		t->node = arena_strdup(b->arena, region->label);
		t->inputs = t->outputs = t->schedule = t->bound = "";
		if (bench_region(b, region, t, scratch, &e) < 0)
			t->error = arena_printf(b->arena, "%s%s", e.where, e.text);
		const char *bad = t->error ? t->error : t->wrong;
		tpat_say(b->talk, bad ? TPAT_LOG_WARNING : TPAT_LOG_NOTE, bad ? "%s: %s" : "%s: schedule %s", t->node,
		         bad ? bad : t->schedule);
		out->failed += t->error || t->wrong;
		out->timings++;
		arena_free(scratch);
	}
	return out->failed ? err_set(b->err, ERR_DIFFER,
	                             "%d of %d failed to run or gave results that differ from the interpreter's.",
	                             out->failed, out->timings)
	                   : 0;
}

static int bench_model(struct bench *b)
{
	const struct tpat_bench_options *o = b->o;
	struct tpat_choice c = { &o->node,    &o->type,    &o->region,  &o->except, o->automatic,
		                 &o->from,    &o->to,      &o->pattern, o->all,     o->fast,
		                 o->min_gain, &o->profile, NULL,        0,          o->chains };
	char why[256];
	TRY(tpat_given_read(&b->given, &o->input, NULL, b->arena, b->err));
	struct tpat_open_options open = { &o->shape, NULL, false };
	struct tpat_plain plain;
	TRY(tpat_open(&b->model, &b->graph, o->model, &o->shape, &o->value, NULL, b->arena, b->err));
	TRY(tpat_decompose(&plain, &b->graph, &open, &c, o->decompose, b->arena, b->err));
	if (tpat_chooses(&c))
		TRY(tpat_choose(&b->regions, b->graph, &c, b->arena, b->err));
	else
		TRY(tpat_choose_all(&b->regions, b->graph, b->arena, b->err));
	TRY(tpat_profile_extents(&b->extents, b->graph, &o->profile, b->arena, b->err));
	if (o->db) {
		const char *warning;
		TRY(tpat_tuned_open(&b->tuned, o->db, true, &warning, b->arena, b->err));
	}
	const char *device = o->device ? o->device : dev_cuda_count(why) > 0 ? "cuda" : "cpu";
	TRY(tpat_refuse_emulator(device, b->err));
	TRY(dev_open(&b->dev, device, b->err));
	tpat_target_of_device(&b->target, &b->dev->props);
	TRY(tpat_target_calibrate(&b->target, b->arena, b->err));
	if (b->tuned && b->dev->props.arch == 0)
		tpat_tuned_of_processor(b->tuned);
	b->result->device = arena_strdup(b->arena, b->dev->props.name);
	struct arena *scratch = arena_new();
	int rc = begin_timing(b, b->err);
	if (rc == 0)
		rc = end_timing(b, tune_copy_rate(b->dev, &b->result->bytes_per_ns,
		                                  tune_rotated_bytes(b->dev->props.arch) / 2, scratch, b->err));
	arena_free(scratch);
	TRY(rc);
	rc = bench_all(b);
	if (rc == 0 && tpat_given_unused(&b->given))
		return err_set(b->err, ERR_USAGE, "None of the timed nodes has an input \"%s\".",
		               tpat_given_unused(&b->given));
	return rc;
}

struct bench_call {
	const struct tpat_bench_options *o;
	const struct tpat_benched **out;
};

static int run(struct tpat *t, void *arg)
{
	struct bench_call *c = arg;
	struct bench *b = NEW(t->arena, struct bench);
	*b = (struct bench){ .o = c->o, .result = NEW(t->arena, struct tpat_benched), .lock = -1 };
	b->arena = t->arena;
	b->err = &t->err;
	b->talk = &t->talk;
	if (c->o->version != TPAT_BENCH_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_bench have an unknown version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = b;
	int rc = bench_model(b);
	if (rc == 0 || b->result->timings)
		*c->out = b->result;
	return rc;
}

int tpat_bench(struct tpat *t, const struct tpat_benched **out, const struct tpat_bench_options *o)
{
	struct bench_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
