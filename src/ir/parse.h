/* Inside the parser of programs' text: its state, and what reads tokens and expressions for parse.c. */
#ifndef TPAT_IR_PARSE_H
#define TPAT_IR_PARSE_H

#include "ir/pool.h"

enum { PARSE_MAX_DEPTH = 200, PARSE_MAX_NODES = 1 << 20 };

struct let {
	const char *name;
	expr value;
};

/* A size whose buffer is made further down. */
struct pending_size {
	const char *symbol, *count;
	expr limit;
};

struct parser {
	const char *text, *at;
	struct ir_program *p;
	struct arena *arena;
	struct err *err;
	int depth;
	/* What the expression being read may use. */
	int out_rank; /* axes i, j, k ... */
	const expr *out_dim;
	int space_rank;
	const expr *space;
	enum type acc; /* TYPE_NONE: no `it` here */
	bool shapes;   /* only symbols and integers */
	struct {
		VEC(struct let);
	} lets;
	struct {
		VEC(expr);
	} loops; /* indices of the loops around */
	struct {
		VEC(struct pending_size);
	} sizes;
};

/* Tokens. All readers skip blanks first; those that return an int fail with a sentence that names the line. */
int parse_fail(struct parser *s, const char *what);
void parse_skip(struct parser *s);
bool parse_take(struct parser *s, const char *token); /* reads it when it is there, as a whole word */
int parse_expect(struct parser *s, const char *token);
int parse_name(struct parser *s, const char **out);
/* A number, with the type that the text around it gives: index or f32 when that is TYPE_NONE. */
int parse_number(struct parser *s, enum type t, expr *out);

/* Expressions, of what the parser's state says they may use. */
int parse_arguments(struct parser *s, const char *close, expr *arg, int *n); /* up to `close` */
int parse_sum(struct parser *s, expr *out);
int parse_with_lets(struct parser *s, expr *out);

#endif
