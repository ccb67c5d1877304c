/* The calls of IPluginV2DynamicExt in the layouts of TensorRT 8 and 9, of 10, and of 11, and the rules that only it
 * has. In 10 and 11 Dims has extents of 64 bits; 11 lacks two slots of IPluginV2Ext. */
#include <string.h>

#include "base/trap.h"
#include "engine/tensorrt/host_check.h"

/* Slots of the table: those of trt_plugin_8, from `broadcast` on two less in TensorRT 11. */
enum { CONFIGURE = 27, WORKSPACE = 28, ENQUEUE = 29, ATTACH = 23, DIMENSIONS = 25, SUPPORTS = 26 };
enum { MOST_BYTES = 1 << 30 };

typedef void (*method)(void);

static method slot(const struct checker *k, void *plugin, int n)
{
	return (*(const method *const *)plugin)[k->form == 11 ? n - 2 : n];
}

/* ---- Descriptions of TensorRT 8. */

static struct trt_dims_8 narrow_dims(const struct trt_dims *d)
{
	struct trt_dims_8 n = { .rank = d->rank };
	for (int i = 0; i < TRT_MAX_DIMS; i++)
		n.d[i] = (int32_t)d->d[i];
	return n;
}

static struct trt_desc_8 narrow(const struct trt_desc *d)
{
	return (struct trt_desc_8){ narrow_dims(&d->dims), d->type, d->format, d->scale };
}

/* ---- The creator. */

static void *make(struct checker *k, const struct trt_fields *f, int32_t phase)
{
	(void)phase;
	return k->form == 8 ? TRT_CALL(k->creator, trt_creator_8, create, k->plugin, f)
	                    : TRT_CALL(k->creator, trt_creator_v1, create, k->plugin, f);
}

static void *deserialize(struct checker *k, const void *data, size_t bytes)
{
	return k->form == 8 ? TRT_CALL(k->creator, trt_creator_8, deserialize, k->plugin, data, bytes)
	                    : TRT_CALL(k->creator, trt_creator_v1, deserialize, k->plugin, data, bytes);
}

static void *again(struct checker *k, const struct check_saved *s)
{
	check_step(k, "deserializePlugin");
	void *data = trap_new(s->n, RULE_SAVED_SIZE);
	if (s->n)
		memcpy(data, s->bytes, s->n);
	void *plugin = deserialize(k, data, s->n);
	trap_close(data, RULE_FIELD_KEPT);
	return plugin;
}

/* ---- The object. */

static void end(void *plugin)
{
	TRT_CALL(plugin, trt_plugin_8, destroy);
}

static int32_t begin(void *plugin)
{
	return TRT_CALL(plugin, trt_plugin_8, initialize);
}

static void stop(void *plugin)
{
	TRT_CALL(plugin, trt_plugin_8, terminate);
}

static void *copy_of(void *plugin)
{
	return TRT_CALL(plugin, trt_plugin_8, clone);
}

/* Sets one as a creator or the engine does. Returns what the plugin then says. */
static const char *set_namespace(struct checker *k, void *plugin, const char *to)
{
	check_step(k, "setPluginNamespace");
	TRT_CALL(plugin, trt_plugin_8, set_name_space, to);
	const char *got = TRT_CALL(plugin, trt_plugin_8, name_space);
	return got ? arena_strdup(k->arena, got) : "null";
}

/* `want`: the creator's. A plugin may have that one always, but its clones have the plugin's. */
static void own_namespace(struct checker *k, void *plugin, const char *want)
{
	const char *got = set_namespace(k, plugin, "a namespace");
	void *copy = copy_of(plugin);
	const char *copied = copy ? TRT_CALL(copy, trt_plugin_8, name_space) : got;
	if (!copied || strcmp(copied, got) != 0)
		check_found(k, RULE_NAMESPACE, "a clone's getPluginNamespace() then returns \"%s\"",
		            copied ? copied : "null");
	got = set_namespace(k, plugin, want);
	if (strcmp(got, want) != 0)
		check_found(k, RULE_NAMESPACE, "getPluginNamespace() then returns \"%s\"", got);
	check_step(k, k->calls->destroy);
	if (copy && copy != plugin)
		end(copy);
}

static bool own(struct checker *k, void *plugin)
{
	static const char *const call[] = { "getPluginType", "getPluginVersion", "getPluginNamespace" };
	const struct trt_plugin_8 *t = *(const struct trt_plugin_8 *const *)plugin;
	const char *(*const get[3])(void *) = { t->type, t->version, t->name_space };
	const char *want[3];
	check_step(k, "getTensorRTVersion");
	int32_t version = t->tensorrt_version(plugin);
	if (version >> 24 != TRT_V2_DYNAMIC_EXT) {
		if (version >> 24 >= 0 && version >> 24 < TRT_V2_DYNAMIC_EXT)
			check_note(k, "it is an older interface than IPluginV2DynamicExt: the checks end there");
		else
			check_found(k, RULE_INTERFACE, "it returns 0x%08x, which names no interface of a plugin",
			            (unsigned)version);
		return false;
	}
	if (k->form == 8) {
		const struct trt_creator_8 *c = *(const struct trt_creator_8 *const *)k->creator;
		memcpy(want,
		       ((const char *[]){ c->name(k->creator), c->version(k->creator), c->name_space(k->creator) }),
		       sizeof want);
	} else {
		const struct trt_creator_v1 *c = *(const struct trt_creator_v1 *const *)k->creator;
		memcpy(want,
		       ((const char *[]){ c->name(k->creator), c->version(k->creator), c->name_space(k->creator) }),
		       sizeof want);
	}
	for (int i = 0; i < 3; i++) {
		const char *got = check_text(k, call[i], get[i], plugin, i == 2);
		if (got && want[i] && strcmp(got, want[i]) != 0)
			check_found(k, RULE_CREATOR_NAME, "plugin and creator differ: \"%s\" and \"%s\"", got, want[i]);
	}
	own_namespace(k, plugin, want[2] ? want[2] : "");
	return true;
}

static int32_t outputs(void *plugin)
{
	return TRT_CALL(plugin, trt_plugin_8, outputs);
}

static int32_t output_types(void *plugin, int32_t *out, int32_t n, const int32_t *in, int32_t inputs)
{
	for (int32_t o = 0; o < n; o++)
		out[o] = TRT_CALL(plugin, trt_plugin_8, output_type, o, in, inputs);
	return 0;
}

static int32_t output_shapes(const struct checker *k, void *plugin, const struct trt_dims_exprs *in, int32_t inputs,
                             const struct trt_dims_exprs *values, int32_t shapes, struct trt_dims_exprs *out, int32_t n,
                             struct trt_expr *builder)
{
	(void)values, (void)shapes;
	struct trt_dims_exprs (*f)(void *, int32_t, const struct trt_dims_exprs *, int32_t, struct trt_expr *);
	f = (__typeof__(f))slot(k, plugin, DIMENSIONS);
	for (int32_t o = 0; o < n; o++)
		out[o] = f(plugin, o, in, inputs, builder);
	return 0;
}

static int32_t aliased_input(void *plugin, int32_t output)
{
	(void)plugin, (void)output;
	return -1;
}

static bool supports(const struct checker *k, void *plugin, int32_t at, const struct trt_dynamic_desc *desc,
                     const int32_t n[2])
{
	bool (*f)(void *, int32_t, const void *, int32_t, int32_t);
	struct trt_desc wide[HOST_MAX_TENSORS];
	struct trt_desc_8 old[HOST_MAX_TENSORS];
	f = (__typeof__(f))slot(k, plugin, SUPPORTS);
	for (int32_t i = 0; i < n[0] + n[1]; i++) {
		wide[i] = desc[i].desc;
		old[i] = narrow(&wide[i]);
	}
	return f(plugin, at, k->form == 8 ? (const void *)old : wide, n[0], n[1]);
}

static int32_t configure(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc, const int32_t n[2])
{
	void (*f)(void *, const void *, int32_t, const void *, int32_t);
	struct trt_dynamic_desc_8 old[HOST_MAX_TENSORS];
	f = (__typeof__(f))slot(k, plugin, CONFIGURE);
	for (int32_t i = 0; i < n[0] + n[1]; i++)
		old[i] = (struct trt_dynamic_desc_8){ narrow(&desc[i].desc), narrow_dims(&desc[i].min),
			                              narrow_dims(&desc[i].max) };
	if (k->form == 8)
		f(plugin, old, n[0], old + n[0], n[1]);
	else
		f(plugin, desc, n[0], desc + n[0], n[1]);
	return 0;
}

/* For the largest extents. */
static size_t workspace(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc, const int32_t n[2])
{
	size_t (*f)(void *, const void *, int32_t, const void *, int32_t);
	struct trt_desc wide[HOST_MAX_TENSORS];
	struct trt_desc_8 old[HOST_MAX_TENSORS];
	f = (__typeof__(f))slot(k, plugin, WORKSPACE);
	for (int32_t i = 0; i < n[0] + n[1]; i++) {
		wide[i] = desc[i].desc;
		wide[i].dims = desc[i].max;
		old[i] = narrow(&wide[i]);
	}
	return k->form == 8 ? f(plugin, old, n[0], old + n[0], n[1]) : f(plugin, wide, n[0], wide + n[0], n[1]);
}

/* Serialises over bytes of `fill`. */
static char *serialize(struct checker *k, void *plugin, size_t bytes, int fill)
{
	char *to = trap_new(bytes, RULE_SAVED_SIZE), *copy = arena_alloc(k->arena, bytes + 1);
	memset(to, fill, bytes);
	TRT_CALL(plugin, trt_plugin_8, serialize, to);
	memcpy(copy, to, bytes);
	trap_free(to);
	return copy;
}

static bool saved(struct checker *k, void *plugin, struct check_saved *out)
{
	check_step(k, "getSerializationSize");
	size_t bytes = TRT_CALL(plugin, trt_plugin_8, serialization_size), unwritten = 0;
	if (bytes > MOST_BYTES || TRT_CALL(plugin, trt_plugin_8, serialization_size) != bytes) {
		check_found(k, RULE_SAVED_SIZE, "%s",
		            bytes > MOST_BYTES ? "the size is impossible" : "a second call returns another size");
		return false;
	}
	check_step(k, "serialize");
	const char *a = serialize(k, plugin, bytes, 0), *b = serialize(k, plugin, bytes, 0xff);
	for (size_t i = 0; i < bytes; i++)
		unwritten += a[i] == 0 && b[i] == (char)0xff;
	if (unwritten)
		check_found(k, RULE_SAVED_SIZE, "it leaves %zu of %zu bytes unwritten", unwritten, bytes);
	else if (memcmp(a, b, bytes) != 0)
		check_found(k, RULE_SAVED_SAME, "a second call writes other bytes");
	*out = (struct check_saved){ .bytes = a, .n = bytes };
	return true;
}

/* In TensorRT 11 the handles of cuDNN and cuBLAS are always null. */
static void *attach(struct checker *k, void *plugin)
{
	void (*f)(void *, void *, void *, void *);
	check_step(k, "clone");
	void *copy = copy_of(plugin);
	if (!copy || copy == plugin) {
		check_found(k, RULE_CLONE, copy ? "it returns the object itself" : "it returns null");
		return NULL;
	}
	f = (__typeof__(f))slot(k, plugin, ATTACH);
	check_step(k, "attachToContext");
	f(copy, NULL, NULL, NULL);
	return copy;
}

static int32_t tactics(void *plugin, int32_t *tactic, int32_t most)
{
	(void)plugin, (void)tactic, (void)most;
	return 0;
}

static int32_t set_tactic(void *plugin, int32_t tactic)
{
	(void)plugin, (void)tactic;
	return 0;
}

static int32_t shape_change(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2])
{
	struct trt_dynamic_desc exact[HOST_MAX_TENSORS];
	for (int32_t i = 0; i < n[0] + n[1]; i++)
		exact[i] = (struct trt_dynamic_desc){ desc[i], desc[i].dims, desc[i].dims, desc[i].dims };
	return configure(k, plugin, exact, n);
}

static int32_t enqueue(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2],
                       const void *const *in, void *const *out, void *space, void *stream)
{
	int32_t (*f)(void *, const void *, const void *, const void *const *, void *const *, void *, void *);
	struct trt_desc_8 old[HOST_MAX_TENSORS];
	f = (__typeof__(f))slot(k, plugin, ENQUEUE);
	if (k->form != 8)
		return f(plugin, desc, desc + n[0], in, out, space, stream);
	for (int32_t i = 0; i < n[0] + n[1]; i++)
		old[i] = narrow(&desc[i]);
	return f(plugin, old, old + n[0], in, out, space, stream);
}

const struct check_calls check_calls_v2 = { .create = "createPlugin",
	                                    .restore = "deserializePlugin",
	                                    .destroy = "destroy",
	                                    .types = "getOutputDataType",
	                                    .shapes = "getOutputDimensions",
	                                    .prepare = "configurePlugin",
	                                    .save = "serialize",
	                                    .attach = "attachToContext",
	                                    CHECK_FUNCTIONS };
