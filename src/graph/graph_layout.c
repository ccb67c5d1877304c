/* Formats of a plugin's tensors: a program reads its inputs through maps from the format, and a last map stores each
 * output in it, with zeros for padding. The passes fuse these maps with their neighbours, so every program can have
 * tensors in every format. */
#include "graph/graph_program.h"

bool graph_has_layout(const struct graph *g, const struct graph_value *v, const struct engine_layout *l,
                      const struct graph_program_options *o)
{
	bool typed = false;

	for (int i = 0; i < 4 && l->type[i]; i++)
		typed |= l->type[i] == v->type;
	return typed && !v->is_constant && !v->exchanged && !v->asked && v->rank >= l->axis &&
	       v->rank + l->inner <= g->engine->most_axes && graph_edge_type(g, v, o) == v->type;
}

bool graph_region_has_layout(const struct graph_region *r, const struct engine_layout *l,
                             const struct graph_program_options *o)
{
	bool any = false;
	int64_t n;

	for (int i = 0; i < r->inputs.n + r->outputs.n; i++) {
		const struct graph_value *v = i < r->inputs.n ? r->inputs.at[i] : r->outputs.at[i - r->inputs.n];

		if (!graph_has_layout(r->graph, v, l, o))
			continue;
		if (!ir_const_int(v->dim[v->rank - l->axis], &n))
			return false;
		any = true;
	}
	return any;
}

/* Extents in memory of a tensor with these extents; returns their number. */
static int stored(struct ir_pool *pool, const struct engine_layout *l, int rank, const expr *dim, expr *out)
{
	int channels = rank - l->axis;
	expr block = ir_index(pool, l->block),
	     blocks = ir_binary(IR_FLOORDIV, ir_binary(IR_ADD, dim[channels], ir_index(pool, l->block - 1)), block);

	for (int k = 0; k < rank + l->inner; k++) {
		int axis = engine_layout_axis(l, rank, k);

		out[k] = axis >= 0       ? dim[axis]
		         : !l->inner     ? ir_binary(IR_MUL, blocks, block)
		         : k == channels ? blocks
		                         : block;
	}
	return rank + l->inner;
}

struct ir_buffer *region_load_stored(struct region_build *b, const struct graph_value *v, const expr *dim)
{
	const struct engine_layout *l = b->o->layout;
	struct ir_pool *pool = b->p->pool;
	int channels = v->rank - l->axis;
	const char *name = region_edge_name(b, v);
	expr out[IR_MAX_RANK], index[IR_MAX_RANK], block = ir_index(pool, l->block);
	int rank = stored(pool, l, v->rank, dim, out);
	struct ir_buffer *buf = ir_buffer_new(b->p, name, v->type, rank, out, IR_INPUT);
	struct ir_stage *s = ir_stage_new(
	        b->p, IR_MAP,
	        ir_buffer_new(b->p, arena_printf(b->p->arena, "%s_elements", name), v->type, v->rank, dim, IR_TEMP));
	expr c = ir_axis(pool, channels, dim[channels]);

	for (int k = 0; k < rank; k++) {
		int axis = engine_layout_axis(l, v->rank, k);

		index[k] = axis >= 0       ? ir_axis(pool, axis, dim[axis])
		           : !l->inner     ? c
		           : k == channels ? ir_binary(IR_FLOORDIV, c, block)
		                           : ir_binary(IR_MOD, c, block);
	}
	s->value = ir_load(pool, buf, index);
	return s->out;
}

struct ir_buffer *region_store(struct region_build *b, struct ir_buffer *from, const char *name)
{
	const struct engine_layout *l = b->o->layout;
	struct ir_pool *pool = b->p->pool;
	int channels = from->rank - l->axis;
	expr dim[IR_MAX_RANK], index[IR_MAX_RANK], c;
	int rank = stored(pool, l, from->rank, from->dim, dim);
	struct ir_stage *s = ir_stage_new(b->p, IR_MAP, ir_buffer_new(b->p, name, from->type, rank, dim, IR_OUTPUT));
	expr last = ir_axis(pool, rank - 1, dim[rank - 1]);

	for (int k = 0; k < rank; k++) {
		int axis = engine_layout_axis(l, from->rank, k);

		if (axis >= 0)
			index[axis] = ir_axis(pool, k, dim[k]);
	}
	c = l->inner ? ir_binary(IR_ADD,
	                         ir_binary(IR_MUL, ir_axis(pool, channels, dim[channels]), ir_index(pool, l->block)),
	                         last)
	             : last;
	index[channels] = c;
	s->value = ir_select(ir_binary(IR_LT, c, from->dim[channels]), ir_load(pool, from, index),
	                     ir_const(pool, from->type, 0));
	return s->out;
}
