/* Tensor programs: expressions, buffers, stages. Every ONNX operator is lowered to one; schedules, printers and the
 * interpreter know nothing else. Text form: print.c. */
#ifndef TPAT_IR_IR_H
#define TPAT_IR_IR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "tensor/tensor.h"

enum {
	IR_MAX_RANK = 16,
	/* Limits on expressions in programs. They bound recursive walks and printed text. */
	IR_MAX_DEPTH = 1000,
	IR_MAX_SIZE = 1 << 17,
	IR_MAX_EXTENT = 4096, /* size of an extent */
	IR_MAX_CONTENT = 512, /* size of an element traced through shape arithmetic; larger ones count as unknown */
	IR_MAX_LOOPS = 8,     /* nested */
};

enum ir_op {
#define IR_OP(name, text, arity, kind, ctext) IR_##name,
#include "ir/ir.def"
#undef IR_OP
	IR_OP_COUNT
};

struct ir_op_info {
	const char *text; /* in the text form */
	int arity;        /* -1: any */
	enum ir_op_kind { IR_LEAF, IR_LOAD_KIND, IR_INFIX, IR_CALL, IR_SPECIAL } kind;
	const char *ctext;
};
extern const struct ir_op_info ir_op_info[IR_OP_COUNT];

/* ---- Expressions ----------------------------------------------------------------- */

/* An expression is immutable and unique in its pool: equal expressions are the same pointer. The constructors simplify,
 * so they may return any equal expression. Expressions of type index are kept as sorted polynomials. */
struct ir_expr {
	enum ir_op op;
	enum type type;
	bool varies;   /* contains an AXIS, VAR, LOAD or ACC, so it is not constant in a program */
	int n;         /* operands */
	int depth;     /* of the longest path to a leaf */
	uint32_t size; /* nodes as a tree, not counting extents of axes; saturates at UINT32_MAX */
	uint32_t id;   /* in order of creation, dense from 0: index for memo tables */
	uint64_t hash; /* for the pool's table */
	uint64_t from; /* the bits of the buffers that it loads from; for ir_reads(), which knows for sure */
	struct ir_pool *pool;
	union {
		int64_t i;                     /* CONST_INT; AXIS: its number */
		double f;                      /* CONST_FLOAT: a value of the type */
		const char *name;              /* SYMBOL: what it is called in texts */
		const struct ir_variable *var; /* VAR, ELEMENT */
		const struct ir_buffer *buf;   /* LOAD */
	};
	const struct ir_expr *arg[];
};
typedef const struct ir_expr *expr;

struct ir_pool;
struct ir_pool *ir_pool_new(struct arena *a); /* owned by the arena */

/* A variable of a kernel, or a loop's index. Its address is its identity: two of the same name are different. The
 * printer chooses its name in a kernel's text: the hint if that is free, or a word for its value if that is "". */
enum { IR_ARRAY_RANK = 4 };
struct ir_variable {
	enum ir_variable_kind {
		IR_OWN,           /* declared by a statement of the kernel */
		IR_CALLED,        /* identified by its name: a loop's index in a program; never in a kernel */
		IR_SYMBOL_HOLDER, /* a symbol's value; the two print alike */
		IR_THREAD_NUMBER, /* these three need no declaration */
		IR_BLOCK_NUMBER,
		IR_SHARED_MEMORY, /* a block's dynamic shared memory */
	} kind;
	const char *hint;
	enum type type;                 /* of an element; TYPE_NONE: a local function, memory, or an object */
	const struct ir_object *object; /* its type from the device headers, or null (see device.h) */
	int rank;                       /* of an array; 0: not an array */
	int dim[IR_ARRAY_RANK];
	const struct ir_expr *extent; /* arrays: 0 <= element < extent; null: any value */
	const struct ir_expr *symbol; /* IR_SYMBOL_HOLDER */
	unsigned number;              /* in its pool */
	struct ir_pool *pool;
};
/* Returns a new scalar variable. The formatted hint is copied; ir_variable_dims() makes it an array. */
struct ir_variable *ir_variable_new(struct ir_pool *p, enum type t, const char *hint, ...)
        __attribute__((format(printf, 3, 4)));
/* A variable's contents: of a buffer, or of the kernel as a whole. */
enum ir_holds {
	IR_HOLDS_VALUE,  /* a stage's value */
	IR_HOLDS_VALUES, /* the values of a thread's rows */
	IR_HOLDS_VECTOR, /* neighbouring elements in registers */
	IR_HOLDS_REST,   /* the elements of a row that are in shared memory */
	IR_HOLDS_TAIL,   /* the elements of a row after its whole vectors */
	IR_HOLDS_PARTS,  /* accumulators, or running combinations */
	IR_HOLDS_PLACES, /* positions of the best elements so far */
	IR_HOLDS_KEPT,   /* whether elements are kept */
	IR_HOLDS_AT,     /* an element's position */
	IR_HOLDS_STEP,   /* the number of a vector among a thread's */
	IR_HOLDS_ITEM,   /* the number of an element in a vector */
};
/* Returns the variable that holds `holds` of the buffer `of` (null: of the kernel), always the same one while a kernel
 * is built. `number` distinguishes several of one kind. */
struct ir_variable *ir_variable_of(struct ir_pool *p, enum type t, const struct ir_buffer *of, enum ir_holds holds,
                                   int number, const char *hint, ...) __attribute__((format(printf, 6, 7)));
struct ir_variable *ir_variable_called(struct ir_pool *p, enum type t, const char *name);
struct ir_variable *ir_variable_of_symbol(expr symbol); /* always the same one */
/* Sets an array's extents, as declared. */
void ir_variable_dims(struct ir_variable *array, int rank, const int *dim);
/* Begins a kernel: ir_variable_of() returns new variables from here on. */
void ir_variables_begin(struct ir_pool *p);
uint32_t ir_pool_size(const struct ir_pool *p); /* number of ids so far */

expr ir_int(struct ir_pool *p, enum type t, int64_t x);
expr ir_float(struct ir_pool *p, enum type t, double x);
expr ir_const(struct ir_pool *p, enum type t, double x); /* int or float, by type */
expr ir_index(struct ir_pool *p, int64_t x);             /* ir_int of type index */
/* The symbol of that name. Its address is its identity: code compares symbols as pointers, never by name. */
expr ir_symbol(struct ir_pool *p, const char *name);
expr ir_axis(struct ir_pool *p, int axis, expr extent); /* 0 <= value < extent */
expr ir_acc(struct ir_pool *p, enum type t);
/* The value of a scalar variable; 0 <= value < extent; null: any value. */
expr ir_var_of(const struct ir_variable *v, expr extent);
/* The value of a variable known to be divisible by `multiple`: (v + rest) / 8 and (v + rest) % 8 then divide only
 * rest. */
expr ir_var_multiple(const struct ir_variable *v, expr extent, int64_t multiple);
/* The value of the variable of that name: ir_variable_called(). Programs only. */
expr ir_var(struct ir_pool *p, enum type t, const char *name, expr extent);
/* The value of a new variable: stands for any number. */
expr ir_some(struct ir_pool *p, enum type t, expr extent);
/* An element of an array: one index per rank. */
expr ir_element_of(const struct ir_variable *array, int n, const expr *index);
/* The index of a thread in its block and of a block in its grid, signed like all index arithmetic. */
expr ir_thread(struct ir_pool *p, expr extent);
expr ir_block(struct ir_pool *p, expr extent);
const struct ir_variable *ir_shared_memory(struct ir_pool *p);
expr ir_load(struct ir_pool *p, const struct ir_buffer *buf, const expr *index); /* buf->rank indices */
expr ir_unary(enum ir_op op, expr a);
expr ir_binary(enum ir_op op, expr a, expr b);
expr ir_select(expr cond, expr a, expr b);
expr ir_cast(expr a, enum type to); /* returns `a` if it has that type */
expr ir_cast_sat(expr a, enum type to);
expr ir_bitcast(expr a, enum type to);
/* The same node with other operands, for rewriting passes. */
expr ir_rebuild(expr e, const expr *arg);

bool ir_is_int(expr e, int64_t x); /* true if e is the integer or index constant x */
bool ir_is_zero(expr e);           /* true if e is the constant 0 of any type */
bool ir_const_int(expr e, int64_t *x);

/* Copy `e` into pool `p`, calling `leaf` for each AXIS, SYMBOL, VAR, ACC and LOAD; if it returns null, the node is
 * copied unchanged (a LOAD's operands, already copied, are in `arg`). Shared nodes are visited once. */
typedef expr (*ir_leaf_fn)(void *user, struct ir_pool *p, expr e, const expr *arg);
expr ir_copy(struct ir_pool *p, expr e, ir_leaf_fn leaf, void *user);

/* Return bounds that always hold and do not vary (see ir_expr.varies); null if none is known. */
expr ir_lower_bound(expr e);
expr ir_upper_bound(expr e);
bool ir_nonnegative(expr e);     /* provably e >= 0 */
bool ir_no_more(expr a, expr b); /* provably a <= b */
bool ir_less(expr a, expr b);    /* provably a < b */
/* Splits e = divisor * quotient + rest, dividing every divisible term; quotient is null if there is none. */
void ir_split(expr e, expr divisor, expr *quotient, expr *rest);

/* The largest number known to divide an index for all values of its axes and variables; 0: the index is 0. */
int64_t ir_multiple(expr e);

/* The terms of an index expression as a polynomial: coefficient and factors. Calls fn for each; the constant term has
 * no factors. */
void ir_poly_terms(expr e, void (*fn)(void *user, int64_t coefficient, int factors, const expr *factor), void *user);
/* The stride of e along axis `axis` if it is constant; else null. */
expr ir_stride(expr e, int axis);

/* The value of an integer expression over symbols; `symbol` gives each symbol's value. False if the expression contains
 * anything else, overflows, or a symbol is unknown. */
typedef bool (*ir_symbol_fn)(void *user, expr symbol, int64_t *value);
bool ir_eval_int(expr e, ir_symbol_fn symbol, void *user, int64_t *out);

/* Converts an expression of any type to one of type index over symbols and loop indices, which can be compared as an
 * extent. Floats that are exact rational functions of those and are then rounded (floor, ceil, cast) become divisions;
 * a bool is 0 or 1. Null if it is not an integer, or unknown. `known` (may be null) returns a loaded element as an
 * index expression, or null if unknown. Shapes do not wrap, so the arithmetic is exact. Source: what PyTorch's exporter
 * writes for interpolate(scale_factor=...). */
typedef expr (*ir_known_fn)(void *user, expr load);
expr ir_integer_of(expr e, ir_known_fn known, void *user);

/* Sets *out to the value of a float over symbols that is the same for all of them, such as f32(N * 2) / f32(N), if f32
 * holds it. */
bool ir_known_float(expr e, double *out);

/* Calls fn once per node reachable from e, operands first. */
void ir_walk(expr e, void (*fn)(void *user, expr e), void *user);
/* The same, users first, for nodes that are evaluated whenever e is: not those guarded by a select, and, or, unless
 * both branches of a select evaluate them. mark: sets sure[id] for them; `sure` has e->id + 1 elements. */
void ir_mark_unconditional(expr e, bool *sure);
void ir_walk_unconditional(expr e, void (*fn)(void *user, expr e), void *user);
bool ir_uses(expr e, enum ir_op op);
bool ir_contains(expr e, expr part);                            /* part is a node of e */
void ir_mark_axes(expr e, bool *used);                          /* sets used[i] for each AXIS i in e */
expr ir_bind_axes(struct ir_pool *p, expr e, const expr *axis); /* replaces AXIS i by axis[i] */
int ir_cost(expr e); /* operations in the DAG; transcendental functions count 8, loads 2 */

/* ---- Buffers, stages, programs ----------------------------------------------------------------- */

enum ir_role { IR_INPUT, IR_OUTPUT, IR_TEMP, IR_CONSTANT };

struct ir_buffer {
	const char *name; /* unique in the program, a C identifier */
	enum type type;
	int rank;
	expr dim[IR_MAX_RANK];
	enum ir_role role;
	int id;                    /* dense in the program */
	uint64_t hash;             /* of the name, for ir_buffer_named() */
	const char *node;          /* label of the node that defines it, for profiles; null: unknown */
	const struct tensor *data; /* IR_CONSTANT: its value. Inputs: non-null if known at build time */
	struct ir_buffer *flat;    /* kernels: the same data as one row; made on first use (sched/) */
	enum type edge; /* inputs and outputs: the type as which a plugin declares the same bits; TYPE_NONE: `type` */
	const expr *content; /* elements as expressions of extents, for small integer buffers; null: unknown */
	const expr *some;    /* the same if only some elements are known; null for the others */
	bool spare;          /* inputs: nothing reads it after the program, so that an output may have its memory */
	const struct ir_buffer *replaces; /* outputs: the spare input whose memory it may have; null: none. Kernels
	                                     then are right with that memory and with memory of its own */
	bool finite;                      /* known at build time: no element is infinite or NaN */
	bool weight; /* IR_CONSTANT: a tensor of the model with many elements, whose value no pass reads. The
	                hash and the text form ignore it: programs that differ in it have the same kernels */
};

/* A size known only when the program runs. In extents, `symbol` stands for the value of `count`, a scalar i64 that a
 * stage computes; 0 <= count <= limit, an expression over the inputs' symbols. */
struct ir_size {
	expr symbol;
	struct ir_buffer *count;
	expr limit;
};

/* A number that determines extents, known at launch but not at build time: the nonnegative element `element` of the
 * integer input `buf`; or (buf null) `known`, over such numbers and the inputs' symbols. On a device it is known only
 * through the outputs' extents. */
struct ir_value {
	expr symbol;
	struct ir_buffer *buf;
	int64_t element;
	expr known;
};

/* An operator's demand on two extents, each over symbols: an axis of one tensor and an axis of another. Programs read
 * one input over another's extents and rely on it, so it is checked before a program runs. Only the interpreter can
 * check demands on sizes found at run time. */
enum ir_relation {
	IR_SAME,      /* equal */
	IR_BROADCAST, /* equal, or one of the two is 1 */
	IR_ONE_OR,    /* the first is 1, or equal to the second */
	IR_AT_MOST,   /* the first is not larger */
	IR_RELATIONS,
};
struct ir_demand {
	enum ir_relation relation;
	expr extent[2];
	const char *tensor[2]; /* named as in the model; the first null: its extent is derived from others */
	int axis[2];           /* negative: `tensor` names a number, not a tensor */
	const char *node;      /* node label */
};

/* map:     out[i...] = value
 *
 * reduce:  out[i...] = post(combine over r... of value); axes rank.. of the space are the reduced ones
 *
 * scatter: out[i...] = init (over out's axes); then for every u... of the update space where `where` holds:
 *          out[at...] = combine(out[at...], value). Two updates of one element without a combine: either wins.
 *
 * scan:    out[i...] = post(combine of value at all positions along `axis` up to this one, or only before it if
 *          exclusive; reverse: from this one, or the one after it, to the end)
 *
 * sort:    out[i...] = position along `axis` of the element that comes at this place in the stable ascending order of
 *          value; reverse: descending, also stable. value is over out's axes but `axis`, and the axis after them, of
 *          extent space[0] >= out's extent along `axis`. A NaN is larger than all numbers.
 *
 * pick:    out[i...] = position along `axis` of the element that is picked at this place; -1 after the last one. The
 *          elements of a row, of which there are space[0], are visited in order, up to the first one where `where` does
 *          not hold (null: all). An element is picked unless value holds for it and one picked before. value is a bool
 *          over out's axes but `axis`, and two axes after them: the element, and the one picked before it, both of
 *          extent space[0] = space[1]; `where` is over the former.
 *
 * compact: out[k] = value at the k-th point of the space, in row-major order, where `where` holds; count[] = number of
 *          such points, a size: out's extent
 *
 * loop:    see struct ir_loop
 *
 * Only maps make elements narrower than a byte: they store all that share a byte at once. */
enum ir_stage_kind { IR_MAP, IR_REDUCE, IR_SCATTER, IR_SCAN, IR_SORT, IR_COMPACT, IR_LOOP, IR_PICK };

enum ir_combine {
	IR_NONE, /* scatter: replace */
	IR_SUM,
	IR_PROD,
	IR_MAXIMUM, /* both propagate NaN */
	IR_MINIMUM,
	IR_ALL,
	IR_ANY,
	IR_ARGMAX, /* reduce only: flat position in the reduced space; first of equals */
	IR_ARGMIN,
	IR_ARGMAX_LAST, /* last of equals */
	IR_ARGMIN_LAST,
	IR_COMBINE_COUNT
};
extern const char *const ir_combine_name[IR_COMBINE_COUNT];
bool ir_combine_is_arg(enum ir_combine c);
/* The neutral element of a combine in type `t`, as an expression (arg reductions: of the value). */
expr ir_identity(struct ir_pool *p, enum ir_combine c, enum type t);
/* combine(a, b) as an expression; not for the arg reductions. */
expr ir_combine_expr(enum ir_combine c, expr a, expr b);

struct ir_stage {
	enum ir_stage_kind kind;
	struct ir_buffer *out;
	expr value; /* map, scan: over out's axes; reduce: over the space; scatter: the update */
	enum ir_combine combine;
	int space_rank;          /* reduce: reduced axes; scatter: axes of the update space; sort: 1; pick: 2 */
	expr space[IR_MAX_RANK]; /* their extents */
	expr post;               /* reduce, scan: over out's axes and ACC; null: the accumulator, cast to out's type */
	expr init;               /* scatter */
	expr at[IR_MAX_RANK];    /* scatter: out->rank indices */
	expr where;              /* scatter, pick: bool, or null: always; compact: bool */
	int axis;                /* scan, sort, pick */
	bool exclusive, reverse; /* scan; sort: reverse */
	struct ir_buffer *count; /* compact */
	struct ir_loop *loop;    /* loop; it has no value, `out` is its first result */
	bool reads_checked;      /* private to lowering: the node that made it has checked what it reads */
};

/* For t = 0 .. trip - 1, while the stage's `where` holds (a bool without axes, tested before each iteration; null:
 * always), the body's stages run in order. Their results are local to the body and to the iteration. A carried state is
 * `init` before the first iteration and becomes `next` (same type and extents) after each one, all states at once. A
 * collected buffer gets `from` at position `at` of its first axis in each iteration; elements never written are
 * undefined. A body reads everything defined before the loop. Later stages read the loop's states and collected
 * buffers. */
struct ir_carry {
	struct ir_buffer *state;
	expr init; /* over state's axes */
	const struct ir_buffer *next;
};
struct ir_collect {
	struct ir_buffer *out;
	expr at; /* over the loop's index */
	const struct ir_buffer *from;
};
struct ir_loop {
	expr index; /* VAR t, its extent `trip` */
	expr trip;
	struct {
		VEC(struct ir_stage *);
	} body;
	struct {
		VEC(struct ir_carry);
	} carries;
	struct {
		VEC(struct ir_collect);
	} collects;
};

struct ir_program {
	const char *name;
	struct arena *arena;
	struct ir_pool *pool;
	const char *node; /* that of new buffers; null: none */
	struct {
		VEC(struct ir_buffer *);
	} inputs, outputs, buffers; /* buffers: all of them, by id */
	struct {
		VEC(struct ir_stage *);
	} stages; /* in execution order */
	struct {
		VEC(struct ir_size);
	} sizes;
	struct {
		VEC(struct ir_value);
	} values;
	struct {
		VEC(struct ir_demand);
	} demands;
	bool checked;           /* its kernels check their positions (ir_kernel_bounds) */
	struct map named;       /* by the hashes of all names that buffers have had: the last buffer of such a name */
	struct map numbered;    /* by the hash of a name: the next number to make it unique, of ir_buffer_new() */
	int n_numbered;         /* buffers at that time: with fewer, names have become free */
	int loops;              /* number made so far; names their indices */
	struct ir_found *found; /* matches of schedule rules in the stages (sched/core/match.c); null: none valid now */
};

/* Returns an empty program in `a`, with a pool of its own. `name` is copied and is a C identifier. */
struct ir_program *ir_program_new(struct arena *a, const char *name);
/* The same program with lists of buffers and names of its own: buffers made for it do not appear in p. */
struct ir_program *ir_program_beside(const struct ir_program *p);
/* True if a scatter replaces elements, so that two updates may race for one. */
bool ir_replaces(const struct ir_program *p);
/* The program's buffer of that name; null: none. */
struct ir_buffer *ir_buffer_named(const struct ir_program *p, const char *name);
/* Names a buffer of a program anew; no other may have that name. The name lives as long as the buffer. */
void ir_buffer_rename(struct ir_program *p, struct ir_buffer *b, const char *name);
/* A new buffer; a number is appended to a name already taken. Inputs and outputs are appended to their lists. */
struct ir_buffer *ir_buffer_new(struct ir_program *p, const char *name, enum type t, int rank, const expr *dim,
                                enum ir_role role);
/* Returns the symbol of a new size; a number is appended to `name` if it is taken. */
expr ir_size_new(struct ir_program *p, const char *name, struct ir_buffer *count, expr limit);
/* Return the size or the value that an expression is the symbol of, or null. */
const struct ir_size *ir_size_find(const struct ir_program *p, expr e);
const struct ir_value *ir_value_find(const struct ir_program *p, expr e);
bool ir_number_named(const struct ir_program *p, const char *name);      /* true if a size or a value has that name */
bool ir_value_is(const struct ir_program *p, const struct ir_buffer *b); /* true if a value is an element of it */
bool ir_size_is(const struct ir_program *p, const struct ir_buffer *b);  /* true if it is the count of a size */
/* Replaces each extent that combines values by a value of its own, a symbol, in all extents and expressions, so that an
 * output's extent gives the number. */
void ir_value_extents(struct ir_program *p);
/* An extent that depends on values but has no number when kernels are launched: that follows only from the extents of
 * inputs and of whole outputs. Null: there is none. */
expr ir_value_unlaunched(const struct ir_program *p);
/* Returns the one of two equal extents to keep: a number, or the simpler expression. */
expr ir_extent_choice(expr a, expr b);
/* For a demand on sizes, which cannot be checked before a launch: the demand on their limits that keeps reads inside
 * the buffers' memory, which is allocated for the limits. False if it mentions no size. */
bool ir_demand_of_limits(struct ir_program *p, const struct ir_demand *d, struct ir_demand *limits);
/* The demand's condition, as a bool expression over symbols. */
expr ir_demand_holds(const struct ir_demand *d);
/* "extent 2 of x", or null; "they must be equal", or for an unnamed first extent "it must be", to be followed by its
 * number. */
const char *ir_demand_name(const struct ir_demand *d, int which, struct arena *a);
const char *ir_demand_rule(const struct ir_demand *d);
/* Adds a demand, unless it always holds or is present already. False if it never holds. */
bool ir_demand_add(struct ir_program *p, const struct ir_demand *d);
/* If two extents must be equal and one is a plain symbol (no size, no value), replaces it by the other. Inputs' extents
 * then repeat a symbol, and matching it checks the demand. */
void ir_demands_unify(struct ir_program *p);
/* "extent 2 of x is 40 and extent 2 of y is 41; they must be equal", of the extents as text. */
const char *ir_demand_text(const struct ir_demand *d, const char *first, const char *second, struct arena *a);
/* Checks a demand for the values that `symbol` gives. Returns 0 also if one has no value; ERR_MODEL names the node and
 * both tensors. */
int ir_demand_check(const struct ir_program *p, const struct ir_demand *d, ir_symbol_fn symbol, void *user,
                    struct arena *a, struct err *e);
/* The position of the first use of a symbol: in the extents of inputs, then of all buffers. Orders symbols
 * independently of their names. Symbols in no extent come last. */
int ir_symbol_place(const struct ir_program *p, expr symbol);
/* The most that e, over symbols, can be whatever the sizes turn out to be. */
expr ir_size_limit(const struct ir_program *p, expr e);
/* A new loop as the last stage, with an empty body. Body stages are taken out of p->stages: see ir_loop_take. */
struct ir_stage *ir_loop_new(struct ir_program *p, expr trip);
/* Moves the stages of p from index `first` on, which follow the loop, into its body. */
void ir_loop_take(struct ir_program *p, struct ir_stage *loop, int first);
/* The i-th result buffer of a stage, or null: out; count; states, then collected ones. */
struct ir_buffer *ir_stage_made(const struct ir_stage *s, int i);
/* True for stages that accumulate: a reduction or a scan, with its post expression. */
bool ir_accumulates(const struct ir_stage *s);
bool ir_sums_products(const struct ir_stage *s); /* a reduction: a sum of products of two factors */
struct ir_stage *ir_stage_new(struct ir_program *p, enum ir_stage_kind kind, struct ir_buffer *out);
expr ir_buffer_count(const struct ir_program *p, const struct ir_buffer *b); /* elements */
bool ir_same_extents(const struct ir_buffer *a, const struct ir_buffer *b);  /* the same expressions, whatever the
                                                                              * types */
/* True if the text form of programs reserves a name. The printers handle names that the kernels' languages reserve. */
bool ir_name_reserved(const char *name);
/* Row-major position of an element. */
expr ir_flat(struct ir_pool *p, const struct ir_buffer *b, const expr *index);
/* Back: the indices of the element of extents dim at row-major position `flat`. */
void ir_unflat(expr flat, int rank, const expr *dim, expr *index);
/* The axes of a stage that makes b; the position of its element in b. */
void ir_own_axes(struct ir_pool *p, const struct ir_buffer *b, expr *axis);
expr ir_own_position(struct ir_pool *p, const struct ir_buffer *b);
/* True if a scatter's result may take the place of a spare input, once maps between the two are inlined. */
bool ir_may_replace(const struct ir_program *p, const struct ir_buffer *out);
/* Calls fn for every expression of a stage, in a fixed order; `role` is for messages. For a loop: the conditions, the
 * states' initial values (role "carry"), the positions of collected elements, then the body's expressions. */
void ir_stage_exprs(const struct ir_stage *s, void (*fn)(void *user, expr e, const char *role), void *user);
/* The same with the places of the expressions, where fn may put others. */
void ir_stage_slots(struct ir_stage *s, void (*fn)(void *user, expr *slot, const char *role), void *user);
/* True if the loop, or one inside it, uses the buffer as a state's next value or collects it; true if the stage reads
 * it, in an expression or that way. */
bool ir_loop_copies(const struct ir_loop *l, const struct ir_buffer *b);
bool ir_stage_reads(const struct ir_stage *s, const struct ir_buffer *b);
bool ir_reads(expr e, const struct ir_buffer *b);
bool ir_read_in_common(expr a, expr b);            /* true if both load from one buffer */
uint64_t ir_buffer_bit(const struct ir_buffer *b); /* one bit; several buffers may have the same */
/* A stage's result for the accumulator's final value: its `post`, or a cast. */
expr ir_stage_result(struct ir_pool *p, const struct ir_stage *s, expr acc);
struct ir_stage *ir_stage_of(const struct ir_program *p, const struct ir_buffer *b); /* the stage defining b, or null */
/* True if the stage sums products of elements that are 8-bit floats as they are (see type_multiplies_f8). */
bool ir_sums_f8(const struct ir_stage *s);

/* The run-time source of a symbol's value: the first input extent that is this symbol alone. False if no input has
 * it. */
bool ir_symbol_source(const struct ir_program *p, expr symbol, int *input, int *axis);

/* The element of `s->out` at constant index `at` as an expression over symbols, derived from the contents of the
 * stage's inputs; null if unknown. For maps; for reductions, scans and scatters over at most 64 elements or updates. */
expr ir_element(struct ir_program *p, const struct ir_stage *s, const int64_t *at);

/* ---- Text, check, hash, passes ----------------------------------------------------------------- */

void ir_print_expr(struct str *out, expr e, int out_rank);      /* axes from out_rank on are named r, s, t ... */
void ir_print_stage(struct str *out, const struct ir_stage *s); /* one line, indented by two */
void ir_print_program(struct str *out, const struct ir_program *p);
/* Human-readable form: shows only the beginning of a long constant, so it may not parse back. */
void ir_print_summary(struct str *out, const struct ir_program *p);

/* Checks every rule of the language: types, ranks, extents of axes, order of stages. A failure is a bug in the last
 * pass. */
int ir_check(const struct ir_program *p, struct err *e);
/* The same for a program that is only interpreted: expressions may exceed IR_MAX_SIZE, which counts common parts as
 * often as they are used, while the interpreter computes them once. */
int ir_check_interpreted(const struct ir_program *p, struct err *e);

/* Canonical hash, 128 bits as 32 hex digits: equal for programs that differ only in names and in weights' values. */
void ir_hash(const struct ir_program *p, char out[33]);

/* The passes, in the order of ir_optimise; ir_check runs after each. `dump` (may be null) is called with each pass's
 * name and the program after it ("lower" before the first). */
struct ir_pass {
	const char *name;
	int (*run)(struct ir_program *p, struct err *e);
	bool fuses; /* merges several stages into one */
};
typedef void (*ir_dump_fn)(void *user, const char *pass, const struct ir_program *p);
int ir_optimise(struct ir_program *p, ir_dump_fn dump, void *user, struct err *e);
int ir_optimise_unfused(struct ir_program *p, struct err *e); /* without the passes that fuse */

#endif
