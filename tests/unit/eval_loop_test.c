/* The interpreter's loops: states, collected outputs, conditions, nested loops; compared with C code. */
#include "tests/unit/eval_run.h"

static void recurrence(void)
{
	double x[7] = { 1, 2, -3, 4, 0.5, 8, -1 }, h[2] = { 10, -10 };
	struct tensor in = vector(TYPE_F32, 7, x);
	struct tensor y = run("program p(x: f32[7]) -> (y: f32[7,2], last: f32[2])\n"
	                      "  loop t0<7 {\n"
	                      "    carry h: f32[2] (i) select(i == 0, 10.0, -10.0)\n"
	                      "    g: f32[2] = map (i) h[i] * 0.5 + x[t0]\n"
	                      "    next h = g\n"
	                      "    collect y: f32[7,2] at t0 = g\n"
	                      "  }\n"
	                      "  last: f32[2] = map (i) h[i]\n",
	                      &in, NULL, NULL);
	for (int t = 0; t < 7; t++)
		for (int i = 0; i < 2; i++) {
			h[i] = h[i] * 0.5 + x[t];
			CHECK(tensor_float(&y, t * 2 + i) == h[i]);
		}
}

/* Collecting in reverse, and a condition that ends the loop: the states keep their last values. */
static void conditions(void)
{
	struct tensor in = vector(TYPE_F32, 1, (double[]){ 3 });
	const struct tensor *inputs[] = { &in };
	struct tensor out[3];
	struct ir_program *p = parse("program p(x: f32[1]) -> (h2: f32[], n2: i64[], y: f32[9])\n"
	                             "  loop t0<9 while h[] < 50.0 {\n"
	                             "    carry h: f32[] () x[0]\n"
	                             "    carry count: i64[] () i64(0)\n"
	                             "    g: f32[] = map () h[] * 2.0\n"
	                             "    more: i64[] = map () count[] + i64(1)\n"
	                             "    next h = g\n"
	                             "    next count = more\n"
	                             "    collect y: f32[9] at 8 - t0 = g\n"
	                             "  }\n"
	                             "  h2: f32[] = map () h[]\n"
	                             "  n2: i64[] = map () count[]\n");
	CHECK_INT(eval_program(p, inputs, out, NULL, arena, &error), 0);
	CHECK(tensor_float(&out[0], 0) == 96);
	CHECK_INT(tensor_int(&out[1], 0), 5);
	CHECK(tensor_float(&out[2], 8) == 6 && tensor_float(&out[2], 4) == 96);
	in = vector(TYPE_F32, 1, (double[]){ 60 });
	CHECK_INT(eval_program(p, inputs, out, NULL, arena, &error), 0);
	CHECK(tensor_float(&out[0], 0) == 60 && tensor_int(&out[1], 0) == 0);
}

/* All states change at once, also if one becomes another, or an earlier buffer. */
static void exchange(void)
{
	struct tensor in = vector(TYPE_F32, 3, (double[]){ 1, 2, 3 });
	for (int turns = 0; turns < 4; turns++) {
		char text[700];
		snprintf(text, sizeof text,
		         "program p(x: f32[3]) -> (y: f32[3,3])\n"
		         "  loop t0<%d {\n"
		         "    carry a: f32[3] (i) x[i] * 10.0\n"
		         "    carry b: f32[3] (i) x[i] * 100.0\n"
		         "    carry c: f32[3] (i) 0.0\n"
		         "    next a = b\n"
		         "    next b = a\n"
		         "    next c = x\n"
		         "  }\n"
		         "  y: f32[3,3] = map (i, j) select(i == 0, a[j], select(i == 1, b[j], c[j]))\n",
		         turns);
		struct tensor y = run(text, &in, NULL, NULL);
		for (int i = 0; i < 3; i++) {
			CHECK(tensor_float(&y, i) == (i + 1) * (turns % 2 ? 100 : 10));
			CHECK(tensor_float(&y, 3 + i) == (i + 1) * (turns % 2 ? 10 : 100));
			CHECK(tensor_float(&y, 6 + i) == (turns ? i + 1 : 0));
		}
	}
}

/* y[t] = sum over s of (t + 1) * x[s], one addition per iteration; the inner loop restarts in each iteration of the
 * outer one. */
static void nested(void)
{
	double x[4] = { 1, 2, 3, 5 };
	struct tensor in = vector(TYPE_F16, 4, x);
	struct tensor y = run("program p(x: f16[4]) -> (y: f32[3], z: f32[3,4])\n"
	                      "  loop t0<3 {\n"
	                      "    carry whole: f32[] () 0.0\n"
	                      "    loop t1<4 {\n"
	                      "      carry total: f32[] () 0.0\n"
	                      "      more: f32[] = map () total[] + f32(x[t1]) * f32(t0 + 1)\n"
	                      "      next total = more\n"
	                      "      collect rows: f32[4] at t1 = more\n"
	                      "    }\n"
	                      "    next whole = total\n"
	                      "    collect y: f32[3] at t0 = total\n"
	                      "    collect z: f32[3,4] at t0 = rows\n"
	                      "  }\n",
	                      &in, NULL, NULL);
	for (int t = 0; t < 3; t++)
		CHECK(tensor_float(&y, t) == 11 * (t + 1));
}

/* Every kind of stage in a body, of types that loads decode, against the same body written three times. */
static void kinds(void)
{
	const char *body = "    S: f32[6] = sum (i | r<6) f32(H[r]) * x[i, r] then it / 8.0\n"
	                   "    M: i64[] = argmax ( | r<6) S[r]\n"
	                   "    U: f32[6] = scan sum along i (i) S[i]\n"
	                   "    V: f16[6] = scatter replace (i | r<6) init f16(U[i]) at [r] value f16(-1.0) where "
	                   "index(M[]) == r\n"
	                   "    W: f16[6] = map (i) f16(f32(V[i]) + f32(H[i]))\n";
	struct str loop = str_new(arena), flat = str_new(arena);
	struct tensor in = random_of(TYPE_F32, 2, (int64_t[]){ 6, 6 }, -3, 3);
	str_printf(&loop,
	           "program p(x: f32[6,6]) -> (y: f16[6])\n  loop turn<3 {\n    carry H: f16[6] (i) f16(f32(i))\n%s"
	           "    next H = W\n  }\n  y: f16[6] = map (i) H[i]\n",
	           body);
	str_add(&flat, "program p(x: f32[6,6]) -> (y: f16[6])\n  H0: f16[6] = map (i) f16(f32(i))\n");
	for (int t = 0; t < 3; t++)
		for (const char *c = body; *c; c++) /* every iteration has its own names; W is the next H */
			if (strchr("HSMUVW", *c))
				str_printf(&flat, "%c%d", *c == 'W' ? 'H' : *c, *c == 'W' ? t + 1 : t);
			else
				str_addn(&flat, c, 1);
	str_add(&flat, "  y: f16[6] = map (i) H3[i]\n");
	CHECK_SAME(run(str_text(&loop), &in, NULL, NULL), run(str_text(&flat), &in, NULL, NULL), str_text(&loop));
}

/* Many iterations are cheap. */
static void many(void)
{
	struct tensor in = random_of(TYPE_F32, 2, (int64_t[]){ 64, 64 }, -1, 1);
	struct tensor y = run("program p(x: f32[64,64]) -> (y: f32[64])\n"
	                      "  loop t0<20000 {\n"
	                      "    carry h: f32[64] (i) 1.0\n"
	                      "    g: f32[64] = map (i) h[63 - i] + x[mod(t0, 64), i]\n"
	                      "    next h = g\n"
	                      "  }\n"
	                      "  y: f32[64] = map (i) h[i]\n",
	                      &in, NULL, NULL);
	double h[64], g[64];
	for (int i = 0; i < 64; i++)
		h[i] = 1;
	for (int t = 0; t < 20000; t++) {
		for (int i = 0; i < 64; i++)
			g[i] = h[63 - i] + tensor_float(&in, t % 64 * 64 + i);
		memcpy(h, g, sizeof h);
	}
	for (int i = 0; i < 64; i++)
		CHECK(tensor_float(&y, i) == h[i]);
}

static void faults(void)
{
	struct tensor in = vector(TYPE_F32, 3, (double[]){ 1, 2, 3 });
	run3(parse("program p(x: f32[3]) -> (y: f32[2])\n"
	           "  loop t0<3 {\n    g: f32[] = map () x[t0]\n    collect y: f32[2] at t0 = g\n  }\n"),
	     &in, NULL, NULL, ERR_DIFFER);
	CHECK(strstr(error.text, "collects at 2 of y") != NULL);
	run3(parse("program p(x: f32[3]) -> (y: f32[4])\n"
	           "  loop t0<4 {\n    g: f32[] = map () x[t0]\n    collect y: f32[4] at t0 = g\n  }\n"),
	     &in, NULL, NULL, ERR_DIFFER);
	CHECK(strstr(error.text, "stage g: reads x[3]") != NULL);
}

int main(void)
{
	static void (*const test[])(void) = { recurrence, conditions, exchange, nested, kinds, many, faults };
	return run_tests(COUNT(test), test);
}
