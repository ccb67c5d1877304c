/* Profiles, "x:1x3x32,8x3x64,32x3x128": an input's minimum, optimum and maximum extents; and the points for which a
 * region is scheduled. */
#include "lib/tpat_inside.h"

#include <inttypes.h>
#include <string.h>

#include "tune/tune.h"

const char *tpat_profile_of(const struct tpat_strings *profile, const char *name)
{
	size_t n = strlen(name);
	for (int i = 0; i < profile->n; i++)
		if (strncmp(profile->at[i], name, n) == 0 && profile->at[i][n] == ':' &&
		    !strchr(profile->at[i] + n + 1, ':'))
			return profile->at[i] + n + 1;
	return NULL;
}

/* Parses one shape of a profile, "1x3x32x32": a number for each axis of the input. */
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

/* Checks TensorRT's conditions for a profile: min <= opt <= max, and the model's own constant extents. */
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
			err_set(e, ERR_USAGE, "The profile \"%s\" decreases at axis %d.", profile, k);
			return err_advise(e, "Write the minimum shape first, then the optimum, then the maximum.");
		}
	}
	return 0;
}

int tpat_profile_read(struct tpat_profile *out, struct graph *g, const char *profile, struct arena *a, struct err *e)
{
	const char *colon = strrchr(profile, ':');
	const char *name = arena_strndup(a, profile, colon ? (size_t)(colon - profile) : 0);
	const struct graph_value *v = out->input = graph_value_find(g, name);
	struct graph_shape *shape = out->shape, rest;
	int shapes = 0;
	if (!v || !v->is_input) {
		err_set(e, ERR_USAGE, "The profile \"%s\" names no input of the model.", profile);
		return err_advise(e, "Write it as NAME:1x3x32,8x3x64,32x3x128: minimum, optimum, maximum.");
	}
	for (const char *p = colon + 1; p; shapes++) {
		size_t n = strcspn(p, ",");
		TRY(profile_shape(shapes < 3 ? &shape[shapes] : &rest, profile, p, n, v, a, e));
		p = p[n] ? p + n + 1 : NULL;
	}
	if (shapes != 3)
		return err_set(e, ERR_USAGE,
		               "The profile \"%s\" has %d shape%s; it needs three: minimum, optimum, maximum.", profile,
		               shapes, shapes == 1 ? "" : "s");
	return check_extents(shape, profile, v, e);
}

/* ---- A batch: "*:1,8,32", for every input whose only dynamic extent is the first. */

static bool is_batch(const struct graph *g, const char *profile)
{
	return str_starts(profile, "*:") && !strchr(profile, 'x') && !graph_value_find(g, "*");
}

static bool has_batch(const struct graph_value *v)
{
	int64_t n;
	for (int k = 0; k < v->rank; k++)
		if (ir_const_int(v->dim[k], &n) == (k == 0))
			return false;
	return v->rank > 0;
}

/* "x:1x3,8x3,32x3" for the input x: f32[N,3]. */
static const char *batch_of(const struct graph_value *v, const char *batch, struct arena *a)
{
	struct str s = str_new(a), rest = str_new(a);
	int64_t n = 0;
	for (int k = 1; k < v->rank; k++) {
		ir_const_int(v->dim[k], &n);
		str_printf(&rest, "x%" PRId64, n);
	}
	str_printf(&s, "%s:", v->name);
	for (const char *p = batch;;) {
		size_t length = strcspn(p, ",");
		str_addn(&s, p, length);
		str_add(&s, str_text(&rest));
		p += length;
		if (!*p)
			return str_text(&s);
		str_addn(&s, p++, 1);
	}
}

int tpat_profiles(struct tpat_strings *out, struct graph *g, const struct tpat_strings *profile, struct arena *a,
                  struct err *e)
{
	struct {
		VEC(const char *);
	} all = { 0 };
	const struct tpat_strings text = tpat_split_inputs(profile, g->model, a);
	for (int i = 0; i < text.n; i++) {
		bool fits = !is_batch(g, text.at[i]);
		if (fits)
			vec_push(a, &all, text.at[i]);
		else
			vec_each (v, &g->inputs) {
				if (!has_batch(*v))
					continue;
				fits = true;
				if (!tpat_profile_of(&text, (*v)->name)) /* which has priority */
					vec_push(a, &all, batch_of(*v, text.at[i] + 2, a));
			}
		if (!fits) {
			err_set(e, ERR_USAGE,
			        "The profile \"%s\" fits no input: none has an open first extent and no other open "
			        "one.",
			        text.at[i]);
			return err_advise(e, "Give each input's as NAME:1x3x32,8x3x64,32x3x128.");
		}
	}
	*out = (struct tpat_strings){ all.at, all.n };
	return 0;
}

/* ---- The points of a region's program. */

struct known {
	expr symbol; /* of the graph */
	bool usual;  /* no profile tells it */
	int64_t value[TPAT_PROFILE_SHAPES];
};

struct tpat_extents {
	const struct graph *graph;
	struct {
		VEC(struct known);
	} known;
	struct arena *arena;
	int shape; /* the one being evaluated, of the three */
	bool told; /* by a profile: a symbol of the extent that was evaluated */
};

int tpat_profile_extents(struct tpat_extents **out, struct graph *g, const struct tpat_strings *profile,
                         struct arena *a, struct err *e)
{
	struct tpat_extents *x = *out = NEW(a, struct tpat_extents);
	struct tpat_strings all;
	x->graph = g;
	x->arena = a;
	TRY(tpat_profiles(&all, g, profile, a, e));
	for (int i = 0; i < all.n; i++) {
		struct tpat_profile p;
		TRY(tpat_profile_read(&p, g, all.at[i], a, e));
		for (int k = 0; k < p.input->rank; k++) {
			if (p.input->dim[k]->op != IR_SYMBOL)
				continue;
			struct known known = { .symbol = p.input->dim[k] };
			for (int s = 0; s < TPAT_PROFILE_SHAPES; s++)
				known.value[s] = p.shape[s].dim[k].value;
			vec_push(a, &x->known, known);
		}
	}
	return 0;
}

/* Default extents of a symbol that suit all tensors of the model. */
static const struct known *usual_of(struct tpat_extents *x, expr symbol)
{
	struct known usual = { .symbol = symbol, .usual = true };
	int64_t multiple = 1;
	vec_each (v, &x->graph->values)
		if ((*v)->rank > 0)
			multiple = sched_usual_common(multiple, sched_usual_multiple(symbol, (*v)->dim, (*v)->rank));
	for (int i = 0; i < TPAT_PROFILE_SHAPES; i++)
		usual.value[i] = sched_usual_extent[i] * multiple;
	vec_push(x->arena, &x->known, usual);
	return &x->known.at[x->known.n - 1];
}

static bool known_value(void *user, expr symbol, int64_t *value)
{
	struct tpat_extents *x = user;
	const struct known *found = NULL;
	vec_each (k, &x->known)
		if (k->symbol == symbol)
			found = k;
	found = found ? found : usual_of(x, symbol);
	x->told |= !found->usual;
	*value = found->value[x->shape];
	return true;
}

/* Evaluates an extent of the model at each point; false if the defaults of its symbols give no tensor. */
static bool values_of(struct tpat_extents *x, expr extent, int64_t *value)
{
	x->told = false;
	for (x->shape = 0; x->shape < TPAT_PROFILE_SHAPES; x->shape++) {
		int64_t *v = &value[x->shape];
		if (!ir_eval_int(extent, known_value, x, v) || (*v < 1 && x->shape && !x->told))
			return false;
		*v = *v < 1 ? 1 : *v;
		if (x->shape && *v < v[-1]) /* N - M may fall as both rise */
			*v = v[-1];
	}
	return true;
}

bool tpat_extent_at(void *target, expr symbol, int64_t *value)
{
	const struct sched_target *t = *(const struct sched_target **)target;
	*value = t->typical;
	for (int i = 0; i < t->extents; i++)
		if (t->extent[i].symbol == symbol)
			*value = t->extent[i].value;
	return true;
}

void tpat_extents_of(struct verify_input *in, const struct ir_buffer *b, const struct sched_target *t)
{
	in->rank = b->rank;
	for (int k = 0; k < b->rank && in->rank >= 0; k++)
		if (!ir_eval_int(b->dim[k], tpat_extent_at, &t, &in->dim[k]) || in->dim[k] < 0)
			in->rank = -1;
}

double tpat_bytes_at(const struct ir_buffer *b, const struct sched_target *t)
{
	struct verify_input in = { 0 };
	double bytes = type_info(b->type)->bits / 8.0;
	tpat_extents_of(&in, b, t);
	for (int k = 0; k < in.rank; k++)
		bytes *= (double)in.dim[k];
	return in.rank < 0 ? -1 : bytes;
}

/* Bytes of a tensor at these extents; negative: unknown. Fills `t`, without data. */
static double bytes_of(struct tensor *t, const struct ir_buffer *b, const struct sched_target *at)
{
	struct verify_input in = { 0 };
	tpat_extents_of(&in, b, at);
	*t = (struct tensor){ .type = b->type, .rank = in.rank };
	for (int k = 0; k < in.rank; k++)
		t->dim[k] = in.dim[k];
	return tpat_bytes_at(b, at);
}

bool tpat_roofline(struct tune_roofline *out, double *bytes, const struct ir_program *p, const struct sched_target *t,
                   int launches, struct arena *a)
{
	const struct dev_props props = { .arch = t->arch,
		                         .sms = t->processors,
		                         .clock_khz = (int)(t->clock_ghz * 1e6) };
	struct tensor *tensor = NEWN(a, struct tensor, p->inputs.n + 1), unused;
	const struct tensor **inputs = NEWN(a, const struct tensor *, p->inputs.n + 1);
	*bytes = 0;
	for (int i = 0; i < p->inputs.n + p->outputs.n; i++) {
		bool in = i < p->inputs.n;
		const struct ir_buffer *b = in ? p->inputs.at[i] : p->outputs.at[i - p->inputs.n];
		double more = bytes_of(in ? &tensor[i] : &unused, b, t);
		if (more < 0)
			return false;
		if (in)
			inputs[i] = &tensor[i];
		*bytes += more;
	}
	*out = tune_roofline(p, inputs, &props, t, *bytes, t->bytes_per_ns, launches);
	return true;
}

struct sched_points tpat_profile_points(struct tpat_extents *x, const struct sched_target *t,
                                        const struct graph_region *r, struct ir_program *p,
                                        const struct engine_layout *l)
{
	const struct sched_points usual = sched_usual_points(p, t);
	const struct sched_target *any = &usual.target[0];
	expr *symbol = NEWN(x->arena, expr, any->extents + 1);
	const int64_t **value = NEWN(x->arena, const int64_t *, any->extents + 1);
	bool differ = false;
	if (usual.n != TPAT_PROFILE_SHAPES)
		return usual;
	for (int i = 0; i < any->extents; i++) {
		int64_t *v = NEWN(x->arena, int64_t, TPAT_PROFILE_SHAPES);
		int input, axis;
		symbol[i] = any->extent[i].symbol;
		bool found = ir_symbol_source(p, symbol[i], &input, &axis) && input < r->inputs.n;
		if (found && l && graph_has_layout(r->graph, r->inputs.at[input], l, NULL))
			axis = engine_layout_axis(l, r->inputs.at[input]->rank, axis);
		found = found && axis >= 0 && axis < r->inputs.at[input]->rank &&
		        values_of(x, r->inputs.at[input]->dim[axis], v);
		for (int s = 0; s < TPAT_PROFILE_SHAPES && !found; s++)
			v[s] = usual.target[s].extent[i].value;
		differ |= v[0] != v[TPAT_PROFILE_SHAPES - 1];
		value[i] = v;
	}
	return sched_points_of(t, symbol, value, any->extents, differ ? TPAT_PROFILE_SHAPES : 1, differ, x->arena);
}
