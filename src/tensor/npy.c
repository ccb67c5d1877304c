/* NumPy's .npy: header parser, element conversion (byte order, Fortran order, Unicode). See npy.h. */
#include "tensor/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"

/* A parsed header. */
struct header {
	char kind;    /* '?' bool, 'i', 'u', 'f', 'c', 'U', 'S', 'V' */
	int64_t size; /* bytes per element */
	bool swap, fortran;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	const unsigned char *body;
	size_t body_size;
};

/* A cursor over the header's text, which is a Python dictionary literal. */
struct cursor {
	const char *p, *end;
};

static char next_char(struct cursor *c)
{
	while (c->p < c->end && strchr(" \t\r\n", *c->p) && *c->p)
		c->p++;
	return c->p < c->end ? *c->p : 0;
}

static bool take(struct cursor *c, char want)
{
	if (next_char(c) != want)
		return false;
	c->p++;
	return true;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t n = strlen(word);
	if (!next_char(c) || (size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return false;
	c->p += n;
	return true;
}

static bool take_string(struct cursor *c, char *out, size_t room)
{
	char quote = next_char(c);
	size_t n = 0;
	if (quote != '\'' && quote != '"')
		return false;
	for (c->p++; c->p < c->end && *c->p != quote; c->p++) {
		if (n + 1 >= room)
			return false;
		out[n++] = *c->p;
	}
	out[n] = 0;
	return take(c, quote);
}

static bool take_int(struct cursor *c, int64_t *out)
{
	if (next_char(c) < '0' || next_char(c) > '9')
		return false;
	for (*out = 0; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
		if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->p - '0', out))
			return false;
	if (c->p < c->end && *c->p == 'L') /* Python 2 */
		c->p++;
	return true;
}

/* Parses "<f4", "|b1", ">U12" ... False if it is none. */
static bool parse_descr(struct header *h, const char *text)
{
	char order = strchr("<>=|", text[0]) && text[0] ? *text++ : '=';
	struct cursor c = { text + (text[0] != 0), text + strlen(text) };
	h->kind = text[0];
	h->size = 1;
	if (h->kind == 'M' || h->kind == 'm') /* dates, with a unit suffix: refused by type_of's caller */
		return true;
	if (c.p < c.end && !take_int(&c, &h->size))
		return false;
	if (h->kind == 'b')
		h->kind = '?';
	if (h->kind == 'a')
		h->kind = 'S';
	if (h->kind == 'U' && __builtin_mul_overflow(h->size, 4, &h->size))
		return false;
	h->swap = order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<') && !strchr("?SV", h->kind);
	return (h->kind == '?' || ascii_is_letter(h->kind)) && next_char(&c) == 0;
}

static int parse_dictionary(struct header *h, struct cursor c, const char *name, struct err *e)
{
	bool descr = false, order = false, shape = false;
	char key[32], text[64];
	if (!take(&c, '{'))
		goto bad;
	while (!take(&c, '}')) {
		if (!take_string(&c, key, sizeof key) || !take(&c, ':'))
			goto bad;
		if (strcmp(key, "descr") == 0) {
			if (next_char(&c) == '[')
				return err_set(e, ERR_UNSUPPORTED,
				               "%s: is a structured array; only plain arrays are read.", name);
			if (!take_string(&c, text, sizeof text) || !parse_descr(h, text))
				goto bad;
			descr = true;
		} else if (strcmp(key, "fortran_order") == 0) {
			h->fortran = take_word(&c, "True");
			if (!h->fortran && !take_word(&c, "False"))
				goto bad;
			order = true;
		} else if (strcmp(key, "shape") == 0) {
			if (!take(&c, '('))
				goto bad;
			for (h->rank = 0; !take(&c, ')'); h->rank++) {
				if (h->rank == TENSOR_MAX_RANK)
					return err_set(e, ERR_UNSUPPORTED, "%s: has more than %d dimensions.", name,
					               TENSOR_MAX_RANK);
				if (!take_int(&c, &h->dim[h->rank]) || (!take(&c, ',') && next_char(&c) != ')'))
					goto bad;
			}
			shape = true;
		} else {
			goto bad;
		}
		if (!take(&c, ',') && next_char(&c) != '}')
			goto bad;
	}
	if (descr && order && shape)
		return 0;
bad:
	return err_set(e, ERR_MODEL, "%s: the .npy header is damaged: it is not the dictionary that NumPy writes.",
	               name);
}

static int parse_header(struct header *h, const char *name, const unsigned char *p, size_t size, struct err *e)
{
	*h = (struct header){ 0 };
	if (size < 10 || memcmp(p, "\x93NUMPY", 6) != 0)
		return err_set(e, ERR_MODEL, "%s: is not a NumPy .npy file: it does not begin with its signature.",
		               name);
	if (p[6] < 1 || p[6] > 3)
		return err_set(e, ERR_UNSUPPORTED, "%s: has .npy version %d; versions 1 to 3 are read.", name, p[6]);
	size_t at = p[6] == 1 ? 10 : 12, length = p[8] | (size_t)p[9] << 8;
	if (p[6] > 1 && size >= 12)
		length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
	if (size < at || length > size - at)
		return err_set(e, ERR_MODEL, "%s: ends inside its .npy header.", name);
	h->body = p + at + length;
	h->body_size = size - at - length;
	return parse_dictionary(h, (struct cursor){ (const char *)p + at, (const char *)p + at + length }, name, e);
}

/* The type of elements that have a NumPy name; TYPE_NONE for others. */
static enum type type_of(char kind, int64_t size)
{
	static const struct {
		char kind;
		int size;
		enum type type;
	} row[] = {
		{ '?', 1, TYPE_BOOL }, { 'i', 1, TYPE_I8 },    { 'i', 2, TYPE_I16 }, { 'i', 4, TYPE_I32 },
		{ 'i', 8, TYPE_I64 },  { 'u', 1, TYPE_U8 },    { 'u', 2, TYPE_U16 }, { 'u', 4, TYPE_U32 },
		{ 'u', 8, TYPE_U64 },  { 'f', 2, TYPE_F16 },   { 'f', 4, TYPE_F32 }, { 'f', 8, TYPE_F64 },
		{ 'c', 8, TYPE_C64 },  { 'c', 16, TYPE_C128 },
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (row[i].kind == kind && row[i].size == size)
			return row[i].type;
	return TYPE_NONE;
}

/* The position in a Fortran-order file of row-major element `i`. */
static int64_t fortran_place(const struct header *h, int64_t i)
{
	int64_t place = 0, index[TENSOR_MAX_RANK];
	for (int d = h->rank - 1; d >= 0; d--) {
		index[d] = i % h->dim[d];
		i /= h->dim[d];
	}
	for (int d = h->rank - 1; d >= 0; d--)
		place = place * h->dim[d] + index[d];
	return place;
}

/* Copies the elements to row-major order. The innermost step is constant in the file, so only each row's first element
 * needs fortran_place. */
static void copy_elements(char *out, const struct header *h, int64_t n)
{
	int64_t size = h->size, row = h->rank ? h->dim[h->rank - 1] : 1;
	if (!h->fortran || h->rank < 2) {
		memcpy(out, h->body, (size_t)(n * size));
		return;
	}
	for (int64_t i = 0, step = n / row; i < n; i += row) {
		const unsigned char *from = h->body + fortran_place(h, i) * size;
		for (int64_t k = 0; k < row; k++, out += size)
			memcpy(out, from + k * step * size, (size_t)size);
	}
}

static void swap_bytes(char *p, int64_t n, int64_t unit)
{
	for (int64_t i = 0; i < n; i++, p += unit)
		for (int64_t low = 0, high = unit - 1; low < high; low++, high--) {
			char c = p[low];
			p[low] = p[high];
			p[high] = c;
		}
}

/* One Unicode element (UCS-4, NULs at its end dropped) as UTF-8; null if invalid. */
static char *utf8_of(const unsigned char *p, int64_t units, bool swap, struct arena *a)
{
	struct str s = str_new(a);
	while (units && memcmp(p + 4 * (units - 1), "\0\0\0\0", 4) == 0)
		units--;
	for (int64_t i = 0; i < units; i++) {
		uint32_t u;
		memcpy(&u, p + 4 * i, sizeof u);
		if (swap)
			u = __builtin_bswap32(u);
		char out[4] = { (char)u };
		size_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
		if (u == 0 || u > 0x10ffff || (u >= 0xd800 && u < 0xe000))
			return NULL;
		for (size_t k = n; n > 1 && k-- > 0; u >>= 6)
			out[k] = (char)(k ? 0x80 | (u & 0x3f) : (0xf00 >> n & 0xff) | u);
		str_addn(&s, out, n);
	}
	return s.at ? s.at : arena_strdup(a, "");
}

static int decode_strings(struct tensor *out, const struct header *h, const char *name, int64_t n, struct arena *a,
                          struct err *e)
{
	TRY(tensor_new(out, TYPE_STRING, h->rank, h->dim, a, e));
	for (int64_t i = 0; i < n; i++) {
		const unsigned char *p = h->body + (h->fortran ? fortran_place(h, i) : i) * h->size;
		out->strings[i] = h->kind == 'S' ? arena_strndup(a, (const char *)p, (size_t)h->size)
		                                 : utf8_of(p, h->size / 4, h->swap, a);
		if (!out->strings[i])
			return err_set(e, ERR_MODEL, "%s: string %" PRId64 " is not valid Unicode.", name, i);
	}
	return 0;
}

int npy_retype(struct tensor *t, enum type type, const char *name, struct arena *a, struct err *e)
{
	int bits = type_info(type)->bits, holds = t->type == TYPE_U8 ? 8 : t->type == TYPE_U16 ? 16 : 0;
	if (!bits || (bits < 8 ? 8 : bits) != holds)
		return err_set(e, ERR_MODEL, "%s: elements of %d bits cannot be of type %s.", name, holds,
		               type_name(type));
	if (bits >= 8) {
		t->type = type;
		return 0;
	}
	struct tensor packed;
	enum type code = bits == 4 ? TYPE_U4 : TYPE_U2;
	TRY(tensor_convert(&packed, t, code, a, e));
	packed.type = type;
	*t = packed;
	return 0;
}

int npy_decode(struct tensor *out, bool *raw, const char *name, const void *bytes, size_t size, enum type hint,
               struct arena *a, struct err *e)
{
	struct header h;
	int64_t need;
	*raw = false;
	*out = (struct tensor){ 0 };
	TRY(parse_header(&h, name, bytes, size, e));
	struct tensor shape = { .rank = h.rank };
	memcpy(shape.dim, h.dim, sizeof h.dim);
	int64_t n = tensor_count(&shape);
	/* Zero-size elements would let a short file demand any amount of memory. */
	if (n < 0 || (n > 0 && h.size == 0) || __builtin_mul_overflow(n, h.size, &need))
		return err_set(e, ERR_MODEL, "%s: the extents in the .npy header are impossible.", name);
	if ((uint64_t)need > h.body_size) {
		err_set(e, ERR_MODEL, "%s: ends early: its header promises %" PRId64 " bytes of data, it holds %zu.",
		        name, need, h.body_size);
		return err_advise(e, "Write or copy the file again.");
	}
	if (h.kind == 'U' || h.kind == 'S')
		return decode_strings(out, &h, name, n, a, e);
	bool is_void = h.kind == 'V';
	enum type type = is_void && h.size == 1 ? TYPE_U8 : is_void && h.size == 2 ? TYPE_U16 : type_of(h.kind, h.size);
	if (type == TYPE_NONE) {
		err_set(e, ERR_UNSUPPORTED, "%s: elements of NumPy type '%c%" PRId64 "' are not supported.", name,
		        h.kind, h.size);
		return err_advise(e, "Save the array as a plain number type, with .astype(...).");
	}
	TRY(tensor_new(out, type, h.rank, h.dim, a, e));
	if (n)
		copy_elements(out->data, &h, n);
	if (h.swap)
		swap_bytes(out->data, h.kind == 'c' ? 2 * n : n, h.kind == 'c' ? h.size / 2 : h.size);
	if (h.kind == '?')
		for (int64_t i = 0; i < n; i++)
			((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
	*raw = is_void && hint == TYPE_NONE;
	return is_void && hint != TYPE_NONE ? npy_retype(out, hint, name, a, e) : 0;
}

int npy_read(struct tensor *out, const char *path, enum type hint, struct arena *a, struct err *e)
{
	struct file_map m;
	bool raw;
	TRY(file_map_open(&m, path, e));
	int rc = npy_decode(out, &raw, path, m.data, m.size, hint, a, e);
	file_map_close(&m);
	if (!rc && raw) {
		rc = err_set(e, ERR_MODEL, "%s: holds void elements, whose type the file does not name.", path);
		err_advise(e, "Name the input's type, or save the array as float32.");
	}
	return rc;
}
