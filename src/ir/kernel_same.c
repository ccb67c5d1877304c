/* Compares kernels: two are the same function if they have the same text except for names, arguments of the same types
 * in the same order, and the same number of threads. Layers of a model that repeat often have such kernels. */
#include "ir/kernel_same.h"

#include <string.h>

/* Pairs a and b. Returns 1 if they are a pair already, 0 if they now are, -1 if one of them is in another pair. */
static int pair_up(struct same *s, const void *a, const void *b)
{
	const void *there = map_get_u64(&s->there, (uintptr_t)a), *back = map_get_u64(&s->back, (uintptr_t)b);
	if (there || back)
		return there == b && back == a ? 1 : -1;
	map_put_u64(&s->there, (uintptr_t)a, (void *)(uintptr_t)b);
	map_put_u64(&s->back, (uintptr_t)b, (void *)(uintptr_t)a);
	return 0;
}

/* The address of a buffer's element tells as much about alignment in both. */
static bool same_parity(const struct ir_buffer *a, const struct ir_buffer *b)
{
	bool even[2] = { false, false };
	for (int k = 0; k < a->rank; k++)
		even[0] |= ir_multiple(a->dim[k]) % 2 == 0;
	for (int k = 0; k < b->rank; k++)
		even[1] |= ir_multiple(b->dim[k]) % 2 == 0;
	return even[0] == even[1];
}

static bool is_constant(const struct ir_program *p, const struct ir_buffer *view)
{
	return p->buffers.at[view->id]->role == IR_CONSTANT;
}

/* True if the arguments can be each other's. Buffers that only read constants may be read early. */
static bool same_argument(const struct same *s, const struct ir_buffer *a, const struct ir_buffer *b)
{
	const struct ir_kernel *first = s->kernel[0], *second = s->kernel[1];
	return a->type == b->type && is_constant(s->program, a) == is_constant(s->program, b) && same_parity(a, b) &&
	       ir_kernel_writes(first, a) == ir_kernel_writes(second, b) &&
	       ir_kernel_exchanges(first, a) == ir_kernel_exchanges(second, b);
}

/* Arrays in shared memory are pairs already; arguments become pairs where they are first used. */
static bool same_buffer(struct same *s, const struct ir_buffer *a, const struct ir_buffer *b)
{
	if (!a || !b)
		return a == b;
	int paired = pair_up(s, a, b);
	return paired == 1 || (paired == 0 && same_argument(s, a, b));
}

static bool same_object(const struct ir_object *a, const struct ir_object *b)
{
	return a && b ? a->type == b->type && ir_template_same(&a->of, &b->of) : a == b;
}

static bool same_variable(struct same *s, const struct ir_variable *a, const struct ir_variable *b)
{
	if (!a || !b)
		return a == b;
	int paired = pair_up(s, a, b);
	return paired == 1 || (paired == 0 && a->kind == b->kind && a->type == b->type &&
	                       same_object(a->object, b->object) && (a->kind != IR_SYMBOL_HOLDER || a == b) &&
	                       a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0);
}

static bool same_payload(struct same *s, expr a, expr b)
{
	switch (a->op) {
	case IR_VAR:
	case IR_ELEMENT: return same_variable(s, a->var, b->var);
	case IR_LOAD: return same_buffer(s, a->buf, b->buf);
	case IR_AXIS: return a->i == b->i;
	default: return a->n > 0; /* leaves without names are unique in their pool */
	}
}

bool same_expr(struct same *s, expr a, expr b)
{
	if (!a || !b)
		return a == b;
	uint64_t pair = (uint64_t)a->id << 32 | b->id;
	if (map_get_u64(&s->known, pair))
		return true;
	if (a->op != b->op || a->type != b->type || a->n != b->n ||
	    ((a != b || a->op == IR_VAR || a->op == IR_ELEMENT || a->op == IR_LOAD) && !same_payload(s, a, b)))
		return false;
	for (int i = 0; i < a->n; i++)
		if (!same_expr(s, a->arg[i], b->arg[i]))
			return false;
	map_put_u64(&s->known, pair, s);
	return true;
}

static bool same_value(struct same *s, const struct ir_stmt *at, expr a, expr b)
{
	return s->value ? s->value(s, at, a, b) : same_expr(s, a, b);
}

static bool same_call(struct same *s, const struct ir_call *a, const struct ir_call *b);

static bool same_arg(struct same *s, const struct ir_arg *a, const struct ir_arg *b)
{
	bool same = a->kind == b->kind && same_variable(s, a->var, b->var) && a->member == b->member &&
	            same_expr(s, a->value, b->value) && same_expr(s, a->at, b->at) && a->indices == b->indices &&
	            same_buffer(s, a->buf, b->buf) && a->written == b->written && same_object(a->type, b->type) &&
	            same_call(s, a->call, b->call);
	for (int i = 0; i < a->indices && same; i++)
		same = same_expr(s, a->index[i], b->index[i]);
	return same;
}

static bool same_call(struct same *s, const struct ir_call *a, const struct ir_call *b)
{
	if (!a || !b)
		return a == b;
	bool same = a->function == b->function && ir_template_same(&a->of, &b->of) &&
	            same_variable(s, a->object, b->object) && same_variable(s, a->result, b->result) &&
	            a->args.n == b->args.n;
	for (int i = 0; i < a->args.n && same; i++)
		same = same_arg(s, &a->args.at[i], &b->args.at[i]);
	return same;
}

static bool same_block(struct same *s, const struct ir_block *a, const struct ir_block *b);

static bool same_loop(struct same *s, const struct ir_for *a, const struct ir_for *b)
{
	return same_expr(s, a->from, b->from) && same_expr(s, a->to, b->to) && same_expr(s, a->step, b->step) &&
	       same_variable(s, a->var, b->var) && a->unrolled == b->unrolled && same_block(s, a->body, b->body);
}

static bool same_vector(struct same *s, const struct ir_vector *a, const struct ir_vector *b)
{
	return same_variable(s, a->array, b->array) && same_expr(s, a->row, b->row) && same_buffer(s, a->buf, b->buf) &&
	       same_expr(s, a->at, b->at) && a->width == b->width && a->once == b->once && a->stands == b->stands &&
	       a->shifted == b->shifted && same_expr(s, a->where, b->where);
}

static bool same_lanes(struct same *s, const struct ir_lanes *a, const struct ir_lanes *b)
{
	return same_variable(s, a->var, b->var) && same_variable(s, a->index, b->index) &&
	       same_variable(s, a->across, b->across) && a->combine == b->combine && a->lanes == b->lanes &&
	       a->columns == b->columns && a->items == b->items && a->apart == b->apart && a->blocks == b->blocks;
}

static bool same_items(struct same *s, const struct ir_items_scan *a, const struct ir_items_scan *b)
{
	return same_variable(s, a->parts, b->parts) && same_variable(s, a->sum, b->sum) && a->combine == b->combine &&
	       a->lanes == b->lanes && a->columns == b->columns && same_expr(s, a->none, b->none) &&
	       a->exclusive == b->exclusive;
}

static bool same_before(struct same *s, const struct ir_before *a, const struct ir_before *b)
{
	return same_variable(s, a->var, b->var) && same_variable(s, a->part, b->part) && a->combine == b->combine &&
	       same_buffer(s, a->state, b->state) && same_expr(s, a->tile, b->tile) &&
	       same_expr(s, a->tiles, b->tiles) && same_expr(s, a->none, b->none);
}

static bool same_lambda(struct same *s, const struct ir_stmt *at, const struct ir_lambda *a, const struct ir_lambda *b)
{
	bool same = same_variable(s, a->var, b->var) && a->parameters.n == b->parameters.n;
	for (int i = 0; i < a->parameters.n && same; i++)
		same = same_variable(s, a->parameters.at[i], b->parameters.at[i]);
	return same && same_block(s, a->body, b->body) && same_value(s, at, a->value, b->value) &&
	       same_call(s, a->through, b->through);
}

static bool same_sort(struct same *s, const struct ir_sort *a, const struct ir_sort *b)
{
	return same_variable(s, a->rank, b->rank) && same_variable(s, a->place, b->place) &&
	       same_expr(s, a->count, b->count) && same_expr(s, a->of, b->of) && same_expr(s, a->value, b->value) &&
	       a->descending == b->descending && same_block(s, a->body, b->body);
}

/* Ignores comments. */
static bool same_stmt(struct same *s, const struct ir_stmt *a, const struct ir_stmt *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case IR_COMMENT: return true;
	case IR_DECLARE:
		return same_value(s, a, a->declare.value, b->declare.value) &&
		       same_variable(s, a->declare.var, b->declare.var) && a->declare.mutable == b->declare.mutable;
	case IR_ASSIGN:
		return same_variable(s, a->assign.var, b->assign.var) &&
		       same_value(s, a, a->assign.value, b->assign.value);
	case IR_SET:
		return same_variable(s, a->set.array, b->set.array) && same_expr(s, a->set.row, b->set.row) &&
		       same_expr(s, a->set.at, b->set.at) && same_value(s, a, a->set.value, b->set.value);
	case IR_FOR: return same_loop(s, &a->loop, &b->loop);
	case IR_IF:
		return same_expr(s, a->branch.condition, b->branch.condition) &&
		       same_block(s, a->branch.body, b->branch.body);
	case IR_RETURN_IF:
	case IR_BREAK_IF: return same_expr(s, a->leave, b->leave);
	case IR_STORE:
		return same_buffer(s, a->store.buf, b->store.buf) && same_expr(s, a->store.at, b->store.at) &&
		       same_value(s, a, a->store.value, b->store.value);
	case IR_UPDATE:
		return same_buffer(s, a->update.buf, b->update.buf) && same_expr(s, a->update.at, b->update.at) &&
		       same_value(s, a, a->update.value, b->update.value) && a->update.combine == b->update.combine &&
		       a->update.paired == b->update.paired;
	case IR_LOAD_VECTOR:
	case IR_STORE_VECTOR: return same_vector(s, &a->vector, &b->vector);
	case IR_ARRAY: return same_variable(s, a->array.var, b->array.var);
	case IR_SYNC: return a->sync.threads == b->sync.threads;
	case IR_LANES_COMBINE: return same_lanes(s, &a->lanes, &b->lanes);
	case IR_LANES_SCAN:
		return same_variable(s, a->scan.part, b->scan.part) && same_variable(s, a->scan.sum, b->scan.sum) &&
		       a->scan.combine == b->scan.combine && a->scan.lanes == b->scan.lanes;
	case IR_ITEMS_SCAN: return same_items(s, &a->items, &b->items);
	case IR_TILE_NEXT:
		return same_variable(s, a->tile.var, b->tile.var) && same_buffer(s, a->tile.state, b->tile.state);
	case IR_TILES_BEFORE: return same_before(s, &a->before, &b->before);
	case IR_SHARED: return same_variable(s, a->shared.var, b->shared.var);
	case IR_LOCAL: return same_variable(s, a->local.var, b->local.var) && a->local.zeros == b->local.zeros;
	case IR_PLACE:
		return same_variable(s, a->place.var, b->place.var) && same_variable(s, a->place.after, b->place.after);
	case IR_LAMBDA: return same_lambda(s, a, &a->lambda, &b->lambda);
	case IR_INVOKE: return same_call(s, a->call, b->call);
	case IR_SORT_SERIAL: return same_sort(s, &a->sort, &b->sort);
	}
	return false;
}

static bool same_block(struct same *s, const struct ir_block *a, const struct ir_block *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!same_stmt(s, &a->at[i], &b->at[i]))
			return false;
	return true;
}

/* Extents and tensor maps. */
static bool same_numbers(struct same *s, const struct ir_kernel *a, const struct ir_kernel *b)
{
	if (a->buffers.n != b->buffers.n || a->symbols.n != b->symbols.n || a->maps.n != b->maps.n)
		return false;
	for (int i = 0; i < a->symbols.n; i++)
		if (a->symbols.at[i] != b->symbols.at[i])
			return false;
	for (int i = 0; i < a->maps.n; i++)
		if (!same_variable(s, a->maps.at[i].var, b->maps.at[i].var))
			return false;
	return true;
}

static bool all_paired(const struct same *s)
{
	vec_each (b, &s->kernel[0]->buffers)
		if (!map_get_u64(&s->there, (uintptr_t)*b))
			return false;
	return true;
}

static bool same_shared(struct same *s, const struct ir_kernel *a, const struct ir_kernel *b)
{
	if (a->shared.n != b->shared.n)
		return false;
	for (int i = 0; i < a->shared.n; i++) {
		const struct ir_buffer *x = a->shared.at[i], *y = b->shared.at[i];
		if (x->type != y->type || ir_shared_bytes(x) != ir_shared_bytes(y) || x->dim[0] != y->dim[0] ||
		    pair_up(s, x, y) < 0)
			return false;
	}
	return true;
}

/* True if what the launch must grant is the same. */
static bool same_launch(const struct ir_kernel *a, const struct ir_kernel *b)
{
	return a->threads == b->threads && a->cluster == b->cluster && a->together == b->together &&
	       a->resident == b->resident && a->shared_bytes == b->shared_bytes && a->arch == b->arch &&
	       a->index64 == b->index64 && a->early == b->early;
}

bool same_kernels(struct same *s, struct arena *scratch, const struct ir_program *p, const struct ir_kernel *a,
                  const struct ir_kernel *b)
{
	if (a->parts.n || b->parts.n || !same_launch(a, b) || a->body.n != b->body.n)
		return false;
	s->program = p;
	s->kernel[0] = a;
	s->kernel[1] = b;
	s->there = map_new(scratch);
	s->back = map_new(scratch);
	s->known = map_new(scratch);
	return same_numbers(s, a, b) && same_shared(s, a, b) && same_block(s, &a->body, &b->body) &&
	       same_block(s, &a->serial, &b->serial) && all_paired(s);
}

bool ir_launch_same(const struct ir_kernel *a, const struct ir_kernel *b)
{
	bool same = strcmp(a->name, b->name) == 0 && a->guard == b->guard && a->blocks == b->blocks &&
	            a->buffers.n == b->buffers.n && a->symbols.n == b->symbols.n && a->maps.n == b->maps.n;
	for (int i = 0; same && i < a->buffers.n; i++)
		same = a->buffers.at[i]->id == b->buffers.at[i]->id;
	for (int i = 0; same && i < a->symbols.n; i++)
		same = a->symbols.at[i] == b->symbols.at[i];
	for (int i = 0; same && i < a->maps.n; i++)
		same = a->maps.at[i].buf->id == b->maps.at[i].buf->id;
	same = same && a->parameters.n == b->parameters.n;
	for (int i = 0; same && i < a->parameters.n; i++)
		same = a->parameters.at[i].value == b->parameters.at[i].value;
	return same;
}
