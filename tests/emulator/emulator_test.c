/* The emulator: faults planted in kernels are reported, right kernels pass, and the plugin runtime can run on it. */
#include "emulator_calls.h"

#include "base/file.h"

/* ---- Faults that the emulator reports ---- */

static void test_faults(void)
{
	static const struct {
		const char *kernel, *says; /* null: no fault */
	} cases[] = {
		{ "read_beyond",
		  "thread (63, 0, 0): reads x[64] (4 bytes at byte 256) out of bounds: x has 256 bytes" },
		{ "read_before", "thread (0, 0, 0): reads x[-1]" },
		{ "write_beyond", "thread (32, 0, 0): writes y[64]" },
		{ "write_input", "writes x[0], an input" },
		{ "misaligned", "thread (1, 0, 0): reads 16 bytes of x misaligned, at byte 4" },
		{ "whole_beyond", "out of bounds: y has 256 bytes" },
		{ "whole_unwritten", "which nothing has written" },
		{ "shared_unwritten", "thread (58, 0, 0): reads s[5] (4 bytes), which nothing has written" },
		{ "shared_beyond", "out of bounds" },
		{ "global_unwritten", "thread (0, 0, 0): reads y[0] (4 bytes), which nothing has written" },
		{ "shared_race", "a race" },
		{ "shared_race_after", "which thread number" },
		{ "shared_conflict",
		  "thread (1, 0, 0): writes s[0] (4 bytes) to which thread number 0 wrote another value" },
		{ "divergence", "while thread number" },
		{ "warp_missing", "waits forever" },
		{ "absent_lane", "the value of lane 25, which does not take part" },
		{ "global_conflict",
		  "thread (1, 0, 0): writes y[0] (4 bytes) to which thread number 0 wrote another value" },
		{ "global_race", "reads y[" },
		{ "local_beyond", "indexes an array of its own out of bounds in faults.cu:116" },
		{ "large_frame", "needs more than 128 KB of local memory" },
		{ "by_zero", "divides an integer by zero in faults.cu:127" },
		{ "same_value", NULL },
		{ "shared_same_value", NULL },
		{ "exited", NULL },
		{ "warp_private", NULL },
		{ "rounds", NULL },
	};
	open_kernels("faults.cu", NULL);
	float x[64];
	for (int i = 0; i < 64; i++)
		x[i] = (float)i;
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct err e = { 0 };
		float y[64];
		struct buffer b[] = { { "x", x, sizeof x, false, false }, { "y", y, sizeof y, true, false } };
		call_emulator(0, cases[c].kernel, 1, 64, b, 2, 0, &e);
		bool right =
		        cases[c].says ? strstr(e.text, cases[c].says) && strstr(e.text, cases[c].kernel) : e.code == 0;
		CHECK(right);
		if (!right)
			printf("  %s says: %s\n", cases[c].kernel, e.text);
	}
	close_kernels();
}

static void test_launches(void)
{
	struct err e = { 0 };
	open_kernels("reduce.cu", NULL);
	float x[20 * 33], y[20 * 33];
	for (int i = 0; i < 20 * 33; i++)
		x[i] = (float)i;
	void *dx = emulator_alloc("x", sizeof x, 0), *dy = emulator_alloc("y", sizeof y, 0);
	CHECK_INT(emulator_first_unwritten(dx, sizeof x), 0); /* the first byte */
	emulator_copy_in(dx, x, sizeof x);
	CHECK_INT(emulator_first_unwritten(dx, sizeof x), -1);
	int rows = 20, columns = 33;
	void *args[] = { &dx, &dy, &rows, &columns };
	const uint32_t grid[3] = { 3, 2, 1 }, block[3] = { 16, 16, 1 }, large[3] = { 512, 1, 1 };
	CHECK_INT(emulator_launch(module, "reduce.cu", "transpose", grid, block, 16 * 17 * 4, args, &e), 0);
	CHECK_STR(e.text, "");
	CHECK_INT(emulator_first_unwritten(dy, sizeof y), -1);
	memcpy(y, dy, sizeof y);
	int wrong = 0;
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			wrong += y[c * rows + r] != x[r * columns + c];
	CHECK_INT(wrong, 0);
	/* More blocks than run at the same time, where they wait for each other. */
	void *words = emulator_alloc("words", 8 * 2 * 4096, EMULATOR_INITIALISED);
	void *passed[] = { &words, &dy, &rows };
	const uint32_t many[3] = { 4096, 1, 1 }, warp[3] = { 32, 1, 1 };
	CHECK(emulator_together(32) >= 64 && emulator_together(32) < 4096);
	CHECK_INT(emulator_launch(module, NULL, "pass_words", many, warp, 0, passed, &e), ERR_USAGE);
	CHECK(strstr(e.text, "more than run at the same time"));
	err_clear(&e);
	emulator_free(words);
	/* One word too little of dynamic shared memory, too many threads, no such kernel, a freed buffer. */
	CHECK(emulator_launch(module, NULL, "transpose", grid, block, 16 * 17 * 4 - 8, args, &e) < 0);
	CHECK(strstr(e.text, "out of bounds: tile has 1080 bytes"));
	err_clear(&e);
	CHECK_INT(emulator_launch(module, NULL, "transpose", grid, large, 0, args, &e), ERR_USAGE);
	CHECK(strstr(e.text, "__launch_bounds__ allow 256"));
	err_clear(&e);
	CHECK_INT(emulator_launch(module, NULL, "nothing", grid, block, 0, args, &e), ERR_USAGE);
	err_clear(&e);
	emulator_free(dy);
	CHECK(emulator_launch(module, NULL, "transpose", grid, block, 16 * 17 * 4, args, &e) < 0);
	CHECK(strstr(e.text, "argument 1 a pointer that is not a live buffer"));
	emulator_free(dx);
	close_kernels();
}

/* As a device of src/dev: faults, and result bytes that no kernel wrote, are errors. */
static void test_device(void)
{
	static const char cu[] =
	        "extern \"C\" __global__ void twice(const float *x, const float *k, float *y, int n)\n"
	        "{\n\tconst int i = blockIdx.x * 32 + threadIdx.x;\n\tif (i < n)\n\t\ty[i] = x[i] * k[0];\n}\n";
	const struct dev_source source = { .file = "twice.cu", .text = cu },
	                        wrong = { .file = "wrong.cu", .text = "int" };
	struct err e = { 0 };
	struct dev *d;
	struct dev_code code;
	struct dev_module *m;
	struct dev_kernel *kernel;
	void *x, *k, *y;
	float two = 2, in[40], out[40];
	int n = 40;
	CHECK_INT(dev_open(&d, "emulator", &e), 0);
	CHECK_INT(d->compile(d, &code, &wrong, NULL, arena, &e), ERR_DEVICE);
	CHECK(strstr(e.text, "wrong.cu"));
	err_clear(&e);
	CHECK_INT(d->compile(d, &code, &source, NULL, arena, &e), 0);
	CHECK_INT(d->load(d, &m, &code, &e), 0);
	CHECK_INT(d->kernel(d, &kernel, m, "thrice", 0, &e), ERR_DEVICE);
	CHECK_STR(e.text, "The CUDA text has no kernel \"thrice\".");
	err_clear(&e);
	CHECK_INT(d->kernel(d, &kernel, m, "twice", 0, &e), 0);
	CHECK_INT(d->alloc(d, &x, sizeof in, &e), 0);
	CHECK_INT(d->alloc(d, &k, sizeof two, &e), 0);
	CHECK_INT(d->alloc(d, &y, sizeof out, &e), 0);
	d->name(d, x, "x");
	d->name(d, y, "y");
	for (int i = 0; i < n; i++)
		in[i] = (float)i;
	CHECK_INT(d->copy_in(d, x, in, sizeof in, &e), 0);
	CHECK_INT(d->copy_in(d, k, &two, sizeof two, &e), 0);
	void *args[] = { &x, &k, &y, &n };
	const uint32_t grid[3] = { 2, 1, 1 }, block[3] = { 32, 1, 1 };
	n = 39;
	CHECK_INT(d->launch(d, kernel, grid, block, 0, args, &e), 0);
	CHECK_INT(d->copy_out(d, out, y, sizeof out, &e), ERR_DIFFER);
	CHECK_STR(e.text, "Byte 156 of y was never written.");
	err_clear(&e);
	n = 40;
	CHECK_INT(d->launch(d, kernel, grid, block, 0, args, &e), 0);
	CHECK_INT(d->copy_out(d, out, y, sizeof out, &e), 0);
	CHECK(out[39] == 78);
	n = 41;
	CHECK(d->launch(d, kernel, grid, block, 0, args, &e) < 0);
	CHECK(strstr(e.text, "reads x[40]"));
	d->free(d, x);
	d->free(d, k);
	d->free(d, y);
	d->unload(d, m);
	d->close(d);
}

/* ---- The cache of compiled code. */

/* Compiles a text with one kernel that stores `value`; checks the number of files afterwards, and whether the last code
 * is `same`. */
static void compile_kept(const char *folder, int value, bool may_race, int files, const char *same)
{
	struct err e = { 0 };
	const char *text = arena_printf(arena, "extern \"C\" __global__ void f(int *y)\n{\n\ty[0] = %d;\n}\n", value);
	const struct emulator_text source = { "kept.cu", text, may_race };
	void *data = "";
	size_t size = 0;
	int n;
	CHECK_INT(emulator_compile(&data, &size, &source, 1, arena, &e), 0);
	file_list(&n, folder, arena);
	CHECK_INT(n, files);
	CHECK_INT(size == strlen(same) && memcmp(data, same, size) == 0, *same != '\0');
}

static void test_kept(void)
{
	struct err e = { 0 };
	char *folder;
	const char *before = getenv("TPAT_MODULES"), *old = before ? arena_strdup(arena, before) : NULL;
	int n;
	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	setenv("TPAT_MODULES", folder, 1);
	compile_kept(folder, 1, false, 1, "");
	const char *kept = path_join(arena, folder, file_list(&n, folder, arena)[0]);
	CHECK_INT(file_write(kept, "kept", 4, &e), 0);
	compile_kept(folder, 1, false, 1, "kept"); /* not compiled again */
	compile_kept(folder, 2, false, 2, "");
	compile_kept(folder, 1, true, 3, "");
	file_remove_tree(folder);
	if (old)
		setenv("TPAT_MODULES", old, 1);
	else
		unsetenv("TPAT_MODULES");
}

int main(void)
{
	begin_calls(0, NULL);
	test_faults();
	test_launches();
	test_device();
	test_kept();
	return end_calls();
}
