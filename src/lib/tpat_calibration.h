/* Inside src/lib/: a row of the cost model's constants that is read from text. */
#ifndef TPAT_LIB_TPAT_CALIBRATION_H
#define TPAT_LIB_TPAT_CALIBRATION_H

#include "sched/target/cost.h"

/* Parses a row as bench/calibrate writes it, "CALIBRATION(90, .mixed_clock = 0.75, ...)", with comments. Returns
 * ERR_MODEL if a number is missing, unknown or not above zero. */
int tpat_calibration_read(struct cost_table *out, const char *text, struct err *e);

#endif
