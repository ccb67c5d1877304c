/* Every operator is in the folder of its domain: src/ops/onnx, ml, microsoft or plugins. */
#include <string.h>

#include "ops/lower/op.h"
#include "tests/unit/test.h"

#define OP(folder, x) extern const struct op_def x;
#define OP_TABLE(folder, x) extern const struct op_def x[];
#include "op_list.inc"
#undef OP
#undef OP_TABLE

static const char *folder_of(const struct op_def *op)
{
	if (op_any_domain(op))
		return "plugins";
	if (!op->domain || strncmp(op->domain, "ai.onnx.preview", strlen("ai.onnx.preview")) == 0)
		return "onnx";
	return strcmp(op->domain, "ai.onnx.ml") == 0      ? "ml"
	       : strcmp(op->domain, "com.microsoft") == 0 ? "microsoft"
	                                                  : "";
}

static void check(const char *folder, const struct op_def *op)
{
	if (!test_check(strcmp(folder, folder_of(op)) == 0, __FILE__, __LINE__,
	                "the operator is in its domain's folder"))
		printf("  %s of %s is in src/ops/%s\n", op->name, op->domain ? op->domain : "ai.onnx", folder);
}

static void check_table(const char *folder, const struct op_def *op)
{
	for (; op->name; op++)
		check(folder, op);
}

int main(void)
{
#define OP(folder, x) check(#folder, &x);
#define OP_TABLE(folder, x) check_table(#folder, x);
#include "op_list.inc"
	return test_done();
}
