/* Picks: the condition of all elements first, then each row by chunks of lanes. A chunk's elements are compared with
 * those picked before, and with each that is picked among them. */
#include <string.h>

#include "eval/nest.h"

struct pick_stage {
	const struct eval_buffer *out;
	const struct eval_buffer *open; /* whether `where` holds: contiguous rows of n; null: always */
	int64_t n, m, inner; /* elements of a row, of the result's; inner: stride in the result along a row */
	int value;           /* register */
	int chunk, picked;   /* loops over chunks of elements, and over those picked before; -1: none */
};

static int64_t place_of(const struct pick_stage *s, int64_t row, int64_t q)
{
	return (row / s->inner * s->m + q) * s->inner + row % s->inner;
}

/* Removes the chunk's elements for which the value holds with the element `before`; `fresh`: the first of its chunk. */
static bool remove_lanes(const struct nest *n, struct nest_worker *w, int64_t before, bool fresh, bool *removed)
{
	const struct pick_stage *s = n->stage;
	w->at[s->picked] = before;
	nest_set(n, w, s->picked);
	if (!eval_code_run(&w->body, fresh ? s->chunk + 1 : s->picked + 1, n->loops))
		return false;
	const int32_t *value = w->body.r[s->value];
	for (int l = 0; l < w->body.n; l++)
		removed[l] |= value[l] != 0;
	return true;
}

/* Picks from the chunk; *count: so many of the row. Sets *ended where the row ends. */
static bool pick_chunk(const struct nest *n, struct nest_worker *w, int64_t row, int64_t *count, bool *ended)
{
	const struct pick_stage *s = n->stage;
	int64_t first = w->at[s->chunk] * n->space.lanes;
	bool removed[EVAL_LANES] = { false }, fresh = true;
	for (int64_t q = 0; q < *count && s->picked >= 0; q++, fresh = false) {
		int64_t before = type_load_int(s->out->type, s->out->data, place_of(s, row, q));
		if (!remove_lanes(n, w, before, fresh, removed))
			return false;
	}
	for (int l = 0; l < w->body.n && *count < s->m; l++) {
		int64_t own = first + l;
		*ended = s->open && !type_load_int(TYPE_BOOL, s->open->data, row * s->n + own);
		if (*ended)
			break;
		if (removed[l])
			continue;
		type_store_int(s->out->type, s->out->data, place_of(s, row, (*count)++), own);
		if (s->picked < 0)
			continue;
		if (!remove_lanes(n, w, own, fresh, removed))
			return false;
		fresh = false;
	}
	return true;
}

static bool pick_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct pick_stage *s = n->stage;
	int64_t row = nest_position(n, unit), count = 0;
	bool ended = false;
	if (s->n > 0 && !eval_code_run(&w->body, first, n->outer))
		return false;
	for (int64_t c = 0; c < n->loop[s->chunk].extent && count < s->m && !ended; c++) {
		w->at[s->chunk] = c;
		nest_set(n, w, s->chunk);
		if (!pick_chunk(n, w, row, &count, &ended))
			return false;
	}
	for (; count < s->m; count++)
		type_store_int(s->out->type, s->out->data, place_of(s, row, count), -1);
	return true;
}

/* A buffer for the condition of all elements, and the part that computes it. */
static int prepare_where(struct eval_run *run, const struct ir_stage *stage, struct pick_stage *s,
                         struct eval_ready *ready)
{
	struct eval_buffer *b = NEW(run->arena, struct eval_buffer);
	*b = *s->out;
	b->type = TYPE_BOOL;
	b->dim[stage->axis] = 1;
	b->dim[b->rank++] = s->n;
	if (__builtin_mul_overflow(s->out->count / s->m, s->n, &b->count))
		return err_set(run->err, ERR_MODEL, "Program %s, stage %s: there are too many elements to pick from.",
		               run->program->name, run->stage);
	b->data = arena_alloc(run->arena, (size_t)type_bytes(b->type, b->count) + 16);
	s->open = b;
	return eval_map(run, b, stage->where, ready);
}

int eval_pick(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	struct pick_stage *s = NEW(run->arena, struct pick_stage);
	struct nest *n = NEW(run->arena, struct nest);
	int rank = stage->out->rank;
	*s = (struct pick_stage){ .out = &run->buffer[stage->out->id], .inner = 1, .picked = -1 };
	TRY(eval_extent(run, stage->space[0], &s->n));
	s->m = s->out->dim[stage->axis];
	if (s->out->count == 0)
		return 0;
	for (int axis = stage->axis + 1; axis < rank; axis++)
		s->inner *= s->out->dim[axis];
	if (stage->where)
		TRY(prepare_where(run, stage, s, ready));
	n->run = run;
	n->unit = pick_unit;
	n->stage = s;
	nest_space_of(&n->space, s->out);
	n->space.extent[stage->axis] = 1;
	for (int k = 0; k < 2; k++)
		n->space.extent[n->space.rank++] = s->n;
	nest_lanes(&n->space, rank, rank + 1);
	eval_code_init(&n->body, run, &n->space, run->arena);
	TRY(eval_compile(&n->body, stage->value, -1, &s->value));
	s->value = eval_splat_lanes(&n->body, s->value);
	nest_loops(n, rank);
	s->chunk = n->loops - 1;
	if (s->n > 1)
		s->picked = n->loops;
	nest_inner_loops(n, rank + 1, rank + 2, false);
	nest_finish(n);
	nest_ready(n, 0, ready);
	return 0;
}
