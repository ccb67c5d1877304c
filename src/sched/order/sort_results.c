/* The results of a sort: the indices found, and maps after the sort that need only these (TopK's values). Those maps
 * are made with the sort, and if nothing else reads the indices they are not stored. See sort.h. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/stored.h"

/* Costlier maps are left to kernels with coalesced accesses. */
enum { MOST_COST = 24 };

/* The map's value with the index in place of the sort's result at the same position; null: it needs other results of
 * the sort, or of earlier maps. */
static expr of_place(const struct ir_program *p, const struct ir_stage *s, const struct ir_stage *map,
                     const struct sort_maps *m, expr any)
{
	expr axis[IR_MAX_RANK], place;
	if (map->kind != IR_MAP || !ir_same_extents(map->out, s->out) || type_is_packed(map->out->type))
		return NULL;
	for (int k = 0; k < s->out->rank; k++)
		axis[k] = ir_axis(p->pool, k, s->out->dim[k]);
	place = ir_cast(any ? any : ir_axis(p->pool, s->out->rank, s->space[0]), s->out->type);
	expr result = ir_load(p->pool, s->out, axis),
	     value = substitute(&(struct substitution){ &result, &place, 1 }, map->value);
	bool more = ir_reads(value, s->out);
	for (int i = 0; i < m->n; i++)
		more |= ir_reads(value, m->at[i].out);
	return more || ir_cost(value) > MOST_COST ? NULL : value;
}

struct sort_maps sort_maps(const struct ir_program *p, const struct ir_stage *s)
{
	struct sort_maps m = { .places = true };
	const struct ir_stage *made[SORT_MOST_MAPS + 1] = { s };
	int first = 0;
	/* If k may exceed the row length, an index may have any value. */
	bool inside = ir_nonnegative(ir_binary(IR_SUB, s->space[0], s->out->dim[s->axis]));
	expr any = inside ? NULL : ir_some(p->pool, TYPE_INDEX, NULL);
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	for (int i = first + 1; i < p->stages.n && m.n < SORT_MOST_MAPS; i++) {
		expr value = of_place(p, s, p->stages.at[i], &m, any);
		if (!value)
			break;
		m.at[m.n++] = (struct sort_map){ p->stages.at[i]->out, value, any };
		made[m.n] = p->stages.at[i];
	}
	m.places = stage_is_stored(p, made, m.n + 1, 0);
	return m;
}

/* The map's value as a function of the key's value `with`; null: it needs the index, too. */
static expr of_key(const struct ir_stage *s, const struct sort_map *map, expr with)
{
	expr key = sort_key(s);
	expr value = substitute(&(struct substitution){ &key, &with, 1 }, map->value);
	bool used[IR_MAX_RANK + 1] = { false };
	ir_mark_axes(value, used);
	return used[s->out->rank] ? NULL : value;
}

bool sort_is_alone(const struct ir_program *p, const struct ir_stage *s)
{
	struct sort_maps m = sort_maps(p, s);
	bool alone = !m.places && ir_nonnegative(ir_binary(IR_SUB, s->space[0], s->out->dim[s->axis]));
	expr value = ir_some(p->pool, sort_key(s)->type, NULL);
	for (int i = 0; i < m.n; i++)
		alone = alone && of_key(s, &m.at[i], value);
	return alone;
}

const struct ir_variable *emit_put_alone(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                         struct sort_row *row)
{
	struct ir_lambda *put = emit_lambda(p, b, "put");
	expr rank = emit_parameter(p, put, TYPE_INDEX, SORT_RANK, row->n);
	expr key = emit_parameter(p, put, sort_key_type(s), "key", NULL);
	struct ir_block *body = put->body;
	if (row->k != row->n)
		body = emit_if(p, body, ir_binary(IR_LT, rank, row->k));
	rank = ir_var_of(rank->var, row->k);
	const struct ir_variable *value = emit_local(p, body, ir_variable_new(p->pool, row->key->type, "value"));
	struct ir_call *from =
	        emit_invoke(p, body, s->reverse ? &device_from_descending : &device_from_ascending, IR_OF_NOTHING);
	add_variable(p, from, value);
	add_value(p, from, key);
	struct sort_maps m = sort_maps(p, s);
	for (int i = 0; i < m.n; i++) {
		struct sort_map of_value = { m.at[i].out, of_key(s, &m.at[i], ir_var_of(value, NULL)), NULL };
		emit_store(p, body, of_value.out, sort_result_at(row, rank), sort_map_at(row, &of_value, rank, rank));
	}
	return put->var;
}

int sort_span(const struct sched_site *site)
{
	return 1 + sort_maps(site->p, site->s).n;
}

void emit_found(struct sort_row *row, struct ir_block *b, expr j, expr r)
{
	struct sort_maps m = sort_maps(row->p, row->s);
	expr to = sort_result_at(row, j);
	for (int i = 0; i < m.n; i++)
		emit_store(row->p, b, m.at[i].out, to, sort_map_at(row, &m.at[i], j, r));
	if (m.places)
		emit_store(row->p, b, row->s->out, to, ir_cast(r, row->s->out->type));
}
