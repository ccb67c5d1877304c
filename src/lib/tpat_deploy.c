/* The command that builds an engine of a rewritten model. */
#include "lib/tpat_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"

static bool is_dynamic(const struct graph_value *v)
{
	int64_t n;
	for (int k = 0; k < v->rank; k++)
		if (!ir_const_int(v->dim[k], &n))
			return true;
	return false;
}

/* "x:", as trtexec reads it: a name that holds what separates names from extents is between quotes. */
static void put_name(struct str *out, const char *name)
{
	bool quoted = strpbrk(name, ":,") != NULL;
	str_printf(out, quoted ? "'%s':" : "%s:", name);
}

static void put_shape(struct str *out, struct tpat_example *x, const struct graph_value *v, int which)
{
	for (int k = 0; k < v->rank; k++)
		str_printf(out, "%s%" PRId64, k ? "x" : "", tpat_example_extent(x, v->dim[k], which));
}

/* " --minShapes=x:1x4,y:1x4" */
static void put_shapes(struct str *out, struct graph *g, const char *option, int which, struct tpat_example *x,
                       const struct tpat_strings *profile)
{
	struct str shapes = str_new(out->arena);
	vec_each (pv, &g->inputs) {
		const struct graph_value *v = *pv;
		const char *p = tpat_profile_of(profile, v->name);
		if (!is_dynamic(v))
			continue;
		str_add(&shapes, shapes.n ? "," : "");
		put_name(&shapes, v->name);
		for (int i = 0; p && i < which; i++)
			p += strcspn(p, ",") + 1;
		if (p)
			str_addn(&shapes, p, strcspn(p, ","));
		else
			put_shape(&shapes, x, v, which);
	}
	str_printf(out, " --%s=%s", option, str_shell(out->arena, str_text(&shapes)));
}

/* " --shapes=x:1x4": of the inputs whose extents the user gave. */
static int put_given(struct str *out, struct graph *g, struct tpat_example *x, const struct tpat_strings *shape,
                     struct err *e)
{
	struct str shapes = str_new(out->arena);
	for (int i = 0; i < shape->n; i++) {
		struct graph_shape given;
		TRY(tpat_parse_shape(&given, shape->at[i], out->arena, e));
		const struct graph_value *v = graph_value_find(g, given.name);
		if (!v || !v->is_input || v->rank < 1)
			continue;
		str_add(&shapes, shapes.n ? "," : "");
		put_name(&shapes, v->name);
		put_shape(&shapes, x, v, 1);
	}
	if (shapes.n)
		str_printf(out, " --shapes=%s", str_shell(out->arena, str_text(&shapes)));
	return 0;
}

/* A path as a command names a library: with "./" where there is no folder. */
static const char *here(const char *path, struct arena *a)
{
	return str_shell(a, strchr(path, '/') ? path : arena_printf(a, "./%s", path));
}

int tpat_deploy_text(const char **out, struct graph *g, const char *model, const struct tpat_texts *libraries,
                     const struct tpat_strings *profile, const struct tpat_strings *shape,
                     const struct tpat_tensorrt *t, struct arena *a, struct err *e)
{
	struct tpat_example *x;
	struct str s = str_new(a);
	bool dynamic = false, guessed = false;
	const char *stem = path_stem(a, model);
	for (int i = 0; i < profile->n; i++) {
		struct tpat_profile checked;
		TRY(tpat_profile_read(&checked, g, profile->at[i], a, e));
	}
	if (str_ends(stem, "_tpat") && strlen(stem) > 5)
		stem = arena_strndup(a, stem, strlen(stem) - 5);
	vec_each (v, &g->inputs) {
		dynamic |= is_dynamic(*v);
		guessed |= is_dynamic(*v) && !tpat_profile_of(profile, (*v)->name);
	}
	str_printf(&s, "trtexec --onnx=%s", str_shell(a, model));
	for (int i = 0; i < libraries->n; i++)
		str_printf(&s, "%s --dynamicPlugins=%s --setPluginsToSerialize=%s", i ? " \\\n       " : "",
		           here(libraries->at[i], a), here(libraries->at[i], a));
	str_printf(&s, " --saveEngine=%s \\\n       ", str_shell(a, arena_printf(a, "%s.plan", stem)));
	TRY(tpat_example(&x, g, profile, a, e));
	if (dynamic) {
		put_shapes(&s, g, "minShapes", 0, x, profile);
		put_shapes(&s, g, "optShapes", 1, x, profile);
		put_shapes(&s, g, "maxShapes", 2, x, profile);
	} else {
		TRY(put_given(&s, g, x, shape, e));
	}
	str_printf(&s, " --timingCacheFile=%s", str_shell(a, arena_printf(a, "%s.cache", stem)));
	if (guessed)
		str_add(&s, "\n# The extents are examples: put your own, or build with --profile INPUT:MIN,USUAL,MAX.");
	if (libraries->n)
		str_printf(&s, "\n%s", tpat_tensorrt_note(t));
	*out = str_text(&s);
	return 0;
}
