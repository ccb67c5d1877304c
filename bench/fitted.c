/* Compares the cost model with the trials of a tuning database, without the GPU that ran them:
 *
 *     fitted DB INDEX GPU [all] INDEX: lines of a name, a model and a region's nodes ("n0,n1"), separated by tabs
 *
 * For each model of which the database has trials, prints the time of the trial with the best estimate over the time of
 * the fastest, and both; "all" prints every trial with its estimate. Ends with the geometric mean and the largest
 * ratio. bench/plans.py --tuned DB writes the models of bench/drawn.py and calls it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "db/db.h"

#include "lib/tpat_decisions.h"
#include "lib/tpat_inside.h"
#include "sched/sched.h"

static void must(int code, const struct err *e)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s%s\n%s\n", e->where, e->text, e->advice);
	exit(-code);
}

static struct ir_program *program_of(const char *path, const char *region, struct arena *a)
{
	static const struct tpat_strings none;
	const struct tpat_strings regions = { &region, 1 };
	const struct tpat_choice choice = { .node = &none, .type = &none, .region = &regions, .except = &none };
	const struct graph_program_options options = { .sizes = true };
	struct err e = { 0 };
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions found = { 0 };
	struct ir_program *p;

	must(tpat_open(&model, &graph, path, &none, &none, NULL, a, &e), &e);
	must(tpat_choose(&found, graph, &choice, a, &e), &e);
	must(graph_region_program(&p, found.at[0], &options, a, &e), &e);
	return p;
}

struct fit {
	double first, best; /* measured ns of the trial with the best estimate, and of the fastest */
	double estimate;    /* of `first` */
	const char *first_text, *best_text;
};

static bool fit_program(struct fit *f, struct ir_program *p, struct db *db, const struct sched_target *t, bool all,
                        struct arena *a)
{
	char hash[33];
	const struct db_key key = { .program = hash, .arch = arena_printf(a, "sm_%d", t->arch) };
	struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
	struct db_trials trials = { 0 };
	struct err e = { 0 };
	const char *why;

	*f = (struct fit){ 0 };
	ir_hash(p, hash);
	must(db_each(&trials, db, &key, NULL, a, &e), &e);
	for (int i = 0; i < trials.n; i++) {
		const struct db_trial *x = &trials.at[i];
		if (x->status != DB_OK || !tpat_decisions_parse(list, x->decisions, p, t, &why, a))
			continue;
		double ns = sched_time(p, list, 0, p->stages.n, t);
		if (all)
			printf("    %10.0f %10.0f  %s\n", x->ns, ns, x->decisions);
		if (!f->first_text || ns < f->estimate)
			f->estimate = ns, f->first = x->ns, f->first_text = x->decisions;
		if (!f->best_text || x->ns < f->best)
			f->best = x->ns, f->best_text = x->decisions;
	}
	return f->first_text;
}

int main(int argc, char **argv)
{
	static const struct tpat_strings none;
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct sched_target gpu;
	struct db *db;
	char *text, *line, *rest;
	double logs = 0, most = 1;
	int n = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: fitted DB INDEX GPU [all]\n");
		return 2;
	}
	number_use_c_locale();
	must(tpat_target(&gpu, argv[3], &none, a, &e), &e);
	must(db_open(&db, argv[1], DB_READ, &e), &e);
	must(file_read(&text, NULL, argv[2], a, &e), &e);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *field, *name = strtok_r(line, "\t", &field), *path = strtok_r(NULL, "\t", &field);
		char *region = strtok_r(NULL, "\t", &field);
		struct arena *here = arena_new();
		struct fit f;
		if (!region) {
			fprintf(stderr, "%s: a line has no name, model and region.\n", argv[2]);
			return 2;
		}
		struct ir_program *p = program_of(path, region, here);
		const struct sched_points points = sched_usual_points(p, &gpu);
		if (fit_program(&f, p, db, &points.target[points.opt], argc > 4, here)) {
			double ratio = f.first / f.best;
			printf("%-44s %5.2f  %9.2f us (estimate %9.2f) %s", name, ratio, f.first / 1e3,
			       f.estimate / 1e3, f.first_text);
			printf(ratio > 1 ? "; best %9.2f us %s\n" : "\n", f.best / 1e3, f.best_text);
			logs += log(ratio);
			most = ratio > most ? ratio : most;
			n++;
		}
		arena_free(here);
	}
	printf("geometric mean over %d programs: the best estimate takes %.3f x the fastest trial; at most %.2f x\n", n,
	       n ? exp(logs / n) : 1, most);
	db_close(db);
	arena_free(a);
	return 0;
}
