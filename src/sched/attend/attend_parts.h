/* Attention of few queries, of which blocks share the keys: each writes partial sums of its part, which a second kernel
 * joins. */
#ifndef TPAT_SCHED_ATTEND_PARTS_H
#define TPAT_SCHED_ATTEND_PARTS_H

#include "sched/attend/attend_mma.h"

struct attend_parts {
	int rows;   /* of a block */
	int keys;   /* the least that are worth a part */
	int blocks; /* about so many for all heads; at most, if there are more heads: one part of each */
};

/* The number of parts of each head's keys. */
expr attend_parts_of(const struct attend *a, const struct attend_parts *s);
/* Records of partial sums: as many floats as attention_few_record has, for each row and part. */
const struct ir_buffer *attend_records_new(const struct attend *a, const struct attend_parts *s);

/* A block's part in the first kernel. */
struct attend_part {
	expr part, parts, first, row; /* its number, of so many; its first query, and that one's number among all heads'
	                               */
};
struct attend_part attend_part_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_parts *s);
void attend_part_arguments(struct ir_program *p, struct ir_call *call, const struct attend_part *part,
                           const struct ir_buffer *records);

/* The second kernel; attend_join_time: the nanoseconds that it adds, for so many records. */
void attend_join_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct attend_parts *s, const struct ir_buffer *records);
/* The nanoseconds of loading keys and values: `bytes` from memory, `loaded` by all of so many blocks. */
double attend_load_time(const struct sched_target *t, double bytes, double loaded, double blocks);
double attend_join_time(const struct attend *a, const struct sched_target *t, double records);

#endif
