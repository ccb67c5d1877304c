/* Conversion of whole tensors as ONNX Cast (saturating to the 8-bit floats), strings included. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tensor/small_float.h"
#include "tensor/tensor.h"

enum { RUN = 512 };

static bool is_integral(enum type t)
{
	return type_is_int(t) || t == TYPE_BOOL;
}

/* Converts through int64 if the source has integers, else through double; either way rounds once. */
static void convert_numbers(struct tensor *out, const struct tensor *x, int64_t n)
{
	int64_t ints[RUN];
	double floats[RUN];
	for (int64_t at = 0; at < n; at += RUN) {
		int64_t m = n - at < RUN ? n - at : RUN;
		if (!is_integral(x->type)) {
			type_load_floats(x->type, x->data, at, m, floats);
			type_store_floats(out->type, out->data, at, m, floats, true);
			continue;
		}
		type_load_ints(x->type, x->data, at, m, ints);
		if (x->type == TYPE_U64 && !is_integral(out->type)) {
			/* The upper half of u64 would be negative as int64. */
			for (int64_t i = 0; i < m; i++)
				floats[i] = out->type == TYPE_F64 ? (double)(uint64_t)ints[i]
				                                  : double_of_magnitude((uint64_t)ints[i]);
			type_store_floats(out->type, out->data, at, m, floats, true);
		} else {
			type_store_ints(out->type, out->data, at, m, ints);
		}
	}
}

/* The shortest decimal digits that give back `x` in type `t`, positional between 1e-4 and 1e16, else scientific. */
static char *text_of_float(enum type t, double x, struct arena *a)
{
	char text[40] = "", digits[24];
	if (isnan(x))
		return arena_strdup(a, "nan");
	if (isinf(x))
		return arena_strdup(a, x < 0 ? "-inf" : "inf");
	for (int precision = 0; precision < 17; precision++) {
		number_snprintf(text, sizeof text, "%.*e", precision, fabs(x));
		if (type_round(t, number_read(text, NULL), true) == fabs(x))
			break;
	}
	char *exponent_at = strchr(text, 'e');
	int exponent = (int)strtol(exponent_at + 1, NULL, 10), n = 0;
	for (const char *p = text; p < exponent_at; p++)
		if (*p != '.')
			digits[n++] = *p;
	struct str s = str_new(a);
	if (signbit(x))
		str_add(&s, "-");
	if (x != 0 && (exponent < -4 || exponent >= 16)) {
		str_addn(&s, digits, 1);
		if (n > 1)
			str_printf(&s, ".%.*s", n - 1, digits + 1);
		str_printf(&s, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	} else if (exponent < 0) {
		str_printf(&s, "0.%.*s%.*s", -exponent - 1, "0000", n, digits);
	} else {
		for (int i = 0; i <= exponent; i++)
			str_addn(&s, i < n ? digits + i : "0", 1);
		str_printf(&s, ".%.*s", n > exponent + 1 ? n - exponent - 1 : 1,
		           n > exponent + 1 ? digits + exponent + 1 : "0");
	}
	return s.at;
}

static void convert_to_strings(struct tensor *out, const struct tensor *x, int64_t n, struct arena *a)
{
	for (int64_t i = 0; i < n; i++) {
		if (x->type == TYPE_BOOL)
			out->strings[i] = tensor_int(x, i) ? "True" : "False";
		else if (x->type == TYPE_U64)
			out->strings[i] = arena_printf(a, "%" PRIu64, (uint64_t)tensor_int(x, i));
		else if (is_integral(x->type))
			out->strings[i] = arena_printf(a, "%" PRId64, tensor_int(x, i));
		else
			out->strings[i] = text_of_float(x->type, tensor_float(x, i), a);
	}
}

/* True when all of `s` was a number; blanks around it are fine. */
static bool all_read(const char *s, const char *end)
{
	if (end == s)
		return false;
	return end[strspn(end, " \t\r\n")] == 0;
}

static int convert_from_strings(struct tensor *out, const struct tensor *x, int64_t n, struct err *e)
{
	for (int64_t i = 0; i < n; i++) {
		const char *s = x->strings[i];
		char *end;
		/* Integers first as integers: a double would lose digits of large ones. */
		if (is_integral(out->type)) {
			bool negative = s[strspn(s, " \t\r\n")] == '-';
			uint64_t v = negative ? (uint64_t)strtoll(s, &end, 10) : strtoull(s, &end, 10);
			if (all_read(s, end)) {
				tensor_set_int(out, i, (int64_t)v);
				continue;
			}
		}
		/* Decimal text converts to f32 with one rounding, to narrower types with two, through double. */
		double v = out->type == TYPE_F32 ? (double)number_read_float(s, &end) : number_read(s, &end);
		if (!all_read(s, end)) {
			err_set(e, ERR_MODEL,
			        "Element %" PRId64
			        " of a string tensor, \"%.60s\", is not a number and cannot become %s.",
			        i, s, type_name(out->type));
			return err_advise(e, "Give numbers such as 3.14, 1e-5, INF or NaN.");
		}
		tensor_set_float(out, i, v);
	}
	return 0;
}

int tensor_convert(struct tensor *out, const struct tensor *x, enum type type, struct arena *a, struct err *e)
{
	enum type_class from = type_info(x->type)->class, to = type_info(type)->class;
	struct tensor made;
	if (from == CLASS_NONE || to == CLASS_NONE || (from == CLASS_COMPLEX && to != CLASS_COMPLEX) ||
	    (from == CLASS_STRING && to == CLASS_COMPLEX))
		return err_set(e, ERR_UNSUPPORTED, "A tensor of %s cannot be converted to %s.", type_name(x->type),
		               type_name(type));
	TRY(tensor_new(&made, type, x->rank, x->dim, a, e));
	int64_t n = tensor_count(x);
	if (n > 0 && !x->data && !x->strings)
		return err_set(e, ERR_MODEL, "The tensor %s has no data to convert to %s.", tensor_describe(x, a),
		               type_name(type));
	if (n > 0 && type == x->type && type != TYPE_STRING) {
		memcpy(made.data, x->data, (size_t)tensor_bytes(x));
	} else if (type == x->type) {
		for (int64_t i = 0; i < n; i++)
			made.strings[i] = arena_strdup(a, x->strings[i]);
	} else if (from == CLASS_STRING) {
		TRY(convert_from_strings(&made, x, n, e));
	} else if (to == CLASS_STRING) {
		convert_to_strings(&made, x, n, a);
	} else if (from == CLASS_COMPLEX) {
		struct tensor lanes = *x, made_lanes = made;
		lanes.type = x->type == TYPE_C64 ? TYPE_F32 : TYPE_F64;
		made_lanes.type = type == TYPE_C64 ? TYPE_F32 : TYPE_F64;
		convert_numbers(&made_lanes, &lanes, 2 * n);
	} else {
		convert_numbers(&made, x, n);
	}
	*out = made;
	return 0;
}
