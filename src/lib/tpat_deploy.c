/* The command that builds an engine of a rewritten model. */
#include "lib/tpat_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"

enum { SMALLEST = 1, USUAL = 8, LARGEST = 32 }; /* stand for extents that nobody named */

struct extent_of {
	struct graph *g;
	int64_t other; /* of symbols that no profile names */
};

static bool symbol_value(void *user, const char *name, int64_t *value)
{
	(void)name;
	*value = ((struct extent_of *)user)->other;
	return true;
}

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

/* "1x3x32x32" with every symbol taken as `other`. */
static void put_shape(struct str *out, struct graph *g, const struct graph_value *v, int64_t other)
{
	struct extent_of x = { g, other };
	for (int k = 0; k < v->rank; k++) {
		int64_t n = other;
		ir_eval_int(v->dim[k], symbol_value, &x, &n);
		str_printf(out, "%s%" PRId64, k ? "x" : "", n);
	}
}

/* " --minShapes=x:1x4,y:1x4" */
static void put_shapes(struct str *out, struct graph *g, const char *option, int which,
                       const struct tpat_strings *profile)
{
	static const int64_t other[] = { SMALLEST, USUAL, LARGEST };
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
			put_shape(&shapes, g, v, other[which]);
	}
	str_printf(out, " --%s=%s", option, str_shell(out->arena, str_text(&shapes)));
}

/* A path as a command names a library: with "./" where there is no folder. */
static const char *here(const char *path, struct arena *a)
{
	return str_shell(a, strchr(path, '/') ? path : arena_printf(a, "./%s", path));
}

int tpat_deploy_text(const char **out, struct graph *g, const char *model, const struct tpat_texts *libraries,
                     const struct tpat_strings *profile, const struct tpat_tensorrt *t, struct arena *a, struct err *e)
{
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
	if (dynamic) {
		put_shapes(&s, g, "minShapes", 0, profile);
		put_shapes(&s, g, "optShapes", 1, profile);
		put_shapes(&s, g, "maxShapes", 2, profile);
	}
	str_printf(&s, " --timingCacheFile=%s", str_shell(a, arena_printf(a, "%s.cache", stem)));
	if (guessed)
		str_add(&s, "\n# The extents are examples: put your own, or build with --profile INPUT:MIN,USUAL,MAX.");
	if (libraries->n)
		str_printf(&s, "\n%s", tpat_tensorrt_note(t));
	*out = str_text(&s);
	return 0;
}
