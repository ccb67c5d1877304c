/* Stores of a kernel's results: which stages of a kernel have readers outside it, and which results use streaming
 * stores. See stored.h. */
#include "sched/build/stored.h"

/* ---- Readers. */

bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which)
{
	const struct ir_buffer *out = made[which]->out;
	bool own = false; /* a stage of the program, not one that a rule has made for its other kernels */
	if (out->role == IR_OUTPUT)
		return true;
	vec_each (s, &p->stages) {
		bool inside = false;
		own |= *s == made[which];
		for (int i = 0; i < n; i++)
			inside |= made[i] == *s;
		if (!inside && ir_stage_reads(*s, out))
			return true;
	}
	return !own || ir_size_is(p, out);
}

/* ---- Streaming stores. */

struct read_buffers {
	const struct ir_program *p;
	struct map seen; /* by the buffer's number */
	double bytes;
	bool known;
};

static double bytes_of(const struct ir_program *p, const struct ir_buffer *b, bool *known)
{
	int64_t n = 0;
	*known &= ir_const_int(ir_buffer_count(p, b), &n);
	return (double)n * type_info(b->type)->bits / 8.0;
}

static void add_buffer(void *user, expr e)
{
	struct read_buffers *r = user;
	if (e->op != IR_LOAD || map_get_u64(&r->seen, (uint64_t)e->buf->id + 1))
		return;
	map_put_u64(&r->seen, (uint64_t)e->buf->id + 1, e->buf);
	r->bytes += bytes_of(r->p, e->buf, &r->known);
}

bool stored_past_caches(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t)
{
	enum { MOSTLY = 3 };
	struct arena *scratch = arena_new();
	struct read_buffers r = { .p = p, .seen = map_new(scratch), .known = true };
	double written = bytes_of(p, s->out, &r.known);
	ir_walk(s->value, add_buffer, &r);
	arena_free(scratch);
	return r.known && written >= (double)target_past_cache(t) && written >= MOSTLY * r.bytes;
}
