/* A region as one tensor program of its own: its symbols are those that its inputs' extents give, its small constants are
 * inside, and its edges have types that TensorRT takes. */
#include <ctype.h>
#include <string.h>

#include "graph/graph_internal.h"

enum { TRT_MAX_RANK = 8 };

struct extent {
	expr graph, program; /* the same extent in the graph's pool and in the program's */
};

/* An element of an input, and what the program calls it. */
struct asked {
	const struct graph_value *v;
	int64_t element;
	expr symbol;
};

struct build {
	struct graph *g;
	const struct graph_region *r;
	const struct graph_program_options *o;
	struct ir_program *p;
	struct graph_scope scope;
	struct {
		VEC(struct extent);
	} extents;                 /* of the inputs, without constants */
	struct map symbols;        /* names taken */
	struct map sizes;          /* of the graph's symbols of sizes: the program's */
	struct {
		VEC(struct asked);
	} asked;                   /* elements of inputs that decide extents */
	const char *missing;       /* symbol that no input's extent gives, when one was needed */
	const struct graph_value *missed; /* the input whose elements need it */
	bool failed;               /* because of that */
};

enum type graph_edge_type(enum type t, const struct graph_program_options *o)
{
	return (o && o->keep_types) || (t != TYPE_BOOL && t != TYPE_U8) ? t : TYPE_I32;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* Extents that are numbers may be larger together than any memory. */
static bool is_countable(const struct graph_value *v)
{
	int64_t count = 1, extent;
	bool empty = false, fits = true;

	for (int k = 0; k < v->rank; k++) {
		if (!ir_const_int(v->dim[k], &extent))
			continue;
		empty |= extent == 0;
		fits &= !__builtin_mul_overflow(count, extent ? extent : 1, &count);
	}
	return empty || !type_info(v->type)->bits || (fits && type_bytes(v->type, count) >= 0);
}

static int check_size(const struct build *b, const struct graph_value *v, const char *what)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];
	struct str text = str_new(b->p->arena);

	if (is_countable(v))
		return 0;
	graph_value_print(&text, v);
	err_set(b->scope.err, ERR_UNSUPPORTED, "node %s (%s, opset %d): %s \"%s\" is %s, which is larger than any memory.",
		n->label, onnx_text(n->proto->op_type), n->opset, what, v->name, str_text(&text));
	return err_advise(b->scope.err, "Export the model anew with extents of a size that is used, or with names for them.");
}

static int check_edge(const struct build *b, const struct graph_value *v, const char *what)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];
	const char *advice, *lack;

	TRY(check_size(b, v, what));
	if (b->o->any_types)
		return 0;
	if (!graph_trt_type(v->type)) {
		lack = graph_trt_lack(v->type, &advice, b->p->arena);
		err_set(b->scope.err, ERR_UNSUPPORTED,
			"node %s (%s, opset %d): %s \"%s\" is a %s tensor; %s, so no plugin can take it.", n->label,
			onnx_text(n->proto->op_type), n->opset, what, v->name, type_info(v->type)->onnx_name, lack);
		return err_advise(b->scope.err, "%s", advice);
	}
	if (v->rank > TRT_MAX_RANK)
		return err_set(b->scope.err, ERR_UNSUPPORTED,
			       "node %s (%s, opset %d): %s \"%s\" has %d axes; TensorRT's tensors have at most %d.", n->label,
			       onnx_text(n->proto->op_type), n->opset, what, v->name, v->rank, TRT_MAX_RANK);
	return 0;
}

static int check_edges(const struct build *b)
{
	vec_each(v, &b->r->inputs)
		TRY(check_edge(b, *v, "input"));
	vec_each(v, &b->r->outputs)
		TRY(check_edge(b, *v, "output"));
	return 0;
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

static expr extent_find(const struct build *b, expr e)
{
	vec_each(x, &b->extents)
		if (x->graph == e)
			return x->program;
	return NULL;
}

/* A graph's expression in the program's symbols; null when an input's extents do not give one that it needs. */
static expr translate(struct build *b, expr e)
{
	expr x = extent_find(b, e), arg[3], rest;
	bool known = true;

	if (x)
		return x;
	if (e->op == IR_CONST_INT)
		return ir_int(b->p->pool, e->type, e->i);
	if (e->op == IR_CONST_FLOAT)
		return ir_float(b->p->pool, e->type, e->f);
	if (e->op == IR_SYMBOL) {
		b->missing = e->name;
		return NULL;
	}
	if (e->n < 1 || e->n > 3)
		return NULL;
	for (int i = 0; i < e->n && known; i++) {
		arg[i] = translate(b, e->arg[i]);
		known = arg[i] != NULL;
	}
	if (known)
		return ir_rebuild(e, arg);
	if (e->type != TYPE_INDEX)
		return NULL;
	vec_each(k, &b->extents) { /* an extent and a number */
		rest = ir_binary(IR_SUB, e, k->graph);
		if (rest->op == IR_CONST_INT)
			return ir_binary(IR_ADD, k->program, ir_index(b->p->pool, rest->i));
	}
	return NULL;
}

static void extent_add(struct build *b, expr graph, expr program)
{
	struct extent x = { graph, program };

	vec_push(b->p->arena, &b->extents, x);
	if (program->op == IR_SYMBOL)
		map_put(&b->symbols, program->name, b->p);
}

/* The symbols of these inputs: first the extents that are plain symbols, then what does not follow from those. */
static void define_symbols(struct build *b)
{
	int fresh = 0;
	char name[32];

	vec_each(pv, &b->r->inputs)
		for (int i = 0; i < (*pv)->rank; i++)
			if ((*pv)->dim[i]->op == IR_SYMBOL && !extent_find(b, (*pv)->dim[i]))
				extent_add(b, (*pv)->dim[i], ir_symbol(b->p->pool, (*pv)->dim[i]->name));
	vec_each(pv, &b->r->inputs) {
		for (int i = 0; i < (*pv)->rank; i++) {
			expr e = (*pv)->dim[i], x = translate(b, e);

			if (x)
				continue;
			do
				snprintf(name, sizeof name, "n%d", fresh++);
			while (map_get(&b->symbols, name));
			extent_add(b, e, ir_symbol(b->p->pool, name));
		}
	}
	vec_each(pv, &b->r->inputs) {
		const struct graph_value *v = *pv;
		int64_t n = v->content && v->rank < 2 ? graph_count(v->rank, v->dim) : 0;

		for (int64_t k = 0; k < n; k++) {
			expr e = v->content[k];

			if (!graph_is_asked(b->g, e) || translate(b, e))
				continue;
			snprintf(name, sizeof name, "%s", e->op == IR_SYMBOL ? e->name : "n0");
			while (map_get(&b->symbols, name))
				snprintf(name, sizeof name, "n%d", fresh++);
			struct asked a = { v, k, ir_symbol(b->p->pool, name) };
			extent_add(b, e, a.symbol);
			vec_push(b->p->arena, &b->asked, a);
		}
	}
	b->missing = NULL;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* "LayerNormalization" -> "layer_normalization", "LSTM" -> "lstm", "MatMul" -> "mat_mul" */
static char *snake(struct arena *a, const char *name)
{
	struct str s = str_new(a);

	for (const char *c = name; *c; c++) {
		bool edge = c > name && isupper((unsigned char)*c) &&
			    (islower((unsigned char)c[-1]) || isdigit((unsigned char)c[-1]) ||
			     (isupper((unsigned char)c[-1]) && islower((unsigned char)c[1])));
		char lower = (char)tolower((unsigned char)*c);

		if (edge)
			str_add(&s, "_");
		str_addn(&s, &lower, 1);
	}
	return str_identifier(a, str_text(&s));
}

static const char *program_name(struct graph *g, const struct graph_region *r, struct arena *a)
{
	const char *first = snake(a, onnx_text(g->nodes.at[r->nodes.at[0]].proto->op_type));

	if (r->nodes.n == 1)
		return first;
	return arena_printf(a, "region_%s_%s", first,
			    snake(a, onnx_text(g->nodes.at[r->nodes.at[r->nodes.n - 1]].proto->op_type)));
}

/* An identifier that no symbol of the program has, and that means nothing else. */
static const char *clear_name(const struct build *b, const char *name)
{
	char *s = str_identifier(b->p->arena, name);

	while (graph_name_reserved(s) || ir_name_reserved(s) || map_get(&b->symbols, s) || ir_size_find(b->p, s))
		s = arena_printf(b->p->arena, "%s_", s);
	return s;
}

static const char *slot_name(const struct build *b, const struct op_slot *slot, int max, int i)
{
	int k = 0;

	while (k < i && k + 1 < max && slot[k + 1].kind)
		k++;
	if (!slot[k].kind)
		return "x";
	return slot[k].kind >= OP_VARIADIC ? arena_printf(b->p->arena, "%s%d", slot[k].name, i - k + 1) : slot[k].name;
}

/* What the program calls a tensor at its edge: a single operator's own name of it, else the tensor's. */
static const char *edge_name(const struct build *b, const struct graph_value *v)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];

	if (b->r->nodes.n == 1 && n->op) {
		if (v->producer == n->index)
			return clear_name(b, slot_name(b, n->op->outputs, OP_MAX_OUTPUTS, v->output));
		for (size_t i = 0; i < n->proto->n_input; i++)
			if (strcmp(n->proto->input[i], v->name) == 0)
				return clear_name(b, slot_name(b, n->op->inputs, OP_MAX_INPUTS, (int)i));
	}
	return clear_name(b, v->name);
}

static struct ir_buffer *buffer_named(const struct ir_program *p, const char *name)
{
	vec_each(x, &p->buffers)
		if (strcmp((*x)->name, name) == 0)
			return *x;
	return NULL;
}

/* Give `buf` this name; a temporary that has it takes the other. Expressions that load the buffers are rebuilt by the
 * first pass of ir_optimise(). */
static void rename_buffer(struct build *b, struct ir_buffer *buf, const char *name)
{
	struct ir_buffer *other = buffer_named(b->p, name);

	if (other == buf)
		return;
	for (int i = 2; other && (other->role == IR_INPUT || other->role == IR_OUTPUT); i++) {
		name = arena_printf(b->p->arena, "%s%d", name, i);
		other = buffer_named(b->p, name);
	}
	if (other)
		other->name = buf->name;
	buf->name = name;
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */

/* The elements of an input in the program's symbols; null when not all of them can be said. */
static const expr *content_of(struct build *b, const struct graph_value *v)
{
	int64_t n = graph_count(v->rank, v->dim);
	expr *content = NEWN(b->p->arena, expr, n + 1);

	for (int64_t k = 0; k < n; k++) {
		content[k] = translate(b, v->content[k]);
		if (!content[k]) {
			b->missed = v;
			return NULL;
		}
	}
	return content;
}

/* out[i...] = cast(in[i...]) */
static struct ir_buffer *cast_map(struct ir_program *p, struct ir_buffer *in, const char *name, enum type t,
				  enum ir_role role)
{
	struct ir_buffer *out = ir_buffer_new(p, name, t, in->rank, in->dim, role);
	struct ir_stage *s = ir_stage_new(p, IR_MAP, out);
	expr index[IR_MAX_RANK];

	for (int i = 0; i < in->rank; i++)
		index[i] = ir_axis(p->pool, i, in->dim[i]);
	s->value = ir_cast(ir_load(p->pool, in, index), t);
	return out;
}

static int add_input(struct build *b, struct graph_value *v)
{
	enum type edge = graph_edge_type(v->type, b->o);
	expr dim[IR_MAX_RANK];
	struct ir_buffer *buf, *inner;

	for (int i = 0; i < v->rank; i++) {
		dim[i] = translate(b, v->dim[i]);
		ck(dim[i]);
	}
	buf = inner = ir_buffer_new(b->p, edge_name(b, v), edge, v->rank, dim, IR_INPUT);
	if (edge != v->type)
		inner = cast_map(b->p, buf, arena_printf(b->p->arena, "%s_%s", buf->name, type_name(v->type)), v->type, IR_TEMP);
	if (v->content)
		inner->content = content_of(b, v);
	vec_each(a, &b->asked)
		if (a->v == v) {
			struct ir_value value = { a->symbol->name, buf, a->element, NULL };

			vec_push(b->p->arena, &b->p->values, value);
		}
	if (v->is_constant && graph_count(v->rank, v->dim) <= GRAPH_DATA_MAX)
		TRY(graph_constant(&inner->data, b->g, v, b->scope.err));
	map_put(&b->scope.buffers, v->name, inner);
	return 0;
}

static int add_constant(struct build *b, struct graph_value *v)
{
	const struct tensor *t;
	struct tensor *copy = NEW(b->p->arena, struct tensor);

	TRY(graph_constant(&t, b->g, v, b->scope.err));
	TRY(tensor_new(copy, t->type, t->rank, t->dim, b->p->arena, b->scope.err));
	if (tensor_count(t))
		memcpy(copy->data, t->data, (size_t)tensor_bytes(t));
	map_put(&b->scope.buffers, v->name, graph_constant_buffer(b->p, edge_name(b, v), copy));
	return 0;
}

/* ---- Outputs ----------------------------------------------------------------------------------------------------- */

static int add_output(struct build *b, struct graph_value *v)
{
	struct ir_buffer *buf = map_get(&b->scope.buffers, v->name);
	enum type edge = graph_edge_type(buf->type, b->o);
	const char *name = edge_name(b, v);

	if (buf->role == IR_TEMP && edge == buf->type && ir_stage_of(b->p, buf)) {
		rename_buffer(b, buf, name);
		buf->role = IR_OUTPUT;
		vec_push(b->p->arena, &b->p->outputs, buf);
		return 0;
	}
	/* The copy gets its name before there is another of that name. */
	rename_buffer(b, cast_map(b->p, buf, arena_printf(b->p->arena, "%s_out", name), edge, IR_OUTPUT), name);
	return 0;
}

/* The node's sizes under the graph's names: it made as many, in the same order, when it was lowered alone. */
static int note_sizes(struct build *b, const struct graph_node *n, int first)
{
	if (b->p->sizes.n - first != n->sizes.n)
		return err_set(b->scope.err, ERR_UNSUPPORTED,
			       "region %s: node %s finds out %d sizes at run time, but %d when it is alone.", b->r->label, n->label,
			       b->p->sizes.n - first, n->sizes.n);
	for (int i = 0; i < n->sizes.n; i++)
		map_put(&b->sizes, n->sizes.at[i], (void *)(uintptr_t)b->p->sizes.at[first + i].symbol);
	return 0;
}

static void add_size_outputs(struct build *b)
{
	struct graph_names names = graph_region_sizes(b->g, b->r);

	vec_each(name, &names) {
		const char *symbol = map_get(&b->sizes, *name);
		struct ir_buffer *count = ir_size_find(b->p, symbol)->count;

		if (count->role == IR_TEMP) {
			count->role = IR_OUTPUT;
			vec_push(b->p->arena, &b->p->outputs, count);
		} else {
			cast_map(b->p, count, arena_printf(b->p->arena, "%s_size", count->name), TYPE_I64, IR_OUTPUT);
		}
	}
}

/* Operators name their temporaries without knowing the program's symbols. */
static void clear_temporaries(struct build *b)
{
	vec_each(x, &b->p->buffers)
		if ((*x)->role == IR_TEMP && (map_get(&b->symbols, (*x)->name) || graph_name_reserved((*x)->name)))
			rename_buffer(b, *x, clear_name(b, (*x)->name));
}

/* What only served lowering goes away; inputs keep the elements that follow from extents. */
static void forget(struct ir_program *p)
{
	vec_each(x, &p->buffers) {
		struct ir_buffer *buf = *x;

		if (buf->role != IR_CONSTANT)
			buf->data = NULL;
		if (buf->role != IR_INPUT || type_is_float(buf->type))
			buf->content = NULL;
	}
}

struct mention {
	const struct ir_program *p;
	const char *symbol;
	const struct ir_buffer *buf; /* loaded */
	bool found;
};

static void find_mention(void *user, expr e)
{
	struct mention *m = user;

	m->found |= e->op == IR_SYMBOL && m->symbol && strcmp(e->name, m->symbol) == 0;
	m->found |= e->op == IR_LOAD && m->buf == e->buf;
}

static void find_in_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	ir_walk(*slot, find_mention, user);
}

static bool is_mentioned(struct mention m)
{
	const struct ir_program *p = m.p;

	vec_each(b, &p->buffers)
		for (int k = 0; k < (*b)->rank; k++)
			ir_walk((*b)->dim[k], find_mention, &m);
	vec_each(s, &p->stages) {
		for (int k = 0; k < (*s)->space_rank; k++)
			ir_walk((*s)->space[k], find_mention, &m);
		ir_stage_exprs(*s, find_in_slot, &m);
	}
	vec_each(v, &p->values)
		if (v->known)
			ir_walk(v->known, find_mention, &m);
	return m.found;
}

/* Values that nothing needs go; an input whose values decide extents is told when shapes are computed, and is no data. */
static int finish_values(struct build *b)
{
	struct ir_program *p = b->p;
	int n = 0;

	for (int i = 0; i < p->values.n; i++)
		if (is_mentioned((struct mention){ p, p->values.at[i].symbol, NULL, false }))
			p->values.at[n++] = p->values.at[i];
	p->values.n = n;
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *in = p->inputs.at[i];

		if (!ir_value_is(p, in) || !is_mentioned((struct mention){ p, NULL, in, false }))
			continue;
		err_set(b->scope.err, ERR_UNSUPPORTED,
			"region %s: its input \"%s\" decides extents, and is read as data too; a plugin cannot have it as both.",
			b->r->label, b->r->inputs.at[i]->name);
		return err_advise(b->scope.err, "Make it a constant of the model, or split the region.");
	}
	return 0;
}

static int missing_size(struct build *b)
{
	struct err *e = b->scope.err;

	if (!b->missing || !b->missed || e->code != ERR_UNSUPPORTED)
		return e->code;
	b->failed = true;
	err_clear(e);
	err_set(e, ERR_UNSUPPORTED,
		"region %s: a size, given by its input \"%s\", depends on %s, which no input of the region carries.", b->r->label,
		b->missed->name, b->missing);
	return err_advise(e, "Add the nodes that compute \"%s\" to the region, up to one that reads a tensor with this extent; or "
			     "fix the model's input shapes.",
			  b->missed->name);
}

static int build_program(struct build *b)
{
	TRY(check_edges(b));
	define_symbols(b);
	vec_each(v, &b->r->inputs)
		TRY(add_input(b, *v));
	vec_each(v, &b->r->constants)
		TRY(add_constant(b, *v));
	graph_note_contents(b->p, 0);
	vec_each(i, &b->r->nodes) {
		const struct graph_node *n = &b->g->nodes.at[*i];
		int first = b->p->sizes.n;

		if (graph_lower(&b->scope, n->proto, n->label) < 0)
			return missing_size(b);
		TRY(note_sizes(b, n, first));
	}
	vec_each(v, &b->r->outputs)
		TRY(add_output(b, *v));
	if (b->o->sizes)
		add_size_outputs(b);
	clear_temporaries(b);
	forget(b->p);
	ir_value_extents(b->p);
	TRY(ir_optimise(b->p, b->o->dump, b->o->dump_user, b->scope.err));
	return finish_values(b);
}

static bool contents_known(struct build *b)
{
	vec_each(v, &b->r->inputs)
		if ((*v)->content && !content_of(b, *v))
			return false;
	return true;
}

const char *graph_region_missing(struct graph *g, const struct graph_region *r)
{
	static const struct graph_program_options any = { .any_types = true, .keep_types = true };
	struct arena *scratch = arena_new();
	struct build first = { .g = g, .r = r, .o = &any, .symbols = map_new(scratch), .sizes = map_new(scratch) }, b;
	struct err ignored = { 0 };
	const char *missing = NULL;

	first.p = ir_program_new(scratch, "region");
	b = first;
	define_symbols(&first);
	if (!contents_known(&first)) { /* not every content matters: lowering tells */
		b.p = ir_program_new(scratch, "region");
		b.symbols = map_new(scratch);
		b.sizes = map_new(scratch);
		b.scope = graph_scope_new(g, b.p, &ignored);
		if (build_program(&b) < 0 && b.failed)
			missing = arena_strdup(g->arena, b.missing);
	}
	arena_free(scratch);
	return missing;
}

/* Inputs that are read for their values alone come last: that is where plugins have them. */
void graph_region_order(struct graph *g, struct graph_region *r)
{
	static const struct graph_program_options any = { .any_types = true, .keep_types = true };
	struct arena *scratch = arena_new();
	struct err ignored = { 0 };
	struct build b = { .g = g, .r = r, .o = &any, .symbols = map_new(scratch), .sizes = map_new(scratch) };
	struct {
		VEC(struct graph_value *);
	} data = { 0 }, shapes = { 0 };

	b.p = ir_program_new(scratch, "region");
	b.scope = graph_scope_new(g, b.p, &ignored);
	if (g->asked.n && build_program(&b) == 0 && b.p->values.n) {
		for (int i = 0; i < r->inputs.n; i++) {
			if (ir_value_is(b.p, b.p->inputs.at[i]))
				vec_push(scratch, &shapes, r->inputs.at[i]);
			else
				vec_push(scratch, &data, r->inputs.at[i]);
		}
		for (int i = 0; i < r->inputs.n; i++)
			r->inputs.at[i] = i < data.n ? data.at[i] : shapes.at[i - data.n];
		r->shapes = shapes.n;
	}
	arena_free(scratch);
}

int graph_region_program(struct ir_program **out, struct graph *g, const struct graph_region *r,
			 const struct graph_program_options *o, struct arena *a, struct err *e)
{
	static const struct graph_program_options none;
	struct build b = { .g = g, .r = r, .o = o ? o : &none, .symbols = map_new(a), .sizes = map_new(a) };

	*out = NULL;
	vec_each(i, &r->nodes)
		TRY(graph_node_check(g, *i, e));
	b.p = ir_program_new(a, program_name(g, r, a));
	b.scope = graph_scope_new(g, b.p, e);
	if (build_program(&b) < 0)
		return err_where(e, "%s: ", g->model->path);
	*out = b.p;
	return 0;
}
