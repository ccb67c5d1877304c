/* Objects of a plugin library and descriptions of tensors, as the host asks for them. */
#include "engine/tensorrt/host_inside.h"

#include <string.h>

bool host_is_interface(void *object, const char *kind)
{
	if (!object || TRT_CALL(object, trt_plugin, v.api_language) != 0)
		return false;
	struct trt_info info = TRT_CALL(object, trt_plugin, v.info);
	return strcmp(info.kind, kind) == 0 && info.major == 1;
}

void *host_capability(void *plugin, int32_t which)
{
	static const char *const kind[] = { "PLUGIN_V3ONE_CORE", "PLUGIN_V3ONE_BUILD", "PLUGIN_V3ONE_RUNTIME" };
	void *c = TRT_CALL(plugin, trt_plugin, capability, which);
	return host_is_interface(c, kind[which]) ? c : NULL;
}

struct trt_dims host_dims(const struct host_tensor *t)
{
	struct trt_dims d = { .rank = t->rank };

	memcpy(d.d, t->dim, sizeof d.d);
	return d;
}

struct trt_desc host_desc(const struct host_tensor *t)
{
	return (struct trt_desc){
		.dims = host_dims(t), .type = trt_type_of_onnx(t->type), .format = TRT_LINEAR, .scale = -1
	};
}
