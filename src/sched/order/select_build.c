/* Building kernels that find the first k of rows. See select.h. */
#include "sched/order/select.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

/* One block per row or part of a row. Sets *serial to the body of the serial twin. */
static struct ir_kernel *row_kernel(struct select *x, enum select_kernel kernel, const char *suffix,
                                    struct ir_block **serial)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = kernel_new(x->plan, x->s, suffix, x->c);
	k->threads = x->threads;
	k->blocks = x->rows;
	if (kernel == SELECT_PARTS)
		k->blocks = ir_binary(IR_MUL, x->rows, ir_index(p->pool, x->parts));
	*serial = sort_only_if(p, k, x->fits);
	x->kept = emit_shared(p, &k->body, x->object(x, kernel));
	return k;
}

static void emit_select(struct select *x, struct ir_block *b, enum select_kernel kernel, expr from, expr to, int width)
{
	struct ir_program *p = x->p;
	struct ir_call *call = x->call(x, b, kernel, width);
	add_variable(p, call, x->kept);
	add_value(p, call, from);
	add_value(p, call, to);
	add_value(p, call, x->k);
	add_variable(p, call, x->keys_of);
	add_variable(p, call, x->place_of);
	add_variable(p, call, x->put);
}

/* const auto place = [&](r) { return r or buf[...]; }; */
static void emit_place(struct select *x, struct ir_block *b, const struct ir_buffer *buf, expr from, expr extent)
{
	struct ir_program *p = x->p;
	struct ir_lambda *read = emit_lambda(p, b, "place");
	x->place_of = read->var;
	expr r = emit_parameter(p, read, TYPE_INDEX, "r", extent), at = r;
	read->value = r;
	if (!buf)
		return;
	at = ir_binary(IR_ADD, from, r);
	read->value = ir_load(p->pool, flat_view(p, buf), &at);
}

/* const auto keys = [&](r, found) { found[0] = buf[...]; }; */
static void emit_found_keys(struct select *x, struct ir_block *b, const struct ir_buffer *buf, expr from, expr extent)
{
	struct ir_program *p = x->p;
	struct ir_lambda *read = emit_lambda(p, b, "keys");
	x->keys_of = read->var;
	expr at = ir_binary(IR_ADD, from, emit_parameter(p, read, TYPE_INDEX, "r", extent));
	const struct ir_variable *loaded = emit_array_parameter(p, read, buf->type, "loaded", 1);
	emit_set(p, read->body, loaded, ir_index(p->pool, 0), ir_load(p->pool, flat_view(p, buf), &at));
}

/* The functions for the elements of a row. */
static void emit_row(struct select *x, struct ir_block *b, enum select_kernel kernel, struct sort_row *row, int width)
{
	bool values = x->values && x->values(x, kernel);
	x->keys_of = (values ? emit_values : emit_keys)(x->p, b, x->s, row, width);
	emit_place(x, b, NULL, NULL, x->n);
}

static void emit_serial_row(struct select *x, struct ir_block *serial, expr number)
{
	struct sort_row row = sort_row_begin(x->p, serial, x->s, number);
	emit_serial(&row, serial);
}

/* Each part of a row finds its own first k; parts start at multiples of x->width. */
static void parts_kernel(struct select *x, struct ir_step *step, int width)
{
	struct ir_program *p = x->p;
	struct ir_block *serial;
	struct ir_kernel *k = row_kernel(x, SELECT_PARTS, "_parts", &serial);
	struct ir_block *b = &k->body;
	expr parts = ir_index(p->pool, x->parts), block = ir_block(p->pool, k->blocks);
	expr number = emit_constant(p, b, "row", ir_binary(IR_FLOORDIV, block, parts), x->rows);
	expr part = emit_constant(p, b, "part", ir_binary(IR_MOD, block, parts), parts);
	struct sort_row row = sort_row_begin(p, b, x->s, number);
	expr length = ir_binary(IR_MUL, ceil_div(p, x->n, x->parts * x->width), ir_index(p->pool, x->width));
	expr from = emit_declare(p, b, "first", ir_binary(IR_MUL, part, length), NULL);
	emit_row(x, b, SELECT_PARTS, &row, width);
	struct ir_lambda *put = emit_lambda(p, b, "put");
	x->put = put->var;
	expr rank = emit_parameter(p, put, TYPE_INDEX, SORT_RANK, x->k);
	expr key = emit_parameter(p, put, sort_key_type(x->s), "key", NULL);
	expr r = emit_parameter(p, put, TYPE_INDEX, "r", x->n);
	expr own = ir_binary(IR_ADD, ir_binary(IR_MUL, number, parts), part);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, own, x->k), rank);
	emit_store(p, put->body, x->key, at, key);
	emit_store(p, put->body, x->place, at, ir_cast(r, TYPE_I32));
	emit_select(x, b, SELECT_PARTS, from, ir_binary(IR_MIN, x->n, ir_binary(IR_ADD, from, length)), width);
	emit_comment(p, serial, "on one processor, the next kernel does all of it");
	kernel_needs(k, whole_multiple(p, x->n, width));
	kernel_finish(x->plan, step, k, x->s);
}

/* The first k of a row, or of its parts' results. */
static void rows_kernel(struct select *x, struct ir_step *step, int width)
{
	struct ir_program *p = x->p;
	struct ir_block *serial;
	enum select_kernel kernel = x->parts > 1 ? SELECT_FOUND : SELECT_ROW;
	struct ir_kernel *k = row_kernel(x, kernel, x->parts > 1 ? "_best" : "", &serial);
	struct ir_block *b = &k->body;
	expr block = ir_block(p->pool, x->rows), zero = ir_index(p->pool, 0), count = x->n;
	expr number = emit_constant(p, b, "row", block, x->rows);
	struct sort_row row = sort_row_begin(p, b, x->s, number);
	if (x->parts > 1) {
		count = ir_binary(IR_MUL, x->k, ir_index(p->pool, x->parts));
		expr from = ir_binary(IR_MUL, number, count);
		emit_found_keys(x, b, x->key, from, count);
		emit_place(x, b, x->place, from, count);
	} else {
		emit_row(x, b, kernel, &row, width);
	}
	x->put = emit_put(p, b, x->s, &row, true, false);
	emit_select(x, b, kernel, zero, count, width);
	emit_serial_row(x, serial, emit_constant(p, serial, "row", block, x->rows));
	kernel_needs(k, whole_multiple(p, x->n, width));
	kernel_finish(x->plan, step, k, x->s);
}

/* A vectorised kernel for rows that are whole vectors, and a scalar one for the others. */
static void both_ways(struct select *x, void (*kernel)(struct select *x, struct ir_step *step, int width), int width)
{
	struct ir_step *step = step_new(x->plan);
	kernel(x, step, width);
	if (!step_fits_all(step))
		kernel(x, step, 1);
}

void select_apply(struct select *x)
{
	const struct ir_stage *s = x->s;
	struct ir_program *p = x->p;
	x->width = sort_width(p, s);
	while (x->width > x->items) /* an iteration takes whole vectors */
		x->width /= 2;
	x->rows = rows_along(p, s);
	x->n = s->space[0];
	x->k = s->out->dim[s->axis];
	x->fits = sort_at_most(p, x->k, x->most);
	if (x->parts > 1) {
		expr found = ir_binary(IR_MUL, ir_binary(IR_MUL, x->rows, x->k), ir_index(p->pool, x->parts));
		x->key = sort_workspace(p, s, "keys", sort_key_type(s), found, x->fits);
		x->place = sort_workspace(p, s, "places", TYPE_I32, found, x->fits);
		both_ways(x, parts_kernel, x->width);
	}
	both_ways(x, rows_kernel, x->parts > 1 ? 1 : x->width);
	if (x->fits)
		sort_radix_steps(x->plan, s, x->c, ir_unary(IR_NOT, x->fits));
}
