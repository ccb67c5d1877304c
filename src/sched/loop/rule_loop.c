/* Rule loop_block: a whole loop in one kernel. Each block makes some of the independent rows, or one block makes all.
 * Its threads share the elements of every stage of the body, with barriers where a stage needs other threads'
 * results. */
#include "sched/loop/loop_grid.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { WARP = 32 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_LOOP)
		return s;
	*why = "the stage is not a loop";
	return NULL;
}

/* ---- The estimated cost of one iteration of a row. */

struct iteration {
	struct ir_program *p;
	const struct sched_target *t;
	int lead;
	double widest;   /* elements of the largest stage */
	bool reduces;    /* has reductions over many points */
	double work;     /* operations of all stages, times the trip count for inner loops */
	double bytes[2]; /* bytes read, with a thread and with a warp for an element of a sum */
	double stages;   /* number of stages; each may end in a barrier */
};

static double local_count(const struct iteration *u, int rank, const expr *dim)
{
	double n = 1;
	for (int k = u->lead; k < rank; k++)
		n *= (double)about(dim[k], u->t);
	return n;
}

static double points_of(const struct iteration *u, const struct ir_stage *s)
{
	bool own = s->kind == IR_SCATTER;
	double n = own ? 1 : local_count(u, s->out->rank, s->out->dim);
	for (int k = own ? u->lead : 0; k < s->space_rank; k++)
		n *= (double)about(s->space[k], u->t);
	return n;
}

struct reads {
	struct iteration *u;
	const struct ir_stage *s;
	bool reduces;
	double points;
};

/* True if threads that are neighbours along the axis read words far from each other. */
static bool is_apart(const struct reads *r, expr e, int axis)
{
	enum { NEAR = 16 /* bytes */ };
	expr stride = ir_stride(ir_flat(r->u->p->pool, e->buf, e->arg), axis);
	return stride && (double)about(stride, r->u->t) * type_info(e->type)->bits / 8.0 >= NEAR;
}

/* Where neighbours read words apart, a word takes as long as four that are next to each other. */
static void add_bytes(void *user, expr e)
{
	enum { APART = 16 };
	struct reads *r = user;
	const struct ir_stage *s = r->s;
	if (e->op != IR_LOAD)
		return;
	double size = type_info(e->type)->bits / 8.0;
	int out = last_long_axis(s->out->dim, s->out->rank),
	    summed = s->out->rank + last_long_axis(s->space, s->space_rank);
	for (int lanes = 0; lanes < 2; lanes++) {
		bool apart = r->reduces && is_apart(r, e, lanes ? summed : out);
		r->u->bytes[lanes] += r->points * (apart ? fmax(APART, size) : size);
	}
}

static void add_iteration(struct iteration *u, const struct ir_stage *loop, double times)
{
	vec_each (c, &loop->loop->carries) {
		double n = local_count(u, c->state->rank, c->state->dim);
		u->widest = n > u->widest ? n : u->widest;
	}
	vec_each (ps, &loop->loop->body) {
		const struct ir_stage *s = *ps;
		if (s->kind == IR_LOOP) {
			add_iteration(u, s, times * (double)about(s->loop->trip, u->t));
			continue;
		}
		double points = points_of(u, s), outs = local_count(u, s->out->rank, s->out->dim);
		bool reduces = s->kind == IR_REDUCE && about(reduced_count(u->p, s), u->t) >= WARP;
		struct reads r = { u, s, reduces, points * times };
		u->reduces |= reduces;
		outs *= reduces ? WARP : 1;
		u->widest = outs > u->widest ? outs : u->widest;
		u->work += points * times * ir_cost(s->value);
		u->stages += times;
		ir_walk(s->value, add_bytes, &r);
	}
}

static struct iteration iteration_of(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t)
{
	struct iteration u = { .p = p, .t = t, .lead = loop_lead(s), .widest = 1 };
	add_iteration(&u, s, 1);
	return u;
}

static double rows_of(const struct iteration *u, const struct ir_stage *s)
{
	const struct ir_buffer *any = ir_stage_made(s, 0);
	double n = 1;
	for (int k = 0; k < u->lead; k++)
		n *= (double)about(any->dim[k + !s->loop->carries.n], u->t);
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { SYNC_NS = 40, SHARED_NS = 60, GLOBAL_NS = 500 };
	struct iteration u = iteration_of(site->p, s, t);
	double threads = c->param[0], rows_a_block = c->param[3], trip = (double)about(s->loop->trip, t);
	double blocks = ceil(rows_of(&u, s) / rows_a_block), waves = ceil(blocks / (t->processors * 2.0));
	/* Measured on an H100: a multiprocessor reads about 50 bytes per clock from the caches if many threads wait for
	 * them. */
	const double BYTES_PER_NS = 100;
	double filled = u.widest * rows_a_block, busy = filled / ceil(filled / threads);
	double time = u.bytes[c->param[1] > 1] * rows_a_block / BYTES_PER_NS / (busy < 1024 ? sqrt(busy / 1024) : 1);
	double work = u.work * rows_a_block / busy * 2;
	time = work > time ? work : time;
	time += u.stages * (SYNC_NS + threads / 16 + (c->param[2] ? SHARED_NS : 0));
	if (u.reduces && c->param[1] > 1)
		time += u.stages * 20;
	/* Sums in a turn of one block: ten recurrences took 1.6 to 5 times as long as the above on an H100. */
	time *= u.reduces ? 2.7 : 1;
	time = cost_wait(t, time) + (c->param[2] ? 0 : u.stages * GLOBAL_NS);
	return t->launch_ns + trip * time * waves;
}

/* ---- The rule. */

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	static const int sizes[] = { 256, 1024, 64 };
	struct iteration u = iteration_of(p, s, t);
	int n = 0;
	for (int i = 0; i < 3; i++)
		for (int lanes = u.reduces ? WARP : 1; lanes; lanes /= WARP)
			for (int shared = 1; shared >= 0; shared--) {
				double rows = u.lead ? floor(sizes[i] / u.widest) : 1, all = rows_of(&u, s);
				rows = rows < 1 ? 1 : rows > all ? all : rows;
				out[n++] = (struct sched_choice){ &sched_loop_block,
					                          { sizes[i], lanes, shared, (int)rows } };
			}
	return n;
}

void loop_block_add(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	const struct loop_plan *l = loop_plan_new(p, s, c);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	k->threads = l->threads;
	k->blocks = ceil_div(p, l->rows, l->rows_a_block);
	for (int id = 0; id < p->buffers.n; id++)
		if (l->shared[id])
			vec_push(p->arena, &k->shared, (const struct ir_buffer *)l->shared[id]);
	loop_emit(l, k, &k->body, false);
	loop_emit(l, k, &k->serial, true);
	kernel_finish(plan, step, k, s);
}

struct sched_choice loop_block_usual(struct ir_program *p, const struct ir_stage *s)
{
	struct sched_choice choice[SCHED_RULE_CHOICES];
	const struct sched_site site = { p, s, sched_common_target(), s };
	int n = candidates(&site, choice), best = 0;
	for (int i = 1; i < n; i++)
		if (estimate(&site, &choice[i]) < estimate(&site, &choice[best]))
			best = i;
	return choice[best];
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	loop_block_add(plan, step_new(plan), site->s, c);
}

const struct sched_rule sched_loop_block = {
	.name = "loop_block",
	.version = 1,
	.about = "A block runs the whole loop for its rows. Its threads share the elements of every stage, "
	         "with a barrier where a stage reads what other threads computed.",
	.param = { { "threads", 64, 1024 }, { "lanes", 1, 32 }, { "shared", 0, 1 }, { "rows", 1, 1024 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
