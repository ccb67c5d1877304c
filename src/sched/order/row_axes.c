/* Rows along a stage's axis in kernels. See row_axes.h. */
#include "sched/order/row_axes.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"

struct row_place row_place_of(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number)
{
	expr outer_count = out_extents(p, s, 0, s->axis);
	struct row_place r = { .outer = number,
		               .inner = ir_index(p->pool, 0),
		               .inner_count = out_extents(p, s, s->axis + 1, s->out->rank) };
	if (ir_is_int(outer_count, 1)) {
		r.outer = r.inner;
		r.inner = number;
	} else if (!ir_is_int(r.inner_count, 1)) {
		r.outer = emit_declare(p, b, "outer", ir_binary(IR_FLOORDIV, number, r.inner_count), outer_count);
		r.inner = emit_declare(p, b, "inner", ir_binary(IR_MOD, number, r.inner_count), r.inner_count);
	}
	return r;
}

expr row_position(const struct row_place *r, expr extent, expr at)
{
	expr x = ir_binary(IR_ADD, ir_binary(IR_MUL, r->outer, extent), at);
	return ir_binary(IR_ADD, ir_binary(IR_MUL, x, r->inner_count), r->inner);
}

void row_axes(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number, const bool *used,
              expr *axis)
{
	const char *names[IR_MAX_RANK];
	expr dim[IR_MAX_RANK], other[IR_MAX_RANK];
	bool others[IR_MAX_RANK];
	int n = other_axes(s, used, dim, names, others);
	declare_axes(p, b, number, n, dim, names, others, other);
	for (int k = 0, i = 0; k < s->out->rank; k++) {
		expr found = k == s->axis ? NULL : other[i++];
		axis[k] = found ? found : ir_index(p->pool, 0);
	}
}
