/* The interpreter: every operation in every type, casts, laziness, reductions, scatters, symbols, faults. Results are
 * compared bit by bit with eval_oracle.h, or with numbers written out here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/unit/eval_oracle.h"
#include "tests/unit/test.h"

static struct arena *arena;
static struct err error;

static struct tensor tensor_of(enum type t, int rank, const int64_t *dim)
{
	struct tensor x;
	struct err e = { 0 };
	CHECK_INT(tensor_new(&x, t, rank, dim, arena, &e), 0);
	return x;
}

static struct tensor vector(enum type t, int n, const double *x)
{
	struct tensor v = tensor_of(t, 1, &(int64_t){ n });
	for (int i = 0; i < n; i++)
		tensor_set_float(&v, i, x[i]);
	return v;
}

static struct tensor random_of(enum type t, int rank, const int64_t *dim, int low, int high)
{
	static uint32_t state = 1;
	struct tensor x = tensor_of(t, rank, dim);
	for (int64_t i = 0; i < tensor_count(&x); i++) {
		state = state * 1664525 + 1013904223;
		int64_t v = low + (int64_t)((state >> 8) % (uint32_t)(high - low + 1));
		if (type_is_float(t))
			tensor_set_float(&x, i, (double)v);
		else
			tensor_set_int(&x, i, v);
	}
	return x;
}

static struct ir_program *parse(const char *text)
{
	struct ir_program *p = NULL;
	memset(&error, 0, sizeof error);
	if (ir_parse_program(&p, text, arena, &error) < 0 || ir_check(p, &error) < 0) {
		printf("%s\nin %s", error.text, text);
		exit(1);
	}
	return p;
}

/* Runs the program on up to three tensors; output 0. */
static struct tensor run3(const struct ir_program *p, const struct tensor *x, const struct tensor *y, const struct tensor *z,
			  int want)
{
	const struct tensor *in[3] = { x, y, z };
	struct tensor out[8] = { 0 };
	memset(&error, 0, sizeof error);
	int rc = eval_program(p, in, out, NULL, arena, &error);
	if (rc != want)
		printf("%s\n", error.text);
	CHECK_INT(rc, want);
	return out[0];
}

static struct tensor run(const char *text, const struct tensor *x, const struct tensor *y, const struct tensor *z)
{
	return run3(parse(text), x, y, z, 0);
}

/* Equal bits, where all NaNs are one. */
static bool same(const struct tensor *x, const struct tensor *y)
{
	if (x->type != y->type || !tensor_same_shape(x, y))
		return false;
	for (int64_t i = 0; i < tensor_count(x); i++) {
		double a = tensor_float(x, i), b = tensor_float(y, i);
		bool equal = type_is_float(x->type) ? (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b))
						    : tensor_int(x, i) == tensor_int(y, i);
		if (!equal) {
			printf("element %lld: %.17g (%lld), not %.17g (%lld)\n", (long long)i, a,
			       (long long)tensor_int(x, i), b, (long long)tensor_int(y, i));
			return false;
		}
	}
	return true;
}

#define CHECK_SAME(got, want, what)                                                                                    \
	do {                                                                                                           \
		struct tensor got_ = (got), want_ = (want);                                                            \
		if (!test_check(same(&got_, &want_), __FILE__, __LINE__, "the interpreter agrees"))                    \
			printf("  in %s\n", what);                                                                     \
	} while (0)

static const char *text_of(const struct ir_program *p)
{
	struct str s = str_new(arena);
	ir_print_program(&s, p);
	return str_text(&s);
}

/* Maps and reductions without symbols: every output element against the oracle. */
static void compare(const struct ir_program *p, const struct tensor *x, const struct tensor *y, const struct tensor *z)
{
	const struct tensor *in[3] = { x, y, z };
	struct tensor *buffer = NEWN(arena, struct tensor, p->buffers.n), out[8] = { 0 };
	struct oracle o = { .p = p, .buffer = buffer };
	for (int i = 0; i < p->inputs.n; i++)
		buffer[p->inputs.at[i]->id] = *in[i];
	vec_each(b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			buffer[(*b)->id] = *(*b)->data;
	vec_each(s, &p->stages) {
		int64_t extent[2 * IR_MAX_RANK], *end = extent;
		for (int k = 0; k < (*s)->out->rank; k++)
			CHECK(ir_const_int((*s)->out->dim[k], end++));
		buffer[(*s)->out->id] = tensor_of((*s)->out->type, (*s)->out->rank, extent);
		for (int k = 0; k < (*s)->space_rank; k++)
			CHECK(ir_const_int((*s)->space[k], end++));
		oracle_stage(&o, *s, extent);
	}
	CHECK(!o.outside);
	memset(&error, 0, sizeof error);
	if (eval_program(p, in, out, NULL, arena, &error) < 0)
		printf("%s\n", error.text);
	CHECK_INT(error.code, 0);
	for (int i = 0; i < p->outputs.n; i++)
		CHECK_SAME(out[i], buffer[p->outputs.at[i]->id], text_of(p));
}

/* ---- Operations. */

static const enum type INTS[] = { TYPE_I8, TYPE_U8, TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64 };
static const enum type FLOATS[] = { TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_F8E4M3FN, TYPE_F8E4M3FNUZ,
				    TYPE_F8E5M2, TYPE_F8E5M2FNUZ };
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* Values at and around the edges of the type. */
static struct tensor edges(enum type t)
{
	static const double real[] = { 0,    -0.0,      1,    -1,   0.5,        1.5,   2.5,   -2.5, 3.25,      -7.75, 1e-3,
				       1e30, -1e30,     255,  256,  -129,       448,   1000,  65504, 70000,    2147483647,
				       2147483648.0, -2147483649.0, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 1e-40, (double)INFINITY,
				       -(double)INFINITY, (double)NAN };
	if (type_is_float(t))
		return vector(t, COUNT(real), real);
	struct tensor x = tensor_of(t, 1, &(int64_t){ 26 });
	int64_t low = type_min(t), high = type_max(t);
	int64_t v[26] = { 0, 1, 2, 3, 5, 7, 8, 16, 31, 33, 63, 65, 100, -1, -2, -3, -7, -100, low, low + 1, high, high - 1,
			  high / 2, 12345678901, -98765432109876, low / 3 };
	for (int i = 0; i < 26; i++)
		tensor_set_int(&x, i, v[i]);
	return x;
}

/* y[i] = op(x[i]), or y[i, j] = op(x[i], x[j]). */
static void check_op(enum ir_op op, enum type t)
{
	struct tensor x = edges(t);
	struct ir_program *p = ir_program_new(arena, ir_op_info[op].text);
	int rank = ir_op_info[op].arity;
	expr n = ir_index(p->pool, x.dim[0]), dim[2] = { n, n };
	struct ir_buffer *in = ir_buffer_new(p, "x", t, 1, dim, IR_INPUT);
	expr i = ir_axis(p->pool, 0, n), j = ir_axis(p->pool, 1, n);
	expr a = ir_load(p->pool, in, &i), b = ir_load(p->pool, in, &j);
	expr e = rank == 1 ? ir_unary(op, a) : ir_binary(op, a, b);
	struct ir_stage *s = ir_stage_new(p, IR_MAP, ir_buffer_new(p, "y", e->type, rank, dim, IR_OUTPUT));
	s->value = e;
	CHECK_INT(ir_check(p, &error), 0);
	compare(p, &x, NULL, NULL);
}

static bool takes(enum ir_op op, enum type t)
{
	bool floats = type_is_float(t), f64 = t == TYPE_F32 || t == TYPE_F64;
	switch (op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_DIV: return t != TYPE_F8E4M3FNUZ;
	case IR_NEG:
	case IR_ABS:
	case IR_MIN:
	case IR_MAX:
	case IR_EQ:
	case IR_LT:
	case IR_LE: return true;
	case IR_REM:
	case IR_POW: return !floats || f64;
	case IR_FLOORDIV:
	case IR_MOD:
	case IR_BITAND:
	case IR_BITOR:
	case IR_BITXOR:
	case IR_SHL:
	case IR_SHR:
	case IR_BITNOT: return !floats;
	case IR_ISNAN:
	case IR_ISINF: return floats;
	default: return ir_op_info[op].kind == IR_CALL && f64;
	}
}

static void operations(void)
{
	int checked = 0;
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++) {
		if (op == IR_AND || op == IR_OR || op == IR_NOT || op == IR_SELECT || op == IR_CAST || op == IR_CAST_SAT ||
		    op == IR_BITCAST)
			continue;
		int before = checked;
		for (int k = 0; k < COUNT(INTS); k++)
			if (takes(op, INTS[k]))
				check_op(op, INTS[k]), checked++;
		for (int k = 0; k < 4; k++)
			if (takes(op, FLOATS[k]))
				check_op(op, FLOATS[k]), checked++;
		CHECK(checked > before);
	}
}

static void logic(void)
{
	struct tensor x = tensor_of(TYPE_BOOL, 1, &(int64_t){ 2 });
	((unsigned char *)x.data)[1] = 1;
	compare(parse("program p(x: bool[2]) -> (y: bool[2,2,8])\n"
		      "  y: bool[2,2,8] = map (i, j, k) let a = x[i], b = x[j]; select(k == 0, and(a, b), select(k == 1, or(a, b), "
		      "select(k == 2, not(a), select(k == 3, a == b, select(k == 4, bitxor(a, b), select(k == 5, not(b), "
		      "select(k == 6, bitand(a, b), bitor(a, b))))))))\n"),
		&x, NULL, NULL);
	/* A bool that is neither 0 nor 1 in memory is true. */
	((unsigned char *)x.data)[1] = 7;
	struct tensor y = run("program p(x: bool[2]) -> (y: i32[2])\n  y: i32[2] = map (i) i32(x[i])\n", &x, NULL, NULL);
	CHECK_INT(tensor_int(&y, 0), 0);
	CHECK_INT(tensor_int(&y, 1), 1);
}

static void casts(void)
{
	enum type all[COUNT(INTS) + COUNT(FLOATS) + 2];
	int n = 0;
	for (int k = 0; k < COUNT(INTS); k++)
		all[n++] = INTS[k];
	for (int k = 0; k < COUNT(FLOATS); k++)
		all[n++] = FLOATS[k];
	all[n++] = TYPE_BOOL;
	all[n++] = TYPE_I4;
	for (int a = 0; a < n; a++) {
		for (int b = 0; b < n; b++) {
			for (int sat = 0; sat < (type_is_float(all[a]) && type_is_float(all[b]) ? 2 : 1); sat++) {
				struct tensor x = edges(all[a]);
				compare(parse(arena_printf(arena, "program p(x: %s[%d]) -> (y: %s[%d])\n  y: %s[%d] = map (i) %s%s(x[i])\n",
							   type_name(all[a]), (int)x.dim[0], type_name(all[b]), (int)x.dim[0],
							   type_name(all[b]), (int)x.dim[0], sat ? "sat_" : "", type_name(all[b]))),
					&x, NULL, NULL);
			}
		}
	}
	struct tensor x = vector(TYPE_F64, 7, (double[]){ 1e10, -1e10, (double)NAN, 300.9, -0.9, 1e20, -128.7 });
	struct tensor y = run("program p(x: f64[7]) -> (y: i8[7])\n  y: i8[7] = map (i) i8(x[i])\n", &x, NULL, NULL);
	static const int i8[] = { 127, -128, 0, 127, 0, 127, -128 };
	for (int i = 0; i < 7; i++)
		CHECK_INT(tensor_int(&y, i), i8[i]);
	y = run("program p(x: f64[7]) -> (y: u64[7])\n  y: u64[7] = map (i) u64(x[i])\n", &x, NULL, NULL);
	CHECK(tensor_int(&y, 5) == -1 && tensor_int(&y, 1) == 0 && tensor_int(&y, 0) == 10000000000);
	x = vector(TYPE_F32, 2, (double[]){ 1000, -(double)INFINITY });
	y = run("program p(x: f32[2]) -> (y: f8e4m3fn[2])\n  y: f8e4m3fn[2] = map (i) f8e4m3fn(x[i])\n", &x, NULL, NULL);
	CHECK(isnan(tensor_float(&y, 0)) && isnan(tensor_float(&y, 1)));
	y = run("program p(x: f32[2]) -> (y: f8e4m3fn[2])\n  y: f8e4m3fn[2] = map (i) sat_f8e4m3fn(x[i])\n", &x, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 448 && tensor_float(&y, 1) == -448);
}

static void bitcasts(void)
{
	static const enum type pair[][2] = { { TYPE_F32, TYPE_I32 }, { TYPE_F32, TYPE_U32 }, { TYPE_F64, TYPE_U64 },
					     { TYPE_F64, TYPE_I64 }, { TYPE_F16, TYPE_U16 }, { TYPE_BF16, TYPE_I16 },
					     { TYPE_F8E5M2, TYPE_U8 } };
	for (int k = 0; k < COUNT(pair); k++) {
		const char *f = type_name(pair[k][0]), *t = type_name(pair[k][1]);
		struct tensor x = edges(pair[k][0]);
		int n = (int)x.dim[0];
		const struct tensor *in = &x;
		struct tensor out[2];
		CHECK_INT(eval_program(parse(arena_printf(arena,
							  "program p(x: %s[%d]) -> (y: %s[%d], z: %s[%d])\n"
							  "  y: %s[%d] = map (i) bitcast_%s(x[i])\n"
							  "  z: %s[%d] = map (i) bitcast_%s(bitcast_%s(x[i]))\n",
							  f, n, t, n, f, n, t, n, t, f, n, f, t)),
				       &in, out, NULL, arena, &error),
			  0);
		struct tensor bits = out[0];
		bits.type = x.type;
		CHECK(memcmp(x.data, bits.data, (size_t)tensor_bytes(&x)) == 0);
		CHECK_SAME(out[1], x, "bitcast there and back");
	}
}

/* ---- Laziness and faults. */

static void laziness(void)
{
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 5, 700 }, -9, 9);
	struct tensor n = random_of(TYPE_I64, 1, (int64_t[]){ 700 }, -3, 8);
	/* Padding, and the same load in the condition and behind it. */
	compare(parse("program p(x: f32[5,700]) -> (y: f32[9,704], z: f32[5,700])\n"
		      "  y: f32[9,704] = map (i, j) select(and(and(2 <= i, i < 7), and(2 <= j, j < 702)), x[i - 2, j - 2], 0.5)\n"
		      "  z: f32[5,700] = map (i, j) select(and(0 < j, 0.0 < x[i, j - 1]), x[i, j - 1] * 2.0, x[i, j])\n"),
		&x, NULL, NULL);
	/* Indices from data that are outside where they are not used; both orders of a condition. */
	compare(parse("program p(x: f32[5,700], n0: i64[700]) -> (y: f32[700], z: bool[700], w0: f32[700])\n"
		      "  y: f32[700] = map (i) select(and(i64(0) <= n0[i], n0[i] < i64(5)), x[index(n0[i]), i], -1.0)\n"
		      "  z: bool[700] = map (i) or(or(n0[i] < i64(0), i64(5) <= n0[i]), x[index(n0[i]), 699 - i] < 0.0)\n"
		      "  w0: f32[700] = map (i) select(n0[i] < i64(0), 1.0, select(i64(4) < n0[i], 2.0, select(n0[i] == i64(2), "
		      "x[index(n0[i]) + 2, i], x[index(n0[i]), i] + x[index(n0[i]), mod(i * 7, 700)])))\n"),
		&x, &n, NULL);
	/* Concatenation of five pieces; an empty one is never read. */
	struct tensor none = tensor_of(TYPE_F32, 1, &(int64_t){ 0 });
	compare(parse("program p(x: f32[5,700], e: f32[0]) -> (y: f32[3500])\n"
		      "  y: f32[3500] = map (i) select(i < 700, x[4, i], select(i < 700, e[i], select(i < 1400, x[0, i - 700], "
		      "select(i < 2100, x[1, i - 1400], select(i < 2800, x[2, i - 2100], x[3, i - 2800])))))\n"),
		&x, &none, NULL);
	/* A guard that is the same in all lanes, and one that only the reduction's loops move. */
	compare(parse("program p(x: f32[5,700]) -> (y: f32[9,700], z: f32[7])\n"
		      "  y: f32[9,700] = map (i, j) select(i < 4, x[i + 1, j], 0.0 - x[0, 699 - j])\n"
		      "  z: f32[7] = sum (i | r<9, s<700) select(and(2 <= r, r < 7), x[r - 2, s], 0.25)\n"),
		&x, NULL, NULL);
}

/* A chain of selects that share their operands must not grow with each: 2^40 loads would never end. */
static void shared_branches(void)
{
	struct tensor x = random_of(TYPE_F32, 1, (int64_t[]){ 300 }, 1, 9);
	struct ir_program *p = ir_program_new(arena, "chain");
	expr n = ir_index(p->pool, 300), i = ir_axis(p->pool, 0, n);
	struct ir_buffer *in = ir_buffer_new(p, "x", TYPE_F32, 1, &n, IR_INPUT);
	expr v = ir_load(p->pool, in, &i);
	for (int k = 0; k < 40; k++) {
		expr c = ir_binary(IR_LT, v, ir_float(p->pool, TYPE_F32, 4 + k % 3));
		v = ir_select(c, ir_binary(IR_ADD, v, ir_float(p->pool, TYPE_F32, 1)), ir_binary(IR_MUL, v, ir_float(p->pool, TYPE_F32, 0.5)));
	}
	ir_stage_new(p, IR_MAP, ir_buffer_new(p, "y", TYPE_F32, 1, &n, IR_OUTPUT))->value = v;
	struct tensor y = run3(p, &x, NULL, NULL, 0);
	for (int k = 0; k < 300; k++) {
		float f = (float)tensor_float(&x, k);
		for (int j = 0; j < 40; j++)
			f = f < (float)(4 + j % 3) ? f + 1 : f * 0.5f;
		if ((double)f != tensor_float(&y, k))
			CHECK(!"the chain's value");
	}
}

static void fault(const char *text, const struct tensor *x, const struct tensor *y, const char *want)
{
	run3(parse(text), x, y, NULL, ERR_DIFFER);
	CHECK_STR(error.text, want);
}

static void faults(void)
{
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 3, 5 }, 0, 9);
	struct tensor n = vector(TYPE_I64, 4, (double[]){ 0, 2, 7, -1 });
	fault("program pad(x: f32[3,5]) -> (y: f32[3,5])\n  y: f32[3,5] = map (i, j) x[i, j + 2]\n", &x, NULL,
	      "Program pad, stage y: reads x[0,5] outside f32[3,5].");
	fault("program pad(x: f32[3,5]) -> (y: f32[4,5])\n  y: f32[4,5] = map (i, j) x[i - 1, j]\n", &x, NULL,
	      "Program pad, stage y: reads x[-1,0] outside f32[3,5].");
	fault("program g(x: f32[3,5], n0: i64[4]) -> (y: f32[4])\n  y: f32[4] = map (i) x[index(n0[i]), i]\n", &x, &n,
	      "Program g, stage y: reads x[7,2] outside f32[3,5].");
	fault("program g(x: f32[3,5], n0: i64[4]) -> (y: f32[3])\n  y: f32[3] = sum (i | r<4) x[index(n0[r]), r]\n", &x, &n,
	      "Program g, stage y: reads x[7,2] outside f32[3,5].");
	fault("program s(x: f32[3,5], n0: i64[4]) -> (y: f32[3])\n"
	      "  y: f32[3] = scatter replace (i | r<4) init 0.0 at [index(n0[r])] value x[0, r] where r < 3\n",
	      &x, &n, "Program s, stage y: writes y[7] outside f32[3].");
	fault("program g(x: f32[3,5], n0: i64[4]) -> (y: f32[4])\n"
	      "  y: f32[4] = map (i) select(n0[i] < i64(1), x[index(n0[i]), i], 0.0)\n",
	      &x, &n, "Program g, stage y: reads x[-1,3] outside f32[3,5].");
	/* The first of many in row-major order, on any number of threads. */
	struct tensor big = random_of(TYPE_I64, 2, (int64_t[]){ 400, 1000 }, 0, 2);
	tensor_set_int(&big, 123 * 1000 + 77, 5);
	for (int i = 124 * 1000; i < 400 * 1000; i += 3)
		tensor_set_int(&big, i, 9);
	for (int threads = 1; threads < 6; threads++) {
		const struct tensor *in[] = { &x, &big };
		struct tensor out;
		memset(&error, 0, sizeof error);
		struct ir_program *p = parse("program g(x: f32[3,5], n0: i64[400,1000]) -> (y: f32[400,1000])\n"
					     "  y: f32[400,1000] = map (i, j) exp(x[index(n0[i, j]), 1])\n");
		CHECK_INT(eval_program(p, in, &out, &(struct eval_options){ .threads = threads }, arena, &error), ERR_DIFFER);
		CHECK_STR(error.text, "Program g, stage y: reads x[5,1] outside f32[3,5].");
	}
}

/* ---- Index arithmetic. */

static void indices(void)
{
	struct tensor x = random_of(TYPE_F32, 3, (int64_t[]){ 6, 7, 20 }, -99, 99);
	struct tensor h = random_of(TYPE_F16, 2, (int64_t[]){ 30, 41 }, -99, 99);
	compare(parse("program p(x: f32[6,7,20]) -> (t0: f32[20,6,7], s0: f32[3,7,5], f: f32[840], b: f32[4,6,7,20], r0: f32[6,7,20])\n"
		      "  t0: f32[20,6,7] = map (i, j, k) x[j, k, i]\n"
		      "  s0: f32[3,7,5] = map (i, j, k) x[5 - i * 2, j, k * 3 + 4]\n"
		      "  f: f32[840] = map (i) x[floordiv(i, 140), mod(floordiv(i, 20), 7), mod(i, 20)]\n"
		      "  b: f32[4,6,7,20] = map (i, j, k, l) x[j, 3, l] + x[j, k, 0] * f32(i)\n"
		      "  r0: f32[6,7,20] = map (i, j, k) x[i, max(j - 2, 0), min(k + floordiv(k * j, 9), 19)]\n"),
		&x, NULL, NULL);
	compare(parse("program p(h: f16[30,41]) -> (t0: f16[41,30], c: f32[1230], z: f16[30,41,3])\n"
		      "  t0: f16[41,30] = map (i, j) h[j, i]\n"
		      "  c: f32[1230] = map (i) f32(h[floordiv(i, 41), mod(i, 41)]) * 0.5\n"
		      "  z: f16[30,41,3] = map (i, j, k) select(0 < j - k, h[i, j - k], f16(0.0))\n"),
		&h, NULL, NULL);
	struct tensor q = random_of(TYPE_I4, 1, (int64_t[]){ 1001 }, -8, 7);
	compare(parse("program p(q: i4[1001]) -> (y: i4[1001], z: u2[1001], s0: i32[13])\n"
		      "  y: i4[1001] = map (i) q[1000 - i] + i4(3)\n"
		      "  z: u2[1001] = map (i) u2(q[i])\n"
		      "  s0: i32[13] = sum (i | r<77) i32(q[i * 77 + r])\n"),
		&q, NULL, NULL);
	/* Symbols as values; more axes than lanes; a scalar. */
	compare(parse("program p(x: f32[6,7,20]) -> (y: f32[2,1,3,1,2,1,5], z: f32[])\n"
		      "  y: f32[2,1,3,1,2,1,5] = map (i, j, k, l, m, n, i6) x[i + k, m, i6] + f32(i * 100 + k * 10 + m)\n"
		      "  z: f32[] = map () x[1, 2, 3] + 1.0\n"),
		&x, NULL, NULL);
}

/* ---- Reductions. */

static void reductions(void)
{
	static const char *const combine[] = { "sum", "prod", "max", "min", "argmax", "argmin", "argmax_last", "argmin_last" };
	static const int64_t shape[][3] = { { 3, 50, 700 }, { 700, 6, 50 }, { 2, 2, 2 }, { 1, 1, 1300 }, { 40, 30, 3 } };
	static const enum type types[] = { TYPE_F32, TYPE_F64, TYPE_F16, TYPE_I8, TYPE_U8, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64 };
	for (int s = 0; s < COUNT(shape); s++) {
		int a = (int)shape[s][0], b = (int)shape[s][1], c = (int)shape[s][2];
		for (int t = 0; t < COUNT(types); t++) {
			struct tensor x = random_of(types[t], 3, shape[s], type_is_signed(types[t]) ? -3 : 0, 3);
			for (int k = 0; k < COUNT(combine); k++) {
				const char *n = type_name(types[t]), *o = k < 4 ? n : "i64";
				for (int64_t i = 0; k == 1 && type_is_float(types[t]) && i < tensor_count(&x); i++)
					tensor_set_float(&x, i, i % 1009 == 0 ? 2 : i % 1009 == 1 ? 0.5 : i % 3 == 0 ? -1 : 1);
				compare(parse(arena_printf(arena,
							   "program p(x: %s[%d,%d,%d]) -> (u0: %s[%d], v0: %s[%d,%d], w0: %s[])\n"
							   "  u0: %s[%d] = %s (i | r<%d, s<%d) x[r, i, s]\n"
							   "  v0: %s[%d,%d] = %s (i, j | r<%d) x[i, r, j]\n"
							   "  w0: %s[] = %s ( | r<%d, s<%d, t<%d) x[r, s, t]\n",
							   n, a, b, c, o, b, o, a, c, o, o, b, combine[k], a, c, o, a, c, combine[k], b,
							   o, combine[k], a, b, c)),
					&x, NULL, NULL);
			}
		}
	}
	struct tensor m = random_of(TYPE_BOOL, 2, (int64_t[]){ 300, 5 }, 0, 1);
	compare(parse("program p(m0: bool[300,5]) -> (a: bool[300], b: bool[5], c: bool[300], d: bool[5])\n"
		      "  a: bool[300] = all (i | r<5) m0[i, r]\n"
		      "  b: bool[5] = all (i | r<300) m0[r, i]\n"
		      "  c: bool[300] = any (i | r<5) m0[i, r]\n"
		      "  d: bool[5] = any (i | r<300) and(m0[r, i], m0[299 - r, i])\n"),
		&m, NULL, NULL);
}

static void nan_reductions(void)
{
	struct tensor x = tensor_of(TYPE_F32, 2, (int64_t[]){ 2, 1000 });
	for (int i = 0; i < 2000; i++)
		tensor_set_float(&x, i, i);
	tensor_set_float(&x, 300, (double)NAN);
	tensor_set_float(&x, 700, (double)NAN);
	compare(parse("program p(x: f32[2,1000]) -> (a: f32[2], b: i64[2], c: i64[2], d: f32[1000], e: i64[2], f: i64[2])\n"
		      "  a: f32[2] = max (i | r<1000) x[i, r]\n"
		      "  b: i64[2] = argmax (i | r<1000) x[i, r]\n"
		      "  c: i64[2] = argmin_last (i | r<1000) x[i, r]\n"
		      "  d: f32[1000] = min (i | r<2) x[r, i]\n"
		      "  e: i64[2] = argmin (i | r<1000) x[i, r]\n"
		      "  f: i64[2] = argmax_last (i | r<1000) x[i, r]\n"),
		&x, NULL, NULL);
	/* Nothing to reduce: the identities, and position 0. */
	struct tensor none = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 0 });
	compare(parse("program p(x: f32[3,0]) -> (a: f32[3], b: f32[3], c: f32[3], d: i64[3], e: f32[3], f: f32[0])\n"
		      "  a: f32[3] = sum (i | r<0) x[i, r] then it + 5.0\n"
		      "  b: f32[3] = prod (i | r<0) x[i, r]\n"
		      "  c: f32[3] = max (i | r<0) x[i, r]\n"
		      "  d: i64[3] = argmax (i | r<0) x[i, r]\n"
		      "  e: f32[3] = map (i) f32(i)\n"
		      "  f: f32[0] = sum (i | r<3) x[r, i]\n"),
		&none, NULL, NULL);
}

/* Sums are kept in double and rounded once, where `post` takes them. */
static void accumulation(void)
{
	struct tensor x = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 4001 });
	for (int64_t i = 0; i < 3 * 4001; i++)
		tensor_set_float(&x, i, i % 4001 == 0 ? 16777216 : 1.0 / 1024);
	struct tensor y = run("program p(x: f32[3,4001]) -> (y: f32[3])\n"
			      "  y: f32[3] = sum (i | r<4001) x[i, r] then it - 16777216.0\n",
			      &x, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 3.90625 && tensor_float(&y, 2) == 3.90625);
	struct tensor h = tensor_of(TYPE_F16, 1, &(int64_t){ 4096 });
	for (int i = 0; i < 4096; i++)
		tensor_set_float(&h, i, 1);
	y = run("program p(h: f16[4096]) -> (y: f16[])\n  y: f16[] = sum ( | r<4096) h[r] then it / f16(2.0) + f16(1.0)\n", &h, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2048); /* 2049 is no f16 */
	/* A tie in f32 that the double sum breaks: f16 sees the sum, not a rounded f32. */
	struct tensor z = vector(TYPE_F32, 3, (double[]){ 2048, 1, 0x1p-30 });
	y = run("program p(z: f32[3]) -> (y: f16[])\n  y: f16[] = sum ( | r<3) z[r] then f16(it)\n", &z, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2050);
}

static void products(void)
{
	struct tensor a = random_of(TYPE_F32, 2, (int64_t[]){ 37, 65 }, -8, 8), b = random_of(TYPE_F32, 2, (int64_t[]){ 65, 600 }, -8, 8);
	compare(parse("program p(a: f32[37,65], b: f32[65,600]) -> (y: f32[37,600], z: f32[65,65], w0: f32[37], c: f32[600])\n"
		      "  y: f32[37,600] = sum (i, j | r<65) a[i, r] * b[r, j] then max(it * 0.5, 0.0) + f32(i)\n"
		      "  z: f32[65,65] = sum (i, j | r<600) b[i, r] * b[j, r]\n"
		      "  w0: f32[37] = sum (i | r<65) a[i, r] * a[i, r]\n"
		      "  c: f32[600] = sum (i | r<5) f32(r) * 3.0\n"),
		&a, &b, NULL);
	struct tensor u = random_of(TYPE_U8, 2, (int64_t[]){ 20, 300 }, 0, 255), v = random_of(TYPE_I8, 2, (int64_t[]){ 300, 33 }, -128, 127);
	compare(parse("program p(u0: u8[20,300], v0: i8[300,33]) -> (y: i32[20,33], z: i64[20,33], w0: i8[20,33], h: u64[20])\n"
		      "  y: i32[20,33] = sum (i, j | r<300) (i32(u0[i, r]) - i32(128)) * i32(v0[r, j])\n"
		      "  z: i64[20,33] = sum (i, j | r<300) i64(u0[i, r]) * i64(v0[r, j]) then it * it\n"
		      "  w0: i8[20,33] = sum (i, j | r<300) i8(u0[i, r]) * v0[r, j]\n"
		      "  h: u64[20] = sum (i | r<300) u64(u0[i, r]) * u64(v0[r, 0])\n"),
		&u, &v, NULL);
	struct tensor x = random_of(TYPE_F32, 4, (int64_t[]){ 2, 5, 13, 19 }, -8, 8), k = random_of(TYPE_F32, 4, (int64_t[]){ 6, 5, 3, 3 }, -8, 8);
	compare(parse("program conv(x: f32[2,5,13,19], k0: f32[6,5,3,3]) -> (y: f32[2,6,13,19], z: f32[2,6,6,9])\n"
		      "  y: f32[2,6,13,19] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 13), "
		      "and(0 <= l + t - 1, l + t - 1 < 19)), x[i, r, k + s - 1, l + t - 1], 0.0) * k0[j, r, s, t]\n"
		      "  z: f32[2,6,6,9] = sum (i, j, k, l | r<5, s<3, t<3) x[i, r, k * 2 + s, l * 2 + t] * k0[j, r, s, t]\n"),
		&x, &k, NULL);
	compare(parse("program pool(x: f32[2,5,13,19]) -> (y: f32[2,5,7,10], z: i64[2,5,7,10])\n"
		      "  y: f32[2,5,7,10] = max (i, j, k, l | r<3, s<3) select(and(and(0 <= k * 2 + r - 1, k * 2 + r - 1 < 13), "
		      "and(0 <= l * 2 + s - 1, l * 2 + s - 1 < 19)), x[i, j, k * 2 + r - 1, l * 2 + s - 1], -inf)\n"
		      "  z: i64[2,5,7,10] = argmax (i, j, k, l | r<2, s<2) x[i, j, k + r, l + s]\n"),
		&x, NULL, NULL);
}

/* ---- Scatters. */

static void scatters(void)
{
	struct tensor n = vector(TYPE_I64, 6, (double[]){ 4, 0, 4, 1, 0, 4 }), u = vector(TYPE_F32, 6, (double[]){ 1, 2, 3, -4, 5, 0.5 });
	static const struct {
		const char *combine;
		double want[5];
	} f[] = { { "replace", { 5, -4, 10, 10, 0.5 } }, { "sum", { 17, 6, 10, 10, 14.5 } }, { "prod", { 100, -40, 10, 10, 15 } },
		  { "max", { 10, 10, 10, 10, 10 } },  { "min", { 2, -4, 10, 10, 0.5 } } };
	for (int k = 0; k < COUNT(f); k++) {
		struct tensor y = run(arena_printf(arena,
						   "program s(n0: i64[6], u0: f32[6]) -> (y: f32[5])\n"
						   "  y: f32[5] = scatter %s (i | r<6) init 10.0 at [index(n0[r])] value u0[r]\n",
						   f[k].combine),
				      &n, &u, NULL);
		CHECK_SAME(y, vector(TYPE_F32, 5, f[k].want), f[k].combine);
	}
	struct tensor y = run("program s(n0: i64[6], u0: f32[6]) -> (y: u8[5,2])\n"
			      "  y: u8[5,2] = scatter sum (i, j | r<6) init u8(250) + u8(j) at [index(n0[r]), mod(r, 2)] value u8(u0[r] + 1.0) where 0.0 < u0[r]\n",
			      &n, &u, NULL);
	static const int wrapped[] = { 250 + 6 - 256, 254, 250, 251, 250, 251, 250, 251, 250 + 2 + 4 - 256, 252 };
	for (int k = 0; k < 10; k++)
		CHECK_INT(tensor_int(&y, k), wrapped[k]);
	y = run("program s(n0: i64[6], u0: f32[6]) -> (y: bool[5], z: f16[1], w0: u64[1])\n"
		"  y: bool[5] = scatter any (i | r<6) init i == 3 at [index(n0[r])] value u0[r] < 0.0\n"
		"  z: f16[1] = scatter sum (i | r<6) init f16(2048.0) at [0] value f16(u0[r])\n"
		"  w0: u64[1] = scatter max (i | r<6) init u64(1) at [0] value u64(n0[r]) - u64(1)\n",
		&n, &u, NULL);
	CHECK(!tensor_int(&y, 0) && tensor_int(&y, 1) && !tensor_int(&y, 2) && tensor_int(&y, 3) && !tensor_int(&y, 4));
	/* Many updates over two axes: the last one of an element stays. Indices outside are passed over by `where`. */
	struct tensor big = random_of(TYPE_I64, 2, (int64_t[]){ 30, 900 }, -50, 1050);
	struct tensor v = random_of(TYPE_I32, 2, (int64_t[]){ 30, 900 }, -1000, 1000), out = tensor_of(TYPE_I32, 1, &(int64_t){ 1000 });
	for (int64_t k = 0; k < 1000; k++)
		tensor_set_int(&out, k, k);
	for (int64_t k = 0; k < 27000; k++)
		if (tensor_int(&big, k) >= 0 && tensor_int(&big, k) < 1000)
			tensor_set_int(&out, tensor_int(&big, k), tensor_int(&v, k));
	CHECK_SAME(run("program s(n0: i64[30,900], v0: i32[30,900]) -> (y: i32[1000])\n"
		       "  y: i32[1000] = scatter replace (i | r<30, s<900) init i32(i) at [index(n0[r, s])] value v0[r, s] where "
		       "and(i64(0) <= n0[r, s], n0[r, s] < i64(1000))\n",
		       &big, &v, NULL),
		   out, "a large scatter");
}

static void half_scatter(void)
{
	struct tensor u = vector(TYPE_F32, 3, (double[]){ 1, 1, 1 });
	/* Each step rounds: 2048 + 1 is 2048 in f16. */
	struct tensor y = run("program s(u0: f32[3]) -> (y: f16[1])\n  y: f16[1] = scatter sum (i | r<3) init f16(2048.0) at [0] value f16(u0[r])\n",
			      &u, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2048);
	struct tensor n = vector(TYPE_I64, 2, (double[]){ 0, 5 });
	y = run("program s(n0: i64[2]) -> (y: u64[1])\n  y: u64[1] = scatter max (i | r<2) init u64(1) at [0] value u64(n0[r]) - u64(1)\n", &n, NULL, NULL);
	CHECK_INT(tensor_int(&y, 0), -1); /* 0 - 1 is the largest */
}

/* ---- Programs. */

static void symbols(void)
{
	struct ir_program *p = parse("program p(x: f32[N,2*M], w0: f32[M,3]) -> (y: f32[N+1,M])\n"
				     "  y: f32[N+1,M] = map (i, j) select(i < N, x[min(i, N - 1), j * 2], f32(N * 100 + M))\n");
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 4, 6 }, 0, 9), w = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 3 });
	struct tensor y = run3(p, &x, &w, NULL, 0);
	CHECK(y.rank == 2 && y.dim[0] == 5 && y.dim[1] == 3);
	CHECK(tensor_float(&y, 12) == 403 && tensor_float(&y, 4) == tensor_float(&x, 8));
	struct tensor bad = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 4 }), odd = random_of(TYPE_F32, 2, (int64_t[]){ 4, 7 }, 0, 9);
	run3(p, &x, &bad, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program p: extent 1 of w0 is 3, but its tensor is f32[3,4].");
	run3(p, &odd, &w, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program p: extent 1 of x is 6, but its tensor is f32[4,7].");
	run3(p, &x, NULL, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program p: input w0 has no data.");
	struct tensor half = tensor_of(TYPE_F16, 2, (int64_t[]){ 4, 6 });
	run3(p, &half, &w, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program p: input x is f32 of rank 2, but gets f16[4,6].");
	p = parse("program q(x: f32[N], w0: f32[N]) -> (y: f32[N])\n  y: f32[N] = map (i) x[i] + w0[i]\n");
	struct tensor v3 = vector(TYPE_F32, 3, (double[]){ 1, 2, 3 }), v4 = vector(TYPE_F32, 4, (double[]){ 1, 2, 3, 4 });
	run3(p, &v3, &v4, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program q: symbol N is 3, but input w0 says 4.");
	/* A symbol that no input has comes from the options. */
	p = ir_program_new(arena, "o");
	expr k = ir_symbol(p->pool, "K");
	ir_stage_new(p, IR_MAP, ir_buffer_new(p, "y", TYPE_I64, 1, &k, IR_OUTPUT))->value = ir_cast(ir_axis(p->pool, 0, k), TYPE_I64);
	struct eval_symbol seven = { "K", 7 };
	memset(&error, 0, sizeof error);
	CHECK_INT(eval_program(p, NULL, &y, &(struct eval_options){ .symbols = 1, .symbol = &seven }, arena, &error), 0);
	CHECK(y.dim[0] == 7 && tensor_int(&y, 6) == 6);
	CHECK_INT(eval_program(p, NULL, &y, NULL, arena, &error), ERR_MODEL);
	CHECK_STR(error.text, "Program o: no input gives symbol K a value.");
}

static void programs(void)
{
	/* Temporaries, a stage that nothing needs, a constant; a known input; an input and a constant as outputs. */
	struct ir_program *p = parse("program p(x: f32[300,700]) -> (y: f32[300,700])\n"
				     "  const c: f32[3] = {1.5, 2.5, -3}\n"
				     "  t0: f32[300] = max (i | r<700) x[i, r]\n"
				     "  dead: f32[1] = map (i) x[i + 500, 0]\n"
				     "  e: f32[300,700] = map (i, j) exp((x[i, j] - t0[i]) * 0.125) + c[mod(j, 3)]\n"
				     "  s0: f32[300] = sum (i | r<700) e[i, r] then 1.0 / it\n"
				     "  y: f32[300,700] = map (i, j) e[i, j] * s0[i]\n");
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 300, 700 }, -50, 50), first = run3(p, &x, NULL, NULL, 0);
	double sum = 0;
	for (int j = 0; j < 700; j++)
		sum += tensor_float(&first, 5 * 700 + j);
	CHECK(fabs(sum - 1) < 1e-4);
	for (int threads = 1; threads < 5; threads++) {
		const struct tensor *in = &x;
		struct tensor y;
		CHECK_INT(eval_program(p, &in, &y, &(struct eval_options){ .threads = threads }, arena, &error), 0);
		CHECK(memcmp(y.data, first.data, (size_t)tensor_bytes(&y)) == 0);
	}
	p->inputs.at[0]->data = &x;
	CHECK_SAME(run3(p, NULL, NULL, NULL, 0), first, "an input that is known");
	/* Data that lie across their own alignment. */
	char *raw = arena_alloc(arena, (size_t)tensor_bytes(&x) + 8);
	struct tensor crooked = x;
	crooked.data = memcpy(raw + 1, x.data, (size_t)tensor_bytes(&x));
	CHECK_SAME(run3(p, &crooked, NULL, NULL, 0), first, "unaligned data");
	/* Outputs that are an input or a constant, or twice the same. */
	p = parse("program p(x: f32[2]) -> (y: f32[2])\n  const c: f32[2] = {4, 5}\n  y: f32[2] = map (i) x[i] + c[i]\n");
	vec_push(arena, &p->outputs, p->inputs.at[0]);
	vec_push(arena, &p->outputs, p->stages.at[0]->out);
	vec_each(b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			vec_push(arena, &p->outputs, *b);
	struct tensor v = vector(TYPE_F32, 2, (double[]){ 10, 20 }), out[4];
	const struct tensor *in = &v;
	CHECK_INT(eval_program(p, &in, out, NULL, arena, &error), 0);
	CHECK(p->outputs.n == 4 && tensor_float(&out[0], 1) == 25 && tensor_float(&out[2], 0) == 14);
	CHECK(tensor_float(&out[1], 1) == 20 && out[1].data != v.data && tensor_float(&out[3], 0) == 4);
}

static void memory(void)
{
	struct tensor x = random_of(TYPE_F32, 1, (int64_t[]){ 100000 }, 0, 9), y;
	struct ir_program *p = parse("program p(x: f32[100000]) -> (y: f32[100000])\n"
				     "  t0: f32[100000] = map (i) x[i] * 2.0\n  y: f32[100000] = map (i) t0[99999 - i] + 1.0\n");
	const struct tensor *in = &x;
	int failures = 0;
	for (int n = 1; n < 60; n++) {
		struct arena *a = arena_new();
		struct arena_guard g;
		memset(&error, 0, sizeof error);
		volatile int rc = ERR_DEVICE; /* the very first allocations belong to the caller's guard */
		arena_fail_after(n);
		if (setjmp(*arena_guard_push(&g)) == 0)
			rc = eval_program(p, &in, &y, NULL, a, &error);
		arena_guard_pop(&g);
		arena_fail_after(0);
		CHECK(rc == 0 || rc == ERR_DEVICE);
		failures += rc != 0;
		if (rc == 0)
			CHECK(tensor_float(&y, 0) == tensor_float(&x, 99999) * 2 + 1);
		arena_free(a);
		if (rc == 0)
			break;
	}
	CHECK(failures > 3);
}

int main(void)
{
	static void (*const test[])(void) = { operations,    logic,	  casts,    bitcasts,	  laziness,   shared_branches,
					      faults,	     indices,	  reductions, nan_reductions, accumulation, products,
					      scatters,	     half_scatter, symbols,  programs,	  memory };
	for (int k = 0; k < COUNT(test); k++) {
		arena = arena_new();
		memset(&error, 0, sizeof error);
		test[k]();
		arena_free(arena);
	}
	return test_done();
}
