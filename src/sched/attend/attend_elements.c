/* Elements of queries, keys and values for attention by ordinary arithmetic. See attend_kernel.h. */
#include "sched/attend/attend_kernel.h"
#include "sched/build/emit.h"

enum type attend_type(const struct attend *a)
{
	bool f64 = a->product->type == TYPE_F64 || a->total->type == TYPE_F64;
	return f64 ? TYPE_F64 : TYPE_F32;
}

/* True if e is a load of the arithmetic's type, of which four are contiguous at each multiple of four. */
static bool is_load_of_four(const struct attend *a, expr e, int size)
{
	struct ir_pool *pool = a->p->pool;
	if (e->op != IR_LOAD || e->type != attend_type(a) || e->type != TYPE_F32 || size % 4)
		return false;
	expr flat = ir_flat(pool, e->buf, e->arg), stride = ir_stride(flat, a->rows + 1);
	if (!stride || !ir_is_int(stride, 1))
		return false;
	expr rest = ir_binary(IR_SUB, flat, ir_axis(pool, a->rows + 1, ir_index(pool, size)));
	return ir_is_int(ir_binary(IR_MOD, rest, ir_index(pool, 4)), 0);
}

/* Returns what a kernel's function of an element returns: its position, or the element. */
static expr element(const struct attend *a, expr e, int size)
{
	return is_load_of_four(a, e, size) ? ir_flat(a->p->pool, e->buf, e->arg) : e;
}

void attend_emit_elements(struct attend_place *at, struct ir_block *b)
{
	const struct attend *a = at->a;
	struct attend_function f = attend_begin(at, b, ATTEND_QUERY, true, false, "r", a->size);
	f.lambda->value = attend_here(&f, element(a, a->query, a->size));
	f = attend_begin(at, b, ATTEND_KEY, false, true, "r", a->size);
	f.lambda->value = attend_here(&f, element(a, a->key, a->size));
	f = attend_begin(at, b, ATTEND_VALUE, false, true, "s", a->value_size);
	f.lambda->value = attend_here(&f, element(a, a->value, a->value_size));
}

static void add_elements(struct ir_call *call, const struct attend_place *at, expr e, int size, enum attend_role role)
{
	struct ir_program *p = at->a->p;
	if (is_load_of_four(at->a, e, size))
		add_address(p, call, e->buf, ir_index(p->pool, 0), false);
	else
		add_object(p, call, &device_attention_elements, IR_OF_NOTHING, NULL);
	add_variable(p, call, at->function[role]);
}

void attend_add_elements(struct ir_call *call, const struct attend_place *at)
{
	const struct attend *a = at->a;
	add_elements(call, at, a->query, a->size, ATTEND_QUERY);
	add_elements(call, at, a->key, a->size, ATTEND_KEY);
	add_elements(call, at, a->value, a->value_size, ATTEND_VALUE);
}
