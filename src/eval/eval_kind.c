/* Register kinds. See code.h. */
#include "eval/code.h"

enum kind eval_kind(enum type t)
{
	if (t == TYPE_F64)
		return KIND_F64;
	if (type_is_float(t))
		return KIND_F32;
	return t == TYPE_I64 || t == TYPE_U64 || t == TYPE_U32 || t == TYPE_INDEX ? KIND_I64 : KIND_I32;
}

bool eval_type_known(enum type t)
{
	return type_is_float(t) || type_is_int(t) || t == TYPE_BOOL;
}

size_t eval_kind_size(enum kind k)
{
	return k == KIND_F32 || k == KIND_I32 ? 4 : 8;
}
