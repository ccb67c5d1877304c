/* Reads at places that data decide, as those of grid sampling: a place is found once for all planes that ignore it
 * (gathers.c). */
#ifndef TPAT_SCHED_GATHERS_H
#define TPAT_SCHED_GATHERS_H

#include "sched/build/axes.h"

enum { GATHERS_MAX = 32, GATHERS_MAX_SHARED = 48, GATHERS_MAX_BESIDE = 4, GATHERS_MAX_STRIDE = 4 };

/* One: the load, or a condition's choice between it and a constant. */
struct gather {
	expr node;        /* what stands in the value */
	expr load, where; /* where: null: always */
	expr other;
	bool sure; /* whatever other conditions: without `where` the place is known to be there */
};

/* What neighbouring elements read beside each other, as the two or three coordinates of a place: one vector for all of
 * them. */
struct beside {
	const struct ir_buffer *buf;
	struct ir_variable *array;
	int stride;                    /* elements a place */
	expr load[GATHERS_MAX_STRIDE]; /* of each */
};

struct gathers {
	struct ir_program *p;
	int axis; /* along which planes lie */
	int n;
	struct gather at[GATHERS_MAX];
	int shared;
	expr what[GATHERS_MAX_SHARED + GATHERS_MAX]; /* what places are made of and more than one expression needs,
	                                              * inner ones first; then the gathers */
	expr with[GATHERS_MAX_SHARED + GATHERS_MAX]; /* variables that hold it */
	int vectors;
	struct beside beside[GATHERS_MAX_BESIDE];
	int inner, width;
	expr lane; /* the number of the place, for gathers_beside() */
};

/* The gathers of a value whose places do not depend on that axis. False: there is none, there are too many, or one's
 * place is known under a condition alone. */
bool gathers_find(struct gathers *g, struct ir_program *p, expr value, int axis);
bool gathers_decided(expr index); /* by data: it holds a load */

/* The vectors of `width` places from that at `axis` on, which runs along `inner`; what is no multiple stays a load of
 * its own. They are loaded into arrays, or, where these are `declared`, into those that stand. gathers_beside: for
 * struct axes, with `lane` set; user: the gathers. */
void gathers_find_beside(struct gathers *g, expr value, int inner, int width, const expr *axis);
void gathers_declare_beside(const struct gathers *g, struct ir_block *b);
void gathers_load_beside(const struct gathers *g, struct ir_block *b, const expr *axis, bool declared);
expr gathers_beside(void *user, expr e, expr flat);

/* Declares what expressions of one place share, of which the others are made from then on. */
void gathers_emit_shared(struct gathers *g, struct ir_block *b, const struct axes *here);
/* An expression of the value, with variables for what is shared, and with[i] for gather i (null: gathers are not
 * met). */
expr gathers_replace(struct gathers *g, expr e, const expr *with);

#endif
