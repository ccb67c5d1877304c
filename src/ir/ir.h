/* Tensor programs: expressions, buffers, stages. What every ONNX operator is lowered to, and the only thing that
 * schedules, printers and the interpreter know. Text form: print.c and parse.c. */
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
	/* Of expressions in programs, so that what walks them by recursion, and what writes them out, has an end. */
	IR_MAX_DEPTH = 1000,
	IR_MAX_SIZE = 1 << 17,
	IR_MAX_EXTENT = 4096, /* the size of an extent */
	IR_MAX_CONTENT = 512, /* of an element that is followed through shape arithmetic: a longer one is not known */
	IR_MAX_LOOPS = 8,     /* in each other */
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
 * so that what comes back may be any equal expression. Expressions of type index are kept as sorted polynomials. */
struct ir_expr {
	enum ir_op op;
	enum type type;
	bool varies;   /* holds an AXIS, VAR, LOAD or ACC: not the same everywhere in a program */
	int n;         /* operands */
	int depth;     /* of the longest way down to a leaf */
	uint32_t size; /* nodes when written out as a tree, axes without their extents; stops counting at UINT32_MAX */
	uint32_t id;   /* of creation, dense from 0: index for memo tables */
	uint64_t hash; /* of the structure; the same in every pool */
	struct ir_pool *pool;
	union {
		int64_t i;                     /* CONST_INT; AXIS: which */
		double f;                      /* CONST_FLOAT: a value of the type */
		const char *name;              /* SYMBOL */
		const struct ir_variable *var; /* VAR, ELEMENT */
		const struct ir_buffer *buf;   /* LOAD */
	};
	const struct ir_expr *arg[];
};
typedef const struct ir_expr *expr;

struct ir_pool;
struct ir_pool *ir_pool_new(struct arena *a); /* lives and dies with the arena */

/* A variable of a kernel, or a loop's turn. Its identity is its address: no two are the same because they are called
 * alike. What it is called in a kernel's text is the printer's to choose, the hint where that is free. */
enum { IR_ARRAY_RANK = 4 };
struct ir_variable {
	enum ir_variable_kind {
		IR_OWN,           /* declared by a statement of the kernel */
		IR_CALLED,        /* by its name: a loop's turn, in a program. No kernel has one */
		IR_SYMBOL_HOLDER, /* what a symbol stands for, whose name the hint is: the printer writes both alike */
		IR_THREAD_NUMBER, /* these three are there without a declaration */
		IR_BLOCK_NUMBER,
		IR_SHARED_MEMORY, /* what a block gets at its launch */
	} kind;
	const char *hint;
	enum type type; /* of an element; TYPE_NONE: a function of the kernel's own, memory, or an object */
	const struct ir_object *object; /* of what type of the device headers; null: of none (see device.h) */
	int rank;                       /* of an array; 0: it is none */
	int dim[IR_ARRAY_RANK];
	const struct ir_expr *extent; /* of an array: each of its elements is from 0 to before it; null: any value */
	unsigned number;              /* among its pool's */
	struct ir_pool *pool;
};
struct ir_variable *ir_variable_new(struct ir_pool *p, enum type t, const char *hint, ...)
        __attribute__((format(printf, 3, 4)));
/* A variable of that thing, a buffer or whatever is known by its address, in a kernel; null: of the kernel itself. The
 * same one for the same format and text, which say what it is to the thing, as long as the kernel is built. */
struct ir_variable *ir_variable_of(struct ir_pool *p, enum type t, const void *of, const char *hint, ...)
        __attribute__((format(printf, 4, 5)));
struct ir_variable *ir_variable_called(struct ir_pool *p, enum type t, const char *name);
struct ir_variable *ir_variable_of_symbol(struct ir_pool *p, const char *symbol);
/* An array's extents, which its declaration has. */
void ir_variable_dims(struct ir_variable *array, int rank, const int *dim);
/* A kernel begins: what ir_variable_of() gives from here on is its own. */
void ir_variables_begin(struct ir_pool *p);
uint32_t ir_pool_size(const struct ir_pool *p); /* ids given so far */

expr ir_int(struct ir_pool *p, enum type t, int64_t x);
expr ir_float(struct ir_pool *p, enum type t, double x);
expr ir_const(struct ir_pool *p, enum type t, double x); /* int or float as the type asks */
expr ir_index(struct ir_pool *p, int64_t x);             /* ir_int of type index */
expr ir_symbol(struct ir_pool *p, const char *name);
expr ir_axis(struct ir_pool *p, int axis, expr extent); /* 0 <= value < extent */
expr ir_acc(struct ir_pool *p, enum type t);
/* The value of a variable that is no array; extent: 0 <= value < extent, or null: any value. */
expr ir_var_of(const struct ir_variable *v, expr extent);
/* One that is a multiple of that number: of (v + rest) / 8 and (v + rest) % 8, rest alone is divided. */
expr ir_var_multiple(const struct ir_variable *v, expr extent, int64_t multiple);
/* The value of the variable called so: ir_variable_called(). In programs alone. */
expr ir_var(struct ir_pool *p, enum type t, const char *name, expr extent);
/* The value of a new variable: what an expression would be of any number there. */
expr ir_some(struct ir_pool *p, enum type t, expr extent);
/* An element of an array: an index for each of its ranks. */
expr ir_element_of(const struct ir_variable *array, int n, const expr *index);
/* The numbers of a thread in its block and of a block, signed as all index arithmetic. */
expr ir_thread(struct ir_pool *p, expr extent);
expr ir_block(struct ir_pool *p, expr extent);
const struct ir_variable *ir_shared_memory(struct ir_pool *p);
expr ir_load(struct ir_pool *p, const struct ir_buffer *buf, const expr *index); /* buf->rank indices */
expr ir_unary(enum ir_op op, expr a);
expr ir_binary(enum ir_op op, expr a, expr b);
expr ir_select(expr cond, expr a, expr b);
expr ir_cast(expr a, enum type to); /* the same type: a itself */
expr ir_cast_sat(expr a, enum type to);
expr ir_bitcast(expr a, enum type to);
/* Any node with other operands: what rewriting passes use. */
expr ir_rebuild(expr e, const expr *arg);

bool ir_is_int(expr e, int64_t x); /* a constant integer or index equal to x */
bool ir_const_int(expr e, int64_t *x);

/* Copy `e` into pool `p`, asking `leaf` for each AXIS, SYMBOL, VAR, ACC and LOAD; null from it means "copy as it is" (a
 * LOAD's operands are already copied and given in `arg`). Shared nodes are visited once. */
typedef expr (*ir_leaf_fn)(void *user, struct ir_pool *p, expr e, const expr *arg);
expr ir_copy(struct ir_pool *p, expr e, ir_leaf_fn leaf, void *user);

/* Bounds that always hold. Null when none is known; what comes back does not vary (see ir_expr.varies). */
expr ir_lower_bound(expr e);
expr ir_upper_bound(expr e);
bool ir_nonnegative(expr e);  /* provably e >= 0 */
bool ir_less(expr a, expr b); /* provably a < b */
/* e = divisor * quotient + rest when every term that can be divided is: null quotient when nothing can. */
void ir_split(expr e, expr divisor, expr *quotient, expr *rest);

/* The largest number known to divide an index, whatever its axes and variables are; 0: the index is 0. */
int64_t ir_multiple(expr e);

/* The terms of an index expression as a polynomial: coefficient and factors. Calls fn for each; the constant term has
 * no factors. */
void ir_poly_terms(expr e, void (*fn)(void *user, int64_t coefficient, int factors, const expr *factor), void *user);
/* How much e grows when axis `axis` grows by one, when that is the same everywhere; else null. */
expr ir_stride(expr e, int axis);

/* The value of an integer expression over symbols; `symbol` gives each symbol's value. False when the expression holds
 * anything else, overflows, or a symbol is unknown. */
typedef bool (*ir_symbol_fn)(void *user, const char *name, int64_t *value);
bool ir_eval_int(expr e, ir_symbol_fn symbol, void *user, int64_t *out);

/* An expression of any type as an integer expression of type index, in which extents can be compared, over symbols and
 * loops' turns: floats that are exact rational functions of them and are then rounded (floor, ceil, cast) become
 * divisions, and a bool is 0 or 1. Null when it is no integer, or not known. `known` gives an element that is loaded,
 * of type index, or null when it is not known; it may be null itself: none is. Shapes do not wrap, so the arithmetic is
 * that of whole numbers. Source: what PyTorch's exporter writes for interpolate(scale_factor=...). */
typedef expr (*ir_known_fn)(void *user, expr load);
expr ir_integer_of(expr e, ir_known_fn known, void *user);

/* Calls fn once for every node reachable from e, operands first. */
void ir_walk(expr e, void (*fn)(void *user, expr e), void *user);
/* The same, users first, for the nodes that are evaluated whenever e is: not behind a select, and, or, unless both
 * branches of a select evaluate it. mark: sets sure[id], of e->id + 1, for them. */
void ir_mark_unconditional(expr e, bool *sure);
void ir_walk_unconditional(expr e, void (*fn)(void *user, expr e), void *user);
bool ir_uses(expr e, enum ir_op op);
expr ir_bind_axes(struct ir_pool *p, expr e, const expr *axis); /* e with axis[i] for AXIS i */
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
	const struct tensor *data; /* IR_CONSTANT: its value. Inputs: non-null when the value is known at build time */
	struct ir_buffer *flat;    /* kernels: the same as one row; made when first asked for (sched/) */
	const expr *content; /* small integer buffers whose elements are known as expressions of extents; or null */
};

/* A size that is known only when the program runs: the symbol `symbol` stands in extents for the number in `count`, a
 * scalar of type i64 that some stage makes; 0 <= count <= limit, which is over the inputs' symbols. */
struct ir_size {
	const char *symbol;
	struct ir_buffer *count;
	expr limit;
};

/* A number that decides extents and that is known when a program is launched, but not when it is built: element
 * `element` of the integer input `buf`, not negative; or (buf is null) `known`, over such numbers and the inputs'
 * symbols. What runs the program on a device learns of them from outputs' extents alone. */
struct ir_value {
	const char *symbol;
	struct ir_buffer *buf;
	int64_t element;
	expr known;
};

/* What an operator demands of two extents, each over symbols: an axis of one tensor and an axis of another. Programs
 * read one input over another's extents and rely on it, so whatever runs a program checks it first. Demands on sizes
 * that are found at run time can be checked by the interpreter alone. */
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
	const char *tensor[2]; /* as the model names them; the first null: its number follows from others */
	int axis[2];           /* negative: what `tensor` says is no tensor, but a number of that name */
	const char *node;      /* its label */
};

/* map:     out[i...] = value
 * reduce:  out[i...] = post(combine over r... of value); axes rank.. of the space are the reduced ones
 * scatter: out[i...] = init (a space of out's rank); then for every u... of the update space where `where` holds:
 *          out[at...] = combine(out[at...], value). Two updates of one element without a combine: either wins.
 * scan:    out[i...] = post(combine of value at all positions along `axis` up to this one, or before it when exclusive;
 *          reverse: from this one, or from behind it, to the end)
 * sort:    out[i...] = where along `axis` the element is found that comes at this place in the stable ascending order
 * of value; reverse: descending, stable too (of equals the first comes first). value is over out's axes but `axis`, and
 * the axis behind them, of extent space[0] >= out's extent along `axis`. A NaN is larger than all numbers compact:
 * out[k] = value at the k-th point of the space, in row-major order, where `where` holds; count[] = how many there are:
 * the size that is out's extent loop:    see struct ir_loop Elements narrower than a byte are made by maps only:
 * whoever stores one stores all that share its byte. */
enum ir_stage_kind { IR_MAP, IR_REDUCE, IR_SCATTER, IR_SCAN, IR_SORT, IR_COMPACT, IR_LOOP };

enum ir_combine {
	IR_NONE, /* scatter: replace */
	IR_SUM,
	IR_PROD,
	IR_MAXIMUM, /* a NaN wins, in both */
	IR_MINIMUM,
	IR_ALL,
	IR_ANY,
	IR_ARGMAX, /* reduce only: value's position in the reduced space, flattened; the first of equals */
	IR_ARGMIN,
	IR_ARGMAX_LAST, /* the last of equals */
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
	int space_rank;          /* reduce: reduced axes; scatter: axes of the update space */
	expr space[IR_MAX_RANK]; /* their extents */
	expr post; /* reduce, scan: over out's axes and ACC; null: what was accumulated, cast to out's type */
	expr init; /* scatter */
	expr at[IR_MAX_RANK];    /* scatter: out->rank indices */
	expr where;              /* scatter: bool, or null: always */
	int axis;                /* scan, sort */
	bool exclusive, reverse; /* scan; sort: reverse */
	struct ir_buffer *count; /* compact */
	struct ir_loop *loop;    /* loop; it has no value, and `out` is the first buffer that it makes */
};

/* For t = 0 .. trip - 1, as long as the stage's `where` holds (a bool without axes, looked at before each turn; null:
 * always): the stages of the body run in their order. What they make is the body's own and is made anew in each turn.
 * A carried state is `init` before the first turn, and becomes `next` (of the same type and extents) behind each one,
 * all states at once. A collected buffer gets `from` at position `at` of its first axis in each turn; what no turn
 * wrote is not defined. Bodies read everything that is defined before the loop; behind it, its states and collected
 * buffers are there to be read. */
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
	struct {
		VEC(struct ir_buffer *);
	} inputs, outputs, buffers; /* buffers: all of them, by id */
	struct {
		VEC(struct ir_stage *);
	} stages; /* in an order in which they can run */
	struct {
		VEC(struct ir_size);
	} sizes;
	struct {
		VEC(struct ir_value);
	} values;
	struct {
		VEC(struct ir_demand);
	} demands;
	int loops;              /* made so far: their indices have names of their own */
	struct ir_found *found; /* what schedule rules found in the stages (sched/core/match.c); null: nothing that
	                         * holds now */
};

struct ir_program *ir_program_new(struct arena *a, const char *name);
/* Whether a scatter replaces elements, so that two of its updates may race for one. */
bool ir_replaces(const struct ir_program *p);
/* A new buffer; a name already taken gets a number behind it. Inputs and outputs are appended to their lists. */
struct ir_buffer *ir_buffer_new(struct ir_program *p, const char *name, enum type t, int rank, const expr *dim,
                                enum ir_role role);
/* The symbol of a new size; `name` gets a number behind it when it is taken. */
expr ir_size_new(struct ir_program *p, const char *name, struct ir_buffer *count, expr limit);
const struct ir_size *ir_size_find(const struct ir_program *p, const char *symbol); /* null: none of that name */
/* The symbol of a new value; `name` as above. */
expr ir_value_new(struct ir_program *p, const char *name, struct ir_buffer *buf, int64_t element, expr known);
const struct ir_value *ir_value_find(const struct ir_program *p, const char *symbol); /* null: none of that name */
bool ir_value_is(const struct ir_program *p, const struct ir_buffer *b); /* some value is an element of it */
/* Extents that are more than one value, or one and something else, get values of their own: symbols in their places, in
 * all extents and expressions, so that an output's extent tells the number. */
void ir_value_extents(struct ir_program *p);
/* Of two equal extents the one to go on with: a number, or the simpler expression. */
expr ir_extent_choice(expr a, expr b);
/* Of a demand that mentions sizes, which nobody can look at before a launch: what makes reads stay inside of the memory
 * that buffers have, which is for the sizes' limits. False when it mentions none. */
bool ir_demand_of_limits(struct ir_program *p, const struct ir_demand *d, struct ir_demand *limits);
/* Whether a demand holds, as a bool over symbols. */
expr ir_demand_holds(const struct ir_demand *d);
/* "extent 2 of x", or null; "they must be equal", or where the first has no name "it must be", which ends in its
 * number. */
const char *ir_demand_name(const struct ir_demand *d, int which, struct arena *a);
const char *ir_demand_rule(const struct ir_demand *d);
/* Adds a demand, unless it always holds or is there already. False when it never holds. */
bool ir_demand_add(struct ir_program *p, const struct ir_demand *d);
/* Puts `to` in the place of a symbol, everywhere in the program. */
void ir_substitute(struct ir_program *p, const char *symbol, expr to);
/* Where extents must be equal and one is a symbol that only says so (no size, no value), the other takes its place.
 * Extents of inputs then mention one symbol several times, which is what checks them. */
void ir_demands_unify(struct ir_program *p);
/* "extent 2 of x is 40 and extent 2 of y is 41; they must be equal", of the extents as text. */
const char *ir_demand_text(const struct ir_demand *d, const char *first, const char *second, struct arena *a);
/* Where the program first mentions a symbol: in the extents of its inputs, then of all buffers. It orders symbols
 * whatever they are called. A symbol that no extent has comes last. */
int ir_symbol_place(const struct ir_program *p, const char *name);
/* The most that e, over symbols, can be whatever the sizes turn out to be. */
expr ir_size_limit(const struct ir_program *p, expr e);
/* A new loop as the last stage, with an empty body. Body stages are taken out of p->stages: see ir_loop_take. */
struct ir_stage *ir_loop_new(struct ir_program *p, expr trip);
/* Moves the stages of p from index `first` on, which stand behind the loop, into its body. */
void ir_loop_take(struct ir_program *p, struct ir_stage *loop, int first);
/* The i-th buffer that a stage makes for others to read, or null: out; count; states, then collected ones. */
struct ir_buffer *ir_stage_made(const struct ir_stage *s, int i);
/* Whether what a stage makes is accumulated: a reduction or a scan, with its post expression. */
bool ir_accumulates(const struct ir_stage *s);
struct ir_stage *ir_stage_new(struct ir_program *p, enum ir_stage_kind kind, struct ir_buffer *out);
expr ir_buffer_count(const struct ir_program *p, const struct ir_buffer *b); /* elements */
bool ir_same_extents(const struct ir_buffer *a, const struct ir_buffer *b);  /* the same expressions, whatever the
                                                                              * types */
/* Whether a name means something else in the text form of programs. What kernels' languages reserve is the printers'
 * affair. */
bool ir_name_reserved(const char *name);
/* Row-major position of an element. */
expr ir_flat(struct ir_pool *p, const struct ir_buffer *b, const expr *index);
/* Every expression of a stage, in a fixed order; `role` is null-terminated text for messages. Of a loop: the
 * conditions, the states' first values (role "carry"), positions of what is collected, then all of the body's. */
void ir_stage_exprs(const struct ir_stage *s, void (*fn)(void *user, expr *slot, const char *role), void *user);
/* Whether the loop, or one inside it, takes the buffer as a state's next value or collects it; whether the stage reads
 * it, in an expression or so. */
bool ir_loop_copies(const struct ir_loop *l, const struct ir_buffer *b);
bool ir_stage_reads(const struct ir_stage *s, const struct ir_buffer *b);
bool ir_reads(expr e, const struct ir_buffer *b);
struct ir_stage *ir_stage_of(const struct ir_program *p, const struct ir_buffer *b); /* that defines b, or null */

/* Where each symbol's value comes from at run time: the first input extent that is that symbol alone. False when no
 * input has it. */
bool ir_symbol_source(const struct ir_program *p, const char *symbol, int *input, int *axis);

/* The element of `s->out` at constant index `at` as an expression over symbols, from the contents of what the stage
 * reads; null when it is not known. Maps; reductions, scans and scatters over at most 64 elements or updates. */
expr ir_element(struct ir_program *p, const struct ir_stage *s, const int64_t *at);

/* ---- Text, check, hash, passes ----------------------------------------------------------------- */

void ir_print_expr(struct str *out, expr e, int out_rank);      /* axes from out_rank on are named r, s, t ... */
void ir_print_stage(struct str *out, const struct ir_stage *s); /* one line, indented by two */
void ir_print_program(struct str *out, const struct ir_program *p);
/* The same for people: of a long constant only the beginning. It does not parse back then. */
void ir_print_summary(struct str *out, const struct ir_program *p);
int ir_parse_program(struct ir_program **out, const char *text, struct arena *a, struct err *e);

/* Every rule of the language: types, ranks, extents of axes, order of stages. A failure is a bug in the pass before. */
int ir_check(const struct ir_program *p, struct err *e);

/* Canonical hash, 128 bits as 32 hex digits: equal for programs that differ only in names. */
void ir_hash(const struct ir_program *p, char out[33]);

/* The passes, in the order in which ir_optimise runs them; each is followed by ir_check. `dump`, when not null, is
 * called with the pass's name and the program after it ("lower" before the first). */
struct ir_pass {
	const char *name, *help;
	int (*run)(struct ir_program *p, struct err *e);
	bool fuses; /* it makes of several stages what runs as one */
};
extern const struct ir_pass ir_passes[]; /* ends with a null name */
typedef void (*ir_dump_fn)(void *user, const char *pass, const struct ir_program *p);
int ir_optimise(struct ir_program *p, ir_dump_fn dump, void *user, struct err *e);
int ir_optimise_unfused(struct ir_program *p, struct err *e); /* without the passes that fuse */

#endif
