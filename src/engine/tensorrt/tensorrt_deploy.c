/* The trtexec command that builds an engine of a rewritten model. */
#include <string.h>

#include "base/file.h"
#include "engine/tensorrt/tensorrt.h"

/* " --minShapes=x:1x4,y:1x4", for trtexec: quotes a name that contains a separator of names and extents. */
static void put_shapes(struct str *out, const char *option, const struct engine_extents *x, int n, int which)
{
	struct str shapes = str_new(out->arena);
	for (int i = 0; i < n; i++)
		str_printf(&shapes, strpbrk(x[i].name, ":,") ? "%s'%s':%s" : "%s%s:%s", i ? "," : "", x[i].name,
		           x[i].shape[which]);
	if (n)
		str_printf(out, " --%s=%s", option, str_shell(out->arena, str_text(&shapes)));
}

const char *tensorrt_here(struct arena *a, const char *path)
{
	return strchr(path, '/') ? path : arena_printf(a, "./%s", path);
}

/* Engines hold libraries from 8.6 on, but only version-compatible ones before 10. */
static void put_library(struct str *out, const struct engine_deploy *d, int i)
{
	const char *path = str_shell(out->arena, tensorrt_here(out->arena, d->library[i]));

	str_add(out, i ? " \\\n       " : "");
	if (!tensorrt_is_old(d->version))
		str_printf(out, " --dynamicPlugins=%s --setPluginsToSerialize=%s", path, path);
	else
		str_printf(out, " --%s=%s", d->version->number < 8600 ? "plugins" : "staticPlugins", path);
}

const char *tensorrt_stem(struct arena *a, const char *model)
{
	const char *stem = path_stem(a, model);
	return str_ends(stem, "_tpat") && strlen(stem) > 5 ? arena_strndup(a, stem, strlen(stem) - 5) : stem;
}

void tensorrt_deploy(struct str *out, const struct engine_deploy *d)
{
	struct arena *a = out->arena;
	const char *stem = tensorrt_stem(a, d->model), *plan = d->plan ? d->plan : arena_printf(a, "%s.plan", stem);
	str_printf(out, "trtexec --onnx=%s", str_shell(a, d->model));
	for (int i = 0; i < d->libraries; i++)
		put_library(out, d, i);
	str_printf(out, " --saveEngine=%s \\\n       ", str_shell(a, plan));
	put_shapes(out, "minShapes", d->dynamic, d->dynamics, 0);
	put_shapes(out, "optShapes", d->dynamic, d->dynamics, 1);
	put_shapes(out, "maxShapes", d->dynamic, d->dynamics, 2);
	put_shapes(out, "shapes", d->given, d->givens, 1);
	/* Before 10 precisions must be allowed; in 10 the types of a network are those of the model if it is strongly
	 * typed, and in 11 always: the option has no effect there. */
	if (tensorrt_is_old(d->version))
		str_printf(out, "%s%s", d->half ? " --fp16" : "", d->byte ? " --int8" : "");
	else if (d->half || d->byte)
		str_add(out, " --stronglyTyped");
	str_printf(out, " --timingCacheFile=%s", str_shell(a, arena_printf(a, "%s.cache", stem)));
	if (d->guessed)
		str_add(out, "\n# The shapes are examples: replace them, or build with --profile INPUT:MIN,OPT,MAX.");
	if (d->libraries)
		str_printf(out, "\n%s", d->version->note);
}
