/* Loop: runs a graph m times, or while a condition that it computes holds. States are passed from turn to turn; the
 * graph's other outputs are stacked along a first axis.
 *
 * The number of turns is m if that is known, or the number that the condition counts to (loop_trip.h). If m depends on
 * data or is absent, the condition alone ends the loop, and stacked outputs would have no bound: such a loop can only
 * have states. If the condition may end the loop before m, stacked outputs have a size known only at run time. States
 * keep their shapes from turn to turn; a loop that changes them, or whose turn's number decides a shape in the body, is
 * unrolled if it has few turns.
 * Source: ONNX, operator Loop, opsets 1 to 25. */
#include "ops/onnx/body_loop.h"

#include <string.h>

#include "ops/onnx/loop_trip.h"

enum {
	MANY_TURNS = 1 << 30, /* as good as no number: exporters write the largest int64 */
	UNROLLED_MAX = 16,    /* turns of a loop whose states change their shapes */
};

struct graph_loop {
	struct lower *l;
	struct lower_body body;
	int states, collected;
	struct value m, first_cond; /* optional */
	bool bounded;               /* the number of turns is `trip` at most, and that is known */
	bool m_known, counted;      /* `trip` is m, or at most it; the condition is counted in it */
	expr trip;
	int64_t most; /* m if it is a number, else INT64_MAX */
	struct lower_loop loop;
	struct value *in, *out; /* the body's inputs (turn, condition, states) and outputs (condition, states, stacked
	                           values) */
	struct value cond, *first, *state; /* first: the states before the loop */
	int64_t *step;                     /* what a turn adds to each state that counts; 0: others */
};

static bool is_one(struct value v)
{
	int64_t n;

	return ir_const_int(value_count(v), &n) && n == 1;
}

static int begin(struct graph_loop *x)
{
	struct lower *l = x->l;
	struct arena *a = l->program->arena;
	bool holds;

	x->m = lower_input(l, 0);
	x->first_cond = lower_input(l, 1);
	x->states = l->inputs > 2 ? l->inputs - 2 : 0;
	TRY(lower_body(l, "body", &x->body));
	x->collected = x->body.outputs - 1 - x->states;
	if (x->body.inputs != 2 + x->states || x->collected < 0)
		return lower_fail(
		        l, ERR_MODEL,
		        "its body takes %d inputs and gives %d; with %d states it must take %d and give %d or more.",
		        x->body.inputs, x->body.outputs, x->states, 2 + x->states, 1 + x->states);
	if (l->outputs > x->states + x->collected)
		return lower_fail(l, ERR_MODEL, "it has %d outputs; its body gives %d.", l->outputs,
		                  x->states + x->collected);
	if ((x->m.given && !is_one(x->m)) || (x->first_cond.given && !is_one(x->first_cond)))
		return lower_fail(l, ERR_MODEL, "the trip count and the condition must be one element each.");
	x->m_known = x->m.given && (x->m.buf->data || x->m.buf->content);
	x->trip = idx(l, MANY_TURNS);
	x->most = INT64_MAX;
	if (x->m_known) {
		struct exprs m;
		int64_t turns;

		TRY(lower_known(l, 0, &m));
		x->bounded = !ir_const_int(m.at[0], &turns) || turns < MANY_TURNS;
		if (x->bounded)
			x->trip = max_(m.at[0], idx(l, 0));
		ir_const_int(m.at[0], &x->most);
	}
	if (x->first_cond.given && lower_known_bool(x->first_cond, &holds) && !holds) {
		x->bounded = true;
		x->trip = idx(l, 0);
	}
	x->in = NEWN(a, struct value, x->body.inputs + 1);
	x->out = NEWN(a, struct value, x->body.outputs + 1);
	x->state = NEWN(a, struct value, x->states + 1);
	x->first = NEWN(a, struct value, x->states + 1);
	x->step = NEWN(a, int64_t, x->states + 1);
	for (int i = 0; i < x->states; i++)
		x->first[i] = lower_input(l, 2 + i);
	return 0;
}

/* True if the state never changes: every turn reads the value from before the loop. */
static bool stays(const struct graph_loop *x, int state)
{
	return strcmp(x->body.input[2 + state], x->body.output[1 + state]) == 0;
}

static void carry_states(struct graph_loop *x)
{
	struct lower *l = x->l;
	struct space one = { 0 };

	x->cond = lower_carry(l, &x->loop, x->body.input[1], TYPE_BOOL, &one,
	                      x->first_cond.given ? at_first(x->first_cond) : num(l, TYPE_BOOL, 1));
	for (int i = 0; i < x->states; i++) {
		struct value v = x->first[i];
		struct space s = space_of(l, v);

		if (stays(x, i)) {
			x->state[i] = x->in[2 + i] = v;
			continue;
		}
		x->state[i] = x->in[2 + i] =
		        lower_carry(l, &x->loop, x->body.input[2 + i], value_type(v), &s, load(v, s.at));
	}
	x->in[0] = lower_map(l, x->body.input[0], TYPE_I64, &one, cast(x->loop.turn, TYPE_I64));
	x->in[1] = x->cond;
}

/* ---- Counting states ------------------------------------------------------------------------------------------------
 */

/* The value before the loop of a state that may count; null for others. */
static expr first_of(const struct graph_loop *x, int state)
{
	struct value v = x->first[state];

	if (!is_one(v) || !type_is_int(value_type(v)) || stays(x, state))
		return NULL;
	if (v.buf->data)
		return idx(x->l, tensor_int(v.buf->data, 0));
	return v.buf->content ? v.buf->content[0] : NULL;
}

/* A state that counts, in the loop's turn. */
static expr counted(const struct graph_loop *x, int state)
{
	return add(first_of(x, state), muli(x->loop.turn, x->step[state]));
}

/* Lowers the body for any turn. */
static int lower_turn(struct graph_loop *x)
{
	struct lower *l = x->l;

	x->loop = lower_loop_begin(l, x->trip);
	carry_states(x);
	for (int i = 0; i < x->states; i++) {
		struct space s = space_of(l, x->first[i]);

		if (x->step[i])
			x->in[2 + i] = lower_map(l, x->body.input[2 + i], value_type(x->first[i]), &s,
			                         cast(counted(x, i), value_type(x->first[i])));
	}
	return lower_graph(l, "body", x->body.inputs, x->in, x->body.outputs, x->out);
}

/* Finds the steps of the states that were taken for counters; true if all steps were right. */
static bool settle_steps(struct graph_loop *x)
{
	bool right = true;

	for (int i = 0; i < x->states; i++) {
		const struct ir_buffer *next = x->out[1 + i].buf;
		int64_t step = 0;

		if (!x->step[i])
			continue;
		if (next->content && !ir_const_int(sub(next->content[0], counted(x, i)), &step))
			step = 0;
		right &= step == x->step[i];
		x->step[i] = step;
	}
	return right;
}

/* Lowers the body. If shapes in it depend on states, those that count are known: they are taken for counters of step 1,
 * or of step -1, until the body shows their steps. The first error stands if that does not help. */
static int lower_turns(struct graph_loop *x)
{
	enum { MOST_TRIES = 4 };
	struct lower *l = x->l;
	struct err *first;
	bool any = false, right = false;
	int rc = lower_turn(x);

	for (int i = 0; i < x->states; i++) {
		x->step[i] = rc == ERR_UNSUPPORTED && first_of(x, i);
		any |= x->step[i];
	}
	if (rc == 0 || !any)
		return rc;
	first = NEW(l->program->arena, struct err);
	*first = *l->err;
	for (int try = 0; try < MOST_TRIES && !right; try++) {
		lower_loop_drop(l, &x->loop);
		err_clear(l->err);
		if (lower_turn(x) == 0)
			right = settle_steps(x);
		else if (try)
			break;
		else
			for (int i = 0; i < x->states; i++)
				x->step[i] = -x->step[i];
	}
	if (right)
		return 0;
	*l->err = *first;
	return rc;
}

/* The condition to continue; null: only the number of turns ends the loop. The body's condition may be constantly
 * true, or the unchanged input condition. */
static expr condition(struct graph_loop *x)
{
	struct lower *l = x->l;
	struct value next = x->out[0];
	bool known, holds = true, same = next.buf == x->cond.buf;
	expr first = x->first_cond.given ? at_first(x->first_cond) : NULL, all = NULL;

	if (x->first_cond.given &&
	    (lower_known_bool(x->first_cond, &holds) || (x->counted && x->first_cond.buf->content)))
		first = NULL; /* it holds, or there are no turns anyway, or it is counted */
	for (int i = x->loop.first; i < l->program->stages.n && !same; i++) {
		const struct ir_stage *s = l->program->stages.at[i];

		same = s->out == next.buf && s->kind == IR_MAP && s->value->op == IR_LOAD &&
		       s->value->buf == x->cond.buf;
	}
	known = lower_known_bool(next, &holds);
	if (same || x->counted || (known && holds))
		all = first;
	else
		all = at_first(x->cond);
	if (x->m.given && !x->m_known) {
		expr more = lt(x->loop.turn, cast(at_first(x->m), TYPE_INDEX));

		all = all ? and_(more, all) : more;
	}
	return all;
}

/* Sets the number of turns if the condition counts. */
static void count_condition(struct graph_loop *x)
{
	struct loop_trip t = { .l = x->l,
		               .loop = &x->loop,
		               .states = x->states,
		               .first = x->first,
		               .state = x->state,
		               .next = x->out + 1,
		               .first_cond = x->first_cond,
		               .cond = x->out[0] };
	expr trip = loop_trip(&t);

	if (!trip)
		return;
	x->trip = x->bounded ? min_(x->trip, trip) : trip;
	x->bounded = x->counted = true;
	lower_trip(x->l, &x->loop, x->trip);
}

static int refuse_unbounded(struct lower *l)
{
	lower_fail(l, ERR_UNSUPPORTED,
	           "its number of iterations is not known at build time, and its outputs grow in every iteration.");
	return err_advise(l->err, "Make the trip count (input M) a constant of the model, as large as it can be.");
}

/* The number of turns that there were, as a size. */
static expr count_turns(struct graph_loop *x, struct value *count)
{
	struct lower *l = x->l;
	struct space one = { 0 };

	*count = lower_carry(l, &x->loop, "turns", TYPE_I64, &one, num(l, TYPE_I64, 0));
	lower_next(l, &x->loop, *count,
	           lower_map(l, "turns_now", TYPE_I64, &one, add(at_first(*count), num(l, TYPE_I64, 1))));
	return ir_size_new(l->program, "turns_size", count->buf, ir_size_limit(l->program, x->trip));
}

/* ---- Unrolled ---------------------------------------------------------------------------------------------------- */

static bool has_few_turns(const struct graph_loop *x)
{
	int64_t turns;

	return ir_const_int(x->trip, &turns) && turns > 0 && turns <= UNROLLED_MAX;
}

/* True if the body must be lowered once for each turn. A loop stage has states of one shape; if turns change a shape,
 * the number of turns must be known and small, as far as the first turn's shapes tell. */
static bool must_unroll(struct graph_loop *x)
{
	bool keeps = true;

	for (int i = 0; i < x->states; i++)
		keeps &= stays(x, i) || body_keeps(x->state[i], x->out[1 + i]);
	return !keeps && has_few_turns(x) && !condition(x);
}

static struct value single(struct lower *l, const char *name, enum type t, int64_t x)
{
	struct tensor *v = NEW(l->program->arena, struct tensor);

	if (tensor_new(v, t, 0, NULL, l->program->arena, l->err) == 0)
		tensor_set_int(v, 0, x);
	return lower_data(l, name, v);
}

/* The condition may follow from shapes, which differ from turn to turn: it must be known after each one. */
static int unroll(struct graph_loop *x)
{
	struct lower *l = x->l;
	struct value *made = NEWN(l->program->arena, struct value, x->collected * UNROLLED_MAX + 1);
	int turns = 0;
	bool holds = true;

	lower_loop_drop(l, &x->loop);
	while (holds && turns < x->most) {
		if (turns == UNROLLED_MAX)
			return lower_fail(l, ERR_UNSUPPORTED, "it changes shapes in more than %d iterations.",
			                  UNROLLED_MAX);
		x->in[0] = single(l, x->body.input[0], TYPE_I64, turns);
		x->in[1] = single(l, x->body.input[1], TYPE_BOOL, 1);
		for (int i = 0; i < x->states; i++)
			x->in[2 + i] = turns && !stays(x, i) ? x->out[1 + i] : x->first[i];
		TRY(lower_graph(l, "body", x->body.inputs, x->in, x->body.outputs, x->out));
		for (int i = 0; i < x->collected; i++)
			made[i * UNROLLED_MAX + turns] = x->out[1 + x->states + i];
		turns++;
		if (turns < x->most && !lower_known_bool(x->out[0], &holds))
			return lower_fail(l, ERR_UNSUPPORTED, "its condition may end it early.");
	}
	if (l->random)
		return body_refuse_random(l);
	for (int i = 0; i < x->states; i++)
		lower_output(l, i, stays(x, i) ? x->first[i] : x->out[1 + i]);
	for (int i = 0; i < x->collected; i++)
		if (lower_wants(l, x->states + i))
			TRY(body_stack(l, turns, made + i * UNROLLED_MAX, x->states + i));
	return 0;
}

/* The body cannot be lowered for any turn, since a shape in it follows from the turn's number: lowers it for each one,
 * if these are few. The first error stands if that does not help. */
static int unroll_instead(struct graph_loop *x)
{
	struct lower *l = x->l;
	struct err first = *l->err;
	bool holds = true;

	if (first.code != ERR_UNSUPPORTED || !has_few_turns(x) ||
	    (x->first_cond.given && !lower_known_bool(x->first_cond, &holds)))
		return first.code;
	err_clear(l->err);
	if (unroll(x) == 0)
		return 0;
	*l->err = first;
	return first.code;
}

static int lower(struct lower *l)
{
	struct graph_loop x = { .l = l };
	struct value *collected, count, cond;
	bool wants = false;
	expr size;

	TRY(begin(&x));
	if (lower_turns(&x) < 0)
		return unroll_instead(&x);
	if (value_type(x.out[0]) != TYPE_BOOL || !is_one(x.out[0]))
		return lower_fail(l, ERR_MODEL, "the condition that its body gives is not a bool, or not one element.");
	count_condition(&x);
	if (must_unroll(&x))
		return unroll(&x);
	lower_while(l, &x.loop, condition(&x));
	struct space one = { 0 };

	cond = value_rank(x.out[0]) ? lower_map(l, NULL, TYPE_BOOL, &one, at_first(x.out[0])) : x.out[0];
	lower_next(l, &x.loop, x.cond, cond);
	for (int i = 0; i < x.states; i++)
		if (!stays(&x, i))
			TRY(body_next(l, &x.loop, x.state[i], x.out[1 + i], x.body.input[2 + i]));
	for (int i = 0; i < x.collected; i++)
		wants |= lower_wants(l, x.states + i);
	if (wants && !x.bounded)
		return refuse_unbounded(l);
	size = wants && x.loop.stage->where ? count_turns(&x, &count) : x.trip;
	if (l->random)
		return body_refuse_random(l);
	collected = NEWN(l->program->arena, struct value, x.collected + 1);
	for (int i = 0; i < x.collected; i++)
		if (lower_wants(l, x.states + i))
			collected[i] = lower_collect(l, &x.loop, x.body.output[1 + x.states + i], x.loop.turn, x.trip,
			                             x.out[1 + x.states + i]);
	lower_loop_end(l, &x.loop);
	for (int i = 0; i < x.states; i++)
		lower_output(l, i, x.state[i]);
	for (int i = 0; i < x.collected; i++)
		if (collected[i].given)
			body_output(l, x.states + i, collected[i], 0, size);
	return 0;
}

const struct op_def op_loop = {
	.name = "Loop",
	.since = { 1, 11, 13, 16, 19, 21, 23, 24, 25 },
	.formula = "for t < m while cond: cond, states, y[t] = body(t, cond, states)",
	.inputs = { OPT("m", TS(I64)), OPT("cond", TS(BOOL)), ANY("v_initial", 0) },
	.outputs = { MANY("outputs", 0) },
	.attrs = { ATTR("body", OP_GRAPH, 0, NULL,
	                "run in each turn; takes and gives the turn, the condition, then states", true) },
	.lower = lower,
};
