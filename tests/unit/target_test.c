/* GPUs by name: what users write finds what NVIDIA calls them, and facts that cannot be are not in the table. */
#include <string.h>

#include "sched/sched.h"
#include "tests/unit/test.h"

static const char *found(const char *name)
{
	const struct sched_target *t = sched_target_named(name);
	return t ? t->name : "none";
}

/* Drivers' names, and architectures that are not in the table. */
static void test_devices(void)
{
	struct sched_target t = sched_target_of_device("NVIDIA GeForce RTX 4090", 89);
	CHECK(t.processors == 128 && t.mma[TYPE_F16] == 256 && t.arch == 89);
	CHECK_STR(t.name, "NVIDIA GeForce RTX 4090");
	t = sched_target_of_device("NVIDIA A10", 86);
	CHECK(t.processors == 72);
	t = sched_target_of_device("NVIDIA A100-SXM4-80GB", 80); /* not A10 */
	CHECK(t.processors == 108);
	t = sched_target_of_device("NVIDIA H100 80GB HBM3", 90);
	CHECK(t.processors == 132 && target_has(&t, TARGET_WGMMA | TARGET_TMA));
	t = sched_target_of_device("one of tomorrow", 95);
	CHECK(t.arch == 95 && t.threads == 2048 && target_has(&t, TARGET_TMA) && !target_has(&t, TARGET_WGMMA));
	CHECK(t.wgmma[TYPE_F16] == 0 && t.mma[TYPE_F16] > 0);
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
	for (const struct sched_target *t = sched_targets; t->name; t++) {
		CHECK(t->arch >= 75 && t->processors >= 4 && t->bytes_per_ns > 50 && t->launch_ns > 0 &&
		      t->typical > 0);
		CHECK(sched_target_named(t->name) == t);
		CHECK(t->block_shared <= t->block_shared_most && t->block_shared_most <= t->shared);
		CHECK(t->block_shared_most >= TARGET_SHARED_EVERYWHERE);
		CHECK(t->block_threads <= t->threads && t->blocks >= 16 && t->registers >= 65536 && t->schedulers == 4);
		CHECK(t->l2_bytes >= 1 << 20 && t->l2_bytes_per_ns > t->bytes_per_ns / 2 && t->clock_ghz > 0.5);
		CHECK(t->fma[TYPE_F32] > 0 && t->mma[TYPE_F16] > 0 && t->mma[TYPE_I8] > t->mma[TYPE_F16]);
		CHECK(target_has(t, TARGET_WGMMA) == (t->wgmma[TYPE_F16] > 0));
		CHECK(target_resident(t, t->block_threads, 32, 0) >= 1);
		CHECK(target_resident(t, 2 * t->block_threads, 32, 0) == 0);
		CHECK(target_resident(t, 128, 32, t->block_shared_most) == 1);
		CHECK(target_resident(t, 128, 32, t->block_shared_most + 1) == 0);
	}
	return test_done();
}
