/* A language of kernels: its printer and its compiler. CUDA C++ for GPUs and the emulator, C11 for a processor. A
 * printer knows neither operators nor schedules. To add a language, see docs/add-a-target.md. */
#ifndef TPAT_GEN_LANGUAGE_H
#define TPAT_GEN_LANGUAGE_H

#include "base/embed.h"
#include "dev/dev.h"
#include "ir/kernel.h"

struct language {
	const char *name;   /* "CUDA C++" */
	const char *ending; /* file name ending: ".cu" */
	/* Appends the text of plans, of one program or of programs with different names, to `out`. It needs only the
	 * language's headers (embed_is_header()). Of kernels with the same name, which are the same function, prints
	 * the first. */
	void (*print)(struct str *out, const struct ir_plan *const *plans, int n);
	/* Compiles a text into `a` without a device, for a GPU of architecture `arch` (ignored by languages for
	 * processors). The compiler's messages go to *log, which may be null. ERR_DEVICE if there is no compiler or it
	 * rejects the text. Any thread. */
	int (*compile)(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
	               struct err *e);
};

/* #include "tpat_device.h"; kernels are __global__ functions. NVRTC compiles it. */
extern const struct language language_cuda;

/* For each kernel `void NAME(void *const *args, const uint32_t block[3])`, to be called once per block of the grid;
 * args as for cuLaunchKernel. Includes only libc headers. $CC or cc compiles it. */
extern const struct language language_c;

const struct language *language_of(enum kernel_language id);

#endif
