/* The interpreter's compactions, and sizes that are known only when the program runs. */
#include "tests/unit/eval_run.h"

/* Runs the program on x alone; its outputs. */
static int run_all(const struct ir_program *p, const struct tensor *x, struct tensor *out)
{
	memset(&error, 0, sizeof error);
	return eval_program(p, &x, out, NULL, arena, &error);
}

static const char nonzero[] =
        "program p(x: f32[N,7]) -> (y: i64[2,K], z: f32[K])\n"
        "  size K = found <= N * 7\n"
        "  spot: i64[K] = compact found (| r<N, s<7) i64(r * 7 + s) where x[r, s] < 0.0\n"
        "  y: i64[2,K] = map (i, j) select(i < 1, floordiv(spot[j], i64(7)), mod(spot[j], i64(7)))\n"
        "  z: f32[K] = map (i) x[floordiv(index(spot[i]), 7), mod(index(spot[i]), 7)]\n";

static void found(void)
{
	const struct ir_program *p = parse(nonzero);
	for (int rows = 0; rows < 400; rows += 133)
		for (int kind = 0; kind < 3; kind++) { /* none, all, some */
			struct tensor x =
			        random_of(TYPE_F32, 2, (int64_t[]){ rows, 7 }, kind == 0 ? 0 : -3, kind == 1 ? -1 : 3);
			struct tensor out[2];
			int64_t n = 0, all = tensor_count(&x);
			CHECK_INT(run_all(p, &x, out), 0);
			for (int64_t i = 0; i < all; i++) {
				if (tensor_float(&x, i) >= 0)
					continue;
				CHECK(n < out[1].dim[0] && tensor_float(&out[1], n) == tensor_float(&x, i));
				CHECK(tensor_int(&out[0], n) == i / 7 &&
				      tensor_int(&out[0], out[0].dim[1] + n) == i % 7);
				n++;
			}
			CHECK(out[0].rank == 2 && out[0].dim[0] == 2 && out[0].dim[1] == n && out[1].dim[0] == n);
			CHECK(kind != 1 || n == all);
		}
}

/* The value is read only where the condition holds. */
static void guarded(void)
{
	const struct ir_program *p = parse("program p(x: i32[N]) -> (y: i32[K], found: i64[])\n"
	                                   "  size K = found <= N\n"
	                                   "  y: i32[K] = compact found (| r<N) x[r * 2] where r * 2 < N\n");
	struct tensor x = random_of(TYPE_I32, 1, (int64_t[]){ 2001 }, -9, 9), out[2];
	CHECK_INT(run_all(p, &x, out), 0);
	CHECK(out[0].dim[0] == 1001 && tensor_int(&out[1], 0) == 1001);
	for (int i = 0; i < 1001; i++)
		CHECK(tensor_int(&out[0], i) == tensor_int(&x, 2 * i));
}

/* Chained compactions; sums over found elements; the same output twice. */
static void chained(void)
{
	struct ir_program *p = parse("program p(x: f32[N]) -> (y: f32[L], z: f64[])\n"
	                             "  size K = found <= N\n  size L = more <= N\n"
	                             "  a: f32[K] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
	                             "  y: f32[L] = compact more (| r<K) a[r] * 2.0 where a[r] < 3.0\n"
	                             "  z: f64[] = sum (| r<K) f64(a[r])\n");
	struct tensor x = vector(TYPE_F32, 7, (double[]){ 1, -1, 5, 2, 0, 9, 2.5 }), out[3];
	vec_push(arena, &p->outputs, p->outputs.at[0]);
	CHECK_INT(run_all(p, &x, out), 0);
	CHECK_SAME(out[0], vector(TYPE_F32, 3, (double[]){ 2, 4, 5 }), "two compactions");
	CHECK(out[2].data == out[0].data && tensor_float(&out[1], 0) == 19.5);
}

/* Any scalar may be a size; its value must be possible. */
static void any_stage(void)
{
	const struct ir_program *p = parse("program p(x: i64[N]) -> (y: i64[K * 2])\n"
	                                   "  size K = found <= N\n"
	                                   "  found: i64[] = sum (| r<N) x[r]\n"
	                                   "  y: i64[K * 2] = map (i) i64(i) + x[0]\n");
	struct tensor x = vector(TYPE_I64, 4, (double[]){ 1, 0, 2, 0 }), out[1];
	CHECK_INT(run_all(p, &x, out), 0);
	CHECK(out[0].dim[0] == 6 && tensor_int(&out[0], 5) == 6);
	tensor_set_int(&x, 3, 9);
	CHECK_INT(run_all(p, &x, out), ERR_MODEL);
	CHECK_STR(error.text, "Program p: the size K is 12, but it can be 0 to 4.");
	tensor_set_int(&x, 3, -9);
	CHECK_INT(run_all(p, &x, out), ERR_MODEL);
}

/* Arbitrary positions, divided by an extent of 1. */
static void by_one(void)
{
	const struct ir_program *p =
	        parse("program p(x: i8[N,C]) -> (y: i64[K])\n"
	              "  size K = found <= N * C\n"
	              "  z: i64[K] = compact found (| r<N, s<C) i64(r * C + s) where i32(0) < i32(x[r, s])\n"
	              "  y: i64[K] = map (i) i64(floordiv(index(z[i]), C))\n");
	struct tensor x = random_of(TYPE_I8, 2, (int64_t[]){ 3, 1 }, 1, 9), out;
	CHECK_INT(run_all(p, &x, &out), 0);
	CHECK_SAME(out, vector(TYPE_I64, 3, (double[]){ 0, 1, 2 }), "rows");
}

int main(void)
{
	static void (*const test[])(void) = { found, guarded, chained, any_stage, by_one };
	return run_tests(COUNT(test), test);
}
