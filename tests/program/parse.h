/* Inside the parser of program text: its state, and the readers of tokens and expressions for parse.c. */
#ifndef TPAT_TESTS_PARSE_H
#define TPAT_TESTS_PARSE_H

#include "ir/pool.h"
#include "tests/program/program_text.h"

enum { PARSE_MAX_DEPTH = 200, PARSE_MAX_NODES = 1 << 20 };

struct let {
	const char *name;
	expr value;
};

/* A size whose buffer is defined later in the text. */
struct pending_size {
	const char *count;
	expr symbol, limit;
};

struct parser {
	const char *text, *at;
	struct ir_program *p;
	struct arena *arena;
	struct err *err;
	int depth;
	/* Names the current expression may use. */
	int out_rank; /* axes i, j, k ... */
	const expr *out_dim;
	int space_rank;
	const expr *space;
	enum type acc; /* TYPE_NONE: `it` is not allowed */
	bool shapes;   /* allow only symbols and integers */
	struct {
		VEC(struct let);
	} lets;
	struct {
		VEC(expr);
	} loops; /* indices of enclosing loops */
	struct {
		VEC(struct pending_size);
	} sizes;
};

/* Tokens. All readers skip blanks first; those that return an int fail with an error that names the line. */
int parse_fail(struct parser *s, const char *what);
void parse_skip(struct parser *s);
bool parse_take(struct parser *s, const char *token); /* consumes the token if present, as a whole word */
int parse_expect(struct parser *s, const char *token);
int parse_name(struct parser *s, const char **out);
/* A number of type t; TYPE_NONE: index or f32. */
int parse_number(struct parser *s, enum type t, expr *out);

/* Expressions over the names allowed by the parser's state. */
int parse_arguments(struct parser *s, const char *close, expr *arg, int *n); /* up to `close` */
int parse_sum(struct parser *s, expr *out);
int parse_with_lets(struct parser *s, expr *out);

#endif
