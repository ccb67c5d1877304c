/* Files and folders that are replaced together. Everything is made in a hidden folder next to the targets,
 * ".tpat-build-XXXXXX"; a few renames at the end put it in place. A failing step undoes those before it. A killed
 * process leaves the folder: stage_recover() then removes it or, if its journal says that everything was made,
 * completes the renames.
 *
 * No target is ever missing: a file replaces the old one, and a folder is exchanged with it. Targets become new in the
 * order of stage_add(), so the item that readers start from comes last. */
#ifndef TPAT_BASE_STAGING_H
#define TPAT_BASE_STAGING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct stage_item {
	const char *name;               /* relative to the stage's folder */
	const char *place, *made, *old; /* paths: the target, where it is made, where the old one is kept */
};

struct stage {
	const char *folder, *path; /* the targets' folder, and the hidden folder in it; path null: not begun */
	struct {
		VEC(struct stage_item);
	} items;
	int lock;   /* held while the process lives, so that the folder is not taken for a dead one's */
	int places; /* held while targets change */
	bool keep;  /* undo failed: stage_recover() needs the folder */
	/* Called by stage_commit() with the targets locked; a failure leaves everything unchanged. May be null. */
	int (*check)(void *user, struct err *e);
	void *user;
	struct arena *arena;
};

/* `near`: a path in the targets' folder. Errors: ERR_USAGE if that folder is not writable. */
int stage_begin(struct stage *s, const char *near, struct arena *a, struct err *e);
/* Adds a file or folder for target `name`; returns the path to make it at. */
const char *stage_add(struct stage *s, const char *name);
/* Returns a path in the hidden folder for temporary files. */
const char *stage_scratch(const struct stage *s, const char *name);
/* Puts everything in place, or changes nothing. */
int stage_commit(struct stage *s, struct err *e);
void stage_abandon(struct stage *s); /* also after stage_commit; a zeroed stage is fine */

/* Locks the folder's targets until file_unlock(). Errors: ERR_USAGE if another process holds the lock for 30
 * seconds. */
int stage_lock(int *lock, const char *folder, struct err *e);

/* Remains of dead processes in `folder`. */
struct stage_left {
	int finished, undone, removed; /* completed; rolled back; had changed nothing yet */
	int busy;                      /* stages of live processes */
};
struct stage_recovery {
	bool look; /* only count, change nothing */
	bool undo; /* roll back instead of completing */
	/* Called before an interrupted process's folder replaces `place`; a failure ends the recovery. May be null. */
	int (*may_replace)(void *user, const char *place, struct err *e);
	void *user;
};
/* Recovers what dead processes left in `folder`. Memory comes from `a`. Errors: ERR_USAGE for files that cannot be
 * moved; those of may_replace(). */
int stage_recover(struct stage_left *out, const char *folder, const struct stage_recovery *r, struct arena *a,
                  struct err *e);

#endif
