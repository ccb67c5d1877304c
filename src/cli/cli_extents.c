/* Short names for long extents, in tables: "f32[?1,64,?2]", and a legend that explains them. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"
#include "cli/cli.h"

enum { LONG_NAME = 12, LONG_EXTENT = 24 }; /* characters that stay as they are */

/* Returns the short name of a text, a new one the first time. */
static const char *short_of(struct cli_extents *x, const char *text)
{
	for (int i = 0; i < x->n; i++)
		if (strcmp(x->at[i], text) == 0)
			return arena_printf(x->arena, "?%d", i + 1);
	vec_push(x->arena, x, text);
	return arena_printf(x->arena, "?%d", x->n);
}

static bool is_name_char(char c)
{
	return ascii_is_digit(c) || ascii_is_lower(c) || ascii_is_upper(c) || c == '_' || c == '.' || c == '/' ||
	       (unsigned char)c >= 0x80;
}

/* Replaces long names of symbols, then the whole extent if it is still long. */
static const char *shorten_extent(struct cli_extents *x, const char *text, size_t n)
{
	struct str out = str_new(x->arena);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && is_name_char(text[end]); end++)
			;
		const char *name = arena_strndup(x->arena, text + i, end - i);
		bool function = end < n && text[end] == '(';
		bool number = ascii_is_digit(*name);
		str_add(&out, end - i > LONG_NAME && !function && !number ? short_of(x, name) : name);
		if (end == i)
			str_addn(&out, text + end++, 1);
	}
	const char *s = str_text(&out);
	return strlen(s) > LONG_EXTENT ? short_of(x, s) : s;
}

const char *cli_shorten(struct cli_extents *x, const char *types)
{
	struct str out = str_new(x->arena);
	const char *start = NULL; /* of an extent */
	int depth = 0;            /* of parentheses in it */
	for (const char *c = types; *c; c++) {
		depth += *c == '(' ? 1 : *c == ')' ? -1 : 0;
		bool ends = start && (*c == ']' || (*c == ',' && depth == 0));
		if (ends)
			str_add(&out, shorten_extent(x, start, (size_t)(c - start)));
		if (ends || !start)
			str_addn(&out, c, 1);
		if (*c == '[' || (ends && *c == ',')) {
			start = c + 1;
			depth = 0;
		} else if (ends) {
			start = NULL;
		}
	}
	str_add(&out, start ? start : "");
	return str_text(&out);
}

void cli_print_legend(const struct cli_extents *x)
{
	enum { LINES = 4 }; /* of one extent; --json has them whole */
	int columns = cli_columns(stdout);
	for (int i = 0; i < x->n; i++) {
		const char *text = x->at[i];
		int at = printf("%s  ?%d = ", i ? "" : "\n", i + 1) - !i;
		size_t n = strlen(text), most = (size_t)(LINES * (columns - at));
		if (n > most) { /* up to a term's end */
			for (n = most; n > 0 && text[n] != ' '; n--)
				;
			text = arena_printf(x->arena, "%.*s ...", (int)n, text);
		}
		cli_wrap(stdout, text, strlen(text), at, at, columns);
	}
}
