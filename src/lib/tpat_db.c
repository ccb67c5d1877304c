/* The user's commands on the tuning database: list, count, export, import, prune. */
#include "lib/tpat_inside.h"
#include "lib/tpat_decisions.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "db/db.h"
#include "sched/sched.h"

struct call {
	const struct tpat_db_options *o;
	const struct tpat_db_report **out;
	struct tpat_db_report *report;
	struct db *db, *other;
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct call *c = arg;
	db_close(c->other);
	db_close(c->db);
}

static bool is_stale(void *user, const struct db_trial *t)
{
	struct tpat_decisions found = { 0 };
	const char *why;
	return !tpat_decisions_read(&found, t->decisions, &why, user);
}

/* Reads the trials that the options select, in order; counts programs and devices. */
static int read_trials(struct call *c, struct db_trials *all)
{
	const struct db_key key = { .arch = c->o->arch, .device = c->o->device };
	struct tpat_db_report *r = c->report;
	struct map programs = map_new(c->arena), devices = map_new(c->arena);
	TRY(db_each(all, c->db, &key, &r->foreign, c->arena, c->err));
	vec_each (t, all) {
		map_put(&programs, t->key.program, t);
		map_put(&devices, arena_printf(c->arena, "%s %s", t->key.arch, t->key.device), t);
	}
	r->trials = all->n;
	r->programs = programs.n;
	r->devices = devices.n;
	return 0;
}

/* ---- Reading. */

static bool same_place(const struct tpat_db_row *r, const struct db_key *k)
{
	return strcmp(r->program, k->program) == 0 && strcmp(r->shape, k->shape) == 0 &&
	       strcmp(r->arch, k->arch) == 0 && strcmp(r->device, k->device) == 0;
}

static int list(struct call *c)
{
	struct db_trials all;
	TRY(read_trials(c, &all));
	struct tpat_db_row *row = NEWN(c->arena, struct tpat_db_row, all.n + 1);
	int n = 0;
	vec_each (t, &all) {
		if (!n || !same_place(&row[n - 1], &t->key))
			row[n++] = (struct tpat_db_row){ .program = t->key.program,
				                         .name = t->name,
				                         .shape = t->key.shape,
				                         .arch = t->key.arch,
				                         .device = t->key.device };
		struct tpat_db_row *r = &row[n - 1];
		r->trials++;
		if (t->status != DB_OK || is_stale(c->arena, t) || (r->decisions && r->ns <= t->ns))
			continue;
		r->decisions = t->decisions;
		r->ns = t->ns;
		r->spread = t->spread;
		r->floor_ns = t->floor_ns;
	}
	c->report->row = row;
	c->report->rows = n;
	return 0;
}

static int count(struct call *c)
{
	struct tpat_db_report *r = c->report;
	int64_t *const by_status[DB_STATUSES] = { &r->ok, &r->wrong, &r->crashed, &r->timeout, &r->refused };
	struct db_trials all;
	struct stat st;
	TRY(read_trials(c, &all));
	vec_each (t, &all) {
		++*by_status[t->status];
		r->stale += is_stale(c->arena, t);
		r->newest = t->when > r->newest ? t->when : r->newest;
	}
	r->bytes = stat(r->path, &st) == 0 ? (int64_t)st.st_size : 0;
	return 0;
}

static int export(struct call *c)
{
	const struct db_key key = { .arch = c->o->arch, .device = c->o->device };
	struct str text = str_new(c->arena);
	TRY(db_export(&text, c->db, &key, &c->report->foreign, c->err));
	c->report->text = str_text(&text);
	c->report->text_bytes = text.n;
	return 0;
}

/* ---- Changing. */

static int add_file(struct call *c, const char *path, struct db_added *added)
{
	if (c->o->action == TPAT_DB_IMPORT) {
		char *text;
		size_t n;
		TRY(file_read(&text, &n, path, c->arena, c->err));
		return db_import(added, c->db, text, n, path, c->err);
	}
	if (file_same(path, c->report->path))
		return err_set(c->err, ERR_USAGE, "%s cannot be merged into itself.", path);
	TRY(db_open(&c->other, path, DB_READ, c->err));
	TRY(db_merge(added, c->db, c->other, c->err));
	db_close(c->other);
	c->other = NULL;
	return 0;
}

static int add_files(struct call *c)
{
	for (int i = 0; i < c->o->file.n; i++) {
		struct db_added added;
		TRY(add_file(c, c->o->file.at[i], &added));
		c->report->read += added.read;
		c->report->added += added.added;
		c->report->foreign += added.foreign;
	}
	return 0;
}

static int throw_away(struct call *c)
{
	const struct db_prune o = { .stale = is_stale, .user = c->arena, .keep = c->o->keep };
	struct db_pruned done;
	TRY(db_prune(&done, c->db, &o, c->err));
	c->report->foreign = done.foreign;
	c->report->stale = done.stale;
	c->report->slow = done.slow;
	c->report->left = done.left;
	return 0;
}

/* ---- The call. */

int tpat_db_path(const char **out, const char *given, struct arena *a, struct err *e)
{
	*out = given ? arena_strdup(a, given) : db_default_path(a);
	if (*out)
		return 0;
	err_set(e, ERR_USAGE, "The tuning database has no default place: HOME is not set.");
	return err_advise(e, "Name a file with --db or TPAT_DB.");
}

/* Checks that files to import exist, before a database is created. */
static int check_files(struct call *c)
{
	for (int i = 0; i < c->o->file.n; i++) {
		if (!file_exists(c->o->file.at[i]))
			return err_set(c->err, ERR_USAGE, "There is no file %s.", c->o->file.at[i]);
		TRY(file_check(c->o->file.at[i], c->err));
	}
	return 0;
}

static int act(struct call *c)
{
	bool adds = c->o->action == TPAT_DB_IMPORT || c->o->action == TPAT_DB_MERGE,
	     prunes = c->o->action == TPAT_DB_PRUNE;
	TRY(tpat_db_path(&c->report->path, c->o->db, c->arena, c->err));
	if (adds)
		TRY(check_files(c));
	if (prunes) /* it must exist */
		TRY(db_open(&c->other, c->report->path, DB_READ, c->err));
	TRY(db_open(&c->db, c->report->path, adds || prunes ? DB_WRITE : DB_READ, c->err));
	switch (c->o->action) {
	case TPAT_DB_LIST: return list(c);
	case TPAT_DB_STATS: return count(c);
	case TPAT_DB_EXPORT: return export(c);
	case TPAT_DB_IMPORT:
	case TPAT_DB_MERGE: return add_files(c);
	case TPAT_DB_PRUNE: return throw_away(c);
	}
	return err_set(c->err, ERR_USAGE, "There is no such action on a tuning database.");
}

static int run(struct tpat *t, void *arg)
{
	struct call *c = arg;
	if (c->o->version != TPAT_DB_VERSION)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_db have another version.");
	c->arena = t->arena;
	c->err = &t->err;
	c->report = NEW(t->arena, struct tpat_db_report);
	t->cleanup = clean_up;
	t->cleanup_arg = c;
	TRY(act(c));
	*c->out = c->report;
	return 0;
}

int tpat_db(struct tpat *t, const struct tpat_db_report **out, const struct tpat_db_options *o)
{
	struct call c = { .o = o, .out = out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
