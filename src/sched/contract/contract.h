/* Contractions: sums of products of two operands, such as matrix products and convolutions. contract_match.c recognises
 * them from a stage's index expressions. contract_emit.c writes the kernel: on tensor cores, or with ordinary
 * multiply-adds for element types that tensor cores do not take (`plain`). */
#ifndef TPAT_SCHED_CONTRACT_H
#define TPAT_SCHED_CONTRACT_H

#include "sched/rule.h"

enum { CONTRACT_STAGES = 8, CONTRACT_VECTOR = 8 /* elements per vectorised store */ };

/* Axes of the result: in both operands (or in neither), in the left operand only, in the right operand only. */
enum contract_group { CONTRACT_BATCH, CONTRACT_ROW, CONTRACT_COLUMN, CONTRACT_GROUPS };

/* The ways to copy an operand's tile to shared memory. GATHER: element by element, tile rows along the reduced axes.
 * STRAIGHT: 16-byte copies, same orientation. TURNED: 16-byte copies, tile rows along the result's rows or columns. */
enum contract_way { CONTRACT_GATHER, CONTRACT_STRAIGHT, CONTRACT_TURNED };

struct contract_operand {
	enum type type;        /* element type */
	expr value;            /* an element of that type, over the result's and the reduced axes */
	bool computed;         /* `value` is more than an element of a tensor: kernels gather it */
	struct ir_stage *pack; /* the map that makes the buffer that `value` reads; null: the program has it already */
	expr zero;             /* zero point, i32 over the result's axes, subtracted from each element; null: none */
	enum contract_way way; /* the fastest that its strides allow */
	expr fits;             /* bool over symbols: extents and strides are whole vectors */
};

struct contract {
	struct ir_program *p;
	const struct ir_stage *whole;    /* the sum */
	const struct ir_stage *s;        /* the sum over the contraction's axes: `whole`, or made by contract_split.c or
	                                  * contract_pad.c */
	expr own[IR_MAX_RANK];           /* axes of `whole` over those of s */
	expr inside;                     /* bool over axes of s: the point is one of `whole` */
	int parts;                       /* not 0: of `whole`, axis 0 numbers so many parts of each sum */
	bool plain;                      /* multiplies and adds in the element type */
	struct contract_operand side[2]; /* left: rows; right: columns, including the result's last axis */
	int axes[CONTRACT_GROUPS];       /* number of axes in each group */
	int axis[CONTRACT_GROUPS][IR_MAX_RANK];
	expr extent[CONTRACT_GROUPS], depth; /* depth: size of the reduced space */
	expr low[IR_MAX_RANK];               /* by reduced axis, over batch axes: below are only zeros; null: from 0 */
	int order[IR_MAX_RANK];              /* order in which kernels traverse the reduced axes, innermost last */
	int width;                           /* store width: CONTRACT_VECTOR, or 1 where that never fits */
	expr fits;                           /* bool: extents and strides are multiples of `width` */
	const struct ir_stage *made[CONTRACT_STAGES]; /* `whole`, and the epilogue: maps over the same elements */
	int stages;
	const struct ir_stage *source; /* a map whose result is computed where a copy of it would be made; null: none */
};

/* Kernel shape. Sizes in elements: block tile, warp tile, and step along the reduced axes. */
struct contract_shape {
	int rows, columns, depth, slots; /* slots: pipeline stages */
	int warps_down, warps_across, warp_rows, warp_columns, threads;
	int producers;        /* threads of a ring's producer: a warp, or a warpgroup that gives up its registers */
	int parts, part_step; /* warpgroups: number of 16-row parts per warp, and the distance between them in rows */
	int split;            /* split-K: blocks that share a tile, each with a part of the depth; 0 or 1: none */
	bool stream;          /* stream-K: all blocks share the last tiles evenly */
	bool turns;           /* the ring's two warpgroups take tiles in turn, each a whole one */
	int group;            /* tile rows that blocks go through before the next column; 0: row by row */
};

/* Repacking of operands before the sum: none; so that vectors run along a reduced axis; the same with that axis padded
 * to whole vectors; padded to whole steps of 128 bytes. */
enum contract_packing { CONTRACT_AS_IT_IS, CONTRACT_PACKED, CONTRACT_PADDED, CONTRACT_PADDED_STEPS, CONTRACT_PACKINGS };

/* The sums of each operand that the other's zero point multiplies, in kernels of their own; see contract_apart.c. */
struct contract_sums {
	bool has[2];
	struct ir_stage stage[2];
};

/* The match of rule contract: the sum with operands repacked in each way that may help. */
struct contract_found {
	bool fits[CONTRACT_PACKINGS];
	struct contract as[CONTRACT_PACKINGS];
	struct contract_sums sums; /* rule contract_wide */
	int stages;
};

struct contract_stream;

int contract_element_bytes(const struct contract *c); /* element size of both operands */
/* True if sums on warpgroups are added to others after each step: products of 8-bit floats. */
bool contract_is_promoted(const struct contract *c);
/* True if a plain kernel pads each row of this side's tile to avoid bank conflicts. */
bool contract_lies_apart(const struct contract *c, int side, enum contract_way way);
bool contract_match(struct contract *c, struct ir_program *p, const struct ir_stage *s);
/* The same of s, which stands for the program's stage `place`, with 8-bit operands that are computed from what they
 * load: kernels then gather the values. */
bool contract_match_computed(struct contract *c, struct ir_program *p, const struct ir_stage *s,
                             const struct ir_stage *place);
/* Its parts: the operands and their axes, over the stage's axes as they are, or split where operands share an axis only
 * in part. */
bool contract_match_over(struct contract *c, struct ir_program *p, const struct ir_stage *s);
bool contract_match_computed_over(struct contract *c, struct ir_program *p, const struct ir_stage *s);
bool contract_match_split(struct contract *c, struct ir_program *p, const struct ir_stage *s);
void contract_find_lows(struct contract *c); /* fills in `low` */
/* Estimated length of a tile's sums, or of a part of them, the mean over the batch. */
double contract_about_depth(const struct contract *c, const struct sched_target *t);
/* Bytes that the products read from memory. Elements that windows or groups share come from the cache but once. */
double contract_memory_bytes(const struct contract *c, const struct sched_target *t);
expr contract_position(const struct contract *c); /* an element's position in the result, over axes of s */
void contract_find_width(struct contract *c);     /* of stores */
/* The same, with operands that allow no vectors repacked along a reduced axis. Returns false if that is impossible or
 * not needed. The caller creates the buffers: contract_pack(). */
bool contract_match_packed(struct contract *c, struct ir_program *p, const struct ir_stage *s);
/* The same of operands that are found. */
bool contract_pack_operands(struct contract *c);
/* Replaces both operands of a match by copies that are padded with zeros along a reduced axis, to rows of whole
 * `bytes`. Returns false if that is impossible or not needed. The caller creates the buffers. */
bool contract_match_padded(struct contract *c, int bytes);
/* The stage after map s, if it is the only reader of its result; else null. */
const struct ir_stage *contract_only_reader(const struct ir_program *p, const struct ir_stage *s);
/* The value with the map's elements computed instead of loaded. */
expr contract_with_map(struct ir_program *p, expr value, const struct ir_stage *map);
/* Lets the sum read the copy of the source, which holds an element at `load` (over the contraction's axes, which are
 * those of the sum). */
void contract_read_copy(struct contract *c, expr load);
/* Appends the steps that repack operands, and creates their buffers. */
void contract_pack(struct ir_plan *plan, struct contract *c, const struct sched_choice *choice,
                   const struct sched_target *t);
/* An operand's load, and its condition (null: none): value = condition ? load : other. */
expr contract_load_of(const struct contract_operand *o);
expr contract_element_of(const struct contract_operand *o); /* the same, perhaps in a cast */
expr contract_condition_of(const struct contract_operand *o);
/* True if an operand's condition only tests that indices are within the load's buffer. */
bool contract_tests_bounds(const struct contract *c, expr condition, expr load);
/* Estimated nanoseconds in which a repacking step reads an operand's bytes, or writes them. */
double contract_copy_time(double bytes, const struct sched_target *t);
/* Estimated time of the repacking steps in nanoseconds. */
double contract_pack_time(const struct contract *c, const struct sched_target *t);
/* Estimated clocks in which a block's threads compute the addresses of a step's 16-byte copies. */
double contract_copy_clocks(const struct contract *c, const struct contract_shape *k);
/* The same for elements of one operand that are gathered one by one. */
double contract_gather_clocks(const struct contract *c, const struct contract_shape *k, int side);
/* Clocks in which one multiprocessor makes the results of a tile's sums and stores them (contract_store.c). */
double contract_store_clocks(const struct contract *c, const struct contract_shape *k, const struct sched_target *t);
/* True if the results need memory besides the sums, other than constants. */
bool contract_results_load(const struct contract *c);
/* True if they need an element of its own for each result, such as a residual, which is not loaded ahead of the sums.
 */
bool contract_results_wait(const struct contract *c);
struct contract_shape contract_shape(const struct contract *c, const struct sched_choice *choice);
/* Appends the kernel to the step. `left`, `right`: that operand is loaded its way, for extents where its `fits` holds;
 * else it is gathered, for all extents. Returns false if positions may exceed 2^31. */
bool contract_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                     const struct sched_choice *choice, bool left, bool right);
/* True if both operands are loaded in vectors whatever the extents. */
bool contract_always_vectors(const struct contract *c);
/* The kernel for positions beyond 2^31: one element per thread. */
void contract_element_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                             const struct sched_choice *choice);
/* Appends the steps of rules contract and contract_wide. `source`: as in struct contract. */
void contract_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice,
                    const struct ir_stage *source);
void contract_wide_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice,
                         const struct ir_stage *source);
/* The vectorised kernel and, where needed, the scalar one: everything that rule contract makes. */
void contract_kernels(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                      const struct sched_choice *choice);
/* Fills in the sums for zero points, whose buffers are not the program's yet. Returns false where there are no zero
 * points, or where only a kernel that sums up its operands can subtract them. */
bool contract_find_sums(const struct contract *c, struct contract_sums *sums);
/* Makes c, which is `plain` with operands as they are or repacked, a sum of the elements alone, whose results subtract
 * what the sums say. */
void contract_take_apart(struct contract *c, const struct contract *plain, const struct contract_sums *sums);
/* Estimated time of the sums' kernels in nanoseconds. `copied`: the contraction with the operands that its kernel
 * reads: copies are summed up instead where that is faster. */
double contract_sums_time(const struct contract_sums *sums, const struct contract *copied,
                          const struct sched_target *t);
void contract_make_sums(struct ir_program *p, struct contract_sums *sums); /* creates the sums' buffers */
/* Appends the steps of the sums, after those that make the copies. */
void contract_apply_sums(struct ir_plan *plan, const struct contract_sums *sums, const struct contract *copied,
                         const struct sched_choice *choice, const struct sched_target *t);
void contract_find_way(struct contract *c, int side);
/* contract_turns: true if a kernel before this one can transpose a tensor of bytes so that it runs along the reduced
 * axes. contract_turn: transposes the operand and fills in that kernel's stage. */
bool contract_turns(const struct contract *c, int side);
void contract_turn(struct contract *c, int side, struct ir_stage *stage);
/* The tensor map (TMA descriptor) of an operand's tiles, and a tile's coordinates in it. */
struct contract_map {
	struct ir_tensor_map map;
	int at[IR_MAP_RANK]; /* boxes: result axes of the dimensions after the first two */
	bool walks;          /* im2col mode: traverses an image's positions */
	bool stepped;        /* boxes of several dimensions, one for each axis of the operand */
	int outer, inner; /* stepped: the dimension of the outermost of these axes; tile rows for each of its elements
	                   */
	expr from[IR_MAP_RANK], by[IR_MAP_RANK]; /* walks and stepped: a dimension's index: its parts over result axes
	                                            and over reduced axes */
	expr fits;                               /* bool: CUDA accepts this map */
};
/* Returns false if no such map exists. */
bool contract_map(struct contract_map *map, const struct contract *c, int side);
/* True if tiles of both operands have tensor maps. */
bool contract_has_maps(const struct contract *c);
/* The vectorised kernel on warpgroups (wgmma, sm_90 only). */
struct contract_shape contract_wide_shape(const struct contract *c, const struct sched_choice *choice);
void contract_wide_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, expr fits);
/* The warp-specialised kernel: a producer warp copies tiles for the warpgroups. Needs tensor maps. */
struct contract_shape contract_ring_shape(const struct contract *c, const struct sched_choice *choice);
int contract_wide_bytes(const struct contract_shape *s); /* bytes of shared memory */
/* `stream`: for choices with shared tiles (stream-K), else null. */
void contract_ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, struct contract_stream *stream, expr fits);
/* Stream-K: the buffers through which blocks exchange partial sums, and the step that clears them. */
struct contract_stream *contract_stream_new(struct ir_plan *plan, const struct contract *c,
                                            const struct sched_choice *choice);

#endif
