/* Tunes a model's nodes on one device: selects regions, extents and database. tuning_region.c tunes one region. See
 * tuning_inside.h. */
#include <string.h>

#include "base/file.h"
#include "lib/tuning_inside.h"

enum { DEFAULT_SECONDS = 60 };

void tuning_close(struct tuning *t)
{
	if (t->folder)
		file_remove_tree(t->folder);
	db_close(t->db);
	db_close(t->earlier);
	graph_free(t->graph);
	onnx_model_free(t->model);
}

void tuning_warn(struct tuning *t, const char *text)
{
	vec_each (have, &t->warnings)
		if (strcmp(*have, text) == 0)
			return;
	vec_push(t->arena, &t->warnings, arena_strdup(t->arena, text));
	tpat_say(t->talk, TPAT_LOG_WARNING, "%s", text);
}

void tuning_tell(struct tuning *t, const struct tpat_tuned_node *r)
{
	if (r->error)
		tpat_say(t->talk, TPAT_LOG_WARNING, "%s: %s", r->node, r->error);
	else if (r->schedule)
		tpat_say(t->talk, TPAT_LOG_NOTE, "%s: schedule %s, %.0f ns, after %d trials in %.1f s: %s", r->node,
		         r->schedule, r->ns, r->trials, r->seconds, r->end);
}

static void tell_over(struct tuning *t, const struct tpat_tuned_node *r)
{
	struct tpat_tune_progress p = { .node = r->node,
		                        .done = t->done_works + 1,
		                        .all = tuning_works(t),
		                        .trials = r->trials,
		                        .best_ns = r->ns,
		                        .first_ns = r->before_ns,
		                        .floor_ns = r->floor_ns,
		                        .seconds = r->seconds,
		                        .over = true };
	tuning_tell(t, r);
	if (t->o->progress && !r->same_as)
		t->result->interrupted |= t->o->progress(t->o->user, &p);
	t->result->interrupted |= tpat_stops(t->talk);
}

/* Tunes at the optimum first, then at a profile's minimum and maximum if they differ. All share the budget. */
static void tune_work(struct tuning *t, int index, struct tpat_tuned_node *tuned, struct arena *a)
{
	const struct tpat_tune_options *o = t->o;
	const struct tuning_work *w = &t->works.at[index];
	const struct graph_region *region = w->region;
	struct tpat_tuning *out = t->result;
	struct ir_program *p = NULL;
	struct sched_points points = { .n = 1 };
	struct err e = { 0 };
	char hash[33] = "";
	struct tuning_part part = tuning_part(t, index);
	if (!part.count)
		return;
	if (tuning_program(&p, t, w, a, &e) == 0) {
		ir_hash(p, hash);
		points = tpat_profile_points(t->extents, &t->target, region, p, w->layout);
	}
	int n = o->profile.n ? points.n : 1;
	for (int i = 0; i < n && !out->interrupted; i++) {
		int point = (i + points.opt) % points.n;
		struct tpat_tuned_node *one = &tuned[out->n];
		struct job j = { .t = t, .out = one, .part = part, .program = p, .arena = a };
		t->index[out->n++] = index;
		j.target = &points.target[point];
		j.seconds = (o->seconds > 0 ? o->seconds : DEFAULT_SECONDS) / n;
		one->node = arena_strdup(t->arena, region->label);
		one->format = w->layout ? w->layout->name : NULL;
		if (!p || tuning_region(&j, region, hash, &e) < 0)
			one->error = arena_printf(t->arena, "%s%s", e.where, e.text);
		err_clear(&e);
		tell_over(t, one);
		out->failed += one->error != NULL;
	}
	t->done_works++;
}

static void tune_all(struct tuning *t)
{
	struct tpat_tuned_node *tuned = NEWN(t->arena, struct tpat_tuned_node, t->works.n * SCHED_MAX_POINTS + 1);
	t->result->tuned = tuned;
	t->index = NEWN(t->arena, int, t->works.n *SCHED_MAX_POINTS + 1);
	for (int i = 0; i < t->works.n && !t->result->interrupted; i++) {
		if (t->works.at[i].region->folded)
			continue;
		struct arena *a = arena_new();
		tune_work(t, i, tuned, a);
		arena_free(a);
	}
}

static int no_device(struct tuning *t)
{
	char why[sizeof t->err->text];
	strcpy(why, t->err->text);
	enum err_code code = t->err->code;
	if (code != ERR_DEVICE || strcmp(t->device_name, "cpu") == 0)
		return code;
	err_clear(t->err);
	err_set(t->err, ERR_DEVICE, "Tuning needs a GPU, and none is usable here: %.700s", why);
	return err_advise(
	        t->err,
	        "Run tpat tune on a machine with the GPU and import its database here (tpat db export, tpat db "
	        "import). tpat build needs no GPU; tpat tune --device cpu measures on the processor, to try tuning "
	        "out.");
}

static int open_all(struct tuning *t)
{
	const struct tpat_tune_options *o = t->o;
	struct tpat_choice c = { &o->node,    &o->type,    &o->region,  &o->except, o->automatic,
		                 &o->from,    &o->to,      &o->pattern, o->all,     o->fast,
		                 o->min_gain, &o->profile, NULL,        0,          o->chains };
	struct tpat_open_options open = { &o->shape, NULL, false };
	struct tpat_plain plain;
	TRY(tpat_open(&t->model, &t->graph, o->model, &o->shape, &o->value, NULL, t->arena, t->err));
	TRY(tpat_decompose(&plain, &t->graph, &open, &c, o->decompose, t->arena, t->err));
	if (tpat_chooses(&c))
		TRY(tpat_choose(&t->regions, t->graph, &c, t->arena, t->err));
	else
		TRY(tpat_choose_all(&t->regions, t->graph, t->arena, t->err));
	TRY(tpat_profile_extents(&t->extents, t->graph, &o->profile, t->arena, t->err));
	TRY(tpat_refuse_emulator(t->device_name, t->err));
	TRY(tpat_db_path(&t->result->db, o->db, t->arena, t->err));
	size_t cache = tune_rotated_bytes(strcmp(t->device_name, "cpu") != 0) / 2;
	return tune_probe(&t->device, t->device_name, cache, t->err) < 0 ? no_device(t) : 0;
}

/* A share writes a database of its own, and reads the common one if there is one. */
static int open_databases(struct tuning *t)
{
	const struct tpat_tune_options *o = t->o;
	const char *common = t->result->db;
	struct err e = { 0 };
	if (o->shards > 1 && !t->finishes) {
		t->result->db = tuning_share_path(common, o->shard, o->shards, t->arena);
		if (file_exists(common) && db_open(&t->earlier, common, DB_READ, &e) < 0)
			tuning_warn(t, e.text);
	}
	return db_open(&t->db, t->result->db, DB_WRITE, t->err);
}

int tuning_run(struct tuning *t)
{
	char *folder;
	t->done = map_new(t->arena);
	TRY(open_all(t));
	tpat_target_of_device(&t->target, &t->device.props);
	TRY(tpat_target_calibrate(&t->target, t->arena, t->err));
	TRY(tuning_find_works(t));
	t->arch = t->device.props.arch ? arena_printf(t->arena, "sm_%d", t->device.props.arch) : "cpu";
	t->result->device = arena_strdup(t->arena, t->device.props.name);
	t->result->bytes_per_ns = t->device.bytes_per_ns;
	TRY(open_databases(t));
	TRY(file_temp_dir(&folder, t->arena, t->err));
	t->folder = folder;
	if (t->o->shards > 1)
		tuning_deal(t);
	tune_all(t);
	t->result->warnings = tpat_strings_of(&t->warnings);
	return 0;
}
