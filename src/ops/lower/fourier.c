/* Discrete Fourier transforms in steps (Cooley and Tukey). A step of radix R makes the transforms of length K = R * J
 * of every M-th element, M = N / K, from those of length J:
 *     Z[k, m] = sum over r < R of Y[k mod J, r M + m] e^(-2 pi i k r / K)
 * The first step reads the signal, Y[0, n] = x[n], and the last has M = 1. A result is written in order at each step.
 * Z[K - k, m] = conj(Z[k, m]) for a real signal: steps make only the first half of k.
 *
 * A length with a large prime factor becomes a convolution (Bluestein): k n = (k^2 + n^2 - (k - n)^2) / 2, so that
 *     y[k] = c[k] sum over n of x[n] c[n] conj(c[k - n]),  c[n] = e^(-pi i n^2 / N)
 * which is made by two transforms of a length of small factors, at least 2 N - 1. */
#include "ops/lower/fourier.h"

#include <math.h>
#include <string.h>

#include "ops/lower/fourier_plan.h"

/* ---- Tables --------------------------------------------------------------------------------------------------------
 */

enum { TABLE_MAX = 1 << 20 }; /* elements of a constant table; a stage makes larger ones */

static const double half_turn = 3.14159265358979323846;

/* A table of pairs cos, sin in type t, [n, 2], to be filled. */
static int pairs_new(struct lower *l, enum type t, int64_t n, struct tensor **out)
{
	*out = NEW(l->program->arena, struct tensor);
	return tensor_new(*out, t, 2, (int64_t[]){ n, 2 }, l->program->arena, l->err);
}

static void put_pair(struct tensor *t, int64_t i, struct fourier_pair x)
{
	tensor_set_float(t, 2 * i, x.re + 0.0); /* no -0 */
	tensor_set_float(t, 2 * i + 1, x.im + 0.0);
}

/* The same by a stage. The angle is reduced to its quarter, so that multiples of a quarter turn are exact. The sine is
 * the cosine one quarter back. */
static struct value turns_stage(struct lower *l, enum type t, expr length)
{
	expr dim[2] = { length, idx(l, 2) }, j4, angle, quarter, y;
	struct space s = space_new(l, 2, dim);

	j4 = muli(s.at[0], 4);
	angle = divide(mul(cast(mod(j4, length), t), num(l, t, half_turn / 2)), cast(length, t));
	quarter = mod(sub(floordiv(j4, length), s.at[1]), idx(l, 4));
	y = select_(eq(mod(quarter, idx(l, 2)), idx(l, 0)), unary(IR_COS, angle), unary(IR_SIN, angle));
	quarter = mod(addi(quarter, 1), idx(l, 4)); /* cos, -sin, -cos, sin */
	return lower_map(l, "turn", t, &s, select_(lt(quarter, idx(l, 2)), y, unary(IR_NEG, y)));
}

/* [N, 2] in type t: cos(2 pi j / N) and sin(2 pi j / N). */
static int turns(struct lower *l, enum type t, expr length, struct value *out)
{
	struct tensor *table;
	int64_t n;

	if (!ir_const_int(length, &n) || n < 1 || n > TABLE_MAX) {
		*out = turns_stage(l, t, length);
		return 0;
	}
	TRY(pairs_new(l, t, n, &table));
	for (int64_t j = 0; j < n; j++)
		put_pair(table, j, fourier_turn(j, n));
	*out = lower_data(l, "turn", table);
	return 0;
}

/* ---- Terms ---------------------------------------------------------------------------------------------------------
 */

struct complex {
	expr re, im; /* im null: real */
};

/* Part `part` of x * e^(-2 pi i j / N), or with + if `inverse`. */
static expr term(struct value turn, expr j, bool inverse, expr part, struct complex x)
{
	expr zero = with(j, 0), c = load_list(turn, 2, j, zero), s = load_list(turn, 2, j, with(j, 1)), y;
	expr is_real = eq(part, zero);

	if (!inverse)
		s = unary(IR_NEG, s);
	y = mul(x.re, select_(is_real, c, s));
	return x.im ? add(y, mul(x.im, select_(is_real, unary(IR_NEG, s), c))) : y;
}

static struct complex element(const struct fourier *f, const expr *at, expr n)
{
	return (struct complex){ f->element(f, at, n, 0), f->element(f, at, n, 1) };
}

/* The element, or zero where the signal has none. */
static struct complex element_if(const struct fourier *f, const expr *at, expr n)
{
	struct complex x = element(f, at, n);
	expr inside = lt(n, f->given), most = f->mirrored ? floordiv(f->length, idx(f->l, 2)) : addi(f->length, -1);

	if (ir_less(most, f->given))
		return x;
	x.re = select_(inside, x.re, with(x.re, 0));
	x.im = x.im ? select_(inside, x.im, with(x.im, 0)) : NULL;
	return x;
}

/* Element n of all N. */
static struct complex signal_at(const struct fourier *f, const expr *at, expr n)
{
	struct complex x;
	expr back = sub(f->length, n), given;

	if (!f->mirrored)
		return element_if(f, at, n);
	given = le(muli(n, 2), f->length);
	x = element_if(f, at, select_(given, n, back));
	x.im = x.im ? select_(given, x.im, unary(IR_NEG, x.im)) : NULL;
	return x;
}

static expr part_of(const struct fourier *f)
{
	return f->part < 0 ? idx(f->l, 0) : f->out.at[f->part];
}

/* The last step's post expression. */
static expr scaled(const struct fourier *f, enum type c)
{
	return f->inverse && !f->scaled ? divide(acc(f->l, c), cast(f->length, c)) : NULL;
}

/* ---- The direct sum ------------------------------------------------------------------------------------------------
 */

/* The weight of frequency n in the inverse transform of a real signal, which has only the first N/2 + 1 frequencies:
 * each twice, except the first and the middle one. */
static expr mirrored_twice(expr n, expr length, expr e)
{
	expr alone = or_(eq(n, with(n, 0)), eq(muli(n, 2), length));

	return mul(e, select_(alone, with(e, 1), with(e, 2)));
}

static int direct(const struct fourier *f, enum type c, struct value *y)
{
	struct lower *l = f->l;
	struct space s = f->out;
	struct value turn;
	expr terms = f->mirrored ? addi(floordiv(f->length, idx(l, 2)), 1) : f->length, n, e;

	TRY(turns(l, c, f->length, &turn));
	n = space_push(l, &s, min_(terms, f->given));
	e = term(turn, mod(mul(s.at[f->axis], n), f->length), f->inverse, part_of(f), element(f, s.at, n));
	if (f->mirrored)
		e = mirrored_twice(n, f->length, e);
	*y = lower_reduce(l, f->name, f->type, &s, f->out.rank, IR_SUM, e, scaled(f, c));
	return 0;
}

/* ---- Steps ---------------------------------------------------------------------------------------------------------
 */

/* A step's result: [rows before the axis, k, m, rows after it, part]. */
struct made {
	struct value y;
	int64_t k; /* J */
	bool half; /* only k <= J / 2 is there */
};

/* The indices of such a buffer, or extents, from those of the result. */
static int step_index(const struct fourier *f, const expr *at, expr k, expr m, expr part, expr *out)
{
	int rank = 0, rows = f->part < 0 ? f->out.rank : f->out.rank - 1;

	for (int i = 0; i < rows; i++) {
		out[rank++] = i == f->axis ? k : at[i];
		if (i == f->axis)
			out[rank++] = m;
	}
	out[rank++] = part;
	return rank;
}

/* Element [k mod J, n] of what the step before has made. */
static struct complex made_at(const struct fourier *f, const struct made *made, const expr *at, expr k, expr n)
{
	expr j = idx(f->l, made->k), i = mod(k, j), index[IR_MAX_RANK], given = NULL;
	struct complex x;
	int rank;

	if (made->half && made->k > 2) {
		given = le(muli(i, 2), j);
		i = select_(given, i, sub(j, i));
	}
	rank = step_index(f, at, i, n, idx(f->l, 0), index);
	x.re = load(made->y, index);
	index[rank - 1] = idx(f->l, 1);
	x.im = load(made->y, index);
	if (given)
		x.im = select_(given, x.im, unary(IR_NEG, x.im));
	return x;
}

static int steps(const struct fourier *f, enum type c, const struct fourier_plan *plan, struct value *y)
{
	struct lower *l = f->l;
	struct made made = { .k = 1, .half = !element(f, f->out.at, idx(l, 0)).im };
	struct value turn;

	TRY(turns(l, c, f->length, &turn));
	for (int i = 0; i < plan->n; i++) {
		bool last = i + 1 == plan->n;
		int64_t k = made.k * plan->radix[i], m = plan->length / k;
		expr r, n, part, j, at[IR_MAX_RANK], dim[IR_MAX_RANK];
		struct space s = f->out;
		struct complex x;

		memcpy(at, s.at, sizeof at);
		part = part_of(f);
		if (!last) {
			int rank = step_index(f, s.dim, idx(l, made.half ? k / 2 + 1 : k), idx(l, m), idx(l, 2), dim);

			s = space_new(l, rank, dim);
			for (int a = 0, b = 0; b < rank - 1; b++)
				if (b != f->axis + 1)
					at[a++] = s.at[b];
			part = s.at[rank - 1];
		}
		r = space_push(l, &s, idx(l, plan->radix[i]));
		n = last ? r : add(muli(r, m), s.at[f->axis + 1]);
		x = i ? made_at(f, &made, at, s.at[f->axis], n) : signal_at(f, at, n);
		j = muli(mod(mul(r, s.at[f->axis]), idx(l, k)), m);
		j = term(turn, j, f->inverse, part, x);
		if (last)
			*y = lower_reduce(l, f->name, f->type, &s, s.rank - 1, IR_SUM, j, scaled(f, c));
		else
			made.y = lower_reduce(l, "step", c, &s, s.rank - 1, IR_SUM, j, NULL);
		made.k = k;
	}
	return 0;
}

/* ---- Bluestein's convolution ---------------------------------------------------------------------------------------
 */

struct chirped {
	const struct fourier *f; /* the transform asked for */
	struct value chirp;      /* c, [N, 2] */
	struct value spectrum;   /* of conj(c), over the length of the convolution, [L, 2] */
	struct value y;          /* what is multiplied with the spectrum; then the convolution */
};

static expr product_part(struct complex x, struct complex y, int part)
{
	if (!x.im)
		return mul(x.re, part ? y.im : y.re);
	return part ? add(mul(x.re, y.im), mul(x.im, y.re)) : sub(mul(x.re, y.re), mul(x.im, y.im));
}

static struct complex pair_at(struct value v, expr n)
{
	return (struct complex){ load_list(v, 2, n, with(n, 0)), load_list(v, 2, n, with(n, 1)) };
}

static expr chirped_element(const struct fourier *g, const expr *at, expr n, int part)
{
	const struct chirped *b = g->user;

	return product_part(signal_at(b->f, at, n), pair_at(b->chirp, n), part);
}

static struct complex convolved_at(const struct chirped *b, const expr *at, expr k)
{
	expr index[IR_MAX_RANK];
	int rows = b->f->part < 0 ? b->f->out.rank : b->f->out.rank - 1;
	struct complex x;

	memcpy(index, at, sizeof index[0] * (size_t)rows);
	index[b->f->axis] = k;
	index[rows] = idx(b->f->l, 0);
	x.re = load(b->y, index);
	index[rows] = idx(b->f->l, 1);
	x.im = load(b->y, index);
	return x;
}

static expr convolved_element(const struct fourier *g, const expr *at, expr n, int part)
{
	const struct chirped *b = g->user;

	return product_part(convolved_at(b, at, n), pair_at(b->spectrum, n), part);
}

static int chirp_tables(struct chirped *b, enum type c, int64_t n, int64_t length)
{
	struct lower *l = b->f->l;
	struct arena *scratch = arena_new();
	struct fourier_pair *x = NEWN(scratch, struct fourier_pair, length);
	struct tensor *chirp, *spectrum;
	int rc = 0;

	if ((rc = pairs_new(l, c, n, &chirp)) == 0 && (rc = pairs_new(l, c, length, &spectrum)) == 0) {
		for (int64_t i = 0; i < n; i++) {
			x[i] = fourier_turn(i * i % (2 * n), 2 * n); /* e^(pi i n^2 / N) */
			put_pair(chirp, i, (struct fourier_pair){ x[i].re, b->f->inverse ? x[i].im : -x[i].im });
			if (b->f->inverse)
				x[i].im = -x[i].im;
			if (i)
				x[length - i] = x[i];
		}
		fourier_compute(x, length, scratch);
		for (int64_t i = 0; i < length; i++)
			put_pair(spectrum, i,
			         (struct fourier_pair){ x[i].re / (double)length, x[i].im / (double)length });
		b->chirp = lower_data(l, "chirp", chirp);
		b->spectrum = lower_data(l, "spectrum", spectrum);
	}
	arena_free(scratch);
	return rc;
}

static int convolution(const struct fourier *f, enum type c, int64_t n, int64_t length, struct value *y)
{
	struct lower *l = f->l;
	struct chirped b = { .f = f };
	struct fourier g = { .name = "frequencies",
		             .type = c,
		             .axis = f->axis,
		             .length = idx(l, length),
		             .given = f->length,
		             .element = chirped_element,
		             .l = l,
		             .user = &b };
	expr dim[IR_MAX_RANK], part = part_of(f), e[2];
	int rows = f->part < 0 ? f->out.rank : f->out.rank - 1;

	TRY(chirp_tables(&b, c, n, length));
	memcpy(dim, f->out.dim, sizeof dim);
	dim[f->axis] = idx(l, length);
	dim[g.part = rows] = idx(l, 2);
	g.out = space_new(l, rows + 1, dim);
	TRY(fourier_lower(&g, &b.y));
	dim[f->axis] = f->out.dim[f->axis];
	g.out = space_new(l, rows + 1, dim);
	g.name = "convolved";
	g.given = g.length;
	g.inverse = g.scaled = true;
	g.element = convolved_element;
	TRY(fourier_lower(&g, &b.y));

	for (int i = 0; i < 2; i++)
		e[i] = product_part(convolved_at(&b, f->out.at, f->out.at[f->axis]),
		                    pair_at(b.chirp, f->out.at[f->axis]), i);
	e[0] = select_(eq(part, with(part, 0)), e[0], e[1]);
	if (f->inverse && !f->scaled)
		e[0] = divide(e[0], cast(f->length, c));
	*y = lower_map(l, f->name, f->type, &f->out, narrow(e[0], f->type));
	return 0;
}

int fourier_lower(const struct fourier *f, struct value *y)
{
	struct fourier_plan plan = { 0 };
	enum type c = compute_type(f->type);
	int64_t n, length;

	if (!ir_const_int(f->length, &n) || n < 2 || n > INT32_MAX || f->out.rank + 3 > IR_MAX_RANK)
		return direct(f, c, y);
	fourier_plan(&plan, n);
	if (n > FOURIER_SUMMED && plan.radix[0] > FOURIER_RADIX_DIRECT &&
	    (length = fourier_smooth(2 * n - 1)) <= TABLE_MAX)
		return convolution(f, c, n, length, y);
	return plan.n == 1 ? direct(f, c, y) : steps(f, c, &plan, y);
}
