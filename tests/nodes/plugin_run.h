/* Runs a program as a plugin: scheduled, generated, compiled, packaged into a library, and called through its ABI. */
#ifndef TPAT_TESTS_PLUGIN_RUN_H
#define TPAT_TESTS_PLUGIN_RUN_H

#include "ir/ir.h"

/* On device "cuda" or "cpu", which is opened at the first call and kept. Everything else as plan_run_emulated(). */
int plugin_run(const char *device, struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
               struct arena *a, struct err *e);

#endif
