/* NVRTC, NVIDIA's run-time compiler of CUDA C, opened at run time: CUDA text in, cubin or PTX out. Needs no GPU and no
 * driver. Any number of threads may compile at once. */
#ifndef TPAT_DEV_NVRTC_H
#define TPAT_DEV_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* Opens NVRTC once. Searches, in this order: $TPAT_NVRTC (the library, or a folder with it or with a Python
 * installation's packages), the linker's own path, /usr/local/cuda*, PyPI's packages (nvidia-cuda-nvrtc and
 * nvidia-cuda-nvrtc-cu12) in $VIRTUAL_ENV, $CONDA_PREFIX and the site-packages of tpat's Python package, next to the
 * program (../build/venv, ../venv), in ./build/venv, ~/.local and /usr/local. ERR_DEVICE with advice if none is found.
 */
int dev_nvrtc_open(struct err *e);

const char *dev_nvrtc_path(void); /* of the opened library; null if not open */
int dev_nvrtc_version(void);      /* 13000 for 13.0; 0 if not open */

/* Its target architectures, ascending: {75, 80, ..., 121}, in the arena. */
int dev_nvrtc_archs(int **out, int *n, struct arena *a, struct err *e);
bool dev_nvrtc_has_arch(int arch);

struct dev_nvrtc_header {
	const char *name, *text; /* "tpat_device.h" */
};

struct dev_nvrtc_job {
	const char *file, *text; /* name for messages, CUDA text */
	const struct dev_nvrtc_header *header;
	int headers;
	int arch;                  /* 90: sm_90 */
	bool ptx;                  /* PTX for compute_<arch> instead of a cubin */
	const char *const *option; /* additional options, null-terminated, or null */
};

/* Compiles a text to an image in the arena (PTX ends with a NUL, which `size` counts). `log` (may be null) gets the
 * compiler's messages, also on failure; the error quotes their first lines. */
int dev_nvrtc_compile(const void **out, size_t *size, const struct dev_nvrtc_job *job, char **log, struct arena *a,
                      struct err *e);

/* The same, but takes code from the user's cache (base/cache.h) if it has this text's, and else keeps it there. With
 * *found the compiler did not run, and `log` is unchanged. */
int dev_nvrtc_compile_once(const void **out, size_t *size, bool *found, const struct dev_nvrtc_job *job, char **log,
                           struct arena *a, struct err *e);

#endif
