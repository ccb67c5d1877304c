/* Declares variables for parts of expressions: see gen_lets in text.h. A part gets one if it occurs twice or if its
 * line would become long. A long part that is evaluated only under a condition is computed in a block of its own. */
#include "gen/text.h"

enum {
	LONG_SIZE = 40,  /* nodes of a part without memory reads that is computed in front of its condition */
	LONG_LINE = 110, /* characters of a statement's expressions, about: longer ones are divided */
	LONG_TEXT = 80,  /* of a part that gets a name then */
};

/* The buffer in whose positions an expression occurs. */
struct position {
	const struct ir_buffer *of; /* null: of none */
	bool several;
};

struct parts {
	struct gen_text *g;
	int *uses;
	bool *sure; /* evaluated whenever the whole is: may be computed in front of it */
	bool *safe; /* may be computed anywhere: no memory reads, array elements whose index may be
	               outside, or division by a possible zero */
	bool *printed;
	struct position *positions; /* by node id */
	bool divides;               /* the statement is long */
	struct gen_trial trial;
	struct {
		VEC(expr);
	} order;
	struct arena *scratch;
};

static void set_name(struct gen_text *g, expr e, const char *name)
{
	if (e->id >= g->let_n) {
		uint32_t n = e->id * 2 + 64;
		const char **grown = NEWN(g->out->arena, const char *, n);
		for (uint32_t i = 0; i < g->let_n; i++)
			grown[i] = g->let[i];
		g->let = grown;
		g->let_n = n;
	}
	g->let[e->id] = name;
}

const char *gen_let(const struct gen_text *g, expr e)
{
	return e->id < g->let_n ? g->let[e->id] : NULL;
}

/* ---- How long names hold. */

struct find_change {
	const struct gen_text *g;
	bool changes;
};

static bool is_fixed(const struct gen_text *g, const struct ir_variable *v)
{
	vec_each (x, &g->kernel->parameters)
		if (x->var == v)
			return true;
	return map_get_u64(&g->fixed, (uintptr_t)v);
}

static void find_change(void *user, expr e)
{
	struct find_change *f = user;
	const struct ir_kernel *k = f->g->kernel;
	f->changes |= e->op == IR_ELEMENT || (e->op == IR_VAR && !is_fixed(f->g, e->var)) ||
	              (e->op == IR_LOAD && (ir_kernel_writes(k, e->buf) || ir_kernel_shares(k, e->buf)));
}

/* True if later statements may change the value. */
static bool changes(const struct gen_text *g, expr e)
{
	struct find_change f = { g, false };
	ir_walk(e, find_change, &f);
	return f.changes;
}

void gen_lets_end(struct gen_text *g)
{
	int kept = 0;
	vec_each (x, &g->lets) {
		if (x->stays)
			g->lets.at[kept++] = *x;
		else
			g->let[x->e->id] = NULL;
	}
	g->lets.n = kept;
}

void gen_lets_end_scope(struct gen_text *g, int begin)
{
	while (g->lets.n > begin)
		g->let[g->lets.at[--g->lets.n].e->id] = NULL;
}

/* ---- Which parts get names. */

/* Operands first. Skips a variable's operand, its extent, which is not printed, and what has a name already. */
static void count_uses(struct parts *s, expr e)
{
	if (s->uses[e->id]++ || gen_let(s->g, e))
		return;
	bool divides = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	bool safe = e->op != IR_LOAD && !(divides && gen_plain_division(e) && e->arg[1]->op != IR_CONST_INT);
	for (int i = 0; i < e->n && e->op == IR_ELEMENT; i++)
		safe &= e->arg[i]->op == IR_CONST_INT;
	for (int i = 0; i < e->n && e->op != IR_VAR; i++) {
		count_uses(s, e->arg[i]);
		safe &= s->safe[e->arg[i]->id] || gen_let(s->g, e->arg[i]);
	}
	s->safe[e->id] = safe;
	vec_push(s->scratch, &s->order, e);
}

/* Hoists conditional subexpressions if they are index arithmetic, or long: text must not grow with every use. */
static bool in_front(const struct parts *s, expr e)
{
	return s->sure[e->id] || (s->safe[e->id] && (e->type == TYPE_INDEX || e->size > LONG_SIZE));
}

/* Marks the parts of a load's position. Those of loads inside it belong to these. */
static void mark_position(struct parts *s, expr e, const struct ir_buffer *b)
{
	struct position *p = &s->positions[e->id];
	if (p->of == b || p->several || e->op == IR_LOAD)
		return;
	p->several = p->of;
	p->of = b;
	for (int i = 0; i < e->n; i++)
		mark_position(s, e->arg[i], b);
}

static void mark_load(void *user, expr e)
{
	if (e->op == IR_LOAD)
		mark_position(user, e->arg[0], e->buf);
}

/* The number of e's operations, each where it is used; divisions, loads and selections count three. Stops at `enough`.
 */
static int operations(expr e, int enough)
{
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_ELEMENT)
		return 0;
	int n = e->op == IR_FLOORDIV || e->op == IR_MOD || e->op == IR_LOAD || e->op == IR_SELECT ? 3 : 1;
	for (int i = 0; i < e->n && n < enough; i++)
		n += operations(e->arg[i], enough - n);
	return n;
}

/* True if a name makes the text shorter: loads and real work, but index arithmetic only if it divides or has several
 * operations. */
static bool nameable(expr e)
{
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_AXIS)
		return false;
	if (e->type != TYPE_INDEX)
		return !(e->op == IR_CAST && (e->arg[0]->n == 0 || e->arg[0]->op == IR_ELEMENT));
	return operations(e, 3) >= 3;
}

/* Prints e for nothing but its length, as if what occurs twice had a name. */
static size_t text_length(struct parts *s, expr e)
{
	struct gen_text *g = s->g;
	struct str *out = g->out, text = str_new(s->scratch);
	struct gen_trial outer = g->trial;
	g->out = &text;
	g->trial = s->trial;
	g->trial.number = ++s->trial.number;
	gen_expr(g, e);
	g->trial = outer;
	g->out = out;
	return names_length(str_text(&text));
}

static bool is_long(struct parts *s, expr e)
{
	return e->size > LONG_TEXT / 16 && text_length(s, e) > LONG_TEXT;
}

static bool is_lazy(expr e)
{
	return e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
}

/* True if an operand that is evaluated only under a condition is long. */
static bool has_long_branch(struct parts *s, expr e)
{
	bool has = false;
	for (int i = 1; is_lazy(e) && i < e->n && !has; i++)
		has = !s->sure[e->arg[i]->id] && is_long(s, e->arg[i]);
	return has;
}

/* ---- Declarations. */

/* name = e; in a block that is open. */
static void assign_in_block(struct gen_text *g, const char *name, expr e)
{
	int begin = g->lets.n;
	gen_scope(g);
	g->out->indent++;
	gen_lets(g, e, NULL);
	gen_assign(g, name, NULL, e);
	g->out->indent--;
	gen_lets_end_scope(g, begin);
	gen_scope_end(g);
}

/* True if the operand of a selection may be computed whatever the condition is, in one line. */
static bool is_anyway(struct parts *s, expr e)
{
	return (s->sure[e->id] || s->safe[e->id] || e->n == 0) && !is_long(s, e);
}

/* type name = the operand that is evaluated anyway; then the others, each in a block of its own if it is needed. */
static void declare_by_branches(struct parts *s, const char *type, const char *name, expr e)
{
	struct gen_text *g = s->g;
	bool selects = e->op == IR_SELECT, otherwise = selects && !is_anyway(s, e->arg[2]);
	gen_begin(g, arena_printf(g->out->arena, "%s %s", type, name));
	if (!otherwise) {
		str_add(g->out, " = ");
		gen_expr(g, e->arg[selects ? 2 : 0]);
	}
	str_add(g->out, ";\n");
	gen_begin(g, "if (");
	if (selects)
		gen_expr(g, e->arg[0]);
	else
		str_printf(g->out, "%s%s", e->op == IR_OR ? "!" : "", name);
	str_add(g->out, ") {\n");
	assign_in_block(g, name, e->arg[1]);
	if (otherwise) {
		str_line(g->out, "} else {");
		assign_in_block(g, name, e->arg[2]);
	}
	str_line(g->out, "}");
}

static void declare(struct parts *s, const char *qualifier, const char *type, const char *name, expr e)
{
	if (s->divides && has_long_branch(s, e))
		declare_by_branches(s, type, name, e);
	else
		gen_assign(s->g, arena_printf(s->g->out->arena, "%s%s %s", qualifier, type, name), NULL, e);
}

static void keep_name(struct gen_text *g, expr e, const char *name)
{
	struct gen_let let = { e, !changes(g, e) };
	vec_push(g->out->arena, &g->lets, let);
	set_name(g, e, name);
}

static bool is_whole_number(enum type t)
{
	return type_is_int(t) || t == TYPE_INDEX;
}

/* A cast that prints nothing but its operand, such as of an int to an index, has its operand's name. */
static bool takes_name(struct gen_text *g, expr e)
{
	const char *name = e->op == IR_CAST ? gen_let(g, e->arg[0]) : NULL;
	if (!name || !is_whole_number(e->type) || !is_whole_number(e->arg[0]->type) ||
	    gen_stored_type(g, e->type) != gen_stored_type(g, e->arg[0]->type))
		return false;
	keep_name(g, e, name);
	return true;
}

static void declare_part(struct parts *s, expr e)
{
	struct gen_text *g = s->g;
	if (takes_name(g, e))
		return;
	const char *name = gen_own(g, gen_hint(g, e, s->positions[e->id].several ? NULL : s->positions[e->id].of));
	declare(s, "const ", gen_type(g, e->type), name, e);
	keep_name(g, e, name);
}

/* Some forms print an operand's operands instead of it; what is not printed needs no name for its length. */
static void note_printed(struct parts *s)
{
	for (uint32_t i = 0; i < s->trial.nodes; i++)
		s->printed[i] = s->trial.printed[i] > 0;
}

static struct parts parts_new(struct gen_text *g, expr e, expr also)
{
	struct arena *scratch = arena_new();
	uint32_t n = (also && also->id > e->id ? also->id : e->id) + 1; /* operands have lower ids */
	struct parts s = { .g = g,
		           .uses = NEWN(scratch, int, n),
		           .sure = NEWN(scratch, bool, n),
		           .safe = NEWN(scratch, bool, n),
		           .printed = NEWN(scratch, bool, n),
		           .positions = NEWN(scratch, struct position, n),
		           .trial = { 0, NEWN(scratch, uint32_t, n), n },
		           .scratch = scratch };
	count_uses(&s, e);
	ir_mark_unconditional(e, s.sure);
	size_t length = text_length(&s, e);
	if (also) {
		count_uses(&s, also);
		ir_mark_unconditional(also, s.sure);
		length += text_length(&s, also);
	}
	note_printed(&s);
	ir_walk(e, mark_load, &s);
	if (also)
		ir_walk(also, mark_load, &s);
	s.divides = length > LONG_LINE;
	return s;
}

static void declare_parts(struct parts *s, expr e, expr also)
{
	for (int i = 0; i < s->order.n; i++) {
		expr x = s->order.at[i];
		if (gen_let(s->g, x) || !in_front(s, x) || !nameable(x))
			continue;
		/* What is needed only under a condition stays there if it occurs once. */
		bool here = s->sure[x->id] || x->type == TYPE_INDEX, whole = x == e || x == also;
		bool divides = s->divides && s->printed[x->id] && here;
		if (s->uses[x->id] > 1 || (divides && (has_long_branch(s, x) || (!whole && is_long(s, x)))))
			declare_part(s, x);
	}
}

void gen_lets(struct gen_text *g, expr e, expr also)
{
	struct parts s = parts_new(g, e, also);
	declare_parts(&s, e, also);
	arena_free(s.scratch);
}

void gen_declaration(struct gen_text *g, const char *qualifier, const char *type, const char *name, expr e)
{
	struct parts s = parts_new(g, e, NULL);
	s.order.n--; /* e itself, the last */
	declare_parts(&s, e, NULL);
	declare(&s, qualifier, type, name, e);
	arena_free(s.scratch);
}
