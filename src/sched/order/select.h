/* Inside src/sched/order/: kernels that find the first k of rows. One block finds them in a row, or several in parts of
 * it and another one among those. Each rule says with which device function. */
#ifndef TPAT_SCHED_SELECT_H
#define TPAT_SCHED_SELECT_H

#include "sched/order/sort.h"
#include "sched/build/emit.h"

enum select_kernel {
	SELECT_PARTS, /* a block finds the first k of a part of a row */
	SELECT_ROW,   /* of a row */
	SELECT_FOUND, /* of what the blocks of its parts found */
};

/* Data shared by the kernels of one stage. A rule sets the first members. */
struct select {
	struct ir_plan *plan;
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_choice *c;
	int keys, threads, parts, items; /* items: that a thread reads at once */
	int most;                        /* largest k */
	/* Makes the object in shared memory that the device function uses. */
	struct ir_variable *(*object)(const struct select *x, enum select_kernel kernel);
	/* Begins the call of the device function, for vectors of `width`. */
	struct ir_call *(*call)(const struct select *x, struct ir_block *b, enum select_kernel kernel, int width);
	bool (*values)(const struct select *x, enum select_kernel kernel); /* it takes values, not keys; null: never */

	expr fits; /* null: always */
	int width;
	expr rows, n, k;
	struct ir_buffer *key, *place; /* [rows][parts][k]: results of the parts */
	/* The current kernel's: kept elements; functions. */
	const struct ir_variable *kept, *keys_of, *place_of, *put;
};

/* Appends the kernels, and those of a radix sort for a larger k. */
void select_apply(struct select *x);

/* ---- The first few of short rows, each by one thread (select_few.c): a choice of sort_select with one item. */

enum { SELECT_FEW_THREADS = 128 };
bool select_few_fits(const struct ir_stage *s); /* known extents, of which registers hold the results */
bool select_few_chosen(const struct sched_choice *c);
void select_few_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c);

/* ---- The first few of rows, each by one warp (select_warp.c): a choice of sort_select with that many keys. */

enum { SELECT_WARP_THREADS = 128, SELECT_WARP_KEYS = 32 };
/* Adds the choices for rows of about n elements. Returns their number. */
int select_warp_choices(const struct ir_stage *s, int64_t n, struct sched_choice *out);
bool select_warp_chosen(const struct sched_choice *c);
void select_warp_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c);

#endif
