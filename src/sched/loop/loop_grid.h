/* Inside src/sched/: a loop by many blocks that run at the same time and exchange values, or by one block a row.
 *
 * The elements of a row (loop.h) are divided into `units`: in a buffer with copies * units elements per row, element f
 * belongs to unit f % units. In an LSTM a unit is a hidden element with its gates. A block computes some units of some
 * rows in all turns, and keeps the constants that it needs in registers. A load at the element's own unit reads the
 * block's own results, in shared memory. If a buffer is also read at other units, blocks publish its elements as words
 * in global memory (tpat_words.h), and every block of the rows copies the whole buffer to its shared memory. A block
 * that has all units of its rows copies its own elements instead, and waits for no other. Where the blocks' units do
 * not divide a row, the last block begins earlier; it computes what the block before makes, too, but does not store it.
 */
#ifndef TPAT_SCHED_LOOP_GRID_H
#define TPAT_SCHED_LOOP_GRID_H

#include "sched/loop/loop.h"

/* A stage, or a copy that stores no result of its own. */
struct grid_entry {
	const struct ir_stage *stage;
	bool makes; /* stage->out */
	struct {
		VEC(const struct ir_collect *);
	} collects; /* buffers that collect it */
	struct {
		VEC(const struct ir_carry *);
	} carries; /* states that this becomes, stored after all entries of the item have read the old values */
};

struct grid_item {
	bool wait_take[2], wait[2]; /* block barriers before its takes, and before its entries; [1]: in a block with all
	                               units */
	bool reduces; /* one entry, with a warp per element; else a thread computes an element of every entry */
	int copies;
	struct {
		VEC(struct grid_entry);
	} entries;
	struct {
		VEC(const struct ir_buffer *);
	} takes; /* buffers whose published elements it waits for */
};

/* The result of match(). Arrays are by buffer id. */
struct grid_loop {
	struct ir_program *p;
	const struct ir_stage *s;
	int lead, buffers;
	int64_t units;
	int *copies;     /* 0: not made by the loop */
	bool *published; /* read at other units */
	bool *kept;      /* in the block's shared memory: read at its own units by a later item */
	struct {
		VEC(struct grid_item);
	} items;
};

/* A choice's parameters, and numbers derived from them. */
struct grid_shape {
	int threads, units, rows; /* of a block */
	bool holds;               /* keeps constants of the reductions in registers */
	int64_t slices;           /* blocks of a row */
	bool alone;               /* one: a block has all units of its rows */
	bool overlap;             /* the last block shares units with the one before */
	int warps;
};

/* Divides a loop into units. Returns null, and *why as a clause, if that is impossible. */
const struct grid_loop *grid_find(struct ir_program *p, const struct ir_stage *s, const char **why);
/* True if the loop makes the buffer. */
static inline bool grid_inside(const struct grid_loop *g, const struct ir_buffer *b)
{
	return b->id < g->buffers && g->copies[b->id];
}
/* Where a stage that makes `out` reads such a buffer: at the element itself, at its unit, or elsewhere. */
enum grid_where { GRID_AT_OTHER, GRID_AT_UNIT, GRID_AT_ELEMENT };
enum grid_where grid_where(const struct grid_loop *g, const struct ir_buffer *out, expr load);
/* Position of the indices in their row of b. */
expr grid_place(struct ir_program *p, int lead, const struct ir_buffer *b, const expr *index);
/* Writes out's axes lead ... from the position in a row. */
void grid_axes(struct ir_program *p, int lead, const struct ir_buffer *out, expr place, expr *axis);
/* Number of elements of the last row axis; 1 if there is none. */
expr grid_rows(const struct grid_loop *g);
/* The product of the row axes before it. */
expr grid_outer(const struct grid_loop *g);

struct grid_shape grid_shape_of(const struct grid_loop *g, const struct sched_choice *c);
/* grid_outputs: elements of a row that each warp computes for the item. grid_rows_at_once: rows that a warp accumulates
 * at the same time. grid_steps: steps of a lane along the reduced axes. */
int grid_outputs(const struct grid_item *item, const struct grid_shape *s);
int grid_rows_at_once(const struct grid_item *item, const struct grid_shape *s);
int grid_steps(const struct grid_loop *g, const struct grid_item *item);
/* Finds the largest subexpressions of a reduction's value that are the same in all turns and rows of a block, so that
 * registers can keep them. Writes at most `most` to `out` and returns their number. */
int grid_constants(const struct grid_loop *g, const struct grid_item *item, const struct grid_shape *s, expr *out,
                   int most);
/* Finds the largest subexpressions that load from memory and depend on no result of the loop, and that can be computed
 * for every element in every turn. Writes at most `most` to `out` and returns their number. */
int grid_early_parts(const struct grid_loop *g, expr value, expr *out, int most);
/* Number of words that a thread reads from a published buffer. */
int grid_taken(const struct grid_loop *g, const struct grid_shape *s, const struct ir_buffer *b);
/* grid_registers: registers of a thread for kept constants, accumulators and words read. grid_shared_bytes: shared
 * memory of a block. */
int grid_registers(const struct grid_loop *g, const struct grid_shape *s);
int64_t grid_shared_bytes(const struct grid_loop *g, const struct grid_shape *s);
/* True if a block has an array of its own elements of buffer id. `alone`: a block with all units. */
static inline bool grid_has_own(const struct grid_loop *g, bool alone, int id)
{
	return g->kept[id] || (alone && g->published[id]);
}

/* Emits the body of a kernel of p, which may be a copy of the program of `g`. words: the published elements as u64, all
 * zero when the kernel starts; null in blocks with all units. */
void grid_emit(struct ir_program *p, const struct grid_loop *g, const struct grid_shape *s,
               const struct ir_buffer *words, struct ir_kernel *k);
/* Number of words. */
expr grid_words(const struct grid_loop *g);

/* Adds the kernels of a choice of loop_block to a step. */
void loop_block_add(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct sched_choice *c);
/* The best such choice for the target of fallback kernels (sched_common_target()). */
struct sched_choice loop_block_usual(struct ir_program *p, const struct ir_stage *s);

#endif
