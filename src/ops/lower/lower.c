/* Access to the node: inputs, constants, attributes. */
#include "ops/lower/lower.h"

#include <string.h>

void lower_room(struct lower *l, int inputs, int outputs)
{
	struct arena *a = l->program->arena;
	int in = inputs > OP_MAX_INPUTS ? inputs : OP_MAX_INPUTS,
	    out = outputs > OP_MAX_OUTPUTS ? outputs : OP_MAX_OUTPUTS;

	l->input = NEWN(a, struct value, in);
	l->wanted = NEWN(a, bool, out);
	l->output = NEWN(a, struct value, out);
	l->type_only = NEWN(a, enum type, out);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */

struct value lower_input(struct lower *l, int i)
{
	return i < l->inputs && l->input[i].given ? l->input[i] : (struct value){ .buf = NULL };
}

enum type value_type(struct value v)
{
	return v.buf->type;
}

int value_rank(struct value v)
{
	return v.buf->rank;
}

expr value_dim(struct value v, int axis)
{
	return v.buf->dim[axis];
}

bool lower_known_bool(struct value v, bool *holds)
{
	int64_t x;

	if (v.buf->data) {
		*holds = tensor_int(v.buf->data, 0) != 0;
		return true;
	}
	if (!v.buf->content || !ir_const_int(v.buf->content[0], &x))
		return false;
	*holds = x != 0;
	return true;
}

const struct tensor *lower_constant(struct lower *l, int i)
{
	struct value v = lower_input(l, i);

	return v.given ? v.buf->data : NULL;
}

/* The name of input `i` for messages. */
static const char *input_name(struct lower *l, int i)
{
	const struct op_slot *s = op_slot_of(l->op->inputs, OP_MAX_INPUTS, i);

	return s ? s->name : "?";
}

int lower_known(struct lower *l, int i, struct exprs *out)
{
	struct value v = lower_input(l, i);
	int64_t n = 1, extent;

	*out = (struct exprs){ 0 };
	if (!v.given)
		return lower_fail(l, ERR_MODEL, "input \"%s\" is missing.", input_name(l, i));
	for (int k = 0; k < v.buf->rank; k++) {
		if (!ir_const_int(v.buf->dim[k], &extent))
			goto unknown;
		n *= extent;
		if (n > LOWER_MAX_TENSORS)
			return lower_fail(l, ERR_UNSUPPORTED, "input \"%s\" has more than %d elements.",
			                  input_name(l, i), LOWER_MAX_TENSORS);
	}
	if (!v.buf->data && !v.buf->content && n)
		goto unknown;
	if (!type_is_int(v.buf->type) && v.buf->type != TYPE_BOOL && v.buf->type != TYPE_INDEX)
		return lower_fail(l, ERR_MODEL, "input \"%s\" is %s; it must be of integers.", input_name(l, i),
		                  type_name(v.buf->type));
	out->n = (int)n;
	for (int k = 0; k < n; k++)
		out->at[k] = v.buf->data ? idx(l, tensor_int(v.buf->data, k)) : v.buf->content[k];
	return 0;
unknown:
	lower_fail(l, ERR_UNSUPPORTED, "the value of input \"%s\" is not known at build time, and shapes depend on it.",
	           input_name(l, i));
	return err_advise(l->err,
	                  "Fix the shapes of the model's inputs (--shape), make this input a constant of the model, or "
	                  "keep this node outside the engine.");
}

int lower_extents(struct lower *l, int i, struct exprs *out)
{
	struct value v = lower_input(l, i);

	if (v.given && !v.buf->data && !v.buf->content && l->bodies && l->bodies->ask)
		l->bodies->ask(l, v.buf);
	return lower_known(l, i, out);
}

int lower_known_ints(struct lower *l, int i, struct ints *out)
{
	struct exprs e;

	*out = (struct ints){ 0 };
	TRY(lower_known(l, i, &e));
	for (int k = 0; k < e.n; k++)
		if (!ir_const_int(e.at[k], &out->at[k])) {
			lower_fail(l, ERR_UNSUPPORTED,
			           "the value of input \"%s\" depends on input shapes; plain numbers are needed.",
			           input_name(l, i));
			return err_advise(l->err, "Fix the model's input shapes, so that it becomes a constant.");
		}
	out->n = e.n;
	return 0;
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

const struct attr_value *lower_attr(struct lower *l, const char *name)
{
	for (int i = 0; i < l->attrs; i++)
		if (!strcmp(l->attr[i].name, name))
			return &l->attr[i];
	return NULL;
}

bool lower_has(struct lower *l, const char *name)
{
	return lower_attr(l, name) != NULL;
}

/* A name that is not in the op_def is a bug in the operator's file. */
static const struct op_attr *default_of(struct lower *l, const char *name)
{
	const struct op_attr *def = op_attr_find(l->op, name);

	ck(def);
	return def;
}

int64_t lower_int(struct lower *l, const char *name)
{
	const struct op_attr *def = default_of(l, name);
	const struct attr_value *v = lower_attr(l, name);

	if (!v)
		return (int64_t)def->number;
	return v->kind == OP_INTS ? v->ints[0] : v->i;
}

double lower_float(struct lower *l, const char *name)
{
	const struct op_attr *def = default_of(l, name);
	const struct attr_value *v = lower_attr(l, name);

	if (!v)
		return (float)def->number; /* as a node would hold it: attributes are f32 */
	switch (v->kind) {
	case OP_INT: return (double)v->i;
	case OP_INTS: return (double)v->ints[0];
	case OP_FLOATS: return v->floats[0];
	default: return v->f;
	}
}

const char *lower_word(struct lower *l, const char *name)
{
	const struct op_attr *def = default_of(l, name);
	const struct attr_value *v = lower_attr(l, name);

	if (v)
		return v->s;
	return arena_strndup(l->program->arena, def->text ? def->text : "", strcspn(def->text ? def->text : "", "|"));
}

struct ints lower_ints(struct lower *l, const char *name)
{
	struct ints out = { 0 };
	const struct attr_value *v = lower_attr(l, name);

	default_of(l, name);
	if (v && v->kind == OP_INT)
		return (struct ints){ .n = 1, .at = { v->i } };
	for (int i = 0; v && i < v->n; i++)
		out.at[i] = v->ints[i];
	out.n = v ? v->n : 0;
	return out;
}

int lower_floats(struct lower *l, const char *name, const double **at)
{
	const struct attr_value *v = lower_attr(l, name);
	int n = !v ? 0 : v->kind == OP_FLOAT || v->kind == OP_INT ? 1 : v->n;
	double *copy;

	default_of(l, name);
	*at = v && v->kind == OP_FLOATS ? v->floats : NULL;
	if (*at || !n)
		return n;
	*at = copy = NEWN(l->program->arena, double, n);
	for (int i = 0; i < n; i++)
		copy[i] = v->kind == OP_FLOAT ? v->f : (double)(v->kind == OP_INT ? v->i : v->ints[i]);
	return n;
}

int lower_int_list(struct lower *l, const char *name, const int64_t **at)
{
	const struct attr_value *v = lower_attr(l, name);

	default_of(l, name);
	*at = v ? v->ints : NULL;
	return v ? v->n : 0;
}

int lower_strings(struct lower *l, const char *name, const char *const **at)
{
	const struct attr_value *v = lower_attr(l, name);

	default_of(l, name);
	*at = v ? v->strings : NULL;
	return v ? v->n : 0;
}

const struct tensor *lower_tensor(struct lower *l, const char *name)
{
	const struct attr_value *v = lower_attr(l, name);

	default_of(l, name);
	return v ? v->tensor : NULL;
}

int lower_ints_or_input(struct lower *l, const char *attr, int i, struct ints *out, bool *given)
{
	*out = (struct ints){ 0 };
	*given = true;
	if (lower_has(l, attr)) {
		const struct attr_value *v = lower_attr(l, attr);

		if (v->kind == OP_INT)
			*out = (struct ints){ .n = 1, .at = { v->i } };
		else
			*out = lower_ints(l, attr);
		return 0;
	}
	*given = lower_input(l, i).given;
	return *given ? lower_known_ints(l, i, out) : 0;
}

int lower_axis(struct lower *l, int64_t axis, int rank, bool end, int *out)
{
	if (axis < -rank || axis > rank - !end)
		return lower_fail(l, ERR_MODEL, "axis %lld is outside %d..%d, the axes of a tensor of rank %d.",
		                  (long long)axis, -rank, rank - !end, rank);
	*out = (int)(axis < 0 ? axis + rank : axis);
	return 0;
}
