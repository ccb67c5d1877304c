/* The plugins of a build: a program for each region, one plugin for regions with equal programs, and schedules for
 * each: measured ones, or the cost model's. */
#include "lib/build_inside.h"

#include <string.h>

#include "gen/language.h"

enum { MOST_NAMED = 8 };

static int open_tuned(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	if (o->no_db && o->from_db_only)
		return err_set(b->err, ERR_USAGE, "--no-db and --from-db-only exclude each other.");
	return o->no_db ? 0 : tpat_tuned_open(&b->tuned, o->db, o->from_db_only, &b->tuned_warning, b->arena, b->err);
}

/* With from_db_only: fails unless every plugin was tuned. */
static int check_tuned(const struct build *b)
{
	struct str list = str_new(b->arena);
	int missing = 0;
	if (!b->o->from_db_only)
		return 0;
	vec_each (m, &b->plugins) {
		if ((*m)->tuned.choice)
			continue;
		if (missing++ < MOST_NAMED)
			str_printf(&list, "%s%s (node %s)", list.n ? ", " : "", (*m)->name, (*m)->nodes.at[0]);
	}
	if (!missing)
		return 0;
	if (missing > MOST_NAMED)
		str_printf(&list, " and %d more", missing - MOST_NAMED);
	err_set(b->err, ERR_UNSUPPORTED, "The tuning database %s has no usable schedule on sm_%d for %d plugin%s: %s.",
	        tpat_tuned_path(b->tuned), b->target.arch, missing, missing == 1 ? "" : "s", str_text(&list));
	return err_advise(b->err,
	                  "Tune them (tpat tune), or build without --from-db-only to use the cost model for them.");
}

/* One kernel for each stage, one schedule for all extents. */
static void schedule_unfused(struct build *b, struct made *m, struct ir_program *p)
{
	struct sched_points points = tpat_profile_points(b->extents, &b->target, m->region, p, m->layout);
	struct sched_choice *choice = NEWN(b->arena, struct sched_choice, p->stages.n + 1);
	struct sched_choice *all = NEWN(b->arena, struct sched_choice, SCHED_MAX_CHOICES);
	struct sched_tactic tactic = { { 0 } };
	for (int i = 0; i < p->stages.n; i++) {
		int n = sched_choices(p, p->stages.at[i], &points.target[points.opt], all), k = 0;
		while (k < n && sched_span(p, p->stages.at[i], &all[k]) > 1)
			k++;
		choice[i] = all[k < n ? k : 0];
	}
	struct sched_choice *decided = NEWN(b->arena, struct sched_choice, p->stages.n + 1);
	sched_decide(p, &points.target[points.opt], choice, decided);
	for (int i = 0; i < points.n; i++)
		tactic.choice[i] = decided;
	m->plans = 1;
	sched_plans(m->plan, p, &points, &tactic, 1);
	m->decisions = sched_decisions_text(p, decided, b->arena);
	m->all_decisions = arena_printf(b->arena, "unfused\n%s\n%s", m->decisions, p->checked ? "debug\n" : "");
	m->tuned = (struct tpat_tuned_choice){ 0 };
}

/* Names the nodes of a plugin's first region, and the number of further regions. */
static const char *nodes_of(const struct build *b, const struct made *m)
{
	struct str s = str_new(b->arena);
	int n = 0;
	vec_each (i, &m->region->nodes)
		if (n++ < MOST_NAMED)
			str_printf(&s, "%s%s", s.n ? ", " : "",
			           str_printable(b->arena, m->region->graph->nodes.at[*i].label));
	if (n > MOST_NAMED)
		str_printf(&s, " and %d more", n - MOST_NAMED);
	if (m->nodes.n > 1)
		str_printf(&s, "; %d more regions like this", m->nodes.n - 1);
	return str_text(&s);
}

static int make_unfused(struct build *b, struct made *m)
{
	struct graph_program_options options = build_program_options(b);
	struct ir_program *program;
	options.unfused = true;
	options.layout = m->layout;
	TRY(graph_region_program(&program, m->region, &options, b->arena, b->err));
	schedule_unfused(b, m, program);
	vec_push(b->arena, &b->unfused,
	         arena_printf(b->arena,
	                      "NVRTC refused the fused kernels of plugin %s (nodes %s). tpat built them again without "
	                      "fusion, which is slower. This is a bug in tpat: please report it with the model. %s",
	                      m->name, nodes_of(b, m), m->refused));
	m->refused = NULL;
	m->unfused = true;
	return 0;
}

/* Names carry a hash of the library's contents, so they come last. */
static void name_all(struct build *b)
{
	build_names(b);
	for (int i = 0; i < b->regions.n; i++) {
		b->call[i].name = b->made[i] ? b->made[i]->name : NULL;
		b->name_space[i] = b->made[i] ? b->made[i]->name_space : NULL;
	}
}

int build_unfused(bool *again, struct build *b)
{
	struct made *m;
	for (int i = 0; (m = build_made(b, i)); i++)
		if (m->refused && m->unfused)
			return 0;
	for (int i = 0; (m = build_made(b, i)); i++) {
		if (!m->refused)
			continue;
		TRY(make_unfused(b, m));
		*again = true;
	}
	if (*again)
		name_all(b);
	return 0;
}

struct made *build_made(const struct build *b, int i)
{
	if (i < b->plugins.n)
		return b->plugins.at[i];
	return i - b->plugins.n < b->stored.n ? b->stored.at[i - b->plugins.n] : NULL;
}

static bool same_weights(const struct engine_weights *x, const struct engine_weights *y)
{
	for (int i = 0; i < x->n; i++)
		if (x->at[i] != y->at[i] && memcmp(x->at[i]->data, y->at[i]->data, (size_t)tensor_bytes(x->at[i])) != 0)
			return false;
	return true;
}

/* Finds the region's plugin among those made so far, or null; *like: one with the same program and other weights. */
static int find_plugin(struct build *b, const char *hash, const char *name, const struct engine_weights *weights,
                       struct made **out, struct made **like)
{
	*out = *like = NULL;
	vec_each (h, &b->plugins) {
		bool same = strcmp((*h)->hash, hash) == 0;
		bool named = name && (*h)->given && strcmp((*h)->given, name) == 0;
		if (same && (!name || named) && same_weights(&(*h)->weights, weights)) {
			*out = *h;
			return 0;
		}
		if (named)
			return err_set(b->err, ERR_USAGE,
			               "Two plugins with different programs or weights are called %s.", name);
		if (same && !*like)
			*like = (*h)->like ? (*h)->like : *h;
	}
	return 0;
}

static int make_plugin(struct build *b, const struct graph_region *r, struct made **out)
{
	struct graph_program_options options = build_program_options(b);
	struct ir_program *program;
	char hash[33];
	const char *name;
	TRY(graph_region_program(&program, r, &options, b->arena, b->err));
	program->checked = b->o->debug_kernels;
	TRY(build_given_name(b, r->label, &name));
	ir_hash(program, hash);
	const struct engine_weights weights = build_weights(program, b->arena);
	struct made *like;
	TRY(find_plugin(b, hash, name, &weights, out, &like));
	if (*out)
		return build_layouts(b, r, *out);
	if (!b->archs)
		TRY(tpat_parse_archs(&b->arch, &b->archs, &b->o->arch, b->machine, b->arena, b->err));
	struct made *m = *out = NEW(b->arena, struct made);
	if (like)
		*m = *like;
	m->like = like;
	m->weights = weights;
	m->given = name;
	m->region = r;
	m->nodes = (struct tpat_texts){ 0 };
	memcpy(m->hash, hash, sizeof hash);
	if (!like)
		TRY(build_schedule(b, r, m, program));
	vec_push(b->arena, &b->plugins, m);
	return build_layouts(b, r, m);
}

int build_plugins(struct build *b)
{
	struct made **made = b->made = NEWN(b->arena, struct made *, b->regions.n + 1);
	b->call = NEWN(b->arena, struct graph_plugin, b->regions.n);
	b->name_space = NEWN(b->arena, const char *, b->regions.n + 1);
	TRY(build_check_names(b));
	TRY(tpat_layouts_read(&b->layouts, b->graph, &b->o->format, b->arena, b->err));
	if (b->o->format.n && b->o->split)
		return err_set(b->err, ERR_USAGE, "--format and --split exclude each other.");
	TRY(open_tuned(b));
	TRY(tpat_profile_extents(&b->extents, b->graph, &b->o->profile, b->arena, b->err));
	const struct graph_program_options options = build_program_options(b);
	tpat_turn(&b->regions, b->extents, &b->target, &options);
	for (int i = 0; i < b->regions.n; i++) {
		struct graph_region *r = b->regions.at[i];
		TRY(build_progress(b, "program", r->label, i, b->regions.n));
		if (r->folded)
			continue;
		TRY(make_plugin(b, r, &made[i]));
		b->call[i].shape_inputs = r->shapes;
		int *index = NEWN(b->arena, int, r->shapes + 1);
		for (int k = 0; k < r->shapes; k++)
			index[k] = r->inputs.n - r->shapes + k;
		b->call[i].shape_input = index;
		vec_push(b->arena, &made[i]->nodes, r->label);
	}
	name_all(b);
	vec_each (m, &b->plugins)
		if (!(*m)->like)
			tpat_say(b->talk, TPAT_LOG_NOTE, "%s: schedule %s, by %s", (*m)->name, (*m)->decisions,
			         (*m)->tuned.choice ? "the tuning database" : "the cost model");
	vec_each (w, &b->weighed)
		tpat_say(b->talk, TPAT_LOG_NOTE, "%s: %s %s: %.3g us, and %.3g us with reformatting", w->of->name,
		         w->taken ? "has" : "does not have", w->layout->name, w->ns / 1e3,
		         (build_scheduled(w->of)->ns + w->reformats_ns) / 1e3);
	return check_tuned(b);
}

int build_progress(struct build *b, const char *stage, const char *what, int done, int all)
{
	struct tpat_progress p = { stage, what, done, all };
	bool stops = b->o->progress && b->o->progress(b->o->user, &p);
	return stops || tpat_stops(b->talk) ? tpat_cancelled(b->err) : 0;
}
