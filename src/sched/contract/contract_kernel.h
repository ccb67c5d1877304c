/* Inside the contract rules: the parts that kernels of contractions are put together from. contract_place.c: where a
 * block's tile is, and its elements on one processor; contract_load.c: tiles of operands; contract_emit.c: the
 * products; contract_wide.c, contract_ring.c: those of warpgroups; contract_stream.c: tiles that all blocks share;
 * contract_store.c: what is made of their sums. */
#ifndef TPAT_SCHED_CONTRACT_KERNEL_H
#define TPAT_SCHED_CONTRACT_KERNEL_H

#include "sched/contract/contract.h"
#include "sched/build/emit.h"

enum {
	WARP = 32,
	TILE = 16, /* rows of a product; columns of two */
	FMA_DOWN = 4,
	FMA_ACROSS = 8 /* lanes of a warp that uses no tensor cores: see tpat_fma.h */
};

/* The last tiles, which all blocks share (contract_stream.c). */
struct contract_stream {
	const struct ir_buffer *parts, *marks; /* sums of some of a tile's steps, a place a block; a word each: they are
	                                          there */
	expr blocks, steps, length;            /* how many; steps of a tile; of a block, in a shared tile */
	expr rounds, whole;                    /* tiles that a block makes alone; all blocks */
	expr tile, from, jobs;                 /* of a block: its shared tile, its first step there, tiles in all */
	expr is_whole;                         /* the one at hand */
};

struct contract_kernel {
	const struct contract *c;
	struct ir_program *p;
	struct contract_shape shape;
	bool fast;                      /* with vectors */
	bool wide;                      /* tiles are those of warpgroups */
	struct contract_stream *stream; /* null: blocks make whole tiles, or clusters do */
	int readers;       /* not 0: the block's first so many threads multiply, and the others have ended then */
	int store_columns; /* not 0: so many of a warp's sums go through shared memory at a time, which is theirs
	                    * alone */
	expr axis[2 * IR_MAX_RANK];                             /* values of axes, where they are known */
	expr all;                                               /* an element's sum */
	const struct ir_variable *made[CONTRACT_STAGES], *sums; /* sums: an array */
	expr item;                                              /* of the elements that a lane makes together */
	/* What the body has declared so far: where the tile begins, and a warp's part of it, or a warpgroup's; */
	const struct ir_variable *first[2], *warp[2], *group_row;
	/* of each side tiles, a function of its elements, what gathers the next tile, its zero points and its own sums;
	 * the sums of products; what copies tiles, and the memory behind that; what warps of a ring have done. */
	const struct ir_variable *tile[2], *at[2], *next[2], *zero[2], *own_sum[2], *sum, *ring, *store_memory;
	expr turn;
};

#define text(k, ...) arena_printf((k)->p->arena, __VA_ARGS__)

static inline expr index_(const struct contract_kernel *k, int64_t x)
{
	return ir_index(k->p->pool, x);
}

static inline expr plus(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static inline expr times(expr a, int64_t x)
{
	return ir_binary(IR_MUL, a, ir_index(a->pool, x));
}

/* An unrolled loop, its variable. */
static inline struct ir_block *unrolled(const struct contract_kernel *k, struct ir_block *b, const char *name, int to,
                                        int step, expr *variable)
{
	struct ir_block *body =
	        emit_loop(k->p, b, name, index_(k, 0), index_(k, to), index_(k, step), index_(k, to), variable);
	b->at[b->n - 1].loop.unrolled = 1;
	return body;
}

/* Names for a group's axes, given the position over all of them; for those summed over. Only of axes in `used`. */
void contract_declare_group(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr position,
                            const bool *used);
/* `along`: null, or a position over axes: those that are neighbours in it may be declared as one, the others as 0. */
void contract_declare_depth(struct contract_kernel *k, struct ir_block *b, expr position, const bool *used, expr along);
/* How many tiles there are; where tile `block` begins; with `warps`, a warp's part of it. */
expr contract_tiles(const struct contract_kernel *k);
expr contract_blocks(const struct contract_kernel *k); /* of as many as tiles need, each for its part */
/* What this block sums up: all, or its part, of whole steps. */
struct contract_range {
	expr from, to, first; /* the number of the step at `from` */
};
struct contract_range contract_declare_range(struct contract_kernel *k, struct ir_block *b);
/* bool: every block has a part. */
expr contract_range_fits(const struct contract_kernel *k);
void contract_declare_place(struct contract_kernel *k, struct ir_block *b, expr block, bool warps);
/* A block's tiles, where there are so many blocks: a loop over them, or the one; their places are declared. */
struct ir_block *contract_each_tile(struct contract_kernel *k, struct ir_block *b, expr blocks);
/* Blocks that share the last tiles: what a block has to do; a loop over its pieces, tiles or some steps of one, whose
 * places are declared; and, behind its sums: what begins with the tile is joined with the others' parts, to be stored
 * in the block that comes back, all other is left for who does so. */
void contract_stream_begin(struct contract_kernel *k, struct ir_block *b);
struct ir_block *contract_each_piece(struct contract_kernel *k, struct ir_block *b, struct contract_range *range);
void contract_bring_parts(struct contract_kernel *k, struct ir_block *b, expr turn);
struct ir_block *contract_join_parts(struct contract_kernel *k, struct ir_block *b, struct contract_range range);
/* A warp's part in a warpgroup's. */
void contract_declare_group_rows(struct contract_kernel *k, struct ir_block *b);
/* The tiles in the slot, of the step at `from`; sums begin at `begin`. */
void contract_multiply_wide(struct contract_kernel *k, struct ir_block *b, expr slot, expr from, expr begin);
struct ir_variable *contract_wide_sums(const struct contract_kernel *k); /* of a warpgroup */
void contract_declare_wide_tiles(struct contract_kernel *k, struct ir_block *b);
/* The kernel of what was put together. False: not for positions beyond 2^31. */
bool contract_finish(struct contract_kernel *k, struct ir_plan *plan, struct ir_step *step, struct ir_kernel *kernel,
                     expr fits);
/* The block's elements, one after the other. */
void contract_serial_block(struct contract_kernel *k, struct ir_block *b, expr blocks);

/* Operands: by their side, 0 the left one. */
extern const char *const contract_side_name[2];
enum contract_way contract_way_of(const struct contract_kernel *k, int side);
bool contract_is_turned(const struct contract_kernel *k, int side);
struct ir_variable *contract_tiles_new(const struct contract_kernel *k, int side); /* an array, one a slot */
/* What a tile needs before the first is asked for. */
void contract_begin_loads(struct contract_kernel *k, struct ir_block *b);
/* Asks for a tile, from `depth` on, into the slot; what goes through registers arrives with the put. */
void contract_emit_fetch(struct contract_kernel *k, struct ir_block *b, int side, expr slot, expr depth);
void contract_emit_put(struct contract_kernel *k, struct ir_block *b, int side, expr slot);

/* Results. */
enum type contract_sum_type(const struct contract_kernel *k);
void contract_make_element(struct contract_kernel *k, struct ir_block *b, int width);
void contract_declare_zeros(struct contract_kernel *k, struct ir_block *b);
bool contract_has_zeros(const struct contract_kernel *k);
/* sum[part][8 columns] of every warp, through the memory where `shared` lies, which nobody reads any more then. */
void contract_store_results(struct contract_kernel *k, struct ir_block *b, const struct ir_variable *shared);

#endif
