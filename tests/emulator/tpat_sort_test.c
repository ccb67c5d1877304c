/* Parts of tpat_sort.h against plain loops. On the emulator; with a device's name (tpat_sort_test cuda) on that
 * device. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emulator_calls.h"
#include "tensor/type.h"

/* ---- Keys order as values do. */

static void check_keys(int k, enum type t, const double *value, int n)
{
	char x[64 * 8];
	int up[64], down[64];
	int size = type_info(t)->bits / 8;
	for (int i = 0; i < n; i++)
		if (type_is_float(t))
			type_store_float(t, x, i, value[i], false);
		else
			type_store_int(t, x, i, value[i] < 0x1p63 ? (int64_t)value[i] : t == TYPE_U64 ? -1 : INT64_MAX);
	for (int d = 0; d < 2; d++) {
		struct buffer b[] = { { "x", x, (size_t)(n * size), false, false },
			              { "y", d ? down : up, (size_t)(n - 1) * sizeof(int), true, false } };
		call(k, d ? "down" : "up", 1, 32, b, 2, n);
	}
	int total[64];
	struct buffer b[] = { { "x", x, (size_t)(n * size), false, false },
		              { "y", total, (size_t)n * sizeof(int), true, false } };
	call(k, "total", 1, 32, b, 2, n);
	for (int i = 0; i < n; i++)
		if (!test_check(total[i] == 1, __FILE__, __LINE__, "keys that values are made of again"))
			printf("  %s: %g\n", type_name(t), value[i]);
	for (int i = 0; i + 1 < n; i++) {
		bool same = value[i] == value[i + 1] || (isnan(value[i]) && isnan(value[i + 1]));
		if (!test_check(up[i] == (same ? 1 : 2) && down[i] == (same ? 1 : 0), __FILE__, __LINE__,
		                "keys in order"))
			printf("  %s: %g, %g: up %d, down %d\n", type_name(t), value[i], value[i + 1], up[i], down[i]);
	}
}

static void test_keys(void)
{
	static const char *const names[] = { "float", "double", "f16", "bf16", "i8",  "u8", "i16",
		                             "u16",   "i32",    "u32", "i64",  "u64", NULL };
	static const enum type types[] = { TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_I8,  TYPE_U8,
		                           TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32,  TYPE_I64, TYPE_U64 };
	/* Ascending, equal values next to each other. */
	static const double floats[] = {
		-(double)INFINITY, -60000, -2,  -1.5, -0x1p-14, -0x1p-24,         -0.0,        0,           0x1p-24,
		0x1p-14,           1,      1.5, 2,    60000,    (double)INFINITY, (double)NAN, -(double)NAN
	};
	open_kernels("sort_type.cu", names);
	for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
		enum type t = types[k];
		if (type_is_float(t)) {
			check_keys((int)k, t, floats, sizeof floats / sizeof *floats);
			continue;
		}
		double top = t == TYPE_U64 ? 0x1p64 : (double)type_max(t), low = (double)type_min(t);
		double ints[] = { low, low + (low < 0) * fabs(low) / 2, 0, 0, 1, 2, 100, 120, top };
		check_keys((int)k, t, ints, sizeof ints / sizeof *ints);
	}
	close_kernels();
}

/* ---- Rows in shared memory, of every length. */

static void test_rows(void)
{
	static const int lengths[] = { 1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 100, 127, 129, 255, 256 };
	for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
		int n = lengths[l];
		uint64_t x[1024], y[1024], state = 1;
		for (int i = 0; i < 4 * n; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			x[i] = state >> 40 << (i % 7 ? 0 : 30);
		}
		struct buffer b[] = { { "x", x, (size_t)n * 32, false, false },
			              { "y", y, (size_t)n * 32, true, false } };
		call(0, "rows", 1, 96, b, 2, n);
		uint64_t sum = 0;
		bool sorted = true;
		for (int i = 0; i < 4 * n; i++) {
			sum += x[i] * x[i] - y[i] * y[i]; /* the same numbers */
			sorted &= i % n == 0 || y[i - 1] <= y[i];
		}
		CHECK(sorted && sum == 0);
	}
}

/* ---- What earlier tiles publish: `all` selects the groups whose last tile already has the row's inclusive sum. */

static void check_before(int tile, unsigned all)
{
	enum { TILES = 600, GROUP = 16, SUM_BITS = 24, DIGITS = 256 };
	static uint32_t progress[TILES * DIGITS], group[TILES / GROUP * DIGITS + DIGITS];
	int y[DIGITS];
	for (int digit = 0; digit < DIGITS; digit++) {
		uint32_t sum = 0, in_group = 0;
		for (int t = 0; t < tile; t++) {
			uint32_t own = (uint32_t)(t * 7 + digit) % 4;
			sum += own;
			in_group = (t % GROUP ? in_group : 0) + own;
			bool said = t % GROUP == GROUP - 1 && (all >> (t / GROUP + digit) % 29 & 1);
			progress[t * DIGITS + digit] = said ? 0x80000000u | sum : 1 + own;
			group[t / GROUP * DIGITS + digit] = (uint32_t)(t % GROUP + 1) << SUM_BITS | in_group;
		}
	}
	size_t groups = (size_t)(tile + GROUP) / GROUP;
	struct buffer b[] = { { "progress", progress, (size_t)(tile ? tile : 1) * sizeof(uint32_t) * DIGITS, false,
		                false },
		              { "group", group, groups * sizeof(uint32_t) * DIGITS, false, false },
		              { "y", y, sizeof y, true, false } };
	call(0, "before", 1, DIGITS, b, 3, tile);
	int wrong = 0;
	for (int digit = 0; digit < DIGITS; digit++) {
		int want = 0;
		for (int t = 0; t < tile; t++)
			want += (t * 7 + digit) % 4;
		wrong += y[digit] != want;
	}
	CHECK_INT(wrong, 0);
}

static void test_before(void)
{
	static const int tiles[] = { 0, 1, 2, 15, 16, 17, 31, 255, 256, 257, 288, 520, 599 };
	for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
		check_before(tiles[i], 0);
		check_before(tiles[i], 0x10080211);
		check_before(tiles[i], ~0u);
	}
}

int main(int argc, char **argv)
{
	begin_calls(argc, argv);
	test_keys();
	open_kernels("sort.cu", NULL);
	test_rows();
	test_before();
	close_kernels();
	return end_calls();
}
