/* Names that a buffer cannot have, since programs or kernels use them for something else. */
#include <string.h>

#include "ir/axis_names.h"

static const char *const words[] = {
	/* C, C++ and CUDA */
	"auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do", "double", "else",
	"enum", "extern", "false", "float", "for", "goto", "half", "if", "inline", "int", "long", "namespace", "new",
	"operator", "private", "public", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
	"switch", "template", "this", "true", "typedef", "typename", "union", "unsigned", "using", "virtual", "void",
	"volatile", "while", "asm", "abs", "log", "exp", "pow", "gamma", "warpSize", "main",
	/* the device header */
	"load", "store", "limits", "apply", "indexed", "words", "vector_part",
	/* programs */
	"it", "let", "map", "index", "program", "where", "then", "value", "init", "at",
	/* kernels' own variables */
	"element", "lane", "row", "sum", "best", "best_at", "part", "thread", "block", "args", "v",
	NULL,
};

/* `prefix` and digits: tmp0 of kernels, _0 of programs. */
static bool numbered(const char *name, const char *prefix)
{
	size_t n = strlen(prefix), digits = strncmp(name, prefix, n) == 0 ? strspn(name + n, "0123456789") : 0;
	return digits > 0 && !name[n + digits];
}

/* What ends with _v, or _v and digits: vectors in kernels. */
static bool vector_of(const char *name)
{
	const char *end = name + strlen(name);
	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end - name > 2 && end[-1] == 'v' && end[-2] == '_';
}

bool ir_name_reserved(const char *name)
{
	for (const char *const *w = words; *w; w++)
		if (strcmp(*w, name) == 0)
			return true;
	if (numbered(name, "tmp") || numbered(name, "_") || vector_of(name))
		return true;
	for (int i = 0; i < IR_MAX_RANK; i++)
		if (strcmp(name, ir_axis_names[0][i]) == 0 || strcmp(name, ir_axis_names[1][i]) == 0)
			return true;
	for (enum ir_op op = 0; op < IR_OP_COUNT; op++)
		if (strcmp(name, ir_op_info[op].text) == 0)
			return true;
	for (enum type t = TYPE_F32; t < TYPE_COUNT; t++)
		if (strcmp(name, type_name(t)) == 0)
			return true;
	return false;
}
