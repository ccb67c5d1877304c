/* Reads the text form that print.c writes. Any text gives a program or an error sentence with its line, never a crash.
 */
#include "ir/pool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/axis_names.h"

enum { MAX_DEPTH = 200, MAX_NODES = 1 << 20, MAX_EXTENT = 4096 };

struct let {
	const char *name;
	expr value;
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
};

static int fail(struct parser *s, const char *what)
{
	int line = 1;
	for (const char *c = s->text; c < s->at; c++)
		line += *c == '\n';
	char near[24];
	snprintf(near, sizeof near, "%.20s", s->at);
	for (char *c = near; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = ' ';
	return err_set(s->err, ERR_MODEL, "line %d of the program: %s, at \"%s\".", line, what, near);
}

static void skip(struct parser *s)
{
	while (*s->at && isspace((unsigned char)*s->at))
		s->at++;
}

static bool take(struct parser *s, const char *token)
{
	skip(s);
	size_t n = strlen(token);
	if (strncmp(s->at, token, n) != 0)
		return false;
	if ((isalnum((unsigned char)token[n - 1]) || token[n - 1] == '_') &&
	    (isalnum((unsigned char)s->at[n]) || s->at[n] == '_'))
		return false;
	s->at += n;
	return true;
}

static int expect(struct parser *s, const char *token)
{
	char message[64];
	if (take(s, token))
		return 0;
	snprintf(message, sizeof message, "\"%s\" expected", token);
	return fail(s, message);
}

static int name(struct parser *s, const char **out)
{
	skip(s);
	size_t n = 0;
	while (isalnum((unsigned char)s->at[n]) || s->at[n] == '_')
		n++;
	if (n == 0 || isdigit((unsigned char)*s->at))
		return fail(s, "a name expected");
	*out = arena_strndup(s->arena, s->at, n);
	s->at += n;
	return 0;
}

static enum type type_of_name(const char *text)
{
	return strcmp(text, "index") == 0 ? TYPE_INDEX : type_from_name(text);
}

static int expression(struct parser *s, expr *out);

/* A number, with the type that the text around it gives: index or f32 when none does. */
static int number(struct parser *s, enum type t, expr *out)
{
	skip(s);
	const char *c = s->at + (*s->at == '-');
	bool special = strncmp(c, "inf", 3) == 0 || strncmp(c, "nan", 3) == 0, real = special;
	char *end;
	for (const char *d = c; !special && (isalnum((unsigned char)*d) || *d == '.' || *d == '+' || *d == '-'); d++) {
		if ((*d == '+' || *d == '-') && d[-1] != 'e')
			break;
		real |= *d == '.' || *d == 'e';
	}
	errno = 0;
	if (real || type_is_float(t)) {
		double x = strtod(s->at, &end);
		if (end == s->at || (t != TYPE_NONE && !type_is_float(t)))
			return fail(s, "a number expected");
		*out = ir_float(s->p->pool, t ? t : TYPE_F32, x);
	} else {
		int64_t x = t == TYPE_U64 ? (int64_t)strtoull(s->at, &end, 10) : strtoll(s->at, &end, 10);
		if (end == s->at || errno)
			return fail(s, "a number expected");
		*out = ir_int(s->p->pool, t ? t : TYPE_INDEX, x);
	}
	s->at = end;
	return 0;
}

static bool starts_number(struct parser *s)
{
	skip(s);
	const char *c = s->at + (*s->at == '-');
	if (isdigit((unsigned char)*c))
		return true;
	return (strncmp(c, "inf", 3) == 0 || strncmp(c, "nan", 3) == 0) && !isalnum((unsigned char)c[3]) && c[3] != '_';
}

static int arguments(struct parser *s, const char *close, expr *arg, int *n)
{
	*n = 0;
	if (take(s, close))
		return 0;
	do {
		if (*n == IR_MAX_RANK)
			return fail(s, "too many operands");
		TRY(expression(s, &arg[(*n)++]));
	} while (take(s, ","));
	return expect(s, close);
}

/* Whatever walks an expression by recursion, or writes it out, must come to an end. */
static int limited(struct parser *s, expr e)
{
	uint32_t size = s->shapes ? MAX_EXTENT : IR_MAX_SIZE;
	return e->depth > IR_MAX_DEPTH || e->size > size ? fail(s, "the expression is too deep or too large") : 0;
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
		return fail(s, "no such buffer here");
	TRY(arguments(s, "]", arg, &n));
	if (n != b->rank)
		return fail(s, "wrong number of indices");
	for (int i = 0; i < n; i++)
		if (arg[i]->type != TYPE_INDEX)
			return fail(s, "an index must be of type index");
	*out = ir_load(s->p->pool, b, arg);
	return limited(s, *out);
}

/* Types are checked here, so that no text reaches the constructors' own checks. */
static int apply(struct parser *s, enum ir_op op, expr *arg, int n, expr *out)
{
	const char *fault = ir_operand_fault(op, n == 3 ? arg[1]->type : TYPE_NONE, n, arg);
	if (fault)
		return fail(s, fault);
	*out = n == 3   ? ir_select(arg[0], arg[1], arg[2])
	       : n == 1 ? ir_unary(op, arg[0])
	                : ir_binary(op, arg[0], arg[1]);
	return limited(s, *out);
}

/* Whether a number and ")" is all that is left: a constant of type `t` and no cast. An integer type takes integers:
 * i32(1e20) is a cast. */
static bool whole_number(struct parser *s, enum type t)
{
	if (!starts_number(s))
		return false;
	const char *c = s->at + (*s->at == '-');
	bool real = !isdigit((unsigned char)*c);
	for (; isalnum((unsigned char)*c) || *c == '.' || ((*c == '-' || *c == '+') && c[-1] == 'e'); c++)
		real |= *c == '.' || *c == 'e';
	while (isspace((unsigned char)*c))
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
			TRY(number(s, t == TYPE_BOOL ? TYPE_I64 : t, out));
			if (t == TYPE_BOOL)
				*out = ir_cast(*out, t);
			return expect(s, ")");
		}
		TRY(arguments(s, ")", arg, &n));
		if (n != 1)
			return fail(s, "a cast has one operand");
		enum ir_op op = sat ? IR_CAST_SAT : bitcast ? IR_BITCAST : IR_CAST;
		const char *fault = ir_operand_fault(op, t, n, arg);
		if (fault)
			return fail(s, fault);
		*out = sat ? ir_cast_sat(arg[0], t) : bitcast ? ir_bitcast(arg[0], t) : ir_cast(arg[0], t);
		return limited(s, *out);
	}
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++) {
		if (strcmp(ir_op_info[op].text, function) == 0 && op != IR_CAST && op != IR_CAST_SAT &&
		    op != IR_BITCAST) {
			TRY(arguments(s, ")", arg, &n));
			return apply(s, op, arg, n, out);
		}
	}
	return fail(s, "no such function");
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
	if (take(s, "(")) {
		TRY(expression(s, out));
		return expect(s, ")");
	}
	if (starts_number(s))
		return number(s, TYPE_NONE, out);
	TRY(name(s, &text));
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
			return fail(s, "\"it\" outside of what follows \"then\"");
		*out = ir_acc(s->p->pool, s->acc);
		return 0;
	}
	for (int i = s->lets.n - 1; i >= 0; i--) {
		if (strcmp(s->lets.at[i].name, text) == 0) {
			*out = s->lets.at[i].value;
			return 0;
		}
	}
	int k = axis_number(s, text);
	if (k >= 0)
		*out = ir_axis(s->p->pool, k, k < s->out_rank ? s->out_dim[k] : s->space[k - s->out_rank]);
	else if (ir_name_reserved(text))
		return fail(s, "not a name that an extent can have");
	else
		*out = ir_symbol(s->p->pool, text);
	return 0;
}

static int product(struct parser *s, expr *out)
{
	expr arg[2];
	TRY(atom(s, out));
	for (;;) {
		enum ir_op op = take(s, "*") ? IR_MUL : take(s, "/") ? IR_DIV : IR_OP_COUNT;
		if (op == IR_OP_COUNT)
			return 0;
		arg[0] = *out;
		TRY(atom(s, &arg[1]));
		TRY(apply(s, op, arg, 2, out));
	}
}

static int sum(struct parser *s, expr *out)
{
	expr arg[2];
	TRY(product(s, out));
	for (;;) {
		enum ir_op op = take(s, "+") ? IR_ADD : take(s, "-") ? IR_SUB : IR_OP_COUNT;
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
	if (++s->depth > MAX_DEPTH || ir_pool_size(s->p->pool) > MAX_NODES)
		return fail(s, "the expression is too deep or too large");
	TRY(sum(s, out));
	enum ir_op op = take(s, "==") ? IR_EQ : take(s, "<=") ? IR_LE : take(s, "<") ? IR_LT : IR_OP_COUNT;
	if (op != IR_OP_COUNT) {
		arg[0] = *out;
		TRY(sum(s, &arg[1]));
		TRY(apply(s, op, arg, 2, out));
	}
	s->depth--;
	return 0;
}

static int with_lets(struct parser *s, expr *out)
{
	int outer = s->lets.n;
	if (take(s, "let")) {
		do {
			struct let l;
			TRY(name(s, &l.name));
			TRY(expect(s, "="));
			TRY(expression(s, &l.value));
			vec_push(s->arena, &s->lets, l);
		} while (take(s, ","));
		TRY(expect(s, ";"));
	}
	TRY(expression(s, out));
	s->lets.n = outer;
	return 0;
}

static int shape(struct parser *s, enum type *t, int *rank, expr *dim)
{
	const char *text;
	TRY(name(s, &text));
	*t = type_from_name(text);
	if (*t == TYPE_NONE || *t == TYPE_STRING)
		return fail(s, "no such element type");
	TRY(expect(s, "["));
	s->out_rank = s->space_rank = 0;
	s->acc = TYPE_NONE;
	s->shapes = true;
	TRY(arguments(s, "]", dim, rank));
	s->shapes = false;
	for (int i = 0; i < *rank; i++)
		if (dim[i]->type != TYPE_INDEX)
			return fail(s, "an extent must be of type index");
	return 0;
}

static int declaration(struct parser *s, enum ir_role role, struct ir_buffer **out)
{
	const char *text;
	enum type t;
	int rank;
	expr dim[IR_MAX_RANK];
	TRY(name(s, &text));
	TRY(expect(s, ":"));
	TRY(shape(s, &t, &rank, dim));
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, text) == 0)
			return fail(s, "two buffers of one name");
	if (ir_name_reserved(text))
		return fail(s, "a buffer cannot have this name");
	*out = ir_buffer_new(s->p, text, t, rank, dim, role);
	return 0;
}

static int constant(struct parser *s)
{
	struct ir_buffer *b;
	int64_t dim[IR_MAX_RANK], n;
	TRY(declaration(s, IR_CONSTANT, &b));
	for (int i = 0; i < b->rank; i++)
		if (!ir_const_int(b->dim[i], &dim[i]) || dim[i] < 0)
			return fail(s, "a constant's extents must be numbers");
	struct tensor *t = NEW(s->arena, struct tensor);
	for (int i = 0; i < b->rank; i++)
		if (dim[i] > 1 << 20)
			return fail(s, "a constant this large is not for text");
	TRY(tensor_new(t, b->type, b->rank, dim, s->arena, s->err));
	n = tensor_count(t);
	b->data = t;
	TRY(expect(s, "="));
	TRY(expect(s, "{"));
	for (int64_t i = 0; i < n; i++) {
		expr x;
		if (i)
			TRY(expect(s, ","));
		TRY(number(s, b->type == TYPE_BOOL ? TYPE_I64 : b->type, &x));
		if (x->op == IR_CONST_FLOAT)
			tensor_set_float(t, i, x->f);
		else
			tensor_set_int(t, i, x->i);
	}
	return expect(s, "}");
}

static int axis_list(struct parser *s, const struct ir_buffer *out, int *space_rank, expr *space)
{
	const char *text;
	TRY(expect(s, "("));
	for (int k = 0; k < out->rank; k++) {
		if (k)
			TRY(expect(s, ","));
		TRY(name(s, &text));
		if (strcmp(text, ir_axis_names[0][k]) != 0)
			return fail(s, "axes are called i, j, k, l, m, n, i6 ...");
	}
	*space_rank = 0;
	if (take(s, "|")) {
		s->shapes = true;
		s->out_rank = s->space_rank = 0;
		do {
			if (*space_rank == IR_MAX_RANK || *space_rank + out->rank >= IR_MAX_RANK)
				return fail(s, "too many axes");
			TRY(name(s, &text));
			if (strcmp(text, ir_axis_names[1][*space_rank]) != 0)
				return fail(s, "these axes are called r, s, t, u, v, w, r6 ...");
			TRY(expect(s, "<"));
			TRY(sum(s, &space[*space_rank]));
			if (space[(*space_rank)++]->type != TYPE_INDEX)
				return fail(s, "an extent must be of type index");
		} while (take(s, ","));
		s->shapes = false;
	}
	return expect(s, ")");
}

static int combine(struct parser *s, enum ir_combine *out)
{
	for (enum ir_combine c = IR_COMBINE_COUNT; c-- > 0;) {
		if (take(s, ir_combine_name[c])) {
			*out = c;
			return 0;
		}
	}
	return fail(s, "map, scan, scatter or a reduction expected");
}

/* along j [exclusive] [reverse] */
static int scan_axis(struct parser *s, const struct ir_buffer *out, struct ir_stage *st)
{
	const char *text;
	TRY(expect(s, "along"));
	TRY(name(s, &text));
	while (st->axis < out->rank && strcmp(text, ir_axis_names[0][st->axis]) != 0)
		st->axis++;
	if (st->axis == out->rank)
		return fail(s, "a scan is along one of its axes");
	st->exclusive = take(s, "exclusive");
	st->reverse = take(s, "reverse");
	return 0;
}

static void see(struct parser *s, const struct ir_buffer *out, int space_rank, const expr *space)
{
	s->out_rank = out ? out->rank : 0;
	s->out_dim = out ? out->dim : NULL;
	s->space_rank = space_rank;
	s->space = space;
	s->acc = TYPE_NONE;
}

static int stage(struct parser *s)
{
	struct ir_stage st = { 0 };
	struct ir_buffer *out = NULL;
	const char *text;
	enum type t;
	int rank;
	expr dim[IR_MAX_RANK];
	TRY(name(s, &text));
	if (ir_name_reserved(text))
		return fail(s, "a buffer cannot have this name");
	TRY(expect(s, ":"));
	TRY(shape(s, &t, &rank, dim));
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, text) == 0)
			out = *b;
	if (out && (out->role != IR_OUTPUT || ir_stage_of(s->p, out) || out->type != t || out->rank != rank ||
	            (rank && memcmp(out->dim, dim, sizeof dim[0] * (size_t)rank) != 0)))
		return fail(s, "a stage makes a new buffer, or an output as it was declared");
	/* A new one becomes visible only when its stage is read: no stage reads what it makes. */
	struct ir_buffer fresh = { .type = t, .rank = rank };
	memcpy(fresh.dim, dim, sizeof dim[0] * (size_t)rank);
	TRY(expect(s, "="));
	st.kind = take(s, "map") ? IR_MAP : take(s, "scatter") ? IR_SCATTER : take(s, "scan") ? IR_SCAN : IR_REDUCE;
	if (st.kind != IR_MAP)
		TRY(combine(s, &st.combine));
	if (st.kind == IR_SCAN)
		TRY(scan_axis(s, &fresh, &st));
	TRY(axis_list(s, &fresh, &st.space_rank, st.space));
	if ((st.kind == IR_MAP || st.kind == IR_SCAN) && st.space_rank > 0)
		return fail(s, "a map and a scan have no further axes");
	if (st.kind == IR_SCATTER) {
		see(s, &fresh, 0, NULL);
		TRY(expect(s, "init"));
		TRY(with_lets(s, &st.init));
		TRY(expect(s, "at"));
		TRY(expect(s, "["));
		see(s, NULL, st.space_rank, st.space);
		for (int i = 0; i < rank; i++) {
			TRY(i ? expect(s, ",") : 0);
			TRY(with_lets(s, &st.at[i]));
			if (st.at[i]->type != TYPE_INDEX)
				return fail(s, "an index must be of type index");
		}
		TRY(expect(s, "]"));
		TRY(expect(s, "value"));
		TRY(with_lets(s, &st.value));
		if (take(s, "where"))
			TRY(with_lets(s, &st.where));
		if (st.value->type != t || st.init->type != t || (st.where && st.where->type != TYPE_BOOL))
			return fail(s, "types of init, value or where do not fit");
	} else {
		see(s, &fresh, st.space_rank, st.space);
		TRY(with_lets(s, &st.value));
		if (ir_accumulates(&st) && take(s, "then")) {
			see(s, &fresh, 0, NULL);
			s->acc = st.value->type;
			TRY(with_lets(s, &st.post));
		}
		if (!(ir_accumulates(&st) && !st.post) && (st.post ? st.post : st.value)->type != t)
			return fail(s, "the expression's type is not the buffer's");
	}
	const char *fault = ir_combine_fault(st.kind, st.combine, st.value->type);
	if (fault)
		return fail(s, fault);
	if (st.post && ir_combine_is_arg(st.combine))
		return fail(s, "an arg reduction has nothing behind \"then\"");
	if (!out)
		out = ir_buffer_new(s->p, text, t, rank, dim, IR_TEMP);
	struct ir_stage *made = ir_stage_new(s->p, st.kind, out);
	st.out = out;
	*made = st;
	return 0;
}

static int declarations(struct parser *s, enum ir_role role)
{
	struct ir_buffer *b;
	TRY(expect(s, "("));
	if (take(s, ")"))
		return 0;
	do
		TRY(declaration(s, role, &b));
	while (take(s, ","));
	return expect(s, ")");
}

int ir_parse_program(struct ir_program **out, const char *text, struct arena *a, struct err *e)
{
	struct parser s = { .text = text, .at = text, .arena = a, .err = e };
	s.p = ir_program_new(a, "");
	TRY(expect(&s, "program"));
	TRY(name(&s, &s.p->name));
	TRY(declarations(&s, IR_INPUT));
	TRY(expect(&s, "->"));
	TRY(declarations(&s, IR_OUTPUT));
	for (skip(&s); *s.at; skip(&s))
		TRY(take(&s, "const") ? constant(&s) : stage(&s));
	TRY(ir_check(s.p, e));
	*out = s.p;
	return 0;
}
