/* Finds Fourier transforms by what their stages compute: each is built anew from the radices so far, and compared. The
 * first one's elements may be any expression. */
#include "sched/build/stored.h"
#include "sched/fourier/fourier_chain.h"

#include <math.h>

/* ---- Tables. */

static bool is_table(const struct ir_buffer *b)
{
	enum { MOST = 1 << 20 };
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

/* A stage's terms: (re + i im) e^(-2 pi i at / N), or with + if inverse. */
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

/* The radix of a stage that may be a pass; 0: it is none. */
static int radix_of(const struct ir_stage *s)
{
	int64_t radix;
	return is_sum(s) && ir_const_int(s->space[0], &radix) && radix >= 2 && radix <= FOURIER_RADIX ? (int)radix : 0;
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

static bool extent_is(const struct ir_buffer *b, int axis, int64_t n)
{
	return axis < b->rank && ir_is_int(b->dim[axis], n);
}

/* True if the buffer has the axes of k and m and, last, of both parts. */
static bool is_made(const struct fourier_chain *f, const struct ir_buffer *b, int k, int m)
{
	return b->rank >= f->axis + 3 && extent_is(b, f->axis, f->real ? k / 2 + 1 : k) &&
	       extent_is(b, f->axis + 1, m) && extent_is(b, b->rank - 1, 2);
}

static bool is_step(const struct fourier_chain *f, const struct ir_stage *s, int k, int m)
{
	return is_made(f, s->out, k, m) && !s->post && s->out->type == s->value->type && s->out->role == IR_TEMP;
}

/* Sets f's axes from the stage that ends the transform; `parts`: its value has both. The axis of parts may have extent
 * 1. */
static bool is_last(struct fourier_chain *f, const struct ir_stage *s, int part, bool parts)
{
	int64_t kept;
	f->part = part;
	f->parts = parts ? 2 : 1;
	if (f->axis == part || !ir_const_int(s->out->dim[f->axis], &kept) || kept < 1 || kept > f->length)
		return false;
	f->kept = (int)kept;
	return (part < 0 || extent_is(s->out, part, f->parts)) &&
	       (!f->real || kept == f->length || kept == f->length / 2 + 1);
}

/* True if the stage has parts that its value depends on. */
static bool has_parts(struct ir_program *p, const struct ir_stage *s)
{
	int last = s->out->rank - 1;
	return last > 0 && extent_is(s->out, last, 2) && with_part(p, s, last, 0) != with_part(p, s, last, 1);
}

/* True if e does not depend on that axis. */
static bool is_free_of(struct ir_program *p, const struct ir_stage *s, expr e, int axis)
{
	expr to[IR_MAX_RANK + 1];
	for (int i = 0; i <= s->out->rank; i++)
		to[i] = i == axis ? ir_index(p->pool, 0) : axis_of(p, s, i);
	return ir_bind_axes(p->pool, e, to) == e;
}

/* True if the stage sums element [k mod J, r * m + ...] of what the pass before has made: transforms of length J. */
static bool reads_made(const struct fourier_chain *f, const struct ir_stage *s, const struct summed *x,
                       const struct ir_buffer *from, int before, int m)
{
	struct ir_program *p = f->p;
	bool last = m == 1;
	int rank = from->rank, own = s->out->rank;
	if (!is_made(f, from, before, m * (int)s->space[0]->i) ||
	    (last ? own != rank - 1 && own != rank - 2 : own != rank))
		return false;
	expr r = axis_of(p, s, own), j = ir_index(p->pool, before), given = NULL, index[IR_MAX_RANK];
	expr i = ir_binary(IR_MOD, axis_of(p, s, f->axis), j), n = r;
	if (!last)
		n = ir_binary(IR_ADD, ir_binary(IR_MUL, r, ir_index(p->pool, m)), axis_of(p, s, f->axis + 1));
	if (f->real && before > 2) {
		given = ir_binary(IR_LE, ir_binary(IR_MUL, i, ir_index(p->pool, 2)), j);
		i = ir_select(given, i, ir_binary(IR_SUB, j, i));
	}
	for (int a = 0; a < rank - 1; a++)
		index[a] = a == f->axis ? i : a == f->axis + 1 ? n : axis_of(p, s, last && a > f->axis ? a - 1 : a);
	index[rank - 1] = ir_index(p->pool, 0);
	expr re = ir_load(p->pool, from, index);
	index[rank - 1] = ir_index(p->pool, 1);
	expr im = ir_load(p->pool, from, index);
	return x->re == re && x->im == (given ? ir_select(given, im, ir_unary(IR_NEG, im)) : im);
}

/* Sets the axis of k, and the pass's k and m, from the table's index. */
static bool find_axis(struct fourier_chain *f, const struct ir_stage *s, expr at, struct fourier_pass *x)
{
	expr r = axis_of(f->p, s, s->out->rank);
	for (f->axis = 0; f->axis < s->out->rank; f->axis++)
		for (int again = 0; again < 2; again++) {
			int64_t m = 1;
			if (again && (f->axis + 1 == s->out->rank || !ir_const_int(s->out->dim[f->axis + 1], &m)))
				continue;
			if (m < 1 || f->length % (m * x->radix))
				continue;
			x->m = (int)m;
			x->k = f->length / x->m;
			if (at == turn_index(f->p, r, axis_of(f->p, s, f->axis), x->k, x->m))
				return true;
		}
	return false;
}

static bool find_first(struct fourier_chain *f, const struct ir_stage *s)
{
	struct ir_program *p = f->p;
	struct fourier_pass x = { .s = s, .radix = radix_of(s) };
	struct summed sum;
	bool parts = has_parts(p, s);
	int part = parts ? s->out->rank - 1 : -1;
	if (!summed_of(p, s, f->turn, part, &sum) || !find_axis(f, s, sum.at, &x))
		return false;
	f->before = x.k / x.radix;
	f->re = sum.re;
	f->im = sum.im;
	f->inverse = sum.inverse;
	f->pass[f->passes++] = x;
	if (f->before == 1) {
		f->real = !sum.im;
		if (!is_free_of(p, s, sum.re, f->axis) || (sum.im && !is_free_of(p, s, sum.im, f->axis)))
			return false;
	} else {
		const struct ir_buffer *from = sum.re->op == IR_LOAD ? sum.re->buf : NULL;
		if (!from || f->axis >= from->rank)
			return false;
		f->real = !ir_is_int(from->dim[f->axis], f->before);
		if (!reads_made(f, s, &sum, from, f->before, x.m))
			return false;
		/* Rows are numbered by k mod `before`, which is what they read. */
		expr index[IR_MAX_RANK];
		for (int i = 0; i < from->rank; i++)
			index[i] = i == f->axis ? axis_of(p, s, i) : sum.re->arg[i];
		f->re = ir_load(p->pool, from, index);
		index[from->rank - 1] = ir_index(p->pool, 1);
		f->im = ir_load(p->pool, from, index);
		if (x.m == 1 && s->out->rank == from->rank - 1) /* the axis of parts may have extent 1 */
			part = s->out->rank - 1;
	}
	return x.m == 1 ? is_last(f, s, part, parts) : sum.directed && is_step(f, s, x.k, x.m);
}

/* Adds the stage if it is the next pass. */
static bool find_next(struct fourier_chain *f, const struct ir_stage *s)
{
	struct ir_program *p = f->p;
	const struct fourier_pass *before = fourier_end(f);
	const struct ir_buffer *from = before->s->out;
	struct fourier_pass x = { .s = s, .radix = radix_of(s) };
	struct summed sum;
	if (f->passes == FOURIER_PASSES || !x.radix || before->m % x.radix)
		return false;
	x.k = before->k * x.radix;
	x.m = before->m / x.radix;
	bool parts = has_parts(p, s), last = x.m == 1;
	int own = s->out->rank;
	expr at = turn_index(p, axis_of(p, s, own), axis_of(p, s, f->axis), x.k, x.m);
	if (f->axis >= own || !summed_of(p, s, f->turn, parts ? own - 1 : -1, &sum) || sum.inverse != f->inverse ||
	    sum.at != at || !reads_made(f, s, &sum, from, before->k, x.m))
		return false;
	if (!(last ? is_last(f, s, own == from->rank - 1 ? own - 1 : -1, parts) : is_step(f, s, x.k, x.m)))
		return false;
	for (int i = 0; i + 1 < from->rank; i++)
		if (i != f->axis && i != f->axis + 1 && s->out->dim[last && i > f->axis ? i - 1 : i] != from->dim[i])
			return false;
	f->pass[f->passes++] = x;
	return true;
}

/* ---- The chain. */

/* Ends the chain after that number of passes. */
static void end_after(struct fourier_chain *f, int passes)
{
	const struct fourier_pass *x = &f->pass[passes - 1];
	f->passes = passes;
	f->rest = x->m;
	if (x->m == 1)
		return;
	f->part = x->s->out->rank - 1;
	f->parts = 2;
	f->kept = f->real ? x->k / 2 + 1 : x->k;
}

/* Cuts a chain that does not fit into two parts, with rows of lengths as equal as possible. */
static void cut(struct fourier_chain *f)
{
	int best = 0, best_length = 0, all = fourier_end(f)->k;
	for (int i = 1; i < f->passes; i++) {
		int first = f->pass[i - 1].k / f->before, second = all / f->pass[i - 1].k;
		int length = first > second ? first : second;
		if (!best || length < best_length) {
			best = i;
			best_length = length;
		}
	}
	if (best)
		end_after(f, best);
}

bool fourier_find(struct fourier_chain *f, struct ir_program *p, const struct ir_stage *s)
{
	int first = 0;
	*f = (struct fourier_chain){ .p = p };
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	if (first == p->stages.n || !radix_of(s))
		return false;
	ir_walk(s->value, find_table, &f->turn);
	if (!f->turn || f->turn->type != s->value->type)
		return false;
	f->length = (int)f->turn->data->dim[0];
	if (!find_first(f, s))
		return false;
	while (fourier_end(f)->m > 1 && first + f->passes < p->stages.n)
		if (!find_next(f, p->stages.at[first + f->passes]))
			break;
	end_after(f, f->passes);
	if (!fourier_fits(f, 1))
		cut(f);
	const struct ir_stage *made[FOURIER_PASSES];
	for (int i = 0; i < f->passes; i++)
		made[i] = f->pass[i].s;
	for (int i = 0; i + 1 < f->passes; i++)
		if (stage_is_stored(p, made, f->passes, i))
			return false;
	fourier_find_after(f, first);
	expr extent[IR_MAX_RANK];
	int axes = fourier_row_axes(f, extent);
	f->rows = ir_index(p->pool, 1);
	for (int i = 0; i < axes; i++)
		f->rows = ir_binary(IR_MUL, f->rows, extent[i]);
	return fourier_fits(f, 1);
}
