/* Lower bounds of a program's time on a device: memory traffic, arithmetic, or kernel launches. See tune.h. */
#include "ir/launch.h"
#include "sched/sched.h"
#include "tune/tune.h"

struct counted {
	const struct ir_program *p;
	const struct tensor *const *inputs;
	double operations; /* per point */
	int widest;        /* bits of the widest input */
};

static double number(const struct counted *c, expr e)
{
	struct ir_inputs in = { c->p, c->inputs };
	int64_t n;
	return ir_eval_int(ir_size_limit(c->p, e), ir_inputs_symbol, &in, &n) ? (double)n : 1;
}

static void count_node(void *user, expr e)
{
	struct counted *c = user;
	if (e->op == IR_LOAD && type_info(e->type)->bits > c->widest)
		c->widest = type_info(e->type)->bits;
	if (e->n == 0 || e->op == IR_LOAD || e->op == IR_AXIS || e->op == IR_CAST || e->type == TYPE_INDEX)
		return;
	c->operations += ir_op_info[e->op].kind == IR_CALL && e->op > IR_ROUND_EVEN ? 8 : 1;
}

/* True for a sum of products of 16-bit or narrower elements, which tensor cores compute. */
static bool is_product(const struct ir_stage *s, int widest)
{
	return ir_sums_products(s) && widest <= 16 && ir_uses(s->value->arg[0], IR_LOAD) &&
	       ir_uses(s->value->arg[1], IR_LOAD);
}

static void add_stage(struct counted *c, const struct ir_stage *s, double times, double *one_by_one, double *products)
{
	if (s->loop) {
		vec_each (b, &s->loop->body)
			add_stage(c, *b, times * number(c, s->loop->trip), one_by_one, products);
		return;
	}
	double points = times;
	for (int k = 0; k < s->out->rank; k++)
		points *= number(c, s->out->dim[k]);
	c->operations = c->widest = 0;
	if (s->post) {
		ir_walk(s->post, count_node, c);
		*one_by_one += points * c->operations;
	}
	for (int k = 0; k < s->space_rank && s->kind == IR_REDUCE; k++)
		points *= number(c, s->space[k]);
	c->operations = c->widest = 0;
	ir_walk(s->value, count_node, c);
	if (is_product(s, c->widest))
		*products += points;
	else /* a product and its sum count as one operation */
		*one_by_one += points * (c->operations + (s->kind == IR_REDUCE && s->value->op != IR_MUL));
}

struct tune_roofline tune_roofline(const struct ir_program *p, const struct tensor *const *inputs,
                                   const struct dev_props *d, const struct sched_target *t, double bytes,
                                   double bytes_per_ns, int kernels)
{
	struct counted c = { .p = p, .inputs = inputs };
	struct tune_roofline out = { .bound = "memory" };
	double one_by_one = 0, products = 0, clocks_per_ns = d->clock_khz / 1e6 * d->sms;
	vec_each (s, &p->stages)
		add_stage(&c, *s, 1, &one_by_one, &products);
	out.operations = one_by_one + products;
	out.memory_ns = bytes_per_ns > 0 ? bytes / bytes_per_ns : 0;
	if (d->arch == 0) /* a processor's rates are unknown */
		return out;
	if (clocks_per_ns > 0)
		out.arithmetic_ns = (one_by_one / t->fma[TYPE_F32] + products / target_products(t)) / clocks_per_ns;
	out.launch_ns = kernels * t->launch_ns;
	if (out.arithmetic_ns > out.memory_ns)
		out.bound = "arithmetic";
	if (out.launch_ns > out.memory_ns && out.launch_ns > out.arithmetic_ns)
		out.bound = "launch";
	return out;
}
