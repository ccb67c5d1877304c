/* Graphs that are the bodies of loops. See body_loop.h. */
#include "ops/onnx/body_loop.h"

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

bool body_keeps(struct value state, struct value next)
{
	bool same = value_type(state) == value_type(next) && value_rank(state) == value_rank(next);

	for (int k = 0; same && k < value_rank(state); k++)
		same = value_dim(state, k) == value_dim(next, k);
	return same;
}

/* "f32[N,4]" */
static const char *shape_text(struct lower *l, struct value v)
{
	struct str s = str_new(l->program->arena);

	str_printf(&s, "%s[", type_name(value_type(v)));
	for (int k = 0; k < value_rank(v); k++) {
		str_add(&s, k ? "," : "");
		ir_print_expr(&s, value_dim(v, k), 0);
	}
	str_add(&s, "]");
	return str_text(&s);
}

static int changes(struct lower *l, const char *name, struct value state, struct value next)
{
	lower_fail(l, ERR_UNSUPPORTED, "its state \"%s\" is %s before an iteration and %s after it.", name,
	           shape_text(l, state), shape_text(l, next));
	return err_advise(l->err,
	                  "A state must keep its type and shape in all iterations. Keep this node outside the engine.");
}

static expr at_least_one(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)user;
	(void)pool;
	(void)arg;
	return e->op == IR_SYMBOL ? addi(e, 1) : NULL;
}

/* A symbol's value in a trial. */
static bool drawn(void *user, expr symbol, int64_t *value)
{
	static const int64_t values[] = { 1, 2, 3, 7, 50, 1000, 100000 };
	const uint64_t *trial = user;

	*value = values[hash_str(*trial, symbol->name) % (sizeof values / sizeof *values)];
	return true;
}

/* True if one extent is the smaller one in all trials: then no numbers of very different sizes make them equal. */
static bool ordered(expr a, expr b)
{
	enum { TRIALS = 100 };
	int sign = 0;

	for (uint64_t trial = 1; trial <= TRIALS; trial++) {
		int64_t x, y;

		if (!ir_eval_int(a, drawn, &trial, &x) || !ir_eval_int(b, drawn, &trial, &y))
			return false;
		if (x == y || sign * ((x > y) - (x < y)) < 0)
			return false;
		sign = (x > y) - (x < y);
	}
	return true;
}

/* True if two extents differ whenever no symbol is zero, like N and 2 * N, or N and N + min(K, 4). */
static bool differ(expr a, expr b)
{
	int64_t n;

	if (ordered(a, b))
		return true;
	a = ir_copy(a->pool, a, at_least_one, NULL);
	b = ir_copy(b->pool, b, at_least_one, NULL);
	return ir_less(a, b) || ir_less(b, a) || (ir_const_int(eq(a, b), &n) && !n);
}

/* Demands that b has the type and extents of a; *may: that is possible. */
static int agree(struct lower *l, struct value a, struct value b, bool *may)
{
	*may = value_type(a) == value_type(b) && value_rank(a) == value_rank(b);
	for (int k = 0; *may && k < value_rank(a); k++)
		*may = !differ(value_dim(a, k), value_dim(b, k));
	for (int k = 0; *may && k < value_rank(a); k++)
		TRY(lower_equal(l, a, k, b, k));
	return 0;
}

int body_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next, const char *name)
{
	struct space s = space_of(l, state);
	bool may;

	if (ir_is_int(loop->stage->loop->trip, 0)) { /* no turn makes it */
		lower_next(l, loop, state, state);
		return 0;
	}
	TRY(agree(l, state, next, &may));
	if (!may)
		return changes(l, name, state, next);
	if (!body_keeps(state, next))
		next = lower_map(l, name, value_type(state), &s, load(next, s.at));
	lower_next(l, loop, state, next);
	return 0;
}

int body_stack(struct lower *l, int n, const struct value *turn, int output)
{
	struct space s = { 0 };
	expr at = space_push(l, &s, idx(l, n)), y = NULL;

	for (int k = 0; k < value_rank(turn[0]); k++)
		space_push(l, &s, value_dim(turn[0], k));
	for (int i = n - 1; i >= 0; i--) {
		bool may;

		TRY(agree(l, turn[0], turn[i], &may));
		if (!may)
			return lower_fail(l, ERR_MODEL,
			                  "its output number %d collects %s in iteration 1 and %s in iteration %d.",
			                  output + 1, shape_text(l, turn[0]), shape_text(l, turn[i]), i + 1);
		expr own = load(turn[i], s.at + 1);
		y = y ? select_(eq(at, idx(l, i)), own, y) : own;
	}
	lower_output(l, output, lower_map(l, NULL, value_type(turn[0]), &s, y));
	return 0;
}

int body_refuse_random(struct lower *l)
{
	return lower_fail(l, ERR_UNSUPPORTED, "its body draws random numbers, which must differ in every iteration.");
}
