/* Finds Fourier transforms by what their stages compute: each is built anew from the radices so far, and compared. The
 * first one's elements may be any expression. */
#include "sched/build/stored.h"
#include "sched/fourier/fourier_chain.h"

#include <math.h>

/* ---- Tables. */

static bool is_table(const struct ir_buffer *b)
{
	enum { MOST = 1 << 16 };
	const struct tensor *t = b->data;
	if (b->role != IR_CONSTANT || !t || !t->data || t->rank != 2 || t->dim[1] != 2 || t->dim[0] < 2 ||
	    t->dim[0] > MOST)
		return false;
	double off = b->type == TYPE_F32 ? 1e-7 : 1e-15, angle = 2 * 3.14159265358979323846 / (double)t->dim[0];
	bool same = b->type == TYPE_F32 || b->type == TYPE_F64;
	for (int64_t j = 0; j < t->dim[0] && same; j++)
		same = fabs(tensor_float(t, 2 * j) - cos(angle * (double)j)) < off &&
		       fabs(tensor_float(t, 2 * j + 1) - sin(angle * (double)j)) < off;
	return same;
}

static void find_table(void *user, expr e)
{
	const struct ir_buffer **table = user;
	if (e->op == IR_LOAD && !*table && e->buf->role == IR_CONSTANT && is_table(e->buf))
		*table = e->buf;
}

/* ---- Terms. */

/* x * table[at, which], or minus that. */
struct product {
	expr x, at;
	int64_t which;
	bool minus;
};

static bool product_of(const struct ir_buffer *turn, expr e, struct product *out)
{
	*out = (struct product){ .minus = e->op == IR_NEG };
	e = out->minus ? e->arg[0] : e;
	for (int i = 0; e->op == IR_MUL && i < 2; i++) {
		expr t = e->arg[i];
		bool minus = t->op == IR_NEG;
		t = minus ? t->arg[0] : t;
		if (t->op != IR_LOAD || t->buf != turn || !ir_const_int(t->arg[1], &out->which))
			continue;
		out->minus ^= minus;
		out->at = t->arg[0];
		out->x = e->arg[1 - i];
		return true;
	}
	return false;
}

/* re * cos(at) + im * sin(at), or the like. */
struct term {
	struct product c, s;
	bool has_c, has_s;
};

static bool term_of(const struct ir_buffer *turn, expr e, struct term *out)
{
	struct product x[2];
	int n = e->op == IR_ADD ? 2 : 1;
	*out = (struct term){ 0 };
	for (int i = 0; i < n; i++) {
		if (!product_of(turn, n == 2 ? e->arg[i] : e, &x[i]))
			return false;
		if (x[i].which == 0 && !out->has_c)
			out->c = x[i], out->has_c = true;
		else if (x[i].which == 1 && !out->has_s)
			out->s = x[i], out->has_s = true;
		else
			return false;
	}
	return n == 1 || out->c.at == out->s.at;
}

/* The value for part 0 or 1. */
static expr with_part(struct ir_program *p, const struct ir_stage *s, int part_axis, int part)
{
	expr axis[IR_MAX_RANK + 1];
	for (int i = 0; i < s->out->rank; i++)
		axis[i] = i == part_axis ? ir_index(p->pool, part) : ir_axis(p->pool, i, s->out->dim[i]);
	axis[s->out->rank] = ir_axis(p->pool, s->out->rank, s->space[0]);
	return ir_bind_axes(p->pool, s->value, axis);
}

/* What a stage sums: (re + i im) e^(-2 pi i at / N), or with + if inverse. */
struct summed {
	expr re, im, at;
	bool inverse, directed; /* directed: `inverse` is known */
};

static bool summed_of(struct ir_program *p, const struct ir_stage *s, const struct ir_buffer *turn, int part_axis,
                      struct summed *out)
{
	struct term a, b;
	if (!term_of(turn, with_part(p, s, part_axis, 0), &a) || !a.has_c || a.c.minus)
		return false;
	*out = (struct summed){ a.c.x, a.has_s ? a.s.x : NULL, a.c.at, a.s.minus, a.has_s };
	if (part_axis < 0)
		return true;
	/* -re * sin(at) + im * cos(at) */
	if (!term_of(turn, with_part(p, s, part_axis, 1), &b) || !b.has_s || b.s.x != out->re || b.s.at != out->at ||
	    b.has_c != a.has_s || (b.has_c && (b.c.x != out->im || b.c.minus || b.s.minus == out->inverse)))
		return false;
	out->inverse = !b.s.minus;
	out->directed = true;
	return true;
}

/* ---- Stages. */

static bool is_sum(const struct ir_stage *s)
{
	return s->kind == IR_REDUCE && s->combine == IR_SUM && s->space_rank == 1 &&
	       (s->value->type == TYPE_F32 || s->value->type == TYPE_F64) && s->out->rank < IR_MAX_RANK;
}

static expr axis_of(struct ir_program *p, const struct ir_stage *s, int axis)
{
	return ir_axis(p->pool, axis, axis < s->out->rank ? s->out->dim[axis] : s->space[0]);
}

/* r k mod K, of the table's N = K M elements. */
static expr turn_index(struct ir_program *p, expr r, expr k, int length, int m)
{
	expr j = ir_binary(IR_MOD, ir_binary(IR_MUL, r, k), ir_index(p->pool, length));
	return ir_binary(IR_MUL, j, ir_index(p->pool, m));
}

static bool extent_is(const struct ir_stage *s, int axis, int64_t n)
{
	return axis < s->out->rank && ir_is_int(s->out->dim[axis], n);
}

/* True if the stage has the axes of k and m and, last, of both parts. */
static bool is_step(const struct fourier_chain *f, const struct ir_stage *s, int k, int m)
{
	return s->out->rank >= f->axis + 3 && extent_is(s, f->axis, f->half ? k / 2 + 1 : k) &&
	       extent_is(s, f->axis + 1, m) && extent_is(s, s->out->rank - 1, 2) && !s->post &&
	       s->out->type == s->value->type && s->out->role == IR_TEMP;
}

/* Sets f's axes from the last stage; `parts`: its value has both. The axis of parts may have extent 1. */
static bool is_last(struct fourier_chain *f, const struct ir_stage *s, int part, bool parts)
{
	int64_t kept;
	f->part = part;
	f->parts = parts ? 2 : 1;
	if (f->axis == part || !ir_const_int(s->out->dim[f->axis], &kept) || kept < 1 || kept > f->length)
		return false;
	f->kept = (int)kept;
	return (part < 0 || extent_is(s, part, f->parts)) &&
	       (!f->half || kept == f->length || kept == f->length / 2 + 1);
}

/* True if the stage has parts that its value depends on. */
static bool has_parts(struct ir_program *p, const struct ir_stage *s)
{
	int last = s->out->rank - 1;
	return last > 0 && extent_is(s, last, 2) && with_part(p, s, last, 0) != with_part(p, s, last, 1);
}

/* True if e does not depend on that axis. */
static bool is_free_of(struct ir_program *p, const struct ir_stage *s, expr e, int axis)
{
	expr to[IR_MAX_RANK + 1];
	for (int i = 0; i <= s->out->rank; i++)
		to[i] = i == axis ? ir_index(p->pool, 0) : axis_of(p, s, i);
	return ir_bind_axes(p->pool, e, to) == e;
}

static bool find_first(struct fourier_chain *f, const struct ir_stage *s, int radix)
{
	struct ir_program *p = f->p;
	struct summed x;
	bool parts = has_parts(p, s);
	expr r = axis_of(p, s, s->out->rank);
	int m = f->length / radix;
	if (!summed_of(p, s, f->turn, parts ? s->out->rank - 1 : -1, &x))
		return false;
	for (f->axis = 0; f->axis < s->out->rank; f->axis++)
		if (x.at == turn_index(p, r, axis_of(p, s, f->axis), radix, m))
			break;
	f->re = x.re;
	f->im = x.im;
	f->half = !x.im;
	f->inverse = x.inverse;
	if (f->axis == s->out->rank || !is_free_of(p, s, x.re, f->axis) || (x.im && !is_free_of(p, s, x.im, f->axis)))
		return false;
	f->pass[f->passes++] = (struct fourier_pass){ s, radix, radix, m };
	return m == 1 ? is_last(f, s, parts ? s->out->rank - 1 : -1, parts) : x.directed && is_step(f, s, radix, m);
}

/* True if the stage is the next pass. */
static bool find_next(struct fourier_chain *f, const struct ir_stage *s)
{
	struct ir_program *p = f->p;
	const struct fourier_pass *before = &f->pass[f->passes - 1];
	const struct ir_buffer *from = before->s->out;
	int64_t radix;
	if (f->passes == FOURIER_PASSES || !is_sum(s) || !ir_const_int(s->space[0], &radix) || radix < 2 ||
	    radix > FOURIER_RADIX || before->m % radix)
		return false;
	int k = before->k * (int)radix, m = before->m / (int)radix, rank = from->rank, own = s->out->rank;
	bool parts = has_parts(p, s), last = m == 1;
	if (last && (own == rank - 1 ? !is_last(f, s, own - 1, parts) : own != rank - 2 || !is_last(f, s, -1, parts)))
		return false;
	if (!last && (own != rank || !is_step(f, s, k, m)))
		return false;
	for (int i = 0, at = 0; i < rank - 1; i++) {
		if (i == f->axis + 1)
			continue;
		if (i != f->axis && s->out->dim[last ? at : i] != from->dim[i])
			return false;
		at++;
	}
	/* The expected element. */
	expr r = axis_of(p, s, own), at_k = axis_of(p, s, f->axis), j = ir_index(p->pool, before->k), given = NULL;
	expr i = ir_binary(IR_MOD, at_k, j), n = r, index[IR_MAX_RANK];
	if (!last)
		n = ir_binary(IR_ADD, ir_binary(IR_MUL, r, ir_index(p->pool, m)), axis_of(p, s, f->axis + 1));
	if (f->half && before->k > 2) {
		given = ir_binary(IR_LE, ir_binary(IR_MUL, i, ir_index(p->pool, 2)), j);
		i = ir_select(given, i, ir_binary(IR_SUB, j, i));
	}
	for (int a = 0; a < rank - 1; a++)
		index[a] = a == f->axis ? i : a == f->axis + 1 ? n : axis_of(p, s, last && a > f->axis ? a - 1 : a);
	index[rank - 1] = ir_index(p->pool, 0);
	expr re = ir_load(p->pool, from, index);
	index[rank - 1] = ir_index(p->pool, 1);
	expr im = ir_load(p->pool, from, index);
	if (given)
		im = ir_select(given, im, ir_unary(IR_NEG, im));
	struct summed x;
	if (!summed_of(p, s, f->turn, parts ? own - 1 : -1, &x) || x.re != re || x.im != im ||
	    x.inverse != f->inverse || x.at != turn_index(p, r, at_k, k, m))
		return false;
	f->pass[f->passes++] = (struct fourier_pass){ s, (int)radix, k, m };
	return true;
}

/* ---- The chain. */

bool fourier_find(struct fourier_chain *f, struct ir_program *p, const struct ir_stage *s)
{
	int64_t radix;
	int first = 0;
	*f = (struct fourier_chain){ .p = p };
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	if (first == p->stages.n || !is_sum(s) || !ir_const_int(s->space[0], &radix) || radix < 2 ||
	    radix > FOURIER_RADIX)
		return false;
	ir_walk(s->value, find_table, &f->turn);
	if (!f->turn || f->turn->type != s->value->type || f->turn->data->dim[0] % radix)
		return false;
	f->length = (int)f->turn->data->dim[0];
	if (!find_first(f, s, (int)radix))
		return false;
	while (f->pass[f->passes - 1].m > 1)
		if (first + f->passes == p->stages.n || !find_next(f, p->stages.at[first + f->passes]))
			return false;
	const struct ir_stage *made[FOURIER_PASSES];
	for (int i = 0; i < f->passes; i++)
		made[i] = f->pass[i].s;
	for (int i = 0; i + 1 < f->passes; i++)
		if (stage_is_stored(p, made, f->passes, i))
			return false;
	expr extent[IR_MAX_RANK];
	int axes = fourier_row_axes(f, extent);
	f->rows = ir_index(p->pool, 1);
	for (int i = 0; i < axes; i++)
		f->rows = ir_binary(IR_MUL, f->rows, extent[i]);
	return true;
}

/* ---- Numbers. */

int fourier_parts(const struct fourier_chain *f, int pass)
{
	int before = fourier_before(&f->pass[pass]);
	return (f->half ? before / 2 + 1 : before) * f->pass[pass].m;
}

int fourier_threads(const struct fourier_chain *f)
{
	int most = 1;
	for (int i = 0; i < f->passes; i++)
		most = fourier_parts(f, i) > most ? fourier_parts(f, i) : most;
	return most;
}

bool fourier_across(const struct fourier_chain *f)
{
	const struct ir_buffer *out = fourier_last(f)->out;
	for (int i = f->axis + 1; i < out->rank; i++)
		if (i != f->part && !ir_is_int(out->dim[i], 1))
			return true;
	return false;
}

enum { SPREAD = 16 };

expr fourier_place(struct ir_program *p, expr at)
{
	return ir_binary(IR_ADD, at, ir_binary(IR_FLOORDIV, at, ir_index(p->pool, SPREAD)));
}

int fourier_pitch(const struct fourier_chain *f)
{
	int most = 0;
	for (int i = 0; i + 1 < f->passes; i++) {
		int n = (f->half ? f->pass[i].k / 2 + 1 : f->pass[i].k) * f->pass[i].m;
		most = n > most ? n : most;
	}
	return (most + most / SPREAD) | 1;
}

int fourier_shared_bytes(const struct fourier_chain *f, int rows)
{
	return rows * fourier_pitch(f) * 2 * type_info(f->pass[0].s->value->type)->bits / 8;
}

int fourier_row_axes(const struct fourier_chain *f, expr *extent)
{
	const struct ir_buffer *out = fourier_last(f)->out;
	int n = 0;
	for (int i = 0; i < out->rank; i++)
		if (i != f->axis && i != f->part)
			extent[n++] = out->dim[i];
	return n;
}

void fourier_index(const struct fourier_chain *f, int pass, const expr *row, expr k, expr m, expr part, expr *index)
{
	const struct ir_buffer *out = f->pass[pass].s->out;
	bool last = pass + 1 == f->passes;
	int part_axis = last ? f->part : out->rank - 1, n = 0;
	for (int i = 0; i < out->rank; i++)
		index[i] = i == f->axis ? k : i == f->axis + 1 && !last ? m : i == part_axis ? part : row[n++];
}
