/* The tensors and the workspace of runs at one point, between guard zones: their contents before, and what came out. */
#include <math.h>
#include <string.h>

#include "engine/tensorrt/host_check.h"
#include "tensor/tensor.h"

/* Elements with the padding of a vectorised format. -1: too many. */
static int64_t elements(const struct trt_desc *d)
{
	/* Channels are padded to a multiple of this; their dimension, from the end. */
	static const int8_t multiple[] = { 1, 2, 8, 4, 16, 32, 8, 32, 1, 1, 4, 16, 1 };
	static const int8_t from_end[] = { 3, 3, 3, 3, 3, 3, 4, 4, 3, 3, 3, 3, 4 };
	int64_t n = 1;
	for (int32_t i = 0; i < d->dims.rank; i++) {
		int64_t extent = d->dims.d[i], m = multiple[d->format];
		if (d->dims.rank - i == from_end[d->format])
			extent = (extent + m - 1) / m * m;
		if (__builtin_mul_overflow(n, extent, &n))
			return -1;
	}
	return n;
}

/* Small numbers, the same at each call: integers of 0 to 3, which are valid indices of most tensors, and reals. */
static void fill(enum type type, char *data, int64_t n, unsigned seed)
{
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		if (type_is_float(type))
			type_store_float(type, data, i, (double)(seed >> 16) / 65536 + 0.25, true);
		else
			type_store_int(type, data, i, type == TYPE_BOOL ? seed >> 31 : seed >> 30);
	}
}

bool check_bench_new(const struct subject *s, struct check_memory *m, struct check_bench *b, int point)
{
	const struct check_point *p = &s->point[point];
	struct arena *a = s->k->arena;
	int32_t inputs = s->n[0], n = inputs + s->n[1];
	size_t most = s->workspace;
	b->block = NEWN(a, struct check_block, n + 1);
	b->input = NEWN(a, char *, inputs + 1);
	for (int32_t i = 0; i < n; i++) {
		enum type type = (enum type)host_onnx_type(p->desc[i].type);
		int64_t count = elements(&p->desc[i]), bytes = count < 0 ? -1 : type_bytes(type, count);
		if (bytes < 0 || !check_block_new(m, &b->block[i], (size_t)bytes))
			return false;
		most = (size_t)bytes > most ? (size_t)bytes : most;
		if (i < inputs) {
			b->input[i] = arena_alloc(a, (size_t)bytes + 1);
			if (p->in[i].pointer && p->desc[i].format == TRT_LINEAR)
				memcpy(b->input[i], p->in[i].pointer, (size_t)bytes);
			else
				fill(type, b->input[i], count, (unsigned)(i + 1 + point * HOST_MAX_TENSORS));
			for (int64_t v = 0; p->in[i].value && v < count; v++)
				type_store_int(type, b->input[i], v, p->in[i].value[v]);
			b->in[i] = check_block_at(&b->block[i]);
		} else {
			int32_t alias = s->alias[i - inputs];
			b->bytes += (size_t)bytes;
			b->out[i - inputs] = check_block_at(&b->block[alias < 0 ? i : alias]);
		}
	}
	b->scratch = arena_alloc(a, most + 2 * CHECK_GUARD);
	b->result = arena_alloc(a, b->bytes + 1);
	return check_block_new(m, &b->block[n], s->workspace);
}

enum damage { INTACT, BEFORE, AFTER };

/* The guards are as they were written. */
static enum damage damage_of(const struct check_block *b, const char *read)
{
	for (size_t i = 0; i < CHECK_GUARD; i++) {
		if (read[i] != b->shadow[i])
			return BEFORE;
		if (read[CHECK_GUARD + b->bytes + i] != b->shadow[CHECK_GUARD + b->bytes + i])
			return AFTER;
	}
	return INTACT;
}

static const char *const where[] = { [INTACT] = "", [BEFORE] = "before", [AFTER] = "beyond the end of" };

/* The block that holds an output. */
static int32_t block_of(const struct subject *s, int32_t output)
{
	return s->alias[output] < 0 ? s->n[0] + output : s->alias[output];
}

static bool is_aliased(const struct subject *s, int32_t input)
{
	for (int32_t o = 0; o < s->n[1]; o++)
		if (s->alias[o] == input)
			return true;
	return false;
}

bool check_bench_read(const struct subject *s, struct check_memory *m, struct check_bench *b, void *stream)
{
	char *to = b->result;
	for (int32_t o = 0; o < s->n[1]; o++) {
		const struct check_block *x = &b->block[block_of(s, o)];
		if (!check_block_read(m, x, b->scratch, stream))
			return false;
		memcpy(to, b->scratch + CHECK_GUARD, x->bytes);
		to += x->bytes;
	}
	return true;
}

bool check_bench_verify(const struct subject *s, struct check_memory *m, struct check_bench *b, void *stream)
{
	struct checker *k = s->k;
	int32_t inputs = s->n[0], n = inputs + s->n[1];
	for (int32_t i = 0; i <= n; i++) {
		const struct check_block *x = &b->block[i];
		if (!check_block_read(m, x, b->scratch, stream))
			return false;
		enum damage damage = damage_of(x, b->scratch);
		if (damage && i == n)
			check_found(k, RULE_WORKSPACE_BOUNDS, "it writes %s the workspace of %zu bytes", where[damage],
			            x->bytes);
		else if (damage)
			check_found(k, i < inputs ? RULE_INPUT_CONST : RULE_OUTPUT_BOUNDS,
			            "it writes %s %s %d of %zu bytes", where[damage], i < inputs ? "input" : "output",
			            (int)(i < inputs ? i : i - inputs), x->bytes);
		if (i < inputs && !is_aliased(s, i) && memcmp(b->scratch + CHECK_GUARD, b->input[i], x->bytes) != 0)
			check_found(k, RULE_INPUT_CONST, "it writes into input %d", (int)i);
	}
	return check_bench_read(s, m, b, stream);
}

bool check_bench_write(const struct subject *s, struct check_memory *m, struct check_bench *b, int output, int space,
                       void *stream)
{
	int32_t inputs = s->n[0], n = inputs + s->n[1];
	for (int32_t i = 0; i < inputs; i++)
		if (!check_block_write(m, &b->block[i], b->input[i], stream))
			return false;
	for (int32_t i = inputs; i <= n; i++)
		if (!check_block_fill(m, &b->block[i], i < n ? output : space, stream))
			return false;
	return true;
}

/* Of the largest number of the tensor. */
static double tolerance(enum type type)
{
	switch (type) {
	case TYPE_F64: return 1e-12;
	case TYPE_F32: return 1e-5;
	case TYPE_F16: return 4e-3;
	case TYPE_BF16: return 3e-2;
	default: return 0;
	}
}

/* The largest magnitude. */
static double largest(enum type type, int64_t n, const void *data)
{
	double most = 0;
	for (int64_t i = 0; i < n; i++) {
		double x = type_load_float(type, data, i);
		most = x > most ? x : -x > most ? -x : most;
	}
	return most;
}

static bool same_tensor(enum type type, int64_t n, const char *a, const char *b, double factor)
{
	const double close = factor * tolerance(type), most = largest(type, n, a);
	for (int64_t i = 0; i < n; i++) {
		double x = type_load_float(type, a, i), y = type_load_float(type, b, i);
		if (x != y && !(x != x && y != y) && !(x - y <= close * most && y - x <= close * most))
			return false;
	}
	return true;
}

static bool compare(const struct subject *s, int point, const char *a, const char *b, double factor)
{
	for (int32_t o = 0; o < s->n[1]; o++) {
		const struct trt_desc *d = &s->point[point].desc[s->n[0] + o];
		enum type type = (enum type)host_onnx_type(d->type);
		int64_t n = elements(d), bytes = type_bytes(type, n);
		if (memcmp(a, b, (size_t)bytes) != 0 && (tolerance(type) == 0 || !same_tensor(type, n, a, b, factor)))
			return false;
		a += bytes;
		b += bytes;
	}
	return true;
}

bool check_bench_same(const struct subject *s, int point, const char *a, const char *b)
{
	return compare(s, point, a, b, 1);
}

bool check_bench_alike(const struct subject *s, int point, const char *a, const char *b)
{
	return compare(s, point, a, b, 1000); /* f32: products of f16 are alike; f16 and bf16: anything is */
}

/* ---- Outputs that the user expects. */

static struct tensor tensor_of(const struct host_tensor *h, const void *data)
{
	struct tensor t = { .type = (enum type)h->type, .rank = h->rank, .data = (void *)(uintptr_t)data };
	memcpy(t.dim, h->dim, (size_t)h->rank * sizeof *t.dim);
	return t;
}

/* Relative to the element, and to the largest number of the tensor, since sums cancel. */
static struct tensor_tolerance allowed(const struct tensor *want)
{
	const double part = want->type == TYPE_F16 ? 1e-2 : want->type == TYPE_BF16 ? 4e-2 : 1e-3;
	if (!type_is_float(want->type))
		return (struct tensor_tolerance){ 0 };
	const double most = largest(want->type, tensor_count(want), want->data);
	return (struct tensor_tolerance){ most < HUGE_VAL ? part * most : 0, part };
}

/* Returns the bytes of the output. */
static size_t expect(const struct subject *s, int32_t output, const char *result)
{
	struct checker *k = s->k;
	const struct host_tensor *wanted = &k->c->expect[output];
	struct tensor got = tensor_of(&s->point[0].out[output], result), want = tensor_of(wanted, wanted->pointer);
	struct tensor_difference d;
	if (!tensor_compare(&d, &got, &want, allowed(&want)))
		check_found(k, RULE_EXPECTED, "output %d is %s, and %s is expected", (int)output,
		            tensor_describe(&got, k->arena), tensor_describe(&want, k->arena));
	else if (d.differing)
		check_found(k, RULE_EXPECTED,
		            "%lld of %lld elements of output %d differ; element %lld is %g instead of %g",
		            (long long)d.differing, (long long)d.count, (int)output, (long long)d.first,
		            tensor_float(&got, d.first), tensor_float(&want, d.first));
	return (size_t)tensor_bytes(&got);
}

void check_bench_expected(const struct subject *s, const char *result)
{
	struct checker *k = s->k;
	if (k->c->expects > s->n[1])
		check_found(k, RULE_EXPECTED, "it has %d outputs, and %d are expected", (int)s->n[1], k->c->expects);
	for (int32_t i = 0; i < s->n[0] + s->n[1]; i++)
		if (s->format[i] != TRT_LINEAR || s->sized) {
			check_note(k, "its outputs are not compared with those of --expect: %s",
			           s->sized ? "their shapes depend on size tensors" : "it takes no row-major tensors");
			return;
		}
	for (int32_t o = 0; o < s->n[1] && o < k->c->expects; o++)
		result += expect(s, o, result);
}
