/* The data of a library's constants and weights: equal data is in the library once, so that plugins share one copy on
 * the device. */
#include "engine/tensorrt/tensorrt.h"

#include <string.h>

const struct tensor *tensorrt_constant(const struct engine_plugin *p, const struct ir_buffer *b)
{
	const struct ir_program *program = p->plan[0]->program;
	int i = 0;
	if (!b->weight || !p->weights.n)
		return b->data;
	vec_each (other, &program->buffers) {
		if (*other == b)
			break;
		i += (*other)->weight;
	}
	ck(i < p->weights.n);
	return p->weights.at[i];
}

const char *tensorrt_data_find(struct tensorrt_data *d, const struct tensor *value, const char *name)
{
	size_t n = (size_t)tensor_bytes(value);
	uint64_t hash = hash_bytes(n, value->data, n);
	vec_each (x, d)
		if (x->hash == hash && (size_t)tensor_bytes(x->value) == n &&
		    memcmp(x->value->data, value->data, n) == 0)
			return x->name;
	vec_push(d->arena, d, ((struct tensorrt_datum){ hash, value, name }));
	return NULL;
}
