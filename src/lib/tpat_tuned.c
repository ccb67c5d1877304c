/* Tuning results for a build: for each program the fastest decisions that can still be built. */
#include "lib/tpat_inside.h"
#include "lib/tpat_decisions.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "db/db.h"

enum { MOST_TRIED = 1000 };

struct tpat_tuned {
	struct db *db; /* null: no results */
	const char *path;
	bool processor; /* use results measured on the processor */
	struct arena *arena;
};

int tpat_tuned_open(struct tpat_tuned **out, const char *given, bool must, const char **warning, struct arena *a,
                    struct err *e)
{
	struct tpat_tuned *x = *out = NEW(a, struct tpat_tuned);
	struct err why = { 0 };
	x->arena = a;
	*warning = NULL;
	int rc = tpat_db_path(&x->path, given, a, &why);
	if (rc == 0 && !given && !must && !file_exists(x->path))
		return 0; /* no tuning so far */
	if (rc == 0)
		rc = db_open(&x->db, x->path, DB_READ, &why);
	if (rc < 0 && must) {
		*e = why;
		return rc;
	}
	if (rc < 0 && (given || x->path))
		*warning = arena_printf(a, "%s%s The cost model decides.", why.where, why.text);
	return 0;
}

void tpat_tuned_of_processor(struct tpat_tuned *x)
{
	x->processor = true;
}

void tpat_tuned_close(struct tpat_tuned *x)
{
	if (x)
		db_close(x->db);
}

const char *tpat_tuned_path(const struct tpat_tuned *x)
{
	return x->db ? x->path : NULL;
}

/* ---- Extents. */

struct taking {
	struct sched_extent *extent;
	int n;
	const char *shape; /* the rest of the text */
};

static bool take_extent(void *user, expr symbol, int64_t *value)
{
	struct taking *x = user;
	char *end;
	*value = strtoll(x->shape, &end, 10);
	if (end == x->shape)
		return false;
	x->shape = end + (*end == ',');
	x->extent[x->n++] = (struct sched_extent){ symbol, *value };
	return true;
}

/* Returns the device and extents at which a trial was measured: a rule's parameters depend on them. */
static struct sched_target target_of(const struct sched_target *t, const struct ir_program *p, const char *shape,
                                     struct arena *a)
{
	struct sched_target then = *t;
	struct taking x = { NEWN(a, struct sched_extent, p->inputs.n * IR_MAX_RANK + 1), 0, shape };
	sched_shape_text(p, take_extent, &x, a); /* calls take_extent in the order of the text */
	then.extent = x.extent;
	then.extents = x.n;
	return then;
}

/* ---- Decisions. */

static bool build_again(struct sched_choice *choice, const struct db_trial *trial, struct ir_program *p,
                        const struct sched_target *t, struct arena *a)
{
	const struct sched_target then = target_of(t, p, trial->key.shape, a);
	const char *why;
	return tpat_decisions_parse(choice, trial->decisions, p, t, &why, a) ||
	       tpat_decisions_parse(choice, trial->decisions, p, &then, &why, a);
}

int tpat_tuned_find(struct tpat_tuned_choice *out, struct tpat_tuned *x, struct ir_program *p, const char *hash,
                    const struct sched_target *t, bool exactly, struct err *e)
{
	struct db_founds found;
	*out = (struct tpat_tuned_choice){ 0 };
	if (!x->db)
		return 0;
	const struct db_key key = {
		.program = hash,
		.shape = sched_shape_text(p, tpat_extent_at, &t, x->arena),
		.arch = x->processor ? "cpu" : arena_printf(x->arena, "sm_%d", t->arch),
		.device = t->name,
	};
	struct sched_choice *choice = NEWN(x->arena, struct sched_choice, p->stages.n + 1);
	TRY(db_best(&found, x->db, &key, MOST_TRIED, x->arena, e));
	vec_each (f, &found) {
		if (exactly && f->match != DB_EXACT)
			break; /* exact matches come first */
		memset(choice, 0, sizeof *choice * (size_t)p->stages.n);
		if (!build_again(choice, &f->trial, p, t, x->arena)) {
			out->passed_over++;
			continue;
		}
		out->choice = choice;
		out->near = f->match == DB_NEIGHBOUR;
		out->ns = f->trial.ns;
		out->shape = f->trial.key.shape;
		out->device = f->trial.key.device;
		return 0;
	}
	return 0;
}

int tpat_tuned_trials(struct db_trials *out, struct tpat_tuned *x, const char *hash, const struct sched_target *t,
                      struct err *e)
{
	const struct db_key key = { .program = hash,
		                    .arch = x->processor ? "cpu" : arena_printf(x->arena, "sm_%d", t->arch) };
	*out = (struct db_trials){ 0 };
	return x->db ? db_each(out, x->db, &key, NULL, x->arena, e) : 0;
}
