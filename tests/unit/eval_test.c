/* The interpreter: every operation in every type, casts, index arithmetic, laziness, faults. Results are compared bit
 * by bit with eval_oracle.h, or with numbers written out here. */
#include "tests/unit/eval_run.h"

/* ---- Operations. */

static const enum type INTS[] = { TYPE_I8, TYPE_U8, TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64 };
static const enum type FLOATS[] = { TYPE_F32,      TYPE_F64,        TYPE_F16,    TYPE_BF16,
	                            TYPE_F8E4M3FN, TYPE_F8E4M3FNUZ, TYPE_F8E5M2, TYPE_F8E5M2FNUZ };

/* Values at and around the edges of the type. */
static struct tensor edges(enum type t)
{
	static const double real[] = { 0,
		                       -0.0,
		                       1,
		                       -1,
		                       0.5,
		                       1.5,
		                       2.5,
		                       -2.5,
		                       3.25,
		                       -7.75,
		                       1e-3,
		                       1e30,
		                       -1e30,
		                       255,
		                       256,
		                       -129,
		                       448,
		                       1000,
		                       65504,
		                       70000,
		                       2147483647,
		                       2147483648.0,
		                       -2147483649.0,
		                       4294967296.0,
		                       9.3e18,
		                       -9.3e18,
		                       1.9e19,
		                       1e-40,
		                       (double)INFINITY,
		                       -(double)INFINITY,
		                       (double)NAN };
	if (type_is_float(t))
		return vector(t, COUNT(real), real);
	struct tensor x = tensor_of(t, 1, &(int64_t){ 26 });
	int64_t low = type_min(t), high = type_max(t);
	int64_t v[26] = { 0,      1,        2,        3,           5,
		          7,      8,        16,       31,          33,
		          63,     65,       100,      -1,          -2,
		          -3,     -7,       -100,     low,         low + 1,
		          high,   high - 1, high / 2, 12345678901, -98765432109876,
		          low / 3 };
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
	if (ir_check(p, &error) < 0)
		printf("%s of %s: %s\n", ir_op_info[op].text, type_name(t), error.text);
	CHECK_INT(error.code, 0);
	compare(p, &x, NULL, NULL);
}

static bool takes(enum ir_op op, enum type t)
{
	bool floats = type_is_float(t), f64 = t == TYPE_F32 || t == TYPE_F64;
	switch (op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_DIV:
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
		if (op == IR_AND || op == IR_OR || op == IR_NOT || op == IR_SELECT || op == IR_CAST ||
		    op == IR_CAST_SAT || op == IR_BITCAST || op == IR_ELEMENT)
			continue;
		int before = checked;
		for (int k = 0; k < COUNT(INTS); k++)
			if (takes(op, INTS[k]))
				check_op(op, INTS[k]), checked++;
		for (int k = 0; k < 2; k++) /* f32 and f64: the others have no arithmetic */
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
	              "  y: bool[2,2,8] = map (i, j, k) let a = x[i], b = x[j]; select(k == 0, and(a, b), select(k == "
	              "1, or(a, b), select(k == 2, not(a), select(k == 3, a == b, select(k == 4, bitxor(a, b), "
	              "select(k == 5, not(b), select(k == 6, bitand(a, b), bitor(a, b))))))))\n"),
	        &x, NULL, NULL);
	/* A bool that is neither 0 nor 1 in memory is true. */
	((unsigned char *)x.data)[1] = 7;
	struct tensor y =
	        run("program p(x: bool[2]) -> (y: i32[2])\n  y: i32[2] = map (i) i32(x[i])\n", &x, NULL, NULL);
	CHECK_INT(tensor_int(&y, 0), 0);
	CHECK_INT(tensor_int(&y, 1), 1);
}

static void casts(void)
{
	static const enum type small[] = { TYPE_BOOL, TYPE_I4, TYPE_U4, TYPE_I2, TYPE_U2, TYPE_F4E2M1, TYPE_F8E8M0 };
	enum type all[COUNT(INTS) + COUNT(FLOATS) + COUNT(small)];
	int n = 0;
	for (int k = 0; k < COUNT(INTS); k++)
		all[n++] = INTS[k];
	for (int k = 0; k < COUNT(FLOATS); k++)
		all[n++] = FLOATS[k];
	for (int k = 0; k < COUNT(small); k++)
		all[n++] = small[k];
	for (int a = 0; a < n; a++) {
		for (int b = 0; b < n; b++) {
			bool narrow = type_is_float(all[a]) && type_is_float(all[b]) && type_info(all[b])->bits <= 8;
			for (int sat = 0; sat <= narrow; sat++) { /* only floats of 8 bits and less saturate */
				struct tensor x = edges(all[a]);
				compare(parse(arena_printf(arena,
				                           "program p(x: %s[%d]) -> (y: %s[%d])\n  y: %s[%d] = map (i) "
				                           "%s%s(x[i])\n",
				                           type_name(all[a]), (int)x.dim[0], type_name(all[b]),
				                           (int)x.dim[0], type_name(all[b]), (int)x.dim[0],
				                           sat ? "sat_" : "", type_name(all[b]))),
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
	y = run("program p(x: f32[2]) -> (y: f8e4m3fn[2])\n  y: f8e4m3fn[2] = map (i) f8e4m3fn(x[i])\n", &x, NULL,
	        NULL);
	CHECK(isnan(tensor_float(&y, 0)) && isnan(tensor_float(&y, 1)));
	y = run("program p(x: f32[2]) -> (y: f8e4m3fn[2])\n  y: f8e4m3fn[2] = map (i) sat_f8e4m3fn(x[i])\n", &x, NULL,
	        NULL);
	CHECK(tensor_float(&y, 0) == 448 && tensor_float(&y, 1) == -448);
}

static void bitcasts(void)
{
	static const enum type pair[][2] = { { TYPE_F32, TYPE_I32 },   { TYPE_F32, TYPE_U32 },
		                             { TYPE_F64, TYPE_U64 },   { TYPE_F64, TYPE_I64 },
		                             { TYPE_F16, TYPE_U16 },   { TYPE_BF16, TYPE_I16 },
		                             { TYPE_F8E5M2, TYPE_U8 }, { TYPE_F8E8M0, TYPE_U8 },
		                             { TYPE_F4E2M1, TYPE_U4 } };
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
	/* Padding, and the same load in the condition and after it. */
	compare(parse("program p(x: f32[5,700]) -> (y: f32[9,704], z: f32[5,700])\n"
	              "  y: f32[9,704] = map (i, j) select(and(and(2 <= i, i < 7), and(2 <= j, j < 702)), x[i - 2, j - "
	              "2], 0.5)\n"
	              "  z: f32[5,700] = map (i, j) select(and(0 < j, 0.0 < x[i, j - 1]), x[i, j - 1] * 2.0, x[i, "
	              "j])\n"),
	        &x, NULL, NULL);
	/* Indices from data that are out of bounds where they are unused; both orders of a condition. */
	compare(parse("program p(x: f32[5,700], n0: i64[700]) -> (y: f32[700], z: bool[700], w0: f32[700])\n"
	              "  y: f32[700] = map (i) select(and(i64(0) <= n0[i], n0[i] < i64(5)), x[index(n0[i]), i], -1.0)\n"
	              "  z: bool[700] = map (i) or(or(n0[i] < i64(0), i64(5) <= n0[i]), x[index(n0[i]), 699 - i] < "
	              "0.0)\n"
	              "  w0: f32[700] = map (i) select(n0[i] < i64(0), 1.0, select(i64(4) < n0[i], 2.0, select(n0[i] "
	              "== i64(2), x[index(n0[i]) + 2, i], x[index(n0[i]), i] + x[index(n0[i]), mod(i * 7, 700)])))\n"),
	        &x, &n, NULL);
	/* Concatenation of five pieces; an empty one is never read. */
	struct tensor none = tensor_of(TYPE_F32, 1, &(int64_t){ 0 });
	compare(parse("program p(x: f32[5,700], e: f32[0]) -> (y: f32[3500])\n"
	              "  y: f32[3500] = map (i) select(i < 700, x[4, i], select(i < 700, e[i], select(i < 1400, x[0, i "
	              "- 700], select(i < 2100, x[1, i - 1400], select(i < 2800, x[2, i - 2100], x[3, i - "
	              "2800])))))\n"),
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
		v = ir_select(c, ir_binary(IR_ADD, v, ir_float(p->pool, TYPE_F32, 1)),
		              ir_binary(IR_MUL, v, ir_float(p->pool, TYPE_F32, 0.5)));
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
	fault("program g(x: f32[3,5], n0: i64[4]) -> (y: f32[3])\n  y: f32[3] = sum (i | r<4) x[index(n0[r]), r]\n", &x,
	      &n, "Program g, stage y: reads x[7,2] outside f32[3,5].");
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
		CHECK_INT(eval_program(p, in, &out, &(struct eval_options){ .threads = threads }, arena, &error),
		          ERR_DIFFER);
		CHECK_STR(error.text, "Program g, stage y: reads x[5,1] outside f32[3,5].");
	}
}

/* ---- Index arithmetic. */

static void indices(void)
{
	struct tensor x = random_of(TYPE_F32, 3, (int64_t[]){ 6, 7, 20 }, -99, 99);
	struct tensor h = random_of(TYPE_F16, 2, (int64_t[]){ 30, 41 }, -99, 99);
	compare(parse("program p(x: f32[6,7,20]) -> (t0: f32[20,6,7], s0: f32[3,7,5], f: f32[840], b: f32[4,6,7,20], "
	              "r0: f32[6,7,20])\n"
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
	              "  y: i4[1001] = map (i) i4(i32(q[1000 - i]) + i32(3))\n"
	              "  z: u2[1001] = map (i) u2(q[i])\n"
	              "  s0: i32[13] = sum (i | r<77) i32(q[i * 77 + r])\n"),
	        &q, NULL, NULL);
	/* Symbols as values; more axes than lanes; a scalar. */
	compare(parse("program p(x: f32[6,7,20]) -> (y: f32[2,1,3,1,2,1,5], z: f32[])\n"
	              "  y: f32[2,1,3,1,2,1,5] = map (i, j, k, l, m, n, i6) x[i + k, m, i6] + f32(i * 100 + k * 10 + "
	              "m)\n"
	              "  z: f32[] = map () x[1, 2, 3] + 1.0\n"),
	        &x, NULL, NULL);
}

int main(void)
{
	static void (*const test[])(void) = { operations, logic,           casts,  bitcasts,
		                              laziness,   shared_branches, faults, indices };
	return run_tests(COUNT(test), test);
}
