/* Variables that a kernel's expressions know by their hints: each becomes the innermost one that is called so. From
 * there on all variables of a kernel are its own, and no two are the same. See finish.h. */
#include "sched/build/finish.h"

#include <string.h>

struct bind {
	struct ir_program *p;
	struct {
		VEC(const struct ir_variable *);
	} declared; /* in the blocks around, the innermost last */
};

static const struct ir_variable *bound(const struct bind *x, const struct ir_variable *v)
{
	for (int i = x->declared.n - 1; v->kind == IR_CALLED && i >= 0; i--)
		if (strcmp(x->declared.at[i]->hint, v->hint) == 0)
			return x->declared.at[i];
	return v;
}

static void find_called(void *user, expr e)
{
	*(bool *)user |= e->op == IR_VAR && e->var->kind == IR_CALLED;
}

static expr put_bound(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct bind *x = user;
	(void)pool;
	if (e->op != IR_VAR || e->var->kind != IR_CALLED)
		return NULL;
	const struct ir_variable *v = bound(x, e->var);
	ck(v->type == e->type);
	return ir_var_multiple(v, e->n ? arg[0] : NULL, e->n == 2 ? e->arg[1]->i : 1);
}

static void bind_expr(struct bind *x, expr *e)
{
	bool found = false;
	if (*e)
		ir_walk(*e, find_called, &found);
	if (found)
		*e = ir_copy(x->p->pool, *e, put_bound, x);
}

/* What a statement declares under a hint alone gets a variable. */
static void declare(struct bind *x, const struct ir_variable **v)
{
	if (!*v)
		return;
	if ((*v)->kind == IR_CALLED)
		*v = ir_variable_new(x->p->pool, (*v)->type, "%s", (*v)->hint);
	vec_push(x->p->arena, &x->declared, *v);
}

static void bind_block(struct bind *x, struct ir_block *b);

static void bind_arguments(struct bind *x, struct ir_stmt *s)
{
	if (s->kind == IR_INVOKE)
		vec_each (a, &s->call->args) {
			bind_expr(x, &a->value);
			bind_expr(x, &a->at);
			for (int i = 0; i < a->indices; i++)
				bind_expr(x, &a->index[i]);
		}
}

/* A function's parameters and its result, and a sort's places, are known inside of it alone. */
static void bind_inside(struct bind *x, struct ir_stmt *s)
{
	int outside = x->declared.n;
	if (s->kind == IR_FOR || s->kind == IR_SORT_SERIAL)
		declare(x, &s->var);
	if (s->kind == IR_SORT_SERIAL)
		declare(x, &s->var2);
	if (s->kind == IR_LAMBDA)
		vec_each (a, &s->parameters)
			declare(x, a);
	if (s->body)
		bind_block(x, s->body);
	if (s->kind == IR_SORT_SERIAL || s->kind == IR_LAMBDA)
		bind_expr(x, &s->value);
	x->declared.n = outside;
}

static void bind_stmt(struct bind *x, struct ir_stmt *s)
{
	bool inside = s->kind == IR_SORT_SERIAL || s->kind == IR_LAMBDA || s->kind == IR_FOR;
	expr *const own[] = { &s->row, &s->at, &s->from, &s->to, &s->step };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		bind_expr(x, own[i]);
	if (s->kind != IR_SORT_SERIAL && s->kind != IR_LAMBDA)
		bind_expr(x, &s->value);
	bind_arguments(x, s);
	if (s->kind == IR_ASSIGN)
		s->var = bound(x, s->var);
	if (s->var2 && s->kind != IR_SORT_SERIAL && s->kind != IR_INVOKE)
		s->var2 = bound(x, s->var2);
	if (s->body)
		bind_inside(x, s);
	if (!inside && ir_stmt_declares(s))
		declare(x, s->kind == IR_INVOKE ? &s->call->result : &s->var);
}

static void bind_block(struct bind *x, struct ir_block *b)
{
	int outside = x->declared.n;
	for (int i = 0; i < b->n; i++) {
		bind_stmt(x, &b->at[i]);
		if (b->at[i].kind == IR_LAMBDA)
			declare(x, &b->at[i].var);
	}
	x->declared.n = outside;
}

void bind_variables(struct ir_program *p, struct ir_block *b)
{
	struct bind x = { .p = p };
	bind_block(&x, b);
}
