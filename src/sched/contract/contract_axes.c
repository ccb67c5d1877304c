/* Numbers of tiles and blocks of a contraction, and the result's axes from a position. See contract_kernel.h. */
#include "sched/contract/contract_kernel.h"
#include "ir/axis_names.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

/* ---- Tiles and blocks. */
expr contract_tiles(const struct contract_kernel *k)
{
	const struct contract *c = k->c;
	return ir_binary(IR_MUL, c->extent[CONTRACT_BATCH],
	                 ir_binary(IR_MUL, ceil_div(k->p, c->extent[CONTRACT_ROW], k->shape.rows),
	                           ceil_div(k->p, c->extent[CONTRACT_COLUMN], k->shape.columns)));
}

expr contract_blocks(const struct contract_kernel *k)
{
	return k->shape.split > 1 ? ir_binary(IR_MUL, contract_tiles(k), index_(k, k->shape.split)) : contract_tiles(k);
}

void contract_declare_merged(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr position,
                             const bool *used, const bool *merged)
{
	const struct contract *c = k->c;
	expr extent[IR_MAX_RANK], value[IR_MAX_RANK] = { NULL };
	const char *name[IR_MAX_RANK];
	bool met[IR_MAX_RANK];
	for (int i = 0; i < c->axes[g]; i++) {
		extent[i] = c->s->out->dim[c->axis[g][i]];
		name[i] = ir_axis_names[0][c->axis[g][i]];
		met[i] = used[c->axis[g][i]];
	}
	for (int i = 0; i + 1 < c->axes[g]; i++) {
		if (!merged[i])
			continue;
		extent[i + 1] = ir_binary(IR_MUL, extent[i], extent[i + 1]);
		extent[i] = index_(k, 1);
		met[i + 1] |= met[i];
	}
	declare_axes(k->p, b, position, c->axes[g], extent, name, met, value);
	for (int i = 0; i < c->axes[g]; i++)
		k->axis[c->axis[g][i]] = value[i];
}

void contract_declare_group(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr position,
                            const bool *used)
{
	const bool merged[IR_MAX_RANK] = { false };
	contract_declare_merged(k, b, g, position, used, merged);
}
