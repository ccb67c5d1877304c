/* Inside src/db/: the open database, and how SQLite's failures become sentences. */
#ifndef TPAT_DB_DB_INSIDE_H
#define TPAT_DB_DB_INSIDE_H

#include <sqlite3.h>

#include "db/db.h"

struct db {
	struct arena *arena; /* holds this struct */
	const char *path;    /* as the user named it */
	sqlite3 *handle;
};

/* Fills `e` from what SQLite said last: the file, what went wrong, what to do. Returns e->code. */
int db_failed(struct db *d, struct err *e);

int db_exec(struct db *d, const char *sql, struct err *e);
int db_prepare(sqlite3_stmt **out, struct db *d, const char *sql, struct err *e);
/* One more row: 1; the end: 0; a failure: negative. */
int db_step(struct db *d, sqlite3_stmt *s, struct err *e);
/* A text as it stands in a row; null where there is another type, or a NUL inside. */
const char *db_column_text(sqlite3_stmt *s, int column, struct arena *a);
/* A transaction that writes; db_end commits when rc is 0, else takes all back, and returns the failure that came
 * first. */
int db_begin(struct db *d, struct err *e);
int db_end(struct db *d, int rc, struct err *e);

/* Calls fn for each row of a key (null members: any) in db_each's order; t is null where the row holds what no trial
 * can be. Its texts are in `a`. A negative result of fn ends it. */
int db_rows(struct db *d, const struct db_key *key, int (*fn)(void *user, int64_t id, const struct db_trial *t),
            void *user, struct arena *a, struct err *e);
/* Inside a transaction: n trials that db_valid has seen. */
int db_put_rows(struct db *d, const struct db_trial *t, int n, struct err *e);
/* The number that a query gives. */
int db_number(struct db *d, const char *sql, int64_t *out, struct err *e);

/* Whether a trial may be a row; when not, *why says so. */
bool db_valid(const struct db_trial *t, const char **why);

#endif
