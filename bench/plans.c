/* Prints the schedules that the cost model chooses for models, on GPUs that need not be present:
 *
 *     plans INDEX GPU ...
 *
 * INDEX has lines of a name, a model and a region's nodes ("n0,n1"), separated by tabs. Prints a line for each model
 * and GPU: name, GPU, decisions, kernels of the plan, the cost model's estimate in microseconds, the roofline's lower
 * bound in microseconds. bench/plans.py writes the benchmarks' models and such an index. Comparing the output of two
 * versions of tpat shows which choices a change affects; where the estimate is far above the bound, schedules are weak.
 *
 * A model whose region has no program gets no line, and the exit status of its error.
 *
 * Two more fields are the profiles ("x:1x8,4x8,16x8 w:8,8,8") for which a plan with guards is made, and profiles whose
 * optimum is a point. Such a line prints the kernels that run there instead of the decisions, the estimate of them, and
 * that of the best choices for a plan with open extents that runs there alone; then the same of a second tactic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"

#include "lib/tpat_inside.h"
#include "sched/sched.h"
#include "tune/tune.h"

enum { MOST_GPUS = 16, FIELDS = 5, TACTICS = 2 };

static void must(int code, const struct err *e)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s%s\n%s\n", e->where, e->text, e->advice);
	exit(-code);
}

/* Parses the words of `text`, separated by spaces. */
static struct tpat_strings words(char *text, struct arena *a)
{
	struct {
		VEC(const char *);
	} all = { 0 };
	char *rest;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		vec_push(a, &all, (const char *)word);
	return (struct tpat_strings){ all.at, all.n };
}

/* The estimate of the best choices in nanoseconds. */
static double best_time(struct ir_program *p, const struct sched_target *t, struct arena *a)
{
	struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
	sched_decide(p, t, NULL, list);
	return sched_time(p, list, 0, p->stages.n, t);
}

/* Prints the kernel of a step that runs at a point. */
static void print_kernel(const struct ir_step *step, struct sched_target *point, struct arena *a)
{
	for (int k = 0; k < step->n; k++) {
		const struct ir_kernel *kernel = step->at[k];
		int64_t fits = 1;
		if (kernel->guard && (!ir_eval_int(kernel->guard, tpat_extent_at, &point, &fits) || !fits))
			continue;
		printf("%s: %s; ", kernel->name, ir_kernel_decision(kernel, a));
		return;
	}
}

/* Prints the kernels that the tactics of a plan for the points of `profile` runs at the optimum of `at`. */
static void print_kernels(const char *name, struct graph *g, const struct graph_region *r, struct ir_program *p,
                          const struct sched_target *t, const struct tpat_strings *profile,
                          const struct tpat_strings *at, struct arena *a)
{
	struct err e = { 0 };
	struct tpat_extents *extents, *here;
	must(tpat_profile_extents(&extents, g, profile, a, &e), &e);
	must(tpat_profile_extents(&here, g, at, a, &e), &e);
	const struct sched_points given = tpat_profile_points(extents, t, r, p, NULL);
	const struct sched_points points = sched_points_between(&given, a);
	struct sched_points one = tpat_profile_points(here, t, r, p, NULL);
	struct sched_target *point = &one.target[one.opt];
	struct sched_tactic first = sched_tactic_best(p, &points), tactic[TACTICS];
	const struct ir_plan *plan[TACTICS];
	int n = sched_tactics(p, &points, &first, TACTICS, tactic);
	sched_plans(plan, p, &points, tactic, n);
	printf("%s\t%s", name, t->name);
	for (int i = 0; i < n; i++) {
		printf("\t");
		vec_each (step, &plan[i]->steps)
			print_kernel(*step, point, a);
		printf("\t%d\t%.2f", plan[i]->steps.n, sched_tactic_time(p, &points, &tactic[i], point) / 1e3);
		if (i == 0)
			printf("\t%.2f", best_time(p, point, a) / 1e3);
	}
	printf("\n");
}

/* The least time in nanoseconds: of memory traffic, arithmetic or one launch. NAN: an extent is not known. */
static double bound_of(struct ir_program *p, const struct sched_target *t, struct arena *a)
{
	struct tune_roofline r;
	double bytes;
	return tpat_roofline(&r, &bytes, p, t, 1, a) ? r.launch_ns + fmax(r.memory_ns, r.arithmetic_ns) : NAN;
}

/* Returns a negative code, and says why on standard error, if the region has no program. */
static int print_plans(char **field, struct sched_target *gpu, int gpus)
{
	const char *name = field[0], *path = field[1], *region = field[2];
	static const struct tpat_strings none;
	const struct tpat_strings regions = { &region, 1 };
	const struct tpat_choice choice = { .node = &none, .type = &none, .region = &regions, .except = &none };
	const struct graph_program_options options = { .sizes = true };
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions found = { 0 };
	int code = 0;

	must(tpat_open(&model, &graph, path, &none, &none, NULL, a, &e), &e);
	must(tpat_choose(&found, graph, &choice, a, &e), &e);
	struct tpat_strings profile = { 0 }, at = { 0 };
	if (field[4])
		profile = words(field[3], a), at = words(field[4], a);
	for (int g = 0; g < gpus && code >= 0; g++) {
		struct ir_program *p;
		code = graph_region_program(&p, found.at[0], &options, a, &e);
		if (code < 0) {
			fprintf(stderr, "%s%s\n", e.where, e.text);
			continue;
		}
		if (field[4]) {
			print_kernels(name, graph, found.at[0], p, &gpu[g], &profile, &at, a);
			continue;
		}
		const struct sched_points points = sched_usual_points(p, &gpu[g]);
		const struct sched_target *t = &points.target[points.opt];
		struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
		sched_decide(p, t, NULL, list);
		double ns = sched_time(p, list, 0, p->stages.n, t), bound = bound_of(p, t, a);
		printf("%s\t%s\t%s\t%d\t%.2f\t%.2f\n", name, gpu[g].name, sched_decisions_text(p, list, a),
		       sched_program(p, t, list)->steps.n, ns / 1e3, bound / 1e3);
	}
	graph_free(graph);
	onnx_model_free(model);
	arena_free(a);
	return code;
}

int main(int argc, char **argv)
{
	static const struct tpat_strings none;
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct sched_target gpu[MOST_GPUS];
	char *text, *line, *rest;
	int gpus = argc - 2, code = 0;

	if (gpus < 1 || gpus > MOST_GPUS) {
		fprintf(stderr, "usage: plans INDEX GPU ...\n");
		return 2;
	}
	number_use_c_locale();
	for (int i = 0; i < gpus; i++)
		must(tpat_target(&gpu[i], argv[i + 2], &none, a, &e), &e);
	must(file_read(&text, NULL, argv[1], a, &e), &e);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *inside, *field[FIELDS] = { strtok_r(line, "\t", &inside) };
		for (int i = 1; i < FIELDS && field[i - 1]; i++)
			field[i] = strtok_r(NULL, "\t", &inside);
		if (!field[2]) {
			fprintf(stderr, "%s: a line has no name, model and region.\n", argv[1]);
			return 2;
		}
		int failed = print_plans(field, gpu, gpus);
		code = failed < 0 ? -failed : code;
	}
	arena_free(a);
	return code;
}
