/* Scan: runs a graph for every element of some inputs along an axis. States are passed from turn to turn; the graph's
 * other outputs are stacked along an axis. Opset 8: for each sequence of a batch (axis 0), along axis 1. Inputs: in
 * opset 8 sequence_lens; states; scanned tensors. Outputs: states; stacked tensors.
 * Source: ONNX, operator Scan, opsets 8 to 25. */
#include "ops/onnx/body_loop.h"

#include <string.h>

struct scan {
	struct lower *l;
	struct lower_body body;
	int states, scanned, collected; /* N, M, K */
	expr steps;
	struct value *in, *out; /* the body's inputs and outputs */
	struct value *state, *collect;
};

/* An element of a list of attributes: 0 when there is none. */
static int64_t listed(const struct ints *list, int i)
{
	return i < list->n ? list->at[i] : 0;
}

static int check_list(struct scan *x, const char *name, int n)
{
	struct ints list = lower_ints(x->l, name);

	if (list.n && list.n != n)
		return lower_fail(x->l, ERR_MODEL, "%s has %d elements; it needs %d.", name, list.n, n);
	return 0;
}

static int begin(struct scan *x, int first)
{
	struct lower *l = x->l;
	struct arena *a = l->program->arena;
	int64_t scanned = lower_int(l, "num_scan_inputs");

	TRY(lower_body(l, "body", &x->body));
	if (scanned < 1 || scanned > l->inputs - first)
		return lower_fail(l, ERR_MODEL, "num_scan_inputs is %lld of %d inputs.", (long long)scanned,
		                  l->inputs - first);
	x->scanned = (int)scanned;
	x->states = l->inputs - first - x->scanned;
	x->collected = x->body.outputs - x->states;
	if (x->collected < 0 || x->body.outputs < l->outputs)
		return lower_fail(l, ERR_MODEL, "it has %d outputs, its body %d, and there are %d states.", l->outputs,
		                  x->body.outputs, x->states);
	if (x->body.inputs != x->states + x->scanned)
		return lower_fail(l, ERR_MODEL, "its body takes %d inputs; there are %d.", x->body.inputs,
		                  x->states + x->scanned);
	for (int i = first; i < l->inputs; i++) /* before opset 9 only the first one may be absent */
		if (!lower_input(l, i).given)
			return lower_fail(l, ERR_MODEL, "input number %d is missing; the operator needs it.", i + 1);
	x->in = NEWN(a, struct value, x->body.inputs + 1);
	x->out = NEWN(a, struct value, x->body.outputs + 1);
	x->state = NEWN(a, struct value, x->states + 1);
	x->collect = NEWN(a, struct value, x->collected + 1);
	return 0;
}

/* Lowers the body with x->in and handles its outputs. `extra`: axes of the node's input that the states lack. */
static int run_body(struct scan *x, struct lower_loop *loop, const struct ints *backward)
{
	struct lower *l = x->l;

	for (int i = 0; i < x->states; i++)
		x->in[i] = x->state[i];
	TRY(lower_graph(l, "body", x->body.inputs, x->in, x->body.outputs, x->out));
	for (int i = 0; i < x->states; i++)
		TRY(body_next(l, loop, x->state[i], x->out[i], x->body.input[i]));
	if (l->random)
		return body_refuse_random(l);
	for (int i = 0; i < x->collected; i++) {
		expr turn = loop->turn, at = listed(backward, i) ? addi(sub(x->steps, turn), -1) : turn;

		x->collect[i] =
		        lower_collect(l, loop, x->body.output[x->states + i], at, x->steps, x->out[x->states + i]);
	}
	lower_loop_end(l, loop);
	return 0;
}

/* ---- Since opset 9. */

static int lower_9(struct scan *x)
{
	struct lower *l = x->l;
	struct ints axes = lower_ints(l, "scan_input_axes"), reverse = lower_ints(l, "scan_input_directions");
	struct ints out_axes = lower_ints(l, "scan_output_axes"), backward = lower_ints(l, "scan_output_directions");
	int axis[LOWER_MAX_TENSORS];
	int64_t a, b;

	TRY(begin(x, 0));
	TRY(check_list(x, "scan_input_axes", x->scanned));
	TRY(check_list(x, "scan_input_directions", x->scanned));
	TRY(check_list(x, "scan_output_axes", x->collected));
	TRY(check_list(x, "scan_output_directions", x->collected));
	for (int i = 0; i < x->scanned; i++) {
		struct value v = lower_input(l, x->states + i);

		TRY(lower_axis(l, listed(&axes, i), value_rank(v), false, &axis[i]));
		expr steps = value_dim(v, axis[i]);

		if (x->steps && ir_const_int(steps, &a) && ir_const_int(x->steps, &b) && a != b)
			return lower_fail(l, ERR_MODEL, "its inputs are scanned along axes of %lld and %lld elements.",
			                  (long long)b, (long long)a);
		x->steps = x->steps && ir_const_int(x->steps, &b) ? x->steps : steps;
	}
	struct lower_loop loop = lower_loop_begin(l, x->steps);

	for (int i = 0; i < x->states; i++) {
		struct value v = lower_input(l, i);
		struct space s = space_of(l, v);

		x->state[i] = lower_carry(l, &loop, x->body.input[i], value_type(v), &s, load(v, s.at));
	}
	for (int i = 0; i < x->scanned; i++) {
		expr at = listed(&reverse, i) ? addi(sub(x->steps, loop.turn), -1) : loop.turn;

		x->in[x->states + i] =
		        body_element(l, x->body.input[x->states + i], lower_input(l, x->states + i), axis[i], at);
	}
	TRY(run_body(x, &loop, &backward));
	for (int i = 0; i < x->states; i++)
		if (lower_wants(l, i))
			lower_output(l, i, x->state[i]);
	for (int i = 0; i < x->collected; i++) {
		int to;

		TRY(lower_axis(l, listed(&out_axes, i), value_rank(x->collect[i]), false, &to));
		body_output(l, x->states + i, x->collect[i], to, x->steps);
	}
	return 0;
}

/* ---- Opset 8: a loop over the batch around it. */

/* The number of steps of sequence `batch`. */
static expr length_of(struct scan *x, expr batch)
{
	struct value lens = lower_input(x->l, 0);

	return lens.given ? min_(cast(load_list(lens, 1, batch), TYPE_INDEX), x->steps) : x->steps;
}

/* The stacked values of all sequences, [batch, steps, ...]. ONNX leaves the steps after a sequence's end undefined;
 * here they are zero. */
static void output_8(struct scan *x, int i, struct value all)
{
	struct lower *l = x->l;
	struct space s = space_of(l, all);
	expr y = load(all, s.at);

	if (!lower_wants(l, i))
		return;
	if (lower_input(l, 0).given) {
		y = select_(lt(s.at[1], length_of(x, s.at[0])), y, ir_const(l->program->pool, value_type(all), 0));
		all = lower_map(l, NULL, value_type(all), &s, y);
	}
	lower_output(l, i, all);
}

static int lower_8(struct scan *x)
{
	struct lower *l = x->l;
	struct ints reverse = lower_ints(l, "directions"), none = { 0 };

	TRY(begin(x, 1));
	TRY(check_list(x, "directions", x->scanned));
	struct value lens = lower_input(l, 0);

	if (lens.given && (value_rank(lens) != 1 || !type_is_int(value_type(lens))))
		return lower_fail(l, ERR_MODEL, "sequence_lens is %s with %d axes; it must be a list of integers.",
		                  type_info(value_type(lens))->name, value_rank(lens));
	for (int i = 1; i < l->inputs; i++)
		if (value_rank(lower_input(l, i)) < (i > x->states ? 2 : 1))
			return lower_fail(l, ERR_MODEL, "input %d has no axis for the batch, or none for the steps.",
			                  i);
	struct value any = lower_input(l, 1 + x->states);

	x->steps = value_dim(any, 1);
	struct lower_loop batch = lower_loop_begin(l, value_dim(any, 0));
	struct lower_loop loop = lower_loop_begin(l, x->steps);
	expr length = length_of(x, batch.turn);

	for (int i = 0; i < x->states; i++) {
		struct value v = lower_input(l, 1 + i);
		struct space s = space_new(l, value_rank(v) - 1, &v.buf->dim[1]);
		expr index[IR_MAX_RANK] = { batch.turn };

		memcpy(&index[1], s.at, sizeof s.at[0] * (size_t)s.rank);
		x->state[i] = lower_carry(l, &loop, x->body.input[i], value_type(v), &s, load(v, index));
	}
	if (lower_input(l, 0).given)
		lower_while(l, &loop, lt(loop.turn, length));
	for (int i = 0; i < x->scanned; i++) {
		struct value v = lower_input(l, 1 + x->states + i);
		expr at = listed(&reverse, i) ? addi(sub(length, loop.turn), -1) : loop.turn;
		struct space s = { 0 };
		expr index[IR_MAX_RANK] = { batch.turn, at };

		for (int k = 2; k < value_rank(v); k++)
			index[k] = space_push(l, &s, value_dim(v, k));
		x->in[x->states + i] = lower_map(l, x->body.input[x->states + i], value_type(v), &s, load(v, index));
	}
	TRY(run_body(x, &loop, &none));
	for (int i = 0; i < x->states; i++)
		x->state[i] = lower_collect(l, &batch, NULL, batch.turn, value_dim(any, 0), x->state[i]);
	for (int i = 0; i < x->collected; i++)
		x->collect[i] = lower_collect(l, &batch, NULL, batch.turn, value_dim(any, 0), x->collect[i]);
	lower_loop_end(l, &batch);
	for (int i = 0; i < x->states; i++)
		if (lower_wants(l, i))
			lower_output(l, i, x->state[i]);
	for (int i = 0; i < x->collected; i++)
		output_8(x, x->states + i, x->collect[i]);
	return 0;
}

static int lower(struct lower *l)
{
	struct scan x = { .l = l };

	return l->opset < 9 ? lower_8(&x) : lower_9(&x);
}

const struct op_def op_scan = {
	.name = "Scan",
	.since = { 8, 9, 11, 16, 19, 21, 23, 24, 25 },
	.formula = "states, y[t] = body(states, x[t]) for all t",
	.inputs = { OPT("sequence_lens", 0), ANY("inputs", 0) },
	.outputs = { MANY("outputs", 0) },
	.attrs = { ATTR("body", OP_GRAPH, 0, NULL, "run for each element; takes and gives states first", true),
	           ATTR_INT_REQUIRED("num_scan_inputs", "how many of the inputs are scanned: the last ones"),
	           ATTR_INTS("scan_input_axes", "along which each is; 0 when absent"),
	           ATTR_INTS("scan_input_directions", "1: from its end"),
	           ATTR_INTS("scan_output_axes", "along which each output is put together; 0 when absent"),
	           ATTR_INTS("scan_output_directions", "1: from its end"),
	           ATTR_INTS("directions", "opset 8: 1: from the end of each sequence") },
	.lower = lower,
};
