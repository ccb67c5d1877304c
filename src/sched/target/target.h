/* The target of a schedule: facts of a GPU, and the extents to expect. Facts come from a table (target.c) or from the
 * driver. Rules and the cost model use the facts and never a GPU's name or architecture, so a GPU outside the table
 * needs only a struct with its facts. */
#ifndef TPAT_SCHED_TARGET_H
#define TPAT_SCHED_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/type.h"

/* Instructions that not every GPU has. */
enum target_feature {
	TARGET_COPY_ASYNC = 1 << 0, /* asynchronous copies from memory to shared memory (cp.async) */
	TARGET_WGMMA = 1 << 1,      /* matrix products of warpgroups, from shared memory (wgmma) */
	TARGET_TMA = 1 << 2,        /* the copy engine for tiles (tensor maps) */
	TARGET_CLUSTERS = 1 << 3,   /* blocks that read each other's shared memory */
};

struct cost_table; /* cost.h */

struct sched_extent {
	const struct ir_expr *symbol; /* of the program's pool */
	int64_t value;
};

struct sched_target {
	const char *name;  /* "H100 SXM" */
	int arch;          /* 90 for sm_90: the compiler's target; no fact follows from it */
	unsigned features; /* of enum target_feature */

	/* Capacity of a multiprocessor: */
	int threads, blocks;
	int registers;  /* of 32 bits */
	int shared;     /* bytes of shared memory */
	int schedulers; /* each issues one warp instruction per clock */
	/* Limits of a block and of a thread: */
	int block_threads, cluster_blocks; /* blocks of a cluster, portable; 1: no clusters */
	int block_shared_most;             /* bytes of shared memory; above TARGET_DECLARED it is dynamic */
	int thread_registers;

	int processors; /* multiprocessors */
	int64_t l2_bytes;
	double clock_ghz;    /* the boost clock */
	double bytes_per_ns; /* memory bandwidth of a copy */
	double l2_bytes_per_ns;
	double launch_ns;

	/* Multiply-adds per clock of a multiprocessor; 0: there is no such instruction. */
	double fma[TYPE_COUNT];   /* ordinary arithmetic */
	double mma[TYPE_COUNT];   /* tensor cores with mma.sync, dense, accumulated in f32 or i32 */
	double wgmma[TYPE_COUNT]; /* tensor cores with wgmma */
	double products;          /* f16, with faster instructions that no kernel here uses; 0: there are none */

	const struct cost_table *measured; /* its own row of the cost model's constants; null: its architecture's */

	int64_t typical;                   /* default extent of a symbol */
	const struct sched_extent *extent; /* known extents of symbols */
	int extents;
	const struct ir_expr **asked; /* null, or a bool: takes the conditions on open extents that estimates found to
	                                 hold */
};

/* GPUs known by name; an entry without a name ends them. The first is the default target. */
extern const struct sched_target sched_targets[];
#define sched_default_target (sched_targets[0])
/* Returns the GPU that represents an architecture (90), or null. */
const struct sched_target *sched_target_of_arch(int arch);
/* Returns initial facts for a device called `name`: those of its row in the table, else of its architecture, else of
 * the nearest older architecture without the features of that one only (wgmma). `row` may be null. Keeps the pointer
 * `name`. */
struct sched_target sched_target_like(const struct sched_target *row, const char *name, int arch);
/* Returns the target of the fallback kernels, which run on all other architectures after a kernel for a single one. */
const struct sched_target *sched_common_target(void);

/* Lower bounds over all supported GPUs. A library's kernel may run on any of them, and match() does not know the GPU.
 */
enum {
	/* Bytes of dynamic shared memory of a block. A kernel that needs more is for one architecture only, and a
	 * fallback kernel follows it. */
	TARGET_SHARED_EVERYWHERE = 64 << 10,
	TARGET_REGISTERS_EVERYWHERE = 64 << 10, /* of a block */
};

enum {
	/* Most bytes that a kernel can declare in shared memory: a limit of CUDA C++, the same on every GPU. It binds
	 * objects of the device headers. A kernel's own arrays (struct ir_kernel.shared) become dynamic above it. */
	TARGET_DECLARED = 48 << 10,
	/* Upper bound on the bytes that functions of tpat_device.h declare to combine values over a block. */
	TARGET_EXCHANGE = 8 << 10,
	TARGET_DECLARED_DATA = TARGET_DECLARED - TARGET_EXCHANGE, /* left for a block's data in declarations */
	TARGET_ARRAYS_EVERYWHERE = TARGET_SHARED_EVERYWHERE - TARGET_EXCHANGE, /* and in arrays, on every GPU */
};

/* Bytes left for a block's arrays. Above TARGET_ARRAYS_EVERYWHERE the kernel is for this architecture. */
static inline int target_array_bytes(const struct sched_target *t)
{
	return t->block_shared_most - TARGET_EXCHANGE;
}

/* Most registers of a thread in a block of `threads` threads. */
static inline int target_thread_registers(const struct sched_target *t, int threads)
{
	int most = t->registers / threads;
	return most < t->thread_registers ? most : t->thread_registers;
}

/* Size from which data that stream through the L2 cache leave nothing useful in it: measured on an H100, two thirds of
 * the cache (32 of 50 MB). */
static inline int64_t target_past_cache(const struct sched_target *t)
{
	return t->l2_bytes / 25 * 16;
}

static inline bool target_has(const struct sched_target *t, unsigned features)
{
	return (t->features & features) == features;
}

/* Number of multiprocessors that can work at the same time with clusters of that number of blocks. */
int target_in_clusters(const struct sched_target *t, int blocks);
/* Upper bound on the f16 multiply-adds per clock of a multiprocessor. */
double target_products(const struct sched_target *t);
/* Occupancy: resident blocks per multiprocessor, of `threads` threads with `registers` each (an estimate: any
 * number) and `shared_bytes` bytes of shared memory per block; 0: such a block does not run. */
double target_resident(const struct sched_target *t, double threads, double registers, double shared_bytes);

#endif
