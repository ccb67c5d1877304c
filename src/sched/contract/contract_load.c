/* Contractions: loads of operand tiles from tensors into shared memory. See contract_kernel.h, and tpat_mma.h for the
 * functions that are called. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

enum contract_way contract_way_of(const struct contract_kernel *k, int side)
{
	return k->vectors[side] ? k->c->side[side].way : CONTRACT_GATHER;
}

/* True if a gathered operand's elements are a tensor's, so that kernels need only positions. */
static bool is_of_tensor(const struct contract_kernel *k, int side)
{
	return contract_load_of(&k->c->side[side]) != NULL;
}

bool contract_through_registers(const struct contract_kernel *k, int side)
{
	bool copied = is_of_tensor(k, side) && k->c->plain; /* asynchronous copies have at least 4 bytes */
	return contract_way_of(k, side) == CONTRACT_GATHER && !copied;
}

static int outer_size(const struct contract_kernel *k, int side)
{
	return side ? k->shape.columns : k->shape.rows;
}

bool contract_is_turned(const struct contract_kernel *k, int side)
{
	return contract_way_of(k, side) == CONTRACT_TURNED;
}

struct ir_variable *contract_tiles_new(const struct contract_kernel *k, int side)
{
	int outer = outer_size(k, side), depth = k->shape.depth;
	bool turned = contract_is_turned(k, side), apart = contract_lies_apart(k->c, side, contract_way_of(k, side));
	enum type t = k->c->side[side].type;
	struct ir_template of = IR_OF(IR_TYPE(t), IR_NUMBER(turned ? depth : outer), IR_NUMBER(turned ? outer : depth));
	if (k->wide)
		of = IR_OF(IR_TYPE(t), IR_NUMBER(outer), IR_TRUTH(turned));
	else if (k->c->plain && !contract_through_registers(k, side)) /* row pieces are not swizzled */
		of.at[of.n++] =
		        apart ? (struct ir_of_arg)IR_WORD(TILE_APART) : (struct ir_of_arg)IR_WORD(TILE_STRAIGHT);
	struct ir_variable *v = ir_object_new(k->p->pool, k->wide ? &device_wide_tile : &device_shared_tile, of,
	                                      "%s_tile", contract_side_name[side]);
	return array_of(v, k->shape.slots);
}

const char *const contract_side_name[2] = { "left", "right" };

/* The operand's value where its condition fails; null: zero. */
static expr fill_of(const struct contract_kernel *k, int side)
{
	expr value = k->c->side[side].value;
	return value->op == IR_SELECT && k->c->side[side].zero && !ir_is_int(value->arg[2], 0) ? value->arg[2] : NULL;
}

/* The load with the most axes in an expression. */
struct widest {
	expr load;
	int axes;
};

static void find_widest(void *user, expr e)
{
	struct widest *w = user;
	bool used[2 * IR_MAX_RANK] = { false };
	int axes = 0;
	if (e->op != IR_LOAD)
		return;
	ir_mark_axes(e, used);
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		axes += used[i];
	if (!w->load || axes > w->axes)
		*w = (struct widest){ e, axes };
}

/* An element's position in the operand, over axes; of a computed one, in the tensor that it is computed from. */
static expr position_of(const struct contract_kernel *k, int side)
{
	struct widest w = { NULL, 0 };
	ir_walk(k->c->side[side].value, find_widest, &w);
	return ir_flat(k->p->pool, w.load->buf, w.load->arg);
}

/* A number that divides the length of all tiles' sums. */
static expr steady_depth(const struct contract_kernel *k)
{
	expr depth = index_(k, 1);
	for (int i = 0; i < k->c->s->space_rank; i++)
		if (!k->c->low[i])
			depth = ir_binary(IR_MUL, depth, k->c->s->space[i]);
	return depth;
}

/* Number of neighbours along the reduced axes that are contiguous in memory. */
static expr contiguous(const struct contract_kernel *k, expr position)
{
	const struct ir_stage *s = k->c->s;
	expr n = index_(k, 1);
	for (int i = s->space_rank - 1; i >= 0; i--) {
		int axis = k->c->order[i];
		if (!ir_is_int(s->space[axis], 1) && ir_stride(position, s->out->rank + axis) != n)
			break;
		n = ir_binary(IR_MUL, n, s->space[axis]);
	}
	return n;
}

/* True if neighbouring threads gather elements along the reduced axes, false if along rows (or columns): whichever are
 * contiguous in memory. */
static bool gathers_along(const struct contract_kernel *k, int side)
{
	enum { FEW = 8 };
	const struct contract *c = k->c;
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	expr position = position_of(k, side), along = contiguous(k, position), across = NULL;
	int64_t n;
	for (int i = 0; i < c->axes[own]; i++)
		if (!ir_is_int(c->s->out->dim[c->axis[own][i]], 1))
			across = ir_stride(position, c->axis[own][i]);
	return !(ir_const_int(along, &n) && n < FEW) && !(across && ir_is_int(across, 1));
}

/* Emits the function that gives an element's position, or its value. With taps, its depth is a position on the
 * innermost reduced axis. */
static void emit_at(struct contract_kernel *k, struct ir_block *b, int side)
{
	const struct contract *c = k->c;
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	enum contract_way way = contract_way_of(k, side);
	const char *name = side ? "column" : "row";
	expr value = c->side[side].value, inside = ir_int(k->p->pool, TYPE_BOOL, 1);
	bool used[2 * IR_MAX_RANK] = { false };
	struct ir_lambda *f = emit_lambda(k->p, b, text(k, "%s_at", contract_side_name[side]));
	k->at[side] = f->var;
	expr outer, depth;
	if (way == CONTRACT_TURNED) {
		depth = emit_parameter(k->p, f, TYPE_INDEX, "depth", c->depth);
		outer = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]);
	} else {
		outer = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]);
		depth = emit_parameter(k->p, f, TYPE_INDEX, "depth", c->depth);
	}
	expr load = contract_load_of(&c->side[side]), condition = contract_condition_of(&c->side[side]);
	ir_mark_axes(!load ? value : ir_flat(k->p->pool, load->buf, load->arg), used);
	if (condition)
		ir_mark_axes(condition, used);
	contract_declare_group(k, f->body, own, outer, used);
	expr end = k->tap ? c->s->space[c->order[c->s->space_rank - 1]] : contract_depth(k);
	if (k->tap)
		k->axis[c->s->out->rank + c->order[c->s->space_rank - 1]] = depth;
	else
		contract_declare_depth(k, f->body, depth, used,
		                       condition || c->side[side].computed ? NULL : position_of(k, side));
	if (!divides(c->extent[own], outer_size(k, side)))
		inside = ir_binary(IR_LT, ir_var_of(outer->var, NULL), c->extent[own]);
	if (!divides(k->tap ? end : steady_depth(k), k->shape.depth))
		inside = ir_binary(IR_AND, inside, ir_binary(IR_LT, ir_var_of(depth->var, NULL), end));
	struct axes here = { .value = k->axis };
	if (way == CONTRACT_GATHER && !load) {
		f->value =
		        ir_select(inside, to_kernel(k->p, value, &here), ir_const(k->p->pool, c->side[side].type, 0));
		return;
	}
	expr what = to_kernel(k->p, load, &here)->arg[0], none = index_(k, -1);
	if (condition)
		what = ir_select(to_kernel(k->p, condition, &here), what, index_(k, fill_of(k, side) ? -2 : -1));
	f->value = ir_select(inside, what, none);
}

/* Starts the load of a tile, from `depth` on, into the slot. Loads through registers complete in
 * contract_emit_put(). */
void contract_emit_fetch(struct contract_kernel *k, struct ir_block *b, int side, expr slot, expr depth)
{
	if (k->tap)
		emit_at(k, b, side);
	expr first = ir_var_of(k->first[side], NULL);
	enum contract_way way = contract_way_of(k, side);
	struct ir_call *call;
	expr fill = way == CONTRACT_GATHER && !is_of_tensor(k, side) ? NULL : fill_of(k, side);
	if (way != CONTRACT_GATHER) {
		call = emit_invoke(k->p, b, k->wide ? &device_wide_tile_copy : &device_tile_copy,
		                   IR_OF(IR_NUMBER(k->shape.threads)));
		add_item(k->p, call, k->tile[side], slot);
	} else if (!contract_through_registers(k, side)) {
		call = emit_invoke(k->p, b, &device_tile_copy_elements,
		                   IR_OF(IR_NUMBER(k->shape.threads), IR_TRUTH(gathers_along(k, side))));
		add_item(k->p, call, k->tile[side], slot);
	} else {
		call = emit_method(k->p, b, k->next[side],
		                   fill                    ? &device_tile_gather_fetch_filled
		                   : is_of_tensor(k, side) ? &device_tile_gather_fetch_from
		                                           : &device_tile_gather_fetch);
	}
	if (is_of_tensor(k, side))
		add_address(k->p, call, contract_load_of(&k->c->side[side])->buf, index_(k, 0), false);
	add_value(k->p, call, way == CONTRACT_TURNED ? depth : first);
	add_value(k->p, call, way == CONTRACT_TURNED ? first : depth);
	add_variable(k->p, call, k->at[side]);
	if (fill) {
		struct axes here = { .value = k->axis };
		add_value(k->p, call, to_kernel(k->p, fill, &here));
	}
}

void contract_emit_put(struct contract_kernel *k, struct ir_block *b, int side, expr slot)
{
	if (!contract_through_registers(k, side))
		return;
	struct ir_call *call = emit_method(k->p, b, k->next[side], &device_tile_gather_put);
	add_item(k->p, call, k->tile[side], slot);
}

void contract_begin_loads(struct contract_kernel *k, struct ir_block *b)
{
	for (int side = 0; side < 2 && !k->tap; side++)
		emit_at(k, b, side);
	for (int side = 0; side < 2; side++) {
		struct ir_template of = IR_OF(IR_NUMBER(k->shape.threads), IR_TYPE(k->c->side[side].type),
		                              IR_NUMBER(outer_size(k, side)), IR_NUMBER(k->shape.depth),
		                              IR_TRUTH(gathers_along(k, side)));
		if (contract_through_registers(k, side))
			k->next[side] = emit_local(k->p, b,
			                           ir_object_new(k->p->pool, &device_tile_gather, of, "%s_next",
			                                         contract_side_name[side]));
	}
}

/* Axes of more than one element that an operand has. */
static int axes_of(const struct contract *c, int side)
{
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	int n = 0;
	for (int i = 0; i < c->axes[own]; i++)
		n += !ir_is_int(c->s->out->dim[c->axis[own][i]], 1);
	for (int i = 0; i < c->s->space_rank; i++)
		n += !ir_is_int(c->s->space[i], 1);
	return n;
}

double contract_copy_clocks(const struct contract *c, const struct contract_shape *k)
{
	enum { LANES = 128, WINDOW = 55, OTHER = 0 }; /* instructions a copy, as measured on an H100 */
	double instructions = 0;
	for (int side = 0; side < 2; side++) {
		bool window = contract_condition_of(&c->side[side]) && axes_of(c, side) > 2;
		double copies = (side ? k->columns : k->rows) * k->depth * contract_element_bytes(c) / 16.0;
		instructions += copies * (window ? WINDOW : OTHER);
	}
	return instructions / LANES;
}

/* The divisions from a position over the reduced axes to the axes: by a power of two they are shifts. */
static int divisions_of(const struct contract *c)
{
	int n = 0, outermost = 0;
	while (outermost < c->s->space_rank - 1 && ir_is_int(c->s->space[c->order[outermost]], 1))
		outermost++;
	for (int i = outermost + 1; i < c->s->space_rank; i++) {
		int64_t extent;
		n += !ir_const_int(c->s->space[c->order[i]], &extent) || (extent & (extent - 1)) != 0;
	}
	return n;
}

double contract_gather_clocks(const struct contract *c, const struct contract_shape *k, int side)
{
	/* Instructions an element, as trials of 12 products and convolutions on an H200 have them: a copy of its own,
	 * without and with a window's conditions; loaded and stored; for each division. */
	enum { LANES = 128, COPY = 9, WINDOW = 25, LOAD = 14, DIVISION = 5 };
	int instructions = !c->plain ? LOAD : contract_condition_of(&c->side[side]) ? WINDOW : COPY;
	instructions += DIVISION * divisions_of(c);
	return (double)(side ? k->columns : k->rows) * k->depth * instructions / LANES;
}
