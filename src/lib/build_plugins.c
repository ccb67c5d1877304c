/* The plugins of a build: a program for each region, one plugin for regions with equal programs, and schedules for
 * each: measured ones, or the cost model's. */
#include "lib/build_inside.h"

#include <string.h>

#include "base/ascii.h"
#include "gen/language.h"

enum { MOST_NAMED = 8, FEW_ARCHS = 2 };

static void dump_program(void *user, const char *pass, const struct ir_program *p)
{
	const struct build *b = user;
	struct str text = str_new(b->arena);
	ir_print_program(&text, p);
	b->o->dump(b->o->user, pass, str_text(&text));
}

/* Takes the tuning results for each point: measured there, or else at the optimum. */
static int take_tuned(struct build *b, struct sched_tactic *tactic, const struct made *m, struct ir_program *p,
                      const struct sched_points *points)
{
	for (int i = 0; i < points->n; i++) {
		struct sched_choice *choice = NEWN(b->arena, struct sched_choice, p->stages.n + 1);
		struct tpat_tuned_choice own = { 0 };
		if (i != points->opt)
			TRY(tpat_tuned_find(&own, b->tuned, p, m->hash, &points->target[i], true, b->err));
		sched_decide(p, &points->target[i], own.choice ? own.choice : m->tuned.choice, choice);
		tactic->choice[i] = choice;
	}
	return 0;
}

/* Each architecture compiles all tactics: fewer if there are many architectures, or a kernel compiles slowly. */
static int tactics_wanted(const struct build *b, const struct ir_program *p, const struct sched_choice *usual)
{
	bool one = b->archs > FEW_ARCHS;
	for (int i = 0; i < p->stages.n; i++)
		one |= usual[i].rule && usual[i].rule->heavy;
	return b->o->tactics ? b->o->tactics : one ? 1 : TPAT_TACTICS;
}

/* Uses measured schedules if there are any, else the cost model's, for minimum, optimum and maximum of dynamic
 * extents. */
static int schedule(struct build *b, const struct graph_region *r, struct made *m, struct ir_program *p)
{
	struct sched_points points = tpat_profile_points(b->extents, &b->target, r, p, m->layout);
	struct sched_tactic tactic = { { 0 } };
	if (b->tuned)
		TRY(tpat_tuned_find(&m->tuned, b->tuned, p, m->hash, &points.target[points.opt], false, b->err));
	if (m->tuned.choice)
		TRY(take_tuned(b, &tactic, m, p, &points));
	else
		tactic = sched_tactic_best(p, &points);
	m->decisions = sched_decisions_text(p, tactic.choice[points.opt], b->arena);
	if (b->o->explain)
		m->why = tpat_why(r->label, p, &points.target[points.opt], tactic.choice[points.opt], b->arena);
	struct str all = str_new(b->arena);
	struct sched_tactic tactics[SCHED_MAX_TACTICS];
	m->plans = sched_tactics(p, &points, &tactic, tactics_wanted(b, p, tactic.choice[points.opt]), tactics);
	m->plan = NEWN(b->arena, const struct ir_plan *, m->plans);
	sched_plans(m->plan, p, &points, tactics, m->plans);
	for (int k = 0; k < m->plans; k++)
		for (int i = 0; i < points.n; i++)
			str_printf(&all, "%s\n", sched_decisions_text(p, tactics[k].choice[i], b->arena));
	if (p->checked)
		str_add(&all, "debug\n");
	m->all_decisions = str_text(&all);
	return 0;
}

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

static struct graph_program_options program_options(struct build *b)
{
	return (struct graph_program_options){
		.any_types = b->o->any_types,
		.keep_types = b->o->keep_types,
		.in_place = b->o->in_place,
		.sizes = true,
		.dump = b->o->dump ? dump_program : NULL,
		.dump_user = b,
	};
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
	struct graph_program_options options = program_options(b);
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

const struct made *build_scheduled(const struct made *m)
{
	return m->like ? m->like : m;
}

static struct engine_weights weights_of(const struct ir_program *p, struct arena *a)
{
	struct engine_weights w = { 0 };
	vec_each (b, &p->buffers)
		if ((*b)->weight)
			vec_push(a, &w, (*b)->data);
	return w;
}

static bool same_weights(const struct engine_weights *x, const struct engine_weights *y)
{
	for (int i = 0; i < x->n; i++)
		if (x->at[i] != y->at[i] && memcmp(x->at[i]->data, y->at[i]->data, (size_t)tensor_bytes(x->at[i])) != 0)
			return false;
	return true;
}

static void dump_kernels(struct build *b, const struct made *m)
{
	struct str text = str_new(b->arena);
	b->graph->engine->language->print(&text, m->plan, m->plans);
	b->o->dump(b->o->user, "cuda", str_text(&text));
}

static int make_schedule(struct build *b, const struct graph_region *r, struct made *m, struct ir_program *program)
{
	TRY(schedule(b, r, m, program));
	if (!b->o->dump)
		return 0;
	for (int i = 0; i < m->plans; i++)
		vec_each (step, &m->plan[i]->steps)
			vec_each (k, *step)
				TRY(ir_kernel_check(*k, b->err));
	dump_kernels(b, m);
	return 0;
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

/* The layouts of --format, as the engine knows them. */
static int find_layouts(struct build *b)
{
	const struct tpat_strings *wanted = &b->o->format;
	const struct engine_layout *all = b->graph->engine->layouts;
	b->layout = NEWN(b->arena, const struct engine_layout *, wanted->n + 1);
	for (int i = 0; i < wanted->n; i++) {
		struct str names = str_new(b->arena);
		for (const struct engine_layout *l = all; l && l->name; l++) {
			str_printf(&names, "%s%s", l == all ? "" : ", ", l->name);
			if (ascii_same(l->name, wanted->at[i]))
				b->layout[i] = l;
		}
		if (!b->layout[i])
			return err_set(b->err, ERR_USAGE, "--format is one of %s, not \"%s\".", str_text(&names),
			               wanted->at[i]);
	}
	if (wanted->n && b->o->split)
		return err_set(b->err, ERR_USAGE, "--format and --split exclude each other.");
	b->layouts = wanted->n;
	return 0;
}

/* Returns the plugin that is `m` in this format, or null. */
static struct made *layout_of(const struct build *b, const struct made *m, const struct engine_layout *l)
{
	vec_each (x, &b->stored)
		if ((*x)->of == m && (*x)->layout == l)
			return *x;
	return NULL;
}

/* Makes kernels for the plugin's tensors in another format, if any can have it. */
static int make_layout(struct build *b, const struct graph_region *r, struct made *m, const struct engine_layout *l)
{
	struct graph_program_options options = program_options(b);
	struct ir_program *program;
	if (!graph_region_has_layout(r, l, &options))
		return 0;
	options.layout = l;
	options.in_place = false;
	TRY(graph_region_program(&program, r, &options, b->arena, b->err));
	program->checked = b->o->debug_kernels;
	struct made *like = m->like ? layout_of(b, m->like, l) : NULL, *x = NEW(b->arena, struct made);
	int *format = NEWN(b->arena, int, program->inputs.n + program->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++)
		format[i] = graph_has_layout(b->graph, r->inputs.at[i], l, &options) ? l->number : 0;
	for (int i = 0; i < r->outputs.n; i++)
		format[program->inputs.n + i] =
		        graph_has_layout(b->graph, r->outputs.at[i], l, &options) ? l->number : 0;
	if (like)
		*x = *like;
	x->like = like;
	x->of = m;
	x->layout = l;
	x->format = format;
	x->region = r;
	x->weights = weights_of(program, b->arena);
	x->nodes = (struct tpat_texts){ 0 };
	ir_hash(program, x->hash);
	if (!like) {
		TRY(make_schedule(b, r, x, program));
		m->all_decisions = arena_printf(b->arena, "%s%s\n%s", m->all_decisions, l->name, x->all_decisions);
	}
	vec_push(b->arena, &b->stored, x);
	return 0;
}

static int make_plugin(struct build *b, const struct graph_region *r, struct made **out)
{
	struct graph_program_options options = program_options(b);
	struct ir_program *program;
	char hash[33];
	const char *name;
	TRY(graph_region_program(&program, r, &options, b->arena, b->err));
	program->checked = b->o->debug_kernels;
	TRY(build_given_name(b, r->label, &name));
	ir_hash(program, hash);
	const struct engine_weights weights = weights_of(program, b->arena);
	struct made *like;
	TRY(find_plugin(b, hash, name, &weights, out, &like));
	if (*out)
		return 0;
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
		TRY(make_schedule(b, r, m, program));
	vec_push(b->arena, &b->plugins, m);
	for (int i = 0; i < b->layouts; i++)
		TRY(make_layout(b, r, m, b->layout[i]));
	return 0;
}

int build_plugins(struct build *b)
{
	struct made **made = b->made = NEWN(b->arena, struct made *, b->regions.n + 1);
	b->call = NEWN(b->arena, struct graph_plugin, b->regions.n);
	b->name_space = NEWN(b->arena, const char *, b->regions.n + 1);
	TRY(build_check_names(b));
	TRY(find_layouts(b));
	TRY(open_tuned(b));
	TRY(tpat_profile_extents(&b->extents, b->graph, &b->o->profile, b->arena, b->err));
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
	return check_tuned(b);
}

int build_progress(struct build *b, const char *stage, const char *what, int done, int all)
{
	struct tpat_progress p = { stage, what, done, all };
	bool stops = b->o->progress && b->o->progress(b->o->user, &p);
	return stops || tpat_stops(b->talk) ? tpat_cancelled(b->err) : 0;
}
