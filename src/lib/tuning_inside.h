/* Inside src/lib/: what the parts of tpat_tune share. */
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
	struct tpat_extents *extents; /* that the user expects */
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
	struct tensor *in, *want; /* want: null where `sample` has some of it */
	const struct tensor **inputs;
	struct sample *sample;
	struct arena *arena;
};

/* A sentence for the user, once. */
void tuning_warn(struct tuning *t, const char *text);
double tuning_floor(const struct tuning *t, double bytes); /* nanoseconds that moving the bytes alone takes; 0: not
                                                              known */

/* The database around a search (tuning_trials.c): a trial goes there at once, and what earlier runs found here, or what
 * is good for other extents or GPUs, is where a search begins. */
void tuning_keep(struct job *j, const struct tune_trial *trial, double bytes);
void tuning_recall(struct job *j, struct tune_search *search);

/* Searches for one region's schedule at j->target's extents (tuning_region.c). What the database has of the program is
 * under `hash`. */
int tuning_region(struct job *j, const struct graph_region *region, const char *hash, struct err *e);

#endif
