/* Error bounds accept another order of additions, and reject a wrong kernel. */
#include "check/error_bound.h"

#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/unit/test.h"
#include "tests/program/program_text.h"
#include "tune/tune.h"

struct case_ {
	struct arena *arena;
	struct ir_program *program;
	const struct tensor *in[4];
	struct tensor want[2];
	struct tune_reference reference;
};

static struct tensor *random_tensor(const struct ir_buffer *b, uint64_t seed, double low, double high, struct arena *a)
{
	struct tensor *t = NEW(a, struct tensor);
	struct err e = { 0 };
	int64_t dim[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++)
		ck(ir_const_int(b->dim[k], &dim[k]));
	ck(tensor_new(t, b->type, b->rank, dim, a, &e) == 0);
	tensor_random(t, seed, low, high);
	return t;
}

/* `low` and `high` are of floats; integers are in [0, most]. */
static void begin(struct case_ *c, const char *text, double low, double high, int most)
{
	struct err e = { 0 };
	*c = (struct case_){ .arena = arena_new() };
	if (ir_parse_program(&c->program, text, c->arena, &e) < 0)
		fprintf(stderr, "%s\n", e.text);
	ck(!e.code);
	for (int i = 0; i < c->program->inputs.n; i++) {
		const struct ir_buffer *b = c->program->inputs.at[i];
		bool is_int = type_is_int(b->type);
		c->in[i] = random_tensor(b, (uint64_t)i + 1, is_int ? 0 : low, is_int ? most : high, c->arena);
	}
	ck(eval_program(c->program, c->in, c->want, NULL, c->arena, &e) == 0);
	c->reference =
	        (struct tune_reference){ .program = c->program, .inputs = c->in, .want = c->want, .arena = c->arena };
}

static struct tensor copy_of(const struct tensor *t, struct arena *a)
{
	struct tensor out;
	struct err e = { 0 };
	ck(tensor_new(&out, t->type, t->rank, t->dim, a, &e) == 0);
	memcpy(out.data, t->data, (size_t)tensor_bytes(t));
	return out;
}

/* Runs the program with the rows of its inputs (their first axis) in another order, as with atomic additions. */
static struct tensor reordered(const struct case_ *c)
{
	struct tensor out[2], *moved = NEWN(c->arena, struct tensor, c->program->inputs.n);
	const struct tensor *in[4];
	struct err e = { 0 };
	for (int i = 0; i < c->program->inputs.n; i++) {
		int64_t n = c->in[i]->dim[0], row = tensor_bytes(c->in[i]) / n;
		moved[i] = copy_of(c->in[i], c->arena);
		in[i] = &moved[i];
		for (int64_t k = 0; k < n; k++) /* 7 and n have no common divisor */
			memcpy((char *)moved[i].data + k * row, (const char *)c->in[i]->data + k * 7 % n * row,
			       (size_t)row);
	}
	ck(eval_program(c->program, in, out, NULL, c->arena, &e) == 0);
	return out[0];
}

static bool right(struct case_ *c, const struct tensor *got)
{
	const char *worst;
	return tune_same(got, &c->reference, &worst, c->arena);
}

/* The same check without bounds. */
static bool right_by_type(struct case_ *c, const struct tensor *got)
{
	struct tensor none[2] = { { 0 } };
	struct tune_reference r = c->reference;
	const char *worst;
	r.bound = r.most = none;
	return tune_same(got, &r, &worst, c->arena);
}

/* A segment sum: about three hundred updates per element, each rounded to f16. */
static void scatter_in_f16(void)
{
	struct case_ c;
	begin(&c,
	      "program segments(to: i64[10000], x: f16[10000,64]) -> (y: f16[30,64])\n"
	      "  y: f16[30,64] = scatter sum (i, j | r<10000, s<64) init f16(0.0) at [index(to[r]), s] value x[r, s]\n",
	      -4, 4, 29);
	struct tensor got = reordered(&c);
	CHECK(!right_by_type(&c, &got));
	CHECK(right(&c, &got));
	for (int i = 0; i < 30 * 64; i += 97) {
		double x = tensor_float(&got, i);
		tensor_set_float(&got, i, fabs(x) > 50 ? 0 : x - 4); /* a missing update */
		CHECK(!right(&c, &got));
		tensor_set_float(&got, i, x);
	}
	arena_free(c.arena);
}

/* Elements with one update are the same in every order: no bound but the type's tolerance. */
static void scatter_alone(void)
{
	struct case_ c;
	struct tensor bound[2];
	begin(&c,
	      "program segments(to: i64[3], x: f16[3]) -> (y: f16[100])\n"
	      "  y: f16[100] = scatter sum (i | r<3) init f16(0.0) at [index(to[r])] value x[r]\n",
	      -4, 4, 99);
	error_bounds(bound, NULL, c.program, c.in, c.arena);
	for (int i = 0; i < 100; i++)
		CHECK(tensor_float(&bound[0], i) == 0);
	arena_free(c.arena);
}

/* The logarithm of sums with cancellation: small differences become large ones near zero. */
static void logarithm(void)
{
	enum { ROWS = 100, TERMS = 3000, COLUMNS = 160 };
	struct case_ c;
	begin(&c,
	      "program mel(x: f32[100,3000], mat: f32[3000,160]) -> (y: f32[100,160])\n"
	      "  y: f32[100,160] = sum (i, j | r<3000) x[i, r] * mat[r, j] then log(max(it, 1e-10))\n",
	      -1, 1, 0);
	struct tensor got = copy_of(&c.want[0], c.arena);
	const float *x = c.in[0]->data, *w = c.in[1]->data;
	float *y = got.data;
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++) {
			float sum = 0;
			for (int r = 0; r < TERMS; r++)
				sum += x[i * TERMS + r] * w[r * COLUMNS + j];
			y[i * COLUMNS + j] = logf(sum > 1e-10f ? sum : 1e-10f);
		}
	CHECK(!right_by_type(&c, &got));
	CHECK(right(&c, &got));
	int planted = 0, caught = 0;
	for (int i = 0; i < ROWS * COLUMNS; i += 73) { /* the first term is missing */
		float all = y[i], less = expf(all) - x[i / COLUMNS * TERMS] * w[i % COLUMNS];
		if (all < 0 || less < 1 || fabsf(logf(less) - all) < 0.02f)
			continue;
		y[i] = logf(less);
		caught += !right(&c, &got);
		y[i] = all;
		planted++;
	}
	CHECK(planted > 20);
	CHECK_INT(caught, planted);
	arena_free(c.arena);
}

/* Sums rounded afterwards: the result may be the next integer only if the sum is near a tie. */
static void quantised(void)
{
	struct case_ c;
	struct tensor bound[2];
	begin(&c,
	      "program quantised(x: f32[5000,300]) -> (y: i32[5000])\n"
	      "  y: i32[5000] = sum (i | r<300) x[i, r] then i32(rint(it * 64.0))\n",
	      -1, 1, 0);
	error_bounds(bound, NULL, c.program, c.in, c.arena);
	int near = 0;
	for (int i = 0; i < 5000; i++)
		near += tensor_float(&bound[0], i) > 0;
	CHECK(near > 0 && near < 100);
	arena_free(c.arena);
}

/* Activations quantised again and again in one expression, which as a tree is larger than those of kernels. A result
 * may be another multiple of the step where a value is near a tie, and only there. */
static void requantised(void)
{
	enum { LEVELS = 7, ROWS = 20000 };
	struct case_ c;
	struct arena *a = arena_new();
	struct tensor bound[1], other[1], moved = { 0 };
	struct err e = { 0 };
	struct str text = str_new(a);
	str_printf(&text, "program again(x: f32[%d]) -> (y: f32[%d])\n  y: f32[%d] = map (i) let a0 = x[i]", ROWS, ROWS,
	           ROWS);
	for (int i = 0; i < LEVELS; i++)
		str_printf(&text,
		           ", a%d = f32(i32(u8(min(max(rint(a%d * (1.0 / (1.0 + exp(neg(a%d)))) * 1.5 / 0.0123) + "
		           "100.0, 0.0), 255.0))) - i32(100)) * 0.0123",
		           i + 1, i, i);
	str_printf(&text, "; a%d\n", LEVELS);
	begin(&c, str_text(&text), -1, 1, 0);
	error_bounds(bound, NULL, c.program, c.in, c.arena);
	CHECK_INT(bound[0].type, TYPE_F64);
	moved = copy_of(c.in[0], c.arena);
	for (int i = 0; i < ROWS; i++)
		tensor_set_float(&moved, i, tensor_float(&moved, i) * (1 + 6e-8 * (i % 3 - 1)));
	CHECK(eval_program(c.program, (const struct tensor *[]){ &moved }, other, NULL, c.arena, &e) == 0);
	int wide = 0, beyond = 0;
	for (int i = 0; i < ROWS && bound[0].type == TYPE_F64; i++) {
		double most = tensor_float(&bound[0], i) + 1e-5;
		wide += most > 0.006;
		beyond += fabs(tensor_float(&other[0], i) - tensor_float(&c.want[0], i)) > most;
	}
	CHECK_INT(beyond, 0);
	CHECK(wide > 0 && wide < ROWS / 50);
	arena_free(c.arena);
	arena_free(a);
}

/* No bounds exist after an index that rounding may change; exact values have no errors. */
static void unknown(void)
{
	struct case_ c;
	struct tensor bound[2];
	begin(&c,
	      "program lost(x: f32[64]) -> (y: f32[64], z: i32[64])\n"
	      "  third: f32[64] = map (i) x[i] * 0.3\n"
	      "  y: f32[64] = map (i) x[max(0, min(63, index(i32(third[i]))))]\n"
	      "  z: i32[64] = map (i) i32(x[i])\n",
	      0, 64, 0);
	error_bounds(bound, NULL, c.program, c.in, c.arena);
	CHECK(bound[0].type == TYPE_NONE && bound[1].type == TYPE_NONE);
	arena_free(c.arena);
}

/* The positions of near ties may change places, those of other elements not. */
static void positions(void)
{
	struct case_ c;
	begin(&c,
	      "program first(x: f32[8,4,16]) -> (y: i64[8], z: i64[8,2])\n"
	      "  q: f32[8,4,16] = map (i, j, k) x[i, j, k] * 0.3\n"
	      "  flat: f32[8,64] = map (i, j) q[i, floordiv(j, 16), mod(j, 16)]\n"
	      "  y: i64[8] = argmax (i | r<4, s<16) q[i, r, s]\n"
	      "  z: i64[8,2] = sort descending along j (i, j | r<64) flat[i, r]\n",
	      -4, 4, 0);
	struct tensor x = copy_of(c.in[0], c.arena);
	struct err e = { 0 };
	for (int i = 0; i < 8; i++) {
		tensor_set_float(&x, i * 64 + 5, 7);
		tensor_set_float(&x, i * 64 + 40, i % 2 ? nextafterf(7, 8) : 8);
	}
	c.in[0] = &x;
	ck(eval_program(c.program, c.in, c.want, NULL, c.arena, &e) == 0);
	for (int i = 0; i < 8; i++) {
		struct tensor got[2] = { copy_of(&c.want[0], c.arena), copy_of(&c.want[1], c.arena) };
		CHECK(right(&c, got));
		tensor_set_int(&got[0], i, 5);
		CHECK(right(&c, got) == (i % 2 == 1));
		tensor_set_int(&got[0], i, tensor_int(&c.want[0], i));
		tensor_set_int(&got[1], 2 * i, 5);
		tensor_set_int(&got[1], 2 * i + 1, 40);
		CHECK(right(&c, got) == (i % 2 == 1));
	}
	arena_free(c.arena);
}

/* The largest of rounded values: most of them may be rounded to either side, but not the largest. */
static void largest(void)
{
	struct case_ c;
	begin(&c,
	      "program largest(x: f32[8,64]) -> (y: f32[8], z: f32[8])\n"
	      "  q: f32[8,64] = map (i, j) rint(x[i, j] * 3.0 * 0.1)\n"
	      "  y: f32[8] = max (i | r<64) q[i, r]\n"
	      "  z: f32[8] = min (i | r<64) q[i, r]\n",
	      -4, 4, 0);
	struct tensor x = copy_of(c.in[0], c.arena);
	struct err e = { 0 };
	for (int i = 0; i < 8 * 64; i++) /* q is 1.5 before it is rounded, about; the first of a row 9.2, the second
	                                    -9.2 */
		tensor_set_float(&x, i, i % 64 > 1 ? 5 : i % 64 ? -30.7 : 30.7);
	c.in[0] = &x;
	ck(eval_program(c.program, c.in, c.want, NULL, c.arena, &e) == 0);
	for (int o = 0; o < 2; o++) {
		struct tensor got[2] = { copy_of(&c.want[0], c.arena), copy_of(&c.want[1], c.arena) };
		double y = tensor_float(&got[o], 3);
		CHECK(fabs(y) == 9);
		CHECK(right(&c, got));
		tensor_set_float(&got[o], 3, y - 1);
		CHECK(!right(&c, got));
	}
	arena_free(c.arena);
}

enum { IMAGES = 2, CHANNELS = 3, LINES = 7, COLUMNS_ = 9, ROWS_ = 5 };

/* out = m in m' in f32, for m of `rows` rows of `n` numbers. */
static void transform(float *out, const float *m, int rows, const float *in, int n)
{
	float half[16];
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < n; j++) {
			half[i * n + j] = 0;
			for (int k = 0; k < n; k++)
				half[i * n + j] += m[i * n + k] * in[k * n + j];
		}
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < rows; j++) {
			out[i * rows + j] = 0;
			for (int k = 0; k < n; k++)
				out[i * rows + j] += half[i * n + k] * m[j * n + k];
		}
}

/* The results of a tile of 2 x 2 by Winograd's method. */
static void tile_of(float *results, const float *x, const float *weight, int image, int row, int line, int column)
{
	static const float image_side[] = { 1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1 };
	static const float weight_side[] = { 1, 0, 0, 0.5F, 0.5F, 0.5F, 0.5F, -0.5F, 0.5F, 0, 0, 1 };
	static const float result_side[] = { 1, 1, 1, 0, 0, 1, -1, -1 };
	float sum[16] = { 0 }, patch[16], v[16], u[16];
	for (int c = 0; c < CHANNELS; c++) {
		for (int i = 0; i < 16; i++) {
			int k = line + i / 4 - 1, l = column + i % 4 - 1;
			bool inside = k >= 0 && k < LINES && l >= 0 && l < COLUMNS_;
			patch[i] = inside ? x[((image * CHANNELS + c) * LINES + k) * COLUMNS_ + l] : 0;
		}
		transform(v, image_side, 4, patch, 4);
		transform(u, weight_side, 4, weight + (row * CHANNELS + c) * 9, 3);
		for (int i = 0; i < 16; i++)
			sum[i] += u[i] * v[i];
	}
	transform(results, result_side, 2, sum, 4);
}

/* A convolution by Winograd's method, of elements of which some are a thousand times as large: also results next to
 * those that such an element is part of are less exact. */
static void windows(void)
{
	struct case_ c;
	begin(&c,
	      "program conv(x: f32[2,3,7,9], weight: f32[5,3,3,3]) -> (y: f32[2,5,7,9])\n"
	      "  y: f32[2,5,7,9] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 7), "
	      "and(0 "
	      "<= l + t - 1, l + t - 1 < 9)), x[i, r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t]\n",
	      -1, 1, 0);
	struct err e = { 0 };
	for (int64_t k = 0; k < tensor_count(c.in[0]); k += 13)
		((float *)c.in[0]->data)[k] *= 1000;
	ck(eval_program(c.program, c.in, c.want, NULL, c.arena, &e) == 0);
	struct tensor bound[2];
	error_bounds(bound, NULL, c.program, c.in, c.arena);
	for (int n = 0; n < IMAGES * ROWS_ * LINES * COLUMNS_; n++) {
		int column = n % COLUMNS_, line = n / COLUMNS_ % LINES, row = n / COLUMNS_ / LINES % ROWS_;
		float results[4];
		tile_of(results, c.in[0]->data, c.in[1]->data, n / COLUMNS_ / LINES / ROWS_, row, line / 2 * 2,
		        column / 2 * 2);
		float got = results[line % 2 * 2 + column % 2];
		CHECK(fabs(got - tensor_float(&c.want[0], n)) <= tensor_float(&bound[0], n));
		CHECK(tensor_float(&bound[0], n) < 0.02); /* less than a product */
	}
	arena_free(c.arena);
}

int main(void)
{
	windows();
	scatter_in_f16();
	scatter_alone();
	positions();
	largest();
	logarithm();
	quantised();
	requantised();
	unknown();
	return test_done();
}
