/* Runs a plugin and its reference program, compares them, and reports the worst element. See verify.h. */
#include "check/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/error_bound.h"
#include "check/sample.h"
#include "check/verify_stages.h"

enum { RUNS = 3 };
static const double HEAVY = 3e7; /* operations of a run that is not repeated with the same extents */

struct verify {
	struct dev *dev;
	const struct engine_host *engine;
	const struct engine_layout *layouts; /* of the engine */
	struct host *host;
	struct tpat_rt_device device;
	struct verify_play play;
};

int verify_open(struct verify **out, const struct engine *engine, const struct engine_version *version,
                const char *library, const char *device, const char *folder, struct arena *a, struct err *e)
{
	struct verify *v = NEW(a, struct verify);
	struct host_options o = { .version = version->number };
	v->engine = engine->host;
	v->layouts = engine->layouts;
	*out = v; /* after a failure verify_close() frees what was opened */
	TRY(dev_open(&v->dev, device, e));
	if (strcmp(v->dev->kind, "cuda") != 0) {
		verify_rt_device(&v->device, v->dev, folder, &v->play, a);
		o.device = &v->device;
	}
	TRY(v->engine->open(&v->host, library, &o, a, e));
	const struct tpat_rt_library *tables = v->engine->library(v->host);
	return tables ? engine_check_tables(tables, library, e) : 0;
}

void verify_close(struct verify *v)
{
	if (!v)
		return;
	v->engine->close(v->host);
	if (v->dev)
		v->dev->close(v->dev);
	v->host = NULL;
	v->dev = NULL;
}

const char *verify_device_name(const struct verify *v)
{
	return v->dev->props.name;
}

/* Null if not in the library. */
static const struct tpat_rt_plugin *plugin_named(const struct verify *v, const char *name)
{
	const struct tpat_rt_library *l = v->engine->library(v->host);
	for (int i = 0; l && i < l->plugins; i++)
		if (strcmp(l->plugin[i].name, name) == 0)
			return &l->plugin[i];
	return NULL;
}

/* ---- One run of a case. */

struct run {
	struct tensor *in, *want, *got; /* of all inputs; of all outputs */
	struct host_tensor *edge;       /* the inputs, on the device */
	struct tensor *bound;           /* error bounds of outputs; null: not computed yet */
	const char *report;             /* on these bounds; or null */
};

struct job {
	struct verify *v;
	const struct verify_case *c;
	struct verify_result *result;
	struct host_engine *engine;
	struct run *run;
	struct verify_stages *stages; /* that the next run of the plugin fills; or null */
	int inputs, outputs, runs;
	double worst; /* largest excess over the tolerance so far */
	struct arena *arena;
	struct arena *elements; /* of the tensors, until the case is done: a model has many cases */
	struct err *err;
};

static struct host_tensor edge_of(const struct tensor *t)
{
	struct host_tensor x = { .type = (int32_t)t->type, .rank = t->rank };
	for (int k = 0; k < t->rank && k < TPAT_RT_MAX_RANK; k++)
		x.dim[k] = t->dim[k];
	return x;
}

/* The minimum and maximum values of a shape input. */
static void value_range(struct job *j, int i, struct host_tensor *min, struct host_tensor *max)
{
	int64_t n = tensor_count(&j->run[0].in[i]);
	int64_t *low = NEWN(j->arena, int64_t, n + 1), *high = NEWN(j->arena, int64_t, n + 1);
	for (int64_t k = 0; k < n; k++) {
		low[k] = high[k] = min->value[k];
		for (int r = 1; r < j->runs; r++) {
			int64_t x = j->run[r].edge[i].value[k];
			low[k] = x < low[k] ? x : low[k];
			high[k] = x > high[k] ? x : high[k];
		}
	}
	min->value = low;
	max->value = high;
}

/* Builds the plugin for the extents of all runs. */
static int build_engine(struct job *j, struct err *e)
{
	struct host_tensor *min = NEWN(j->arena, struct host_tensor, j->inputs + 1);
	struct host_tensor *max = NEWN(j->arena, struct host_tensor, j->inputs + 1);
	for (int i = 0; i < j->inputs; i++) {
		min[i] = max[i] = j->run[0].edge[i];
		for (int r = 1; r < j->runs; r++)
			for (int k = 0; k < min[i].rank; k++) {
				int64_t n = j->run[r].edge[i].dim[k];
				min[i].dim[k] = n < min[i].dim[k] ? n : min[i].dim[k];
				max[i].dim[k] = n > max[i].dim[k] ? n : max[i].dim[k];
			}
		if (min[i].value)
			value_range(j, i, &min[i], &max[i]);
	}
	TRY(j->v->engine->build(&j->engine, j->v->host, j->c->plugin, j->c->version, j->c->name_space, min,
	                        j->run[0].edge, max, j->inputs, j->arena, e));
	const int32_t *format = j->v->engine->formats ? j->v->engine->formats(j->engine) : NULL;
	for (int r = 0; r < j->runs; r++)
		for (int i = 0; i < j->inputs; i++)
			j->run[r].edge[i].format = format ? format[i] : 0;
	return 0;
}

static int upload_inputs(struct job *j, struct run *r, struct err *e)
{
	struct dev *d = j->v->dev;
	for (int i = 0; i < j->inputs; i++) {
		struct tensor in = r->in[i];
		if (r->edge[i].format)
			TRY(verify_store(&in, &r->in[i], j->v->layouts, r->edge[i].format, j->elements, e));
		int64_t bytes = tensor_bytes(&in);
		TRY(d->alloc(d, &r->edge[i].pointer, bytes ? (size_t)bytes : 1, e));
		if (d->name)
			d->name(d, r->edge[i].pointer, j->c->reference->inputs.at[i]->name);
		if (bytes)
			TRY(d->copy_in(d, r->edge[i].pointer, in.data, (size_t)bytes, e));
	}
	return 0;
}

static int download(struct job *j, struct run *r, const struct host_tensor *out, struct err *e)
{
	struct dev *d = j->v->dev;
	for (int o = 0; o < j->outputs; o++) {
		TRY(tensor_new(&r->got[o], (enum type)out[o].type, out[o].rank, out[o].dim, j->elements, e));
		struct tensor from = r->got[o];
		if (out[o].format)
			TRY(verify_stored(&from, &r->got[o], j->v->layouts, out[o].format, j->elements, e));
		if (tensor_bytes(&from))
			TRY(d->copy_out(d, from.data, out[o].pointer, (size_t)tensor_bytes(&from), e));
		if (out[o].format && !verify_restore(&r->got[o], &from, j->v->layouts, out[o].format))
			return err_set(e, ERR_DIFFER, "Padding of output %d is not zero in format %d.", o,
			               (int)out[o].format);
	}
	return 0;
}

/* True for an output that has the memory of an input. */
static bool is_input(const struct job *j, const struct run *r, const void *pointer)
{
	for (int i = 0; i < j->inputs; i++)
		if (r->edge[i].pointer == pointer)
			return true;
	return false;
}

/* `timer`: measures further runs; or null. */
static int run_plugin(struct job *j, struct run *r, struct verify_timer *timer, struct err *e)
{
	struct dev *d = j->v->dev;
	struct host_memory plain = verify_memory(d, &j->v->play, j->arena), memory = plain;
	if (j->stages)
		memory = verify_stages_memory(j->stages, &plain);
	memory.again = timer ? verify_time : NULL;
	memory.again_user = timer;
	struct host_tensor *out = NEWN(j->arena, struct host_tensor, j->v->engine->outputs(j->engine) + 1);
	if (j->v->engine->outputs(j->engine) != j->outputs)
		return err_set(e, ERR_DIFFER, "The plugin has %d outputs; the original nodes have %d.",
		               j->v->engine->outputs(j->engine), j->outputs);
	int rc = upload_inputs(j, r, e);
	j->v->play.lacks |= rc == ERR_DEVICE;
	if (rc == 0)
		rc = j->v->engine->run(j->engine, r->edge, out, &memory, d->queue, e);
	if (rc == 0) {
		rc = download(j, r, out, e);
		j->v->play.lacks |= rc == ERR_DEVICE;
	}
	for (int o = 0; o < j->outputs; o++)
		if (out[o].pointer && !is_input(j, r, out[o].pointer))
			d->free(d, out[o].pointer);
	for (int i = 0; i < j->inputs; i++) {
		d->free(d, r->edge[i].pointer);
		r->edge[i].pointer = NULL;
	}
	return rc;
}

/* ---- Comparison. */

static char *describe(const struct tensor *t, int n, struct arena *a)
{
	struct str s = str_new(a);
	for (int i = 0; i < n; i++)
		str_printf(&s, "%s%s", i ? ", " : "", tensor_describe(&t[i], a));
	return arena_strdup(a, str_text(&s));
}

static bool has_float_input(const struct job *j)
{
	vec_each (b, &j->c->reference->inputs)
		if (type_is_float((*b)->type))
			return true;
	return false;
}

/* The tolerance of a result. Rounding of sums is relative to the terms, approximated by the result's root mean square;
 * integers made from floats may round the other way. */
static struct tensor_tolerance tolerance_of(const struct job *j, const struct tensor *want)
{
	struct tensor_tolerance t = tensor_tolerance_of(want->type);
	int64_t n = tensor_count(want);
	double square = 0, count = 0;
	if (!type_is_float(want->type)) {
		t.absolute = type_is_int(want->type) && has_float_input(j) ? 1 : 0;
		return t;
	}
	for (int64_t i = 0; i < n; i++) {
		double x = tensor_float(want, i);
		if (isfinite(x)) {
			square += x * x;
			count++;
		}
	}
	t.absolute += count > 0 ? t.relative * sqrt(square / count) : 0;
	return t;
}

/* Pointers to the run's inputs. */
static const struct tensor **inputs_of(const struct job *j, const struct run *r)
{
	const struct tensor **in = NEWN(j->arena, const struct tensor *, j->inputs + 1);
	for (int i = 0; i < j->inputs; i++)
		in[i] = &r->in[i];
	return in;
}

/* Compares output o of a run: within the type's tolerance, else within its error bounds, which are computed only then
 * because they take longer than the reference. */
static bool compare_output(struct tensor_difference *d, struct job *j, struct run *r, int o, struct tensor_tolerance t)
{
	const struct ir_program *p = j->c->reference;
	if (!tensor_compare(d, &r->got[o], &r->want[o], t))
		return false;
	if (!d->differing)
		return true;
	if (!r->bound) {
		r->bound = NEWN(j->arena, struct tensor, j->outputs + 1);
		error_bounds(r->bound, &r->report, p, inputs_of(j, r), j->arena);
	}
	if (r->report && !j->result->note)
		j->result->note = r->report;
	/* A packed tensor has a bound for each byte only. */
	bool bounded = r->bound[o].type == TYPE_F64 && tensor_count(&r->bound[o]) == d->count;
	return tensor_compare_within(d, &r->got[o], &r->want[o], t, bounded ? r->bound[o].data : NULL);
}

static bool has_numbers(const struct tensor *t)
{
	return type_is_float(t->type) || type_is_int(t->type) || t->type == TYPE_BOOL;
}

static struct tensor_tolerance stage_tolerance(void *user, const struct tensor *want)
{
	return tolerance_of(user, want);
}

/* The stages of the reference, and those that the plugin stores in another run with the same inputs; null if the
 * reference does not run that way. A GPU does not tell what its kernels store. */
static struct verify_stages *stages_of(struct job *j, const struct run *r)
{
	const struct ir_program *p = j->c->reference;
	struct run again = *r;
	struct err ignored = { 0 };
	struct verify_stages *s;
	if (verify_stages_new(&s, p, inputs_of(j, r), j->v->dev, j->arena, &ignored) < 0)
		return NULL;
	again.got = NEWN(j->arena, struct tensor, j->outputs + 1);
	if (strcmp(j->v->dev->kind, "cuda") != 0) {
		j->v->play.stages = j->stages = s;
		run_plugin(j, &again, NULL, &ignored);
		j->v->play.stages = j->stages = NULL;
	}
	for (int o = 0; o < j->outputs; o++)
		verify_stages_set(s, p->outputs.at[o], &r->got[o]);
	return s;
}

static int dump(struct job *j, const struct run *r)
{
	const struct ir_program *p = j->c->reference;
	const struct verify_stages *s = stages_of(j, r);
	int n = 0, stages = s ? s->all.n : 0;
	struct npz_entry *entry = NEWN(j->arena, struct npz_entry, j->inputs + 2 * j->outputs + 2 * stages);
	for (int i = 0; i < j->inputs; i++)
		entry[n++] = (struct npz_entry){ .name = p->inputs.at[i]->name, .tensor = r->in[i] };
	for (int o = 0; o < j->outputs; o++) {
		const char *name = p->outputs.at[o]->name;
		if (s && verify_stages_has(s, p->outputs.at[o]))
			continue;
		entry[n++] = (struct npz_entry){ .name = arena_printf(j->arena, "got_%s", name), .tensor = r->got[o] };
		entry[n++] =
		        (struct npz_entry){ .name = arena_printf(j->arena, "want_%s", name), .tensor = r->want[o] };
	}
	if (s) {
		n = verify_stages_entries(s, entry, n, j->arena);
		j->result->first = verify_stages_first(s, stage_tolerance, j, j->arena);
	}
	j->result->dumped = true;
	return npz_write(j->c->dump, entry, n, j->err);
}

/* A tensor that plugins exchange, as its elements instead of the bytes that hold them: neighbours among the elements
 * may be far apart as bytes. */
static void show_elements(struct tensor *x, const struct tpat_rt_tensor *t)
{
	int packs;
	if (!t->holds || (int32_t)x->type != t->type)
		return;
	packs = type_info(x->type)->bits / type_info((enum type)t->holds)->bits;
	if (packs > 1)
		x->dim[x->rank - 1] *= packs;
	x->type = (enum type)t->holds;
}

/* Adds one run's outputs to the result; reports and dumps the run with the worst element. */
static int compare(struct job *j, struct run *r)
{
	struct verify_result *x = j->result;
	bool worst_here = false;
	const struct tpat_rt_plugin *plugin = plugin_named(j->v, j->c->plugin);
	for (int o = 0; o < j->outputs; o++) {
		struct tensor_difference d;
		if (plugin && o < plugin->outputs) {
			show_elements(&r->want[o], &plugin->output[o]);
			show_elements(&r->got[o], &plugin->output[o]);
		}
		struct tensor_tolerance t = tolerance_of(j, &r->want[o]);
		if (!compare_output(&d, j, r, o, t)) {
			x->passed = false;
			return err_set(&x->failure, ERR_DIFFER, "Output %s is %s; it must be %s.",
			               j->c->reference->outputs.at[o]->name, tensor_describe(&r->got[o], j->arena),
			               tensor_describe(&r->want[o], j->arena));
		}
		x->elements += d.count;
		x->differing += d.differing;
		x->passed &= d.differing == 0;
		if (d.differing && !*x->near && has_numbers(&r->want[o]))
			x->near = verify_near_text(&r->got[o], &r->want[o], d.first, j->arena);
		x->max_absolute = fmax(x->max_absolute, d.max_absolute);
		x->max_relative = fmax(x->max_relative, d.max_relative);
		double bad =
		        d.worst < 0 ? 0
		                    : fabs(d.worst_got - d.worst_want) / (t.absolute + t.relative * fabs(d.worst_want));
		if (d.worst >= 0 && (isnan(bad) || bad > j->worst)) {
			j->worst = isnan(bad) ? INFINITY : bad;
			worst_here = true;
			x->output = arena_strdup(j->arena, j->c->reference->outputs.at[o]->name);
			x->worst = verify_worst_text(&r->want[o], &d, j->arena);
		}
	}
	if (!worst_here)
		return 0;
	x->inputs = describe(r->in, j->inputs, j->arena);
	x->outputs = describe(r->want, j->outputs, j->arena);
	return x->passed || !j->c->dump ? 0 : dump(j, r);
}

/* ---- The case. */

static double work_of(const struct job *j, const struct run *r)
{
	return sample_work(j->c->reference, inputs_of(j, r));
}

static int draw_runs(struct job *j)
{
	const struct tpat_rt_plugin *plugin = plugin_named(j->v, j->c->plugin);
	j->runs = j->c->runs > 0 ? j->c->runs : RUNS;
	j->run = NEWN(j->arena, struct run, j->runs);
	for (int r = 0; r < j->runs; r++) {
		if (j->c->stop && j->c->stop(j->c->user))
			return err_set(j->err, ERR_CANCELLED, "Interrupted.");
		struct run *run = &j->run[r];
		run->in = NEWN(j->arena, struct tensor, j->inputs + 1);
		run->want = NEWN(j->arena, struct tensor, j->outputs + 1);
		run->got = NEWN(j->arena, struct tensor, j->outputs + 1);
		run->edge = NEWN(j->arena, struct host_tensor, j->inputs + 1);
		TRY(verify_draw(run->in, run->want, j->c, r, j->elements, j->err));
		if (r == 0 && j->c->runs <= 0 && verify_fixed(j->c) && work_of(j, run) > HEAVY)
			j->runs = 1;
		for (int i = 0; i < j->inputs; i++) {
			run->edge[i] = edge_of(&run->in[i]);
			if (plugin && i < plugin->inputs && plugin->input[i].shape_input)
				run->edge[i].value = verify_values(&run->in[i], j->arena);
		}
	}
	return 0;
}

static bool has_kernels_for(const struct tpat_rt_plugin *p, int arch)
{
	for (int t = 0; t < p->tactics; t++)
		for (int s = 0; s < p->tactic[t].steps; s++)
			for (int k = 0; k < p->tactic[t].step[s].kernels; k++)
				if (p->tactic[t].step[s].kernel[k].arch == arch)
					return true;
	return false;
}

/* Architectures that run different kernels of the plugin: one that has its own kernels, and one of all others. */
static int archs_to_play(const struct tpat_rt_plugin *p, int arch[2])
{
	int n = 0, others = 0;
	for (int i = 0; i < p->images; i++) {
		bool own = !p->image[i].ptx && has_kernels_for(p, p->image[i].arch);
		if (own && !n)
			arch[n++] = p->image[i].arch;
		else if (!own)
			others = p->image[i].ptx ? -1 : p->image[i].arch;
	}
	if (n && others)
		arch[n++] = others;
	return n;
}

/* Runs one tactic on the inputs of one run; measures the first run. */
static int run_tactic(struct job *j, int tactic, int run)
{
	struct err *failure = &j->result->failure;
	bool timed = run == 0 && j->c->times && tactic < VERIFY_MOST_TACTICS;
	struct arena_mark before = arena_mark(j->elements);
	struct verify_timer timer = { .dev = j->v->dev, .times = j->c->times };
	if (timed) {
		timer.ns = j->result->ns[tactic] = NEWN(j->arena, double, j->c->times);
		j->result->tactics = tactic + 1;
	}
	bool ran = j->v->engine->set_tactic(j->engine, tactic, failure) == 0 &&
	           run_plugin(j, &j->run[run], timed ? &timer : NULL, failure) == 0;
	int rc = !ran || compare(j, &j->run[run]) == ERR_DIFFER ? 0 : j->err->code;
	arena_release(j->elements, before);
	if (rc || !ran || failure->code || !j->v->engine->set_in_place || !j->v->engine->set_in_place(j->engine, true))
		return rc;
	ran = run_plugin(j, &j->run[run], NULL, failure) == 0;
	rc = !ran || compare(j, &j->run[run]) == ERR_DIFFER ? 0 : j->err->code;
	j->v->engine->set_in_place(j->engine, false);
	arena_release(j->elements, before);
	return rc;
}

static int run_arch(struct job *j)
{
	struct err *failure = &j->result->failure;
	j->v->engine->free(j->engine);
	j->engine = NULL;
	if (build_engine(j, failure) < 0)
		return 0;
	/* Every tactic: the engine may choose any. */
	for (int t = 0; t == 0 || t < j->v->engine->tactics(j->engine); t++)
		for (int r = 0; r < j->runs && !failure->code; r++)
			TRY(run_tactic(j, t, r));
	return 0;
}

/* True if the plugin has kernels for a format. */
static bool has_format(const struct job *j, int32_t format)
{
	const struct tpat_rt_library *l = j->v->engine->library(j->v->host);
	for (int i = 0; l && i < l->plugins; i++) {
		const struct tpat_rt_plugin *p = &l->plugin[i];
		if (!p->of || strcmp(p->of, j->c->plugin) != 0)
			continue;
		for (int k = 0; k < p->inputs + p->outputs; k++)
			if ((k < p->inputs ? p->input[k].format : p->output[k - p->inputs].format) == format)
				return true;
	}
	return false;
}

/* Every format of the plugin's tensors. */
static int run_formats(struct job *j)
{
	TRY(run_arch(j));
	for (const struct engine_layout *l = j->v->layouts; l && l->name && !j->result->failure.code; l++) {
		if (!has_format(j, l->number))
			continue;
		j->v->engine->set_format(j->v->host, l->number);
		int rc = run_arch(j);
		j->v->engine->set_format(j->v->host, 0);
		if (j->result->failure.code)
			err_where(&j->result->failure, "Format %s: ", l->name);
		TRY(rc);
	}
	return 0;
}

/* The emulator acts as each kind of GPU that the plugin has kernels for. */
static int run_all(struct job *j)
{
	const struct tpat_rt_plugin *plugin = plugin_named(j->v, j->c->plugin);
	int arch[2] = { 0 }, n = 0;
	TRY(draw_runs(j));
	j->result->inputs = describe(j->run[0].in, j->inputs, j->arena);
	j->result->outputs = describe(j->run[0].want, j->outputs, j->arena);
	if (plugin && strcmp(j->v->dev->kind, "emulator") == 0)
		n = archs_to_play(plugin, arch);
	for (int i = 0; i == 0 || (i < n && !j->result->failure.code); i++) {
		j->v->play.arch = arch[i];
		TRY(run_formats(j));
	}
	return 0;
}

/* True if the plugin did not run because something is not here. On a GPU the plugin itself calls the driver and tells
 * what failed in its log; and a GPU that fails from then on had a kernel that made it fail. */
static bool lacks(const struct job *j)
{
	struct dev *d = j->v->dev;
	const struct err *failure = &j->result->failure;
	struct err fault = { 0 };
	if (failure->code != ERR_DEVICE || strcmp(d->kind, "cuda") != 0)
		return failure->code == ERR_DEVICE && j->v->play.lacks;
	return (j->v->play.lacks || strstr(failure->text, "(CUDA error ") || strstr(failure->text, " code for ")) &&
	       d->synchronize(d, &fault) == 0;
}

int verify_run(struct verify_result *out, struct verify *v, const struct verify_case *c, struct arena *a, struct err *e)
{
	struct job j = { .v = v,
		         .c = c,
		         .result = out,
		         .inputs = c->reference->inputs.n,
		         .outputs = c->reference->outputs.n,
		         .arena = a,
		         .elements = arena_new(),
		         .err = e };
	*out = (struct verify_result){ .passed = true, .worst = "", .output = "", .near = "", .launched = map_new(a) };
	v->play = (struct verify_play){ .may_race = ir_replaces(c->reference), .launched = &out->launched };
	v->engine->clear_log(v->host);
	int rc = run_all(&j);
	out->lacks = lacks(&j);
	v->engine->free(j.engine);
	arena_free(j.elements);
	out->passed &= out->failure.code == 0;
	return rc;
}
