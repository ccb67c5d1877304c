/* Building sort kernels: rows and their keys, the functions passed to device code, the serial twin. See sort.h. */
#include "sched/order/sort.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

const void *sort_match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SORT)
		return s;
	*why = "the stage is not a sort";
	return NULL;
}

/* ---- Rows. */

/* The key at position r of the row. */
static expr value_at(struct sort_row *row, expr r)
{
	row->axis[row->s->out->rank] = r;
	return sort_value_with(row, row->key, row->axis, r);
}

struct sort_row sort_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number)
{
	struct sort_row row = { .p = p,
		                .s = s,
		                .key = sort_key(s),
		                .n = s->space[0],
		                .k = s->out->dim[s->axis],
		                .number = number,
		                .place = row_place_of(p, b, s, number) };
	expr own[IR_MAX_RANK];
	bool used[IR_MAX_RANK] = { false };
	/* Only the axes still used once loads at the row's own position are x[position]. */
	sort_own_position(p, s, own);
	expr r = ir_some(p->pool, TYPE_INDEX, row.n);
	struct sort_maps maps = sort_maps(p, s);
	ir_mark_axes(sort_value_with(&row, row.key, own, r), used);
	for (int i = 0; i < maps.n; i++)
		ir_mark_axes(sort_value_with(&row, maps.at[i].value, own, r), used);
	row_axes(p, b, s, number, used, row.axis);
	return row;
}

/* ---- Statements. */

static const struct ir_device_function *key_function(const struct sort_row *row)
{
	if (row->alone)
		return row->s->reverse ? &device_total_descending : &device_total_ascending;
	return row->s->reverse ? &device_key_descending : &device_key_ascending;
}

/* C++ computes narrow integers as int. */
static struct ir_template of_key(const struct sort_row *row)
{
	enum type t = row->key->type;
	bool narrow = (type_is_int(t) && type_info(t)->bits < 32) || t == TYPE_BOOL;
	return narrow ? IR_OF(IR_TYPE(t)) : IR_OF_NOTHING;
}

/* The row of a function: given, or numbered by its first parameter. */
static struct sort_row row_of(struct ir_program *p, struct ir_lambda *lambda, const struct ir_stage *s,
                              struct sort_row *row)
{
	if (row)
		return *row;
	expr number = emit_parameter(p, lambda, TYPE_INDEX, "row", rows_along(p, s));
	return sort_row_begin(p, lambda->body, s, number);
}

const struct ir_variable *emit_key(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row)
{
	struct ir_lambda *key = emit_lambda(p, b, "key");
	struct sort_row own = row_of(p, key, s, row);
	lambda_through(p, key, key_function(&own), of_key(&own));
	key->value = value_at(&own, emit_parameter(p, key, TYPE_INDEX, "r", own.n));
	return key->var;
}

struct row_vectors {
	struct ir_program *p;
	const struct ir_stage *s;
	int width;
	struct {
		VEC(expr);
	} found;
	expr item; /* index in a vector, inside `work` */
};

static void find_vector(void *user, expr e)
{
	struct row_vectors *v = user;
	if (e->op == IR_LOAD && vector_along(v->p, e, v->s->out->rank, v->s->space[0], v->width))
		vec_push(v->p->arena, &v->found, e);
}

static struct ir_variable *vector_of(struct row_vectors *v, int i)
{
	return ir_variable_of(v->p->pool, v->found.at[i]->type, v->found.at[i]->buf, IR_HOLDS_VECTOR, i + 1, "%s_v%d",
	                      v->found.at[i]->buf->name, i + 1);
}

static expr vector_item(void *user, expr e, expr flat)
{
	struct row_vectors *v = user;
	(void)flat;
	for (int i = 0; i < v->found.n; i++)
		if (v->found.at[i] == e)
			return item_of(vector_of(v, i), v->item);
	return NULL;
}

int sort_width(struct ir_program *p, const struct ir_stage *s)
{
	enum { WIDEST_BITS = 128, MOST = 8 };
	expr key = sort_key(s);
	int64_t n;
	int width = WIDEST_BITS / type_info(key->type)->bits;
	for (width = width > MOST ? MOST : width; width > 1; width /= 2) {
		struct row_vectors v = { .p = p, .s = s, .width = width };
		if (ir_const_int(s->space[0], &n) && n % width)
			continue;
		ir_walk_unconditional(key, find_vector, &v);
		if (v.found.n)
			break;
	}
	return width;
}

static const struct ir_variable *emit_neighbours(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                                 struct sort_row *row, int width, bool key)
{
	struct row_vectors v = { .p = p, .s = s, .width = width };
	struct ir_lambda *keys = emit_lambda(p, b, key ? "keys" : "values");
	struct sort_row here = *row;
	struct ir_block *body = keys->body;
	expr r = emit_parameter(p, keys, TYPE_INDEX, "r", row->n), item = ir_index(p->pool, 0), own[IR_MAX_RANK];
	enum type t = key ? sort_key_type(s) : row->key->type;
	const struct ir_variable *loaded = emit_array_parameter(p, keys, t, "loaded", width);
	if (width > 1) {
		ir_walk_unconditional(row->key, find_vector, &v);
		expr same = sort_own_position(p, s, own);
		row->axis[s->out->rank] = r;
		struct axes start = { .value = row->axis,
			              .same = same,
			              .same_as = row_position(&row->place, row->n, r) };
		for (int i = 0; i < v.found.n; i++) {
			expr e = v.found.at[i], flat = ir_flat(p->pool, e->buf, e->arg),
			     rest = ir_binary(IR_SUB, flat, same);
			expr at = rest->varies ? to_kernel(p, flat, &start) : ir_binary(IR_ADD, start.same_as, rest);
			emit_load_vector(p, body, e->buf, at, vector_of(&v, i), width);
		}
		here.load = vector_item;
		here.user = &v;
		body = emit_unrolled(p, body, "item", width, &item);
		v.item = item;
	}
	expr value = value_at(&here, ir_binary(IR_ADD, r, item));
	if (!key) {
		emit_set(p, body, loaded, item, value);
		return keys->var;
	}
	struct ir_call *put = emit_invoke(
	        p, body, row->s->reverse ? &device_put_key_descending : &device_put_key_ascending, of_key(row));
	add_value(p, put, item_of(loaded, item));
	add_value(p, put, value);
	return keys->var;
}

const struct ir_variable *emit_keys(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                    struct sort_row *row, int width)
{
	return emit_neighbours(p, b, s, row, width, true);
}

const struct ir_variable *emit_values(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                      struct sort_row *row, int width)
{
	return emit_neighbours(p, b, s, row, width, false);
}

const struct ir_variable *emit_put(struct ir_program *p, struct ir_block *b, const struct ir_stage *s,
                                   struct sort_row *row, bool keyed, bool all)
{
	struct ir_lambda *put = emit_lambda(p, b, "put");
	struct sort_row own = row_of(p, put, s, row);
	struct ir_block *body = put->body;
	expr rank = emit_parameter(p, put, TYPE_INDEX, SORT_RANK, all ? own.n : own.k);
	if (keyed)
		emit_parameter(p, put, sort_key_type(s), "key", NULL);
	expr r = emit_parameter(p, put, TYPE_INDEX, "r", own.n);
	if (all && own.k != own.n)
		body = emit_if(p, body, ir_binary(IR_LT, rank, own.k));
	emit_found(&own, body, ir_var_of(rank->var, own.k), r);
	return put->var;
}

void emit_serial(struct sort_row *row, struct ir_block *b)
{
	struct ir_program *p = row->p;
	struct ir_sort s = { .rank = ir_variable_new(p->pool, TYPE_INDEX, SORT_RANK),
		             .place = ir_variable_new(p->pool, TYPE_INDEX, "r"),
		             .count = row->k,
		             .of = row->n,
		             .descending = row->s->reverse,
		             .body = NEW(p->arena, struct ir_block) };
	expr rank = ir_var_of(s.rank, row->k), r = ir_var_of(s.place, row->n);
	s.value = value_at(row, r);
	emit(p, b, IR_SORT_SERIAL)->sort = s;
	emit_found(row, s.body, rank, r);
}

/* ---- Rules for some extents. */

expr sort_at_most(struct ir_program *p, expr extent, int64_t most)
{
	expr fits = ir_binary(IR_LE, extent, ir_index(p->pool, most));
	return ir_is_int(fits, 1) ? NULL : fits;
}

struct find_size {
	const struct ir_program *p;
	bool found;
};

static void find_size(void *user, expr e)
{
	struct find_size *f = user;
	f->found |= ir_size_find(f->p, e) != NULL;
}

bool sort_has_size(const struct ir_program *p, expr e)
{
	struct find_size f = { .p = p };
	ir_walk(e, find_size, &f);
	return f.found;
}

/* If `fits` depends on extents only, no block is launched where it fails; with a data-dependent size the blocks
 * return. */
struct ir_block *sort_only_if(struct ir_program *p, struct ir_kernel *k, expr fits)
{
	if (!fits)
		return &k->serial;
	if (!sort_has_size(p, fits)) {
		k->blocks = ir_select(fits, k->blocks, ir_index(p->pool, 0));
		return &k->serial;
	}
	emit_return_if(p, &k->body, ir_unary(IR_NOT, fits));
	return emit_if(p, &k->serial, fits);
}

struct ir_buffer *sort_workspace(struct ir_program *p, const struct ir_stage *s, const char *what, enum type t,
                                 expr count, expr fits)
{
	if (fits && !sort_has_size(p, fits))
		count = ir_select(fits, count, ir_index(p->pool, 0));
	return ir_buffer_new(p, arena_printf(p->arena, "%s_%s", s->out->name, what), t, 1, &count, IR_TEMP);
}
