/* Objects of a plugin library and descriptions of tensors, as the host asks for them. */
#include "engine/tensorrt/host_inside.h"

#include <string.h>

static bool is_interface(void *object, const char *kind, int32_t most)
{
	if (!object || TRT_CALL(object, trt_plugin, v.api_language) != 0)
		return false;
	struct trt_info info = TRT_CALL(object, trt_plugin, v.info);
	return strcmp(info.kind, kind) == 0 && info.major >= 1 && info.major <= most;
}

bool host_is_interface(void *object, const char *kind)
{
	return is_interface(object, kind, 1);
}

void *host_capability(void *plugin, int32_t which)
{
	static const char *const kind[] = { "PLUGIN_V3ONE_CORE", "PLUGIN_V3ONE_BUILD", "PLUGIN_V3ONE_RUNTIME" };
	void *c = TRT_CALL(plugin, trt_plugin, capability, which);
	return is_interface(c, kind[which], which == TRT_BUILD ? 2 : 1) ? c : NULL;
}

size_t host_field_bytes(const struct trt_field *f)
{
	/* f16, f32, f64, i8, i16, i32, char, dims, unknown, bf16, i64, fp8, i4, fp4 */
	static const int8_t bits[] = { 16, 32, 64, 8, 16, 32, 8, 0, 8, 16, 64, 8, 4, 4 };
	if (f->type < 0 || f->type >= (int32_t)(sizeof bits) || f->length < 0)
		return 0;
	size_t n = (size_t)f->length;
	return bits[f->type] ? (n * (size_t)bits[f->type] + 7) / 8 : n * sizeof(struct trt_dims);
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
		.dims = host_dims(t), .type = trt_type_of_onnx(t->type), .format = t->format, .scale = -1
	};
}
