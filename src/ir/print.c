/* The text form of a program. The tests read it back to the same program.
 *
 *   program NAME(x: f32[N,768], ...) -> (y: f32[N,768])
 *     const c: i64[2] = {1, 2}
 *     m: f32[N] = sum (i | r<768) x[i,r] then it * 0.5
 *     y: f32[N,768] = map (i, j) let a = x[i,j]; a - m[i]
 *     z: f32[N,768] = scatter sum (i, j | r<5) init y[i,j] at [index(n[r]), 0] value x[0,r] where 0 <= r
 *     s: i64[N,5] = sort descending along j (i, j | r<768) x[i,r]
 *     k: i64[K] = compact count (| r<N) r where 0.0 < m[r]        with "size K = count <= N" in the head
 *     loop turn<N while 0.0 < h[0] {
 *       carry h: f32[768] (i) 0.0
 *       g: f32[768] = map (i) h[i] + x[turn,i]
 *       next h = g
 *       collect y: f32[N,768] at turn = g
 *     } */
#include "ir/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "ir/axis_names.h"

const char *const ir_axis_names[2][IR_MAX_RANK] = {
	{ "i", "j", "k", "l", "m", "n", "i6", "i7", "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15" },
	{ "r", "s", "t", "u", "v", "w", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" },
};

static const char *axis_name(int64_t axis, int out_rank)
{
	return axis < out_rank ? ir_axis_names[0][axis] : ir_axis_names[1][axis - out_rank];
}

struct printer {
	struct str *out;
	int out_rank;
	const char **let; /* names of shared nodes by id, or null */
};

enum { PREC_COMPARE = 1, PREC_ADD, PREC_MUL, PREC_ATOM };

static int precedence(expr e)
{
	switch (e->op) {
	case IR_EQ:
	case IR_LT:
	case IR_LE: return PREC_COMPARE;
	case IR_ADD:
	case IR_SUB: return PREC_ADD;
	case IR_MUL:
	case IR_DIV: return PREC_MUL;
	default: return PREC_ATOM;
	}
}

static void print_float(struct str *out, double x, enum type t)
{
	char text[NUMBER_TEXT];
	str_add(out, number_text(text, x, t == TYPE_F32));
	if (isfinite(x) && !strpbrk(text, ".e"))
		str_add(out, ".0");
}

static void print(struct printer *p, expr e, int outer);

static void print_list(struct printer *p, int n, const expr *arg)
{
	for (int i = 0; i < n; i++) {
		if (i)
			str_add(p->out, ", ");
		print(p, arg[i], 0);
	}
}

static void print_node(struct printer *p, expr e)
{
	int prec = precedence(e);
	switch (e->op) {
	case IR_CONST_INT:
		if (e->type == TYPE_BOOL)
			str_add(p->out, e->i ? "true" : "false");
		else if (e->type == TYPE_INDEX)
			str_printf(p->out, "%lld", (long long)e->i);
		else if (e->type == TYPE_U64)
			str_printf(p->out, "u64(%llu)", (unsigned long long)e->i);
		else
			str_printf(p->out, "%s(%lld)", type_name(e->type), (long long)e->i);
		break;
	case IR_CONST_FLOAT:
		if (e->type != TYPE_F32)
			str_printf(p->out, "%s(", type_name(e->type));
		print_float(p->out, e->f, e->type);
		if (e->type != TYPE_F32)
			str_add(p->out, ")");
		break;
	case IR_AXIS: str_add(p->out, axis_name(e->i, p->out_rank)); break;
	case IR_SYMBOL: str_add(p->out, e->name); break;
	case IR_VAR: str_add(p->out, e->var->hint); break;
	case IR_ACC: str_add(p->out, "it"); break;
	case IR_LOAD:
	case IR_ELEMENT:
		str_printf(p->out, "%s[", e->op == IR_LOAD ? e->buf->name : e->var->hint);
		print_list(p, e->n, e->arg);
		str_add(p->out, "]");
		break;
	case IR_CAST:
	case IR_CAST_SAT:
	case IR_BITCAST:
		if (e->op != IR_CAST)
			str_printf(p->out, "%s_", ir_op_info[e->op].text);
		str_add(p->out, e->type == TYPE_INDEX ? "index" : type_name(e->type));
		str_add(p->out, "(");
		print(p, e->arg[0], 0);
		str_add(p->out, ")");
		break;
	default:
		if (prec < PREC_ATOM) {
			print(p, e->arg[0], prec);
			str_printf(p->out, " %s ", ir_op_info[e->op].text);
			print(p, e->arg[1], prec + 1);
		} else {
			str_printf(p->out, "%s(", ir_op_info[e->op].text);
			print_list(p, e->n, e->arg);
			str_add(p->out, ")");
		}
	}
}

static void print(struct printer *p, expr e, int outer)
{
	if (p->let && p->let[e->id]) {
		str_add(p->out, p->let[e->id]);
		return;
	}
	bool brackets = precedence(e) < outer;
	if (brackets)
		str_add(p->out, "(");
	print_node(p, e);
	if (brackets)
		str_add(p->out, ")");
}

void ir_print_expr(struct str *out, expr e, int out_rank)
{
	struct printer p = { out, out_rank, NULL };
	print(&p, e, 0);
}

/* ---- Shared nodes get a name: "let a = ...; ". */

struct share {
	int *uses;
	struct {
		VEC(expr);
	} order;
	struct arena *scratch;
	int lets; /* next free number: not a symbol's name */
};

static void count_uses(void *user, expr e)
{
	struct share *s = user;
	vec_push(s->scratch, &s->order, e);
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++)
		s->uses[e->arg[i]->id]++;
	if (e->op == IR_SYMBOL && e->name[0] == '_' && strlen(e->name) < 10) {
		int number = atoi(e->name + 1);
		s->lets = number >= s->lets ? number + 1 : s->lets;
	}
}

/* True if a name makes the text shorter to read: for real work, and for expressions that are long or used often. */
static bool nameable(expr e, int uses)
{
	enum { LONG = 40, SHORT = 6, OFTEN = 16 };
	if (uses < 2 || e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR)
		return false;
	return e->size > LONG || ir_cost(e) > 2 || (e->size >= SHORT && e->size * (uses - 1) >= OFTEN);
}

/* Prints one expression of a stage with its lets. */
static void print_with_lets(struct str *out, expr e, int out_rank)
{
	struct arena *scratch = arena_new();
	struct share s = { NEWN(scratch, int, e->id + 1), { 0 }, scratch, 0 };
	struct printer p = { out, out_rank, NEWN(scratch, const char *, e->id + 1) };
	const char *separator = "let ";
	ir_walk(e, count_uses, &s);
	for (int i = 0; i < s.order.n; i++) {
		expr x = s.order.at[i];
		if (x == e || !nameable(x, s.uses[x->id]))
			continue;
		str_printf(out, "%s_%d = ", separator, s.lets);
		print(&p, x, 0);
		p.let[x->id] = arena_printf(scratch, "_%d", s.lets++);
		separator = ", ";
	}
	if (separator[0] == ',')
		str_add(out, "; ");
	print(&p, e, 0);
	arena_free(scratch);
}

static void print_shape(struct str *out, const struct ir_buffer *b)
{
	str_printf(out, "%s[", type_name(b->type));
	for (int i = 0; i < b->rank; i++) {
		if (i)
			str_add(out, ",");
		ir_print_expr(out, b->dim[i], 0);
	}
	str_add(out, "]");
}

static void print_buffers(struct str *out, int n, struct ir_buffer *const *b)
{
	str_add(out, "(");
	for (int i = 0; i < n; i++) {
		str_printf(out, "%s%s: ", i ? ", " : "", b[i]->name);
		print_shape(out, b[i]);
	}
	str_add(out, ")");
}

static void print_constant(struct str *out, const struct ir_buffer *b, int64_t most)
{
	int64_t n = tensor_count(b->data);
	str_printf(out, "  %s %s: ", b->weight ? "weight" : "const", b->name);
	print_shape(out, b);
	if (b->weight) {
		str_add(out, "\n");
		return;
	}
	str_add(out, " = {");
	for (int64_t i = 0; i < n; i++) {
		if (i)
			str_add(out, ", ");
		if (i == most) {
			str_add(out, "...");
			break;
		}
		if (type_is_float(b->type))
			print_float(out, tensor_float(b->data, i), b->type);
		else
			str_printf(out, "%lld", (long long)tensor_int(b->data, i));
	}
	str_add(out, "}\n");
}

/* "(i, j | r<N) " */
static void print_axes(struct str *out, int rank, int space_rank, const expr *space)
{
	str_add(out, "(");
	for (int k = 0; k < rank; k++)
		str_printf(out, "%s%s", k ? ", " : "", ir_axis_names[0][k]);
	for (int k = 0; k < space_rank; k++) {
		str_printf(out, "%s%s<", k ? ", " : rank ? " | " : "| ", ir_axis_names[1][k]);
		ir_print_expr(out, space[k], 0);
	}
	str_add(out, ") ");
}

static void print_stage(struct str *out, const struct ir_stage *s, int indent);

static void print_loop(struct str *out, const struct ir_stage *s, int indent)
{
	const struct ir_loop *l = s->loop;
	str_printf(out, "%*sloop %s<", indent, "", l->index->var->hint);
	ir_print_expr(out, l->trip, 0);
	if (s->where) {
		str_add(out, " while ");
		print_with_lets(out, s->where, 0);
	}
	str_add(out, " {\n");
	vec_each (c, &l->carries) {
		str_printf(out, "%*scarry %s: ", indent + 2, "", c->state->name);
		print_shape(out, c->state);
		str_add(out, " ");
		print_axes(out, c->state->rank, 0, NULL);
		print_with_lets(out, c->init, c->state->rank);
		str_add(out, "\n");
	}
	vec_each (b, &l->body)
		print_stage(out, *b, indent + 2);
	vec_each (c, &l->carries)
		str_printf(out, "%*snext %s = %s\n", indent + 2, "", c->state->name, c->next->name);
	vec_each (c, &l->collects) {
		str_printf(out, "%*scollect %s: ", indent + 2, "", c->out->name);
		print_shape(out, c->out);
		str_add(out, " at ");
		ir_print_expr(out, c->at, 0);
		str_printf(out, " = %s\n", c->from->name);
	}
	str_printf(out, "%*s}\n", indent, "");
}

static const char *stage_word(const struct ir_stage *s)
{
	switch (s->kind) {
	case IR_MAP: return "map";
	case IR_SCATTER: return "scatter ";
	case IR_SCAN: return "scan ";
	case IR_SORT: return s->reverse ? "sort descending" : "sort";
	case IR_PICK: return "pick";
	case IR_COMPACT: return "compact ";
	default: return "";
	}
}

static void print_stage(struct str *out, const struct ir_stage *s, int indent)
{
	if (s->kind == IR_LOOP) {
		print_loop(out, s, indent);
		return;
	}
	int rank = s->out->rank, inner_rank = s->kind == IR_SCATTER || s->kind == IR_COMPACT ? 0 : rank;
	bool combines = s->kind == IR_REDUCE || s->kind == IR_SCATTER || s->kind == IR_SCAN;
	str_printf(out, "%*s%s: ", indent, "", s->out->name);
	print_shape(out, s->out);
	str_printf(out, " = %s%s ", stage_word(s),
	           combines                ? ir_combine_name[s->combine]
	           : s->kind == IR_COMPACT ? s->count->name
	                                   : "");
	if (s->kind == IR_SCAN)
		str_printf(out, "along %s %s%s", ir_axis_names[0][s->axis], s->exclusive ? "exclusive " : "",
		           s->reverse ? "reverse " : "");
	if (s->kind == IR_SORT || s->kind == IR_PICK)
		str_printf(out, "along %s ", ir_axis_names[0][s->axis]);
	print_axes(out, s->kind == IR_COMPACT ? 0 : rank, s->space_rank, s->space);
	if (s->kind == IR_SCATTER) {
		str_add(out, "init ");
		print_with_lets(out, s->init, rank);
		str_add(out, " at [");
		for (int k = 0; k < rank; k++) {
			if (k)
				str_add(out, ", ");
			print_with_lets(out, s->at[k], inner_rank);
		}
		str_add(out, "] value ");
	}
	print_with_lets(out, s->value, inner_rank);
	if (s->where) {
		str_add(out, " where ");
		print_with_lets(out, s->where, inner_rank);
	}
	if (s->post) {
		str_add(out, " then ");
		print_with_lets(out, s->post, rank);
	}
	str_add(out, "\n");
}

void ir_print_stage(struct str *out, const struct ir_stage *s)
{
	print_stage(out, s, 2);
}

static void print_quoted(struct str *out, const char *text)
{
	str_add(out, "\"");
	for (const char *c = text; *c; c++)
		str_addn(out, *c == '"' || (unsigned char)*c < ' ' ? "?" : c, 1);
	str_add(out, "\"");
}

const char *const ir_relation_word[IR_RELATIONS] = { "==", "broadcasts", "is_one_or", "<=" };

/* demand n0 == n1 ("x" 2, "y" 2, "node") */
static void print_demand(struct str *out, const struct ir_demand *d)
{
	str_add(out, "  demand ");
	ir_print_expr(out, d->extent[0], 0);
	str_printf(out, " %s ", ir_relation_word[d->relation]);
	ir_print_expr(out, d->extent[1], 0);
	for (int i = 0; i < 2; i++) {
		str_add(out, i ? ", " : " (");
		print_quoted(out, d->tensor[i] ? d->tensor[i] : "");
		str_printf(out, " %d", d->axis[i]);
	}
	str_add(out, ", ");
	print_quoted(out, d->node);
	str_add(out, ")\n");
}

static void print_program(struct str *out, const struct ir_program *p, int64_t most)
{
	str_printf(out, "program %s", str_identifier(p->arena, p->name));
	print_buffers(out, p->inputs.n, p->inputs.at);
	str_add(out, " -> ");
	print_buffers(out, p->outputs.n, p->outputs.at);
	str_add(out, "\n");
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			print_constant(out, *b, most);
	vec_each (s, &p->sizes) {
		str_printf(out, "  size %s = %s <= ", s->symbol->name, s->count->name);
		ir_print_expr(out, s->limit, 0);
		str_add(out, "\n");
	}
	vec_each (v, &p->values) {
		str_printf(out, "  value %s = ", v->symbol->name);
		if (v->buf)
			str_printf(out, "%s[%lld]", v->buf->name, (long long)v->element);
		else
			ir_print_expr(out, v->known, 0);
		str_add(out, "\n");
	}
	vec_each (b, &p->outputs)
		if ((*b)->replaces)
			str_printf(out, "  replace %s by %s\n", (*b)->replaces->name, (*b)->name);
	vec_each (d, &p->demands)
		print_demand(out, d);
	vec_each (s, &p->stages)
		ir_print_stage(out, *s);
}

void ir_print_program(struct str *out, const struct ir_program *p)
{
	print_program(out, p, INT64_MAX);
}

void ir_print_summary(struct str *out, const struct ir_program *p)
{
	enum { FEW = 6 };
	print_program(out, p, FEW);
}
