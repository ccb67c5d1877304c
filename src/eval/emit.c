/* Registers and instructions: making them, giving them levels, running them. */
#include "eval/code.h"

#include <string.h>

int eval_reg_new(struct code *c, enum kind kind, bool varying, uint32_t axes)
{
	vec_push(c->arena, &c->regs, ((struct reg){ .kind = kind, .varying = varying, .axes = axes, .axis = -1 }));
	return c->regs.n - 1;
}

struct insn *eval_emit_raw(struct code *c, insn_fn fn, int d)
{
	vec_push(c->arena, &c->insns, ((struct insn){ .fn = fn, .d = d, .a = -1, .b = -1, .c = -1 }));
	return &c->insns.at[c->insns.n - 1];
}

int eval_splat(struct code *c, int reg)
{
	struct reg r = c->regs.at[reg];
	if (r.varying)
		return reg;
	for (int i = 0; i < c->insns.n; i++) /* quadratic is fine: a stage has some dozens of instructions */
		if (c->insns.at[i].fn == eval_splat_kernel(r.kind) && c->insns.at[i].a == reg)
			return c->insns.at[i].d;
	int d = eval_reg_new(c, r.kind, true, r.axes);
	struct insn *i = eval_emit_raw(c, eval_splat_kernel(r.kind), d);
	i->a = reg;
	i->imm = c->space->lanes;
	return d;
}

int eval_emit(struct code *c, insn_fn fn, enum kind kind, int a, int b, int third)
{
	int operand[3] = { a, b, third };
	bool varying = false;
	uint32_t axes = 0;
	for (int k = 0; k < 3; k++)
		if (operand[k] >= 0) {
			varying |= c->regs.at[operand[k]].varying;
			axes |= c->regs.at[operand[k]].axes;
		}
	for (int k = 0; k < 3 && varying; k++)
		if (operand[k] >= 0)
			operand[k] = eval_splat(c, operand[k]);
	int d = eval_reg_new(c, kind, varying, axes);
	struct insn *i = eval_emit_raw(c, fn, d);
	i->a = operand[0], i->b = operand[1], i->c = operand[2];
	i->varying = varying;
	return d;
}

int eval_constant(struct code *c, enum kind kind, double f, int64_t i)
{
	union {
		float f32;
		double f64;
		int32_t i32;
		int64_t i64;
	} *x = arena_alloc(c->arena, sizeof *x);
	switch (kind) {
	case KIND_F32: x->f32 = (float)f; break;
	case KIND_F64: x->f64 = f; break;
	case KIND_I32: x->i32 = (int32_t)i; break;
	case KIND_I64:
	case KIND_COUNT: x->i64 = i; break;
	}
	int d = eval_reg_new(c, kind, false, 0);
	c->regs.at[d].preset = x;
	return d;
}

static void lane_axis(struct frame *f, const struct insn *i)
{
	const struct eval_space *s = f->code->space;
	int64_t *d = f->r[i->d], inner = 1, extent = s->extent[i->imm];
	for (int k = s->lane_high - 1; k > i->imm; k--)
		inner *= s->extent[k];
	int64_t rest = f->lane % inner, at = f->lane / inner % extent;
	for (int l = 0; l < f->n; l++) {
		d[l] = at;
		if (++rest == inner) {
			rest = 0;
			at = at + 1 == extent ? 0 : at + 1;
		}
	}
}

int eval_axis_reg(struct code *c, int axis)
{
	if (c->axis_reg[axis])
		return c->axis_reg[axis] - 1;
	bool lane = axis >= c->space->lane_low && axis < c->space->lane_high;
	int d = eval_reg_new(c, KIND_I64, lane, 1u << axis);
	c->axis_reg[axis] = d + 1;
	if (lane) {
		struct insn *i = eval_emit_raw(c, lane_axis, d);
		i->imm = axis;
		i->varying = true;
	} else {
		c->regs.at[d].axis = axis;
	}
	return d;
}

int eval_wrap(struct code *c, int reg, enum type t)
{
	insn_fn fn = eval_wrap_kernel(t);
	if (!fn)
		return reg;
	int d = eval_emit(c, fn, c->regs.at[reg].kind, reg, -1, -1);
	c->insns.at[c->insns.n - 1].type = t;
	return d;
}

static bool fits(enum type from, enum type to)
{
	if (from == TYPE_U64 || to == TYPE_U64)
		return from == to;
	return type_min(from) >= type_min(to) && type_max(from) <= type_max(to);
}

int eval_convert(struct code *c, int reg, enum type from, enum type to, bool saturate)
{
	enum kind have = c->regs.at[reg].kind, want = eval_kind(to);
	bool floats = type_is_float(from) || type_is_float(to);
	if (have == want && (from == to || to == TYPE_F32 || to == TYPE_F64))
		return reg;
	if (floats || to == TYPE_BOOL || have != want) {
		insn_fn fn = eval_convert_kernel(from == TYPE_U64 ? (int)VARIANT_U64 : (int)have, to);
		reg = eval_emit(c, fn, want, reg, -1, -1);
		struct insn *i = &c->insns.at[c->insns.n - 1];
		i->type = to;
		i->imm = saturate;
	}
	return floats || to == TYPE_BOOL || fits(from, to) ? reg : eval_wrap(c, reg, to);
}

void eval_code_finish(struct code *c, const int *level_of, int levels)
{
	c->begin = NEWN(c->arena, int, levels + 1);
	vec_each (r, &c->regs)
		for (int axis = 0; axis < EVAL_AXES; axis++)
			if (r->axes >> axis & 1 && level_of[axis] > r->level)
				r->level = level_of[axis];
	struct insn *sorted = NEWN(c->arena, struct insn, c->insns.n + 1);
	int n = 0;
	for (int level = 0; level < levels; level++) {
		c->begin[level] = n;
		vec_each (i, &c->insns) {
			i->level = c->regs.at[i->d].level;
			if (i->level == level)
				sorted[n++] = *i;
		}
	}
	c->begin[levels] = n;
	ck(n == c->insns.n);
	c->insns.at = sorted;
}

void eval_frame_init(struct frame *f, const struct code *c, int64_t *axis, struct arena *a)
{
	*f = (struct frame){ .code = c, .axis = axis, .n = 1 };
	f->r = NEWN(a, void *, c->regs.n + 1);
	f->own = NEWN(a, void *, c->regs.n + 1);
	size_t size = 0;
	for (int pass = 0; pass < 2; pass++) {
		char *memory = pass ? arena_alloc(a, size + 4096) : NULL; /* large blocks are aligned to 64 */
		size = 0;
		for (int k = 0; k < c->regs.n; k++) {
			const struct reg *r = &c->regs.at[k];
			if (r->preset || r->axis >= 0) {
				f->own[k] = r->preset ? (void *)(uintptr_t)r->preset : &axis[r->axis];
				continue;
			}
			if (pass)
				f->own[k] = memory + size;
			size_t n = r->varying ? (size_t)(c->space->lanes + r->pad) : 2;
			size += (n * eval_kind_size(r->kind) + 63) / 64 * 64;
		}
	}
	memcpy(f->r, f->own, sizeof *f->r * (size_t)c->regs.n);
}

bool eval_code_run(struct frame *f, int first, int last)
{
	const struct code *c = f->code;
	const struct insn *end = c->insns.at + c->begin[last + 1];
	for (const struct insn *i = c->insns.at + c->begin[first]; i < end; i++) {
		i->fn(f, i);
		if (__builtin_expect(f->fault != NULL, false))
			return false;
	}
	return true;
}
