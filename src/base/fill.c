/* Texts with places for numbers. See str.h. */
#include <string.h>

#include "base/error.h"
#include "base/str.h"

struct fill {
	struct str *out;
	int n;
	const char *const *name;
	const int *value;
};

static int value_of(const struct fill *f, const char *name, size_t length)
{
	int i = 0;
	while (i < f->n && (strlen(f->name[i]) != length || strncmp(f->name[i], name, length) != 0))
		i++;
	ck(i < f->n);
	return f->value[i];
}

static const char *fill(const struct fill *f, const char *text, bool shown);

/* Fills the place that begins after a brace; returns what follows its end. */
static const char *fill_place(const struct fill *f, const char *text, bool shown)
{
	size_t name = strcspn(text, "}?!> ");
	int value = value_of(f, text, name);
	const char *rest = text + name + (text[name] != '}');
	switch (text[name]) {
	case '?': return fill(f, rest, shown && value);
	case '!': return fill(f, rest, shown && !value);
	case '>': return fill(f, rest, shown && value > 1);
	default: break;
	}
	size_t noun = strcspn(rest, "}");
	if (shown && noun && value == 1)
		str_printf(f->out, "one %.*s", (int)noun, rest);
	else if (shown)
		str_printf(f->out, "%d%s%.*s%s", value, noun ? " " : "", (int)noun, rest, noun ? "s" : "");
	return rest + noun + (rest[noun] == '}');
}

/* Fills a text up to its end, or up to a closing brace; returns what follows. */
static const char *fill(const struct fill *f, const char *text, bool shown)
{
	while (*text && *text != '}') {
		size_t n = strcspn(text, "{}");
		if (shown)
			str_addn(f->out, text, n);
		text += n;
		if (*text == '{')
			text = fill_place(f, text + 1, shown);
	}
	return text + (*text == '}');
}

void str_fill(struct str *out, const char *text, int n, const char *const *name, const int *value)
{
	const struct fill f = { out, n, name, value };
	fill(&f, text, true);
}
