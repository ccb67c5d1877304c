/* The kernel of a Fourier transform: a block has some rows, a thread one short transform in each pass, and between two
 * passes all numbers go through shared memory. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"
#include "sched/fourier/fourier_chain.h"

#include "ir/axis_names.h"

struct fourier_kernel {
	struct ir_program *p;
	const struct fourier_chain *f;
	int rows;
	enum type type;
	expr axis[IR_MAX_RANK]; /* of the row */
	expr active;            /* bool: the thread has a row; null: every one has */
	expr thread;            /* the thread's number in its row */
	expr base;              /* where its row begins in shared memory, in pairs */
	const struct ir_buffer *shared;
	struct ir_variable *array[2];     /* serial: what even and odd passes make of a row */
	expr stage_axis[IR_MAX_RANK + 1]; /* serial: of the pass's stage */
	int pass;
};

static expr number(const struct fourier_kernel *k, int64_t x)
{
	return ir_index(k->p->pool, x);
}

static expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static expr mul(const struct fourier_kernel *k, expr a, int64_t b)
{
	return ir_binary(IR_MUL, a, number(k, b));
}

static expr both(expr a, expr b)
{
	return a && b ? ir_binary(IR_AND, a, b) : a ? a : b;
}

/* Declares the row's axes from its number, as far as the kernel uses them. */
static void declare_row(struct fourier_kernel *k, struct ir_block *b, expr row)
{
	const struct fourier_chain *f = k->f;
	expr extent[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	int n = fourier_row_axes(f, extent);
	for (int i = 0; i < n; i++)
		used[i] = true;
	declare_axes(k->p, b, row, n, extent, ir_axis_names[0], used, k->axis);
}

/* ---- One pass. */

static expr signal_at(const struct fourier_kernel *k, expr e, expr m, expr r)
{
	expr axis[IR_MAX_RANK + 1];
	fourier_index(k->f, 0, k->axis, number(k, 0), m, number(k, 0), axis);
	axis[k->f->pass[0].s->out->rank] = r;
	return to_kernel(k->p, e, &(struct axes){ .value = axis });
}

/* z = elements r * M + m of the signal. */
static void load_signal(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr m)
{
	struct ir_program *p = k->p;
	expr r, zero = ir_const(p->pool, k->type, 0);
	struct ir_block *in = emit_unrolled(p, b, "r", k->f->pass[0].radix, &r);
	emit_set_in_row(p, in, z, r, number(k, 0), signal_at(k, k->f->re, m, r));
	emit_set_in_row(p, in, z, r, number(k, 1), k->f->im ? signal_at(k, k->f->im, m, r) : zero);
}

static expr shared_at(const struct fourier_kernel *k, expr at)
{
	return mul(k, add(k->base, fourier_place(k->p, at)), 2);
}

/* z = elements [j, r * M + m] of what the pass before has made, turned by e^(-2 pi i j r / K). */
static void load_shared(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr j, expr m)
{
	struct ir_program *p = k->p;
	const struct fourier_pass *x = &k->f->pass[k->pass];
	int bits = 0;
	expr r;
	while (1 << bits < x->radix)
		bits++;
	struct ir_variable *turn = ir_variable_new(p->pool, k->type, "turn_%d", k->pass);
	emit_array_of_rows(p, b, turn, bits, 2);
	for (int i = 0; i < bits; i++)
		emit_load_into(p, b, k->f->turn, mul(k, j, ((int64_t)2 * x->m) << i), turn, number(k, i), 2);
	struct ir_block *in = emit_unrolled(p, b, "r", x->radix, &r);
	expr at = add(add(mul(k, j, (int64_t)x->radix * x->m), mul(k, r, x->m)), m);
	emit_load_flat_into(p, in, k->shared, shared_at(k, at), z, r, 2);
	struct ir_call *call = emit_invoke(p, b, &device_fourier_turns, IR_OF(IR_TRUTH(k->f->inverse)));
	add_variable(p, call, z);
	add_variable(p, call, turn);
}

static void store_result(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr i,
                         expr at, bool mirrored)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	const struct ir_stage *s = fourier_last(f);
	expr index[IR_MAX_RANK], value[2];
	for (int part = 0; part < f->parts; part++) {
		expr acc = item_of_row(z, i, number(k, part));
		acc = mirrored && part ? ir_unary(IR_NEG, acc) : acc;
		fourier_index(f, f->passes - 1, k->axis, at, NULL, number(k, part), index);
		value[part] = s->post ? to_kernel(p, s->post, &(struct axes){ .value = index, .acc = acc })
		                      : ir_cast(acc, s->out->type);
	}
	fourier_index(f, f->passes - 1, k->axis, at, NULL, number(k, 0), index);
	expr place = ir_flat(p->pool, s->out, index);
	if (f->parts == 1) {
		emit_store(p, b, s->out, place, value[0]);
		return;
	}
	struct ir_variable *pair = ir_variable_new(p->pool, s->out->type, "pair");
	emit_array(p, b, pair, 2);
	for (int part = 0; part < 2; part++)
		emit_set(p, b, pair, number(k, part), value[part]);
	emit_store_vector(p, b, s->out, place, pair, 2);
}

/* Stores z[i] as frequency j + i * J. Of a real signal those of the second half are conjugates of ones in the first
 * half: `second` says that z[i] is one of them. */
static void store_one(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr i, expr j,
                      expr m, bool second)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	const struct fourier_pass *x = &f->pass[k->pass];
	expr at = add(j, mul(k, i, fourier_before(x))), back = ir_binary(IR_SUB, number(k, x->k), at);
	bool last = k->pass + 1 == f->passes, all = f->kept == f->length;
	if (last && f->half && all) {
		store_result(k, b, z, i, at, false);
		store_result(k, emit_if(p, b, ir_binary(IR_LT, number(k, 0), at)), z, i, back, true);
	} else if (last && f->half) {
		store_result(k, b, z, i, second ? back : at, second);
	} else if (last) {
		b = all ? b : emit_if(p, b, ir_binary(IR_LT, at, number(k, f->kept)));
		store_result(k, b, z, i, at, false);
	} else {
		if (second)
			emit_set_in_row(p, b, z, i, number(k, 1), ir_unary(IR_NEG, item_of_row(z, i, number(k, 1))));
		emit_store_vector_flat(p, b, k->shared, shared_at(k, add(mul(k, second ? back : at, x->m), m)), z, i,
		                       2);
	}
}

static void store_all(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr j, expr m)
{
	int radix = k->f->pass[k->pass].radix, first = k->f->half ? (radix + 1) / 2 : radix;
	expr i;
	struct ir_block *in = emit_unrolled(k->p, b, "r", first, &i);
	store_one(k, in, z, i, j, m, false);
	if (first == radix)
		return;
	in = emit_unrolled(k->p, b, "r", radix - first, &i);
	store_one(k, in, z, add(i, number(k, first)), j, m, true);
}

/* The block of the threads that take part in the pass. */
static struct ir_block *taking_part(const struct fourier_kernel *k, struct ir_block *b)
{
	int parts = fourier_parts(k->f, k->pass);
	expr some = parts < fourier_threads(k->f) ? ir_binary(IR_LT, k->thread, number(k, parts)) : NULL;
	some = both(k->active, some);
	return some ? emit_if(k->p, b, some) : b;
}

static void one_pass(const struct fourier_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	const struct fourier_pass *x = &k->f->pass[k->pass];
	struct ir_variable *z = ir_variable_new(p->pool, k->type, "z_%d", k->pass);
	expr j = number(k, 0), m = j;
	int before = fourier_before(x), threads = fourier_threads(k->f);
	bool last = k->pass + 1 == k->f->passes;
	emit_array_of_rows(p, b, z, x->radix, 2);
	if (before > 1)
		j = emit_declare(p, b, arena_printf(p->arena, "j_%d", k->pass),
		                 ir_binary(IR_FLOORDIV, k->thread, number(k, x->m)), number(k, threads / x->m + 1));
	if (x->m > 1)
		m = emit_declare(p, b, arena_printf(p->arena, "m_%d", k->pass),
		                 before > 1 ? ir_binary(IR_MOD, k->thread, number(k, x->m)) : k->thread,
		                 number(k, x->m));
	struct ir_block *in = taking_part(k, b);
	if (k->pass == 0)
		load_signal(k, in, z, m);
	else
		load_shared(k, in, z, j, m);
	add_variable(p, emit_invoke(p, in, &device_fourier, IR_OF(IR_TRUTH(k->f->inverse))), z);
	if (k->pass) {
		if (!last)
			emit(p, b, IR_SYNC); /* all have read */
		in = last ? in : taking_part(k, b);
	}
	store_all(k, in, z, j, m);
	if (!last)
		emit(p, b, IR_SYNC);
}

/* ---- The serial twin: the stages' own sums. */

static expr made_at(const struct fourier_kernel *k, int pass, expr j, expr m, expr part)
{
	return add(mul(k, add(mul(k, j, k->f->pass[pass].m), m), 2), part);
}

/* Callback for struct axes: what the pass before has made is in an array. */
static expr from_pass(void *user, expr e, expr flat)
{
	struct fourier_kernel *k = user;
	(void)flat;
	if (!k->pass || e->buf != k->f->pass[k->pass - 1].s->out)
		return NULL;
	struct axes here = { .value = k->stage_axis };
	int axis = k->f->axis;
	return item_of(k->array[(k->pass - 1) % 2], made_at(k, k->pass - 1, to_kernel(k->p, e->arg[axis], &here),
	                                                    to_kernel(k->p, e->arg[axis + 1], &here),
	                                                    to_kernel(k->p, e->arg[e->buf->rank - 1], &here)));
}

static void serial_pass(struct fourier_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	const struct fourier_chain *f = k->f;
	const struct fourier_pass *x = &f->pass[k->pass];
	const struct ir_stage *s = x->s;
	bool last = k->pass + 1 == f->passes;
	expr none = number(k, 0), one = number(k, 1), parts = number(k, last ? f->parts : 2);
	expr ks = number(k, last ? f->kept : f->half ? x->k / 2 + 1 : x->k), j, m = none, part, r;
	b = emit_loop(p, b, "j", none, ks, one, ks, &j);
	if (!last)
		b = emit_loop(p, b, "m", none, number(k, x->m), one, number(k, x->m), &m);
	b = emit_loop(p, b, "part", none, parts, one, parts, &part);
	fourier_index(f, k->pass, k->axis, j, m, part, k->stage_axis);
	expr sum = emit_variable(p, b, "sum", ir_const(p->pool, k->type, 0));
	struct ir_block *in = emit_loop(p, b, "r", none, number(k, x->radix), one, number(k, x->radix), &r);
	k->stage_axis[s->out->rank] = r;
	struct axes here = { .value = k->stage_axis, .load = from_pass, .user = k, .acc = sum };
	emit_assign(p, in, sum, add(sum, to_kernel(p, s->value, &here)));
	expr value = s->post ? to_kernel(p, s->post, &here) : ir_cast(sum, s->out->type);
	if (last)
		emit_store(p, b, s->out, ir_flat(p->pool, s->out, k->stage_axis), value);
	else
		emit_set(p, b, k->array[k->pass % 2], made_at(k, k->pass, j, m, part), value);
}

/* ---- The whole kernel. */

static void threads_body(struct fourier_kernel *k, struct ir_kernel *kernel)
{
	struct ir_program *p = k->p;
	struct ir_block *b = &kernel->body;
	int threads = fourier_threads(k->f);
	bool across = fourier_across(k->f), idle = kernel->threads > threads * k->rows;
	expr thread = ir_thread(p->pool, number(k, kernel->threads)), count = k->f->rows;
	expr own = number(k, across ? k->rows : threads), rows = number(k, k->rows), in_block = number(k, 0);
	expr low = ir_binary(IR_MOD, thread, own), high = ir_binary(IR_FLOORDIV, thread, own);
	int groups = (kernel->threads - 1) / (across ? k->rows : threads) + 1;
	k->thread = thread;
	if (k->rows > 1) {
		in_block =
		        emit_constant(p, b, "row_in_block", across ? low : high, number(k, across ? k->rows : groups));
		k->thread = emit_constant(p, b, "lane", across ? high : low, number(k, across ? groups : threads));
	}
	expr first = ir_binary(IR_MUL, ir_block(p->pool, kernel->blocks), rows);
	expr row = emit_constant(p, b, "row", add(first, in_block), NULL);
	if (idle)
		k->active = k->rows == 1 ? ir_binary(IR_LT, k->thread, number(k, threads))
		            : across     ? ir_binary(IR_LT, k->thread, number(k, threads))
		                         : ir_binary(IR_LT, in_block, rows);
	if (!ir_is_int(ir_binary(IR_MOD, count, rows), 0))
		k->active = both(k->active, ir_binary(IR_LT, row, count));
	if (k->active)
		k->active = emit_constant(p, b, "active", k->active, NULL);
	k->base = mul(k, in_block, fourier_pitch(k->f));
	declare_row(k, b, ir_var_of(row->var, count));
	for (k->pass = 0; k->pass < k->f->passes; k->pass++)
		one_pass(k, b);
}

static void serial_body(struct fourier_kernel *k, struct ir_kernel *kernel)
{
	struct ir_program *p = k->p;
	struct ir_block *b = &kernel->serial;
	const struct fourier_chain *f = k->f;
	expr rows = number(k, k->rows), row;
	for (int i = 0; i < 2 && i + 1 < f->passes; i++) {
		int most = 0;
		for (int pass = i; pass + 1 < f->passes; pass += 2) {
			const struct fourier_pass *x = &f->pass[pass];
			int n = 2 * (f->half ? x->k / 2 + 1 : x->k) * x->m;
			most = n > most ? n : most;
		}
		k->array[i] = ir_variable_new(p->pool, k->type, i ? "odd" : "even");
		emit_array(p, b, k->array[i], most);
	}
	expr first = ir_binary(IR_MUL, ir_block(p->pool, kernel->blocks), rows);
	expr end = ir_binary(IR_MIN, f->rows, add(first, rows));
	b = emit_loop(p, b, "row", first, end, number(k, 1), f->rows, &row);
	declare_row(k, b, row);
	for (k->pass = 0; k->pass < f->passes; k->pass++)
		serial_pass(k, b);
}

void fourier_emit(struct ir_program *p, struct ir_kernel *kernel, const struct fourier_chain *f, int rows)
{
	enum type type = f->pass[0].s->value->type;
	struct fourier_kernel k = { .p = p, .f = f, .rows = rows, .type = type };
	kernel->threads = (fourier_threads(f) * rows + 31) / 32 * 32;
	kernel->blocks = ceil_div(p, f->rows, rows);
	if (f->passes > 1) {
		struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
		int bytes = fourier_shared_bytes(f, rows);
		*shared = (struct ir_buffer){
			.name = "made", .type = type, .rank = 1, .role = IR_TEMP, .id = f->pass[0].s->out->id
		};
		shared->dim[0] = ir_index(p->pool, bytes / (type_info(type)->bits / 8));
		vec_push(p->arena, &kernel->shared, (const struct ir_buffer *)shared);
		if (bytes > TARGET_DECLARED_EVERYWHERE - TARGET_EXCHANGE)
			kernel->shared_bytes = bytes;
		k.shared = shared;
	}
	threads_body(&k, kernel);
	serial_body(&k, kernel);
}
