/* Deleting rows. See db.h. */
#include "db/db_inside.h"

#include <stdlib.h>
#include <string.h>

struct row {
	int64_t id;
	struct db_trial trial;
};

struct prune {
	const struct db_prune *o;
	struct db_pruned *out;
	struct {
		VEC(struct row);
	} row; /* candidates to keep */
	struct {
		VEC(int64_t);
	} gone;
	struct arena *arena;
};

static int look(void *user, int64_t id, const struct db_trial *t)
{
	struct prune *x = user;
	if (t && !(x->o->stale && x->o->stale(x->o->user, t))) {
		vec_push(x->arena, &x->row, ((struct row){ id, *t }));
		return 0;
	}
	++*(t ? &x->out->stale : &x->out->foreign);
	vec_push(x->arena, &x->gone, id);
	return 0;
}

static bool same_key(const struct db_key *x, const struct db_key *y)
{
	return strcmp(x->program, y->program) == 0 && strcmp(x->shape, y->shape) == 0 &&
	       strcmp(x->arch, y->arch) == 0 && strcmp(x->device, y->device) == 0;
}

static int faster(const void *px, const void *py)
{
	const struct row *x = px, *y = py;
	bool ok = x->trial.status == DB_OK;
	if (ok != (y->trial.status == DB_OK))
		return ok ? -1 : 1;
	if (x->trial.ns != y->trial.ns)
		return x->trial.ns < y->trial.ns ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* Drops all but the fastest of each key; rows of a key are adjacent. */
static void drop_slow(struct prune *x)
{
	for (int i = 0, n; i < x->row.n; i += n) {
		struct row *row = &x->row.at[i];
		for (n = 1; i + n < x->row.n && same_key(&row->trial.key, &row[n].trial.key); n++)
			;
		qsort(row, (size_t)n, sizeof *row, faster);
		for (int k = 0; k < n; k++)
			if (k >= x->o->keep || row[k].trial.status != DB_OK) {
				vec_push(x->arena, &x->gone, row[k].id);
				x->out->slow++;
			}
	}
}

static int delete_rows(struct prune *x, struct db *d, struct err *e)
{
	sqlite3_stmt *s;
	int rc = 0;
	TRY(db_prepare(&s, d, "DELETE FROM trial WHERE id = ?1", e));
	for (int i = 0; i < x->gone.n && rc == 0; i++) {
		sqlite3_bind_int64(s, 1, x->gone.at[i]);
		rc = db_step(d, s, e);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	TRY(rc);
	TRY(db_exec(d, "DELETE FROM program WHERE id NOT IN (SELECT program FROM trial)", e));
	TRY(db_exec(d, "DELETE FROM device WHERE id NOT IN (SELECT device FROM trial)", e));
	return db_number(d, "SELECT count(*) FROM trial", &x->out->left, e);
}

static int prune(struct prune *x, struct db *d, struct err *e)
{
	TRY(db_rows(d, &(struct db_key){ 0 }, look, x, x->arena, e));
	if (x->o->keep > 0)
		drop_slow(x);
	return delete_rows(x, d, e);
}

int db_prune(struct db_pruned *out, struct db *d, const struct db_prune *o, struct err *e)
{
	struct arena *scratch = arena_new();
	struct prune x = { .o = o, .out = out, .arena = scratch };
	*out = (struct db_pruned){ 0 };
	int rc = db_begin(d, e);
	if (rc == 0)
		rc = db_end(d, prune(&x, d, e), e);
	arena_free(scratch);
	if (rc == 0) /* shrinks the file if there is room to do so; the rows are gone anyway */
		sqlite3_exec(d->handle, "VACUUM", NULL, NULL, NULL);
	return rc;
}
