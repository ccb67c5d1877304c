/* The interpreter: reductions, scatters, and whole programs with symbols, temporaries, threads, and too little
 * memory. */
#include "tests/unit/eval_run.h"

/* ---- Reductions. */

static void reductions(void)
{
	static const char *const combine[] = { "sum",    "prod",   "max",         "min",
		                               "argmax", "argmin", "argmax_last", "argmin_last" };
	static const int64_t shape[][3] = {
		{ 3, 50, 700 }, { 700, 6, 50 }, { 2, 2, 2 }, { 1, 1, 1300 }, { 40, 30, 3 }
	};
	/* Accumulator types: f16 and narrower are none. */
	static const enum type types[] = {
		TYPE_F32, TYPE_F64, TYPE_I8, TYPE_U8, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64
	};
	for (int s = 0; s < COUNT(shape); s++) {
		int a = (int)shape[s][0], b = (int)shape[s][1], c = (int)shape[s][2];
		for (int t = 0; t < COUNT(types); t++) {
			struct tensor x = random_of(types[t], 3, shape[s], type_is_signed(types[t]) ? -3 : 0, 3);
			for (int k = 0; k < COUNT(combine); k++) {
				const char *n = type_name(types[t]), *o = k < 4 ? n : "i64";
				for (int64_t i = 0; k == 1 && type_is_float(types[t]) && i < tensor_count(&x); i++)
					tensor_set_float(&x, i,
					                 i % 1009 == 0   ? 2
					                 : i % 1009 == 1 ? 0.5
					                 : i % 3 == 0    ? -1
					                                 : 1);
				compare(parse(arena_printf(
				                arena,
				                "program p(x: %s[%d,%d,%d]) -> (u0: %s[%d], v0: %s[%d,%d], w0: %s[])\n"
				                "  u0: %s[%d] = %s (i | r<%d, s<%d) x[r, i, s]\n"
				                "  v0: %s[%d,%d] = %s (i, j | r<%d) x[i, r, j]\n"
				                "  w0: %s[] = %s ( | r<%d, s<%d, t<%d) x[r, s, t]\n",
				                n, a, b, c, o, b, o, a, c, o, o, b, combine[k], a, c, o, a, c,
				                combine[k], b, o, combine[k], a, b, c)),
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
	compare(parse("program p(x: f32[2,1000]) -> (a: f32[2], b: i64[2], c: i64[2], d: f32[1000], e: i64[2], f: "
	              "i64[2])\n"
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

/* ---- Scans. */

static void scans(void)
{
	static const char *const combine[] = { "sum", "prod", "max", "min" };
	static const char *const direction[] = { "", "exclusive ", "reverse ", "exclusive reverse " };
	static const int64_t shape[][3] = { { 3, 5, 70 }, { 70, 6, 5 }, { 2, 300, 3 }, { 1, 1, 130 }, { 4, 1, 1 } };
	static const enum type types[] = {
		TYPE_F32, TYPE_F64, TYPE_I8, TYPE_U8, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64
	};
	for (int s = 0; s < COUNT(shape); s++) {
		int a = (int)shape[s][0], b = (int)shape[s][1], c = (int)shape[s][2];
		for (int t = 0; t < COUNT(types); t++) {
			struct tensor x = random_of(types[t], 3, shape[s], type_is_signed(types[t]) ? -3 : 0, 3);
			for (int k = 0; k < COUNT(combine) * COUNT(direction); k++) {
				const char *n = type_name(types[t]), *o = combine[k % 4], *d = direction[k / 4];
				const char *y = arena_printf(arena, "%s[%d,%d,%d]", n, a, b, c);
				for (int64_t i = 0; k % 4 == 1 && type_is_float(types[t]) && i < tensor_count(&x); i++)
					tensor_set_float(&x, i,
					                 i % 3 == 0    ? -1
					                 : i % 7 == 0  ? 2
					                 : i % 11 == 0 ? 0.5
					                               : 1);
				compare(parse(arena_printf(
				                arena,
				                "program p(x: %s) -> (u0: %s, v0: %s, w0: %s)\n"
				                "  u0: %s = scan %s along i %s(i, j, k) x[i, j, k]\n"
				                "  v0: %s = scan %s along j %s(i, j, k) x[i, j, k] then it + %s(k)\n"
				                "  w0: %s = scan %s along k %s(i, j, k) x[i, j, k]\n",
				                y, y, y, y, y, o, d, y, o, d, n, y, o, d)),
				        &x, NULL, NULL);
			}
		}
	}
	/* By definition: nothing gives the neutral element, and a NaN stays from its position on. */
	struct tensor x = vector(TYPE_F32, 4, (double[]){ 1, 5, (double)NAN, 7 });
	struct tensor y =
	        run("program p(x: f32[4]) -> (y: f32[4])\n  y: f32[4] = scan max along i exclusive (i) x[i]\n", &x,
	            NULL, NULL);
	CHECK(isinf(tensor_float(&y, 0)) && tensor_float(&y, 0) < 0 && tensor_float(&y, 2) == 5);
	CHECK(isnan(tensor_float(&y, 3)));
	y = run("program p(x: f32[4]) -> (y: f32[4])\n  y: f32[4] = scan sum along i reverse (i) x[i]\n", &x, NULL,
	        NULL);
	CHECK(tensor_float(&y, 3) == 7 && isnan(tensor_float(&y, 2)) && isnan(tensor_float(&y, 0)));
	/* Kept in double: 2^24 + 1 + 1 is lost in f32 when each step is rounded. */
	x = vector(TYPE_F32, 3, (double[]){ 16777216, 1, 1 });
	y = run("program p(x: f32[3]) -> (y: f32[3])\n  y: f32[3] = scan sum along i (i) x[i]\n", &x, NULL, NULL);
	CHECK(tensor_float(&y, 2) == 16777218);
	struct tensor none = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 0 });
	compare(parse("program p(x: f32[3,0]) -> (a: f32[3,0], b: f32[3,0])\n"
	              "  a: f32[3,0] = scan sum along i (i, j) x[i, j]\n"
	              "  b: f32[3,0] = scan sum along j (i, j) x[i, j]\n"),
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
	y = run("program p(h: f16[4096]) -> (y: f16[])\n  y: f16[] = sum ( | r<4096) f32(h[r]) then f16(it / 2.0 + "
	        "1.0)\n",
	        &h, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2048); /* 2049 is no f16 */
	/* A tie in f32 that the double sum breaks: f16 sees the sum, not a rounded f32. */
	struct tensor z = vector(TYPE_F32, 3, (double[]){ 2048, 1, 0x1p-30 });
	y = run("program p(z: f32[3]) -> (y: f16[])\n  y: f16[] = sum ( | r<3) z[r] then f16(it)\n", &z, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2050);
}

static void products(void)
{
	struct tensor a = random_of(TYPE_F32, 2, (int64_t[]){ 37, 65 }, -8, 8),
	              b = random_of(TYPE_F32, 2, (int64_t[]){ 65, 600 }, -8, 8);
	compare(parse("program p(a: f32[37,65], b: f32[65,600]) -> (y: f32[37,600], z: f32[65,65], w0: f32[37], c: "
	              "f32[600])\n"
	              "  y: f32[37,600] = sum (i, j | r<65) a[i, r] * b[r, j] then max(it * 0.5, 0.0) + f32(i)\n"
	              "  z: f32[65,65] = sum (i, j | r<600) b[i, r] * b[j, r]\n"
	              "  w0: f32[37] = sum (i | r<65) a[i, r] * a[i, r]\n"
	              "  c: f32[600] = sum (i | r<5) f32(r) * 3.0\n"),
	        &a, &b, NULL);
	struct tensor u = random_of(TYPE_U8, 2, (int64_t[]){ 20, 300 }, 0, 255),
	              v = random_of(TYPE_I8, 2, (int64_t[]){ 300, 33 }, -128, 127);
	compare(parse("program p(u0: u8[20,300], v0: i8[300,33]) -> (y: i32[20,33], z: i64[20,33], w0: i8[20,33], h: "
	              "u64[20])\n"
	              "  y: i32[20,33] = sum (i, j | r<300) (i32(u0[i, r]) - i32(128)) * i32(v0[r, j])\n"
	              "  z: i64[20,33] = sum (i, j | r<300) i64(u0[i, r]) * i64(v0[r, j]) then it * it\n"
	              "  w0: i8[20,33] = sum (i, j | r<300) i8(u0[i, r]) * v0[r, j]\n"
	              "  h: u64[20] = sum (i | r<300) u64(u0[i, r]) * u64(v0[r, 0])\n"),
	        &u, &v, NULL);
	struct tensor x = random_of(TYPE_F32, 4, (int64_t[]){ 2, 5, 13, 19 }, -8, 8),
	              k = random_of(TYPE_F32, 4, (int64_t[]){ 6, 5, 3, 3 }, -8, 8);
	compare(parse("program conv(x: f32[2,5,13,19], k0: f32[6,5,3,3]) -> (y: f32[2,6,13,19], z: f32[2,6,6,9])\n"
	              "  y: f32[2,6,13,19] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 "
	              "< 13), and(0 <= l + t - 1, l + t - 1 < 19)), x[i, r, k + s - 1, l + t - 1], 0.0) * k0[j, r, s, "
	              "t]\n"
	              "  z: f32[2,6,6,9] = sum (i, j, k, l | r<5, s<3, t<3) x[i, r, k * 2 + s, l * 2 + t] * k0[j, r, "
	              "s, t]\n"),
	        &x, &k, NULL);
	compare(parse("program pool(x: f32[2,5,13,19]) -> (y: f32[2,5,7,10], z: i64[2,5,7,10])\n"
	              "  y: f32[2,5,7,10] = max (i, j, k, l | r<3, s<3) select(and(and(0 <= k * 2 + r - 1, k * 2 + r - "
	              "1 < 13), and(0 <= l * 2 + s - 1, l * 2 + s - 1 < 19)), x[i, j, k * 2 + r - 1, l * 2 + s - 1], "
	              "-inf)\n"
	              "  z: i64[2,5,7,10] = argmax (i, j, k, l | r<2, s<2) x[i, j, k + r, l + s]\n"),
	        &x, NULL, NULL);
}

/* ---- Scatters. */

static void scatters(void)
{
	struct tensor n = vector(TYPE_I64, 6, (double[]){ 4, 0, 4, 1, 0, 4 }),
	              u = vector(TYPE_F32, 6, (double[]){ 1, 2, 3, -4, 5, 0.5 });
	static const struct {
		const char *combine;
		double want[5];
	} f[] = { { "replace", { 5, -4, 10, 10, 0.5 } },
		  { "sum", { 17, 6, 10, 10, 14.5 } },
		  { "prod", { 100, -40, 10, 10, 15 } },
		  { "max", { 10, 10, 10, 10, 10 } },
		  { "min", { 2, -4, 10, 10, 0.5 } } };
	for (int k = 0; k < COUNT(f); k++) {
		struct tensor y =
		        run(arena_printf(arena,
		                         "program s(n0: i64[6], u0: f32[6]) -> (y: f32[5])\n"
		                         "  y: f32[5] = scatter %s (i | r<6) init 10.0 at [index(n0[r])] value u0[r]\n",
		                         f[k].combine),
		            &n, &u, NULL);
		CHECK_SAME(y, vector(TYPE_F32, 5, f[k].want), f[k].combine);
	}
	struct tensor y = run("program s(n0: i64[6], u0: f32[6]) -> (y: u8[5,2])\n"
	                      "  y: u8[5,2] = scatter sum (i, j | r<6) init u8(250) + u8(j) at [index(n0[r]), mod(r, "
	                      "2)] value u8(u0[r] + 1.0) where 0.0 < u0[r]\n",
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
	/* Many updates over two axes: the last one of an element stays. `where` skips indices outside. */
	struct tensor big = random_of(TYPE_I64, 2, (int64_t[]){ 30, 900 }, -50, 1050);
	struct tensor v = random_of(TYPE_I32, 2, (int64_t[]){ 30, 900 }, -1000, 1000),
	              out = tensor_of(TYPE_I32, 1, &(int64_t){ 1000 });
	for (int64_t k = 0; k < 1000; k++)
		tensor_set_int(&out, k, k);
	for (int64_t k = 0; k < 27000; k++)
		if (tensor_int(&big, k) >= 0 && tensor_int(&big, k) < 1000)
			tensor_set_int(&out, tensor_int(&big, k), tensor_int(&v, k));
	CHECK_SAME(run("program s(n0: i64[30,900], v0: i32[30,900]) -> (y: i32[1000])\n"
	               "  y: i32[1000] = scatter replace (i | r<30, s<900) init i32(i) at [index(n0[r, s])] value "
	               "v0[r, s] where and(i64(0) <= n0[r, s], n0[r, s] < i64(1000))\n",
	               &big, &v, NULL),
	           out, "a large scatter");
}

static void half_scatter(void)
{
	struct tensor u = vector(TYPE_F32, 3, (double[]){ 1, 1, 1 });
	/* Each step rounds: 2048 + 1 is 2048 in f16. */
	struct tensor y = run("program s(u0: f32[3]) -> (y: f16[1])\n  y: f16[1] = scatter sum (i | r<3) init "
	                      "f16(2048.0) at [0] value f16(u0[r])\n",
	                      &u, NULL, NULL);
	CHECK(tensor_float(&y, 0) == 2048);
	struct tensor n = vector(TYPE_I64, 2, (double[]){ 0, 5 });
	y = run("program s(n0: i64[2]) -> (y: u64[1])\n  y: u64[1] = scatter max (i | r<2) init u64(1) at [0] value "
	        "u64(n0[r]) - u64(1)\n",
	        &n, NULL, NULL);
	CHECK_INT(tensor_int(&y, 0), -1); /* 0 - 1 is the largest */
}

/* ---- Programs. */

static void symbols(void)
{
	struct ir_program *p =
	        parse("program p(x: f32[N,2*M], w0: f32[M,3]) -> (y: f32[N+1,M])\n"
	              "  y: f32[N+1,M] = map (i, j) select(i < N, x[min(i, N - 1), j * 2], f32(N * 100 + M))\n");
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 4, 6 }, 0, 9),
	              w = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 3 });
	struct tensor y = run3(p, &x, &w, NULL, 0);
	CHECK(y.rank == 2 && y.dim[0] == 5 && y.dim[1] == 3);
	CHECK(tensor_float(&y, 12) == 403 && tensor_float(&y, 4) == tensor_float(&x, 8));
	struct tensor bad = tensor_of(TYPE_F32, 2, (int64_t[]){ 3, 4 }),
	              odd = random_of(TYPE_F32, 2, (int64_t[]){ 4, 7 }, 0, 9);
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
	struct tensor v3 = vector(TYPE_F32, 3, (double[]){ 1, 2, 3 }),
	              v4 = vector(TYPE_F32, 4, (double[]){ 1, 2, 3, 4 });
	run3(p, &v3, &v4, NULL, ERR_MODEL);
	CHECK_STR(error.text, "Program q: extent N is 3 by axis 0 of input x, but axis 0 of input w0 says 4.");
	/* A symbol that no input has comes from the options. */
	p = ir_program_new(arena, "o");
	expr k = ir_symbol(p->pool, "K");
	ir_stage_new(p, IR_MAP, ir_buffer_new(p, "y", TYPE_I64, 1, &k, IR_OUTPUT))->value =
	        ir_cast(ir_axis(p->pool, 0, k), TYPE_I64);
	struct eval_symbol seven = { k, 7 };
	memset(&error, 0, sizeof error);
	CHECK_INT(eval_program(p, NULL, &y, &(struct eval_options){ .symbols = 1, .symbol = &seven }, arena, &error),
	          0);
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
	p = parse(
	        "program p(x: f32[2]) -> (y: f32[2])\n  const c: f32[2] = {4, 5}\n  y: f32[2] = map (i) x[i] + c[i]\n");
	vec_push(arena, &p->outputs, p->inputs.at[0]);
	vec_push(arena, &p->outputs, p->stages.at[0]->out);
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			vec_push(arena, &p->outputs, *b);
	struct tensor v = vector(TYPE_F32, 2, (double[]){ 10, 20 }), out[4];
	const struct tensor *in = &v;
	CHECK_INT(eval_program(p, &in, out, NULL, arena, &error), 0);
	CHECK(p->outputs.n == 4 && tensor_float(&out[0], 1) == 25 && tensor_float(&out[2], 0) == 14);
	CHECK(tensor_float(&out[1], 1) == 20 && out[1].data != v.data && tensor_float(&out[3], 0) == 4);
}

/* ---- Sorts. */

static void sorts(void)
{
	static const struct {
		int rows, n, inner, k;
	} shape[] = { { 3, 40, 2, 40 }, { 1, 1, 1, 1 }, { 4, 33, 1, 5 }, { 2, 60, 1, 3 },
		      { 5, 2, 3, 1 },   { 0, 4, 1, 2 }, { 2, 3, 1, 0 } };
	static const enum type types[] = { TYPE_F32, TYPE_F64, TYPE_I8,  TYPE_U8,  TYPE_I16, TYPE_U16,
		                           TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64, TYPE_BOOL };
	for (int s = 0; s < COUNT(shape); s++) {
		int a = shape[s].rows, n = shape[s].n, b = shape[s].inner, k = shape[s].k;
		for (int t = 0; t < COUNT(types); t++) {
			struct tensor x = random_of(types[t], 3, (int64_t[]){ a, n, b },
			                            type_is_signed(types[t]) ? -9 : 0, types[t] == TYPE_BOOL ? 1 : 20);
			static const double special[] = { (double)NAN, -0.0, (double)INFINITY, -(double)INFINITY };
			bool real = type_is_float(types[t]), wide = !real && type_info(types[t])->bits == 64;
			for (int64_t i = 0; i < tensor_count(&x); i++)
				if (real && i % 7 < 4)
					tensor_set_float(&x, i, special[i % 7]);
				else if (wide && i % 5 == 0)
					tensor_set_int(&x, i, i % 2 ? INT64_MIN + i % 3 : INT64_MAX - i % 3);
			const char *name = type_name(types[t]);
			compare(parse(arena_printf(
			                arena,
			                "program p(x: %s[%d,%d,%d]) -> (u0: i64[%d,%d,%d], v0: i32[%d,%d,%d], w0: "
			                "i64[%d])\n"
			                "  u0: i64[%d,%d,%d] = sort along j (i, j, k | r<%d) x[i, r, k]\n"
			                "  v0: i32[%d,%d,%d] = sort descending along k (i, j, k | r<%d) x[i, r, j]\n"
			                "  w0: i64[%d] = sort descending along i (i | r<%d) x[%d, r, 0]\n",
			                name, a, n, b, a, k, b, a, b, k, a ? k : 0, a, k, b, n, a, b, k, n, a ? k : 0,
			                a ? n : 0, a ? a - 1 : 0)),
			        &x, NULL, NULL);
		}
	}
}

/* Large: stable, whatever the number of threads, and the first k are the first of all. */
static void large_sorts(void)
{
	struct ir_program *p = parse("program p(x: f32[3,20000]) -> (y: i64[3,20000], z: i64[3,100])\n"
	                             "  y: i64[3,20000] = sort descending along j (i, j | r<20000) x[i, r]\n"
	                             "  z: i64[3,100] = sort descending along j (i, j | r<20000) x[i, r]\n");
	struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 3, 20000 }, -50, 50), out[2];
	const struct tensor *in = &x;
	for (int threads = 1; threads < 4; threads++) {
		CHECK_INT(eval_program(p, &in, out, &(struct eval_options){ .threads = threads }, arena, &error), 0);
		int64_t wrong = 0;
		for (int64_t i = 0; i < 60000; i++) {
			int64_t at = tensor_int(&out[0], i), row = i / 20000 * 20000;
			if (i > row) {
				int64_t last = tensor_int(&out[0], i - 1);
				double v = tensor_float(&x, row + last), w = tensor_float(&x, row + at);
				wrong += v < w || (v == w && at <= last);
			}
			wrong += i % 20000 < 100 && tensor_int(&out[1], i / 20000 * 100 + i % 20000) != at;
		}
		CHECK_INT(wrong, 0);
	}
}

/* Asking for more elements than a row has is an error, as on a GPU: also if there is no row. */
static void sorts_too_long(void)
{
	struct ir_program *p = parse("program p(x: f32[A,B], d: u8[M]) -> (y: i64[M,B])\n"
	                             "  y: i64[M,B] = sort along i (i, j | r<A) x[r, j]\n");
	for (int64_t rows = 0; rows < 3; rows++) {
		for (int64_t most = 4; most < 7; most++) {
			struct tensor x = random_of(TYPE_F32, 2, (int64_t[]){ 5, rows }, 0, 9);
			struct tensor n = random_of(TYPE_U8, 1, &most, 0, 9), y;
			const struct tensor *in[] = { &x, &n };
			CHECK_INT(eval_program(p, in, &y, NULL, arena, &error), most > 5 ? ERR_MODEL : 0);
			CHECK(most <= 5 || strstr(error.text, "the first 6 of 5 elements are asked for"));
			memset(&error, 0, sizeof error);
		}
	}
}

/* Values in any order: rows end early, late or never; chunks of lanes and single elements; axes on both sides. */
static void picks(void)
{
	static const struct {
		int rows, n, inner, m;
	} shape[] = { { 3, 40, 2, 40 }, { 1, 1, 1, 3 }, { 2, 33, 1, 5 }, { 1, 700, 1, 60 },
		      { 2, 0, 2, 2 },   { 0, 4, 1, 2 }, { 2, 3, 1, 0 } };
	for (int s = 0; s < COUNT(shape); s++)
		for (int ends = 0; ends < 2; ends++) {
			int a = shape[s].rows, n = shape[s].n, b = shape[s].inner, m = shape[s].m;
			const char *some = ends ? " where x[i, r, k] < i32(90)" : "";
			struct tensor x = random_of(TYPE_I32, 3, (int64_t[]){ a, n, b }, 0, 97);
			compare(parse(arena_printf(
			                arena,
			                "program p(x: i32[%d,%d,%d]) -> (u0: i64[%d,%d,%d], v0: i32[%d])\n"
			                "  u0: i64[%d,%d,%d] = pick along j (i, j, k | r<%d, s<%d) "
			                "abs(x[i, r, k] - x[i, s, k]) < i32(3)%s\n"
			                "  v0: i32[%d] = pick along i (i | r<%d, s<%d) mod(r, 7) == mod(s, 7) "
			                "where r < %d\n",
			                a, n, b, a, m, b, m, a, m, b, n, n, some, m, n, n, n - 2 * ends)),
			        &x, NULL, NULL);
		}
}

static void memory(void)
{
	struct tensor x = random_of(TYPE_F32, 1, (int64_t[]){ 100000 }, 0, 9), y;
	struct ir_program *p =
	        parse("program p(x: f32[100000]) -> (y: f32[100000])\n"
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
	static void (*const test[])(void) = { reductions,   nan_reductions, scans,    accumulation, products,
		                              scatters,     sorts,          picks,    large_sorts,  sorts_too_long,
		                              half_scatter, symbols,        programs, memory };
	return run_tests(COUNT(test), test);
}
