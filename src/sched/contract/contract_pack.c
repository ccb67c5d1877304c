/* Contractions: repacks operands whose strides allow no vectors. A step before the contraction makes a reduced axis the
 * last one: images become channels-last, matrices are transposed. The load's condition (an image's edges) stays in the
 * contraction, so the step is a plain transposition. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

/* The dimension of the load's buffer that `axis` indexes with stride 1; the rest of the index may depend on other axes.
 * -1: several, or none. */
static int dimension_of(expr load, int axis)
{
	int at = -1;
	for (int d = 0; d < load->buf->rank; d++) {
		bool used[2 * IR_MAX_RANK] = { false };
		ir_mark_axes(load->arg[d], used);
		if (!used[axis])
			continue;
		expr stride = ir_stride(load->arg[d], axis);
		if (at >= 0 || !stride || !ir_is_int(stride, 1))
			return -1;
		at = d;
	}
	return at;
}

/* Makes the operand read a copy of its buffer in which the axis's dimension is last. True if it then allows vectors. */
static bool pack(struct contract *c, int side, int axis)
{
	struct contract_operand *o = &c->side[side];
	struct ir_program *p = c->p;
	expr load = contract_element_of(o), index[IR_MAX_RANK], from[IR_MAX_RANK];
	int last = load ? dimension_of(load, axis) : -1, n = 0;
	if (last < 0)
		return false;
	const struct ir_buffer *b = load->buf;
	struct ir_buffer *packed = NEW(p->arena, struct ir_buffer);
	*packed = (struct ir_buffer){ .name = b->name, .type = o->type, .rank = b->rank, .role = IR_TEMP };
	for (int d = 0; d < b->rank; d++) {
		int to = d == last ? b->rank - 1 : n++;
		index[to] = load->arg[d];
		packed->dim[to] = b->dim[d];
		from[d] = ir_axis(p->pool, to, b->dim[d]);
	}
	o->pack = NEW(p->arena, struct ir_stage);
	*o->pack = (struct ir_stage){ .kind = IR_MAP,
		                      .out = packed,
		                      .value = ir_cast(ir_load(p->pool, b, from), o->type) };
	expr value = ir_load(p->pool, packed, index);
	o->value = o->value->op == IR_SELECT ? ir_select(o->value->arg[0], value, o->value->arg[2]) : value;
	contract_find_way(c, side);
	return o->way == CONTRACT_STRAIGHT;
}

/* Vectorises both operands along that reduced axis, which becomes the innermost. */
static bool pack_along(struct contract *c, int reduced)
{
	int n = 0, rank = c->s->space_rank;
	for (int i = 0; i < rank; i++)
		if (i != reduced)
			c->order[n++] = i;
	c->order[rank - 1] = reduced;
	for (int side = 0; side < 2; side++) {
		contract_find_way(c, side);
		bool may = c->side[side].way == CONTRACT_GATHER && !c->side[side].computed;
		if (may && !pack(c, side, c->s->out->rank + reduced))
			return false;
	}
	return true;
}

bool contract_match_packed(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	return contract_match(c, p, s) && contract_pack_operands(c);
}

bool contract_pack_operands(struct contract *c)
{
	bool any = false;
	for (int side = 0; side < 2; side++)
		any |= c->side[side].way == CONTRACT_GATHER && !c->side[side].computed;
	for (int i = c->s->space_rank - 1; any && i >= 0; i--) {
		struct contract packed = *c;
		if (ir_is_int(c->s->space[i], 1) || !pack_along(&packed, i))
			continue;
		*c = packed;
		return true;
	}
	return false;
}

double contract_copy_time(double bytes, const struct sched_target *t)
{
	return 1.3 * bytes / t->bytes_per_ns; /* short rows fill blocks poorly */
}

double contract_pack_time(const struct contract *c, const struct sched_target *t)
{
	double time = 0;
	for (int side = 0; side < 2; side++) {
		const struct ir_stage *s = c->side[side].pack;
		if (!s)
			continue;
		double bytes = (double)about(ir_buffer_count(c->p, s->out), t) * type_info(s->out->type)->bits / 8;
		/* Two steps share a launch, which begins early. Measured on an H100: small copies take 1.7 us. */
		time += (time > 0 ? 0 : 0.68 * t->launch_ns) + 2 * contract_copy_time(bytes, t);
	}
	return time;
}

/* The transposition with the largest tiles. Kernels that pack both operands share a launch, and its shared memory. */
static bool widest(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t, bool both,
                   struct sched_choice *out)
{
	struct sched_choice list[SCHED_RULE_CHOICES];
	int n = rule_candidates(sched_rule_of_transposes, p, s, t, list), bits = type_info(s->out->type)->bits;
	while (both && n > 1 && 2 * list[n - 1].param[0] * (list[n - 1].param[0] + 1) * bits / 8 > TARGET_DECLARED)
		n--;
	if (n > 0)
		*out = list[n - 1];
	return n > 0;
}

void contract_pack(struct ir_plan *plan, struct contract *c, const struct sched_choice *choice,
                   const struct sched_target *t)
{
	struct ir_program *p = plan->program;
	for (int side = 0; side < 2; side++) {
		struct contract_operand *o = &c->side[side];
		struct sched_choice how;
		struct ir_stage *pack = NEW(p->arena, struct ir_stage);
		if (!o->pack)
			continue;
		const struct ir_buffer *b = o->pack->out;
		struct ir_buffer *made = ir_buffer_new(p, arena_printf(p->arena, "%s_packed", b->name), b->type,
		                                       b->rank, b->dim, IR_TEMP);
		expr value = ir_load(p->pool, made, contract_load_of(o)->arg);
		o->value = o->value->op == IR_SELECT ? ir_select(o->value->arg[0], value, o->value->arg[2]) : value;
		*pack = *o->pack;
		pack->out = made;
		if (c->source && ir_reads(pack->value, c->source->out)) {
			pack->value = contract_with_map(p, pack->value, c->source);
			contract_read_copy(c, value);
		}
		o->pack = pack;
		int steps = plan->steps.n;
		bool both = c->side[0].pack && c->side[1].pack;
		const struct sched_rule *const maps[] = { sched_rule_of_maps, sched_rule_of_flat_maps };
		if (!widest(p, pack, t, both, &how))
			how = rule_fastest(maps, sizeof maps / sizeof *maps, p, pack, t, NULL);
		apply_choice(plan, pack, &how, t);
		decided_by(plan, steps, choice, "a layout of vectors");
	}
}
