/* Shared by the parts of tpat_tune. */
#ifndef TPAT_LIB_TUNING_INSIDE_H
#define TPAT_LIB_TUNING_INSIDE_H

#include "check/verify.h"
#include "db/db.h"
#include "lib/tpat_inside.h"
#include "tune/tuner.h"

/* A part of a program's search: number `index` of `count`. count 0: none of it; 1: all. */
struct tuning_part {
	int index, count;
};

/* A program to tune: a region's, with its tensors in a format. */
struct tuning_work {
	const struct graph_region *region;
	const struct engine_layout *layout; /* null: row-major */
};

struct tuning {
	const struct tpat_tune_options *o;
	struct tpat_tuning *result;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct {
		VEC(struct tuning_work);
	} works;
	struct tpat_extents *extents; /* expected by the user */
	struct tune_device device;
	struct sched_target target;
	const char *device_name, *arch;
	struct db *db;
	struct db *earlier; /* a share: the database that all shares know, which none writes; or null */
	struct {
		const char **of;   /* the hash of each work's program, or "" */
		const char **hash; /* different ones, sorted */
		int n;
	} deal;        /* filled if the work is shared */
	bool finishes; /* searches that were shared go on, with the answers of all shares; nothing else is tuned */
	int *index;    /* of each result's work */
	const char *folder;
	struct tpat_texts warnings;
	struct map done;        /* by hash and extents: tpat_tuned */
	int done_works;         /* of tuning_works() */
	struct tpat_talk *talk; /* null in the processes that share the work: the first one asks and tells */
	struct arena *arena;
	struct err *err;
};

/* One region at one point. */
struct job {
	struct tuning *t;
	struct tpat_tuned_node *out;
	struct tuning_part part;
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
/* Tells the log what was found. */
void tuning_tell(struct tuning *t, const struct tpat_tuned_node *r);
double tuning_floor(const struct tuning *t, double bytes); /* lower bound in ns: moving the bytes; 0: unknown */

/* tuning_works.c: fills t->works. */
int tuning_find_works(struct tuning *t);
/* The program of a work. Errors as of graph_region_program(). */
int tuning_program(struct ir_program **out, const struct tuning *t, const struct tuning_work *w, struct arena *a,
                   struct err *e);

/* Opens the model, the device and the database, and tunes. `t` has options, result, arena and err. */
int tuning_run(struct tuning *t);
void tuning_close(struct tuning *t);

/* ---- Sharing (tuning_share.c, tuning_devices.c). */

/* Finds the programs, to divide them. */
void tuning_deal(struct tuning *t);
/* A work's part that this process tunes. */
struct tuning_part tuning_part(const struct tuning *t, int work);
/* The number of works of which it tunes something. */
int tuning_works(const struct tuning *t);
/* "tuned.db" -> "tuned.0-of-4.db" */
const char *tuning_share_path(const char *db, int shard, int shards, struct arena *a);
/* Tunes with a process for each of several devices, and joins their databases. */
int tuning_devices(struct tuning *t);

/* The database around a search (tuning_trials.c). tuning_keep() stores a trial at once. tuning_recall() starts the
 * search from earlier results here, or from good choices for other extents or GPUs. */
void tuning_keep(struct job *j, const struct tune_trial *trial, double bytes);
void tuning_recall(struct job *j, struct tune_search *search);

/* Searches for one region's schedule at j->target's extents (tuning_region.c). `hash`: the program's key in the
 * database. */
int tuning_region(struct job *j, const struct graph_region *region, const char *hash, struct err *e);

#endif
