/* What fake_gpu.c and fake_nvrtc.c share. */
#ifndef TPAT_TESTS_FAKE_GPU_H
#define TPAT_TESTS_FAKE_GPU_H

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { ARCH = 86 };

/* The head of a "cubin": the emulator's code follows, then the text, which says how many arguments a kernel has. */
struct image {
	char magic[8];
	uint64_t code, text; /* bytes */
};

#endif
