/* Kernels that share a launch: what each needs, which steps depend on each other, and the kernel that has them as its
 * parts. See launches.h. */
#include "sched/build/finish.h"
#include "sched/core/launches.h"

#include <string.h>

enum {
	MOST_REGISTERS = 64, /* of a thread, in arrays: a launch has the maximum over its parts */
	INDEXED = 16,        /* bytes of a value with its position */
	EXCHANGE = 1024,     /* upper bound on the bytes of shared memory of one reduction over a block */
};

/* ---- Needs. */

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

static void add_needs(struct part_needs *x, const struct ir_block *b)
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

struct part_needs part_needs(const struct ir_kernel *k)
{
	struct part_needs x = { .plain = !k->shared_bytes && !k->arch && !k->together && !k->fills && !k->maps.n &&
		                         (!k->resident || k->advised) };
	vec_each (b, &k->shared) {
		int64_t n = 0;
		x.plain &= ir_const_int((*b)->dim[0], &n);
		x.shared += (double)n * type_info((*b)->type)->bits / 8.0;
	}
	add_needs(&x, &k->body);
	vec_each (part, &k->parts) {
		struct part_needs own = part_needs(*part);
		x.plain &= own.plain;
		x.shared += own.shared;
		x.registers = own.registers > x.registers ? own.registers : x.registers;
	}
	x.plain &= x.registers <= MOST_REGISTERS;
	return x;
}

/* ---- Dependences between steps. */

bool kernel_touches(const struct ir_kernel *k, const struct ir_buffer *b)
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
		if (kernel_touches(b, *w))
			return true;
	return false;
}

bool steps_depend(const struct ir_step *a, const struct ir_step *b)
{
	vec_each (x, a)
		vec_each (y, b)
			if (writes_for(*x, *y) || writes_for(*y, *x))
				return true;
	return false;
}

/* ---- Kernels of parts. */

int parts_of(const struct ir_kernel *k)
{
	return k->parts.n ? k->parts.n : 1;
}

static void add_part(struct ir_program *p, struct ir_kernel *k, const struct ir_kernel *part)
{
	if (part->parts.n) {
		vec_each (own, &part->parts)
			add_part(p, k, *own);
		return;
	}
	vec_push(p->arena, &k->parts, part);
	vec_each (b, &part->buffers) {
		bool known = kernel_touches(k, *b), earlier = ir_kernel_writes(k, *b);
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

static bool same_results(const struct ir_kernel *a, const struct ir_kernel *b)
{
	if (a->repeated != b->repeated || a->results.n != b->results.n)
		return false;
	for (int i = 0; i < a->results.n; i++)
		if (a->results.at[i].buf != b->results.at[i].buf)
			return false;
	return true;
}

static bool same_parts(const struct ir_kernel *a, const struct ir_kernel *b)
{
	return a->parts.n == b->parts.n && a->parts.n && a->in_turn == b->in_turn && same_results(a, b) &&
	       memcmp(a->parts.at, b->parts.at, (size_t)a->parts.n * sizeof *a->parts.at) == 0;
}

struct ir_kernel *parts_join(struct ir_program *p, const struct ir_kernel *a, const struct ir_kernel *b)
{
	struct ir_kernel *k = NEW(p->arena, struct ir_kernel);
	k->threads = b->threads;
	k->about = "";
	add_part(p, k, a);
	add_part(p, k, b);
	add_symbols(p, k);
	kernel_needs_both(k, a, b);
	return k;
}

struct ir_kernel *parts_kernel(struct ir_plan *all, struct ir_kernel *k, const char *how)
{
	struct str rules = str_new(all->program->arena);
	vec_each (step, &all->steps)
		vec_each (known, *step)
			if (same_parts(*known, k))
				return *known;
	k->name = ir_kernel_name(all, name_of(all->program, k));
	vec_each (part, &k->parts)
		str_printf(&rules, "%s%s", rules.n ? " + " : "", (*part)->rule);
	k->rule = str_text(&rules);
	k->params = how;
	return k;
}
