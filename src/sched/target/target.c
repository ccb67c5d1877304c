/* The table of GPUs: kernels can be scheduled for them without the device. Sources:
 *
 * - CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and NVIDIA's libcu++, which has the
 *   same in arch_traits.h: threads, blocks, registers, shared memory, and the driver's share of it.
 * - The guide's "Arithmetic Instructions": results per clock of ordinary arithmetic.
 * - NVIDIA's data sheets and white papers: multiprocessors, boost clocks, memory, the L2 cache, rates of tensor cores.
 *   Teraflops are processors * clock * multiply-adds * 2: 989 of an H100 SXM are 2048 of f16 per clock, 65 of a T4 512,
 *   125 of an A10 512, 165 of an RTX 4090 256 (GeForce GPUs accumulate in f32 at half the rate). 8-bit integers run at
 *   two or four times the rate.
 * - deviceQuery of CUDA's samples: the L2 caches of Jetson Orin modules.
 * - If no number is published (mma.sync on sm_100 and later): that of the architecture before it.
 *
 * The memory bandwidth is nine tenths of the data sheet's, as a copy reaches: 2.9 to 3.0 of 3.35 TB/s on an H100 SXM,
 * 4.2 of 4.8 on an H200. The L2 bandwidth is 26.5 bytes per clock and multiprocessor, measured on an H100 SXM by
 * kernels that read and write; no data sheet has it. */
#include "sched/target/target.h"

#include <math.h>
#include <string.h>

#define KB(N) ((N) << 10)
#define MB(N) ((int64_t)((N) * (1 << 20)))

/* Ordinary arithmetic: floats as given; 64 integer products, each of 64 bits counted as three. */
#define FMA(F32, F64) \
	.fma = { [TYPE_F32] = F32, [TYPE_F64] = F64,      [TYPE_I32] = 64, \
		 [TYPE_U32] = 64,  [TYPE_I64] = 64 / 3.0, [TYPE_U64] = 64 / 3.0 }
#define MMA_WITH_F8(F16, BF16, BYTES, F8) \
	.mma = { [TYPE_F16] = F16,  [TYPE_BF16] = BF16,   [TYPE_I8] = BYTES, \
		 [TYPE_U8] = BYTES, [TYPE_F8E4M3FN] = F8, [TYPE_F8E5M2] = F8 }
#define MMA(F16, BF16, BYTES) MMA_WITH_F8(F16, BF16, BYTES, F16) /* 8-bit floats are multiplied as f16 */
#define WGMMA(F16, BYTES) \
	.wgmma = { [TYPE_F16] = F16,  [TYPE_BF16] = F16,       [TYPE_I8] = BYTES, \
		   [TYPE_U8] = BYTES, [TYPE_F8E4M3FN] = BYTES, [TYPE_F8E5M2] = BYTES }

/* With tcgen05 instructions: 2250 teraflops on a B200. */
#define TCGEN(F16) .products = F16

#define HOPPER_FEATURES (TARGET_COPY_ASYNC | TARGET_WGMMA | TARGET_TMA | TARGET_CLUSTERS)
#define LATER_FEATURES (TARGET_COPY_ASYNC | TARGET_TMA | TARGET_CLUSTERS)

/* A multiprocessor of each architecture: threads, blocks, shared memory, and the limit per block. All have 65536
 * registers, at most 1024 threads per block, 48 KB of declared shared memory and at most 255 registers per thread. */
#define PROCESSOR(ARCH, THREADS, BLOCKS, SHARED, MOST, FEATURES) \
	.arch = ARCH, .threads = THREADS, .blocks = BLOCKS, .shared = KB(SHARED), .block_shared_most = KB(MOST), \
	.features = FEATURES, .cluster_blocks = (FEATURES) & TARGET_CLUSTERS ? 8 : 1, .schedulers = 4, \
	.registers = 65536, .block_threads = 1024, .thread_registers = 255
#define SM75 PROCESSOR(75, 1024, 16, 64, 64, 0), FMA(64, 2)
#define SM80 PROCESSOR(80, 2048, 32, 164, 163, TARGET_COPY_ASYNC), FMA(64, 32), MMA(1024, 1024, 2048)
#define SM86 PROCESSOR(86, 1536, 16, 100, 99, TARGET_COPY_ASYNC), FMA(128, 2)
#define SM87 PROCESSOR(87, 1536, 16, 164, 163, TARGET_COPY_ASYNC), FMA(128, 2), MMA(1024, 1024, 2048)
#define SM89 PROCESSOR(89, 1536, 24, 100, 99, TARGET_COPY_ASYNC), FMA(128, 2)
/* With mma.sync Hopper reaches six tenths of the wgmma rate (Luo et al., Benchmarking and Dissecting the Nvidia Hopper
 * GPU Architecture). */
#define SM90 PROCESSOR(90, 2048, 32, 228, 227, HOPPER_FEATURES), FMA(128, 64), MMA(1300, 1300, 2600), WGMMA(2048, 4096)
#define SM100 PROCESSOR(100, 2048, 32, 228, 227, LATER_FEATURES), FMA(128, 64), MMA(1300, 1300, 2600), TCGEN(4096)
#define SM103 PROCESSOR(103, 2048, 32, 228, 227, LATER_FEATURES), FMA(128, 2), MMA(1300, 1300, 2600), TCGEN(4096)
#define SM110 PROCESSOR(110, 1536, 24, 228, 227, LATER_FEATURES), FMA(128, 2), MMA(512, 512, 1024)
#define SM120 PROCESSOR(120, 1536, 24, 100, 99, LATER_FEATURES), FMA(128, 2)
#define SM121 PROCESSOR(121, 1536, 24, 100, 99, LATER_FEATURES), FMA(128, 2)
/* Tensor cores of the architectures whose GPUs differ in them: data-centre and workstation GPUs, then GeForce. */
#define FULL_MMA MMA(512, 512, 1024)
#define HALF_MMA MMA(256, 256, 1024)
#define FULL_F8_MMA MMA_WITH_F8(512, 512, 1024, 1024)
#define HALF_F8_MMA MMA_WITH_F8(256, 256, 1024, 512)
/* Tensor cores of sm_75 support only f16 and 8-bit integers. */
#define TURING_MMA(F16) MMA(F16, 0, 1024)

#define GPU(NAME, PROCESSORS, GHZ, GB_PER_S, L2, ...) \
	{ .name = NAME, \
	  .processors = PROCESSORS, \
	  .clock_ghz = GHZ, \
	  .bytes_per_ns = 0.9 * (GB_PER_S), \
	  .l2_bytes = MB(L2), \
	  .l2_bytes_per_ns = 26.53 * (PROCESSORS) * (GHZ), \
	  .launch_ns = 2500, \
	  .typical = 64, \
	  __VA_ARGS__ }

/* The first GPU of an architecture represents it. */
const struct sched_target sched_targets[] = {
	GPU("H100 SXM", 132, 1.98, 3350, 50, SM90),
	GPU("H100 PCIe", 114, 1.755, 2039, 50, SM90),
	GPU("H100 NVL", 132, 1.785, 3938, 50, SM90),
	GPU("H200", 132, 1.98, 4800, 50, SM90),
	GPU("GH200", 132, 1.98, 4000, 50, SM90),
	GPU("T4", 40, 1.59, 320, 4, SM75, TURING_MMA(512)),
	GPU("RTX 2080 Ti", 68, 1.545, 616, 5.5, SM75, TURING_MMA(256)),
	GPU("A100 SXM 80GB", 108, 1.41, 2039, 40, SM80),
	GPU("A100 PCIe 80GB", 108, 1.41, 1935, 40, SM80),
	GPU("A100 40GB", 108, 1.41, 1555, 40, SM80),
	GPU("A30", 56, 1.44, 933, 24, SM80),
	GPU("A10", 72, 1.695, 600, 6, SM86, FULL_MMA),
	GPU("A40", 84, 1.74, 696, 6, SM86, FULL_MMA),
	GPU("RTX A6000", 84, 1.8, 768, 6, SM86, FULL_MMA),
	GPU("RTX 3060", 28, 1.777, 360, 3, SM86, HALF_MMA),
	GPU("RTX 3080", 68, 1.71, 760, 5, SM86, HALF_MMA),
	GPU("RTX 3090", 82, 1.695, 936, 6, SM86, HALF_MMA),
	GPU("Jetson AGX Orin 64GB", 16, 1.3, 204.8, 4, SM87),
	GPU("Jetson AGX Orin 32GB", 14, 0.93, 204.8, 4, SM87),
	GPU("Jetson Orin NX 16GB", 8, 0.918, 102.4, 2, SM87),
	GPU("Jetson Orin Nano 8GB", 8, 1.02, 102, 2, SM87),
	GPU("L40S", 142, 2.52, 864, 96, SM89, FULL_F8_MMA),
	GPU("L4", 58, 2.04, 300, 48, SM89, FULL_F8_MMA),
	GPU("L40", 142, 2.49, 864, 96, SM89, FULL_F8_MMA),
	GPU("RTX 4060", 24, 2.46, 272, 24, SM89, HALF_F8_MMA),
	GPU("RTX 4070", 46, 2.475, 504, 36, SM89, HALF_F8_MMA),
	GPU("RTX 4080", 76, 2.505, 717, 64, SM89, HALF_F8_MMA),
	GPU("RTX 4090", 128, 2.52, 1008, 72, SM89, HALF_F8_MMA),
	GPU("RTX 6000 Ada", 142, 2.505, 960, 96, SM89, FULL_F8_MMA),
	GPU("B200", 148, 1.965, 8000, 126, SM100),
	GPU("B300", 148, 1.92, 8000, 126, SM103),
	GPU("Jetson Thor", 20, 1.575, 273, 32, SM110),
	GPU("RTX 5090", 170, 2.407, 1792, 96, SM120, HALF_F8_MMA),
	GPU("RTX 5070", 48, 2.512, 672, 48, SM120, HALF_F8_MMA),
	GPU("RTX 5080", 84, 2.617, 960, 64, SM120, HALF_F8_MMA),
	GPU("RTX PRO 6000 Blackwell", 188, 2.617, 1792, 128, SM120, FULL_F8_MMA),
	GPU("DGX Spark", 48, 2.418, 273, 24, SM121, HALF_F8_MMA),
	{ .name = NULL },
};

const struct sched_target *sched_target_of_arch(int arch)
{
	for (const struct sched_target *t = sched_targets; t->name; t++)
		if (t->arch == arch)
			return t;
	return NULL;
}

const struct sched_target *sched_common_target(void)
{
	return sched_target_of_arch(80);
}

struct sched_target sched_target_like(const struct sched_target *row, const char *name, int arch)
{
	const struct sched_target *own = row ? row : sched_target_of_arch(arch), *like = own;

	for (const struct sched_target *t = sched_targets; !own && t->name; t++)
		if (t->arch < arch && (!like || t->arch > like->arch))
			like = t;
	struct sched_target out = like ? *like : sched_default_target;
	out.name = name;
	out.arch = arch;
	if (!own) { /* wgmma exists on sm_90 only */
		out.features &= ~(unsigned)TARGET_WGMMA;
		memset(out.wgmma, 0, sizeof out.wgmma);
	}
	return out;
}

/* Measured on an H100: its processors form groups of 16 or 18, and clusters of four or more use 16 of each. */
int target_in_clusters(const struct sched_target *t, int blocks)
{
	return blocks <= 2 ? t->processors : t->processors * 10 / 11;
}

double target_products(const struct sched_target *t)
{
	return fmax(t->products, fmax(t->mma[TYPE_F16], t->wgmma[TYPE_F16]));
}

double target_resident(const struct sched_target *t, double threads, double registers, double shared_bytes)
{
	double n = fmin(t->blocks, floor(t->threads / threads));
	int kept = t->shared - t->block_shared_most; /* bytes of each block that the driver reserves */

	if (threads > t->block_threads || shared_bytes > t->block_shared_most)
		return 0;
	if (registers > 0)
		n = fmin(n, floor(t->registers / (registers * threads)));
	return shared_bytes > 0 ? fmin(n, floor(t->shared / (shared_bytes + kept))) : n;
}
