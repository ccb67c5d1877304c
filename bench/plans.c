/* Prints the schedules that the cost model chooses for models, on GPUs that need not be present:
 *
 *     plans INDEX GPU ...
 *
 * INDEX has lines of a name, a model and a region's nodes ("n0,n1"), separated by tabs.
 *
 * Prints a line for each model and GPU: name, GPU, decisions, kernels of the plan. bench/plans.py writes the
 * benchmarks' models and such an index. Comparing the output of two versions of tpat shows which choices a change
 * affects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"

#include "lib/tpat_inside.h"
#include "sched/sched.h"

enum { MOST_GPUS = 16 };

static void must(int code, const struct err *e)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s%s\n%s\n", e->where, e->text, e->advice);
	exit(-code);
}

static void print_plans(const char *name, const char *path, const char *region, struct sched_target *gpu, int gpus)
{
	static const struct tpat_strings none;
	const struct tpat_strings regions = { &region, 1 };
	const struct tpat_choice choice = { .node = &none, .type = &none, .region = &regions, .except = &none };
	const struct graph_program_options options = { .sizes = true };
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions found = { 0 };

	must(tpat_open(&model, &graph, path, &none, &none, a, &e), &e);
	must(tpat_choose(&found, graph, &choice, a, &e), &e);
	for (int g = 0; g < gpus; g++) {
		struct ir_program *p;
		must(graph_region_program(&p, found.at[0], &options, a, &e), &e);
		const struct sched_points points = sched_usual_points(p, &gpu[g]);
		const struct sched_target *t = &points.target[points.opt];
		struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
		sched_decide(p, t, NULL, list);
		printf("%s\t%s\t%s\t%d\n", name, gpu[g].name, sched_decisions_text(p, list, a),
		       sched_program(p, t, list)->steps.n);
	}
	graph_free(graph);
	onnx_model_free(model);
	arena_free(a);
}

int main(int argc, char **argv)
{
	static const struct tpat_strings none;
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct sched_target gpu[MOST_GPUS];
	char *text, *line, *rest;
	int gpus = argc - 2;

	if (gpus < 1 || gpus > MOST_GPUS) {
		fprintf(stderr, "usage: plans INDEX GPU ...\n");
		return 2;
	}
	number_use_c_locale();
	for (int i = 0; i < gpus; i++)
		must(tpat_target(&gpu[i], argv[i + 2], &none, a, &e), &e);
	must(file_read(&text, NULL, argv[1], a, &e), &e);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *field, *name = strtok_r(line, "\t", &field), *path = strtok_r(NULL, "\t", &field);
		char *region = strtok_r(NULL, "\t", &field);
		if (!region) {
			fprintf(stderr, "%s: a line has no name, model and region.\n", argv[1]);
			return 2;
		}
		print_plans(name, path, region, gpu, gpus);
	}
	arena_free(a);
	return 0;
}
