/* Rule select_digits: the first k of rows (TopK) by digits. A block counts the digits of a row's keys, the highest
 * first, until few enough keys can be among the first k, and sorts those in shared memory. Keys stay in registers if
 * the block has as many as the row. Long rows are found in parts, each by a block, and a second kernel takes the first
 * k of what these found. */
#include "sched/order/select.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"

enum { LEAST_LENGTH = 256, LEAST_THREADS = 128, MOST_THREADS = 1024, FEW_ITEMS = 4, MANY_ITEMS = 32, REDUCED = 4 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	int64_t k, n;
	if (!sort_match(p, s, why))
		return NULL;
	*why = "k elements do not fit into shared memory";
	if (ir_const_int(s->out->dim[s->axis], &k) && k > sort_most_keys(s))
		return NULL;
	*why = "the rows are short";
	return ir_const_int(s->space[0], &n) && n < LEAST_LENGTH ? NULL : s;
}

/* Elements that a thread reads at once, so that `threads` read n of them if they can. */
static int items(const struct ir_stage *s, int64_t n, int threads)
{
	int items = FEW_ITEMS, bits = sort_key_bits(s), most = bits == 64 ? MANY_ITEMS / 2 : MANY_ITEMS;
	while (items < most && (int64_t)threads * items < n)
		items *= 2;
	return (int64_t)threads * items < n ? MANY_ITEMS / 2 : items;
}

/* Room for more than k elements, so that few digits must be counted. */
static int keys(const struct ir_stage *s, int64_t k, int threads)
{
	int keys = threads;
	while (keys < 2 * k && keys < sort_most_keys(s))
		keys *= 2;
	return keys;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t k, n = about(s->space[0], t);
	int count = 0;
	if (!ir_const_int(s->out->dim[s->axis], &k))
		k = t->typical;
	for (int threads = LEAST_THREADS; threads <= MOST_THREADS; threads *= 2) {
		int room = keys(s, k, threads);
		if (k > room)
			continue;
		if (n * 2 > threads * FEW_ITEMS)
			out[count++] = (struct sched_choice){ &sched_select_digits,
				                              { room, threads, 1, items(s, n, threads) } };
		for (int each = MANY_ITEMS / 4; each <= MANY_ITEMS; each *= 2) {
			int64_t part = (int64_t)threads * each, parts = (n + part - 1) / part;
			if (parts > 1 && part >= REDUCED * k && (each < MANY_ITEMS || sort_key_bits(s) < 64))
				out[count++] = (struct sched_choice){ &sched_select_digits,
					                              { room, threads, (int)parts, each } };
		}
	}
	return count;
}

static struct ir_variable *object_of(const struct select *x, enum select_kernel kernel)
{
	(void)kernel;
	return ir_object_new(x->p->pool, &device_digits_kept, IR_OF(IR_TYPE(sort_key_type(x->s)), IR_NUMBER(x->keys)),
	                     "kept");
}

static struct ir_call *call_of(const struct select *x, struct ir_block *b, enum select_kernel kernel, int width)
{
	return emit_invoke(
	        x->p, b, &device_select_digits,
	        IR_OF(IR_NUMBER(x->threads), IR_NUMBER(x->items), IR_NUMBER(width), IR_TRUTH(kernel != SELECT_PARTS)));
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const int *param = c->param;
	select_apply(&(struct select){ .plan = plan,
	                               .p = plan->program,
	                               .s = site->s,
	                               .c = c,
	                               .keys = param[0],
	                               .threads = param[1],
	                               .parts = param[2],
	                               .items = param[3],
	                               .most = param[0],
	                               .object = object_of,
	                               .call = call_of });
}

const struct sched_rule sched_select_digits = {
	.name = "select_digits",
	.version = 1,
	.about = "A block counts the digits of the keys of a row, the highest digit first, until few keys "
	         "can be among the first k. It sorts those in shared memory.",
	.param = { { "keys", 128, 4096 }, { "threads", 128, 1024 }, { "parts", 1, 1048576 }, { "items", 4, 32 } },
	.match = match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = select_digits_estimate,
};
