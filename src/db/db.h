/* The tuning database: which decisions were tried for a program on a GPU, and what came of it, in one SQLite file. It
 * stores decisions as texts, never code; who reads one builds it anew and checks it (sched_decisions_parse), so that a
 * row that is old or foreign costs nothing. Several processes may use one file at once. A struct db belongs to one
 * thread of the process that opened it (after a fork: open again). */
#ifndef TPAT_DB_DB_H
#define TPAT_DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

struct db;

/* What was tuned, and where. In searches a null member stands for any. */
struct db_key {
	const char *program; /* canonical hash, 32 hex digits: ir_hash() of the program as tpat build makes it */
	const char *shape;   /* the extents it was measured at: sched_shape_text(); "" where all are constant */
	const char *arch;    /* "sm_90"; "cpu" */
	const char *device;  /* "NVIDIA H100 80GB HBM3" */
};

enum db_status {
	DB_OK,
	DB_WRONG,
	DB_CRASHED,
	DB_TIMEOUT,
	DB_REFUSED,
	DB_STATUSES
}; /* refused by a compiler or the driver */
extern const char *const db_status_name[]; /* "ok", "wrong", ...; null ends them */

struct db_trial {
	struct db_key key;
	const char *name;      /* of the program, for people: "softmax(x: f16[N,768]) -> (y: f16[N,768])" */
	const char *decisions; /* sched_decisions_text() */
	enum db_status status;
	double ns, spread;   /* as tune_runner_time gives them; 0 unless ok */
	double bytes;        /* that must move at these extents */
	double floor_ns;     /* what they take at the device's copy rate; 0: unknown */
	const char *version; /* tpat's */
	int64_t when;        /* seconds since 1970 */
};

struct db_trials {
	VEC(struct db_trial);
};

/* $TPAT_DB, or tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache; null where there is no home either. */
const char *db_default_path(struct arena *a);

/* DB_READ: the file must exist and is never changed. DB_WRITE: made when it is missing, with its folders. Errors:
 * ERR_USAGE for a path that cannot be read or written, ERR_MODEL for a file that is no database of tpat, is damaged, or
 * was written by a newer tpat; *out is null then. Neither changes the file. */
enum db_mode { DB_READ, DB_WRITE };
int db_open(struct db **out, const char *path, enum db_mode mode, struct err *e);
void db_close(struct db *d); /* null is fine; what was not put completely is undone */

/* Adds n trials, all or none, durably. What the same decisions gave at the same key before is replaced, unless that is
 * later. Waits while another process writes. Errors: ERR_USAGE when the disk is full or the file cannot be written: it
 * stands as it was; ERR_MODEL for a trial with texts that no row may have (control characters, a hash that is none
 * ...). */
int db_put(struct db *d, const struct db_trial *t, int n, struct err *e);

/* All trials of a key, in the order of program, shape, arch, device, decisions; texts in `a`. Null members: any. Rows
 * that hold what no trial can be are passed over: *foreign counts them (may be null). */
int db_each(struct db_trials *out, struct db *d, const struct db_key *key, int64_t *foreign, struct arena *a,
            struct err *e);

/* How close a trial's key is to the one asked for. */
enum db_match {
	DB_EXACT,        /* same shape and device; a device of null matches every one */
	DB_OTHER_DEVICE, /* another GPU of the architecture */
	DB_NEIGHBOUR,    /* other extents, the nearest first */
};
struct db_found {
	struct db_trial trial;
	enum db_match match;
};
struct db_founds {
	VEC(struct db_found);
};
/* At most `most` different decisions that were ok, the closest match first and the fastest of a match first. `program`
 * and `arch` must be given; a null shape matches every one. None: an empty list, no error. The list is longer than one
 * so that a decision that can no longer be built is passed over. */
int db_best(struct db_founds *out, struct db *d, const struct db_key *key, int most, struct arena *a, struct err *e);

/* ---- Other files.
 *
 * The text form: a first line {"tpat_db":1}, then each trial as a JSON object in a line of its own, in db_each's order.
 * The same trials always give the same bytes, and a trial's line never depends on another's. */
int db_export(struct str *out, struct db *d, const struct db_key *key, int64_t *foreign, struct err *e);
/* Puts all trials of a text into `d`, or none; `name`: of its file, for messages. ERR_MODEL: a line is wrong, *out is
 * not changed then. */
struct db_added {
	int64_t read, added; /* trials there; of these such as were not in the database at all */
	int64_t foreign;     /* rows passed over */
};
int db_import(struct db_added *out, struct db *d, const char *text, size_t n, const char *name, struct err *e);
/* Puts all trials of another database into `d`. */
int db_merge(struct db_added *out, struct db *d, struct db *from, struct err *e);

/* What to throw away: rows that hold what no trial can be, always; those that `stale` says are of no use any more;
 * where `keep` is more than 0, of each key all but the so many fastest. */
struct db_prune {
	bool (*stale)(void *user, const struct db_trial *t); /* may be null */
	void *user;
	int keep;
};
struct db_pruned {
	int64_t foreign, stale, slow, left;
};
int db_prune(struct db_pruned *out, struct db *d, const struct db_prune *o, struct err *e);

#endif
