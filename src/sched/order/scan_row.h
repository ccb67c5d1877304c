/* Inside src/sched/: the rows of a scan, for the rules that make them. */
#ifndef TPAT_SCHED_SCAN_ROW_H
#define TPAT_SCHED_SCAN_ROW_H

#include "sched/rule.h"

/* One row of the result: where its elements are, and what its axes are called. */
struct scan_row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr extent;       /* of the scanned axis */
	expr outer, inner; /* position among the axes before it, and behind it */
	expr inner_count;
	expr own[IR_MAX_RANK];  /* AXIS nodes */
	expr axis[IR_MAX_RANK]; /* kernel variables */
	expr sum;
	expr (*load)(void *user, expr e, expr flat); /* as in struct axes */
	void *user;
};

/* Entry of struct sched_rule: of the rules that run every scan. */
const void *scan_match(struct ir_program *p, const struct ir_stage *s, const char **why);

/* Declares what row number `row` needs: its axes, and `sum`, the neutral element of the scan's combine. */
struct scan_row scan_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);
/* The position along the axis where the `step`-th element in the direction of the scan is. */
expr scan_axis_of_step(const struct scan_row *r, expr step);
/* What is accumulated at position `at`; the result there, of the accumulated `sum`. */
expr scan_value_at(struct scan_row *r, expr at);
expr scan_result_at(struct scan_row *r, expr at, expr sum);
void scan_store_at(struct scan_row *r, struct ir_block *b, expr at, expr sum);
expr scan_position(const struct scan_row *r, expr at); /* in the result */
/* Whether rows are few and of any length: one of them may be too much for a block. */
bool scan_may_be_long(const struct ir_program *p, const struct ir_stage *s);

/* A row by one thread. */
void scan_row_serial(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);

/* Tiles of a row (scan_vectors.c): each of `lanes` threads has `steps` vectors of `width` neighbouring elements, and
 * each warp's elements lie together. What is read along the row is read as vectors, all of a tile's before the first of
 * them is used. */
struct scan_vectors {
	struct scan_row *r;
	int lanes, width, steps;
	expr own, tile; /* steps in the direction of the scan: of this thread's first vector in a tile, of the tile */
	bool whole;     /* no tile goes beyond the row's end */
	expr vector, item; /* of this thread's, in a tile; of a vector */
	struct {
		VEC(expr);
	} found; /* loads that are vectors */
	struct {
		VEC(struct ir_variable *);
	} array; /* of each */
	struct ir_variable *parts;
};
/* The widest vectors that fit the stage: a power of two. */
int scan_width(const struct ir_stage *s);
void scan_vectors_begin(struct scan_vectors *v, struct scan_row *r, struct ir_block *b, expr lane);
/* The running combination in the tile at v->tile, in the array `parts`; the row's `sum` goes on. */
void scan_vectors_tile(struct scan_vectors *v, struct ir_block *b);
/* Stores the tile's results; `before`, when not null, comes before all of them. */
void scan_vectors_store(struct scan_vectors *v, struct ir_block *b, expr before);
/* Nanoseconds of all accesses at the rate that this many bytes under way on a multiprocessor reach. */
double scan_access_ns(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      double flying);

#endif
