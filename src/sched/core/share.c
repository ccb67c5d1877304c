/* Horizontal fusion: several kernels share a launch. A launch costs the host some microseconds and the GPU about one,
 * which is more than a small kernel takes. So neighbouring independent steps that would leave the GPU partly idle are
 * merged: each kernel keeps its blocks, and the block number selects the kernel. Dependent steps of one block each run
 * in sequence in that block.
 *
 * Only plain kernels take part, because a launch has the threads, registers and shared memory of its largest part. */
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/launches.h"

#include <string.h>

enum {
	MOST_WAVES = 4, /* of all blocks: longer kernels hide their launch, and need their own register count */
	MOST_PARTS = 8,
	MOST_ARGUMENTS = 64,
	MOST_REGISTERS = 64, /* of a thread, in arrays: a launch has the maximum over its parts */
	INDEXED = 16,        /* bytes of a value with its position */
	EXCHANGE = 1024,     /* upper bound on the bytes of shared memory of one reduction over a block */
};

/* ---- Plain kernels. */

struct needs {
	bool plain;
	double registers, shared;
};

static double elements_of(const struct ir_variable *v)
{
	double n = 1;
	for (int i = 0; i < v->rank; i++)
		n *= v->dim[i];
	return n;
}

static double bytes_of(const struct ir_variable *v)
{
	return type_info(v->type)->bits / 8.0;
}

/* One row of an array: its other rows are not live at the same time. */
static double registers_of(const struct ir_variable *v)
{
	return v->dim[v->rank - 1] * (bytes_of(v) > 4 ? bytes_of(v) / 4 : 1);
}

static double exchanged_by(const struct ir_lanes *s)
{
	double each = s->index ? INDEXED : bytes_of(s->var);
	return s->columns ? each * s->columns * s->lanes * (s->items ? s->items : 1) : EXCHANGE;
}

static void add_needs(struct needs *x, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		switch (s->kind) {
		case IR_LOAD_VECTOR: /* streaming loads are of large data, which fill the GPU */
		case IR_STORE_VECTOR: x->plain &= !s->vector.once; break;
		case IR_ARRAY: x->registers += registers_of(s->array.var); break;
		case IR_SHARED:
			x->plain &= !s->shared.var->object;
			x->shared += elements_of(s->shared.var) * bytes_of(s->shared.var);
			break;
		case IR_LANES_COMBINE: x->shared += exchanged_by(&s->lanes); break;
		case IR_LANES_SCAN:
		case IR_ITEMS_SCAN: x->shared += EXCHANGE; break;
		case IR_TILE_NEXT: /* blocks wait for each other */
		case IR_TILES_BEFORE:
		case IR_LOCAL:
		case IR_PLACE:
		case IR_LAMBDA:
		case IR_INVOKE: x->plain = false; break;
		default: break;
		}
		if (ir_stmt_body(s))
			add_needs(x, ir_stmt_body(s));
	}
}

static struct needs needs_of(const struct ir_kernel *k)
{
	struct needs x = { .plain = !k->shared_bytes && !k->arch && !k->together && !k->fills && !k->maps.n &&
		                    !k->resident };
	vec_each (b, &k->shared) {
		int64_t n = 0;
		x.plain &= ir_const_int((*b)->dim[0], &n);
		x.shared += (double)n * type_info((*b)->type)->bits / 8.0;
	}
	add_needs(&x, &k->body);
	vec_each (part, &k->parts) {
		struct needs own = needs_of(*part);
		x.plain &= own.plain;
		x.shared += own.shared;
		x.registers = own.registers > x.registers ? own.registers : x.registers;
	}
	x.plain &= x.registers <= MOST_REGISTERS;
	return x;
}

/* One kernel for all extents, or one and its copy with 64-bit positions. */
static bool is_plain(const struct ir_step *s)
{
	if (s->n < 1 || s->n > 2 || !step_fits_all(s) || !needs_of(s->at[0]).plain)
		return false;
	const struct ir_kernel *k = s->at[0];
	return s->n == 1 || (k->parts.n ? k->parts.n == s->at[1]->parts.n : k->about == s->at[1]->about);
}

/* ---- Dependences between steps. */

static bool touches(const struct ir_kernel *k, const struct ir_buffer *b)
{
	vec_each (own, &k->buffers)
		if ((*own)->id == b->id)
			return true;
	vec_each (m, &k->maps)
		if (m->buf->id == b->id)
			return true;
	return false;
}

static bool writes_for(const struct ir_kernel *a, const struct ir_kernel *b)
{
	vec_each (w, &a->written)
		if (touches(b, *w))
			return true;
	return false;
}

static bool depend(const struct ir_step *a, const struct ir_step *b)
{
	vec_each (x, a)
		vec_each (y, b)
			if (writes_for(*x, *y) || writes_for(*y, *x))
				return true;
	return false;
}

/* ---- Feasibility and gain. */

static int parts_of(const struct ir_kernel *k)
{
	return k->parts.n ? k->parts.n : 1;
}

static bool may_share(const struct ir_step *a, const struct ir_step *b)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	return is_plain(a) && is_plain(b) && x->threads == y->threads && parts_of(x) + parts_of(y) <= MOST_PARTS &&
	       needs_of(x).shared + needs_of(y).shared <= TARGET_DECLARED_DATA &&
	       ir_kernel_args(x) + ir_kernel_args(y) <= MOST_ARGUMENTS;
}

static bool side_by_side(const struct ir_step *a, const struct ir_step *b, const struct sched_target *t)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	double wave = (double)t->processors * t->threads / x->threads;
	double first = (double)about(x->blocks, t), second = (double)about(y->blocks, t);
	return may_share(a, b) && !x->in_turn && !y->in_turn && (first < wave || second < wave) &&
	       first + second <= MOST_WAVES * wave;
}

static bool in_turn(const struct ir_step *a, const struct ir_step *b)
{
	const struct ir_kernel *x = a->at[0], *y = b->at[0];
	return may_share(a, b) && (x->in_turn || !x->parts.n) && !y->parts.n && ir_is_int(x->blocks, 1) &&
	       ir_is_int(y->blocks, 1);
}

/* ---- Kernels of parts. */

static void add_part(struct ir_program *p, struct ir_kernel *k, const struct ir_kernel *part)
{
	if (part->parts.n) {
		vec_each (own, &part->parts)
			add_part(p, k, *own);
		return;
	}
	vec_push(p->arena, &k->parts, part);
	vec_each (b, &part->buffers) {
		bool known = touches(k, *b), earlier = ir_kernel_writes(k, *b);
		if (!known)
			vec_push(p->arena, &k->buffers, *b);
		if (ir_kernel_writes(part, *b) && !earlier)
			vec_push(p->arena, &k->written, *b);
		/* One part may read data that another writes. */
		if ((ir_kernel_exchanges(part, *b) || (known && ir_kernel_writes(k, *b))) &&
		    !ir_kernel_exchanges(k, *b))
			vec_push(p->arena, &k->exchanged, *b);
	}
	vec_each (x, &part->parameters) { /* several parts may be one function, with numbers of their own */
		const struct ir_variable *own = ir_variable_new(p->pool, x->var->type, "%s", x->var->hint);
		vec_push(p->arena, &k->parameters, ((struct ir_parameter){ .var = own, .value = x->value }));
	}
	k->index64 |= part->index64;
}

struct symbols {
	struct ir_program *p;
	struct ir_kernel *k;
};

static void add_symbol(struct symbols *x, expr symbol)
{
	vec_each (have, &x->k->symbols)
		if (*have == symbol)
			return;
	vec_push(x->p->arena, &x->k->symbols, symbol);
}

static void symbol_of(void *user, expr e)
{
	if (e->op == IR_SYMBOL)
		add_symbol(user, e);
}

/* Adds the symbols of all parts, and those of the block ranges. */
static void add_symbols(struct ir_program *p, struct ir_kernel *k)
{
	struct symbols x = { p, k };
	vec_each (part, &k->parts) {
		vec_each (symbol, &(*part)->symbols)
			add_symbol(&x, *symbol);
		ir_walk((*part)->blocks, symbol_of, &x);
	}
	kernel_order_symbols(p, k);
}

/* The first part's name, followed by the second's without the program's name, or by the number of further parts. */
static const char *name_of(struct ir_program *p, const struct ir_kernel *k)
{
	const char *program = str_identifier(p->arena, p->name), *first = k->parts.at[0]->name;
	const char *last = k->parts.at[k->parts.n - 1]->name;
	if (k->parts.n > 2)
		return arena_printf(p->arena, "%s_and_%d_more", first, k->parts.n - 1);
	return arena_printf(p->arena, "%s_and_%s", first, last + strlen(program) + 1);
}

static bool same_parts(const struct ir_kernel *a, const struct ir_kernel *b)
{
	return a->parts.n == b->parts.n && a->parts.n && a->in_turn == b->in_turn &&
	       memcmp(a->parts.at, b->parts.at, (size_t)a->parts.n * sizeof *a->parts.at) == 0;
}

static struct ir_kernel *share(struct ir_plan *all, const struct ir_kernel *a, const struct ir_kernel *b, bool turn,
                               const struct sched_target *t)
{
	struct ir_program *p = all->program;
	struct ir_kernel *k = NEW(p->arena, struct ir_kernel);
	struct str rules = str_new(p->arena);
	k->in_turn = turn;
	k->threads = a->threads;
	k->blocks = turn ? a->blocks : ir_binary(IR_ADD, a->blocks, b->blocks);
	k->early = may_start_early(k, t);
	add_part(p, k, a);
	add_part(p, k, b);
	add_symbols(p, k);
	vec_each (step, &all->steps)
		vec_each (known, *step)
			if (same_parts(*known, k))
				return *known;
	kernel_needs_both(k, a, b);
	k->name = ir_kernel_name(all, name_of(p, k));
	vec_each (part, &k->parts)
		str_printf(&rules, "%s%s", rules.n ? " + " : "", (*part)->rule);
	k->rule = str_text(&rules);
	k->params = turn ? "in turn" : "side by side";
	k->about = "";
	return k;
}

static struct ir_step *share_step(struct ir_plan *all, const struct ir_step *a, const struct ir_step *b, bool turn,
                                  const struct sched_target *t)
{
	struct ir_step *s = NEW(all->program->arena, struct ir_step);
	for (int i = 0; i < a->n || i < b->n; i++)
		step_add(all->program, s,
		         share(all, a->at[i < a->n ? i : a->n - 1], b->at[i < b->n ? i : b->n - 1], turn, t));
	vec_push(all->program->arena, &all->steps, s);
	return s;
}

/* True if s has fewer blocks: these are likely to be longer, and would end last. */
static bool starts_first(const struct ir_step *s, const struct ir_step *other, const struct sched_target *t)
{
	const struct ir_kernel *k = other->at[0];
	return about(s->at[0]->blocks, t) < about((k->parts.n ? k->parts.at[0] : k)->blocks, t);
}

/* Index of the step of `out` that s may share a launch with, if no later step keeps s from moving there; -1: none. */
static int partner(const struct ir_plan *out, const struct ir_step *s, const struct sched_target *t, bool *turn)
{
	for (int i = out->steps.n - 1; i >= 0; i--) {
		*turn = depend(out->steps.at[i], s);
		if (*turn ? in_turn(out->steps.at[i], s) : side_by_side(out->steps.at[i], s, t))
			return i;
		if (*turn)
			break;
	}
	return -1;
}

void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t)
{
	struct ir_plan out = { .program = plan->program };
	int n = plan->steps.n;
	for (int i = 0; i < n; i++) {
		struct ir_step *s = plan->steps.at[i];
		bool turn;
		int with = partner(&out, s, t, &turn);
		struct ir_step *other = with >= 0 ? out.steps.at[with] : NULL;
		if (other)
			out.steps.at[with] = !turn && starts_first(s, other, t) ? share_step(all, s, other, turn, t)
			                                                        : share_step(all, other, s, turn, t);
		else
			vec_push(plan->program->arena, &out.steps, s);
	}
	plan->steps.at = out.steps.at;
	plan->steps.n = out.steps.n;
	plan->steps.cap = out.steps.cap;
}
