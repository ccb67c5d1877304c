/* Objects, calls and includes of the device headers, as CUDA C++. */
#include "gen/gen_device.h"

/* ---- Types. */

static void print_of(struct gen_text *g, const struct ir_template *of)
{
	for (int i = 0; i < of->n; i++) {
		const struct ir_of_arg *a = &of->at[i];
		str_add(g->out, i ? ", " : "<");
		switch (a->kind) {
		case IR_OF_TYPE: str_add(g->out, gen_type(g, a->type)); break;
		case IR_OF_NUMBER: str_printf(g->out, "%d", a->number); break;
		case IR_OF_TRUTH: str_add(g->out, a->number ? "true" : "false"); break;
		case IR_OF_WORD: str_add(g->out, a->word->name); break;
		default: ck(!"no argument of a template");
		}
	}
	str_add(g->out, of->n ? ">" : "");
}

void gen_type_of(struct gen_text *g, const struct ir_device_type *t, struct ir_template of)
{
	str_add(g->out, t->name);
	print_of(g, &of);
}

static void print_object_type(struct gen_text *g, const struct ir_object *o)
{
	gen_type_of(g, o->type, o->of);
}

static void print_type(struct gen_text *g, const struct ir_variable *v)
{
	if (v->object)
		print_object_type(g, v->object);
	else
		str_add(g->out, v->type == TYPE_NONE ? "void" : gen_type(g, v->type));
}

static void print_object(struct gen_text *g, const char *before, const struct ir_variable *v, const char *after)
{
	gen_begin(g, before);
	print_type(g, v);
	str_printf(g->out, " %s", gen_name(g, v));
	gen_dims(g, v);
	str_printf(g->out, "%s;\n", after);
}

void gen_shared(struct gen_text *g, const struct ir_shared *s)
{
	print_object(g, "__shared__ ", s->var, "");
}

void gen_local(struct gen_text *g, const struct ir_local *s)
{
	print_object(g, "", s->var, s->zeros ? " = {}" : "");
}

/* An array is the address of its first object, placed after another variable. */
void gen_placed(struct gen_text *g, const struct ir_place *s)
{
	const struct ir_variable *v = s->var, *after = s->after;
	bool typed = v->object || v->type != TYPE_NONE, single = typed && !v->rank;
	gen_begin(g, "");
	print_type(g, v);
	str_printf(g->out, single ? " &%s = *(" : typed ? " *const %s = (" : " *const %s = ", gen_name(g, v));
	if (typed) {
		print_type(g, v);
		str_add(g->out, " *)");
	}
	if (after->kind == IR_SHARED_MEMORY)
		str_add(g->out, gen_name(g, after));
	else if (after->rank)
		str_printf(g->out, "(%s + %d)", gen_name(g, after), after->dim[0]);
	else
		str_printf(g->out, typed ? "(&%s + 1)" : "&%s + 1", gen_name(g, after));
	str_add(g->out, ";\n");
}

/* ---- Calls. */

void gen_called(struct gen_text *g, const struct ir_device_function *f, struct ir_template of)
{
	str_add(g->out, f->name);
	print_of(g, &of);
}

void gen_function(struct gen_text *g, const struct ir_call *c)
{
	if (c->object)
		str_printf(g->out, "%s.", gen_name(g, c->object));
	gen_called(g, c->function, c->of);
}

static void print_indexed(struct gen_text *g, const struct ir_arg *a)
{
	gen_element(g, a->var, a->indices, a->index);
}

/* An array is its first element's address. */
static void print_member(struct gen_text *g, const struct ir_arg *a)
{
	str_add(g->out, a->at ? "&" : "");
	print_indexed(g, a);
	str_printf(g->out, ".%s", a->member->name);
	if (a->at) {
		str_add(g->out, "[");
		gen_expr(g, a->at);
		str_add(g->out, "]");
	}
}

static void print_place(struct gen_text *g, const struct ir_arg *a)
{
	for (int i = 0; i < a->indices; i++) {
		str_add(g->out, i ? ", " : "{ ");
		gen_expr(g, a->index[i]);
	}
	str_add(g->out, " }");
}

static void print_new(struct gen_text *g, const struct ir_arg *a)
{
	print_object_type(g, a->type);
	str_add(g->out, a->value ? "{ " : "()");
	if (a->value) {
		gen_expr(g, a->value);
		str_add(g->out, " }");
	}
}

static void print_address(struct gen_text *g, const struct ir_arg *a)
{
	str_add(g->out, gen_buffer(g, a->buf));
	if (!ir_is_int(a->at, 0)) {
		str_add(g->out, " + ");
		gen_offset(g, a->at);
	}
}

static void print_call(struct gen_text *g, const struct ir_call *c)
{
	gen_function(g, c);
	str_add(g->out, "(");
	vec_each (a, &c->args) {
		str_add(g->out, a == c->args.at ? "" : ", ");
		switch (a->kind) {
		case IR_ARG_VALUE: gen_expr(g, a->value); break;
		case IR_ARG_VARIABLE: print_indexed(g, a); break;
		case IR_ARG_MEMBER: print_member(g, a); break;
		case IR_ARG_ADDRESS: print_address(g, a); break;
		case IR_ARG_PLACE: print_place(g, a); break;
		case IR_ARG_NEW: print_new(g, a); break;
		case IR_ARG_CALL: print_call(g, a->call); break;
		}
	}
	str_add(g->out, ")");
}

void gen_invoke(struct gen_text *g, const struct ir_call *c)
{
	gen_indent(g);
	if (c->result)
		str_printf(g->out, "const %s %s = ", gen_type(g, c->result->type), gen_name(g, c->result));
	print_call(g, c);
	str_add(g->out, ";\n");
}

/* ---- Includes: the headers a kernel uses, except those that another one includes. */

struct headers {
	VEC(const struct ir_device_header *);
	struct arena *arena;
};

static void add_header(struct headers *h, const struct ir_device_header *header)
{
	vec_each (have, h)
		if (*have == header)
			return;
	vec_push(h->arena, h, header);
}

static void add_object_header(struct headers *h, const struct ir_object *o)
{
	if (o)
		add_header(h, o->type->header);
}

static void add_call_headers(struct headers *h, const struct ir_call *c);

static void add_arg_headers(void *user, const struct ir_arg *a)
{
	add_object_header(user, a->type);
	if (a->call)
		add_call_headers(user, a->call);
}

static void add_call_headers(struct headers *h, const struct ir_call *c)
{
	if (!c->function->method_of)
		add_header(h, c->function->header);
	vec_each (a, &c->args)
		add_arg_headers(h, a);
}

static void add_block_headers(struct headers *h, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		if (ir_stmt_declares(s))
			add_object_header(h, ir_stmt_declares(s)->object);
		if (ir_stmt_call(s))
			add_call_headers(h, ir_stmt_call(s));
		if (ir_stmt_body(s))
			add_block_headers(h, ir_stmt_body(s));
	}
}

static bool includes(const struct ir_device_header *header, const struct ir_device_header *other)
{
	bool found = false;
	for (int i = 0; header->includes[i] && !found; i++)
		found = header->includes[i] == other || includes(header->includes[i], other);
	return found;
}

static void add_kernel_headers(struct headers *all, const struct ir_kernel *k)
{
	struct headers own = { .arena = all->arena };
	add_block_headers(&own, &k->body);
	vec_each (h, &own) {
		bool comes = false;
		vec_each (other, &own)
			comes |= includes(*other, *h);
		if (!comes)
			add_header(all, *h);
	}
}

void gen_includes(struct str *out, const struct ir_plan *const *plans, int n)
{
	struct headers all = { .arena = out->arena };
	add_header(&all, &device_header_device);
	for (int i = 0; i < n; i++)
		vec_each (step, &plans[i]->steps)
			vec_each (k, *step) {
				add_kernel_headers(&all, *k);
				vec_each (part, &(*k)->parts)
					add_kernel_headers(&all, *part);
			}
	vec_each (h, &all)
		str_printf(out, "#include \"%s\"\n", (*h)->name);
}
