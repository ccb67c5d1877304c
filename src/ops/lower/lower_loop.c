/* Loops of an operator: states, collected values, and the stages between begin and end. See lower.h. */
#include "ops/lower/lower.h"

struct lower_loop lower_loop_begin(struct lower *l, expr trip)
{
	struct ir_stage *stage = ir_loop_new(l->program, trip);

	return (struct lower_loop){ .stage = stage,
		                    .first = l->program->stages.n,
		                    .turn = stage->loop->index,
		                    .buffers = l->program->buffers.n,
		                    .sizes = l->program->sizes.n,
		                    .demands = l->program->demands.n };
}

void lower_loop_drop(struct lower *l, const struct lower_loop *loop)
{
	l->program->stages.n = loop->first - 1; /* the loop itself precedes its body */
	l->program->buffers.n = loop->buffers;
	l->program->sizes.n = loop->sizes;
	l->program->demands.n = loop->demands;
}

static struct value new_buffer(struct lower *l, const char *name, enum type t, int rank, const expr *dim)
{
	const char *own = name ? name : l->op->outputs[0].name ? l->op->outputs[0].name : "y";
	struct ir_buffer *b = ir_buffer_new(l->program, own, t, rank, dim, IR_TEMP);

	return (struct value){ .buf = b, .given = true, .pool = l->program->pool };
}

/* Only maps make elements narrower than a byte, so states and collected values have a type that holds them. */
static struct value unpacked(struct lower *l, struct value v)
{
	struct space s = space_of(l, v);

	return type_is_packed(value_type(v)) ? lower_map(l, "unpacked", type_unpacked(value_type(v)), &s, at(v, &s))
	                                     : v;
}

struct value lower_carry(struct lower *l, struct lower_loop *loop, const char *name, enum type t, const struct space *s,
                         expr init)
{
	enum type held = type_unpacked(t);
	struct value state = new_buffer(l, name, held, s->rank, s->dim);
	struct ir_carry carry = { .state = state.buf, .init = cast(cast(init, t), held) };

	vec_push(l->program->arena, &loop->stage->loop->carries, carry);
	return state;
}

void lower_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next)
{
	next = unpacked(l, next);
	vec_each (c, &loop->stage->loop->carries)
		if (c->state == state.buf)
			c->next = next.buf;
}

struct value lower_collect(struct lower *l, struct lower_loop *loop, const char *name, expr at, expr extent,
                           struct value from)
{
	expr dim[IR_MAX_RANK] = { extent };
	int rank = value_rank(from);

	from = unpacked(l, from);
	for (int i = 0; i < rank; i++)
		dim[i + 1] = value_dim(from, i);
	struct value out = new_buffer(l, name, value_type(from), rank + 1, dim);
	struct ir_collect collect = { .out = out.buf, .at = at, .from = from.buf };

	vec_push(l->program->arena, &loop->stage->loop->collects, collect);
	return out;
}

struct turn_swap {
	expr from, to;
};

static expr put_turn(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct turn_swap *x = user;

	(void)pool;
	(void)arg;
	return e == x->from ? x->to : NULL;
}

expr lower_at_turn(const struct lower_loop *loop, expr e, expr turn)
{
	struct turn_swap x = { loop->turn, turn };

	return ir_copy(e->pool, e, put_turn, &x);
}

static void put_turn_in(void *user, expr *slot, const char *role)
{
	(void)role;
	*slot = ir_copy((*slot)->pool, *slot, put_turn, user);
}

void lower_trip(struct lower *l, struct lower_loop *loop, expr trip)
{
	struct ir_loop *it = loop->stage->loop;
	struct turn_swap x = { it->index, ir_var_of(it->index->var, trip) };

	for (int i = loop->first; i < l->program->stages.n; i++)
		ir_stage_slots(l->program->stages.at[i], put_turn_in, &x);
	it->trip = trip;
	it->index = loop->turn = x.to;
}

void lower_while(struct lower *l, struct lower_loop *loop, expr cond)
{
	(void)l;
	loop->stage->where = cond;
}

/* Loads of a buffer that has become unpacked give the packed type as before. */
static expr packed_load(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	(void)user;
	return e->op == IR_LOAD && type_is_packed(e->type) && !type_is_packed(e->buf->type)
	               ? cast(ir_load(p, e->buf, arg), e->type)
	               : NULL;
}

static void put_packed_loads(void *user, expr *slot, const char *role)
{
	(void)role;
	*slot = ir_copy((*slot)->pool, *slot, packed_load, user);
}

/* Gives the body's maps of elements narrower than a byte the type that holds them: a rule for loops stores whole
 * elements. */
static void unpack_body(struct lower *l, const struct lower_loop *loop)
{
	bool any = false;

	for (int i = loop->first; i < l->program->stages.n; i++) {
		struct ir_stage *s = l->program->stages.at[i];
		enum type t = s->out->type;

		if (!type_is_packed(t))
			continue;
		s->out->type = type_unpacked(t);
		s->value = cast(s->value, s->out->type);
		any = true;
	}
	for (int i = loop->first; any && i < l->program->stages.n; i++)
		ir_stage_slots(l->program->stages.at[i], put_packed_loads, NULL);
}

void lower_loop_end(struct lower *l, struct lower_loop *loop)
{
	unpack_body(l, loop);
	ir_loop_take(l->program, loop->stage, loop->first);
	loop->stage->out = ir_stage_made(loop->stage, 0);
}
