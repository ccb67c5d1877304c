/* The kernel of a product with packed weights: a call of packed_product() with functions for positions, scales, zero
 * points and results. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/packed/packed.h"

#include <string.h>

#include "ir/axis_names.h"

enum { WARP = 32, ROWS = 16, COLUMNS = 8, PIECE = 64 };

struct packed_shape packed_shape(const struct sched_choice *c)
{
	return (struct packed_shape){ c->param[0], c->param[1], c->param[2], c->param[3], c->param[4], c->param[5] };
}

int packed_shared_bytes(const struct packed_shape *s)
{
	return s->warps * s->stages * ROWS * s->tiles * (s->pieces * PIECE + 16);
}

struct packed_place {
	const struct packed *m;
	expr axis[2 * IR_MAX_RANK];
};

static expr index_(const struct packed *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

/* Declares the axes of a column's number, apart from the row's. */
static void declare_column(struct packed_place *at, struct ir_block *b, expr column, const bool *needed)
{
	const struct packed *m = at->m;
	const struct ir_buffer *out = m->s->out;
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	int n = 0;
	for (int a = 0; a < out->rank; a++) {
		if (a == m->row)
			continue;
		dim[n] = out->dim[a];
		name[n] = ir_axis_names[0][a];
		used[n++] = needed[a];
	}
	declare_axes(m->p, b, column, n, dim, name, used, axis);
	for (int a = 0, i = 0; a < out->rank; a++)
		if (a != m->row)
			at->axis[a] = axis[i++];
}

/* e in a function of the kernel, for this row and depth; each may be null. */
static expr here(struct packed_place *at, expr e, expr row, expr depth, expr acc)
{
	const struct packed *m = at->m;
	at->axis[m->row] = row;
	at->axis[m->s->out->rank] = depth;
	struct axes axes = { .value = at->axis, .acc = acc };
	return to_kernel(m->p, e, &axes);
}

static expr result(const struct packed *m)
{
	const struct ir_stage *s = m->s;
	return s->post ? s->post : ir_cast(ir_acc(m->p->pool, TYPE_F32), s->out->type);
}

static expr position(const struct packed *m)
{
	expr axis[IR_MAX_RANK];
	for (int a = 0; a < m->s->out->rank; a++)
		axis[a] = ir_axis(m->p->pool, a, m->s->out->dim[a]);
	return ir_flat(m->p->pool, m->s->out, axis);
}

/* The position of a column's element, or -1 outside. */
static const struct ir_variable *emit_left(const struct packed *m, struct ir_block *b)
{
	struct packed_place at = { .m = m };
	struct ir_lambda *f = emit_lambda(m->p, b, "left_at");
	bool used[2 * IR_MAX_RANK] = { false };
	expr flat = ir_flat(m->p->pool, m->left->buf, m->left->arg);
	expr column = emit_parameter(m->p, f, TYPE_INDEX, "column", m->columns);
	expr depth = emit_parameter(m->p, f, TYPE_INDEX, "depth", m->s->space[0]);
	ir_mark_axes(flat, used);
	declare_column(&at, f->body, column, used);
	expr inside = ir_binary(IR_AND, ir_binary(IR_LT, ir_var_of(column->var, NULL), m->columns),
	                        ir_binary(IR_LT, ir_var_of(depth->var, NULL), m->s->space[0]));
	f->value = ir_select(inside, here(&at, flat, NULL, depth, NULL), index_(m, -1));
	return f->var;
}

/* A value of a row and a block. */
static const struct ir_variable *emit_block_value(const struct packed *m, struct ir_block *b, const char *name, expr e)
{
	struct packed_place at = { .m = m };
	struct ir_lambda *f = emit_lambda(m->p, b, name);
	int block = m->block ? m->block : (int)m->depth;
	expr row = emit_parameter(m->p, f, TYPE_INDEX, "row", index_(m, m->rows));
	expr number = emit_parameter(m->p, f, TYPE_INDEX, "block", index_(m, (m->depth + block - 1) / block));
	f->value = here(&at, e, row, ir_binary(IR_MUL, number, index_(m, block)), NULL);
	return f->var;
}

static const struct ir_variable *emit_put(const struct packed *m, struct ir_block *b)
{
	struct packed_place at = { .m = m };
	struct ir_lambda *f = emit_lambda(m->p, b, "put");
	bool used[IR_MAX_RANK];
	expr row = emit_parameter(m->p, f, TYPE_INDEX, "row", index_(m, m->rows));
	expr column = emit_parameter(m->p, f, TYPE_INDEX, "column", m->columns);
	expr sum = emit_parameter(m->p, f, TYPE_F32, "sum", NULL);
	memset(used, true, sizeof used);
	declare_column(&at, f->body, column, used);
	emit_store(m->p, f->body, m->s->out, here(&at, position(m), row, NULL, NULL),
	           here(&at, result(m), row, NULL, sum));
	return f->var;
}

/* The same for a CPU, one element after the other. */
static void serial(const struct packed *m, struct ir_block *b, const struct packed_shape *shape, expr row, expr column)
{
	struct ir_program *p = m->p;
	struct packed_place at = { .m = m };
	bool used[IR_MAX_RANK];
	expr one = index_(m, 1), end[2], i[2], k;
	memset(used, true, sizeof used);
	end[0] = ir_binary(IR_MIN, ir_binary(IR_ADD, row, index_(m, ROWS * shape->tiles * shape->down)),
	                   index_(m, m->rows));
	end[1] = ir_binary(IR_MIN, ir_binary(IR_ADD, column, index_(m, COLUMNS * shape->columns)), m->columns);
	b = emit_loop(p, b, "row", row, end[0], one, index_(m, m->rows), &i[0]);
	b = emit_loop(p, b, "column", column, end[1], one, m->columns, &i[1]);
	declare_column(&at, b, i[1], used);
	expr sum = emit_variable(p, b, "sum", ir_float(p->pool, TYPE_F32, 0));
	struct ir_block *in = emit_loop(p, b, "depth", index_(m, 0), m->s->space[0], one, m->s->space[0], &k);
	emit_assign(p, in, sum, ir_binary(IR_ADD, sum, here(&at, m->s->value, i[0], k, NULL)));
	emit_store(p, b, m->s->out, here(&at, position(m), i[0], NULL, NULL), here(&at, result(m), i[0], NULL, sum));
}

static void begin(const struct packed *m, struct ir_block *b, const struct packed_shape *shape, expr block, expr *row,
                  expr *column)
{
	struct ir_program *p = m->p;
	expr tiles = ceil_div(p, m->columns, COLUMNS * shape->columns);
	*row = emit_constant(
	        p, b, "first_row",
	        ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, block, tiles), index_(m, ROWS * shape->tiles * shape->down)),
	        index_(m, m->rows));
	*column = emit_constant(p, b, "first_column",
	                        ir_binary(IR_MUL, ir_binary(IR_MOD, block, tiles), index_(m, COLUMNS * shape->columns)),
	                        m->columns);
}

static struct ir_kernel *kernel(struct ir_plan *plan, const struct packed *m, const struct sched_choice *c)
{
	struct ir_program *p = m->p;
	const struct packed_shape shape = packed_shape(c);
	struct ir_kernel *k = kernel_new(plan, m->s, "_packed", c);
	struct ir_block *b = &k->body;
	expr zero = index_(m, 0), row, column;
	int64_t bytes = (m->depth * m->bits + 127) / 128 * 16;
	k->threads = WARP * shape.warps;
	k->blocks = ir_binary(IR_MUL, ceil_div(p, index_(m, m->rows), ROWS * shape.tiles * shape.down),
	                      ceil_div(p, m->columns, COLUMNS * shape.columns));
	k->shared_bytes = packed_shared_bytes(&shape);
	expr block = ir_block(p->pool, k->blocks);
	begin(m, b, &shape, block, &row, &column);
	struct ir_template of = { 6,
		                  { { .kind = IR_OF_WORD, .word = m->kind },
		                    IR_NUMBER(shape.tiles),
		                    IR_NUMBER(shape.warps),
		                    IR_NUMBER(shape.stages),
		                    IR_NUMBER(shape.pieces),
		                    IR_NUMBER(shape.down) } };
	const struct ir_variable *slots =
	        emit_placed(p, b, ir_object_new(p->pool, &device_packed_slots, of, "slots"), NULL);
	const struct ir_variable *left = emit_left(m, b), *scale = emit_block_value(m, b, "scale_at", m->scale);
	int64_t number;
	bool shared = ir_const_int(m->zero, &number);
	const struct ir_variable *zeros = shared ? NULL : emit_block_value(m, b, "zero_at", m->zero);
	const struct ir_variable *put = emit_put(m, b);
	struct ir_call *call = emit_invoke(
	        p, b, &device_packed_product,
	        IR_OF(IR_NUMBER(m->block), IR_TRUTH(m->rounded), IR_TRUTH(m->wide), IR_NUMBER(shape.columns)));
	add_variable(p, call, slots);
	add_address(p, call, m->numbers, zero, false);
	add_value(p, call, row);
	add_value(p, call, index_(m, m->rows));
	add_value(p, call, index_(m, m->row_bytes));
	add_value(p, call, index_(m, bytes));
	add_address(p, call, m->left->buf, zero, false);
	add_value(p, call, column);
	add_value(p, call, m->columns);
	add_variable(p, call, left);
	add_variable(p, call, scale);
	if (shared)
		add_object(p, call, &device_packed_zero, IR_OF(IR_NUMBER((int)number)), NULL);
	else
		add_variable(p, call, zeros);
	add_variable(p, call, put);

	begin(m, &k->serial, &shape, block, &row, &column);
	serial(m, &k->serial, &shape, row, column);
	return k;
}

void packed_kernels(struct ir_plan *plan, struct ir_step *step, const struct packed *m, const struct sched_choice *c,
                    int arch)
{
	struct sched_choice small = *c;
	struct ir_kernel *k = kernel(plan, m, c);
	if (k->shared_bytes > TARGET_SHARED_EVERYWHERE) {
		k->arch = arch;
		kernel_finish_narrow(plan, step, k, m->s);
		small.param[2] = small.param[3] = 4; /* warps, stages, pieces, down */
		small.param[4] = small.param[5] = 1;
		k = kernel(plan, m, &small);
	}
	kernel_finish(plan, step, k, m->s);
}
