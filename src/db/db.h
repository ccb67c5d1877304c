/* The tuning database: scheduling decisions tried for a program on a GPU, and their results, in one SQLite file. Stores
 * decisions as text, never code; a reader rebuilds and checks them (lib/tpat_decisions.h), so an outdated or foreign
 * row does no harm. Several processes may use one file at once. A struct db belongs to one thread of the process that
 * opened it (after a fork: open again). */
#ifndef TPAT_DB_DB_H
#define TPAT_DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

struct db;

/* The program, shape and device of a trial. In queries a null member matches any. */
struct db_key {
	const char *program; /* ir_hash() of the program as tpat build makes it, 32 hex digits */
	const char *shape;   /* measured extents: sched_shape_text(); "" if all are constant */
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
	const char *name;      /* human-readable program: "softmax(x: f16[N,768]) -> (y: f16[N,768])" */
	const char *decisions; /* sched_decisions_text() */
	enum db_status status;
	double ns, spread;   /* from tune_runner_time; 0 unless ok */
	double bytes;        /* minimum traffic at these extents */
	double floor_ns;     /* time for these bytes at the device's copy rate; 0: unknown */
	const char *version; /* tpat's */
	int64_t when;        /* seconds since 1970 */
};

struct db_trials {
	VEC(struct db_trial);
};

/* $TPAT_DB, or tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache; null if there is no home either. */
const char *db_default_path(struct arena *a);

/* DB_READ: the file must exist and is never changed. DB_WRITE: created if missing, with its folders. Errors: ERR_USAGE
 * for a path that cannot be read or written, ERR_MODEL for a file that is not a tpat database, is damaged, or was
 * written by a newer tpat; *out is then null and the file unchanged. */
enum db_mode { DB_READ, DB_WRITE };
int db_open(struct db **out, const char *path, enum db_mode mode, struct err *e);
void db_close(struct db *d); /* null is fine; rolls back an incomplete put */
/* Removes a database that nothing has open, and the journal that a killed process may have left of it. */
void db_remove(const char *path, struct arena *a);

/* Adds n trials, all or none, durably. Replaces an earlier trial of the same decisions and key, unless that one is
 * newer. Waits while another process writes. Errors: ERR_USAGE if the disk is full or the file not writable, which is
 * then unchanged; ERR_MODEL for a trial with invalid text (control characters, a malformed hash ...). */
int db_put(struct db *d, const struct db_trial *t, int n, struct err *e);

/* Returns all trials of a key, ordered by program, shape, arch, device, decisions; texts in `a`. Null members match
 * any. Skips invalid rows and counts them in *foreign (may be null). */
int db_each(struct db_trials *out, struct db *d, const struct db_key *key, int64_t *foreign, struct arena *a,
            struct err *e);

/* Closeness of a trial's key to the queried one. */
enum db_match {
	DB_EXACT,        /* same shape and device; a null device matches any */
	DB_OTHER_DEVICE, /* another GPU of the same architecture */
	DB_NEIGHBOUR,    /* other extents, nearest first */
};
struct db_found {
	struct db_trial trial;
	enum db_match match;
};
struct db_founds {
	VEC(struct db_found);
};
/* Returns up to `most` different decisions that were ok: closest match first, then fastest. `program` and `arch` are
 * required; a null shape matches any. Without a match the list is empty, which is not an error. The caller takes the
 * first that can still be built. */
int db_best(struct db_founds *out, struct db *d, const struct db_key *key, int most, struct arena *a, struct err *e);

/* ---- Other files.
 *
 * The text form: a first line {"tpat_db":1}, then one JSON object per line and trial, in db_each's order. The same
 * trials always give the same bytes; no line depends on another. */
int db_export(struct str *out, struct db *d, const struct db_key *key, int64_t *foreign, struct err *e);
/* Adds all trials of a text to `d`, or none; `name`: its file, for messages. ERR_MODEL if a line is wrong; *out is then
 * unchanged. */
struct db_added {
	int64_t read, added; /* trials found; of these, new to the database */
	int64_t foreign;     /* invalid rows skipped */
};
int db_import(struct db_added *out, struct db *d, const char *text, size_t n, const char *name, struct err *e);
/* Adds all trials of another database to `d`. As for texts: any number of files give the same rows in any order. */
int db_merge(struct db_added *out, struct db *d, struct db *from, struct err *e);

/* Rows to delete: always invalid ones; those for which `stale` returns true; if `keep` > 0, all but the `keep` fastest
 * of each key. */
struct db_prune {
	bool (*stale)(void *user, const struct db_trial *t); /* may be null */
	void *user;
	int keep;
};
struct db_pruned {
	int64_t foreign, stale, slow, left;
};
/* Deletes these rows and counts them by reason, and the rows left. Errors: as db_put(). */
int db_prune(struct db_pruned *out, struct db *d, const struct db_prune *o, struct err *e);

#endif
