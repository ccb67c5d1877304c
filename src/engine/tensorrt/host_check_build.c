/* A plugin with the user's inputs, as a builder asks it: types, shapes, formats, configuration, workspace. */
#include <string.h>

#include "engine/tensorrt/host_check.h"
#include "tensor/type.h"

enum { UNSET = -7, MOST_TRIES = 20000, MANY = 77 };

/* Beyond all memory. */
static const size_t most_workspace = (size_t)1 << 46;

/* ---- Types. */

static bool ask_types(struct subject *s, int32_t *out)
{
	struct checker *k = s->k;
	int32_t inputs = s->n[0], outputs = s->n[1];
	check_step(k, k->calls->types);
	for (int32_t o = 0; o <= outputs; o++)
		out[o] = UNSET;
	if (k->calls->output_types(s->plugin, out, outputs, s->type, inputs)) {
		check_found(k, RULE_ACCEPT, "it fails%s", check_log(k));
		return false;
	}
	if (out[outputs] != UNSET)
		check_found(k, RULE_TYPES, "it writes more than %d types", (int)outputs);
	for (int32_t o = 0; o < outputs; o++)
		if (out[o] < 0 || out[o] >= CHECK_TYPES) {
			check_found(k, RULE_TYPES,
			            out[o] == UNSET ? "it leaves output %d unset" : "output %d has no DataType",
			            (int)o);
			return false;
		}
	return true;
}

static bool types(struct subject *s)
{
	int32_t *out = NEWN(s->k->arena, int32_t, s->n[1] + 1), *second = NEWN(s->k->arena, int32_t, s->n[1] + 1);
	if (!ask_types(s, out) || !ask_types(s, second))
		return false;
	if (memcmp(out, second, (size_t)s->n[1] * sizeof *out) != 0)
		check_found(s->k, RULE_TYPES, "a second call gives other types");
	memcpy(s->type + s->n[0], out, (size_t)s->n[1] * sizeof *out);
	return true;
}

/* ---- Shapes. */

static bool shape_of(struct subject *s, const struct trt_expr *builder, const struct trt_dims_exprs *r, int32_t o,
                     struct host_tensor *out)
{
	struct checker *k = s->k;
	*out = (struct host_tensor){ .type = host_onnx_type(s->type[s->n[0] + o]), .rank = r->rank };
	if (r->rank < 0 || r->rank > TRT_MAX_DIMS) {
		check_found(k, RULE_SHAPES, r->rank == UNSET ? "it leaves output %d unset" : "output %d has rank %d",
		            (int)o, (int)r->rank);
		return false;
	}
	for (int32_t d = 0; d < r->rank; d++) {
		if (!r->d[d] || !host_expr_made(builder, r->d[d])) {
			check_found(k, r->d[d] ? RULE_EXPRESSION : RULE_SHAPES,
			            r->d[d] ? "extent %d of output %d is an expression of another call"
			                    : "extent %d of output %d is null",
			            (int)d, (int)o);
			return false;
		}
		out->dim[d] = host_expr_value(r->d[d]);
		if (out->dim[d] < 0) {
			check_found(k, RULE_SHAPES, "extent %d of output %d is %lld", (int)d, (int)o,
			            (long long)out->dim[d]);
			return false;
		}
	}
	return true;
}

static bool ask_shapes(struct subject *s, void *plugin, const struct host_tensor *in, struct host_tensor *out)
{
	struct checker *k = s->k;
	struct trt_expr *builder = k->form == 8 ? host_expr_builder_8(k->arena) : host_expr_builder(k->arena);
	struct trt_dims_exprs *exprs = NEWN(k->arena, struct trt_dims_exprs, s->n[0] + 1);
	struct trt_dims_exprs *result = NEWN(k->arena, struct trt_dims_exprs, s->n[1] + 1);
	struct trt_dims_exprs *values = NEWN(k->arena, struct trt_dims_exprs, k->c->inputs + 1);
	int32_t shapes = 0;
	int64_t upper;
	for (int i = 0; i < k->c->inputs && k->calls == &check_calls_v3; i++)
		if (k->c->in[i].value) {
			values[shapes].rank = k->c->in[i].rank ? (int32_t)k->c->in[i].dim[0] : 1;
			for (int32_t d = 0; d < values[shapes].rank; d++)
				values[shapes].d[d] = host_expr_new(builder, k->c->in[i].value[d], false);
			shapes++;
		}
	for (int32_t i = 0; i < s->n[0]; i++) {
		exprs[i].rank = in[i].rank;
		for (int32_t d = 0; d < in[i].rank; d++)
			exprs[i].d[d] = host_expr_new(builder, in[i].dim[d], false);
	}
	for (int32_t o = 0; o <= s->n[1]; o++)
		result[o].rank = UNSET;
	check_step(k, k->calls->shapes);
	if (k->calls->output_shapes(k, plugin, exprs, s->n[0], values, shapes, result, s->n[1], builder)) {
		check_found(k, RULE_ACCEPT, "it fails%s", check_log(k));
		return false;
	}
	if (result[s->n[1]].rank != UNSET)
		check_found(k, RULE_SHAPES, "it writes more than %d outputs", (int)s->n[1]);
	for (int32_t o = 0; o < s->n[1]; o++)
		if (!shape_of(s, builder, &result[o], o, &out[o]))
			return false;
	for (int i = 0, o; (o = host_expr_size(builder, i, &upper)) >= 0; i++) {
		if (o >= s->n[1] || out[o].rank != 0 || (out[o].type != TYPE_I64 && out[o].type != TYPE_I32)) {
			check_found(k, RULE_SHAPES, "output %d is declared a size tensor, but is no scalar integer", o);
			return false;
		}
		s->sized = true;
	}
	return true;
}

static bool same_shapes(const struct host_tensor *a, const struct host_tensor *b, int32_t n)
{
	for (int32_t o = 0; o < n; o++)
		if (a[o].rank != b[o].rank || memcmp(a[o].dim, b[o].dim, (size_t)a[o].rank * sizeof *a[o].dim) != 0)
			return false;
	return true;
}

/* V3 plugins get the values of shape inputs, and nothing else of them. */
static bool is_passed(const struct checker *k, int i)
{
	return !k->c->in[i].value || k->calls != &check_calls_v3;
}

/* Extents between the smallest and the largest; odd ones, so that vectorised loops have a rest. */
static void between(struct host_tensor *out, const struct host_tensor *min, const struct host_tensor *max)
{
	*out = *max;
	for (int32_t d = 0; d < max->rank; d++) {
		int64_t middle = min->dim[d] + (max->dim[d] - min->dim[d] + 1) / 2;
		out->dim[d] = (middle | 1) < max->dim[d] ? middle | 1 : middle;
	}
}

/* The points of the range, and the outputs' shapes there. */
static bool shapes(struct subject *s)
{
	struct checker *k = s->k;
	struct host_tensor *max = NEWN(k->arena, struct host_tensor, s->n[0] + 1);
	struct host_tensor *min = NEWN(k->arena, struct host_tensor, s->n[0] + 1);
	struct host_tensor *second = NEWN(k->arena, struct host_tensor, s->n[1]);
	for (int i = 0, n = 0; n < s->n[0]; i++)
		if (is_passed(k, i)) {
			max[n] = k->c->in[i];
			min[n++] = k->c->in_min[i];
		}
	bool range = !same_shapes(max, min, s->n[0]);
	s->points = range ? CHECK_POINTS : CHECK_POINTS - 1;
	for (int p = 0; p < s->points; p++) {
		struct check_point *x = &s->point[p];
		x->in = NEWN(k->arena, struct host_tensor, s->n[0]);
		x->out = NEWN(k->arena, struct host_tensor, s->n[1]);
		x->desc = NEWN(k->arena, struct trt_desc, s->n[0] + s->n[1]);
		for (int32_t i = 0; i < s->n[0]; i++)
			if (p < 2)
				x->in[i] = p == 0 ? max[i] : min[i];
			else
				between(&x->in[i], &min[i], &max[i]);
		if (!ask_shapes(s, s->plugin, x->in, x->out) || !ask_shapes(s, s->plugin, x->in, second))
			return false;
		if (!same_shapes(x->out, second, s->n[1])) {
			check_found(k, RULE_SHAPES, "a second call gives other shapes");
			return false;
		}
	}
	return true;
}

/* ---- Formats. */

static struct trt_dynamic_desc ranged(const struct trt_desc *max, const struct trt_desc *min)
{
	struct trt_dynamic_desc d = { .desc = *max, .min = min->dims, .max = max->dims, .opt = max->dims };
	for (int i = 0; i < max->dims.rank; i++)
		if (min->dims.d[i] != max->dims.d[i])
			d.desc.dims.d[i] = -1;
	return d;
}

static void describe(struct subject *s)
{
	int32_t n = s->n[0] + s->n[1];
	for (int p = 0; p < s->points; p++)
		for (int32_t i = 0; i < n; i++) {
			struct check_point *x = &s->point[p];
			x->desc[i] = host_desc(i < s->n[0] ? &x->in[i] : &x->out[i - s->n[0]]);
			x->desc[i].format = s->format[i];
			if (x->desc[i].type == TRT_INT8)
				x->desc[i].scale = 1;
		}
}

static struct trt_dynamic_desc *range_of(const struct subject *s)
{
	int32_t n = s->n[0] + s->n[1];
	struct trt_dynamic_desc *desc = NEWN(s->k->arena, struct trt_dynamic_desc, n);
	for (int32_t i = 0; i < n; i++)
		desc[i] = ranged(&s->point[0].desc[i], &s->point[1].desc[i]);
	return desc;
}

struct formats {
	struct subject *s;
	struct trt_dynamic_desc *desc; /* with the formats chosen so far */
	int tries;
	int32_t reached; /* the first tensor that no choice got to */
};

static bool accepts(const struct formats *f, int32_t at)
{
	const struct subject *s = f->s;
	return s->k->calls->supports(s->k, s->plugin, at, f->desc, s->n);
}

/* Chooses formats for the tensors from `at` on; linear ones first. */
static bool choose(struct formats *f, int32_t at)
{
	if (at > f->reached)
		f->reached = at;
	if (at == f->s->n[0] + f->s->n[1])
		return true;
	for (int32_t format = 0; format < CHECK_FORMATS && f->tries < MOST_TRIES; format++, f->tries++) {
		f->desc[at].desc.format = format;
		if (accepts(f, at) && choose(f, at + 1))
			return true;
	}
	f->desc[at].desc.format = TRT_LINEAR;
	return false;
}

/* Counts the types and formats that are accepted for a tensor, the earlier ones as chosen. `differ`: the answer changes
 * in a second call; `later`: with what comes after it. */
static int count(struct formats *f, int32_t at, bool *differ, bool *later)
{
	int32_t n = f->s->n[0] + f->s->n[1];
	const struct trt_desc kept = f->desc[at].desc;
	struct trt_dynamic_desc rest[HOST_MAX_TENSORS];
	int accepted = 0;
	memcpy(rest, f->desc + at + 1, (size_t)(n - at - 1) * sizeof *rest);
	for (int32_t t = 0; t < CHECK_TYPES * CHECK_FORMATS; t++) {
		f->desc[at].desc.type = t / CHECK_FORMATS;
		f->desc[at].desc.format = t % CHECK_FORMATS;
		bool yes = accepts(f, at);
		*differ |= accepts(f, at) != yes;
		for (int32_t i = at + 1; i < n; i++)
			f->desc[i] = (struct trt_dynamic_desc){ .desc = { .type = MANY, .format = MANY } };
		bool other = accepts(f, at);
		memset(f->desc + at + 1, 0, (size_t)(n - at - 1) * sizeof *rest);
		*later |= other != yes || accepts(f, at) != yes;
		memcpy(f->desc + at + 1, rest, (size_t)(n - at - 1) * sizeof *rest);
		accepted += yes;
	}
	f->desc[at].desc = kept;
	return accepted;
}

static bool formats(struct subject *s)
{
	struct checker *k = s->k;
	int32_t n = s->n[0] + s->n[1];
	bool differ = false, later = false, everything = true, any = false;
	describe(s);
	struct formats f = { .s = s, .desc = range_of(s) };
	check_step(k, "supportsFormatCombination");
	bool chosen = choose(&f, 0);
	for (int32_t i = 0; i < n && (chosen || i == 0); i++) {
		int accepted = count(&f, i, &differ, &later);
		everything &= accepted == CHECK_TYPES * CHECK_FORMATS;
		any |= accepted > 0;
	}
	if (differ)
		check_found(k, RULE_FORMAT_PURE, "a second call gives another answer");
	else if (later)
		check_found(k, RULE_FORMAT_PURE, "the answer depends on tensors after pos");
	if (chosen && everything)
		check_found(k, RULE_FORMAT_ALL, "it accepts every type and format of every input and output");
	if (!any)
		check_found(k, RULE_FORMAT_NONE, "it accepts no type and no format of the first tensor");
	else if (!chosen && f.reached >= s->n[0])
		check_found(k, RULE_FORMAT_NONE, "it accepts output %d in no format with the type that %s() gives, %s",
		            (int)(f.reached - s->n[0]), k->calls->types,
		            type_name((enum type)host_onnx_type(s->type[f.reached])));
	else if (!chosen)
		check_note(k,
		           "it does not take input %d as %s: --input must give a type that it takes; the checks of a "
		           "build end there",
		           (int)f.reached, type_name((enum type)host_onnx_type(s->type[f.reached])));
	for (int32_t i = 0; chosen && i < n; i++)
		s->format[i] = f.desc[i].desc.format;
	describe(s);
	return chosen;
}

/* ---- Configuration and workspace. */

static const char *cache_id(const struct subject *s)
{
	const char *id = NULL;
	if (s->k->calls == &check_calls_v3)
		id = TRT_CALL(TRT_CALL(s->plugin, trt_plugin, capability, TRT_BUILD), trt_build, timing_cache_id);
	return id ? arena_strdup(s->k->arena, id) : "";
}

static bool configure(struct subject *s, const struct trt_dynamic_desc *desc, const char *again)
{
	struct checker *k = s->k;
	check_step(k, "configurePlugin");
	desc = check_lend(k, desc, (size_t)(s->n[0] + s->n[1]) * sizeof *desc);
	int32_t status = k->calls->configure(k, s->plugin, desc, s->n);
	check_took(k);
	if (status == 0)
		return true;
	check_found(k, *again ? RULE_CONFIGURE : RULE_ACCEPT, "it fails%s%s", again, check_log(k));
	return false;
}

static size_t ask_workspace(struct subject *s, const struct trt_dynamic_desc *desc)
{
	check_step(s->k, "getWorkspaceSize");
	return s->k->calls->workspace(s->k, s->plugin, desc, s->n);
}

static bool workspace(struct subject *s)
{
	struct checker *k = s->k;
	struct trt_dynamic_desc *range = range_of(s), *exact = range_of(s);
	const char *id = cache_id(s);
	if (!configure(s, range, "") || !configure(s, range, " the second time"))
		return false;
	s->workspace = ask_workspace(s, range);
	if (s->workspace > most_workspace || ask_workspace(s, range) != s->workspace) {
		check_found(k, RULE_WORKSPACE,
		            s->workspace > most_workspace ? "%zu bytes are impossible"
		                                          : "a second call does not say %zu again",
		            s->workspace);
		return false;
	}
	for (int p = 0; p < s->points; p++) {
		for (int32_t i = 0; i < s->n[0] + s->n[1]; i++)
			exact[i] = ranged(&s->point[p].desc[i], &s->point[p].desc[i]);
		if (!configure(s, exact, " for a part of the range"))
			return false;
		size_t bytes = ask_workspace(s, exact);
		if (bytes > s->workspace)
			check_found(k, RULE_WORKSPACE, "it says %zu bytes for a range, but %zu for shapes of it",
			            s->workspace, bytes);
	}
	if (!configure(s, range, " for the range once more"))
		return false;
	check_step(k, "getTimingCacheID");
	if (strcmp(id, cache_id(s)) != 0)
		check_found(k, RULE_CACHE_ID, "the text changes with configurePlugin()");
	check_step(k, "getWorkspaceSize");
	if (ask_workspace(s, range) != s->workspace)
		check_found(k, RULE_WORKSPACE, "after other shapes it no longer says %zu bytes", s->workspace);
	return true;
}

static bool aliases(struct subject *s)
{
	struct checker *k = s->k;
	check_step(k, "getAliasedInput");
	for (int32_t o = 0; o < s->n[1]; o++) {
		int32_t i = s->alias[o] = k->calls->aliased_input(s->plugin, o);
		bool good = i >= -1 && i < s->n[0];
		for (int32_t other = 0; other < o && good; other++)
			good = i < 0 || s->alias[other] != i;
		for (int p = 0; p < s->points && good && i >= 0; p++)
			good = s->type[i] == s->type[s->n[0] + o] &&
			       same_shapes(&s->point[p].in[i], &s->point[p].out[o], 1);
		if (!good) {
			check_found(k, RULE_ALIAS, "for output %d it returns %d", (int)o, (int)i);
			return false;
		}
		s->aliased |= i >= 0;
	}
	return true;
}

bool check_build(struct subject *s)
{
	struct checker *k = s->k;
	s->n[0] = 0;
	for (int i = 0; i < k->c->inputs; i++)
		s->n[0] += is_passed(k, i);
	s->n[1] = k->calls->outputs(s->plugin);
	if (s->n[0] + s->n[1] > HOST_MAX_TENSORS) {
		check_note(k, "it has more than %d inputs and outputs: the checks of a build end there",
		           HOST_MAX_TENSORS);
		return false;
	}
	s->type = NEWN(k->arena, int32_t, s->n[0] + s->n[1]);
	s->format = NEWN(k->arena, int32_t, s->n[0] + s->n[1]);
	s->alias = NEWN(k->arena, int32_t, s->n[1]);
	for (int i = 0, n = 0; n < s->n[0]; i++)
		if (is_passed(k, i))
			s->type[n++] = trt_type_of_onnx(k->c->in[i].type);
	return types(s) && shapes(s) && aliases(s) && formats(s) && workspace(s);
}
