/* Inside the kernel of a loop with some lanes for each unit. loop_lanes_view.c: elements, expressions, stores;
 * loop_lanes_sum.c: sums; loop_lanes_emit.c: what is loaded ahead, and the whole. See loop_lanes.h. */
#ifndef TPAT_SCHED_LOOP_LANES_KERNEL_H
#define TPAT_SCHED_LOOP_LANES_KERNEL_H

#include "sched/build/emit.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_lanes.h"

/* Arrays for the parts of a stage, by copy, and for a sum's also by point. */
struct lanes_arrays {
	const struct ir_variable *held[LANES_HELD], *early[LANES_HELD], *next[LANES_HELD], *vector[LANES_HELD];
};

struct lanes_emitter {
	const struct lanes_loop *l;
	const struct grid_loop *g;
	struct ir_program *p;
	int lanes, threads;
	expr thread, lane, unit, row, mine; /* mine: this lane stores the unit's results; null: each lane does */
	expr axis[IR_MAX_RANK];             /* the row's */
	expr turn;
	const struct ir_buffer **all;   /* by buffer id: published elements of two turns, in shared memory */
	const struct ir_variable **own; /* by buffer id: the unit's elements */
	struct lanes_arrays *arrays;    /* by stage */
};

/* What an expression's names mean at one point of the kernel. */
struct lanes_view {
	struct lanes_emitter *m;
	const struct lanes_stage *s; /* may be null */
	const struct lanes_arrays *arrays;
	expr copy, turn, acc;
	expr axis[2 * IR_MAX_RANK];
	expr item; /* of a sum's step: the neighbour; else null */
};

static inline expr number(const struct lanes_emitter *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

static inline expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static inline expr mul(expr a, expr b)
{
	return ir_binary(IR_MUL, a, b);
}

/* The unit's element `copy` of a buffer. */
expr lanes_own(const struct lanes_emitter *m, const struct ir_buffer *b, expr copy);
/* Where the element `place` of a row is in shared memory, as of that turn. */
expr lanes_place_of_turn(const struct lanes_emitter *m, const struct ir_buffer *b, expr turn, expr place);

/* Views of the unit's element `copy` of a buffer, and of what a stage makes. */
struct lanes_view lanes_view_of(struct lanes_emitter *m, const struct ir_buffer *out, expr copy);
struct lanes_view lanes_view_of_stage(struct lanes_emitter *m, int stage, expr copy);
/* An expression of a stage as one of the kernel's; the same with parts of it in arrays, at n indices. */
expr lanes_see(struct lanes_view *v, expr e);
expr lanes_see_with(struct lanes_view *v, expr e, const struct lanes_parts *parts,
                    const struct ir_variable *const *array, int n, const expr *index);

/* Declares an array of registers for `what`: of `rows`, or of rows x n. */
const struct ir_variable *lanes_array(struct lanes_emitter *m, struct ir_block *b, expr what, const char *name,
                                      const char *how, int rows, int n);
/* Declares the unit's elements of a buffer; returns the block for one of them. lanes_set() gives it its value. */
struct ir_block *lanes_for_copies(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr *copy);
void lanes_set(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr copy, expr value,
               bool mutable);
/* Shows other units the unit's elements, as of `turn`; stores them in memory, the row of row 0 at `at`. */
void lanes_publish(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr turn);
void lanes_store_row(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *to,
                     const struct ir_buffer *from, expr at);

/* Loads what a stage's sum keeps in all turns; the sum itself, and what follows it. */
void lanes_load_held(struct lanes_emitter *m, struct ir_block *b, int stage);
void lanes_emit_sum(struct lanes_emitter *m, struct ir_block *b, int stage);

#endif
