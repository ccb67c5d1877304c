/* Tuning a model's nodes: each region's program, its inputs and reference, the search, and the database around it. */
#include "lib/tpat_inside.h"

#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/threads.h"
#include "check/verify.h"
#include "db/db.h"
#include "eval/eval.h"
#include "tune/tuner.h"

enum { SUGGESTIONS = 8, DEFAULT_SECONDS = 60, MOST_ELEMENTS = 1 << 26 };

struct tuning {
	const struct tpat_tune_options *o;
	struct tpat_tuning *result;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct tpat_extents *extents; /* that the user expects */
	struct tune_device device;
	struct sched_target target;
	const char *device_name, *arch;
	struct db *db;
	const char *folder;
	struct tpat_texts warnings;
	struct map done; /* by hash and extents: tpat_tuned */
	struct arena *arena;
	struct err *err;
};

/* One region at one point. */
struct job {
	struct tuning *t;
	struct tpat_tuned_node *out;
	int index;
	const struct sched_target *target; /* with the extents */
	double seconds;
	struct ir_program *program;
	struct tune_space *space;
	struct db_key key;
	const char *name;
	struct tensor *in, *want; /* want: null where `sample` has some of it */
	const struct tensor **inputs;
	struct sample *sample;
	struct arena *arena;
};

static void clean_up(void *arg)
{
	struct tuning *t = arg;
	if (t->folder)
		file_remove_tree(t->folder);
	db_close(t->db);
	graph_free(t->graph);
	onnx_model_free(t->model);
}

static void warn(struct tuning *t, const char *text)
{
	vec_each (have, &t->warnings)
		if (strcmp(*have, text) == 0)
			return;
	vec_push(t->arena, &t->warnings, arena_strdup(t->arena, text));
}

/* ---- The database. */

static enum db_status status_of(enum tune_status s)
{
	switch (s) {
	case TUNE_OK: return DB_OK;
	case TUNE_WRONG:
	case TUNE_BOUNDS: return DB_WRONG;
	case TUNE_CRASHED: return DB_CRASHED;
	case TUNE_HUNG: return DB_TIMEOUT;
	default: return DB_REFUSED;
	}
}

static enum tune_status status_in(enum db_status s)
{
	switch (s) {
	case DB_OK: return TUNE_OK;
	case DB_WRONG: return TUNE_WRONG;
	case DB_CRASHED: return TUNE_CRASHED;
	case DB_TIMEOUT: return TUNE_HUNG;
	default: return TUNE_FAILED;
	}
}

static double floor_of(const struct tuning *t, double bytes)
{
	return t->device.bytes_per_ns > 0 ? bytes / t->device.bytes_per_ns : 0;
}

/* A trial goes there at once. What cannot be written is lost for the next run, and not for this one. */
static void tried(void *user, const struct tune_trial *trial, double bytes)
{
	struct job *j = user;
	struct err e = { 0 };
	struct db_trial row = { .key = j->key,
		                .name = j->name,
		                .decisions = tune_point_text(j->space, trial->point, j->arena),
		                .status = status_of(trial->status),
		                .ns = trial->ns,
		                .spread = trial->spread,
		                .bytes = bytes,
		                .floor_ns = floor_of(j->t, bytes),
		                .version = TPAT_VERSION,
		                .when = (int64_t)time(NULL) };
	if (j->t->db && db_put(j->t->db, &row, 1, &e) < 0)
		warn(j->t, e.text);
}

/* What earlier runs found here, and what is good for other extents or GPUs, to begin with. */
static void recall(struct job *j, struct tune_search *search)
{
	struct db_trials known = { 0 };
	struct db_founds near = { 0 };
	struct err e = { 0 };
	struct tune_point p;
	if (!j->t->db)
		return;
	if (db_each(&known, j->t->db, &j->key, NULL, j->arena, &e) < 0 ||
	    db_best(&near, j->t->db, &j->key, SUGGESTIONS, j->arena, &e) < 0)
		warn(j->t, e.text);
	vec_each (row, &known)
		if (tune_point_read(j->space, &p, row->decisions, j->arena)) {
			struct tune_trial t = { p, status_in(row->status), row->ns, row->spread, "", 0 };
			tune_search_known(search, &t);
			j->out->known++;
			j->out->bytes = row->bytes;
		}
	vec_each (f, &near)
		if (f->match != DB_EXACT && tune_point_read(j->space, &p, f->trial.decisions, j->arena))
			tune_search_suggest(search, p);
}

/* ---- One region. */

/* The program's first line, for people who read the database. */
static const char *name_of(const struct ir_program *p, struct arena *a)
{
	struct str s = str_new(a);
	ir_print_summary(&s, p);
	const char *text = str_text(&s);
	text += str_starts(text, "program ") ? strlen("program ") : 0;
	return arena_strndup(a, text, strcspn(text, "\n"));
}

static bool progress(void *user, const struct tune_state *s)
{
	const struct job *j = user;
	const struct tpat_tune_options *o = j->t->o;
	struct tpat_tune_progress p = { .node = j->out->node,
		                        .done = j->index,
		                        .all = j->t->regions.n,
		                        .trials = s->trials,
		                        .best_ns = s->best,
		                        .first_ns = s->first,
		                        .floor_ns = floor_of(j->t, s->bytes),
		                        .seconds = s->seconds,
		                        .left = s->left };
	return o->progress && o->progress(o->user, &p);
}

static bool extent(void *user, const char *name, int64_t *value)
{
	const struct job *j = user;
	int input, axis;
	if (!ir_symbol_source(j->program, name, &input, &axis))
		return false;
	*value = j->in[input].dim[axis];
	return true;
}

/* Extents that nobody asked for may be too much of a good thing: 64 to the power of five. */
static bool too_large(const struct job *j)
{
	int64_t n;
	if (j->t->o->profile.n)
		return false;
	vec_each (b, &j->program->buffers) {
		expr count = ir_size_limit(j->program, ir_buffer_count(j->program, *b));
		if (count->op != IR_CONST_INT && ir_eval_int(count, tpat_extent_at, (void *)j->target, &n) && n > MOST_ELEMENTS)
			return true;
	}
	return false;
}

/* The extents that a build would assume; where the program does not take these, others are drawn. */
static int draw_inputs(struct job *j, const struct graph_region *region, bool drawn, struct err *e)
{
	int inputs = j->program->inputs.n;
	struct verify_input *input = NEWN(j->arena, struct verify_input, inputs + 1);
	struct verify_case c = { .plugin = region->label, .reference = j->program, .input = input, .seed = j->t->o->seed };
	c.most_work = sample_patience();
	j->in = NEWN(j->arena, struct tensor, inputs + 1);
	j->want = NEWN(j->arena, struct tensor, j->program->outputs.n + 1);
	for (int i = 0; i < inputs; i++) {
		const struct ir_buffer *b = j->program->inputs.at[i];
		input[i].rank = -1;
		if (!drawn)
			tpat_extents_of(&input[i], b, j->target);
		if (region->inputs.at[i]->is_constant && region->inputs.at[i]->type == b->type)
			TRY(graph_constant(&input[i].tensor, j->t->graph, region->inputs.at[i], e));
	}
	int rc = verify_draw(j->in, j->want, &c, 0, j->arena, e);
	if (rc == ERR_MODEL && !drawn) {
		err_clear(e);
		return draw_inputs(j, region, true, e);
	}
	TRY(rc);
	j->inputs = NEWN(j->arena, const struct tensor *, inputs + 1);
	for (int i = 0; i < inputs; i++)
		j->inputs[i] = &j->in[i];
	j->out->inputs = tpat_tensors_text(j->in, inputs, j->t->arena);
	return 0;
}

/* Where all results would take the interpreter too long, it says some of them. */
static int find_reference(struct job *j, struct err *e)
{
	const struct ir_program *p = j->program;
	struct tensor *shape = NEWN(j->arena, struct tensor, p->outputs.n + 1);
	if (p->outputs.n && j->want[0].type == TYPE_NONE) {
		TRY(sample_new(&j->sample, p, j->inputs, j->t->o->seed, j->arena, e));
		if (!j->sample)
			TRY(eval_program(p, j->inputs, j->want, NULL, j->arena, e));
	}
	for (int i = 0; i < p->outputs.n; i++) {
		shape[i] = (struct tensor){ .type = p->outputs.at[i]->type, .rank = p->outputs.at[i]->rank };
		for (int k = 0; k < shape[i].rank; k++)
			ir_eval_int(p->outputs.at[i]->dim[k], extent, j, &shape[i].dim[k]);
	}
	j->out->outputs = tpat_tensors_text(j->sample ? shape : j->want, p->outputs.n, j->t->arena);
	return 0;
}

static void take_result(struct job *j, const struct tune_result *r)
{
	static const char *const end[] = { [TUNE_END_SEARCH] = "nothing left to gain",
		                           [TUNE_END_BUDGET] = "budget",
		                           [TUNE_END_INTERRUPT] = "interrupted",
		                           [TUNE_END_FAULT] = "fault" };
	struct tpat_tuned_node *out = j->out;
	struct arena *a = j->t->arena;
	out->end = end[r->end];
	out->trials = r->trials;
	out->failed = r->failed;
	out->seconds = r->seconds;
	out->bytes = r->bytes > 0 ? r->bytes : out->bytes; /* nothing new: as it was told before */
	out->floor_ns = floor_of(j->t, out->bytes);
	out->before = tune_point_text(j->space, tune_point_first(j->space, j->arena), a);
	out->before_ns = r->first.ns;
	if (r->best.point.option) {
		out->schedule = tune_point_text(j->space, r->best.point, a);
		out->ns = r->best.ns;
		out->kernels = r->best.kernels;
		if (!out->kernels)
			out->kernels = sched_program(j->program, &j->t->target,
			                             tune_point_choices(j->space, r->best.point, j->arena))->steps.n;
		struct tune_trial best = r->best;
		if (r->confirmed)
			tried(j, &best, r->bytes);
	}
	if (r->end == TUNE_END_FAULT)
		out->error = arena_printf(a, "%s%s%s", r->fault.text, *r->fault.advice ? " " : "", r->fault.advice);
	else if (!out->schedule && r->end != TUNE_END_INTERRUPT)
		out->error = *r->first.why ? arena_printf(a, "No candidate gave right results; the first: %s.", r->first.why)
		                           : "No candidate gave right results.";
}

static void tune(struct job *j)
{
	struct tuning *t = j->t;
	const struct tpat_tune_options *o = t->o;
	struct tune_search *search = tune_search_new(j->space, o->seed, j->arena);
	struct tune_result r;
	struct tune_job job = {
		.bench = { .space = j->space,
		           .inputs = j->inputs,
		           .want = j->sample ? NULL : j->want,
		           .sample = j->sample,
		           .device = t->device_name,
		           .arch = t->device.props.arch,
		           .rotate = tune_rotated_bytes(t->device.props.arch),
		           .folder = t->folder },
		.search = search,
		.seconds = j->seconds,
		.trials = o->trials,
		.compilers = o->workers > 0 ? o->workers : threads_count(),
		.deadline = o->deadline,
		.tried = tried,
		.progress = progress,
		.user = j,
	};
	recall(j, search);
	tune_program(&r, &job, j->arena);
	take_result(j, &r);
	t->result->interrupted |= r.end == TUNE_END_INTERRUPT;
}

static int tune_at(struct job *j, const struct graph_region *region, const char *hash, struct err *e)
{
	TRY(draw_inputs(j, region, too_large(j), e));
	j->key = (struct db_key){ .program = hash,
		                  .shape = sched_shape_text(j->program, extent, j, j->arena),
		                  .arch = j->t->arch,
		                  .device = j->t->device.props.name };
	j->out->shape = arena_strdup(j->t->arena, j->key.shape);
	j->name = name_of(j->program, j->arena);
	const char *id = arena_printf(j->t->arena, "%s %s", hash, j->key.shape);
	const struct tpat_tuned_node *same = map_get(&j->t->done, id);
	if (same) {
		j->out->same_as = same->node;
		return 0;
	}
	TRY(find_reference(j, e));
	TRY(tune_space_new(&j->space, j->program, j->target, j->arena, e));
	tune(j);
	if (!j->out->error)
		map_put(&j->t->done, id, j->out);
	return 0;
}

static void tell_over(struct tuning *t, const struct tpat_tuned_node *r, int index)
{
	struct tpat_tune_progress p = { .node = r->node,
		                        .done = index + 1,
		                        .all = t->regions.n,
		                        .trials = r->trials,
		                        .best_ns = r->ns,
		                        .first_ns = r->before_ns,
		                        .floor_ns = r->floor_ns,
		                        .seconds = r->seconds,
		                        .over = true };
	if (t->o->progress && !r->same_as)
		t->result->interrupted |= t->o->progress(t->o->user, &p);
}

/* At the usual extents first; where a profile says others, then at its smallest and largest. They share the budget. */
static void tune_region(struct tuning *t, int index, struct tpat_tuned_node *tuned, struct arena *a)
{
	const struct tpat_tune_options *o = t->o;
	const struct graph_region *region = t->regions.at[index];
	struct graph_program_options options = { .any_types = true, .keep_types = o->keep_types, .sizes = true };
	struct tpat_tuning *out = t->result;
	struct ir_program *p = NULL;
	struct sched_points points = { .n = 1 };
	struct err e = { 0 };
	char hash[33] = "";
	if (graph_region_program(&p, t->graph, region, &options, a, &e) == 0) {
		ir_hash(p, hash);
		points = tpat_profile_points(t->extents, &t->target, region, p);
	}
	int n = o->profile.n ? points.n : 1;
	for (int i = 0; i < n && !out->interrupted; i++) {
		int point = (i + points.opt) % points.n;
		struct tpat_tuned_node *one = &tuned[out->n++];
		struct job j = { .t = t, .out = one, .index = index, .program = p, .arena = a };
		j.target = &points.target[point];
		j.seconds = (o->seconds > 0 ? o->seconds : DEFAULT_SECONDS) / n;
		one->node = arena_strdup(t->arena, region->label);
		if (!p || tune_at(&j, region, hash, &e) < 0)
			one->error = arena_printf(t->arena, "%s%s", e.where, e.text);
		err_clear(&e);
		tell_over(t, one, index);
		out->failed += one->error != NULL;
	}
}

static void tune_all(struct tuning *t)
{
	struct tpat_tuned_node *tuned = NEWN(t->arena, struct tpat_tuned_node, t->regions.n * SCHED_MAX_POINTS + 1);
	t->result->tuned = tuned;
	for (int i = 0; i < t->regions.n && !t->result->interrupted; i++) {
		if (t->regions.at[i]->folded)
			continue;
		struct arena *a = arena_new();
		tune_region(t, i, tuned, a);
		arena_free(a);
	}
}

/* ---- The whole. */

static int no_device(struct tuning *t)
{
	char why[sizeof t->err->text];
	strcpy(why, t->err->text);
	enum err_code code = t->err->code;
	if (code != ERR_DEVICE || strcmp(t->device_name, "cpu") == 0)
		return code;
	err_clear(t->err);
	err_set(t->err, ERR_DEVICE, "Tuning measures on a GPU, and none can be used here: %.700s", why);
	return err_advise(t->err, "Run tpat tune where the GPU is, and bring its database here (tpat db export, tpat db import). "
	                          "tpat build needs no GPU; tpat tune --device cpu measures on the processor, to try tuning out.");
}

static int open_all(struct tuning *t)
{
	const struct tpat_tune_options *o = t->o;
	struct tpat_choice c = { &o->node, &o->type, &o->region, &o->except, o->automatic };
	TRY(tpat_open(&t->model, &t->graph, o->model, &o->shape, t->arena, t->err));
	if (tpat_chooses(&c))
		TRY(tpat_choose(&t->regions, t->graph, &c, t->arena, t->err));
	else
		TRY(tpat_choose_all(&t->regions, t->graph, t->arena, t->err));
	TRY(tpat_profile_extents(&t->extents, t->graph, &o->profile, t->arena, t->err));
	TRY(tpat_db_path(&t->result->db, o->db, t->arena, t->err));
	size_t cache = tune_rotated_bytes(strcmp(t->device_name, "cpu") != 0) / 2;
	return tune_probe(&t->device, t->device_name, cache, t->err) < 0 ? no_device(t) : 0;
}

static int tune_model(struct tuning *t)
{
	char *folder;
	TRY(open_all(t));
	tpat_target_of_device(&t->target, &t->device.props);
	t->arch = t->device.props.arch ? arena_printf(t->arena, "sm_%d", t->device.props.arch) : "cpu";
	t->result->device = arena_strdup(t->arena, t->device.props.name);
	t->result->bytes_per_ns = t->device.bytes_per_ns;
	TRY(db_open(&t->db, t->result->db, DB_WRITE, t->err));
	TRY(file_temp_dir(&folder, t->arena, t->err));
	t->folder = folder;
	tune_all(t);
	t->result->warnings = tpat_strings_of(&t->warnings);
	return t->result->failed ? err_set(t->err, ERR_DIFFER, "For %d of %d nothing was found that runs and is right.",
	                                   t->result->failed, t->result->n)
	                         : 0;
}

struct tune_call {
	const struct tpat_tune_options *o;
	const struct tpat_tuning **out;
};

static int run(struct tpat *t, void *arg)
{
	struct tune_call *c = arg;
	struct tuning *x = NEW(t->arena, struct tuning);
	*x = (struct tuning){ .o = c->o, .result = NEW(t->arena, struct tpat_tuning), .arena = t->arena, .err = &t->err };
	if (c->o->version != TPAT_TUNE_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_tune have another version, or no model.");
	x->device_name = c->o->device ? c->o->device : "cuda";
	x->done = map_new(t->arena);
	t->cleanup = clean_up;
	t->cleanup_arg = x;
	int rc = tune_model(x);
	if (rc == 0 || x->result->n)
		*c->out = x->result;
	return rc;
}

int tpat_tune(struct tpat *t, const struct tpat_tuning **out, const struct tpat_tune_options *o)
{
	struct tune_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
