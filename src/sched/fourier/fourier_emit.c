/* The kernel of a Fourier transform: a block has some rows, a thread one short transform in each pass, and between two
 * passes all numbers go through shared memory. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"
#include "sched/fourier/fourier_chain.h"

#include "ir/axis_names.h"

/* A thread's place in a pass: transform j of those for each m. */
struct place {
	expr j, m;
	struct ir_variable *turn; /* null: no turns */
};

struct fourier_kernel {
	struct ir_program *p;
	const struct fourier_chain *f;
	int rows;
	enum type type;
	expr axis[IR_MAX_RANK]; /* of the row */
	expr active;            /* bool: the thread has a row; null: every one has */
	expr thread;            /* the thread's number in its row */
	expr base;              /* where its row begins in shared memory, in pairs */
	struct place place[FOURIER_PASSES];
	const struct ir_buffer *shared;
	struct ir_variable *array[2]; /* serial: what even and odd passes make of a row */
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

/* The row's k mod `before`: frequency k of a row is number this + before * k. */
static expr frequency(const struct fourier_kernel *k, expr at)
{
	const struct fourier_chain *f = k->f;
	return f->before > 1 ? add(mul(k, at, f->before), k->axis[f->axis]) : at;
}

/* ---- One pass. */

static expr signal_at(const struct fourier_kernel *k, expr e, expr m, expr r)
{
	expr axis[IR_MAX_RANK + 1];
	fourier_index(k->f, 0, k->axis, frequency(k, number(k, 0)), m, number(k, 0), axis);
	axis[k->f->pass[0].s->out->rank] = r;
	return to_kernel(k->p, e, &(struct axes){ .value = axis });
}

/* True if an element's parts lie next to each other in memory. */
static bool are_pairs(const struct fourier_kernel *k)
{
	expr re = k->f->re, im = k->f->im;
	if (!im || re->op != IR_LOAD || im->op != IR_LOAD || re->buf != im->buf || re->type != k->type)
		return false;
	expr at = ir_flat(k->p->pool, re->buf, re->arg), next = ir_flat(k->p->pool, im->buf, im->arg);
	return ir_is_int(ir_binary(IR_SUB, next, at), 1) && ir_multiple(at) % 2 == 0;
}

/* z = elements r * M + m of the signal. */
static void load_signal(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr m)
{
	struct ir_program *p = k->p;
	expr r, zero = ir_const(p->pool, k->type, 0), re = k->f->re;
	struct ir_block *in = emit_unrolled(p, b, "r", k->f->pass[0].radix, &r);
	if (are_pairs(k)) {
		emit_load_into(p, in, re->buf, signal_at(k, ir_flat(p->pool, re->buf, re->arg), m, r), z, r, 2);
		return;
	}
	emit_set_in_row(p, in, z, r, number(k, 0), signal_at(k, re, m, r));
	emit_set_in_row(p, in, z, r, number(k, 1), k->f->im ? signal_at(k, k->f->im, m, r) : zero);
}

static expr shared_at(const struct fourier_kernel *k, expr at)
{
	return mul(k, add(k->base, fourier_place(k->p, at)), 2);
}

/* z = elements [j, r * M + m] of what the pass before has made. */
static void load_shared(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr j, expr m)
{
	const struct fourier_chain *f = k->f;
	int each = fourier_m(f, k->pass), radix = f->pass[k->pass].radix;
	expr r;
	struct ir_block *in = emit_unrolled(k->p, b, "r", radix, &r);
	expr at = add(add(mul(k, j, (int64_t)radix * each), mul(k, r, each)), m);
	emit_load_flat_into(k->p, in, k->shared, shared_at(k, at), z, r, 2);
}

/* The block of the threads that take part in a pass. */
static struct ir_block *taking_part(const struct fourier_kernel *k, struct ir_block *b, int pass)
{
	int parts = fourier_parts(k->f, pass);
	expr some = parts < fourier_threads(k->f) ? ir_binary(IR_LT, k->thread, number(k, parts)) : NULL;
	some = both(k->active, some);
	return some ? emit_if(k->p, b, some) : b;
}

/* Declares the thread's place in a pass, and loads e^(-2 pi i j 2^b / K): before the pass before, whose work hides the
 * way to memory. */
static void prepare(struct fourier_kernel *k, struct ir_block *b, int pass)
{
	struct ir_program *p = k->p;
	const struct fourier_chain *f = k->f;
	const struct fourier_pass *x = &f->pass[pass];
	struct place *at = &k->place[pass];
	int before = fourier_j(f, pass), each = fourier_m(f, pass), threads = fourier_threads(f), bits = 0;
	expr high = ir_binary(IR_FLOORDIV, k->thread, number(k, each)), low = k->thread;
	low = before > 1 ? ir_binary(IR_MOD, low, number(k, each)) : low;
	at->j = at->m = number(k, 0);
	if (before > 1)
		at->j = emit_declare(p, b, arena_printf(p->arena, "j_%d", pass), high, number(k, threads / each + 1));
	if (each > 1)
		at->m = emit_declare(p, b, arena_printf(p->arena, "m_%d", pass), low, number(k, each));
	if (f->pass[pass].k == x->radix)
		return; /* no turns */
	while (1 << bits < x->radix)
		bits++;
	at->turn = ir_variable_new(p->pool, k->type, "turn_%d", pass);
	emit_array_of_rows(p, b, at->turn, bits, 2);
	b = taking_part(k, b, pass);
	for (int i = 0; i < bits; i++)
		emit_load_into(p, b, f->turn, mul(k, frequency(k, at->j), ((int64_t)2 * x->m) << i), at->turn,
		               number(k, i), 2);
}

static void store_pair(const struct fourier_kernel *k, struct ir_block *b, const struct ir_buffer *out, expr place,
                       const expr *value)
{
	struct ir_variable *pair = ir_variable_new(k->p->pool, out->type, "pair");
	emit_array(k->p, b, pair, 2);
	for (int part = 0; part < 2; part++)
		emit_set(k->p, b, pair, number(k, part), value[part]);
	emit_store_vector(k->p, b, out, place, pair, 2);
}

/* Callback for struct axes: the parts of the frequency that is being stored. */
struct own_parts {
	const struct ir_buffer *buf;
	expr part[2];
};

static expr own_part(void *user, expr e, expr flat)
{
	const struct own_parts *x = user;
	(void)flat;
	return e->buf == x->buf ? x->part[ir_is_int(e->arg[e->buf->rank - 1], 1)] : NULL;
}

/* Stores what follows the transform, of both parts of frequency `at`. */
static void store_after(const struct fourier_kernel *k, struct ir_block *b, const expr *part, expr at)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	const struct ir_stage *s = f->after;
	struct own_parts own = { .buf = fourier_end(f)->s->out };
	expr index[IR_MAX_RANK], value[2];
	for (int i = 0; i < 2; i++)
		own.part[i] = emit_constant(p, b, i ? "im" : "re", part[i], NULL);
	fourier_index(f, f->passes - 1, k->axis, at, NULL, number(k, 0), index);
	struct axes here = { .value = index, .load = own_part, .user = &own };
	bool parts = s->kind == IR_MAP && s->out->rank == own.buf->rank;
	for (int i = 0; i < 2; i++)
		value[i] = to_kernel(p, fourier_after_part(f, i), &here);
	expr place = ir_flat(p->pool, s->out, index);
	if (parts) {
		store_pair(k, b, s->out, place, value);
		return;
	}
	if (s->kind == IR_REDUCE) {
		here.acc = add(value[0], value[1]);
		value[0] = s->post ? to_kernel(p, s->post, &here) : ir_cast(here.acc, s->out->type);
	}
	emit_store(p, b, s->out, place, value[0]);
}

/* A result's place: the frequency, and the value, conjugated if it is another one's mirror image. */
static void store_result(const struct fourier_kernel *k, struct ir_block *b, expr re, expr im, expr at, expr m,
                         bool mirrored)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	const struct ir_stage *s = fourier_end(f)->s;
	expr index[IR_MAX_RANK], value[2];
	for (int part = 0; part < f->parts; part++) {
		expr acc = !part ? re : mirrored ? ir_unary(IR_NEG, im) : im;
		fourier_index(f, f->passes - 1, k->axis, at, m, number(k, part), index);
		value[part] = s->post ? to_kernel(p, s->post, &(struct axes){ .value = index, .acc = acc })
		                      : ir_cast(acc, s->out->type);
	}
	if (f->after) {
		store_after(k, b, value, at);
		return;
	}
	fourier_index(f, f->passes - 1, k->axis, at, m, number(k, 0), index);
	expr place = ir_flat(p->pool, s->out, index);
	if (f->parts == 1)
		emit_store(p, b, s->out, place, value[0]);
	else
		store_pair(k, b, s->out, place, value);
}

/* Stores frequency `at` of a row, and what is its mirror image in another row, as far as they are kept. */
static void store_both(const struct fourier_kernel *k, struct ir_block *b, expr re, expr im, expr at, expr m)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	int all = fourier_end(f)->k;
	expr own = frequency(k, at), back = ir_binary(IR_SUB, number(k, all), own), kept = number(k, f->kept);
	store_result(k, f->kept == all ? b : emit_if(p, b, ir_binary(IR_LT, own, kept)), re, im, own, m, false);
	if (!f->real || f->before == 1)
		return;
	expr first = k->axis[f->axis], paired = ir_binary(IR_LT, number(k, 0), first);
	paired = both(paired, ir_binary(IR_LT, mul(k, first, 2), number(k, f->before)));
	if (f->kept < all)
		paired = both(paired, ir_binary(IR_LT, back, kept));
	store_result(k, emit_if(p, b, paired), re, im, back, m, true);
}

/* Stores z[i] as frequency j + i * J of the row. Of a real signal those of the second half are conjugates of ones in
 * the first half: `second` says that z[i] is one of them. */
static void store_one(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr i, expr j,
                      expr m, bool second)
{
	const struct fourier_chain *f = k->f;
	struct ir_program *p = k->p;
	int all = fourier_k(f, k->pass);
	expr at = add(j, mul(k, i, fourier_j(f, k->pass))), back = ir_binary(IR_SUB, number(k, all), at);
	expr re = item_of_row(z, i, number(k, 0)), im = item_of_row(z, i, number(k, 1));
	if (k->pass + 1 < f->passes) {
		if (second)
			emit_set_in_row(p, b, z, i, number(k, 1), ir_unary(IR_NEG, im));
		at = add(mul(k, second ? back : at, fourier_m(f, k->pass)), m);
		emit_store_vector_flat(p, b, k->shared, shared_at(k, at), z, i, 2);
	} else if (fourier_half(f) && f->kept == all) {
		store_result(k, b, re, im, at, m, false);
		store_result(k, emit_if(p, b, ir_binary(IR_LT, number(k, 0), at)), re, im, back, m, true);
	} else if (fourier_half(f)) {
		store_result(k, b, re, im, second ? back : at, m, second);
	} else {
		store_both(k, b, re, im, at, m);
	}
}

static void store_all(const struct fourier_kernel *k, struct ir_block *b, const struct ir_variable *z, expr j, expr m)
{
	int radix = k->f->pass[k->pass].radix, first = fourier_half(k->f) ? (radix + 1) / 2 : radix;
	bool own = first < radix && k->pass == 0 && k->f->passes > 1; /* z has both of a pair: the first half is all */
	expr i;
	struct ir_block *in = emit_unrolled(k->p, b, "r", own ? radix / 2 + 1 : first, &i);
	store_one(k, in, z, i, j, m, false);
	if (own || first == radix)
		return;
	in = emit_unrolled(k->p, b, "r", radix - first, &i);
	store_one(k, in, z, add(i, number(k, first)), j, m, true);
}

static void one_pass(struct fourier_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	const struct fourier_chain *f = k->f;
	const struct place *at = &k->place[k->pass];
	struct ir_variable *z = ir_variable_new(p->pool, k->type, "z_%d", k->pass);
	struct ir_template direction = IR_OF(IR_TRUTH(f->inverse));
	bool last = k->pass + 1 == f->passes;
	emit_array_of_rows(p, b, z, f->pass[k->pass].radix, 2);
	if (!last)
		prepare(k, b, k->pass + 1);
	struct ir_block *in = taking_part(k, b, k->pass);
	if (k->pass == 0)
		load_signal(k, in, z, at->m);
	else
		load_shared(k, in, z, at->j, at->m);
	if (at->turn) {
		struct ir_call *call = emit_invoke(p, in, &device_fourier_turns, direction);
		add_variable(p, call, z);
		add_variable(p, call, at->turn);
	}
	add_variable(p, emit_invoke(p, in, &device_fourier, direction), z);
	if (k->pass && !last) {
		emit(p, b, IR_SYNC); /* all have read */
		in = taking_part(k, b, k->pass);
	}
	store_all(k, in, z, at->j, at->m);
	if (!last)
		emit(p, b, IR_SYNC);
}

/* ---- The serial twin: sums, also of a real signal's second half. */

static void serial_pass(struct fourier_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	const struct fourier_chain *f = k->f;
	const struct fourier_pass *x = &f->pass[k->pass];
	int all = fourier_k(f, k->pass), before = fourier_j(f, k->pass), each = fourier_m(f, k->pass);
	expr none = number(k, 0), one = number(k, 1), zero = ir_const(p->pool, k->type, 0), at, m, r, re, im = zero;
	b = emit_loop(p, b, "k", none, number(k, all), one, number(k, all), &at);
	b = emit_loop(p, b, "m", none, number(k, each), one, number(k, each), &m);
	expr sum_re = emit_variable(p, b, "re", zero), sum_im = emit_variable(p, b, "im", zero);
	struct ir_block *in = emit_loop(p, b, "r", none, number(k, x->radix), one, number(k, x->radix), &r);
	if (k->pass == 0) {
		re = signal_at(k, f->re, m, r);
		im = f->im ? signal_at(k, f->im, m, r) : zero;
	} else {
		const struct ir_variable *made = k->array[(k->pass - 1) % 2];
		expr j = ir_binary(IR_MOD, at, number(k, before));
		expr from = mul(k, add(mul(k, j, (int64_t)x->radix * each), add(mul(k, r, each), m)), 2);
		re = item_of(made, from);
		im = item_of(made, add(from, one));
	}
	expr turn = ir_binary(IR_MOD, ir_binary(IR_MUL, frequency(k, at), r), number(k, x->k));
	turn = mul(k, turn, (int64_t)2 * x->m);
	expr next = add(turn, one);
	expr c = ir_load(p->pool, flat_view(p, f->turn), &turn), s = ir_load(p->pool, flat_view(p, f->turn), &next);
	s = f->inverse ? s : ir_unary(IR_NEG, s);
	re = emit_constant(p, in, "x", re, NULL);
	im = emit_constant(p, in, "y", im, NULL);
	emit_assign(p, in, sum_re, add(sum_re, ir_binary(IR_SUB, ir_binary(IR_MUL, re, c), ir_binary(IR_MUL, im, s))));
	emit_assign(p, in, sum_im, add(sum_im, add(ir_binary(IR_MUL, re, s), ir_binary(IR_MUL, im, c))));
	if (k->pass + 1 == f->passes) {
		store_both(k, b, sum_re, sum_im, at, m);
		return;
	}
	expr to = mul(k, add(mul(k, at, each), m), 2);
	emit_set(p, b, k->array[k->pass % 2], to, sum_re);
	emit_set(p, b, k->array[k->pass % 2], add(to, one), sum_im);
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
	prepare(k, b, 0);
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
		k->array[i] = ir_variable_new(p->pool, k->type, i ? "odd" : "even");
		emit_array(p, b, k->array[i], 2 * fourier_k(f, 0) * fourier_m(f, 0));
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
		k.shared = shared;
	}
	threads_body(&k, kernel);
	serial_body(&k, kernel);
}
