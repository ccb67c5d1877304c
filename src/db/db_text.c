/* The text form of a database: one JSON object per line, sorted, so that files can be compared line by line. See
 * db.h. */
#include "db/db_inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"

enum { FORM = 1 };

/* ---- Out. */

static void put_text(struct str *out, const char *name, const char *text)
{
	str_printf(out, "\"%s\":\"", name);
	for (const char *p = text; *p; p++) { /* rows have no control characters */
		if (*p == '"' || *p == '\\')
			str_add(out, "\\");
		str_addn(out, p, 1);
	}
	str_add(out, "\",");
}

/* With the fewest digits that read back equal. */
static void put_number(struct str *out, const char *name, double x)
{
	char text[NUMBER_TEXT];
	for (int digits = 15; digits <= 17; digits++) {
		number_snprintf(text, sizeof text, "%.*g", digits, x);
		if (number_read(text, NULL) == x)
			break;
	}
	str_printf(out, "\"%s\":%s,", name, text);
}

/* "2026-01-31T12:00:00Z" */
static void time_text(char out[32], int64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;
	ck(gmtime_r(&t, &tm) && strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm)); /* up to the year 9999: db_valid */
}

static void put_trial(struct str *out, const struct db_trial *t)
{
	char when[32];
	time_text(when, t->when);
	str_add(out, "{");
	put_text(out, "program", t->key.program);
	put_text(out, "name", t->name);
	put_text(out, "shape", t->key.shape);
	put_text(out, "arch", t->key.arch);
	put_text(out, "device", t->key.device);
	put_text(out, "decisions", t->decisions);
	put_text(out, "status", db_status_name[t->status]);
	put_number(out, "ns", t->ns);
	put_number(out, "spread", t->spread);
	put_number(out, "bytes", t->bytes);
	put_number(out, "floor_ns", t->floor_ns);
	put_text(out, "tpat", t->version);
	str_printf(out, "\"when\":\"%s\"}\n", when);
}

int db_export(struct str *out, struct db *d, const struct db_key *key, int64_t *foreign, struct err *e)
{
	struct db_trials all;
	struct arena *scratch = arena_new();
	int rc = db_each(&all, d, key, foreign, scratch, e);
	if (rc == 0) {
		str_printf(out, "{\"tpat_db\":%d}\n", FORM);
		vec_each (t, &all)
			put_trial(out, t);
	}
	arena_free(scratch);
	return rc;
}

/* ---- In. */

enum { TEXTS = 9, NUMBERS = 4, MEMBERS = TEXTS + NUMBERS };
static const char *const member[MEMBERS] = { "program", "name", "shape", "arch",   "device", "decisions", "status",
	                                     "tpat",    "when", "ns",    "spread", "bytes",  "floor_ns" };

struct reader {
	const char *name;
	int line;
	sqlite3_stmt *json; /* SQLite's reader of JSON: the members of an object */
	struct arena *arena;
	struct err *err;
};

static int wrong(const struct reader *r, const char *why)
{
	err_set(r->err, ERR_MODEL, "%s: line %d: %s.", r->name, r->line, why);
	return err_advise(r->err, "It takes what tpat db export writes; nothing was imported.");
}

static bool read_time(int64_t *out, const char *text)
{
	struct tm tm = { 0 };
	char back[32];
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
	           &tm.tm_sec) != 6)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*out = timegm(&tm);
	if (*out < 0)
		return false;
	time_text(back, *out);
	return strcmp(back, text) == 0; /* a valid date, with nothing after it */
}

/* Reads the members of a line's object, each once, into value[]. */
static int read_members(struct reader *r, const char *const *names, int n, const char **value)
{
	int rc, found = 0;
	while ((rc = sqlite3_step(r->json)) == SQLITE_ROW) {
		const char *key = db_column_text(r->json, 0, r->arena), *type = db_column_text(r->json, 1, r->arena);
		int i = 0;
		while (key && i < n && strcmp(names[i], key) != 0)
			i++;
		if (!key || i == n || value[i])
			return wrong(r, key ? arena_printf(r->arena,
			                                   "there is no member \"%.40s\", or it is there twice", key)
			                    : "it is not a JSON object");
		bool is_text = strcmp(type, "text") == 0;
		bool is_number = strcmp(type, "integer") == 0 || strcmp(type, "real") == 0;
		/* Numbers as written in the JSON text. */
		value[i] = db_column_text(r->json, is_text ? 3 : 2, r->arena);
		if (!value[i] || (i < TEXTS && n > 1 ? !is_text : !is_number))
			return wrong(r, arena_printf(r->arena, "member \"%s\" has a value of another type", key));
		found++;
	}
	if (rc != SQLITE_DONE)
		return wrong(r, "it is not a JSON object");
	for (int i = 0; i < n && found < n; i++)
		if (!value[i])
			return wrong(r, arena_printf(r->arena, "member \"%s\" is missing", names[i]));
	return 0;
}

static int read_first(struct reader *r)
{
	static const char *const head[] = { "tpat_db" };
	const char *form = NULL;
	if (read_members(r, head, 1, &form) < 0 || strspn(form, "0123456789") != strlen(form)) {
		err_clear(r->err);
		return wrong(r, "it does not begin with {\"tpat_db\":1}");
	}
	return strcmp(form, "1") != 0 ? wrong(r, "it was written by a newer tpat") : 0;
}

static int read_trial(struct reader *r, struct db_trials *out)
{
	const char *v[MEMBERS] = { NULL }, *why;
	int status = 0;
	TRY(read_members(r, member, MEMBERS, v));
	while (status < DB_STATUSES && strcmp(db_status_name[status], v[6]) != 0)
		status++;
	struct db_trial t = {
		.key = { v[0], v[2], v[3], v[4] },
		.name = v[1],
		.decisions = v[5],
		.status = (enum db_status)status,
		.version = v[7],
		.ns = number_read(v[9], NULL),
		.spread = number_read(v[10], NULL),
		.bytes = number_read(v[11], NULL),
		.floor_ns = number_read(v[12], NULL),
	};
	if (!read_time(&t.when, v[8]))
		return wrong(r, "\"when\" is not a time like 2026-01-31T12:00:00Z");
	if (!db_valid(&t, &why))
		return wrong(r, why);
	vec_push(r->arena, out, t);
	return 0;
}

static int read_line(struct reader *r, const char *text, size_t n, struct db_trials *out)
{
	if (n > INT_MAX)
		return wrong(r, "it is too long");
	sqlite3_bind_text(r->json, 1, text, (int)n, SQLITE_STATIC);
	int rc = r->line == 1 ? read_first(r) : read_trial(r, out);
	sqlite3_reset(r->json);
	return rc;
}

static int read_text(struct reader *r, const char *text, size_t n, struct db_trials *out)
{
	for (const char *p = text, *end = text + n; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		r->line++;
		TRY(read_line(r, p, (size_t)(stop - p), out));
		p = stop + 1;
	}
	r->line = 1;
	return n ? 0 : wrong(r, "the file is empty");
}

/* ---- Trials from elsewhere. */

static int put_counted(struct db_added *out, struct db *d, const struct db_trials *t, struct err *e)
{
	int64_t before, after;
	TRY(db_number(d, "SELECT count(*) FROM trial", &before, e));
	TRY(db_put_rows(d, t->at, t->n, true, e));
	TRY(db_number(d, "SELECT count(*) FROM trial", &after, e));
	out->read = t->n;
	out->added = after - before;
	return 0;
}

static int put_all(struct db_added *out, struct db *d, const struct db_trials *t, struct err *e)
{
	TRY(db_begin(d, e));
	return db_end(d, put_counted(out, d, t, e), e);
}

int db_import(struct db_added *out, struct db *d, const char *text, size_t n, const char *name, struct err *e)
{
	struct arena *scratch = arena_new();
	struct reader r = { .name = name, .arena = scratch, .err = e };
	struct db_trials t = { 0 };
	*out = (struct db_added){ 0 };
	int rc = db_prepare(&r.json, d, "SELECT key, type, ?1 -> fullkey, atom FROM json_each(?1)", e);
	if (rc == 0)
		rc = read_text(&r, text, n, &t);
	sqlite3_finalize(r.json);
	if (rc == 0)
		rc = put_all(out, d, &t, e);
	arena_free(scratch);
	return rc;
}

int db_merge(struct db_added *out, struct db *d, struct db *from, struct err *e)
{
	struct arena *scratch = arena_new();
	struct db_trials t;
	*out = (struct db_added){ 0 };
	int rc = db_each(&t, from, &(struct db_key){ 0 }, &out->foreign, scratch, e);
	if (rc == 0)
		rc = put_all(out, d, &t, e);
	arena_free(scratch);
	return rc;
}
