/* Kernels as C11 text for a processor: a loop over blocks, and in it a loop over threads. Kernels with cooperating
 * threads provide a serial body. */
#include "gen/about.h"
#include "gen/wrap.h"

#include <string.h>

#include "base/embed.h"
#include "base/map.h"

/* Element types compute in a wider type. */
static enum type wider(enum type t)
{
	if (type_is_float(t))
		return t == TYPE_F64 ? TYPE_F64 : TYPE_F32;
	return t != TYPE_BOOL && type_info(t)->bits < 32 ? TYPE_I32 : t;
}

static void print_update(struct gen_text *g, const struct ir_update *s)
{
	enum type t = wider(s->buf->type);
	expr old = ir_cast(ir_load(s->at->pool, s->buf, &s->at), t);
	expr new = ir_cast(ir_combine_expr(s->combine, old, ir_cast(s->value, t)), s->buf->type);
	gen_lets(g, new, s->at);
	gen_assign(g, gen_buffer(g, s->buf), s->at, new);
}

/* Moves elements narrower than a byte from or to an array. */
static void print_packed(struct gen_text *g, const struct ir_vector *s, const char *verb)
{
	gen_indent(g);
	str_printf(g->out, "%s_vector_%s(%s, ", verb, type_name(s->buf->type), gen_buffer(g, s->buf));
	gen_expr(g, s->at);
	str_add(g->out, ", ");
	gen_array_row(g, s);
	str_printf(g->out, ", %d);\n", s->width);
}

/* Sorts a row's keys and runs the body for the first ones. */
static void print_sort(struct gen_text *g, const struct ir_sort *s)
{
	const char *sorted = gen_own(g, "sorted"), *rank = gen_name(g, s->rank), *place = gen_name(g, s->place);
	gen_begin(g, "struct sort_item *");
	str_printf(g->out, "%s = sort_new(", sorted);
	gen_expr(g, s->of);
	str_add(g->out, ");\n");
	gen_scope(g);
	gen_indent(g);
	str_printf(g->out, "for (i64 %s = 0; %s < ", place, place);
	gen_operand(g, s->of);
	str_printf(g->out, "; %s++) {\n", place);
	int begin = g->lets.n;
	g->out->indent++;
	gen_lets(g, s->value, NULL);
	gen_indent(g);
	str_printf(g->out, "%s[%s] = (struct sort_item){ key_%sscending_%s(", sorted, place, s->descending ? "de" : "a",
	           type_name(s->value->type));
	gen_expr(g, s->value);
	str_printf(g->out, "), %s };\n", place);
	gen_lets_end_scope(g, begin);
	g->out->indent--;
	gen_scope_end(g);
	str_line(g->out, "}");
	gen_begin(g, "sort_items(");
	str_printf(g->out, "%s, ", sorted);
	gen_expr(g, s->of);
	str_add(g->out, ");\n");
	gen_scope(g);
	gen_indent(g);
	str_printf(g->out, "for (i64 %s = 0; %s < ", rank, rank);
	gen_operand(g, s->count);
	str_printf(g->out, "; %s++) {\n", rank);
	str_line(g->out, "\tconst i64 %s = %s[%s].place;", place, sorted, rank);
	gen_block(g, s->body);
	gen_scope_end(g);
	str_line(g->out, "}");
	str_line(g->out, "free(%s);", sorted);
}

static void print_for(struct gen_text *g, const struct ir_for *s)
{
	const char *name = gen_name(g, s->var);
	gen_fixed(g, s->var);
	gen_scope(g);
	gen_begin(g, "for (i64 ");
	str_printf(g->out, "%s = ", name);
	gen_expr(g, s->from);
	str_printf(g->out, "; %s < ", name);
	gen_operand(g, s->to);
	str_printf(g->out, "; %s += ", name);
	gen_operand(g, s->step);
	str_add(g->out, ") {\n");
	gen_block(g, s->body);
	gen_scope_end(g);
	str_line(g->out, "}");
}

static void print_size(struct gen_text *g, const struct ir_vector *s)
{
	str_add(g->out, ", sizeof ");
	gen_array_row(g, s);
	str_add(g->out, ");\n");
}

/* Vectors are arrays; the compiler vectorises their copies. */
static void print_load_vector(struct gen_text *g, const struct ir_vector *s)
{
	if (!s->stands)
		str_line(g->out, "%s %s[%d];", gen_type(g, s->buf->type), gen_name(g, s->array), s->width);
	if (type_is_packed(s->buf->type)) {
		print_packed(g, s, "load");
		return;
	}
	if (s->where) {
		str_line(g->out, "memset(%s, 0, sizeof %s);", gen_name(g, s->array), gen_name(g, s->array));
		gen_begin(g, "if (");
		gen_expr(g, s->where);
		str_add(g->out, ")\n\t");
	}
	gen_begin(g, "memcpy(");
	gen_array_row(g, s);
	str_printf(g->out, ", %s + ", gen_buffer(g, s->buf));
	gen_offset(g, s->at);
	print_size(g, s);
}

static void print_store_vector(struct gen_text *g, const struct ir_vector *s)
{
	if (type_is_packed(s->buf->type)) {
		print_packed(g, s, "store");
		return;
	}
	gen_begin(g, "memcpy(");
	str_printf(g->out, "%s + ", gen_buffer(g, s->buf));
	gen_offset(g, s->at);
	str_add(g->out, ", ");
	gen_array_row(g, s);
	print_size(g, s);
}

static void print_stmt(struct gen_text *g, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_UPDATE: print_update(g, &s->update); break;
	case IR_FOR: print_for(g, &s->loop); break;
	case IR_LOAD_VECTOR: print_load_vector(g, &s->vector); break;
	case IR_STORE_VECTOR: print_store_vector(g, &s->vector); break;
	case IR_SORT_SERIAL: print_sort(g, &s->sort); break;
	default: ck(!"a serial body has one lane, and calls nothing"); break;
	}
}

static const struct gen_target plain_c = {
	.language = KERNEL_C,
	.thread = "thread",
	.block = "block_x",
	.comment = "/* ",
	.comment_end = " */",
	.leave = "continue", /* the next thread */
	.stmt = print_stmt,
};

static int argument_of(const struct ir_kernel *k, const struct ir_buffer *b)
{
	int i = 0;
	while (k->buffers.at[i] != b)
		i++;
	return i;
}

/* The parameters, which every function has. */
struct head {
	const char *args, *block;
};

static int symbol_argument(const struct ir_kernel *k, expr symbol)
{
	int i = 0;
	while (k->symbols.at[i] != symbol)
		i++;
	return k->buffers.n + i;
}

/* Calls a part with its own arguments and block number. It reads the low four bytes of a number that it takes as 32
 * bits. `first`: the kernel's block that is the part's first; null: it runs as block 0. `parameter`: of the whole
 * kernel, the part's first. */
static void print_part_call(struct gen_text *g, const struct head *h, int i, expr first, int parameter)
{
	const struct ir_kernel *k = g->kernel, *part = k->parts.at[i];
	const char *separator = "";
	const char *args = gen_own(g, arena_printf(g->out->arena, "part_%d", i));
	const char *block = gen_own(g, arena_printf(g->out->arena, "block_%d", i));
	gen_begin(g, "");
	str_printf(g->out, "void *const %s[] = { ", args);
	vec_each (b, &part->buffers) {
		const struct ir_buffer *own = ir_kernel_own(k, *b);
		if (own)
			str_printf(g->out, "%s&(void *){ %s }", separator, gen_buffer(g, own));
		else
			str_printf(g->out, "%s%s[%d]", separator, h->args, argument_of(k, *b));
		separator = ", ";
	}
	vec_each (symbol, &part->symbols) {
		str_printf(g->out, "%s%s[%d]", separator, h->args, symbol_argument(k, *symbol));
		separator = ", ";
	}
	for (int n = 0; n < part->parameters.n; n++) {
		str_printf(g->out, "%s%s[%d]", separator, h->args, k->buffers.n + k->symbols.n + parameter + n);
		separator = ", ";
	}
	str_add(g->out, " };\n");
	gen_begin(g, "");
	if (first) {
		str_printf(g->out, "const uint32_t %s[3] = { (uint32_t)(%s - (", block, gen_block_number(g));
		gen_expr(g, first);
		str_add(g->out, ")) };\n");
	} else {
		str_printf(g->out, "const uint32_t %s[3] = { 0 };\n", block);
	}
	str_line(g->out, "%s(%s, %s);", gen_kernel_name(g, part, true), args, block);
}

/* The first block stores what every block has computed. */
static void print_results(struct gen_text *g, const struct head *h)
{
	const struct ir_kernel *k = g->kernel;
	vec_each (r, &k->results) {
		const char *own = gen_buffer(g, r->own);
		gen_begin(g, "if (");
		str_printf(g->out, "%s == 0)\n", gen_block_number(g));
		g->out->indent++;
		gen_begin(g, "memcpy(");
		str_printf(g->out, "*(void *const *)%s[%d], %s, sizeof %s);\n", h->args, argument_of(k, r->buf), own,
		           own);
		g->out->indent--;
	}
}

static void print_parts(struct gen_text *g, const struct head *h)
{
	const struct ir_kernel *k = g->kernel;
	expr first = ir_index(k->blocks->pool, 0);
	vec_each (r, &k->results) {
		gen_begin(g, "");
		str_printf(g->out, "%s %s[%lld];\n", gen_type(g, r->own->type), gen_buffer(g, r->own),
		           (long long)r->own->dim[0]->i);
	}
	for (int i = 0, parameter = 0; i < k->parts.n; parameter += k->parts.at[i++]->parameters.n) {
		const struct ir_kernel *part = k->parts.at[i];
		if (i < k->repeated) {
			print_part_call(g, h, i, NULL, parameter);
			continue;
		}
		if (k->repeated && i == k->repeated)
			print_results(g, h);
		expr end = ir_binary(IR_ADD, first, part->blocks);
		if (!k->in_turn) {
			gen_begin(g, "if (");
			gen_expr(g, first);
			str_printf(g->out, " <= %s && %s < ", gen_block_number(g), gen_block_number(g));
			gen_operand(g, end);
			str_add(g->out, ") {\n");
			g->out->indent++;
		}
		print_part_call(g, h, i, first, parameter);
		if (!k->in_turn) {
			g->out->indent--;
			str_line(g->out, "}");
			first = end;
		}
	}
}

static void print_buffers(struct gen_text *g, const struct head *h)
{
	const struct ir_kernel *k = g->kernel;
	int n = 0;
	vec_each (b, &k->buffers) {
		const char *type = gen_element_type(g, (*b)->type), *constant = ir_kernel_writes(k, *b) ? "" : "const ";
		str_printf(g->out, "\t%s%s *%s = *(%s%s *const *)%s[%d];\n", constant, type, gen_buffer(g, *b),
		           constant, type, h->args, n++);
	}
}

static void print_symbols(struct gen_text *g, const struct head *h)
{
	const struct ir_kernel *k = g->kernel;
	vec_each (symbol, &k->symbols)
		str_printf(g->out, "\tconst i64 %s = *(const %s *)%s[%d];\n", gen_symbol(g, *symbol),
		           k->index64 ? "i64" : "i32", h->args, symbol_argument(k, *symbol));
}

static void print_parameters(struct gen_text *g, const struct head *h)
{
	const struct ir_kernel *k = g->kernel;
	int n = k->buffers.n + k->symbols.n;
	for (int i = 0; i < k->parameters.n; i++, n++) {
		const struct ir_parameter *x = &k->parameters.at[i];
		if (!ir_parameter_is_wide(x)) /* C divides */
			str_printf(g->out, "\tconst %s %s = *(const %s *)%s[%d];\n", gen_type(g, x->var->type),
			           gen_name(g, x->var), gen_type(g, x->var->type), h->args, n);
	}
}

static void print_work(struct gen_text *g)
{
	const struct ir_kernel *k = g->kernel;
	vec_each (b, &k->shared)
		str_printf(g->out, "\t%s %s[%lld];\n", gen_type(g, (*b)->type), gen_buffer(g, *b),
		           (long long)(*b)->dim[0]->i);
	if (k->serial.n) {
		gen_block(g, &k->serial);
	} else {
		const char *thread = gen_thread_number(g);
		str_printf(g->out, "\tfor (i64 %s = 0; %s < %d; %s++) {\n", thread, thread, k->threads, thread);
		g->out->indent++;
		gen_block(g, &k->body);
		g->out->indent--;
		str_add(g->out, "\t}\n");
	}
}

/* `part`: a function called by kernels with parts. */
static void print_kernel(struct str *text, const struct ir_kernel *of_plan, bool part, struct gen_about *about,
                         const struct map *reserved)
{
	const struct ir_kernel printed = ir_kernel_printed(of_plan), *k = &printed;
	struct str own = str_new(text->arena), named = str_new(text->arena), *out = &own;
	struct names names = names_new(text->arena, reserved);
	struct gen_text g = { .out = out,
		              .target = &plain_c,
		              .kernel = k,
		              .names = &names,
		              .fixed = map_new(out->arena),
		              .whole = map_new(out->arena) };
	gen_find_whole(&g, &k->body);
	gen_find_whole(&g, &k->serial);
	const struct head h = { gen_own(&g, "args"), gen_own(&g, "block") };
	const char *block = gen_block_number(&g);
	str_add(text, "\n");
	gen_about(text, about, of_plan, part);
	str_printf(out, "%svoid %s(void *const *%s, const uint32_t %s[3])\n{\n", part ? "static " : "",
	           gen_kernel_name(&g, k, part), h.args, h.block);
	if (!k->parts.n)
		print_buffers(&g, &h);
	print_symbols(&g, &h);
	if (!k->parts.n)
		print_parameters(&g, &h);
	str_printf(out, "\tconst i64 %s = %s[0];\n\t(void)%s;\n", block, h.block, block);
	if (k->parts.n) {
		out->indent++;
		print_parts(&g, &h);
		out->indent--;
	} else {
		print_work(&g);
	}
	str_add(out, "}\n");
	names_choose(&named, &names, str_text(out));
	gen_wrap(text, str_text(&named));
}

static void print_plans(struct str *out, const struct ir_plan *const *plans, int n)
{
	const struct embed_file *header = embed_find("rt/device/tpat_cpu.h");
	struct map printed = map_new(out->arena);
	struct gen_about about = { &plain_c, plans, n, map_new(out->arena), map_new(out->arena) };
	const struct map *reserved = names_reserved(KERNEL_C);
	ck(header);
	str_addn(out, header->text, header->size);
	for (int i = 0; i < n; i++)
		vec_each (step, &plans[i]->steps)
			vec_each (k, *step) {
				if (map_get(&printed, (*k)->name))
					continue;
				map_put(&printed, (*k)->name, *k);
				vec_each (part, &(*k)->parts) {
					const char *name = arena_printf(out->arena, "%s_part", (*part)->name);
					if (!map_get(&printed, name))
						print_kernel(out, *part, true, &about, reserved);
					map_put(&printed, name, *part);
				}
				print_kernel(out, *k, false, &about, reserved);
			}
}

const struct language language_c = {
	.name = "C",
	.ending = ".cpu.c",
	.print = print_plans,
	.compile = dev_cpu_compile,
};
