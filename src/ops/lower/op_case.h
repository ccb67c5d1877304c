/* An operator's cases as programs: what op_def.cases says becomes a tensor program, for tests and benchmarks.
 *
 * A case is words with blanks between: inputs "x:f16[4,N]", with a known value "axes:i64[2]={0,-1}"; attributes
 * "axis=-1", "pads=1,1,1,1", "mode=linear", "modes=LEAF,LEAF", tensors of one axis "keys=f32{1,2}"; "opset=13" (else
 * the operator's last version); "outputs=2" (else one). An input is found by its slot's name; other names follow in
 * order. */
#ifndef TPAT_OPS_OP_CASE_H
#define TPAT_OPS_OP_CASE_H

#include "ops/lower/op.h"

/* The lowered program, not optimised, in `a`. Inputs with a known value have `data`. Errors: ERR_USAGE for a case that
 * is not of this form; what lower_node() says. */
int op_case_program(struct ir_program **out, const struct op_def *op, const char *text, struct arena *a, struct err *e);

#endif
