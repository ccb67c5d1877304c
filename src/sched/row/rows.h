/* Row programs: neighbouring stages of a program that all work on the same rows, so that a row can stay with the
 * threads that made it. Softmax, norms and their like: reductions along a row, values of a row, then maps over its
 * elements. */
#ifndef TPAT_SCHED_ROWS_H
#define TPAT_SCHED_ROWS_H

#include "sched/rule.h"

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
	int arch; /* whose kernels with much shared memory these are */
	struct ir_program *p;
	expr count, length;
	int stages;
	struct rows_stage stage[ROWS_MAX_STAGES];
	int cached; /* what a row is made of */
	struct rows_cached {
		const struct ir_buffer *buf;
		expr from; /* where the row begins in it, over the row axes of `stage`: a row that an index chooses, a
		            * mask of several rows; null: the buffer's elements are the rows' own */
		int stage; /* the first one that reads it */
	} cache[ROWS_MAX_CACHED];
	int reductions, maps;
	bool store_all; /* also what nobody is known to read */
	bool backwards; /* the last rows first: whoever reads them all again finds the first ones in a cache */
	expr needs;     /* what kernels need of the extents, or null */
};

/* The longest run of stages from s on that is a row program; false when s begins none. */
bool rows_match(struct rows *out, struct ir_program *p, const struct ir_stage *s);
/* The same of n stages that need not be the program's; also where nothing is read in the rows' order. */
int rows_match_stages(struct rows *out, struct ir_program *p, struct ir_stage *const *stage, int n);
/* Kernels that make all stages of the rows (rule_rows.c), c: of sched_rows. The last one, which does for all extents
 * unless the rows have needs of their own, is left out when `others` follow. */
void rows_apply(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c, bool others);
/* Which buffer made by an earlier stage of the rows a load reads at its own row; -1: none. */
int rows_value_of(const struct rows *r, const struct rows_stage *st, expr load);
/* What of the row's cache a load reads; -1: nothing. */
int rows_cached_of(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether a load is at the element's own place. */
bool rows_is_own(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether a load of what is not the rows' own runs along the row with it, and starts at the same place in all rows:
 * a scale, a bias. */
bool rows_runs_along(const struct rows *r, const struct rows_stage *st, expr load);
/* Whether what a stage makes is read by others than those of the rows, or is an output. */
bool rows_stored(const struct rows *r, int stage);

/* ---- What they take (rows_cost.c). */
/* 32-bit registers that hold one element of the row. */
double rows_registers_each(const struct rows *r);
/* Of a lane's steps those in registers; the bytes of a block's others, which are in shared memory: more than every GPU
 * has. */
int rows_steps_held(const struct rows *r, int lanes, int width, int steps);
int rows_shared_bytes(const struct rows *r, int lanes, int width, int steps);
/* Whether a lane with so many elements keeps what several stages make of each; 32-bit registers that results of
 * functions take then, an element: all else takes the place of what it is made of. */
bool rows_keeps(int elements);
int rows_registers_kept(const struct rows *r, int elements);
/* Rows that a block makes: a warp has several where they are short. */
int rows_of_block(int lanes);
/* Blocks of so many threads that are to be on a multiprocessor at once; 0: no matter. */
int rows_resident(const struct rows *r, int lanes, int elements);
double rows_estimate(const struct sched_site *site, const struct sched_choice *c);

/* ---- Values of an element that later stages need again (rows_kept.c): x - mean in a norm, exp(x - largest) in a
 * softmax. A value is kept in an array of registers by the first stage that makes it, and the others read it there.
 * Expressions are those of the kernel. */
enum { ROWS_MAX_KEPT = 2 };

struct rows_kept {
	int n, from[ROWS_MAX_KEPT]; /* the stage that makes it */
	expr value[ROWS_MAX_KEPT];
	struct ir_variable *array[ROWS_MAX_KEPT];
};

/* Whether an expression has work that is worth a register of its own: functions. */
bool rows_kept_work(expr e);
/* By the stages' expressions (null: none): what to keep. */
void rows_kept_find(struct rows_kept *k, int stages, const expr *value);
/* The stage's expression with what is kept; stores into the arrays, at [step][item], what this stage is the first to
 * make. */
expr rows_keep(const struct rows_kept *k, struct ir_program *p, struct ir_block *b, int stage, expr value, expr step,
               expr item);

#endif
