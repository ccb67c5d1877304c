/* Estimates of extents and bytes from the target's expected extents. See extents.h. */
#include "sched/build/extents.h"
#include "sched/build/finish.h"

static bool typical(void *user, expr symbol, int64_t *value)
{
	const struct sched_target *t = *(const struct sched_target **)user;
	ck(!t->extents || t->extent[0].symbol->pool == symbol->pool); /* else they are another program's */
	*value = t->typical;
	for (int i = 0; i < t->extents; i++)
		if (t->extent[i].symbol == symbol)
			*value = t->extent[i].value;
	return true;
}

static bool has_extent(const struct sched_target *t, expr symbol)
{
	for (int i = 0; i < t->extents; i++)
		if (t->extent[i].symbol == symbol)
			return true;
	return false;
}

struct sched_target with_sizes(struct ir_program *p, const struct sched_target *t)
{
	struct sched_target known = *t;
	int missing = 0;
	vec_each (size, &p->sizes)
		missing += !has_extent(t, size->symbol);
	if (!missing)
		return known;
	struct sched_extent *extent = NEWN(p->arena, struct sched_extent, t->extents + p->sizes.n);
	for (int i = 0; i < t->extents; i++)
		extent[i] = t->extent[i];
	known.extent = extent;
	vec_each (size, &p->sizes) {
		if (has_extent(&known, size->symbol))
			continue;
		int64_t half = about(ir_size_limit(p, size->limit), &known) / 2;
		extent[known.extents++] = (struct sched_extent){ size->symbol, half > 0 ? half : 1 };
	}
	return known;
}

int64_t about(expr e, const struct sched_target *t)
{
	int64_t n;
	return ir_eval_int(e, typical, &t, &n) && n > 0 ? n : 1;
}

bool about_holds(expr condition, const struct sched_target *t)
{
	struct ir_pool *pool = condition->pool;
	bool holds = about(ir_select(condition, ir_index(pool, 2), ir_index(pool, 1)), t) == 2;
	if (holds && t->asked)
		*t->asked = guard_both(*t->asked, condition);
	return holds;
}

struct bytes_read {
	struct ir_program *p;
	const struct sched_target *t;
	double bytes;
};

static void add_read(void *user, expr e)
{
	struct bytes_read *r = user;
	if (e->op == IR_LOAD)
		r->bytes += (double)about(ir_buffer_count(r->p, e->buf), r->t) * type_info(e->type)->bits / 8.0;
}

double about_bytes_read(struct ir_program *p, expr e, const struct sched_target *t)
{
	struct bytes_read r = { p, t, 0 };
	ir_walk(e, add_read, &r);
	return r.bytes;
}
