/* Inside src/eval/ only: the compiled form of a stage's expressions, and what runs it.
 *
 * A stage's index space is a nest of loops around a chunk of *lanes*: up to EVAL_LANES neighbouring positions of some
 * trailing axes, flattened. Expressions become a linear list of instructions over registers; a *varying* register has one
 * element a lane, a *uniform* one a single element. Every instruction has a level: it runs when the loop of that level
 * moves on, so that nothing is computed again in an inner loop that does not depend on it. */
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
	uint32_t axes;      /* a bit for each axis that it depends on */
	int level;
	const void *preset; /* where a constant is */
	int axis;           /* whose value it is, or -1 */
	int pad;            /* elements behind the lanes */
};

struct insn {
	insn_fn fn;
	int d, a, b, c;     /* registers: result and operands */
	bool varying;       /* over all lanes */
	int level;
	enum type type;     /* of the result; conversions: to what */
	int64_t imm;
	const struct access *access;
	const struct linear *linear;
};

/* constant + sum of coefficient * term; a term is an axis, or a register of KIND_I64. */
struct linear {
	int64_t constant;
	int n;
	struct linear_term {
		int64_t coefficient;
		int axis; /* or -1: atom */
		expr atom;
		int reg;
	} *term;
};

/* A load, or the address of a scatter. */
struct access {
	const struct ir_buffer *buf;
	enum type type;
	const void *data;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	struct linear index[IR_MAX_RANK]; /* by dimension */
	struct linear base;               /* row-major position: the part that is the same in all lanes */
	int64_t step;                     /* where `offset` is -1: elements from lane to lane */
	int offset;                       /* register with each lane's own part, behind the lanes their least and greatest */
	int guard;                        /* register: lanes that load; -1: all */
};

/* What the expressions of one stage are compiled against. */
struct eval_buffer {
	enum type type;
	int rank;
	int64_t dim[IR_MAX_RANK], count;
	void *data; /* never null, once the buffer is defined */
	struct arena *arena;
	int last_use; /* the last stage that reads it */
};

struct eval_run {
	const struct ir_program *program;
	struct eval_buffer *buffer; /* by id */
	struct map symbols;         /* name -> int64_t */
	int threads;
	struct arena *arena;
	struct err *err;
	const char *stage; /* its buffer's name, for messages */
};
bool eval_symbol_value(void *run, const char *name, int64_t *value);
int eval_extent(struct eval_run *run, expr e, int64_t *out);

struct eval_space {
	int rank;
	int64_t extent[EVAL_AXES];
	int lane_low, lane_high; /* the axes whose positions are lanes: low <= axis < high */
	int64_t lane_count;      /* their product */
	int lanes;               /* of a chunk, at most */
};

struct code {
	struct eval_run *run;
	const struct eval_space *space;
	struct arena *arena;
	struct { VEC(struct reg); } regs;
	struct { VEC(struct insn); } insns; /* sorted by level once eval_code_finish ran */
	int *begin;                         /* begin[l] .. begin[l + 1]: the instructions of level l */
	int levels;
	size_t frame_size;
	int acc;                            /* register that ACC means, or -1 */
	struct compiler *compiler;
};

struct frame {
	void **r, **own; /* registers; their own memory (a load may point at the buffer instead) */
	int n;           /* lanes in work */
	int64_t lane;    /* position of the first */
	int64_t *axis;   /* values of all axes that are loops */
	const struct insn *fault; /* the instruction that found an index outside its buffer */
	int fault_lane;
};

/* compile.c, emit.c */
void eval_code_init(struct code *c, struct eval_run *run, const struct eval_space *space, struct arena *a);
int eval_compile(struct code *c, expr e, int guard, int *reg); /* guard: register or -1 */
int eval_emit(struct code *c, insn_fn fn, enum kind kind, int a, int b, int d); /* the new register */
struct insn *eval_last(struct code *c);
int eval_constant(struct code *c, enum kind kind, double f, int64_t i);
int eval_axis_reg(struct code *c, int axis);
int eval_splat(struct code *c, int reg);               /* itself when varying already */
int eval_to_kind(struct code *c, int reg, enum kind kind); /* between floats, between signed integers */
int eval_convert(struct code *c, int reg, enum type from, enum type to, bool saturate);
int eval_term_reg(struct code *c, struct linear_term *t);
/* Levels from the loops' order: level_of[axis], the number of levels. */
void eval_code_finish(struct code *c, const int *level_of, int levels);
void eval_frame_init(struct frame *f, const struct code *c, int64_t *axis, struct arena *a);
/* Runs the instructions of levels first .. last; false when an index was outside. */
bool eval_code_run(struct frame *f, const struct code *c, int first, int last);

/* index.c */
struct range {
	int64_t low, high;
};
struct range eval_range(struct code *c, expr e);
void eval_linear(struct code *c, expr e, struct linear *out);
void eval_linear_add(struct code *c, struct linear *l, int64_t k, const struct linear *x); /* l += k * x */

/* access.c, load.c */
int eval_access(struct code *c, const struct ir_buffer *buf, const expr *index, int guard, const struct access **out);
int eval_load(struct code *c, const struct access *x);
insn_fn eval_load_kernel(enum type t);
int64_t eval_access_position(const struct frame *f, const struct access *x, int lane);
void eval_access_describe(struct str *out, const struct frame *f, const struct insn *i, int level_known);
int64_t eval_linear_value(const struct frame *f, const struct linear *l, int lane);

/* kernels.c, convert.c, reduce.c: null where the operation has no meaning for the variant */
insn_fn eval_kernel(enum ir_op op, int variant);
insn_fn eval_convert_kernel(enum kind from, bool from_u64, enum type to, bool saturate);
insn_fn eval_wrap_kernel(enum type t); /* null: nothing to do */
insn_fn eval_splat_kernel(enum kind k);
insn_fn eval_accumulate_kernel(enum ir_combine c, int variant);
insn_fn eval_multiply_add_kernel(enum kind k, bool uniform); /* acc += a * b; uniform: b is */

enum kind eval_kind(enum type t);
bool eval_type_known(enum type t);
size_t eval_kind_size(enum kind k);

#endif
