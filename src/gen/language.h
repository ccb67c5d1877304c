/* A language of kernels: its printer and its compiler. CUDA C++ for GPUs and the emulator, C11 for a processor. A
 * printer knows neither operators nor schedules. docs/add-a-target.md says what another language needs. */
#ifndef TPAT_GEN_LANGUAGE_H
#define TPAT_GEN_LANGUAGE_H

#include "base/embed.h"
#include "dev/dev.h"
#include "ir/kernel.h"

struct language {
	const char *name;   /* "CUDA C++" */
	const char *ending; /* of files with such text: ".cu" */
	/* The text of some plans, of one program or of programs with different names, after what `out` holds. It is
	 * complete but for the headers that embed_is_header() gives the language. Of kernels of one name, which are
	 * one function, the first is printed. */
	void (*print)(struct str *out, const struct ir_plan *const *plans, int n);
	/* A text to code in `a`, without a device: for a GPU of architecture `arch`, which a language for processors
	 * does not look at. The compiler's messages go to *log, which may be null. ERR_DEVICE where there is no
	 * compiler, or it takes the text for wrong. Any thread. */
	int (*compile)(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
	               struct err *e);
};

/* #include "tpat_device.h"; kernels are __global__ functions. NVRTC compiles it. */
extern const struct language language_cuda;

/* For each kernel `void NAME(void *const *args, const uint32_t block[3])`, to be called once for each block of the
 * grid; args as cuLaunchKernel takes them. Includes only libc's headers. $CC or cc compiles it. */
extern const struct language language_c;

const struct language *language_of(enum kernel_language id);

#endif
