/* Inside src/sched/: a loop as one kernel, between the stages of its body and the kernel's statements.
 *
 * A block makes some *rows* of all the loop's results: positions of the leading axes along which no element of the body
 * depends on another. Positions within a row are *local*: loop_local() counts a buffer's elements per row. The body
 * becomes a list of items, each done by all threads. The block synchronises between two items where one reads or
 * overwrites what other threads wrote. */
#ifndef TPAT_SCHED_LOOP_H
#define TPAT_SCHED_LOOP_H

#include "sched/rule.h"

enum loop_item_kind {
	LOOP_ELEMENTS,   /* one thread per element of each entry: maps, short reductions, copies */
	LOOP_LANES,      /* one warp per element of a reduction, or the block if there are few: loop_is_wide() */
	LOOP_UPDATES,    /* one thread per update of a scatter */
	LOOP_SCAN,       /* one thread per line of a scan */
	LOOP_SORT,       /* one thread per element counts the elements before it */
	LOOP_PICK,       /* one thread per row of a pick */
	LOOP_ITERATIONS, /* iterations of an inner loop, or of the loop itself */
};

/* One value per element. */
struct loop_entry {
	const struct ir_stage *stage; /* a map or a reduction, from the body or made for a copy */
	bool makes;                   /* makes stage->out; false for a copy */
	bool late;                    /* stored after all entries of its item: next values of states */
	bool saved;                   /* stores a state's last value from shared memory to its buffer */
	const struct ir_buffer *to;   /* the buffer in whose memory it is stored; null: only used within its item */
	struct {
		VEC(const struct ir_collect *);
	} collects; /* also stored there */
};

struct loop_item {
	enum loop_item_kind kind;
	bool sync;                    /* a barrier before it; LOOP_ITERATIONS: before the condition */
	const struct ir_stage *stage; /* a stage of the body; LOOP_ELEMENTS: none */
	struct {
		VEC(struct loop_entry);
	} entries; /* LOOP_ELEMENTS: all of one shape; LOOP_LANES: one */
	struct {
		VEC(struct loop_item);
	} body; /* LOOP_ITERATIONS */
};

struct loop_plan {
	struct ir_program *p;
	const struct ir_stage *stage;
	int threads, lanes, rows_a_block; /* lanes: 1 or 32 */
	bool share;                       /* keep small buffers in shared memory */
	int lead;                         /* number of row axes */
	expr rows;                        /* total number of rows */
	struct {
		VEC(struct loop_item);
	} items;
	/* Arrays by buffer id. */
	bool *inside;                  /* made by the loop: buffers of its body, and states */
	bool *needed;                  /* needs memory */
	const struct ir_buffer **home; /* the buffer whose memory it uses: its own, or the state whose next value it is
	                                */
	struct ir_buffer **shared;     /* its array in shared memory, or null */
	bool *scattered;
};

/* Number of leading axes along which the loop's rows are independent. */
int loop_lead(const struct ir_stage *loop);
/* Plans the whole loop for `choice`. The plan is in the program's arena. */
struct loop_plan *loop_plan_new(struct ir_program *p, const struct ir_stage *loop, const struct sched_choice *choice);
/* Elements per row of a shape. */
expr loop_local(const struct loop_plan *l, int rank, const expr *dim);
/* True if the load's buffer has the shape of `out`, and the load reads it at the element being made. */
bool loop_is_own(expr load, const struct ir_buffer *out);
/* True if such a load reads what an entry before `entry` of the item made, which is in a register. */
bool loop_in_register(const struct loop_item *item, int entry, expr load);
/* Calls fn for each load in e, which may be null. */
void loop_each_load(expr e, void (*fn)(void *user, expr load), void *user);
/* True if the whole block makes each element of a LOOP_LANES item, with barriers inside. */
bool loop_is_wide(const struct loop_plan *l, const struct loop_item *item);
/* True if adding the entry to the item would be a race: one thread reads or overwrites what another stores. */
bool loop_meets(const struct loop_plan *l, const struct loop_item *item, const struct loop_entry *e);
/* Sets `sync` of the items that need a barrier before them. */
void loop_waits(struct loop_plan *l);
/* Emits the statements of the whole kernel. `serial`: of its serial twin. */
void loop_emit(const struct loop_plan *l, struct ir_kernel *k, struct ir_block *b, bool serial);

#endif
