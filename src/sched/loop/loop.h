/* Inside src/sched/: a loop as the work of one kernel, between the stages of its body and the kernel's statements.
 *
 * A block makes some *rows* of everything that the loop makes: positions of the leading axes along which no element of
 * the body depends on another. A row's elements are *local*: loop_local() of a buffer. The body becomes a list of
 * items, each the work of all threads, between which the block waits where one reads or overwrites what other threads
 * wrote. */
#ifndef TPAT_SCHED_LOOP_H
#define TPAT_SCHED_LOOP_H

#include "sched/rule.h"

enum loop_item_kind {
	LOOP_ELEMENTS, /* a thread makes an element of each entry: maps, short reductions, copies */
	LOOP_LANES,    /* a warp makes an element of a reduction, or the block where there are few: loop_is_wide() */
	LOOP_UPDATES,  /* a thread applies an update of a scatter */
	LOOP_SCAN,     /* a thread makes a line of a scan */
	LOOP_SORT,     /* a thread counts what comes before an element */
	LOOP_TURNS,    /* another loop, or the loop itself */
};

/* A value an element. */
struct loop_entry {
	const struct ir_stage *stage; /* a map or a reduction, of the body or made for a copy */
	bool makes;                   /* stage->out, and is no copy */
	bool late;                    /* stored behind all entries of its item: next values of states */
	bool saved;                   /* a state's last value, from shared memory to its own place */
	const struct ir_buffer *to;   /* in whose place it is stored; null: it is only read in its own item */
	struct {
		VEC(const struct ir_collect *);
	} collects; /* where it is stored, too */
};

struct loop_item {
	enum loop_item_kind kind;
	bool sync;                    /* the block waits before it; of turns: before their condition */
	const struct ir_stage *stage; /* of the body; LOOP_ELEMENTS: none */
	struct {
		VEC(struct loop_entry);
	} entries; /* LOOP_ELEMENTS: of one shape; LOOP_LANES: one */
	struct {
		VEC(struct loop_item);
	} body; /* LOOP_TURNS */
};

struct loop_plan {
	struct ir_program *p;
	const struct ir_stage *stage;
	int threads, lanes, rows_a_block; /* lanes: 1 or 32 */
	bool share;                       /* small buffers in shared memory */
	int lead;                         /* axes of the rows */
	expr rows;                        /* in all */
	struct {
		VEC(struct loop_item);
	} items;
	/* By id of a buffer. */
	bool *inside;                  /* made by the loop: its body's buffers and states */
	bool *needed;                  /* has a place in memory */
	const struct ir_buffer **home; /* in whose place it lies: its own, or that of the state whose next value it
	                                * is */
	struct ir_buffer **shared;     /* the array in shared memory, or null */
	bool *scattered;
};

/* The leading axes along which the loop's rows are independent. */
int loop_lead(const struct ir_stage *loop);
/* Everything in order, for `choice`. Null, and why, when a stage of the body cannot be run so. */
struct loop_plan *loop_plan_new(struct ir_program *p, const struct ir_stage *loop, const struct sched_choice *choice);
/* Elements of a row. */
expr loop_local(const struct loop_plan *l, int rank, const expr *dim);
/* The out buffer of an entry or a load of it at the space's own place. */
bool loop_is_own(expr load, const struct ir_buffer *out);
/* Whether a load at its own place finds what an entry before `entry` of the item made. */
bool loop_in_register(const struct loop_item *item, int entry, expr load);
/* Calls fn for each load in e, which may be null. */
void loop_each_load(expr e, void (*fn)(void *user, expr load), void *user);
/* Whether the block as a whole makes each element of a LOOP_LANES item: its threads wait for each other then. */
bool loop_is_wide(const struct loop_plan *l, const struct loop_item *item);
/* Whether threads would meet when the item makes the entry too: one reads or overwrites what another stores. */
bool loop_meets(const struct loop_plan *l, const struct loop_item *item, const struct loop_entry *e);
/* Finds the items before which the block waits. */
void loop_waits(struct loop_plan *l);
/* The statements of the whole kernel. `serial`: for a block's work on one processor. */
void loop_emit(const struct loop_plan *l, struct ir_kernel *k, struct ir_block *b, bool serial);

#endif
