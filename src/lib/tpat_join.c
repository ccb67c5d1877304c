/* Rates for joining nodes into regions, and regions that turn out not to be plugins. */
#include "lib/tpat_inside.h"

/* Shares of the peak arithmetic rates that products reach: of ordinary arithmetic, and of tensor cores. TensorRT
 * computes products of floats in TF32, at half the rate of f16. */
#define ORDINARY_SHARE 0.5
#define TENSOR_SHARE 0.4

enum { USUAL = 1 };

static int64_t extent(void *user, expr e)
{
	return tpat_example_extent(user, e, USUAL);
}

static void set_work(struct graph_rates *r, const struct sched_target *t)
{
	double clocks = t->processors * t->clock_ghz;
	double half = t->mma[TYPE_F16] * clocks * TENSOR_SHARE, bytes = t->mma[TYPE_I8] * clocks * TENSOR_SHARE;
	for (int i = 0; i < TYPE_COUNT; i++)
		r->plugin_work[i] = r->engine_work[i] = t->fma[i] * clocks * ORDINARY_SHARE;
	for (enum type i = TYPE_F16; half > 0; i = TYPE_BF16) {
		r->plugin_work[i] = r->engine_work[i] = half;
		if (i == TYPE_BF16)
			break;
	}
	if (half / 2 > r->engine_work[TYPE_F32])
		r->engine_work[TYPE_F32] = half / 2;
	if (bytes > r->plugin_work[TYPE_I32])
		r->plugin_work[TYPE_I32] = bytes;
}

int tpat_rates(struct graph_rates *out, struct graph *g, const struct sched_target *t,
               const struct tpat_strings *profile, struct arena *a, struct err *e)
{
	static const struct tpat_strings none;
	struct tpat_example *x;
	t = t ? t : &sched_default_target;
	TRY(tpat_example(&x, g, profile ? profile : &none, a, e));
	*out = (struct graph_rates){ t->bytes_per_ns, t->launch_ns, { 0 }, { 0 }, extent, x };
	set_work(out, t);
	return 0;
}

static int lower(const struct graph_region *r, bool any_types, struct err *e)
{
	const struct graph_program_options options = { .sizes = true, .any_types = any_types, .keep_types = any_types };
	struct arena *scratch = arena_new();
	struct ir_program *p;
	int code = r->folded ? 0 : graph_region_program(&p, r, &options, scratch, e);
	expr unknown = code < 0 || r->folded ? NULL : ir_value_unlaunched(p);
	if (unknown) {
		struct str text = str_new(scratch);
		ir_print_expr(&text, unknown, 0);
		code = err_set(e, ERR_UNSUPPORTED,
		               "%s: region %s: the extent %s depends on the value of an input's element, and no output "
		               "has it.",
		               r->graph->model->path, r->label, str_text(&text));
	}
	arena_free(scratch);
	return code;
}

/* Leaves out a region that cannot be a plugin, whatever the types at its edges, so that the others are built. */
static bool leave_out(struct graph_region *r, struct err *e)
{
	err_clear(e);
	if (lower(r, true, e) != ERR_UNSUPPORTED) {
		err_clear(e);
		return false;
	}
	vec_push(r->graph->arena, &r->graph->root->warnings,
	         arena_printf(r->graph->arena, "Not taken: %s", str_printable(r->graph->arena, e->text)));
	return true;
}

static void settle(struct graph_regions *out, struct graph_region *r, const struct graph_rates *rates, struct arena *a,
                   struct err *e)
{
	struct graph_regions parts = { 0 };
	struct err ignored = { 0 };
	if (!r->joined || r->fast || lower(r, false, &ignored) == 0) {
		vec_push(a, out, r);
	} else if (r->nodes.n < 2 || !graph_region_cut(&parts, r, rates)) {
		if (!leave_out(r, e))
			vec_push(a, out, r);
	}
	vec_each (part, &parts)
		settle(out, *part, rates, a, e);
}

int tpat_settle(struct graph_regions *r, const struct graph_rates *rates, struct arena *a, struct err *e)
{
	struct graph_regions out = { 0 };
	vec_each (region, r)
		settle(&out, *region, rates, a, e);
	*r = out;
	if (!r->n)
		return e->code;
	err_clear(e);
	return 0;
}
