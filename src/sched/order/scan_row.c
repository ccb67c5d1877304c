/* The rows of a scan in kernels. See scan_row.h. */
#include "sched/order/scan_row.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

const void *scan_match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCAN)
		return s;
	*why = "the stage is not a scan";
	return NULL;
}

#include "ir/axis_names.h"

expr scan_position(const struct scan_row *r, expr at)
{
	return row_position(&r->place, r->extent, at);
}

/* `e` at position `at` of the row, with the axes' values in `axis`. */
static expr in_row(const struct scan_row *r, expr e, const expr *axis, expr at)
{
	struct axes a = { .value = axis,
		          .same = ir_flat(r->p->pool, r->s->out, r->own),
		          .same_as = scan_position(r, at),
		          .acc = r->sum,
		          .load = r->load,
		          .user = r->user };
	return to_kernel(r->p, e, &a);
}

expr scan_value_at(struct scan_row *r, expr at)
{
	r->axis[r->s->axis] = at;
	return in_row(r, r->s->value, r->axis, at);
}

expr scan_result_at(struct scan_row *r, expr at, expr sum)
{
	const struct ir_stage *s = r->s;
	expr row_sum = r->sum, y;
	r->axis[s->axis] = at;
	r->sum = sum;
	y = s->post ? in_row(r, s->post, r->axis, at) : ir_cast(sum, s->out->type);
	r->sum = row_sum;
	return y;
}

static void store_at(struct scan_row *r, struct ir_block *b, expr at, expr sum)
{
	emit_store(r->p, b, r->s->out, scan_position(r, at), scan_result_at(r, at, sum));
}

struct scan_row scan_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row)
{
	struct scan_row r = { .p = p, .s = s, .extent = s->out->dim[s->axis], .place = row_place_of(p, b, s, row) };
	bool used[IR_MAX_RANK] = { false };
	/* Only the axes still used once loads at the row's own position are x[position]. */
	for (int k = 0; k < s->out->rank; k++)
		r.own[k] = ir_axis(p->pool, k, s->out->dim[k]);
	r.sum = ir_acc(p->pool, s->value->type);
	expr somewhere = ir_some(p->pool, TYPE_INDEX, r.extent);
	ir_mark_axes(in_row(&r, s->value, r.own, somewhere), used);
	if (s->post)
		ir_mark_axes(in_row(&r, s->post, r.own, somewhere), used);
	row_axes(p, b, s, row, used, r.axis);
	r.sum = emit_combination(p, b, s->combine, s->value->type);
	return r;
}

/* `step` counts in the direction of the scan. */
static expr axis_of_step(const struct scan_row *r, expr step)
{
	expr last = ir_binary(IR_SUB, r->extent, ir_index(r->p->pool, 1));
	return r->s->reverse ? ir_binary(IR_SUB, last, step) : step;
}

/* Scans a row with one thread. */
void scan_row_serial(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row)
{
	struct scan_row r = scan_row_begin(p, b, s, row);
	const char *axis_name = ir_axis_names[0][s->axis], *name = s->reverse ? "step" : axis_name;
	expr step;
	b = emit_loop(p, b, name, ir_index(p->pool, 0), r.extent, ir_index(p->pool, 1), r.extent, &step);
	expr at = axis_of_step(&r, step);
	if (s->reverse)
		at = emit_constant(p, b, axis_name, at, r.extent);
	expr sum = r.sum, next = ir_combine_expr(s->combine, sum, scan_value_at(&r, at));
	if (s->exclusive)
		store_at(&r, b, at, sum);
	emit_assign(p, b, sum, next);
	if (!s->exclusive)
		store_at(&r, b, at, sum);
}

/* Begins a place of a tile that ends before `end`: returns its block, and its position on the axis. */
static struct ir_block *place_of_tile(struct scan_row *r, struct ir_block *b, expr tile, expr end, int ahead,
                                      expr *item, expr *at)
{
	struct ir_program *p = r->p;
	const char *axis_name = ir_axis_names[0][r->s->axis];
	b = emit_unrolled(p, b, "v", ahead, item);
	expr step = emit_constant(p, b, r->s->reverse ? "step" : axis_name, ir_binary(IR_ADD, tile, *item), r->extent);
	if (end != r->extent || !divides(r->extent, ahead))
		b = emit_if(p, b, ir_binary(IR_LT, ir_var_of(step->var, NULL), end));
	*at = axis_of_step(r, step);
	if (r->s->reverse)
		*at = emit_constant(p, b, axis_name, *at, r->extent);
	return b;
}

void scan_part(struct scan_row *r, struct ir_block *b, expr from, expr end, int ahead, bool store)
{
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	struct ir_variable *values = ir_variable_new(p->pool, s->value->type, "values");
	expr tile, item, at;
	b = emit_loop(p, b, "tile", from, end, ir_index(p->pool, ahead), r->extent, &tile);
	emit_array(p, b, values, ahead);
	struct ir_block *each = place_of_tile(r, b, tile, end, ahead, &item, &at);
	emit_set(p, each, values, item, scan_value_at(r, at));
	each = place_of_tile(r, b, tile, end, ahead, &item, &at);
	if (store && s->exclusive)
		store_at(r, each, at, r->sum);
	emit_assign(p, each, r->sum, ir_combine_expr(s->combine, r->sum, item_of(values, item)));
	if (store && !s->exclusive)
		store_at(r, each, at, r->sum);
}

void scan_row_ahead(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row, int ahead)
{
	struct scan_row r = scan_row_begin(p, b, s, row);
	scan_part(&r, b, ir_index(p->pool, 0), r.extent, ahead, true);
}

bool scan_may_be_long(const struct ir_program *p, const struct ir_stage *s)
{
	enum { FEW_ROWS = 32 };
	int64_t extent, rows = 1;
	(void)p;
	for (int k = 0; k < s->out->rank; k++) {
		if (k == s->axis)
			continue;
		if (!ir_const_int(s->out->dim[k], &extent) || rows * extent > FEW_ROWS)
			return false;
		rows *= extent;
	}
	return !ir_const_int(s->out->dim[s->axis], &extent);
}
