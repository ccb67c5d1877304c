/* Sorts: computes the values of the whole space, then sorts each row along the axis. A value's key is an unsigned
 * integer of the same order; equal keys are ordered by position. */
#include <string.h>

#include "base/threads.h"
#include "eval/nest.h"

struct item {
	uint64_t key;
	int64_t at;
};

struct sort_rows {
	const struct ir_stage *stage;
	const struct eval_buffer *out;
	struct eval_buffer values; /* contiguous rows of n */
	int64_t rows, n, k, inner; /* k: of the result; inner: stride in the result along a row */
	int workers;
	struct item **scratch; /* 2 * n per worker */
};

/* Maps the bits of a float (`sign`: its sign bit, `infinity`: the code of infinity) to an integer of the same order: -0
 * is 0, NaN the largest. */
static uint64_t float_key(uint64_t bits, uint64_t sign, uint64_t infinity)
{
	uint64_t magnitude = bits & (sign - 1);
	if (magnitude > infinity)
		return 2 * sign - 1;
	return bits & sign ? sign - magnitude : sign + magnitude;
}

static uint64_t key_of(enum type t, const void *data, int64_t i)
{
	if (t == TYPE_F32)
		return float_key(((const uint32_t *)data)[i], UINT64_C(1) << 31, 0x7f800000);
	if (t == TYPE_F64)
		return float_key(((const uint64_t *)data)[i], UINT64_C(1) << 63, UINT64_C(0x7ff) << 52);
	uint64_t x = (uint64_t)type_load_int(t, data, i);
	return type_is_signed(t) ? x ^ UINT64_C(1) << 63 : x;
}

static bool before(struct item a, struct item b)
{
	return a.key < b.key || (a.key == b.key && a.at < b.at);
}

/* Merge-sorts item[0..n); other: n elements of scratch. */
static void merge_sort(struct item *item, struct item *other, int64_t n)
{
	struct item *from = item, *to = other;
	for (int64_t width = 1; width < n; width *= 2) {
		for (int64_t low = 0; low < n; low += 2 * width) {
			int64_t middle = low + width < n ? low + width : n,
			        high = middle + width < n ? middle + width : n;
			int64_t a = low, b = middle;
			for (int64_t i = low; i < high; i++)
				to[i] = b == high || (a < middle && !before(from[b], from[a])) ? from[a++] : from[b++];
		}
		struct item *made = to;
		to = from;
		from = made;
	}
	if (from != item)
		memcpy(item, from, (size_t)n * sizeof *item);
}

/* Sifts the item at `i` of a max-heap down to its place. */
static void sift_down(struct item *heap, int64_t n, int64_t i)
{
	struct item moved = heap[i];
	for (int64_t child; (child = 2 * i + 1) < n; i = child) {
		child += child + 1 < n && before(heap[child], heap[child + 1]);
		if (!before(moved, heap[child]))
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

/* Keeps the k smallest of n items in heap[0..k), in any order. */
static void keep_first(struct item *heap, int64_t k, int64_t n)
{
	for (int64_t i = k / 2 - 1; i >= 0; i--)
		sift_down(heap, k, i);
	for (int64_t i = k; i < n; i++)
		if (before(heap[i], heap[0])) {
			heap[0] = heap[i];
			sift_down(heap, k, 0);
		}
}

static void sort_row(const struct sort_rows *s, int64_t row, struct item *item)
{
	uint64_t flip = s->stage->reverse ? UINT64_MAX : 0;
	int64_t kept = s->n;
	for (int64_t r = 0; r < s->n; r++)
		item[r] = (struct item){ key_of(s->values.type, s->values.data, row * s->n + r) ^ flip, r };
	if (s->k < s->n / 8) {
		keep_first(item, s->k, s->n);
		kept = s->k;
	}
	merge_sort(item, item + s->n, kept);
	int64_t first = row / s->inner * s->k * s->inner + row % s->inner;
	for (int64_t j = 0; j < s->k; j++)
		type_store_int(s->out->type, s->out->data, first + j * s->inner, item[j].at);
}

static void sort_worker(void *arg, int worker)
{
	const struct sort_rows *s = arg;
	for (int64_t row = worker; row < s->rows; row += s->workers)
		sort_row(s, row, s->scratch[worker]);
}

static int sort_all(struct eval_run *run, void *user)
{
	const struct sort_rows *s = user;
	(void)run;
	threads_for(s->workers, s->workers, sort_worker, user);
	return 0;
}

int eval_sort(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	struct sort_rows *s = NEW(run->arena, struct sort_rows);
	*s = (struct sort_rows){ .stage = stage, .out = &run->buffer[stage->out->id], .inner = 1 };
	TRY(eval_extent(run, stage->space[0], &s->n));
	s->k = s->out->dim[stage->axis];
	if (s->k > s->n)
		return err_set(run->err, ERR_MODEL,
		               "Program %s, stage %s: the first %lld of %lld elements are asked for.",
		               run->program->name, run->stage, (long long)s->k, (long long)s->n);
	if (s->out->count == 0)
		return 0;
	for (int axis = stage->axis + 1; axis < s->out->rank; axis++)
		s->inner *= s->out->dim[axis];
	s->rows = s->out->count / s->k;
	s->values = *s->out;
	s->values.type = stage->value->type;
	s->values.dim[stage->axis] = 1;
	s->values.dim[s->values.rank++] = s->n;
	if (__builtin_mul_overflow(s->rows, s->n, &s->values.count))
		return err_set(run->err, ERR_MODEL, "Program %s, stage %s: there are too many elements to sort.",
		               run->program->name, run->stage);
	s->values.data = arena_alloc(run->arena, (size_t)type_bytes(s->values.type, s->values.count) + 16);
	TRY(eval_map(run, &s->values, stage->value, ready));

	s->workers = run->threads > 0 ? run->threads : threads_count();
	if (s->values.count < 10000)
		s->workers = 1;
	if (s->workers > s->rows)
		s->workers = (int)s->rows;
	s->scratch = NEWN(run->arena, struct item *, s->workers);
	for (int i = 0; i < s->workers; i++)
		s->scratch[i] = arena_alloc(run->arena, 2 * (size_t)s->n * sizeof(struct item));
	struct eval_part sort = { .fn = sort_all, .user = s };
	vec_push(run->arena, ready, sort);
	return 0;
}
