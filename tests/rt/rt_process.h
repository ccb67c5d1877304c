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

	/* CUDA without a driver, or without a current context. */
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

/* The log of every TensorRT: through the finder in its form; for unknown versions, the device's log. */
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
		if (trt_form(version[i]) == 8) {
			void *p = TRT_CALL(host_creator(h, "Double", NULL, NULL), trt_creator_8, create, NULL, NULL);
			TRT_CALL(p, trt_plugin_8, workspace, NULL, 2, NULL, 1);
			TRT_CALL(p, trt_plugin_8, destroy);
		} else {
			struct raw r = raw_new(h, "Double");
			CHECK(TRT_CALL(r.build, trt_build, output_types, &out, 1, &type, 1) != 0);
			TRT_CALL(r.plugin, trt_plugin, v.d0);
		}
		if (trt_form(version[i]) == 8) {
			CHECK(strstr(host_log(h), "tpat plugin Double: getWorkspaceSize: it has 1 inputs"));
			CHECK_INT(device_lines, 0);
		} else if (trt_form(version[i])) {
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
		bool old = trt_form(version[i]) == 8 || !version[i]; /* a host without a version asks for what it takes
		                                                      */
		CHECK(v1 && v1(&n) && n == (old ? host_library(h)->plugins : 0));
		host_close(h);
	}
}

/* Registers itself when opened; undoes that once when TensorRT asks for the creators, and when it is closed. */
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
		/* As in loadLibrary and deregisterLibrary. */
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
	/* Versions without plugins for dynamic shapes: nothing is called. */
	struct trt_host_registry r;
	trt_host_registry_init(&r, 100000);
	fake_version = 7203;
	dlclose(dlopen(library_path, RTLD_NOW));
	CHECK_INT(r.adds, 0);
	fake_registry = NULL;
}

/* Captures stderr between the two calls. */
static int saved_stderr;
static FILE *caught;
static void catch_stderr(void)
{
	fflush(stderr);
	saved_stderr = dup(2);
	caught = tmpfile();
	dup2(fileno(caught), 2);
}

static const char *caught_stderr(void)
{
	static char text[2000];

	fflush(stderr);
	dup2(saved_stderr, 2);
	close(saved_stderr);
	rewind(caught);
	text[fread(text, 1, sizeof text - 1, caught)] = 0;
	fclose(caught);
	return text;
}

/* A registry that refuses some creators keeps those of others. */
static void test_refusing_registry(void)
{
	static const int32_t version[] = { 100300, 110100 };

	for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
		struct trt_host_registry r;
		int32_t n = 0;
		trt_host_registry_init(&r, version[i]);
		fake_version = version[i];
		fake_registry = NULL;
		char *folder = NULL, *path, *bytes;
		size_t size;
		CHECK_INT(file_temp_dir(&folder, arena, &err), 0);
		CHECK_INT(file_read(&bytes, &size, library_path, arena, &err), 0);
		path = path_join(arena, folder, "libother.so");
		CHECK_INT(file_write(path, bytes, size, &err), 0);
		void *other = dlopen(path, RTLD_NOW | RTLD_LOCAL), *library;
		void *const *(*get)(int32_t *);
		*(void **)&get = dlsym(other, "getCreators");
		void *const *list = get(&n);
		r.creator[r.creators++] = list[1]; /* another library's RowSoftmax */
		r.most = 5;
		fake_registry = &r;
		catch_stderr();
		library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
		CHECK(strstr(caught_stderr(), "TensorRT did not register 10 of 14 plugins, RowSoftmax among them"));
		CHECK_INT(r.creators, 5);
		CHECK_INT(r.refused, 10);
		*(void **)&get = dlsym(library, "getCreators");
		get(&n); /* as loadLibrary does: removes exactly what was registered */
		CHECK_INT(r.removes, 4);
		CHECK(r.creators == 1 && r.creator[0] == list[1]);
		dlclose(library);
		library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
		dlclose(library);
		CHECK_INT(r.removes, 8);
		CHECK(r.creators == 1 && r.creator[0] == list[1]);
		fake_registry = NULL;
		dlclose(other);
		file_remove_tree(folder);
	}
}

/* Opened before TensorRT: registers on request, otherwise logs that it was not. */
static void test_opened_early(void)
{
	struct trt_host_registry r;
	int32_t (*tell)(void);
	void *const *(*get)(int32_t *);
	int32_t n = 0;

	for (int32_t told = 0; told < 3; told++) {
		trt_host_registry_init(&r, 110100);
		fake_version = 0;
		fake_registry = NULL;
		catch_stderr();
		void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
		*(void **)&tell = dlsym(library, "tpat_rt_register");
		*(void **)&get = dlsym(library, "getCreators");
		CHECK_INT(tell(), 0);
		CHECK_INT(r.adds, 0);
		fake_version = 110100;
		fake_registry = &r;
		if (told == 1) {
			CHECK(tell() == 1 && tell() == 1);
			CHECK(r.creators > 0 && r.creators == r.adds);
		} else if (told == 2) { /* TensorRT loads it */
			get(&n);
			CHECK(n > 0 && tell() == 0);
			CHECK_INT(r.adds, 0);
		}
		dlclose(library);
		CHECK_INT(r.creators, 0);
		const char *said = caught_stderr();
		CHECK((strstr(said, "tpat library example.onnx: its plugins were never registered") != NULL) ==
		      (told == 0));
		CHECK(told == 0 || !*said);
	}
	/* No TensorRT: logs nothing. */
	fake_version = 0;
	fake_registry = NULL;
	catch_stderr();
	dlclose(dlopen(library_path, RTLD_NOW | RTLD_LOCAL));
	CHECK_STR(caught_stderr(), "");
	/* TensorRT before 8.5 has a registry for other plugins. */
	trt_host_registry_init(&r, 100000);
	fake_version = 8403;
	fake_registry = &r;
	catch_stderr();
	dlclose(dlopen(library_path, RTLD_NOW | RTLD_LOCAL));
	CHECK(strstr(caught_stderr(),
	             "TensorRT 8.4 is too old for the library's plugins; they need TensorRT 8.5 or later"));
	CHECK_INT(r.adds, 0);
	fake_registry = NULL;
}

/* A size tensor is INT32 for a TensorRT that requires that, while the plugin's kernels still write INT64. */
static void test_narrow_size(void)
{
	static const int32_t version[] = { 100000, 100300, 101099, 101499, 101500, 110100, 10701 };
	int32_t data[6] = { 4, 3, 2, 1, 0, 9 };

	for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
		struct host *h = open_as(version[i], false);
		struct host_memory m = trt_host_memory(&memory);
		struct host_tensor in = tensor(6, 1, 6, 0), out[2], even[2];
		bool narrow = version[i] >= 100000 && version[i] < 101500;
		struct host_engine *x = build(h, "FindOdd", &in, &in, 1), *y = build(h, "FindEven", &in, &in, 1),
		                   *z = NULL;
		CHECK(x && y);
		CHECK_INT(host_workspace(x), narrow ? 256 : 0);
		CHECK_INT(host_workspace(y), 0);
		in.pointer = data;
		CHECK_INT(host_run(x, &in, out, &m, NULL, &err), 0);
		CHECK_INT(out[1].type, narrow ? 6 : 7);
		CHECK_INT(out[0].dim[0], 3);
		CHECK_INT(narrow ? *(int32_t *)out[1].pointer : *(int64_t *)out[1].pointer, 3);
		CHECK_INT(((int32_t *)out[0].pointer)[2], 5);
		free_outputs(out, 2);
		CHECK_INT(host_run(y, &in, even, &m, NULL, &err), 0);
		CHECK(even[1].type == 6 && *(int32_t *)even[1].pointer == 3);
		free_outputs(even, 2);
		/* In a clone without calls, and with a failing copy. */
		CHECK_INT(host_engine_context(&z, x, arena, &err), 0);
		CHECK_INT(host_run(z, &in, out, &m, NULL, &err), 0);
		free_outputs(out, 2);
		device.fail = "copy";
		CHECK((host_run(z, &in, out, &m, NULL, &err) != 0) == narrow);
		CHECK(!narrow || err_has("enqueue: the test lets copy fail"));
		if (!narrow)
			free_outputs(out, 2);
		device.fail = NULL;
		host_engine_free(z);
		host_engine_free(y);
		host_engine_free(x);
		close_all(h);
	}
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
