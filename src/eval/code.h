/* Inside src/eval/ only: the compiled form of a stage's expressions, and what runs it.
 *
 * A stage's index space is a nest of loops around a chunk of *lanes*: up to EVAL_LANES neighbouring positions of some
 * trailing axes, flattened. Expressions become a linear list of instructions over registers; a *varying* register has
 * one element a lane, a *uniform* one a single element. Every instruction has a level: it runs when the loop of that
 * level moves on, so that nothing is computed again in an inner loop that does not depend on it. */
#ifndef TPAT_EVAL_CODE_H
#define TPAT_EVAL_CODE_H

#include "eval/eval.h"

enum { EVAL_LANES = 512, EVAL_AXES = 2 * IR_MAX_RANK };

/* What a register holds: f32 and all narrower floats; f64; bool and integers up to 32 bits but u32; the other integers.
 * Integers are kept as what their type holds: sign- or zero-extended; U64 as its bits. */
enum kind { KIND_F32, KIND_F64, KIND_I32, KIND_I64, KIND_COUNT };

/* Kernels come for the kinds and for u64. */
enum { VARIANT_U64 = KIND_COUNT, VARIANT_COUNT };

struct frame;
struct insn;
typedef void (*insn_fn)(struct frame *f, const struct insn *i);

struct reg {
	enum kind kind;
	bool varying;
	uint32_t axes; /* a bit for each axis that it depends on */
	int level;
	const void *preset; /* where a constant is */
	int axis;           /* whose value it is, or -1 */
	int pad;            /* elements behind the lanes */
};

struct insn {
	insn_fn fn;
	int d, a, b, c; /* registers: result and operands */
	bool varying;   /* over all lanes */
	int level;
	enum type type; /* of the result: to what to convert or to wrap */
	int64_t imm;
	const struct access *access;
};

/* constant + sum of coefficient * term, modulo 2^64; a term is an axis or another expression of type index. */
struct linear_term {
	int64_t coefficient;
	int axis; /* or -1: atom */
	expr atom;
	int reg; /* its register of KIND_I64; -1 where none was needed (axes only) */
	bool varying;
};
struct linear {
	int64_t constant;
	VEC(struct linear_term);
};

/* Where a load reads, or a scatter writes. Position of lane l = base + step * (position of l in the lane space), or
 * base + offset[l]. */
struct access {
	const struct ir_buffer *buf;
	enum type type; /* of the data: the buffer's, or what it was decoded to */
	const void *data;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	struct linear index[IR_MAX_RANK]; /* by dimension */
	struct linear base;               /* the part of the row-major position that is the same in all lanes */
	struct linear lanes;              /* the part that is not */
	bool varying;
	int64_t step;
	int offset; /* register, or -1; behind the lanes: see OFFSET_* */
	int guard;  /* register: the lanes that are to be touched; -1: all */
	bool guard_varying, writes;
	uint32_t axes; /* that the position and the guard depend on */
};

/* Behind the offsets of a chunk: the least and greatest; whether they have one step, and which. */
enum { OFFSET_LEAST, OFFSET_GREATEST, OFFSET_HAS_STEP, OFFSET_STEP, OFFSET_PAD };

/* What the expressions of one stage are compiled against. */
struct eval_buffer {
	enum type type;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	void *data;          /* never null, once the buffer is defined */
	void *decoded;       /* during one stage: the elements as f32 or i32, or null */
	bool changes;        /* while a loop is made ready: every turn makes it anew */
	bool open;           /* an extent mentions a size that nobody has counted yet: no extents, no data */
	struct arena *arena; /* its own, or null */
	int last_use;        /* the last stage that reads it, -1: none; INT_MAX: it outlives all */
};

struct eval_run {
	const struct ir_program *program;
	struct eval_buffer *buffer; /* by id */
	struct map symbols;         /* name -> int64_t */
	struct map turns;           /* of the loops around what is compiled: name -> struct eval_turn */
	bool brief;                 /* what is compiled is released before the stage ends */
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
/* Fails when a demand does not hold whose extents are known by now. */
int eval_demands_check(struct eval_run *run);
bool eval_symbol_value(void *run, const char *name, int64_t *value);
int eval_extent(struct eval_run *run, expr e, int64_t *out);
int eval_buffer_extents(struct eval_run *run, const struct ir_buffer *b); /* unless they mention an open size */

/* eval_program.c: memory for a buffer that a stage is about to define; nothing where it has some, or is open. */
void eval_give_memory(struct eval_run *run, const struct ir_buffer *b);
/* An open buffer's extents are known now; an output gets its tensor. */
int eval_buffer_close(struct eval_run *run, const struct ir_buffer *b);

/* eval_size.c: whether the extents mention a size without a value. */
bool eval_size_open(struct eval_run *run, const struct ir_buffer *b);
/* A stage has made this buffer: sizes that it counts get their values, and buffers their extents. */
int eval_size_found(struct eval_run *run, const struct ir_buffer *count);

struct eval_space {
	int rank;
	int64_t extent[EVAL_AXES];
	int lane_low, lane_high; /* the axes whose positions are lanes: low <= axis < high */
	int64_t lane_count;      /* their product */
	int lanes;               /* of a chunk, at most */
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
	} insns;    /* sorted by level once eval_code_finish ran */
	int *begin; /* begin[l] .. begin[l + 1]: the instructions of level l */
	int levels;
	int acc;                   /* the register that ACC means, or -1 */
	int axis_reg[EVAL_AXES];   /* + 1; 0: none yet */
	struct map ranges;         /* of index.c, by expression */
	struct compiler *compiler; /* memo of compile.c */
};

struct frame {
	const struct code *code;
	void **r, **own;          /* registers; their own memory (a load may point into the buffer instead) */
	int n;                    /* lanes in work */
	int64_t lane;             /* position of the first in the lane space */
	int64_t *axis;            /* values of the axes that are loops */
	const struct insn *fault; /* the instruction that found an index outside its buffer */
	int fault_lane;
};

/* compile.c: expressions to instructions. `guard`: register with the lanes that may load, -1: all. */
void eval_code_init(struct code *c, struct eval_run *run, const struct eval_space *space, struct arena *a);
int eval_compile(struct code *c, expr e, int guard, int *reg);

/* emit.c: registers, instructions, levels. */
enum kind eval_kind(enum type t);
bool eval_type_known(enum type t); /* has a kind */
size_t eval_kind_size(enum kind k);
int eval_reg_new(struct code *c, enum kind kind, bool varying, uint32_t axes);
/* A new register that `fn` makes of a, b and c (-1: none); varying when one of them is, unless said otherwise. */
int eval_emit(struct code *c, insn_fn fn, enum kind kind, int a, int b, int third);
struct insn *eval_emit_raw(struct code *c, insn_fn fn, int d); /* the caller fills the rest */
int eval_constant(struct code *c, enum kind kind, double f, int64_t i);
int eval_axis_reg(struct code *c, int axis);
int eval_splat(struct code *c, int reg); /* itself when it varies */
int eval_convert(struct code *c, int reg, enum type from, enum type to, bool saturate);
int eval_wrap(struct code *c, int reg, enum type t);
/* Gives every instruction its level and sorts them: level_of[axis] for loops and lanes; `levels` in all. */
void eval_code_finish(struct code *c, const int *level_of, int levels);
void eval_frame_init(struct frame *f, const struct code *c, int64_t *axis, struct arena *a);
/* Runs the instructions of levels first .. last; false when an index was outside its buffer. */
bool eval_code_run(struct frame *f, int first, int last);

/* index.c: index expressions with the extents known. */
struct range {
	int64_t low, high;
};
struct range eval_range(struct code *c, expr e);
void eval_linear(struct code *c, expr e, struct linear *out);
/* As ir_walk, with its memory in the run's arena: an arena of its own would be lost when memory is out. */
void eval_walk(struct arena *a, expr e, void (*fn)(void *user, expr e), void *user);
void eval_linear_add(struct code *c, struct linear *l, int64_t k, const struct linear *x); /* l += k * x */

/* access.c: positions in buffers and their bounds. */
int eval_access_new(struct code *c, const struct ir_buffer *buf, const expr *index, int guard, bool writes,
                    struct access **out);
int64_t eval_lane_axis(const struct eval_space *s, int axis, int64_t position);
/* "reads x[3,7] outside f32[3,5]", of a fault. */
void eval_fault_describe(struct str *out, const struct frame *f);

/* load.c: elements between buffers and registers. */
int eval_load(struct code *c, const struct access *x);
bool eval_load_decodes(enum type t); /* elements take more than a conversion */
/* The positions of all lanes; those outside the guard mean nothing. */
void eval_positions(const struct frame *f, const struct access *x, int64_t *at);
void eval_run_load(enum type t, const void *data, int64_t at, int n, void *reg);
void eval_run_store(enum type t, void *data, int64_t at, int n, const void *reg);

/* kernels.c, eval_convert.c, reduce.c: null where the operation has no meaning for the variant. */
insn_fn eval_kernel(enum ir_op op, int variant);
insn_fn eval_select_kernel(enum kind k, bool uniform_condition);
insn_fn eval_splat_kernel(enum kind k);
insn_fn eval_convert_kernel(int from_variant, enum type to);
insn_fn eval_wrap_kernel(enum type t);
insn_fn eval_bitcast_kernel(void);
insn_fn eval_accumulate_kernel(enum ir_combine c, int variant);
insn_fn eval_multiply_add_kernel(enum kind k, bool uniform); /* d += a * b; uniform: b is */
/* `t`: of the values; `k`: of the accumulator (F64 for floats); `position`: of arg reductions, or null. */
void eval_accumulator_init(enum ir_combine c, enum kind k, enum type t, void *acc, int64_t *position, int n);
void eval_accumulator_fold(enum ir_combine c, enum kind k, bool u64, void *acc, int64_t *position, int n);

/* A stage made ready: compiled, for buffers that keep their memory, and run as often as a loop has turns. Its parts run
 * one after the other. It lives in run->arena. */
struct nest;
struct eval_part {
	struct nest *nest; /* or null, and then `fn` */
	int workers;       /* at most; 0: as the run says */
	int (*fn)(struct eval_run *run, void *user);
	void *user;
};
struct eval_ready {
	const char *stage; /* for messages */
	VEC(struct eval_part);
};
int eval_prepare(struct eval_run *run, const struct ir_stage *s, struct eval_ready *out);
int eval_ready_run(struct eval_run *run, const struct eval_ready *r);

/* stage.c, eval_scatter.c, eval_scan.c, eval_sort.c, eval_loop.c: add a stage's parts; `out` has its memory. */
int eval_map(struct eval_run *run, const struct eval_buffer *out, expr value, struct eval_ready *ready);
int eval_scatter(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_scan(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_sort(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
int eval_loop(struct eval_run *run, const struct ir_stage *s, struct eval_ready *ready);
/* Run at once: a stage, or a map into a buffer that is none of the program's. */
int eval_stage(struct eval_run *run, const struct ir_stage *s);
int eval_map_into(struct eval_run *run, const struct eval_buffer *out, expr value);
/* A compaction at once; it gives `out` its memory itself. */
int eval_compact(struct eval_run *run, const struct ir_stage *s);
/* x combined with y, element by element; the caller wraps integers into their type. */
double eval_combine_floats(enum ir_combine c, double x, double y);
int64_t eval_combine_ints(enum ir_combine c, bool u64, int64_t x, int64_t y);

#endif
