/* Inside src/sched/: expressions and elements of a loop's body at one place of its kernel. */
#ifndef TPAT_SCHED_LOOP_VIEW_H
#define TPAT_SCHED_LOOP_VIEW_H

#include "sched/loop/loop.h"

enum { WARP = 32 };

struct emitter {
	const struct loop_plan *l;
	struct ir_program *p;
	bool serial;             /* one processor does the work of a block */
	expr thread, warp, lane; /* not when serial */
	expr first_row, rows;    /* the block's */
	expr lead[IR_MAX_RANK];  /* the axes of the only row */
	struct {
		expr index, name;
	} turn[IR_MAX_LOOPS];
	int turns;
};

/* What the names in an expression stand for at one place of the kernel. */
struct view {
	struct emitter *m;
	const struct loop_item *item;
	int entry;                   /* of the item */
	const struct ir_buffer *out; /* whose own place is `element`; null: none */
	expr element, row;           /* places among the block's: of the element, of its row */
	expr axis[2 * IR_MAX_RANK];
	expr acc;
};

expr index_of(const struct emitter *m, int64_t x);
/* What a thread holds of a buffer's element. */
const struct ir_variable *register_of(const struct emitter *m, const struct ir_buffer *b);
/* `e` with what its names stand for. */
expr see(struct view *v, expr e);
/* Where among the block's elements of `b` the indices are, of which the leading ones are not looked at. */
expr place_in_block(const struct view *v, const struct ir_buffer *b, const expr *index);
/* From there to where that is in memory. */
expr in_memory(const struct emitter *m, const struct ir_buffer *b, expr place, const struct ir_buffer **memory);
void store(struct view *v, struct ir_block *b, const struct ir_buffer *to, expr place, expr value);
/* A pass over `local` elements of each of the block's rows by `workers`, of whom this is `worker`. */
struct ir_block *for_elements(struct emitter *m, struct ir_block *b, expr local, expr worker, int workers,
                              expr *element);
/* Which axes n expressions (or null) still need when own places are known. */
void used_axes(struct view *v, int n, const expr *e, bool *used);
/* The axes of an element: the row's, then `rank` - lead others of extents dim[lead..]; v->axis[k] is axis k. */
void declare_place(struct view *v, struct ir_block *b, expr element, int rank, const expr *dim,
                   const char *const *names, const bool *used);
/* "gates: a warp an element" */
void comment_item(struct emitter *m, struct ir_block *b, const struct loop_item *item, const char *how);

/* Stages that are an item of their own: LOOP_UPDATES, LOOP_SCAN, LOOP_SORT. */
void emit_updates(struct emitter *m, struct ir_block *b, const struct loop_item *item);
void emit_scan(struct emitter *m, struct ir_block *b, const struct loop_item *item);
void emit_sort(struct emitter *m, struct ir_block *b, const struct loop_item *item);

#endif
