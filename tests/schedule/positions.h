/* The choice of kernel: 64-bit positions if they, or an intermediate value, exceed 32 bits. */
#ifndef TPAT_TESTS_POSITIONS_H
#define TPAT_TESTS_POSITIONS_H

#include "ir/launch.h"
#include "tests/schedule/schedule_job.h"
#include "tests/schedule/shapes.h"

static void positions(void)
{
	static const struct {
		const char *program, *shapes;
		bool wide;
	} cases[] = {
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[i]\n", "N=2100000000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[i]\n", "N=2147483647", true },
		{ "(x: u8[N,K]) -> (y: u8[N,K])\n  y: u8[N,K] = map (i, j) x[i, j]\n", "N=65536 K=65536", true },
		{ "(x: u8[N], q: u8[K]) -> (y: u8[K])\n  y: u8[K] = map (i) x[floordiv(i * N, K)]\n", "N=40000 K=40000",
		  false },
		{ "(x: u8[N], q: u8[K]) -> (y: u8[K])\n  y: u8[K] = map (i) x[floordiv(i * N, K)]\n", "N=60000 K=60000",
		  true },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[floordiv(i * 5000, 5001)]\n", "N=400000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[floordiv(i * 5000, 5001)]\n", "N=500000", true },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[mod(N - i * 7000, N)]\n", "N=300000", false },
		{ "(x: u8[N]) -> (y: u8[N])\n  y: u8[N] = map (i) x[mod(N - i * 7000, N)]\n", "N=400000", true },
		{ "(x: u8[N], q: i32[K]) -> (y: i32[N])\n"
		  "  y: i32[N] = sum (i | r<K) q[r] + i32(i * K)\n",
		  "N=60000 K=60000", true },
		{ "(x: u8[N], q: i32[K]) -> (y: i32[N])\n  y: i32[N] = sum (i | r<K) q[r]\n", "N=60000 K=60000",
		  false },
		{ "(x: u8[N], d: u8[K]) -> (y: u8[N])\n"
		  "  y: u8[N] = scatter sum (i | r<K, s<5) init x[i] at [mod(r, N)] value d[r]\n",
		  "N=6 K=500000000", true },
		{ "(x: u8[70000,70000]) -> (y: u8[70000])\n  y: u8[70000] = map (i) x[i, 3]\n", "", true },
		{ "(x: u8[N]) -> (y: u8[N])\n" /* floats are not in guards */
		  "  y: u8[N] = map (i) x[min(i + index(floor(f32(N) * 0.5)), N - 1)]\n",
		  "N=70000", false },
		{ "(x: u8[7000,7000]) -> (y: u8[7000])\n  y: u8[7000] = map (i) x[i, 3]\n", "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_new();
		struct shapes s;
		struct ir_program *p = parse(a, "positions", cases[i].program);
		const struct ir_kernel *last = NULL;
		read_shapes(&s, cases[i].shapes, a);
		if (p) {
			const struct ir_plan *plan = sched_program(p, NULL, NULL);
			const struct ir_launcher launcher = { .program = p, .symbol = symbol_value, .user = &s };
			struct err e = { 0 };
			CHECK(ir_launch_choose(&last, &launcher, plan->steps.at[plan->steps.n - 1], &e) == 0);
			if (!test_check(last && last->index64 == cases[i].wide, __FILE__, __LINE__,
			                "width of positions"))
				printf("  %s %s\n", cases[i].shapes, cases[i].program);
		}
		arena_free(a);
	}
}

#endif
