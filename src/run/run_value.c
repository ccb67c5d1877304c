/* Tensors of a graph on the host and on the device. See run_inside.h. */
#include "run/run_inside.h"

int run_value_host(struct run_session *s, struct run_value *v, struct err *e)
{
	struct dev *d = s->on.dev;
	struct tensor t;
	if (v->tensor.data)
		return 0;
	TRY(tensor_new(&t, v->tensor.type, v->tensor.rank, v->tensor.dim, s->run, e));
	int64_t bytes = tensor_bytes(&t);
	if (bytes > 0 && v->at) {
		run_unlock(s);
		int rc = d->copy_out(d, t.data, v->at, (size_t)bytes, e);
		run_lock(s);
		TRY(rc);
	}
	v->tensor = t;
	return 0;
}

int run_value_place(void **at, int *ref, struct run_session *s, const struct graph_value *v, const struct tensor *t,
                    struct err *e)
{
	const struct run_places *p = s->places;
	*at = NULL;
	for (int i = 0; p && i < s->wants; i++)
		if (s->want[i] == v) {
			TRY(p->place(p->user, at, i, t, e));
			*ref = RUN_RESULT(i);
			break;
		}
	if ((uintptr_t)*at % RUN_ALIGNMENT)
		*at = NULL;
	if (!*at)
		*ref = 0;
	return 0;
}

int run_constant(void **out, struct run_session *s, const void *data, size_t bytes, const char *name, struct err *e)
{
	struct dev *d = s->on.dev;
	s->shared->memory.dev = d; /* of this thread */
	TRY(run_memory_take(out, &s->shared->memory, bytes, name, e));
	s->shared->weights += bytes;
	return bytes ? d->copy_in(d, *out, data, bytes, e) : 0;
}

int run_value_device(struct run_session *s, struct run_value *v, struct err *e)
{
	struct dev *d = s->on.dev;
	if (v->at)
		return 0;
	void *at;
	int64_t bytes = tensor_bytes(&v->tensor);
	if (bytes < 0)
		return err_set(e, ERR_UNSUPPORTED, "The tensor \"%s\" has no type that a device can hold.",
		               v->value->name);
	if (v->value->is_constant) {
		TRY(run_constant(&at, s, v->tensor.data, (size_t)bytes, v->value->name, e));
	} else {
		TRY(run_memory_take(&at, &s->memory, (size_t)bytes, v->value->name, e));
		run_unlock(s);
		int rc = bytes ? d->copy_in(d, at, v->tensor.data, (size_t)bytes, e) : 0;
		run_lock(s);
		TRY(rc);
	}
	v->at = at;
	return 0;
}
