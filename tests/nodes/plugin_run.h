/* Runs a program as a plugin: scheduled, generated, compiled, packaged into a library, and called through its ABI. */
#ifndef TPAT_TESTS_PLUGIN_RUN_H
#define TPAT_TESTS_PLUGIN_RUN_H

#include "base/machine.h"
#include "ir/ir.h"

/* Runs on device "cuda" or "cpu", which the first call opens and keeps open. Otherwise as plan_run_emulated(). */
int plugin_run(const char *device, struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
               struct arena *a, struct err *e);
/* The same with a library for AArch64, under qemu-aarch64. Needs build/aarch64/plugin_once and its driver. */
int plugin_run_elsewhere(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                         struct arena *a, struct err *e);

/* Makes a library with the program as its plugin "node", for a GPU of architecture `sm` and a host `machine` (null:
 * this one), and its folder. */
int plugin_build(struct ir_program *p, const char *folder, const char *library, int sm, const struct machine *machine,
                 struct arena *a, struct err *e);
/* A tensor that plugins exchange has another type at the edge, with the same bits: then returns how many elements are
 * one of that type along the last axis. */
int plugin_packs(const struct ir_buffer *b);

#endif
