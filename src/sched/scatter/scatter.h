/* Inside src/sched/: what the rules for scatters share. */
#ifndef TPAT_SCHED_SCATTER_H
#define TPAT_SCHED_SCATTER_H

#include "sched/rule.h"

/* Marks which of its own axes an update reads: in its value, its place, and whether it is made. */
void scatter_axes_read(const struct ir_stage *s, bool *used);
/* Where an update belongs among the axes of the result from `lead` on, row-major; `axis`: of the update. */
expr scatter_place(struct ir_program *p, const struct ir_stage *s, int lead, const expr *axis);
/* One update into `to`, at position `at`; another thread may make one there. */
void emit_update(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, const struct ir_buffer *to,
                 expr at, expr value);
/* About how many bytes updates read: of each buffer, what they can need of it. */
double scatter_bytes_read(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t);
/* All updates in their order, for one processor: the axes before `lead` are there already. */
void emit_serial_updates(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, int lead, expr *axis);

/* Loads that are vectors of `width` neighbours along an axis of that extent: arrays BUFFER_v1, BUFFER_v2 ... (from
 * `number` on), of which a loop over `v` takes the items. */
struct scatter_vectors {
	struct ir_program *p;
	int axis, width, number;
	expr extent;
	struct {
		VEC(expr);
	} load;
	expr v; /* of the neighbours, for scatter_vectors_item */
};
void scatter_vectors_find(struct scatter_vectors *x, expr value);
struct ir_variable *scatter_vector(const struct scatter_vectors *x, int i);
/* For struct axes. */
expr scatter_vectors_item(void *user, expr e, expr flat);

#endif
