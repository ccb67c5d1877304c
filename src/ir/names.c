/* Names that buffers and symbols cannot have because the text form of programs reserves them. */
#include <string.h>

#include "ir/axis_names.h"

static const char *const words[] = {
	"along", "at",  "descending", "exclusive", "false", "index", "inf",  "init", "it",    "let",
	"map",   "nan", "program",    "reverse",   "scan",  "sum",   "then", "true", "value", "where",
};

bool ir_name_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	for (int i = 0; i < IR_MAX_RANK; i++)
		if (strcmp(name, ir_axis_names[0][i]) == 0 || strcmp(name, ir_axis_names[1][i]) == 0)
			return true;
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++)
		if (strcmp(name, ir_op_info[op].text) == 0)
			return true;
	for (enum type t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
		if (strcmp(name, type_name(t)) == 0)
			return true;
	return false;
}
