/* Host tensors: creation, size, description, single elements. Conversion is in convert.c. See tensor.h. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

/* Arena memory is aligned to 64 only from 4 KiB on; kernels may use vector loads on tensors of any size. */
static void *aligned(struct arena *a, size_t size)
{
	uintptr_t p = (uintptr_t)arena_alloc(a, (size ? size : 1) + 63);
	return (void *)((p + 63) & ~(uintptr_t)63);
}

int tensor_new(struct tensor *out, enum type type, int rank, const int64_t *dim, struct arena *a, struct err *e)
{
	*out = (struct tensor){ .type = type, .rank = rank };
	if (rank < 0 || rank > TENSOR_MAX_RANK) {
		out->rank = 0;
		return err_set(e, ERR_UNSUPPORTED, "A tensor of %d dimensions was asked for; at most %d are supported.",
		               rank, TENSOR_MAX_RANK);
	}
	if (rank)
		memcpy(out->dim, dim, sizeof *dim * (size_t)rank);
	int64_t n = tensor_count(out), size = n;
	if (n >= 0 && (type == TYPE_STRING ? __builtin_mul_overflow(n, (int64_t)sizeof(char *), &size)
	                                   : (size = type_bytes(type, n)) < 0))
		n = -1;
	/* No machine can address 2^48 bytes, so the extents are wrong. */
	if (n < 0 || size > INT64_C(1) << 48) {
		int code = err_set(e, ERR_MODEL, "The tensor %s has no valid size.", tensor_describe(out, a));
		*out = (struct tensor){ .type = type };
		return code;
	}
	if (type != TYPE_STRING) {
		out->data = aligned(a, (size_t)size);
		return 0;
	}
	out->strings = aligned(a, (size_t)size);
	for (int64_t i = 0; i < n; i++)
		out->strings[i] = "";
	return 0;
}

int64_t tensor_count(const struct tensor *t)
{
	int64_t n = 1;
	bool empty = false, overflow = false;
	for (int d = 0; d < t->rank; d++) {
		if (t->dim[d] < 0)
			return -1;
		empty |= t->dim[d] == 0;
		overflow |= __builtin_mul_overflow(n, t->dim[d], &n);
	}
	return empty ? 0 : overflow ? -1 : n;
}

int64_t tensor_bytes(const struct tensor *t)
{
	return type_bytes(t->type, tensor_count(t));
}

/* Each type's elements have an exponent of only ones where they are not finite. */
#define ALL_FINITE(bits, exponent) \
	do { \
		const bits *x = t->data; \
		for (int64_t i = 0; i < n; i++) \
			if ((x[i] & (exponent)) == (exponent)) \
				return false; \
		return true; \
	} while (0)

bool tensor_is_finite(const struct tensor *t)
{
	int64_t n = tensor_count(t);

	switch (t->type) {
	case TYPE_F16: ALL_FINITE(uint16_t, 0x7c00);
	case TYPE_BF16: ALL_FINITE(uint16_t, 0x7f80);
	case TYPE_F32: ALL_FINITE(uint32_t, 0x7f800000);
	case TYPE_F64: ALL_FINITE(uint64_t, 0x7ff0000000000000);
	default: return false;
	}
}

bool tensor_same_shape(const struct tensor *x, const struct tensor *y)
{
	return x->rank == y->rank && (x->rank == 0 || memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) == 0);
}

char *tensor_describe(const struct tensor *t, struct arena *a)
{
	struct str s = str_new(a);
	str_printf(&s, "%s[", type_name(t->type));
	for (int d = 0; d < t->rank; d++)
		str_printf(&s, "%s%" PRId64, d ? "," : "", t->dim[d]);
	str_add(&s, "]");
	return s.at;
}

double tensor_float(const struct tensor *t, int64_t i)
{
	return type_load_float(t->type, t->data, i);
}

int64_t tensor_int(const struct tensor *t, int64_t i)
{
	return type_load_int(t->type, t->data, i);
}

void tensor_set_float(struct tensor *t, int64_t i, double x)
{
	type_store_float(t->type, t->data, i, x, true);
}

void tensor_set_int(struct tensor *t, int64_t i, int64_t x)
{
	type_store_int(t->type, t->data, i, x);
}

/* Copies the rows of `out` from axis k on; `from`: their first element in x, `stride`: of each axis, in elements. */
static unsigned char *copy_axes(unsigned char *to, const struct tensor *out, const unsigned char *from,
                                const int64_t *stride, int k, int64_t bytes)
{
	for (int64_t i = 0; i < out->dim[k]; i++, from += stride[k] * bytes) {
		if (k < out->rank - 1) {
			to = copy_axes(to, out, from, stride, k + 1, bytes);
			continue;
		}
		memcpy(to, from, (size_t)bytes);
		to += bytes;
	}
	return to;
}

int tensor_transpose(struct tensor *out, const struct tensor *x, const int *axis, struct arena *a, struct err *e)
{
	int64_t dim[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK], next = 1;

	for (int k = x->rank; k-- > 0; next *= x->dim[k])
		own[k] = next;
	for (int k = 0; k < x->rank; k++) {
		dim[k] = x->dim[axis[k]];
		stride[k] = own[axis[k]];
	}
	TRY(tensor_new(out, x->type, x->rank, dim, a, e));
	if (tensor_count(out) > 0 && out->rank > 0)
		copy_axes(out->data, out, x->data, stride, 0, type_info(x->type)->bits / 8);
	return 0;
}
