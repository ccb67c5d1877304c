/* JSON on standard output: valid whatever names, paths and numbers it holds. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

static bool wanted, printed;

/* ---- Texts. */

static json_t *json_of(const char *text)
{
	json_t *x = json_string(text);
	if (x || !text)
		return x ? x : json_null();
	struct arena *a = arena_new();
	struct str s = str_new(a);
	for (const char *c = text; *c;) {
		int n = str_character(c);
		if (n)
			str_addn(&s, c, (size_t)n);
		else
			str_printf(&s, "\\x%02x", (unsigned char)*c);
		c += n ? n : 1;
	}
	x = json_string(str_text(&s));
	arena_free(a);
	return x;
}

/* ---- Objects. */

json_t *cli_json(const char *format, ...)
{
	json_t *object = json_object();
	va_list ap;
	va_start(ap, format);
	for (const char *f = strstr(format, "s:"); f; f = strstr(f + 3, "s:")) {
		const char *name = va_arg(ap, const char *);
		json_t *x = NULL;
		double number;
		switch (f[2]) {
		case 's': x = json_of(va_arg(ap, const char *)); break;
		case 'i': x = json_integer(va_arg(ap, int)); break;
		case 'I': x = json_integer(va_arg(ap, json_int_t)); break;
		case 'b': x = json_boolean(va_arg(ap, int)); break;
		case 'o': x = va_arg(ap, json_t *); break;
		case 'f':
			number = va_arg(ap, double);
			x = isfinite(number) ? json_real(number) : json_null();
			break;
		}
		json_object_set_new(object, name, x ? x : json_null());
	}
	va_end(ap);
	return object;
}

json_t *cli_json_list(const struct tpat_strings *list)
{
	json_t *x = json_array();
	for (int i = 0; i < list->n; i++)
		json_array_append_new(x, json_of(list->at[i]));
	return x;
}

json_t *cli_json_plain(const struct tpat_plain_node *node, int n)
{
	json_t *list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, cli_json("{s:s, s:s, s:i}", "node", node[i].node, "type", node[i].type,
		                                     "nodes", node[i].nodes));
	return list;
}

void cli_print_json(json_t *x)
{
	json_dumpf(x, stdout, JSON_INDENT(1)); /* main() checks for failures */
	putchar('\n');
	json_decref(x);
	printed = true;
}

/* ---- Errors. */

void cli_json_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		wanted |= strcmp(argv[i], "--json") == 0;
}

static const char *given(const char *text)
{
	return text && *text ? text : NULL;
}

void cli_print_error(const char *where, const char *text, const char *advice, int status, const struct tpat *t)
{
	char all[2048];
	if (!wanted || printed)
		return;
	snprintf(all, sizeof all, "%s%s", where, text);
	cli_print_json(cli_json("{s:s, s:s?, s:s?, s:s?, s:s?, s:i}", "error", all, "advice", given(advice), "file",
	                        t ? given(tpat_error_file(t)) : NULL, "node", t ? given(tpat_error_node(t)) : NULL,
	                        "tensor", t ? given(tpat_error_tensor(t)) : NULL, "exit", status));
}
