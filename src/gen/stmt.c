/* Prints the statements common to both languages, and declares their common subexpressions. For language-specific
 * statements see gen_cuda.c and gen_c.c. */
#include "gen/text.h"

static expr value_of(const struct ir_stmt *s)
{
	return s->kind == IR_ASSIGN ? s->assign.value : s->kind == IR_SET ? s->set.value : NULL;
}

/* True for the variable that a statement assigns, or an element of the array that it sets. */
static bool is_own(const struct ir_stmt *s, expr e)
{
	return s->kind == IR_SET ? e->op == IR_ELEMENT && e->var == s->set.array
	                         : e->op == IR_VAR && e->var == s->assign.var;
}

bool gen_adds_to_itself(const struct ir_stmt *s)
{
	expr e = value_of(s);
	return e && e->op == IR_ADD && (is_own(s, e->arg[0]) || is_own(s, e->arg[1]));
}

/* True for the element that a statement sets, and for the variable that it assigns. */
static bool is_target(const struct ir_stmt *s, expr e)
{
	if (!is_own(s, e) || s->kind == IR_ASSIGN)
		return is_own(s, e);
	return s->set.row ? e->arg[0] == s->set.row && e->arg[1] == s->set.at : e->arg[0] == s->set.at;
}

/* Returns the other term if a statement adds it to its own variable or element; else null. */
static expr added(const struct gen_text *g, const struct ir_stmt *s)
{
	expr e = value_of(s);
	if (!gen_adds_to_itself(s) || !gen_sum_is_infix(g, e))
		return NULL;
	return is_target(s, e->arg[0]) ? e->arg[1] : is_target(s, e->arg[1]) ? e->arg[0] : NULL;
}

static void print_assignment(struct gen_text *g, const struct ir_stmt *s)
{
	const struct ir_assign *a = &s->assign;
	expr plus = added(g, s);
	gen_begin(g, gen_name(g, a->var));
	gen_assign_by(g, plus ? "+=" : "=", plus ? plus : a->value);
}

static void print_set(struct gen_text *g, const struct ir_stmt *s)
{
	const struct ir_set *a = &s->set;
	expr plus = added(g, s);
	const expr at[] = { a->row, a->at };
	gen_indent(g);
	gen_element(g, a->array, a->row ? 2 : 1, a->row ? at : &a->at);
	gen_assign_by(g, plus ? "+=" : "=", plus ? plus : a->value);
}

static void print_declaration(struct gen_text *g, const struct ir_declare *s)
{
	if (!*s->var->hint)
		names_object(g->names, NAME_VARIABLE, s->var, gen_hint(g, s->value, NULL));
	gen_declaration(g, s->mutable ? "" : "const ", gen_type(g, s->var->type), gen_name(g, s->var), s->value);
	gen_declared(g, s->var, s->mutable ? NULL : s->value);
	if (!s->mutable)
		gen_fixed(g, s->var);
}

static void print_array(struct gen_text *g, const struct ir_variable *v)
{
	gen_begin(g, gen_type(g, v->type));
	str_printf(g->out, " %s", gen_name(g, v));
	gen_dims(g, v);
	str_add(g->out, ";\n");
	gen_declared(g, v, NULL);
}

static void print_store(struct gen_text *g, const struct ir_store *s)
{
	if (!gen_is_checked(g, s->buf)) {
		gen_assign(g, gen_buffer(g, s->buf), s->at, s->value);
		return;
	}
	gen_begin(g, gen_buffer(g, s->buf));
	str_add(g->out, "[");
	gen_position(g, s->buf, s->at, 1, NULL);
	str_add(g->out, "] = ");
	gen_expr(g, s->value);
	str_add(g->out, ";\n");
}

static void print_branch(struct gen_text *g, const struct ir_block *body)
{
	str_add(g->out, "{\n");
	gen_scope(g);
	gen_block(g, body);
	gen_scope_end(g);
	gen_begin(g, "}");
}

/* otherwise: runs if the condition does not hold; may be null. */
static void print_if(struct gen_text *g, const struct ir_if *s, const struct ir_block *otherwise)
{
	gen_indent(g);
	if (!ir_is_int(s->condition, 1)) {
		str_add(g->out, "if (");
		gen_expr(g, s->condition);
		str_add(g->out, ") ");
	}
	print_branch(g, s->body);
	if (otherwise) {
		str_add(g->out, " else ");
		print_branch(g, otherwise);
	}
	str_add(g->out, "\n");
}

static void print_leave_if(struct gen_text *g, expr condition, const char *leave)
{
	gen_begin(g, "if (");
	gen_expr(g, condition);
	str_add(g->out, ")\n");
	str_line(g->out, "\t%s;", leave);
}

/* Declares variables for parts of the value and position that a statement evaluates first. Declarations, loops,
 * functions and sorts do that themselves. */
static void declare_lets(struct gen_text *g, const struct ir_stmt *s)
{
	expr value = NULL, at = NULL;
	switch (s->kind) {
	case IR_ASSIGN: value = s->assign.value; break;
	case IR_SET:
		value = s->set.value;
		at = s->set.at;
		break;
	case IR_IF: value = s->branch.condition; break;
	case IR_RETURN_IF:
	case IR_BREAK_IF: value = s->leave; break;
	case IR_STORE:
		value = s->store.value;
		at = s->store.at;
		break;
	case IR_UPDATE:
		value = s->update.value;
		at = s->update.at;
		break;
	case IR_LOAD_VECTOR:
	case IR_STORE_VECTOR:
		value = s->vector.where;
		at = s->vector.at;
		break;
	case IR_ITEMS_SCAN: value = s->items.none; break;
	case IR_TILES_BEFORE:
		value = s->before.none;
		at = s->before.tile;
		break;
	default: break;
	}
	if (value || at)
		gen_lets(g, value ? value : at, value ? at : NULL);
}

struct fixed {
	const struct gen_text *g;
	bool all;
};

static void check_fixed(void *user, expr e)
{
	struct fixed *x = user;
	bool own = e->op == IR_VAR && e->var->kind == IR_OWN;
	x->all &= e->op != IR_LOAD && e->op != IR_ELEMENT && (!own || map_get_u64(&x->g->fixed, (uintptr_t)e->var));
}

/* Returns the branch of the statement after s if that runs whenever the one of s does not; else null. */
static const struct ir_block *otherwise_of(struct gen_text *g, const struct ir_stmt *s, const struct ir_stmt *next)
{
	if (s->kind != IR_IF || next->kind != IR_IF || ir_unary(IR_NOT, s->branch.condition) != next->branch.condition)
		return NULL;
	struct fixed x = { g, true };
	ir_walk(s->branch.condition, check_fixed, &x);
	return x.all ? next->branch.body : NULL;
}

static void print_stmt(struct gen_text *g, const struct ir_stmt *s, const struct ir_block *otherwise)
{
	bool adds = gen_adds_to_itself(s);
	g->total = !adds ? NULL : s->kind == IR_SET ? s->set.value : s->assign.value;
	declare_lets(g, s);
	switch (s->kind) {
	case IR_COMMENT: str_line(g->out, "%s%s%s", g->target->comment, s->comment, g->target->comment_end); break;
	case IR_DECLARE: print_declaration(g, &s->declare); break;
	case IR_ASSIGN: print_assignment(g, s); break;
	case IR_SET: print_set(g, s); break;
	case IR_STORE:
		ck(!type_is_packed(s->store.buf->type));
		print_store(g, &s->store);
		break;
	case IR_IF: print_if(g, &s->branch, otherwise); break;
	case IR_RETURN_IF: print_leave_if(g, s->leave, g->target->leave); break;
	case IR_BREAK_IF: print_leave_if(g, s->leave, "break"); break;
	case IR_ARRAY: print_array(g, s->array.var); break;
	default: g->target->stmt(g, s); break;
	}
	gen_lets_end(g);
}

/* True for the declaration of an array of one element, printed as a scalar, and the statement after it that sets it. */
static bool is_first_value(const struct gen_text *g, const struct ir_stmt *s, const struct ir_stmt *next)
{
	if (s->kind != IR_ARRAY || next->kind != IR_SET || next->set.array != s->array.var || gen_adds_to_itself(next))
		return false;
	for (int i = 0; i < s->array.var->rank; i++)
		if (gen_has_dim(g, s->array.var, i))
			return false;
	return true;
}

static void print_first_value(struct gen_text *g, const struct ir_set *s)
{
	gen_declaration(g, "", gen_type(g, s->array->type), gen_name(g, s->array), s->value);
	gen_declared(g, s->array, NULL);
	gen_lets_end(g);
}

void gen_block(struct gen_text *g, const struct ir_block *b)
{
	gen_lets_end(g);
	int begin = g->lets.n;
	g->out->indent++;
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i], *next = i + 1 < b->n ? s + 1 : NULL;
		const struct ir_block *otherwise = next ? otherwise_of(g, s, next) : NULL;
		bool begins = next && is_first_value(g, s, next);
		if (begins)
			print_first_value(g, &next->set);
		else
			print_stmt(g, s, otherwise);
		i += otherwise || begins ? 1 : 0;
	}
	g->out->indent--;
	gen_lets_end_scope(g, begin);
}
