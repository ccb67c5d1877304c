/* Row programs with strided rows: consecutive stages that all work on the same rows, where adjacent elements in memory
 * belong to neighbouring rows. Examples are softmax or a norm over an image's channels. Contiguous rows are in
 * rows.h. */
#ifndef TPAT_SCHED_ACROSS_H
#define TPAT_SCHED_ACROSS_H

#include "sched/rule.h"

enum {
	ACROSS_MAX_STAGES = 8,
	ACROSS_MAX_CACHED = 4,
	ACROSS_MAX_JOINED = 4,
	ACROSS_LANES = 32 /* of a warp, with neighbouring rows */
};

/* A stage over the rows' axes, without those of extent 1, followed by the axis along a row. */
struct across_stage {
	const struct ir_stage *s;
	enum across_kind {
		ACROSS_REDUCE, /* one value a row, from its elements */
		ACROSS_VALUE,  /* one value a row, from other such values */
		ACROSS_JOINED, /* several, along an axis of the result, as in a concatenation of such values */
		ACROSS_MAP,    /* an element for each element */
	} kind;
	expr value, post, at; /* post: may be null. at: the position in out */
	int joined;           /* ACROSS_JOINED: the number of values, which are each[], at place[] in out */
	expr each[ACROSS_MAX_JOINED], place[ACROSS_MAX_JOINED];
};

struct across {
	struct ir_program *p;
	int rank;                      /* of the rows */
	expr dim[IR_MAX_RANK], length; /* dim[rank]: length */
	expr count, row;               /* number of rows; flat position of a row */
	int stages, reductions, maps;
	struct across_stage stage[ACROSS_MAX_STAGES];
	int cached; /* loads of the row's inputs, over these axes */
	expr cache[ACROSS_MAX_CACHED];
};

/* Finds the longest run of stages from s on that is such a program. False if there is none with at least a reduction
 * and a map. */
bool across_match(struct across *out, struct ir_program *p, const struct ir_stage *s);
/* Index of the stage whose per-row value a load reads; -1: none. */
int across_value_of(const struct across *r, expr load);
/* Index of the cached load that a load equals; -1: none. */
int across_cached_of(const struct across *r, expr load);
/* True if a thread can take `width` neighbouring rows with vectorised loads, provided that `width` divides the rows'
 * last extent. */
bool across_fits(const struct across *r, int width);
/* True if the stage's result has readers outside these stages. */
bool across_stored(const struct across *r, int stage);

/* A kernel: `parts` warps share the rows' elements, a lane has `width` rows and keeps `steps` elements of each; 0: each
 * stage reads them again. */
struct across_shape {
	int parts, width, steps;
	expr fits; /* a bool over symbols: the extents that it is for */
};
void across_kernel(struct ir_plan *plan, struct ir_step *step, const struct across *found, const struct sched_choice *c,
                   const struct across_shape *shape);

#endif
