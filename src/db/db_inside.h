/* Inside src/db/: the open database, and error messages for SQLite's failures. */
#ifndef TPAT_DB_DB_INSIDE_H
#define TPAT_DB_DB_INSIDE_H

#include <sqlite3.h>

#include "db/db.h"

struct db {
	struct arena *arena; /* holds this struct */
	const char *path;    /* as the user named it */
	sqlite3 *handle;
};

int db_exec(struct db *d, const char *sql, struct err *e);
int db_prepare(sqlite3_stmt **out, struct db *d, const char *sql, struct err *e);
/* Steps the statement. 1: a row; 0: the end; negative: failure. */
int db_step(struct db *d, sqlite3_stmt *s, struct err *e);
/* A row's text column; null if it has another type or contains a NUL. */
const char *db_column_text(sqlite3_stmt *s, int column, struct arena *a);
/* A write transaction; db_end commits if rc is 0, else rolls back. Returns the first failure. */
int db_begin(struct db *d, struct err *e);
int db_end(struct db *d, int rc, struct err *e);

/* Calls fn for each row of a key (null members: any) in db_each's order; t is null for an invalid row. Texts are in
 * `a`. A negative result of fn ends the loop. */
int db_rows(struct db *d, const struct db_key *key, int (*fn)(void *user, int64_t id, const struct db_trial *t),
            void *user, struct arena *a, struct err *e);
/* Inside a transaction: adds n trials that db_valid accepted. `joined`: of two trials equally old, the same one stays
 * whichever came first; else the given one. */
int db_put_rows(struct db *d, const struct db_trial *t, int n, bool joined, struct err *e);
/* Runs a query that returns one number. */
int db_number(struct db *d, const char *sql, int64_t *out, struct err *e);

/* True if a trial is valid; else *why tells the reason. */
bool db_valid(const struct db_trial *t, const char **why);

#endif
