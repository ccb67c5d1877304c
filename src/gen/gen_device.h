/* Inside src/gen/: objects, functions and collectives of the device headers, as CUDA C++. */
#ifndef TPAT_GEN_GEN_DEVICE_H
#define TPAT_GEN_GEN_DEVICE_H

#include "gen/text.h"

void gen_type_of(struct gen_text *g, const struct ir_device_type *t, struct ir_template of);
void gen_shared(struct gen_text *g, const struct ir_shared *s); /* of a block */
void gen_local(struct gen_text *g, const struct ir_local *s);   /* of a thread */
void gen_placed(struct gen_text *g, const struct ir_place *s);  /* in a block's memory */
void gen_function(struct gen_text *g, const struct ir_call *c); /* its name with template arguments */
void gen_called(struct gen_text *g, const struct ir_device_function *f, struct ir_template of);
void gen_invoke(struct gen_text *g, const struct ir_call *c);
/* Collective operations of threads (gen_lanes.c). */
void gen_combine(struct gen_text *g, const struct ir_lanes *s);
void gen_scan(struct gen_text *g, const struct ir_scan *s);
void gen_items_scan(struct gen_text *g, const struct ir_items_scan *s);
void gen_tile(struct gen_text *g, const struct ir_tile *s);
void gen_before(struct gen_text *g, const struct ir_before *s);
/* Prints the includes that the plans' kernels need, tpat_device.h first. */
void gen_includes(struct str *out, const struct ir_plan *const *plans, int n);

#endif
