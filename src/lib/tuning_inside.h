/* Shared by the parts of tpat_tune. */
#ifndef TPAT_LIB_TUNING_INSIDE_H
#define TPAT_LIB_TUNING_INSIDE_H

#include "check/verify.h"
#include "db/db.h"
#include "lib/tpat_inside.h"
#include "tune/tuner.h"

struct tuning {
	const struct tpat_tune_options *o;
	struct tpat_tuning *result;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct tpat_extents *extents; /* expected by the user */
	struct tune_device device;
	struct sched_target target;
	const char *device_name, *arch;
	struct db *db;
	const char *folder;
	struct tpat_texts warnings;
	struct map done; /* by hash and extents: tpat_tuned */
	struct arena *arena;
	struct err *err;
};

/* One region at one point. */
struct job {
	struct tuning *t;
	struct tpat_tuned_node *out;
	int index;
	const struct sched_target *target; /* with the extents */
	double seconds;
	struct ir_program *program;
	struct tune_space *space;
	struct db_key key;
	const char *name;
	struct tensor *in, *want; /* want: null if `sample` holds a part instead */
	const struct tensor **inputs;
	struct sample *sample;
	struct arena *arena;
};

/* Adds a warning, a sentence, unless there already. */
void tuning_warn(struct tuning *t, const char *text);
double tuning_floor(const struct tuning *t, double bytes); /* lower bound in ns: moving the bytes; 0: unknown */

/* The database around a search (tuning_trials.c). tuning_keep() stores a trial at once. tuning_recall() starts the
 * search from earlier results here, or from good choices for other extents or GPUs. */
void tuning_keep(struct job *j, const struct tune_trial *trial, double bytes);
void tuning_recall(struct job *j, struct tune_search *search);

/* Searches for one region's schedule at j->target's extents (tuning_region.c). `hash`: the program's key in the
 * database. */
int tuning_region(struct job *j, const struct graph_region *region, const char *hash, struct err *e);

#endif
