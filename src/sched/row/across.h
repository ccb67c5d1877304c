/* Row programs whose rows run across memory: neighbouring stages that all work on the same rows, where the elements
 * next to each other are those of neighbouring rows. Softmax over an image's channels, a norm of them. The others are
 * in rows.h. */
#ifndef TPAT_SCHED_ACROSS_H
#define TPAT_SCHED_ACROSS_H

#include "sched/rule.h"

enum { ACROSS_MAX_STAGES = 8, ACROSS_MAX_CACHED = 4 };

/* A stage over the rows' axes, without those of extent 1, and the one along them behind. */
struct across_stage {
	const struct ir_stage *s;
	enum across_kind {
		ACROSS_REDUCE, /* one value a row, from its elements */
		ACROSS_VALUE,  /* one value a row, from other such values */
		ACROSS_MAP,    /* an element for each element */
	} kind;
	expr value, post, at; /* post: null where there is none. at: the position in out */
};

struct across {
	struct ir_program *p;
	int rank;                      /* of the rows */
	expr dim[IR_MAX_RANK], length; /* dim[rank]: length */
	expr count, row;               /* of rows; the position of one among them */
	int stages, reductions, maps;
	struct across_stage stage[ACROSS_MAX_STAGES];
	int cached; /* what a row is made of: loads over these axes */
	expr cache[ACROSS_MAX_CACHED];
};

/* The longest run of stages from s on that is such a program, of rows of a known length. False when s begins none, of a
 * reduction and a map at least. */
bool across_match(struct across *out, struct ir_program *p, const struct ir_stage *s);
/* Which stage made the value of a row that a load reads; -1: none. */
int across_value_of(const struct across *r, expr load);
/* Which of the cached ones a load is; -1: none. */
int across_cached_of(const struct across *r, expr load);
/* Whether neighbouring rows can be taken `width` at a time. */
bool across_fits(const struct across *r, int width);
/* Whether others than these stages read what a stage makes. */
bool across_stored(const struct across *r, int stage);

#endif
