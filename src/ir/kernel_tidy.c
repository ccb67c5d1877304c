/* Makes kernels as a person would write them: no loop of one turn, no branch that never runs, one branch for neighbours
 * with the same condition. Rules emit the general form, and need not look for such cases. */
#include "ir/kernel.h"

#include <string.h>

struct tidy {
	struct ir_pool *pool;
	struct arena *arena; /* of the kernel */
	struct map times;    /* variables by address -> the number of statements that declare them, as struct count */
	struct map is_now;   /* variables by address -> the expression that replaces them */
	struct {
		VEC(const struct ir_declare *);
	} visible; /* constants of the enclosing scopes */
};

struct count {
	int declared;
	bool varies; /* a statement changes it */
};

/* ---- What the kernel declares. */

static struct count *count_of(struct tidy *t, const struct ir_variable *v)
{
	struct count *c = map_get_u64(&t->times, (uintptr_t)v);
	if (!c) {
		c = NEW(t->times.arena, struct count);
		map_put_u64(&t->times, (uintptr_t)v, c);
	}
	return c;
}

static void count_block(struct tidy *t, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		const struct ir_variable *v = ir_stmt_declares(s);
		if (v) {
			struct count *c = count_of(t, v);
			c->declared++;
			c->varies |= s->kind != IR_FOR && (s->kind != IR_DECLARE || s->declare.mutable);
		}
		if (ir_stmt_body(s))
			count_block(t, ir_stmt_body(s));
	}
}

struct steady {
	struct tidy *tidy;
	bool steady;
};

static void check_steady(void *user, expr e)
{
	struct steady *x = user;
	if (e->op == IR_LOAD || e->op == IR_ELEMENT)
		x->steady = false;
	if (e->op == IR_VAR && e->var->kind == IR_OWN) {
		const struct count *c = map_get_u64(&x->tidy->times, (uintptr_t)e->var);
		x->steady &= c && c->declared && !c->varies;
	}
}

/* True if the expression has one value wherever its variables are in scope. */
static bool is_steady(struct tidy *t, expr e)
{
	struct steady x = { t, true };
	ir_walk(e, check_steady, &x);
	return x.steady;
}

/* ---- Replacing variables. */

static expr now(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const struct tidy *t = user;
	expr x = e->op == IR_VAR ? map_get_u64(&t->is_now, (uintptr_t)e->var) : NULL;
	(void)p;
	if (!x || x->op != IR_VAR || !e->n)
		return x;
	return ir_var_multiple(x->var, e->n ? arg[0] : NULL, e->n == 2 ? e->arg[1]->i : 1);
}

static void replace(struct tidy *t, expr *e)
{
	if (*e)
		*e = ir_copy(t->pool, *e, now, t);
}

static struct ir_call *replaced_call(struct tidy *t, const struct ir_call *old)
{
	struct ir_call *c = NEW(t->arena, struct ir_call);
	*c = *old;
	c->args.at = NULL;
	c->args.n = c->args.cap = 0;
	vec_each (arg, &old->args) {
		struct ir_arg a = *arg;
		replace(t, &a.value);
		replace(t, &a.at);
		for (int i = 0; i < a.indices; i++)
			replace(t, &a.index[i]);
		if (a.call)
			a.call = replaced_call(t, a.call);
		vec_push(t->arena, &c->args, a);
	}
	return c;
}

/* Replaces variables in the statement's expressions. */
static void replace_in(struct tidy *t, struct ir_stmt *s)
{
	expr *own[IR_STMT_EXPRS];
	int n = ir_stmt_exprs(s, own);
	for (int i = 0; i < n; i++)
		replace(t, own[i]);
	if (s->kind == IR_INVOKE)
		s->call = replaced_call(t, s->call);
	if (s->kind == IR_LAMBDA && s->lambda.through)
		s->lambda.through = replaced_call(t, s->lambda.through);
}

/* ---- Statements. */

/* True if a statement of the block leaves the loop around it. */
static bool breaks(const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++)
		if (b->at[i].kind == IR_BREAK_IF || (b->at[i].kind == IR_IF && breaks(b->at[i].branch.body)))
			return true;
	return false;
}

/* The number of turns, at most 2; or 2 if it is not known. */
static int turns(const struct ir_for *f)
{
	int64_t from, to, step;
	if (!ir_const_int(f->from, &from) || !ir_const_int(f->to, &to) || !ir_const_int(f->step, &step) || step < 1)
		return 2;
	return from >= to ? 0 : to - from <= step ? 1 : 2;
}

/* The variable that a statement declares for the statements after it; or null. */
static const struct ir_variable *declared_here(const struct ir_stmt *s)
{
	return s->kind == IR_FOR || s->kind == IR_SORT_SERIAL ? NULL : ir_stmt_declares(s);
}

/* True if statements of the block can follow others: what they declare is declared nowhere else, or is a constant, for
 * which there can be another variable. */
static bool can_join(struct tidy *t, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		const struct ir_variable *v = declared_here(s);
		bool constant = s->kind == IR_DECLARE && !s->declare.mutable;
		if (v && !constant && count_of(t, v)->declared > 1)
			return false;
	}
	return true;
}

static void tidy_block(struct tidy *t, const struct ir_block *b, bool joins, struct ir_block *out);

static struct ir_block *tidied(struct tidy *t, const struct ir_block *b)
{
	struct ir_block *out = NEW(t->arena, struct ir_block);
	int visible = t->visible.n;
	tidy_block(t, b, false, out);
	t->visible.n = visible;
	return out;
}

/* Takes over the declaration of a constant. False if it needs none, because a constant of this name in scope has its
 * value. One that joins the statements around it, and is declared elsewhere, too, becomes another variable, or one of
 * any name that has its value. */
static bool take_constant(struct tidy *t, struct ir_declare *d, bool joins)
{
	const struct ir_variable *own = d->var;
	bool several = joins && count_of(t, own)->declared > 1, steady = is_steady(t, d->value);
	if (joins && steady && (d->value->op == IR_VAR || d->value->op == IR_CONST_INT)) {
		map_put_u64(&t->is_now, (uintptr_t)own, d->value);
		return false;
	}
	if (steady)
		vec_each (have, &t->visible)
			if ((*have)->value == d->value && (*have)->var->type == own->type &&
			    (several || !strcmp((*have)->var->hint, own->hint))) {
				map_put_u64(&t->is_now, (uintptr_t)own, ir_var_of((*have)->var, NULL));
				return false;
			}
	if (several) {
		d->var = ir_variable_new(t->pool, own->type, "%s", own->hint);
		*count_of(t, d->var) = (struct count){ 1, false };
		map_put_u64(&t->is_now, (uintptr_t)own, ir_var_of(d->var, NULL));
	} else {
		map_put_u64(&t->is_now, (uintptr_t)own, NULL);
	}
	if (steady) {
		struct ir_declare *kept = NEW(t->arena, struct ir_declare);
		*kept = *d;
		vec_push(t->arena, &t->visible, (const struct ir_declare *)kept);
	}
	return true;
}

static bool declares(const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++)
		if (declared_here(&b->at[i]))
			return true;
	return false;
}

static void append(struct tidy *t, struct ir_block *out, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++)
		vec_push(t->arena, out, b->at[i]);
}

/* Adds a branch; to the one before it if that has the same condition, and without a scope if it has no condition. */
static void add_branch(struct tidy *t, const struct ir_stmt *s, struct ir_block *out)
{
	struct ir_stmt *last = out->n ? &out->at[out->n - 1] : NULL;
	bool same = last && last->kind == IR_IF && last->branch.condition == s->branch.condition;
	if (!declares(s->branch.body) && ir_is_int(s->branch.condition, 1))
		append(t, out, s->branch.body);
	else if (!declares(s->branch.body) && same && is_steady(t, s->branch.condition))
		append(t, last->branch.body, s->branch.body);
	else
		vec_push(t->arena, out, *s);
}

/* Adds a load or store of one element, which needs no vector. */
static void add_element(struct tidy *t, const struct ir_vector *v, bool loads, struct ir_block *out)
{
	const expr index[] = { v->row, ir_index(t->pool, 0) }, *own = v->row ? index : index + 1;
	if (loads && !v->stands)
		vec_push(t->arena, out, ((struct ir_stmt){ .kind = IR_ARRAY, .array = { v->array } }));
	if (loads)
		vec_push(t->arena, out,
		         ((struct ir_stmt){ .kind = IR_SET,
		                            .set = { .array = v->array,
		                                     .row = v->row,
		                                     .at = index[1],
		                                     .value = ir_load(t->pool, v->buf, &v->at) } }));
	else
		vec_push(
		        t->arena, out,
		        ((struct ir_stmt){ .kind = IR_STORE,
		                           .store = { v->buf, v->at, ir_element_of(v->array, v->row ? 2 : 1, own) } }));
}

static bool is_element(const struct ir_vector *v)
{
	return v->width == 1 && !v->once && !v->where && !type_is_packed(v->buf->type) &&
	       v->array->rank == (v->row ? 2 : 1) && v->array->type == v->buf->type;
}

static void add_loop(struct tidy *t, struct ir_stmt s, struct ir_block *out)
{
	int n = turns(&s.loop);
	if (n == 0)
		return;
	if (n > 1 || breaks(s.loop.body)) {
		map_put_u64(&t->is_now, (uintptr_t)s.loop.var, NULL);
		s.loop.body = tidied(t, s.loop.body);
		vec_push(t->arena, out, s);
		return;
	}
	map_put_u64(&t->is_now, (uintptr_t)s.loop.var, s.loop.from);
	if (can_join(t, s.loop.body)) {
		tidy_block(t, s.loop.body, true, out);
		return;
	}
	struct ir_block *body = tidied(t, s.loop.body);
	vec_push(t->arena, out, ((struct ir_stmt){ .kind = IR_IF, .branch = { ir_int(t->pool, TYPE_BOOL, 1), body } }));
}

/* Moves an array's declaration past those of variables, down to the statement that first sets it. */
static void move_array(struct ir_block *b)
{
	const struct ir_stmt last = b->at[b->n - 1];
	int i = b->n - 2;
	while (i >= 0 && b->at[i].kind == IR_DECLARE)
		i--;
	if (last.kind != IR_SET || i < 0 || b->at[i].kind != IR_ARRAY || b->at[i].array.var != last.set.array)
		return;
	const struct ir_stmt array = b->at[i];
	for (; i < b->n - 2; i++)
		b->at[i] = b->at[i + 1];
	b->at[i] = array;
}

/* Adds the statements of b, with what replaces variables in them. joins: these are among the statements of another
 * block, which may declare the same constants. */
static void tidy_block(struct tidy *t, const struct ir_block *b, bool joins, struct ir_block *out)
{
	for (int i = 0; i < b->n; i++) {
		struct ir_stmt s = b->at[i];
		replace_in(t, &s);
		if (s.kind == IR_IF && ir_is_int(s.branch.condition, 0))
			continue;
		if (s.kind == IR_DECLARE && !s.declare.mutable && !take_constant(t, &s.declare, joins))
			continue;
		if (s.kind == IR_IF) {
			s.branch.body = tidied(t, s.branch.body);
			add_branch(t, &s, out);
		} else if (s.kind == IR_FOR) {
			add_loop(t, s, out);
		} else if ((s.kind == IR_LOAD_VECTOR || s.kind == IR_STORE_VECTOR) && is_element(&s.vector)) {
			add_element(t, &s.vector, s.kind == IR_LOAD_VECTOR, out);
		} else {
			if (s.kind == IR_LAMBDA)
				s.lambda.body = tidied(t, s.lambda.body);
			if (s.kind == IR_SORT_SERIAL)
				s.sort.body = tidied(t, s.sort.body);
			vec_push(t->arena, out, s);
		}
		if (out->n > 1)
			move_array(out);
	}
}

/* ---- Positions that nothing uses any more. */

static void note_variable(void *user, expr e)
{
	if (e->op == IR_VAR || e->op == IR_ELEMENT)
		map_put_u64(user, (uintptr_t)e->var, e);
}

static void note_argument(void *user, const struct ir_arg *a)
{
	if (a->var)
		map_put_u64(user, (uintptr_t)a->var, a);
}

static bool is_position(const struct ir_stmt *s)
{
	return s->kind == IR_DECLARE && !s->declare.mutable && s->declare.var->kind == IR_OWN &&
	       s->declare.var->type == TYPE_INDEX;
}

/* Removes the constant positions of a block that nothing after them uses. `used`: by the end of the statement that has
 * the block, such as a lambda's value. Returns the variables that the block takes from those around it: loops may
 * declare the same one, each for itself. */
static struct map remove_unused(struct ir_block *b, struct map used)
{
	int kept = b->n;
	for (int i = b->n - 1; i >= 0; i--) {
		const struct ir_stmt *s = &b->at[i];
		if (is_position(s)) {
			if (!map_get_u64(&used, (uintptr_t)s->declare.var))
				continue;
			map_put_u64(&used, (uintptr_t)s->declare.var, NULL);
		}
		struct map inner = map_new(used.arena);
		ir_stmt_walk(s, note_variable, &inner);
		if (ir_stmt_call(s))
			ir_call_each(ir_stmt_call(s), note_argument, &inner);
		if (ir_stmt_body(s))
			inner = remove_unused(ir_stmt_body(s), inner);
		for (int k = 0; k < inner.n; k++)
			if (inner.entry[k].value)
				map_put_u64(&used, inner.entry[k].key, inner.entry[k].value);
		b->at[--kept] = *s;
	}
	b->n -= kept;
	if (kept)
		memmove(b->at, b->at + kept, sizeof *b->at * (size_t)b->n);
	return used;
}

void ir_kernel_tidy(const struct ir_program *p, struct ir_kernel *k)
{
	struct arena *scratch = arena_new();
	struct ir_block *const bodies[] = { &k->body, &k->serial };
	for (int i = 0; i < 2; i++) {
		struct tidy t = {
			.pool = p->pool, .arena = p->arena, .times = map_new(scratch), .is_now = map_new(scratch)
		};
		bool given = bodies[i]->n > 0;
		count_block(&t, bodies[i]);
		*bodies[i] = *tidied(&t, bodies[i]);
		remove_unused(bodies[i], map_new(scratch));
		if (given && !bodies[i]->n) /* an empty serial twin would mean that there is none */
			vec_push(p->arena, bodies[i], ((struct ir_stmt){ IR_COMMENT, .comment = "nothing to do" }));
	}
	arena_free(scratch);
}
