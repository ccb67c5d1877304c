/* Contractions: sums of products of two operands, some of whose axes only the one has, some only the other. What a
 * stage's index expressions say of that (contract.c), and the kernel that runs it (contract_emit.c): on tensor cores,
 * or of elements that these do not take by ordinary arithmetic (`plain`). */
#ifndef TPAT_SCHED_CONTRACT_H
#define TPAT_SCHED_CONTRACT_H

#include "sched/rule.h"

enum { CONTRACT_STAGES = 8, CONTRACT_VECTOR = 8 /* elements that are stored at once */ };

/* Of out's axes: in both operands (or none), in the left one alone, in the right one alone. */
enum contract_group { CONTRACT_BATCH, CONTRACT_ROW, CONTRACT_COLUMN, CONTRACT_GROUPS };

/* How a tile of an operand comes into shared memory: element by element, its rows along what is summed over; by copies
 * of 16 bytes, likewise; by such copies, its rows along rows or columns of the result. */
enum contract_way { CONTRACT_GATHER, CONTRACT_STRAIGHT, CONTRACT_TURNED };

struct contract_operand {
	enum type type;        /* of its elements */
	expr value;            /* of that type, over out's and the reduced axes */
	struct ir_stage *pack; /* the map that makes the buffer that `value` reads; null: it is the program's own */
	expr zero;             /* i32, over out's axes: elements are meant less this; null: as they are */
	enum contract_way way; /* the best that its strides allow */
	expr fits;             /* bool over symbols: the extents and strides are whole vectors */
};

struct contract {
	struct ir_program *p;
	const struct ir_stage *s;
	bool plain;                      /* products and sums are made in the elements' own type */
	struct contract_operand side[2]; /* left: rows; right: columns, the last axis of out among them */
	int axes[CONTRACT_GROUPS];       /* how many */
	int axis[CONTRACT_GROUPS][IR_MAX_RANK];
	expr extent[CONTRACT_GROUPS], depth;          /* of the reduced space */
	int order[IR_MAX_RANK];                       /* the reduced axes as kernels go over them, the innermost last */
	int width;                                    /* of stores: CONTRACT_VECTOR, or 1 where that never fits */
	expr fits;                                    /* bool: extents and strides are multiples of it */
	const struct ir_stage *made[CONTRACT_STAGES]; /* s, and maps behind it of the same elements */
	int stages;
};

/* What a kernel is like. Sizes in elements: of a block's tile, of a warp's part of it; along what is summed over. */
struct contract_shape {
	int rows, columns, depth, slots; /* slots: tiles in shared memory at the same time */
	int warps_down, warps_across, warp_rows, warp_columns, threads;
	int parts, part_step; /* of warpgroups: how often a warp has 16 rows, and how far these are from each other */
	int split;   /* blocks that make a tile together, a part of what is summed over each; 0 or 1: one makes it */
	bool stream; /* all blocks share the last tiles evenly */
	int group; /* of tiles below each other that blocks go through before the next columns; 0: all columns first */
};

/* What rule contract finds: the sum with operands as they are, and with those that allow no vectors laid out anew. */
struct contract_found {
	bool fits[2];
	struct contract as[2];
	int stages;
};

struct contract_stream;

int contract_element_bytes(const struct contract *c); /* of both operands */
/* Whether a plain kernel's tile of the side has a gap behind each row, so that its columns lie in different banks. */
bool contract_lies_apart(const struct contract *c, int side, enum contract_way way);
bool contract_match(struct contract *c, struct ir_program *p, const struct ir_stage *s);
/* The same with operands that allow no vectors laid out anew along an axis that is summed over. False: there is no such
 * way, or no need. The buffers are the caller's to make: contract_pack(). */
bool contract_match_packed(struct contract *c, struct ir_program *p, const struct ir_stage *s);
/* By one or the other, as a choice says. */
static inline bool contract_match_as(struct contract *c, struct ir_program *p, const struct ir_stage *s, bool packed)
{
	return packed ? contract_match_packed(c, p, s) : contract_match(c, p, s);
}
/* The steps that lay operands out anew, and their buffers. */
void contract_pack(struct ir_plan *plan, struct contract *c, const struct sched_choice *choice,
                   const struct sched_target *t);
/* An operand's load, and what it stands behind (null: nothing): value = cond ? load : other. */
expr contract_load_of(const struct contract_operand *o);
expr contract_condition_of(const struct contract_operand *o);
/* Nanoseconds that these steps take, about. */
double contract_pack_time(const struct contract *c, const struct sched_target *t);
struct contract_shape contract_shape(const struct contract *c, const struct sched_choice *choice);
/* Appends the kernel to the step: with vectors, for extents of which `fits` holds; or, null, for whatever extents.
 * False: not for positions beyond 2^31. */
bool contract_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                     const struct sched_choice *choice, expr fits);
/* The one for those: an element a thread. */
void contract_element_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                             const struct sched_choice *choice);
/* With vectors and, where it must be, without: all that rule contract makes. */
void contract_kernels(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                      const struct sched_choice *choice);
void contract_find_way(struct contract *c, int side);
/* Whether a kernel before can lay a tensor of bytes along what is summed over; the operand after it, and that stage. */
bool contract_turns(const struct contract *c, int side);
void contract_turn(struct contract *c, int side, struct ir_stage *stage);
/* The tensor map of an operand's tiles, and where a tile is in it. */
struct contract_map {
	struct ir_tensor_map map;
	int at[IR_MAP_RANK];                     /* boxes: out's axes of the dimensions behind the first two */
	bool walks;                              /* over an image's positions */
	expr from[IR_MAP_RANK], by[IR_MAP_RANK]; /* walks: of a dimension's index, over out's axes, over the reduced
	                                            ones */
	expr fits;                               /* bool: CUDA takes such a map */
};
/* False where there is none. */
bool contract_map(struct contract_map *map, const struct contract *c, int side);
/* The same by warpgroups (sm_90 alone), with vectors. */
struct contract_shape contract_wide_shape(const struct contract *c, const struct sched_choice *choice);
void contract_wide_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, expr fits);
/* And by warpgroups to which one more warp brings the tiles, for operands that have tensor maps. */
struct contract_shape contract_ring_shape(const struct contract *c, const struct sched_choice *choice);
int contract_wide_bytes(const struct contract_shape *s); /* of shared memory */
int contract_ring_bytes(const struct contract_shape *s);
/* `stream`: of choices that say so, or null. */
void contract_ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, struct contract_stream *stream, expr fits);
/* What blocks that share the last tiles leave for each other: its buffers, and the step that clears them. */
struct contract_stream *contract_stream_new(struct ir_plan *plan, const struct contract *c,
                                            const struct sched_choice *choice);

#endif
