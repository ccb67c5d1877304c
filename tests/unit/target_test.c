/* GPUs by name: what users write finds what NVIDIA calls them, and facts that cannot be are not in the table. */
#include <string.h>

#include "sched/sched.h"
#include "tests/unit/test.h"

static const char *found(const char *name)
{
	const struct sched_target *t = sched_target_named(name);
	return t ? t->name : "none";
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
	for (const struct sched_target *t = sched_targets; t->name; t++) {
		CHECK(t->arch >= 75 && t->processors >= 4 && t->bytes_per_ns > 50 && t->launch_ns > 0 && t->typical > 0);
		CHECK(sched_target_named(t->name) == t);
	}
	return test_done();
}
