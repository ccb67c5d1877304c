/* What a compiled kernel text and the emulator say to each other. C and C++. */
#ifndef TPAT_EMULATOR_EMULATOR_HOST_H
#define TPAT_EMULATOR_EMULATOR_HOST_H

#include <stddef.h>
#include <stdint.h>

struct emulator_triple {
	unsigned x, y, z;
};

/* threadIdx, blockIdx, blockDim, gridDim of the thread that runs; the number of its block in the process, from 1; its
 * own among all that run beside each other; its block's in the cluster. */
struct emulator_index {
	struct emulator_triple thread, block, block_dim, grid_dim;
	unsigned block_id, fibre, rank;
};

/* A tensor from which tiles are copied. */
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
	uintptr_t base, span; /* addresses that are checked */
	/* An access of `bytes` at p; aligned: p must be a multiple of bytes. Does not return when it is wrong. */
	void (*read)(const void *p, size_t bytes, int aligned);
	void (*write)(void *p, size_t bytes, int aligned);
	void (*atomic_get)(void *to, const void *p, size_t bytes);
	void (*atomic_put)(void *p, const void *from, size_t bytes);
	int (*barrier)(int vote, int value, const char *file, int line);
	/* All threads of a cluster wait for each other. What is at p in the shared memory of its block of that rank. */
	void (*cluster_barrier)(const char *file, int line);
	void (*cluster_read)(void *to, const void *p, size_t bytes, int rank);
	uint64_t (*exchange)(int kind, unsigned mask, uint64_t value, int lane, int width, const char *file, int line);
	unsigned (*active_lanes)(void);
	/* Waits until the word is something else; what any thread did before now comes before what any does from now
	 * on. */
	void (*until_not)(const uint64_t *word, uint64_t value, const char *file, int line);
	void (*order)(void);
	void *(*shared)(int id, size_t bytes, const char *name);
	void *(*dynamic_shared)(const char *name);
	void (*argument)(const void *p, int number); /* a pointer among the kernel's arguments */
	void (*fail)(const char *what);
};

struct emulator_kernel {
	const char *text, *name;
	void (*call)(void **args);
	int most_threads; /* of __launch_bounds__; 0: none said */
	int cluster;      /* blocks of a cluster; 0: there are none */
	int fibres;       /* threads wait for each other */
	int fences;       /* blocks may pass data to each other */
	int may_race;
};

#endif
