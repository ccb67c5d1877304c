/* Inside the kernel of a loop by many blocks. loop_grid_view.c: elements, expressions, stores; loop_grid_sum.c:
 * reductions; loop_grid_early.c: reads that need not wait; loop_grid_emit.c: the whole. See loop_grid.h. */
#ifndef TPAT_SCHED_LOOP_GRID_KERNEL_H
#define TPAT_SCHED_LOOP_GRID_KERNEL_H

#include "sched/build/emit.h"
#include "sched/loop/loop_grid.h"

enum { WARP = 32, MOST_HELD = 4, STEPS_UNROLLED = 4, MOST_ENTRIES = 4096 };

/* An expression that is worked out before, in elements of an array. */
struct grid_held {
	expr what;
	int entry; /* of the item */
	const struct ir_variable *array;
};

struct grid_item_held {
	struct grid_held constant[MOST_HELD]; /* by output of the warp, and step */
	struct grid_held early[MOST_HELD];    /* of what follows the sum: by chunk of rows; of elements: one */
	int constants, earlies;
};

struct grid_emitter {
	const struct grid_loop *g;
	const struct grid_shape *s;
	struct ir_program *p;
	const struct ir_buffer *words;
	expr thread, warp, lane;
	expr outer, first_row, rows, rows_here; /* rows_here: of this block, at least 1 */
	expr first_unit, first_new; /* first_new: the first unit that no block before makes; null: first_unit */
	expr axis[IR_MAX_RANK];     /* the row axes but the last */
	expr turn;
	bool whole_rows;               /* all blocks have s->rows rows */
	int64_t each;                  /* words of a row */
	int64_t *first_word;           /* of a row, by buffer id */
	const struct ir_buffer **own;  /* by buffer id: arrays in shared memory, of the block's units */
	const struct ir_buffer **all;  /* of whole rows */
	const struct ir_variable **at; /* places of the words that a thread takes */
	struct grid_item_held *held;   /* by item */
};

/* An element of the block's. */
struct grid_spot {
	expr row, copy, unit, in_unit, place; /* row, unit: in the block and in all; place: in the row */
	expr axis[2 * IR_MAX_RANK];
};

struct grid_view {
	struct grid_emitter *m;
	const struct grid_item *item;
	int entry;
	const struct grid_spot *spot;
	expr acc;
};

static inline expr number(const struct grid_emitter *m, int64_t x)
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

static inline expr quotient(expr a, expr b)
{
	return ir_binary(IR_FLOORDIV, a, b);
}

static inline expr rest(expr a, expr b)
{
	return ir_binary(IR_MOD, a, b);
}

/* The spot of element `place` of the block's copies * units in a row of that number in the block. */
struct grid_spot grid_spot_of(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *out, expr row,
                              expr place);
/* The spot x as one of the entry's, whose shape may differ. */
struct grid_spot grid_spot_for(struct grid_emitter *m, const struct grid_item *item, int entry,
                               const struct grid_spot *x);
/* The block for one of the elements of `out` that each thread makes, and its spot. */
struct ir_block *grid_each_element(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *out,
                                   struct grid_spot *x);
/* The block for a row that may be past the last; that row, or the last. */
struct ir_block *grid_if_row(struct grid_emitter *m, struct ir_block *b, expr row);
expr grid_row_in_range(struct grid_emitter *m, expr row);
/* The block for a spot that no block before makes, where stores to global memory belong. */
struct ir_block *grid_if_new(struct grid_emitter *m, struct ir_block *b, const struct grid_spot *x);
/* The number of the spot's row in all; the place of an element in the block's own array. */
expr grid_row_number(const struct grid_emitter *m, const struct grid_spot *x);
expr grid_own_place(const struct grid_emitter *m, const struct ir_buffer *b, const struct grid_spot *x, expr copy);

/* Where the published element `place` of that row is among the words, in half 0 or 1. */
expr grid_word_at(const struct grid_emitter *m, expr half, expr row, const struct ir_buffer *b, expr place);

/* The variable that holds the value of an entry. */
const struct ir_variable *grid_register(struct grid_emitter *m, const struct grid_item *item, int entry);
/* An expression of a stage as one of the kernel's; the same with held parts replaced by elements of their arrays. */
expr grid_see(struct grid_view *v, expr e);
expr grid_see_held(struct grid_view *v, expr e, const struct grid_held *held, int n, int indices, const expr *index);

/* Stores a value in the block's own array; publishes it; does both and collects it; makes it the next state. */
void grid_keep(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct grid_spot *x,
               expr value);
void grid_publish(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct grid_spot *x,
                  expr turn, expr value);
void grid_use_value(struct grid_view *v, struct ir_block *b, const struct grid_entry *e, expr value);
void grid_store_states(struct grid_view *v, struct ir_block *b, const struct grid_entry *e);

/* Loads what holds in all turns; what is read before the block waits; the reduction itself. */
void grid_emit_constants(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                         struct grid_item_held *h);
void grid_emit_early(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                     struct grid_item_held *h);
void grid_emit_reduction(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                         const struct grid_item_held *h);
/* The element that a lane finishes in a chunk of rows. */
struct grid_spot grid_finished(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item, expr chunk,
                               expr lane);

#endif
