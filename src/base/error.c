/* The error record. See error.h. */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/str.h"

/* Escapes the text: most contain names from models. */
static void format(char *out, size_t size, const char *fmt, va_list ap)
{
	char text[sizeof((struct err *)0)->text];
	number_vsnprintf(text, sizeof text, fmt, ap);
	str_escape(out, size, text);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	if (e->code)
		return e->code;
	va_list ap;
	va_start(ap, fmt);
	format(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	e->code = code;
	return code;
}

int err_advise(struct err *e, const char *fmt, ...)
{
	if (e->advice[0])
		return e->code;
	va_list ap;
	va_start(ap, fmt);
	format(e->advice, sizeof e->advice, fmt, ap);
	va_end(ap);
	return e->code;
}

int err_where(struct err *e, const char *fmt, ...)
{
	char inner[sizeof e->where];
	memcpy(inner, e->where, sizeof inner);
	va_list ap;
	va_start(ap, fmt);
	format(e->where, sizeof e->where, fmt, ap);
	va_end(ap);
	size_t n = strlen(e->where);
	snprintf(e->where + n, sizeof e->where - n, "%s", inner);
	return e->code;
}

int err_about(struct err *e, enum err_about what, const char *name)
{
	if (e->code && !e->about[what][0])
		snprintf(e->about[what], sizeof e->about[what], "%s", name);
	return e->code;
}

int err_set_guard(struct err *e, const char *what)
{
	const char *bug = arena_guard_bug();
	if (!bug)
		return err_set(e, ERR_DEVICE, "%s%s.", what, *what ? "out of memory" : "Out of memory");
	err_set(e, ERR_UNSUPPORTED, "%s%s.", what, bug);
	return err_advise(e, "Please report it with the model and the command.");
}

void err_clear(struct err *e)
{
	memset(e, 0, sizeof *e);
}

_Noreturn void err_bug(const char *file, int line, const char *what)
{
	char text[256];
	snprintf(text, sizeof text, "a bug in tpat at %s:%d: %s does not hold", file, line, what);
	arena_guard_jump(text);
	fprintf(stderr,
	        "tpat: a bug in tpat at %s:%d: %s does not hold. Please report it with the model and the command.\n",
	        file, line, what);
	abort();
}
