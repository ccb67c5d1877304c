/* Operators' demands on extents: kept with a program, simplified, and used to unify symbols. See ir.h. */
#include "ir/pool.h"

#include <string.h>

expr ir_demand_holds(const struct ir_demand *d)
{
	expr a = d->extent[0], b = d->extent[1], one = ir_index(a->pool, 1), same = ir_binary(IR_EQ, a, b);
	if (d->relation == IR_AT_MOST)
		return ir_binary(IR_LE, a, b);
	if (d->relation != IR_SAME)
		same = ir_binary(IR_OR, same, ir_binary(IR_EQ, a, one));
	return d->relation == IR_BROADCAST ? ir_binary(IR_OR, same, ir_binary(IR_EQ, b, one)) : same;
}

const char *ir_demand_name(const struct ir_demand *d, int which, struct arena *a)
{
	if (!d->tensor[which])
		return NULL;
	return d->axis[which] < 0 ? d->tensor[which]
	                          : arena_printf(a, "extent %d of %s", d->axis[which], d->tensor[which]);
}

const char *ir_demand_rule(const struct ir_demand *d)
{
	if (!d->tensor[0])
		return d->relation == IR_AT_MOST ? "it must be at least" : "it must be";
	switch (d->relation) {
	case IR_BROADCAST: return "they must be equal, or one of them 1";
	case IR_ONE_OR: return "the first must be 1 or equal to the second";
	case IR_AT_MOST: return "the first must not be larger than the second";
	default: return "they must be equal";
	}
}

const char *ir_demand_text(const struct ir_demand *d, const char *first, const char *second, struct arena *a)
{
	const char *name = ir_demand_name(d, 0, a), *other = ir_demand_name(d, 1, a), *rule = ir_demand_rule(d);
	if (!name)
		return arena_printf(a, "%s is %s; %s %s", other, second, rule, first);
	return arena_printf(a, "%s is %s and %s is %s; %s", name, first, other, second, rule);
}

int ir_demand_check(const struct ir_program *p, const struct ir_demand *d, ir_symbol_fn symbol, void *user,
                    struct arena *a, struct err *e)
{
	int64_t holds, number;
	const char *text[2];
	if (!ir_eval_int(ir_demand_holds(d), symbol, user, &holds) || holds)
		return 0;
	for (int k = 0; k < 2; k++)
		text[k] = ir_eval_int(d->extent[k], symbol, user, &number) ? arena_printf(a, "%lld", (long long)number)
		                                                           : "?";
	return err_set(e, ERR_MODEL, "Program %s: node %s: %s.", p->name, d->node,
	               ir_demand_text(d, text[0], text[1], a));
}

expr ir_extent_choice(expr a, expr b)
{
	bool number_a = a->op == IR_CONST_INT, number_b = b->op == IR_CONST_INT, first = a->size <= b->size;
	return (number_a != number_b ? number_a : first) ? a : b;
}

bool ir_demand_of_limits(struct ir_program *p, const struct ir_demand *d, struct ir_demand *limits)
{
	expr a = ir_size_limit(p, d->extent[0]), b = ir_size_limit(p, d->extent[1]);
	bool turned = d->relation == IR_SAME && ir_extent_choice(d->extent[0], d->extent[1]) == d->extent[1];
	if (a == d->extent[0] && b == d->extent[1])
		return false;
	*limits = *d;
	if (d->relation == IR_SAME)
		limits->relation = IR_AT_MOST; /* the other is read over the chosen extent */
	for (int k = 0; k < 2; k++) {
		int from = turned ? !k : k;
		limits->extent[k] = from ? b : a;
		limits->axis[k] = -1;
		const char *name = ir_demand_name(d, from, p->arena);
		limits->tensor[k] = name ? arena_printf(p->arena, "the most that %s can be", name) : NULL;
	}
	return true;
}

static bool same_demand(const struct ir_demand *a, const struct ir_demand *b)
{
	bool turned = (a->relation == IR_SAME || a->relation == IR_BROADCAST) && a->extent[0] == b->extent[1] &&
	              a->extent[1] == b->extent[0];
	return a->relation == b->relation && (turned || (a->extent[0] == b->extent[0] && a->extent[1] == b->extent[1]));
}

bool ir_demand_add(struct ir_program *p, const struct ir_demand *d)
{
	expr holds = ir_demand_holds(d);
	if (holds->op == IR_CONST_INT)
		return holds->i != 0;
	vec_each (x, &p->demands)
		if (same_demand(x, d))
			return true;
	vec_push(p->arena, &p->demands, *d);
	return true;
}

/* ---- Substitution. */

struct substitution {
	struct ir_program *p;
	expr symbol, to;
	struct map done; /* by id */
};

static expr put_symbol(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct substitution *x = user;
	(void)pool;
	(void)arg;
	return e == x->symbol ? x->to : NULL;
}

static expr put_in(struct substitution *x, expr e)
{
	expr known = e ? map_get_u64(&x->done, e->id) : NULL;
	if (e && !known) {
		known = ir_copy(x->p->pool, e, put_symbol, x);
		map_put_u64(&x->done, e->id, known);
	}
	return known;
}

static void put_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	*slot = put_in(user, *slot);
}

/* Substitutes in spaces and loops, also nested ones; the outermost stage's expressions include theirs. */
static void put_extents(struct substitution *x, struct ir_stage *s)
{
	for (int k = 0; k < s->space_rank; k++)
		s->space[k] = put_in(x, s->space[k]);
	if (!s->loop)
		return;
	s->loop->trip = put_in(x, s->loop->trip);
	s->loop->index = put_in(x, s->loop->index);
	vec_each (inner, &s->loop->body)
		put_extents(x, *inner);
}

static void put_contents(struct substitution *x, struct ir_buffer *b)
{
	int64_t n = 1, extent;
	const expr *known = b->content ? b->content : b->some;
	expr *content;
	for (int k = 0; k < b->rank; k++)
		n *= ir_const_int(b->dim[k], &extent) ? extent : 0;
	content = NEWN(x->p->arena, expr, n + 1);
	for (int64_t i = 0; i < n; i++)
		content[i] = known[i] ? put_in(x, known[i]) : NULL;
	*(b->content ? &b->content : &b->some) = content;
}

/* Replaces a symbol by `to` in the whole program. */
static void substitute(struct ir_program *p, expr symbol, expr to)
{
	struct arena *scratch = arena_new();
	struct substitution x = { p, symbol, to, map_new(scratch) };
	vec_each (b, &p->buffers) {
		for (int k = 0; k < (*b)->rank; k++)
			(*b)->dim[k] = put_in(&x, (*b)->dim[k]);
		if ((*b)->content || (*b)->some)
			put_contents(&x, *b);
	}
	vec_each (s, &p->stages) {
		put_extents(&x, *s);
		ir_stage_slots(*s, put_slot, &x);
	}
	vec_each (size, &p->sizes)
		size->limit = put_in(&x, size->limit);
	vec_each (v, &p->values)
		v->known = put_in(&x, v->known);
	int n = p->demands.n;
	p->demands.n = 0;
	for (int i = 0; i < n; i++) {
		struct ir_demand d = p->demands.at[i];
		d.extent[0] = put_in(&x, d.extent[0]);
		d.extent[1] = put_in(&x, d.extent[1]);
		if (!ir_demand_add(p, &d)) /* never holds: kept, so that running the program reports it */
			vec_push(p->arena, &p->demands, d);
	}
	arena_free(scratch);
}

/* ---- Unification. */

static bool is_free(const struct ir_program *p, expr e)
{
	return e->op == IR_SYMBOL && !ir_size_find(p, e) && !ir_value_find(p, e);
}

struct mention {
	const struct ir_program *p;
	expr symbol;
	bool found;
};

/* Finds the symbol itself, or a size or value, which is unknown when inputs' extents are matched. */
static void find_mention(void *user, expr e)
{
	struct mention *m = user;
	m->found |= e == m->symbol || ir_size_find(m->p, e) || ir_value_find(m->p, e);
}

static bool can_replace(const struct ir_program *p, expr symbol, expr to)
{
	struct mention m = { p, symbol, false };
	if (!is_free(p, symbol) || to->op == IR_CONST_INT)
		return false;
	ir_walk(to, find_mention, &m);
	return !m.found;
}

/* True if `a` is the one to keep of two equal extents: an expression, or the symbol that occurs first in the inputs. */
static bool comes_before(const struct ir_program *p, expr a, expr b)
{
	int i = 0, k = 0, j = 0, n = 0;
	if (a->op != IR_SYMBOL || b->op != IR_SYMBOL)
		return a->op != IR_SYMBOL;
	return ir_symbol_source(p, a, &i, &k) && (!ir_symbol_source(p, b, &j, &n) || i < j || (i == j && k < n));
}

static bool unify_one(struct ir_program *p)
{
	vec_each (d, &p->demands) {
		bool first = comes_before(p, d->extent[0], d->extent[1]);
		expr stays = d->extent[!first], goes = d->extent[first];
		if (d->relation != IR_SAME)
			continue;
		if (!can_replace(p, goes, stays)) {
			expr other = goes;
			goes = stays;
			stays = other;
			if (!can_replace(p, goes, stays))
				continue;
		}
		substitute(p, goes, stays);
		return true;
	}
	return false;
}

void ir_demands_unify(struct ir_program *p)
{
	while (unify_one(p)) /* each removes a symbol */
		;
}
