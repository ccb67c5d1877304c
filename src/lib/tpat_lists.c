/* Options for several tensors in one text, as trtexec takes them: "a:1x2,b:3x4". */
#include "lib/tpat_inside.h"

#include <string.h>

struct list {
	VEC(const char *);
};

/* A text that may be a list. */
struct text {
	const char *text;
	int *part; /* where the tensor's part ends that begins at a character; 0: none begins there */
	tpat_has_fn has;
	const void *of;
	struct arena *arena;
};

static const char *slice(const struct text *t, int from, int to)
{
	return arena_strndup(t->arena, t->text + from, (size_t)(to - from));
}

/* True for the name of a tensor between single quotes, which trtexec needs around names with commas or colons. */
static bool is_quoted(const struct text *t, int from, int to)
{
	return to - from > 2 && t->text[from] == '\'' && t->text[to - 1] == '\'' &&
	       !t->has(t->of, slice(t, from, to)) && t->has(t->of, slice(t, from + 1, to - 1));
}

static bool has_name(const struct text *t, int from, int to)
{
	return to > from && (t->has(t->of, slice(t, from, to)) || is_quoted(t, from, to));
}

/* Where the part ends that begins at `from` with a name before the colon at `colon`: at the end of the text, or at a
 * comma after which the text is a list, too. A shape has no colon. */
static int end_of_part(const struct text *t, int colon)
{
	const int next = colon + 1 + (int)strcspn(t->text + colon + 1, ":");
	if (!t->text[next])
		return next;
	for (int i = colon + 1; i < next; i++)
		if (t->text[i] == ',' && t->part[i + 1])
			return i;
	return 0;
}

/* Fills t->part from the end: a text is a list if it begins with a part that the end or a list follows. */
static void find_parts(struct text *t)
{
	const int n = (int)strlen(t->text);
	t->part = NEWN(t->arena, int, n + 1);
	for (int from = n - 1; from >= 0; from--) {
		if (from && t->text[from - 1] != ',')
			continue;
		for (int colon = n - 1; colon > from && !t->part[from]; colon--)
			if (t->text[colon] == ':' && has_name(t, from, colon))
				t->part[from] = end_of_part(t, colon);
	}
}

/* A part's text, without quotes around the name. */
static const char *part_text(const struct text *t, int from, int end)
{
	for (int colon = end - 1; colon > from; colon--)
		if (t->text[colon] == ':')
			return is_quoted(t, from, colon) ? arena_printf(t->arena, "%s%s", slice(t, from + 1, colon - 1),
			                                                slice(t, colon, end))
			                                 : slice(t, from, end);
	return slice(t, from, end);
}

static void split_by_names(struct list *out, const struct text *t)
{
	for (int from = 0; t->text[from];) {
		const int end = t->part[from];
		vec_push(t->arena, out, part_text(t, from, end));
		from = end + (t->text[end] == ',');
	}
}

/* Splits before the last comma of what stands between two colons. */
static void split_by_looks(struct list *out, const struct text *t)
{
	const char *from = t->text, *colon = strchr(from, ':');
	while (colon) {
		const char *next = strchr(colon + 1, ':'), *comma = next;
		while (comma && comma > colon && *comma != ',')
			comma--;
		if (comma && comma > colon) {
			vec_push(t->arena, out, (const char *)arena_strndup(t->arena, from, (size_t)(comma - from)));
			from = comma + 1;
		}
		colon = next;
	}
	vec_push(t->arena, out, from);
}

struct tpat_strings tpat_split_lists(const struct tpat_strings *text, tpat_has_fn has, const void *of, struct arena *a)
{
	struct list all = { 0 };
	for (int i = 0; i < text->n; i++) {
		struct text t = { text->at[i], NULL, has, of, a };
		find_parts(&t);
		if (t.part[0])
			split_by_names(&all, &t);
		else
			split_by_looks(&all, &t);
	}
	return (struct tpat_strings){ all.at, all.n };
}

static bool has_input(const void *of, const char *name)
{
	const Onnx__GraphProto *g = of;
	for (size_t i = 0; i < g->n_input; i++)
		if (strcmp(onnx_text(g->input[i]->name), name) == 0)
			return true;
	return strcmp(name, "*") == 0; /* every input, in profiles */
}

struct tpat_strings tpat_split_inputs(const struct tpat_strings *text, const struct onnx_model *m, struct arena *a)
{
	return tpat_split_lists(text, has_input, m->proto->graph, a);
}
