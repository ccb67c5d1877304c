/* Reductions: choice of lanes, compilation, and the work of a unit. */
#include "eval/nest.h"

struct reduce_stage {
	const struct eval_buffer *out;
	enum ir_combine combine;
	enum type type; /* of the values */
	enum kind kind; /* of the accumulator */
	bool empty;     /* nothing is reduced */
	int acc, best;  /* registers of the body; best: the position, -1 */
	int result;     /* of the post code */
	int lanes;      /* accumulators in use */
	struct insn accumulate;
	struct eval_regs wanted; /* where one of these conditions is false, the value is the identity */
};

/* True if one of the conditions of levels first .. last is false in all lanes. */
static bool is_skipped(const struct nest_worker *w, const struct reduce_stage *s, int first, int last)
{
	vec_each (reg, &s->wanted) {
		const struct reg *info = &w->body.code->regs.at[*reg];
		const int32_t *value = w->body.r[*reg];
		bool any = false;
		if (info->level < first || info->level > last)
			continue;
		for (int l = 0; l < (info->varying ? w->body.n : 1) && !any; l++)
			any = value[l] != 0;
		if (!any)
			return true;
	}
	return false;
}

/* Runs the levels from `first` on up to one that is skipped, and accumulates if none is. *last: the last level run. */
static bool run_levels(const struct nest *n, struct nest_worker *w, const struct reduce_stage *s, int first, int *last)
{
	if (!s->wanted.n) {
		if (!eval_code_run(&w->body, first, n->loops))
			return false;
		*last = n->loops;
	} else {
		for (*last = first; *last <= n->loops; ++*last) {
			if (!eval_code_run(&w->body, *last, *last))
				return false;
			if (is_skipped(w, s, *last, *last))
				return true;
		}
		*last = n->loops;
	}
	s->accumulate.fn(&w->body, &s->accumulate);
	return true;
}

/* Runs all inner loops; those around the innermost advance like an odometer. A loop inside a level that is skipped does
 * not run. */
static bool run_inner(const struct nest *n, struct nest_worker *w, const struct reduce_stage *s)
{
	int first = n->outer + (n->outer < n->loops), last;
	for (int j = n->outer; j < n->loops; j++) {
		w->at[j] = 0;
		nest_set(n, w, j);
	}
	if (is_skipped(w, s, 0, n->outer))
		return true;
	for (;;) {
		int k;
		if (!run_levels(n, w, s, first, &last))
			return false;
		for (k = last - 1; k >= n->outer; k--) {
			if (++w->at[k] == n->loop[k].extent)
				w->at[k] = 0;
			nest_set(n, w, k);
			if (w->at[k])
				break;
		}
		if (k < n->outer)
			return true;
		first = k + 1;
	}
}

static bool reduce_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct reduce_stage *s = n->stage;
	void *acc = w->body.r[s->acc];
	int64_t *best = s->best >= 0 ? w->body.r[s->best] : NULL;
	eval_accumulator_init(s->combine, s->kind, s->type, acc, best, n->lanes_inside ? s->lanes : w->body.n);
	if (!s->empty) {
		if (!eval_code_run(&w->body, first, n->outer) || !run_inner(n, w, s))
			return false;
		if (n->lanes_inside)
			eval_accumulator_fold(s->combine, s->kind, s->type == TYPE_U64, acc, best, s->lanes);
	} else if (best) {
		for (int l = 0; l < w->body.n; l++)
			best[l] = 0;
	}
	if (!eval_code_run(&w->post, first, n->outer))
		return false;
	eval_run_store(s->out->type, s->out->data, nest_position(n, unit), w->post.n, w->post.r[s->result]);
	return true;
}

/* ---- The cost of a load with lanes along `axis`, from its stride. */

struct load_cost {
	struct code *code;
	int axis;
	bool found;
	double cost;
	int loads;
};

static void find_axis(void *user, expr e)
{
	struct load_cost *c = user;
	c->found |= e->op == IR_AXIS && e->i == c->axis;
}

static void add_load(void *user, expr e)
{
	struct load_cost *c = user;
	if (e->op != IR_LOAD)
		return;
	const struct eval_buffer *b = &c->code->run->buffer[e->buf->id];
	int64_t stride = 1;
	uint64_t step = 0;
	c->found = false;
	for (int k = e->n - 1; k >= 0; k--) {
		struct linear l;
		eval_linear(c->code, e->arg[k], &l);
		vec_each (t, &l) {
			if (t->axis < 0)
				eval_walk(c->code->arena, t->atom, find_axis, c);
			else if (t->axis == c->axis)
				step += (uint64_t)stride * (uint64_t)t->coefficient;
		}
		stride *= b->dim[k];
	}
	c->loads++;
	c->cost += c->found ? 2 : step == 0 ? 0.1 : step == 1 ? 0.4 : 1.5;
}

/* The cost of one value, with lanes in `s`. */
static double cost_of_lanes(struct eval_run *run, const struct eval_space *s, expr value)
{
	struct code probe;
	struct load_cost c = { .code = &probe, .axis = s->lane_high - 1 };
	while (c.axis > s->lane_low && s->extent[c.axis] == 1)
		c.axis--;
	eval_code_init(&probe, run, s, run->arena);
	eval_walk(run->arena, value, add_load, &c);
	return c.cost + 40.0 * (c.loads + 2) / s->lanes;
}

static void choose_lanes(struct eval_run *run, struct eval_space *s, int out_rank, expr value, int64_t reduced)
{
	struct eval_space outside = *s, inside = *s;
	nest_lanes(&outside, 0, out_rank);
	nest_lanes(&inside, out_rank, s->rank);
	double steps = (double)reduced;
	double out = steps * cost_of_lanes(run, &outside, value) + 400.0 / outside.lanes;
	double in = steps * cost_of_lanes(run, &inside, value) + 400 + 2.0 * inside.lanes;
	*s = inside.lane_count > 1 && in < out ? inside : outside;
}

/* ---- The reduction's inner loop. */

/* The value's row-major position in the reduced space. */
static int compile_position(struct code *c, int out_rank)
{
	int sum = eval_constant(c, KIND_I64, 0, 0);
	int64_t stride = 1;
	for (int axis = c->space->rank - 1; axis >= out_rank; axis--) {
		if (c->space->extent[axis] == 1)
			continue;
		int k = eval_constant(c, KIND_I64, 0, stride);
		int part = eval_emit(c, eval_kernel(IR_MUL, KIND_I64), KIND_I64, eval_axis_reg(c, axis), k, -1);
		sum = eval_emit(c, eval_kernel(IR_ADD, KIND_I64), KIND_I64, sum, part, -1);
		stride *= c->space->extent[axis];
	}
	return sum;
}

/* A sum of products whose product needs no separate rounding: one kernel does both. */
static int compile_multiply_add(struct code *c, struct reduce_stage *s, expr value, bool *done)
{
	enum type t = value->type;
	int a, b;
	*done = false;
	if (value->op != IR_MUL || s->combine != IR_SUM || !c->regs.at[s->acc].varying ||
	    (t != TYPE_F32 && t != TYPE_F64 && t != TYPE_I32 && t != TYPE_I64 && t != TYPE_U64))
		return 0;
	TRY(eval_compile(c, value->arg[0], -1, &a));
	TRY(eval_compile(c, value->arg[1], -1, &b));
	if (!c->regs.at[a].varying) {
		int other = a;
		a = b, b = other;
	}
	if (!c->regs.at[a].varying)
		return 0;
	s->accumulate.fn = eval_multiply_add_kernel(c->regs.at[a].kind, !c->regs.at[b].varying);
	s->accumulate.a = a;
	s->accumulate.b = b;
	*done = true;
	return 0;
}

static int compile_accumulate(struct code *c, struct reduce_stage *s, expr value, int out_rank)
{
	bool lanes = c->space->lane_count > 1, done;
	bool floats = type_is_float(value->type);
	s->kind = floats ? KIND_F64 : eval_kind(value->type);
	s->acc = eval_reg_new(c, s->kind, lanes, 0);
	s->best = ir_combine_is_arg(s->combine) ? eval_reg_new(c, KIND_I64, lanes, 0) : -1;
	s->accumulate = (struct insn){ .d = s->acc, .c = s->best, .varying = lanes };
	s->lanes = c->space->lanes;
	if (!eval_type_known(value->type))
		return err_set(c->run->err, ERR_UNSUPPORTED, "Program %s, stage %s: type %s cannot be interpreted.",
		               c->run->program->name, c->run->stage, type_name(value->type));
	TRY(compile_multiply_add(c, s, value, &done));
	if (done)
		return 0;
	int reg;
	TRY(eval_compile(c, value, -1, &reg));
	if (value->op == IR_SELECT && value->arg[2] == ir_identity(c->run->program->pool, s->combine, value->type))
		TRY(eval_compile_conjuncts(c, value->arg[0], -1, &s->wanted));
	s->accumulate.a = lanes ? eval_splat(c, reg) : reg;
	s->accumulate.fn = eval_accumulate_kernel(s->combine, value->type == TYPE_U64 ? (int)VARIANT_U64
	                                                                              : (int)c->regs.at[reg].kind);
	if (s->best >= 0) {
		s->accumulate.b = compile_position(c, out_rank);
		s->accumulate.imm = c->regs.at[s->accumulate.b].varying;
	}
	if (!s->accumulate.fn)
		return err_set(c->run->err, ERR_UNSUPPORTED, "Program %s, stage %s: %s of %s cannot be interpreted.",
		               c->run->program->name, c->run->stage, ir_combine_name[s->combine],
		               type_name(value->type));
	return 0;
}

static int compile_post(struct nest *n, struct reduce_stage *s, const struct ir_stage *stage, int out_rank)
{
	struct code *c = &n->post;
	bool arg = s->best >= 0;
	enum type acc_type = arg ? TYPE_I64 : stage->value->type;
	n->post_space = n->space;
	n->post_space.rank = out_rank;
	if (n->lanes_inside) {
		n->post_space.lane_low = n->post_space.lane_high = out_rank;
		n->post_space.lane_count = n->post_space.lanes = 1;
	}
	n->has_post = true;
	eval_code_init(c, n->run, &n->post_space, n->run->arena);
	uint32_t axes = (uint32_t)((UINT64_C(1) << out_rank) - 1);
	n->post_acc = eval_reg_new(c, arg ? KIND_I64 : s->kind, !n->lanes_inside && n->space.lane_count > 1, axes);
	n->acc = arg ? s->best : s->acc;
	c->acc = type_is_float(acc_type) ? n->post_acc : eval_wrap(c, n->post_acc, acc_type);
	s->result = c->acc;
	if (stage->post)
		TRY(eval_compile(c, stage->post, -1, &s->result));
	s->result = eval_convert(c, s->result, stage->post ? stage->post->type : acc_type, s->out->type, false);
	s->result = eval_splat_lanes(c, s->result);
	return 0;
}

int eval_reduce(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	struct reduce_stage *s = NEW(run->arena, struct reduce_stage);
	struct nest *n = NEW(run->arena, struct nest);
	const struct eval_buffer *out = &run->buffer[stage->out->id];
	int out_rank = out->rank;
	int64_t reduced = 1;
	*s = (struct reduce_stage){ .out = out, .combine = stage->combine, .type = stage->value->type };
	n->run = run;
	n->unit = reduce_unit;
	n->stage = s;
	if (out->count == 0)
		return 0;
	nest_space_of(&n->space, out);
	for (int k = 0; k < stage->space_rank; k++) {
		TRY(eval_extent(run, stage->space[k], &n->space.extent[out_rank + k]));
		reduced *= n->space.extent[out_rank + k];
	}
	n->space.rank += stage->space_rank;
	s->empty = reduced == 0;
	if (s->empty)
		nest_lanes(&n->space, 0, out_rank);
	else
		choose_lanes(run, &n->space, out_rank, stage->value, reduced);
	eval_code_init(&n->body, run, &n->space, run->arena);
	TRY(compile_accumulate(&n->body, s, stage->value, out_rank));
	nest_loops(n, out_rank);
	TRY(compile_post(n, s, stage, out_rank));
	nest_inner_loops(n, out_rank, n->space.rank, s->best < 0);
	nest_finish(n);
	nest_ready(n, nest_workers_for(out), ready);
	return 0;
}
