/* Names of index axes, in programs and kernels: i, j, k ... for a stage's result; r, s, t ... for its iteration
 * space. */
#ifndef TPAT_IR_AXIS_NAMES_H
#define TPAT_IR_AXIS_NAMES_H

#include "ir/ir.h"

extern const char *const ir_axis_names[2][IR_MAX_RANK];

#endif
