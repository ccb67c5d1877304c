/* Errors of operators that cannot be lowered. See lower.h. */
#include "ops/lower/lower.h"

#include <stdarg.h>

#include "base/number.h"

int lower_fail(struct lower *l, enum err_code code, const char *fmt, ...)
{
	char text[sizeof l->err->text];
	va_list ap;

	va_start(ap, fmt);
	number_vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(l->err, code, "node %s (%s, opset %d): %s", l->label, l->op->name, l->opset, text);
}
