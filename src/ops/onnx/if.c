/* If: the outputs of then_branch if the condition holds, else those of else_branch. A condition known at build time
 * selects one branch. Otherwise both are computed and every element is selected: branches have no side effects, so
 * this costs only time. An extent that differs between the branches is a size (struct ir_size), at most the larger of
 * the two. Source: ONNX, operator If, opset 1 to 25. */
#include "ops/lower/lower.h"

/* Lowers a branch; both have as many outputs as the node. */
static int lower_branch(struct lower *l, const char *branch, struct value *out)
{
	return lower_graph(l, branch, 0, NULL, l->outputs, out);
}

/* Lowers both branches, since it is unknown which one is taken. A branch made for other extents fails here. */
static int lower_branches(struct lower *l, struct value cond, struct value *a, struct value *b)
{
	expr holds = cond.buf->content ? ne(cond.buf->content[0], with(cond.buf->content[0], 0)) : NULL;

	if (lower_graph_branch(l, "then_branch", holds, l->outputs, a) == 0 &&
	    lower_graph_branch(l, "else_branch", holds ? not_(holds) : NULL, l->outputs, b) == 0)
		return 0;
	return err_advise(
	        l->err, "The condition is not known at build time, so both branches are needed; where it is always the "
	                "same, make it a constant of the model.");
}

/* An extent that the branches do not share: a size, known when the condition is. */
struct bounded {
	expr then_extent, else_extent, size;
};
struct bounds {
	VEC(struct bounded);
};

/* Refuses output i, of which only the type is known. */
static int refuse_rank(struct lower *l, int i, enum type t, int then_rank, int else_rank)
{
	l->type_only[i] = t;
	lower_fail(
	        l, ERR_UNSUPPORTED,
	        "the condition is not known at build time, and output number %d has %d axes in then_branch, but %d in "
	        "else_branch.",
	        i + 1, then_rank, else_rank);
	return err_advise(
	        l->err, "If the condition follows from the input shapes, give them (--shape x:1x512); if it follows "
	                "from an input, make that a constant (--value sr=16000). Otherwise keep this node outside the "
	                "engine.");
}

static int refuse_type(struct lower *l, int i, enum type then_type, enum type else_type)
{
	return lower_fail(l, ERR_MODEL, "output number %d is %s in then_branch, but %s in else_branch.", i + 1,
	                  type_name(then_type), type_name(else_type));
}

/* The extent that is `a` where the condition holds, else `b`. Outputs with the same two extents share the size, so that
 * later nodes can take them together. */
static expr extent_of(struct lower *l, struct bounds *known, struct value cond, expr a, expr b)
{
	struct space one = { 0 };
	struct value count;

	if (a == b)
		return a;
	vec_each (x, known)
		if (x->then_extent == a && x->else_extent == b)
			return x->size;
	count = lower_map(l, "chosen_count", TYPE_I64, &one,
	                  select_(at_first(cond), cast(a, TYPE_I64), cast(b, TYPE_I64)));
	struct bounded made = {
		a, b, ir_size_new(l->program, "chosen_size", count.buf, ir_size_limit(l->program, max_(a, b)))
	};
	vec_push(l->program->arena, known, made);
	return made.size;
}

/* Output i: one of the two values, element by element. */
static int select_output(struct lower *l, int i, struct bounds *known, struct value cond, struct value a,
                         struct value b)
{
	expr extent[IR_MAX_RANK];
	struct space s;

	if (value_type(a) != value_type(b))
		return refuse_type(l, i, value_type(a), value_type(b));
	if (value_rank(a) != value_rank(b))
		return refuse_rank(l, i, value_type(a), value_rank(a), value_rank(b));
	if (a.buf == b.buf) {
		lower_output(l, i, a);
		return 0;
	}
	for (int k = 0; k < value_rank(a); k++) {
		extent[k] = extent_of(l, known, cond, value_dim(a, k), value_dim(b, k));
		lower_settle(l, value_dim(a, k), extent[k]);
		lower_settle(l, value_dim(b, k), extent[k]);
	}
	s = space_new(l, value_rank(a), extent);
	lower_output(l, i,
	             lower_map(l, NULL, value_type(a), &s, select_(at_first(cond), load(a, s.at), load(b, s.at))));
	return 0;
}

/* All outputs that can be made are made, also where another one is refused: their types serve the nodes after this
 * one. */
static int select_outputs(struct lower *l, struct value cond, const struct value *a, const struct value *b)
{
	struct bounds known = { 0 };
	int rc = 0;

	l->partial = true;
	for (int i = 0; i < l->outputs; i++)
		if (lower_wants(l, i) && select_output(l, i, &known, cond, a[i], b[i]) < 0)
			rc = l->err->code;
	return rc;
}

static int lower(struct lower *l)
{
	struct value cond = lower_input(l, 0), *a = NEWN(l->program->arena, struct value, l->outputs + 1);
	struct value *b = NEWN(l->program->arena, struct value, l->outputs + 1);
	int64_t n;
	bool holds;

	if (!ir_const_int(value_count(cond), &n) || n != 1)
		return lower_fail(l, ERR_MODEL, "the condition must be one element.");
	if (lower_known_bool(cond, &holds)) {
		TRY(lower_branch(l, holds ? "then_branch" : "else_branch", a));
		for (int i = 0; i < l->outputs; i++)
			lower_output(l, i, a[i]);
		return 0;
	}
	TRY(lower_branches(l, cond, a, b));
	return select_outputs(l, cond, a, b);
}

const struct op_def op_if = {
	.name = "If",
	.since = { 1, 11, 13, 16, 19, 21, 23, 24, 25 },
	.formula = "outputs = cond ? then_branch() : else_branch()",
	.inputs = { IN("cond", TS(BOOL)) },
	.outputs = { MANY("outputs", 0) },
	.attrs = { ATTR("then_branch", OP_GRAPH, 0, NULL, "run where cond holds; takes no inputs", true),
	           ATTR("else_branch", OP_GRAPH, 0, NULL, "run where it does not; as many outputs, of the same types",
	                true) },
	.lower = lower,
};
