/* Runs a library's only plugin once, through its ABI and the CUDA driver, or tests/driver/fake_cuda.c in its place:
 *
 *     plugin_once LIBRARY FOLDER
 *
 * FOLDER has input_0.npy ...; output_0.npy ... are written there. Needs only libc, so that it can be made for another
 * processor, whose libraries node_test then runs under QEMU. */
#include <stdlib.h>

#include "base/file.h"
#include "engine/tensorrt/host.h"
#include "rt/cuda_driver.h"
#include "tensor/npy.h"

enum { POISON = 0xa5, MOST_INPUTS = 256, MOST_OUTPUTS = 64 };

static struct arena *arena;

static char *file_of(const char *folder, const char *what, int i)
{
	return path_join(arena, folder, arena_printf(arena, "%s_%d.npy", what, i));
}

static int alloc(void *user, const char *name, size_t bytes, void **pointer, struct err *e)
{
	(void)user;
	(void)name;
	void *poison = malloc(bytes + 1);
	memset(poison, POISON, bytes + 1);
	*pointer = device_new(bytes);
	send(*pointer, poison, bytes + 1);
	free(poison);
	return test_failed ? err_set(e, ERR_DEVICE, "There is no memory.") : 0;
}

static void release(void *user, void *pointer)
{
	(void)user;
	device_free(pointer);
}

static int wait(void *user, void *queue, struct err *e)
{
	(void)user;
	int code = cu.wait(queue);
	return code ? err_set(e, ERR_DEVICE, "The device reports error %d.", code) : 0;
}

static int read_back(void *user, void *to, const void *from, size_t bytes, struct err *e)
{
	(void)user;
	fetch(to, from, bytes);
	return test_failed ? err_set(e, ERR_DEVICE, "A copy failed.") : 0;
}

/* The elements of a shape input. */
static const int64_t *values(const struct tensor *t)
{
	int64_t n = tensor_count(t), *value = NEWN(arena, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		value[i] = tensor_int(t, i);
	return value;
}

static int read_inputs(struct host_tensor *in, const struct tpat_rt_plugin *p, const char *folder, struct err *e)
{
	for (int i = 0; i < p->inputs; i++) {
		struct tensor t;
		TRY(npy_read(&t, file_of(folder, "input", i), (enum type)p->input[i].type, arena, e));
		in[i] = (struct host_tensor){ .type = (int32_t)t.type, .rank = t.rank };
		memcpy(in[i].dim, t.dim, sizeof *t.dim * (size_t)t.rank);
		if (p->input[i].shape_input)
			in[i].value = values(&t);
		in[i].pointer = device_new((size_t)tensor_bytes(&t));
		send(in[i].pointer, t.data, (size_t)tensor_bytes(&t));
	}
	return 0;
}

static int write_outputs(const struct host_tensor *out, int n, const char *folder, struct err *e)
{
	for (int i = 0; i < n; i++) {
		struct tensor t;
		TRY(tensor_new(&t, (enum type)out[i].type, out[i].rank, out[i].dim, arena, e));
		fetch(t.data, out[i].pointer, (size_t)tensor_bytes(&t));
		TRY(npy_write(file_of(folder, "output", i), &t, e));
	}
	return 0;
}

static int run(const char *library, const char *folder, struct err *e)
{
	static struct host_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
	const struct host_memory memory = { .alloc = alloc, .free = release, .wait = wait, .read = read_back };
	const struct host_options o = { .version = 0 };
	struct host *h = NULL;
	struct host_engine *x = NULL;
	TRY(host_open(&h, library, &o, arena, e));
	const struct tpat_rt_plugin *p = host_library(h)->plugin;
	if (p->inputs > MOST_INPUTS || p->outputs > MOST_OUTPUTS)
		return err_set(e, ERR_USAGE, "The plugin has too many inputs or outputs.");
	TRY(read_inputs(in, p, folder, e));
	TRY(host_build(&x, h, p->name, p->version, p->name_space, in, in, in, p->inputs, arena, e));
	TRY(host_run(x, in, out, &memory, stream, e));
	TRY(write_outputs(out, host_outputs(x), folder, e));
	for (int i = 0; i < host_outputs(x); i++)
		device_free(out[i].pointer);
	host_engine_free(x);
	host_close(h);
	return 0;
}

int main(int argc, char **argv)
{
	const char *why = NULL;
	struct err e = { 0 };
	handle context;
	arena = arena_new();
	if (argc != 3) {
		fprintf(stderr, "usage: %s LIBRARY FOLDER\n", argv[0]);
		return 2;
	}
	if (!open_driver(&why)) {
		printf("%s\n", why);
		return 2;
	}
	CHECK_INT(cu.retain(&context, 0), 0);
	CHECK_INT(cu.set(context), 0);
	CHECK_INT(cu.stream(&stream, 1), 0);
	if (run(argv[1], argv[2], &e) < 0) {
		printf("%s\n", e.text);
		return 1;
	}
	return test_failed != 0;
}
