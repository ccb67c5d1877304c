/* Kernels: a schedule builds them from stages, and a printer turns them into text. A kernel is a tree of statements
 * over the expression language. Its loads have one index, the row-major position. */
#ifndef TPAT_IR_KERNEL_H
#define TPAT_IR_KERNEL_H

#include "ir/device.h"
#include "ir/ir.h"

/* Kinds of statements; the comment names the member of struct ir_stmt. */
enum ir_stmt_kind {
	IR_COMMENT,       /* comment */
	IR_DECLARE,       /* declare */
	IR_ASSIGN,        /* assign */
	IR_FOR,           /* loop */
	IR_IF,            /* branch; a constant true condition makes a plain scope in CUDA */
	IR_RETURN_IF,     /* leave */
	IR_BREAK_IF,      /* leave: leaves the innermost loop, in all threads of a block or in none */
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

/* An argument of a device function. */
struct ir_arg {
	enum ir_arg_kind {
		IR_ARG_VALUE,    /* value */
		IR_ARG_VARIABLE, /* var, with `indices` subscripts: an array, a row or an element */
		IR_ARG_MEMBER,   /* &var.member of such a variable, or &var.member[at] if the member is an array */
		IR_ARG_ADDRESS,  /* &buf[at]; `written`: the function writes it */
		IR_ARG_PLACE,    /* { `indices` indices } */
		IR_ARG_NEW,      /* a temporary object of `type`, constructed from `value` unless that is null */
		IR_ARG_CALL,     /* the result of another call */
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

/* A call of a function of the device headers. */
struct ir_call {
	const struct ir_device_function *function;
	struct ir_template of;
	const struct ir_variable *object; /* of a method; else null */
	const struct ir_variable *result; /* declared by the call; null: no result, or unused */
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

/* for (index var = from; var < to; var += step) body;   unrolled: by about that many iterations; 0: not unrolled */
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
	bool paired; /* a 16-bit element: the other half of its 32-bit word is in the buffer, too */
};

/* A vector load or store between buf[at ...], `at` a multiple of width (but see `shifted`), and array[width], or row
 * `row` of it. */
struct ir_vector {
	const struct ir_variable *array;
	expr row;
	const struct ir_buffer *buf;
	expr at;
	int width;
	bool once;    /* streaming: the kernel uses the data once, and they exceed the L2 cache */
	bool stands;  /* a load: the array is declared already; else the load declares it */
	expr where;   /* a load: the condition; if false, zeros. May be null */
	bool shifted; /* a load from any position: reads the aligned vectors around it. Neither once nor where */
};

/* A barrier for a block's threads, which makes their stores visible to each other. threads: only the first ones, if the
 * others have ended; 0: all. */
struct ir_sync {
	int threads;
};

/* var = combine of var over `lanes` neighbouring threads, or over `lanes` threads of a block that are `columns` apart.
 * For arg reductions `index` is the index. With `items`, var is an array and each of its `items` elements is combined,
 * over the lanes of a warp or over columns.
 * apart: over a warp; of `items` elements, lane l gets the element number l modulo the next power of two, in var[0].
 * across: the shared memory to use, or null if no other statement uses any. */
struct ir_lanes {
	const struct ir_variable *var, *index, *across;
	enum ir_combine combine;
	int lanes, columns, items;
	bool apart;
	int blocks; /* of a cluster, whose threads all take part; 0: the lanes are of one block */
};

/* Inclusive scan: part = combine of `sum` and of part in the neighbouring threads up to this one; sum = the total. */
struct ir_scan {
	const struct ir_variable *part, *sum;
	enum ir_combine combine;
	int lanes;
};

/* The same for arrays: a warp's items are contiguous, `columns` neighbours per thread at a time. exclusive: each item
 * becomes the combination of the items before it. */
struct ir_items_scan {
	const struct ir_variable *parts, *sum;
	enum ir_combine combine;
	int lanes, columns;
	expr none; /* the neutral element */
	bool exclusive;
};

/* const index var = the number of this block's tile: blocks take tiles in their start order. state: of u64, all zero
 * when the kernel starts; see tile_next() in tpat_device.h. */
struct ir_tile {
	const struct ir_variable *var;
	const struct ir_buffer *state;
};

/* Look-back: const type var = combine of `part`, uniform over a block's threads, in the `tiles` tiles before number
 * `tile`; `none` if there are none. state as above. */
struct ir_before {
	const struct ir_variable *var, *part;
	enum ir_combine combine;
	const struct ir_buffer *state;
	expr tile, tiles, none;
};

/* type var[its dimensions]; an array of registers, in C and CUDA */
struct ir_array {
	const struct ir_variable *var;
};

/* type var; in shared memory. From here on for CUDA only */
struct ir_shared {
	const struct ir_variable *var;
};

/* type var; local to a thread: an uninitialised variable, zeros, or an object */
struct ir_local {
	const struct ir_variable *var;
	bool zeros;
};

/* var is in dynamic shared memory: at its start if `after` is that memory, else after that variable, which is in it
 * too. A variable without a type: the remaining memory. */
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

/* For rank = 0 .. count - 1: body, with `place` the index in 0 .. of - 1 of the element at position `rank` of the
 * stable order by `value`, an expression over `place`. For C only. */
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

/* A tensor map, from which the copy engine (TMA) loads whole tiles: see tpat_rt_map in tpat_rt.h. */
struct ir_tensor_map {
	const struct ir_variable *var; /* its name in the kernel */
	const struct ir_buffer *buf;
	int rank;
	expr dim[IR_MAP_RANK], stride[IR_MAP_RANK]; /* over symbols; the fastest running dimension first */
	int box[IR_MAP_RANK];
	int pixels, first[IR_MAP_RANK], step[IR_MAP_RANK]; /* not 0: of an im2col walk, see there */
	expr count[IR_MAP_RANK];                           /* null in dimensions that it does not walk */
};

/* A number that the host passes: one that kernels with one text differ in, f32 or i32, or a divisor's inverse, u64. */
struct ir_parameter {
	const struct ir_variable *var; /* its name in the kernel */
	expr value;                    /* a constant of its type; an inverse: an index over symbols */
	expr divisor;                  /* of the inverse, over symbols; else null */
	const struct ir_variable *by;  /* the divisor with its inverse, which replaces it in divisions in CUDA */
	const struct ir_buffer *of;    /* the value is the number of its elements, u64, for checks; else null */
};
/* An inverse is floordiv(2^IR_INVERSE_BITS, divisor) + 1: floordiv(a, divisor) is a * inverse / 2^IR_INVERSE_BITS for
 * all 0 <= a < 2^31 and divisors from 1 to 2^31 - 1, since a * divisor / 2^IR_INVERSE_BITS < 1. */
enum { IR_INVERSE_BITS = 62 };

/* What positions, thread counts and intermediate values of a kernel with 32-bit positions are at most, by its guard:
 * with room for a last block. */
enum { IR_POSITION_MOST = INT32_MAX - (1 << 20) };

/* A result of parts that every block repeats: it is in shared memory for the block's other parts, and block 0 stores it
 * for later kernels. */
struct ir_result {
	const struct ir_buffer *buf, *own;
};

struct ir_kernel {
	const char *name;          /* of the function */
	const char *about;         /* comment lines: the stage's text and the schedule */
	const char *rule, *params; /* the decision: "rows@4", "lanes=32 width=8", or words: "in turn" */
	const char *method;        /* the same as sentences; may be null */
	struct {
		VEC(const struct ir_buffer *);
	} buffers; /* pointer arguments, in order; flat views (rank 1) */
	struct {
		VEC(expr);
	} symbols; /* then the extents, in order */
	struct {
		VEC(struct ir_parameter);
	} parameters; /* then numbers */
	struct {
		VEC(struct ir_tensor_map);
	} maps; /* then tensor maps */
	struct {
		VEC(const struct ir_buffer *);
	} written; /* buffers that are not const */
	struct {
		VEC(const struct ir_buffer *);
	} exchanged; /* written buffers that the kernel also reads */
	struct {
		VEC(const struct ir_buffer *);
	} shared; /* arrays in shared memory, no arguments; in dynamic memory, one after another, if shared_bytes */
	const struct ir_kernel *function; /* the first of a group of merged kernels; null: this one */
	struct ir_block body;             /* for each thread */
	struct ir_block serial;           /* for a whole block on a CPU; empty: `body` for each thread in turn */
	struct {
		VEC(const struct ir_kernel *);
	} parts;      /* kernels that share this launch and hold its statements; empty: `body` holds them */
	bool in_turn; /* parts: run in sequence in one block; else each in separate blocks */
	int repeated; /* number of the first parts, of one block, that every block runs in sequence before its own;
	                 0: none */
	struct {
		VEC(struct ir_result);
	} results;        /* what these write */
	expr blocks;      /* grid size */
	int threads;      /* per block */
	int cluster;      /* blocks per cluster; 0: no clusters */
	bool together;    /* blocks wait for each other: all run at the same time (cooperative launch) */
	int resident;     /* minimum of resident blocks per multiprocessor, which bounds registers; 0: no minimum */
	bool advised;     /* the minimum is advice: registers for loads ahead of the arithmetic */
	int shared_bytes; /* dynamic shared memory of a block; the body calls it shared_memory */
	int arch;         /* the only architecture it is compiled for, 90 for sm_90; 0: any */
	expr guard;       /* bool over symbols that must hold for this kernel to run; null: always */
	bool index64;     /* index expressions need 64 bits */
	const struct ir_buffer *fills; /* the output that it fills with the input which that output replaces, so that
	                                  it has nothing to do if both have the same memory; null: none */
	bool early; /* may launch while the previous kernel runs (programmatic dependent launch); waits for its end */
};

/* One step of a program: alternative kernels. The first whose guard holds runs. */
struct ir_step {
	VEC(struct ir_kernel *);
};

struct ir_plan;

/* Returns the variable that a statement declares for later statements, or for its body in a loop or sort; or null. */
const struct ir_variable *ir_stmt_declares(const struct ir_stmt *s);
/* Returns the statement's body, or null. */
struct ir_block *ir_stmt_body(const struct ir_stmt *s);
/* Returns the buffer that the statement itself reads or writes, apart from its expressions and arguments; or null. */
const struct ir_buffer *ir_stmt_buffer(const struct ir_stmt *s);
/* Number of arguments before the tensor maps: buffers, extents, numbers. */
int ir_kernel_args(const struct ir_kernel *k);
/* The four bytes passed for a parameter: its number, an int32_t or a float of the same bits. */
int32_t ir_parameter_bits(const struct ir_parameter *p);
/* True if a parameter is a divisor's inverse, passed in eight bytes instead of those four. */
bool ir_parameter_is_wide(const struct ir_parameter *p);
/* Calls fn for every argument of a call and of its nested calls. */
void ir_call_each(const struct ir_call *c, void (*fn)(void *user, const struct ir_arg *a), void *user);
/* The statement's own expressions, which may be null: those that are no arguments of its call, nor in its body. Returns
 * their number. */
enum { IR_STMT_EXPRS = 3 };
int ir_stmt_exprs(struct ir_stmt *s, expr *own[IR_STMT_EXPRS]);
/* The call that it makes, or that its lambda returns; null: none. */
const struct ir_call *ir_stmt_call(const struct ir_stmt *s);
/* Calls fn once for every node of these expressions and of the call's arguments, operands first. */
void ir_stmt_walk(const struct ir_stmt *s, void (*fn)(void *user, expr e), void *user);

/* Checks a call against the table of device functions. Returns the fault as text, or null if there is none. */
const char *ir_call_fault(const struct ir_kernel *k, const struct ir_call *c);
/* Checks every rule of the language: each variable is declared once, in an enclosing scope, with the type and rank of
 * its uses; constant indices are inside arrays; no barrier is in divergent code; guards and launch sizes are over
 * symbols. Returns 0 or an error, which is a bug in the kernel's rule. */
int ir_kernel_check(const struct ir_kernel *k, struct err *e);

/* Makes a kernel's statements as a person would write them, which compute the same: before its arguments are collected.
 */
void ir_kernel_tidy(const struct ir_program *p, struct ir_kernel *k);

/* The decision in one line: "rows@4 lanes=32 width=8", "map@1 + map@1, in turn". */
const char *ir_kernel_decision(const struct ir_kernel *k, struct arena *a);
bool ir_kernel_writes(const struct ir_kernel *k, const struct ir_buffer *b);
bool ir_kernel_exchanges(const struct ir_kernel *k, const struct ir_buffer *b);
bool ir_kernel_shares(const struct ir_kernel *k, const struct ir_buffer *b);
/* A block's own copy of a result that it repeats; or null. */
const struct ir_buffer *ir_kernel_own(const struct ir_kernel *k, const struct ir_buffer *b);
/* Bytes of an array in shared memory, a multiple of 16. */
int64_t ir_shared_bytes(const struct ir_buffer *b);
/* Gives kernels of a plan one name, and so one function, if they differ only in names, comments, the buffers of their
 * arguments, and constants of what they compute. The first kernel's body gets parameters for those constants; the other
 * bodies stay, and nothing prints them: the first one is their `function`. A kernel that is like no other keeps its
 * constants. Kernels with parts stay. */
void ir_merge_kernels(const struct ir_plan *plan);
/* The kernel as its function is printed: under its own name, with the text of its group's first kernel. A plan may have
 * only later ones of a group. */
struct ir_kernel ir_kernel_printed(const struct ir_kernel *k);
/* Passes each kernel the numbers of its buffers' elements, by which the printer of CUDA checks positions. Before
 * launches are shared, and after kernels are merged: each kernel of a group has numbers of its own. A kernel with too
 * many arguments checks nothing. */
void ir_kernel_bounds(const struct ir_plan *plan);
/* True if two kernels of a program have one name and the same arguments, grid and guard. */
bool ir_launch_same(const struct ir_kernel *a, const struct ir_kernel *b);

/* A scheduled program. */
struct ir_plan {
	struct ir_program *program;
	struct {
		VEC(struct ir_step *);
	} steps;
};

/* Returns a name that no kernel of the plan has. */
const char *ir_kernel_name(const struct ir_plan *plan, const char *name);

#endif
