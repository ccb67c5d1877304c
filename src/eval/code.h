/* Inside src/eval/ only: the compiled form of a stage's expressions, and its execution.
 *
 * A stage's index space is a nest of loops around a chunk of *lanes*: up to EVAL_LANES neighbouring positions of some
 * trailing axes, flattened. Expressions become a linear list of instructions over registers; a *varying* register has
 * one element per lane, a *uniform* one a single element. Every instruction has a level: it runs when the loop of that
 * level advances, so that loop-invariant values are computed once. */
#ifndef TPAT_EVAL_CODE_H
#define TPAT_EVAL_CODE_H

#include "eval/eval.h"

enum { EVAL_LANES = 512, EVAL_AXES = 2 * IR_MAX_RANK };

/* Register kinds: f32 and all narrower floats; f64; bool and integers up to 32 bits except u32; the other integers.
 * Integers are sign- or zero-extended from their type; U64 keeps its bits. */
enum kind { KIND_F32, KIND_F64, KIND_I32, KIND_I64, KIND_COUNT };

/* Kernels exist for each kind and for u64. */
enum { VARIANT_U64 = KIND_COUNT, VARIANT_COUNT };

struct frame;
struct insn;
typedef void (*insn_fn)(struct frame *f, const struct insn *i);

struct reg {
	enum kind kind;
	bool varying;
	uint32_t axes; /* one bit per axis it depends on */
	int level;
	const void *preset; /* address of a constant */
	int axis;           /* axis whose index it holds, or -1 */
	int pad;            /* extra elements after the lanes */
};

struct insn {
	insn_fn fn;
	int d, a, b, c; /* registers: result d, operands a, b, c */
	bool varying;   /* over all lanes */
	int level;
	enum type type; /* of the result, to convert or wrap to */
	int64_t imm;
	const struct access *access;
};

/* constant + sum of coefficient * term, modulo 2^64; a term is an axis or another expression of type index. */
struct linear_term {
	int64_t coefficient;
	int axis; /* or -1: atom */
	expr atom;
	int reg; /* its register of KIND_I64; -1: not needed (axes only) */
	bool varying;
};
struct linear {
	int64_t constant;
	VEC(struct linear_term);
};

/* The positions a load reads or a scatter writes. Position of lane l = base + step * (position of l in the lane space),
 * or base + offset[l]. */
struct access {
	const struct ir_buffer *buf;
	enum type type; /* of the data: the buffer's, or of its decoded form */
	const void *data;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	struct linear index[IR_MAX_RANK]; /* by dimension */
	struct linear base;               /* uniform part of the row-major position */
	struct linear lanes;              /* varying part */
	bool varying;
	int64_t step;
	int offset; /* register, or -1; extra elements: see OFFSET_* */
	int guard;  /* register: the active lanes; -1: all */
	bool guard_varying, writes;
	uint32_t axes; /* that position and guard depend on */
};

/* Extra elements after a chunk's offsets: minimum, maximum, whether the step is constant, and the step. */
enum { OFFSET_LEAST, OFFSET_GREATEST, OFFSET_HAS_STEP, OFFSET_STEP, OFFSET_PAD };

/* Compile-time context of a stage's expressions. */
struct eval_buffer {
	enum type type;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	void *data;          /* non-null once the buffer is defined */
	void *decoded;       /* elements as f32 or i32 during one stage, or null */
	bool changes;        /* while preparing a loop: redefined in every iteration */
	bool open;           /* an extent depends on a size not computed yet: no extents, no data */
	struct arena *arena; /* its own, or null */
	int last_use;        /* last stage that reads it; -1: none; INT_MAX: never freed */
};

struct eval_run {
	const struct ir_program *program;
	struct eval_buffer *buffer; /* by id */
	struct map symbols;         /* id -> int64_t */
	struct map turns;           /* variables of the enclosing loops -> struct eval_turn */
	bool brief;                 /* compiled code is released before the stage ends */
	int threads;
	struct arena *arena; /* scratch: released after each stage */
	struct err *err;
	const char *stage;      /* its buffer's name, for messages */
	struct tensor *outputs; /* of the program; their data are in out_arena */
	struct arena *out_arena;
};
struct eval_turn {
	int64_t now, trip;
};
/* Fails if a demand with known extents does not hold. */
int eval_demands_check(struct eval_run *run);
bool eval_symbol_value(void *run, expr symbol, int64_t *value);
int eval_extent(struct eval_run *run, expr e, int64_t *out);
int eval_buffer_extents(struct eval_run *run, const struct ir_buffer *b); /* unless they mention an open size */

/* eval_buffer.c: allocates memory for a buffer before a stage defines it; does nothing if it has some, or is open. */
void eval_give_memory(struct eval_run *run, const struct ir_buffer *b);
/* Sets an open buffer's extents once they are known; makes an output's tensor. */
int eval_buffer_close(struct eval_run *run, const struct ir_buffer *b);
int eval_place_output(struct eval_run *run, int i); /* makes the tensor of output i, or copies what it has */

/* eval_size.c: true if the extents depend on a size without a value. */
bool eval_size_open(struct eval_run *run, const struct ir_buffer *b);
/* After a stage has computed this buffer: sets the sizes it counts, and the extents of buffers that depend on them. */
int eval_size_found(struct eval_run *run, const struct ir_buffer *count);

struct eval_space {
	int rank;
	int64_t extent[EVAL_AXES];
	int lane_low, lane_high; /* the axes flattened into lanes: low <= axis < high */
	int64_t lane_count;      /* their product */
	int lanes;               /* maximum per chunk */
};

struct compiler;
struct code {
	struct eval_run *run;
	const struct eval_space *space;
	struct arena *arena;
	struct {
		VEC(struct reg);
	} regs;
	struct {
		VEC(struct insn);
	} insns;                   /* sorted by level once eval_code_finish ran */
	int *begin;                /* begin[l] .. begin[l + 1]: the instructions of level l */
	int acc;                   /* register of ACC, or -1 */
	int axis_reg[EVAL_AXES];   /* + 1; 0: none yet */
	struct map ranges;         /* index.c: by expression */
	struct compiler *compiler; /* memo of compile.c */
};

struct frame {
	const struct code *code;
	void **r, **own;          /* registers; their own memory (a load may point r into the buffer) */
	int n;                    /* active lanes */
	int64_t lane;             /* position of the first in the lane space */
	int64_t *axis;            /* values of loop axes */
	const struct insn *fault; /* the instruction that hit an index out of bounds */
	int fault_lane;
};

/* compile.c: expressions to instructions. `guard`: register with the lanes that may load, -1: all. */
void eval_code_init(struct code *c, struct eval_run *run, const struct eval_space *space, struct arena *a);
int eval_compile(struct code *c, expr e, int guard, int *reg);
/* Appends the registers of the conditions that must all hold for `e` to hold; each is right where those before hold. */
struct eval_regs {
	VEC(int);
};
int eval_compile_conjuncts(struct code *c, expr e, int guard, struct eval_regs *regs);

/* emit.c: registers, instructions, levels. */
enum kind eval_kind(enum type t);
bool eval_type_known(enum type t); /* true if the type has a kind */
size_t eval_kind_size(enum kind k);
int eval_reg_new(struct code *c, enum kind kind, bool varying, uint32_t axes);
/* Appends an instruction: a new register computed by `fn` from a, b and c (-1: none); varying if one of them is, unless
 * said otherwise. */
int eval_emit(struct code *c, insn_fn fn, enum kind kind, int a, int b, int third);
struct insn *eval_emit_raw(struct code *c, insn_fn fn, int d); /* the caller fills the rest */
int eval_constant(struct code *c, enum kind kind, double f, int64_t i);
int eval_axis_reg(struct code *c, int axis);
int eval_splat(struct code *c, int reg);       /* returns reg if it varies */
int eval_splat_lanes(struct code *c, int reg); /* the same, if the space has lanes */
int eval_convert(struct code *c, int reg, enum type from, enum type to, bool saturate);
int eval_wrap(struct code *c, int reg, enum type t);
/* Assigns every instruction its level and sorts them: level_of[axis] for loops and lanes; `levels` in total. */
void eval_code_finish(struct code *c, const int *level_of, int levels);
void eval_frame_init(struct frame *f, const struct code *c, int64_t *axis, struct arena *a);
/* Runs the instructions of levels first .. last; false if an index was out of bounds. */
bool eval_code_run(struct frame *f, int first, int last);

/* index.c: index expressions with the extents known. */
struct range {
	int64_t low, high;
};
struct range eval_range(struct code *c, expr e);
void eval_linear(struct code *c, expr e, struct linear *out);
/* As ir_walk, with its memory in the run's arena: its own arena would leak when memory runs out. */
void eval_walk(struct arena *a, expr e, void (*fn)(void *user, expr e), void *user);
void eval_linear_add(struct code *c, struct linear *l, int64_t k, const struct linear *x); /* l += k * x */

/* access.c: positions in buffers and their bounds. */
int eval_access_new(struct code *c, const struct ir_buffer *buf, const expr *index, int guard, bool writes,
                    struct access **out);
/* Describes a fault: "reads x[3,7] outside f32[3,5]". */
void eval_fault_describe(struct str *out, const struct frame *f);

/* load.c: elements between buffers and registers. */
int eval_load(struct code *c, const struct access *x);
bool eval_load_decodes(enum type t); /* true if elements need more than a conversion */
/* The positions of all lanes; undefined outside the guard. */
void eval_positions(const struct frame *f, const struct access *x, int64_t *at);
void eval_run_load(enum type t, const void *data, int64_t at, int n, void *reg);
void eval_run_store(enum type t, void *data, int64_t at, int n, const void *reg);

/* kernels.c, eval_convert.c, reduce.c: null if the operation is undefined for the variant. */
insn_fn eval_kernel(enum ir_op op, int variant);
insn_fn eval_select_kernel(enum kind k, bool uniform_condition);
insn_fn eval_splat_kernel(enum kind k);
insn_fn eval_convert_kernel(int from_variant, enum type to);
insn_fn eval_wrap_kernel(enum type t);
insn_fn eval_bitcast_kernel(void);
insn_fn eval_accumulate_kernel(enum ir_combine c, int variant);
insn_fn eval_multiply_add_kernel(enum kind k, bool uniform); /* d += a * b; uniform: b is */
/* `t`: type of the values; `k`: kind of the accumulator (F64 for floats); `position`: for arg reductions, or null. */
void eval_accumulator_init(enum ir_combine c, enum kind k, enum type t, void *acc, int64_t *position, int n);
void eval_accumulator_fold(enum ir_combine c, enum kind k, bool u64, void *acc, int64_t *position, int n);

/* A prepared stage: compiled once, for buffers that keep their memory, and run in every iteration of a loop. Its parts
 * run in sequence. Allocated in run->arena. */
struct nest;
struct eval_part {
	struct nest *nest; /* or null, and then `fn` */
	int workers;       /* maximum; 0: the run's */
	int (*fn)(struct eval_run *run, void *user);
	void *user;
};
struct eval_ready {
	const char *stage; /* for messages */
	VEC(struct eval_part);
};
int eval_prepare(struct eval_run *run, const struct ir_stage *s, struct eval_ready *out);
int eval_ready_run(struct eval_run *run, const struct eval_ready *r);

/* eval_map.c, eval_reduce.c, eval_scatter.c, eval_scan.c, eval_sort.c, eval_pick.c, eval_loop.c: add a stage's parts;
 * `out` has memory already. */
int eval_map(struct eval_run *run, const struct eval_buffer *out, expr value, struct eval_ready *ready);
int eval_scatter(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_reduce(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_scan(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_sort(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_pick(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_loop(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
/* Run immediately: a stage, or a map into a buffer outside the program. */
int eval_stage(struct eval_run *run, const struct ir_stage *s);
/* Runs a compaction immediately; allocates `out` itself. */
int eval_compact(struct eval_run *run, const struct ir_stage *s);
/* Combines x and y; the caller wraps integers into their type. */
double eval_combine_floats(enum ir_combine c, double x, double y);
int64_t eval_combine_ints(enum ir_combine c, bool u64, int64_t x, int64_t y);

#endif
