/* Types allowed in operations and combines. Arithmetic is done in f32, f64, integers of 8 bits and more, and index;
 * narrower types are only loaded, chosen, cast and stored. */
#include "ir/pool.h"

static bool computes(enum type t)
{
	if (type_is_float(t))
		return t == TYPE_F32 || t == TYPE_F64;
	return t == TYPE_INDEX || (type_is_int(t) && type_info(t)->bits >= 8);
}

static bool has_elements(enum type t)
{
	return t == TYPE_INDEX || t == TYPE_BOOL || type_is_float(t) || type_is_int(t);
}

static const char *fault_of_operand(enum ir_op op, enum type t)
{
	bool real = type_is_float(t), whole = op == IR_FLOORDIV || op == IR_MOD || op == IR_BITNOT;
	switch (op) {
	case IR_AND:
	case IR_OR:
	case IR_NOT: return t == TYPE_BOOL ? NULL : "an operand that is not bool";
	case IR_BITAND:
	case IR_BITOR:
	case IR_BITXOR:
		if (t == TYPE_BOOL)
			return NULL;
		whole = true;
		break;
	case IR_SHL:
	case IR_SHR:
	case IR_DIV:
	case IR_REM:
	case IR_POW:
		if (t == TYPE_INDEX)
			return "an operand of type index";
		whole = op == IR_SHL || op == IR_SHR;
		break;
	case IR_EQ:
		if (t == TYPE_BOOL)
			return NULL;
		break;
	default:
		if ((ir_op_info[op].kind == IR_CALL || op == IR_ISNAN || op == IR_ISINF) && !real)
			return "an operand that is not a float";
	}
	if (whole && real)
		return "an operand that is not an integer";
	return computes(t) ? NULL : "an operand of a type without arithmetic (cast it first)";
}

static bool is_signed_int(enum type t)
{
	return type_is_int(t) && type_is_signed(t);
}

static const char *fault_of_cast(enum ir_op op, enum type to, enum type from)
{
	int from_bits = type_info(from)->bits, to_bits = type_info(to)->bits;
	if (!has_elements(from) || !has_elements(to))
		return "a cast of such a type";
	if (op == IR_CAST_SAT && (!type_is_float(from) || !type_is_float(to) || to_bits > 8))
		return "a saturating cast is of floats to floats of 8 bits or less";
	if (op == IR_BITCAST && (to == TYPE_INDEX || from == TYPE_INDEX || to == TYPE_BOOL || from_bits != to_bits))
		return "a bitcast between types of two widths";
	if (op == IR_BITCAST && to_bits < 8 && (is_signed_int(to) || is_signed_int(from)))
		return "a bitcast of signed integers narrower than a byte (cast them to unsigned ones)";
	return NULL;
}

const char *ir_operand_fault(enum ir_op op, enum type t, int n, const expr *arg)
{
	if (n != ir_op_info[op].arity)
		return "wrong number of operands";
	if (op == IR_SELECT)
		return arg[0]->type == TYPE_BOOL && arg[1]->type == arg[2]->type && arg[1]->type == t
		               ? NULL
		               : "a select takes bool and two operands of one type";
	if (op == IR_CAST || op == IR_CAST_SAT || op == IR_BITCAST)
		return fault_of_cast(op, t, arg[0]->type);
	if (n == 2 && arg[0]->type != arg[1]->type)
		return "operands of two types";
	return fault_of_operand(op, arg[0]->type);
}

const char *ir_combine_fault(enum ir_stage_kind kind, enum ir_combine c, enum type t)
{
	bool logic = c == IR_ALL || c == IR_ANY, small = t == TYPE_F16 || t == TYPE_BF16; /* atomics support these two
	                                                                                   */
	if (kind == IR_SORT)
		return c != IR_NONE                                         ? "a sort combines nothing"
		       : (computes(t) || t == TYPE_BOOL) && t != TYPE_INDEX ? NULL
		                                                            : "a type that cannot be sorted by";
	if (kind == IR_PICK)
		return c != IR_NONE ? "a pick combines nothing" : t != TYPE_BOOL ? "a pick's value is a bool" : NULL;
	if (kind == IR_MAP || kind == IR_COMPACT || kind == IR_LOOP)
		return c == IR_NONE ? NULL : "this kind of stage combines nothing";
	if (kind == IR_REDUCE ? c == IR_NONE : ir_combine_is_arg(c))
		return "not a combine of this kind of stage";
	if (kind == IR_SCAN && (c == IR_NONE || logic))
		return "not a combine of this kind of stage";
	if (c == IR_NONE || (logic && t == TYPE_BOOL))
		return NULL;
	if (logic)
		return "all and any are of bool";
	if (kind == IR_SCATTER && type_is_int(t))
		return NULL; /* atomics support all integers */
	return (computes(t) && t != TYPE_INDEX) || (small && kind == IR_SCATTER) ? NULL
	                                                                         : "a type that cannot be combined so";
}
