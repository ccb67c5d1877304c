/* Part of rt_test.c: the library in TensorRT 8.5 to 9.3, through its IPluginV2DynamicExt creators. */

/* V2 plugins compute as in TensorRT 10. */
static void test_v2_runs(int32_t version)
{
	struct host *h = open_as(version, false);

	test_double(h);
	test_threads(h);
	CHECK_STR(host_log(h), "");

	/* The workspace is enough for all extents up to the largest. */
	struct host_tensor min = tensor(1, 2, 1, 1), max = tensor(1, 2, 100, 30), out;
	struct host_engine *x = build(h, "RowSoftmax", &min, &max, 1), *y = NULL;
	struct host_memory m = trt_host_memory(&memory);
	bool right = true;
	CHECK(x);
	CHECK_INT(host_workspace(x), 2 * 512);
	CHECK_INT(host_engine_context(&y, x, arena, &err), 0);
	for (int i = 0; i < 20; i++) {
		struct host_tensor in = tensor(1, 2, random_in(1, 100), random_in(1, 30));
		float *data = trt_host_alloc(&memory, (size_t)(in.dim[0] * in.dim[1]) * 4);
		fill(data, in.dim[0] * in.dim[1]);
		in.pointer = data;
		CHECK_INT(host_run(i % 2 ? x : y, &in, &out, &m, NULL, &err), 0);
		check_softmax(data, out.pointer, in.dim[0], in.dim[1], &right);
		free_outputs(&out, 1);
		trt_host_free(&memory, data);
	}
	CHECK(right);
	host_engine_free(y);
	host_engine_free(x);
	struct host_tensor low = tensor(6, 1, 1, 0), high = tensor(6, 1, 100, 0);
	x = build(h, "Bump", &low, &high, 1);
	CHECK(x && host_workspace(x) >= 9216);
	host_engine_free(x);
	close_all(h);
}

/* Unsupported things are refused when the plugin is made, wrong tensors when they are described. */
static void test_v2_refusals(void)
{
	struct host *h = open_as(8601, false);
	struct host_tensor in = tensor(6, 1, 6, 0);
	void *creator = host_creator(h, "Double", "1", "tpat");

	CHECK(!build(h, "FindOdd", &in, &in, 1));
	CHECK(err_has("createPlugin failed: tpat plugin FindOdd: createPlugin: its kernels compute the extents of an "
	              "output, which TensorRT 8 and 9 do not support"));
	in = tensor(10, 2, 3, 4);
	CHECK(!build(h, "Double", &in, &in, 1));
	CHECK(err_has("supportsFormatCombination refuses the type of tensor 0"));
	CHECK_INT(TRT_CALL(creator, trt_creator_8, tensorrt_version), 8601);
	CHECK_INT(TRT_CALL(creator, trt_creator_8, field_names)->count, 0);

	/* A saved plugin: only this program, with these kernels. */
	void *p = TRT_CALL(creator, trt_creator_8, create, "n", NULL);
	char saved[16];
	CHECK_INT(TRT_CALL(p, trt_plugin_8, tensorrt_version), 0x03002199);
	CHECK_INT(TRT_CALL(p, trt_plugin_8, serialization_size), 6);
	TRT_CALL(p, trt_plugin_8, serialize, saved);
	CHECK(memcmp(saved, "d0\0d0", 6) == 0);
	for (size_t n = 0; n < 6; n++)
		CHECK(!TRT_CALL(creator, trt_creator_8, deserialize, "n", saved, n));
	saved[4]++;
	CHECK(!TRT_CALL(creator, trt_creator_8, deserialize, "n", saved, 6));
	CHECK(!TRT_CALL(creator, trt_creator_8, deserialize, "n", NULL, 0));
	CHECK(log_has(h, "tpat plugin Double: deserializePlugin: the engine was made with another program or other "
	                 "kernels than this library's (d0, d0)"));
	host_log_clear(h);

	/* Extents beyond the table's rank, unknown outputs, null arrays: an error, no launch. */
	struct trt_desc_8 d = { .dims = { 3, { 1, 2, 3 } }, .type = TRT_FLOAT, .scale = -1 };
	struct trt_dynamic_desc_8 range = { .desc = d, .min = d.dims, .max = d.dims };
	float data[6] = { 0 };
	const void *inputs[] = { data };
	void *outputs[] = { data };
	TRT_CALL(p, trt_plugin_8, configure, &range, 1, &range, 1);
	CHECK(log_has(h, "configurePlugin: input 0 (x) must have rank 2, but it has rank 3"));
	host_log_clear(h);
	CHECK_INT(TRT_CALL(p, trt_plugin_8, workspace, &d, 2, &d, 1), 0);
	CHECK(log_has(h, "getWorkspaceSize: it has 1 inputs"));
	CHECK(TRT_CALL(p, trt_plugin_8, enqueue, &d, &d, inputs, outputs, NULL, NULL) != 0);
	CHECK(TRT_CALL(p, trt_plugin_8, enqueue, NULL, &d, inputs, outputs, NULL, NULL) != 0);
	CHECK(!TRT_CALL(p, trt_plugin_8, supports_format, 2, &d, 1, 1));
	d.format = 4;
	CHECK(!TRT_CALL(p, trt_plugin_8, supports_format, 0, &d, 1, 1));
	CHECK_INT(device.launches, 0);
	host_log_clear(h);

	/* A clone runs without initialize(), attachToContext() and configurePlugin(). */
	void *clone = TRT_CALL(p, trt_plugin_8, clone);
	d = (struct trt_desc_8){ .dims = { 2, { 2, 3 } }, .type = TRT_FLOAT, .scale = -1 };
	data[5] = 21;
	TRT_CALL(p, trt_plugin_8, destroy);
	CHECK_INT(TRT_CALL(clone, trt_plugin_8, enqueue, &d, &d, inputs, outputs, NULL, NULL), 0);
	CHECK(data[5] == 42 && device.launches == 1);
	TRT_CALL(clone, trt_plugin_8, destroy);
	CHECK_STR(host_log(h), "");
	close_all(h);
}

/* A library that was opened registers its V2 creators with TensorRT 8.5 to 9.3, and withdraws them when it is closed or
 * asked for its creators. */
static void test_v2_registration(void)
{
	static const int32_t version[] = { 8503, 8601, 9300 };

	for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
		struct trt_host_registry r;
		int32_t n = 0;
		trt_host_registry_init(&r, version[i]);
		fake_version = version[i];
		fake_registry = &r;
		void *library = dlopen(library_path, RTLD_NOW | RTLD_GLOBAL);
		const struct tpat_rt_library *table = dlsym(library, "tpat_library");
		CHECK_INT(r.creators, table->plugins);
		CHECK_STR(r.name_space[0], "tpat");
		CHECK_STR(TRT_CALL(r.creator[0], trt_creator_8, name), "Double");
		void *const *(*get)(int32_t *);
		*(void **)&get = dlsym(library, "getPluginCreators");
		void *const *list = get(&n);
		CHECK_INT(n, table->plugins);
		CHECK_INT(r.creators, 0);
		for (int32_t c = 0; c < n; c++)
			CHECK(TRT_CALL(&r, trt_registry_8, add, list[c], "tpat"));
		CHECK(get(&n) == list);
		dlclose(library);
		CHECK_INT(r.refused, 0);
		trt_host_registry_init(&r, version[i]);
		library = dlopen(library_path, RTLD_NOW | RTLD_GLOBAL);
		CHECK(r.creators > 0);
		dlclose(library);
		CHECK_INT(r.creators, 0);
	}
	fake_registry = NULL;
}

static void test_v2(void)
{
	test_v2_runs(8503);
	test_v2_runs(9300);
	test_v2_refusals();
	test_v2_registration();
}
