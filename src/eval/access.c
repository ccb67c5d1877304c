/* Positions of loads and scatters in their buffers: the uniform part, the varying part, and bounds checks of indices
 * that are not provably inside. */
#include "eval/code.h"
#include "eval/vectorise.h"

/* The sum of the uniform terms of `l`. */
static uint64_t uniform_part(const struct frame *f, const struct linear *l)
{
	uint64_t sum = (uint64_t)l->constant;
	vec_each (t, l)
		if (!t->varying)
			sum += (uint64_t)t->coefficient * *(const uint64_t *)f->r[t->reg];
	return sum;
}

/* d += the varying terms of `l` */
static void add_varying(const struct frame *f, const struct linear *l, uint64_t *restrict d, int n)
{
	vec_each (t, l) {
		if (!t->varying)
			continue;
		const uint64_t *restrict x = f->r[t->reg];
		uint64_t k = (uint64_t)t->coefficient;
		for (int i = 0; i < n; i++)
			d[i] += k * x[i];
	}
}

static void compute_offsets(struct frame *f, const struct insn *i)
{
	int64_t *d = f->r[i->d], *end = d + f->code->space->lanes;
	int n = f->n;
	for (int l = 0; l < n; l++)
		d[l] = 0;
	add_varying(f, &i->access->lanes, (uint64_t *)d, n);
	int64_t least = d[0], greatest = d[0];
	uint64_t step = n > 1 ? (uint64_t)d[1] - (uint64_t)d[0] : 1, bent = 0;
	for (int l = 1; l < n; l++) {
		least = d[l] < least ? d[l] : least;
		greatest = d[l] > greatest ? d[l] : greatest;
		bent |= (uint64_t)d[l] - (uint64_t)d[l - 1] - step;
	}
	end[OFFSET_LEAST] = least;
	end[OFFSET_GREATEST] = greatest;
	end[OFFSET_HAS_STEP] = bent == 0;
	end[OFFSET_STEP] = (int64_t)step;
}

/* Checks dimension imm of the access, in the lanes of guard a (-1: all). */
static void check_index(struct frame *f, const struct insn *i)
{
	const struct linear *index = &i->access->index[i->imm];
	const int32_t *mask = i->a >= 0 ? f->r[i->a] : NULL;
	uint64_t extent = (uint64_t)i->access->dim[i->imm], first = uniform_part(f, index);
	uint64_t x[EVAL_LANES];
	int n = i->varying ? f->n : 1;
	bool outside = false;
	for (int l = 0; l < n; l++)
		x[l] = first;
	add_varying(f, index, x, n);
	for (int l = 0; l < n; l++)
		outside |= x[l] >= extent;
	if (!outside)
		return;
	for (int l = 0; l < n; l++) {
		if (x[l] < extent || (mask && !mask[i->access->guard_varying ? l : 0]))
			continue;
		f->fault = i;
		f->fault_lane = l;
		return;
	}
}

/* Makes registers for the axes in `l` (atoms have theirs), and finds the axes the sum depends on. */
static void materialise(struct code *c, struct linear *l, uint32_t *axes, bool *varying)
{
	vec_each (t, l) {
		if (t->reg < 0 && t->axis >= 0)
			t->reg = eval_axis_reg(c, t->axis);
		t->varying = c->regs.at[t->reg].varying;
		*varying |= t->varying;
		*axes |= c->regs.at[t->reg].axes;
	}
}

static bool is_lane_axis(const struct eval_space *s, int axis)
{
	return axis >= s->lane_low && axis < s->lane_high;
}

/* True if the varying part is step * (position in the lane space). */
static bool has_step(const struct eval_space *s, const struct linear *lanes, int64_t *step)
{
	int64_t inner = 1;
	bool first = true;
	for (int axis = s->lane_high - 1; axis >= s->lane_low; axis--) {
		int64_t k = 0;
		if (s->extent[axis] == 1)
			continue;
		vec_each (t, lanes)
			if (t->axis == axis)
				k = t->coefficient;
		if (first)
			*step = k;
		first = false;
		if ((uint64_t)k != (uint64_t)*step * (uint64_t)inner)
			return false;
		inner *= s->extent[axis];
	}
	vec_each (t, lanes)
		if (t->axis < 0)
			return false;
	return !first;
}

/* Splits the row-major position into its varying part, x->lanes, and the rest, x->base. */
static void split_position(struct code *c, struct access *x)
{
	struct linear flat = { 0 };
	int64_t stride = 1;
	for (int k = x->rank - 1; k >= 0; k--) {
		eval_linear_add(c, &flat, stride, &x->index[k]);
		stride *= x->dim[k];
	}
	x->base.constant = flat.constant;
	bool atoms_vary = false;
	vec_each (t, &flat) {
		bool varies = false;
		if (t->axis >= 0) {
			varies = is_lane_axis(c->space, t->axis);
			x->axes |= 1u << t->axis;
		} else {
			varies = c->regs.at[t->reg].varying;
			x->axes |= c->regs.at[t->reg].axes;
			atoms_vary |= varies;
		}
		vec_push(c->arena, varies ? &x->lanes : &x->base, *t);
	}
	uint32_t axes = 0;
	bool varying = false;
	materialise(c, &x->base, &axes, &varying);
	x->varying = x->lanes.n > 0 || x->guard_varying;
	x->offset = -1;
	if (x->lanes.n == 0 || (!atoms_vary && has_step(c->space, &x->lanes, &x->step)))
		return;
	axes = 0;
	materialise(c, &x->lanes, &axes, &varying);
	x->offset = eval_reg_new(c, KIND_I64, true, axes);
	c->regs.at[x->offset].pad = OFFSET_PAD;
	struct insn *i = eval_emit_raw(c, compute_offsets, x->offset);
	i->varying = true;
	i->access = x;
}

/* Decodes elements once for the stage if they need decoding and are read about twice or more. */
static void choose_data(struct code *c, struct access *x, struct eval_buffer *b)
{
	enum type t = eval_kind(b->type) == KIND_F32 ? TYPE_F32 : TYPE_I32;
	double reads = 1;
	for (int k = 0; k < c->space->rank; k++)
		reads *= (double)c->space->extent[k];
	x->type = b->type;
	x->data = b->data;
	if (!eval_load_decodes(b->type) || reads < 2 * (double)b->count || x->writes || b->changes || c->run->brief)
		return;
	if (!b->decoded) {
		b->decoded = arena_alloc(c->arena, (size_t)type_bytes(t, b->count) + 16);
		for (int64_t at = 0; at < b->count; at += EVAL_LANES)
			eval_run_load(b->type, b->data, at,
			              b->count - at < EVAL_LANES ? (int)(b->count - at) : EVAL_LANES,
			              (char *)b->decoded + 4 * at);
	}
	x->type = t;
	x->data = b->decoded;
}

int eval_access_new(struct code *c, const struct ir_buffer *buf, const expr *index, int guard, bool writes,
                    struct access **out)
{
	struct eval_buffer *b = &c->run->buffer[buf->id];
	struct access *x = NEW(c->arena, struct access);
	*out = x;
	*x = (struct access){ .buf = buf, .rank = b->rank, .count = b->count, .guard = guard, .writes = writes };
	choose_data(c, x, b);
	if (guard >= 0) {
		x->guard_varying = c->regs.at[guard].varying;
		x->axes = c->regs.at[guard].axes;
	}
	for (int k = 0; k < x->rank; k++) {
		x->dim[k] = b->dim[k];
		eval_linear(c, index[k], &x->index[k]);
		vec_each (t, &x->index[k])
			if (t->axis < 0)
				TRY(eval_compile(c, t->atom, guard, &t->reg));
		struct range r = eval_range(c, index[k]);
		if (r.low >= 0 && r.high < x->dim[k])
			continue;
		uint32_t axes = guard >= 0 ? c->regs.at[guard].axes : 0;
		bool varying = x->guard_varying;
		materialise(c, &x->index[k], &axes, &varying);
		struct insn *i = eval_emit_raw(c, check_index, eval_reg_new(c, KIND_I32, false, axes));
		i->access = x;
		i->a = guard;
		i->imm = k;
		i->varying = varying;
	}
	split_position(c, x);
	return 0;
}

static int64_t lane_axis_index(const struct eval_space *s, int axis, int64_t position)
{
	for (int k = s->lane_high - 1; k > axis; k--)
		position /= s->extent[k];
	return position % s->extent[axis];
}

/* False if a term is not computed yet at the instruction's level. */
static bool value_at(const struct frame *f, const struct linear *l, int lane, int level, int64_t *out)
{
	const struct eval_space *s = f->code->space;
	uint64_t sum = (uint64_t)l->constant;
	vec_each (t, l) {
		uint64_t x;
		if (t->axis >= 0)
			x = (uint64_t)(is_lane_axis(s, t->axis) ? lane_axis_index(s, t->axis, f->lane + lane)
			                                        : f->axis[t->axis]);
		else if (t->reg < 0 || f->code->regs.at[t->reg].level > level)
			return false;
		else
			x = ((const uint64_t *)f->r[t->reg])[t->varying ? lane : 0];
		sum += (uint64_t)t->coefficient * x;
	}
	*out = (int64_t)sum;
	return true;
}

void eval_fault_describe(struct str *out, const struct frame *f)
{
	const struct access *x = f->fault->access;
	str_printf(out, "%s %s[", x->writes ? "writes" : "reads", x->buf->name);
	for (int k = 0; k < x->rank; k++) {
		int64_t at;
		if (value_at(f, &x->index[k], f->fault_lane, f->fault->level, &at))
			str_printf(out, "%s%lld", k ? "," : "", (long long)at);
		else
			str_printf(out, "%s?", k ? "," : "");
	}
	str_printf(out, "] outside %s[", type_name(x->buf->type));
	for (int k = 0; k < x->rank; k++)
		str_printf(out, "%s%lld", k ? "," : "", (long long)x->dim[k]);
	str_add(out, "]");
}
