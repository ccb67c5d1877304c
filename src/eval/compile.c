/* Expressions to instructions. Unconditional values are computed once; operands that SELECT, AND and OR evaluate
 * conditionally get a *guard*, a register with the lanes in which they are evaluated. Only loads use their guard: no
 * other operation can fail, so expressions without a load are computed in all lanes. */
#include "eval/code.h"

#include <string.h>

struct node {
	expr e;
	int index;      /* in compiler.nodes: operands have lower ones */
	bool loads;     /* it or an operand is a load */
	uint64_t *must; /* nodes evaluated whenever this one is */
	struct memo {
		int guard, reg;
		struct memo *next;
	} *memo;
};

struct guard {
	int reg, parent; /* parent: the guard it narrows, -1: none */
	int condition;   /* and its condition */
	bool holds;
};

struct compiler {
	struct map by_id;
	struct {
		VEC(struct node *);
	} nodes;
	struct {
		VEC(struct guard);
	} guards;
};

void eval_code_init(struct code *c, struct eval_run *run, const struct eval_space *space, struct arena *a)
{
	*c = (struct code){ .run = run, .space = space, .arena = a, .acc = -1, .ranges = map_new(a) };
	c->compiler = NEW(a, struct compiler);
	c->compiler->by_id = map_new(a);
}

static int unsupported(struct code *c, const char *what, const char *name)
{
	return err_set(c->run->err, ERR_UNSUPPORTED, "program %s, stage %s: %s %s cannot be interpreted.",
	               c->run->program->name, c->run->stage, what, name);
}

static bool is_constant(struct code *c, expr e, int64_t *value)
{
	if (type_is_float(e->type))
		return false;
	struct range r = eval_range(c, e);
	*value = r.low;
	return e->op == IR_CONST_INT || (r.low == r.high && e->type != TYPE_U64);
}

/* ---- Nodes: numbered in evaluation order, with their dependences. */

static struct node *node_of(struct code *c, expr e)
{
	return map_get_u64(&c->compiler->by_id, e->id);
}

static void set_bits(uint64_t *to, const uint64_t *from, int nodes)
{
	for (int w = 0; w <= nodes / 64; w++)
		to[w] |= from[w];
}

static struct node *visit(struct code *c, expr e)
{
	struct compiler *p = c->compiler;
	struct node *n = node_of(c, e);
	int64_t value;
	if (n)
		return n;
	n = NEW(c->arena, struct node);
	n->e = e;
	n->loads = e->op == IR_LOAD;
	struct {
		VEC(struct node *);
	} always = { 0 };
	if (is_constant(c, e, &value) || e->op == IR_AXIS || e->op == IR_VAR) {
	} else if (e->op == IR_LOAD) {
		for (int k = 0; k < e->n; k++) {
			struct linear l;
			eval_linear(c, e->arg[k], &l);
			vec_each (t, &l)
				if (t->axis < 0)
					vec_push(c->arena, &always, visit(c, t->atom));
		}
	} else {
		for (int k = 0; k < e->n; k++) {
			struct node *o = visit(c, e->arg[k]);
			bool lazy = k > 0 && (e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR);
			n->loads |= o->loads;
			if (!lazy)
				vec_push(c->arena, &always, o);
		}
	}
	n->index = p->nodes.n;
	vec_push(c->arena, &p->nodes, n);
	map_put_u64(&p->by_id, e->id, n);
	n->must = NEWN(c->arena, uint64_t, n->index / 64 + 1);
	vec_each (o, &always) {
		n->loads |= (*o)->loads;
		set_bits(n->must, (*o)->must, (*o)->index);
	}
	if (e->op == IR_SELECT && n->loads) {
		struct node *a = node_of(c, e->arg[1]), *b = node_of(c, e->arg[2]);
		for (int w = 0; a && b && w <= a->index / 64 && w <= b->index / 64; w++)
			n->must[w] |= a->must[w] & b->must[w];
	}
	if (n->loads)
		n->must[n->index / 64] |= UINT64_C(1) << n->index % 64;
	return n;
}

/* ---- Guards. */

static int parent_of(const struct compiler *p, int guard)
{
	vec_each (g, &p->guards)
		if (g->reg == guard)
			return g->parent;
	return -1;
}

/* True if all lanes of `inner` are lanes of `outer`. */
static bool is_within(const struct compiler *p, int inner, int outer)
{
	while (inner != outer && inner >= 0)
		inner = parent_of(p, inner);
	return inner == outer;
}

/* The lanes of `parent` in which the condition holds (or does not). */
static int narrow(struct code *c, int parent, int condition, bool holds)
{
	vec_each (g, &c->compiler->guards)
		if (g->parent == parent && g->condition == condition && g->holds == holds)
			return g->reg;
	int reg = condition;
	if (!holds)
		reg = eval_emit(c, eval_kernel(IR_NOT, KIND_I32), KIND_I32, reg, -1, -1);
	if (parent >= 0 || reg == condition)
		reg = eval_emit(c, eval_kernel(IR_BITAND, KIND_I32), KIND_I32, parent >= 0 ? parent : reg, reg, -1);
	vec_push(c->arena, &c->compiler->guards, ((struct guard){ reg, parent, condition, holds }));
	return reg;
}

/* ---- Instructions. */

static int compile_node(struct code *c, struct node *n, int guard, int *reg);

static int compile_set(struct code *c, const uint64_t *set, int last, int guard)
{
	for (int k = 0; k <= last; k++) {
		int reg;
		if (set[k / 64] >> k % 64 & 1)
			TRY(compile_node(c, c->compiler->nodes.at[k], guard, &reg));
	}
	return 0;
}

static bool is_compiled(const struct code *c, const struct node *n, int guard, int *reg)
{
	for (struct memo *m = n->memo; m; m = m->next)
		if (is_within(c->compiler, guard, m->guard)) {
			*reg = m->reg;
			return true;
		}
	return false;
}

static int compile_expr(struct code *c, expr e, int guard, int *reg)
{
	struct node *n = visit(c, e);
	if (!n->loads)
		guard = -1;
	if (is_compiled(c, n, guard, reg))
		return 0;
	if (n->loads)
		TRY(compile_set(c, n->must, n->index, guard));
	return compile_node(c, n, guard, reg);
}

static int to_kind(struct code *c, int reg, enum kind k)
{
	if (c->regs.at[reg].kind == k)
		return reg;
	return eval_emit(c, eval_convert_kernel((int)c->regs.at[reg].kind, k == KIND_F64 ? TYPE_F64 : TYPE_F32), k, reg,
	                 -1, -1);
}

/* True if a result can leave its type although the operands do not. */
static bool leaves_type(enum ir_op op)
{
	switch ((int)op) {
	case IR_MIN:
	case IR_MAX:
	case IR_BITAND:
	case IR_BITOR:
	case IR_BITXOR:
	case IR_REM:
	case IR_MOD:
	case IR_SHR:
	case IR_AND:
	case IR_OR:
	case IR_NOT: return false;
	default: return true;
	}
}

/* A float accumulator is wider than its type: operations on it compute in double and round once. */
static int unify(struct code *c, int n, int *operand)
{
	bool wide = false, narrow_too = false;
	for (int k = 0; k < n; k++) {
		wide |= c->regs.at[operand[k]].kind == KIND_F64;
		narrow_too |= c->regs.at[operand[k]].kind == KIND_F32;
	}
	for (int k = 0; k < n && wide && narrow_too; k++)
		operand[k] = to_kind(c, operand[k], KIND_F64);
	return (int)c->regs.at[operand[0]].kind;
}

static int compile_operation(struct code *c, expr e, int *operand, int *reg)
{
	enum type t = e->arg[0]->type;
	if (!eval_type_known(t))
		return unsupported(c, "type", type_name(t));
	if (e->op == IR_SHL || e->op == IR_SHR) { /* the count may have another type */
		enum type wide = eval_kind(t) == KIND_I64 ? TYPE_I64 : TYPE_I32;
		if (eval_kind(e->arg[1]->type) != eval_kind(t))
			operand[1] = eval_convert(c, operand[1], e->arg[1]->type, wide, false);
	}
	int variant = unify(c, e->n, operand);
	enum kind computed = (enum kind)variant;
	if (t == TYPE_U64)
		variant = VARIANT_U64;
	insn_fn fn = eval_kernel(e->op, variant);
	if (!fn || e->n > 2)
		return unsupported(c, type_name(t), ir_op_info[e->op].text);
	bool decides = e->type == TYPE_BOOL && t != TYPE_BOOL;
	*reg = eval_emit(c, fn, decides ? KIND_I32 : computed, operand[0], e->n > 1 ? operand[1] : -1, -1);
	c->insns.at[c->insns.n - 1].imm = type_info(t)->bits;
	if (decides)
		return 0;
	if (!type_is_float(t))
		*reg = leaves_type(e->op) ? eval_wrap(c, *reg, t) : *reg;
	else if (computed != eval_kind(t))
		*reg = eval_convert(c, *reg, TYPE_F64, t, false);
	else if (t != TYPE_F32 && t != TYPE_F64)
		*reg = eval_convert(c, *reg, TYPE_F32, t, false);
	return 0;
}

static int compile_select(struct code *c, expr e, int guard, int *reg)
{
	int condition, operand[2];
	TRY(compile_expr(c, e->arg[0], guard, &condition));
	struct node *a = visit(c, e->arg[1]), *b = visit(c, e->arg[2]);
	for (int k = 0; k < 2; k++) {
		bool loads = (k ? b : a)->loads;
		TRY(compile_expr(c, e->arg[1 + k], loads ? narrow(c, guard, condition, k == 0) : guard, &operand[k]));
	}
	unify(c, 2, operand);
	enum kind kind = c->regs.at[operand[0]].kind;
	bool uniform = !c->regs.at[condition].varying; /* picks a register, outside the loop over lanes */
	*reg = eval_emit(c, eval_select_kernel(kind, uniform), kind, operand[0], operand[1], uniform ? -1 : condition);
	if (uniform)
		c->insns.at[c->insns.n - 1].c = condition;
	c->regs.at[*reg].axes |= c->regs.at[condition].axes;
	return 0;
}

static int compile_lazy(struct code *c, expr e, int guard, int *reg)
{
	int operand[2];
	TRY(compile_expr(c, e->arg[0], guard, &operand[0]));
	if (visit(c, e->arg[1])->loads)
		guard = narrow(c, guard, operand[0], e->op == IR_AND);
	TRY(compile_expr(c, e->arg[1], guard, &operand[1]));
	return compile_operation(c, e, operand, reg);
}

static int compile_bitcast(struct code *c, expr e, int operand, int *reg)
{
	if (!eval_type_known(e->type) || !eval_type_known(e->arg[0]->type))
		return unsupported(c, "bitcast to", type_name(e->type));
	if (type_is_float(e->arg[0]->type))
		operand = to_kind(c, operand, eval_kind(e->arg[0]->type));
	*reg = eval_emit(c, eval_bitcast_kernel(), eval_kind(e->type), operand, -1, -1);
	c->insns.at[c->insns.n - 1].type = e->type;
	c->insns.at[c->insns.n - 1].imm = e->arg[0]->type;
	return 0;
}

/* The index of a loop, at a fixed address. */
static int compile_turn(struct code *c, expr e, int *reg)
{
	struct eval_turn *turn = map_get_u64(&c->run->turns, (uintptr_t)e->var);
	if (!turn)
		return unsupported(c, "the variable", e->var->hint);
	*reg = eval_reg_new(c, KIND_I64, false, 0);
	c->regs.at[*reg].preset = &turn->now;
	return 0;
}

static int compile_new(struct code *c, expr e, int guard, int *reg)
{
	struct access *x;
	int operand[3];
	int64_t value;
	if (!eval_type_known(e->type))
		return unsupported(c, "type", type_name(e->type));
	if (is_constant(c, e, &value)) {
		*reg = eval_constant(c, eval_kind(e->type), 0, value);
		return 0;
	}
	switch ((int)e->op) {
	case IR_CONST_FLOAT: *reg = eval_constant(c, eval_kind(e->type), e->f, 0); return 0;
	case IR_AXIS: *reg = eval_axis_reg(c, (int)e->i); return 0;
	case IR_SYMBOL: return unsupported(c, "the unknown symbol", e->name);
	case IR_VAR: return compile_turn(c, e, reg);
	case IR_ACC:
		if (c->acc < 0)
			return unsupported(c, "acc", "outside a reduction's post expression");
		*reg = c->acc;
		if (c->regs.at[c->acc].kind == KIND_I64 && eval_kind(e->type) != KIND_I64) /* an arg reduction's
		                                                                              position */
			*reg = eval_convert(c, c->acc, TYPE_I64, e->type, false);
		return 0;
	case IR_LOAD:
		TRY(eval_access_new(c, e->buf, e->arg, guard, false, &x));
		*reg = eval_load(c, x);
		return 0;
	case IR_SELECT: return compile_select(c, e, guard, reg);
	case IR_AND:
	case IR_OR: return compile_lazy(c, e, guard, reg);
	}
	for (int k = 0; k < e->n; k++)
		TRY(compile_expr(c, e->arg[k], guard, &operand[k]));
	if (e->op == IR_CAST || e->op == IR_CAST_SAT) {
		if (!eval_type_known(e->arg[0]->type))
			return unsupported(c, "type", type_name(e->arg[0]->type));
		*reg = eval_convert(c, operand[0], e->arg[0]->type, e->type, e->op == IR_CAST_SAT);
		return 0;
	}
	if (e->op == IR_BITCAST)
		return compile_bitcast(c, e, operand[0], reg);
	return compile_operation(c, e, operand, reg);
}

static int compile_node(struct code *c, struct node *n, int guard, int *reg)
{
	if (is_compiled(c, n, guard, reg))
		return 0;
	TRY(compile_new(c, n->e, guard, reg));
	struct memo *m = NEW(c->arena, struct memo);
	*m = (struct memo){ guard, *reg, n->memo };
	n->memo = m;
	return 0;
}

int eval_compile(struct code *c, expr e, int guard, int *reg)
{
	return compile_expr(c, e, guard, reg);
}

int eval_compile_conjuncts(struct code *c, expr e, int guard, struct eval_regs *regs)
{
	int reg;
	if (e->op != IR_AND) {
		TRY(compile_expr(c, e, guard, &reg));
		vec_push(c->arena, regs, reg);
		return 0;
	}
	TRY(eval_compile_conjuncts(c, e->arg[0], guard, regs));
	TRY(compile_expr(c, e->arg[0], guard, &reg));
	if (visit(c, e->arg[1])->loads)
		guard = narrow(c, guard, reg, true);
	return eval_compile_conjuncts(c, e->arg[1], guard, regs);
}
