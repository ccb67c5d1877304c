/* Inside src/sched/: a loop of which a block makes a row, with some neighbouring lanes for each unit.
 *
 * Units are those of loop_grid.h. The lanes of a unit divide its sums and then compute everything else of the unit,
 * each the same: so a turn's results are in the registers of all who need them. Only what other units read goes through
 * shared memory, which has room for two turns, so that a turn has one barrier for each such buffer. Numbers that depend
 * on nothing but the turn are loaded one turn ahead. */
#ifndef TPAT_SCHED_LOOP_LANES_H
#define TPAT_SCHED_LOOP_LANES_H

#include "sched/loop/loop_grid.h"

enum { LANES_HELD = 4, LANES_MOST_LANES = 16, LANES_MOST_THREADS = 1024 };

/* The parts of an expression that do not depend on the loop's results. */
struct lanes_parts {
	expr part[LANES_HELD];
	int n;
};

/* A stage of the loop's body. */
struct lanes_stage {
	const struct ir_stage *s;
	const struct grid_item *item;
	struct lanes_parts held;  /* reductions: of the summand, the same in all turns */
	struct lanes_parts early; /* of a map's value, or of what follows the sum: loaded ahead */
	bool reads_others;        /* other units' elements */
	/* Reductions: */
	int width;   /* neighbouring points that a lane adds at a time */
	bool zeros;  /* points beyond the end add zero if everything there is zero */
	int vectors; /* loads of other units' elements, each of `width` neighbours along the sum */
	expr vector[LANES_HELD];
};

/* The result of match(). */
struct lanes_loop {
	const struct grid_loop *g;
	struct {
		VEC(struct lanes_stage);
	} stages;
};

const struct lanes_loop *lanes_find(struct ir_program *p, const struct ir_stage *s, const char **why);
int64_t lanes_points(const struct lanes_loop *l, const struct lanes_stage *s);
/* Steps of a lane, each of `width` points. */
int lanes_steps(const struct lanes_loop *l, const struct lanes_stage *s, int lanes);
/* Elements between copies of a published buffer in shared memory; bytes of all such buffers. */
int lanes_room(const struct lanes_loop *l, int lanes);
int64_t lanes_shared_bytes(const struct lanes_loop *l, int lanes);
/* Position, in shared memory of one turn, of element `place` of a row. */
expr lanes_place(const struct lanes_loop *l, int lanes, expr place);
int lanes_threads(const struct lanes_loop *l, int lanes);
/* Registers of a thread for constants, states, sums and numbers loaded ahead. */
int lanes_registers(const struct lanes_loop *l, int lanes);

/* Emits the body of a kernel of p. */
void lanes_emit(struct ir_program *p, const struct lanes_loop *l, int lanes, struct ir_kernel *k);

#endif
