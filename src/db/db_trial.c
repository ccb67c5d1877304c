/* Rows: putting trials, reading them, the best of them. See db.h. */
#include "db/db_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const db_status_name[] = {
	[DB_OK] = "ok",           [DB_WRONG] = "wrong",     [DB_CRASHED] = "crashed",
	[DB_TIMEOUT] = "timeout", [DB_REFUSED] = "refused", [DB_STATUSES] = NULL,
};

enum { LONGEST = 1 << 16 };          /* of a text */
#define LATEST INT64_C(253402300799) /* the end of the year 9999 */

/* ---- Validity of rows. */

/* UTF-8 without control characters, so that every row can be printed and exported as it is. */
static bool is_text(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	if (!s || strnlen(s, LONGEST + 1) > LONGEST)
		return false;
	for (int more = 0; *p; p += 1 + more) {
		more = *p < 0x80                 ? 0
		       : *p >= 0xc2 && *p < 0xe0 ? 1
		       : (*p & 0xf0) == 0xe0     ? 2
		       : *p >= 0xf0 && *p < 0xf5 ? 3
		                                 : -1;
		if (*p < 0x20 || *p == 0x7f || more < 0 || (*p == 0xc2 && p[1] < 0xa0))
			return false;
		for (int i = 1; i <= more; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
		    (*p == 0xf4 && p[1] > 0x8f))
			return false;
	}
	return true;
}

static bool is_number(double x)
{
	return isfinite(x) && x >= 0;
}

bool db_valid(const struct db_trial *t, const char **why)
{
	*why = NULL;
	if (!t->key.program || strlen(t->key.program) != 32 || strspn(t->key.program, "0123456789abcdef") != 32)
		*why = "its program is not a hash of 32 hexadecimal digits";
	else if (!is_text(t->name) || !is_text(t->key.shape) || !is_text(t->key.arch) || !is_text(t->key.device) ||
	         !is_text(t->decisions) || !is_text(t->version))
		*why = "a text in it is missing, too long, or holds control characters";
	else if (!*t->key.arch || !*t->key.device || !*t->decisions)
		*why = "its architecture, device or decisions are empty";
	else if ((unsigned)t->status >= DB_STATUSES)
		*why = "its status is unknown";
	else if (!is_number(t->ns) || !is_number(t->spread) || !is_number(t->bytes) || !is_number(t->floor_ns))
		*why = "a number in it is negative or not finite";
	else if (t->when < 0 || t->when > LATEST)
		*why = "its time is before 1970 or after 9999";
	else if (t->status == DB_OK && t->ns == 0)
		*why = "it is ok and took no time";
	return !*why;
}

/* ---- Putting. */

static const char put_program[] = "INSERT OR IGNORE INTO program (hash, name) VALUES (?1, ?2)";
static const char put_device[] = "INSERT OR IGNORE INTO device (arch, name) VALUES (?1, ?2)";
/* Two files joined in either order give the same rows: of equally old trials one order decides. */
static const char join_program[] = "INSERT INTO program (hash, name) VALUES (?1, ?2)"
                                   " ON CONFLICT (hash) DO UPDATE SET name = min(name, excluded.name)";
#define PUT_TRIAL \
	"INSERT INTO trial (program, shape, device, decisions, status, ns, spread, bytes, floor_ns, version, at)" \
	" VALUES ((SELECT id FROM program WHERE hash = ?1), ?2, (SELECT id FROM device WHERE arch = ?3 AND name = " \
	"?4)," \
	" ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)" \
	" ON CONFLICT (program, shape, device, decisions) DO UPDATE SET status = excluded.status, ns = excluded.ns," \
	" spread = excluded.spread, bytes = excluded.bytes, floor_ns = excluded.floor_ns, version = excluded.version," \
	" at = excluded.at WHERE "
static const char put_trial[] = PUT_TRIAL "excluded.at >= at";
static const char join_trial[] =
        PUT_TRIAL "(excluded.at, excluded.status, excluded.ns, excluded.spread, excluded.bytes, excluded.floor_ns,"
                  " excluded.version) > (at, status, ns, spread, bytes, floor_ns, version)";

static void bind(sqlite3_stmt *s, int at, const char *text)
{
	sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static int put_one(struct db *d, sqlite3_stmt *const stmt[3], const struct db_trial *t, struct err *e)
{
	bind(stmt[0], 1, t->key.program);
	bind(stmt[0], 2, t->name);
	bind(stmt[1], 1, t->key.arch);
	bind(stmt[1], 2, t->key.device);
	bind(stmt[2], 1, t->key.program);
	bind(stmt[2], 2, t->key.shape);
	bind(stmt[2], 3, t->key.arch);
	bind(stmt[2], 4, t->key.device);
	bind(stmt[2], 5, t->decisions);
	bind(stmt[2], 6, db_status_name[t->status]);
	sqlite3_bind_double(stmt[2], 7, t->ns);
	sqlite3_bind_double(stmt[2], 8, t->spread);
	sqlite3_bind_double(stmt[2], 9, t->bytes);
	sqlite3_bind_double(stmt[2], 10, t->floor_ns);
	bind(stmt[2], 11, t->version);
	sqlite3_bind_int64(stmt[2], 12, t->when);
	for (int i = 0; i < 3; i++) {
		int rc = db_step(d, stmt[i], e);
		sqlite3_reset(stmt[i]);
		TRY(rc);
	}
	return 0;
}

int db_put_rows(struct db *d, const struct db_trial *t, int n, bool joined, struct err *e)
{
	const char *const sql[3] = { joined ? join_program : put_program, put_device, joined ? join_trial : put_trial };
	sqlite3_stmt *stmt[3] = { NULL };
	int rc = 0;
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = db_prepare(&stmt[i], d, sql[i], e);
	for (int i = 0; i < n && rc == 0; i++)
		rc = put_one(d, stmt, &t[i], e);
	for (int i = 0; i < 3; i++)
		sqlite3_finalize(stmt[i]);
	return rc;
}

int db_put(struct db *d, const struct db_trial *t, int n, struct err *e)
{
	const char *why;
	for (int i = 0; i < n; i++)
		if (!db_valid(&t[i], &why))
			return err_set(e, ERR_MODEL, "A trial cannot be put into %s: %s.", d->path, why);
	TRY(db_begin(d, e));
	return db_end(d, db_put_rows(d, t, n, false, e), e);
}

/* ---- Reading. */

static const char read_trials[] =
        "SELECT p.hash, t.shape, v.arch, v.name, p.name, t.decisions, t.status, t.ns, t.spread, t.bytes, t.floor_ns,"
        " t.version, t.at, t.id FROM trial t LEFT JOIN program p ON p.id = t.program LEFT JOIN device v ON v.id = "
        "t.device"
        " WHERE (?1 IS NULL OR p.hash = ?1) AND (?2 IS NULL OR t.shape = ?2) AND (?3 IS NULL OR v.arch = ?3)"
        " AND (?4 IS NULL OR v.name = ?4) ORDER BY p.hash, t.shape, v.arch, v.name, t.decisions";

const char *db_column_text(sqlite3_stmt *s, int column, struct arena *a)
{
	const char *text =
	        sqlite3_column_type(s, column) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, column) : NULL;
	return text && strlen(text) == (size_t)sqlite3_column_bytes(s, column) ? arena_strdup(a, text) : NULL;
}

static double number_of(sqlite3_stmt *s, int column)
{
	int type = sqlite3_column_type(s, column);
	return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(s, column) : -1;
}

static bool read_trial(struct db_trial *t, sqlite3_stmt *s, struct arena *a)
{
	const char *status = db_column_text(s, 6, a), *why;
	int number = 0;
	while (status && number < DB_STATUSES && strcmp(db_status_name[number], status) != 0)
		number++;
	*t = (struct db_trial){
		.key = { db_column_text(s, 0, a), db_column_text(s, 1, a), db_column_text(s, 2, a),
		         db_column_text(s, 3, a) },
		.name = db_column_text(s, 4, a),
		.decisions = db_column_text(s, 5, a),
		.status = status ? (enum db_status)number : DB_STATUSES,
		.ns = number_of(s, 7),
		.spread = number_of(s, 8),
		.bytes = number_of(s, 9),
		.floor_ns = number_of(s, 10),
		.version = db_column_text(s, 11, a),
		.when = sqlite3_column_type(s, 12) == SQLITE_INTEGER ? sqlite3_column_int64(s, 12) : -1,
	};
	return db_valid(t, &why);
}

int db_rows(struct db *d, const struct db_key *key, int (*fn)(void *user, int64_t id, const struct db_trial *t),
            void *user, struct arena *a, struct err *e)
{
	const char *const given[] = { key->program, key->shape, key->arch, key->device };
	struct db_trial t;
	sqlite3_stmt *s;
	int rc;
	TRY(db_prepare(&s, d, read_trials, e));
	for (int i = 0; i < 4; i++)
		if (given[i])
			bind(s, i + 1, given[i]);
	while ((rc = db_step(d, s, e)) == 1)
		if ((rc = fn(user, sqlite3_column_int64(s, 13), read_trial(&t, s, a) ? &t : NULL)) < 0)
			break;
	sqlite3_finalize(s);
	return rc;
}

struct each {
	struct db_trials *out;
	int64_t foreign;
	struct arena *arena;
};

static int add_row(void *user, int64_t id, const struct db_trial *t)
{
	struct each *x = user;
	(void)id;
	if (t)
		vec_push(x->arena, x->out, *t);
	else
		x->foreign++;
	return 0;
}

int db_each(struct db_trials *out, struct db *d, const struct db_key *key, int64_t *foreign, struct arena *a,
            struct err *e)
{
	struct each x = { out, 0, a };
	*out = (struct db_trials){ 0 };
	TRY(db_rows(d, key, add_row, &x, a, e));
	if (foreign)
		*foreign = x.foreign;
	return 0;
}

/* ---- The best. */

struct rank {
	struct db_found found;
	double far;
};

/* The distance of two shapes: the sum of |log(x / y)|; infinite if their ranks differ. */
static double distance(const char *x, const char *y)
{
	double sum = 0;
	for (;; x += strspn(x, "0123456789"), y += strspn(y, "0123456789")) {
		x += strcspn(x, "0123456789");
		y += strcspn(y, "0123456789");
		if (!*x || !*y)
			return *x || *y ? INFINITY : sum;
		sum += fabs(log(((double)strtoull(x, NULL, 10) + 1) / ((double)strtoull(y, NULL, 10) + 1)));
	}
}

/* Closest match, nearest extents, fastest; then by text, for a deterministic order. */
static int compare(const void *px, const void *py)
{
	const struct rank *x = px, *y = py;
	const struct db_trial *t = &x->found.trial, *u = &y->found.trial;
	if (x->found.match != y->found.match)
		return x->found.match < y->found.match ? -1 : 1;
	if (x->far != y->far)
		return x->far < y->far ? -1 : 1;
	if (t->ns != u->ns)
		return t->ns < u->ns ? -1 : 1;
	int by_text = strcmp(t->decisions, u->decisions);
	return by_text ? by_text : strcmp(t->key.device, u->key.device);
}

static struct rank rank_of(const struct db_trial *t, const struct db_key *key)
{
	struct rank r = { .found.trial = *t };
	if (key->shape && strcmp(t->key.shape, key->shape) != 0) {
		r.found.match = DB_NEIGHBOUR;
		r.far = distance(t->key.shape, key->shape);
	} else if (key->device && strcmp(t->key.device, key->device) != 0) {
		r.found.match = DB_OTHER_DEVICE;
	}
	return r;
}

int db_best(struct db_founds *out, struct db *d, const struct db_key *key, int most, struct arena *a, struct err *e)
{
	const struct db_key where = { .program = key->program, .arch = key->arch };
	struct db_trials all;
	int n = 0;
	*out = (struct db_founds){ 0 };
	ck(key->program && key->arch);
	TRY(db_each(&all, d, &where, NULL, a, e));
	struct rank *rank = NEWN(a, struct rank, all.n + 1);
	vec_each (t, &all)
		if (t->status == DB_OK)
			rank[n++] = rank_of(t, key);
	qsort(rank, (size_t)n, sizeof *rank, compare);
	for (int i = 0; i < n && out->n < most; i++) {
		bool again = false;
		vec_each (have, out)
			again |= strcmp(have->trial.decisions, rank[i].found.trial.decisions) == 0;
		if (!again)
			vec_push(a, out, rank[i].found);
	}
	return 0;
}
