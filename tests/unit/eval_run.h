/* Shared by the interpreter's tests: tensors, parsing, running, comparing with eval_oracle.h. */
#ifndef TPAT_TESTS_UNIT_EVAL_RUN_H
#define TPAT_TESTS_UNIT_EVAL_RUN_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/unit/eval_oracle.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static struct arena *arena;
static struct err error;

static inline struct tensor tensor_of(enum type t, int rank, const int64_t *dim)
{
	struct tensor x;
	struct err e = { 0 };
	CHECK_INT(tensor_new(&x, t, rank, dim, arena, &e), 0);
	return x;
}

static inline struct tensor vector(enum type t, int n, const double *x)
{
	struct tensor v = tensor_of(t, 1, &(int64_t){ n });
	for (int i = 0; i < n; i++)
		tensor_set_float(&v, i, x[i]);
	return v;
}

static inline struct tensor random_of(enum type t, int rank, const int64_t *dim, int low, int high)
{
	static uint32_t state = 1;
	struct tensor x = tensor_of(t, rank, dim);
	for (int64_t i = 0; i < tensor_count(&x); i++) {
		state = state * 1664525 + 1013904223;
		int64_t v = low + (int64_t)((state >> 8) % (uint32_t)(high - low + 1));
		if (type_is_float(t))
			tensor_set_float(&x, i, (double)v);
		else
			tensor_set_int(&x, i, v);
	}
	return x;
}

static inline struct ir_program *parse(const char *text)
{
	struct ir_program *p = NULL;
	memset(&error, 0, sizeof error);
	if (ir_parse_program(&p, text, arena, &error) < 0 || ir_check(p, &error) < 0) {
		printf("%s\nin %s", error.text, text);
		exit(1);
	}
	return p;
}

/* Runs the program on up to three tensors; returns output 0. */
static inline struct tensor run3(const struct ir_program *p, const struct tensor *x, const struct tensor *y,
                                 const struct tensor *z, int want)
{
	const struct tensor *in[3] = { x, y, z };
	struct tensor out[8] = { 0 };
	memset(&error, 0, sizeof error);
	int rc = eval_program(p, in, out, NULL, arena, &error);
	if (rc != want)
		printf("%s\n", error.text);
	CHECK_INT(rc, want);
	return out[0];
}

static inline struct tensor run(const char *text, const struct tensor *x, const struct tensor *y,
                                const struct tensor *z)
{
	return run3(parse(text), x, y, z, 0);
}

/* True if all bits are equal, or both are NaN. */
static inline bool same(const struct tensor *x, const struct tensor *y)
{
	if (x->type != y->type || !tensor_same_shape(x, y))
		return false;
	for (int64_t i = 0; i < tensor_count(x); i++) {
		double a = tensor_float(x, i), b = tensor_float(y, i);
		bool equal = type_is_float(x->type) ? (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b))
		                                    : tensor_int(x, i) == tensor_int(y, i);
		if (!equal) {
			printf("element %lld: %.17g (%lld), not %.17g (%lld)\n", (long long)i, a,
			       (long long)tensor_int(x, i), b, (long long)tensor_int(y, i));
			return false;
		}
	}
	return true;
}

#define CHECK_SAME(got, want, what) \
	do { \
		struct tensor got_ = (got), want_ = (want); \
		if (!test_check(same(&got_, &want_), __FILE__, __LINE__, "the interpreter agrees")) \
			printf("  in %s\n", what); \
	} while (0)

static inline const char *text_of(const struct ir_program *p)
{
	struct str s = str_new(arena);
	ir_print_program(&s, p);
	return str_text(&s);
}

/* Compares every output element with the oracle; for maps and reductions without symbols. */
static inline void compare(const struct ir_program *p, const struct tensor *x, const struct tensor *y,
                           const struct tensor *z)
{
	const struct tensor *in[3] = { x, y, z };
	struct tensor *buffer = NEWN(arena, struct tensor, p->buffers.n), out[8] = { 0 };
	struct oracle o = { .p = p, .buffer = buffer };
	for (int i = 0; i < p->inputs.n; i++)
		buffer[p->inputs.at[i]->id] = *in[i];
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			buffer[(*b)->id] = *(*b)->data;
	vec_each (s, &p->stages) {
		int64_t extent[2 * IR_MAX_RANK], *end = extent;
		for (int k = 0; k < (*s)->out->rank; k++)
			CHECK(ir_const_int((*s)->out->dim[k], end++));
		buffer[(*s)->out->id] = tensor_of((*s)->out->type, (*s)->out->rank, extent);
		for (int k = 0; k < (*s)->space_rank; k++)
			CHECK(ir_const_int((*s)->space[k], end++));
		oracle_stage(&o, *s, extent);
	}
	CHECK(!o.outside);
	memset(&error, 0, sizeof error);
	if (eval_program(p, in, out, NULL, arena, &error) < 0)
		printf("%s\n", error.text);
	CHECK_INT(error.code, 0);
	for (int i = 0; i < p->outputs.n; i++)
		CHECK_SAME(out[i], buffer[p->outputs.at[i]->id], text_of(p));
}

/* Every test has its own arena. */
static inline int run_tests(int n, void (*const *test)(void))
{
	for (int k = 0; k < n; k++) {
		arena = arena_new();
		memset(&error, 0, sizeof error);
		test[k]();
		arena_free(arena);
	}
	return test_done();
}

#endif
