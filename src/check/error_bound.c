/* The program of errors, its results, and the report on its loops. See error_bound.h. */
#include "check/error_bound.h"

#include <math.h>
#include <string.h>

#include "check/error_inside.h"
#include "eval/eval.h"

static const double SAFETY = 2;   /* the reference is rounded too */
static const double MOST = 1e290; /* no bound above it, or for NaN */

/* The program extended by error stages and buffers, in its own lists. Expressions and the buffers they load live in the
 * pool of `from`. */
static struct ir_program *build(struct error_builder *b)
{
	const struct ir_program *from = b->from;
	struct arena *a = from->arena;
	struct ir_program *p = ir_program_beside(from);
	memset(&p->stages, 0, sizeof p->stages);
	memset(&p->outputs, 0, sizeof p->outputs);
	b->x = (struct error_program){ .p = p, .errors = map_new(a), .known = map_new(a) };
	b->totals = map_new(a);
	b->squares = map_new(a);
	vec_each (s, &from->stages) {
		if ((*s)->kind == IR_LOOP) {
			error_loop(b, *s);
			continue;
		}
		vec_push(a, &p->stages, *s);
		error_stage(b, *s);
	}
	return p;
}

/* ---- The bounds. */

static void finish(struct tensor *t)
{
	double *x = t->data;
	int64_t n = tensor_count(t);
	for (int64_t i = 0; i < n; i++)
		x[i] = x[i] < MOST / SAFETY ? SAFETY * x[i] : 0;
}

static void add_output(struct ir_program *p, const struct ir_buffer *b)
{
	struct ir_buffer *out = (struct ir_buffer *)(uintptr_t)b;
	if (out->role == IR_TEMP)
		out->role = IR_OUTPUT;
	vec_push(p->arena, &p->outputs, out);
}

/* Makes the outputs' errors, and then what the report on loops needs, the program's outputs; which[i] is the output
 * that error i belongs to. */
static int choose_outputs(struct error_builder *b, int *which)
{
	struct ir_program *p = b->x.p;
	int n = 0;
	for (int o = 0; o < b->from->outputs.n; o++) {
		const struct ir_buffer *error = error_get(&b->x, b->from->outputs.at[o]);
		if (!error || error == &error_unknown)
			continue;
		which[n++] = o;
		add_output(p, error);
	}
	vec_each (l, &b->loops) {
		add_output(p, l->bound);
		add_output(p, l->measured);
		add_output(p, l->scale);
	}
	vec_each (out, &b->from->outputs) /* they must be stored */
		vec_push(p->arena, &p->outputs, *out);
	return n;
}

/* How the bounds of a loop's result compare with what its perturbed runs measured. */
struct growth {
	double bound, measured, scale; /* the largest; the values' root mean square */
	int64_t replaced, lost, count; /* elements: with the measured error as bound, without any, all */
};

static struct growth growth_of(const struct tensor *t)
{
	const double *bound = t[0].data, *measured = t[1].data;
	struct growth g = { .scale = *(const double *)t[2].data, .count = tensor_count(&t[0]) };
	for (int64_t i = 0; i < g.count; i++) {
		if (bound[i] <= ERROR_GROWTH * measured[i])
			continue;
		g.replaced++;
		g.bound = fmax(g.bound, bound[i] < MOST ? bound[i] : INFINITY);
		g.measured = fmax(g.measured, measured[i]);
		g.lost += !(measured[i] <= ERROR_CHAOS * g.scale);
	}
	return g;
}

static void report_loop(struct str *text, const char *name, const struct growth *g)
{
	str_printf(text, "%sThe error bound of %s grows ", text->n ? " " : "", name);
	str_printf(text, isinf(g->bound) ? "without limit" : "to %.2g", g->bound);
	str_printf(text,
	           " in its loop, so the error is estimated by %d perturbed runs: at most %.2g, for values of %.2g "
	           "(root mean square).",
	           ERROR_TWINS, SAFETY * g->measured, g->scale);
	if (g->lost)
		str_printf(text,
		           " The loop is chaotic with these inputs: rounding alone changes %lld of %lld elements too "
		           "much to compare them.",
		           (long long)g->lost, (long long)g->count);
}

/* On each loop the result whose estimate is the largest part of its values. */
static const char *report(const struct error_builder *b, const struct tensor *of_loops, struct arena *a)
{
	struct str text = str_new(a);
	for (int i = 0, next; i < b->loops.n; i = next) {
		const struct error_loop *l = &b->loops.at[i];
		struct growth worst = { 0 };
		const char *name = NULL;
		for (next = i; next < b->loops.n && b->loops.at[next].stage == l->stage; next++) {
			struct growth g = growth_of(&of_loops[3 * next]);
			if (!g.replaced || (name && g.measured * worst.scale <= worst.measured * g.scale))
				continue;
			worst = g;
			name = b->loops.at[next].result->name;
		}
		if (name)
			report_loop(&text, name, &worst);
	}
	return text.n ? arena_strdup(a, str_text(&text)) : NULL;
}

void error_bounds(struct tensor *bound, const char **report_text, const struct ir_program *p,
                  const struct tensor *const *inputs, struct arena *a)
{
	struct error_builder b = { .from = p, .inputs = inputs };
	struct arena *scratch = arena_new();
	struct err ignored = { 0 };
	int *which = NEWN(scratch, int, p->outputs.n + 1);
	memset(bound, 0, sizeof *bound * (size_t)p->outputs.n);
	if (report_text)
		*report_text = NULL;
	struct ir_program *errors = build(&b);
	int n = choose_outputs(&b, which);
	struct tensor *out = NEWN(scratch, struct tensor, errors->outputs.n + 1);
	if (n && ir_check_interpreted(errors, &ignored) == 0 &&
	    eval_program(errors, inputs, out, NULL, a, &ignored) == 0) {
		for (int i = 0; i < n; i++) {
			finish(&out[i]);
			bound[which[i]] = out[i];
		}
		if (report_text)
			*report_text = report(&b, &out[n], a);
	}
	arena_free(scratch);
}
