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

/* "1x3x32x32" with every symbol taken as `other`. */
static void put_shape(struct str *out, struct graph *g, const struct graph_value *v, int64_t other)
{
	struct extent_of x = { g, other };
	str_printf(out, "%s:", v->name);
	for (int k = 0; k < v->rank; k++) {
		int64_t n = other;
		ir_eval_int(v->dim[k], symbol_value, &x, &n);
		str_printf(out, "%s%" PRId64, k ? "x" : "", n);
	}
}

/* The profile of an input: three shapes; null when there is none. */
static const char *profile_of(const struct tpat_strings *profile, const char *name)
{
	size_t n = strlen(name);
	for (int i = 0; i < profile->n; i++)
		if (strncmp(profile->at[i], name, n) == 0 && profile->at[i][n] == ':' &&
		    !strchr(profile->at[i] + n + 1, ':'))
			return profile->at[i] + n + 1;
	return NULL;
}

/* One shape of a profile, "1x3x32x32": numbers, as many as the input has axes. */
static int profile_shape(struct graph_shape *out, const char *profile, const char *shape, size_t n,
                         const struct graph_value *v, struct arena *a, struct err *e)
{
	bool numbers = n > 0;
	TRY(tpat_parse_shape(out, arena_printf(a, "%s:%.*s", v->name, (int)n, shape), a, e));
	for (int k = 0; k < out->rank; k++)
		numbers &= out->dim[k].symbol == NULL;
	if (!numbers)
		return err_set(e, ERR_USAGE, "The profile \"%s\" must have numbers only.", profile);
	if (v->rank >= 0 && out->rank != v->rank)
		return err_set(e, ERR_USAGE, "The profile \"%s\" does not fit input %s, which has %d dimension%s.",
		               profile, v->name, v->rank, v->rank == 1 ? "" : "s");
	return 0;
}

/* What TensorRT asks of a profile: smallest <= usual <= largest, and the model's own numbers where it has them. */
static int check_extents(const struct graph_shape *shape, const char *profile, const struct graph_value *v,
                         struct err *e)
{
	for (int k = 0; k < v->rank; k++) {
		int64_t least = shape[0].dim[k].value, usual = shape[1].dim[k].value, most = shape[2].dim[k].value, n;
		if (ir_const_int(v->dim[k], &n) && (least != n || most != n))
			return err_set(e, ERR_USAGE,
			               "The profile \"%s\" does not fit input %s: its axis %d has the extent %" PRId64
			               " in the model.",
			               profile, v->name, k, n);
		if (least > usual || usual > most) {
			err_set(e, ERR_USAGE, "The profile \"%s\" falls at axis %d.", profile, k);
			return err_advise(e, "Write the smallest extents first, then the usual and the largest ones.");
		}
	}
	return 0;
}

static int check_profile(struct graph *g, const char *profile, struct arena *a, struct err *e)
{
	const char *colon = strrchr(profile, ':');
	const char *name = arena_strndup(a, profile, colon ? (size_t)(colon - profile) : 0);
	const struct graph_value *v = graph_value_find(g, name);
	struct graph_shape shape[3], rest;
	int shapes = 0;
	if (!v || !v->is_input) {
		err_set(e, ERR_USAGE, "The profile \"%s\" names no input of the model.", profile);
		return err_advise(e, "Write it as NAME:1x3x32,8x3x64,32x3x128: smallest, usual, largest.");
	}
	for (const char *p = colon + 1; p; shapes++) {
		size_t n = strcspn(p, ",");
		TRY(profile_shape(shapes < 3 ? &shape[shapes] : &rest, profile, p, n, v, a, e));
		p = p[n] ? p + n + 1 : NULL;
	}
	if (shapes != 3)
		return err_set(e, ERR_USAGE,
		               "The profile \"%s\" has %d shape%s; it needs three: smallest, usual, largest.", profile,
		               shapes, shapes == 1 ? "" : "s");
	return check_extents(shape, profile, v, e);
}

/* " --minShapes=x:1x4,y:1x4" */
static void put_shapes(struct str *out, struct graph *g, const char *option, int which,
                       const struct tpat_strings *profile)
{
	static const int64_t other[] = { SMALLEST, USUAL, LARGEST };
	const char *separator = "";
	str_printf(out, " --%s=", option);
	vec_each (pv, &g->inputs) {
		const struct graph_value *v = *pv;
		if (!is_dynamic(v))
			continue;
		str_add(out, separator);
		separator = ",";
		const char *p = profile_of(profile, v->name);
		if (!p) {
			put_shape(out, g, v, other[which]);
			continue;
		}
		for (int i = 0; i < which; i++)
			p += strcspn(p, ",") + 1;
		str_printf(out, "%s:%.*s", v->name, (int)strcspn(p, ","), p);
	}
}

/* A path as a command names it: with "./" where there is no folder. */
static const char *here(const char *path, struct arena *a)
{
	return strchr(path, '/') ? path : arena_printf(a, "./%s", path);
}

int tpat_deploy_text(const char **out, struct graph *g, const char *model, const struct tpat_texts *libraries,
                     const struct tpat_strings *profile, struct arena *a, struct err *e)
{
	struct str s = str_new(a);
	bool dynamic = false, guessed = false;
	const char *stem = path_stem(a, model);
	for (int i = 0; i < profile->n; i++)
		TRY(check_profile(g, profile->at[i], a, e));
	if (str_ends(stem, "_tpat") && strlen(stem) > 5)
		stem = arena_strndup(a, stem, strlen(stem) - 5);
	vec_each (v, &g->inputs) {
		dynamic |= is_dynamic(*v);
		guessed |= is_dynamic(*v) && !profile_of(profile, (*v)->name);
	}
	str_printf(&s, "trtexec --onnx=%s", model);
	for (int i = 0; i < libraries->n; i++)
		str_printf(&s, "%s --dynamicPlugins=%s --setPluginsToSerialize=%s", i ? " \\\n       " : "",
		           here(libraries->at[i], a), here(libraries->at[i], a));
	str_printf(&s, " --saveEngine=%s.plan \\\n       ", stem);
	if (dynamic) {
		put_shapes(&s, g, "minShapes", 0, profile);
		put_shapes(&s, g, "optShapes", 1, profile);
		put_shapes(&s, g, "maxShapes", 2, profile);
	}
	str_printf(&s, " --timingCacheFile=%s.cache", stem);
	if (guessed)
		str_add(&s, "\n# The extents are examples: put your own, or build with --profile INPUT:MIN,USUAL,MAX.");
	*out = str_text(&s);
	return 0;
}
