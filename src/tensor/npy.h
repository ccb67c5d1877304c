/* NumPy files: .npy, and .npz (zip archives of .npy). Source: numpy.lib.format, versions 1.0 to 3.0.
 * Types without a NumPy name (bf16, fp8, int4 ...) are written as raw void elements ("|V2", "|V1") and read back only
 * if the caller gives the type. */
#ifndef TPAT_TENSOR_NPY_H
#define TPAT_TENSOR_NPY_H

#include "tensor/tensor.h"

/* `hint`: the type of void elements, or TYPE_NONE. */
int npy_read(struct tensor *out, const char *path, enum type hint, struct arena *a, struct err *e);
int npy_write(const char *path, const struct tensor *t, struct err *e);

/* The same from and to memory; `name` is for messages. Without a hint, void elements of 1 and 2 bytes are read as U8
 * and U16 and *raw is true: npy_retype sets their type later. */
int npy_decode(struct tensor *out, bool *raw, const char *name, const void *bytes, size_t size, enum type hint,
               struct arena *a, struct err *e);
struct npy_image {
	const char *head; /* magic, version and header, in the arena */
	size_t head_size;
	const void *body; /* the tensor's own data if the layouts agree, else in the arena */
	size_t body_size;
};
/* Makes the bytes of a .npy file; `name` is for messages. ERR_USAGE for a tensor without data. */
int npy_encode(struct npy_image *out, const char *name, const struct tensor *t, struct arena *a, struct err *e);

/* Reinterprets the U8 or U16 elements of a raw tensor as `type`; packs 4-bit and 2-bit types, stored one element per
 * byte. */
int npy_retype(struct tensor *t, enum type type, const char *name, struct arena *a, struct err *e);

struct npz_entry {
	const char *name; /* without ".npy" */
	struct tensor tensor;
	bool raw; /* read from void elements: see npy_retype. Ignored when writing */
};
/* Skips members that are not .npy files. */
int npz_read(struct npz_entry **out, int *n, const char *path, struct arena *a, struct err *e);
int npz_write(const char *path, const struct npz_entry *entry, int n, struct err *e);

#endif
