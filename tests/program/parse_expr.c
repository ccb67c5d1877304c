/* Tokens and expressions of program text. See parse.h. */
#include "tests/program/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "ir/axis_names.h"

int parse_fail(struct parser *s, const char *what)
{
	int line = 1;
	for (const char *c = s->text; c < s->at; c++)
		line += *c == '\n';
	char near[24];
	snprintf(near, sizeof near, "%.20s", s->at);
	for (char *c = near; *c; c++)
		if (!ascii_is_printable(*c))
			*c = ' ';
	return err_set(s->err, ERR_MODEL, "line %d of the program: %s, at \"%s\".", line, what, near);
}

void parse_skip(struct parser *s)
{
	while (*s->at && ascii_is_space(*s->at))
		s->at++;
}

bool parse_take(struct parser *s, const char *token)
{
	parse_skip(s);
	size_t n = strlen(token);
	if (strncmp(s->at, token, n) != 0)
		return false;
	if ((ascii_is_alnum(token[n - 1]) || token[n - 1] == '_') && (ascii_is_alnum(s->at[n]) || s->at[n] == '_'))
		return false;
	s->at += n;
	return true;
}

int parse_expect(struct parser *s, const char *token)
{
	char message[64];
	if (parse_take(s, token))
		return 0;
	snprintf(message, sizeof message, "\"%s\" expected", token);
	return parse_fail(s, message);
}

int parse_name(struct parser *s, const char **out)
{
	parse_skip(s);
	size_t n = 0;
	while (ascii_is_alnum(s->at[n]) || s->at[n] == '_')
		n++;
	if (n == 0 || ascii_is_digit(*s->at))
		return parse_fail(s, "a name expected");
	*out = arena_strndup(s->arena, s->at, n);
	s->at += n;
	return 0;
}

enum type type_from_name(const char *name)
{
	if (!name[0]) /* some types have no name in ONNX */
		return TYPE_NONE;
	for (enum type t = TYPE_NONE + 1; t <= TYPE_INDEX; t++)
		if (ascii_same(name, type_info(t)->name) || ascii_same(name, type_info(t)->onnx_name))
			return t;
	return TYPE_NONE;
}

static enum type type_of_name(const char *text)
{
	return strcmp(text, "index") == 0 ? TYPE_INDEX : type_from_name(text);
}

static int expression(struct parser *s, expr *out);

int parse_number(struct parser *s, enum type t, expr *out)
{
	parse_skip(s);
	const char *c = s->at + (*s->at == '-');
	bool special = strncmp(c, "inf", 3) == 0 || strncmp(c, "nan", 3) == 0, real = special;
	char *end;
	for (const char *d = c; !special && (ascii_is_alnum(*d) || *d == '.' || *d == '+' || *d == '-'); d++) {
		if ((*d == '+' || *d == '-') && d[-1] != 'e')
			break;
		real |= *d == '.' || *d == 'e';
	}
	errno = 0;
	if (real || type_is_float(t)) {
		double x = number_read(s->at, &end);
		if (end == s->at || (t != TYPE_NONE && !type_is_float(t)))
			return parse_fail(s, "a number expected");
		*out = ir_float(s->p->pool, t ? t : TYPE_F32, x);
	} else {
		int64_t x = t == TYPE_U64 ? (int64_t)strtoull(s->at, &end, 10) : strtoll(s->at, &end, 10);
		if (end == s->at || errno)
			return parse_fail(s, "a number expected");
		*out = ir_int(s->p->pool, t ? t : TYPE_INDEX, x);
	}
	s->at = end;
	return 0;
}

static bool starts_number(struct parser *s)
{
	parse_skip(s);
	const char *c = s->at + (*s->at == '-');
	if (ascii_is_digit(*c))
		return true;
	return (strncmp(c, "inf", 3) == 0 || strncmp(c, "nan", 3) == 0) && !ascii_is_alnum(c[3]) && c[3] != '_';
}

int parse_arguments(struct parser *s, const char *close, expr *arg, int *n)
{
	*n = 0;
	if (parse_take(s, close))
		return 0;
	do {
		if (*n == IR_MAX_RANK)
			return parse_fail(s, "too many operands");
		TRY(expression(s, &arg[(*n)++]));
	} while (parse_take(s, ","));
	return parse_expect(s, close);
}

/* Enforces the limits that bound recursive walks and printed text. */
static int limited(struct parser *s, expr e)
{
	uint32_t size = s->shapes ? IR_MAX_EXTENT : IR_MAX_SIZE;
	return e->depth > IR_MAX_DEPTH || e->size > size ? parse_fail(s, "the expression is too deep or too large") : 0;
}

static int load(struct parser *s, const char *buffer, expr *out)
{
	expr arg[IR_MAX_RANK];
	int n;
	const struct ir_buffer *b = NULL;
	vec_each (pb, &s->p->buffers)
		if (strcmp((*pb)->name, buffer) == 0)
			b = *pb;
	if (!b || s->shapes)
		return parse_fail(s, "no such buffer here");
	TRY(parse_arguments(s, "]", arg, &n));
	if (n != b->rank)
		return parse_fail(s, "wrong number of indices");
	for (int i = 0; i < n; i++)
		if (arg[i]->type != TYPE_INDEX)
			return parse_fail(s, "an index must be of type index");
	*out = ir_load(s->p->pool, b, arg);
	return limited(s, *out);
}

/* Checks types here, so that no text can trigger the constructors' own checks. */
static int apply(struct parser *s, enum ir_op op, expr *arg, int n, expr *out)
{
	const char *fault = ir_operand_fault(op, n == 3 ? arg[1]->type : TYPE_NONE, n, arg);
	if (fault)
		return parse_fail(s, fault);
	*out = n == 3   ? ir_select(arg[0], arg[1], arg[2])
	       : n == 1 ? ir_unary(op, arg[0])
	                : ir_binary(op, arg[0], arg[1]);
	return limited(s, *out);
}

/* True if only a number and ")" follow: a constant of type `t`, not a cast. Integer types need integers: i32(1e20) is a
 * cast. */
static bool whole_number(struct parser *s, enum type t)
{
	if (!starts_number(s))
		return false;
	const char *c = s->at + (*s->at == '-');
	bool real = !ascii_is_digit(*c);
	for (; ascii_is_alnum(*c) || *c == '.' || ((*c == '-' || *c == '+') && c[-1] == 'e'); c++)
		real |= *c == '.' || *c == 'e';
	while (ascii_is_space(*c))
		c++;
	return *c == ')' && (type_is_float(t) || !real);
}

static int call(struct parser *s, const char *function, expr *out)
{
	expr arg[IR_MAX_RANK];
	int n;
	bool sat = str_starts(function, "sat_"), bitcast = str_starts(function, "bitcast_");
	enum type t = type_of_name(function + (sat ? 4 : bitcast ? 8 : 0));
	if (t != TYPE_NONE && t != TYPE_STRING && t != TYPE_C64 && t != TYPE_C128) {
		if (!sat && !bitcast && t != TYPE_INDEX && whole_number(s, t)) {
			TRY(parse_number(s, t == TYPE_BOOL ? TYPE_I64 : t, out));
			if (t == TYPE_BOOL)
				*out = ir_cast(*out, t);
			return parse_expect(s, ")");
		}
		TRY(parse_arguments(s, ")", arg, &n));
		if (n != 1)
			return parse_fail(s, "a cast has one operand");
		enum ir_op op = sat ? IR_CAST_SAT : bitcast ? IR_BITCAST : IR_CAST;
		const char *fault = ir_operand_fault(op, t, n, arg);
		if (fault)
			return parse_fail(s, fault);
		*out = sat ? ir_cast_sat(arg[0], t) : bitcast ? ir_bitcast(arg[0], t) : ir_cast(arg[0], t);
		return limited(s, *out);
	}
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++) {
		if (strcmp(ir_op_info[op].text, function) == 0 && op != IR_CAST && op != IR_CAST_SAT &&
		    op != IR_BITCAST) {
			TRY(parse_arguments(s, ")", arg, &n));
			return apply(s, op, arg, n, out);
		}
	}
	return parse_fail(s, "no such function");
}

static int axis_number(const struct parser *s, const char *text)
{
	for (int k = 0; k < s->out_rank; k++)
		if (strcmp(text, ir_axis_names[0][k]) == 0)
			return k;
	for (int k = 0; k < s->space_rank; k++)
		if (strcmp(text, ir_axis_names[1][k]) == 0)
			return s->out_rank + k;
	return -1;
}

static int atom(struct parser *s, expr *out)
{
	const char *text;
	if (parse_take(s, "(")) {
		TRY(expression(s, out));
		return parse_expect(s, ")");
	}
	if (starts_number(s))
		return parse_number(s, TYPE_NONE, out);
	TRY(parse_name(s, &text));
	if (*s->at == '[') {
		s->at++;
		return load(s, text, out);
	}
	if (*s->at == '(') {
		s->at++;
		return call(s, text, out);
	}
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		*out = ir_int(s->p->pool, TYPE_BOOL, text[0] == 't');
		return 0;
	}
	if (strcmp(text, "it") == 0) {
		if (s->acc == TYPE_NONE)
			return parse_fail(s, "\"it\" outside of what follows \"then\"");
		*out = ir_acc(s->p->pool, s->acc);
		return 0;
	}
	for (int i = s->lets.n - 1; i >= 0; i--) {
		if (strcmp(s->lets.at[i].name, text) == 0) {
			*out = s->lets.at[i].value;
			return 0;
		}
	}
	vec_each (index, &s->loops) {
		if (!s->shapes && strcmp((*index)->var->hint, text) == 0) {
			*out = *index;
			return 0;
		}
	}
	int k = axis_number(s, text);
	if (k >= 0)
		*out = ir_axis(s->p->pool, k, k < s->out_rank ? s->out_dim[k] : s->space[k - s->out_rank]);
	else if (ir_name_reserved(text))
		return parse_fail(s, "not a name that an extent can have");
	else
		*out = ir_symbol(s->p->pool, text);
	return 0;
}

static int product(struct parser *s, expr *out)
{
	expr arg[2];
	TRY(atom(s, out));
	for (;;) {
		enum ir_op op = parse_take(s, "*") ? IR_MUL : parse_take(s, "/") ? IR_DIV : IR_OP_COUNT;
		if (op == IR_OP_COUNT)
			return 0;
		arg[0] = *out;
		TRY(atom(s, &arg[1]));
		TRY(apply(s, op, arg, 2, out));
	}
}

int parse_sum(struct parser *s, expr *out)
{
	expr arg[2];
	TRY(product(s, out));
	for (;;) {
		enum ir_op op = parse_take(s, "+") ? IR_ADD : parse_take(s, "-") ? IR_SUB : IR_OP_COUNT;
		if (op == IR_OP_COUNT)
			return 0;
		arg[0] = *out;
		TRY(product(s, &arg[1]));
		TRY(apply(s, op, arg, 2, out));
	}
}

static int expression(struct parser *s, expr *out)
{
	expr arg[2];
	if (++s->depth > PARSE_MAX_DEPTH || ir_pool_size(s->p->pool) > PARSE_MAX_NODES)
		return parse_fail(s, "the expression is too deep or too large");
	TRY(parse_sum(s, out));
	enum ir_op op = parse_take(s, "==")   ? IR_EQ
	                : parse_take(s, "<=") ? IR_LE
	                : parse_take(s, "<")  ? IR_LT
	                                      : IR_OP_COUNT;
	if (op != IR_OP_COUNT) {
		arg[0] = *out;
		TRY(parse_sum(s, &arg[1]));
		TRY(apply(s, op, arg, 2, out));
	}
	s->depth--;
	return 0;
}

int parse_with_lets(struct parser *s, expr *out)
{
	int outer = s->lets.n;
	if (parse_take(s, "let")) {
		do {
			struct let l;
			TRY(parse_name(s, &l.name));
			TRY(parse_expect(s, "="));
			TRY(expression(s, &l.value));
			vec_push(s->arena, &s->lets, l);
		} while (parse_take(s, ","));
		TRY(parse_expect(s, ";"));
	}
	TRY(expression(s, out));
	s->lets.n = outer;
	return 0;
}
