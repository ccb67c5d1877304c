/* If: the outputs of then_branch where the condition holds, else those of else_branch. A condition that is known at build
 * time takes one branch. Otherwise both are computed and every element is selected: branches have no side effects, so that
 * only time is lost.
 * Source: ONNX, operator If, opset 1 to 25. */
#include "ops/lower.h"

/* What a branch gives; both have as many outputs as the node. */
static int lower_branch(struct lower *l, const char *branch, struct value *out)
{
	return lower_graph(l, branch, 0, NULL, l->outputs, out);
}

/* Both branches, since it is not known which one is taken: one that is made for other extents fails here. */
static int lower_branches(struct lower *l, struct value *a, struct value *b)
{
	if (lower_branch(l, "then_branch", a) == 0 && lower_branch(l, "else_branch", b) == 0)
		return 0;
	return err_advise(l->err, "The condition is not known at build time, so both branches are needed; where it is always the "
				  "same, make it a constant of the model.");
}

/* Whether the condition is known, and then what it is. */
static bool is_known(struct value cond, bool *holds)
{
	int64_t x;

	if (cond.buf->data) {
		*holds = tensor_int(cond.buf->data, 0) != 0;
		return true;
	}
	if (!cond.buf->content || !ir_const_int(cond.buf->content[0], &x))
		return false;
	*holds = x != 0;
	return true;
}

static int refuse_shapes(struct lower *l, int i)
{
	lower_fail(l, ERR_UNSUPPORTED,
		   "the condition is not known at build time, and the branches give output number %d different types or extents.",
		   i + 1);
	return err_advise(l->err, "Where the condition follows from the input shapes, say them (--shape x:1x512); else make it a "
				  "constant of the model, or keep this node outside the engine.");
}

/* Output i: one of the two values, element by element. */
static int select_output(struct lower *l, int i, struct value cond, struct value a, struct value b)
{
	struct space s = space_of(l, a);

	if (value_type(a) != value_type(b) || value_rank(a) != value_rank(b))
		return refuse_shapes(l, i);
	for (int k = 0; k < value_rank(a); k++)
		if (value_dim(a, k) != value_dim(b, k))
			return refuse_shapes(l, i);
	if (a.buf == b.buf)
		lower_output(l, i, a);
	else
		lower_output(l, i, lower_map(l, NULL, value_type(a), &s, select_(at_first(cond), at(a, &s), at(b, &s))));
	return 0;
}

static int lower(struct lower *l)
{
	struct value cond = lower_input(l, 0), *a = NEWN(l->program->arena, struct value, l->outputs + 1);
	struct value *b = NEWN(l->program->arena, struct value, l->outputs + 1);
	int64_t n;
	bool holds;

	if (!ir_const_int(value_count(cond), &n) || n != 1)
		return lower_fail(l, ERR_MODEL, "the condition must be one element.");
	if (is_known(cond, &holds)) {
		TRY(lower_branch(l, holds ? "then_branch" : "else_branch", a));
		for (int i = 0; i < l->outputs; i++)
			lower_output(l, i, a[i]);
		return 0;
	}
	TRY(lower_branches(l, a, b));
	for (int i = 0; i < l->outputs; i++)
		if (lower_wants(l, i))
			TRY(select_output(l, i, cond, a[i], b[i]));
	return 0;
}

const struct op_def op_if = {
	.name = "If",
	.since = { 1, 11, 13, 16, 19, 21, 23, 24, 25 },
	.formula = "outputs = cond ? then_branch() : else_branch()",
	.inputs = { IN("cond", TS(BOOL)) },
	.outputs = { MANY("outputs", 0) },
	.attrs = { { "then_branch", OP_GRAPH, 0, NULL, "run where cond holds; takes no inputs", true },
		   { "else_branch", OP_GRAPH, 0, NULL, "run where it does not; as many outputs, of the same types", true } },
	.lower = lower,
};
