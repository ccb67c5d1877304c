/* Kernels: what a schedule makes of stages and a printer turns into text. A kernel is a tree of statements over the
 * expression language; loads in it have one index, the row-major position. */
#ifndef TPAT_IR_KERNEL_H
#define TPAT_IR_KERNEL_H

#include "ir/device.h"
#include "ir/ir.h"

enum ir_stmt_kind {
	IR_COMMENT,      /* // text */
	IR_DECLARE,      /* const type var = value;   or, with `mutable`: type var = value; */
	IR_ASSIGN,       /* var = value; */
	IR_FOR,          /* for (index var = from; var < to; var += step) body;  unrolled when `width` is set */
	IR_IF,           /* if (value) body; in CUDA a scope alone where value is true */
	IR_RETURN_IF,    /* if (value) return; */
	IR_BREAK_IF,     /* if (value) break; out of the innermost loop, in all threads of a block or in none */
	IR_STORE,        /* buf[at] = value; */
	IR_UPDATE,       /* buf[at] = combine(buf[at], value), atomically between threads */
	IR_LOAD_VECTOR,  /* type var[width] = the elements from buf[at] on, a multiple of width. `mutable`: var stands,
	                  * and may have  rows, of which it is one. With `value`, where that holds; else zeros */
	IR_ARRAY,        /* type var[its dimensions]; */
	IR_SET,          /* var[at] = value, or var[row][at] = value; of an array */
	IR_STORE_VECTOR, /* buf[at...] = var[width], or var[row][width] */
	IR_SYNC, /* the threads of a block wait for each other, and see what the others stored. With `width`: the first
	          * so many; the others have ended */
	IR_LANES_COMBINE, /* var = combine over `width` neighbouring threads of var; for arg reductions var2 is the
	                   * index; across: the shared memory that it takes, or null where it is the only one. With
	                   * `columns`: of the threads of a block that are `columns` apart, `width` of them; with
	                   * `items`, of each of so many in the array `var` */
	IR_LANES_SCAN,    /* var = combine of var2 and of var in the `width` neighbouring threads up to this one; var2 =
	                   * the same up    to the last of them */
	IR_ITEMS_SCAN, /* the same of arrays `var`: a warp's items lie together, in each thread `columns` neighbours at
	                * a time. `value`: the neutral element; `mutable`: each becomes the combination of what comes
	                * before it */
	IR_TILE_NEXT,  /* const type var = the number of this block's tile: blocks take tiles in the order in which they
	                * start.  `buf`: of u64, all zero when the kernel starts; see tile_next() in tpat_device.h */
	IR_TILES_BEFORE, /* const type var = combine of var2 in the `from` tiles before this one, which is number `at`,
	                  * or `value` where `from` is 0. var2: the same in all threads. `buf` as above */
	IR_SHARED,       /* var: in memory that the threads of a block share */
	IR_LOCAL,        /* var: of a thread; all zeros when `mutable`. CUDA alone, as all that follow but the last */
	IR_PLACE,  /* var is in the memory that a block gets at its launch: from the beginning of var2 on where that is
	            * this memory, else behind var2, which is in it too. A variable without a type: what is left */
	IR_LAMBDA, /* var is a function: [&](parameters) { body; return value, or through(value); }; value may be
	            * null */
	IR_INVOKE, /* the call */
	IR_SORT_SERIAL, /* for var = 0 .. from - 1: body, with var2 = where among 0 .. to - 1 the element is found whose
	                 * value, over var2, comes at that place of their stable order; descending when `mutable` */
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

struct ir_stmt {
	enum ir_stmt_kind kind;
	const struct ir_variable *var, *var2, *across;
	const char *text;
	enum type type;
	bool mutable;
	bool once; /* vectors: of data that the kernel has no use for but this, and that is more than caches hold */
	int width, columns, items;
	enum ir_combine combine;
	const struct ir_buffer *buf;
	expr row, at, value, from, to, step;
	struct ir_block *body;
	struct {
		VEC(const struct ir_variable *);
	} parameters;
	struct ir_call *call, *through;
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
