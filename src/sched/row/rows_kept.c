/* Finds values of an element that several stages need, and keeps them in registers. See rows.h. */
#include "sched/row/rows.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

struct find_work {
	bool found;
};

static void node_work(void *user, expr e)
{
	struct find_work *f = user;
	f->found |= e->op == IR_POW || (ir_op_info[e->op].kind == IR_CALL && e->op > IR_SQRT);
}

bool rows_kept_work(expr e)
{
	struct find_work f = { false };
	ir_walk(e, node_work, &f);
	return f.found;
}

/* ---- Common values. Variables whose meaning depends on the stage (axes, vectors along the row) are distinct in each
 * stage, so that equal expressions in two stages have equal values. */

struct common {
	struct rows_kept *k;
	int stage;
	bool much;   /* all stages together do much work per element */
	bool *later; /* by node: occurs in a later stage */
	bool *seen;
	uint32_t n;
};

/* True if the value is worth a register: it calls functions or, if there is much work, has f32 arithmetic, which reuses
 * its inputs' registers. Measured on an H100: norms with an activation, a quantisation or a sum before them take 2 to
 * 5 % less time, a plain norm the same. Keeping only a conversion costs more in occupancy than it saves. */
static bool worth_keeping(const struct common *c, expr e)
{
	return rows_kept_work(e) || (c->much && e->type == TYPE_F32 && ir_cost(e) > 1);
}

/* Searches from the root, to find the largest; skips conditional operands, which may never be computed. */
static void find_common(struct common *c, expr e)
{
	if (c->k->n == ROWS_MAX_KEPT || c->seen[e->id] || e->op == IR_VAR || e->op == IR_ELEMENT)
		return;
	c->seen[e->id] = true;
	if (c->later[e->id] && worth_keeping(c, e)) {
		for (int i = 0; i < c->k->n; i++)
			if (c->k->value[i] == e)
				return;
		c->k->from[c->k->n] = c->stage;
		c->k->value[c->k->n++] = e;
		return;
	}
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; i < (lazy ? 1 : e->n); i++)
		find_common(c, e->arg[i]);
}

static void mark_node(void *user, expr e)
{
	struct common *c = user;
	if (e->id < c->n)
		c->later[e->id] = true;
}

void rows_kept_find(struct rows_kept *k, int stages, const expr *value)
{
	enum { MUCH = 16 };
	int work = 0;
	for (int i = 0; i < stages; i++)
		work += value[i] ? ir_cost(value[i]) : 0;
	k->n = 0;
	for (int i = 0; i < stages; i++) {
		if (!value[i])
			continue;
		struct arena *scratch = arena_new();
		uint32_t n = value[i]->id + 1;
		struct common c = { k, i, work > MUCH, NEWN(scratch, bool, n), NEWN(scratch, bool, n), n };
		for (int j = i + 1; j < stages; j++)
			if (value[j])
				ir_walk(value[j], mark_node, &c);
		find_common(&c, value[i]);
		arena_free(scratch);
	}
}

/* ---- Keeping. */

struct replace {
	const struct rows_kept *k;
	int n; /* number of values */
	struct ir_program *p;
	expr step, item;
};

/* Visits shared nodes once. A node has at most as many operands as a load has axes. */
static expr replace(const struct replace *r, expr *done, expr e)
{
	expr arg[IR_MAX_RANK];
	if (done[e->id])
		return done[e->id];
	for (int i = 0; i < r->n && !done[e->id]; i++)
		if (r->k->value[i] == e)
			done[e->id] = item_of_row(r->k->array[i], r->step, r->item);
	if (done[e->id])
		return done[e->id];
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_ELEMENT)
		return done[e->id] = e;
	for (int i = 0; i < e->n; i++)
		arg[i] = replace(r, done, e->arg[i]);
	return done[e->id] = e->op == IR_LOAD ? ir_load(r->p->pool, e->buf, arg) : ir_rebuild(e, arg);
}

/* Replaces the first n kept values. */
static expr with_kept(const struct rows_kept *k, int n, struct ir_program *p, expr value, expr step, expr item)
{
	struct replace r = { k, n, p, step, item };
	struct arena *scratch = arena_new();
	value = replace(&r, NEWN(scratch, expr, value->id + 1), value);
	arena_free(scratch);
	return value;
}

expr rows_keep(const struct rows_kept *k, struct ir_program *p, struct ir_block *b, int stage, expr value, expr step,
               expr item)
{
	for (int i = 0; i < k->n; i++) {
		if (k->from[i] != stage)
			continue;
		emit_set_in_row(p, b, k->array[i], step, item, with_kept(k, i, p, k->value[i], step, item));
	}
	return with_kept(k, k->n, p, value, step, item);
}

/* ---- What keeping saves, for the estimate: before kernels exist, a load of a row is a variable of its buffer. */

struct in_row {
	const struct rows *r;
	const struct rows_stage *st;
};

static expr element_of_row(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct in_row *in = user;
	(void)arg;
	bool in_registers =
	        e->op == IR_LOAD && (rows_cached_of(in->r, in->st, e) >= 0 || rows_value_of(in->r, in->st, e) >= 0 ||
	                             rows_runs_along(in->r, in->st, e) || rows_is_of_row(in->r, in->st, e));
	return in_registers ? ir_var_of(ir_variable_of(pool, e->type, e->buf, IR_HOLDS_VALUE, 0, "this"), NULL) : NULL;
}

expr rows_run(const struct rows *r)
{
	expr run = NULL;
	for (int i = 0; i < r->stages; i++) {
		const struct rows_stage *st = &r->stage[i];
		bool used[2 * IR_MAX_RANK] = { false };
		int last = st->rank - 1;
		expr own = ir_index(r->p->pool, 1);
		if (rows_of_values(st))
			continue;
		ir_mark_axes(ir_copy(r->p->pool, st->value, element_of_row, &(struct in_row){ r, st }), used);
		for (; last >= st->row_rank && (!used[last] || ir_is_int(st->dim[last], 1)); last--)
			own = ir_binary(IR_MUL, own, st->dim[last]);
		if (last < st->row_rank)
			continue;
		if (ir_is_int(own, 1) || (run && run != own))
			return NULL;
		run = own;
	}
	return run;
}

int rows_spared(const struct rows *r)
{
	struct arena *scratch = arena_new();
	struct ir_pool *pool = ir_pool_new(scratch);
	struct ir_program p = { .arena = scratch, .pool = pool };
	struct rows_kept kept = { .n = 0 };
	expr value[ROWS_MAX_STAGES] = { NULL }, none = ir_index(pool, 0);
	int spared = 0;
	for (int i = 0; i < r->stages; i++)
		if (!rows_of_values(&r->stage[i]))
			value[i] =
			        ir_copy(pool, r->stage[i].value, element_of_row, &(struct in_row){ r, &r->stage[i] });
	rows_kept_find(&kept, r->stages, value);
	for (int i = 0; i < kept.n; i++)
		kept.array[i] = ir_variable_new(pool, kept.value[i]->type, "kept");
	for (int i = 0; i < r->stages && kept.n; i++) {
		if (!value[i])
			continue;
		spared += ir_cost(r->stage[i].value) - ir_cost(with_kept(&kept, kept.n, &p, value[i], none, none));
		for (int j = 0; j < kept.n; j++)
			if (kept.from[j] == i)
				spared -= ir_cost(with_kept(&kept, j, &p, kept.value[j], none, none));
	}
	arena_free(scratch);
	return spared;
}
