/* Part of rt_test.c: devices that fail, TensorRT's versions, registration, several libraries in one process. */

/* No device, and devices that fail: a line in the log, never a crash. */
static void test_no_device(void)
{
	struct host *h = open_as(110100, false);
	struct host_tensor in = tensor(6, 2, 1, 4);

	device.current = -1;
	CHECK(!build(h, "AddTable", &in, &in, 1));
	CHECK(err_has("attachToContext failed: tpat plugin AddTable: attachToContext: the test has no device"));
	device.current = 0;
	device.fail = "load";
	CHECK(!build(h, "AddTable", &in, &in, 1));
	CHECK(err_has("the test lets load fail"));
	device.fail = "upload";
	CHECK(!build(h, "AddTable", &in, &in, 1));
	CHECK(err_has("the test lets upload fail"));
	device.fail = NULL;
	host_engine_free(build(h, "AddTable", &in, &in, 1));
	close_all(h);

	/* CUDA, where there is no driver or no context is current. */
	struct host_options o = { .version = 110100 };
	CHECK_INT(host_open(&h, library_path, &o, arena, &err), 0);
	CHECK(!build(h, "AddTable", &in, &in, 1));
	CHECK(err_has("tpat plugin AddTable: attachToContext: "));
	CHECK(strstr(host_log(h), "CUDA") != NULL);
	host_close(h);
}

static int device_lines;
static void count_line(void *user, int severity, const char *line)
{
	(void)user, (void)severity, (void)line;
	device_lines++;
}

/* The log of every TensorRT: through the finder in its own form; where the version is unknown, the device's log. */
static void test_versions(void)
{
	static const int32_t version[] = { 100000, 101600, 110000, 110400, 10701, 0, 8601 };

	for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
		struct tpat_rt_device d = trt_host_device(&device);
		d.log = count_line;
		struct host_options o = { .version = version[i], .device = &d };
		struct host *h = NULL;
		int32_t type = TRT_HALF, out, n = -1;
		fake_version = version[i];
		device_lines = 0;
		device = (struct trt_host_device){ 0 };
		CHECK_INT(host_open(&h, library_path, &o, arena, &err), 0);
		struct raw r = raw_new(h, "Double");
		CHECK(TRT_CALL(r.build, trt_build, output_types, &out, 1, &type, 1) != 0);
		TRT_CALL(r.plugin, trt_plugin, v.d0);
		if (trt_form(version[i])) {
			CHECK_STR(
			        host_log(h),
			        "tpat plugin Double: getOutputDataTypes: input 0 (x) must be FLOAT (0), but it is HALF "
			        "(1)\n");
			CHECK_INT(device_lines, 0);
		} else {
			CHECK_STR(host_log(h), "");
			CHECK_INT(device_lines, 1);
		}
		void *const *(*v1)(int32_t *);
		*(void **)&v1 = host_symbol(h, "getPluginCreators");
		CHECK(v1 && v1(&n) && n == 0);
		host_close(h);
	}
}

/* Registers itself when opened; takes that back when TensorRT asks for the creators, once; and when it is closed. */
static void test_registration(void)
{
	static const int32_t version[] = { 100300, 110100, 10701 };

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
		CHECK_STR(TRT_CALL(r.creator[0], trt_creator, name), "Double");
		void *const *(*get)(int32_t *);
		*(void **)&get = dlsym(library, "getCreators");
		void *const *list = get(&n);
		CHECK_INT(n, table->plugins);
		CHECK_INT(r.creators, 0);
		CHECK_INT(r.removes, n);
		/* As loadLibrary and deregisterLibrary go on. */
		for (int32_t c = 0; c < n; c++)
			CHECK(trt_form(version[i]) == 11 ? TRT_CALL(&r, trt_registry_11, add, list[c], "tpat")
			                                 : TRT_CALL(&r, trt_registry_10, add, list[c], "tpat"));
		CHECK(get(&n) == list);
		CHECK_INT(r.removes, n);
		dlclose(library);
		CHECK_INT(r.removes, n);
		CHECK_INT(r.refused, 0);

		trt_host_registry_init(&r, version[i]);
		library = dlopen(library_path, RTLD_NOW | RTLD_GLOBAL);
		CHECK(r.creators > 0);
		dlclose(library);
		CHECK_INT(r.creators, 0);
	}
	/* Versions without V3 plugins: nothing is called. */
	struct trt_host_registry r;
	trt_host_registry_init(&r, 100000);
	fake_version = 8601;
	dlclose(dlopen(library_path, RTLD_NOW));
	CHECK_INT(r.adds, 0);
	fake_registry = NULL;
}

/* Two libraries in one process, both in the global scope: each reads its own table. */
static void test_two_libraries(void)
{
	char *folder = NULL, *path, *bytes;
	size_t size;
	int32_t n;

	CHECK_INT(file_temp_dir(&folder, arena, &err), 0);
	CHECK_INT(file_read(&bytes, &size, library_path, arena, &err), 0);
	path = path_join(arena, folder, "libsecond.so");
	CHECK_INT(file_write(path, bytes, size, &err), 0);
	void *library[2] = { dlopen(library_path, RTLD_NOW | RTLD_GLOBAL), dlopen(path, RTLD_NOW | RTLD_GLOBAL) };
	for (int i = 0; i < 2; i++) {
		const struct tpat_rt_library *table = dlsym(library[i], "tpat_library");
		void *const *(*get)(int32_t *);
		*(void **)&get = dlsym(library[i], "getCreators");
		CHECK(table && get);
		CHECK(TRT_CALL(get(&n)[0], trt_creator, name) == table->plugin[0].name);
	}
	CHECK(dlsym(library[0], "tpat_library") != dlsym(library[1], "tpat_library"));
	CHECK(!dlsym(library[0], "rt_log") && !dlsym(library[0], "rt_cuda") && !dlsym(library[0], "rt_build_table"));
	dlclose(library[1]);
	dlclose(library[0]);
	file_remove_tree(folder);
}

/* A host that never called tpat_rt_set_device is TensorRT: no private type may reach it. */
static void test_private_output(void)
{
	struct host *h = open_as(110100, false);
	void (*set_device)(const struct tpat_rt_device *);
	int32_t in = TRT_PRIVATE + 11, out = 0;

	*(void **)&set_device = host_symbol(h, "tpat_rt_set_device");
	set_device(NULL);
	struct raw r = raw_new(h, "HalveDouble");
	CHECK(TRT_CALL(r.build, trt_build, output_types, &out, 1, &in, 1) != 0);
	CHECK(log_has(h, "output 0 (y) has a type that TensorRT does not have (ONNX type 11)"));
	TRT_CALL(r.plugin, trt_plugin, v.d0);
	host_close(h);
}
