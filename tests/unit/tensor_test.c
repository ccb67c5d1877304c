/* src/tensor/: conversions at the edges of every type, comparison, random filling, .npy and .npz, damaged files. */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "tensor/npy.h"
#include "tensor/tensor.h"
#include "tests/program/program_text.h"
#include "test.h"

static struct arena *a;
static struct err e;

/* The bits that store `x`, and the value of bits. */
static unsigned code_of(enum type t, double x, bool saturate)
{
	uint16_t code = 0;
	type_store_float(t, &code, 0, x, saturate);
	return code;
}

static double value_of(enum type t, uint16_t code)
{
	return type_load_float(t, &code, 0);
}

static void test_types(void)
{
	for (int t = 1; t <= TYPE_INDEX; t++) {
		CHECK_INT(type_from_name(type_name((enum type)t)), t);
		if (t != TYPE_INDEX)
			CHECK_INT(type_from_name(type_info((enum type)t)->onnx_name), t);
	}
	CHECK_INT(type_from_name("float33"), TYPE_NONE);
	CHECK_INT(type_from_name(""), TYPE_NONE);
	CHECK_STR(type_name((enum type)99), "none");
	CHECK_INT(type_bytes(TYPE_I4, 5), 3);
	CHECK_INT(type_bytes(TYPE_U2, 5), 2);
	CHECK_INT(type_bytes(TYPE_C128, 5), 80);
	CHECK_INT(type_bytes(TYPE_F64, INT64_MAX / 4), -1);
	CHECK_INT(type_bytes(TYPE_I4, INT64_MAX), INT64_MAX / 2 + 1);
	CHECK_INT(type_bytes(TYPE_STRING, 5), -1);
	CHECK_INT(type_min(TYPE_I4), -8);
	CHECK_INT(type_max(TYPE_I2), 1);
	CHECK_INT(type_max(TYPE_U32), 0xffffffff);
	CHECK_INT(type_max(TYPE_U64), -1);
	CHECK_INT(type_min(TYPE_I64), INT64_MIN);
}

/* Encoding gives back every code that it decoded, except that NaNs have one code and FNUZ no -0. */
static void test_all_codes(enum type t, int codes)
{
	for (int code = 0; code < codes; code++) {
		double x = value_of(t, (uint16_t)code);
		unsigned back = code_of(t, x, false);
		if (isnan(x) ? !isnan(value_of(t, (uint16_t)back)) : back != (unsigned)code) {
			CHECK_INT(back, code);
			return;
		}
	}
	CHECK(codes > 0);
}

static void test_floats(void)
{
	test_all_codes(TYPE_F16, 65536);
	test_all_codes(TYPE_BF16, 65536);
	test_all_codes(TYPE_F8E4M3FN, 256);
	test_all_codes(TYPE_F8E4M3FNUZ, 256);
	test_all_codes(TYPE_F8E5M2, 256);
	test_all_codes(TYPE_F8E5M2FNUZ, 256);
	test_all_codes(TYPE_F8E8M0, 256);
	test_all_codes(TYPE_F4E2M1, 16);

	/* One rounding from double: through f32 this would round up to 0x3c01, on the tie that f32 makes of it. */
	CHECK_INT(code_of(TYPE_F16, 1 + 0x1p-11, false), 0x3c00);
	CHECK_INT(code_of(TYPE_F16, 1 + 0x1p-10 + 0x1p-11 - 0x1p-40, false), 0x3c01);
	CHECK_INT(code_of(TYPE_F16, 1 + 0x1p-11 + 0x1p-40, false), 0x3c01);
	CHECK_INT(code_of(TYPE_F16, 65519.99, false), 0x7bff);
	CHECK_INT(code_of(TYPE_F16, 65520, false), 0x7c00);
	CHECK_INT(code_of(TYPE_F16, -INFINITY, true), 0xfc00);
	CHECK_INT(code_of(TYPE_F16, 0x1p-25, false), 0);
	CHECK_INT(code_of(TYPE_F16, -0x1.8p-25, false), 0x8001);
	CHECK_INT(code_of(TYPE_BF16, 1 + 0x1p-8 + 0x1p-50, false), 0x3f81);
	CHECK_INT(code_of(TYPE_BF16, 0x1.ffp127, false), 0x7f80);
	CHECK(isnan(value_of(TYPE_BF16, 0x7f81)));

	/* ONNX Cast's tables for the 8-bit floats: columns as there. */
	static const enum type f8[4] = { TYPE_F8E4M3FN, TYPE_F8E4M3FNUZ, TYPE_F8E5M2, TYPE_F8E5M2FNUZ };
	static const struct {
		double x;
		bool saturate;
		unsigned want[4];
	} row[] = {
		{ 0.0, true, { 0, 0, 0, 0 } },
		{ -0.0, true, { 0x80, 0, 0x80, 0 } },
		{ INFINITY, true, { 0x7e, 0x7f, 0x7b, 0x7f } },
		{ -INFINITY, true, { 0xfe, 0xff, 0xfb, 0xff } },
		{ 1e6, true, { 0x7e, 0x7f, 0x7b, 0x7f } },
		{ INFINITY, false, { 0x7f, 0x80, 0x7c, 0x80 } },
		{ -INFINITY, false, { 0xff, 0x80, 0xfc, 0x80 } },
		{ 1e6, false, { 0x7f, 0x80, 0x7c, 0x80 } },
		{ -1e6, false, { 0xff, 0x80, 0xfc, 0x80 } },
		{ NAN, true, { 0x7f, 0x80, 0x7e, 0x80 } },
		{ -1e-30, false, { 0x80, 0, 0x80, 0 } },
		{ 464, false, { 0x7e, 0x80, 0x5f, 0x63 } },
		{ 465, false, { 0x7f, 0x80, 0x5f, 0x63 } },
		{ 1, true, { 0x38, 0x40, 0x3c, 0x40 } },
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		for (int k = 0; k < 4; k++)
			CHECK_INT(code_of(f8[k], row[i].x, row[i].saturate), row[i].want[k]);

	CHECK_INT(code_of(TYPE_F4E2M1, 5, false), 6);
	CHECK_INT(code_of(TYPE_F4E2M1, 1e9, false), 7);
	CHECK_INT(code_of(TYPE_F4E2M1, -0.25, false), 8);
	CHECK_INT(code_of(TYPE_F8E8M0, 3, true), 129);
	CHECK_INT(code_of(TYPE_F8E8M0, 0, true), 0);
	CHECK_INT(code_of(TYPE_F8E8M0, 0, false), 255);
	CHECK_INT(code_of(TYPE_F8E8M0, INFINITY, true), 254);
	CHECK_INT(code_of(TYPE_F8E8M0, 1.5, true), 128);
	CHECK_INT(code_of(TYPE_F8E8M0, 0.8 * 0x1p-127, false), 255); /* out of range, though rounding would bring it
	                                                              * in */
	CHECK_INT(code_of(TYPE_F8E8M0, 0.8 * 0x1p-127, true), 0);
	CHECK_INT(code_of(TYPE_F8E8M0, 1.2 * 0x1p127, false), 255);
	CHECK_INT(code_of(TYPE_F8E8M0, 1.2 * 0x1p127, true), 254);
	CHECK(value_of(TYPE_F8E8M0, 0) == 0x1p-127);
	CHECK(type_round(TYPE_F32, 0.1, false) == (double)0.1f && type_round(TYPE_F16, 1e-9, false) == 0);
	CHECK(type_round(TYPE_F8E4M3FN, 1e9, true) == 448 && isnan(type_round(TYPE_F8E4M3FN, 1e9, false)));
}

static void test_ints(void)
{
	unsigned char packed[3] = { 0 };
	for (int i = 0; i < 5; i++)
		type_store_int(TYPE_I4, packed, i, i - 3);
	CHECK(packed[0] == 0xed && packed[1] == 0x0f && packed[2] == 0x01);
	CHECK_INT(type_load_int(TYPE_I4, packed, 2), -1);
	CHECK_INT(type_load_int(TYPE_U4, packed, 2), 15);
	CHECK_INT(type_load_int(TYPE_I2, packed, 1), -1); /* 0xed = 3 2 3 1 from the top */
	type_store_int(TYPE_U2, packed, 1, 4 + 2);
	CHECK_INT(packed[0], 0xe9);

	int64_t x = 0;
	type_store_float(TYPE_I8, &x, 0, 200.9, false);
	CHECK_INT(type_load_int(TYPE_I8, &x, 0), -56);
	type_store_float(TYPE_I32, &x, 0, -1.99, false);
	CHECK_INT(type_load_int(TYPE_I32, &x, 0), -1);
	type_store_float(TYPE_U64, &x, 0, 0x1.8p63, false);
	CHECK(type_load_float(TYPE_U64, &x, 0) == 0x1.8p63);
	type_store_float(TYPE_I64, &x, 0, NAN, false);
	CHECK_INT(x, 0);
	type_store_float(TYPE_BOOL, &x, 0, NAN, false);
	CHECK_INT(type_load_int(TYPE_BOOL, &x, 0), 1);

	/* A single rounding of an integer that no double holds: just above the tie between two f32. */
	float f;
	int64_t above_tie = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1;
	type_store_int(TYPE_F32, &f, 0, above_tie);
	CHECK(f == 0x1.000002p62f);
	uint16_t b;
	type_store_int(TYPE_BF16, &b, 0, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1);
	CHECK_INT(b, 0x5e81);

	/* Unaligned data, and runs longer than the buffers on the stack. */
	unsigned char raw[8 * 700 + 1];
	int64_t in[700], out[700];
	double d[700];
	for (int i = 0; i < 700; i++)
		in[i] = i * 7 - 1000;
	type_store_ints(TYPE_F16, raw + 1, 0, 700, in);
	type_load_ints(TYPE_F16, raw + 1, 0, 700, out);
	CHECK(memcmp(in + 300, out + 300, 400) == 0 && out[0] == in[0]);
	type_store_ints(TYPE_I64, raw + 1, 0, 700, in);
	type_load_floats(TYPE_I64, raw + 1, 3, 697, d);
	CHECK(d[0] == (double)in[3] && d[696] == (double)in[699]);
}

static struct tensor vector(enum type t, int64_t n)
{
	struct tensor x;
	CHECK_INT(tensor_new(&x, t, 1, &n, a, &e), 0);
	return x;
}

static void test_tensors(void)
{
	struct tensor t, y;
	CHECK_INT(tensor_new(&t, TYPE_F32, 3, (int64_t[]){ 2, 3, 224 }, a, &e), 0);
	CHECK_STR(tensor_describe(&t, a), "f32[2,3,224]");
	CHECK_INT(tensor_count(&t), 1344);
	CHECK_INT(tensor_bytes(&t), 5376);
	CHECK(((uintptr_t)t.data & 63) == 0 && ((float *)t.data)[1343] == 0);
	CHECK_INT(tensor_new(&t, TYPE_U8, 0, NULL, a, &e), 0);
	CHECK(((uintptr_t)t.data & 63) == 0 && tensor_count(&t) == 1);
	CHECK_INT(tensor_new(&t, TYPE_F32, 2, (int64_t[]){ INT64_MAX, INT64_MAX }, a, &e), ERR_MODEL);
	err_clear(&e);
	CHECK_INT(tensor_new(&t, TYPE_F32, 1, (int64_t[]){ -1 }, a, &e), ERR_MODEL);
	CHECK_STR(e.text, "The tensor f32[-1] has no valid size.");
	err_clear(&e);
	CHECK_INT(tensor_new(&t, TYPE_F32, 3, (int64_t[]){ INT64_MAX, INT64_MAX, 0 }, a, &e), 0);
	CHECK_INT(tensor_count(&t), 0);
	CHECK_INT(tensor_new(&t, TYPE_F32, 17, (int64_t[17]){ 1 }, a, &e), ERR_UNSUPPORTED);
	err_clear(&e);

	t = vector(TYPE_U64, 2);
	tensor_set_int(&t, 0, -1);
	CHECK_INT(tensor_convert(&y, &t, TYPE_F64, a, &e), 0);
	CHECK(tensor_float(&y, 0) == 0x1p64);
	CHECK_INT(tensor_convert(&y, &t, TYPE_I4, a, &e), 0);
	CHECK_INT(tensor_int(&y, 0), -1);
	CHECK_INT(tensor_convert(&y, &t, TYPE_STRING, a, &e), 0);
	CHECK_STR(y.strings[0], "18446744073709551615");
	CHECK_INT(tensor_convert(&t, &y, TYPE_U64, a, &e), 0);
	CHECK_INT(tensor_int(&t, 0), -1);
	CHECK_INT(tensor_convert(&y, &t, TYPE_C64, a, &e), 0);
	CHECK_INT(tensor_convert(&t, &y, TYPE_C128, a, &e), 0);
	CHECK(((double *)t.data)[0] == 0x1p64 && ((double *)t.data)[1] == 0);
	CHECK_INT(tensor_convert(&y, &t, TYPE_F32, a, &e), ERR_UNSUPPORTED);
	CHECK_STR(e.text, "A tensor of c128 cannot be converted to f32.");
	err_clear(&e);
}

static void test_strings(void)
{
	static const double x[] = { 0.1, 1e16, 123456, -0.0, 1e-5, NAN, -INFINITY, 1.5e-3, 0.47892547, 3e38 };
	static const char *const want[] = { "0.1", "1e+16", "123456.0", "-0.0",       "1e-05",
		                            "nan", "-inf",  "0.0015",   "0.47892547", "3e+38" };
	struct tensor f = vector(TYPE_F32, 10), s, back;
	type_store_floats(TYPE_F32, f.data, 0, 10, x, false);
	CHECK_INT(tensor_convert(&s, &f, TYPE_STRING, a, &e), 0);
	for (int i = 0; i < 10; i++)
		CHECK_STR(s.strings[i], want[i]);
	CHECK_INT(tensor_convert(&back, &s, TYPE_F32, a, &e), 0);
	CHECK(memcmp(back.data, f.data, 5 * sizeof(float)) == 0 && isnan(tensor_float(&back, 5)));
	static const char *const text[] = { "100.5", "+INF", " 7 ", "1E3", "9007199254740993" };
	struct tensor t = vector(TYPE_STRING, 5);
	memcpy(t.strings, text, sizeof text);
	CHECK_INT(tensor_convert(&back, &t, TYPE_I64, a, &e), 0);
	CHECK(tensor_int(&back, 0) == 100 && tensor_int(&back, 2) == 7 && tensor_int(&back, 3) == 1000);
	CHECK_INT(tensor_int(&back, 4), INT64_C(9007199254740993));
	t.strings[1] = "Hello";
	CHECK_INT(tensor_convert(&back, &t, TYPE_F32, a, &e), ERR_MODEL);
	CHECK(strstr(e.text, "Element 1 of a string tensor, \"Hello\"") != NULL);
	err_clear(&e);
}

static void test_compare(void)
{
	struct tensor x = vector(TYPE_F32, 1000), y = vector(TYPE_F32, 1000), z;
	struct tensor_difference d;
	struct tensor_tolerance tight = { 0, 1e-3 };
	tensor_random(&x, 1, -2, 2);
	memcpy(y.data, x.data, 4000);
	CHECK(tensor_compare(&d, &x, &y, tight));
	CHECK(d.count == 1000 && d.differing == 0 && d.worst == -1 && d.norm == 0 && d.max_absolute == 0);
	tensor_set_float(&y, 700, 1);
	tensor_set_float(&x, 700, 1.5);
	tensor_set_float(&y, 3, 1000);
	tensor_set_float(&x, 3, 1000.5);
	CHECK(tensor_compare(&d, &x, &y, tight));
	CHECK(d.differing == 1 && d.worst == 700 && d.worst_got == 1.5 && d.worst_want == 1);
	CHECK(d.max_absolute == 0.5 && d.max_relative == 0.5 && d.norm > 6e-4 && d.norm < 8e-4);
	tensor_set_float(&x, 9, NAN);
	tensor_set_float(&y, 10, INFINITY);
	tensor_set_float(&x, 10, -INFINITY);
	tensor_set_float(&x, 11, NAN);
	tensor_set_float(&y, 11, NAN);
	CHECK(tensor_compare(&d, &x, &y, tight));
	CHECK(d.differing == 3 && d.worst == 9 && isnan(d.worst_got) && isinf(d.max_absolute));
	CHECK(d.norm < 8e-4);

	/* Integers are exact where doubles are not. */
	struct tensor i = vector(TYPE_I64, 2), j = vector(TYPE_I64, 2);
	tensor_set_int(&i, 1, INT64_MAX);
	tensor_set_int(&j, 1, INT64_MAX - 1);
	CHECK(tensor_compare(&d, &i, &j, (struct tensor_tolerance){ 0, 1 }));
	CHECK(d.differing == 1 && d.worst == 1 && d.max_absolute == 1);
	CHECK(tensor_compare(&d, &i, &j, (struct tensor_tolerance){ 1, 0 }));
	CHECK(d.differing == 0 && d.worst == 1);
	i.type = j.type = TYPE_U64;
	tensor_set_int(&i, 0, -1);
	CHECK(tensor_compare(&d, &i, &j, (struct tensor_tolerance){ 0 }));
	CHECK(d.differing == 2 && d.max_absolute == 0x1p64 && d.worst == 0);

	/* The norm of numbers whose squares leave the range of double. */
	struct tensor g = vector(TYPE_F64, 2), h = vector(TYPE_F64, 2);
	tensor_set_float(&g, 0, 1.5e300);
	tensor_set_float(&h, 0, 1e300);
	CHECK(tensor_compare(&d, &g, &h, tight) && fabs(d.norm - 0.5) < 1e-12);
	tensor_set_float(&g, 0, 1.5e-300);
	tensor_set_float(&h, 0, 1e-300);
	CHECK(tensor_compare(&d, &g, &h, tight) && fabs(d.norm - 0.5) < 1e-12);

	struct tensor c = vector(TYPE_C64, 2), k = vector(TYPE_C64, 2);
	((float *)c.data)[3] = 1;
	CHECK(tensor_compare(&d, &c, &k, tight));
	CHECK(d.count == 2 && d.differing == 1 && d.worst == 1 && isinf(d.norm));
	struct tensor s = vector(TYPE_STRING, 2), u = vector(TYPE_STRING, 2);
	s.strings[1] = "x";
	CHECK(tensor_compare(&d, &s, &u, tight) && d.differing == 1 && d.worst == 1);
	CHECK(!tensor_compare(&d, &s, &x, tight));
	CHECK_INT(tensor_new(&z, TYPE_F32, 2, (int64_t[]){ 10, 100 }, a, &e), 0);
	CHECK(!tensor_compare(&d, &x, &z, tight));

	/* A result that is wrong by one unit of a narrow type passes that type's own tolerance; two of 448 fail. */
	struct tensor p = vector(TYPE_F8E4M3FN, 1), q = vector(TYPE_F8E4M3FN, 1);
	tensor_set_float(&p, 0, 416);
	tensor_set_float(&q, 0, 448);
	CHECK(tensor_compare(&d, &p, &q, tensor_tolerance_of(TYPE_F8E4M3FN)) && d.differing == 0);
	tensor_set_float(&p, 0, 384);
	CHECK(tensor_compare(&d, &p, &q, tensor_tolerance_of(TYPE_F8E4M3FN)) && d.differing == 1);
}

static void test_random(void)
{
	struct tensor x = vector(TYPE_F64, 10000), y = vector(TYPE_F64, 10000), i = vector(TYPE_I4, 10000),
	              b = vector(TYPE_BOOL, 10000), w = vector(TYPE_U64, 100);
	double sum = 0, least = 9, most = -9;
	int64_t ones = 0, seen[16] = { 0 }, low = INT64_MAX;
	tensor_random(&x, 7, -1, 3);
	tensor_random(&y, 7, -1, 3);
	CHECK(memcmp(x.data, y.data, 80000) == 0);
	tensor_random(&y, 8, -1, 3);
	CHECK(memcmp(x.data, y.data, 800) != 0);
	for (int64_t k = 0; k < 10000; k++) {
		sum += tensor_float(&x, k);
		least = fmin(least, tensor_float(&x, k));
		most = fmax(most, tensor_float(&x, k));
	}
	CHECK(fabs(sum / 10000 - 1) < 0.05 && least >= -1 && least < -0.99 && most < 3 && most > 2.99);
	tensor_random(&i, 1, -3, 2.5);
	tensor_random(&b, 1, 0, 100);
	for (int64_t k = 0; k < 10000; k++) {
		seen[tensor_int(&i, k) + 8]++;
		ones += ((uint8_t *)b.data)[k];
	}
	CHECK(seen[4] == 0 && seen[5] > 1500 && seen[10] > 1500 && seen[11] == 0);
	CHECK(ones > 4800 && ones < 5200);
	tensor_random(&i, 1, -1e30, 1e30); /* clamped to the type */
	CHECK(tensor_int(&i, 0) >= -8 && tensor_int(&i, 0) <= 7);
	tensor_random(&w, 1, 0, 1e30);
	for (int64_t k = 0; k < 100; k++)
		low = tensor_int(&w, k) < low ? tensor_int(&w, k) : low;
	CHECK(low < 0); /* the upper half of u64 is reached */
}

static void test_files(const char *dir)
{
	const char *path = path_join(a, dir, "x.npy"), *zip = path_join(a, dir, "x.npz");
	struct npz_entry in[TYPE_COUNT], *out;
	struct tensor_difference d;
	int n = 0;
	for (int t = 1; t < TYPE_COUNT; t++, n++) {
		struct tensor x, y;
		CHECK_INT(tensor_new(&x, (enum type)t, 2, (int64_t[]){ 3, 5 }, a, &e), 0);
		tensor_random(&x, 5, -100, 100);
		if (t == TYPE_STRING) {
			x.strings[0] = "h\xc3\xa9\xce\xbb\xf0\x9f\x98\x80";
			x.strings[14] = "z";
		}
		CHECK_INT(npy_write(path, &x, &e), 0);
		CHECK_INT(npy_read(&y, path, (enum type)t, a, &e), 0);
		CHECK(tensor_compare(&d, &y, &x, (struct tensor_tolerance){ 0 }) && d.differing == 0);
		in[n] = (struct npz_entry){ .name = type_name((enum type)t), .tensor = x };
	}
	CHECK_INT(npz_write(zip, in, n, &e), 0);
	CHECK_INT(npz_read(&out, &n, zip, a, &e), 0);
	CHECK_INT(n, TYPE_COUNT - 1);
	for (int k = 0; k < n; k++) {
		CHECK_STR(out[k].name, in[k].name);
		CHECK(out[k].raw == (in[k].tensor.type >= TYPE_BF16));
		if (out[k].raw)
			CHECK_INT(npy_retype(&out[k].tensor, in[k].tensor.type, "x", a, &e), 0);
		CHECK(tensor_compare(&d, &out[k].tensor, &in[k].tensor, (struct tensor_tolerance){ 0 }) &&
		      d.differing == 0);
	}
	CHECK_INT(npy_write(path, &in[TYPE_BF16 - 1].tensor, &e), 0);
	CHECK_INT(npy_read(&in[0].tensor, path, TYPE_NONE, a, &e), ERR_MODEL);
	CHECK(strstr(e.text, "x.npy: holds void elements") != NULL);
	err_clear(&e);
	CHECK_INT(npy_read(&in[0].tensor, path, TYPE_F8E5M2, a, &e), ERR_MODEL);
	err_clear(&e);
	CHECK_INT(npy_read(&in[0].tensor, path_join(a, dir, "absent.npy"), TYPE_NONE, a, &e), ERR_MODEL);
	err_clear(&e);
}

/* An .npy file in memory with this header text. */
static int decode(struct tensor *out, const char *dictionary, const void *body, size_t size)
{
	char file[512] = "\x93NUMPY\1";
	size_t n = strlen(dictionary);
	bool raw;
	file[8] = (char)n;
	memcpy(file + 10, dictionary, n);
	memcpy(file + 10 + n, body, size);
	err_clear(&e);
	return npy_decode(out, &raw, "in.npy", file, 10 + n + size, TYPE_NONE, a, &e);
}

static void test_headers(void)
{
	static const unsigned char body[24] = { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 };
	struct tensor t;
	CHECK_INT(decode(&t, "{'descr': '>i2', 'fortran_order': True, 'shape': (2L, 3L)}", body, 12), 0);
	CHECK_INT(t.type, TYPE_I16);
	static const int want[] = { 1, 3, 5, 2, 4, 6 };
	for (int i = 0; i < 6; i++)
		CHECK_INT(tensor_int(&t, i), want[i]);
	CHECK_INT(decode(&t, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2, 3), }", body, 12), 0);
	for (int i = 0; i < 12; i++) /* position p of the body has 1 + p / 2 if p is odd, else 0 */
		CHECK_INT(tensor_int(&t, i), i / 6 ? 1 + (i % 3 * 4 + i / 3 % 2 * 2) / 2 : 0);
	CHECK_INT(decode(&t, "{\"shape\":(),\"fortran_order\":False,\"descr\":\"u1\"}", body, 1), 0);
	CHECK_INT(t.rank, 0);
	static const struct {
		const char *dictionary;
		int code;
		const char *says;
	} bad[] = {
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}", ERR_MODEL,
		  "promises 36 bytes of data, it holds 24" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9", ERR_MODEL, "header is damaged" },
		{ "{'descr': '<f4', 'shape': (1,)}", ERR_MODEL, "header is damaged" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ERR_MODEL, "header is damaged" },
		{ "{'descr': '<U0', 'fortran_order': False, 'shape': (999999999999,)}", ERR_MODEL, "impossible" },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 2)}", ERR_MODEL,
		  "impossible" },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", ERR_MODEL, "damaged" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", ERR_UNSUPPORTED, "type 'O1'" },
		{ "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}", ERR_UNSUPPORTED, "type 'f3'" },
		{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", ERR_UNSUPPORTED, "structured" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
		  ERR_UNSUPPORTED, "more than 16" },
		{ "", ERR_MODEL, "damaged" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK_INT(decode(&t, bad[i].dictionary, body, sizeof body), bad[i].code);
		CHECK(strstr(e.text, bad[i].says) != NULL && strncmp(e.text, "in.npy: ", 8) == 0);
	}
	err_clear(&e);
}

/* Every cut and many flipped bytes of an archive: an error sentence or a result, never a crash. */
static void test_damage(const char *dir)
{
	/* {x: float32 [1, 2]} deflated, as numpy.savez_compressed lays it out: header 128 bytes, then the data. */
	static const unsigned char deflated[] = {
		0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x9a, 0xca, 0xab,
		0xe7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x78, 0x2e, 0x6e, 0x70,
		0x79, 0x01, 0x00, 0x10, 0x00, 0x88, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4c, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e,
		0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96,
		0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e,
		0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x46, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a,
		0x14, 0x00, 0x2e, 0x06, 0x86, 0x06, 0x7b, 0x06, 0x06, 0x06, 0x07, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x2d,
		0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x9a, 0xca, 0xab, 0xe7, 0x4c, 0x00,
		0x00, 0x00, 0x88, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x78, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x33, 0x00, 0x00, 0x00, 0x83, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	const char *path = path_join(a, dir, "damaged.npz");
	unsigned char bytes[sizeof deflated];
	struct npz_entry *out;
	int n, failed = 0;
	CHECK_INT(file_write(path, deflated, sizeof deflated, &e), 0);
	CHECK_INT(npz_read(&out, &n, path, a, &e), 0);
	CHECK(n == 1 && strcmp(out->name, "x") == 0 && out->tensor.dim[0] == 2 && tensor_float(&out->tensor, 1) == 2);
	for (size_t size = 0; size < sizeof deflated; size++) {
		struct arena_mark mark = arena_mark(a);
		err_clear(&e);
		CHECK_INT(file_write(path, deflated, size, &e), 0);
		failed += npz_read(&out, &n, path, a, &e) == ERR_MODEL && strstr(e.text, "damaged.npz: ") != NULL;
		arena_release(a, mark);
	}
	CHECK_INT(failed, sizeof deflated);
	/* The checksum in the directory no longer fits the data. */
	const unsigned char *directory = memmem(deflated, sizeof deflated, "PK\1\2", 4);
	CHECK(directory != NULL);
	memcpy(bytes, deflated, sizeof bytes);
	bytes[directory - deflated + 16] ^= 1;
	err_clear(&e);
	CHECK_INT(file_write(path, bytes, sizeof bytes, &e), 0);
	CHECK_INT(npz_read(&out, &n, path, a, &e), ERR_MODEL);
	CHECK(strstr(e.text, "checksum is wrong") != NULL);
	failed = 0;
	for (size_t at = 0; at < sizeof deflated; at++) {
		struct arena_mark mark = arena_mark(a);
		err_clear(&e);
		memcpy(bytes, deflated, sizeof bytes);
		bytes[at] ^= (unsigned char)(0x80 | at);
		CHECK_INT(file_write(path, bytes, sizeof bytes, &e), 0);
		if (npz_read(&out, &n, path, a, &e) < 0) {
			failed++;
			CHECK(e.text[0] != 0);
		}
		arena_release(a, mark);
	}
	CHECK(failed > 20);
	err_clear(&e);
}

int main(void)
{
	char *dir;
	a = arena_new();
	test_types();
	test_floats();
	test_ints();
	test_tensors();
	test_strings();
	test_compare();
	test_random();
	test_headers();
	if (file_temp_dir(&dir, a, &e) == 0) {
		test_files(dir);
		test_damage(dir);
		file_remove_tree(dir);
	} else {
		CHECK(!"a temporary folder can be made");
	}
	arena_free(a);
	return test_done();
}
