/* Rule rows_split: reductions of the same many elements to few results, each element read once. A first kernel reduces parts
 * of the rows, for all reductions together, as rows of their own; a second one puts the parts together, and makes the values
 * that follow from them. */
#include "sched/rows.h"

enum { WARP = 32, LANES = 256, LAST_LANES = 1024, MAX_STEPS = 16, MAX_REGISTERS = 64, MAX_PARTS = 1 << 16 };
enum { WIDEST = 16 /* bytes */ };

/* The stages that are made: of the row program that s begins, those before the first that needs a row again. */
struct group {
	struct rows rows;
	int stages;
	int64_t points;
};

struct find_value {
	struct rows *r;
	const struct rows_stage *st;
	bool found;
};

static void find_value(void *user, expr e)
{
	struct find_value *f = user;
	f->found |= e->op == IR_LOAD && rows_value_of(f->r, f->st, e) >= 0;
}

static bool find_group(struct group *g, const struct ir_program *p, const struct ir_stage *s)
{
	struct rows *r = &g->rows;
	g->stages = 0;
	if (s->kind != IR_REDUCE || s->out->rank + 1 >= IR_MAX_RANK || !rows_match(r, (struct ir_program *)p, s) ||
	    !ir_const_int(r->length, &g->points))
		return false;
	for (; g->stages < r->stages; g->stages++) {
		const struct rows_stage *st = &r->stage[g->stages];
		struct find_value f = { r, st, false };
		if (st->kind == ROWS_MAP)
			break;
		if (st->kind == ROWS_REDUCE)
			ir_walk(st->value, find_value, &f);
		if (f.found)
			break;
	}
	return g->stages > 0;
}

/* ---- Choices. */

static double bytes_each(const struct rows *r)
{
	double bits = 0;
	for (int i = 0; i < r->cached; i++)
		bits += type_info(r->cache[i].buf->type)->bits;
	return bits / 8;
}

static int vector_width(const struct group *g)
{
	int bytes = 1;
	for (int i = 0; i < g->rows.cached; i++)
		if (type_info(g->rows.cache[i].buf->type)->bits / 8 > bytes)
			bytes = type_info(g->rows.cache[i].buf->type)->bits / 8;
	return WIDEST / bytes;
}

/* Parts that whole steps of vectors make, or else any that divide the row. */
static int choices_of(const struct group *g, struct sched_choice *out)
{
	static const int steps[] = { 8, 4, 16, 2 };
	int n = 0, width = vector_width(g);
	for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
		int64_t share = (int64_t)LANES * width * steps[i];
		if (g->points % share == 0 && g->points / share >= 4 && g->points / share <= MAX_PARTS &&
		    steps[i] * width * bytes_each(&g->rows) / 4 <= MAX_REGISTERS)
			out[n++] = (struct sched_choice){ &sched_rows_split, { (int)(g->points / share), width, steps[i] } };
	}
	for (int parts = 2048; parts >= 4 && n < 6; parts /= 4)
		if (g->points % ((int64_t)parts * width) == 0 && g->points / parts >= (int64_t)LANES * width)
			out[n++] = (struct sched_choice){ &sched_rows_split, { parts, width, 0 } };
	return n;
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct group g;
	struct sched_choice none[SCHED_RULE_CHOICES];
	if (find_group(&g, p, s) && choices_of(&g, none) > 0)
		return true;
	*why = "no reduction of long rows of a known length, which parts divide";
	return false;
}

static int span(const struct ir_program *p, const struct ir_stage *s)
{
	struct group g;
	return find_group(&g, p, s) ? g.stages : 1;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	struct group g;
	(void)t;
	ck(find_group(&g, p, s));
	return choices_of(&g, out);
}

/* ---- The stages of the two kernels. */

struct part {
	const struct group *g;
	const struct rows_stage *st;
	struct ir_program *p;
	int rank;
	expr axis[IR_MAX_RANK]; /* what the reduced axes are called in a part */
	expr full;              /* the position of an element of it */
};

/* Elements of the row itself are neighbours in a part, too; other loads are where they were. */
static expr in_part(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct part *t = user;
	(void)pool;
	(void)arg;
	if (e->op == IR_AXIS && e->i >= t->rank)
		return t->axis[e->i - t->rank];
	if (e->op == IR_LOAD && rows_is_own(&t->g->rows, t->st, e) && !type_is_packed(e->type))
		return ir_load(t->p->pool, flat_view(t->p, e->buf), &t->full);
	return NULL;
}

/* part[i..., k] = combine over r of value at point k * share + r */
static struct ir_stage *part_stage(struct ir_program *p, const struct group *g, const struct rows_stage *st, int parts)
{
	const struct ir_stage *s = st->s;
	struct ir_pool *pool = p->pool;
	int rank = s->out->rank;
	struct part t = { .g = g, .st = st, .p = p, .rank = rank };
	expr dim[IR_MAX_RANK], row = ir_index(pool, 0), share = ir_index(pool, g->points / parts);
	for (int k = 0; k < rank; k++) {
		dim[k] = s->out->dim[k];
		row = ir_binary(IR_ADD, ir_binary(IR_MUL, row, dim[k]), ir_axis(pool, k, dim[k]));
	}
	dim[rank] = ir_index(pool, parts);
	expr point = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_axis(pool, rank, dim[rank]), share),
	                       ir_axis(pool, rank + 1, share));
	t.full = ir_binary(IR_ADD, ir_binary(IR_MUL, row, ir_index(pool, g->points)), point);
	for (int k = s->space_rank - 1; k >= 0; k--) {
		t.axis[k] = k ? ir_binary(IR_MOD, point, s->space[k]) : point;
		point = ir_binary(IR_FLOORDIV, point, s->space[k]);
	}
	struct ir_stage *first = NEW(p->arena, struct ir_stage);
	*first = (struct ir_stage){ .kind = IR_REDUCE, .combine = s->combine, .space_rank = 1 };
	first->out = ir_buffer_new(p, arena_printf(p->arena, "%s_parts", s->out->name), s->value->type, rank + 1, dim, IR_TEMP);
	first->value = ir_copy(pool, s->value, in_part, &t);
	first->space[0] = share;
	return first;
}

static struct ir_stage *whole_stage(struct ir_program *p, const struct ir_stage *s, struct ir_buffer *part)
{
	struct ir_stage *second = NEW(p->arena, struct ir_stage);
	expr own[IR_MAX_RANK];
	for (int k = 0; k < part->rank; k++)
		own[k] = ir_axis(p->pool, k, part->dim[k]);
	*second = *s;
	second->value = ir_load(p->pool, part, own);
	second->space_rank = 1;
	second->space[0] = part->dim[part->rank - 1];
	return second;
}

static void rows_of(struct ir_plan *plan, struct ir_stage *const *stage, int n, int lanes, int width, int steps)
{
	struct rows r;
	struct sched_choice c = { &sched_rows, { lanes, width, steps, 0 } };
	ck(rows_match_stages(&r, plan->program, stage, n) && r.stages == n);
	r.store_all = true;
	rows_apply(plan, &r, &c);
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_stage *first[ROWS_MAX_STAGES], *second[ROWS_MAX_STAGES];
	struct group g;
	int parts = c->param[0], lanes = WARP, width = parts % 4 ? 1 : 4, reductions = 0, steps = plan->steps.n;
	ck(find_group(&g, p, s));
	for (int i = 0; i < g.stages; i++) {
		const struct rows_stage *st = &g.rows.stage[i];
		second[i] = (struct ir_stage *)st->s;
		if (st->kind != ROWS_REDUCE)
			continue;
		first[reductions] = part_stage(p, &g, st, parts);
		second[i] = whole_stage(p, st->s, first[reductions++]->out);
	}
	rows_of(plan, first, reductions, LANES, c->param[1], c->param[2]);
	while (lanes < LAST_LANES && lanes * width < parts)
		lanes *= 2;
	int turns = (parts + lanes * width - 1) / (lanes * width);
	rows_of(plan, second, g.stages, lanes, width, turns <= MAX_STEPS / reductions ? turns : 0);
	for (; steps < plan->steps.n; steps++) /* the decision is this rule's */
		vec_each (k, plan->steps.at[steps]) {
			(*k)->rule = arena_printf(p->arena, "%s %d", c->rule->name, c->rule->version);
			(*k)->params = arena_printf(p->arena, "parts %d, width %d, steps %d", parts, c->param[1], c->param[2]);
		}
}

/* ---- Time: the elements once, by as many blocks as there are parts, and two launches. */

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *t)
{
	enum { IN_FLIGHT = 40 << 10, THREADS = 2048 };
	struct group g;
	ck(find_group(&g, p, s));
	double outs = (double)about(g.rows.count, t), blocks = outs * c->param[0], each = bytes_each(&g.rows), work = 0;
	double bytes = outs * (double)g.points * each;
	for (int i = 0; i < g.stages; i++)
		if (g.rows.stage[i].kind == ROWS_REDUCE)
			work += outs * (double)g.points * ir_cost(g.rows.stage[i].value);
	if (!c->param[2])
		bytes *= 1 + 0.35 * (g.rows.reductions - 1);
	double resident = blocks / t->processors, most = (double)THREADS / LANES;
	double flying = (resident < most ? resident : most) * LANES * c->param[1] * (c->param[2] ? c->param[2] : 2) * each;
	double fill = flying / IN_FLIGHT;
	double time = bytes / t->bytes_per_ns / (fill > 1 ? 1 : fill), compute = work / (t->processors * 128.0 * 1.5);
	time = time > compute ? time : compute;
	return 2 * t->launch_ns + time * (c->param[2] ? 1 : 1.05) + 2000 + c->param[0] * 0.2;
}

const struct sched_rule sched_rows_split = {
	.name = "rows_split",
	.version = 1,
	.help = "long rows: blocks reduce `parts` of a row, for several reductions at once, a second kernel puts them together",
	.params = { "parts", "width", "steps" },
	.applicable = applicable,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
