/* Creates kernels with a name and a comment, and finishes them: collects the arguments, chooses 32- or 64-bit positions
 * and adds the kernel to a step. See finish.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <string.h>

struct ir_step *step_new(struct ir_plan *plan)
{
	struct ir_step *step = NEW(plan->program->arena, struct ir_step);
	vec_push(plan->program->arena, &plan->steps, step);
	return step;
}

int sched_params(const struct sched_rule *r)
{
	int n = 0;
	while (n < SCHED_MAX_PARAMS && r->param[n].name)
		n++;
	return n;
}

const char *sched_params_text(const struct sched_choice *c, struct arena *a)
{
	struct str s = str_new(a);
	for (int k = 0; k < sched_params(c->rule); k++)
		str_printf(&s, "%s%s=%d", k ? " " : "", c->rule->param[k].name, c->param[k]);
	return str_text(&s);
}

const char *sched_about(const struct sched_choice *c, struct arena *a)
{
	struct str s = str_new(a);
	const char *name[SCHED_MAX_PARAMS];
	for (int k = 0; k < sched_params(c->rule); k++)
		name[k] = c->rule->param[k].name;
	if (c->rule->about)
		str_fill(&s, c->rule->about, sched_params(c->rule), name, c->param);
	return str_text(&s);
}

static const char *rule_text(struct ir_plan *plan, const struct sched_choice *c)
{
	return arena_printf(plan->program->arena, "%s@%d", c->rule->name, c->rule->version);
}

void decided_by(struct ir_plan *plan, int from, const struct sched_choice *c, const char *params)
{
	for (int i = from; i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i]) {
			(*k)->rule = rule_text(plan, c);
			(*k)->params = params ? params : (*k)->params;
		}
}

void explained_by(struct ir_plan *plan, int from, const struct sched_choice *c)
{
	struct arena *a = plan->program->arena;
	for (int i = from; i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i]) {
			const char *own = (*k)->method ? (*k)->method : "";
			(*k)->method = arena_printf(a, "%s%s%s", sched_about(c, a), *own ? " " : "", own);
		}
}

struct ir_kernel *kernel_new(struct ir_plan *plan, const struct ir_stage *s, const char *suffix,
                             const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = NEW(p->arena, struct ir_kernel);
	ir_variables_begin(p->pool);
	k->name = arena_printf(p->arena, "%s_%s%s", str_identifier(p->arena, p->name), s->out->name, suffix);
	k->rule = rule_text(plan, c);
	k->params = sched_params_text(c, p->arena);
	k->method = sched_about(c, p->arena);
	return k;
}

struct collect {
	struct ir_program *p;
	struct ir_kernel *k;
};

static void add_buffer(struct collect *c, const struct ir_buffer *b)
{
	if (ir_kernel_shares(c->k, b))
		return;
	vec_each (have, &c->k->buffers)
		if (*have == b)
			return;
	vec_push(c->p->arena, &c->k->buffers, b);
}

static void collect_node(void *user, expr e)
{
	struct collect *c = user;
	if (e->op == IR_LOAD)
		add_buffer(c, e->buf);
	if (e->op == IR_LOAD && ir_kernel_writes(c->k, e->buf) && !ir_kernel_exchanges(c->k, e->buf))
		vec_push(c->p->arena, &c->k->exchanged, e->buf);
	if (e->op != IR_SYMBOL || ir_size_find(c->p, e))
		return;
	vec_each (have, &c->k->symbols)
		if (*have == e)
			return;
	vec_push(c->p->arena, &c->k->symbols, e);
}

static void collect_arg(void *user, const struct ir_arg *a)
{
	if (a->buf)
		add_buffer(user, a->buf);
}

static void collect_block(struct collect *c, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, collect_node, c);
		if (s->kind == IR_INVOKE)
			ir_call_each(s->call, collect_arg, c);
		if (s->kind == IR_LOAD_VECTOR)
			add_buffer(c, s->vector.buf);
		if (ir_stmt_body(s))
			collect_block(c, ir_stmt_body(s));
	}
}

static void add_written(struct collect *c, const struct ir_buffer *b)
{
	if (ir_kernel_writes(c->k, b) || ir_kernel_shares(c->k, b))
		return;
	vec_push(c->p->arena, &c->k->written, b);
	add_buffer(c, b);
}

static void collect_written_arg(void *user, const struct ir_arg *a)
{
	if (a->written)
		add_written(user, a->buf);
}

static void collect_written(struct collect *c, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		if (ir_stmt_buffer(s) && s->kind != IR_LOAD_VECTOR)
			add_written(c, ir_stmt_buffer(s));
		if (s->kind == IR_INVOKE)
			ir_call_each(s->call, collect_written_arg, c);
		if (ir_stmt_body(s))
			collect_written(c, ir_stmt_body(s));
	}
}

static int order_buffers(const struct ir_program *p, const struct ir_buffer *b)
{
	enum ir_role r = p->buffers.at[b->id]->role;
	return (r == IR_INPUT ? 0 : r == IR_CONSTANT ? 1 : r == IR_TEMP ? 2 : 3) * 4096 + b->id;
}

void kernel_order_symbols(const struct ir_program *p, struct ir_kernel *k)
{
	for (int i = 1; i < k->symbols.n; i++) {
		expr moved = k->symbols.at[i];
		int place = ir_symbol_place(p, moved), j = i;
		for (; j > 0 && ir_symbol_place(p, k->symbols.at[j - 1]) > place; j--)
			k->symbols.at[j] = k->symbols.at[j - 1];
		k->symbols.at[j] = moved;
	}
}

/* ---- Index width. */

struct fit {
	struct ir_program *p;
	expr limit, fits; /* bool over symbols */
	struct {
		VEC(expr);
	} checked; /* bounds that `fits` limits already */
};

/* Finds nodes that a guard cannot evaluate at run time: all except index arithmetic. */
static void find_other(void *user, expr e)
{
	bool *other = user;
	bool divides = e->op == IR_DIV || e->op == IR_REM || e->op == IR_POW,
	     bits = e->op >= IR_BITAND && e->op <= IR_SHR;
	*other |= type_is_float(e->type) || divides || bits || e->op == IR_BITCAST || e->op == IR_BITNOT;
}

static void must_fit(struct fit *f, expr bound)
{
	bool other = false;
	bound = ir_size_limit(f->p, bound);
	ir_walk(bound, find_other, &other);
	if (other)
		return;
	vec_each (c, &f->checked)
		if (ir_nonnegative(ir_binary(IR_SUB, *c, bound)))
			return;
	vec_push(f->p->arena, &f->checked, bound);
	f->fits = ir_binary(IR_AND, f->fits, ir_binary(IR_LE, bound, f->limit));
}

/* Intermediate values may exceed all positions: i * in / out of a resize. */
static void fit_node(void *user, expr e)
{
	struct fit *f = user;
	if (e->type != TYPE_INDEX || e->op == IR_CONST_INT)
		return;
	expr low = ir_lower_bound(e), high = ir_upper_bound(e);
	if (high)
		must_fit(f, high);
	if (low && !ir_nonnegative(low))
		must_fit(f, ir_binary(IR_SUB, ir_index(f->p->pool, 0), low));
}

static void fit_block(struct fit *f, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, fit_node, f);
		if (ir_stmt_body(s))
			fit_block(f, ir_stmt_body(s));
	}
}

/* bool: every position in the kernel's buffers, its thread count and all intermediate values fit 31 bits. */
static expr fits_int(struct ir_program *p, const struct ir_kernel *k)
{
	struct fit f = { p, ir_index(p->pool, IR_POSITION_MOST), ir_int(p->pool, TYPE_BOOL, 1), { 0 } };
	vec_each (b, &k->buffers)
		must_fit(&f, ir_size_limit(p, (*b)->dim[0]));
	must_fit(&f, ir_binary(IR_MUL, k->blocks, ir_index(p->pool, k->threads)));
	fit_block(&f, &k->body);
	return f.fits;
}

/* ---- Sizes that are known at run time only. */

struct size_use {
	struct ir_program *p;
	struct {
		VEC(const struct ir_size *);
	} found;
};

static void find_size(void *user, expr e)
{
	struct size_use *u = user;
	const struct ir_size *size = ir_size_find(u->p, e);
	vec_each (known, &u->found)
		if (size == *known)
			return;
	if (size)
		vec_push(u->p->arena, &u->found, size);
}

static void find_sizes(struct size_use *u, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, find_size, u);
		if (ir_stmt_body(s))
			find_sizes(u, ir_stmt_body(s));
	}
}

/* Loads each size that a body mentions from the counter's buffer, into the variable of its symbol. The grid uses
 * the size's upper bound. */
static void sizes_here(struct collect *c, struct ir_block *b)
{
	struct size_use u = { .p = c->p };
	struct ir_block head = { 0 };
	find_sizes(&u, b);
	if (!u.found.n)
		return;
	vec_each (size, &u.found) {
		const struct ir_buffer *count = flat_view(c->p, (*size)->count);
		expr zero = ir_index(c->p->pool, 0);
		emit_define(c->p, &head, ir_variable_of_symbol((*size)->symbol),
		            ir_cast(ir_load(c->p->pool, count, &zero), TYPE_INDEX), NULL);
	}
	for (int i = 0; i < b->n; i++)
		vec_push(c->p->arena, &head, b->at[i]);
	*b = head;
}

/* Makes arrays dynamic that are too large for declarations. */
static void place_arrays(struct ir_kernel *k)
{
	int64_t bytes = 0;
	vec_each (b, &k->shared)
		bytes += ir_shared_bytes(*b);
	if (bytes > TARGET_DECLARED_DATA && !k->shared_bytes)
		k->shared_bytes = (int)bytes;
}

/* Adds arguments, comment and name. Returns a bool: 32 bits are enough for its positions; or null if the kernel can
 * never run and later ones of the step are used. */
static expr complete(struct ir_plan *plan, struct ir_kernel *k, const struct ir_stage *s)
{
	struct ir_program *p = plan->program;
	struct collect c = { p, k };
	struct str text = str_new(p->arena);
	struct size_use guarded = { .p = p };
	if (k->guard)
		ir_walk(k->guard, find_size, &guarded);
	if (guarded.found.n || kernel_never_fits(k)) /* the host does not know the size */
		return NULL;
	ir_variables_begin(p->pool); /* ends this kernel's variables */
	ir_kernel_tidy(p, k);
	collect_written(&c, &k->body);
	collect_written(&c, &k->serial);
	sizes_here(&c, &k->body);
	if (k->serial.n)
		sizes_here(&c, &k->serial);
	k->blocks = ir_size_limit(p, k->blocks);
	place_arrays(k);
	collect_block(&c, &k->body);
	collect_block(&c, &k->serial);
	for (int i = 1; i < k->buffers.n; i++) /* inputs, constants, intermediates, outputs */
		for (int j = i; j > 0 && order_buffers(p, k->buffers.at[j - 1]) > order_buffers(p, k->buffers.at[j]);
		     j--) {
			const struct ir_buffer *b = k->buffers.at[j];
			k->buffers.at[j] = k->buffers.at[j - 1];
			k->buffers.at[j - 1] = b;
		}
	kernel_order_symbols(p, k);
	ir_print_stage(&text, s);
	k->about = k->about ? k->about : str_text(&text);

	k->name = ir_kernel_name(plan, k->name);
	return fits_int(p, k);
}

bool kernel_finish_narrow(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	expr fits = complete(plan, k, s);
	if (!fits)
		return true;
	bool always = ir_is_int(fits, 1);
	k->index64 = ir_is_int(fits, 0);
	if (!k->index64) {
		kernel_needs(k, fits);
		kernel_divisors(plan->program, k);
	}
	step_add(plan->program, step, k);
	return k->index64 || always;
}

void kernel_finish_wide(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	if (!complete(plan, k, s))
		return;
	k->index64 = true;
	step_add(plan->program, step, k);
}

void kernel_finish_once(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	expr fits = complete(plan, k, s);
	if (!fits)
		return;
	k->index64 = !ir_is_int(fits, 1);
	step_add(plan->program, step, k);
}

void kernel_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	bool guarded = k->guard;
	if (kernel_finish_narrow(plan, step, k, s) || guarded)
		return;
	struct ir_kernel *wide = NEW(plan->program->arena, struct ir_kernel);
	*wide = *k;
	wide->name = ir_kernel_name(plan, arena_printf(plan->program->arena, "%s_64", k->name));
	wide->index64 = true;
	memset(&wide->parameters, 0, sizeof wide->parameters); /* inverses are of 32-bit divisors */
	kernel_needs_only(wide, NULL);
	step_add(plan->program, step, wide);
}
