/* The tuning database: stored trials are found again, in the right order, whatever happens to the file or its
 * writers. */
#include "db/db.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define HASH2 "fedcba9876543210fedcba9876543210"

static struct arena *arena;
static const char *folder;

static struct db_trial trial(const char *decisions, double ns, int64_t when)
{
	return (struct db_trial){
		.key = { HASH, "8,768", "sm_90", "GPU one" },
		.name = "softmax(x: f16[N,768])",
		.decisions = decisions,
		.status = DB_OK,
		.ns = ns,
		.spread = 0.125,
		.bytes = 24576,
		.floor_ns = 8.1,
		.version = "0.1.0",
		.when = when,
	};
}

static const char *path_of(const char *name)
{
	return path_join(arena, folder, name);
}

static struct db *open_db(const char *path, enum db_mode mode)
{
	struct db *d;
	struct err e = { 0 };
	if (!test_check(db_open(&d, path, mode, &e) == 0, __FILE__, __LINE__, "the database opens"))
		printf("  %s\n", e.text);
	return d;
}

static int put(struct db *d, struct db_trial t)
{
	struct err e = { 0 };
	int rc = db_put(d, &t, 1, &e);
	if (rc < 0)
		printf("  %s\n", e.text);
	return rc;
}

static struct db_trials all(struct db *d, struct db_key key)
{
	struct db_trials t = { 0 };
	struct err e = { 0 };
	int64_t foreign = -1;
	CHECK_INT(db_each(&t, d, &key, &foreign, arena, &e), 0);
	CHECK_INT(foreign, 0);
	return t;
}

static struct db_founds best(struct db *d, struct db_key key, int most)
{
	struct db_founds f = { 0 };
	struct err e = { 0 };
	CHECK_INT(db_best(&f, d, &key, most, arena, &e), 0);
	return f;
}

/* Returns the first column of a query's first row, from SQLite itself. */
static const char *query(const char *path, const char *sql)
{
	sqlite3 *h;
	sqlite3_stmt *s = NULL;
	const char *text = "failed";
	if (sqlite3_open(path, &h) == SQLITE_OK && sqlite3_prepare_v2(h, sql, -1, &s, NULL) == SQLITE_OK) {
		int rc = sqlite3_step(s);
		const char *value = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : "";
		text = rc == SQLITE_ROW || rc == SQLITE_DONE ? arena_strdup(arena, value) : text;
	}
	sqlite3_finalize(s);
	sqlite3_close(h);
	return text;
}

static void check_whole(const char *path)
{
	CHECK_STR(query(path, "PRAGMA integrity_check"), "ok");
}

/* ---- Storing and finding. */

static void test_put(void)
{
	const char *path = path_of("new/folder/put.db");
	struct db *d = open_db(path, DB_WRITE);
	struct db_trial t = trial("0 rows@1 256,8,3", 1234.1, 1000), wrong = trial("0 map@1 4", 0, 1001);
	wrong.status = DB_WRONG;
	CHECK_INT(put(d, t), 0);
	CHECK_INT(put(d, wrong), 0);
	db_close(d);
	d = open_db(path, DB_READ);
	struct db_trials got = all(d, (struct db_key){ HASH, "8,768", "sm_90", "GPU one" });
	CHECK_INT(got.n, 2);
	CHECK_STR(got.at[0].decisions, "0 map@1 4"); /* in the order of the texts */
	CHECK_INT(got.at[0].status, DB_WRONG);
	const struct db_trial *x = &got.at[1];
	CHECK_STR(x->key.program, HASH);
	CHECK_STR(x->key.shape, "8,768");
	CHECK_STR(x->key.arch, "sm_90");
	CHECK_STR(x->key.device, "GPU one");
	CHECK_STR(x->name, t.name);
	CHECK_STR(x->decisions, t.decisions);
	CHECK_STR(x->version, "0.1.0");
	CHECK(x->status == DB_OK && x->ns == 1234.1 && x->spread == 0.125 && x->bytes == 24576 && x->floor_ns == 8.1);
	CHECK_INT(x->when, 1000);
	CHECK_INT(all(d, (struct db_key){ .program = HASH2 }).n, 0);
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 2);
	struct err e = { 0 };
	CHECK(db_put(d, &t, 1, &e) == ERR_USAGE && strstr(e.text, path) && *e.advice); /* opened for reading */
	db_close(d);
	check_whole(path);
}

static void test_again(void)
{
	struct db *d = open_db(path_of("again.db"), DB_WRITE);
	CHECK_INT(put(d, trial("0 map@1 4", 100, 1000)), 0);
	CHECK_INT(put(d, trial("0 map@1 4", 120, 2000)), 0); /* the later measurement counts */
	CHECK_INT(put(d, trial("0 map@1 4", 90, 1500)), 0);  /* the earlier one does not */
	struct db_trials got = all(d, (struct db_key){ 0 });
	CHECK(got.n == 1 && got.at[0].ns == 120 && got.at[0].when == 2000);
	db_close(d);
}

static void test_invalid(void)
{
	struct db *d = open_db(path_of("invalid.db"), DB_WRITE);
	struct db_trial good = trial("0 map@1 4", 100, 1), t[9];
	for (int i = 0; i < 9; i++)
		t[i] = good;
	t[0].key.program = "0123";
	t[1].key.device = "a\033[2Jb";
	t[2].decisions = "";
	t[3].ns = -1;
	t[4].ns = 0;
	t[5].name = NULL;
	t[6].status = (enum db_status)77;
	t[7].name = "\xc3(";
	t[8].key.shape = "8\n768";
	for (int i = 0; i < 9; i++) {
		struct db_trial both[] = { good, t[i] };
		struct err e = { 0 };
		CHECK(db_put(d, both, 2, &e) == ERR_MODEL && strstr(e.text, "invalid.db"));
	}
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 0); /* all or none */
	db_close(d);
}

static void test_best(void)
{
	const struct db_key key = { HASH, "8,768", "sm_90", "GPU one" };
	struct db *d = open_db(path_of("best.db"), DB_WRITE);
	struct db_trial t[] = { trial("slow", 300, 1), trial("fast", 100, 1), trial("wrong", 10, 1),
		                trial("other", 50, 1), trial("fast", 60, 1),  trial("near", 40, 1),
		                trial("far", 5, 1),    trial("sm_80", 1, 1),  trial("program", 1, 1),
		                trial("rank", 1, 1) };
	t[2].status = DB_WRONG;
	t[3].key.device = t[4].key.device = "GPU two";
	t[5].key.shape = "16,768";
	t[6].key.shape = "4096,768";
	t[7].key.arch = "sm_80";
	t[8].key.program = HASH2;
	t[9].key.shape = "8,768,3";
	struct err e = { 0 };
	CHECK_INT(db_put(d, t, 10, &e), 0);
	struct db_founds f = best(d, key, 10);
	static const char *const want[] = { "fast", "slow", "other", "near", "far", "rank" };
	static const enum db_match match[] = { DB_EXACT,     DB_EXACT,     DB_OTHER_DEVICE,
		                               DB_NEIGHBOUR, DB_NEIGHBOUR, DB_NEIGHBOUR };
	CHECK_INT(f.n, 6);
	for (int i = 0; i < f.n && i < 6; i++) {
		CHECK_STR(f.at[i].trial.decisions, want[i]);
		CHECK_INT(f.at[i].match, match[i]);
	}
	CHECK_INT(f.at[0].trial.ns, 100); /* this device's own */
	CHECK_INT(best(d, key, 2).n, 2);
	f = best(d, (struct db_key){ HASH, "8,768", "sm_90", NULL }, 1);
	CHECK(f.n == 1 && f.at[0].match == DB_EXACT && f.at[0].trial.ns == 50);
	f = best(d, (struct db_key){ HASH, "2048,768", "sm_90", NULL }, 1);
	CHECK(f.n == 1 && f.at[0].match == DB_NEIGHBOUR);
	CHECK_STR(f.at[0].trial.decisions, "far");
	CHECK_INT(best(d, (struct db_key){ HASH, "", "sm_75", NULL }, 5).n, 0);
	db_close(d);
}

/* ---- Files that are not databases. */

static void check_refused(const char *path, enum db_mode mode, int code, const char *says)
{
	struct db *d;
	struct err e = { 0 };
	int rc = db_open(&d, path, mode, &e);
	if (!test_check(rc == code && !d && strstr(e.text, path) && strstr(e.text, says) && *e.advice, __FILE__,
	                __LINE__, says))
		printf("  %d %s %s\n", rc, e.text, e.advice);
	db_close(d);
}

static void write_file(const char *path, const void *data, size_t n)
{
	struct err e = { 0 };
	CHECK_INT(file_write(path, data, n, &e), 0);
}

static bool same_bytes(const char *path, const char *data, size_t n)
{
	char *now;
	size_t size;
	struct err e = { 0 };
	return file_read(&now, &size, path, arena, &e) == 0 && size == n && memcmp(now, data, n) == 0;
}

static void test_files(void)
{
	char text[8192];
	memset(text, 'x', sizeof text);
	const char *none = path_of("none.db"), *other = path_of("other.db"), *newer = path_of("newer.db"),
	           *empty = path_of("empty.db");
	write_file(none, text, sizeof text);
	for (int mode = DB_READ; mode <= DB_WRITE; mode++)
		check_refused(none, (enum db_mode)mode, ERR_MODEL, "is not a tuning database");
	CHECK(same_bytes(none, text, sizeof text));
	query(other, "CREATE TABLE notes (text)");
	check_refused(other, DB_WRITE, ERR_MODEL, "is not a tuning database");
	CHECK_STR(query(other, "SELECT count(*) FROM sqlite_schema"), "1");
	db_close(open_db(newer, DB_WRITE));
	query(newer, "PRAGMA user_version = 999");
	check_refused(newer, DB_WRITE, ERR_MODEL, "newer tpat (schema 999");
	check_refused(newer, DB_READ, ERR_MODEL, "newer tpat (schema 999");
	check_refused(path_of("missing.db"), DB_READ, ERR_USAGE, "There is no tuning database");
	CHECK(!file_exists(path_of("missing.db")));
	write_file(empty, "", 0); /* as mktemp makes it */
	check_refused(empty, DB_READ, ERR_MODEL, "is not a tuning database");
	struct db *d = open_db(empty, DB_WRITE);
	CHECK_INT(put(d, trial("0 map@1 4", 100, 1)), 0);
	db_close(d);
}

static void test_unwritable(void)
{
	struct err e = { 0 };
	struct db *d;
	const char *path = path_of("locked/in.db");
	CHECK(db_open(&d, path_of("none.db/in.db"), DB_WRITE, &e) < 0 && !d && *e.text);
	db_close(open_db(path, DB_WRITE));
	if (geteuid() == 0)
		return; /* every file is writable for root */
	chmod(path, 0400);
	check_refused(path, DB_WRITE, ERR_USAGE, "cannot be written");
	db_close(open_db(path, DB_READ));
	chmod(path, 0600);
}

/* Bytes overwritten anywhere: opening or reading fails with a sentence, or gives only intact rows. */
static void test_damaged(void)
{
	const char *path = path_of("whole.db"), *hurt = path_of("hurt.db");
	struct db *d = open_db(path, DB_WRITE);
	struct db_trial t[300];
	char *data;
	size_t size;
	struct err e = { 0 };
	int failed = 0;
	for (int i = 0; i < 300; i++)
		t[i] = trial(arena_printf(arena, "0 map@1 %d", i), 100 + i, i);
	CHECK_INT(db_put(d, t, 300, &e), 0);
	db_close(d);
	CHECK_INT(file_read(&data, &size, path, arena, &e), 0);
	CHECK(size > 8 * 4096);
	for (size_t page = 0; page < size; page += 4096) {
		struct arena_mark mark = arena_mark(arena);
		char *copy = arena_alloc(arena, size);
		memcpy(copy, data, size);
		memset(copy + page + 100, 0xa5, 300);
		write_file(hurt, copy, size);
		struct db_trials got = { 0 };
		err_clear(&e);
		int rc = db_open(&d, hurt, DB_READ, &e);
		if (rc == 0)
			rc = db_each(&got, d, &(struct db_key){ 0 }, NULL, arena, &e);
		db_close(d);
		failed += rc < 0;
		CHECK(rc == 0 || (strstr(e.text, hurt) && *e.advice));
		CHECK(got.n <= 300);
		arena_release(arena, mark);
	}
	CHECK(failed > 0);
	write_file(hurt, data, size / 2);
	err_clear(&e);
	struct db_trials got = { 0 };
	int rc = db_open(&d, hurt, DB_READ, &e);
	CHECK(rc < 0 || db_each(&got, d, &(struct db_key){ 0 }, NULL, arena, &e) < 0);
	CHECK(strstr(e.text, "is damaged") || strstr(e.text, "is not"));
	db_close(d);
}

/* Rows from another program are skipped and counted. */
static void test_foreign(void)
{
	const char *path = path_of("foreign.db");
	struct db *d = open_db(path, DB_WRITE);
	struct db_trials got;
	struct err e = { 0 };
	int64_t foreign;
	for (int i = 0; i < 6; i++)
		CHECK_INT(put(d, trial(arena_printf(arena, "0 map@1 %d", i), 100, 1)), 0);
	db_close(d);
	query(path, "UPDATE trial SET ns = 'fast' WHERE id = 1");
	query(path, "UPDATE trial SET status = 'splendid' WHERE id = 2");
	query(path, "UPDATE trial SET decisions = x'00ff' WHERE id = 3");
	query(path, "UPDATE trial SET program = 77 WHERE id = 4");
	query(path, "UPDATE trial SET version = 'a' || char(27) WHERE id = 5");
	d = open_db(path, DB_READ);
	CHECK_INT(db_each(&got, d, &(struct db_key){ 0 }, &foreign, arena, &e), 0);
	CHECK_INT(got.n, 1);
	CHECK_INT(foreign, 5);
	CHECK_INT(best(d, (struct db_key){ HASH, NULL, "sm_90", NULL }, 9).n, 1);
	db_close(d);
}

/* ---- Text, other databases, pruning. */

static const char *text_of(struct db *d)
{
	struct str s = str_new(arena);
	struct err e = { 0 };
	CHECK_INT(db_export(&s, d, &(struct db_key){ 0 }, NULL, &e), 0);
	return str_text(&s);
}

static int import(struct db *d, const char *text, struct db_added *added, struct err *e)
{
	err_clear(e);
	return db_import(added, d, text, strlen(text), "tuned.jsonl", e);
}

static struct db *fill(const char *path, int seed, int n)
{
	struct db *d = open_db(path, DB_WRITE);
	struct db_trial *t = NEWN(arena, struct db_trial, n);
	struct err e = { 0 };
	for (int i = 0; i < n; i++) {
		t[i] = trial(arena_printf(arena, "0 map@1 %d", (i * 7 + seed) % n), 1000.0 / (i + 3), seed + i);
		t[i].key.shape = i % 2 ? "" : "8,768";
		t[i].key.device = i % 3 ? "GPU \"one\" \\ \xc3\xa9" : "GPU two";
		t[i].spread = 1e-7 * i;
		t[i].bytes = 1e15 * i + 1;
		t[i].status = i % 4 ? DB_OK : (enum db_status)(i / 4 % DB_STATUSES);
		t[i].ns = t[i].status == DB_OK ? t[i].ns : 0;
	}
	CHECK_INT(db_put(d, t, n, &e), 0);
	return d;
}

static void test_text(void)
{
	struct db *d = fill(path_of("text.db"), 3, 40), *back = open_db(path_of("back.db"), DB_WRITE);
	const char *text = text_of(d);
	struct db_added added;
	struct err e = { 0 };
	CHECK(str_starts(text, "{\"tpat_db\":1}\n{\"program\":\"" HASH "\",\"name\":\"softmax(x: f16[N,768])\","
	                       "\"shape\":\"\",\"arch\":\"sm_90\","));
	CHECK_INT(import(back, text, &added, &e), 0);
	CHECK(added.read == 40 && added.added == 40);
	CHECK_STR(text_of(back), text); /* every number the same */
	CHECK_INT(import(back, text, &added, &e), 0);
	CHECK(added.read == 40 && added.added == 0);
	CHECK_STR(text_of(back), text);
	CHECK_INT(import(back, "{\"tpat_db\":1}", &added, &e), 0);
	CHECK_INT(added.read, 0);
	db_close(d);
	db_close(back);
}

#define LINE(member) \
	"{\"tpat_db\":1}\n{\"program\":\"" HASH \
	"\",\"name\":\"p\",\"shape\":\"\",\"arch\":\"sm_90\",\"device\":\"GPU\"," member "}"
#define REST "\"status\":\"ok\",\"ns\":1,\"spread\":0,\"bytes\":4,\"floor_ns\":0,\"tpat\":\"1\","

static void test_bad_text(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "line 1: the file is empty" },
		{ "tpat", "line 1: " },
		{ "{\"tpat_db\":2}", "line 1: it was written by a newer tpat" },
		{ "{\"other\":1}", "line 1: it does not begin" },
		{ "{\"tpat_db\":1}\n{}", "line 2: " },
		{ "{\"tpat_db\":1}\n\n", "line 2: " },
		{ LINE(REST "\"when\":\"2026-01-31T12:00:00Z\""), "decisions" },
		{ LINE("\"decisions\":\"0 map@1 4\"," REST "\"when\":\"2026-02-30T12:00:00Z\""), "not a time" },
		{ LINE("\"decisions\":\"0 map@1 4\"," REST "\"when\":7"), "line 2: " },
		{ LINE("\"decisions\":\"0 map@1 4\"," REST "\"when\":\"2026-01-31T12:00:00Z\",\"more\":1"), "more" },
		{ LINE("\"decisions\":\"0 \\u001b map\"," REST "\"when\":\"2026-01-31T12:00:00Z\""),
		  "control characters" },
		{ LINE("\"decisions\":\"x\",\"decisions\":\"y\"," REST "\"when\":\"2026-01-31T12:00:00Z\""), "twice" },
		{ LINE("\"decisions\":\"\"," REST "\"when\":\"2026-01-31T12:00:00Z\""), "empty" },
	};
	const char *good = LINE("\"decisions\":\"0 map@1 4\"," REST "\"when\":\"2026-01-31T12:00:00Z\"");
	struct db *d = open_db(path_of("bad.db"), DB_WRITE);
	struct db_added added;
	struct err e = { 0 };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!test_check(import(d, bad[i].text, &added, &e) == ERR_MODEL &&
		                        str_starts(e.text, "tuned.jsonl: line ") && strstr(e.text, bad[i].says),
		                __FILE__, __LINE__, bad[i].says))
			printf("  %s\n", e.text);
	CHECK(import(d, arena_printf(arena, "%s\n{}", good), &added, &e) < 0 && strstr(e.text, "line 3"));
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 0); /* all or none */
	CHECK_INT(import(d, good, &added, &e), 0);
	struct db_trials got = all(d, (struct db_key){ 0 });
	CHECK(got.n == 1 && got.at[0].when == 1769860800);
	db_close(d);
}

static void test_merge(void)
{
	struct db *x = fill(path_of("x.db"), 1, 20), *y = fill(path_of("y.db"), 5, 30);
	struct db *z = open_db(path_of("z.db"), DB_WRITE), *w = open_db(path_of("w.db"), DB_WRITE);
	struct db_added added;
	struct err e = { 0 };
	CHECK(db_merge(&added, z, x, &e) == 0 && added.read == 20 && added.added == 20);
	CHECK_STR(text_of(z), text_of(x));
	CHECK(db_merge(&added, z, y, &e) == 0 && added.read == 30 && added.added <= 30);
	CHECK_INT(all(z, (struct db_key){ 0 }).n, 20 + added.added);
	CHECK(db_merge(&added, w, y, &e) == 0 && db_merge(&added, w, x, &e) == 0);
	CHECK_STR(text_of(w), text_of(z)); /* in any order */
	CHECK(db_merge(&added, z, y, &e) == 0 && added.added == 0);
	CHECK_STR(text_of(w), text_of(z));
	db_close(x);
	db_close(y);
	db_close(z);
	db_close(w);
}

/* Several machines measure one candidate in the same second, and name the program differently. */
static void test_merge_ties(void)
{
	static const int order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct db *from[3];
	const char *want = NULL;
	struct err e = { 0 };
	for (int i = 0; i < 3; i++) {
		struct db_trial t[] = { trial("0 map@1 4", 30 - i, 7), trial("0 map@1 2", 5 + i, i == 1 ? 9 : 8) };
		t[0].name = arena_printf(arena, "softmax(%c: f16[N,768])", 'x' + i);
		t[1].status = i == 2 ? DB_CRASHED : DB_OK;
		from[i] = open_db(path_of(arena_printf(arena, "tie%d.db", i)), DB_WRITE);
		CHECK_INT(db_put(from[i], t, 2, &e), 0);
	}
	for (int k = 0; k < 6; k++) {
		struct db *d = open_db(path_of(arena_printf(arena, "order%d.db", k)), DB_WRITE);
		struct db_added added;
		for (int i = 0; i < 3; i++)
			CHECK_INT(db_merge(&added, d, from[order[k][i]], &e), 0);
		want = want ? want : text_of(d);
		CHECK_STR(text_of(d), want);
		CHECK(db_merge(&added, d, from[k % 3], &e) == 0 && added.added == 0);
		CHECK_STR(text_of(d), want);
		db_close(d);
	}
	for (int i = 0; i < 3; i++)
		db_close(from[i]);
}

static bool old_map(void *user, const struct db_trial *t)
{
	++*(int *)user;
	return strstr(t->decisions, "map@1 ") != NULL;
}

static void test_prune(void)
{
	const char *path = path_of("prune.db");
	struct db *d = open_db(path, DB_WRITE);
	struct db_trial t[] = { trial("0 map@1 4", 1, 1),  trial("0 map@2 4", 30, 1), trial("0 map@2 2", 10, 1),
		                trial("0 map@2 1", 20, 1), trial("0 map@2 8", 0, 1),  trial("0 map@2 4", 99, 1),
		                trial("0 map@1 4", 5, 1),  trial("0 map@2 4", 7, 1) };
	struct db_pruned p;
	struct err e = { 0 };
	int asked = 0;
	t[4].status = DB_CRASHED;
	t[5].key.shape = "";
	t[6].key.program = HASH2;
	t[7].key.device = "GPU two";
	CHECK_INT(db_put(d, t, 8, &e), 0);
	db_close(d);
	query(path, "UPDATE trial SET status = 'splendid' WHERE ns = 7");
	d = open_db(path, DB_WRITE);
	CHECK_INT(db_prune(&p, d, &(struct db_prune){ .stale = old_map, .user = &asked }, &e), 0);
	CHECK(asked == 7 && p.foreign == 1 && p.stale == 2 && p.slow == 0 && p.left == 5);
	CHECK_INT(db_prune(&p, d, &(struct db_prune){ .keep = 2 }, &e), 0);
	CHECK(p.foreign == 0 && p.stale == 0 && p.slow == 2 && p.left == 3);
	struct db_founds f = best(d, (struct db_key){ HASH, "8,768", "sm_90", "GPU one" }, 9);
	CHECK(f.n == 3 && f.at[0].trial.ns == 10 && f.at[1].trial.ns == 20 && f.at[2].trial.ns == 99);
	db_close(d);
	CHECK_STR(query(path, "SELECT count(*) FROM program"), "1");
	CHECK_STR(query(path, "SELECT count(*) FROM device"), "1");
	check_whole(path);
}

/* ---- Several writers; a killed writer; a full disk. */

enum { ROWS = 300 };

static void write_rows(const char *path, const char *name, int rows)
{
	struct db *d = open_db(path, DB_WRITE);
	int failed = 0;
	for (int i = 0; i < rows && d; i++) {
		struct db_trial t = trial(arena_printf(arena, "0 map@1 %d", i), 100 + i, 1);
		t.key.device = name;
		failed += put(d, t) < 0;
	}
	db_close(d);
	fflush(stdout);
	_exit(failed || test_failed ? 1 : 0);
}

static void test_two_writers(void)
{
	const char *path = path_of("two.db"); /* neither finds it: both create the schema */
	pid_t child[2];
	for (int i = 0; i < 2; i++)
		if ((child[i] = fork()) == 0)
			write_rows(path, i ? "GPU b" : "GPU a", ROWS);
	for (int i = 0; i < 2; i++) {
		int status = -1;
		waitpid(child[i], &status, 0);
		CHECK_INT(status, 0);
	}
	struct db *d = open_db(path, DB_READ);
	CHECK_INT(all(d, (struct db_key){ .device = "GPU a" }).n, ROWS);
	CHECK_INT(all(d, (struct db_key){ .device = "GPU b" }).n, ROWS);
	db_close(d);
	check_whole(path);
}

/* Killed at any moment: earlier rows stay, without a gap, and the file accepts more. */
static void test_killed(void)
{
	const char *path = path_of("killed.db");
	int inside = 0;
	db_close(open_db(path, DB_WRITE));
	for (int round = 0; round < 20; round++) {
		const char *device = arena_printf(arena, "GPU %d", round),
		           *journal = arena_printf(arena, "%s-journal", path);
		pid_t child = fork();
		if (child == 0)
			write_rows(path, device, 1 << 20);
		usleep(20000 + 3700 * (unsigned)round);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		inside += file_exists(journal);
		struct db *d = open_db(path, DB_WRITE);
		struct db_trials got = all(d, (struct db_key){ .device = device });
		bool have[1 << 14] = { false }, gap = false;
		vec_each (t, &got)
			have[(int)t->ns - 100] = true;
		for (int i = 0; i < got.n; i++)
			gap |= !have[i];
		CHECK(!gap);
		CHECK_INT(put(d, trial(arena_printf(arena, "0 map@1 %d", round), 100, 1)), 0);
		db_close(d);
	}
	check_whole(path);
	CHECK(inside > 0); /* some were killed in the middle of a transaction */
}

/* A disk with room for only a few more pages: storing fails with a sentence, nothing is lost, and it works again with
 * more room. */
static void test_full(void)
{
	const char *path = path_of("full.db");
	struct rlimit old, few;
	struct db *d = open_db(path, DB_WRITE);
	struct db_trial t[500];
	struct err e = { 0 };
	CHECK_INT(put(d, trial("0 map@1 4", 100, 1)), 0);
	for (int i = 0; i < 500; i++)
		t[i] = trial(arena_printf(arena, "0 map@1 %d", 10 + i), 100, 1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	few = old;
	few.rlim_cur = 60000;
	setrlimit(RLIMIT_FSIZE, &few);
	int rc = db_put(d, t, 500, &e);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_INT(rc, ERR_USAGE);
	CHECK(strstr(e.text, path) && *e.advice);
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 1);
	db_close(d);
	check_whole(path);
	d = open_db(path, DB_WRITE);
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 1);
	err_clear(&e);
	CHECK_INT(db_put(d, t, 500, &e), 0);
	CHECK_INT(all(d, (struct db_key){ 0 }).n, 501);
	db_close(d);
	check_whole(path);
}

int main(void)
{
	struct err e = { 0 };
	char *temporary;
	arena = arena_new();
	if (file_temp_dir(&temporary, arena, &e) < 0) {
		printf("%s\n", e.text);
		return 1;
	}
	folder = temporary;
	test_put();
	test_again();
	test_invalid();
	test_best();
	test_files();
	test_unwritable();
	test_damaged();
	test_foreign();
	test_text();
	test_bad_text();
	test_merge();
	test_merge_ties();
	test_prune();
	test_two_writers();
	test_killed();
	test_full();
	file_remove_tree(folder);
	arena_free(arena);
	return test_done();
}
