/* The schedules of a plugin: measured ones, or the cost model's; and what its program is made with. */
#include "gen/language.h"
#include "lib/build_inside.h"

enum { FEW_ARCHS = 2 };

const struct made *build_scheduled(const struct made *m)
{
	return m->like ? m->like : m;
}

struct engine_weights build_weights(const struct ir_program *p, struct arena *a)
{
	struct engine_weights w = { 0 };
	vec_each (b, &p->buffers)
		if ((*b)->weight)
			vec_push(a, &w, (*b)->data);
	return w;
}

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
	if (m->tuned.choice) {
		TRY(take_tuned(b, &tactic, m, p, &points));
	} else {
		if (b->o->profile.n) /* else the points are no more than a guess */
			points = sched_points_between(&points, b->arena);
		tactic = sched_tactic_best(p, &points);
	}
	m->decisions = sched_decisions_text(p, tactic.choice[points.opt], b->arena);
	m->ns = m->tuned.choice ? m->tuned.ns
	                        : sched_time(p, tactic.choice[points.opt], 0, p->stages.n, &points.target[points.opt]);
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

struct graph_program_options build_program_options(struct build *b)
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

static void dump_kernels(struct build *b, const struct made *m)
{
	struct str text = str_new(b->arena);
	b->graph->engine->language->print(&text, m->plan, m->plans);
	b->o->dump(b->o->user, "cuda", str_text(&text));
}

int build_schedule(struct build *b, const struct graph_region *r, struct made *m, struct ir_program *program)
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
