/* Parses cases into programs. See op_case.h. */
#include "tests/program/op_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "ops/lower/lower.h"
#include "tests/program/program_text.h"

struct reader {
	struct arena *arena;
	struct err *err;
	const char *text, *at; /* the whole case; the current position */
	struct lower l;
	int next; /* index of the next input */
	struct {
		VEC(struct attr_value);
	} attrs;
};

static int fail(struct reader *r, const char *what)
{
	return err_set(r->err, ERR_USAGE, "The case \"%s\" of %s: %s at \"%s\".", r->text, r->l.op->name, what, r->at);
}

static char *word(struct reader *r, const char *end)
{
	size_t n = strcspn(r->at, end);
	char *w = arena_strndup(r->arena, r->at, n);
	r->at += n;
	return w;
}

static bool take(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* "{1,2,3}": the value of an input with constant extents. */
static int read_value(struct reader *r, struct ir_buffer *b)
{
	struct tensor *t = NEW(r->arena, struct tensor);
	int64_t dim[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++)
		if (!ir_const_int(b->dim[k], &dim[k]))
			return fail(r, "a known value needs extents that are numbers");
	TRY(tensor_new(t, b->type, b->rank, dim, r->arena, r->err));
	for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
		char *end;
		double x = number_read(r->at + 1, &end);
		if (end == r->at + 1 || *r->at != (i ? ',' : '{'))
			return fail(r, "another number expected");
		if (type_is_float(b->type))
			tensor_set_float(t, i, x);
		else
			tensor_set_int(t, i, number_int(x));
		r->at = end;
	}
	if (tensor_count(t) == 0)
		take(r, '{');
	b->data = t;
	return take(r, '}') ? 0 : fail(r, "} expected");
}

static int slot_of(const struct op_def *op, const char *name)
{
	for (int i = 0; i < OP_MAX_INPUTS && op->inputs[i].kind; i++)
		if (op->inputs[i].kind < OP_VARIADIC && strcmp(op->inputs[i].name, name) == 0)
			return i;
	return -1;
}

/* "x:f16[4,N]" after the name. */
static int read_input(struct reader *r, const char *name)
{
	struct lower *l = &r->l;
	struct ir_pool *pool = l->program->pool;
	enum type t = type_from_name(word(r, "["));
	expr dim[IR_MAX_RANK];
	int rank = 0, slot = slot_of(l->op, name);
	if (t == TYPE_NONE || !take(r, '['))
		return fail(r, "a type and [ expected");
	while (*r->at && *r->at != ']' && rank < IR_MAX_RANK) {
		char *w = word(r, ",] ");
		dim[rank++] = ascii_is_digit(*w) ? ir_index(pool, atoll(w)) : ir_symbol(pool, w);
		take(r, ',');
	}
	if (!take(r, ']'))
		return fail(r, "] expected");
	if (slot < 0)
		slot = r->next;
	r->next = slot + 1;
	l->inputs = r->next > l->inputs ? r->next : l->inputs;
	struct ir_buffer *b = ir_buffer_new(l->program, name, t, rank, dim, IR_INPUT);
	l->input[slot] = (struct value){ .buf = b, .given = true };
	return take(r, '=') ? read_value(r, b) : 0;
}

static void read_list(struct reader *r, struct attr_value *v)
{
	int64_t *ints = NEWN(r->arena, int64_t, strlen(r->at) + 1);
	double *floats = NEWN(r->arena, double, strlen(r->at) + 1);
	do {
		char *w = word(r, ",} ");
		ints[v->n] = atoll(w);
		floats[v->n++] = number_read(w, NULL);
	} while (take(r, ','));
	v->ints = ints;
	v->floats = floats;
}

static void read_words(struct reader *r, struct attr_value *v)
{
	const char **words = NEWN(r->arena, const char *, strlen(r->at) + 1);
	do
		words[v->n++] = word(r, ", ");
	while (take(r, ','));
	v->strings = words;
}

/* "f32{1,2}" */
static int read_tensor(struct reader *r, struct attr_value *v)
{
	enum type t = type_from_name(word(r, "{ "));
	struct tensor *x = NEW(r->arena, struct tensor);
	struct attr_value list = { 0 };
	int64_t n;
	if (t == TYPE_NONE || !take(r, '{'))
		return fail(r, "a type and { expected");
	read_list(r, &list);
	if (!take(r, '}'))
		return fail(r, "} expected");
	n = list.n;
	TRY(tensor_new(x, t, 1, &n, r->arena, r->err));
	for (int64_t i = 0; i < n; i++)
		if (type_is_float(t))
			tensor_set_float(x, i, list.floats[i]);
		else
			tensor_set_int(x, i, list.ints[i]);
	v->tensor = x;
	return 0;
}

/* "axis=-1" after the equals sign. */
static int read_attribute(struct reader *r, const char *name)
{
	struct attr_value v = { .name = name };
	for (int i = 0; i < OP_MAX_ATTRS && r->l.op->attrs[i].kind; i++)
		if (strcmp(r->l.op->attrs[i].name, name) == 0)
			v.kind = r->l.op->attrs[i].kind;
	if (v.kind == OP_WEIGHTS)
		v.kind = OP_FLOATS;
	switch (v.kind) {
	case OP_INT: v.i = atoll(word(r, " ")); break;
	case OP_FLOAT: v.f = number_read(word(r, " "), NULL); break;
	case OP_STRING: v.s = word(r, " "); break;
	case OP_INTS:
	case OP_FLOATS: read_list(r, &v); break;
	case OP_STRINGS: read_words(r, &v); break;
	case OP_TENSOR: TRY(read_tensor(r, &v)); break;
	default: return fail(r, "no such attribute");
	}
	vec_push(r->arena, &r->attrs, v);
	return 0;
}

static int read_case(struct reader *r)
{
	while (*r->at) {
		char *name = word(r, ":= ");
		if (take(r, ':'))
			TRY(read_input(r, name));
		else if (!take(r, '='))
			return fail(r, ": or = expected");
		else if (strcmp(name, "opset") == 0)
			r->l.opset = atoi(word(r, " "));
		else if (strcmp(name, "outputs") == 0)
			r->l.outputs = atoi(word(r, " "));
		else
			TRY(read_attribute(r, name));
		while (take(r, ' '))
			;
	}
	return 0;
}

int op_case_program(struct ir_program **out, const struct op_def *op, const char *text, struct arena *a, struct err *e)
{
	struct reader *r = NEW(a, struct reader);
	*r = (struct reader){ .arena = a, .err = e, .text = text, .at = text };
	struct lower *l = &r->l;
	l->program = ir_program_new(a, op->name);
	l->err = e;
	l->op = op;
	l->label = text;
	l->outputs = 1;
	lower_room(l, LOWER_MAX_TENSORS, LOWER_MAX_TENSORS);
	for (int i = 0; i < OP_MAX_VERSIONS && op->since[i]; i++)
		l->opset = op->since[i];
	TRY(read_case(r));
	for (int i = 0; i < l->outputs; i++)
		l->wanted[i] = true;
	l->attrs = r->attrs.n;
	l->attr = r->attrs.at;
	TRY(lower_node(l));
	for (int i = 0; i < l->outputs; i++) {
		l->output[i].buf->role = IR_OUTPUT;
		vec_push(a, &l->program->outputs, l->output[i].buf);
	}
	*out = l->program;
	return 0;
}
