/* Contractions: how a warp goes through its sums to store them: in passes through shared memory, of some rows and
 * columns each. See contract_kernel.h. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

void contract_own_axes(const struct contract_kernel *k, expr *own)
{
	const struct contract *c = k->c;
	const struct axes here = { .value = k->axis };
	for (int d = 0; d < c->whole->out->rank; d++) {
		bool used[2 * IR_MAX_RANK] = { false }, known = true;
		ir_mark_axes(c->own[d], used);
		for (int i = 0; i < c->s->out->rank; i++)
			known &= !used[i] || k->axis[i];
		own[d] = known ? to_kernel(k->p, c->own[d], &here) : NULL;
	}
}

int contract_part_rows(const struct contract_kernel *k)
{
	return k->c->plain ? FMA_DOWN : TILE;
}

expr contract_part_row(const struct contract_kernel *k, expr part, expr row)
{
	expr together = index_(k, 16 / contract_element_bytes(k->c));
	expr down = index_(k, k->wide ? k->shape.part_step : contract_part_rows(k));
	if (!k->c->plain || contract_way_of(k, 0) != CONTRACT_TURNED)
		return plus(ir_binary(IR_MUL, part, down), row);
	expr piece = plus(ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, part, together), down), row);
	return plus(ir_binary(IR_MUL, piece, together), ir_binary(IR_MOD, part, together));
}

int contract_alternating_rows(const struct contract_kernel *k)
{
	const struct contract *c = k->c;
	int row = c->axis[CONTRACT_ROW][c->axes[CONTRACT_ROW] - 1];
	int column = c->axis[CONTRACT_COLUMN][c->axes[CONTRACT_COLUMN] - 1];
	int64_t rows;
	expr position = contract_position(c), step = ir_stride(position, row), across = ir_stride(position, column);
	if (!ir_const_int(c->s->out->dim[row], &rows) || rows < 2 || contract_part_rows(k) % rows || !step ||
	    !ir_is_int(step, 1) || !across || !ir_is_int(across, rows) ||
	    (c->plain && contract_way_of(k, 0) == CONTRACT_TURNED))
		return 1;
	return (int)rows;
}

int contract_lanes_across(int vectors, int lanes)
{
	return lanes ? contract_lanes_across(lanes, vectors % lanes) : vectors;
}

bool contract_find_passes(struct contract_kernel *k)
{
	const struct contract *c = k->c;
	int width = c->width, columns = k->store_columns, rows = contract_part_rows(k);
	if (!columns || (width > 1 && !ir_is_int(c->fits, 1)) || (width == 1 && contract_alternating_rows(k) > 1))
		return false;
	struct contract_passes x = { .width = width, .across = contract_lanes_across(columns / width, WARP) };
	x.down = WARP / x.across < rows ? WARP / x.across : rows;
	x.turns = rows / x.down;
	x.columns = k->shape.warp_columns / (x.across * width);
	x.rows = k->shape.warp_rows / rows * x.turns;
	k->passes = x;
	return true;
}
