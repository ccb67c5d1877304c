/* Row programs: neighbouring stages of a program that all work on the same rows, so that a row can stay with the threads
 * that made it. Softmax, norms and their like: reductions along a row, values of a row, then maps over its elements. */
#ifndef TPAT_SCHED_ROWS_H
#define TPAT_SCHED_ROWS_H

#include "sched/build.h"

enum { ROWS_MAX_STAGES = 12, ROWS_MAX_CACHED = 8 };

/* A stage seen as rows: its expressions over an index space whose first axes count the rows, and whose others run along
 * one. A map's axis may have been split in two for that. */
struct rows_stage {
	const struct ir_stage *s;
	enum rows_kind {
		ROWS_REDUCE, /* one value a row, from its elements */
		ROWS_VALUE,  /* one value a row, from other such values */
		ROWS_MAP,    /* an element for each element */
	} kind;
	expr value, post; /* over that space; post: over its row axes */
	int row_rank, rank;
	expr dim[2 * IR_MAX_RANK];
	expr row_at, at, full; /* positions: of the row, along it, and of the element: row_at * length + at */
};

struct rows {
	struct ir_program *p;
	expr count, length;
	int stages;
	struct rows_stage stage[ROWS_MAX_STAGES];
	int cached; /* buffers that are read at the element's own place: what a row is made of */
	const struct ir_buffer *cache[ROWS_MAX_CACHED];
	bool again[ROWS_MAX_CACHED]; /* read by more than one stage */
	int reductions, maps;
};

/* The longest run of stages from s on that is a row program; false when s begins none. */
bool rows_match(struct rows *out, struct ir_program *p, const struct ir_stage *s);
/* Which buffer made by an earlier stage of the rows a load reads at its own row; -1: none. */
int rows_value_of(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether a load is at the element's own place. */
bool rows_is_own(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether a load of what is not the rows' own runs along the row with it, and starts at the same place in all rows:
 * a scale, a bias. */
bool rows_runs_along(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether what a stage makes is read by others than those of the rows, or is an output. */
bool rows_stored(const struct rows *r, int stage);

#endif
