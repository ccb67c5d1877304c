/* The pool of unique expressions, and leaves. Simplification of operations is in simplify.c and poly.c. */
#include "ir/pool.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/number.h"

const struct ir_op_info ir_op_info[IR_OP_COUNT] = {
#define LEAF IR_LEAF
#define LOAD IR_LOAD_KIND
#define INFIX IR_INFIX
#define CALL IR_CALL
#define SPECIAL IR_SPECIAL
#define IR_OP(name, text, arity, kind, ctext) [IR_##name] = { text, arity, kind, ctext },
#include "ir/ir.def"
#undef IR_OP
};

struct ir_pool *ir_pool_new(struct arena *a)
{
	struct ir_pool *p = NEW(a, struct ir_pool);
	p->arena = a;
	return p;
}

uint32_t ir_pool_size(const struct ir_pool *p)
{
	return p->count;
}

/* ---- Variables. */

static struct ir_variable *variable_new(struct ir_pool *p, enum ir_variable_kind kind, enum type t, const char *hint)
{
	struct ir_variable *v = NEW(p->arena, struct ir_variable);
	*v = (struct ir_variable){ .kind = kind, .hint = hint, .type = t, .number = p->variables++, .pool = p };
	return v;
}

struct ir_variable *ir_variable_new(struct ir_pool *p, enum type t, const char *hint, ...)
{
	va_list ap;
	va_start(ap, hint);
	const char *text = arena_vprintf(p->arena, hint, ap);
	va_end(ap);
	return variable_new(p, IR_OWN, t, text);
}

/* The unique variable of that key. */
static struct ir_variable *derived(struct map *m, struct ir_pool *p, enum ir_variable_kind kind, enum type t,
                                   const char *key, const char *hint)
{
	if (!m->arena)
		*m = map_new(p->arena);
	struct ir_variable *v = map_get(m, key);
	if (!v) {
		v = variable_new(p, kind, t, hint);
		map_put(m, key, v);
	}
	return v;
}

void ir_variables_begin(struct ir_pool *p)
{
	p->of_kernel = map_new(p->arena);
}

struct ir_variable *ir_variable_of(struct ir_pool *p, enum type t, const struct ir_buffer *of, enum ir_holds holds,
                                   int number, const char *hint, ...)
{
	va_list ap;
	va_start(ap, hint);
	const char *text = arena_vprintf(p->arena, hint, ap);
	va_end(ap);
	return derived(&p->of_kernel, p, IR_OWN, t,
	               arena_printf(p->arena, "%d %p %d %d", t, (const void *)of, holds, number), text);
}

static struct ir_variable *special(struct ir_pool *p, enum ir_variable_kind kind, enum type t, const char *name)
{
	return derived(&p->derived, p, kind, t, arena_printf(p->arena, "%d\n%d\n%s", kind, t, name),
	               arena_strdup(p->arena, name));
}

struct ir_variable *ir_variable_called(struct ir_pool *p, enum type t, const char *name)
{
	return special(p, IR_CALLED, t, name);
}

struct ir_variable *ir_variable_of_symbol(expr symbol)
{
	struct ir_variable *v = special(symbol->pool, IR_SYMBOL_HOLDER, TYPE_INDEX, symbol->name);
	v->symbol = symbol;
	return v;
}

void ir_variable_dims(struct ir_variable *array, int rank, const int *dim)
{
	ck(rank <= IR_ARRAY_RANK && (!array->rank || (array->rank == rank && array->dim[0] == dim[0])));
	array->rank = rank;
	for (int i = 0; i < rank; i++)
		array->dim[i] = dim[i];
}

/* ---- Nodes. */

static uint64_t payload_hash(const struct ir_expr *e)
{
	switch (e->op) {
	case IR_CONST_INT:
	case IR_AXIS: return (uint64_t)e->i;
	case IR_CONST_FLOAT: return hash_bytes(1, &e->f, sizeof e->f);
	case IR_SYMBOL: return hash_str(2, e->name);
	case IR_VAR:
	case IR_ELEMENT: return hash_u64(2, (uintptr_t)e->var);
	case IR_LOAD: return hash_u64(3, (uintptr_t)e->buf);
	default: return 0;
	}
}

static bool same_payload(const struct ir_expr *a, const struct ir_expr *b)
{
	switch (a->op) {
	case IR_CONST_INT:
	case IR_AXIS: return a->i == b->i;
	case IR_CONST_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
	case IR_SYMBOL: return strcmp(a->name, b->name) == 0;
	case IR_VAR:
	case IR_ELEMENT: return a->var == b->var;
	case IR_LOAD: return a->buf == b->buf;
	default: return true;
	}
}

static void grow(struct ir_pool *p)
{
	uint32_t slots = p->slots ? p->slots * 2 : 256;
	expr *slot = NEWN(p->arena, expr, slots);
	for (uint32_t i = 0; i < p->slots; i++) {
		if (!p->slot[i])
			continue;
		uint32_t j = (uint32_t)p->slot[i]->hash & (slots - 1);
		while (slot[j])
			j = (j + 1) & (slots - 1);
		slot[j] = p->slot[i];
	}
	p->slot = slot;
	p->slots = slots;
}

/* Returns the unique node of this content, without simplifying. `proto` holds op, type and the union. */
static expr node_of(struct ir_pool *p, const struct ir_expr *proto, int n, const expr *arg)
{
	uint64_t hash = hash_u64((uint64_t)proto->op * 64 + (uint64_t)proto->type, payload_hash(proto));
	for (int i = 0; i < n; i++)
		hash = hash_u64(hash, arg[i]->hash);
	if (2 * (p->count + 1) > p->slots)
		grow(p);
	uint32_t j = (uint32_t)hash & (p->slots - 1);
	for (; p->slot[j]; j = (j + 1) & (p->slots - 1)) {
		expr e = p->slot[j];
		if (e->hash == hash && e->op == proto->op && e->type == proto->type && e->n == n &&
		    (n == 0 || memcmp(e->arg, arg, sizeof *arg * (size_t)n) == 0) && same_payload(e, proto))
			return e;
	}
	struct ir_expr *e = arena_alloc(p->arena, sizeof *e + sizeof *arg * (size_t)n);
	*e = *proto;
	e->n = n;
	e->hash = hash;
	e->pool = p;
	e->id = p->count++;
	e->varies = e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_LOAD || e->op == IR_ACC;
	e->from = e->op == IR_LOAD ? ir_buffer_bit(e->buf) : 0;
	e->depth = 0;
	e->size = 1;
	for (int i = 0; i < n; i++) {
		e->arg[i] = arg[i];
		e->varies |= arg[i]->varies;
		e->from |= arg[i]->from;
		e->depth = arg[i]->depth < e->depth ? e->depth : arg[i]->depth + 1;
		if (e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT)
			continue;
		if (__builtin_add_overflow(e->size, arg[i]->size, &e->size))
			e->size = UINT32_MAX;
	}
	if (e->op == IR_SYMBOL)
		e->name = arena_strdup(p->arena, e->name);
	p->slot[j] = e;
	return e;
}

expr ir_node_op(enum ir_op op, enum type t, int n, const expr *arg)
{
	for (int i = 1; i < n; i++)
		ck(arg[i]->pool == arg[0]->pool);
	return node_of(arg[0]->pool, &(struct ir_expr){ .op = op, .type = t }, n, arg);
}

int64_t ir_wrap(enum type t, int64_t x)
{
	switch (t) {
	case TYPE_BOOL: return x != 0;
	case TYPE_I8: return (int8_t)x;
	case TYPE_U8: return (uint8_t)x;
	case TYPE_I16: return (int16_t)x;
	case TYPE_U16: return (uint16_t)x;
	case TYPE_I32: return (int32_t)x;
	case TYPE_U32: return (uint32_t)x;
	default: return x;
	}
}

expr ir_int(struct ir_pool *p, enum type t, int64_t x)
{
	return node_of(p, &(struct ir_expr){ .op = IR_CONST_INT, .type = t, .i = ir_wrap(t, x) }, 0, NULL);
}

expr ir_float(struct ir_pool *p, enum type t, double x)
{
	double rounded = isnan(x) ? x : type_round(t, x, false);
	if (isnan(rounded))
		rounded = NAN; /* one canonical NaN, also for types without infinity */
	return node_of(p, &(struct ir_expr){ .op = IR_CONST_FLOAT, .type = t, .f = rounded }, 0, NULL);
}

expr ir_const(struct ir_pool *p, enum type t, double x)
{
	return type_is_float(t) ? ir_float(p, t, x) : ir_int(p, t, number_int(x));
}

expr ir_index(struct ir_pool *p, int64_t x)
{
	return ir_int(p, TYPE_INDEX, x);
}

expr ir_symbol(struct ir_pool *p, const char *name)
{
	return node_of(p, &(struct ir_expr){ .op = IR_SYMBOL, .type = TYPE_INDEX, .name = name }, 0, NULL);
}

expr ir_axis(struct ir_pool *p, int axis, expr extent)
{
	if (ir_is_int(extent, 1))
		return ir_index(p, 0);
	return node_of(p, &(struct ir_expr){ .op = IR_AXIS, .type = TYPE_INDEX, .i = axis }, 1, &extent);
}

expr ir_acc(struct ir_pool *p, enum type t)
{
	return node_of(p, &(struct ir_expr){ .op = IR_ACC, .type = t }, 0, NULL);
}

expr ir_var_of(const struct ir_variable *v, expr extent)
{
	return node_of(v->pool, &(struct ir_expr){ .op = IR_VAR, .type = v->type, .var = v }, extent ? 1 : 0, &extent);
}

expr ir_var_multiple(const struct ir_variable *v, expr extent, int64_t multiple)
{
	if (multiple <= 1 || !extent)
		return ir_var_of(v, extent);
	expr arg[] = { extent, ir_index(v->pool, multiple) };
	return node_of(v->pool, &(struct ir_expr){ .op = IR_VAR, .type = TYPE_INDEX, .var = v }, 2, arg);
}

expr ir_var(struct ir_pool *p, enum type t, const char *name, expr extent)
{
	return ir_var_of(ir_variable_called(p, t, name), extent);
}

expr ir_some(struct ir_pool *p, enum type t, expr extent)
{
	return ir_var_of(ir_variable_new(p, t, "some"), extent);
}

expr ir_element_of(const struct ir_variable *array, int n, const expr *index)
{
	for (int i = 0; i < n; i++)
		ck(index[i]->type == TYPE_INDEX);
	return node_of(array->pool, &(struct ir_expr){ .op = IR_ELEMENT, .type = array->type, .var = array }, n, index);
}

expr ir_thread(struct ir_pool *p, expr extent)
{
	return ir_var_of(special(p, IR_THREAD_NUMBER, TYPE_INDEX, "threadIdx.x"), extent);
}

expr ir_block(struct ir_pool *p, expr extent)
{
	return ir_var_of(special(p, IR_BLOCK_NUMBER, TYPE_INDEX, "blockIdx.x"), extent);
}

const struct ir_variable *ir_shared_memory(struct ir_pool *p)
{
	return special(p, IR_SHARED_MEMORY, TYPE_NONE, "shared_memory");
}

expr ir_load(struct ir_pool *p, const struct ir_buffer *buf, const expr *index)
{
	for (int i = 0; i < buf->rank; i++)
		ck(index[i]->type == TYPE_INDEX);
	/* Elements of constants at constant positions are numbers. */
	if (buf->role == IR_CONSTANT && !buf->weight) {
		int64_t at = 0, i;
		bool known = tensor_count(buf->data) > 0;
		for (int k = 0; k < buf->rank && known; k++) {
			if (buf->data->dim[k] == 1)
				i = 0;
			else
				known = ir_const_int(index[k], &i) && i >= 0 && i < buf->data->dim[k];
			at = at * buf->data->dim[k] + (known ? i : 0);
		}
		if (known && type_is_float(buf->type))
			return ir_float(p, buf->type, tensor_float(buf->data, at));
		if (known)
			return ir_int(p, buf->type, tensor_int(buf->data, at));
	}
	return node_of(p, &(struct ir_expr){ .op = IR_LOAD, .type = buf->type, .buf = buf }, buf->rank, index);
}

bool ir_const_int(expr e, int64_t *x)
{
	if (e->op != IR_CONST_INT)
		return false;
	*x = e->i;
	return true;
}

bool ir_is_int(expr e, int64_t x)
{
	return e->op == IR_CONST_INT && e->i == x;
}

bool ir_is_zero(expr e)
{
	return (e->op == IR_CONST_FLOAT && e->f == 0) || ir_is_int(e, 0);
}

/* Axes first, then variables, then the rest, then symbols. */
static int rank_of(expr e)
{
	switch (e->op) {
	case IR_AXIS: return 0;
	case IR_VAR:
	case IR_ELEMENT: return 1;
	case IR_SYMBOL: return 3;
	default: return 2;
	}
}

static int compare(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_integers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Variables known by their names are ordered by these; a kernel's own as they were made. */
static int order_variables(const struct ir_variable *a, const struct ir_variable *b)
{
	static const int rank[] = {
		[IR_BLOCK_NUMBER] = 0, [IR_THREAD_NUMBER] = 1, [IR_SHARED_MEMORY] = 2,
		[IR_CALLED] = 3,       [IR_SYMBOL_HOLDER] = 4, [IR_OWN] = 5,
	};
	if (rank[a->kind] != rank[b->kind])
		return rank[a->kind] - rank[b->kind];
	int c = a->kind == IR_CALLED || a->kind == IR_SYMBOL_HOLDER ? strcmp(a->hint, b->hint) : 0;
	return c ? c : compare_integers(a->number, b->number);
}

static int order_payloads(expr a, expr b)
{
	switch (a->op) {
	case IR_AXIS:
	case IR_CONST_INT: return compare_integers(a->i, b->i);
	case IR_CONST_FLOAT: return compare(a->f, b->f);
	case IR_SYMBOL: return strcmp(a->name, b->name);
	case IR_LOAD: return a->buf->id - b->buf->id;
	default: return 0;
	}
}

/* By structure alone: equal kernels have equal texts, whatever was made before them. */
int ir_order(expr a, expr b)
{
	if (a == b)
		return 0;
	if (rank_of(a) != rank_of(b))
		return rank_of(a) - rank_of(b);
	int c = rank_of(a) == 1 ? order_variables(a->var, b->var) : 0;
	if (!c)
		c = compare_integers(a->op, b->op);
	if (!c)
		c = compare_integers(a->type, b->type);
	if (!c)
		c = order_payloads(a, b);
	if (!c)
		c = compare_integers(a->n, b->n);
	for (int i = 0; i < a->n && !c; i++)
		c = ir_order(a->arg[i], b->arg[i]);
	return c ? c : compare_integers(a->id, b->id);
}
