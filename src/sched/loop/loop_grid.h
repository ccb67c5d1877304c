/* Inside src/sched/: a loop by many blocks that run at the same time and pass values on to each other.
 *
 * The elements of a row (loop.h) are cut into `units`: element number f of a buffer with copies * units elements a row
 * belongs to unit f % units, as the gates of an LSTM with its hidden element. A block makes some units of some rows in
 * all turns, with what it reads of constants in registers. A load at the element's own unit reads the block's own
 * results, in shared memory. Of a buffer that is read elsewhere, blocks publish their elements as words in global
 * memory (tpat_words.h), and all blocks of the rows take the whole of it into their shared memory. */
#ifndef TPAT_SCHED_LOOP_GRID_H
#define TPAT_SCHED_LOOP_GRID_H

#include "sched/loop/loop.h"

/* A stage, or a copy that stores no result of its own. */
struct grid_entry {
	const struct ir_stage *stage;
	bool makes; /* stage->out */
	struct {
		VEC(const struct ir_collect *);
	} collects; /* it is collected there */
	struct {
		VEC(const struct ir_carry *);
	} carries; /* these states' next value, stored when all entries of the item have read the old one */
};

struct grid_item {
	bool wait_take, wait; /* barriers of the block before it takes, and before its entries */
	bool reduces;         /* one entry, a warp an element; else a thread an element of all entries */
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

/* A choice's parameters, and numbers that follow. */
struct grid_shape {
	int threads, units, rows; /* of a block */
	bool holds;               /* constants of the reductions in registers */
	int64_t slices;           /* blocks of a row */
	int warps;
};

/* Returns null, and *why as a clause, if the loop cannot be cut. */
const struct grid_loop *grid_find(struct ir_program *p, const struct ir_stage *s, const char **why);
/* Position of the indices in their row of b. */
expr grid_place(struct ir_program *p, int lead, const struct ir_buffer *b, const expr *index);
/* Writes out's axes lead ... from the position in a row. */
void grid_axes(struct ir_program *p, int lead, const struct ir_buffer *out, expr place, expr *axis);
/* Number of elements of the last row axis; 1 if there is none. */
expr grid_rows(const struct grid_loop *g);
/* The product of the row axes before it. */
expr grid_outer(const struct grid_loop *g);

struct grid_shape grid_shape_of(const struct grid_loop *g, const struct sched_choice *c);
/* Elements of the item that each warp makes, for a row; rows that a warp adds up at a time; steps of a lane. */
int grid_outputs(const struct grid_item *item, const struct grid_shape *s);
int grid_rows_at_once(const struct grid_item *item, const struct grid_shape *s);
int grid_steps(const struct grid_loop *g, const struct grid_item *item);
/* The largest expressions of a reduction's value that hold for all turns and rows of a block, which registers can keep.
 * Appends them to `out`, at most `most`; returns their number. */
int grid_constants(const struct grid_loop *g, const struct grid_item *item, const struct grid_shape *s, expr *out,
                   int most);
/* Words that a thread takes of a published buffer. */
int grid_taken(const struct grid_loop *g, const struct grid_shape *s, const struct ir_buffer *b);
/* Registers of a thread for what it holds, sums up and takes; bytes of shared memory of a block. */
int grid_registers(const struct grid_loop *g, const struct grid_shape *s);
int64_t grid_shared_bytes(const struct grid_loop *g, const struct grid_shape *s);

/* Emits the body of a kernel of p, which may be a copy of the program of `g`. words: the published elements, of u64,
 * zero before the kernel starts. */
void grid_emit(struct ir_program *p, const struct grid_loop *g, const struct grid_shape *s,
               const struct ir_buffer *words, struct ir_kernel *k);
/* Number of words. */
expr grid_words(const struct grid_loop *g);

/* Adds the kernels of a choice of loop_block to a step. */
void loop_block_add(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct sched_choice *c);
/* The best such choice for GPUs that have nothing special. */
struct sched_choice loop_block_usual(struct ir_program *p, const struct ir_stage *s);

#endif
