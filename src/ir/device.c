/* The table of types and functions of the device headers that kernels use. See device.h. */
#include "ir/device.h"

#include <stdarg.h>

#include "ir/pool.h"

#define HEADER(id, ...) const struct ir_device_header device_header_##id = { "tpat_" #id ".h", { __VA_ARGS__ } };
#define WORD(...)
#define TYPE(...)
#define MEMBER(...)
#define FUNCTION(...)
#define OVERLOAD(...)
#define METHOD(...)
#include "ir/device.def"

/* Parameters of templates and of functions, as device.def has them. */
#define OF_END IR_OF_END
#define OF_TYPE IR_OF_TYPE
#define OF_NUMBER IR_OF_NUMBER
#define OF_TRUTH IR_OF_TRUTH
#define OF_WORD IR_OF_WORD
#define MAYBE(of) (of | IR_OF_MAYBE)
#define INDEX { .kind = IR_PARAMETER_INDEX }
#define VALUE { .kind = IR_PARAMETER_VALUE }
#define TRUTH { .kind = IR_PARAMETER_TRUTH }
#define OBJECT(object, dims) { .kind = IR_PARAMETER_OBJECT, .type = &device_##object, .rank = dims }
#define VARIABLE(dims) { .kind = IR_PARAMETER_VARIABLE, .rank = dims }
#define SHARED { .kind = IR_PARAMETER_SHARED }
#define AT_MEMBER { .kind = IR_PARAMETER_MEMBER }
#define READS { .kind = IR_PARAMETER_READS }
#define WRITES { .kind = IR_PARAMETER_WRITES }
#define CALLS { .kind = IR_PARAMETER_CALLS }
#define MAP { .kind = IR_PARAMETER_MAP }
#define PLACE { .kind = IR_PARAMETER_PLACE }
#define LOADS { .kind = IR_PARAMETER_LOADS }
#define MAYBE_INDEX { .kind = IR_PARAMETER_INDEX, .maybe = true }
#define MAYBE_VALUE { .kind = IR_PARAMETER_VALUE, .maybe = true }
#define END { .kind = IR_PARAMETER_END }

#define HEADER(...)
#define WORD(id, header) const struct ir_device_word device_##id = { #id };
#define TYPE(id, header, ...) \
	const struct ir_device_type device_##id = { #id, &device_header_##header, { __VA_ARGS__ } };
#define MEMBER(type, id, dims) const struct ir_device_member device_##type##_##id = { #id, &device_##type, dims };
#define OVERLOAD(id, name, header, result, of, ...) \
	const struct ir_device_function device_##id = { #name, &device_header_##header, NULL, result, \
		                                        of,    { __VA_ARGS__ } };
#define FUNCTION(id, header, result, of, ...) \
	const struct ir_device_function device_##id = { \
		#id, &device_header_##header, NULL, result, of, { __VA_ARGS__ } \
	};
#define METHOD(type, id, result, ...) \
	const struct ir_device_function device_##type##_##id = { #id,    NULL,  &device_##type, \
		                                                 result, { 0 }, { __VA_ARGS__ } };
#define OF(...) { __VA_ARGS__ }
#include "ir/device.def"

const struct ir_device_function *const *ir_device_functions(void)
{
	static const struct ir_device_function *const all[] = {
#define HEADER(...)
#define WORD(...)
#define TYPE(...)
#define MEMBER(...)
#define FUNCTION(id, ...) &device_##id,
#define OVERLOAD(id, ...) &device_##id,
#define METHOD(type, id, ...) &device_##type##_##id,
#include "ir/device.def"
		NULL,
	};
	return all;
}

const struct ir_device_type *const *ir_device_types(void)
{
	static const struct ir_device_type *const all[] = {
#define HEADER(...)
#define WORD(...)
#define TYPE(id, ...) &device_##id,
#define MEMBER(...)
#define FUNCTION(...)
#define OVERLOAD(...)
#define METHOD(...)
#include "ir/device.def"
		NULL,
	};
	return all;
}

struct ir_variable *ir_object_new(struct ir_pool *p, const struct ir_device_type *type, struct ir_template of,
                                  const char *hint, ...)
{
	va_list ap;
	va_start(ap, hint);
	const char *text = arena_vprintf(p->arena, hint, ap);
	va_end(ap);
	struct ir_object *object = NEW(p->arena, struct ir_object);
	*object = (struct ir_object){ type, of };
	struct ir_variable *v = ir_variable_new(p, TYPE_NONE, "%s", text);
	v->object = object;
	return v;
}

bool ir_template_fits(const enum ir_of *of, const struct ir_template *given)
{
	for (int i = 0; i < given->n; i++)
		if ((of[i] & ~IR_OF_MAYBE) != given->at[i].kind)
			return false;
	return given->n == IR_OF_MOST || !of[given->n] || of[given->n] & IR_OF_MAYBE;
}

bool ir_template_same(const struct ir_template *a, const struct ir_template *b)
{
	bool same = a->n == b->n;
	for (int i = 0; i < a->n && same; i++)
		same = a->at[i].kind == b->at[i].kind && a->at[i].type == b->at[i].type &&
		       a->at[i].number == b->at[i].number && a->at[i].word == b->at[i].word;
	return same;
}
