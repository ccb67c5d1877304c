/* Products with packed weights. One operand of the sum is a map over numbers of 4 or 8 bits: a number less a zero
 * point, times a scale, both shared by a block of numbers. packed_match.c recognises these sums, packed_emit.c writes
 * the kernel. */
#ifndef TPAT_SCHED_PACKED_H
#define TPAT_SCHED_PACKED_H

#include "ir/device.h"
#include "sched/rule.h"

/* The weight of row n and depth k is (number - zero) * scale; `rounded`: that rounded to the columns' type, and so is
 * number - zero first (of integers, exactly). */
struct packed {
	struct ir_program *p;
	const struct ir_stage *s; /* the sum; with the map that makes the weights in it, if that is a stage before it */
	int stages;               /* 1, or 2 with that map */
	const struct ir_buffer *numbers;
	const struct ir_device_word *kind; /* of rt/device/tpat_packed.h */
	enum type type;                    /* of the columns' elements: f16 or bf16 */
	int bits, block;                   /* numbers that share scale and zero point; 0: all of a row */
	int64_t rows, depth, row_bytes;
	int row; /* the axis of out that counts rows; the others count columns */
	bool rounded;
	expr left;    /* load of a column's element */
	expr scale;   /* f32, over the row's axis and k; 1 if there is none */
	expr zero;    /* likewise: i32, of the numbers' range; or f32, of any numbers of the columns' type */
	bool wide;    /* elements of a column can be read as vectors */
	expr columns; /* their number */
};

/* Matches the sum s, or the map of weights s and the sum after it. Returns false if it is no such product. */
bool packed_match(struct packed *m, struct ir_program *p, const struct ir_stage *s);

/* The shape of a choice's kernel. tiles: tiles of 16 rows per warp. columns: groups of 8 columns. warps: per block.
 * stages: pipeline stages; all but one are copied ahead. pieces: pieces of 64 bytes per copy. down: warps with rows of
 * their own; the other warps share the depth. */
struct packed_shape {
	int tiles, columns, warps, stages, pieces, down;
};
struct packed_shape packed_shape(const struct sched_choice *c);
int packed_shared_bytes(const struct packed_shape *shape);
/* Appends the kernels of a choice for architecture `arch`. If the first needs more shared memory than every GPU has, a
 * kernel for the other GPUs follows. */
void packed_kernels(struct ir_plan *plan, struct ir_step *step, const struct packed *m, const struct sched_choice *c,
                    int arch);

#endif
