/* Tunes one region at one set of extents: inputs and reference, the search, and the result. See tuning_inside.h. */
#include <string.h>

#include "base/threads.h"
#include "eval/eval.h"
#include "ir/launch.h"
#include "lib/tuning_inside.h"

enum { MOST_ELEMENTS = 1 << 26 };

/* The program's first line, for people who read the database. */
static const char *name_of(const struct ir_program *p, struct arena *a)
{
	struct str s = str_new(a);
	ir_print_summary(&s, p);
	const char *text = str_text(&s);
	text += str_starts(text, "program ") ? strlen("program ") : 0;
	return arena_strndup(a, text, strcspn(text, "\n"));
}

static void tried(void *user, const struct tune_trial *trial, double bytes)
{
	tuning_keep(user, trial, bytes);
}

static bool progress(void *user, const struct tune_state *s)
{
	const struct job *j = user;
	const struct tpat_tune_options *o = j->t->o;
	struct tpat_tune_progress p = { .node = j->out->node,
		                        .done = j->t->done_works,
		                        .all = tuning_works(j->t),
		                        .trials = s->trials,
		                        .best_ns = s->best,
		                        .first_ns = s->first,
		                        .floor_ns = tuning_floor(j->t, s->bytes),
		                        .seconds = s->seconds,
		                        .left = s->left };
	bool stops = o->progress && o->progress(o->user, &p);
	return stops || tpat_stops(j->t->talk);
}

static bool extent(void *job, expr symbol, int64_t *value)
{
	const struct job *j = job;
	return ir_inputs_symbol(&(struct ir_inputs){ j->program, j->inputs }, symbol, value);
}

/* True if default extents make the program too large: 64 to the power of five. */
static bool too_large(const struct job *j)
{
	const struct sched_target *target = j->target;
	int64_t n;
	if (j->t->o->profile.n)
		return false;
	vec_each (b, &j->program->buffers) {
		expr count = ir_size_limit(j->program, ir_buffer_count(j->program, *b));
		if (count->op != IR_CONST_INT && ir_eval_int(count, tpat_extent_at, &target, &n) && n > MOST_ELEMENTS)
			return true;
	}
	return false;
}

/* Uses the extents that a build would assume; picks random ones if the program does not accept these. */
static int draw_inputs(struct job *j, const struct graph_region *region, bool drawn, struct err *e)
{
	int inputs = j->program->inputs.n;
	struct verify_input *input = NEWN(j->arena, struct verify_input, inputs + 1);
	struct verify_case c = {
		.plugin = region->label, .reference = j->program, .input = input, .seed = j->t->o->seed
	};
	c.demand = j->t->graph->demands.at;
	c.demands = j->t->graph->demands.n;
	c.most_work = sample_patience();
	j->in = NEWN(j->arena, struct tensor, inputs + 1);
	j->want = NEWN(j->arena, struct tensor, j->program->outputs.n + 1);
	for (int i = 0; i < inputs; i++) {
		const struct ir_buffer *b = j->program->inputs.at[i];
		input[i].rank = -1;
		if (!drawn)
			tpat_extents_of(&input[i], b, j->target);
		if (region->inputs.at[i]->is_constant && region->inputs.at[i]->type == b->type)
			TRY(graph_constant(&input[i].tensor, region->graph, region->inputs.at[i], e));
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

/* Interprets the program; only some results if all would take too long. */
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
	bool shared = j->part.count > 1 && !j->t->finishes;
	out->end = shared && r->end == TUNE_END_SEARCH ? "end of this share" : end[r->end];
	out->trials = r->trials;
	out->failed = r->failed;
	out->seconds = r->seconds;
	out->bytes = r->bytes > 0 ? r->bytes : out->bytes; /* else keep the earlier value */
	out->floor_ns = tuning_floor(j->t, out->bytes);
	out->before = tune_point_text(j->space, tune_point_first(j->space, j->arena), a);
	out->before_ns = r->first.ns;
	if (r->best.point.option) {
		out->schedule = tune_point_text(j->space, r->best.point, a);
		out->ns = r->best.ns;
		out->kernels = r->best.kernels;
		if (!out->kernels)
			out->kernels = sched_program(j->program, &j->t->target,
			                             tune_point_choices(j->space, r->best.point, j->arena))
			                       ->steps.n;
	}
	if (r->end == TUNE_END_FAULT)
		out->error = arena_printf(a, "%s%s%s", r->fault.text, *r->fault.advice ? " " : "", r->fault.advice);
	else if (!out->schedule && r->end != TUNE_END_INTERRUPT)
		out->error = *r->first.why ? arena_printf(a, "No candidate gave correct results; the first: %s.",
		                                          r->first.why)
		                           : "No candidate gave correct results.";
}

static int compilers(const struct tpat_tune_options *o)
{
	int n = o->workers > 0 ? o->workers : threads_count() / (o->locals > 1 ? o->locals : 1);
	return n > 1 ? n : 1;
}

static void tune(struct job *j)
{
	struct tuning *t = j->t;
	const struct tpat_tune_options *o = t->o;
	struct tune_search *search = tune_search_new(j->space, o->seed, j->arena);
	bool shared = j->part.count > 1, whole = !shared || t->finishes;
	struct tune_result r;
	struct tune_job job = {
		.bench = { .space = j->space,
		           .inputs = j->inputs,
		           .want = j->sample ? NULL : j->want,
		           .sample = j->sample,
		           .device = t->device_name,
		           .arch = t->device.props.arch,
		           .language = language_of(t->device.props.language),
		           .rotate = tune_rotated_bytes(t->device.props.arch),
		           .folder = t->folder },
		.search = search,
		.seconds = shared ? j->seconds / j->part.count : j->seconds,
		.trials = whole ? o->trials : 0,
		.compilers = compilers(o),
		.deadline = o->deadline,
		.tried = tried,
		.compared = tried,
		.progress = progress,
		.user = j,
	};
	if (!whole)
		tune_search_divide(search, j->part.index, j->part.count, o->trials);
	tuning_recall(j, search);
	if (t->finishes && o->trials) /* the shares' trials count */
		job.trials = o->trials > j->out->known ? o->trials - j->out->known : -1;
	tune_program(&r, &job, j->arena);
	take_result(j, &r);
	t->result->interrupted |= r.end == TUNE_END_INTERRUPT;
}

int tuning_region(struct job *j, const struct graph_region *region, const char *hash, struct err *e)
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
