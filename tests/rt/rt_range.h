/* Part of rt_test.c: the runtime's arithmetic on random expressions. For extents within a range every value is within
 * its computed range. */
#include "../../rt/core/rt_expr.c"

enum { RANGE_NODES = 24, RANGE_INPUTS = 2 };

static void random_table(struct tpat_rt_expr *e)
{
	for (int i = 0; i < RANGE_NODES; i++) {
		e[i] = (struct tpat_rt_expr){ 0 };
		if (i < 4) {
			e[i].op = TPAT_RT_DIM;
			e[i].a = i / 2;
			e[i].b = i % 2;
		} else if (i < 8) {
			e[i].op = TPAT_RT_CONST;
			e[i].value = random_in(0, 9) ? random_in(-4, 20) : INT64_C(1) << random_in(20, 62);
		} else {
			e[i].op = random_in(TPAT_RT_ADD, TPAT_RT_SIZE);
			e[i].a = e[i].op == TPAT_RT_SIZE ? 0 : random_in(0, i - 1);
			e[i].b = e[i].op == TPAT_RT_NOT ? -1 : random_in(0, i - 1);
			e[i].c = e[i].op < TPAT_RT_SELECT ? -1 : random_in(0, i - 1);
		}
	}
}

static void test_range(void)
{
	static const int32_t dims[] = { 0, 1, 2, 3 };
	struct tpat_rt_expr e[RANGE_NODES];
	struct tpat_rt_tensor in[RANGE_INPUTS] = { { .name = "x", .type = 1, .rank = 2, .dim = dims },
		                                   { .name = "y", .type = 1, .rank = 2, .dim = dims + 2 } };
	struct tpat_rt_plugin p = { .name = "p", .input = in, .inputs = RANGE_INPUTS, .expr = e, .exprs = RANGE_NODES };
	int64_t low_extent[16], high_extent[16], extent[16], low[RANGE_NODES], high[RANGE_NODES], value[RANGE_NODES];
	long outside = 0, known = 0, lost = 0, disordered = 0;

	for (int t = 0; t < 4000; t++) {
		random_table(e);
		for (int i = 0; i < 16; i++) {
			low_extent[i] = random_in(0, 12);
			high_extent[i] = low_extent[i] + random_in(0, 6);
		}
		rt_range(&p, low_extent, high_extent, low, high);
		for (int s = 0; s < 8; s++) {
			for (int i = 0; i < 16; i++)
				extent[i] = random_in((int)low_extent[i], (int)high_extent[i]);
			rt_evaluate(&p, extent, value);
			for (int i = 0; i < RANGE_NODES; i++) {
				if (low[i] == RT_NONE || high[i] == RT_NONE)
					continue;
				known++;
				disordered += low[i] > high[i];
				lost += value[i] == RT_NONE;
				outside += value[i] != RT_NONE && (value[i] < low[i] || value[i] > high[i]);
			}
		}
	}
	CHECK_INT(outside, 0);
	CHECK_INT(disordered, 0);
	CHECK_INT(lost, 0);
	CHECK(known > 300000);
}
