/* Small reductions, of a few elements each, that become maps. Maps fuse with all their neighbours, which saves
 * launches: an example is the area of a box, the product of two sides, which every pair of boxes reads. And rules for
 * maps find places once for all channels that gather there: an example is RoiAlign with four samples for each element.
 */
#include "ir/passes.h"

enum {
	MOST = 4,       /* elements */
	MOST_WORK = 100 /* maximum cost of all of them, where a launch is to be saved */
};

struct few {
	const struct ir_stage *s;
	bool apart; /* no load's index depends on axes of both the result and the reduction, as in a window */
};

static void find_window(void *user, expr e)
{
	struct few *f = user;
	int rank = f->s->out->rank;
	for (int k = 0; e->op == IR_LOAD && k < e->n; k++) {
		bool used[2 * IR_MAX_RANK] = { false }, result = false, reduced = false;
		ir_mark_axes(e->arg[k], used);
		for (int i = 0; i < rank; i++)
			result |= used[i];
		for (int i = 0; i < f->s->space_rank; i++)
			reduced |= used[rank + i];
		f->apart &= !result || !reduced;
	}
}

/* True for a sum of products of two different factors, for which other rules are faster. */
static bool is_product(const struct ir_stage *s)
{
	return ir_sums_products(s) && s->value->arg[0] != s->value->arg[1];
}

int64_t ir_few_points(const struct ir_stage *s, int64_t most)
{
	int64_t all = 1, n;
	for (int i = 0; i < s->space_rank; i++)
		if (!ir_const_int(s->space[i], &n) || n > most || (all *= n) > most)
			return 0;
	return all;
}

static void find_call(void *user, expr e)
{
	*(bool *)user |= ir_op_info[e->op].kind == IR_CALL;
}

static bool combines(const struct ir_stage *s)
{
	if (s->kind != IR_REDUCE || s->combine == IR_NONE || ir_combine_is_arg(s->combine) || is_product(s))
		return false;
	return !type_is_float(s->value->type) || type_info(s->value->type)->bits >= 32;
}

static bool is_small(const struct ir_stage *s)
{
	struct few f = { .s = s, .apart = true };
	bool calls = false;
	if (!combines(s))
		return false;
	int64_t n = ir_few_points(s, MOST);
	if (n == 0 || n * ir_cost(s->value) > MOST_WORK)
		return false;
	ir_walk(s->value, find_window, &f);
	ir_walk(s->value, find_call, &calls);
	return f.apart && !calls;
}

/* Makes the stage a map, unless that would be too large. */
static bool unroll(struct ir_program *p, struct ir_stage *s)
{
	int64_t n = ir_few_points(s, MOST);
	expr axis[2 * IR_MAX_RANK], acc = NULL;
	int rank = s->out->rank;
	if (s->combine == IR_SUM && type_is_float(s->value->type)) /* zero for terms that are all -0 */
		acc = ir_identity(p->pool, s->combine, s->value->type);
	for (int k = 0; k < rank; k++)
		axis[k] = ir_axis(p->pool, k, s->out->dim[k]);
	for (int64_t point = 0; point < n; point++) {
		int64_t rest = point, extent = 1;
		for (int i = s->space_rank - 1; i >= 0; i--, rest /= extent) {
			ck(ir_const_int(s->space[i], &extent));
			axis[rank + i] = ir_index(p->pool, rest % extent);
		}
		expr value = ir_bind_axes(p->pool, s->value, axis);
		acc = acc ? ir_combine_expr(s->combine, acc, value) : value;
	}
	acc = ir_stage_result(p->pool, s, acc);
	if (acc->depth > IR_MAX_DEPTH || acc->size > IR_MAX_SIZE)
		return false;
	s->value = acc;
	s->kind = IR_MAP;
	s->combine = IR_NONE;
	s->space_rank = 0;
	s->post = NULL;
	return true;
}

/* True if the reader has an element for each one that s reduces: a norm or a softmax, whose rows one kernel computes.
 */
static bool is_row(struct ir_program *p, const struct ir_stage *s, const struct ir_stage *reader)
{
	expr n = ir_index(p->pool, ir_few_points(s, MOST));
	return ir_buffer_count(p, reader->out) == ir_binary(IR_MUL, ir_buffer_count(p, s->out), n);
}

/* Fills fits[i]: stage i is small, and everything that reads it is a map or such a stage. */
static void find_small(struct ir_program *p, bool *fits)
{
	int n = p->stages.n;
	for (int i = n - 1; i >= 0; i--) {
		struct ir_stage *s = p->stages.at[i];
		fits[i] = is_small(s);
		for (int k = i + 1; k < n && fits[i]; k++) {
			struct ir_stage *reader = p->stages.at[k];
			fits[i] = !ir_stage_reads(reader, s->out) ||
			          ((reader->kind == IR_MAP || fits[k]) && !is_row(p, s, reader));
		}
	}
}

/* ---- Gathers of several channels. */

struct gathers {
	const struct ir_stage *s;
	int channel; /* an axis of the result */
	bool found;  /* a load of a channel's element, at a place that data and the reduced axes decide */
	bool apart;  /* no other place depends on the channel */
};

static void find_gather(void *user, expr e)
{
	struct gathers *g = user;
	int rank = g->s->out->rank;
	bool data = false, channel = false;
	for (int k = 0; e->op == IR_LOAD && k < e->n; k++) {
		bool used[2 * IR_MAX_RANK] = { false }, reduced = false;
		ir_mark_axes(e->arg[k], used);
		for (int i = 0; i < g->s->space_rank; i++)
			reduced |= used[rank + i];
		data |= reduced && ir_uses(e->arg[k], IR_LOAD);
		bool own = e->arg[k]->op == IR_AXIS && (int)e->arg[k]->i == g->channel;
		channel |= own;
		g->apart &= own || !used[g->channel];
	}
	g->found |= data && channel;
}

/* True if places along other axes are common to all elements along this one. */
static bool gathers_along(const struct ir_stage *s, int axis)
{
	struct gathers g = { .s = s, .channel = axis, .apart = true };
	ir_walk(s->value, find_gather, &g);
	return g.found && g.apart;
}

/* True for a reduction of a few elements of several channels, at places that are common to the channels. */
static bool is_gather(struct ir_program *p, int stage)
{
	const struct ir_stage *s = p->stages.at[stage];
	bool found = false;
	for (int axis = 0; axis < s->out->rank && combines(s) && ir_few_points(s, MOST); axis++)
		found |= gathers_along(s, axis);
	for (int k = stage + 1; k < p->stages.n && found; k++) {
		const struct ir_stage *reader = p->stages.at[k];
		found = !ir_stage_reads(reader, s->out) || !is_row(p, s, reader);
	}
	return found;
}

/* ---- All reductions. */

void ir_reductions_of_one(struct ir_program *p)
{
	vec_each (s, &p->stages)
		if (combines(*s) && ir_few_points(*s, MOST) == 1)
			unroll(p, *s);
}

bool *ir_unroll_reductions(struct ir_program *p)
{
	int n = p->stages.n;
	bool *fits = NEWN(p->arena, bool, n + 1), *moves = NEWN(p->arena, bool, n + 1);
	find_small(p, fits);
	for (int i = 0; i < n; i++) {
		bool gains = false;
		for (int k = i + 1; k < n; k++)
			moves[i] |= fits[i] && p->stages.at[i]->out->role == IR_TEMP &&
			            ir_stage_reads(p->stages.at[k], p->stages.at[i]->out);
		for (int k = 0; k < i; k++)
			gains |= moves[k] && ir_stage_reads(p->stages.at[i], p->stages.at[k]->out);
		fits[i] &= moves[i] || gains;
	}
	for (int i = 0; i < n; i++)
		if (fits[i] || is_gather(p, i))
			moves[i] &= unroll(p, p->stages.at[i]);
	return moves;
}
