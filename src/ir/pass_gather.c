/* Turns scatters into gathers: if whole rows are replaced and only a map reads the result, such as a transpose, the map
 * needs only the number of each row's last update. A small scatter finds it, and the map reads the update's row or the
 * initial one: rows are neither filled nor moved twice. */
#include "ir/passes.h"

enum { LEAST_ROW = 8 /* elements: a shorter row is not worth an index */ };

/* True if a single map is the only reader of the result. */
static bool read_by_a_map(const struct ir_program *p, const struct ir_stage *made)
{
	int maps = 0;
	vec_each (s, &p->stages) {
		if (*s == made || !ir_stage_reads(*s, made->out))
			continue;
		if ((*s)->kind != IR_MAP)
			return false;
		maps++;
	}
	return maps == 1;
}

/* The number of leading axes of the result before those that an update replaces as a whole row, element by element; -1:
 * none. */
static int leading_axes(struct ir_program *p, const struct ir_stage *s)
{
	int rank = s->out->rank, lead = rank, updates = s->space_rank;
	bool used[IR_MAX_RANK] = { false };
	expr row = ir_index(p->pool, 1);
	while (lead > 0 && updates > 0 && s->at[lead - 1]->op == IR_AXIS && s->at[lead - 1]->i == updates - 1 &&
	       s->out->dim[lead - 1] == s->space[updates - 1]) {
		lead--;
		updates--;
		row = ir_binary(IR_MUL, row, s->out->dim[lead]);
	}
	for (int k = 0; k < lead; k++)
		ir_mark_axes(s->at[k], used);
	if (s->where)
		ir_mark_axes(s->where, used);
	for (int k = updates; k < s->space_rank; k++)
		if (used[k])
			return -1;
	return lead > 0 && lead < rank && ir_nonnegative(ir_binary(IR_SUB, row, ir_index(p->pool, LEAST_ROW))) ? lead
	                                                                                                       : -1;
}

/* last = scatter max init -1 at [where rows begin] value number of the update */
static struct ir_stage *last_update(struct ir_program *p, const struct ir_stage *s, int lead)
{
	expr number = ir_index(p->pool, 0), most = ir_index(p->pool, INT32_MAX), count = ir_index(p->pool, 1);
	int updates = s->space_rank - (s->out->rank - lead);
	for (int k = 0; k < updates; k++) {
		number = ir_binary(IR_ADD, ir_binary(IR_MUL, number, s->space[k]), ir_axis(p->pool, k, s->space[k]));
		count = ir_binary(IR_MUL, count, s->space[k]);
	}
	enum type t = ir_nonnegative(ir_binary(IR_SUB, most, count)) ? TYPE_I32 : TYPE_I64;
	const char *name = arena_printf(p->arena, "%s_last", s->out->name);
	struct ir_stage *last = ir_stage_new(p, IR_SCATTER, ir_buffer_new(p, name, t, lead, s->out->dim, IR_TEMP));
	last->combine = IR_MAXIMUM;
	last->init = ir_int(p->pool, t, -1);
	last->value = ir_cast(number, t);
	last->where = s->where;
	last->space_rank = updates;
	for (int k = 0; k < updates; k++)
		last->space[k] = s->space[k];
	for (int k = 0; k < lead; k++)
		last->at[k] = s->at[k];
	return last;
}

/* Rewrites the scatter as a map that reads each row's last update. */
static void become_gather(struct ir_program *p, struct ir_stage *s, const struct ir_buffer *last, int lead)
{
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK];
	int updates = s->space_rank - (s->out->rank - lead);
	for (int k = 0; k < s->out->rank; k++)
		own[k] = ir_axis(p->pool, k, s->out->dim[k]);
	expr number = ir_load(p->pool, last, own), rest = ir_cast(number, TYPE_INDEX);
	for (int k = updates - 1; k >= 0; k--) {
		axis[k] = k ? ir_binary(IR_MOD, rest, s->space[k]) : rest;
		rest = ir_binary(IR_FLOORDIV, rest, s->space[k]);
	}
	for (int k = updates; k < s->space_rank; k++)
		axis[k] = own[lead + k - updates];
	expr none = ir_binary(IR_LT, number, ir_int(p->pool, last->type, 0));
	struct ir_stage map = { .kind = IR_MAP, .out = s->out };
	map.value = ir_select(none, s->init, ir_bind_axes(p->pool, s->value, axis));
	*s = map;
}

/* Moves the last stage to place i. */
static void insert(struct ir_program *p, int i, struct ir_stage *last)
{
	for (int k = p->stages.n - 1; k > i; k--)
		p->stages.at[k] = p->stages.at[k - 1];
	p->stages.at[i] = last;
}

int ir_pass_gather(struct ir_program *p, struct err *e)
{
	(void)e;
	for (int i = 0; i < p->stages.n; i++) {
		struct ir_stage *s = p->stages.at[i], *first = ir_one_hot_gather(p, s);
		if (first)
			insert(p, i++, first);
		if (s->kind != IR_SCATTER || s->combine != IR_NONE || s->out->role != IR_TEMP || !read_by_a_map(p, s))
			continue;
		int lead = leading_axes(p, s);
		if (lead < 0)
			continue;
		struct ir_stage *last = last_update(p, s, lead);
		insert(p, i++, last);
		become_gather(p, s, last->out, lead);
	}
	return 0;
}
