/* Printers: kernels to text. CUDA C++ for NVRTC and nvcc, C11 for a processor. Neither knows operators or schedules. */
#ifndef TPAT_GEN_GEN_H
#define TPAT_GEN_GEN_H

#include "ir/kernel.h"

/* The .cu text of some plans, of one program or of programs with different names: begins with #include "tpat_device.h".
 * Of kernels of one name, which are one function, the first is printed. */
void gen_cuda(struct str *out, const struct ir_plan *const *plans, int n);

/* The same kernels as C11: for each `void NAME(void *const *args, const uint32_t block[3])`, to be called once for each
 * block of the grid; args as cuLaunchKernel takes them. The text is complete: it includes only libc's headers. */
void gen_c(struct str *out, const struct ir_plan *const *plans, int n);

#endif
