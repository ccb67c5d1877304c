/* The tests' additions to the host of src/engine/tensorrt/host.h: a CPU device that runs the library's C functions,
 * memory with guard zones, and a process that seems to contain TensorRT (version, registry). */
#ifndef TPAT_TESTS_HOST_TRT_HOST_H
#define TPAT_TESTS_HOST_TRT_HOST_H

#include "engine/tensorrt/host.h"

/* The device: kernels are functions `void NAME(const uint32_t grid[3], const int32_t block[3], void **args)` that
 * `library` (a dlopen handle) exports. Counts calls; can be made to fail. */
struct trt_host_device {
	void *library;
	int current;      /* the device's number; negative: no device */
	const char *fail; /* "load", "upload", "map", "launch" or "copy" fails; null: none */
	int loads, uploads, launches, maps, unloads, releases;
};
struct tpat_rt_device trt_host_device(struct trt_host_device *d);

/* Memory with a guard zone of 256 bytes on both sides of every block; blocks are filled with 0xa5. */
struct trt_host_memory {
	int blocks;  /* not freed yet */
	int damaged; /* blocks found with a guard zone written to, when freed */
};
struct host_memory trt_host_memory(struct trt_host_memory *m);
void *trt_host_alloc(struct trt_host_memory *m, size_t bytes);
void trt_host_free(struct trt_host_memory *m, void *pointer);

/* A registry in the layout of a TensorRT version, that records registrations. */
enum { TRT_HOST_CREATORS = 64 };
struct trt_host_registry {
	const void *vptr;
	int form; /* see trt_form */
	void *creator[TRT_HOST_CREATORS];
	const char *name_space[TRT_HOST_CREATORS];
	int creators, most;         /* refuses more than `most` */
	int adds, removes, refused; /* calls; refused: a second creator of the same name, or removing an unknown one */
};
void trt_host_registry_init(struct trt_host_registry *r, int32_t version);
void *trt_host_find(const struct trt_host_registry *r, const char *name, const char *version, const char *name_space);

#endif
