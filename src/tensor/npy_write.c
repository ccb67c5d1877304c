/* Writing .npy: the header text, and bodies that NumPy has no layout for (packed types, strings). See npy.h. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "tensor/npy.h"

/* NumPy's name of a type; others are void elements of their size, packed ones one byte each. */
static const char *descr_of(enum type t)
{
	switch ((int)t) {
	case TYPE_BOOL: return "|b1";
	case TYPE_I8: return "|i1";
	case TYPE_U8: return "|u1";
	case TYPE_I16: return "<i2";
	case TYPE_U16: return "<u2";
	case TYPE_I32: return "<i4";
	case TYPE_U32: return "<u4";
	case TYPE_INDEX:
	case TYPE_I64: return "<i8";
	case TYPE_U64: return "<u8";
	case TYPE_F16: return "<f2";
	case TYPE_F32: return "<f4";
	case TYPE_F64: return "<f8";
	case TYPE_C64: return "<c8";
	case TYPE_C128: return "<c16";
	case TYPE_BF16: return "|V2";
	default: return "|V1";
	}
}

/* Returns the code point at *p and advances. Each invalid byte becomes U+FFFD. */
static uint32_t code_point(const unsigned char **p)
{
	uint32_t first = *(*p)++;
	int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	if (first < 0x80)
		return first;
	if (first < 0xc2 || first > 0xf4)
		return 0xfffd;
	uint32_t u = first & (0x3fU >> more);
	for (int i = 0; i < more; i++) {
		if (((*p)[i] & 0xc0) != 0x80)
			return 0xfffd;
		u = u << 6 | ((*p)[i] & 0x3f);
	}
	if (u > 0x10ffff || (u >= 0xd800 && u < 0xe000) || u < (more == 2 ? 0x800U : more == 3 ? 0x10000U : 0x80U))
		return 0xfffd;
	*p += more;
	return u;
}

/* Strings as '<U' elements, each as long as the longest; returns that length in code points, at least 1. */
static int64_t encode_strings(struct npy_image *out, const struct tensor *t, int64_t n, struct arena *a)
{
	int64_t longest = 1;
	for (int64_t i = 0; i < n; i++) {
		int64_t units = 0;
		for (const unsigned char *p = (const unsigned char *)t->strings[i]; *p; units++)
			code_point(&p);
		longest = units > longest ? units : longest;
	}
	uint32_t *body = NEWN(a, uint32_t, n *longest + 1);
	for (int64_t i = 0; i < n; i++) {
		uint32_t *to = body + i * longest;
		for (const unsigned char *p = (const unsigned char *)t->strings[i]; *p;)
			*to++ = code_point(&p);
	}
	out->body = body;
	out->body_size = sizeof *body * (size_t)(n * longest);
	return longest;
}

int npy_encode(struct npy_image *out, const char *name, const struct tensor *t, struct arena *a, struct err *e)
{
	int64_t n = tensor_count(t);
	*out = (struct npy_image){ 0 };
	if (n < 0 || type_info(t->type)->class == CLASS_NONE || (n > 0 && !t->data && !t->strings))
		return err_set(e, ERR_USAGE, "%s: the tensor %s has no data that could be written.", name,
		               tensor_describe(t, a));
	const char *descr = descr_of(t->type);
	int bits = type_info(t->type)->bits;
	if (t->type == TYPE_STRING) {
		descr = arena_printf(a, "<U%" PRId64, encode_strings(out, t, n, a));
	} else if (bits < 8) {
		struct tensor code = *t, bytes;
		code.type = bits == 4 ? TYPE_U4 : TYPE_U2;
		TRY(tensor_convert(&bytes, &code, TYPE_U8, a, e));
		out->body = bytes.data;
		out->body_size = (size_t)n;
	} else {
		out->body = t->data;
		out->body_size = (size_t)tensor_bytes(t);
	}
	struct str s = str_new(a);
	str_addn(&s, "\x93NUMPY\1\0\0\0", 10);
	str_printf(&s, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (int d = 0; d < t->rank; d++)
		str_printf(&s, "%s%" PRId64, d ? ", " : "", t->dim[d]);
	str_add(&s, t->rank == 1 ? ",), }" : "), }");
	while (s.n % 64 != 63)
		str_addn(&s, " ", 1);
	str_addn(&s, "\n", 1);
	s.at[8] = (char)((s.n - 10) & 0xff);
	s.at[9] = (char)((s.n - 10) >> 8);
	out->head = s.at;
	out->head_size = s.n;
	return 0;
}

int npy_write(const char *path, const struct tensor *t, struct err *e)
{
	struct arena *scratch = arena_new();
	struct npy_image image;
	struct file_out f = { .fd = -1 };
	int rc = npy_encode(&image, path, t, scratch, e);
	if (!rc)
		rc = file_out_begin(&f, path, e);
	if (!rc)
		rc = file_out_put(&f, image.head, image.head_size, e);
	if (!rc)
		rc = file_out_put(&f, image.body, image.body_size, e);
	if (!rc)
		rc = file_out_commit(&f, e);
	file_out_abandon(&f);
	arena_free(scratch);
	return rc;
}
