/* Contractions of integers less zero points, of which a kernel sums the products alone: the sum of (a - p) (b - q) is
 * the sum of a b, less q times the sum of a, less p times the sum of b, plus p q for each product. Kernels before it
 * sum up the operands, and its epilogue subtracts these shares. (contract_store.c does the same where the kernel itself
 * sums up the operands.) See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

struct moved {
	int n, rank, axis[2 * IR_MAX_RANK]; /* the operand's axes: the result's, then the reduced ones */
	expr extent[2 * IR_MAX_RANK];
};

static expr move_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct moved *m = user;
	(void)arg;
	for (int i = 0; i < m->n; i++)
		if (e->op == IR_AXIS && e->i == m->axis[i])
			return ir_axis(pool, i, m->extent[i]);
	return NULL;
}

/* Its axes of the result, and all reduced ones: an element counts once for each product that it is in. */
static struct moved axes_of(const struct contract *c, const struct contract_operand *o)
{
	struct moved m = { .n = 0 };
	bool used[2 * IR_MAX_RANK] = { false };
	int rank = c->s->out->rank;
	ir_mark_axes(o->value, used);
	for (int k = 0; k < rank + c->s->space_rank; k++)
		if (used[k] || k >= rank) {
			m.axis[m.n] = k;
			m.extent[m.n++] = k < rank ? c->s->out->dim[k] : c->s->space[k - rank];
			m.rank += k < rank;
		}
	return m;
}

static struct ir_stage sum_of(const struct contract *c, const struct contract_operand *o, struct ir_buffer *out)
{
	struct moved m = axes_of(c, o);
	struct ir_stage s = { .kind = IR_REDUCE, .combine = IR_SUM, .out = out, .space_rank = m.n - m.rank };
	for (int i = m.rank; i < m.n; i++)
		s.space[i - m.rank] = m.extent[i];
	s.value = ir_cast(ir_copy(c->p->pool, o->value, move_axis, &m), TYPE_I32);
	return s;
}

static expr load_of(const struct contract *c, const struct contract_operand *o, struct ir_buffer *sums)
{
	struct moved m = axes_of(c, o);
	expr at[IR_MAX_RANK];
	for (int i = 0; i < m.rank; i++)
		at[i] = ir_axis(c->p->pool, m.axis[i], m.extent[i]);
	return ir_load(c->p->pool, sums, at);
}

bool contract_find_sums(const struct contract *c, struct contract_sums *sums)
{
	if (c->s != c->whole || c->parts || c->plain || (!c->side[0].zero && !c->side[1].zero))
		return false;
	for (int side = 0; side < 2; side++) {
		const struct contract_operand *o = &c->side[side];
		struct ir_buffer *b = NEW(c->p->arena, struct ir_buffer);
		struct moved m = axes_of(c, o);
		expr load = contract_load_of(o);
		if (contract_condition_of(o) && !ir_is_int(o->value->arg[2], 0))
			return false; /* padding would have to be loaded as the zero point */
		if (!c->side[!side].zero)
			continue;
		*b = (struct ir_buffer){ .name = load ? load->buf->name : c->whole->out->name,
			                 .type = TYPE_I32,
			                 .rank = m.rank,
			                 .role = IR_TEMP };
		for (int i = 0; i < m.rank; i++)
			b->dim[i] = m.extent[i];
		sums->has[side] = true;
		sums->stage[side] = sum_of(c, o, b);
	}
	return true;
}

/* The products' sum less the shares of the zero points, over axes of `plain`. */
static expr less_zeros(const struct contract *plain, const struct contract_sums *sums, expr sum)
{
	expr zero[2] = { plain->side[0].zero, plain->side[1].zero };
	for (int side = 0; side < 2; side++)
		if (zero[!side]) {
			expr own = load_of(plain, &plain->side[side], sums->stage[side].out);
			sum = ir_binary(IR_SUB, sum, ir_binary(IR_MUL, zero[!side], own));
		}
	if (zero[0] && zero[1]) {
		expr both = ir_binary(IR_MUL, zero[0], zero[1]);
		sum = ir_binary(IR_ADD, sum, ir_binary(IR_MUL, both, ir_cast(plain->depth, TYPE_I32)));
	}
	return sum;
}

/* The differences of elements and zero points, and these elements. */
struct differences {
	const struct contract *of;
	expr what[2], with[2];
	int n;
};

static void find_difference(void *user, expr e)
{
	struct differences *d = user;
	int64_t x, zero;
	if (e->type != TYPE_I32 || (e->op != IR_SUB && e->op != IR_ADD))
		return;
	for (int side = 0; side < 2; side++) {
		expr z = d->of->side[side].zero;
		bool added =
		        z && e->op == IR_ADD && ir_const_int(z, &zero) && ir_const_int(e->arg[1], &x) && x == -zero;
		if (d->n < 2 && z && ((e->op == IR_SUB && e->arg[1] == z) || added)) {
			d->what[d->n] = e;
			d->with[d->n++] = e->arg[0];
			return;
		}
	}
}

/* A copy of the stage that sums the products of the elements alone. */
static struct ir_stage *of_elements(const struct contract *plain, const struct ir_stage *s)
{
	struct ir_stage *made = NEW(plain->p->arena, struct ir_stage);
	struct differences d = { .of = plain };
	ir_walk(s->value, find_difference, &d);
	*made = *s;
	made->value = substitute(&(struct substitution){ d.what, d.with, d.n }, s->value);
	return made;
}

void contract_take_apart(struct contract *c, const struct contract *plain, const struct contract_sums *sums)
{
	const struct ir_stage *whole = plain->whole;
	struct ir_stage *s = of_elements(plain, whole);
	const expr sum = ir_acc(c->p->pool, whole->value->type), less = less_zeros(plain, sums, sum);
	const struct substitution in_sum = { &sum, &less, 1 };
	s->post = whole->post ? substitute(&in_sum, whole->post) : ir_cast(less, whole->out->type);
	for (int side = 0; side < 2; side++)
		c->side[side].zero = NULL;
	c->s = c->s == whole ? s : of_elements(plain, c->s);
	c->whole = c->made[0] = s;
}

/* The fastest way to sum up an operand, by the estimate; *ns is its time. */
static struct sched_choice best_sum(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                                    double *ns)
{
	const struct sched_rule *const rule[] = { sched_rule_of_sums, sched_rule_of_columns, sched_rule_of_row_sums,
		                                  sched_rule_of_rows };
	return rule_fastest(rule, sizeof rule / sizeof *rule, p, s, t, ns);
}

/* The fastest way to sum up an operand from its tensor, or from the copy that the products read; *copy: that stage. */
static struct sched_choice best_source(const struct contract_sums *sums, int side, const struct contract *copied,
                                       const struct sched_target *t, struct ir_stage *copy, double *ns)
{
	struct ir_program *p = copied->p;
	const struct contract_operand *o = &copied->side[side];
	double of_copy;
	struct sched_choice best = best_sum(p, &sums->stage[side], t, ns), other;
	*copy = sums->stage[side];
	if (o->computed)
		return best;
	*copy = sum_of(copied, o, sums->stage[side].out);
	other = copy->value == sums->stage[side].value ? (struct sched_choice){ 0 } : best_sum(p, copy, t, &of_copy);
	if (!other.rule || of_copy >= *ns) {
		*copy = sums->stage[side];
		return best;
	}
	*ns = of_copy;
	return other;
}

double contract_sums_time(const struct contract_sums *sums, const struct contract *copied, const struct sched_target *t)
{
	double time = 0, ns;
	struct ir_stage from;
	for (int side = 0; side < 2; side++)
		if (sums->has[side]) {
			best_source(sums, side, copied, t, &from, &ns);
			time += ns;
		}
	return time;
}

void contract_make_sums(struct ir_program *p, struct contract_sums *sums)
{
	for (int side = 0; side < 2; side++) {
		if (!sums->has[side])
			continue;
		const struct ir_buffer *b = sums->stage[side].out;
		const char *name = arena_printf(p->arena, "%s_sums", b->name);
		sums->stage[side].out = ir_buffer_new(p, name, b->type, b->rank, b->dim, IR_TEMP);
	}
}

void contract_apply_sums(struct ir_plan *plan, const struct contract_sums *sums, const struct contract *copied,
                         const struct sched_choice *choice, const struct sched_target *t)
{
	struct ir_program *p = plan->program;
	for (int side = 0; side < 2; side++) {
		struct ir_stage *s = NEW(p->arena, struct ir_stage);
		double ns;
		if (!sums->has[side])
			continue;
		const struct sched_choice how = best_source(sums, side, copied, t, s, &ns);
		int steps = plan->steps.n;
		apply_choice(plan, s, &how, t);
		decided_by(plan, steps, choice, "sums for the zero points");
	}
}
