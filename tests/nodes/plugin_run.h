/* Runs a program as a plugin: scheduled, generated, compiled, packaged into a library, and called through its ABI. */
#ifndef TPAT_TESTS_PLUGIN_RUN_H
#define TPAT_TESTS_PLUGIN_RUN_H

#include "ir/ir.h"

/* Runs on device "cuda" or "cpu", which the first call opens and keeps open. Otherwise as plan_run_emulated(). */
int plugin_run(const char *device, struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
               struct arena *a, struct err *e);

#endif
