/* Inside src/gen/: objects and functions of the device headers, as CUDA C++. */
#ifndef TPAT_GEN_GEN_DEVICE_H
#define TPAT_GEN_GEN_DEVICE_H

#include "gen/text.h"

void gen_shared(struct gen_text *g, const struct ir_shared *s); /* of a block */
void gen_local(struct gen_text *g, const struct ir_local *s);   /* of a thread */
void gen_placed(struct gen_text *g, const struct ir_place *s);  /* in a block's memory */
void gen_function(struct gen_text *g, const struct ir_call *c); /* its name with template arguments */
void gen_invoke(struct gen_text *g, const struct ir_call *c);
/* Prints the includes that the plans' kernels need, tpat_device.h first. */
void gen_includes(struct str *out, const struct ir_plan *const *plans, int n);

#endif
