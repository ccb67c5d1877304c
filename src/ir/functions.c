/* Names of the functions that expressions call. See functions.h. */
#include "ir/functions.h"

#include "base/error.h"
#include "base/str.h"

const struct ir_function_info ir_function_info[FN_COUNT] = {
#define FUNCTION(id, operands, cuda, c) [FN_##id] = { operands, { [KERNEL_CUDA] = cuda, [KERNEL_C] = c } },
#include "ir/functions.def"
#undef FUNCTION
};

bool ir_promoted(enum type t)
{
	return type_is_int(t) && type_info(t)->bits < 32;
}

/* A template argument is the type's name in the language. */
static const char *argument(enum type t)
{
	return t == TYPE_F32 ? "float" : t == TYPE_F64 ? "double" : t == TYPE_I32 ? "int" : type_name(t);
}

const char *ir_function_name(enum ir_function f, enum kernel_language language, enum type result, enum type operand,
                             struct arena *a)
{
	struct str s = str_new(a);
	bool inside = false;
	ck(*ir_function_info[f].name[language]);
	for (const char *c = ir_function_info[f].name[language]; *c; c++) {
		enum type t = *c == '@' ? operand : result;
		if (*c == '<' && c[1] == '@' && !ir_promoted(operand))
			break;
		inside |= *c == '<';
		if (*c == '@' || *c == '$')
			str_add(&s, inside ? argument(t) : type_name(t));
		else if (*c == '~')
			str_add(&s, operand == TYPE_F32 ? "f" : "");
		else
			str_addn(&s, c, 1);
	}
	return str_text(&s);
}
