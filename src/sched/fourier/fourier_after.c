/* Maps that follow a Fourier transform and need only both parts of one frequency, such as a product of
 * complex numbers, or a sum over the parts, such as the power. The transform's kernel makes it as it stores. */
#include "sched/build/stored.h"
#include "sched/fourier/fourier_chain.h"

struct reads {
	const struct ir_buffer *buf;
	bool own; /* all reads so far are of the element's own frequency */
};

static void check_read(void *user, expr e)
{
	struct reads *r = user;
	int64_t part;
	if (e->op != IR_LOAD || e->buf != r->buf)
		return;
	for (int i = 0; i + 1 < e->buf->rank; i++)
		r->own &= e->arg[i] == ir_axis(e->pool, i, e->buf->dim[i]);
	r->own &= ir_const_int(e->arg[e->buf->rank - 1], &part) && part >= 0 && part <= 1;
}

expr fourier_after_part(const struct fourier_chain *f, int part)
{
	const struct ir_stage *s = f->after;
	struct ir_pool *pool = f->p->pool;
	expr axis[IR_MAX_RANK + 1];
	int frequency = fourier_end(f)->s->out->rank - 1;
	for (int i = 0; i < frequency; i++)
		axis[i] = ir_axis(pool, i, s->out->dim[i]);
	axis[frequency] = ir_index(pool, part);
	return ir_bind_axes(pool, s->value, axis);
}

/* True if the stage has one value, or one for both parts, of each frequency. */
static bool follows(const struct ir_stage *s, const struct ir_buffer *from)
{
	int frequency = from->rank - 1;
	bool sum = s->kind == IR_REDUCE && s->combine == IR_SUM && s->space_rank == 1 && ir_is_int(s->space[0], 2);
	if (sum ? s->out->rank != frequency : s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	if (s->out->rank != frequency && (s->out->rank != from->rank || !ir_is_int(s->out->dim[frequency], 2)))
		return false;
	for (int i = 0; i < frequency; i++)
		if (s->out->dim[i] != from->dim[i])
			return false;
	return true;
}

void fourier_find_after(struct fourier_chain *f, int first)
{
	const struct ir_stage *made[FOURIER_PASSES + 1], *end = fourier_end(f)->s;
	if (first + f->passes == f->p->stages.n || f->rest > 1 || f->parts != 2)
		return;
	f->after = f->p->stages.at[first + f->passes];
	for (int i = 0; i < f->passes; i++)
		made[i] = f->pass[i].s;
	made[f->passes] = f->after;
	struct reads r = { end->out, follows(f->after, end->out) };
	for (int part = 0; part < 2 && r.own; part++)
		ir_walk(fourier_after_part(f, part), check_read, &r);
	if (!r.own || !ir_reads(f->after->value, end->out) || (f->after->post && ir_reads(f->after->post, end->out)) ||
	    stage_is_stored(f->p, made, f->passes + 1, f->passes - 1))
		f->after = NULL;
}
