/* Stores trials of a tuning in the database, and reads them back. See tuning_inside.h. */
#include <time.h>

#include "lib/tuning_inside.h"

enum { SUGGESTIONS = 8 };

static enum db_status status_of(enum tune_status s)
{
	switch (s) {
	case TUNE_OK: return DB_OK;
	case TUNE_WRONG:
	case TUNE_BOUNDS: return DB_WRONG;
	case TUNE_CRASHED: return DB_CRASHED;
	case TUNE_HUNG: return DB_TIMEOUT;
	default: return DB_REFUSED;
	}
}

static enum tune_status status_in(enum db_status s)
{
	switch (s) {
	case DB_OK: return TUNE_OK;
	case DB_WRONG: return TUNE_WRONG;
	case DB_CRASHED: return TUNE_CRASHED;
	case DB_TIMEOUT: return TUNE_HUNG;
	default: return TUNE_FAILED;
	}
}

/* A failed write only affects later runs. */
void tuning_keep(struct job *j, const struct tune_trial *trial, double bytes)
{
	struct err e = { 0 };
	struct db_trial row = { .key = j->key,
		                .name = j->name,
		                .decisions = tune_point_text(j->space, trial->point, j->arena),
		                .status = status_of(trial->status),
		                .ns = trial->ns,
		                .spread = trial->spread,
		                .bytes = bytes,
		                .floor_ns = tuning_floor(j->t, bytes),
		                .version = TPAT_VERSION,
		                .when = (int64_t)time(NULL) };
	if (j->t->db && db_put(j->t->db, &row, 1, &e) < 0)
		tuning_warn(j->t, e.text);
}

static void recall(struct job *j, struct db *db, struct tune_search *search)
{
	struct db_trials known = { 0 };
	struct db_founds near = { 0 };
	struct err e = { 0 };
	struct tune_point p;
	if (!db)
		return;
	if (db_each(&known, db, &j->key, NULL, j->arena, &e) < 0 ||
	    db_best(&near, db, &j->key, SUGGESTIONS, j->arena, &e) < 0)
		tuning_warn(j->t, e.text);
	vec_each (row, &known)
		if (tune_point_read(j->space, &p, row->decisions, j->arena) && !tune_search_find(search, p)) {
			struct tune_trial t = { p, status_in(row->status), row->ns, row->spread, "", 0 };
			tune_search_known(search, &t);
			j->out->known++;
			j->out->bytes = row->bytes;
		}
	vec_each (f, &near)
		if (f->match != DB_EXACT && tune_point_read(j->space, &p, f->trial.decisions, j->arena))
			tune_search_suggest(search, p);
}

void tuning_recall(struct job *j, struct tune_search *search)
{
	recall(j, j->t->db, search);
	recall(j, j->t->earlier, search);
}

double tuning_floor(const struct tuning *t, double bytes)
{
	return t->device.bytes_per_ns > 0 ? bytes / t->device.bytes_per_ns : 0;
}
