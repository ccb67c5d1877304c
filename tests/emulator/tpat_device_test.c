/* Compares every function of tpat_device.h with the host's conversions and plain loops. On the emulator; with the
 * argument "cuda" on the GPU, with the same texts and checks. */
#include <math.h>

#include "emulator_calls.h"
#include "tensor/type.h"

/* ---- Conversions ---- */

static bool same(double a, double b)
{
	return a == b ? signbit(a) == signbit(b) : isnan(a) && isnan(b);
}

/* Counts differences of two lists of numbers of a type; prints the first. */
static int differences(const char *what, enum type t, const void *got, const void *want, int n, const double *x)
{
	int wrong = 0;
	for (int i = 0; i < n; i++) {
		double g = type_load_float(t, got, i), w = type_load_float(t, want, i);
		if (!same(g, w) && wrong++ == 0)
			printf("%s, %s: %a gives %a, not %a\n", what, type_name(t), x ? x[i] : i, g, w);
	}
	return wrong;
}

static void test_from_small(void)
{
	enum { N = 65536 };
	uint16_t *bits = NEWN(arena, uint16_t, N);
	float *f = NEWN(arena, float, N), *b = NEWN(arena, float, N), *q = NEWN(arena, float, 4 * 256);
	uint8_t byte[256];
	for (int i = 0; i < N; i++)
		bits[i] = (uint16_t)i;
	for (int i = 0; i < 256; i++)
		byte[i] = (uint8_t)i;
	struct buffer b16[] = { { "bits", bits, 2 * N, false, false },
		                { "f", f, 4 * N, true, false },
		                { "b", b, 4 * N, true, false } };
	struct buffer b8[] = { { "bits", byte, 256, false, false }, { "y", q, 4 * 4 * 256, true, false } };
	call(0, "from_16", N / 256, 256, b16, 3, N);
	call(0, "from_8", 1, 256, b8, 2, 256);
	int wrong = 0;
	for (int i = 0; i < N; i++)
		wrong += !same(f[i], type_load_float(TYPE_F16, bits, i)) +
		         !same(b[i], type_load_float(TYPE_BF16, bits, i));
	CHECK_INT(wrong, 0);
	static const enum type f8[] = { TYPE_F8E4M3FN, TYPE_F8E4M3FNUZ, TYPE_F8E5M2, TYPE_F8E5M2FNUZ };
	for (int t = 0; t < 4; t++)
		for (int i = wrong = 0; i < 256; i++)
			CHECK(same(q[t * 256 + i], type_load_float(f8[t], byte, i)));
}

/* Conversions of x (n numbers of 8 or 4 bytes at `data`, `value` as doubles) to all small types. */
static void check_to_small(const char *kernel, const void *data, size_t size, const double *value, int n)
{
	static const enum type f8[] = { TYPE_F8E4M3FN, TYPE_F8E4M3FNUZ, TYPE_F8E5M2, TYPE_F8E5M2FNUZ };
	size_t count = (size_t)n;
	struct arena_mark mark = arena_mark(arena);
	uint16_t *f = NEWN(arena, uint16_t, n), *b = NEWN(arena, uint16_t, n), *want = NEWN(arena, uint16_t, n);
	uint8_t *q = NEWN(arena, uint8_t, 8 * count);
	struct buffer buffers[] = { { "x", (void *)(uintptr_t)data, size * count, false, false },
		                    { "f", f, 2 * count, true, false },
		                    { "b", b, 2 * count, true, false },
		                    { "q", q, 8 * count, true, false } };
	call(0, kernel, (uint32_t)(n + 255) / 256, 256, buffers, 4, n);
	for (int i = 0; i < n; i++)
		type_store_float(TYPE_F16, want, i, value[i], false);
	CHECK_INT(differences(kernel, TYPE_F16, f, want, n, value), 0);
	for (int i = 0; i < n; i++)
		type_store_float(TYPE_BF16, want, i, value[i], false);
	CHECK_INT(differences(kernel, TYPE_BF16, b, want, n, value), 0);
	for (int t = 0; t < 8; t++) {
		for (int i = 0; i < n; i++)
			type_store_float(f8[t % 4], want, i, value[i], t >= 4);
		CHECK_INT(differences(kernel, f8[t % 4], q + (size_t)t * count, want, n, value), 0);
	}
	arena_release(arena, mark);
}

static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252u;
	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Every value of a 16-bit or 8-bit type, the middle to its neighbour, and the nearest numbers on both sides of that. */
static int hard_values(double *out, enum type t, int count, double step)
{
	int n = 0;
	uint16_t bits[2];
	for (int i = 0; i < count; i++) {
		uint8_t byte[2] = { (uint8_t)i, (uint8_t)(i + 1) };
		bits[0] = (uint16_t)i;
		bits[1] = (uint16_t)(i + 1);
		const void *p = count == 256 ? (void *)byte : (void *)bits;
		double v = type_load_float(t, p, 0), w = type_load_float(t, p, 1), middle = v / 2 + w / 2;
		out[n++] = v;
		out[n++] = middle;
		out[n++] = middle * (1 + step);
		out[n++] = middle * (1 - step);
	}
	return n;
}

static void test_to_small(void)
{
	static const enum type small[] = { TYPE_F16,        TYPE_BF16,   TYPE_F8E4M3FN,
		                           TYPE_F8E4M3FNUZ, TYPE_F8E5M2, TYPE_F8E5M2FNUZ };
	static const double special[] = { 0.0,     -0.0,     INFINITY, -INFINITY, NAN,
		                          448,     464,      464.0001, 480,       -464.0001,
		                          240,     248,      57344,    61440,     61440.5,
		                          65504,   65519.99, 65520,    1e30,      -1e30,
		                          3.4e38,  1e-45,    0x1p-24,  0x1p-25,   0x1.000002p-25,
		                          0x1p-10, 0x1p-11,  0x1p-17,  0x1p-18,   -0x1p-30 };
	enum {
		SPECIAL = sizeof special / sizeof *special,
		RANDOM = 100000,
		MOST = 4 * (2 * 65536 + 4 * 256) + SPECIAL + RANDOM
	};
	double *value = NEWN(arena, double, MOST), *d = NEWN(arena, double, MOST);
	float *x = NEWN(arena, float, MOST);
	for (int pass = 0; pass < 2; pass++) { /* floats; doubles */
		int n = 0;
		for (int t = 0; t < 6; t++)
			n += hard_values(value + n, small[t], t < 2 ? 65536 : 256, pass ? 0x1p-45 : 0x1p-23);
		for (int i = 0; i < SPECIAL; i++)
			value[n++] = special[i];
		for (int i = 0; i < RANDOM; i++) {
			uint32_t u = (uint32_t)random_bits();
			float f;
			memcpy(&f, &u, sizeof f);
			value[n++] = i % 2 ? (double)f : ((double)(int64_t)random_bits()) * 0x1p-60;
		}
		for (int i = 0; i < n; i++) {
			x[i] = (float)value[i];
			d[i] = pass ? value[i] : (double)x[i];
		}
		if (pass)
			check_to_small("from_f64", d, 8, d, n);
		else
			check_to_small("from_f32", x, 4, d, n);
	}
}

static void test_from_integers(void)
{
	enum { N = 4096 };
	int64_t x[N];
	int32_t y[N];
	double value[N];
	for (int i = 0; i < N; i++) {
		x[i] = (int64_t)random_bits() >> (i % 64);
		if (i % 3 == 0 && i % 64 < 50) /* just above the middle of two bf16 */
			x[i] = (int64_t)(((uint64_t)0x1810000000000000 >> (i % 50)) | 1);
		y[i] = (int32_t)x[i];
	}
	/* A double cannot hold every int64: rounded to odd, it rounds on as the integer would. */
	for (int i = 0; i < N; i++) {
		uint64_t u = x[i] < 0 ? 0 - (uint64_t)x[i] : (uint64_t)x[i];
		if (u >> 53)
			u = (u & ~(uint64_t)2047) | (uint64_t)((u & 2047) != 0) << 11;
		value[i] = x[i] < 0 ? -(double)u : (double)u;
	}
	check_to_small("from_i64", x, 8, value, N);
	for (int i = 0; i < N; i++)
		value[i] = y[i];
	check_to_small("from_i32", y, 4, value, N);
}

static double clamp(double x, double low, double high)
{
	return isnan(x) ? 0 : x < low ? low : x > high ? high : trunc(x);
}

static void test_to_integers(void)
{
	static const double x[] = { 0,
		                    -0.5,
		                    0.99,
		                    -1.99,
		                    127.5,
		                    128,
		                    -128.9,
		                    -129,
		                    255.9,
		                    256,
		                    300,
		                    -300,
		                    32767.9,
		                    32768,
		                    -32769,
		                    65535.5,
		                    65536,
		                    2147483520,
		                    2147483648,
		                    -2147483648.,
		                    -3e9,
		                    4294967040,
		                    4294967296,
		                    9.2e18,
		                    9223372036854775808.,
		                    -9223372036854775808.,
		                    -1e19,
		                    1.8e19,
		                    1e30,
		                    -1e30,
		                    INFINITY,
		                    -INFINITY,
		                    NAN };
	enum { N = sizeof x / sizeof *x };
	int64_t y[12 * N];
	struct buffer b[] = { { "x", (void *)(uintptr_t)x, sizeof x, false, false },
		              { "y", y, sizeof y, true, false } };
	call(0, "to_integers", 1, 64, b, 2, N);
	for (int i = 0; i < N; i++) {
		double f = (float)x[i];
		CHECK_INT(y[i], clamp(f, -128, 127));
		CHECK_INT(y[N + i], clamp(f, 0, 255));
		CHECK_INT(y[2 * N + i], clamp(f, -32768, 32767));
		CHECK_INT(y[3 * N + i], clamp(f, 0, 65535));
		CHECK_INT(y[4 * N + i], clamp(f, -2147483648., 2147483647));
		CHECK_INT(y[5 * N + i], clamp(f, 0, 4294967295.));
		int64_t wide = isnan(f) ? 0 : f >= 0x1p63 ? INT64_MAX : f <= -0x1p63 ? INT64_MIN : (int64_t)f;
		CHECK_INT(y[6 * N + i], wide);
		CHECK_INT(y[7 * N + i], isnan(f) || f <= 0 ? 0
		                        : f >= 0x1p64      ? (int64_t)UINT64_MAX
		                                           : (int64_t)(uint64_t)f);
		CHECK_INT(y[8 * N + i], clamp(x[i], -2147483648., 2147483647));
		wide = isnan(x[i]) ? 0 : x[i] >= 0x1p63 ? INT64_MAX : x[i] <= -0x1p63 ? INT64_MIN : (int64_t)x[i];
		CHECK_INT(y[9 * N + i], wide);
		CHECK_INT(y[10 * N + i], (int8_t)(uint64_t)wide);
		CHECK_INT(y[11 * N + i], f != 0);
	}
}

/* ---- Reductions ---- */

static void check_reduce(int number, enum type t, const double *x)
{
	enum { N = 256, ROWS = 13 };
	size_t size = (size_t)type_info(t)->bits / 8;
	uint64_t in[N], out[ROWS * N];
	for (int i = 0; i < N; i++)
		if (type_is_float(t))
			type_store_float(t, in, i, x[i], false);
		else
			type_store_int(t, in, i, (int64_t)x[i]);
	struct buffer b[] = { { "x", in, N * size, false, false }, { "y", out, ROWS * N * size, true, false } };
	call(number, "reduce", 1, N, b, 2, 0);
	double y[ROWS][N], want[ROWS][N], sum = 0, most = x[0], least = x[0];
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < N; i++)
			y[r][i] = type_is_float(t) ? type_load_float(t, out, r * N + i)
			                           : (double)type_load_int(t, out, r * N + i);
	for (int i = 0; i < N; i++) {
		sum += x[i];
		most = isnan(most) || isnan(x[i]) ? NAN : fmax(most, x[i]);
		least = isnan(least) || isnan(x[i]) ? NAN : fmin(least, x[i]);
		want[4][i] = sum;
	}
	for (int i = 0; i < N; i++) {
		want[0][i] = sum;
		want[1][i] = most;
		want[2][i] = least;
		want[3][i] = 1;
		for (int j = i / 4 * 4; j < i / 4 * 4 + 4; j++)
			want[3][i] *= x[j];
		want[5][i] = 0;
		int first = i / 32 * 32, largest = first, smallest = first;
		for (int j = first; j < first + 32; j++) {
			want[5][i] += x[j];
			if (x[j] > x[largest] || (isnan(x[j]) && !isnan(x[largest])))
				largest = j;
			if (isnan(x[j]) || (!isnan(x[smallest]) && x[j] <= x[smallest]))
				smallest = j;
		}
		want[6][i] = x[i / 8 * 8];
		for (int j = i / 8 * 8; j < i / 8 * 8 + 8; j++)
			want[6][i] = isnan(want[6][i]) || isnan(x[j]) ? NAN : fmax(want[6][i], x[j]);
		want[9][i] = 3;
		for (int j = first; j <= i; j++)
			want[9][i] += x[j];
		want[10][i] = 3 + want[5][i];
		want[11][i] = 3 + sum + want[4][i];
		want[12][i] = 3 + sum + sum;
		want[7][i] = largest;
		want[8][i] = smallest;
	}
	for (int r = 0; r < ROWS; r++) {
		int wrong = 0;
		for (int i = 0; i < N; i++)
			wrong += !(y[r][i] == want[r][i] || (isnan(y[r][i]) && isnan(want[r][i])));
		if (wrong)
			printf("%s: row %d\n", type_name(t), r);
		CHECK_INT(wrong, 0);
	}
}

static void test_reduce(void)
{
	static const char *const names[] = { "float", "double", "i32", "u32", "i64", "u64", NULL };
	static const enum type types[] = { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64 };
	open_kernels("reduce_type.cu", names);
	double x[256];
	for (int t = 0; t < 6; t++) {
		bool has_sign = type_is_signed(types[t]) || type_is_float(types[t]);
		for (int i = 0; i < 256; i++)
			x[i] = (double)(random_bits() % 50) - (has_sign ? 25 : 0);
		check_reduce(t, types[t], x);
		x[77] = x[200] = NAN; /* propagates */
		if (type_is_float(types[t]))
			check_reduce(t, types[t], x);
	}
	close_kernels();
}

static void test_odd_block(void)
{
	int in[96], out[3 * 96];
	for (int i = 0; i < 96; i++)
		in[i] = i * i;
	struct buffer b[] = { { "x", in, sizeof in, false, false }, { "y", out, sizeof out, true, false } };
	call(0, "reduce_odd", 1, 96, b, 2, 0);
	CHECK_INT(out[95], 95 * 96 * 191 / 6);
	CHECK_INT(out[96], 8);
	int ored = 0;
	for (int i = 32; i < 64; i++)
		ored |= in[i];
	CHECK_INT(out[192 + 40], ored);
}

static void test_vectors_and_votes(void)
{
	enum { N = 256 };
	float x[N], y[N];
	uint16_t h[1024], g[1024] = { 0 };
	int v[64], row[6 * 64];
	for (int i = 0; i < 1024; i++)
		h[i] = (uint16_t)(i * 7);
	for (int i = 0; i < N; i++)
		x[i] = (float)i;
	struct buffer b[] = { { "x", x, sizeof x, false, false },
		              { "y", y, sizeof y, true, false },
		              { "h", h, sizeof h, false, false },
		              { "g", g, sizeof g, true, false } };
	call(0, "vector_copy", 1, 32, b, 4, 0);
	CHECK(memcmp(x, y, sizeof x) == 0);
	CHECK(memcmp(h, g, 288 * 2) == 0);
	CHECK(memcmp(h + 320, g + 320, 64 * 2) == 0);
	CHECK(memcmp(h + 384, g + 384, 128 * 2) == 0);
	CHECK(memcmp(h + 512, g + 512, 96 * 2) == 0);
	for (int i = 0; i < 64; i++)
		v[i] = i;
	struct buffer b2[] = { { "x", v, sizeof v, false, false }, { "y", row, sizeof row, true, false } };
	call(0, "votes", 1, 64, b2, 2, 0);
	CHECK_INT((uint32_t)row[0], 0xaaaaaaaa);
	CHECK_INT(row[1], 0);
	CHECK_INT(row[40 * 6 + 1], 1);
	CHECK_INT(row[2], 0);
	CHECK_INT(row[40 * 6 + 2], 1);
	CHECK_INT(row[3], 32);
	CHECK_INT(row[4] != 0, 1);
	CHECK_INT(row[5] != 0, 0);
}

/* Elements that a thread loads from any position. */
struct shifted {
	int step, first, n, at;
};

static void check_shifted(const struct shifted *s, int n, const void *x, const void *y, size_t size)
{
	for (int i = 0; i < n; i++)
		for (int thread = 0; thread < 32; thread++) {
			const char *from = (const char *)x + (size_t)(s[i].first + s[i].step * thread) * size;
			const char *to = (const char *)y + (size_t)(s[i].at + thread * s[i].n) * size;
			CHECK(memcmp(from, to, (size_t)s[i].n * size) == 0);
		}
}

static void test_shifted(void)
{
	static const struct shifted bytes[] = {
		{ 1, 0, 16, 0 }, { 2, 1, 16, 512 }, { 4, 3, 16, 1024 }, { 16, 5, 16, 1536 }
	};
	static const struct shifted halves[] = { { 1, 0, 8, 0 },   { 2, 1, 8, 256 },  { 4, 2, 8, 512 },
		                                 { 8, 5, 8, 768 }, { 8, 0, 8, 1024 }, { 8, 3, 4, 1280 } };
	static const struct shifted floats[] = { { 1, 0, 4, 0 }, { 2, 1, 4, 128 }, { 4, 3, 4, 256 } };
	uint8_t x[1024], y[2048] = { 0 };
	uint16_t h[512], g[1408] = { 0 }, negative[512];
	float a[256], b[384] = { 0 };
	for (int i = 0; i < 1024; i++)
		x[i] = (uint8_t)(i * 37 + i / 256);
	for (int i = 0; i < 512; i++)
		h[i] = (uint16_t)(i * 131);
	for (int i = 0; i < 256; i++)
		a[i] = (float)i;
	struct buffer buffers[] = { { "x", x, sizeof x, false, false },
		                    { "y", y, sizeof y, true, false },
		                    { "h", h, sizeof h, false, false },
		                    { "g", g, sizeof g, true, false },
		                    { "a", a, sizeof a, false, false },
		                    { "b", b, sizeof b, true, false },
		                    { "negative", negative, sizeof negative, true, false } };
	call(0, "vector_shifted", 1, 32, buffers, 7, 0);
	check_shifted(bytes, 4, x, y, 1);
	check_shifted(halves, 6, h, g, 2);
	check_shifted(floats, 3, a, b, 4);
	for (int i = 0; i < 512; i++)
		CHECK_INT(negative[i], h[i] ^ 0x8000);
}

static int64_t power(int64_t base, int64_t exponent)
{
	if (exponent < 0)
		return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
	uint64_t y = 1;
	for (int64_t i = 0; i < exponent && i < 200; i++)
		y *= (uint64_t)base;
	return (int64_t)y;
}

/* quotient() equals C's division bit by bit, including signs of zeros, except for dividends whose remainder underflows:
 * there within one unit in the last place; so does reciprocal() from 2^-126 on. The erf functions have the errors that
 * their comments state. */
static void test_float_functions(void)
{
	static const float special[] = { 0,      -0.0f,      1,         -3,    INFINITY,      -INFINITY,      NAN,
		                         1e-45f, -1e-40f,    0x1p-126f, 3e38f, -3e38f,        0x1p-110f,      0x1p110f,
		                         768,    1.4140625f, 0.05f,     255,   0x1.fffffep0f, 0x1.fffffep127f };
	enum { S = sizeof special / sizeof *special, N = 40000 };
	float *a = NEWN(arena, float, N), *b = NEWN(arena, float, N), *y = NEWN(arena, float, 8 * N);
	for (int i = 0; i < N; i++) {
		uint32_t u = (uint32_t)random_bits(), w = (uint32_t)random_bits();
		memcpy(&a[i], &u, sizeof u);
		memcpy(&b[i], &w, sizeof w);
		if (i % 2) { /* near one */
			a[i] = (float)((int)(u >> 1) - (1 << 30)) * 0x1p-28f;
			b[i] = (float)(w >> 8) * 0x1p-23f;
		}
		if (i < S * S) {
			a[i] = special[i / S];
			b[i] = special[i % S];
		}
	}
	struct buffer buffers[] = { { "a", a, 4 * N, false, false },
		                    { "b", b, 4 * N, false, false },
		                    { "y", y, 32 * N, true, false } };
	call(0, "float_functions", (N + 255) / 256, 256, buffers, 3, N);
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		float q = a[i] / b[i], x = a[i];
		int exponent = 0, power = 0;
		frexpf(a[i], &exponent);
		frexpf(b[i], &power);
		double ulp = fabs(q) < 0x1p-126f ? 0x1p-149 : fabs(q) * 0x1p-23;
		bool tiny = exponent < -36 || exponent - power < -120;
		wrong += !same(y[i], q) && !(tiny && fabs((double)y[i] - q) <= ulp && isfinite(q));
		float r = 1 / fabsf(b[i]);
		if (!(fabsf(b[i]) < 0x1p-126f))
			wrong += !same(y[4 * N + i], r) && !(r < 0x1p-126f && fabsf(y[4 * N + i] - r) <= 0x1p-149f);
		double c = erfc(-(double)x), least = x >= -1 ? 5e-7 : x >= -4 ? 2e-6 : 1e-5;
		if (isnan(x))
			wrong += !isnan(y[N + i]) + !isnan(y[2 * N + i]);
		else
			wrong += !(fabs(y[N + i] - c) <= least * c + 0x1p-125) +
			         !(fabs(y[2 * N + i] - erf(x)) <= 1.1e-4 * fabs(erf(x)) + 0x1p-148);
		if (!isnan(x) && fabsf(x) <= 2.75f)
			wrong += !(fabs(y[2 * N + i] - erf(x)) <= 8e-6 * fabs(erf(x)) + 0x1p-148);
		double gelu = 0.5 * x * erfc(-x / sqrt(2)), far = x >= -1 ? 1e-6 : x >= -4 ? 3e-6 : 2e-5;
		wrong += isnan(gelu)
		                 ? !isnan(y[3 * N + i])
		                 : y[3 * N + i] != gelu && !(fabs(y[3 * N + i] - gelu) <= far * fabs(gelu) + 0x1p-118);
		double s = 2 / (1 + exp(-2.0 * x)), shift = 1e-6 + 1.5e-7 * fmin(fabs(x), 100);
		wrong += isnan(x) ? !isnan(y[7 * N + i]) : !(fabs(y[7 * N + i] - s) <= shift * s + 0x1p-120);
		static const double limit[] = { 65504, 3e38 }, half_ulp[] = { 0x1p-11 + 6e-6, 0x1p-8 + 2.2e-5 },
		                    least_step[] = { 0x1p-24, 0x1p-118 };
		for (int k = 0; k < 2; k++) {
			float rounded = y[(5 + k) * N + i];
			wrong += isnan(gelu)
			                 ? !isnan(rounded)
			                 : fabs(gelu) < limit[k] &&
			                           !(fabs(rounded - gelu) <= half_ulp[k] * fabs(gelu) + least_step[k]);
		}
	}
	CHECK_INT(wrong, 0);
}

static void test_arithmetic(void)
{
	static const int64_t a[] = { 7, -7, 7, -7, 0, 6, -6, 5, INT64_MIN, 2, 3, -1, -1, 1, -2, 10, 7 };
	static const int64_t c[] = { 2, 2, -2, -2, 3, 3, 3, 0, -1, 62, 40, -3, -4, -5, -1, 0, -100 };
	enum { N = sizeof a / sizeof *a };
	int64_t y[6 * N];
	struct buffer b[] = { { "a", (void *)(uintptr_t)a, sizeof a, false, false },
		              { "b", (void *)(uintptr_t)c, sizeof c, false, false },
		              { "y", y, sizeof y, true, false } };
	call(0, "arithmetic", 1, 32, b, 3, N);
	for (int i = 0; i < N; i++) {
		bool wraps = a[i] == INT64_MIN;
		int64_t q = c[i] == 0 ? 0 : wraps ? INT64_MIN : (int64_t)floor((double)a[i] / (double)c[i]);
		CHECK_INT(y[i], q);
		CHECK_INT(y[N + i], wraps ? 0 : a[i] - q * c[i]);
		CHECK_INT(y[2 * N + i], wraps ? 0 : q);
		CHECK_INT(y[3 * N + i], wraps ? 0 : a[i] - q * c[i]);
		CHECK_INT(y[4 * N + i], power(a[i], c[i]));
		CHECK_INT(y[5 * N + i], a[i] > c[i] ? a[i] : c[i]);
	}
}

/* ---- Tiles ---- */

/* Tile `tile`, after `n` tiles of its row, of which tile k has the total k + 1. The one at distance `all`, and every
 * seventh beyond, has published its prefix. */
static void check_look_back(bool wide, int tile, int n, int all)
{
	enum { TILES = 101, THREADS = 64 };
	uint64_t state[1 + 3 * TILES] = { (uint64_t)tile }, total, want = 0;
	double y[THREADS];
	int *narrow = (int *)y;
	for (int k = tile - n; k < tile; k++) {
		want += (uint64_t)k + 1;
		int away = tile - 1 - k;
		bool shows_all = k == tile - n || (away >= all && (away - all) % 7 == 0);
		total = shows_all ? want : (uint64_t)k + 1;
		double value = (double)total;
		if (wide) {
			state[1 + 3 * k] = shows_all ? 2 : 1;
			memcpy(&state[1 + 3 * k + (shows_all ? 2 : 1)], &value, sizeof value);
		} else {
			state[1 + k] = total | (uint64_t)(shows_all ? 2 : 1) << 32;
		}
	}
	struct buffer b[] = { { "state", state, sizeof state, true, true },
		              { "y", y, sizeof(double) * THREADS, true, true } };
	call(0, wide ? "look_back_double" : "look_back_int", 1, THREADS, b, 2, n);
	for (int i = 0; i < THREADS; i++)
		CHECK_INT(wide ? (int64_t)y[i] : narrow[i], n ? (int64_t)want : -5);
	CHECK_INT(state[0], tile + 1);
	total = n ? want + (uint64_t)tile + 1 : (uint64_t)tile + 1; /* and it publishes its own */
	double shown;
	memcpy(&shown, &state[1 + 3 * tile + 2], sizeof shown);
	CHECK(wide ? state[1 + 3 * tile] == 2 && shown == (double)total
	           : state[1 + tile] == (total | UINT64_C(2) << 32));
}

static void test_tiles(void)
{
	for (int wide = 0; wide < 2; wide++) {
		static const int n[] = { 0, 1, 2, 31, 32, 33, 64, 65, 100 };
		for (size_t i = 0; i < sizeof n / sizeof *n; i++)
			for (int all = 0; all < 100; all += 33)
				check_look_back(wide, 100, n[i], all);
		check_look_back(wide, 0, 0, 0);
	}
}

/* ---- Atomics ---- */

static void store(enum type t, void *data, int i, double x)
{
	if (type_is_float(t))
		type_store_float(t, data, i, x, false);
	else
		type_store_int(t, data, i, (int64_t)x);
}

static double fetch(enum type t, const void *data, int i)
{
	return type_is_float(t) ? type_load_float(t, data, i) : (double)type_load_int(t, data, i);
}

static void test_atomics(void)
{
	static const char *const names[] = { "float", "double", "f16", "bf16", "i8",  "u8", "i16",
		                             "u16",   "i32",    "u32", "i64",  "u64", NULL };
	static const enum type types[] = { TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_I8,  TYPE_U8,
		                           TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32,  TYPE_I64, TYPE_U64 };
	open_kernels("atomics_type.cu", names);
	for (int k = 0; k < texts; k++) {
		enum type t = types[k];
		size_t size = (size_t)type_info(t)->bits / 8;
		int low = type_is_signed(t) || type_is_float(t) ? -3 : 0;
		uint64_t x[64], factor[64], y[4];
		double sum = 0;
		for (int i = 0; i < 64; i++) {
			int v = i * 5 % 4 + (i == 63 ? low : 0);
			sum += v;
			store(t, x, i, v);
			store(t, factor, i, i == 3 || i == 50 ? 3 : 1);
		}
		store(t, y, 0, 0);
		store(t, y, 1, 2);
		store(t, y, 2, 1);
		store(t, y, 3, 1);
		struct buffer b[] = { { "x", x, 64 * size, false, false },
			              { "factor", factor, 64 * size, false, false },
			              { "y", y, 4 * size, true, true } };
		call(k, "atomics", 1, 64, b, 3, 0);
		bool right =
		        fetch(t, y, 0) == sum && fetch(t, y, 1) == 18 && fetch(t, y, 2) == 3 && fetch(t, y, 3) == 0;
		if (!right)
			printf("%s: %g %g %g %g\n", names[k], fetch(t, y, 0), fetch(t, y, 1), fetch(t, y, 2),
			       fetch(t, y, 3));
		CHECK(right);
		if (!type_is_float(t))
			continue;
		store(t, x, 17, NAN);
		call(k, "atomics", 1, 64, b, 3, 0);
		CHECK(isnan(fetch(t, y, 2)) && isnan(fetch(t, y, 3)));
	}
	close_kernels();
}

/* Lane l gets the sum of value l modulo the next power of two. */
static void test_apart(void)
{
	static const int values[] = { 1, 5, 16, 32 };
	int x[32], y[128], sum = 0, wrong = 0;
	for (int i = 0; i < 32; i++)
		sum += x[i] = i * i - 100;
	struct buffer b[] = { { "x", x, sizeof x, false, false }, { "y", y, sizeof y, true, false } };
	call(0, "reduce_apart", 1, 32, b, 2, 0);
	for (int k = 0; k < 4; k++)
		for (int lane = 0, most = k == 1 ? 8 : values[k]; lane < 32; lane++)
			wrong += lane % most < values[k] && y[32 * k + lane] != sum * (lane % most + 1);
	CHECK_INT(wrong, 0);
}

/* Each lane gets its four lanes' sum of each value. */
static void test_each(void)
{
	int x[32], y[160], wrong = 0;
	struct buffer b[] = { { "x", x, sizeof x, false, false }, { "y", y, sizeof y, true, false } };
	for (int i = 0; i < 32; i++)
		x[i] = i * i - 100;
	call(0, "reduce_each", 1, 32, b, 2, 0);
	for (int i = 0; i < 5; i++)
		for (int lane = 0; lane < 32; lane++) {
			const int *four = x + lane / 4 * 4;
			wrong += y[32 * i + lane] != (four[0] + four[1] + four[2] + four[3]) * (i + 1);
		}
	CHECK_INT(wrong, 0);
}

/* Blocks that wait for each other's numbers, for several turns. */
static void test_words(void)
{
	enum { BLOCKS = 6, TURNS = 5 };
	uint64_t words[2 * BLOCKS] = { 0 };
	int y[32 * BLOCKS], want[BLOCKS], wrong = 0;
	struct buffer b[] = { { "words", words, sizeof words, true, true }, { "y", y, sizeof y, true, false } };
	for (int i = 0; i < BLOCKS; i++)
		want[i] = i + 1;
	for (int turn = 0; turn < TURNS; turn++) {
		int first = want[0];
		for (int i = 0; i < BLOCKS; i++)
			want[i] = 2 * want[i] + (i + 1 < BLOCKS ? want[i + 1] : first);
	}
	call(0, "pass_words", BLOCKS, 32, b, 2, TURNS);
	for (int i = 0; i < 32 * BLOCKS; i++)
		wrong += y[i] != want[i / 32];
	CHECK_INT(wrong, 0);
}

int main(int argc, char **argv)
{
	begin_calls(argc, argv);
	open_kernels("convert.cu", NULL);
	test_from_small();
	test_to_small();
	test_from_integers();
	test_to_integers();
	close_kernels();
	test_reduce();
	test_atomics();
	open_kernels("reduce.cu", NULL);
	test_apart();
	test_each();
	test_words();
	test_odd_block();
	test_tiles();
	test_vectors_and_votes();
	test_shifted();
	test_arithmetic();
	test_float_functions();
	close_kernels();
	return end_calls();
}
