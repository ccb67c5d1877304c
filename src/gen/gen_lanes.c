/* Collective operations of a block's threads as CUDA C++: reductions, scans, and the exchange between tiles. */
#include "gen/gen_device.h"

/* The object that combines two values. */
static const struct ir_object functor[IR_COMBINE_COUNT] = {
	[IR_SUM] = { &device_op_sum, { 0 } },
	[IR_PROD] = { &device_op_prod, { 0 } },
	[IR_MAXIMUM] = { &device_op_max, { 0 } },
	[IR_MINIMUM] = { &device_op_min, { 0 } },
	[IR_ALL] = { &device_op_and, { 0 } },
	[IR_ANY] = { &device_op_or, { 0 } },
	[IR_ARGMAX] = { &device_op_argmax, { 1, { IR_TRUTH(false) } } },
	[IR_ARGMIN] = { &device_op_argmin, { 1, { IR_TRUTH(false) } } },
	[IR_ARGMAX_LAST] = { &device_op_argmax, { 1, { IR_TRUTH(true) } } },
	[IR_ARGMIN_LAST] = { &device_op_argmin, { 1, { IR_TRUTH(true) } } },
};

enum { WARP = 32 };

static void print_functor(struct gen_text *g, enum ir_combine combine)
{
	str_add(g->out, ", ");
	gen_type_of(g, functor[combine].type, functor[combine].of);
	str_add(g->out, "()");
}

static void print_shared(struct gen_text *g, const char *type, const char *name, int n)
{
	str_line(g->out, "__shared__ %s %s[%d];", type, name, n);
}

/* ---- Reductions. */

static void print_element(struct gen_text *g, const struct ir_lanes *s)
{
	if (s->index)
		gen_type_of(g, &device_indexed, IR_OF(IR_TYPE(s->var->type), IR_TYPE(TYPE_INDEX)));
	else
		str_add(g->out, gen_type(g, s->var->type));
}

/* The elements of shared memory that the function asks for. */
static int exchanged(const struct ir_lanes *s)
{
	if (s->columns)
		return (s->items ? s->items : 1) * s->lanes * s->columns;
	if (s->blocks)
		return s->lanes / WARP + 1;
	return s->lanes > WARP ? s->lanes / WARP : 0;
}

static void print_reducer(struct gen_text *g, const struct ir_lanes *s)
{
	if (s->blocks)
		gen_called(g, &device_cluster_reduce, IR_OF(IR_NUMBER(s->lanes), IR_NUMBER(s->blocks)));
	else if (s->apart)
		gen_called(g, &device_warp_reduce_apart, IR_OF_NOTHING);
	else if (s->columns)
		gen_called(g, s->items ? &device_block_reduce_columns_on : &device_block_reduce_columns,
		           IR_OF(IR_NUMBER(s->columns), IR_NUMBER(s->lanes)));
	else if (s->lanes > WARP)
		gen_called(g, &device_block_reduce, IR_OF(IR_NUMBER(s->lanes)));
	else if (s->items)
		gen_called(g, &device_warp_reduce_each, IR_OF(IR_NUMBER(s->lanes)));
	else
		gen_called(g, &device_warp_reduce, s->lanes < WARP ? IR_OF(IR_NUMBER(s->lanes)) : IR_OF_NOTHING);
}

void gen_combine(struct gen_text *g, const struct ir_lanes *s)
{
	const char *name = gen_name(g, s->var), *index = s->index ? gen_name(g, s->index) : NULL;
	const char *across = s->across ? gen_name(g, s->across) : gen_own(g, "across");
	ck(!s->items || s->columns || s->lanes <= WARP);
	if (exchanged(s)) {
		gen_begin(g, "__shared__ ");
		print_element(g, s);
		str_printf(g->out, " %s[%d];\n", across, exchanged(s));
	}
	gen_indent(g);
	if (!s->items)
		str_printf(g->out, "%s = ", index ? index : name);
	print_reducer(g, s);
	str_add(g->out, "(");
	if (index) {
		print_element(g, s);
		str_printf(g->out, "{ %s, %s }", name, index);
	} else {
		str_add(g->out, name);
	}
	print_functor(g, s->combine);
	if (exchanged(s))
		str_printf(g->out, ", %s", across);
	str_add(g->out, ")");
	if (index)
		str_printf(g->out, ".%s", device_indexed_index.name);
	str_add(g->out, ";\n");
}

/* ---- Scans. */

void gen_scan(struct gen_text *g, const struct ir_scan *s)
{
	const char *name = gen_name(g, s->part), *across = NULL;
	if (s->lanes > WARP)
		print_shared(g, gen_type(g, s->part->type), across = gen_own(g, "across"), s->lanes / WARP);
	gen_indent(g);
	str_printf(g->out, "%s = ", name);
	if (across)
		gen_called(g, &device_block_scan_on, IR_OF(IR_NUMBER(s->lanes)));
	else
		gen_called(g, &device_warp_scan_on, IR_OF_NOTHING);
	str_printf(g->out, "(%s", name);
	print_functor(g, s->combine);
	if (across)
		str_printf(g->out, ", %s", across);
	str_printf(g->out, ", %s);\n", gen_name(g, s->sum));
}

void gen_items_scan(struct gen_text *g, const struct ir_items_scan *s)
{
	const char *across = arena_printf(g->out->arena, "(%s *)0", gen_type(g, s->sum->type));
	if (s->lanes > WARP)
		print_shared(g, gen_type(g, s->sum->type), across = gen_own(g, "across"), s->lanes / WARP);
	gen_indent(g);
	gen_called(g, &device_block_scan_items_on,
	           IR_OF(IR_NUMBER(s->lanes), IR_NUMBER(s->columns), IR_TRUTH(s->exclusive)));
	str_printf(g->out, "(%s", gen_name(g, s->parts));
	print_functor(g, s->combine);
	str_add(g->out, ", ");
	gen_expr(g, s->none);
	str_printf(g->out, ", %s, %s);\n", across, gen_name(g, s->sum));
}

/* ---- Tiles. */

static void print_result(struct gen_text *g, const struct ir_variable *v)
{
	gen_begin(g, "const ");
	str_printf(g->out, "%s %s = ", gen_type(g, v->type), gen_name(g, v));
}

void gen_tile(struct gen_text *g, const struct ir_tile *s)
{
	const char *taken = gen_own(g, "tile_taken");
	str_line(g->out, "__shared__ u64 %s;", taken);
	print_result(g, s->var);
	str_printf(g->out, "(%s)", gen_type(g, s->var->type));
	gen_called(g, &device_tile_next, IR_OF_NOTHING);
	str_printf(g->out, "(%s, &%s);\n", gen_buffer(g, s->state), taken);
}

void gen_before(struct gen_text *g, const struct ir_before *s)
{
	const char *all = gen_own(g, "before_all");
	str_line(g->out, "__shared__ %s %s;", gen_type(g, s->var->type), all);
	print_result(g, s->var);
	gen_called(g, &device_tiles_before, IR_OF_NOTHING);
	str_printf(g->out, "(%s", gen_name(g, s->part));
	print_functor(g, s->combine);
	str_printf(g->out, ", %s, ", gen_buffer(g, s->state));
	gen_expr(g, s->tile);
	str_add(g->out, ", ");
	gen_expr(g, s->tiles);
	str_add(g->out, ", ");
	gen_expr(g, s->none);
	str_printf(g->out, ", &%s);\n", all);
}
