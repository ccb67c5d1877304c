/* The kernel of rule rows while it is being built: rows_emit.c, with rows_vectors.c and rows_shifted.c. */
#ifndef TPAT_SCHED_ROWS_KERNEL_H
#define TPAT_SCHED_ROWS_KERNEL_H

#include "sched/row/rows.h"

/* A stage's load of a vector along the row, in registers: array[steps][width]; or of one element per row: variable. */
struct ahead {
	const struct rows_stage *st;
	expr load;
	struct ir_variable *array;
	const struct ir_variable *variable;
	bool shared; /* another stage's, of the same place */
};

struct row_kernel {
	struct rows *r;
	struct ir_program *p;
	int lanes, width, steps;  /* serial: 1, 1, 0; width: of the current loop's vectors */
	int wide;                 /* the width of the steps' vectors */
	int tail;                 /* the width of a vector that each lane has after its steps; 0: none */
	int blocks;               /* that share a row, a cluster, each with its part of the lanes; 1: no cluster */
	expr thread;              /* in a cluster: the thread's number in its block */
	int held;                 /* number of steps in registers; they come first */
	struct ir_buffer *shared; /* the lanes' vectors of the other steps; null: all are in registers */
	bool rest;                /* the current loop goes over the steps in shared memory */
	bool ending;              /* the current loop goes over the vectors after the steps */
	bool serial, once, ahead;
	const struct rows_stage *st; /* the current stage */
	expr row, at;                /* variables: the row; the first element of the vector along it */
	expr place;   /* the same of a vector that may lie past the row's end, if `at` need not; null: `at` */
	expr step, v; /* register indices */
	expr axis[2 * IR_MAX_RANK]; /* of the current stage */
	expr acc;
	bool vectors; /* contiguous loads have been replaced by vectors */
	struct {
		VEC(expr);
	} along; /* vectors along the row that are not of the row itself */
	struct {
		VEC(struct ir_variable *);
	} along_array;
	struct {
		VEC(struct ahead);
	} loaded;                   /* before the first stage */
	expr from[ROWS_MAX_CACHED]; /* variables: start of the row in each cached input; null: row * length */
	struct rows_kept kept[2];   /* of the steps; of the vectors after them */
	/* Shifted kernels: see rows_shifted.c. */
	bool shifted;
	int begin;      /* the first step of the current loop */
	expr first;     /* position of the aligned vector that holds the row's first element */
	expr last;      /* position of the last whole vector of all rows */
	expr last_tail; /* the same for the vectors after the steps */
	expr row_last;  /* of the last vector with elements of the row, or `last`; null: `last` serves */
	expr element; /* the current element's index along the row; of a neighbouring row's element, the nearest one */
	expr inside;  /* a bool: the current element is the row's; null: it is */
};

/* The array of a cached input: NAME_v, with a number if an earlier one is of the same buffer; NAME_rest in shared
 * memory. */
struct ir_variable *rows_array(const struct row_kernel *k, int cached);

/* Begins the row's loops number `part`: over the steps in registers, then over those in shared memory, or over the
 * vectors after the steps. False if there are no more. rows_part_end() ends them. */
bool rows_part(struct row_kernel *k, int part);
void rows_part_end(struct row_kernel *k);
/* The loop over this lane's vectors of the row: `at` is the first element. If `clamped`, a vector past the row's end
 * is the row's last one, for loads into registers that nothing reads: a guard would be a branch around each load, and
 * every load would wait for the one before. */
struct ir_block *rows_each_vector(struct row_kernel *k, struct ir_block *b, expr lane, bool clamped);
/* Loads a vector of a cached input into a declared array, or a row of it; or declares the array. */
void rows_load_cached(struct row_kernel *k, struct ir_block *b, int cached, expr row, bool declared);
/* The comment of a kernel: its stages' text; and the rule's sentences for its own lanes and vectors, which differ from
 * the choice's in kernels for other rows. */
const char *rows_text(const struct row_kernel *k);
const char *rows_method(const struct row_kernel *k, const struct sched_choice *c);
/* What the current stage's load was loaded into before the first stage; null: nothing. */
const struct ahead *rows_ahead_of(const struct row_kernel *k, expr load);

/* Stores or loads a lane's vector in shared memory, which no other lane reads. */
void rows_move_shared(struct row_kernel *k, struct ir_block *b, bool store);

/* Emits all stages (rows_emit.c); `lane`: the thread's number among those of its row. */
void rows_all_stages(struct row_kernel *k, struct ir_block *b, expr lane);

/* ---- Shifted kernels (rows_shifted.c). */

/* shifted_begin: emits the row's positions. shifted_each_vector: emits the loop over the lane's vectors that hold
 * elements of the row, and returns its body. shifted_element: inside the loop over a vector's elements, emits the place
 * of an element and whether it belongs to the row. */
void shifted_begin(struct row_kernel *k, struct ir_block *b);
struct ir_block *shifted_each_vector(struct row_kernel *k, struct ir_block *b, expr lane);
void shifted_element(struct row_kernel *k);
/* Loads the row into declared arrays. */
void shifted_load(struct row_kernel *k, struct ir_block *b, expr lane);
/* Stores the elements of a vector that belong to the row. */
void shifted_store(struct row_kernel *k, struct ir_block *b, const struct ir_buffer *out, struct ir_variable *result);
/* Guards the kernel: a whole row must fit into the lanes' vectors. */
void shifted_needs(const struct row_kernel *own, struct ir_kernel *k);

#endif
