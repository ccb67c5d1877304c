/* Calls of device functions: lambdas, objects, arguments. See emit.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"

struct ir_lambda *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name)
{
	struct ir_stmt *s = emit(p, b, IR_LAMBDA);
	s->lambda = (struct ir_lambda){ .var = ir_variable_new(p->pool, TYPE_NONE, "%s", name),
		                        .body = NEW(p->arena, struct ir_block) };
	return &s->lambda;
}

void take_parameter(struct ir_program *p, struct ir_lambda *lambda, const struct ir_variable *v)
{
	vec_push(p->arena, &lambda->parameters, v);
}

expr emit_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t, const char *name, expr extent)
{
	const struct ir_variable *v = ir_variable_new(p->pool, t, "%s", name);
	take_parameter(p, lambda, v);
	return ir_var_of(v, extent);
}

const struct ir_variable *emit_array_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t,
                                               const char *name, int n)
{
	const struct ir_variable *v = array_of(ir_variable_new(p->pool, t, "%s", name), n);
	take_parameter(p, lambda, v);
	return v;
}

/* ---- Objects. */

struct ir_variable *array_of(struct ir_variable *v, int n)
{
	ir_variable_dims(v, 1, &n);
	return v;
}

struct ir_variable *array_of_rows(struct ir_variable *v, int rows, int n)
{
	ir_variable_dims(v, 2, (const int[]){ rows, n });
	return v;
}

const struct ir_variable *emit_local(struct ir_program *p, struct ir_block *b, struct ir_variable *v)
{
	emit(p, b, IR_LOCAL)->local = (struct ir_local){ v, false };
	return v;
}

const struct ir_variable *emit_zeros(struct ir_program *p, struct ir_block *b, struct ir_variable *v)
{
	emit(p, b, IR_LOCAL)->local = (struct ir_local){ v, true };
	return v;
}

const struct ir_variable *emit_shared(struct ir_program *p, struct ir_block *b, struct ir_variable *v)
{
	emit(p, b, IR_SHARED)->shared = (struct ir_shared){ v };
	return v;
}

const struct ir_variable *emit_placed(struct ir_program *p, struct ir_block *b, struct ir_variable *v,
                                      const struct ir_variable *after)
{
	emit(p, b, IR_PLACE)->place = (struct ir_place){ v, after ? after : ir_shared_memory(p->pool) };
	return v;
}

/* ---- Calls. */

static struct ir_call *call_new(struct ir_program *p, const struct ir_device_function *f, struct ir_template of)
{
	struct ir_call *call = NEW(p->arena, struct ir_call);
	call->function = f;
	call->of = of;
	return call;
}

struct ir_call *emit_invoke(struct ir_program *p, struct ir_block *b, const struct ir_device_function *f,
                            struct ir_template of)
{
	return emit(p, b, IR_INVOKE)->call = call_new(p, f, of);
}

struct ir_call *emit_method(struct ir_program *p, struct ir_block *b, const struct ir_variable *object,
                            const struct ir_device_function *f)
{
	struct ir_call *call = emit_invoke(p, b, f, IR_OF_NOTHING);
	call->object = object;
	return call;
}

const struct ir_variable *take_result(struct ir_program *p, struct ir_call *call, const char *name)
{
	return call->result = ir_variable_new(p->pool, call->function->result, "%s", name);
}

void lambda_through(struct ir_program *p, struct ir_lambda *lambda, const struct ir_device_function *f,
                    struct ir_template of)
{
	lambda->through = call_new(p, f, of);
}

static struct ir_arg *add(struct ir_program *p, struct ir_call *call, enum ir_arg_kind kind)
{
	struct ir_arg arg = { .kind = kind };
	vec_push(p->arena, &call->args, arg);
	return &call->args.at[call->args.n - 1];
}

struct ir_call *add_call(struct ir_program *p, struct ir_call *call, const struct ir_device_function *f,
                         struct ir_template of)
{
	return add(p, call, IR_ARG_CALL)->call = call_new(p, f, of);
}

void add_variable(struct ir_program *p, struct ir_call *call, const struct ir_variable *v)
{
	add(p, call, IR_ARG_VARIABLE)->var = v;
}

static struct ir_arg *add_indexed(struct ir_program *p, struct ir_call *call, enum ir_arg_kind kind,
                                  const struct ir_variable *v, int n, const expr *index)
{
	struct ir_arg *a = add(p, call, kind);
	a->var = v;
	a->indices = n;
	for (int i = 0; i < n; i++)
		a->index[i] = index[i];
	return a;
}

void add_item(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i)
{
	add_indexed(p, call, IR_ARG_VARIABLE, v, 1, &i);
}

void add_item_of_row(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr row, expr i)
{
	add_indexed(p, call, IR_ARG_VARIABLE, v, 2, (const expr[]){ row, i });
}

void add_member(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i,
                const struct ir_device_member *member, expr at)
{
	struct ir_arg *a = add_indexed(p, call, IR_ARG_MEMBER, v, i != NULL, &i);
	a->member = member;
	a->at = at;
}

void add_value(struct ir_program *p, struct ir_call *call, expr value)
{
	add(p, call, IR_ARG_VALUE)->value = value;
}

void add_place(struct ir_program *p, struct ir_call *call, int n, const expr *index)
{
	add_indexed(p, call, IR_ARG_PLACE, NULL, n, index);
}

void add_address(struct ir_program *p, struct ir_call *call, const struct ir_buffer *b, expr at, bool written)
{
	struct ir_arg *a = add(p, call, IR_ARG_ADDRESS);
	a->buf = flat_view(p, b);
	a->at = at;
	a->written = written;
}

void add_object(struct ir_program *p, struct ir_call *call, const struct ir_device_type *type, struct ir_template of,
                expr value)
{
	struct ir_arg *a = add(p, call, IR_ARG_NEW);
	struct ir_object *object = NEW(p->arena, struct ir_object);
	*object = (struct ir_object){ type, of };
	a->type = object;
	a->value = value;
}
