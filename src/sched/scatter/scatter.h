/* Inside src/sched/: shared by the scatter rules. */
#ifndef TPAT_SCHED_SCATTER_H
#define TPAT_SCHED_SCATTER_H

#include "sched/rule.h"

extern const char scatter_in_place[]; /* why other rules than `scatter` do not take a scatter into an input's memory */

/* Number of leading axes shared by the result and the updates. */
int scatter_common_axes(const struct ir_stage *s);
/* Marks the update axes that an update reads: in its value, its indices and its condition. */
void scatter_axes_read(const struct ir_stage *s, bool *used);
/* The row-major position of an update in the result's axes from `lead` on. `axis`: the update's axes. */
expr scatter_place(struct ir_program *p, const struct ir_stage *s, int lead, const expr *axis);
/* Emits one update of `to` at position `at`, atomic since another thread may update the same element. */
void emit_update(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, const struct ir_buffer *to,
                 expr at, expr value);
/* The same for the result itself, with pairs of 16-bit floats wherever there are two. */
void emit_update_of_result(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr at, expr value);
/* Estimated bytes that the updates read: of each buffer, the part that they can need. */
double scatter_bytes_read(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t);
/* Emits the serial twin: all updates in order. The axes before `lead` are declared already. */
void emit_serial_updates(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, int lead, expr *axis);

/* Vectorised loads of `width` neighbours along an axis with that extent: arrays BUFFER_v1, BUFFER_v2 ... (from `number`
 * on), whose items a loop over `v` takes. */
struct scatter_vectors {
	struct ir_program *p;
	int axis, width, number;
	expr extent;
	struct {
		VEC(expr);
	} load;
	expr v; /* index of the neighbour, for scatter_vectors_item */
};
void scatter_vectors_find(struct scatter_vectors *x, expr value);
struct ir_variable *scatter_vector(const struct scatter_vectors *x, int i);
/* The `load` callback of struct axes. */
expr scatter_vectors_item(void *user, expr e, expr flat);

#endif
