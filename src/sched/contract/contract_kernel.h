/* Inside the contract rules: the parts of contraction kernels.
 * contract_place.c: tile positions, and the serial twin of a block; contract_load.c: loads of operand tiles;
 * contract_emit.c: products with mma; contract_wide.c, contract_ring.c: products with wgmma;
 * contract_stream.c: tiles shared by all blocks (stream-K); contract_store.c: the epilogue. */
#ifndef TPAT_SCHED_CONTRACT_KERNEL_H
#define TPAT_SCHED_CONTRACT_KERNEL_H

#include "sched/contract/contract.h"
#include "sched/build/emit.h"

enum {
	WARP = 32,
	GROUP_THREADS = 128, /* of a warpgroup */
	TILE = 16,           /* rows of one mma; columns of two */
	FMA_DOWN = 4,
	FMA_ACROSS = 8 /* lanes of a warp without tensor cores: see tpat_fma.h */
};

/* The last tiles, shared by all blocks (contract_stream.c). */
struct contract_stream {
	const struct ir_buffer *parts, *marks; /* partial sums, one slot per block; flags that they are ready */
	expr blocks, steps, length;            /* number of blocks; steps per tile; steps per block in a shared tile */
	expr rounds, whole;                    /* tiles that a block makes alone; the same over all blocks */
	expr tile, from, jobs; /* of a block: its shared tile, its first step there, its number of jobs */
	expr is_whole;         /* true if the current job is a whole tile */
};

/* The range of the reduced space that a block sums: all of it, or its split-K part in whole steps. */
struct contract_range {
	expr from, to, first; /* first: number of the step at `from` */
};

static inline expr contract_length(struct contract_range r)
{
	return ir_binary(IR_SUB, r.to, r.from);
}

/* How a warp stores its sums in passes through shared memory: parts of its rows, in each all columns from pass to pass.
 * The lanes are `across` x `down`, and a lane goes down in `turns`. */
struct contract_passes {
	int width; /* neighbouring elements of a lane */
	int across, down, turns;
	int columns, rows; /* a lane's different columns (or vectors of them), and rows, in all passes */
};

/* A load of the results' expressions that a kernel does before it sums the products (contract_ahead.c). */
struct contract_ahead {
	expr load;
	struct ir_variable *array; /* [rows], or [rows][width]; a value if rows is 0 */
	int group, rows, width;    /* group: which of the lane's columns or rows a row is of */
};

struct contract_kernel {
	const struct contract *c;
	struct ir_program *p;
	struct contract_shape shape;
	bool vectors[2];                /* the side is loaded in its way, in vectors, not element by element */
	bool wide;                      /* tiles for warpgroups */
	struct contract_stream *stream; /* null: a block or a cluster makes each tile */
	int readers;                    /* not 0: number of consumer threads, the only ones in barriers */
	int store_columns;          /* not 0: columns of a warp's sums per pass through its own part of shared memory */
	expr axis[2 * IR_MAX_RANK]; /* values of the axes known so far */
	bool serial;                /* the serial twin: sums the whole reduced space */
	expr low[IR_MAX_RANK], depth; /* of the tile: where its sums begin on each reduced axis, and their length; null:
	                                 at 0; all of them */
	/* The innermost reduced axis in whole steps, so that a step is one point of the others, a window's tap; null:
	 * steps go over several points. */
	expr tap;
	struct contract_range range; /* kernels of mma and of ordinary multiply-adds: what the block sums */
	expr all;                    /* sum of one element */
	const struct ir_variable *made[CONTRACT_STAGES], *sums; /* sums: an array */
	expr item; /* index among the elements that a lane makes together */
	/* Results of several rows that a lane makes before it stores the first: arrays, by stage, and the row's index.
	 */
	const struct ir_variable *kept[CONTRACT_STAGES];
	expr kept_row;
	struct contract_passes passes;
	struct {
		VEC(struct contract_ahead);
	} ahead;
	expr ahead_row[CONTRACT_GROUPS]; /* the current column and row, by number among the lane's */
	/* The warpgroup that takes every second tile, and the tile's number among the block's; null: tiles are the
	 * whole block's. */
	expr group, round;
	/* Variables declared so far. Start of the block tile, of the warp tile, of the warpgroup's rows. */
	const struct ir_variable *first[2], *warp[2], *group_row;
	/* Per side: tiles, element function, gather state of the next tile, zero points, own sums (for zero points).
	 * Then the sums of products, the ring that copies tiles, the turns of its warpgroups, the shared memory of the
	 * epilogue, and the turn of a ring's warps. */
	const struct ir_variable *tile[2], *at[2], *next[2], *zero[2], *own_sum[2], *sum, *ring, *turns, *store_memory;
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

/* Emits an unrolled loop, sets its variable and returns its body. */
static inline struct ir_block *unrolled(const struct contract_kernel *k, struct ir_block *b, const char *name, int to,
                                        int step, expr *variable)
{
	struct ir_block *body =
	        emit_loop(k->p, b, name, index_(k, 0), index_(k, to), index_(k, step), index_(k, to), variable);
	b->at[b->n - 1].loop.unrolled = 1;
	return body;
}

/* Declare a group's axes, and the reduced axes, from the position over all of them. Only axes in `used`. */
void contract_declare_group(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr position,
                            const bool *used);
/* The same; where `merged`, by number in the group, an axis is 0 and the next one runs over both. */
void contract_declare_merged(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr position,
                             const bool *used, const bool *merged);
/* `along`: null, or a position over axes; axes contiguous in it may be merged into one, the others set to 0. */
void contract_declare_depth(struct contract_kernel *k, struct ir_block *b, expr position, const bool *used, expr along);
/* contract_tiles: number of tiles. contract_declare_place: the start of tile `block` and, with `warps`, of the warp
 * tile. */
expr contract_tiles(const struct contract_kernel *k);
expr contract_blocks(const struct contract_kernel *k); /* number of blocks, including split-K parts */
struct contract_range contract_declare_range(struct contract_kernel *k, struct ir_block *b);
/* bool: no block's part is empty. */
expr contract_range_fits(const struct contract_kernel *k);
void contract_declare_place(struct contract_kernel *k, struct ir_block *b, expr block, bool warps);
expr contract_depth(const struct contract_kernel *k);      /* the length of the tile's sums, with those of `tap` */
expr contract_most_depth(const struct contract_kernel *k); /* the same, the longest of all tiles */
/* Fills in `tap` where steps of one point each save work: addresses of a window's elements then differ only along the
 * innermost axis. */
void contract_find_tap(struct contract_kernel *k);
/* Declares the point of the step at `from`. Returns where the step begins on the innermost axis. */
expr contract_declare_tap(struct contract_kernel *k, struct ir_block *b, expr from);
/* Loops over a block's tiles, or takes the only one, and declares their positions. */
struct ir_block *contract_each_tile(struct contract_kernel *k, struct ir_block *b, expr blocks);
/* Stream-K. contract_stream_begin: declares a block's work. contract_each_piece: loops over its tiles or parts of tiles
 * and declares their positions. contract_join_parts: after the sums, adds the other blocks' partial sums to a part that
 * starts its tile and returns the block that stores it; stores any other part for its owner. */
void contract_stream_begin(struct contract_kernel *k, struct ir_block *b);
struct ir_block *contract_each_piece(struct contract_kernel *k, struct ir_block *b, struct contract_range *range);
void contract_bring_parts(struct contract_kernel *k, struct ir_block *b, expr turn);
struct ir_block *contract_join_parts(struct contract_kernel *k, struct ir_block *b, struct contract_range range);
/* Declares the warp's rows within its warpgroup. */
void contract_declare_group_rows(struct contract_kernel *k, struct ir_block *b);
/* Multiplies the tiles in the slot, of the step at `from`; the sums start at step `begin`. */
void contract_multiply_wide(struct contract_kernel *k, struct ir_block *b, expr slot, expr from, expr begin);
/* A warpgroup's accumulators, and the wait for the last products. */
void contract_declare_wide_sums(struct contract_kernel *k, struct ir_block *b);
void contract_finish_wide_sums(struct contract_kernel *k, struct ir_block *b);
void contract_declare_wide_tiles(struct contract_kernel *k, struct ir_block *b);
/* Sums and stores one element, whose axes are declared, in a serial kernel. */
void contract_sum_element(struct contract_kernel *k, struct ir_block *b);
const char *contract_text(const struct contract *c); /* a kernel's comment */
/* Finishes the kernel. Returns false if positions may exceed 2^31. */
bool contract_finish(struct contract_kernel *k, struct ir_plan *plan, struct ir_step *step, struct ir_kernel *kernel,
                     expr fits);

/* Operands, by side: 0 is the left one. */
extern const char *const contract_side_name[2];
enum contract_way contract_way_of(const struct contract_kernel *k, int side);
bool contract_is_turned(const struct contract_kernel *k, int side);
bool contract_through_registers(const struct contract_kernel *k, int side); /* otherwise by asynchronous copies */
struct ir_variable *contract_tiles_new(const struct contract_kernel *k, int side); /* an array, one tile per slot */
/* Emits the prologue of the loads: what must be set up before the first fetch. */
void contract_begin_loads(struct contract_kernel *k, struct ir_block *b);
/* Starts the load of a tile, from `depth` on, into the slot. Loads through registers complete in
 * contract_emit_put(). */
void contract_emit_fetch(struct contract_kernel *k, struct ir_block *b, int side, expr slot, expr depth);
void contract_emit_put(struct contract_kernel *k, struct ir_block *b, int side, expr slot);

/* Results. */
enum type contract_sum_type(const struct contract_kernel *k);
/* Fills in `passes`. False where warps store otherwise, or vectors for some extents only. */
bool contract_find_passes(struct contract_kernel *k);
int contract_part_rows(const struct contract_kernel *k); /* rows of a warp's sums per pass through shared memory */
/* The row of the warp tile that is row `row` of part `part`. */
expr contract_part_row(const struct contract_kernel *k, expr part, expr row);
/* The number of neighbouring rows whose elements alternate along a row of the result; 1: none. */
int contract_alternating_rows(const struct contract_kernel *k);
/* The number of lanes that store vectors next to each other, of a warp's `lanes` and the `vectors` of a pass's row: the
 * largest number that divides both. */
int contract_lanes_across(int vectors, int lanes);
/* The axes of the results, as far as the contraction's axes are declared. */
void contract_own_axes(const struct contract_kernel *k, expr *own);
/* Emits the loads that need not wait for a tile's sums, whose place is declared; and what such a load has loaded for
 * the current element: null if it is no such load. */
void contract_load_ahead(struct contract_kernel *k, struct ir_block *b);
expr contract_from_ahead(const struct contract_kernel *k, expr load);
bool contract_rows_ahead(const struct contract_kernel *k); /* true if a lane has values of several rows in registers */
void contract_make_element(struct contract_kernel *k, struct ir_block *b, int width);
struct ir_block *contract_if_inside(struct contract_kernel *k, struct ir_block *b); /* if it is one of the results */
void contract_declare_zeros(struct contract_kernel *k, struct ir_block *b);
bool contract_has_zeros(const struct contract_kernel *k);
/* Stores sum[part][8 columns] of every warp through the shared memory at `shared`, which must no longer be in use. */
void contract_store_results(struct contract_kernel *k, struct ir_block *b, const struct ir_variable *shared);

#endif
