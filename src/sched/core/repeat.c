/* A small step that the next kernel repeats. A reduction that many blocks share ends with a step of one block, which
 * combines their parts: the range of a tensor, the mean and deviation of a long row, the largest element and the sum
 * of a softmax. It takes hardly longer than one trip to the L2 cache, but a launch of its own takes a microsecond. So
 * each block of the next kernel that reads its results computes them again, into shared memory. The first block also
 * stores them, for later kernels. */
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/launches.h"

enum {
	MOST_RESULTS = 64, /* elements of a result */
	TRIP_NS = 400,     /* loads from the L2 cache */
	WARP_NS = 60,
	BLOCK_NS = 200,
	BARRIER_NS = 40,       /* a combination over a warp, or a block; a barrier */
	OPERATION_NS = 2,      /* of one thread, waiting for its operands */
	HEAVY_REGISTERS = 128, /* of a thread that keeps objects */
};

/* ---- The time of one block that runs the kernel alone, by its longest chain. */

struct serial {
	const struct sched_target *t;
	double ns;
	bool loads, known; /* of this turn: it loads; every loop's length is known */
};

static void count_expr(void *user, expr e)
{
	struct serial *x = user;
	x->loads |= e->op == IR_LOAD;
	x->ns += e->n ? cost_wait(x->t, OPERATION_NS * (e->op == IR_DIV || e->op == IR_REM ? 8 : 1)) : 0;
}

static double turns_of(const struct ir_for *f)
{
	expr first = ir_lower_bound(f->from), end = ir_upper_bound(f->to);
	int64_t from, to, step;
	if (!first || !end || !ir_const_int(first, &from) || !ir_const_int(end, &to) || !ir_const_int(f->step, &step))
		return -1;
	return to > from ? (double)((to - from + step - 1) / step) : 0;
}

static void count_block(struct serial *x, const struct ir_block *b);

static void count_body(struct serial *x, const struct ir_stmt *s)
{
	struct serial body = { .t = x->t, .known = true };
	bool loop = s->kind == IR_FOR;
	double turns = loop ? turns_of(&s->loop) : 1;
	count_block(&body, ir_stmt_body(s));
	x->known &= body.known && turns >= 0;
	if (body.loads && loop && !s->loop.unrolled) { /* each turn waits */
		body.ns += TRIP_NS;
		body.loads = false;
	}
	x->loads |= body.loads;
	x->ns += turns * body.ns;
}

static void count_block(struct serial *x, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, count_expr, x);
		switch (s->kind) {
		case IR_LOAD_VECTOR: x->loads = true; break;
		case IR_SYNC: x->ns += cost_wait(x->t, BARRIER_NS); break;
		case IR_LANES_COMBINE:
			x->ns += cost_wait(x->t, s->lanes.lanes > 32 || s->lanes.columns ? BLOCK_NS : WARP_NS) *
			         (s->lanes.items ? s->lanes.items : 1);
			break;
		case IR_LANES_SCAN:
		case IR_ITEMS_SCAN: x->ns += cost_wait(x->t, BLOCK_NS); break;
		default: break;
		}
		if (ir_stmt_body(s))
			count_body(x, s);
	}
}

/* Returns the nanoseconds; negative: not known. */
static double alone_ns(const struct ir_kernel *k, const struct sched_target *t)
{
	struct serial x = { .t = t, .known = true };
	double ns = 0;
	vec_each (part, &k->parts) {
		double own = alone_ns(*part, t);
		if (own < 0)
			return -1;
		ns += own;
	}
	count_block(&x, &k->body);
	return x.known ? ns + x.ns + (x.loads ? TRIP_NS : 0) : -1;
}

/* ---- Feasibility. */

static bool has_barrier(const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		bool over_warp = s->kind == IR_LANES_COMBINE && s->lanes.lanes <= 32 && !s->lanes.columns;
		if (s->kind == IR_SYNC || (s->kind == IR_LANES_COMBINE && !over_warp) || s->kind == IR_LANES_SCAN ||
		    s->kind == IR_ITEMS_SCAN || (ir_stmt_body(s) && has_barrier(ir_stmt_body(s))))
			return true;
	}
	return false;
}

static bool needs_all_threads(const struct ir_kernel *k)
{
	vec_each (part, &k->parts)
		if (needs_all_threads(*part))
			return true;
	return k->shared.n || has_barrier(&k->body);
}

static bool is_small(const struct ir_kernel *k, int threads)
{
	int64_t n;
	vec_each (b, &k->written)
		if (!ir_const_int((*b)->dim[0], &n) || n > MOST_RESULTS || n > threads || type_is_packed((*b)->type))
			return false;
	return true;
}

/* True if a small kernel x may run at the start of each block of a kernel with that many threads. */
static bool may_repeat(const struct ir_kernel *x, int threads)
{
	return ir_is_int(x->blocks, 1) && part_needs(x).plain && !x->exchanged.n && (!x->parts.n || x->in_turn) &&
	       is_small(x, threads) && (x->threads == threads || (x->threads < threads && !needs_all_threads(x)));
}

struct use {
	const struct ir_buffer *buf;
	bool address; /* a device function gets its address, and may need memory that is not shared */
};

static void find_address(void *user, const struct ir_arg *a)
{
	struct use *u = user;
	u->address |= a->buf == u->buf;
}

/* True if statements only load the buffer's elements, which may then be in shared memory. */
static bool only_loads(const struct ir_block *b, const struct ir_buffer *buf)
{
	struct use u = { buf, false };
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		if (ir_stmt_buffer(s) == buf && (s->kind != IR_LOAD_VECTOR || s->vector.once))
			return false;
		if (s->kind == IR_INVOKE)
			ir_call_each(s->call, find_address, &u);
		if (u.address || (ir_stmt_body(s) && !only_loads(ir_stmt_body(s), buf)))
			return false;
	}
	return true;
}

static bool reads_only(const struct ir_kernel *k, const struct ir_buffer *buf)
{
	vec_each (part, &k->parts)
		if (!reads_only(*part, buf))
			return false;
	return !ir_kernel_writes(k, buf) && only_loads(&k->body, buf);
}

/* Bytes of objects that a kernel declares in shared memory; negative: not known. */
static double objects_bytes(const struct ir_block *b)
{
	enum { APART_BYTES = 16 };
	double bytes = 0;
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		if (s->kind == IR_SHARED && s->shared.var->object) {
			const struct ir_object *o = s->shared.var->object;
			if (o->type != &device_shared_tile)
				return -1;
			double row = o->of.at[2].number * type_info(o->of.at[0].type)->bits / 8.0 +
			             APART_BYTES * (o->of.n > 3);
			bytes += o->of.at[1].number * row * s->shared.var->dim[0];
		}
		double inside = ir_stmt_body(s) ? objects_bytes(ir_stmt_body(s)) : 0;
		if (inside < 0)
			return -1;
		bytes += inside;
	}
	return bytes;
}

static double declared_bytes(const struct ir_kernel *k)
{
	double bytes = objects_bytes(&k->body);
	vec_each (part, &k->parts) {
		double own = declared_bytes(*part);
		bytes = bytes < 0 || own < 0 ? -1 : bytes + own;
	}
	return bytes;
}

/* True if an output that the kernel writes may have the memory of something that x reads. */
static bool overwrites(const struct ir_program *p, const struct ir_kernel *k, const struct ir_kernel *x)
{
	vec_each (w, &k->written) {
		const struct ir_buffer *replaces = p->buffers.at[(*w)->id]->replaces;
		if (kernel_touches(x, *w) || (replaces && kernel_touches(x, replaces)))
			return true;
	}
	return false;
}

static bool fits(const struct ir_program *p, const struct ir_kernel *x, const struct ir_kernel *k)
{
	double objects = declared_bytes(k);
	vec_each (b, &x->written)
		if (kernel_touches(k, *b) && !reads_only(k, *b))
			return false;
	return !k->arch && !k->together && !k->cluster && !k->maps.n && !k->fills && !k->in_turn && !k->repeated &&
	       may_repeat(x, k->threads) && !overwrites(p, k, x) && objects >= 0 &&
	       objects + part_needs(x).shared + part_needs(k).shared + MOST_RESULTS * 16 <=
	               (objects > 0 ? TARGET_DECLARED : TARGET_DECLARED_DATA) &&
	       k->shared_bytes <= TARGET_ARRAYS_EVERYWHERE && ir_kernel_args(x) + ir_kernel_args(k) <= PARTS_ARGUMENTS;
}

/* ---- Gain. */

/* Every wave of blocks repeats the step. */
static bool pays(const struct ir_kernel *x, const struct ir_kernel *k, const struct sched_target *t)
{
	double ns = alone_ns(x, t), objects = declared_bytes(k);
	double here = target_resident(t, k->threads, objects > 0 ? HEAVY_REGISTERS : 0, k->shared_bytes + objects);
	double waves = (double)about(k->blocks, t) / (t->processors * (here < 1 ? 1 : here));
	return ns >= 0 && (waves > 1 ? waves - 1 : 0) * ns + cost_wait(t, BARRIER_NS) < cost_following(t);
}

/* ---- Kernels. */

/* Every block computes the results of x's parts into memory of its own. */
static void keep_results(struct ir_program *p, struct ir_kernel *k, const struct ir_kernel *x)
{
	k->repeated = parts_of(x);
	vec_each (b, &x->written) {
		struct ir_buffer *own = NEW(p->arena, struct ir_buffer);
		*own = **b;
		own->name = arena_printf(p->arena, "%s_here", (*b)->name);
		vec_push(p->arena, &k->results, ((struct ir_result){ *b, own }));
	}
}

static struct ir_kernel *repeat(struct ir_plan *all, const struct ir_kernel *x, const struct ir_kernel *own,
                                const struct sched_target *t)
{
	struct ir_kernel *k = parts_join(all->program, x, own);
	keep_results(all->program, k, x);
	k->blocks = own->blocks;
	k->resident = own->resident;
	k->shared_bytes = own->shared_bytes;
	k->early = may_start_early(k, t);
	kernel_needs(k, ir_binary(IR_LE, ir_index(all->program->pool, 1), own->blocks));
	return parts_kernel(all, k, "the first in every block");
}

/* x may be a kernel and its copy with 64-bit positions. Without blocks of the other step, x runs alone. */
static struct ir_step *repeat_step(struct ir_plan *all, const struct ir_step *x, const struct ir_step *s,
                                   const struct sched_target *t)
{
	struct ir_program *p = all->program;
	struct ir_step *step = NEW(p->arena, struct ir_step);
	for (int i = 0; i < x->n || i < s->n; i++)
		step_add(p, step, repeat(all, x->at[i < x->n ? i : x->n - 1], s->at[i < s->n ? i : s->n - 1], t));
	if (!step_fits_all(step))
		vec_each (k, x)
			step_add(p, step, *k);
	vec_push(p->arena, &all->steps, step);
	return step;
}

/* Index of the first step after number i that depends on it; -1: none. */
static int next_dependent(struct ir_step *const *step, int i, int steps)
{
	for (int k = i + 1; k < steps; k++)
		if (steps_depend(step[i], step[k]))
			return k;
	return -1;
}

/* True if earlier steps write part of what x writes: the initial values of a scatter, which its updates change. x alone
 * would compute other results. */
static bool is_begun(struct ir_step *const *earlier, int n, const struct ir_step *x)
{
	for (int i = 0; i < n; i++)
		vec_each (k, earlier[i])
			vec_each (own, x)
				vec_each (w, &(*k)->written)
					if (ir_kernel_writes(*own, *w))
						return true;
	return false;
}

static bool may_join(const struct ir_program *p, const struct ir_step *x, const struct ir_step *s,
                     const struct sched_target *t)
{
	if (!step_fits_all(x) || !step_fits_all(s) || x->n > 2 || (x->n == 2 && s->n > 2))
		return false;
	vec_each (own, x)
		vec_each (k, s)
			if (!fits(p, *own, *k))
				return false;
	return pays(x->at[0], s->at[0], t);
}

void repeat_small(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t)
{
	int n = 0, steps = plan->steps.n;
	struct ir_step **step = NEWN(plan->program->arena, struct ir_step *, steps + 1);
	for (int i = 0; i < steps; i++)
		step[i] = plan->steps.at[i];
	for (int i = 0; i < steps; i++) {
		int next = next_dependent(step, i, steps);
		if (next >= 0 && !is_begun(step, n, step[i]) && may_join(plan->program, step[i], step[next], t))
			step[next] = repeat_step(all, step[i], step[next], t);
		else
			step[n++] = step[i];
	}
	plan->steps.at = step;
	plan->steps.n = n;
	plan->steps.cap = steps + 1;
}
