/* A region as one tensor program: its symbols are those of its inputs' extents, it includes small constants, and its
 * edges have types that the engine supports. */
#include "graph/graph_program.h"

#include <string.h>

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* The product of constant extents may overflow. */
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

static int check_size(const struct region_build *b, const struct graph_value *v, const char *what)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];
	struct str text = str_new(b->p->arena);

	if (is_countable(v))
		return 0;
	graph_value_print(&text, v);
	err_set(b->scope.err, ERR_UNSUPPORTED,
	        "node %s (%s, opset %d): %s \"%s\" is %s, which is larger than any memory.", n->label,
	        onnx_text(n->proto->op_type), n->opset, what, v->name, str_text(&text));
	return err_advise(b->scope.err, "Export the model again with realistic extents, or with names for them.");
}

static int check_edge(const struct region_build *b, const struct graph_value *v, const char *what)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];
	const struct engine *engine = b->g->engine;
	const char *advice, *lack;

	TRY(check_size(b, v, what));
	if (b->o->any_types)
		return 0;
	if (!v->exchanged && !engine->edge(b->g->version, v->type)) {
		lack = engine->lack(b->g->version, v->type, &advice, b->p->arena);
		err_set(b->scope.err, ERR_UNSUPPORTED,
		        "node %s (%s, opset %d): %s \"%s\" is of type %s; %s, so no plugin can take it.", n->label,
		        onnx_text(n->proto->op_type), n->opset, what, v->name, type_info(v->type)->onnx_name, lack);
		return err_advise(b->scope.err, "%s", advice);
	}
	if (v->rank > engine->most_axes) {
		err_set(b->scope.err, ERR_UNSUPPORTED,
		        "node %s (%s, opset %d): %s \"%s\" has %d axes; %s's tensors have at most %d.", n->label,
		        onnx_text(n->proto->op_type), n->opset, what, v->name, v->rank, engine->name,
		        engine->most_axes);
		return err_advise(b->scope.err,
		                  "Select it together with the nodes around it: --auto, or --from and --to.");
	}
	return 0;
}

static int check_edges(const struct region_build *b)
{
	vec_each (v, &b->r->inputs)
		TRY(check_edge(b, *v, "input"));
	vec_each (v, &b->r->outputs)
		TRY(check_edge(b, *v, "output"));
	return 0;
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */

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

/* True if the edge has the tensor's bits with the name of another type. Any byte but 0 is true for another plugin, and
 * a kernel's bool must be 0 or 1: so these are converted when they are read. */
static bool has_bits(const struct region_build *b, const struct graph_value *v, enum ir_role role)
{
	bool exchanged = v->exchanged && !b->o->keep_types;

	return exchanged && (role == IR_OUTPUT || v->type != TYPE_BOOL);
}

/* True if nothing but the region reads the tensor, whose memory an engine can let the region overwrite. */
static bool is_spare(const struct region_build *b, const struct graph_value *v)
{
	if (!b->o->in_place || b->g->outer || v->is_constant || v->initializer || v->is_output || v->captured ||
	    v->outside)
		return false;
	vec_each (reader, &v->consumers) {
		bool own = false;

		vec_each (i, &b->r->nodes)
			own |= *i == *reader;
		if (!own)
			return false;
	}
	return true;
}

/* Notes that a constant's elements are finite, where that matters: for a product with a one-hot matrix
 * (ir_pass_gather). */
static int note_finite(struct region_build *b, struct ir_buffer *buf, struct graph_value *v)
{
	const struct tensor *t;
	bool choice = false;

	vec_each (i, &b->r->nodes) {
		const char *op = onnx_text(b->g->nodes.at[*i].proto->op_type);

		choice |= strcmp(op, "OneHot") == 0 || strcmp(op, "Equal") == 0;
	}
	if (!choice || !v->is_constant || !type_is_float(v->type))
		return 0;
	TRY(graph_constant(&t, b->g, v, b->scope.err));
	buf->finite = tensor_is_finite(t);
	return 0;
}

static int add_input(struct region_build *b, struct graph_value *v)
{
	bool bits = has_bits(b, v, IR_INPUT);
	enum type declared = graph_edge_type(b->g, v, b->o), edge = bits ? v->type : declared;
	expr dim[IR_MAX_RANK];
	struct ir_buffer *buf, *inner;

	for (int i = 0; i < v->rank; i++) {
		dim[i] = region_translate(b, v->dim[v->turned ? v->turned[i] : i]);
		ck(dim[i]);
	}
	if (b->o->layout && graph_has_layout(b->g, v, b->o->layout, b->o)) {
		map_put(&b->scope.buffers, v->name, region_load_stored(b, v, dim));
		return 0;
	}
	buf = inner = ir_buffer_new(b->p, region_edge_name(b, v), edge, v->rank, dim, IR_INPUT);
	buf->edge = bits ? declared : TYPE_NONE;
	buf->spare = is_spare(b, v);
	if (edge != v->type)
		inner = cast_map(b->p, buf, arena_printf(b->p->arena, "%s_%s", buf->name, type_name(v->type)), v->type,
		                 IR_TEMP);
	if (v->turned)
		inner = region_turn_back(b, v, buf);
	if (v->content)
		inner->content = region_content(b, v);
	vec_each (a, &b->asked)
		if (a->v == v) {
			struct ir_value value = { a->symbol, buf, a->element, NULL };

			vec_push(b->p->arena, &b->p->values, value);
		}
	if (v->is_constant && graph_count(v->rank, v->dim) <= GRAPH_DATA_MAX)
		TRY(graph_constant(&inner->data, b->g, v, b->scope.err));
	map_put(&b->scope.buffers, v->name, inner);
	return note_finite(b, inner, v);
}

/* out[i...] = first + i / repeats % period * step */
static void add_progression(struct region_build *b, struct graph_value *v, const struct graph_progression *x,
                            const struct tensor *t)
{
	struct ir_program *p = b->p;
	expr dim[IR_MAX_RANK];
	struct ir_stage *s;

	for (int k = 0; k < v->rank; k++)
		dim[k] = ir_index(p->pool, t->dim[k]);
	s = ir_stage_new(p, IR_MAP, ir_buffer_new(p, region_edge_name(b, v), v->type, v->rank, dim, IR_TEMP));
	s->value = ir_binary(IR_FLOORDIV, ir_axis(p->pool, x->axis, dim[x->axis]), ir_index(p->pool, x->repeats));
	s->value = ir_binary(IR_MOD, s->value, ir_index(p->pool, x->period));
	s->value = ir_binary(IR_MUL, s->value, ir_index(p->pool, x->step));
	s->value = ir_cast(ir_binary(IR_ADD, s->value, ir_index(p->pool, x->first)), v->type);
	if (tensor_count(t) <= GRAPH_DATA_MAX)
		s->out->data = t;
	map_put(&b->scope.buffers, v->name, s->out);
}

static int add_constant(struct region_build *b, struct graph_value *v)
{
	const struct tensor *t;
	struct graph_progression counts;
	struct tensor *copy = NEW(b->p->arena, struct tensor);

	TRY(graph_constant(&t, b->g, v, b->scope.err));
	if (graph_progression_of(b->g, v, &counts)) {
		add_progression(b, v, &counts, t);
		return 0;
	}
	if (!graph_is_small(v)) {
		if (v->turned)
			TRY(graph_turned(&t, b->g, v, b->scope.err));
		struct ir_buffer *weight = graph_constant_buffer(b->p, region_edge_name(b, v), t);

		weight->weight = true;
		weight->content = NULL;
		if (v->turned)
			weight = region_turn_back(b, v, weight);
		map_put(&b->scope.buffers, v->name, weight);
		return note_finite(b, weight, v);
	}
	TRY(tensor_new(copy, t->type, t->rank, t->dim, b->p->arena, b->scope.err));
	if (tensor_count(t))
		memcpy(copy->data, t->data, (size_t)tensor_bytes(t));
	map_put(&b->scope.buffers, v->name, graph_constant_buffer(b->p, region_edge_name(b, v), copy));
	return 0;
}

/* ---- Outputs ----------------------------------------------------------------------------------------------------- */

static int add_output(struct region_build *b, struct graph_value *v)
{
	struct ir_buffer *buf = map_get(&b->scope.buffers, v->name);
	bool bits = has_bits(b, v, IR_OUTPUT);
	enum type declared = graph_edge_type(b->g, v, b->o), edge = bits ? buf->type : declared;
	const char *name = region_edge_name(b, v);

	if (b->o->layout && graph_has_layout(b->g, v, b->o->layout, b->o)) {
		region_rename(b, region_store(b, buf, arena_printf(b->p->arena, "%s_out", name)), name);
		return 0;
	}
	if (buf->role == IR_TEMP && edge == buf->type && ir_stage_of(b->p, buf)) {
		region_rename(b, buf, name);
		buf->role = IR_OUTPUT;
		vec_push(b->p->arena, &b->p->outputs, buf);
	} else { /* the copy gets its name first, before the name is taken */
		buf = cast_map(b->p, buf, arena_printf(b->p->arena, "%s_out", name), edge, IR_OUTPUT);
		region_rename(b, buf, name);
	}
	buf->edge = bits ? declared : TYPE_NONE;
	return 0;
}

/* Maps the node's sizes to the graph's names: lowered alone, it made the same ones in the same order. */
static int note_sizes(struct region_build *b, const struct graph_node *n, int first)
{
	if (b->p->sizes.n - first != n->sizes.n)
		return err_set(b->scope.err, ERR_UNSUPPORTED,
		               "region %s: node %s computes %d sizes at run time, but %d on its own.", b->r->label,
		               n->label, b->p->sizes.n - first, n->sizes.n);
	for (int i = 0; i < n->sizes.n; i++)
		map_put(&b->sizes, n->sizes.at[i], b->p->sizes.at[first + i].symbol);
	return 0;
}

static void add_size_outputs(struct region_build *b)
{
	struct graph_names names = graph_region_sizes(b->r);

	vec_each (name, &names) {
		struct ir_buffer *count = ir_size_find(b->p, map_get(&b->sizes, *name))->count;

		if (count->role == IR_TEMP) {
			count->role = IR_OUTPUT;
			vec_push(b->p->arena, &b->p->outputs, count);
		} else {
			cast_map(b->p, count, arena_printf(b->p->arena, "%s_size", count->name), TYPE_I64, IR_OUTPUT);
		}
	}
}

/* Operators name their temporaries without knowing the program's symbols. */
static void clear_temporaries(struct region_build *b)
{
	vec_each (x, &b->p->buffers)
		if ((*x)->role == IR_TEMP && (map_get(&b->symbols, (*x)->name) || ir_name_reserved((*x)->name)))
			region_rename(b, *x, region_clear_name(b, (*x)->name));
}

/* Drops data that only lowering needs; inputs keep the elements that follow from extents. */
static void forget(struct ir_program *p)
{
	vec_each (x, &p->buffers) {
		struct ir_buffer *buf = *x;

		if (buf->role != IR_CONSTANT)
			buf->data = NULL;
		buf->some = NULL;
		if (buf->role != IR_INPUT || type_is_float(buf->type))
			buf->content = NULL;
	}
}

static int missing_size(struct region_build *b)
{
	struct err *e = b->scope.err;

	if (!b->missing || !b->missed || e->code != ERR_UNSUPPORTED)
		return e->code;
	b->failed = true;
	err_clear(e);
	err_set(e, ERR_UNSUPPORTED,
	        "region %s: the size in its input \"%s\" depends on %s, which no input of the region has as an extent.",
	        b->r->label, b->missed->name, b->missing);
	return err_advise(
	        e,
	        "Add the nodes that compute \"%s\" to the region, up to one that reads a tensor with this extent; or "
	        "fix the model's input shapes.",
	        b->missed->name);
}

static int build_program(struct region_build *b)
{
	TRY(check_edges(b));
	region_define_symbols(b);
	vec_each (v, &b->r->inputs)
		TRY(add_input(b, *v));
	vec_each (v, &b->r->constants)
		TRY(add_constant(b, *v));
	graph_note_contents(b->p, 0);
	vec_each (i, &b->r->nodes) {
		const struct graph_node *n = &b->g->nodes.at[*i];
		int first = b->p->sizes.n;

		b->p->node = n->label;
		if (graph_lower(&b->scope, n->proto, n->label) < 0)
			return missing_size(b);
		TRY(note_sizes(b, n, first));
	}
	b->p->node = NULL;
	vec_each (v, &b->r->outputs)
		TRY(add_output(b, *v));
	if (b->o->sizes)
		add_size_outputs(b);
	clear_temporaries(b);
	forget(b->p);
	ir_demands_unify(b->p);
	ir_value_extents(b->p);
	if (b->o->unfused)
		TRY(ir_optimise_unfused(b->p, b->scope.err));
	else
		TRY(ir_optimise(b->p, b->o->dump, b->o->dump_user, b->scope.err));
	return region_finish_values(b);
}

static bool contents_known(struct region_build *b)
{
	vec_each (v, &b->r->inputs)
		if ((*v)->content && !region_content(b, *v))
			return false;
	return true;
}

const char *graph_region_missing(const struct graph_region *r)
{
	struct graph *g = r->graph;
	static const struct graph_program_options any = { .any_types = true, .keep_types = true };
	struct arena *scratch = arena_new();
	struct region_build first = { .g = g,
		                      .r = r,
		                      .o = &any,
		                      .symbols = map_new(scratch),
		                      .sizes = map_new(scratch) },
	                    b;
	struct err ignored = { 0 };
	const char *missing = NULL;

	first.p = ir_program_new(scratch, "region");
	b = first;
	region_define_symbols(&first);
	if (!contents_known(&first)) { /* lowering tells which contents matter */
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

/* Shape inputs come last, as in plugins. */
void graph_region_order(struct graph_region *r)
{
	struct graph *g = r->graph;
	static const struct graph_program_options any = { .any_types = true, .keep_types = true };
	struct arena *scratch = arena_new();
	struct err ignored = { 0 };
	struct region_build b = { .g = g, .r = r, .o = &any, .symbols = map_new(scratch), .sizes = map_new(scratch) };
	struct {
		VEC(struct graph_value *);
	} data = { 0 }, shapes = { 0 };

	b.p = ir_program_new(scratch, "region");
	b.scope = graph_scope_new(g, b.p, &ignored);
	if (g->root->asked.n && build_program(&b) == 0 && b.p->values.n) {
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

int graph_region_program(struct ir_program **out, const struct graph_region *r, const struct graph_program_options *o,
                         struct arena *a, struct err *e)
{
	struct graph *g = r->graph;
	static const struct graph_program_options none;
	struct region_build b = { .g = g, .r = r, .o = o ? o : &none, .symbols = map_new(a), .sizes = map_new(a) };

	*out = NULL;
	vec_each (i, &r->nodes)
		TRY(graph_node_check(g, *i, e));
	b.p = ir_program_new(a, region_program_name(r, a));
	b.scope = graph_scope_new(g, b.p, e);
	if (build_program(&b) < 0)
		return err_where(e, "%s: ", g->model->path);
	*out = b.p;
	return 0;
}
