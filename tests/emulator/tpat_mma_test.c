/* Parts of tpat_mma.h against plain loops. On the emulator; with a device's name (tpat_mma_test cuda) on that
 * device. */
#include <math.h>

#include "emulator_calls.h"
#include "tensor/type.h"

static uint32_t random_bits(void)
{
	static uint32_t x = 2463534242u;
	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

/* ---- Products through shared memory. Whole numbers: sums are exact in any order. ---- */

enum { M = 32, N = 48, K = 64 };

static void check_product(int text_number, enum type t, int turned)
{
	static uint8_t a[2 * M * K], b[2 * 64 * K];
	static double x[M][K], y[K][N];
	static float sums[M * N];
	bool bytes = type_info(t)->bits == 8;
	int wrong = 0, b_row = turned & 2 || bytes ? K : 64; /* straight rows of b have 64 elements, 48 of them used */
	memset(b, 0, sizeof b);
	for (int m = 0; m < M; m++)
		for (int k = 0; k < K; k++) {
			int v = (int)(random_bits() % (bytes ? 256 : 17)) - (t == TYPE_U8 ? 0 : bytes ? 128 : 8);
			x[m][k] = v;
			type_store_float(t, a, turned & 1 ? k * M + m : m * K + k, v, false);
		}
	for (int k = 0; k < K; k++)
		for (int n = 0; n < N; n++) {
			int v = (int)(random_bits() % (bytes ? 256 : 17)) - (t == TYPE_U8 ? 0 : bytes ? 128 : 8);
			y[k][n] = v;
			type_store_float(t, b, b_row == K && (turned & 2 || bytes) ? n * K + k : k * 64 + n, v, false);
		}
	size_t each = bytes ? 1 : 2;
	struct buffer buffers[] = { { "a", a, each * M * K, false, false },
		                    { "b", b, each * 64 * K, false, false },
		                    { "y", sums, sizeof sums, true, false } };
	call(text_number, "product_stored", 1, 32, buffers, 3, turned);
	for (int m = 0; m < M; m++)
		for (int n = 0; n < N; n++) {
			double want = 0, got;
			int32_t whole;
			for (int k = 0; k < K; k++)
				want += x[m][k] * y[k][n];
			memcpy(&whole, &sums[m * N + n], sizeof whole);
			got = bytes ? whole : (double)sums[m * N + n];
			if (got != want && wrong++ == 0)
				printf("%s, turned %d: y[%d][%d] is %g, not %g\n", type_name(t), turned, m, n, got,
				       want);
		}
	CHECK_INT(wrong, 0);
}

static void test_products(void)
{
	static const char *const types[] = { "f16", "bf16", "i8", "u8", NULL };
	open_kernels("mma_type.cu", types);
	for (int turned = 0; turned < 4; turned++) {
		check_product(0, TYPE_F16, turned);
		check_product(1, TYPE_BF16, turned);
	}
	check_product(2, TYPE_I8, 0);
	check_product(3, TYPE_U8, 0);
	close_kernels();
}

/* ---- Fragments as in the manual: a[m][k] of m16n8k32 is in lane 4 * (m % 8) + k % 16 / 4, byte 4 * (m / 8 + 2 * (k /
 * 16)) + k % 4; b[k][n] in lane 4 * n + k % 16 / 4, byte 4 * (k / 16) + k % 4. ---- */

static void test_bytes(void)
{
	static uint8_t a[32 * 16], b[32 * 8];
	static int32_t y[4 * 128];
	int wrong = 0;
	for (size_t i = 0; i < sizeof a; i++)
		a[i] = (uint8_t)random_bits();
	for (size_t i = 0; i < sizeof b; i++)
		b[i] = (uint8_t)random_bits();
	struct buffer buffers[] = { { "a", a, sizeof a, false, false },
		                    { "b", b, sizeof b, false, false },
		                    { "y", y, sizeof y, true, false } };
	call(0, "mixed_bytes", 1, 32, buffers, 3, 0);
	for (int kind = 0; kind < 4; kind++)
		for (int m = 0; m < 16; m++)
			for (int n = 0; n < 8; n++) {
				int32_t want = 0;
				for (int k = 0; k < 32; k++) {
					uint8_t p =
					        a[16 * (4 * (m % 8) + k % 16 / 4) + 4 * (m / 8 + 2 * (k / 16)) + k % 4];
					uint8_t q = b[8 * (4 * n + k % 16 / 4) + 4 * (k / 16) + k % 4];
					want += (kind & 1 ? (int8_t)p : p) * (kind & 2 ? (int8_t)q : q);
				}
				wrong += y[128 * kind + 4 * (4 * (m % 8) + n / 2) + m / 8 * 2 + n % 2] != want;
			}
	CHECK_INT(wrong, 0);
}

static void test_product_of_product(void)
{
	static uint16_t m[3][256];
	static float y[256];
	int wrong = 0;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 256; j++)
			type_store_float(TYPE_F16, m[i], j, (int)(random_bits() % 9) - 4, false);
	struct buffer buffers[] = { { "a", m[0], sizeof m[0], false, false },
		                    { "b", m[1], sizeof m[1], false, false },
		                    { "c", m[2], sizeof m[2], false, false },
		                    { "y", y, sizeof y, true, false } };
	call(0, "product_of_product", 1, 32, buffers, 4, 0);
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 16; j++) {
			double want = 0;
			for (int k = 0; k < 16; k++)
				for (int l = 0; l < 16; l++)
					want += type_load_float(TYPE_F16, m[0], 16 * i + k) *
					        type_load_float(TYPE_F16, m[1], 16 * k + l) *
					        type_load_float(TYPE_F16, m[2], 16 * l + j);
			wrong += (double)y[16 * i + j] != want;
		}
	CHECK_INT(wrong, 0);
}

static void test_copies(void)
{
	static uint32_t x[32], y[96];
	for (int i = 0; i < 32; i++)
		x[i] = random_bits() | 1;
	for (int n = 0; n <= 32; n += n < 10 ? 1 : 11) {
		int wrong = 0;
		struct buffer buffers[] = { { "x", x, sizeof x, false, false }, { "y", y, sizeof y, true, false } };
		call(0, "copies", 1, 32, buffers, 2, n);
		for (int i = 0; i < 32; i++) {
			wrong += y[i] != (i < n ? x[i] : 0);
			wrong += y[32 + i] != (i / 2 * 2 + 2 <= n ? x[i] : 0);
			wrong += y[64 + i] != (i / 4 * 4 + 4 <= n ? x[i] : 0);
		}
		CHECK_INT(wrong, 0);
	}
}

/* The emulator's reports for wrong kernels. */
static void test_faults(void)
{
	static uint32_t x[32], y[32];
	static uint8_t a[32 * 16], b[32 * 8];
	static int32_t sums[128];
	struct err e = { 0 };
	struct buffer words[] = { { "x", x, sizeof x, false, false }, { "y", y, sizeof y, true, false } };
	struct buffer bytes[] = { { "a", a, sizeof a, false, false },
		                  { "b", b, sizeof b, false, false },
		                  { "y", sums, sizeof sums, true, false } };
	call_emulator(0, "no_wait", 1, 32, words, 2, 0, &e);
	CHECK_INT(e.code, ERR_DIFFER);
	CHECK(strstr(e.text, "a race") != NULL);
	e = (struct err){ 0 };
	call_emulator(0, "few_lanes", 1, 32, bytes, 3, 0, &e);
	CHECK_INT(e.code, ERR_DIFFER);
	CHECK(strstr(e.text, "waits forever") != NULL);
	/* A failed launch leaves no copies in flight. */
	test_copies();
	test_bytes();
}

int main(int argc, char **argv)
{
	begin_calls(argc, argv);
	test_products();
	open_kernels("mma.cu", NULL);
	test_bytes();
	test_product_of_product();
	test_copies();
	if (!gpu)
		test_faults();
	close_kernels();
	return end_calls();
}
