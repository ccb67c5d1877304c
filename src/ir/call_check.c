/* Checks calls of device functions against the table of their signatures (device.def). See kernel_check.c. */
#include "ir/kernel.h"

static int rank_left(const struct ir_arg *a)
{
	return a->var->rank - a->indices;
}

static bool is_object(const struct ir_arg *a, const struct ir_device_type *type, int rank)
{
	return a->var->object && a->var->object->type == type && rank_left(a) == rank;
}

static bool is_map(const struct ir_kernel *k, const struct ir_variable *v)
{
	vec_each (m, &k->maps)
		if (m->var == v)
			return true;
	return false;
}

/* A variable without a type is a lambda or memory. */
static bool is_plain(const struct ir_arg *a)
{
	return a->kind == IR_ARG_VARIABLE && a->var->type == TYPE_NONE && !a->var->object && !a->indices;
}

static bool fits(const struct ir_kernel *k, const struct ir_device_parameter *p, const struct ir_arg *a)
{
	bool variable = a->kind == IR_ARG_VARIABLE, address = a->kind == IR_ARG_ADDRESS;
	switch (p->kind) {
	case IR_PARAMETER_INDEX: return a->kind == IR_ARG_VALUE && a->value->type == TYPE_INDEX;
	case IR_PARAMETER_VALUE: return a->kind == IR_ARG_VALUE;
	case IR_PARAMETER_TRUTH: return a->kind == IR_ARG_VALUE && a->value->type == TYPE_BOOL;
	case IR_PARAMETER_OBJECT: return a->kind == IR_ARG_CALL || (variable && is_object(a, p->type, p->rank));
	case IR_PARAMETER_VARIABLE:
		return variable && rank_left(a) == p->rank && (a->var->type != TYPE_NONE || a->var->object);
	case IR_PARAMETER_SHARED: return is_plain(a) || (variable && a->var->object && !a->indices);
	case IR_PARAMETER_MEMBER:
		return a->kind == IR_ARG_MEMBER && is_object(a, a->member->of, 0) && !a->at == !a->member->rank;
	case IR_PARAMETER_READS: return address && !a->written;
	case IR_PARAMETER_WRITES: return address && a->written;
	case IR_PARAMETER_CALLS: return is_plain(a) || a->kind == IR_ARG_NEW;
	case IR_PARAMETER_MAP: return variable && is_map(k, a->var);
	case IR_PARAMETER_PLACE: return a->kind == IR_ARG_PLACE;
	case IR_PARAMETER_LOADS: return (address && !a->written) || a->kind == IR_ARG_NEW;
	case IR_PARAMETER_END: return false;
	}
	return false;
}

const char *ir_call_fault(const struct ir_kernel *k, const struct ir_call *c)
{
	const struct ir_device_function *f = c->function;
	int n = c->args.n;
	if (!ir_template_fits(f->of, &c->of))
		return "gives a template what it does not take:";
	if (f->method_of ? !c->object || !c->object->object || c->object->object->type != f->method_of : !!c->object)
		return "calls a method of another type:";
	if (c->result && c->result->type != f->result)
		return "takes a result of another type:";
	if (n >= IR_PARAMETERS_MOST || (f->parameter[n].kind && !f->parameter[n].maybe))
		return "gives too few arguments:";
	for (int i = 0; i < n; i++) {
		const struct ir_arg *a = &c->args.at[i];
		if (!f->parameter[i].kind)
			return "gives too many arguments:";
		if (!fits(k, &f->parameter[i], a))
			return "gives an argument of another kind or type:";
		if (a->kind == IR_ARG_NEW && !ir_template_fits(a->type->type->of, &a->type->of))
			return "makes an object of another template:";
		if (a->call && ir_call_fault(k, a->call))
			return ir_call_fault(k, a->call);
	}
	return NULL;
}
