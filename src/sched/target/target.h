/* What kernels are for: facts of a GPU, and the extents that it will meet. Facts come from a table (target.c) or from
 * the driver; rules and the cost model ask for them by name and never for a GPU's name or architecture. A GPU that no
 * table names is a struct with its facts: nothing else needs to know it. */
#ifndef TPAT_SCHED_TARGET_H
#define TPAT_SCHED_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/type.h"

/* Instructions that not every GPU has. */
enum target_feature {
	TARGET_COPY_ASYNC = 1 << 0, /* copies from memory to shared memory that a warp does not wait for (cp.async) */
	TARGET_WGMMA = 1 << 1,      /* products of warpgroups, out of shared memory (wgmma) */
	TARGET_TMA = 1 << 2,        /* the engine that copies tiles (tensor maps) */
	TARGET_CLUSTERS = 1 << 3,   /* blocks that read each other's shared memory */
};

struct cost_table; /* cost.h */

struct sched_extent {
	const char *symbol;
	int64_t value;
};

struct sched_target {
	const char *name;  /* "H100 SXM" */
	int arch;          /* 90 for sm_90: what its kernels are compiled for; no fact follows from it */
	unsigned features; /* of enum target_feature */

	/* A multiprocessor holds at once: */
	int threads, blocks;
	int registers;  /* of 32 bits */
	int shared;     /* bytes of shared memory */
	int schedulers; /* each issues an instruction of a warp in a clock */
	/* A block, a thread may have: */
	int block_threads, cluster_blocks; /* blocks: of a cluster, on any GPU with clusters; 1: none */
	int block_shared;                  /* bytes of shared memory, in declarations */
	int block_shared_most;             /* bytes, asked for at the launch */
	int thread_registers;

	int processors; /* multiprocessors */
	int64_t l2_bytes;
	double clock_ghz;    /* the boost clock */
	double bytes_per_ns; /* of memory: the rate of a copy */
	double l2_bytes_per_ns;
	double launch_ns;

	/* Multiply-adds of a multiprocessor in a clock; 0: it has no such instruction. */
	double fma[TYPE_COUNT]; /* ordinary arithmetic */
	double mma[TYPE_COUNT]; /* tensor cores, by a warp's instructions (mma.sync), dense, summed up in f32 or i32 */
	double wgmma[TYPE_COUNT]; /* by a warpgroup's */
	double products;          /* of f16 by instructions that no kernel here uses, where these are faster; else 0 */

	const struct cost_table *measured; /* its own row of the cost model's constants; null: its architecture's */

	int64_t typical;                   /* the extent assumed of a symbol when nothing better is known */
	const struct sched_extent *extent; /* of symbols of which something better is known */
	int extents;
};

/* GPUs known by name; one without a name ends them. The first is what kernels are for when nothing is said. */
extern const struct sched_target sched_targets[];
#define sched_default_target (sched_targets[0])
/* By its name, or words of it in any case ("orin nx"): the first one; null: none. */
const struct sched_target *sched_target_named(const char *name);
/* The one that stands for an architecture (90); null: none. */
const struct sched_target *sched_target_of_arch(int arch);
/* The facts from which those of a device start that a driver calls `name`: of the GPU of the table that this is, else
 * of the architecture's, else of the nearest architecture before it, less what that one alone has (wgmma). Keeps
 * `name`. */
struct sched_target sched_target_of_device(const char *name, int arch);
/* The one by which kernels are chosen that follow one for a single architecture, for all others. */
const struct sched_target *sched_common_target(void);

/* What every GPU that kernels are made for has, at least. A kernel in a library may meet any of them, and what a rule
 * finds in a stage knows no GPU. */
enum {
	/* Bytes of shared memory that a block may ask for. One that asks for more is for the GPUs of one architecture,
	 * and another kernel follows it. */
	TARGET_SHARED_EVERYWHERE = 64 << 10,
	TARGET_DECLARED_EVERYWHERE = 48 << 10,  /* and have in declarations */
	TARGET_REGISTERS_EVERYWHERE = 64 << 10, /* of a block */
	/* Bytes of it that functions of tpat_device.h declare at most, to combine values over a block. */
	TARGET_EXCHANGE = 8 << 10,
};

/* Bytes of declared shared memory that a block's data may take. */
static inline int target_data_bytes(const struct sched_target *t)
{
	return t->block_shared - TARGET_EXCHANGE;
}

/* Registers that a thread of such a block may have. */
static inline int target_thread_registers(const struct sched_target *t, int threads)
{
	int most = t->registers / threads;
	return most < t->thread_registers ? most : t->thread_registers;
}

/* Bytes of which a cache keeps nothing that is of use later, when they come once: measured on an H100, two thirds of
 * its L2 cache (32 of 50 MB). */
static inline int64_t target_past_cache(const struct sched_target *t)
{
	return t->l2_bytes / 25 * 16;
}

static inline bool target_has(const struct sched_target *t, unsigned features)
{
	return (t->features & features) == features;
}

/* Multiprocessors that work at the same time where clusters have so many blocks. */
int target_in_clusters(const struct sched_target *t, int blocks);
/* Multiply-adds of f16 of a multiprocessor in a clock that no kernel exceeds. */
double target_products(const struct sched_target *t);
/* Blocks of `threads` threads that a multiprocessor holds at once, each thread with so many registers (an estimate: any
 * number), each block with so many bytes of shared memory; 0: such a block does not run. */
double target_resident(const struct sched_target *t, double threads, double registers, double shared_bytes);

#endif
