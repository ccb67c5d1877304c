/* Keys of a sort, and values at positions of its rows. See sort.h. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"

/* True if a cast keeps order and equality, so that the narrower type can be the key. */
static bool keeps_order(enum type from, enum type to)
{
	bool real = type_is_float(to), small = from == TYPE_F16 || from == TYPE_BF16;
	if (type_is_float(from))
		return real && (small || from == TYPE_F32) && type_info(to)->bits > type_info(from)->bits;
	int bits = type_info(from)->bits, room = to == TYPE_F32 ? 24 : to == TYPE_F64 ? 53 : type_info(to)->bits;
	if ((from != TYPE_BOOL && !type_is_int(from)) || (!real && !type_is_int(to)) || bits < 8)
		return false;
	return type_is_signed(from) && !real && !type_is_signed(to) ? false : room > bits;
}

expr sort_key(const struct ir_stage *s)
{
	expr key = s->value;
	while (key->op == IR_CAST && keeps_order(key->arg[0]->type, key->type))
		key = key->arg[0];
	return key;
}

int sort_key_bits(const struct ir_stage *s)
{
	return type_info(sort_key(s)->type)->bits;
}

/* A key with its index takes 8 bytes, or 16 if it has 64 bits. */
int sort_most_keys(const struct ir_stage *s)
{
	return SORT_SHARED_BYTES / (sort_key_bits(s) == 64 ? 16 : 8);
}

enum type sort_key_type(const struct ir_stage *s)
{
	int bits = sort_key_bits(s);
	return bits == 64 ? TYPE_U64 : bits == 32 ? TYPE_U32 : bits == 16 ? TYPE_U16 : TYPE_U8;
}

expr sort_own_position(struct ir_program *p, const struct ir_stage *s, expr *axis)
{
	struct ir_buffer space = *s->out;
	expr index[IR_MAX_RANK];
	for (int k = 0; k < s->out->rank; k++)
		index[k] = axis[k] = ir_axis(p->pool, k, s->out->dim[k]);
	space.dim[s->axis] = s->space[0];
	index[s->axis] = axis[s->out->rank] = ir_axis(p->pool, s->out->rank, s->space[0]);
	return ir_flat(p->pool, &space, index);
}

expr sort_value_with(const struct sort_row *row, expr value, const expr *axis, expr r)
{
	expr own[IR_MAX_RANK];
	struct axes a = { .value = axis,
		          .same = sort_own_position(row->p, row->s, own),
		          .same_as = row_position(&row->place, row->n, r),
		          .load = row->load,
		          .user = row->user };
	return to_kernel(row->p, value, &a);
}

expr sort_map_at(struct sort_row *row, const struct sort_map *map, expr j, expr r)
{
	row->axis[row->s->axis] = j;
	row->axis[row->s->out->rank] = r;
	expr value = map->value, found = map->place ? ir_var_of(r->var, NULL) : NULL;
	if (map->place)
		value = substitute(&(struct substitution){ &map->place, &found, 1 }, value);
	return sort_value_with(row, value, row->axis, r);
}

expr sort_result_at(const struct sort_row *row, expr j)
{
	return row_position(&row->place, row->k, j);
}
