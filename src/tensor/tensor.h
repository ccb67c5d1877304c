/* Host tensors: type, extents, packed data; conversion, random filling, comparison. */
#ifndef TPAT_TENSOR_TENSOR_H
#define TPAT_TENSOR_TENSOR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "tensor/type.h"

enum { TENSOR_MAX_RANK = 16 };

struct tensor {
	enum type type;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	void *data;           /* packed, row-major; null for strings or if absent */
	const char **strings; /* TYPE_STRING only */
};

/* A zeroed tensor; data in the arena, aligned to 64. Fails on extents that overflow. */
int tensor_new(struct tensor *out, enum type type, int rank, const int64_t *dim, struct arena *a, struct err *e);
int64_t tensor_count(const struct tensor *t); /* elements; -1 on overflow or a negative extent */
int64_t tensor_bytes(const struct tensor *t);
/* True if no element is infinite or NaN. Of floats of 16 bits and more; false for other types. */
bool tensor_is_finite(const struct tensor *t);
bool tensor_same_shape(const struct tensor *x, const struct tensor *y);
char *tensor_describe(const struct tensor *t, struct arena *a); /* "f32[2,3,224]" */

/* Element i in row-major order, as type_load_float() and the like. The caller checks that i is inside. */
double tensor_float(const struct tensor *t, int64_t i);
int64_t tensor_int(const struct tensor *t, int64_t i);
void tensor_set_float(struct tensor *t, int64_t i, double x);
void tensor_set_int(struct tensor *t, int64_t i, int64_t x);

/* Makes a converted copy, as ONNX Cast: floats truncate to integers; bool is x != 0. */
int tensor_convert(struct tensor *out, const struct tensor *x, enum type type, struct arena *a, struct err *e);

/* Makes a copy whose axis k is axis[k] of x. Elements of whole bytes. */
int tensor_transpose(struct tensor *out, const struct tensor *x, const int *axis, struct arena *a, struct err *e);

/* Reproducible random values: floats about uniform in [low, high), integers in [low, high], bool fair. */
void tensor_random(struct tensor *t, uint64_t seed, double low, double high);

/* Difference of two tensors; `want` is the reference. An element differs when |got - want| > absolute + relative *
 * |want|, when one is NaN and the other is not, or when infinities differ; integers and bool are compared exactly plus
 * `absolute`. */
struct tensor_tolerance {
	double absolute, relative;
};
struct tensor_difference {
	int64_t count, differing; /* elements; elements beyond the tolerance */
	double max_absolute, max_relative;
	double norm;   /* ||got - want|| / ||want||, over finite elements */
	int64_t first; /* index of the first element beyond the tolerance, -1: none */
	int64_t worst; /* index of the worst element, -1 when none differs at all */
	double worst_got, worst_want;
};
/* Returns false if type or shape differ; then nothing else is filled. */
bool tensor_compare(struct tensor_difference *out, const struct tensor *got, const struct tensor *want,
                    struct tensor_tolerance tolerance);
/* The same with an added tolerance for each element: allowed, f64, same element count; or null. Ignores values of it
 * that are not finite. */
bool tensor_compare_within(struct tensor_difference *out, const struct tensor *got, const struct tensor *want,
                           struct tensor_tolerance tolerance, const double *allowed);
/* The tolerance for a single operator's result in type `t` against a double-precision reference. */
struct tensor_tolerance tensor_tolerance_of(enum type t);

#endif
