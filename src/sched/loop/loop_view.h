/* Inside src/sched/: expressions and elements of a loop's body at one position of its kernel. */
#ifndef TPAT_SCHED_LOOP_VIEW_H
#define TPAT_SCHED_LOOP_VIEW_H

#include "sched/loop/loop.h"

enum { WARP = 32 };

struct emitter {
	const struct loop_plan *l;
	struct ir_program *p;
	bool serial;             /* emits the serial twin */
	expr thread, warp, lane; /* unset if serial */
	expr first_row, rows;    /* first row and number of rows of the block */
	expr lead[IR_MAX_RANK];  /* the row's axes, if a block has one row */
	struct {
		expr index, name;
	} loop[IR_MAX_LOOPS];
	int loops;
};

/* The values of an expression's names at one point of the kernel. */
struct view {
	struct emitter *m;
	const struct loop_item *item;
	int entry;                   /* index in the item */
	const struct ir_buffer *out; /* the buffer whose element is being made, at `element`; null: none */
	expr element, row;           /* indices among the block's elements and rows */
	expr axis[2 * IR_MAX_RANK];
	expr acc;
};

expr index_of(const struct emitter *m, int64_t x);
/* The variable that holds a thread's element of a buffer. */
const struct ir_variable *register_of(const struct emitter *m, const struct ir_buffer *b);
/* `e` with its names replaced by their values. */
expr see(struct view *v, expr e);
/* The position of the indices among the block's elements of `b`. Ignores the leading (row) indices. */
expr place_in_block(const struct view *v, const struct ir_buffer *b, const expr *index);
/* Converts that position to one in *memory, a shared or a global buffer. */
expr in_memory(const struct emitter *m, const struct ir_buffer *b, expr place, const struct ir_buffer **memory);
void store(struct view *v, struct ir_block *b, const struct ir_buffer *to, expr place, expr value);
/* Loops over `local` elements of each of the block's rows with `workers` workers, this one being `worker`. */
struct ir_block *for_elements(struct emitter *m, struct ir_block *b, expr local, expr worker, int workers,
                              expr *element);
/* Marks the axes that n expressions (or null) use once loads at the element's own position are replaced. */
void used_axes(struct view *v, int n, const expr *e, bool *used);
/* Declares an element's axes: the row's, then the `rank` - lead others of extents dim[lead..]; v->axis[k] is axis k. */
void declare_place(struct view *v, struct ir_block *b, expr element, int rank, const expr *dim,
                   const char *const *names, const bool *used);
/* Emits a comment such as "gates: a warp an element". */
void comment_item(struct emitter *m, struct ir_block *b, const struct loop_item *item, const char *how);

/* Stages that are an item of their own: LOOP_UPDATES, LOOP_SCAN, LOOP_SORT, LOOP_PICK. */
void emit_updates(struct emitter *m, struct ir_block *b, const struct loop_item *item);
void emit_scan(struct emitter *m, struct ir_block *b, const struct loop_item *item);
void emit_sort(struct emitter *m, struct ir_block *b, const struct loop_item *item);
void emit_pick(struct emitter *m, struct ir_block *b, const struct loop_item *item);

#endif
