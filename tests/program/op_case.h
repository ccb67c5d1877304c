/* An operator's cases as programs: parses op_def.cases into tensor programs, for tests and benchmarks.
 *
 * A case is a list of words separated by blanks: inputs "x:f16[4,N]", with a known value "axes:i64[2]={0,-1}";
 * attributes "axis=-1", "pads=1,1,1,1", "mode=linear", "modes=LEAF,LEAF", tensors of one axis "keys=f32{1,2}";
 * "opset=13" (default: the operator's last version); "outputs=2" (default: one). An input is found by its slot's name;
 * other names follow in order. */
#ifndef TPAT_TESTS_OP_CASE_H
#define TPAT_TESTS_OP_CASE_H

#include "ops/lower/op.h"

/* Sets *out to the lowered program, not optimised, allocated in `a`. Inputs with a known value have `data`. Errors:
 * ERR_USAGE if the case is malformed; those of lower_node(). */
int op_case_program(struct ir_program **out, const struct op_def *op, const char *text, struct arena *a, struct err *e);

#endif
