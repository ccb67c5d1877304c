/* Parts shared by attention kernels on tensor cores: their functions, and the call's arguments. See attend_mma.h. */
#include "sched/attend/attend_mma.h"
#include "sched/build/emit.h"

static expr flat_place(const struct attend_mma *m, expr load)
{
	return ir_flat(m->a.p->pool, load->buf, load->arg);
}

static void emit_keys(struct attend_place *at, struct ir_block *b, enum attend_role role, const struct attend_mma *m,
                      expr load, const char *place, int size)
{
	struct ir_program *p = m->a.p;
	struct attend_function f = attend_begin(at, b, role, false, true, place, size);
	expr inside = ir_binary(IR_LT, ir_var_of(f.key->var, NULL), m->a.dim[m->a.rows]);
	f.lambda->value = ir_select(inside, attend_here(&f, flat_place(m, load)), ir_index(p->pool, -1));
}

/* Emits kept_some or kept_all: true if some elements of a tile may be, or all are, within all bounds. The tile's first
 * and last query and key decide. */
static void emit_bounds_of(struct attend_place *at, struct ir_block *b, const struct attend_mma *m, bool all)
{
	struct ir_program *p = m->a.p;
	struct ir_lambda *lambda = attend_lambda(at, b, all ? ATTEND_KEPT_ALL : ATTEND_KEPT_SOME);
	expr query[2], key[2], holds = ir_int(p->pool, TYPE_BOOL, 1);
	query[0] = emit_parameter(p, lambda, TYPE_INDEX, "query", NULL);
	query[1] = emit_parameter(p, lambda, TYPE_INDEX, "to_query", NULL);
	key[0] = emit_parameter(p, lambda, TYPE_INDEX, "key", NULL);
	key[1] = emit_parameter(p, lambda, TYPE_INDEX, "to_key", NULL);
	for (int i = 0; i < m->bounds; i++) {
		int64_t of_query, of_key;
		attend_bound_strides(m, i, &of_query, &of_key);
		expr bound = attend_expr(at, m->bound[i], query[(of_query > 0) != all], key[(of_key > 0) != all], NULL);
		holds = ir_binary(IR_AND, holds, bound);
	}
	lambda->value = holds;
}

void attend_mma_emit_some(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	if (m->bounds)
		emit_bounds_of(at, b, m, false);
}

/* Emits kept_from or kept_to: a query's first key within all bounds, or the key after the last, if there are bounds of
 * that kind. */
static void emit_kept(struct attend_place *at, struct ir_block *b, const struct attend_mma *m, bool to)
{
	expr key = NULL;
	for (int i = 0; i < m->bounds; i++) {
		expr own = attend_bound_key(m, i, to);
		key = key && own ? ir_binary(to ? IR_MIN : IR_MAX, key, own) : own ? own : key;
	}
	if (!key)
		return;
	struct attend_function f = attend_begin(at, b, to ? ATTEND_KEPT_TO : ATTEND_KEPT_FROM, true, false, NULL, 0);
	f.lambda->value = attend_here(&f, key);
}

static void emit_bounds(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	if (!m->bounds)
		return;
	emit_kept(at, b, m, false);
	emit_kept(at, b, m, true);
	emit_bounds_of(at, b, m, false);
	emit_bounds_of(at, b, m, true);
}

void attend_mma_inputs(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	const struct attend *a = &m->a;
	struct attend_function f = attend_begin(at, b, ATTEND_QUERY, true, false, "r", a->size);
	f.lambda->value = attend_here(&f, m->query_pairs ? flat_place(m, m->query) : m->query);
	if (!at->map) {
		emit_keys(at, b, ATTEND_KEY, m, m->key, "r", a->size);
		emit_keys(at, b, ATTEND_VALUE, m, m->value, "s", a->value_size);
	}
	if (m->score)
		attend_emit_score(at, b, m->score);
	emit_bounds(at, b, m);
}

void attend_mma_results(struct attend_place *at, struct ir_block *b, const struct attend_mma *m)
{
	const struct attend *a = &m->a;
	attend_emit_softmax(at, b);
	struct attend_function f = attend_begin(at, b, ATTEND_RESULT, true, false, "s", a->value_size);
	attend_parameter(&f, a->total);
	attend_parameter(&f, attend_largest(a));
	attend_parameter(&f, attend_sum(a));
	attend_parameter(&f, m->inverse);
	f.lambda->value = attend_here(&f, m->result);
	f = attend_begin(at, b, ATTEND_PLACE, true, false, "s", a->value_size);
	f.lambda->value = attend_here(&f, a->at);
}

/* Adds a function of the kernel as an argument, or the default in its place. */
void attend_mma_add_kept(struct ir_call *call, const struct attend_place *at, enum attend_role role)
{
	if (at->function[role])
		add_variable(at->a->p, call, at->function[role]);
	else
		add_object(at->a->p, call,
		           role == ATTEND_KEPT_FROM || role == ATTEND_KEPT_TO ? &device_attention_unbounded
		                                                              : &device_attention_always,
		           IR_OF_NOTHING, NULL);
}

/* Adds a tensor map, and the block's place in its further dimensions. */
static void add_map(struct ir_call *call, const struct attend_place *at, const struct attend_map *m)
{
	struct ir_program *p = at->a->p;
	expr place[IR_MAP_RANK - 2];
	for (int i = 0; i < IR_MAP_RANK - 2; i++)
		place[i] = i + 2 >= m->map.rank            ? ir_index(p->pool, 0)
		           : m->axis[i + 2] == at->a->head ? at->group
		                                           : at->axis[m->axis[i + 2]];
	add_variable(p, call, m->map.var);
	add_place(p, call, IR_MAP_RANK - 2, place);
}

void attend_mma_add_inputs(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m,
                           const struct ir_variable *slots, expr first)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	expr zero = ir_index(p->pool, 0);
	add_variable(p, call, slots);
	add_value(p, call, first);
	add_value(p, call, attend_queries(a));
	add_value(p, call, a->dim[a->rows]);
	if (m->query_pairs)
		add_address(p, call, m->query->buf, zero, false);
	else
		add_object(p, call, &device_attention_elements, IR_OF_NOTHING, NULL);
	add_variable(p, call, at->function[ATTEND_QUERY]);
	if (at->map) {
		add_map(call, at, &at->map[0]);
		add_map(call, at, &at->map[1]);
	} else {
		add_address(p, call, m->key->buf, zero, false);
		add_variable(p, call, at->function[ATTEND_KEY]);
		add_address(p, call, m->value->buf, zero, false);
		add_variable(p, call, at->function[ATTEND_VALUE]);
	}
	if (m->score)
		add_variable(p, call, at->function[ATTEND_SCORE]);
	else
		add_object(p, call, &device_attention_scaled, IR_OF(IR_TYPE(m->rounded)),
		           ir_float(p->pool, TYPE_F32, m->scale));
	attend_mma_add_kept(call, at, ATTEND_KEPT_FROM);
	attend_mma_add_kept(call, at, ATTEND_KEPT_TO);
	attend_mma_add_kept(call, at, ATTEND_KEPT_SOME);
	attend_mma_add_kept(call, at, ATTEND_KEPT_ALL);
}

void attend_mma_add_results(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	add_variable(p, call, at->function[ATTEND_LARGEST]);
	add_variable(p, call, at->function[ATTEND_SUM]);
	add_variable(p, call, at->function[ATTEND_RESULT]);
	add_address(p, call, a->out, ir_index(p->pool, 0), true);
	add_variable(p, call, at->function[ATTEND_PLACE]);
}

void attend_mma_arguments(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m,
                          const struct ir_variable *slots, expr first)
{
	attend_mma_add_inputs(call, at, m, slots, first);
	attend_mma_add_results(call, at, m);
}

expr attend_mma_tile(struct attend_place *at, struct ir_block *b, const struct attend_mma *m, int queries, expr tile)
{
	at->uneven = m->bounds;
	expr first = attend_block(at, b, queries, tile);
	attend_mma_inputs(at, b, m);
	attend_mma_results(at, b, m);
	return first;
}

expr attend_mma_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_mma *m, int queries)
{
	struct attend_place alone = { .a = &m->a, .uneven = m->bounds };
	k->blocks = attend_blocks(&m->a, queries);
	expr block = ir_block(m->a.p->pool, k->blocks);
	attend_serial(&alone, &k->serial, queries, attend_block(&alone, &k->serial, queries, block));
	return attend_mma_tile(at, &k->body, m, queries, block);
}
