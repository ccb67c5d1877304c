/* The checker: every rule of the language, between all passes. What it reports is a bug in the pass before. */
#include "ir/pool.h"

#include <string.h>

struct checker {
	const struct ir_program *p;
	const struct ir_stage *stage; /* null: extents of buffers */
	struct err *err;
	const bool *defined; /* buffers by id */
	const char *role;
	int rc;
};

static void complain(struct checker *c, const char *what, const char *name)
{
	c->rc = err_set(c->err, ERR_DIFFER, "program %s, stage %s, %s: %s%s%s.", c->p->name,
	                c->stage ? c->stage->out->name : "-", c->role, what, *name ? " " : "", name);
	err_advise(c->err, "This is a bug in tpat; please report it with the model.");
}

static void check_axis(struct checker *c, expr e)
{
	const struct ir_stage *s = c->stage;
	int out_rank = s ? s->out->rank : 0, k = (int)e->i;
	bool update = s && s->kind == IR_SCATTER && strcmp(c->role, "init") != 0;
	bool post = strcmp(c->role, "post") == 0;
	expr extent = NULL;
	if (s && update)
		extent = k < s->space_rank ? s->space[k] : NULL;
	else if (s && k < out_rank)
		extent = s->out->dim[k];
	else if (s && s->kind == IR_REDUCE && !post && k - out_rank < s->space_rank)
		extent = s->space[k - out_rank];
	if (!extent)
		complain(c, "uses an axis that its space does not have", "");
	else if (extent != e->arg[0])
		complain(c, "an axis has another extent than its space", "");
}

static void check_node(void *user, expr e)
{
	struct checker *c = user;
	const struct ir_op_info *info = &ir_op_info[e->op];
	const char *fault;
	if (c->rc)
		return;
	if (e->pool != c->p->pool)
		complain(c, "an expression is of another program's pool", info->text);
	if (info->arity >= 0 && e->n != info->arity && !(e->op == IR_VAR))
		complain(c, "wrong number of operands of", info->text);
	switch (e->op) {
	case IR_AXIS: check_axis(c, e); break;
	case IR_SYMBOL:
		if (!ir_symbol_source(c->p, e->name, &(int){ 0 }, &(int){ 0 }))
			complain(c, "a symbol that is no input's extent:", e->name);
		break;
	case IR_VAR: complain(c, "a kernel's variable in a program:", e->name); break;
	case IR_ACC:
		if (strcmp(c->role, "post") != 0 || e->type != c->stage->value->type)
			complain(c, "the accumulator outside a post expression, or of another type", "");
		break;
	case IR_LOAD:
		if (!c->stage || e->buf->id >= c->p->buffers.n || c->p->buffers.at[e->buf->id] != e->buf ||
		    !c->defined[e->buf->id])
			complain(c, "reads a buffer that is not defined before:", e->buf->name);
		if (e->n != e->buf->rank)
			complain(c, "wrong number of indices into", e->buf->name);
		for (int i = 0; i < e->n; i++)
			if (e->arg[i]->type != TYPE_INDEX)
				complain(c, "an index that is not of type index, into", e->buf->name);
		break;
	default:
		if (ir_op_info[e->op].arity > 0 && (fault = ir_operand_fault(e->op, e->type, e->n, e->arg)))
			complain(c, fault, info->text);
		break;
	}
}

static void check_slot(void *user, expr *slot, const char *role)
{
	struct checker *c = user;
	c->role = role;
	if (!c->rc && ((*slot)->depth > IR_MAX_DEPTH || (*slot)->size > IR_MAX_SIZE))
		complain(c, "an expression that is too deep or too large", "");
	if (!c->rc)
		ir_walk(*slot, check_node, c);
}

static void check_extents(struct checker *c, int n, const expr *extent)
{
	const struct ir_stage *stage = c->stage;
	c->stage = NULL; /* no axes, no loads */
	for (int k = 0; k < n; k++) {
		check_slot(c, (expr *)&extent[k], "extent");
		if (!c->rc && (extent[k]->type != TYPE_INDEX || extent[k]->varies))
			complain(c, "an extent that is no index, or not the same everywhere", "");
	}
	c->stage = stage;
}

static void check_stage(struct checker *c)
{
	const struct ir_stage *s = c->stage;
	enum type made = s->post ? s->post->type : s->value->type;
	bool arg = ir_combine_is_arg(s->combine);
	const char *fault = ir_combine_fault(s->kind, s->combine, s->value->type);
	c->role = "value";
	if (s->kind != IR_SCATTER && !(ir_accumulates(s) && !s->post) && made != s->out->type)
		complain(c, "its type is not that of its buffer:", type_info(made)->name);
	if (s->kind == IR_SCATTER && (s->value->type != s->out->type || s->init->type != s->out->type))
		complain(c, "a scatter's value or init has another type than its buffer", "");
	if (fault)
		complain(c, fault, ir_combine_name[s->combine]);
	if (s->kind == IR_SCAN && (s->axis < 0 || s->axis >= s->out->rank || s->space_rank))
		complain(c, "scans along an axis that it does not have, or over further ones", "");
	if (!ir_accumulates(s) && s->post)
		complain(c, "a post expression of what accumulates nothing", "");
	if (arg && s->post)
		complain(c, "an arg reduction has no post expression", "");
	if (s->out->role == IR_INPUT || s->out->role == IR_CONSTANT)
		complain(c, "defines an input or a constant", "");
	if (s->where && s->where->type != TYPE_BOOL)
		complain(c, "a condition that is not bool", "");
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
		if (s->at[k]->type != TYPE_INDEX)
			complain(c, "scatters to what is no index", "");
	check_extents(c, s->space_rank, s->space);
	ir_stage_exprs(s, check_slot, c);
}

int ir_check(const struct ir_program *p, struct err *e)
{
	struct arena *scratch = arena_new();
	bool *defined = NEWN(scratch, bool, p->buffers.n + 1);
	struct checker c = { .p = p, .err = e, .defined = defined, .role = "extent" };
	for (int i = 0; i < p->buffers.n && !c.rc; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		if (b->id != i)
			complain(&c, "buffers are not numbered in order", b->name);
		defined[i] = b->role == IR_INPUT || b->role == IR_CONSTANT;
		check_extents(&c, b->rank, b->dim);
	}
	vec_each (s, &p->stages) {
		c.stage = *s;
		if (!c.rc)
			check_stage(&c);
		if (!c.rc && defined[(*s)->out->id])
			complain(&c, "a buffer is defined twice", "");
		defined[(*s)->out->id] = true;
	}
	c.stage = NULL;
	vec_each (out, &p->outputs)
		if (!c.rc && !defined[(*out)->id])
			complain(&c, "an output is never defined:", (*out)->name);
	arena_free(scratch);
	return c.rc;
}
