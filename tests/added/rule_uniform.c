/* Rule uniform: a map whose elements all have the same value, such as one filled by a function of a scalar. A thread
 * computes the value once and stores it to `turns` elements. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

enum { THREADS = 256 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_MAP && !type_is_packed(s->out->type) && !ir_uses(s->value, IR_AXIS))
		return s;
	*why = "the stage is not a map whose elements are all the same";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	for (int i = 0; i < 3; i++)
		out[i] = (struct sched_choice){ &sched_uniform, { 16 >> i } };
	return 3;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	double elements = (double)about(out_count(site->p, s), t), threads = elements / c->param[0];
	double fill = threads / cost_full_threads(t); /* few threads do not reach full bandwidth */
	double moving = elements * type_info(s->out->type)->bits / 8 / t->bytes_per_ns / (fill < 1 ? fill : 1);
	double issuing = (threads * ir_cost(s->value) + elements) / cost_mixed_rate(t);
	return t->launch_ns + (moving > issuing ? moving : issuing);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = site->p;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "_uniform", c);
	expr count = out_count(p, s), stride = ir_index(p->pool, THREADS), element;
	expr each = ir_index(p->pool, THREADS * c->param[0]);
	k->threads = THREADS;
	k->blocks = ceil_div(p, count, THREADS * c->param[0]);
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), each);
	expr end = emit_declare(p, &k->body, "end", ir_binary(IR_MIN, ir_binary(IR_ADD, first, each), count), NULL);
	expr value = emit_constant(p, &k->body, "value", to_kernel(p, s->value, &(struct axes){ 0 }), NULL);
	struct ir_block *b = emit_loop(p, &k->body, "element", ir_binary(IR_ADD, first, ir_thread(p->pool, stride)),
	                               end, stride, count, &element);
	emit_store(p, b, s->out, element, value);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_uniform = {
	.name = "uniform",
	.version = 1,
	.about = "A thread computes the value once, and stores it into {turns} elements.",
	.param = { { "turns", 4, 16 } },
	.match = match,
	.candidates = candidates,
	.estimate = estimate,
	.apply = apply,
};
