/* Programs, buffers, stages, combines. See ir.h. */
#include "ir/pool.h"

#include <math.h>
#include <string.h>

bool ir_number_named(const struct ir_program *p, const char *name)
{
	bool found = false;
	vec_each (s, &p->sizes)
		found |= strcmp(s->symbol->name, name) == 0;
	vec_each (v, &p->values)
		found |= strcmp(v->symbol->name, name) == 0;
	return found;
}

const char *const ir_combine_name[IR_COMBINE_COUNT] = {
	"replace", "sum", "prod", "max", "min", "all", "any", "argmax", "argmin", "argmax_last", "argmin_last",
};

bool ir_combine_is_arg(enum ir_combine c)
{
	return c >= IR_ARGMAX;
}

expr ir_identity(struct ir_pool *p, enum ir_combine c, enum type t)
{
	bool largest = c == IR_MINIMUM || c == IR_ARGMIN || c == IR_ARGMIN_LAST;
	switch (c) {
	case IR_PROD: return ir_const(p, t, 1);
	case IR_ALL: return ir_int(p, TYPE_BOOL, 1);
	case IR_MAXIMUM:
	case IR_MINIMUM:
	case IR_ARGMAX:
	case IR_ARGMIN:
	case IR_ARGMAX_LAST:
	case IR_ARGMIN_LAST:
		if (type_is_float(t))
			return ir_float(p, t, largest ? INFINITY : -INFINITY);
		return ir_int(p, t, largest ? type_max(t) : type_min(t));
	default: return ir_const(p, t, 0);
	}
}

expr ir_combine_expr(enum ir_combine c, expr a, expr b)
{
	switch (c) {
	case IR_SUM: return ir_binary(IR_ADD, a, b);
	case IR_PROD: return ir_binary(IR_MUL, a, b);
	case IR_MAXIMUM: return ir_binary(IR_MAX, a, b);
	case IR_MINIMUM: return ir_binary(IR_MIN, a, b);
	case IR_ALL: return ir_binary(IR_AND, a, b);
	case IR_ANY: return ir_binary(IR_OR, a, b);
	default: return b;
	}
}

struct ir_program *ir_program_new(struct arena *a, const char *name)
{
	struct ir_program *p = NEW(a, struct ir_program);
	p->name = arena_strdup(a, name);
	p->arena = a;
	p->pool = ir_pool_new(a);
	p->named = map_new(a);
	p->numbered = map_new(a);
	return p;
}

struct ir_program *ir_program_beside(const struct ir_program *p)
{
	struct ir_program *own = NEW(p->arena, struct ir_program);
	*own = *p;
	own->named = map_new(p->arena);
	own->numbered = map_new(p->arena);
	own->buffers.at = NEWN(p->arena, struct ir_buffer *, p->buffers.n + 1);
	own->buffers.cap = own->buffers.n;
	for (int i = 0; i < p->buffers.n; i++) {
		own->buffers.at[i] = p->buffers.at[i];
		map_put_u64(&own->named, p->buffers.at[i]->hash, p->buffers.at[i]);
	}
	return own;
}

bool ir_replaces(const struct ir_program *p)
{
	vec_each (s, &p->stages) {
		if ((*s)->kind == IR_SCATTER && (*s)->combine == IR_NONE)
			return true;
		if ((*s)->kind != IR_LOOP)
			continue;
		vec_each (inner, &(*s)->loop->body)
			if ((*inner)->kind == IR_SCATTER && (*inner)->combine == IR_NONE)
				return true;
	}
	return false;
}

struct ir_buffer *ir_buffer_named(const struct ir_program *p, const char *name)
{
	uint64_t hash = hash_str(0, name);
	const struct ir_buffer *last = map_get_u64(&p->named, hash);
	struct ir_buffer *const *own = p->buffers.at;
	if (!last)
		return NULL;
	if (last->id < p->buffers.n && own[last->id] == last && strcmp(last->name, name) == 0)
		return own[last->id];
	vec_each (b, &p->buffers) /* `last` is gone, or has another name now */
		if ((*b)->hash == hash && strcmp((*b)->name, name) == 0)
			return *b;
	return NULL;
}

static void give_name(struct ir_program *p, struct ir_buffer *b, const char *name)
{
	b->name = name;
	b->hash = hash_str(0, name);
	map_put_u64(&p->named, b->hash, b);
}

void ir_buffer_rename(struct ir_program *p, struct ir_buffer *b, const char *name)
{
	give_name(p, b, name);
	p->numbered = map_new(p->arena);
}

static bool taken(const struct ir_program *p, const char *name)
{
	return ir_name_reserved(name) || ir_number_named(p, name) || ir_buffer_named(p, name);
}

/* The name itself, or with the lowest number that makes it unique. A loop or a function may have thousands of buffers
 * of one name, so the search begins at the number after the last one, unless names have become free since. */
static const char *unique_name(struct ir_program *p, char *base)
{
	uint64_t hash = hash_str(0, base);
	const char *unique = base;
	if (p->buffers.n < p->n_numbered)
		p->numbered = map_new(p->arena);
	intptr_t i = (intptr_t)map_get_u64(&p->numbered, hash);
	if (i == 0 && !taken(p, base))
		return base;
	for (i = i ? i : 2;; i++) {
		unique = arena_printf(p->arena, "%s%s%d", base, str_ends(base, "_") ? "" : "_", (int)i);
		if (!taken(p, unique))
			break;
	}
	map_put_u64(&p->numbered, hash, (const void *)(i + 1));
	return unique;
}

struct ir_buffer *ir_buffer_new(struct ir_program *p, const char *name, enum type t, int rank, const expr *dim,
                                enum ir_role role)
{
	ck(rank <= IR_MAX_RANK);
	struct ir_buffer *b = NEW(p->arena, struct ir_buffer);
	const char *unique = unique_name(p, str_identifier(p->arena, name));
	*b = (struct ir_buffer){ .type = t, .rank = rank, .role = role, .id = p->buffers.n, .node = p->node };
	give_name(p, b, unique);
	for (int i = 0; i < rank; i++)
		b->dim[i] = dim[i];
	vec_push(p->arena, &p->buffers, b);
	p->n_numbered = p->buffers.n;
	if (role == IR_INPUT)
		vec_push(p->arena, &p->inputs, b);
	if (role == IR_OUTPUT)
		vec_push(p->arena, &p->outputs, b);
	return b;
}

struct ir_stage *ir_stage_new(struct ir_program *p, enum ir_stage_kind kind, struct ir_buffer *out)
{
	struct ir_stage *s = NEW(p->arena, struct ir_stage);
	s->kind = kind;
	s->out = out;
	vec_push(p->arena, &p->stages, s);
	return s;
}

bool ir_accumulates(const struct ir_stage *s)
{
	return s->kind == IR_REDUCE || s->kind == IR_SCAN;
}

bool ir_sums_products(const struct ir_stage *s)
{
	return s->kind == IR_REDUCE && s->combine == IR_SUM && s->value->op == IR_MUL;
}

struct ir_buffer *ir_stage_made(const struct ir_stage *s, int i)
{
	const struct ir_loop *l = s->loop;
	if (!l)
		return i == 0 ? s->out : i == 1 ? s->count : NULL;
	if (i < l->carries.n)
		return l->carries.at[i].state;
	i -= l->carries.n;
	return i < l->collects.n ? l->collects.at[i].out : NULL;
}

static expr put_acc(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	(void)p, (void)arg;
	return e->op == IR_ACC ? *(expr *)user : NULL;
}

expr ir_stage_result(struct ir_pool *p, const struct ir_stage *s, expr acc)
{
	return s->post ? ir_copy(p, s->post, put_acc, &acc) : ir_cast(acc, s->out->type);
}

bool ir_sums_f8(const struct ir_stage *s)
{
	expr product = s->value;
	if (s->kind != IR_REDUCE || s->combine != IR_SUM)
		return false;
	if (product->op == IR_SELECT)
		product = product->arg[1];
	if (product->op != IR_MUL)
		return false;
	for (int i = 0; i < 2; i++) {
		expr x = product->arg[i];
		while (x->op == IR_SELECT || (x->op == IR_CAST && !type_multiplies_f8(x->type)))
			x = x->arg[x->op == IR_SELECT];
		if (!type_multiplies_f8(x->type))
			return false;
	}
	return true;
}

struct ir_stage *ir_stage_of(const struct ir_program *p, const struct ir_buffer *b)
{
	struct ir_buffer *made;
	vec_each (s, &p->stages)
		for (int i = 0; (made = ir_stage_made(*s, i)); i++)
			if (made == b)
				return *s;
	return NULL;
}

expr ir_buffer_count(const struct ir_program *p, const struct ir_buffer *b)
{
	expr n = ir_index(p->pool, 1);
	for (int i = 0; i < b->rank; i++)
		n = ir_binary(IR_MUL, n, b->dim[i]);
	return n;
}

bool ir_same_extents(const struct ir_buffer *a, const struct ir_buffer *b)
{
	bool same = a->rank == b->rank;
	for (int k = 0; same && k < a->rank; k++)
		same = a->dim[k] == b->dim[k];
	return same;
}

expr ir_flat(struct ir_pool *p, const struct ir_buffer *b, const expr *index)
{
	expr flat = ir_index(p, 0);
	for (int i = 0; i < b->rank; i++)
		if (!ir_is_int(b->dim[i], 1)) /* else its index is 0, however it is written */
			flat = ir_binary(IR_ADD, ir_binary(IR_MUL, flat, b->dim[i]), index[i]);
	return flat;
}

void ir_unflat(expr flat, int rank, const expr *dim, expr *index)
{
	for (int i = rank - 1; i > 0; i--) {
		index[i] = ir_binary(IR_MOD, flat, dim[i]);
		flat = ir_binary(IR_FLOORDIV, flat, dim[i]);
	}
	if (rank)
		index[0] = flat;
}

void ir_own_axes(struct ir_pool *p, const struct ir_buffer *b, expr *axis)
{
	for (int k = 0; k < b->rank; k++)
		axis[k] = ir_axis(p, k, b->dim[k]);
}

expr ir_own_position(struct ir_pool *p, const struct ir_buffer *b)
{
	expr axis[IR_MAX_RANK];
	ir_own_axes(p, b, axis);
	return ir_flat(p, b, axis);
}

void ir_stage_slots(struct ir_stage *s, void (*fn)(void *user, expr *slot, const char *role), void *user)
{
	if (s->init)
		fn(user, &s->init, "init");
	if (s->kind == IR_SCATTER)
		for (int i = 0; i < s->out->rank; i++)
			fn(user, &s->at[i], "at");
	if (s->where)
		fn(user, &s->where, "where");
	if (s->value)
		fn(user, &s->value, "value");
	if (s->post)
		fn(user, &s->post, "post");
	if (!s->loop)
		return;
	vec_each (c, &s->loop->carries)
		fn(user, &c->init, "carry");
	vec_each (c, &s->loop->collects)
		fn(user, &c->at, "collect");
	vec_each (b, &s->loop->body)
		ir_stage_slots(*b, fn, user);
}

struct reader {
	void (*fn)(void *user, expr e, const char *role);
	void *user;
};

static void read_slot(void *user, expr *slot, const char *role)
{
	const struct reader *r = user;
	r->fn(r->user, *slot, role);
}

void ir_stage_exprs(const struct ir_stage *s, void (*fn)(void *user, expr e, const char *role), void *user)
{
	struct ir_stage copy = *s;
	ir_stage_slots(&copy, read_slot, &(struct reader){ fn, user });
}

bool ir_symbol_source(const struct ir_program *p, expr symbol, int *input, int *axis)
{
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		for (int k = 0; k < b->rank; k++) {
			if (b->dim[k] == symbol) {
				*input = i;
				*axis = k;
				return true;
			}
		}
	}
	return false;
}

/* ---- Contents of small integer buffers, see ir_element. */

enum { ELEMENT_POINTS = 64 };

struct element {
	const int64_t *at;      /* indices of the output's axes */
	const int64_t *reduced; /* indices of the reduced axes */
	int rank;
};

static expr element_leaf(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	struct element *c = user;
	if (e->op == IR_AXIS) {
		int64_t k = e->i < c->rank ? c->at[e->i] : c->reduced[e->i - c->rank];
		return ir_index(p, k);
	}
	if (e->op != IR_LOAD)
		return NULL;
	const struct ir_buffer *b = e->buf;
	int64_t flat = 0, i, n;
	bool known = b->content || b->some || b->data;
	for (int k = 0; k < b->rank && known; k++) {
		known = ir_const_int(arg[k], &i) && ir_const_int(b->dim[k], &n) && i >= 0 && i < n;
		flat = known ? flat * n + i : 0;
	}
	if (known && b->data && type_is_float(b->type))
		return ir_float(p, b->type, tensor_float(b->data, flat));
	if (known && b->data)
		return ir_int(p, b->type, tensor_int(b->data, flat));
	if (known && (b->content ? b->content : b->some)[flat])
		return ir_cast((b->content ? b->content : b->some)[flat], b->type);
	return NULL; /* keep the load: a failure only if the result still contains it */
}

/* A scan: combines the positions along its axis up to `at`. */
static expr scan_element(struct ir_program *p, const struct ir_stage *s, const int64_t *at)
{
	int64_t here[IR_MAX_RANK], extent, end = at[s->axis];
	struct element c = { here, NULL, s->out->rank };
	expr sum = ir_identity(p->pool, s->combine, s->value->type);
	if (!ir_const_int(s->out->dim[s->axis], &extent) || extent > ELEMENT_POINTS)
		return NULL;
	memcpy(here, at, sizeof here[0] * (size_t)s->out->rank);
	for (int64_t k = s->reverse ? extent - 1 : 0; s->reverse ? k >= end : k <= end; k += s->reverse ? -1 : 1) {
		here[s->axis] = k;
		if (k != end || !s->exclusive)
			sum = ir_combine_expr(s->combine, sum, ir_copy(p->pool, s->value, element_leaf, &c));
	}
	return sum;
}

/* The number of points of a stage's space, and its extents; -1: unknown, or more than ELEMENT_POINTS. */
static int64_t points_of(const struct ir_stage *s, int64_t *extent)
{
	int64_t count = 1;
	for (int k = 0; k < s->space_rank; k++)
		if (!ir_const_int(s->space[k], &extent[k]) || extent[k] > ELEMENT_POINTS ||
		    (count *= extent[k]) > ELEMENT_POINTS)
			return -1;
	return count;
}

static void point_at(int64_t *point, const struct ir_stage *s, const int64_t *extent, int64_t i)
{
	for (int k = s->space_rank - 1; k >= 0; k--) {
		point[k] = i % extent[k];
		i /= extent[k];
	}
}

/* 1 if the update reaches `at`, 0 if not, -1 if unknown. */
static int comes_to(struct ir_program *p, const struct ir_stage *s, const int64_t *at, struct element *update)
{
	int64_t place, holds = 1;
	if (s->where && !ir_const_int(ir_copy(p->pool, s->where, element_leaf, update), &holds))
		return -1;
	for (int k = 0; k < s->out->rank && holds; k++) {
		if (!ir_const_int(ir_copy(p->pool, s->at[k], element_leaf, update), &place))
			return -1;
		holds = place == at[k];
	}
	return holds != 0;
}

/* A scatter: combines the initial value with the updates that reach `at`; the last one replaces. */
static expr scatter_element(struct ir_program *p, const struct ir_stage *s, const int64_t *at)
{
	int64_t extent[IR_MAX_RANK], point[IR_MAX_RANK] = { 0 }, count = points_of(s, extent);
	struct element before = { at, NULL, s->out->rank }, update = { point, NULL, s->space_rank };
	expr result = ir_copy(p->pool, s->init, element_leaf, &before);
	for (int64_t i = 0; i < count; i++) {
		point_at(point, s, extent, i);
		int comes = comes_to(p, s, at, &update);
		if (comes < 0)
			return NULL;
		if (!comes)
			continue;
		expr value = ir_copy(p->pool, s->value, element_leaf, &update);
		result = s->combine == IR_NONE ? value : ir_combine_expr(s->combine, result, value);
	}
	return count < 0 ? NULL : result;
}

expr ir_element(struct ir_program *p, const struct ir_stage *s, const int64_t *at)
{
	int64_t extent[IR_MAX_RANK], reduced[IR_MAX_RANK] = { 0 }, count = 0;
	struct element c = { at, reduced, s->out->rank };
	if (s->kind == IR_SCATTER)
		return scatter_element(p, s, at);
	bool follows =
	        s->kind == IR_MAP || s->kind == IR_SCAN || (s->kind == IR_REDUCE && !ir_combine_is_arg(s->combine));
	if (!follows)
		return NULL;
	if (s->kind == IR_REDUCE && (count = points_of(s, extent)) < 0)
		return NULL;
	if (s->kind == IR_MAP)
		return ir_copy(p->pool, s->value, element_leaf, &c);
	expr sum = s->kind == IR_SCAN ? scan_element(p, s, at) : NULL;
	if (s->kind == IR_SCAN && !sum)
		return NULL;
	for (int64_t i = 0; i < count; i++) {
		point_at(reduced, s, extent, i);
		expr value = ir_copy(p->pool, s->value, element_leaf, &c);
		sum = sum ? ir_combine_expr(s->combine, sum, value) : value;
	}
	if (!sum)
		sum = ir_identity(p->pool, s->combine, s->value->type);
	if (s->post && s->post->op != IR_ACC && !(s->post->op == IR_CAST && s->post->arg[0]->op == IR_ACC))
		return NULL;
	return ir_cast(sum, s->out->type);
}
