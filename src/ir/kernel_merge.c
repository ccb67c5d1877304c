/* Merges kernels that differ in constants only: layers of a model have scales, zero points and slopes of their own.
 * Kernels join a group one after the other. The first one's values are rewritten as they do: where it has a constant,
 * or a parameter already, and the new kernel another constant, the value gets a parameter. Positions at which all
 * kernels have equal pairs of constants share one.
 *
 * Index arithmetic, conditions of statements, and arguments of device functions keep their constants, as do 0 and 1 and
 * the second operands of powers, shifts and integer divisions: compilers and the printer make simpler code of those.
 * But the value of a variable of type i32 that a rule declares as a constant may be any number: passes of a sort differ
 * only in it.
 * Whole f32 numbers, such as zero points, become integers, so that a sum with them is still known to be whole. */
#include "ir/kernel_same.h"
#include "ir/pool.h"

#include <math.h>

/* More numbers, such as the weights of a filter, stay constants. */
enum { MOST_PARAMETERS = 16 };

/* A parameter: what stands for it in the first kernel's values, and its number in each kernel of the group. */
struct merged {
	const struct ir_variable *var;
	expr use; /* the variable, or its conversion to f32 */
	struct {
		VEC(expr);
	} value; /* constants of the variable's type */
};

struct group {
	struct {
		VEC(struct ir_kernel *);
	} kernels;
	struct map values; /* statements of the first kernel -> their values as rewritten */
	struct {
		VEC(struct merged);
	} parameters;
};

/* A kernel that is joining a group. */
struct merging {
	struct arena *scratch;
	const struct group *group;
	struct map values; /* statements whose values change */
	struct map pairs;  /* pairs of nodes -> what stands for both */
	struct {
		VEC(struct merged);
	} parameters;
};

/* ---- Constants that may become parameters. */

static bool is_constant(expr e)
{
	return e->op == IR_CONST_FLOAT || e->op == IR_CONST_INT;
}

static bool is_trivial(expr e)
{
	return e->op == IR_CONST_FLOAT ? e->f == 0 || e->f == 1 : e->i == 0 || e->i == 1;
}

static bool is_whole(expr e)
{
	return e->op == IR_CONST_INT || (fabs(e->f) < 1 << 24 && e->f == rint(e->f));
}

/* True if operand `i` of an operation may vary: the operation is as fast with any number. */
static bool may_vary(expr e, int i)
{
	switch (e->op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_MIN:
	case IR_MAX:
	case IR_EQ:
	case IR_LT:
	case IR_LE: return e->arg[i]->type == TYPE_F32 || e->arg[i]->type == TYPE_I32;
	case IR_DIV: return e->type == TYPE_F32;
	case IR_SELECT: return i > 0 && (e->type == TYPE_F32 || e->type == TYPE_I32);
	default: return false;
	}
}

/* The name of such a number in models. */
static const char *hint_of(expr e, int i)
{
	switch (e->op) {
	case IR_ADD:
	case IR_SUB: return "offset";
	case IR_MUL: return "scale";
	case IR_DIV: return i ? "divisor" : "dividend";
	case IR_MIN: return "most";
	case IR_MAX: return "least";
	default: return "number";
	}
}

/* ---- Parameters. */

static expr in_type(expr number, enum type t)
{
	if (number->type == t)
		return number;
	return t == TYPE_I32 ? ir_int(number->pool, t, (int64_t)number->f)
	                     : ir_float(number->pool, t, (double)number->i);
}

static const struct merged *find(int n, const struct merged *list, expr use)
{
	for (int i = 0; i < n; i++)
		if (list[i].use == use)
			return &list[i];
	return NULL;
}

/* Adds a parameter for positions at which the kernels so far have `a`, a constant or a parameter, and the new one has
 * b. `any`: also for 0 and 1. Returns what stands for it in values; null if these cannot be one. */
static expr parameter(struct merging *m, const char *hint, expr a, expr b, bool any)
{
	const struct group *g = m->group;
	const struct merged *old = find(g->parameters.n, g->parameters.at, a);
	bool varies = old || (is_constant(a) && (any || !is_trivial(a))),
	     other = is_constant(b) && (any || !is_trivial(b));
	if (!varies || !other || a->type != b->type || m->parameters.n == MOST_PARAMETERS)
		return NULL;
	bool whole = is_whole(b) && (old ? old->var->type == TYPE_I32 : is_whole(a));
	bool kept = old && (whole || old->var->type == TYPE_F32) && !find(m->parameters.n, m->parameters.at, a);
	struct merged x = { .var = kept ? old->var
		                        : ir_variable_new(a->pool, whole ? TYPE_I32 : TYPE_F32, "%s", hint) };
	x.use = ir_cast(ir_var_of(x.var, NULL), a->type);
	for (int i = 0; i < g->kernels.n; i++)
		vec_push(m->scratch, &x.value, in_type(old ? old->value.at[i] : a, x.var->type));
	vec_push(m->scratch, &x.value, in_type(b, x.var->type));
	vec_push(m->scratch, &m->parameters, x);
	return x.use;
}

/* ---- Values. */

static expr pair(struct merging *m, struct same *s, expr a, expr b);

static expr operand(struct merging *m, struct same *s, expr a, expr b, int i)
{
	expr x = a->arg[i], y = b->arg[i];
	uint64_t key = (uint64_t)x->id << 32 | y->id;
	if (same_expr(s, x, y))
		return x;
	if (!is_constant(y))
		return pair(m, s, x, y);
	expr made = may_vary(a, i) ? map_get_u64(&m->pairs, key) : NULL;
	if (may_vary(a, i) && !made && (made = parameter(m, hint_of(a, i), x, y, false)))
		map_put_u64(&m->pairs, key, made);
	return made;
}

/* Returns what stands for a of the first kernel and b of the new one, or null if they differ in more than constants. */
static expr pair(struct merging *m, struct same *s, expr a, expr b)
{
	expr arg[IR_MAX_RANK];
	uint64_t key = (uint64_t)a->id << 32 | b->id;
	if (same_expr(s, a, b))
		return a;
	bool plain = a->n > 0 && a->op != IR_LOAD && a->op != IR_ELEMENT && a->op != IR_VAR && a->op != IR_AXIS;
	if (!plain || a->op != b->op || a->type != b->type || a->n != b->n || a->type == TYPE_INDEX)
		return NULL;
	expr made = map_get_u64(&m->pairs, key);
	if (made)
		return made;
	for (int i = 0; i < a->n; i++)
		if (!(arg[i] = operand(m, s, a, b, i)))
			return NULL;
	made = ir_node_op(a->op, a->type, a->n, arg); /* not simplified: the next kernel's values have this form */
	map_put_u64(&m->pairs, key, made);
	return made;
}

/* The same for the values of two declared constants of type i32, which may vary in any case: see above. */
static expr declared(struct merging *m, const struct ir_stmt *at, expr a, expr b)
{
	uint64_t key = (uint64_t)a->id << 32 | b->id;
	expr made = a == b ? a : map_get_u64(&m->pairs, key);
	if (!made && (made = parameter(m, arena_printf(m->scratch, "%s_number", at->declare.var->hint), a, b, true)))
		map_put_u64(&m->pairs, key, made);
	return made;
}

static expr value_now(const struct group *g, const struct ir_stmt *at, expr own)
{
	expr now = map_get_u64(&g->values, (uintptr_t)at);
	return now ? now : own;
}

static bool merge_value(struct same *s, const struct ir_stmt *at, expr a, expr b)
{
	struct merging *m = s->user;
	if (!a || !b)
		return a == b;
	expr now = value_now(m->group, at, a);
	bool vary = at->kind == IR_DECLARE && !at->declare.mutable && b->op == IR_CONST_INT && b->type == TYPE_I32;
	expr made = vary ? declared(m, at, now, b) : pair(m, s, now, b);
	if (made && made != now)
		map_put_u64(&m->values, (uintptr_t)at, made);
	return made;
}

/* ---- Groups. */

/* Puts the kernel's buffers into the order of those that they stand for in the group's function. */
static void order_buffers(struct arena *a, const struct same *s, struct ir_kernel *k)
{
	k->buffers.at = NULL; /* a copy of the kernel may have the list, too */
	k->buffers.n = k->buffers.cap = 0;
	vec_each (b, &s->kernel[0]->buffers)
		vec_push(a, &k->buffers, (const struct ir_buffer *)map_get_u64(&s->there, (uintptr_t)*b));
}

/* Adds the kernel to the group if it differs from the others in constants only. */
static bool join(struct arena *scratch, const struct ir_program *p, struct group *g, struct ir_kernel *k)
{
	struct merging m = { .scratch = scratch, .group = g, .values = map_new(scratch), .pairs = map_new(scratch) };
	struct same s = { .value = merge_value, .user = &m };
	if (!same_kernels(&s, scratch, p, g->kernels.at[0], k))
		return false;
	for (int i = 0; i < m.values.n; i++)
		map_put_u64(&g->values, m.values.entry[i].key, m.values.entry[i].value);
	order_buffers(p->arena, &s, k);
	vec_push(scratch, &g->kernels, k);
	g->parameters.at = m.parameters.at;
	g->parameters.n = m.parameters.n;
	g->parameters.cap = m.parameters.cap;
	return true;
}

static expr *value_of(struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE: return &s->declare.value;
	case IR_ASSIGN: return &s->assign.value;
	case IR_SET: return &s->set.value;
	case IR_STORE: return &s->store.value;
	case IR_UPDATE: return &s->update.value;
	case IR_LAMBDA: return &s->lambda.value;
	default: return NULL;
	}
}

static struct ir_block **body_of(struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_FOR: return &s->loop.body;
	case IR_IF: return &s->branch.body;
	case IR_LAMBDA: return &s->lambda.body;
	case IR_SORT_SERIAL: return &s->sort.body;
	default: return NULL;
	}
}

/* Returns the block with the group's values. */
static struct ir_block rewritten(struct arena *a, const struct group *g, const struct ir_block *b)
{
	struct ir_block new = { 0 };
	for (int i = 0; i < b->n; i++) {
		struct ir_stmt s = b->at[i];
		expr *value = value_of(&s);
		struct ir_block **body = body_of(&s);
		if (value)
			*value = value_now(g, &b->at[i], *value);
		if (body) {
			struct ir_block *own = NEW(a, struct ir_block);
			*own = rewritten(a, g, *body);
			*body = own;
		}
		vec_push(a, &new, s);
	}
	return new;
}

static void finish(struct arena *a, const struct group *g)
{
	struct ir_kernel *first = g->kernels.at[0];
	if (g->parameters.n) {
		first->body = rewritten(a, g, &first->body);
		first->serial = rewritten(a, g, &first->serial);
	}
	for (int i = 0; i < g->kernels.n; i++) {
		struct ir_kernel *k = g->kernels.at[i];
		k->name = first->name;
		k->function = first;
		vec_each (x, &g->parameters)
			vec_push(a, &k->parameters, ((struct ir_parameter){ .var = x->var, .value = x->value.at[i] }));
	}
}

struct ir_kernel ir_kernel_printed(const struct ir_kernel *k)
{
	struct ir_kernel printed = k->function ? *k->function : *k;
	printed.name = k->name;
	return printed;
}

void ir_merge_kernels(const struct ir_plan *plan)
{
	struct arena *scratch = arena_new();
	struct {
		VEC(struct group);
	} groups = { 0 };
	struct map seen = map_new(scratch);
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			bool joined = map_get_u64(&seen, (uintptr_t)*k);
			map_put_u64(&seen, (uintptr_t)*k, *k);
			vec_each (g, &groups)
				if (!joined)
					joined = join(scratch, plan->program, g, *k);
			if (joined)
				continue;
			struct group own = { .values = map_new(scratch) };
			vec_push(scratch, &own.kernels, *k);
			vec_push(scratch, &groups, own);
		}
	vec_each (g, &groups)
		finish(plan->program->arena, g);
	arena_free(scratch);
}
