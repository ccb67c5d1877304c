/* ONNX Runtime's graphs, read into arrays. See provider.h. */
#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

int provider_graph_nodes(struct provider_nodes *out, const struct provider_host *h, const struct ort_graph *g,
                         struct arena *a, struct err *e)
{
	ASK(graph_node_count(g, &out->n));
	out->at = NEWN(a, const struct ort_node *, out->n + 1);
	ASK(graph_nodes(g, out->at, out->n));
	return 0;
}

int provider_graph_outputs(struct provider_values *out, const struct provider_host *h, const struct ort_graph *g,
                           struct arena *a, struct err *e)
{
	ASK(graph_output_count(g, &out->n));
	out->at = NEWN(a, const struct ort_value_info *, out->n + 1);
	ASK(graph_outputs(g, out->at, out->n));
	return 0;
}

int provider_node_io(struct provider_io *out, const struct provider_host *h, const struct ort_node *n, struct arena *a,
                     struct err *e)
{
	ASK(node_input_count(n, &out->in.n));
	out->in.at = NEWN(a, const struct ort_value_info *, out->in.n + 1);
	ASK(node_inputs(n, out->in.at, out->in.n));
	ASK(node_capture_count(n, &out->captured.n));
	out->captured.at = NEWN(a, const struct ort_value_info *, out->captured.n + 1);
	ASK(node_captures(n, out->captured.at, out->captured.n));
	ASK(node_output_count(n, &out->out.n));
	out->out.at = NEWN(a, const struct ort_value_info *, out->out.n + 1);
	ASK(node_outputs(n, out->out.at, out->out.n));
	return 0;
}

int provider_value_name(const char **out, const struct provider_host *h, const struct ort_value_info *v, struct err *e)
{
	*out = "";
	if (v)
		ASK(value_name(v, out));
	return 0;
}
