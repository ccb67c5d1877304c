/* Inside src/gen/: expressions as C text. */
#ifndef TPAT_GEN_TEXT_H
#define TPAT_GEN_TEXT_H

#include "ir/functions.h"
#include "gen/language.h"
#include "gen/naming.h"
#include "ir/reserved.h"

struct gen_text;

/* The syntax that differs between CUDA C++ and C. */
struct gen_target {
	enum kernel_language language;
	bool narrow_index;          /* kernels with 32-bit positions compute in these */
	bool forms;                 /* there are functions for whole forms: quotient(), gelu(), half_add() */
	const char *thread, *block; /* the built-in variables: hints */
	const char *comment, *comment_end;
	const char *leave; /* statement that ends a thread */
	/* Prints a statement that stmt.c does not know; variables for its expressions are declared already. */
	void (*stmt)(struct gen_text *g, const struct ir_stmt *s);
};

enum { GEN_MAX_DEPTH = 24 };

/* What checks a position: a macro of the header that kernels with checks include. */
#define GEN_AT "TPAT_AT"
#define GEN_CHECK_HEADER "tpat_check.h"

/* A variable declared inside loops, and the depth of the innermost loop that changes it. */
struct gen_depth {
	const struct ir_variable *variable;
	int depth;
};

/* A part of expressions with a name. */
struct gen_let {
	expr e;
	bool stays; /* until its block ends, since no statement changes its value; else until its statement ends */
};

/* Text that is printed for its length: a node's second occurrence has the length of a name. */
struct gen_trial {
	uint32_t number;   /* 0: none */
	uint32_t *printed; /* by node id: the trial that printed it last */
	uint32_t nodes;    /* others are printed each time */
};

struct gen_text {
	struct str *out;
	const struct gen_target *target;
	const struct ir_kernel *kernel;
	const char **let; /* by node id: the name of a variable that holds it, or null */
	uint32_t let_n;   /* capacity of `let` */
	struct {
		VEC(struct gen_let);
	} lets; /* what has a name */
	struct gen_trial trial;
	struct map fixed; /* variables that keep their value until their scope ends */
	struct map whole; /* arrays that uses take whole, or rows of them: 1 + their least number of subscripts */
	int depth;        /* number of enclosing loops */
	bool coarse;      /* see gen_coarse */
	expr total;       /* the sum being accumulated into its own variable: its products need no rounding */
	int turns[GEN_MAX_DEPTH]; /* approximate trip counts */
	struct {
		VEC(struct gen_depth);
	} depths;
	struct names *names;
	const char *thread, *block; /* the built-in variables, if the text declares them */
	const char *function;       /* its name, for messages of checks */
};

/* ---- Types, symbols and numbers (token.c). */
enum type gen_stored_type(const struct gen_text *g, enum type t); /* a position becomes an integer of 32 or 64 bits */
const char *gen_type(const struct gen_text *g, enum type t);
/* The pointee type of a buffer of type t: bytes if elements are narrower. */
const char *gen_element_type(const struct gen_text *g, enum type t);
/* Placeholders (see naming.h) of a buffer, a symbol, a variable, and a variable declared by the printer; and the name
 * of the function of a kernel, or of a part of a launch. */
const char *gen_buffer(struct gen_text *g, const struct ir_buffer *b);
const char *gen_symbol(struct gen_text *g, expr symbol);
const char *gen_name(struct gen_text *g, const struct ir_variable *v);
const char *gen_own(struct gen_text *g, const char *hint);
const char *gen_kernel_name(struct gen_text *g, const struct ir_kernel *k, bool part);
/* The thread's index in its block and the block's in the grid, as signed variables. */
const char *gen_thread_number(struct gen_text *g);
const char *gen_block_number(struct gen_text *g);
void gen_constant(struct gen_text *g, expr e);
void gen_float(struct str *out, double x, bool f32);
bool gen_index32(const struct gen_text *g); /* this CUDA kernel uses 32-bit positions */
bool gen_small_float(enum type t);          /* true if neither language computes in it */
void gen_indent(struct gen_text *g);
const char *gen_call_name(const struct gen_text *g, enum ir_function f, enum type result, enum type operand);

/* ---- Expressions (text.c). */
/* Precedences of C's operators: an expression gets brackets where that around it is higher. */
enum {
	PREC_COND = 1,
	PREC_OR,
	PREC_AND,
	PREC_BITOR,
	PREC_BITXOR,
	PREC_BITAND,
	PREC_EQ,
	PREC_LT,
	PREC_ADD,
	PREC_MUL,
	PREC_UNARY,
	PREC_ATOM
};
void gen_print(struct gen_text *g, expr e, int outer);
void gen_infix(struct gen_text *g, expr e, const char *op, int prec);
bool gen_sum_is_infix(const struct gen_text *g, expr e); /* printed with a plus: no special form of a sum */
/* Calls the function for a result of type `result`; `arg`: its operands. */
void gen_call(struct gen_text *g, enum ir_function f, enum type result, const expr *arg);
void gen_expr(struct gen_text *g, expr e);
/* Prints the right operand of +, < or =, in brackets if precedence requires them. */
void gen_operand(struct gen_text *g, expr e);
/* Prints what is added to a pointer. A sum whose first term may be negative is in parentheses: no address on the way
 * lies before the buffer. */
void gen_offset(struct gen_text *g, expr e);
/* Prints a position of a buffer as the right operand of +: of `width` elements, which the kernel accesses if `where`
 * holds (null: always). If the kernel knows the number of elements (ir_kernel_bounds), with a check. */
bool gen_is_checked(const struct gen_text *g, const struct ir_buffer *b);
void gen_position(struct gen_text *g, const struct ir_buffer *b, expr at, int width, expr where);

void gen_subscript(struct gen_text *g, expr at); /* "[at]"; null: nothing */
void gen_element(struct gen_text *g, const struct ir_variable *array, int n, const expr *at); /* with n subscripts */

/* ---- Divisions and remainders (division.c). */
void gen_division(struct gen_text *g, expr e);
bool gen_division_is_infix(const struct gen_text *g, expr e); /* else a call */
/* True if C's / or % is correct for this division or remainder: both operands known to be nonnegative, or the divisor a
 * plain constant. */
bool gen_plain_division(expr e);

/* ---- Loops and loop-invariant values (invariant.c). */
/* Begin a loop of about `turns` iterations with its variable, and end it. */
void gen_loop_begin(struct gen_text *g, const struct ir_variable *v, int turns);
void gen_loop_end(struct gen_text *g);
/* Records the declaration of a variable; `value`: its only value, or null. */
void gen_declared(struct gen_text *g, const struct ir_variable *v, expr value);
/* Records that a variable keeps its value until its scope ends. */
void gen_fixed(struct gen_text *g, const struct ir_variable *v);
/* The depth of the innermost loop that e's value depends on. */
int gen_value_depth(const struct gen_text *g, expr e);

/* ---- Variables for parts of expressions (lets.c). */
/* Declares variables for common subexpressions and long parts of `e` and `also` (may be null), both evaluated
 * unconditionally. */
void gen_lets(struct gen_text *g, expr e, expr also);
/* [qualifier] type name = e; with variables for parts of e. */
void gen_declaration(struct gen_text *g, const char *qualifier, const char *type, const char *name, expr e);
/* The end of a statement: variables whose value may change are forgotten. */
void gen_lets_end(struct gen_text *g);
/* The end of the scope that began when g->lets.n was `begin`. */
void gen_lets_end_scope(struct gen_text *g, int begin);
const char *gen_let(const struct gen_text *g, expr e); /* the variable that holds e, or null */

/* A hint for the variable that holds e, from its operation. positions: the buffer whose position it is a part of; null:
 * none or several (hint.c). */
const char *gen_hint(const struct gen_text *g, expr e, const struct ir_buffer *positions);

/* ---- Forms of erf with a CUDA function of their own (erf.c): return e's operand, or null. */
expr gen_erf_plus_one(const struct gen_text *g, expr e); /* 1 + erf(x) */
/* The same, or 1 + tanh(x) in coarse arithmetic; sets the function. */
expr gen_one_plus(const struct gen_text *g, expr e, enum ir_function *f);
expr gen_erf_rounded(const struct gen_text *g, expr e);  /* erf(x), rounded to 16 bits immediately */
expr gen_gelu(const struct gen_text *g, expr e);         /* 0.5 x (1 + erf(x / sqrt(2))) */
expr gen_gelu_rounded(const struct gen_text *g, expr e); /* the same, rounded to 16 bits immediately */

/* ---- Instructions of narrow types (narrow.c). */
/* Adding or multiplying two f16 in f32 and rounding to f16 equals the GPU's f16 instructions: a product is exact in
 * f32, and for a sum 24 bits make double rounding innocuous. Source: Figueroa, When is Double Rounding Innocuous?
 * (1995). Finds the function for the cast e and its operands; false if there is none. */
bool gen_half(const struct gen_text *g, expr e, enum ir_function *function, expr operand[2]);
/* If the cast e of an f32 to 8 or 16 bits rounds to nearest even and saturates, as quantisation does, one instruction
 * does both: returns its operand; else null. */
expr gen_rounded(const struct gen_text *g, expr e);

/* ---- Lines (line.c). */
/* Around a statement with a block of its own: variables that it declares end with it. */
void gen_scope(struct gen_text *g);
void gen_scope_end(struct gen_text *g);
void gen_begin(struct gen_text *g, const char *text); /* a line */
/* The rest of an assignment, after what is assigned; `op`: = or += */
void gen_assign_by(struct gen_text *g, const char *op, expr value);
void gen_assign(struct gen_text *g, const char *name, expr at, expr value); /* name[at] = value; at may be null */
void gen_dims(struct gen_text *g, const struct ir_variable *v);             /* "[2][3]" */
void gen_array_row(struct gen_text *g, const struct ir_vector *v); /* the array, or its row, that holds a vector */

/* ---- Dimensions of arrays (whole.c). */
/* Finds the arrays that statements of a block use whole, or rows of them. */
void gen_find_whole(struct gen_text *g, const struct ir_block *b);
/* True if an array is declared with this dimension: not if that is of one element, and every use has a subscript. */
bool gen_has_dim(const struct gen_text *g, const struct ir_variable *array, int i);

/* ---- Statements (stmt.c). */
void gen_block(struct gen_text *g, const struct ir_block *b);
bool gen_adds_to_itself(const struct ir_stmt *s); /* name = name + ...: an accumulation */

/* ---- Kernels as a whole. */
/* True if a CUDA kernel stores only 16-bit floats, and no discontinuity (comparison, rounding to integer) depends on a
 * value not rounded to 16 bits before. Relative errors of some millionths then vanish in the final rounding, except
 * near ties. So exp and division use the GPU's fast forms, and products are contracted into sums. */
bool gen_coarse(const struct ir_kernel *k);

#endif
