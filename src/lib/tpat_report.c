/* Nodes that an engine refused, from its log: of trtexec, of the ONNX parser, or of Polygraphy. Every line is looked at
 * by itself, since timestamps, severities and file names around the messages differ between versions.
 *
 *   While parsing node number 12 [ConvInteger -> "y"]        a node's number, type and first output
 *   In node 12 with name: conv and operator: ConvInteger     its number, name and type
 *   Invalid Node - conv                                      its name
 *   Could not find any implementation for node conv.         its name
 *   getPluginCreator could not find plugin: NMS version: 1   a type that is not a plugin either */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "lib/tpat_inside.h"

struct report {
	struct graph *graph;
	const char *path;
	int found;
	struct arena *arena;
};

/* Returns the text after `key` in the line, or null. */
static const char *after(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	return at ? at + strlen(key) : NULL;
}

static void refuse(struct report *r, struct graph_node *n, const char *line)
{
	size_t len = strlen(line);
	if (!n->reported)
		r->found++;
	n->reported = arena_printf(r->graph->arena, "Refused in %s: %s", path_base(r->path),
	                           str_printable(r->arena, arena_strndup(r->arena, line, len)));
}

static struct graph_node *find(struct report *r, const char *name)
{
	struct graph *in;
	struct err ignored = { 0 };
	int node;
	if (!*name || graph_node_find(&in, &node, r->graph, name, &ignored) < 0)
		return NULL;
	return &in->nodes.at[node];
}

/* The node of this number if it has this type: an engine numbers the nodes of the main graph. */
static struct graph_node *find_number(struct report *r, int number, const char *type)
{
	if (number < 0 || number >= r->graph->nodes.n)
		return NULL;
	struct graph_node *n = &r->graph->nodes.at[number];
	return strcmp(onnx_text(n->proto->op_type), type) == 0 ? n : NULL;
}

/* Returns the text up to one of the characters, without blanks around it. */
static const char *word(struct report *r, const char *from, const char *end)
{
	from += strspn(from, " ");
	size_t n = strcspn(from, end);
	while (n && from[n - 1] == ' ')
		n--;
	return arena_strndup(r->arena, from, n);
}

static struct graph_node *parsed(struct report *r, const char *line)
{
	const char *at = after(line, "While parsing node number "), *type, *out;
	if (!at || !(type = after(at, "[")))
		return NULL;
	out = after(type, "-> \"");
	struct graph_node *n = out ? find(r, word(r, out, "\"")) : NULL;
	return n ? n : find_number(r, atoi(at), word(r, type, " ]"));
}

static struct graph_node *named(struct report *r, const char *line)
{
	const char *number = after(line, "In node "), *name, *type;
	if (!number || !ascii_is_digit(*number) || !(name = after(number, "with name: ")) ||
	    !(type = strstr(name, " and operator: ")))
		return NULL;
	struct graph_node *n = find(r, word(r, arena_strndup(r->arena, name, (size_t)(type - name)), ""));
	return n ? n : find_number(r, atoi(number), word(r, after(type, " and operator: "), " (:,."));
}

static struct graph_node *by_name(struct report *r, const char *line)
{
	const char *at = after(line, "Invalid Node - ");
	if (at)
		return find(r, word(r, at, ""));
	at = after(line, "find any implementation for node ");
	if (!at)
		return NULL;
	char *name = arena_strdup(r->arena, word(r, at, ""));
	size_t n = strlen(name);
	while (n && strchr(".)", name[n - 1]))
		name[--n] = 0;
	return find(r, name);
}

static void by_type(struct report *r, const char *line)
{
	const char *at = after(line, "could not find plugin: ");
	if (!at)
		return;
	const char *type = word(r, at, " ");
	vec_each (g, &r->graph->graphs)
		vec_each (n, &(*g)->nodes)
			if (strcmp(onnx_text(n->proto->op_type), type) == 0)
				refuse(r, n, line);
}

static void read_line(struct report *r, const char *line)
{
	struct graph_node *n = parsed(r, line);
	n = n ? n : named(r, line);
	n = n ? n : by_name(r, line);
	if (n)
		refuse(r, n, line);
	else
		by_type(r, line);
}

int tpat_engine_report(struct graph *g, const char *path, struct arena *a, struct err *e)
{
	struct report r = { g, path, 0, a };
	char *text;
	size_t size;
	if (!path)
		return 0;
	TRY(tpat_log_read(&text, &size, path, a, e));
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\r\n");
		read_line(&r, arena_strndup(a, at, n));
		at += n + (at[n] != 0);
	}
	if (r.found)
		return 0;
	err_set(e, ERR_USAGE, "%s: no line says that TensorRT refuses a node of %s.", path, g->model->path);
	return err_advise(e, "Give the output of trtexec --verbose, of the ONNX parser, or of polygraphy inspect "
	                     "capability for this model.");
}
