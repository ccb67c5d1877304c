/* The interface between compiled kernel texts and the emulator. C and C++. */
#ifndef TPAT_EMULATOR_EMULATOR_HOST_H
#define TPAT_EMULATOR_EMULATOR_HOST_H

#include <stddef.h>
#include <stdint.h>

struct emulator_triple {
	unsigned x, y, z;
};

/* threadIdx, blockIdx, blockDim, gridDim of the running thread; its block's number in the process, from 1; its own
 * number among concurrent threads; its block's rank in the cluster. */
struct emulator_index {
	struct emulator_triple thread, block, block_dim, grid_dim;
	unsigned block_id, fibre, rank;
};

/* A tensor that tiles are copied from. */
struct emulator_map {
	const char *from;
	int64_t stride[5];
	int dim[5], count[5], pixels;
	short box[5], first[5];
	signed char step[5], element_bytes, rank;
};

enum emulator_exchange {
	EMULATOR_SHUFFLE,
	EMULATOR_SHUFFLE_UP,
	EMULATOR_SHUFFLE_DOWN,
	EMULATOR_SHUFFLE_XOR,
	EMULATOR_BALLOT,
	EMULATOR_SYNC_WARP,
};

enum emulator_vote { EMULATOR_VOTE_NONE, EMULATOR_VOTE_COUNT, EMULATOR_VOTE_AND, EMULATOR_VOTE_OR };

struct emulator_host {
	uintptr_t base, span; /* range of checked addresses */
	/* Checks an access of `bytes` at p; aligned: p must be a multiple of bytes. Does not return on an error. */
	void (*read)(const void *p, size_t bytes, int aligned);
	void (*write)(void *p, size_t bytes, int aligned);
	void (*atomic_get)(void *to, const void *p, size_t bytes);
	void (*atomic_put)(void *p, const void *from, size_t bytes);
	int (*barrier)(int vote, int value, const char *file, int line);
	/* All threads of a cluster wait for each other. The counterpart of p in the shared memory of the cluster's
	 * block of that rank. */
	void (*cluster_barrier)(const char *file, int line);
	void (*cluster_read)(void *to, const void *p, size_t bytes, int rank);
	uint64_t (*exchange)(int kind, unsigned mask, uint64_t value, int lane, int width, const char *file, int line);
	unsigned (*active_lanes)(void);
	/* Waits until the word changes; everything done before now happens before everything after it, in all
	 * threads. */
	void (*until_not)(const uint64_t *word, uint64_t value, const char *file, int line);
	void (*order)(void);
	void *(*shared)(int id, size_t bytes, const char *name);
	void *(*dynamic_shared)(const char *name);
	void (*argument)(const void *p, int number); /* a pointer argument of the kernel */
	void (*fail)(const char *what, ...);
	/* The C library's, unchecked. */
	void *(*copy)(void *to, const void *from, size_t bytes);
	void *(*fill)(void *to, int byte, size_t bytes);
};

struct emulator_kernel {
	const char *text, *name;
	void (*call)(void **args);
	int most_threads; /* of __launch_bounds__; 0: none given */
	int cluster;      /* blocks per cluster; 0: no clusters */
	int together;     /* blocks wait for each other: all run at the same time */
	int fibres;       /* threads wait for each other */
	int fences;       /* blocks may pass data to each other */
	int may_race;
};

#endif
