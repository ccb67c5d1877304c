/* The GPUs that kernels can be scheduled for without having one: facts of NVIDIA's data sheets. Bandwidth is nine tenths of what
 * the data sheet says: what a copy reaches on those measured (H100 SXM: 2.9 to 3.0 of 3.35 TB/s). */
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Source: CUDA C++ Programming Guide, compute capabilities, maximum amount of shared memory per thread block. */
#define SHARED_KB(ARCH)                                                                                                \
	((ARCH) == 75 ? 64 : (ARCH) == 80 || (ARCH) == 87 ? 163 : (ARCH) / 10 == 8 || (ARCH) / 10 == 12 ? 99 : 227)

#define GPU(NAME, ARCH, PROCESSORS, GB_PER_S)                                                                          \
	{                                                                                                              \
		.name = NAME, .arch = ARCH, .processors = PROCESSORS, .bytes_per_ns = 0.9 * (GB_PER_S),                \
		.shared_bytes = SHARED_KB(ARCH) << 10, .launch_ns = 2500, .typical = 64                                \
	}

/* The first one of an architecture stands for it. */
const struct sched_target sched_targets[] = {
	GPU("H100 SXM", 90, 132, 3350),
	GPU("H100 PCIe", 90, 114, 2039),
	GPU("H100 NVL", 90, 132, 3938),
	GPU("H200", 90, 132, 4800),
	GPU("GH200", 90, 132, 4000),
	GPU("T4", 75, 40, 320),
	GPU("RTX 2080 Ti", 75, 68, 616),
	GPU("A100 SXM 80GB", 80, 108, 2039),
	GPU("A100 PCIe 80GB", 80, 108, 1935),
	GPU("A100 40GB", 80, 108, 1555),
	GPU("A30", 80, 56, 933),
	GPU("A10", 86, 72, 600),
	GPU("A40", 86, 84, 696),
	GPU("RTX A6000", 86, 84, 768),
	GPU("RTX 3060", 86, 28, 360),
	GPU("RTX 3080", 86, 68, 760),
	GPU("RTX 3090", 86, 82, 936),
	GPU("Jetson AGX Orin 64GB", 87, 16, 204.8),
	GPU("Jetson AGX Orin 32GB", 87, 14, 204.8),
	GPU("Jetson Orin NX 16GB", 87, 8, 102.4),
	GPU("Jetson Orin Nano 8GB", 87, 8, 102),
	GPU("L40S", 89, 142, 864),
	GPU("L4", 89, 58, 300),
	GPU("L40", 89, 142, 864),
	GPU("RTX 4060", 89, 24, 272),
	GPU("RTX 4070", 89, 46, 504),
	GPU("RTX 4080", 89, 76, 717),
	GPU("RTX 4090", 89, 128, 1008),
	GPU("RTX 6000 Ada", 89, 142, 960),
	GPU("B200", 100, 148, 8000),
	GPU("B300", 103, 148, 8000),
	GPU("Jetson Thor", 110, 20, 273),
	GPU("RTX 5090", 120, 170, 1792),
	GPU("RTX 5070", 120, 48, 672),
	GPU("RTX 5080", 120, 84, 960),
	GPU("RTX PRO 6000 Blackwell", 120, 188, 1792),
	GPU("DGX Spark", 121, 48, 273),
	{ .name = NULL },
};

/* Whether all words of `name` are in the text, in any case: "jetson orin nx" is in "NVIDIA Jetson Orin NX 16GB". */
static bool has_words(const char *text, const char *name)
{
	size_t n;

	for (name += strspn(name, " "); *name; name += n + strspn(name + n, " ")) {
		const char *at = text;

		n = strcspn(name, " ");
		while (*at && !ascii_same_n(at, name, n))
			at++;
		if (!*at)
			return false;
	}
	return true;
}

const struct sched_target *sched_target_named(const char *name)
{
	for (const struct sched_target *t = sched_targets; t->name; t++)
		if (ascii_same(t->name, name))
			return t;
	for (const struct sched_target *t = sched_targets; *name && t->name; t++)
		if (has_words(t->name, name))
			return t;
	return NULL;
}

const struct sched_target *sched_target_of_arch(int arch)
{
	for (const struct sched_target *t = sched_targets; t->name; t++)
		if (t->arch == arch)
			return t;
	return NULL;
}
