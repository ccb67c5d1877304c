/* Sizes known only after a stage has computed them: sets their symbols, and the extents of buffers that depend on
 * them. */
#include "eval/code.h"

static int take_count(struct eval_run *run, const struct ir_size *s)
{
	int64_t n = *(const int64_t *)run->buffer[s->count->id].data, limit;
	TRY(eval_extent(run, s->limit, &limit));
	if (n < 0 || n > limit)
		return err_set(run->err, ERR_MODEL, "Program %s: the size %s is %lld, but it can be 0 to %lld.",
		               run->program->name, s->symbol->name, (long long)n, (long long)limit);
	int64_t *place = map_get_u64(&run->symbols, s->symbol->id);
	if (!place) {
		place = NEW(run->symbols.arena, int64_t);
		map_put_u64(&run->symbols, s->symbol->id, place);
	}
	*place = n;
	return 0;
}

int eval_size_found(struct eval_run *run, const struct ir_buffer *count)
{
	const struct ir_program *p = run->program;
	bool any = false;
	vec_each (s, &p->sizes) {
		if (s->count != count)
			continue;
		TRY(take_count(run, s));
		any = true;
	}
	for (int i = 0; any && i < p->buffers.n; i++)
		if (run->buffer[i].open && !eval_size_open(run, p->buffers.at[i]))
			TRY(eval_buffer_close(run, p->buffers.at[i]));
	return any ? eval_demands_check(run) : 0;
}
