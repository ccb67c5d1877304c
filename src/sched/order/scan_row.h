/* Inside src/sched/: the rows of a scan, for the scan rules. */
#ifndef TPAT_SCHED_SCAN_ROW_H
#define TPAT_SCHED_SCAN_ROW_H

#include "sched/order/row_axes.h"

/* One row of the result: its positions and its axes. */
struct scan_row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr extent; /* of the scanned axis */
	struct row_place place;
	expr own[IR_MAX_RANK];  /* AXIS nodes */
	expr axis[IR_MAX_RANK]; /* kernel variables */
	expr sum;
	expr (*load)(void *user, expr e, expr flat); /* as in struct axes */
	void *user;
};

/* `match` of struct sched_rule, for the rules that take every scan. */
const void *scan_match(struct ir_program *p, const struct ir_stage *s, const char **why);

/* Starts row number `row`: declares its axes, and `sum`, set to the neutral element of the scan's combine. */
struct scan_row scan_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);
/* scan_value_at: the value to accumulate at position `at`. scan_result_at: the result there, from the accumulated
 * `sum`. */
expr scan_value_at(struct scan_row *r, expr at);
expr scan_result_at(struct scan_row *r, expr at, expr sum);
expr scan_position(const struct scan_row *r, expr at); /* in the result */
/* True if rows are few and of unknown length: one of them may be too long for one block. Rules that cannot divide a row
 * count as many launches more. */
enum { SCAN_LONG_LAUNCHES = 4 };
bool scan_may_be_long(const struct ir_program *p, const struct ir_stage *s);

/* Scans a row with one thread. */
void scan_row_serial(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);
/* The same, `ahead` elements at a time: their loads are all issued before the first is used. */
void scan_row_ahead(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row, int ahead);

/* One thread scans the steps `from` ... `end` - 1 of a row that has begun, `ahead` at a time: adds them to the row's
 * `sum`, and with `store` stores the results. */
void scan_part(struct scan_row *r, struct ir_block *b, expr from, expr end, int ahead, bool store);

/* Tiles of a row (scan_vectors.c). Each of `lanes` threads has `steps` vectors of `width` neighbouring elements, and
 * each warp's elements are contiguous. Loads along the row are vectorised, and a tile's loads are all issued before the
 * first is used. */
struct scan_vectors {
	struct scan_row *r;
	int lanes, width, steps;
	expr own, tile;    /* start of this thread's first vector within a tile, and of the tile, in scan steps */
	bool whole;        /* no tile extends past the row's end */
	expr vector, item; /* vector: index among this thread's vectors of a tile; item: index within a vector */
	struct {
		VEC(expr);
	} found; /* vectorised loads */
	struct {
		VEC(struct ir_variable *);
	} array; /* the register array of each */
	struct ir_variable *parts;
};
/* The widest vectors that fit the stage: a power of two. */
int scan_width(const struct ir_stage *s);
void scan_vectors_begin(struct scan_vectors *v, struct scan_row *r, struct ir_block *b, expr lane);
/* Computes the running combination of the tile at v->tile in the array `parts`, and updates the row's `sum`. */
void scan_vectors_tile(struct scan_vectors *v, struct ir_block *b);
/* Stores the tile's results; `before`, if not null, is first combined with each. */
void scan_vectors_store(struct scan_vectors *v, struct ir_block *b, expr before);
/* Nanoseconds for all accesses with `flying` bytes in flight per multiprocessor. */
double scan_access_ns(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      double flying);

#endif
