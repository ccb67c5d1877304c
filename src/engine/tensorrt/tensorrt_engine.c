/* TensorRT as an engine. */
#include "engine/tensorrt/host.h"
#include "engine/tensorrt/tensorrt.h"
#include "tpat/tpat_abi.h"

static void call(struct onnx_model *m, Onnx__NodeProto *node, const struct engine_call *c)
{
	onnx_node_set_string(m, node, "plugin_version", c->version);
	onnx_node_set_string(m, node, "plugin_namespace", c->name_space);
	if (!c->shape_inputs)
		return;
	int64_t *index = NEWN(m->arena, int64_t, c->shape_inputs);
	for (int i = 0; i < c->shape_inputs; i++)
		index[i] = c->shape_input[i];
	onnx_node_set_ints(m, node, "tensorrt_plugin_shape_input_indices", index, c->shape_inputs);
}

static const char *const entries[] = { "getCreators", "setLoggerFinder", NULL };

static const struct engine_host host = {
	.open = host_open,
	.close = host_close,
	.library = host_library,
	.clear_log = host_log_clear,
	.build = host_build,
	.free = host_engine_free,
	.outputs = host_outputs,
	.tactics = host_tactics,
	.set_tactic = host_set_tactic,
	.set_in_place = host_set_in_place,
	.set_format = host_set_format,
	.formats = host_formats,
	.run = host_run,
	.check = host_check,
	.rule = host_rules,
	.rules = &host_rules_count,
};

const struct engine engine_tensorrt = {
	.name = "TensorRT",
	.most_axes = TRT_MAX_DIMS,
	.most_shape_elements = 64,
	.edge = tensorrt_edge,
	.exchange = tensorrt_exchange,
	.lack = tensorrt_lack,
	.takes_type = tensorrt_takes_type,
	.support = tensorrt_support,
	.version = tensorrt_version,
	.build = tensorrt_build,
	.rebuild = tensorrt_rebuild,
	.stamp = TENSORRT_STAMP,
	.stamp_now = tensorrt_stamp,
	.entry = entries,
	.host = &host,
	.layouts = tensorrt_layouts,
	.language = &language_cuda,
	.call = call,
	.deploy = tensorrt_deploy,
	.ways = tensorrt_ways,
	.way_names = tensorrt_way_names,
	.way = tensorrt_way,
	.errors = tensorrt_errors,
};
