/* Files and folders that change together. Everything is made in a hidden folder beside their places,
 * ".tpat-build-XXXXXX"; some renames at the end put it in place. A step that fails undoes those before it. A process
 * that is killed leaves the folder behind: stage_recover() then removes it, or, where a journal in it says that all was
 * made, finishes what was begun.
 *
 * Nothing is missing at any time: a file replaces the one before it, and a folder changes places with it. What stands
 * in place while the steps are taken is new in the order of stage_add(), so the item that readers begin with comes
 * last. */
#ifndef TPAT_BASE_STAGING_H
#define TPAT_BASE_STAGING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct stage_item {
	const char *name;               /* relative to the stage's folder */
	const char *place, *made, *old; /* paths: where it goes, where it is made, where what was there waits */
};

struct stage {
	const char *folder, *path; /* the folder of the places, and the hidden one in it; path null: nothing was
	                            * begun */
	struct {
		VEC(struct stage_item);
	} items;
	int lock;   /* held while the process lives, so that nobody takes the folder for a dead one's */
	int places; /* held while places change */
	bool keep;  /* undoing failed: stage_recover() needs the folder */
	/* Asked by stage_commit() when nobody else changes the places: a failure leaves all as it was. May be null. */
	int (*check)(void *user, struct err *e);
	void *user;
	struct arena *arena;
};

/* `near`: a path in the folder of the places. Errors: ERR_USAGE when nothing can be written there. */
int stage_begin(struct stage *s, const char *near, struct arena *a, struct err *e);
/* One more thing that goes to `name` in the stage's folder; returns the path where to make it. */
const char *stage_add(struct stage *s, const char *name);
/* A path in the hidden folder for what is not put in place. */
const char *stage_scratch(const struct stage *s, const char *name);
/* Puts everything in place, or leaves all as it was. */
int stage_commit(struct stage *s, struct err *e);
void stage_abandon(struct stage *s); /* also after stage_commit; a stage of zeros is fine */

/* Nobody puts anything in place in the folder until file_unlock(). Errors: ERR_USAGE when somebody has for half a
 * minute. */
int stage_lock(int *lock, const char *folder, struct err *e);

/* What processes that died in `folder` have left. */
struct stage_left {
	int finished, undone, removed; /* put in place; put back; had not begun to change anything */
	int busy;                      /* of processes that live */
};
struct stage_recovery {
	bool look; /* count only, change nothing */
	bool undo; /* what could be finished is put back */
	/* Asked before the folder `place` is replaced by an interrupted process's; a failure ends the recovery. May be
	 * null. */
	int (*may_replace)(void *user, const char *place, struct err *e);
	void *user;
};
int stage_recover(struct stage_left *out, const char *folder, const struct stage_recovery *r, struct arena *a,
                  struct err *e);

#endif
