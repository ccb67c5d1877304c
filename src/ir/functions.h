/* The functions of the headers of kernels that expressions call in texts. The table is functions.def. */
#ifndef TPAT_FN_COUNT_H
#define TPAT_FN_COUNT_H

#include "base/arena.h"
#include "base/embed.h"
#include "tensor/type.h"

enum ir_function {
#define FUNCTION(id, operands, cuda, c) FN_##id,
#include "ir/functions.def"
#undef FUNCTION
	FN_COUNT
};

struct ir_function_info {
	int operands;
	const char *name[KERNEL_LANGUAGES]; /* with marks for types; "": the language lacks it */
};
extern const struct ir_function_info ir_function_info[FN_COUNT];

/* The function's name in a text: for that result, and for an operand of that type. */
const char *ir_function_name(enum ir_function f, enum kernel_language language, enum type result, enum type operand,
                             struct arena *a);
/* True for integers narrower than int: C computes with them as int. */
bool ir_promoted(enum type t);

#endif
