/* The checker: every rule of the language, between all passes. A report is a bug in the last pass. */
#include "ir/pool.h"

#include <string.h>

struct checker {
	const struct ir_program *p;
	const struct ir_stage *stage; /* null: extents of buffers */
	struct err *err;
	bool *defined;                            /* buffers by id */
	const struct ir_loop *loop[IR_MAX_LOOPS]; /* enclosing loops */
	int loops;
	const char *role;
	bool any_size; /* expressions have no limit but depth */
	int rc;
};

static void complain(struct checker *c, const char *what, const char *name)
{
	c->rc = err_set(c->err, ERR_DIFFER, "program %s, stage %s, %s: %s%s%s.", c->p->name,
	                c->stage && c->stage->out ? c->stage->out->name : "-", c->role, what, *name ? " " : "", name);
	err_advise(c->err, "This is a bug in tpat; please report it with the model.");
}

static void check_axis(struct checker *c, expr e)
{
	const struct ir_stage *s = c->stage;
	int out_rank = s && s->out ? s->out->rank : 0, k = (int)e->i;
	bool update = s && ((s->kind == IR_SCATTER && strcmp(c->role, "init") != 0) || s->kind == IR_COMPACT);
	bool post = strcmp(c->role, "post") == 0, sort = s && (s->kind == IR_SORT || s->kind == IR_PICK);
	int further = s && s->kind == IR_PICK && strcmp(c->role, "where") == 0 ? 1 : s ? s->space_rank : 0;
	expr extent = NULL;
	if (s && update)
		extent = k < s->space_rank ? s->space[k] : NULL;
	else if (s && k < out_rank && s->kind != IR_LOOP && !(sort && k == s->axis))
		extent = s->out->dim[k];
	else if (s && (s->kind == IR_REDUCE || sort) && !post && k >= out_rank && k - out_rank < further)
		extent = s->space[k - out_rank];
	if (!extent)
		complain(c, "uses an axis outside its space", "");
	else if (extent != e->arg[0])
		complain(c, "an axis has another extent than its space", "");
}

/* True for an extent of an input, or a size that is computed earlier. */
static bool symbol_known(const struct checker *c, expr symbol)
{
	const struct ir_size *size = ir_size_find(c->p, symbol);
	int unused;
	if (size)
		return !c->stage || c->defined[size->count->id];
	return ir_value_find(c->p, symbol) || ir_symbol_source(c->p, symbol, &unused, &unused);
}

static bool inside_loop(const struct checker *c, expr index)
{
	for (int i = 0; i < c->loops; i++)
		if (c->loop[i]->index == index)
			return true;
	return false;
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
		if (!symbol_known(c, e))
			complain(c, "a symbol that is not an input's extent, nor a size known before:", e->name);
		break;
	case IR_VAR:
		if (!inside_loop(c, e))
			complain(c, "a variable that is the index of no loop around it:", e->var->hint);
		break;
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

static void check_role(void *user, expr e, const char *role)
{
	struct checker *c = user;
	c->role = role;
	if (!c->rc && (e->depth > IR_MAX_DEPTH || (e->size > IR_MAX_SIZE && !c->any_size)))
		complain(c, "an expression that is too deep or too large", "");
	if (!c->rc)
		ir_walk(e, check_node, c);
}

static void check_extents(struct checker *c, int n, const expr *extent)
{
	const struct ir_stage *stage = c->stage;
	c->stage = NULL; /* no axes, no loads */
	for (int k = 0; k < n; k++) {
		expr x = extent[k];
		check_role(c, x, "extent");
		if (!c->rc && (extent[k]->type != TYPE_INDEX || extent[k]->varies))
			complain(c, "an extent that is not an index, or not the same everywhere", "");
	}
	c->stage = stage;
}

/* Sorts and picks give positions along their axis; a compaction the size that is its extent. */
static void check_positions(struct checker *c)
{
	const struct ir_stage *s = c->stage;
	const struct ir_buffer *out = s->out;
	bool sorts = s->kind == IR_SORT, picks = s->kind == IR_PICK;
	if ((sorts || picks) && (out->type != TYPE_I64 && out->type != TYPE_I32))
		complain(c, "a sort or a pick gives positions, of type i32 or i64", "");
	if ((sorts || picks) && (s->axis < 0 || s->axis >= out->rank || s->space_rank != (sorts ? 1 : 2)))
		complain(c, "sorts or picks along an axis that it does not have, or over a wrong number of axes", "");
	if ((sorts || picks) && out->rank == IR_MAX_RANK)
		complain(c, "sorts or picks in a buffer of too many axes", "");
	if (picks && !c->rc && s->space[0] != s->space[1])
		complain(c, "picks over two axes of different extents", "");
	if (s->kind != IR_COMPACT)
		return;
	const struct ir_size *size = out->rank == 1 ? ir_size_find(c->p, out->dim[0]) : NULL;
	if (!s->where || !s->count || s->count->rank != 0 || s->count->type != TYPE_I64)
		complain(c, "a compaction needs a condition, and a scalar i64 for its count", "");
	else if (!size || size->count != s->count)
		complain(c, "a compaction's extent must be the size that it computes", "");
}

static void check_loop(struct checker *c);

/* Sizes in the extents of results must be known; a compaction computes its own. */
static void check_made(struct checker *c)
{
	struct ir_buffer *b;
	for (int i = 0; (b = ir_stage_made(c->stage, i)) && !c->rc; i++) {
		c->role = "extent";
		for (int k = 0; k < b->rank && c->stage->kind != IR_COMPACT; k++)
			ir_walk(b->dim[k], check_node, c);
		if (b->role == IR_INPUT || b->role == IR_CONSTANT)
			complain(c, "defines an input or a constant", "");
		else if (!c->rc && c->defined[b->id])
			complain(c, "a buffer is defined twice", "");
		else if ((c->stage->kind != IR_MAP || c->loops) && type_is_packed(b->type)) /* only a map's threads own
		                                                                               whole bytes */
			complain(c, "only maps outside of loops make elements narrower than a byte:", b->name);
	}
}

static void check_stage(struct checker *c)
{
	const struct ir_stage *s = c->stage;
	check_made(c);
	if (s->kind == IR_LOOP) {
		check_loop(c);
		return;
	}
	if (s->kind == IR_COMPACT && c->loops)
		complain(c, "a compaction inside of a loop: its size would change between iterations", "");
	enum type made = s->post ? s->post->type : s->value->type;
	bool arg = ir_combine_is_arg(s->combine);
	const char *fault = ir_combine_fault(s->kind, s->combine, s->value->type);
	c->role = "value";
	if (s->kind != IR_SCATTER && s->kind != IR_SORT && s->kind != IR_PICK && !(ir_accumulates(s) && !s->post) &&
	    made != s->out->type)
		complain(c, "its type is not that of its buffer:", type_info(made)->name);
	if (s->kind == IR_SCATTER && (s->value->type != s->out->type || s->init->type != s->out->type))
		complain(c, "a scatter's value or init has another type than its buffer", "");
	if (fault)
		complain(c, fault, ir_combine_name[s->combine]);
	if (s->kind == IR_SCAN && (s->axis < 0 || s->axis >= s->out->rank || s->space_rank))
		complain(c, "scans along an axis that it does not have, or over further ones", "");
	if (!ir_accumulates(s) && s->post)
		complain(c, "a post expression without an accumulation", "");
	if (arg && s->post)
		complain(c, "an arg reduction has no post expression", "");
	check_positions(c);
	if (s->where && s->where->type != TYPE_BOOL)
		complain(c, "a condition that is not bool", "");
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
		if (s->at[k]->type != TYPE_INDEX)
			complain(c, "scatters to a position that is not an index", "");
	check_extents(c, s->space_rank, s->space);
	ir_stage_exprs(s, check_role, c);
}

static void define(struct checker *c, const struct ir_stage *s)
{
	struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		c->defined[made->id] = true;
}

/* Checks an expression of the loop itself like the value of `out`. */
static void check_inside(struct checker *c, struct ir_buffer *out, expr e, const char *role, enum type t)
{
	const struct ir_stage *outer = c->stage;
	struct ir_stage map = { .kind = IR_MAP, .out = out, .value = e };
	c->stage = &map;
	check_role(c, e, role);
	if (!c->rc && e->type != t)
		complain(c, "an expression of another type than it must have", "");
	c->stage = outer;
}

static bool same_extents(const struct ir_buffer *a, int skip, const struct ir_buffer *b)
{
	bool same = a->type == b->type && a->rank == b->rank + skip;
	for (int k = 0; same && k < b->rank; k++)
		same = a->dim[k + skip] == b->dim[k];
	return same;
}

static void check_turn(struct checker *c, struct ir_loop *l, struct ir_buffer *nowhere)
{
	const struct ir_stage *outer = c->stage;
	if (outer->where)
		check_inside(c, nowhere, outer->where, "where", TYPE_BOOL);
	vec_each (s, &l->body) {
		c->stage = *s;
		if (!c->rc)
			check_stage(c);
		define(c, *s);
	}
	c->stage = outer;
	vec_each (x, &l->carries)
		if (!c->rc && (!c->defined[x->next->id] || !same_extents(x->state, 0, x->next)))
			complain(c, "the next value of a state is not defined, or of another type or extents:",
			         x->state->name);
	vec_each (x, &l->collects) {
		if (!c->rc && (!c->defined[x->from->id] || !same_extents(x->out, 1, x->from)))
			complain(c, "a collected result is not defined, or of another type or extents:", x->out->name);
		if (!c->rc)
			check_inside(c, nowhere, x->at, "at", TYPE_INDEX);
	}
}

static void check_loop(struct checker *c)
{
	struct ir_loop *l = c->stage->loop;
	struct ir_buffer nowhere = { .name = c->stage->out ? c->stage->out->name : "-" };
	struct ir_buffer *made;
	c->role = "loop";
	if (!l || !c->stage->out || c->stage->out != ir_stage_made(c->stage, 0) || c->loops == IR_MAX_LOOPS ||
	    l->index->op != IR_VAR || l->index->arg[0] != l->trip) {
		complain(c, "a loop without results, nested too deep, or with a wrong index", "");
		return;
	}
	check_extents(c, 1, &l->trip);
	vec_each (x, &l->carries)
		if (!c->rc)
			check_inside(c, x->state, x->init, "carry", x->state->type);
	if (c->rc)
		return;
	vec_each (x, &l->carries)
		c->defined[x->state->id] = true;
	c->loop[c->loops++] = l;
	check_turn(c, l, &nowhere);
	c->loops--;
	vec_each (s, &l->body)
		for (int i = 0; (made = ir_stage_made(*s, i)); i++)
			c->defined[made->id] = false; /* local to the body */
	for (int i = 0; (made = ir_stage_made(c->stage, i)); i++)
		c->defined[made->id] = false; /* until the caller defines it */
}

static void check_sizes(struct checker *c)
{
	vec_each (s, &c->p->sizes) {
		if (!c->rc && (s->count->rank != 0 || s->count->type != TYPE_I64))
			complain(c, "a size that is not a scalar i64:", s->symbol->name);
		check_extents(c, 1, &s->limit);
	}
	vec_each (v, &c->p->values) {
		if (!c->rc && v->buf && (v->buf->role != IR_INPUT || !type_is_int(v->buf->type) || v->buf->rank > 1))
			complain(c, "a value that is not an element of a list of integers:", v->symbol->name);
		if (!v->buf)
			check_extents(c, 1, &v->known);
	}
	vec_each (d, &c->p->demands)
		check_extents(c, 2, d->extent);
}

/* An output has the memory of an input that only its own stage reads. */
static void check_replaced(struct checker *c)
{
	vec_each (out, &c->p->outputs) {
		const struct ir_buffer *in = (*out)->replaces;
		if (!in)
			continue;
		if (!c->rc && (in->role != IR_INPUT || in->type != (*out)->type || !ir_same_extents(in, *out)))
			complain(c, "an output that replaces something else than an input like it:", (*out)->name);
		vec_each (s, &c->p->stages)
			if (!c->rc && (*s)->out != *out && ir_stage_reads(*s, in))
				complain(c, "a replaced input that another stage reads:", in->name);
		vec_each (other, &c->p->outputs)
			if (!c->rc && *other != *out && (*other)->replaces == in)
				complain(c, "an input that two outputs replace:", in->name);
	}
}

static int check(const struct ir_program *p, bool any_size, struct err *e)
{
	struct arena *scratch = arena_new();
	bool *defined = NEWN(scratch, bool, p->buffers.n + 1);
	struct checker c = { .p = p, .err = e, .defined = defined, .role = "extent", .any_size = any_size };
	for (int i = 0; i < p->buffers.n && !c.rc; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		if (b->id != i)
			complain(&c, "buffers are not numbered in order", b->name);
		defined[i] = b->role == IR_INPUT || b->role == IR_CONSTANT;
		check_extents(&c, b->rank, b->dim);
	}
	check_sizes(&c);
	vec_each (s, &p->stages) {
		c.stage = *s;
		if (!c.rc)
			check_stage(&c);
		define(&c, *s);
	}
	c.stage = NULL;
	check_replaced(&c);
	vec_each (out, &p->outputs)
		if (!c.rc && !defined[(*out)->id])
			complain(&c, "an output is never defined:", (*out)->name);
	arena_free(scratch);
	return c.rc;
}

int ir_check(const struct ir_program *p, struct err *e)
{
	return check(p, false, e);
}

int ir_check_interpreted(const struct ir_program *p, struct err *e)
{
	return check(p, true, e);
}
