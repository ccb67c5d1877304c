/* Ways to run a program, shared by node_test and zoo_test. */
#ifndef TPAT_TESTS_BACKENDS_H
#define TPAT_TESTS_BACKENDS_H

#include "ir/ir.h"

/* Runs a program: `inputs`: one tensor per input; `outputs`: filled, memory in `a`. */
typedef int backend_fn(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                       struct arena *a, struct err *e);

backend_fn backend_interp;         /* the interpreter, in one thread */
backend_fn backend_emulator;       /* the plan of forced_rule.h on the emulator */
backend_fn backend_cpu_plugin;     /* a plugin library with kernels in C */
backend_fn backend_aarch64_plugin; /* one for AArch64, under QEMU */
backend_fn backend_cuda_plugin;    /* a plugin library on a GPU */

#endif
