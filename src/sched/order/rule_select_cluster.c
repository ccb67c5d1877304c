/* Rule select_cluster: the first k of rows (TopK) by the blocks of a cluster, which keep a row in registers. Their best
 * items give a bound, and the few items up to it are sorted by one of the blocks (tpat_select.h). Other GPUs, and
 * longer rows, have the kernels of another rule. */
#include "sched/order/select.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

enum { LEAST_LENGTH = 4096, LEAST_THREADS = 256, MOST_THREADS = 1024, MOST_BLOCKS = 8 };
enum { FEW_KEPT = 1024, KEPT = 2048 /* candidates of a block */, STEP = 4, MOST_ITEMS = 32, MOST_LONG_ITEMS = 12 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	int64_t k, n;
	if (!sort_match(p, s, why))
		return NULL;
	*why = "a block has room for few elements only";
	if (!ir_const_int(s->out->dim[s->axis], &k) || k < 1 || k > KEPT / 2)
		return NULL;
	*why = "the rows are short";
	if (ir_const_int(s->space[0], &n) && n < LEAST_LENGTH)
		return NULL;
	*why = "the rows are longer than the registers of a cluster's blocks";
	int most = sort_key_bits(s) == 64 ? MOST_LONG_ITEMS : MOST_ITEMS;
	if (ir_const_int(s->space[0], &n) && n > (int64_t)most * MOST_THREADS * MOST_BLOCKS)
		return NULL;
	*why = "the length is known on the GPU only";
	return sort_has_size(p, s->space[0]) ? NULL : s;
}

static int kept_of(int64_t k)
{
	return k <= FEW_KEPT / MOST_BLOCKS ? FEW_KEPT : KEPT;
}

/* The best items of a warp that are compared: at least 32 of a block, and twice the block's share of k; 0: a warp has
 * too few. */
static int best_of(int64_t k, int threads, int blocks)
{
	int best = 1024 / threads;
	while (best <= 32 && (int64_t)threads / 32 * best * blocks < 2 * k)
		best *= 2;
	return best <= 32 ? best : 0;
}

/* Elements of a thread, in whole vectors. There is some room for longer rows if the length is open. */
static int64_t items_of(struct ir_program *p, const struct ir_stage *s, int64_t n, int64_t threads)
{
	int64_t length, step = sort_width(p, s);
	step = step < STEP ? STEP : step;
	int64_t items = (n + threads * step - 1) / (threads * step) * step;
	if (!ir_const_int(s->space[0], &length))
		for (int64_t least = items; items < 2 * least && items & (items - 1);)
			items += step;
	return items;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t k, n = about(s->space[0], t), most = sort_key_bits(s) == 64 ? MOST_LONG_ITEMS : MOST_ITEMS;
	int count = 0;
	ck(ir_const_int(s->out->dim[s->axis], &k));
	for (int blocks = t->cluster_blocks; blocks > 1 && n >= LEAST_LENGTH / 2; blocks /= 2)
		for (int threads = MOST_THREADS; threads >= LEAST_THREADS; threads /= 2) {
			int64_t items = items_of(site->p, s, n, (int64_t)threads * blocks);
			/* Half of the threads would do with as many items: they wait less for each other. */
			bool idle = threads > LEAST_THREADS && best_of(k, threads / 2, blocks) &&
			            items_of(site->p, s, n, (int64_t)threads / 2 * blocks) == items;
			if (items <= most && best_of(k, threads, blocks) && !idle)
				out[count++] =
				        (struct sched_choice){ &sched_select_cluster, { threads, blocks, (int)items } };
		}
	return count;
}

/* The best choice of other rules, for other GPUs and longer rows. */
static struct sched_choice elsewhere(const struct sched_site *site)
{
	const struct sched_rule *const rule[] = { &sched_sort_select, &sched_select_digits };
	const struct sched_choice best =
	        rule_fastest(rule, sizeof rule / sizeof *rule, site->p, site->s, site->t, NULL);
	ck(best.rule);
	return best;
}

/* The serial twin: the first block of a cluster sorts the row. */
static void serial(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, expr row, expr rank)
{
	struct ir_block *b = emit_if(p, &k->serial, ir_binary(IR_EQ, rank, ir_index(p->pool, 0)));
	struct sort_row own = sort_row_begin(p, b, s, emit_constant(p, b, "row", row, rows_along(p, s)));
	emit_serial(&own, b);
}

/* The condition on rows that the registers hold. */
static expr row_fits(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	int64_t room = (int64_t)c->param[0] * c->param[1] * c->param[2];
	return ir_binary(IR_LE, s->space[0], ir_index(p->pool, room));
}

static void add_kernel(struct ir_plan *plan, struct ir_step *step, const struct sched_site *site,
                       const struct sched_choice *c, int width)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "_cluster", c);
	struct ir_block *b = &k->body;
	int threads = c->param[0], blocks = c->param[1], items = c->param[2];
	expr several = ir_index(p->pool, blocks);
	int64_t first = 0;
	ck(ir_const_int(s->out->dim[s->axis], &first));
	k->threads = threads;
	k->cluster = blocks;
	k->arch = site->t->arch;
	k->blocks = ir_binary(IR_MUL, rows_along(p, s), several);
	expr block = ir_block(p->pool, k->blocks), row = ir_binary(IR_FLOORDIV, block, several),
	     rank = ir_binary(IR_MOD, block, several);
	serial(p, k, s, row, rank);
	const struct ir_variable *kept =
	        emit_shared(p, b,
	                    ir_object_new(p->pool, &device_cluster_kept,
	                                  IR_OF(IR_TYPE(sort_key_type(s)), IR_NUMBER(kept_of(first))), "kept"));
	struct sort_row own = sort_row_begin(p, b, s, emit_constant(p, b, "row", row, rows_along(p, s)));
	rank = emit_constant(p, b, "rank_of_block", rank, several);
	const struct ir_variable *values = emit_values(p, b, s, &own, width),
	                         *put = emit_put(p, b, s, &own, true, false);
	struct ir_call *call = emit_invoke(p, b, &device_select_cluster,
	                                   IR_OF(IR_TYPE(sort_key(s)->type), IR_TRUTH(s->reverse), IR_NUMBER(threads),
	                                         IR_NUMBER(blocks), IR_NUMBER(items), IR_NUMBER(width),
	                                         IR_NUMBER(best_of(first, threads, blocks))));
	add_variable(p, call, kept);
	add_value(p, call, rank);
	add_value(p, call, own.n);
	add_value(p, call, own.k);
	add_variable(p, call, values);
	add_variable(p, call, put);
	kernel_needs(k, row_fits(p, s, c));
	kernel_needs(k, whole_multiple(p, own.n, width));
	kernel_finish_narrow(plan, step, k, s); /* other positions: the other rule's kernels */
}

/* A kernel that is not launched, on this GPU where the cluster's kernels did everything in the step before. */
static void add_nothing(struct ir_plan *plan, struct ir_step *step, const struct ir_step *done,
                        const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	vec_each (k, done) {
		if (!(*k)->cluster)
			continue;
		struct ir_kernel *none = kernel_new(plan, site->s, "_done", c);
		none->threads = 32;
		none->arch = (*k)->arch;
		none->blocks = ir_index(p->pool, 0);
		kernel_needs_only(none, (*k)->guard);
		kernel_finish_narrow(plan, step, none, site->s);
	}
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_choice other = elsewhere(site);
	struct ir_step *step = step_new(plan);
	int first = plan->steps.n, width = sort_width(plan->program, site->s);
	while (c->param[2] % width)
		width /= 2;
	add_kernel(plan, step, site, c, width);
	if (width > 1 && !ir_is_int(whole_multiple(plan->program, site->s->space[0], width), 1))
		add_kernel(plan, step, site, c, 1);
	other.rule->apply(plan, site, &other);
	/* The other rule's first step is the second part of this one, and its later steps are skipped here. */
	struct ir_step *next = plan->steps.at[first];
	vec_each (k, next)
		step_add(plan->program, step, *k);
	for (int i = first + 1; i < plan->steps.n; i++) {
		struct ir_step with = { 0 };
		add_nothing(plan, &with, step, site, c);
		vec_each (k, plan->steps.at[i])
			step_add(plan->program, &with, *k);
		*plan->steps.at[i] = with;
		plan->steps.at[i - 1] = plan->steps.at[i];
	}
	plan->steps.n--;
}

const struct sched_rule sched_select_cluster = {
	.name = "select_cluster",
	.version = 1,
	.needs = TARGET_CLUSTERS,
	.none = "no cluster of blocks has room for a row",
	.about = "{blocks} blocks keep a row in registers, {items} keys in each thread. Keys that come before a "
	         "bound, which their best keys give, are sorted by the first block.",
	.param = { { "threads", 256, 1024 }, { "blocks", 2, 8 }, { "items", 4, 32 } },
	.match = match,
	.span = sort_span,
	.candidates = candidates,
	.apply = apply,
	.estimate = select_cluster_estimate,
};
