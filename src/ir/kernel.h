/* Kernels: what a schedule makes of stages and a printer turns into text. A kernel is a tree of statements over the
 * expression language; loads in it have one index, the row-major position. */
#ifndef TPAT_IR_KERNEL_H
#define TPAT_IR_KERNEL_H

#include "ir/device.h"
#include "ir/ir.h"

/* Kinds of statements, and the member of struct ir_stmt that each has. */
enum ir_stmt_kind {
	IR_COMMENT,       /* comment */
	IR_DECLARE,       /* declare */
	IR_ASSIGN,        /* assign */
	IR_FOR,           /* loop */
	IR_IF,            /* branch; in CUDA a scope alone where its condition is true */
	IR_RETURN_IF,     /* leave */
	IR_BREAK_IF,      /* leave: the innermost loop, in all threads of a block or in none */
	IR_STORE,         /* store */
	IR_UPDATE,        /* update */
	IR_LOAD_VECTOR,   /* vector */
	IR_ARRAY,         /* array */
	IR_SET,           /* set */
	IR_STORE_VECTOR,  /* vector */
	IR_SYNC,          /* sync */
	IR_LANES_COMBINE, /* lanes */
	IR_LANES_SCAN,    /* scan */
	IR_ITEMS_SCAN,    /* items */
	IR_TILE_NEXT,     /* tile */
	IR_TILES_BEFORE,  /* before */
	IR_SHARED,        /* shared */
	IR_LOCAL,         /* local */
	IR_PLACE,         /* place */
	IR_LAMBDA,        /* lambda */
	IR_INVOKE,        /* call */
	IR_SORT_SERIAL,   /* sort */
};

enum { IR_MAP_RANK = 5 }; /* of a tensor map */

/* What a function is given. */
struct ir_arg {
	enum ir_arg_kind {
		IR_ARG_VALUE,    /* value */
		IR_ARG_VARIABLE, /* var, or of an array as many indices as there are: an element, or a row */
		IR_ARG_MEMBER, /* the address of member of such a variable: of at of it, where the member is an array */
		IR_ARG_ADDRESS, /* of buf[at]; `written` */
		IR_ARG_PLACE,   /* { as many indices as there are } */
		IR_ARG_NEW,     /* an object: of type, with the value where it has one */
		IR_ARG_CALL,    /* what another call gives */
	} kind;
	const struct ir_variable *var;
	const struct ir_device_member *member;
	expr value, at, index[IR_MAP_RANK];
	int indices;
	const struct ir_buffer *buf;
	bool written;
	const struct ir_object *type;
	struct ir_call *call;
};

/* The call of a function of the device headers. */
struct ir_call {
	const struct ir_device_function *function;
	struct ir_template of;
	const struct ir_variable *object; /* of a method: whose */
	const struct ir_variable *result; /* declared by the call; null: what it gives, if anything, is not used */
	struct {
		VEC(struct ir_arg);
	} args;
};

/* const type var = value;   or, when mutable: type var = value; */
struct ir_declare {
	const struct ir_variable *var;
	expr value;
	bool mutable;
};

/* var = value; */
struct ir_assign {
	const struct ir_variable *var;
	expr value;
};

/* array[at] = value, or array[row][at] = value */
struct ir_set {
	const struct ir_variable *array;
	expr row, at, value;
};

/* for (index var = from; var < to; var += step) body;   unrolled, of about so many turns; 0: as it is */
struct ir_for {
	const struct ir_variable *var;
	expr from, to, step;
	int unrolled;
	struct ir_block *body;
};

/* if (condition) body; */
struct ir_if {
	expr condition;
	struct ir_block *body;
};

/* buf[at] = value; */
struct ir_store {
	const struct ir_buffer *buf;
	expr at, value;
};

/* buf[at] = combine(buf[at], value), atomically between threads */
struct ir_update {
	const struct ir_buffer *buf;
	expr at, value;
	enum ir_combine combine;
};

/* Between buf[at ...], `at` a multiple of width, and array[width], or row `row` of it. */
struct ir_vector {
	const struct ir_variable *array;
	expr row;
	const struct ir_buffer *buf;
	expr at;
	int width;
	bool once;   /* of data that the kernel has no use for but this, and that is more than caches hold */
	bool stands; /* a load: the array is there; else this declares it */
	expr where;  /* a load: where that does not hold, zeros; or null */
};

/* The threads of a block wait for each other, and see what the others stored. Of the first so many, where the others
 * have ended; 0: of all. */
struct ir_sync {
	int threads;
};

/* var = combine over neighbouring threads of var; for arg reductions `index` is the index. Or of the threads of a block
 * that are `columns` apart, `lanes` of them; with `items`, of each of so many in the array `var`. across: the shared
 * memory that it takes, or null where it is the only one. */
struct ir_lanes {
	const struct ir_variable *var, *index, *across;
	enum ir_combine combine;
	int lanes, columns, items;
};

/* part = combine of `sum` and of part in the neighbouring threads up to this one; sum = the same up to the last. */
struct ir_scan {
	const struct ir_variable *part, *sum;
	enum ir_combine combine;
	int lanes;
};

/* The same of arrays: a warp's items lie together, in each thread `columns` neighbours at a time. exclusive: each
 * becomes the combination of what comes before it. */
struct ir_items_scan {
	const struct ir_variable *parts, *sum;
	enum ir_combine combine;
	int lanes, columns;
	expr none; /* the neutral element */
	bool exclusive;
};

/* const index var = the number of this block's tile: blocks take tiles in the order in which they start. state: of u64,
 * all zero when the kernel starts; see tile_next() in tpat_device.h. */
struct ir_tile {
	const struct ir_variable *var;
	const struct ir_buffer *state;
};

/* const type var = combine of `part`, the same in all threads, in the `tiles` before tile number `tile`; `none` where
 * there are none. state as above. */
struct ir_before {
	const struct ir_variable *var, *part;
	enum ir_combine combine;
	const struct ir_buffer *state;
	expr tile, tiles, none;
};

/* type var[its dimensions]; an array of registers, in either language */
struct ir_array {
	const struct ir_variable *var;
};

/* type var; in memory that the threads of a block share. From here on CUDA alone */
struct ir_shared {
	const struct ir_variable *var;
};

/* type var; of a thread: a variable without a value, or all zeros, or an object */
struct ir_local {
	const struct ir_variable *var;
	bool zeros;
};

/* var is in the memory that a block gets at its launch: at its beginning where `after` is this memory, else behind that
 * variable, which is in it too. A variable without a type: what is left. */
struct ir_place {
	const struct ir_variable *var, *after;
};

/* var is a function: [&](parameters) { body; return value, or through(value); }; value may be null */
struct ir_lambda {
	const struct ir_variable *var;
	struct {
		VEC(const struct ir_variable *);
	} parameters;
	struct ir_block *body;
	expr value;
	struct ir_call *through;
};

/* For rank = 0 .. count - 1: body, with `place` where among 0 .. of - 1 the element is found whose value, over place,
 * comes at that place of their stable order. C alone. */
struct ir_sort {
	const struct ir_variable *rank, *place;
	expr count, of, value;
	bool descending;
	struct ir_block *body;
};

struct ir_stmt {
	enum ir_stmt_kind kind;
	union {
		const char *comment;
		struct ir_declare declare;
		struct ir_assign assign;
		struct ir_for loop;
		struct ir_if branch;
		expr leave; /* the condition */
		struct ir_store store;
		struct ir_update update;
		struct ir_vector vector;
		struct ir_array array;
		struct ir_set set;
		struct ir_sync sync;
		struct ir_lanes lanes;
		struct ir_scan scan;
		struct ir_items_scan items;
		struct ir_tile tile;
		struct ir_before before;
		struct ir_shared shared;
		struct ir_local local;
		struct ir_place place;
		struct ir_lambda lambda;
		struct ir_call *call;
		struct ir_sort sort;
	};
};

struct ir_block {
	VEC(struct ir_stmt);
};

/* A tensor from which the GPU copies whole tiles by itself: see tpat_rt_map in tpat_rt.h. */
struct ir_tensor_map {
	const struct ir_variable *var; /* what the kernel knows it by */
	const struct ir_buffer *buf;
	int rank;
	expr dim[IR_MAP_RANK], stride[IR_MAP_RANK]; /* over symbols; the fastest running dimension first */
	int box[IR_MAP_RANK];
	int pixels, first[IR_MAP_RANK], step[IR_MAP_RANK]; /* not 0: of a walk, see there */
	expr count[IR_MAP_RANK];                           /* null where it does not walk */
};

struct ir_kernel {
	const char *name;          /* of the function */
	const char *about;         /* lines of comment: the stage's text and the schedule */
	const char *rule, *params; /* the decision: rule name and version, parameters as text */
	struct {
		VEC(const struct ir_buffer *);
	} buffers; /* pointer arguments, in order; flat views (rank 1) */
	struct {
		VEC(const char *);
	} symbols; /* then the extents that it uses, in order */
	struct {
		VEC(struct ir_tensor_map);
	} maps; /* then tensor maps */
	struct {
		VEC(const struct ir_buffer *);
	} written; /* those that are not const */
	struct {
		VEC(const struct ir_buffer *);
	} exchanged; /* those written that the kernel also reads */
	struct {
		VEC(const struct ir_buffer *);
	} shared;               /* no arguments, but arrays that the threads of a block share */
	struct ir_block body;   /* for one thread of many */
	struct ir_block serial; /* for a whole block on one processor; empty: `body` for each thread in turn */
	struct {
		VEC(const struct ir_kernel *);
	} parts;          /* kernels that share this launch, and have the statements; or none */
	bool in_turn;     /* parts: one behind the other in the one block; else each in blocks of its own */
	expr blocks;      /* grid size */
	int threads;      /* of a block */
	int cluster;      /* blocks that run together and read each other's shared memory; 0: each alone */
	int resident;     /* blocks that a multiprocessor has registers for at least; 0: no matter */
	int shared_bytes; /* that a block gets at its launch; the body calls them shared_memory */
	int arch;         /* the one whose compiled code it needs, 90 for sm_90; 0: any */
	expr guard;       /* bool over symbols that must hold for this kernel to fit; null: always */
	bool index64;     /* index expressions need 64 bits */
	bool early;       /* it may be set up while the kernel before it runs, and waits for its end by itself */
};

/* One step of a program: kernels of which the first whose guard holds is to be run. */
struct ir_step {
	VEC(struct ir_kernel *);
};

/* The variable that a statement declares for those behind it, and where it is a loop or a sort for its body; or
 * null. */
const struct ir_variable *ir_stmt_declares(const struct ir_stmt *s);
/* The statements inside of it; or null. */
struct ir_block *ir_stmt_body(const struct ir_stmt *s);
/* The buffer that it reads or writes by itself, beside its expressions and arguments; or null. */
const struct ir_buffer *ir_stmt_buffer(const struct ir_stmt *s);
/* Calls fn for every argument of a call, and of those inside of it. */
void ir_call_each(const struct ir_call *c, void (*fn)(void *user, const struct ir_arg *a), void *user);
/* Calls fn once for every node of the statement's own expressions, not of those in its body, operands first. */
void ir_stmt_walk(const struct ir_stmt *s, void (*fn)(void *user, expr e), void *user);

/* What is wrong with a call by the table of device functions; null: nothing. */
const char *ir_call_fault(const struct ir_kernel *k, const struct ir_call *c);
/* Every rule of the language: each variable that is used is declared around, once, and of the type and rank that it is
 * used with; constant indices lie inside of arrays; threads that go different ways do not wait for each other; guards
 * and launch sizes are over symbols. A failure is a bug in what made the kernel. */
int ir_kernel_check(const struct ir_kernel *k, struct err *e);

bool ir_kernel_writes(const struct ir_kernel *k, const struct ir_buffer *b);
bool ir_kernel_exchanges(const struct ir_kernel *k, const struct ir_buffer *b);
bool ir_kernel_shares(const struct ir_kernel *k, const struct ir_buffer *b);
/* Whether the functions differ in their names and comments alone; kernels with tensor maps or parts never are the
 * same. */
bool ir_kernel_same(const struct ir_kernel *a, const struct ir_kernel *b);

/* A scheduled program. */
struct ir_plan {
	struct ir_program *program;
	struct {
		VEC(struct ir_step *);
	} steps;
};

#endif
