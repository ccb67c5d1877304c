/* Reads the text form that print.c writes. Any text gives a program or an error sentence with its line, never a
 * crash. */
#include "tests/program/parse.h"

#include <string.h>

#include "ir/axis_names.h"

static int shape(struct parser *s, enum type *t, int *rank, expr *dim)
{
	const char *text;
	TRY(parse_name(s, &text));
	*t = type_from_name(text);
	if (*t == TYPE_NONE || *t == TYPE_STRING)
		return parse_fail(s, "no such element type");
	TRY(parse_expect(s, "["));
	s->out_rank = s->space_rank = 0;
	s->acc = TYPE_NONE;
	s->shapes = true;
	TRY(parse_arguments(s, "]", dim, rank));
	s->shapes = false;
	for (int i = 0; i < *rank; i++)
		if (dim[i]->type != TYPE_INDEX)
			return parse_fail(s, "an extent must be of type index");
	return 0;
}

static int declaration(struct parser *s, enum ir_role role, struct ir_buffer **out)
{
	const char *text;
	enum type t;
	int rank;
	expr dim[IR_MAX_RANK];
	TRY(parse_name(s, &text));
	TRY(parse_expect(s, ":"));
	TRY(shape(s, &t, &rank, dim));
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, text) == 0)
			return parse_fail(s, "two buffers of one name");
	if (ir_name_reserved(text))
		return parse_fail(s, "a buffer cannot have this name");
	*out = ir_buffer_new(s->p, text, t, rank, dim, role);
	return 0;
}

/* Declares a constant with its tensor, of zeros. */
static int declare_constant(struct parser *s, struct ir_buffer **out, struct tensor **value)
{
	struct ir_buffer *b;
	int64_t dim[IR_MAX_RANK];
	TRY(declaration(s, IR_CONSTANT, out));
	b = *out;
	for (int i = 0; i < b->rank; i++)
		if (!ir_const_int(b->dim[i], &dim[i]) || dim[i] < 0)
			return parse_fail(s, "a constant's extents must be numbers");
	struct tensor *t = *value = NEW(s->arena, struct tensor);
	for (int i = 0; i < b->rank; i++)
		if (dim[i] > 1 << 20)
			return parse_fail(s, "a constant too large for the text form");
	TRY(tensor_new(t, b->type, b->rank, dim, s->arena, s->err));
	b->data = t;
	return 0;
}

/* The text does not contain a weight's elements. */
static int weight(struct parser *s)
{
	struct ir_buffer *b;
	struct tensor *zeros;
	TRY(declare_constant(s, &b, &zeros));
	b->weight = true;
	return 0;
}

static int constant(struct parser *s)
{
	struct ir_buffer *b;
	struct tensor *t;
	int64_t n;
	TRY(declare_constant(s, &b, &t));
	n = tensor_count(t);
	TRY(parse_expect(s, "="));
	TRY(parse_expect(s, "{"));
	for (int64_t i = 0; i < n; i++) {
		expr x;
		if (i)
			TRY(parse_expect(s, ","));
		TRY(parse_number(s, b->type == TYPE_BOOL ? TYPE_I64 : b->type, &x));
		if (x->op == IR_CONST_FLOAT)
			tensor_set_float(t, i, x->f);
		else
			tensor_set_int(t, i, x->i);
	}
	return parse_expect(s, "}");
}

static int axis_list(struct parser *s, int rank, int *space_rank, expr *space)
{
	const char *text;
	TRY(parse_expect(s, "("));
	for (int k = 0; k < rank; k++) {
		if (k)
			TRY(parse_expect(s, ","));
		TRY(parse_name(s, &text));
		if (strcmp(text, ir_axis_names[0][k]) != 0)
			return parse_fail(s, "axes are called i, j, k, l, m, n, i6 ...");
	}
	*space_rank = 0;
	if (parse_take(s, "|")) {
		s->shapes = true;
		s->out_rank = s->space_rank = 0;
		do {
			if (*space_rank == IR_MAX_RANK || *space_rank + rank >= IR_MAX_RANK)
				return parse_fail(s, "too many axes");
			TRY(parse_name(s, &text));
			if (strcmp(text, ir_axis_names[1][*space_rank]) != 0)
				return parse_fail(s, "these axes are called r, s, t, u, v, w, r6 ...");
			TRY(parse_expect(s, "<"));
			TRY(parse_sum(s, &space[*space_rank]));
			if (space[(*space_rank)++]->type != TYPE_INDEX)
				return parse_fail(s, "an extent must be of type index");
		} while (parse_take(s, ","));
		s->shapes = false;
	}
	return parse_expect(s, ")");
}

static int combine(struct parser *s, enum ir_combine *out)
{
	for (enum ir_combine c = IR_COMBINE_COUNT; c-- > 0;) {
		if (parse_take(s, ir_combine_name[c])) {
			*out = c;
			return 0;
		}
	}
	return parse_fail(s, "map, scan, scatter, sort, compact or a reduction expected");
}

/* along j */
static int along(struct parser *s, const struct ir_buffer *out, struct ir_stage *st)
{
	const char *text;
	TRY(parse_expect(s, "along"));
	TRY(parse_name(s, &text));
	while (st->axis < out->rank && strcmp(text, ir_axis_names[0][st->axis]) != 0)
		st->axis++;
	return st->axis < out->rank ? 0 : parse_fail(s, "a scan and a sort are along one of their axes");
}

/* along j [exclusive] [reverse] */
static int scan_axis(struct parser *s, const struct ir_buffer *out, struct ir_stage *st)
{
	TRY(along(s, out, st));
	st->exclusive = parse_take(s, "exclusive");
	st->reverse = parse_take(s, "reverse");
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

/* The result buffer of a stage: a declared output, or a new one (then null, with name and shape in `fresh`), which
 * becomes visible after its stage: no stage reads its own result. */
static int made(struct parser *s, const char **text, struct ir_buffer *fresh, struct ir_buffer **out)
{
	*out = NULL;
	TRY(parse_name(s, text));
	if (ir_name_reserved(*text))
		return parse_fail(s, "a buffer cannot have this name");
	TRY(parse_expect(s, ":"));
	*fresh = (struct ir_buffer){ .name = *text };
	TRY(shape(s, &fresh->type, &fresh->rank, fresh->dim));
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, *text) == 0)
			*out = *b;
	if (*out && ((*out)->role != IR_OUTPUT || ir_stage_of(s->p, *out) || (*out)->type != fresh->type ||
	             (*out)->rank != fresh->rank ||
	             (fresh->rank && memcmp((*out)->dim, fresh->dim, sizeof fresh->dim[0] * (size_t)fresh->rank) != 0)))
		return parse_fail(s, "a stage makes a new buffer, or an output as it was declared");
	return 0;
}

static struct ir_buffer *make(struct parser *s, const struct ir_buffer *fresh, struct ir_buffer *out)
{
	return out ? out : ir_buffer_new(s->p, fresh->name, fresh->type, fresh->rank, fresh->dim, IR_TEMP);
}

/* "value" or "init", "at" and "value", with "where" */
static int compact_stage(struct parser *s, struct ir_stage *st, const struct ir_buffer *out, const char *count)
{
	see(s, NULL, st->space_rank, st->space);
	TRY(parse_with_lets(s, &st->value));
	if (st->value->type != out->type)
		return parse_fail(s, "the expression's type is not the buffer's");
	TRY(parse_expect(s, "where"));
	TRY(parse_with_lets(s, &st->where));
	if (st->where->type != TYPE_BOOL)
		return parse_fail(s, "a condition is of type bool");
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, count) == 0)
			st->count = *b;
	if (st->count && (st->count->role != IR_OUTPUT || ir_stage_of(s->p, st->count)))
		return parse_fail(s, "a compaction's count is a new buffer or an output");
	if (!st->count)
		st->count = ir_buffer_new(s->p, count, TYPE_I64, 0, NULL, IR_TEMP);
	return 0;
}

/* A keyword at the start of a line; a buffer may have the same name, followed by a colon. */
static bool keyword(struct parser *s, const char *word)
{
	const char *at = s->at;
	if (!parse_take(s, word))
		return false;
	parse_skip(s);
	if (*s->at != ':')
		return true;
	s->at = at;
	return false;
}

static int stage(struct parser *s);

static struct ir_buffer *buffer_called(struct parser *s, const char *text)
{
	vec_each (b, &s->p->buffers)
		if (strcmp((*b)->name, text) == 0)
			return *b;
	return NULL;
}

/* NAME of a defined buffer. */
static int defined(struct parser *s, const struct ir_buffer **out)
{
	const char *text;
	TRY(parse_name(s, &text));
	*out = buffer_called(s, text);
	return *out ? 0 : parse_fail(s, "no such buffer here");
}

static int carry(struct parser *s, struct ir_loop *l)
{
	struct ir_carry c = { 0 };
	struct ir_buffer fresh;
	const char *text;
	int none;
	TRY(made(s, &text, &fresh, &c.state));
	TRY(axis_list(s, fresh.rank, &none, NULL));
	see(s, &fresh, 0, NULL);
	TRY(parse_with_lets(s, &c.init));
	c.state = make(s, &fresh, c.state);
	vec_push(s->arena, &l->carries, c);
	return 0;
}

static int next(struct parser *s, struct ir_loop *l)
{
	const struct ir_buffer *state, *from;
	TRY(defined(s, &state));
	TRY(parse_expect(s, "="));
	TRY(defined(s, &from));
	vec_each (c, &l->carries) {
		if (c->state == state && !c->next) {
			c->next = from;
			return 0;
		}
	}
	return parse_fail(s, "no state of this loop, or one that has its next value");
}

static int collect(struct parser *s, struct ir_loop *l)
{
	struct ir_collect c = { 0 };
	struct ir_buffer fresh;
	const char *text;
	TRY(made(s, &text, &fresh, &c.out));
	TRY(parse_expect(s, "at"));
	see(s, NULL, 0, NULL);
	TRY(parse_with_lets(s, &c.at));
	TRY(parse_expect(s, "="));
	TRY(defined(s, &c.from));
	c.out = make(s, &fresh, c.out);
	vec_push(s->arena, &l->collects, c);
	return 0;
}

/* turn<N [while COND] { carries, stages, nexts, collects } */
static int loop(struct parser *s)
{
	const char *text;
	expr trip;
	if (s->loops.n >= IR_MAX_LOOPS)
		return parse_fail(s, "too many loops in each other");
	TRY(parse_name(s, &text));
	if (ir_name_reserved(text))
		return parse_fail(s, "a loop's index cannot have this name");
	TRY(parse_expect(s, "<"));
	s->shapes = true;
	see(s, NULL, 0, NULL);
	TRY(parse_sum(s, &trip));
	s->shapes = false;
	if (trip->type != TYPE_INDEX)
		return parse_fail(s, "the number of iterations must be of type index");
	struct ir_stage *st = ir_loop_new(s->p, trip);
	struct ir_loop *l = st->loop;
	l->index = ir_var(s->p->pool, TYPE_INDEX, text, trip);
	/* The condition reads states, which are declared after it. */
	const char *condition = parse_take(s, "while") ? s->at : NULL;
	while (condition && *s->at && *s->at != '{')
		s->at++;
	TRY(parse_expect(s, "{"));
	while (keyword(s, "carry"))
		TRY(carry(s, l));
	vec_push(s->arena, &s->loops, l->index);
	if (condition) {
		const char *resume = s->at;
		s->at = condition;
		see(s, NULL, 0, NULL);
		TRY(parse_with_lets(s, &st->where));
		s->at = resume;
	}
	int first = s->p->stages.n;
	for (parse_skip(s); *s->at && *s->at != '}'; parse_skip(s))
		TRY(keyword(s, "next") ? next(s, l) : keyword(s, "collect") ? collect(s, l) : stage(s));
	TRY(parse_expect(s, "}"));
	s->loops.n--;
	ir_loop_take(s->p, st, first);
	st->out = ir_stage_made(st, 0);
	vec_each (c, &l->carries)
		if (!c->next)
			return parse_fail(s, "a state of the loop has no next value");
	return st->out ? 0 : parse_fail(s, "the loop makes nothing");
}

/* "init E at [E, ...] value E where E" */
static int scatter_stage(struct parser *s, struct ir_stage *st, const struct ir_buffer *out)
{
	see(s, out, 0, NULL);
	TRY(parse_expect(s, "init"));
	TRY(parse_with_lets(s, &st->init));
	TRY(parse_expect(s, "at"));
	TRY(parse_expect(s, "["));
	see(s, NULL, st->space_rank, st->space);
	for (int i = 0; i < out->rank; i++) {
		TRY(i ? parse_expect(s, ",") : 0);
		TRY(parse_with_lets(s, &st->at[i]));
		if (st->at[i]->type != TYPE_INDEX)
			return parse_fail(s, "an index must be of type index");
	}
	TRY(parse_expect(s, "]"));
	TRY(parse_expect(s, "value"));
	TRY(parse_with_lets(s, &st->value));
	if (parse_take(s, "where"))
		TRY(parse_with_lets(s, &st->where));
	if (st->value->type != out->type || st->init->type != out->type || (st->where && st->where->type != TYPE_BOOL))
		return parse_fail(s, "types of init, value or where do not fit");
	return 0;
}

/* "E then E": all other kinds. */
static int value_stage(struct parser *s, struct ir_stage *st, const struct ir_buffer *out)
{
	see(s, out, st->space_rank, st->space);
	TRY(parse_with_lets(s, &st->value));
	if (ir_accumulates(st) && parse_take(s, "then")) {
		see(s, out, 0, NULL);
		s->acc = st->value->type;
		TRY(parse_with_lets(s, &st->post));
	}
	if (st->kind == IR_SORT || (ir_accumulates(st) && !st->post))
		return 0;
	if ((st->post ? st->post : st->value)->type != out->type)
		return parse_fail(s, "the expression's type is not the buffer's");
	return 0;
}

/* "E [where E]": a pick. */
static int pick_stage(struct parser *s, struct ir_stage *st, const struct ir_buffer *out)
{
	see(s, out, st->space_rank, st->space);
	TRY(parse_with_lets(s, &st->value));
	if (!parse_take(s, "where"))
		return 0;
	see(s, out, 1, st->space);
	TRY(parse_with_lets(s, &st->where));
	return st->where->type == TYPE_BOOL ? 0 : parse_fail(s, "a condition is of type bool");
}

static enum ir_stage_kind stage_kind(struct parser *s)
{
	return parse_take(s, "map")       ? IR_MAP
	       : parse_take(s, "scatter") ? IR_SCATTER
	       : parse_take(s, "scan")    ? IR_SCAN
	       : parse_take(s, "sort")    ? IR_SORT
	       : parse_take(s, "pick")    ? IR_PICK
	       : parse_take(s, "compact") ? IR_COMPACT
	                                  : IR_REDUCE;
}

/* The part between a stage's kind and its expressions; `count`: the name of a compaction's count. */
static int stage_head(struct parser *s, struct ir_stage *st, const struct ir_buffer *out, const char **count)
{
	if (st->kind == IR_REDUCE || st->kind == IR_SCATTER || st->kind == IR_SCAN)
		TRY(combine(s, &st->combine));
	if (st->kind == IR_COMPACT)
		TRY(parse_name(s, count));
	if (st->kind == IR_SCAN)
		TRY(scan_axis(s, out, st));
	if (st->kind == IR_SORT) {
		st->reverse = parse_take(s, "descending");
		TRY(along(s, out, st));
	}
	if (st->kind == IR_PICK)
		TRY(along(s, out, st));
	TRY(axis_list(s, st->kind == IR_COMPACT ? 0 : out->rank, &st->space_rank, st->space));
	if ((st->kind == IR_MAP || st->kind == IR_SCAN) && st->space_rank > 0)
		return parse_fail(s, "a map and a scan have no further axes");
	if (st->kind == IR_SORT && (st->space_rank != 1 || (out->type != TYPE_I64 && out->type != TYPE_I32)))
		return parse_fail(s, "a sort is over one further axis, and gives positions of type i32 or i64");
	if (st->kind == IR_PICK &&
	    (st->space_rank != 2 || st->space[0] != st->space[1] || (out->type != TYPE_I64 && out->type != TYPE_I32)))
		return parse_fail(
		        s, "a pick is over two further axes of one extent, and gives positions of type i32 or i64");
	if (st->kind == IR_COMPACT && (out->rank != 1 || ir_name_reserved(*count)))
		return parse_fail(s, "a compaction makes one row, and counts under a name of its own");
	return 0;
}

static int stage(struct parser *s)
{
	if (keyword(s, "loop"))
		return loop(s);
	struct ir_stage st = { 0 };
	struct ir_buffer *out = NULL;
	struct ir_buffer fresh;
	const char *text, *count = NULL;
	TRY(made(s, &text, &fresh, &out));
	TRY(parse_expect(s, "="));
	st.kind = stage_kind(s);
	TRY(stage_head(s, &st, &fresh, &count));
	switch (st.kind) {
	case IR_COMPACT: TRY(compact_stage(s, &st, &fresh, count)); break;
	case IR_SCATTER: TRY(scatter_stage(s, &st, &fresh)); break;
	case IR_PICK: TRY(pick_stage(s, &st, &fresh)); break;
	default: TRY(value_stage(s, &st, &fresh));
	}
	const char *fault = ir_combine_fault(st.kind, st.combine, st.value->type);
	if (fault)
		return parse_fail(s, fault);
	if (st.post && ir_combine_is_arg(st.combine))
		return parse_fail(s, "an arg reduction has nothing after \"then\"");
	st.out = make(s, &fresh, out);
	*ir_stage_new(s->p, st.kind, st.out) = st;
	return 0;
}

/* NAME = BUFFER <= LIMIT */
static int size(struct parser *s)
{
	struct pending_size z;
	const char *name;
	TRY(parse_name(s, &name));
	TRY(parse_expect(s, "="));
	TRY(parse_name(s, &z.count));
	TRY(parse_expect(s, "<="));
	see(s, NULL, 0, NULL);
	s->shapes = true;
	TRY(parse_sum(s, &z.limit));
	s->shapes = false;
	if (z.limit->type != TYPE_INDEX || ir_name_reserved(name))
		return parse_fail(s, "a size has a name of its own, and a limit of type index");
	z.symbol = ir_symbol(s->p->pool, name);
	vec_push(s->arena, &s->sizes, z);
	return 0;
}

/* NAME = INPUT[ELEMENT], or NAME = EXTENT */
static int value(struct parser *s)
{
	struct ir_value v = { 0 };
	const char *start, *own, *name;
	expr element;
	TRY(parse_name(s, &own));
	v.symbol = ir_symbol(s->p->pool, own);
	TRY(parse_expect(s, "="));
	start = s->at;
	if (parse_name(s, &name) == 0 && parse_take(s, "[")) {
		v.buf = buffer_called(s, name);
		TRY(parse_number(s, TYPE_NONE, &element));
		TRY(parse_expect(s, "]"));
		if (!v.buf || v.buf->role != IR_INPUT || !ir_const_int(element, &v.element))
			return parse_fail(s, "a value is an element of an input");
	} else {
		err_clear(s->err);
		s->at = start;
		see(s, NULL, 0, NULL);
		s->shapes = true;
		TRY(parse_sum(s, &v.known));
		s->shapes = false;
	}
	if (ir_name_reserved(own) || ir_value_find(s->p, v.symbol))
		return parse_fail(s, "a value has a name of its own");
	vec_push(s->arena, &s->p->values, v);
	return 0;
}

static int quoted(struct parser *s, const char **out)
{
	TRY(parse_expect(s, "\""));
	size_t n = strcspn(s->at, "\"\n");
	*out = arena_strndup(s->arena, s->at, n);
	s->at += n;
	return parse_expect(s, "\"");
}

/* EXTENT RELATION EXTENT ("TENSOR" AXIS, "TENSOR" AXIS, "NODE") */
static int demand(struct parser *s)
{
	struct ir_demand d = { .relation = IR_RELATIONS };
	see(s, NULL, 0, NULL);
	s->shapes = true;
	TRY(parse_sum(s, &d.extent[0]));
	for (int r = 0; r < IR_RELATIONS && d.relation == IR_RELATIONS; r++)
		if (parse_take(s, ir_relation_word[r]))
			d.relation = (enum ir_relation)r;
	if (d.relation == IR_RELATIONS)
		return parse_fail(s, "a demand needs ==, broadcasts, is_one_or or <=");
	TRY(parse_sum(s, &d.extent[1]));
	s->shapes = false;
	TRY(parse_expect(s, "("));
	for (int i = 0; i < 2; i++) {
		expr axis;
		int64_t number;
		TRY(quoted(s, &d.tensor[i]));
		TRY(parse_number(s, TYPE_NONE, &axis));
		TRY(parse_expect(s, ","));
		if (!ir_const_int(axis, &number) || number < -1 || number >= IR_MAX_RANK)
			return parse_fail(s, "a demand names axes of tensors");
		d.axis[i] = (int)number;
	}
	if (!*d.tensor[0])
		d.tensor[0] = NULL;
	TRY(quoted(s, &d.node));
	vec_push(s->arena, &s->p->demands, d);
	return parse_expect(s, ")");
}

/* INPUT by OUTPUT */
static int replaced(struct parser *s)
{
	const char *in, *by;
	TRY(parse_name(s, &in));
	if (!keyword(s, "by"))
		return parse_fail(s, "\"by\" expected");
	TRY(parse_name(s, &by));
	struct ir_buffer *from = buffer_called(s, in), *out = buffer_called(s, by);
	if (!from || from->role != IR_INPUT || !out || out->role != IR_OUTPUT)
		return parse_fail(s, "an output replaces an input");
	from->spare = true;
	out->replaces = from;
	return 0;
}

/* Binds sizes once all buffers are defined. */
static int bind_sizes(struct parser *s)
{
	vec_each (z, &s->sizes) {
		struct ir_buffer *count = buffer_called(s, z->count);
		if (!count || count->rank != 0 || count->type != TYPE_I64 || ir_size_find(s->p, z->symbol))
			return parse_fail(
			        s, "a size is the number in a scalar i64 that a stage makes, and is defined once");
		struct ir_size bound = { z->symbol, count, z->limit };
		vec_push(s->arena, &s->p->sizes, bound);
	}
	return 0;
}

static int declarations(struct parser *s, enum ir_role role)
{
	struct ir_buffer *b;
	TRY(parse_expect(s, "("));
	if (parse_take(s, ")"))
		return 0;
	do
		TRY(declaration(s, role, &b));
	while (parse_take(s, ","));
	return parse_expect(s, ")");
}

int ir_parse_program(struct ir_program **out, const char *text, struct arena *a, struct err *e)
{
	struct parser s = { .text = text, .at = text, .arena = a, .err = e };
	s.p = ir_program_new(a, "");
	TRY(parse_expect(&s, "program"));
	TRY(parse_name(&s, &s.p->name));
	TRY(declarations(&s, IR_INPUT));
	TRY(parse_expect(&s, "->"));
	TRY(declarations(&s, IR_OUTPUT));
	for (parse_skip(&s); *s.at; parse_skip(&s))
		TRY(keyword(&s, "const")     ? constant(&s)
		    : keyword(&s, "weight")  ? weight(&s)
		    : keyword(&s, "size")    ? size(&s)
		    : keyword(&s, "value")   ? value(&s)
		    : keyword(&s, "demand")  ? demand(&s)
		    : keyword(&s, "replace") ? replaced(&s)
		                             : stage(&s));
	TRY(bind_sizes(&s));
	TRY(ir_check(s.p, e));
	*out = s.p;
	return 0;
}
