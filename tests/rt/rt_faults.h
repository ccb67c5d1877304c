/* Part of rt_test.c: fails each of the runtime's allocations in turn: every method returns its failure value, logs,
 * leaks nothing, and works when tried again. Not under AddressSanitizer, which has its own malloc. */

/* The whole life of a plugin; returns true if everything worked. */
static bool live(void *creator, const struct trt_desc *d)
{
	struct trt_dynamic_desc range = { .desc = *d, .min = d->dims, .max = d->dims, .opt = d->dims };
	void *plugin = TRT_CALL(creator, trt_creator, create, NULL, NULL, TRT_PHASE_BUILD), *clone;
	float in[12] = { 0 }, out[12], workspace[256];
	const void *inputs[1] = { in };
	void *outputs[1] = { out }, *runtime;
	bool worked;

	if (!plugin)
		return false;
	void *build = TRT_CALL(plugin, trt_plugin, capability, TRT_BUILD);
	worked = TRT_CALL(build, trt_build, workspace, &range, 1, &range, 1) == 512;
	runtime = TRT_CALL(plugin, trt_plugin, capability, TRT_RUNTIME);
	clone = TRT_CALL(runtime, trt_runtime, attach, NULL);
	worked = worked && clone;
	TRT_CALL(plugin, trt_plugin, v.d0);
	if (!clone)
		return false;
	runtime = TRT_CALL(clone, trt_plugin, capability, TRT_RUNTIME);
	worked = TRT_CALL(runtime, trt_runtime, shape_change, d, 1, d, 1) == 0 && worked;
	worked = TRT_CALL(runtime, trt_runtime, enqueue, d, d, inputs, outputs, workspace, NULL) == 0 && worked;
	TRT_CALL(clone, trt_plugin, v.d0);
	return worked;
}

static int fault_lines;
static void fault_line(void *user, int severity, const char *line)
{
	(void)user, (void)severity;
	fault_lines += strstr(line, "out of memory") != NULL;
}

static void test_faults(void)
{
	struct tpat_rt_device d = trt_host_device(&device);
	struct host_options o = { .device = &d };
	struct host *h = NULL;
	struct trt_desc x = desc(TRT_FLOAT, TRT_LINEAR, 2, 3, 4).desc;
	int n = 0, silent = 0, survived = 0;
	bool worked, reached;

	fake_version = 0; /* the device's log, which allocates nothing */
	device = (struct trt_host_device){ 0 };
	d.log = fault_line;
	CHECK_INT(host_open(&h, library_path, &o, arena, &err), 0);
	device.library = dlopen(library_path, RTLD_NOW | RTLD_NOLOAD);
	dlclose(device.library);
	void *creator = host_creator(h, "RowSoftmax", NULL, NULL);
	do {
		fault_lines = 0;
		fail_at = ++n;
		worked = live(creator, &x);
		reached = fail_at == 0;
		fail_at = 0;
		/* Without memory for its timing cache ID a plugin has none, which is not a failure. */
		survived += reached && worked;
		silent += !worked && fault_lines == 0;
	} while (reached && n < 100);
	CHECK(worked);
	CHECK(!COUNTS_ALLOCATIONS || (n > 8 && n < 100));
	CHECK(survived <= 2);
	CHECK_INT(silent, 0);
	CHECK(live(creator, &x));
	close_all(h);
}
