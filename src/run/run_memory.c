/* Device memory that later tensors use again. See run_inside.h. */
#include "run/run_inside.h"

enum { LEAST = 256 }; /* bytes of a block, and the unit of its size */

/* The smallest free block that fits and is not much too large. A device that checks accesses by name gets a block for
 * each tensor, of its exact size. */
static struct run_block *find(struct run_memory *m, size_t bytes)
{
	struct run_block *best = NULL;
	if (m->dev->name)
		return NULL;
	vec_each (b, &m->blocks)
		if (b->free && b->bytes >= bytes && b->bytes / 2 <= bytes && (!best || b->bytes < best->bytes))
			best = b;
	return best;
}

int run_memory_take(void **out, struct run_memory *m, size_t bytes, const char *name, struct err *e)
{
	struct dev *d = m->dev;
	struct run_block new = { .bytes = bytes ? bytes : 1 };
	if (!d->name)
		new.bytes = (bytes + LEAST - 1) / LEAST *LEAST + (bytes ? 0 : LEAST);
	struct run_block *b = find(m, new.bytes);
	if (b) {
		b->free = false;
		*out = b->at;
		return 0;
	}
	TRY(d->alloc(d, &new.at, new.bytes, e));
	vec_push(m->arena, &m->blocks, new);
	m->held += new.bytes;
	if (d->name)
		d->name(d, new.at, name);
	*out = new.at;
	return 0;
}

void run_memory_give(struct run_memory *m, const void *at)
{
	vec_each (b, &m->blocks)
		if (b->at == at)
			b->free = true;
}

void run_memory_give_all(struct run_memory *m)
{
	int n = 0;
	vec_each (b, &m->blocks) {
		b->free = true;
		if (m->dev->name) { /* find() takes none again */
			m->dev->free(m->dev, b->at);
			m->held -= b->bytes;
		} else {
			m->blocks.at[n++] = *b;
		}
	}
	m->blocks.n = n;
}

void run_memory_free(struct run_memory *m)
{
	vec_each (b, &m->blocks)
		m->dev->free(m->dev, b->at);
	m->blocks.n = 0;
}
