/* The host's IExprBuilder: objects in TensorRT's layout ({vptr, impl}; the methods go through impl's table) that hold
 * their value. Arithmetic as in TensorRT: division rounds down or up, comparisons give 1 or 0. */
#include "base/vec.h"
#include "engine/tensorrt/host.h"

struct value {
	const void *vptr; /* the table of apiv::VDimensionExpr */
	struct trt_expr front;
	int64_t number;
	bool constant, size;
	const struct value *before; /* that the builder made */
};

struct size {
	int32_t output;
	int64_t upper;
};

struct builder {
	const void *vptr; /* the table of apiv::VExprBuilder */
	struct trt_expr front;
	struct arena *arena;
	int operations;
	bool old;             /* of TensorRT 8 and 9 */
	const int64_t *found; /* sizes by output, or null */
	const struct value *last;
	struct {
		VEC(struct size);
	} sizes;
};

static void nothing(void *self)
{
	(void)self;
}

static bool is_constant(void *impl)
{
	return ((struct value *)impl)->constant;
}

static int64_t constant_value(void *impl)
{
	struct value *x = impl;
	return x->constant ? x->number : INT64_MIN;
}

static bool is_size_tensor(void *impl)
{
	return ((struct value *)impl)->size;
}

static const struct {
	struct trt_table_head head;
	struct trt_expr_value t;
} value_table = { .t = { nothing, nothing, is_constant, constant_value, is_size_tensor } };

static int32_t constant_value_8(void *impl)
{
	struct value *x = impl;
	return x->constant ? (int32_t)x->number : INT32_MIN;
}

static const struct {
	struct trt_table_head head;
	struct trt_expr_value_8 t;
} value_table_8 = { .t = { nothing, nothing, is_constant, constant_value_8 } };

/* The public objects have a table of their own, with destructors only. */
static void (*const front_table[])(void *) = { nothing, nothing };

static struct value *value_new(struct builder *b, int64_t number, bool constant)
{
	struct value *x = NEW(b->arena, struct value);

	*x = (struct value){ .vptr = b->old ? (const void *)&value_table_8.t : &value_table.t,
		             .front = { front_table, x },
		             .number = number,
		             .constant = constant,
		             .before = b->last };
	b->last = x;
	return x;
}

static const struct trt_expr *builder_constant(void *impl, int64_t number)
{
	return &value_new(impl, number, true)->front;
}

static int64_t divide(int64_t a, int64_t b, bool up)
{
	int64_t q = a / b, r = a % b;

	if (r != 0 && ((r < 0) == (b < 0)) == up)
		q += up ? 1 : -1;
	return q;
}

static const struct trt_expr *builder_operation(void *impl, int32_t op, const struct trt_expr *x,
                                                const struct trt_expr *y)
{
	struct builder *b = impl;
	const struct value *vx = x->impl, *vy = y->impl;
	int64_t p = vx->number, q = vy->number, r = 0;

	/* Sums and products wrap: a selection written as c + t (b - c) is right even if b - c overflows. */
	switch (op) {
	case TRT_SUM: __builtin_add_overflow(p, q, &r); break;
	case TRT_PROD: __builtin_mul_overflow(p, q, &r); break;
	case TRT_SUB: __builtin_sub_overflow(p, q, &r); break;
	case TRT_MAX: r = p > q ? p : q; break;
	case TRT_MIN: r = p < q ? p : q; break;
	case TRT_EQUAL: r = p == q; break;
	case TRT_LESS: r = p < q; break;
	case TRT_FLOOR_DIV:
	case TRT_CEIL_DIV:
		if (q == 0)
			return NULL;
		r = divide(p, q, op == TRT_CEIL_DIV);
		break;
	default: return NULL;
	}
	b->operations++;
	return &value_new(b, r, vx->constant && vy->constant)->front;
}

/* A size that the kernels compute: only its upper bound is known until they have run. */
static const struct trt_expr *builder_size_tensor(void *impl, int32_t output, const struct trt_expr *likely,
                                                  const struct trt_expr *upper)
{
	struct builder *b = impl;
	int64_t most = ((const struct value *)upper->impl)->number;
	struct value *x = value_new(b, b->found ? b->found[output] : most, false);
	struct size size = { output, most };

	(void)likely;
	vec_push(b->arena, &b->sizes, size);
	x->size = true;
	return &x->front;
}

static const struct {
	struct trt_table_head head;
	struct trt_expr_builder t;
} builder_table = { .t = { nothing, nothing, builder_constant, builder_operation, builder_size_tensor } };

static const struct trt_expr *builder_constant_8(void *impl, int32_t number)
{
	return builder_constant(impl, number);
}

static const struct {
	struct trt_table_head head;
	struct trt_expr_builder_8 t;
} builder_table_8 = { .t = { nothing, nothing, builder_constant_8, builder_operation } };

struct trt_expr *host_expr_builder_8(struct arena *a)
{
	struct builder *b = NEW(a, struct builder);

	*b = (struct builder){ .vptr = &builder_table_8.t, .front = { front_table, b }, .arena = a, .old = true };
	return &b->front;
}

struct trt_expr *host_expr_builder(struct arena *a)
{
	struct builder *b = NEW(a, struct builder);

	*b = (struct builder){ .vptr = &builder_table.t, .front = { front_table, b }, .arena = a };
	return &b->front;
}

const struct trt_expr *host_expr_new(struct trt_expr *builder, int64_t value, bool constant)
{
	return &value_new(builder->impl, value, constant)->front;
}

bool host_expr_made(const struct trt_expr *builder, const struct trt_expr *x)
{
	const struct value *v = ((const struct builder *)builder->impl)->last;
	while (v && &v->front != x)
		v = v->before;
	return v;
}

int64_t host_expr_value(const struct trt_expr *x)
{
	return ((const struct value *)x->impl)->number;
}

void host_expr_found(struct trt_expr *builder, const int64_t *size)
{
	((struct builder *)builder->impl)->found = size;
}

int host_expr_size(const struct trt_expr *builder, int n, int64_t *upper)
{
	const struct builder *b = builder->impl;

	if (n >= b->sizes.n)
		return -1;
	*upper = b->sizes.at[n].upper;
	return b->sizes.at[n].output;
}

int host_expr_count(const struct trt_expr *builder)
{
	return ((const struct builder *)builder->impl)->operations;
}
