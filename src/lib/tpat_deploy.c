/* The next step for a rewritten model: the engine's command, with its inputs' extents. */
#include "lib/tpat_inside.h"

#include <inttypes.h>
#include <string.h>

struct extents {
	VEC(struct engine_extents);
};

static bool is_dynamic(const struct graph_value *v)
{
	int64_t n;
	for (int k = 0; k < v->rank; k++)
		if (!ir_const_int(v->dim[k], &n))
			return true;
	return false;
}

/* "1x4" */
static const char *shape_of(struct tpat_example *x, const struct graph_value *v, int level, struct arena *a)
{
	struct str s = str_new(a);
	for (int k = 0; k < v->rank; k++)
		str_printf(&s, "%s%" PRId64, k ? "x" : "", tpat_example_extent(x, v->dim[k], level));
	return str_text(&s);
}

/* Returns the inputs with dynamic extents, with the profile's values, or examples; sets *guessed for the latter. */
static struct extents open_inputs(bool *guessed, struct graph *g, struct tpat_example *x,
                                  const struct tpat_strings *profile, struct arena *a)
{
	struct extents list = { 0 };
	vec_each (pv, &g->inputs) {
		const struct graph_value *v = *pv;
		const char *p = tpat_profile_of(profile, v->name);
		struct engine_extents e = { .name = v->name };
		if (!is_dynamic(v))
			continue;
		*guessed |= !p;
		for (int i = 0; i < 3; i++) {
			e.shape[i] = p ? arena_strndup(a, p, strcspn(p, ",")) : shape_of(x, v, i, a);
			p = p ? p + strcspn(p, ",") + 1 : NULL;
		}
		vec_push(a, &list, e);
	}
	return list;
}

/* Collects the inputs whose extents the user gave. */
static int given_inputs(struct extents *list, struct graph *g, struct tpat_example *x, const struct tpat_strings *shape,
                        struct arena *a, struct err *e)
{
	for (int i = 0; i < shape->n; i++) {
		struct graph_shape given;
		TRY(tpat_parse_shape(&given, shape->at[i], a, e));
		const struct graph_value *v = graph_value_find(g, given.name);
		if (!v || !v->is_input || v->rank < 1)
			continue;
		struct engine_extents one = { .name = v->name };
		for (int k = 0; k < 3; k++)
			one.shape[k] = shape_of(x, v, k, a);
		vec_push(a, list, one);
	}
	return 0;
}

int tpat_deploy_text(const char **out, bool *guessed, struct graph *g, const char *model,
                     const struct tpat_texts *libraries, const struct tpat_strings *profile,
                     const struct tpat_strings *shape, uint32_t types, struct arena *a, struct err *e)
{
	struct tpat_example *x;
	struct str s = str_new(a);
	struct extents given = { 0 };
	*guessed = false;
	for (int i = 0; i < profile->n; i++) {
		struct tpat_profile checked;
		TRY(tpat_profile_read(&checked, g, profile->at[i], a, e));
	}
	TRY(tpat_example(&x, g, profile, a, e));
	const struct extents dynamic = open_inputs(guessed, g, x, profile, a);
	if (!dynamic.n)
		TRY(given_inputs(&given, g, x, shape, a, e));
	const struct engine_deploy d = { .model = model,
		                         .library = libraries->at,
		                         .libraries = libraries->n,
		                         .dynamic = dynamic.at,
		                         .dynamics = dynamic.n,
		                         .given = given.at,
		                         .givens = given.n,
		                         .guessed = *guessed,
		                         .half = types >> TYPE_F16 & 1,
		                         .byte = types >> TYPE_I8 & 1,
		                         .version = g->version };
	g->engine->deploy(&s, &d);
	*out = str_text(&s);
	return 0;
}
