/* GPUs by name: users' spellings match NVIDIA's names, and the table has no impossible facts. */
#include <math.h>
#include <string.h>

#include "lib/tpat_inside.h"
#include "sched/sched.h"
#include "tests/unit/test.h"

static const char *found(const char *name)
{
	const struct sched_target *t = tpat_gpu_named(name);
	return t ? t->name : "none";
}

static struct sched_target of_device(const char *name, int arch)
{
	return sched_target_like(tpat_gpu_in(name, arch), name, arch);
}

/* Drivers' names, and architectures that are not in the table. */
static void test_devices(void)
{
	struct sched_target t = of_device("NVIDIA GeForce RTX 4090", 89);
	CHECK(t.processors == 128 && t.mma[TYPE_F16] == 256 && t.arch == 89);
	CHECK_STR(t.name, "NVIDIA GeForce RTX 4090");
	t = of_device("NVIDIA A10", 86);
	CHECK(t.processors == 72);
	t = of_device("NVIDIA A100-SXM4-80GB", 80); /* not A10 */
	CHECK(t.processors == 108);
	t = of_device("NVIDIA H100 80GB HBM3", 90);
	CHECK(t.processors == 132 && target_has(&t, TARGET_WGMMA | TARGET_TMA));
	t = of_device("one of tomorrow", 95);
	CHECK(t.arch == 95 && t.threads == 2048 && target_has(&t, TARGET_TMA) && !target_has(&t, TARGET_WGMMA));
	CHECK(t.wgmma[TYPE_F16] == 0 && t.mma[TYPE_F16] > 0);
}

/* A driver's values replace the table's, except a Jetson's memory, for which it reports something else. */
static void test_drivers(void)
{
	struct dev_props nx = { .name = "Orin",
		                .arch = 87,
		                .sms = 8,
		                .clock_khz = 918000,
		                .memory_clock_khz = 918000,
		                .memory_bus_bits = 64,
		                .l2_bytes = 2 << 20,
		                .integrated = 1 };
	struct dev_props a10 = { .name = "NVIDIA A10",
		                 .arch = 86,
		                 .sms = 72,
		                 .clock_khz = 1695000,
		                 .memory_clock_khz = 6251000,
		                 .memory_bus_bits = 384 };
	const struct sched_target *orin = tpat_gpu_named("Jetson Orin NX 16GB");
	struct sched_target t;
	tpat_target_of_device(&t, &nx);
	CHECK(t.processors == 8 && t.l2_bytes == orin->l2_bytes && fabs(t.clock_ghz / orin->clock_ghz - 1) < 1e-9);
	CHECK(fabs(t.bytes_per_ns / orin->bytes_per_ns - 1) < 1e-9);
	CHECK(fabs(t.l2_bytes_per_ns / orin->l2_bytes_per_ns - 1) < 1e-9);
	tpat_target_of_device(&t, &a10);
	CHECK(fabs(t.bytes_per_ns / tpat_gpu_named("A10")->bytes_per_ns - 1) < 0.01);
}

int main(void)
{
	CHECK_STR(found("H100 SXM"), "H100 SXM");
	CHECK_STR(found("h100"), "H100 SXM");
	CHECK_STR(found("h100 pcie"), "H100 PCIe");
	CHECK_STR(found("L4"), "L4"); /* not L40S, in which it is */
	CHECK_STR(found("orin nx"), "Jetson Orin NX 16GB");
	CHECK_STR(found("rtx 4090"), "RTX 4090");
	CHECK_STR(found("GTX 480"), "none");
	CHECK_STR(found(""), "none");
	CHECK(sched_target_of_arch(90) == &sched_default_target);
	CHECK(sched_target_of_arch(52) == NULL);
	test_devices();
	test_drivers();
	CHECK(sched_common_target()->arch == 80);
	for (const struct sched_target *t = sched_targets; t->name; t++) {
		CHECK(t->arch >= 75 && t->processors >= 4 && t->bytes_per_ns > 50 && t->launch_ns > 0 &&
		      t->typical > 0);
		CHECK(tpat_gpu_named(t->name) == t);
		CHECK(TARGET_DECLARED <= t->block_shared_most && t->block_shared_most <= t->shared);
		CHECK(t->block_shared_most >= TARGET_SHARED_EVERYWHERE);
		CHECK(t->block_threads <= t->threads && t->blocks >= 16 && t->registers >= 65536 && t->schedulers == 4);
		CHECK(t->l2_bytes >= 1 << 20 && t->l2_bytes_per_ns > t->bytes_per_ns / 2 && t->clock_ghz > 0.5);
		CHECK(t->fma[TYPE_F32] > 0 && t->mma[TYPE_F16] > 0 && t->mma[TYPE_I8] > t->mma[TYPE_F16]);
		CHECK(target_has(t, TARGET_WGMMA) == (t->wgmma[TYPE_F16] > 0));
		CHECK(t->registers == TARGET_REGISTERS_EVERYWHERE);
		CHECK((t->cluster_blocks > 1) == target_has(t, TARGET_CLUSTERS));
		CHECK(target_in_clusters(t, 1) == t->processors && target_thread_registers(t, 1024) == 64);
		CHECK(target_past_cache(t) < t->l2_bytes && target_thread_registers(t, 128) == t->thread_registers);
		CHECK(target_resident(t, t->block_threads, 32, 0) >= 1);
		CHECK(target_resident(t, 2 * t->block_threads, 32, 0) == 0);
		CHECK(target_resident(t, 128, 32, t->block_shared_most) == 1);
		CHECK(target_resident(t, 128, 32, t->block_shared_most + 1) == 0);
	}
	return test_done();
}
