/* Graphs that are the body of a loop. See body_loop.h. */
#include "ops/body_loop.h"

struct value body_element(struct lower *l, const char *name, struct value v, int axis, expr at)
{
	struct space s = { 0 };
	expr index[IR_MAX_RANK];

	for (int k = 0; k < value_rank(v); k++)
		index[k] = k == axis ? at : space_push(l, &s, value_dim(v, k));
	return lower_map(l, name, value_type(v), &s, load(v, index));
}

void body_output(struct lower *l, int i, struct value v, int axis, expr extent)
{
	struct space s = { 0 };
	expr index[IR_MAX_RANK];

	if (!lower_wants(l, i))
		return;
	if (axis == 0 && extent == value_dim(v, 0)) {
		lower_output(l, i, v);
		return;
	}
	for (int k = 0; k < value_rank(v); k++) {
		int from = k == axis ? 0 : k < axis ? k + 1 : k;

		index[from] = space_push(l, &s, from ? value_dim(v, from) : extent);
	}
	lower_output(l, i, lower_map(l, NULL, value_type(v), &s, load(v, index)));
}

static int changes(struct lower *l, const char *name, const char *what)
{
	lower_fail(l, ERR_UNSUPPORTED, "its state \"%s\" has another %s behind a turn than before.", name, what);
	return err_advise(l->err, "States of one type and shape can be carried; keep this node outside the engine.");
}

int body_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next, const char *name)
{
	struct space s = space_of(l, state);
	expr index[IR_MAX_RANK];
	bool same = true;
	int64_t a, b;

	if (value_type(state) != value_type(next))
		return changes(l, name, "type");
	if (value_rank(state) != value_rank(next))
		return changes(l, name, "number of axes");
	for (int k = 0; k < s.rank; k++) {
		expr have = value_dim(state, k), want = value_dim(next, k);

		if (ir_const_int(have, &a) && ir_const_int(want, &b) && a != b)
			return changes(l, name, "shape");
		same &= have == want;
		index[k] = have == want ? s.at[k] : min_(s.at[k], addi(want, -1));
	}
	if (!same)
		next = lower_map(l, name, value_type(state), &s, load(next, index));
	lower_next(l, loop, state, next);
	return 0;
}

int body_check(struct lower *l, const struct lower_loop *loop)
{
	for (int i = loop->first; i < l->program->stages.n; i++) {
		const struct ir_stage *s = l->program->stages.at[i];

		if (type_is_packed(s->out->type))
			return lower_fail(l, ERR_UNSUPPORTED,
			                  "in its body something is made in a type narrower than a byte (\"%s\").", s->out->name);
	}
	if (l->random)
		return lower_fail(l, ERR_UNSUPPORTED, "its body draws random numbers, which must differ from turn to turn.");
	return 0;
}
