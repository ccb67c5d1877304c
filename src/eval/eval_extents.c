/* Extents of a run: the values of symbols, the extents of buffers, and the demands on them. See code.h. */
#include "eval/code.h"

static void walk(struct map *seen, expr e, void (*fn)(void *user, expr e), void *user)
{
	if (map_get_u64(seen, e->id))
		return;
	map_put_u64(seen, e->id, seen);
	for (int k = 0; k < e->n; k++)
		walk(seen, e->arg[k], fn, user);
	fn(user, e);
}

void eval_walk(struct arena *a, expr e, void (*fn)(void *user, expr e), void *user)
{
	struct map seen = map_new(a);
	walk(&seen, e, fn, user);
}

bool eval_symbol_value(void *run, expr symbol, int64_t *value)
{
	const int64_t *known = map_get_u64(&((struct eval_run *)run)->symbols, symbol->id);
	if (known)
		*value = *known;
	return known != NULL;
}

struct unknown {
	struct eval_run *run;
	expr symbol;
};

static void find_unknown(void *user, expr e)
{
	struct unknown *u = user;
	int64_t value;
	if (e->op == IR_SYMBOL && !u->symbol && !eval_symbol_value(u->run, e, &value))
		u->symbol = e;
}

int eval_extent(struct eval_run *run, expr e, int64_t *out)
{
	struct unknown unknown = { run, NULL };
	if (ir_eval_int(e, eval_symbol_value, run, out) && *out >= 0)
		return 0;
	eval_walk(run->arena, e, find_unknown, &unknown);
	if (unknown.symbol)
		return err_set(run->err, ERR_MODEL, "Program %s: no input gives symbol %s a value.", run->program->name,
		               unknown.symbol->name);
	struct str text = str_new(run->arena);
	ir_print_expr(&text, e, 0);
	return err_set(run->err, ERR_MODEL, "Program %s: the extent %s is not a number of elements.",
	               run->program->name, str_text(&text));
}

struct open {
	const struct eval_run *run;
	bool found;
};

static void find_open(void *user, expr e)
{
	struct open *o = user;
	int64_t unused;
	if (ir_size_find(o->run->program, e))
		o->found |= !eval_symbol_value((void *)(uintptr_t)o->run, e, &unused);
}

bool eval_size_open(struct eval_run *run, const struct ir_buffer *b)
{
	struct open o = { run, false };
	for (int k = 0; k < b->rank && run->program->sizes.n; k++)
		eval_walk(run->arena, b->dim[k], find_open, &o);
	return o.found;
}

int eval_buffer_extents(struct eval_run *run, const struct ir_buffer *b)
{
	struct eval_buffer *x = &run->buffer[b->id];
	int64_t unused;
	x->type = b->type;
	x->rank = b->rank;
	x->count = 1;
	x->open = eval_size_open(run, b);
	if (x->open)
		return 0;
	for (int k = 0; k < b->rank; k++) {
		TRY(eval_extent(run, b->dim[k], &x->dim[k]));
		if (__builtin_mul_overflow(x->count, x->dim[k], &x->count))
			return err_set(run->err, ERR_MODEL, "Program %s: buffer %s is too large.", run->program->name,
			               b->name);
	}
	if (type_bytes(b->type, x->count) < 0 || __builtin_mul_overflow(x->count, 16, &unused))
		return err_set(run->err, ERR_UNSUPPORTED, "Program %s: buffer %s of type %s cannot be interpreted.",
		               run->program->name, b->name, type_name(b->type));
	return 0;
}

/* Skips demands on sizes that are not computed yet. */
int eval_demands_check(struct eval_run *run)
{
	vec_each (d, &run->program->demands)
		TRY(ir_demand_check(run->program, d, eval_symbol_value, run, run->arena, run->err));
	return 0;
}
