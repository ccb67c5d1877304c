/* tpat list: a model's nodes as a table, or as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

static const char *const support[] = { [TPAT_TRT_NO] = "no", [TPAT_TRT_PARTLY] = "partly", [TPAT_TRT_YES] = "yes" };

static const char *op_name(const struct cli *c, const struct tpat_node *n)
{
	return *n->domain ? arena_printf(c->arena, "%s.%s", n->domain, n->op_type) : n->op_type;
}

static void print_edges(const char *what, const struct tpat_strings *list)
{
	for (int i = 0; i < list->n; i++)
		printf("  %-8s %s\n", i ? "" : what, list->at[i]);
}

struct widths {
	int label, op;
};

static void print_node(const struct cli *c, const struct tpat_node *n, const struct widths *w)
{
	printf("  %-*s  %-*s  %-8s  %-5s  %s -> %s\n", cli_field(w->label, n->label), n->label,
	       cli_field(w->op, op_name(c, n)), op_name(c, n), support[n->tensorrt],
	       n->constant ? "folds"
	       : n->taken  ? "yes"
	                   : "no",
	       n->inputs, n->outputs);
	if (n->tensorrt != TPAT_TRT_YES && *n->tensorrt_why && !n->follows)
		printf("  %*s  TensorRT: %s\n", w->label, "", n->tensorrt_why);
	if (!n->taken && *n->why)
		printf("  %*s  tpat: %s\n", w->label, "", n->why);
	if (!n->taken && *n->advice)
		printf("  %*s        %s\n", w->label, "", n->advice);
}

static void print_table(const struct cli *c, const struct tpat_list *l, const char *engine)
{
	struct widths w = { 4, 8 };
	const char *graph = "";
	int refused = 0, both = 0, follow = 0;
	for (int i = 0; i < l->nodes; i++) {
		w.label = cli_wider(w.label, l->node[i].label);
		w.op = cli_wider(w.op, op_name(c, &l->node[i]));
		refused += l->node[i].tensorrt == TPAT_TRT_NO;
		follow += l->node[i].follows;
		both += l->node[i].tensorrt == TPAT_TRT_NO && l->node[i].taken;
	}
	w.label = w.label > 48 ? 48 : w.label;
	printf("%s: %d node%s, opset %lld, IR version %lld\n", l->model, l->nodes, l->nodes == 1 ? "" : "s",
	       (long long)l->opset, (long long)l->ir_version);
	print_edges("inputs", &l->inputs);
	print_edges("outputs", &l->outputs);
	if (l->nodes)
		printf("\n  %-*s  %-*s  TensorRT  tpat   types\n", w.label, "node", w.op, "operator");
	for (int i = 0; i < l->nodes; i++) {
		if (strcmp(l->node[i].graph, graph) != 0)
			printf("\n  in %s\n", graph = l->node[i].graph);
		print_node(c, &l->node[i], &w);
	}
	printf("\n%s refuses %d of %d nodes", engine, refused, l->nodes);
	if (follow)
		printf(", %d of them only because they read tensors of the others", follow);
	printf("; tpat supports %d of these.\n", both);
}

/* One entry per requested node; null: none requested. */
static json_t *json_whys(const struct tpat_list *l)
{
	json_t *whys = json_array();
	for (int i = 0; i < l->whys; i++)
		json_array_append_new(whys, cli_json_why(l->why[i]));
	return whys;
}

static void print_json(const struct tpat_list *l)
{
	json_t *nodes = json_array();
	for (int i = 0; i < l->nodes; i++) {
		const struct tpat_node *n = &l->node[i];
		json_array_append_new(
		        nodes,
		        cli_json("{s:i, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:s}", "index",
		                 n->index, "graph", n->graph, "label", n->label, "op_type", n->op_type, "domain",
		                 n->domain, "opset", n->opset, "inputs", n->inputs, "outputs", n->outputs, "tensorrt",
		                 support[n->tensorrt], "tensorrt_why", n->tensorrt_why, "follows", n->follows, "taken",
		                 n->taken, "constant", n->constant, "why", n->why, "advice", n->advice));
	}
	json_t *all = cli_json("{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "model", l->model, "ir_version",
	                       (json_int_t)l->ir_version, "opset", (json_int_t)l->opset, "inputs",
	                       cli_json_list(&l->inputs), "outputs", cli_json_list(&l->outputs), "warnings",
	                       cli_json_list(&l->warnings), "nodes", nodes);
	if (l->whys)
		json_object_set_new(all, "why", json_whys(l));
	cli_print_json(all);
}

int cli_list(struct cli *c, int argc, char **argv)
{
	struct tpat_list_options o = TPAT_LIST_OPTIONS;
	bool json = false;
	const struct cli_option option[] = {
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW", "shape of a model input" },
		{ "value", 0, CLI_LIST, &o.value, "IN=16000",
		  "make a model input a constant: a number or a list (1,2,3)" },
		{ "why", 0, CLI_SPLIT, &o.why, "NODE,...",
		  "show how each stage of these nodes is scheduled: the rules considered,\n"
		  "their estimated times, and why others do not apply" },
		{ "gpu", 0, CLI_TEXT, &o.gpu, "NAME",
		  "with --why: schedule for this GPU: \"A10\", \"orin nx\", native\n(default H100 SXM)" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, "VERSION",
		  "what this version supports: 8.6, 10.3, 11.5, rtx (default: as\n"
		  "measured with TensorRT-RTX 1.7, of the TensorRT 11 family)" },
		{ "engine-report", 0, CLI_TEXT, &o.engine_report, "LOG",
		  "a log of trtexec, of the ONNX parser, or of polygraphy inspect\n"
		  "capability: nodes that TensorRT refuses there count as refused" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_list *l;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_list(c->tpat, &l, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	for (int i = 0; i < l->warnings.n; i++)
		fprintf(stderr, "tpat: %s\n", l->warnings.at[i]);
	if (json)
		print_json(l);
	else if (!l->whys)
		print_table(c, l, cli_version_name(c, o.tensorrt));
	for (int i = 0; i < l->whys && !json; i++)
		cli_print_why(l->why[i]);
	return 0;
}
