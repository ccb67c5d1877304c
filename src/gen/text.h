/* Inside src/gen/: expressions as C text. */
#ifndef TPAT_GEN_TEXT_H
#define TPAT_GEN_TEXT_H

#include "gen/language.h"
#include "gen/naming.h"

struct gen_text;

/* How statements and expressions look in a language: what differs between CUDA C++ and C. */
struct gen_target {
	bool c;                     /* plain C: functions carry their types in their names */
	const char *thread, *block; /* the built-in variables: hints in CUDA, names in C */
	const char *comment, *comment_end;
	const char *leave; /* what ends a thread */
	/* A statement that stmt.c does not know; its expressions' variables are declared. */
	void (*stmt)(struct gen_text *g, const struct ir_stmt *s);
};

enum { GEN_MAX_DEPTH = 24 };

/* A variable that was declared inside of loops, and the depth of the innermost one that gives it another value. */
struct gen_depth {
	const struct ir_variable *variable;
	int depth;
};

struct gen_text {
	struct str *out;
	const struct gen_target *target;
	const struct ir_kernel *kernel;
	const char **let; /* by node id: the name of a variable that holds it, or null */
	uint32_t let_n;   /* ids that `let` has room for */
	int lets;
	int depth;   /* loops around what is printed now */
	bool coarse; /* see gen_coarse */
	expr total;  /* the sum that is being assigned to its own variable: a product in it needs no rounding */
	int turns[GEN_MAX_DEPTH]; /* of each, about */
	struct {
		VEC(struct gen_depth);
	} depths;
	struct {
		VEC(const struct ir_buffer *);
	} buffers;                  /* that have marked names: their numbers */
	unsigned own;               /* variables that the printer declares */
	const char *thread, *block; /* the built-in variables, as far as the text has them */
};

/* ---- Types, symbols and numbers (token.c). */
enum type gen_stored_type(const struct gen_text *g, enum type t); /* as which a position is: 32 or 64 bits */
const char *gen_type(const struct gen_text *g, enum type t);
/* What pointers into a buffer of type t point at: bytes, where elements are narrower. */
const char *gen_element_type(const struct gen_text *g, enum type t);
/* Marked names (see naming.h): a buffer's, a symbol's, a variable's, one of a variable that the printer declares. */
const char *gen_buffer(struct gen_text *g, const struct ir_buffer *b);
const char *gen_symbol(struct gen_text *g, const char *name);
const char *gen_name(struct gen_text *g, const struct ir_variable *v);
const char *gen_own(struct gen_text *g, const char *hint);
/* The numbers of the thread in its block and of the block, as signed variables. */
const char *gen_thread_number(struct gen_text *g);
const char *gen_block_number(struct gen_text *g);
void gen_constant(struct gen_text *g, expr e);
void gen_float(struct str *out, double x, bool f32);
bool gen_index32(const struct gen_text *g); /* positions of this CUDA kernel are 32 bits wide */
bool gen_small_float(enum type t);          /* one that neither language computes with */
void gen_indent(struct gen_text *g);

/* ---- Expressions (text.c). */
void gen_expr(struct gen_text *g, expr e);
/* As the right operand of +, < or =: bracketed where it would fall apart. */
void gen_operand(struct gen_text *g, expr e);
/* Of a division or remainder: / and % of C are right: both operands known not to be negative, or the divisor a plain
 * constant. */
bool gen_plain_division(expr e);

/* ---- Loops and what is the same in all their turns (invariant.c). */
/* A loop of about so many turns begins, with its variable, and ends. */
void gen_loop_begin(struct gen_text *g, const struct ir_variable *v, int turns);
void gen_loop_end(struct gen_text *g);
/* A variable is declared here; `value`: its only one, or null. */
void gen_declared(struct gen_text *g, const struct ir_variable *v, expr value);
/* The depth of the innermost loop that e's value depends on. */
int gen_value_depth(const struct gen_text *g, expr e);

/* ---- Variables for what is computed more than once (lets.c). */
/* Declares variables for what `e` and `also` (may be null), both surely evaluated, compute more than once, so that
 * their texts are short. They hold until gen_lets_end. */
void gen_lets(struct gen_text *g, expr e, expr also);
void gen_lets_end(struct gen_text *g);
const char *gen_let(const struct gen_text *g, expr e); /* the variable that holds e, or null */

/* ---- Forms of erf that CUDA has functions of its own for (erf.c): e's operand, or null. */
expr gen_erf_plus_one(const struct gen_text *g, expr e); /* 1 + erf(x) */
expr gen_erf_rounded(const struct gen_text *g, expr e);  /* erf(x), rounded to 16 bits at once */
expr gen_gelu(const struct gen_text *g, expr e);         /* 0.5 x (1 + erf(x / sqrt(2))) */

/* ---- Instructions of narrow types (narrow.c). */
/* Two f16 added or multiplied in f32 and rounded to f16 are what the GPU's own f16 instructions give: a product is
 * exact in f32, and 24 bits are enough for a sum to be rounded twice as it is once. Source: Figueroa, When is Double
 * Rounding Innocuous? (1995). The function's name for the cast e, and what it is called with; or null. */
const char *gen_half(const struct gen_text *g, expr e, expr operand[2]);
/* What the cast e of an f32 to 8 or 16 bits rounds to the nearest integer, halves to even, and holds in the type's
 * range, as a quantisation does: one instruction; or null. */
expr gen_rounded(const struct gen_text *g, expr e);

/* ---- Statements (stmt.c). */
/* Around a statement with a block of its own: variables that it declares end with it. */
void gen_scope(struct gen_text *g);
void gen_scope_end(struct gen_text *g);
void gen_block(struct gen_text *g, const struct ir_block *b);
void gen_begin(struct gen_text *g, const char *text);                                 /* a line */
void gen_assign(struct gen_text *g, const char *name, expr row, expr at, expr value); /* name[row][at] = value; both may
                                                                                         be null */
void gen_dims(struct gen_text *g, const struct ir_variable *v);                       /* "[2][3]" */
void gen_array_row(struct gen_text *g, const struct ir_vector *v); /* the array, or the row of it, that a vector is */
bool gen_adds_to_itself(const struct ir_stmt *s);                  /* name = name + ...: what a reduction accumulates */

/* ---- Kernels as a whole. */
/* Whether all floats that a CUDA kernel stores are of 16 bits, and nothing on the way jumps (comparisons, roundings to
 * integers) by what was not rounded to 16 bits before: then results within some millionths are rounded to the same, but
 * for those next to the middle between two. So exp and divisions are the GPU's own, and products are added without a
 * rounding between. */
bool gen_coarse(const struct ir_kernel *k);
/* A kernel's comment: what it computes and the schedule. */
void gen_about(struct gen_text *g);

#endif
