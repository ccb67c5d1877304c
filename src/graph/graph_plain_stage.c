/* A node's program as plain nodes: maps and reductions, stage by stage. */
#include <string.h>

#include "graph/graph_plain.h"

enum { MOST_NODES = 64 }; /* in place of one node */

static struct plain_space space_of_stage(const struct plain_space *of, const struct ir_stage *s)
{
	struct plain_space x = *of;

	x.rank = s->out->rank;
	for (int i = 0; i < s->out->rank; i++) {
		x.extent[i] = s->out->dim[i];
		x.axis[i] = i;
	}
	x.done = map_new(of->scratch);
	x.acc = NULL;
	return x;
}

static const char *write_map(struct plain_space *of, const struct ir_stage *s, enum type *t)
{
	struct plain_space x = space_of_stage(of, s);
	struct plain_value v = plain_expr(&x, s->value);

	*t = v.type;
	return plain_whole(&x, v);
}

/* ---- Reductions. */

static const char *reduction_op(enum ir_combine c)
{
	switch (c) {
	case IR_SUM: return "ReduceSum";
	case IR_PROD: return "ReduceProd";
	case IR_MAXIMUM:
	case IR_ANY: return "ReduceMax";
	case IR_MINIMUM:
	case IR_ALL: return "ReduceMin";
	default: return NULL;
	}
}

/* An element of which no tensor is read along all the axes stands for a product of two tensors. */
struct widest {
	uint32_t all, of_one;
	const struct ir_stage *s;
};

static void note_axes(void *user, expr e)
{
	struct widest *w = user;
	uint32_t axes = 0;

	if (e->op != IR_LOAD)
		return;
	for (int j = 0; j < e->n; j++)
		for (int k = 0; k < w->s->out->rank + w->s->space_rank; k++)
			if (ir_stride(e->arg[j], k) && !ir_is_int(ir_stride(e->arg[j], k), 0))
				axes |= 1u << k;
	w->all |= axes;
	w->of_one = __builtin_popcount(axes) > __builtin_popcount(w->of_one) ? axes : w->of_one;
}

static bool is_product(const struct ir_stage *s)
{
	struct widest w = { .s = s };

	ir_walk(s->value, note_axes, &w);
	return w.all != w.of_one;
}

/* True if the result's last axes stand for the reduced ones, so that the engine's reduction keeps them. */
static bool keeps_axes(const struct ir_stage *s)
{
	if (s->space_rank > s->out->rank)
		return false;
	for (int i = s->out->rank - s->space_rank; i < s->out->rank; i++)
		if (!ir_is_int(s->out->dim[i], 1))
			return false;
	return true;
}

static const char *reduce(struct plain *p, const struct ir_stage *s, const char *in, const int64_t *axis, bool keeps)
{
	bool flags = s->combine == IR_ANY || s->combine == IR_ALL;
	const char *name = flags ? plain_cast(p, in, TYPE_I32) : in;

	name = plain_with_axes(p, reduction_op(s->combine), name, axis, s->space_rank, s->combine == IR_SUM ? 13 : 18);
	if (name && s->space_rank && keeps)
		onnx_node_set_int(p->g->model, p->nodes.at[p->nodes.n - 1], "keepdims", 1);
	return flags ? plain_cast(p, name, TYPE_BOOL) : name;
}

/* The reduced element over the result's axes, then the reduced ones. */
static struct plain_space reduced_space(const struct plain_space *of, const struct ir_stage *s, bool keeps)
{
	struct plain_space x = space_of_stage(of, s);

	x.rank -= keeps ? s->space_rank : 0;
	for (int i = 0; i < s->space_rank; i++, x.rank++) {
		x.extent[x.rank] = s->space[i];
		x.axis[x.rank] = s->out->rank + i;
	}
	return x;
}

static const char *write_reduction(struct plain_space *of, const struct ir_stage *s, enum type *t)
{
	bool keeps = keeps_axes(s);
	struct plain_space x = reduced_space(of, s, keeps);
	struct plain_value v, post, acc;
	int64_t axis[IR_MAX_RANK];

	if (!reduction_op(s->combine) || is_product(s) || x.rank > IR_MAX_RANK)
		return NULL;
	v = plain_expr(&x, s->value);
	if (!v.name || v.rank < s->space_rank)
		return NULL;
	for (int i = 0; i < s->space_rank; i++) {
		int k = x.rank - s->space_rank + i;

		axis[i] = k - (x.rank - v.rank);
		if (!(v.axes & 1u << k) && !ir_is_int(x.extent[k], 1)) /* the same element many times */
			return NULL;
	}
	acc = (struct plain_value){ reduce(x.p, s, v.name, axis, keeps), v.type, v.rank,
		                    v.axes & ((1u << (x.rank - s->space_rank)) - 1) };
	acc.rank -= keeps ? 0 : s->space_rank;
	x = space_of_stage(of, s);
	x.acc = &acc;
	post = plain_expr(&x, ir_stage_result(x.program->pool, s, ir_acc(x.program->pool, s->value->type)));
	*t = post.type;
	return plain_whole(&x, post);
}

/* ---- The program. */

static bool write_stages(struct plain_space *x)
{
	vec_each (ps, &x->program->stages) {
		const struct ir_stage *s = *ps;
		enum type t = TYPE_NONE;
		const char *name = NULL;

		if (s->kind == IR_MAP)
			name = write_map(x, s, &t);
		else if (s->kind == IR_REDUCE)
			name = write_reduction(x, s, &t);
		if (!name || t != plain_type(s->out->type) || x->p->nodes.n > MOST_NODES)
			return false;
		x->buffer[s->out->id] = (struct plain_value){ name, t, s->out->rank, 0 };
	}
	return true;
}

static bool read_buffers(struct plain_space *x, const struct graph_region *r)
{
	for (int i = 0; i < r->inputs.n; i++) {
		const struct ir_buffer *b = x->program->inputs.at[i];
		const char *name = plain_read(x->p, r->inputs.at[i]);

		x->buffer[b->id] = (struct plain_value){ name, plain_type(b->type), b->rank, 0 };
	}
	vec_each (pb, &x->program->buffers) {
		const struct ir_buffer *b = *pb;
		struct graph_value constant = {
			.name = b->name, .type = b->type, .constant = b->data, .is_constant = true
		};

		if (b->role != IR_CONSTANT || !b->data || !plain_type(b->type))
			continue;
		x->buffer[b->id] = (struct plain_value){ plain_narrow(b->type) ? plain_read(x->p, &constant)
			                                                       : plain_tensor(x->p, b->data),
			                                 plain_type(b->type), b->rank, 0 };
	}
	return true;
}

/* Writes output k of the node, whose elements are known: no output of a region. */
static bool write_known(struct plain *p, int k, struct graph_value *v)
{
	const struct tensor *t;
	struct err ignored = { 0 };
	const char *made = plain_narrow(v->type)                        ? plain_read(p, v)
	                   : graph_constant(&t, p->g, v, &ignored) == 0 ? plain_tensor(p, t)
	                                                                : NULL;

	return plain_result(p, k, made);
}

/* The region's output of that name; -1: none. */
static int output_named(const struct graph_region *r, const char *name)
{
	for (int i = 0; i < r->outputs.n; i++)
		if (strcmp(name, r->outputs.at[i]->name) == 0)
			return i;
	return -1;
}

/* The plain nodes' outputs by the region's, and others that are known: a result that nothing uses is not written. */
static bool write_results(struct plain_space *x, const struct graph_region *r)
{
	const Onnx__NodeProto *proto = x->p->n->proto;

	for (size_t k = 0; k < proto->n_output; k++) {
		struct graph_value *v = graph_value_find(x->p->g, proto->output[k]);
		int i = output_named(r, proto->output[k]);
		bool used = v && (v->consumers.n || v->is_output || v->captured);

		if (i >= 0 && !plain_result(x->p, (int)k, x->buffer[x->program->outputs.at[i]->id].name))
			return false;
		if (i < 0 && used && v->is_constant && !write_known(x->p, (int)k, v))
			return false;
	}
	return true;
}

bool plain_from_program(struct plain *p)
{
	static const struct graph_program_options any = { .any_types = true, .keep_types = true };
	struct arena *scratch = arena_new();
	struct plain_space x = { .p = p, .scratch = scratch };
	struct graph_region *r;
	struct err ignored = { 0 };
	bool done = false;

	if (p->opset >= 11 && p->n->known && !p->n->folded && !p->n->bodies.n && !p->n->sizes.n &&
	    graph_region_new(&r, p->g, &p->n->index, 1, &ignored) == 0 && !r->shapes &&
	    graph_region_program(&x.program, r, &any, scratch, &ignored) == 0 && !x.program->sizes.n &&
	    !x.program->values.n && r->inputs.n == x.program->inputs.n && r->outputs.n == x.program->outputs.n) {
		x.buffer = NEWN(scratch, struct plain_value, x.program->buffers.n + 1);
		x.done = map_new(scratch);
		done = read_buffers(&x, r) && write_stages(&x) && write_results(&x, r);
	}
	arena_free(scratch);
	return done;
}
