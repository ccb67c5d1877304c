/* Rule sort_select: the first k of rows (TopK), in one read of each row. A block keeps the best elements seen so far in
 * shared memory and drops the ones after the k-th. If there are few rows, several blocks share a row, and a second
 * kernel takes the first k of their results. Of many short rows, a thread takes each and keeps its best few in
 * registers (select_few.c), or a warp (select_warp.c). */
#include "sched/order/select.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"

enum { LEAST_KEYS = 1024, THREADS = 256, MANY_ITEMS = 32, FEW_ITEMS = 8, LEAST_SEGMENTED = 8192 };
enum { SHORT_ROW = 4096, SHORT_KEYS = 128, WARP = 32 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	int64_t k;
	if (!sort_match(p, s, why))
		return NULL;
	*why = "all of many elements are sorted";
	if (s->out->dim[s->axis] == s->space[0] && !(ir_const_int(s->space[0], &k) && k <= WARP))
		return NULL;
	if (!ir_const_int(s->out->dim[s->axis], &k) || k <= sort_most_keys(s) / 2)
		return s;
	*why = "k elements do not fit into shared memory";
	return NULL;
}

/* Elements that a thread reads at once. */
static int items(const struct ir_stage *s, int64_t n)
{
	int many = n >= THREADS * MANY_ITEMS / 2 ? MANY_ITEMS : FEW_ITEMS;
	return sort_key_bits(s) == 64 && many == MANY_ITEMS ? many / 2 : many; /* each takes two registers */
}

/* Short rows with small k: as few threads as the bound allows, or slightly more. Measured on an H100, 4096 rows of
 * 1000: one warp that reads twice takes 14.2 us, one with 32 items at once 18.8, two warps 14.9, eight 22.3. */
static int short_rows(const struct ir_stage *s, int64_t n, int64_t k, struct sched_choice *out)
{
	int count = 0, keys = SHORT_KEYS, most = sort_key_bits(s) == 64 ? MANY_ITEMS / 4 : MANY_ITEMS / 2;
	while (keys < 4 * k)
		keys *= 2;
	for (int threads = 32; threads <= THREADS && n <= SHORT_ROW; threads *= 2) {
		int items = FEW_ITEMS;
		while (items < most && threads * items < n)
			items *= 2;
		if (4 * k <= threads && threads * items * 2 >= n && threads * FEW_ITEMS / 2 <= n)
			out[count++] = (struct sched_choice){ &sched_sort_select, { keys, threads, 1, items } };
	}
	return count;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t k, rows = about(rows_along(p, s), t), n = about(s->space[0], t);
	int count = 0, keys = LEAST_KEYS, parts = 1;
	if (!ir_const_int(s->out->dim[s->axis], &k))
		k = t->typical;
	while (rows * parts < 2 * t->processors && n >= 2 * parts * LEAST_SEGMENTED)
		parts *= 2;
	for (; 4 * k <= THREADS && n >= LEAST_SEGMENTED && parts; parts = parts > 1) /* and without parts */
		out[count++] = (struct sched_choice){ &sched_sort_select,
			                              { SORT_DELEGATE_KEYS, THREADS, parts, SORT_SEGMENT } };
	count += short_rows(s, n, k, out + count);
	count += select_warp_choices(s, n, out + count);
	if (select_few_fits(s))
		out[count++] = (struct sched_choice){ &sched_sort_select, { (int)k, SELECT_FEW_THREADS, 1, 1 } };
	parts = 1;
	while (keys < 2 * k)
		keys *= 2;
	while (rows * parts < 2 * t->processors && parts * 8 * keys <= n)
		parts *= 2;
	if (parts > 1)
		out[count++] =
		        (struct sched_choice){ &sched_sort_select, { keys, THREADS, parts, items(s, n / parts) } };
	out[count++] = (struct sched_choice){ &sched_sort_select, { keys, THREADS, 1, items(s, n) } };
	if (keys < sort_most_keys(s))
		out[count++] =
		        (struct sched_choice){ &sched_sort_select, { 2 * keys, 2 * THREADS, 1, items(s, n) / 2 } };
	return count;
}

/* Segments that a block keeps; 0: it uses select_row. */
static int segments_of(const struct select *x, enum select_kernel kernel)
{
	enum { FEW = 2048, MANY = 4096 };
	return x->keys != SORT_DELEGATE_KEYS || kernel == SELECT_FOUND ? 0 : sort_key_bits(x->s) == 64 ? FEW : MANY;
}

static bool by_segments(const struct select *x, enum select_kernel kernel)
{
	return segments_of(x, kernel) != 0;
}

static struct ir_variable *object_of(const struct select *x, enum select_kernel kernel)
{
	int segments = segments_of(x, kernel);
	struct ir_template of = IR_OF(IR_TYPE(sort_key_type(x->s)), IR_NUMBER(x->keys));
	if (segments)
		of.at[of.n++] = (struct ir_of_arg)IR_NUMBER(segments);
	return ir_object_new(x->p->pool, segments ? &device_sort_delegates : &device_sort_kept, of, "kept");
}

static struct ir_call *call_of(const struct select *x, struct ir_block *b, enum select_kernel kernel, int width)
{
	if (!segments_of(x, kernel))
		return emit_invoke(x->p, b, &device_select_row,
		                   IR_OF(IR_NUMBER(x->threads), IR_NUMBER(x->items), IR_NUMBER(width)));
	return emit_invoke(x->p, b, &device_select_delegates,
	                   IR_OF(IR_TYPE(sort_key(x->s)->type), IR_TRUTH(x->s->reverse), IR_NUMBER(x->threads),
	                         IR_NUMBER(x->items), IR_NUMBER(width)));
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const int *param = c->param;
	if (select_few_chosen(c)) {
		select_few_apply(plan, site->s, c);
		return;
	}
	if (select_warp_chosen(c)) {
		select_warp_apply(plan, site->s, c);
		return;
	}
	select_apply(&(struct select){ .plan = plan,
	                               .p = plan->program,
	                               .s = site->s,
	                               .c = c,
	                               .keys = param[0],
	                               .threads = param[1],
	                               .parts = param[2],
	                               .items = param[3],
	                               .most = param[0] / 2,
	                               .object = object_of,
	                               .call = call_of,
	                               .values = by_segments });
}

const struct sched_rule sched_sort_select = {
	.name = "sort_select",
	.version = 5,
	.about = "Each row is read once, and the best elements so far stay in shared memory or "
	         "registers.{parts> Up to {parts} blocks share a row, and a second kernel joins their "
	         "results.}",
	.param = { { "keys", 1, 8192 }, { "threads", 32, 1024 }, { "parts", 1, 1048576 }, { "items", 1, 64 } },
	.match = match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = sort_select_estimate,
};
