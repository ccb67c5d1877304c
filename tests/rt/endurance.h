/* Parts of endurance_test.c: memory in use, and a plugin with shapes to run it at. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "engine/tensorrt/host.h"
#include "rt/cuda_driver.h"
#include "tensor/tensor.h"

/* ---- Memory in use. */

struct memory {
	long long device, heap, resident;
};

static struct memory in_use(void)
{
	struct memory m = { 0 };
	size_t left = 0, all = 0;
	long pages = 0, resident = 0;
	struct mallinfo2 heap = mallinfo2();
	FILE *f = fopen("/proc/self/statm", "r");
	cu.synchronize();
	cu.info(&left, &all);
	if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	m.device = (long long)(all - left);
	m.heap = (long long)(heap.uordblks + heap.hblkhd);
	m.resident = resident * 4096LL;
	return m;
}

/* ---- A plugin, its shapes, and memory for the largest. */

enum { SHAPES = 48, MOST = 64, CALLS = 8 };

struct shape {
	struct host_tensor in[MOST], out[MOST];
	uint64_t result; /* hash of the outputs that a new context computes */
};

struct subject {
	const char *name, *name_space, *version;
	int inputs, outputs;
	struct host_tensor min[MOST], max[MOST];
	struct shape shape[SHAPES];
	void *in[MOST], *out[MOST], *workspace;
	size_t out_bytes[MOST];
};

static struct arena *arena; /* of the whole program */
static struct err err;
static uint32_t seed = 1;

static int random_in(int low, int high)
{
	seed = seed * 1664525u + 1013904223u;
	return low + (int)((seed >> 8) % (uint32_t)(high - low + 1));
}

static size_t bytes_of(const struct host_tensor *t)
{
	int64_t n = 1;
	for (int k = 0; k < t->rank; k++)
		n *= t->dim[k];
	return (size_t)type_bytes((enum type)t->type, n);
}

/* Extents: free ones are `value`, others follow from them. Returns false for expressions other than extents and
 * numbers. */
static bool extents(struct host_tensor *in, const struct tpat_rt_plugin *p, int low, int high)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < p->inputs; i++) {
			in[i].type = p->input[i].type;
			in[i].rank = p->input[i].rank;
			for (int d = 0; d < p->input[i].rank; d++) {
				const struct tpat_rt_expr *x = &p->expr[p->input[i].dim[d]];
				bool own = x->op == TPAT_RT_DIM && x->a == i && x->b == d;
				if (x->op != TPAT_RT_CONST && x->op != TPAT_RT_DIM)
					return false;
				if (x->op == TPAT_RT_CONST)
					in[i].dim[d] = x->value;
				else if (own && pass == 0)
					in[i].dim[d] = random_in(low, high);
				else if (!own)
					in[i].dim[d] = in[x->a].dim[x->b];
			}
		}
	return true;
}

static int limit_of(const struct tpat_rt_plugin *p)
{
	static const int limit[] = { 4096, 4096, 128, 24, 12 };
	int rank = 0;
	for (int i = 0; i < p->inputs; i++)
		rank = p->input[i].rank > rank ? p->input[i].rank : rank;
	return limit[rank < 4 ? rank : 4];
}

/* Prepares to run a plugin. Returns null, or why it cannot be run here. */
static const char *subject_init(struct subject *s, const struct tpat_rt_plugin *p)
{
	*s = (struct subject){ .name = p->name,
		               .name_space = p->name_space,
		               .version = p->version,
		               .inputs = p->inputs,
		               .outputs = p->outputs };
	s->name = arena_strdup(arena, p->name);
	s->version = arena_strdup(arena, p->version);
	s->name_space = arena_strdup(arena, p->name_space);
	int limit = limit_of(p);
	for (int i = 0; i < p->inputs; i++)
		if (p->input[i].shape_input)
			return "values of an input decide extents";
	if (p->inputs > MOST || p->outputs > MOST)
		return "it has more inputs or outputs than the test has room for";
	if (!extents(s->min, p, 1, 1))
		return "extents of an input follow from others by arithmetic";
	extents(s->max, p, limit, limit);
	for (int k = 0; k < SHAPES; k++)
		extents(s->shape[k].in, p, 1, limit);
	return NULL;
}

static struct host_engine *build(const struct subject *s, struct host *h, struct arena *a)
{
	struct host_engine *x = NULL;
	if (host_build(&x, h, s->name, s->version, s->name_space, s->min, s->max, s->max, s->inputs, a, &err) < 0) {
		printf("%s\n", err.text);
		err_clear(&err);
	}
	CHECK(x);
	return x;
}

/* Memory for the largest extents, inputs of random values, and the outputs' extents of all shapes. */
static void fill(struct subject *s, struct host_engine *x)
{
	struct host_tensor out[MOST];
	CHECK_INT(host_shapes(x, s->max, out, &err), 0);
	for (int i = 0; i < s->inputs; i++) {
		struct arena *a = arena_new();
		struct tensor t;
		CHECK_INT(tensor_new(&t, (enum type)s->max[i].type, s->max[i].rank, s->max[i].dim, a, &err), 0);
		tensor_random(&t, (uint64_t)i + 1, -2, 2);
		s->in[i] = device_new(bytes_of(&s->max[i]));
		send(s->in[i], t.data, bytes_of(&s->max[i]));
		arena_free(a);
	}
	for (int o = 0; o < s->outputs; o++) {
		s->out_bytes[o] = bytes_of(&out[o]);
		s->out[o] = device_new(s->out_bytes[o]);
	}
	s->workspace = device_new(host_workspace(x));
	for (int k = 0; k < SHAPES; k++) {
		struct shape *at = &s->shape[k];
		CHECK_INT(host_shapes(x, at->in, at->out, &err), 0);
		for (int i = 0; i < s->inputs; i++)
			at->in[i].pointer = s->in[i];
		for (int o = 0; o < s->outputs; o++) {
			at->out[o].pointer = s->out[o];
			CHECK(bytes_of(&at->out[o]) <= s->out_bytes[o]);
		}
	}
}

static void empty(struct subject *s)
{
	for (int i = 0; i < s->inputs; i++)
		device_free(s->in[i]);
	for (int o = 0; o < s->outputs; o++)
		device_free(s->out[o]);
	device_free(s->workspace);
}

/* A hash of the outputs at a shape. */
static uint64_t result(const struct subject *s, const struct shape *at)
{
	uint64_t x = 1;
	CHECK_INT(cu.wait(stream), 0);
	for (int o = 0; o < s->outputs; o++) {
		size_t bytes = bytes_of(&at->out[o]);
		void *data = malloc(bytes + 1);
		fetch(data, at->out[o].pointer, bytes);
		x = hash_bytes(x, data, bytes);
		free(data);
	}
	return x;
}

static void clear(const struct subject *s, const struct shape *at)
{
	for (int o = 0; o < s->outputs; o++) {
		void *data = malloc(bytes_of(&at->out[o]) + 1);
		memset(data, 0x5a, bytes_of(&at->out[o]));
		send(at->out[o].pointer, data, bytes_of(&at->out[o]));
		free(data);
	}
}

static int enqueue(const struct subject *s, struct host_engine *x, const struct shape *at, handle on)
{
	return host_enqueue(x, at->in, at->out, s->workspace, on, &err);
}
