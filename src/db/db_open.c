/* Opening: the schema and its migrations, transactions, and messages for SQLite's failures. See db.h. */
#include "db/db_inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum {
	APPLICATION = 0x74706174, /* "tpat", in the file's header */
	WAIT_MS = 30000,          /* for another writing process */
};

/* migration[i] makes version i + 1 of version i. Never changed once released; append a new one instead. */
static const char *const migration[] = {
	"CREATE TABLE program (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL);"
	"CREATE TABLE device (id INTEGER PRIMARY KEY, arch TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (arch, name));"
	"CREATE TABLE trial (id INTEGER PRIMARY KEY,"
	" program INTEGER NOT NULL REFERENCES program, shape TEXT NOT NULL, device INTEGER NOT NULL REFERENCES device,"
	" decisions TEXT NOT NULL, status TEXT NOT NULL, ns REAL NOT NULL, spread REAL NOT NULL, bytes REAL NOT NULL,"
	" floor_ns REAL NOT NULL, version TEXT NOT NULL, at INTEGER NOT NULL,"
	" UNIQUE (program, shape, device, decisions));",
};
enum { SCHEMA = sizeof migration / sizeof *migration };

const char *db_default_path(struct arena *a)
{
	const char *file = getenv("TPAT_DB"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (file && *file)
		return arena_strdup(a, file);
	if (cache && *cache == '/') /* ignore a relative path: XDG Base Directory Specification */
		return path_join(a, cache, "tpat/tpat.db");
	return home && *home ? path_join(a, home, ".cache/tpat/tpat.db") : NULL;
}

/* ---- SQLite's failures. */

/* Fills `e` from SQLite's last error: the file, what went wrong, what to do. Returns e->code. */
static int failed(struct db *d, struct err *e)
{
	int code = sqlite3_extended_errcode(d->handle);
	const char *said = sqlite3_errmsg(d->handle);
	switch (code & 0xff) {
	case SQLITE_NOTADB:
		err_set(e, ERR_MODEL, "%s is not a tuning database.", d->path);
		return err_advise(e, "Name another file with --db, or move this one away.");
	case SQLITE_CORRUPT:
	case SQLITE_ERROR: /* a table or column is missing */
	case SQLITE_FORMAT:
		err_set(e, ERR_MODEL, "The tuning database %s is damaged (%s).", d->path, said);
		return err_advise(e, "Move it away and import an export of it (tpat db import), or tune again.");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		err_set(e, ERR_USAGE, "Another process has been writing to %s for %d seconds.", d->path,
		        WAIT_MS / 1000);
		return err_advise(e, "Wait for it, or name another file with --db; tpat db merge joins the two later.");
	case SQLITE_FULL:
		err_set(e, ERR_USAGE, "The disk is full: nothing was added to %s.", d->path);
		return err_advise(e, "Make room, or name a file on another disk with --db.");
	case SQLITE_IOERR:
		err_set(e, ERR_USAGE, "%s cannot be read or written (%s, %s).", d->path, said,
		        strerror(sqlite3_system_errno(d->handle)));
		return err_advise(e,
		                  "Check whether the disk is full or a network disk is gone; the file's contents are "
		                  "intact.");
	case SQLITE_READONLY:
		err_set(e, ERR_USAGE, "The tuning database %s cannot be written.", d->path);
		return err_advise(e, "Make it and its folder writable, or name another file with --db.");
	case SQLITE_CANTOPEN:
		err_set(e, ERR_USAGE, "The tuning database %s cannot be opened.", d->path);
		return err_advise(e, "Check that you may read the file and write its folder.");
	case SQLITE_NOMEM: return err_set(e, ERR_DEVICE, "Out of memory.");
	default: return err_set(e, ERR_USAGE, "The tuning database %s cannot be used (%s).", d->path, said);
	}
}

int db_exec(struct db *d, const char *sql, struct err *e)
{
	return sqlite3_exec(d->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(d, e);
}

int db_prepare(sqlite3_stmt **out, struct db *d, const char *sql, struct err *e)
{
	return sqlite3_prepare_v2(d->handle, sql, -1, out, NULL) == SQLITE_OK ? 0 : failed(d, e);
}

int db_step(struct db *d, sqlite3_stmt *s, struct err *e)
{
	int rc = sqlite3_step(s);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : failed(d, e);
}

int db_number(struct db *d, const char *sql, int64_t *out, struct err *e)
{
	sqlite3_stmt *s;
	TRY(db_prepare(&s, d, sql, e));
	int rc = db_step(d, s, e);
	*out = rc == 1 ? sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int db_begin(struct db *d, struct err *e)
{
	return db_exec(d, "BEGIN IMMEDIATE", e);
}

int db_end(struct db *d, int rc, struct err *e)
{
	if (rc == 0)
		rc = db_exec(d, "COMMIT", e);
	if (rc < 0 && !sqlite3_get_autocommit(d->handle)) /* SQLite has undone some failures itself */
		sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* ---- The schema. */

struct head {
	int64_t application, version, pages;
};

static int read_head(struct db *d, struct head *h, struct err *e)
{
	TRY(db_number(d, "PRAGMA application_id", &h->application, e));
	TRY(db_number(d, "PRAGMA user_version", &h->version, e));
	return db_number(d, "PRAGMA page_count", &h->pages, e);
}

static int check_head(const struct db *d, const struct head *h, struct err *e)
{
	if (h->application != APPLICATION || h->version < 1) {
		err_set(e, ERR_MODEL, "%s is not a tuning database.", d->path);
		return err_advise(e, "Name another file with --db, or move this one away.");
	}
	if (h->version > SCHEMA) {
		err_set(e, ERR_MODEL,
		        "The tuning database %s was written by a newer tpat (schema %lld; this one knows %d).", d->path,
		        (long long)h->version, (int)SCHEMA);
		return err_advise(e, "Use that tpat, or its tpat db export; or name another file with --db.");
	}
	return 0;
}

/* Inside a transaction: another process may have made the schema meanwhile. */
static int migrate(struct db *d, struct err *e)
{
	struct head h;
	TRY(read_head(d, &h, e));
	if (h.application || h.version)
		TRY(check_head(d, &h, e));
	for (int64_t v = h.version; v < SCHEMA; v++)
		TRY(db_exec(d, migration[v], e));
	char sql[80];
	sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION,
	                 (int)SCHEMA);
	return db_exec(d, sql, e);
}

/* One transaction: another process may create the schema between two reads. */
static int read_whole_head(struct db *d, struct head *h, struct err *e)
{
	TRY(db_exec(d, "BEGIN", e));
	return db_end(d, read_head(d, h, e), e);
}

static int prepare_schema(struct db *d, enum db_mode mode, struct err *e)
{
	struct head h;
	TRY(read_whole_head(d, &h, e));
	bool empty = h.pages == 0;
	if (!empty || mode == DB_READ)
		TRY(check_head(d, &h, e));
	if (h.version == SCHEMA)
		return 0;
	if (mode == DB_READ) {
		err_set(e, ERR_USAGE, "The tuning database %s was written by an older tpat.", d->path);
		return err_advise(e, "Merge it into a database of this version with tpat db merge FILE.");
	}
	TRY(db_begin(d, e));
	return db_end(d, migrate(d, e), e);
}

/* ---- Opening. */

/* Endings of the database file and of its companions. */
static const char *const suffixes[] = { "", "-journal", "-wal", "-shm" };
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes };

void db_remove(const char *path, struct arena *a)
{
	for (size_t i = 0; i < SUFFIXES; i++)
		unlink(arena_printf(a, "%s%s", path, suffixes[i]));
}

/* Refuses pipes at these paths: SQLite would block on them. */
static int check_places(const char *place, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < SUFFIXES; i++) {
		const char *path = arena_printf(a, "%s%s", place, suffixes[i]);
		if (!file_is_special(path))
			continue;
		err_set(e, ERR_USAGE, "%s: is not a regular file.", path);
		return err_advise(e, "Name another tuning database with --db, or move this away.");
	}
	return 0;
}

static int open_file(struct db *d, enum db_mode mode, struct err *e)
{
	struct arena *a = d->arena;
	const char *place = file_absolute(a, d->path); /* avoids SQLite's special names, like ":memory:" */
	/* Opening rolls back what a killed process left half-written, so the file must be writable. */
	bool half = file_exists(arena_printf(a, "%s-journal", place));
	int flags = mode == DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
	            : half           ? SQLITE_OPEN_READWRITE
	                             : SQLITE_OPEN_READONLY;
	if (file_is_folder(place))
		return err_set(e, ERR_USAGE, "The tuning database %s is a folder.", d->path);
	TRY(check_places(place, a, e));
	if (mode == DB_READ && !file_exists(place)) {
		err_set(e, ERR_USAGE, "There is no tuning database %s.", d->path);
		return err_advise(e, "tpat tune makes one, tpat db import fills one; --db FILE names another.");
	}
	if (mode == DB_WRITE && file_mkdir(path_dir(a, place), e) < 0) {
		e->advice[0] = '\0';
		return err_advise(e, "Name another tuning database: --db FILE, or TPAT_DB.");
	}
	if (sqlite3_open_v2(place, &d->handle, flags, NULL) != SQLITE_OK)
		return failed(d, e);
	sqlite3_busy_timeout(d->handle, WAIT_MS);
	/* A foreign file may contain arbitrary views and triggers. */
	sqlite3_db_config(d->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(d->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(d->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(d->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	TRY(prepare_schema(d, mode, e));
	if (mode == DB_WRITE && sqlite3_db_readonly(d->handle, "main") == 1) { /* SQLite fell back to read-only */
		err_set(e, ERR_USAGE, "The tuning database %s cannot be written.", d->path);
		return err_advise(e, "Make it and its folder writable, or name another file with --db.");
	}
	return 0;
}

int db_open(struct db **out, const char *path, enum db_mode mode, struct err *e)
{
	struct arena *a = arena_new();
	struct db *d = NEW(a, struct db);
	d->arena = a;
	d->path = arena_strdup(a, path);
	int rc = open_file(d, mode, e);
	if (rc < 0) {
		db_close(d);
		d = NULL;
	}
	*out = d;
	return rc;
}

void db_close(struct db *d)
{
	sqlite3_stmt *s;
	if (!d)
		return;
	while (d->handle && (s = sqlite3_next_stmt(d->handle, NULL))) /* left by a call that ran out of memory */
		sqlite3_finalize(s);
	sqlite3_close(d->handle);
	arena_free(d->arena);
}
