/* The tables of `tpat list`: every node, or a summary by operator with the nodes that TensorRT or tpat lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

enum { MOST_NODES = 40 }; /* of a model that is listed whole by default */

const char *cli_support(enum tpat_support s)
{
	static const char *const text[] = {
		[TPAT_TRT_NO] = "no", [TPAT_TRT_PARTLY] = "partly", [TPAT_TRT_YES] = "yes"
	};
	return text[s];
}

static const char *op_name(const struct cli *c, const struct tpat_node *n)
{
	return *n->domain ? arena_printf(c->arena, "%s.%s", n->domain, n->op_type) : n->op_type;
}

static void print_edges(struct cli_extents *x, const char *what, const struct tpat_strings *list)
{
	for (int i = 0; i < list->n; i++) {
		/* "NAME: f32[N,4]": a name may have brackets, too. */
		const char *type = list->at[i];
		for (const char *c = type; (c = strstr(c, ": ")); c += 2)
			type = c + 2;
		printf("  %-8s %.*s%s\n", i ? "" : what, (int)(type - list->at[i]), list->at[i], cli_shorten(x, type));
	}
}

/* A text in lines that fit a terminal, each after `indent` blanks. */
static void print_text(int indent, const char *text)
{
	enum { LEAST = 40 }; /* columns of text, however narrow the terminal is */
	int columns = cli_text_columns(stdout);
	printf("%*s", indent, "");
	cli_wrap(stdout, text, strlen(text), indent, indent, columns < indent + LEAST ? indent + LEAST : columns);
}

/* ---- Every node. */

struct widths {
	int label, op;
};

/* A cell of a column: "no" stands out. */
static void print_answer(int width, const char *text)
{
	bool no = strcmp(text, "no") == 0;
	printf("  %s%s%s%*s", no ? cli_style(stdout, CLI_ERROR) : "", text, no ? cli_style(stdout, CLI_PLAIN) : "",
	       width - (int)strlen(text), "");
}

/* "TensorRT: the reason.", or the reason alone if it names who gives it. */
static void print_reason(const struct cli *c, const struct widths *w, const char *who, const char *why)
{
	size_t n = strlen(who);
	bool named = strncmp(why, who, n) == 0 && why[n] == ' ';
	print_text(w->label + 4, named ? why : arena_printf(c->arena, "%s: %s", who, why));
}

static void print_node(const struct cli *c, struct cli_extents *x, const struct tpat_node *n, const struct widths *w)
{
	printf("  %-*s  %-*s", cli_field(w->label, n->label), n->label, cli_field(w->op, op_name(c, n)), op_name(c, n));
	print_answer(8, cli_support(n->tensorrt));
	print_answer(5, n->constant ? "folds" : n->taken ? "yes" : "no");
	printf("  %s -> %s\n", cli_shorten(x, n->inputs), cli_shorten(x, n->outputs));
	if (n->tensorrt != TPAT_TRT_YES && *n->tensorrt_why && !n->follows)
		print_reason(c, w, "TensorRT", n->tensorrt_why);
	if (*n->why)
		print_reason(c, w, "tpat", n->why);
	if (*n->advice)
		print_text(w->label + 10, n->advice);
}

/* True if the user asked for the node's operator, with its domain or without. */
bool cli_is_type(const struct cli *c, const struct tpat_node *n, const char *type)
{
	return strcmp(type, n->op_type) == 0 || strcmp(type, op_name(c, n)) == 0;
}

static bool is_listed(const struct cli *c, const struct tpat_strings *types, const struct tpat_node *n)
{
	for (int i = 0; i < types->n; i++)
		if (cli_is_type(c, n, types->at[i]))
			return true;
	return types->n == 0;
}

static bool is_shown(const struct cli *c, const struct cli_list *o, const struct tpat_node *n)
{
	return is_listed(c, &o->type, n) && (!o->refused || n->tensorrt == TPAT_TRT_NO);
}

static void print_nodes(const struct cli *c, struct cli_extents *x, const struct tpat_list *l, const struct cli_list *o)
{
	struct widths w = { 4, 8 };
	const char *graph = "";
	int shown = 0;
	for (int i = 0; i < l->nodes; i++) {
		if (!is_shown(c, o, &l->node[i]))
			continue;
		w.label = cli_wider(w.label, l->node[i].label);
		w.op = cli_wider(w.op, op_name(c, &l->node[i]));
		shown++;
	}
	w.label = w.label > 48 ? 48 : w.label;
	if (shown)
		printf("\n  %s%-*s  %-*s  TensorRT  tpat   types%s\n", cli_style(stdout, CLI_HEADING), w.label, "node",
		       w.op, "operator", cli_style(stdout, CLI_PLAIN));
	for (int i = 0; i < l->nodes; i++) {
		if (!is_shown(c, o, &l->node[i]))
			continue;
		if (strcmp(l->node[i].graph, graph) != 0)
			printf("\n  in %s\n", graph = l->node[i].graph);
		print_node(c, x, &l->node[i], &w);
	}
}

/* ---- A summary. */

/* Nodes that share an operator, or a reason. */
struct group {
	const char *op, *why, *exact, *advice; /* exact: the first node's reason, with its names */
	int nodes, refused, partly, lacked;
	struct {
		VEC(const char *);
	} first; /* labels of the first nodes */
};

struct groups {
	VEC(struct group);
};

/* The group of an operator and a reason; `op` null: of any operators that share the reason. */
static struct group *group_of(const struct cli *c, struct groups *groups, const char *op, const char *why)
{
	vec_each (g, groups)
		if ((!op || strcmp(g->op, op) == 0) && strcmp(g->why, why) == 0)
			return g;
	vec_push(c->arena, groups, ((struct group){ .op = op ? op : "", .why = why, .advice = "" }));
	return &groups->at[groups->n - 1];
}

static bool is_fine(const struct group *g)
{
	return !g->refused && !g->partly && !g->lacked;
}

/* Refused operators come first, then others that something lacks, then the frequent ones. */
static int compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->refused != y->refused)
		return y->refused - x->refused;
	if (is_fine(x) != is_fine(y))
		return is_fine(x) - is_fine(y);
	if (x->nodes != y->nodes)
		return y->nodes - x->nodes;
	return strcmp(x->op, y->op);
}

/* A count that stands out: "-" for none. */
static const char *count(const struct cli *c, int n)
{
	return n ? arena_printf(c->arena, "%d", n) : "-";
}

enum { MOST_ROWS = 8 }; /* of operators that nothing lacks */

/* The operators that nothing lacks, which matter least: a row each if they are few, else one paragraph. `unknown`: tpat
 * cannot tell whether it supports some of their nodes. */
static void print_others(const struct cli *c, const struct groups *groups, int first, int width, bool unknown)
{
	enum { MOST_NAMES = 24 };
	int left = groups->n - first;
	if (left <= MOST_ROWS) {
		for (int i = first; i < groups->n; i++)
			printf("  %-*s  %5d  %16s  %11s  %10s\n", cli_field(width, groups->at[i].op), groups->at[i].op,
			       groups->at[i].nodes, "-", "-", "-");
		return;
	}
	int at = printf("  %d %soperators%s:", left, first ? "other " : "",
	                unknown ? "" : ", which TensorRT and tpat support");
	for (int i = first; i < groups->n && i < first + MOST_NAMES; i++) {
		const char *name = arena_printf(c->arena, " %s %d%s", groups->at[i].op, groups->at[i].nodes,
		                                i + 1 < groups->n ? "," : "");
		if (at + (int)strlen(name) > cli_columns(stdout))
			at = printf("\n   ") - 1;
		at += printf("%s", name);
	}
	printf("%s\n", left > MOST_NAMES ? " ..." : "");
}

/* The operators that something lacks, then the others. Nodes after one that tpat lacks are not counted as lacked. */
static void print_operators(const struct cli *c, const struct tpat_list *l)
{
	struct groups groups = { 0 };
	int width = 8, first = 0;
	bool unknown = false;
	for (int i = 0; i < l->nodes; i++) {
		const struct tpat_node *n = &l->node[i];
		struct group *g = group_of(c, &groups, op_name(c, n), "");
		g->nodes++;
		g->refused += n->tensorrt == TPAT_TRT_NO;
		g->partly += n->tensorrt == TPAT_TRT_PARTLY;
		g->lacked += !n->taken && !*n->after;
		unknown |= !n->taken && *n->after;
		width = cli_wider(width, g->op);
	}
	qsort(groups.at, (size_t)groups.n, sizeof *groups.at, compare);
	printf("\n");
	if (!is_fine(groups.at) || groups.n <= MOST_ROWS)
		printf("  %s%-*s  nodes  TensorRT refuses  only partly  tpat lacks%s\n", cli_style(stdout, CLI_HEADING),
		       width, "operator", cli_style(stdout, CLI_PLAIN));
	for (; first < groups.n && !is_fine(&groups.at[first]); first++) {
		const struct group *g = &groups.at[first];
		printf("  %-*s  %5d  %16s  %11s  %10s\n", cli_field(width, g->op), g->op, g->nodes,
		       count(c, g->refused), count(c, g->partly), count(c, g->lacked));
	}
	print_others(c, &groups, first, width, unknown);
}

/* The reason without the names in it: nodes that are refused alike share it. */
static const char *without_names(const struct cli *c, const char *why)
{
	struct str out = str_new(c->arena);
	for (const char *end; *why; why = end) {
		end = why + strcspn(why, "\"");
		str_addn(&out, why, (size_t)(end - why));
		if (!*end)
			break;
		const char *close = strchr(end + 1, '"');
		str_add(&out, close ? "\"...\"" : "\"");
		end = close ? close + 1 : end + 1;
	}
	return str_text(&out);
}

/* True if `op` is one of the names in "Cast, Mul". */
static bool is_named(const char *ops, const char *op)
{
	size_t n = strlen(op);
	for (const char *at = ops; (at = strstr(at, op)); at += n)
		if ((at == ops || at[-1] == ' ') && (at[n] == 0 || at[n] == ','))
			return true;
	return false;
}

static void add_node(const struct cli *c, struct groups *groups, const struct tpat_node *n, const char *why,
                     const char *advice)
{
	enum { MOST_LABELS = 4, LONGEST = 40 };
	struct group *g = group_of(c, groups, NULL, without_names(c, why));
	if (!is_named(g->op, op_name(c, n)))
		g->op = *g->op ? arena_printf(c->arena, "%s, %s", g->op, op_name(c, n)) : op_name(c, n);
	if (!g->nodes++) {
		g->exact = why;
		g->advice = advice;
	}
	if (g->first.n < MOST_LABELS) {
		bool fits = strlen(n->label) <= LONGEST;
		vec_push(c->arena, &g->first,
		         fits ? n->label : arena_printf(c->arena, "%.*s...", LONGEST - 3, n->label));
	}
}

static void print_groups(const struct cli *c, const char *title, const struct groups *groups)
{
	if (groups->n)
		printf("\n%s\n", title);
	vec_each (g, groups) {
		bool several = strchr(g->op, ',');
		bool named = g->nodes > 1 && strcmp(g->why, g->exact) != 0; /* the reason has names of one node */
		struct str line = str_new(c->arena);
		if (several)
			str_printf(&line, "%d nodes (%s):", g->nodes, g->op);
		else
			str_printf(&line, "%s, %d node%s:", g->op, g->nodes, g->nodes == 1 ? "" : "s");
		vec_each (label, &g->first)
			str_printf(&line, "%s %s", label == g->first.at ? "" : ",", *label);
		str_add(&line, g->nodes > g->first.n ? ", ..." : "");
		print_text(2, str_text(&line));
		print_text(4, named ? arena_printf(c->arena, "%s: %s", g->first.at[0], g->exact) : g->exact);
		if (*g->advice)
			print_text(4, g->advice);
	}
}

static void print_summary(const struct cli *c, const struct tpat_list *l)
{
	struct groups refused = { 0 }, lacked = { 0 };
	int after = 0;
	print_operators(c, l);
	for (int i = 0; i < l->nodes; i++) {
		const struct tpat_node *n = &l->node[i];
		if (n->tensorrt == TPAT_TRT_NO && !n->follows)
			add_node(c, &refused, n, n->tensorrt_why, "");
		if (!n->taken && *n->after)
			after++;
		else if (!n->taken)
			add_node(c, &lacked, n, n->why, n->advice);
	}
	print_groups(c, "TensorRT refuses:", &refused);
	print_groups(c, "tpat does not support:", &lacked);
	if (after)
		printf("  and %d node%s after %s, whose shapes are unknown because of that\n", after,
		       after == 1 ? "" : "s", lacked.n == 1 && lacked.at[0].nodes == 1 ? "it" : "these");
}

void cli_print_list(const struct cli *c, const struct tpat_list *l, const struct cli_list *o, const char *engine)
{
	struct cli_extents x = { .arena = c->arena };
	bool summary = l->nodes > MOST_NODES && !o->all && !o->refused && !o->type.n;
	int refused = 0, both = 0, follow = 0;
	for (int i = 0; i < l->nodes; i++) {
		refused += l->node[i].tensorrt == TPAT_TRT_NO;
		both += l->node[i].tensorrt == TPAT_TRT_NO && l->node[i].taken;
		follow += l->node[i].follows;
	}
	printf("%s: %d node%s, opset %lld, IR version %lld\n", l->model, l->nodes, l->nodes == 1 ? "" : "s",
	       (long long)l->opset, (long long)l->ir_version);
	print_edges(&x, "inputs", &l->inputs);
	print_edges(&x, "outputs", &l->outputs);
	cli_print_plain(l->replaced, l->replacements);
	if (summary)
		print_summary(c, l);
	else
		print_nodes(c, &x, l, o);
	cli_print_legend(&x);
	struct str last = str_new(c->arena);
	if (refused)
		str_printf(&last, "%s refuses %d of %d node%s", engine, refused, l->nodes, l->nodes == 1 ? "" : "s");
	else
		str_printf(&last, "%s refuses none of these nodes", engine);
	if (follow)
		str_printf(&last, ", %d of them only because they read tensors of the others", follow);
	if (refused)
		str_printf(&last, "; tpat supports %d of these", both);
	printf("\n");
	print_text(0, arena_printf(c->arena, "%s.", str_text(&last)));
	if (summary)
		print_text(0, "tpat list --all shows every node, --refused those that TensorRT refuses, -t TYPE one "
		              "operator's.");
}
