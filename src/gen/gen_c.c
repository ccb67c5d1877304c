/* Kernels as C11 text for a processor: every block in turn, inside it every thread in turn. Kernels whose threads work
 * together bring a serial body of their own. */
#include "gen/text.h"

#include <string.h>

#include "base/embed.h"
#include "base/map.h"

static const struct gen_target plain_c = { .c = true, .thread = "thread", .block = "block_x" };

static void print_block(struct gen_text *g, const struct ir_block *b);

static void begin(struct gen_text *g, const char *text)
{
	gen_indent(g);
	str_add(g->out, text);
}

static void assign(struct gen_text *g, const char *name, expr at, expr value)
{
	begin(g, name);
	if (at) {
		str_add(g->out, "[");
		gen_expr(g, at);
		str_add(g->out, "]");
	}
	str_add(g->out, " = ");
	gen_expr(g, value);
	str_add(g->out, ";\n");
}

/* Arithmetic on an element type happens in a wider one. */
static enum type wider(enum type t)
{
	if (type_is_float(t))
		return t == TYPE_F64 ? TYPE_F64 : TYPE_F32;
	return t != TYPE_BOOL && type_info(t)->bits < 32 ? TYPE_I32 : t;
}

static void print_update(struct gen_text *g, const struct ir_stmt *s)
{
	enum type t = wider(s->buf->type);
	expr old = ir_cast(ir_load(s->at->pool, s->buf, &s->at), t);
	expr new = ir_cast(ir_combine_expr(s->combine, old, ir_cast(s->value, t)), s->buf->type);
	gen_lets_end(g);
	gen_lets(g, new, s->at);
	assign(g, s->buf->name, s->at, new);
}

/* Between an array and elements narrower than a byte. */
static void print_packed(struct gen_text *g, const struct ir_stmt *s, const char *verb)
{
	gen_indent(g);
	str_printf(g->out, "%s_vector_%s(%s, ", verb, type_name(s->type), s->buf->name);
	gen_expr(g, s->at);
	str_printf(g->out, ", %s, %d);\n", s->name, s->width);
}

/* A row: its keys, in order, and what is to be done with the first of them. */
static void print_sort(struct gen_text *g, const struct ir_stmt *s)
{
	begin(g, "struct sort_item *sorted = sort_new(");
	gen_expr(g, s->to);
	str_add(g->out, ");\n");
	begin(g, "");
	str_printf(g->out, "for (i64 %s = 0; %s < ", s->name2, s->name2);
	gen_operand(g, s->to);
	str_printf(g->out, "; %s++) {\n", s->name2);
	g->out->indent++;
	gen_lets(g, s->value, NULL);
	begin(g, "");
	str_printf(g->out, "sorted[%s] = (struct sort_item){ key_%sscending_%s(", s->name2, s->mutable ? "de" : "a",
	           type_name(s->value->type));
	gen_expr(g, s->value);
	str_printf(g->out, "), %s };\n", s->name2);
	gen_lets_end(g);
	g->out->indent--;
	str_line(g->out, "}");
	begin(g, "sort_items(sorted, ");
	gen_expr(g, s->to);
	str_add(g->out, ");\n");
	begin(g, "");
	str_printf(g->out, "for (i64 %s = 0; %s < ", s->name, s->name);
	gen_operand(g, s->from);
	str_printf(g->out, "; %s++) {\n", s->name);
	str_line(g->out, "\tconst i64 %s = sorted[%s].place;", s->name2, s->name);
	print_block(g, s->body);
	str_line(g->out, "}");
	str_line(g->out, "free(sorted);");
}

static void print_stmt(struct gen_text *g, const struct ir_stmt *s)
{
	const char *type = gen_type(g, s->type);
	if (s->kind == IR_SORT_SERIAL) {
		print_sort(g, s);
		return;
	}
	if (s->value || s->at)
		gen_lets(g, s->value ? s->value : s->at, s->value ? s->at : NULL);
	switch (s->kind) {
	case IR_COMMENT: str_line(g->out, "/* %s */", s->text); break;
	case IR_DECLARE:
		assign(g, arena_printf(g->out->arena, "%s%s %s", s->mutable ? "" : "const ", type, s->name), NULL,
		       s->value);
		break;
	case IR_ASSIGN: assign(g, s->name, NULL, s->value); break;
	case IR_SET: assign(g, s->name, s->at, s->value); break;
	case IR_STORE:
		ck(!type_is_packed(s->buf->type));
		assign(g, s->buf->name, s->at, s->value);
		break;
	case IR_UPDATE: print_update(g, s); break;
	case IR_FOR:
		begin(g, "for (i64 ");
		str_printf(g->out, "%s = ", s->name);
		gen_expr(g, s->from);
		str_printf(g->out, "; %s < ", s->name);
		gen_operand(g, s->to);
		str_printf(g->out, "; %s += ", s->name);
		gen_operand(g, s->step);
		str_add(g->out, ") {\n");
		print_block(g, s->body);
		str_line(g->out, "}");
		break;
	case IR_IF:
	case IR_RETURN_IF:
		begin(g, "if (");
		gen_expr(g, s->value);
		gen_lets_end(g);
		str_add(g->out, s->kind == IR_IF ? ") {\n" : ")\n");
		if (s->kind == IR_IF) {
			print_block(g, s->body);
			str_line(g->out, "}");
		} else {
			str_line(g->out, "\tcontinue;"); /* the next thread */
		}
		break;
	case IR_BREAK_IF:
		begin(g, "if (");
		gen_expr(g, s->value);
		str_add(g->out, ")\n");
		str_line(g->out, "\tbreak;");
		break;
	case IR_ARRAY: str_line(g->out, "%s %s[%d];", type, s->name, s->width); break;
	case IR_LOAD_VECTOR:
		if (!s->mutable)
			str_line(g->out, "%s %s[%d];", type, s->name, s->width);
		if (type_is_packed(s->type)) {
			print_packed(g, s, "load");
			break;
		}
		begin(g, "memcpy(");
		str_printf(g->out, "%s, %s + ", s->name, s->buf->name);
		gen_operand(g, s->at);
		str_printf(g->out, ", sizeof %s);\n", s->name);
		break;
	case IR_STORE_VECTOR:
		if (type_is_packed(s->type)) {
			print_packed(g, s, "store");
			break;
		}
		begin(g, "memcpy(");
		str_printf(g->out, "%s + ", s->buf->name);
		gen_operand(g, s->at);
		str_printf(g->out, ", %s, sizeof %s);\n", s->name, s->name);
		break;
	case IR_SYNC:
	case IR_LANES_COMBINE:
	case IR_LANES_SCAN:
	case IR_ITEMS_SCAN:
	case IR_TILE_NEXT:
	case IR_TILES_BEFORE:
	case IR_SHARED:
	case IR_LOCAL:
	case IR_LAMBDA:
	case IR_INVOKE:
	case IR_SORT_SERIAL: ck(!"a serial body has one lane, and sorts as is printed above"); break;
	}
	gen_lets_end(g);
}

static void print_block(struct gen_text *g, const struct ir_block *b)
{
	g->out->indent++;
	for (int i = 0; i < b->n; i++)
		print_stmt(g, &b->at[i]);
	g->out->indent--;
}

static void print_kernel(struct str *out, const struct ir_kernel *k)
{
	struct gen_text g = { .out = out, .target = &plain_c, .kernel = k };
	int n = 0;
	gen_about(&g);
	str_printf(out, "void %s(void *const *args, const uint32_t block[3])\n{\n", k->name);
	vec_each (b, &k->buffers) {
		const char *type = gen_element_type(&g, (*b)->type), *constant = ir_kernel_writes(k, *b) ? "" : "const ";
		str_printf(out, "\t%s%s *%s = *(%s%s *const *)args[%d];\n", constant, type, (*b)->name, constant, type,
		           n++);
	}
	vec_each (name, &k->symbols)
		str_printf(out, "\tconst i64 %s = *(const %s *)args[%d];\n", gen_symbol(&g, *name),
		           k->index64 ? "i64" : "i32", n++);
	str_add(out, "\tconst i64 block_x = block[0];\n\t(void)block_x;\n");
	vec_each (b, &k->shared)
		str_printf(out, "\t%s %s[%lld];\n", gen_type(&g, (*b)->type), (*b)->name, (long long)(*b)->dim[0]->i);
	if (k->serial.n) {
		print_block(&g, &k->serial);
	} else {
		str_printf(out, "\tfor (i64 thread = 0; thread < %d; thread++) {\n", k->threads);
		out->indent++;
		print_block(&g, &k->body);
		out->indent--;
		str_add(out, "\t}\n");
	}
	str_add(out, "}\n");
}

void gen_c(struct str *out, const struct ir_plan *const *plans, int n)
{
	const struct embed_file *header = embed_find("rt/device/tpat_cpu.h");
	struct map printed = map_new(out->arena);
	ck(header);
	str_addn(out, header->text, header->size);
	for (int i = 0; i < n; i++)
		vec_each (step, &plans[i]->steps)
			vec_each (k, *step) {
				if (map_get(&printed, (*k)->name))
					continue;
				map_put(&printed, (*k)->name, *k);
				str_add(out, "\n");
				print_kernel(out, *k);
			}
}
