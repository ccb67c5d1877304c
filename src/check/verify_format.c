/* Tensors in an engine's formats, as a plugin reads and writes them. */
#include <string.h>

#include "check/verify_stages.h"

static const struct engine_layout *find(const struct engine_layout *all, int32_t format)
{
	while (all->name && all->number != format)
		all++;
	ck(all->name);
	return all;
}

/* The tensor in memory, without elements. */
static int stored(struct tensor *out, const struct tensor *t, const struct engine_layout *l, struct arena *a,
                  struct err *e)
{
	int channels = t->rank - l->axis, rank = t->rank + l->inner;
	int64_t dim[IR_MAX_RANK], blocks = (t->dim[channels] + l->block - 1) / l->block;
	for (int k = 0; k < rank; k++) {
		int axis = engine_layout_axis(l, t->rank, k);
		dim[k] = axis >= 0 ? t->dim[axis] : !l->inner ? blocks * l->block : k == channels ? blocks : l->block;
	}
	return tensor_new(out, t->type, rank, dim, a, e);
}

/* The element's place in the tensor whose place in memory is `at`; -1: padding. */
static int64_t place(const struct tensor *in_memory, const struct tensor *t, const struct engine_layout *l, int64_t at)
{
	int channels = t->rank - l->axis;
	int64_t index[IR_MAX_RANK], channel = 0, flat = 0;
	for (int k = in_memory->rank - 1; k >= 0; k--) {
		int axis = engine_layout_axis(l, t->rank, k);
		int64_t here = at % in_memory->dim[k];
		at /= in_memory->dim[k];
		if (axis >= 0)
			index[axis] = here;
		else
			channel += l->inner && k == channels ? here * l->block : here;
	}
	index[channels] = channel;
	for (int k = 0; k < t->rank; k++)
		flat = flat * t->dim[k] + index[k];
	return channel < t->dim[channels] ? flat : -1;
}

int verify_store(struct tensor *out, const struct tensor *t, const struct engine_layout *all, int32_t format,
                 struct arena *a, struct err *e)
{
	const struct engine_layout *l = find(all, format);
	size_t bytes = (size_t)type_info(t->type)->bits / 8;
	TRY(stored(out, t, l, a, e));
	for (int64_t i = 0; i < tensor_count(out); i++) {
		int64_t from = place(out, t, l, i);
		char *to = (char *)out->data + (size_t)i * bytes;
		if (from < 0)
			memset(to, 0xff, bytes); /* not a number, or -1: nothing may depend on it */
		else
			memcpy(to, (const char *)t->data + (size_t)from * bytes, bytes);
	}
	return 0;
}

int verify_stored(struct tensor *out, const struct tensor *t, const struct engine_layout *all, int32_t format,
                  struct arena *a, struct err *e)
{
	return stored(out, t, find(all, format), a, e);
}

bool verify_restore(struct tensor *t, const struct tensor *from, const struct engine_layout *all, int32_t format)
{
	const struct engine_layout *l = find(all, format);
	size_t bytes = (size_t)type_info(t->type)->bits / 8;
	static const char zeros[16];
	bool clean = true;
	for (int64_t i = 0; i < tensor_count(from); i++) {
		int64_t to = place(from, t, l, i);
		const char *at = (const char *)from->data + (size_t)i * bytes;
		if (to < 0)
			clean &= memcmp(at, zeros, bytes) == 0;
		else
			memcpy((char *)t->data + (size_t)to * bytes, at, bytes);
	}
	return clean;
}
