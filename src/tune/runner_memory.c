/* A runner's memory: buffers between guards that detect writes out of bounds, and a pool that reuses buffers of the
 * same content in the next runner. */
#include "tune/runner_inside.h"

enum { MAX_COPIES = 64, GUARD = 256 };
static const unsigned char guard_byte = 0x5c;

/* Inputs and outputs; weights, which a model reads as seldom. */
static bool at_edge(const struct ir_buffer *b)
{
	return b->role == IR_INPUT || b->role == IR_OUTPUT || b->weight;
}

void *runner_memory(const struct tune_runner *r, int copy, const struct ir_buffer *b)
{
	return r->memory[copy * r->plan->program->buffers.n + b->id];
}

static const struct tensor *content(const struct tune_runner *r, const struct ir_buffer *b)
{
	return ir_buffer_content(r->plan->program, r->inputs, b);
}

int runner_measure_buffers(struct tune_runner *r, size_t rotate, struct err *e)
{
	struct ir_program *p = r->plan->program;
	size_t edge = 0;
	r->bytes = NEWN(r->arena, size_t, p->buffers.n + 1);
	vec_each (b, &p->buffers) {
		TRY(ir_buffer_bytes(&r->bytes[(*b)->id], &r->launcher, *b, e));
		if (at_edge(*b))
			edge += r->bytes[(*b)->id];
	}
	r->moved = (double)edge;
	r->copies = edge && rotate > edge ? (int)((rotate + edge - 1) / edge) : 1;
	r->copies = r->copies > MAX_COPIES ? MAX_COPIES : r->copies;
	return 0;
}

/* A block with its guards; may come from an earlier runner. */
struct block {
	char *place;
	size_t bytes;
	const struct tensor *content; /* its content; null: unknown */
};

struct tune_pool {
	struct {
		VEC(struct block);
	} blocks;
	struct dev *dev;
	struct arena *arena;
};

struct tune_pool *tune_pool_new(struct dev *d, struct arena *a)
{
	struct tune_pool *p = NEW(a, struct tune_pool);
	*p = (struct tune_pool){ .dev = d, .arena = a };
	return p;
}

static char *take_block(struct tune_pool *p, size_t bytes, const struct tensor *content)
{
	for (int i = 0; p && i < p->blocks.n; i++) {
		struct block b = p->blocks.at[i];
		if (b.bytes != bytes || b.content != content)
			continue;
		p->blocks.at[i] = p->blocks.at[--p->blocks.n];
		return b.place;
	}
	return NULL;
}

/* Frees all unused blocks, when memory runs out. */
void tune_pool_empty(struct tune_pool *p)
{
	for (; p && p->blocks.n; p->blocks.n--)
		p->dev->free(p->dev, p->blocks.at[p->blocks.n - 1].place);
}

static int new_block(struct tune_runner *r, char **place, size_t bytes, const struct tensor *content, struct err *e)
{
	struct dev *d = r->dev;
	if (d->alloc(d, (void **)place, bytes + 2 * GUARD, e) < 0) {
		if (!r->pool || !r->pool->blocks.n)
			return e->code;
		tune_pool_empty(r->pool);
		err_clear(e);
		TRY(d->alloc(d, (void **)place, bytes + 2 * GUARD, e));
	}
	TRY(d->memset(d, *place, guard_byte, GUARD, e));
	TRY(d->memset(d, *place + GUARD + bytes, guard_byte, GUARD, e));
	return content && bytes ? d->copy_in(d, *place + GUARD, content->data, bytes, e) : 0;
}

int runner_allocate(struct tune_runner *r, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	r->memory = NEWN(r->arena, void *, r->copies * p->buffers.n + 1);
	for (int c = 0; c < r->copies; c++)
		vec_each (pb, &p->buffers) {
			const struct ir_buffer *b = *pb;
			void **m = &r->memory[c * p->buffers.n + b->id];
			const struct tensor *t = content(r, b);
			if (c > 0 && !at_edge(b)) {
				*m = runner_memory(r, 0, b);
				continue;
			}
			char *place = at_edge(b) ? take_block(r->pool, r->bytes[b->id], t) : NULL;
			int rc = place ? 0 : new_block(r, &place, r->bytes[b->id], t, e);
			*m = place ? place + GUARD : NULL;
			TRY(rc);
		}
	return 0;
}

static void give_back(struct tune_runner *r, const struct ir_buffer *b, char *place)
{
	if (r->pool && at_edge(b))
		vec_push(r->pool->arena, &r->pool->blocks, ((struct block){ place, r->bytes[b->id], content(r, b) }));
	else
		r->dev->free(r->dev, place);
}

void runner_free_memory(struct tune_runner *r)
{
	const struct ir_program *p = r->plan->program;
	for (int c = 0; r->memory && c < r->copies; c++)
		vec_each (b, &p->buffers)
			if ((c == 0 || at_edge(*b)) && runner_memory(r, c, *b))
				give_back(r, *b, (char *)runner_memory(r, c, *b) - GUARD);
	r->memory = NULL;
}

/* Checks that the guard at `at` is unchanged. */
static int look_at_guard(struct tune_runner *r, const char *at, bool *whole, struct err *e)
{
	unsigned char guard[GUARD];
	TRY(r->dev->copy_out(r->dev, guard, at, GUARD, e));
	for (int i = 0; i < GUARD; i++)
		*whole &= guard[i] == guard_byte;
	return 0;
}

int tune_runner_overrun(struct tune_runner *r, const char **buffer, struct err *e)
{
	*buffer = NULL;
	vec_each (b, &r->plan->program->buffers) {
		const char *at = runner_memory(r, 0, *b);
		bool whole = true;
		TRY(look_at_guard(r, at - GUARD, &whole, e));
		TRY(look_at_guard(r, at + r->bytes[(*b)->id], &whole, e));
		if (!whole && !*buffer)
			*buffer = (*b)->name;
	}
	return 0;
}
