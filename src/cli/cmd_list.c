/* tpat list: a model's nodes as tables (cmd_list_print.c), or as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

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
		        cli_json("{s:i, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:s, s:s}",
		                 "index", n->index, "graph", n->graph, "label", n->label, "op_type", n->op_type,
		                 "domain", n->domain, "opset", n->opset, "inputs", n->inputs, "outputs", n->outputs,
		                 "tensorrt", cli_support(n->tensorrt), "tensorrt_why", n->tensorrt_why, "follows",
		                 n->follows, "taken", n->taken, "constant", n->constant, "why", n->why, "advice",
		                 n->advice, "after", n->after));
	}
	json_t *all = cli_json("{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "model", l->model, "ir_version",
	                       (json_int_t)l->ir_version, "opset", (json_int_t)l->opset, "inputs",
	                       cli_json_list(&l->inputs), "outputs", cli_json_list(&l->outputs), "warnings",
	                       cli_json_list(&l->warnings), "nodes", nodes);
	if (l->replacements)
		json_object_set_new(all, "replaced", cli_json_plain(l->replaced, l->replacements));
	if (l->whys)
		json_object_set_new(all, "why", json_whys(l));
	cli_print_json(all);
}

/* Warns of types of which the model has no node. */
static void check_types(const struct cli *c, const struct tpat_list *l, const struct tpat_strings *types)
{
	const char **names = NEWN(c->arena, const char *, l->nodes + 1), *closest;
	for (int i = 0; i < l->nodes; i++)
		names[i] = l->node[i].op_type;
	for (int i = 0; i < types->n; i++) {
		bool found = false;
		for (int k = 0; k < l->nodes && !found; k++)
			found = cli_is_type(c, &l->node[k], types->at[i]);
		if (!found && (closest = str_closest(types->at[i], names)))
			cli_tell(CLI_WARNING, "%s: there is no node of type %s. Did you mean %s?", l->model,
			         types->at[i], closest);
		else if (!found)
			cli_tell(CLI_WARNING, "%s: there is no node of type %s.", l->model, types->at[i]);
	}
}

int cli_list(struct cli *c, int argc, char **argv)
{
	struct tpat_list_options o = TPAT_LIST_OPTIONS;
	struct cli_list shown = { 0 };
	bool json = false;
	const struct cli_option option[] = {
		{ "all", 'a', CLI_FLAG, &shown.all, NULL,
		  "print every node (default: if there are more than 40, a summary by\n"
		  "operator)" },
		{ "refused", 0, CLI_FLAG, &shown.refused, NULL, "print the nodes that TensorRT refuses" },
		{ "type", 't', CLI_SPLIT, &shown.type, "TYPE,...", "print the nodes of these operator types" },
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW", CLI_SHAPE },
		{ "value", 0, CLI_LIST, &o.value, "IN=16000",
		  "make a model input a constant: a number or a list (1,2,3)" },
		{ "why", 0, CLI_SPLIT, &o.why, "NODE,...",
		  "show how each stage of these nodes is scheduled: the rules considered,\n"
		  "their estimated times, and why the others do not apply" },
		{ "gpu", 0, CLI_TEXT, &o.gpu, "NAME|native",
		  "with --why: schedule for this GPU: \"A10\", \"orin nx\", native\n(default H100 SXM)" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, CLI_VERSION,
		  "show what this version supports: 8.6, 10.3, 11.5, rtx (default: as\n"
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
		cli_tell(CLI_WARNING, "%s", l->warnings.at[i]);
	check_types(c, l, &shown.type);
	if (json)
		print_json(l);
	else if (!l->whys)
		cli_print_list(c, l, &shown, cli_version_name(c, o.tensorrt));
	for (int i = 0; i < l->whys && !json; i++)
		cli_print_why(l->why[i]);
	return 0;
}
