/* Building kernels: statements, axes, arguments. See build.h. */
#include "sched/build.h"

#include <stdarg.h>
#include <string.h>

struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind)
{
	struct ir_stmt s = { .kind = kind };
	vec_push(p->arena, b, s);
	return &b->at[b->n - 1];
}

expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	if (value->op == IR_CONST_INT || value->op == IR_VAR)
		return value;
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name;
	s->type = value->type;
	s->value = value;
	return ir_var(p->pool, value->type, name, extent);
}

expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first)
{
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name;
	s->type = first->type;
	s->value = first;
	s->mutable = true;
	return ir_var(p->pool, first->type, name, NULL);
}

expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name;
	s->type = value->type;
	s->value = value;
	return ir_var(p->pool, value->type, name, extent);
}

void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_ASSIGN);
	s->name = variable->name;
	s->type = variable->type;
	s->value = value;
}

struct ir_block *emit_for(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step)
{
	struct ir_stmt *s = emit(p, b, IR_FOR);
	s->name = name;
	s->type = TYPE_INDEX;
	s->from = from;
	s->to = to;
	s->step = step;
	return s->body = NEW(p->arena, struct ir_block);
}

struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond)
{
	struct ir_stmt *s = emit(p, b, IR_IF);
	s->value = cond;
	return s->body = NEW(p->arena, struct ir_block);
}

void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond)
{
	if (cond->op == IR_CONST_INT && cond->i == 0)
		return;
	emit(p, b, IR_RETURN_IF)->value = cond;
}

void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_STORE);
	s->buf = flat_view(p, buf);
	s->at = at;
	s->value = value;
}

void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes)
{
	struct ir_stmt *s = emit(p, b, IR_LANES_SCAN);
	s->name = part->name;
	s->name2 = sum->name;
	s->type = part->type;
	s->width = lanes;
	s->combine = c;
}

void emit_items_scan(struct ir_program *p, struct ir_block *b, const char *items, expr sum, enum ir_combine c, int lanes,
                     int columns, bool exclusive)
{
	struct ir_stmt *s = emit(p, b, IR_ITEMS_SCAN);
	s->name = items;
	s->name2 = sum->name;
	s->type = sum->type;
	s->width = lanes;
	s->columns = columns;
	s->combine = c;
	s->mutable = exclusive;
	s->value = ir_identity(p->pool, c, sum->type);
}

void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	emit(p, b, IR_COMMENT)->text = arena_vprintf(p->arena, fmt, ap);
	va_end(ap);
}

const struct ir_buffer *flat_view(struct ir_program *p, const struct ir_buffer *b)
{
	struct ir_buffer *own = p->buffers.at[b->id];
	ck(own == b || own->flat == b);
	if (!own->flat) {
		own->flat = NEW(p->arena, struct ir_buffer);
		*own->flat = (struct ir_buffer){
			.name = own->name, .type = own->type, .rank = 1, .role = IR_TEMP, .id = own->id
		};
		own->flat->dim[0] = ir_buffer_count(p, own);
	}
	return own->flat;
}

expr ceil_div(struct ir_program *p, expr a, int b)
{
	return ir_binary(IR_FLOORDIV, ir_binary(IR_ADD, a, ir_index(p->pool, b - 1)), ir_index(p->pool, b));
}

expr declare_element(struct ir_program *p, struct ir_kernel *k, expr count, int threads, int width)
{
	k->threads = threads;
	k->blocks = ceil_div(p, count, threads * width);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, threads));
	expr first = ir_binary(IR_ADD, ir_binary(IR_MUL, block, ir_index(p->pool, threads * width)),
	                       ir_binary(IR_MUL, thread, ir_index(p->pool, width)));
	first = emit_declare(p, &k->body, "element", first, NULL);
	emit_return_if(p, &k->body, ir_binary(IR_LE, count, first));
	/* From here on it is known to be inside. */
	return ir_var_multiple(p->pool, "element", count, width);
}

/* ---- A stage's expressions as a kernel's. */

struct kernel_job {
	struct ir_program *p;
	const struct axes *a;
};

static expr kernel_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct kernel_job *j = user;
	if (e->op == IR_AXIS) {
		ck(j->a->value && j->a->value[e->i]);
		return j->a->value[e->i];
	}
	if (e->op == IR_ACC) {
		ck(j->a->acc);
		return j->a->acc;
	}
	if (e->op != IR_LOAD)
		return NULL;
	expr flat = ir_flat(pool, e->buf, e->arg), at = NULL;
	expr own = j->a->load ? j->a->load(j->a->user, e, flat) : NULL;
	if (own)
		return own;
	if (j->a->same) {
		expr difference = ir_binary(IR_SUB, flat, j->a->same);
		if (!difference->varies)
			at = ir_binary(IR_ADD, j->a->same_as, difference);
	}
	if (!at) /* the operands are copied already: not once more, as indices may hold loads in turn */
		at = ir_flat(pool, e->buf, arg);
	return ir_load(pool, flat_view(j->p, e->buf), &at);
}

expr to_kernel(struct ir_program *p, expr e, const struct axes *a)
{
	struct kernel_job j = { p, a };
	return ir_copy(p->pool, e, kernel_leaf, &j);
}

static expr substitute_in(const struct substitution *s, expr e, expr *done)
{
	expr arg[IR_MAX_RANK];
	for (int i = 0; i < s->n; i++)
		if (s->what[i] == e)
			return s->with[i];
	if (e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR || done[e->id])
		return done[e->id] ? done[e->id] : e;
	for (int i = 0; i < e->n; i++)
		arg[i] = substitute_in(s, e->arg[i], done);
	return done[e->id] = e->op == IR_LOAD ? ir_load(e->pool, e->buf, arg) : ir_rebuild(e, arg);
}

expr substitute(const struct substitution *s, expr e)
{
	struct arena *scratch = arena_new();
	expr x = substitute_in(s, e, NEWN(scratch, expr, e->id + 1));
	arena_free(scratch);
	return x;
}

static void mark_axis(void *user, expr e)
{
	bool *used = user;
	if (e->op == IR_AXIS)
		used[e->i] = true;
}

void mark_axes(expr e, bool *used)
{
	ir_walk(e, mark_axis, used);
}

void declare_axes(struct ir_program *p, struct ir_block *b, expr n, int rank, const expr *extent,
                  const char *const *names, const bool *used, expr *value)
{
	expr rest = n;
	for (int k = rank - 1; k >= 0; k--) {
		bool first = true; /* no axis before this one is longer than 1 */
		for (int q = 0; q < k; q++)
			first &= ir_is_int(extent[q], 1);
		value[k] = NULL;
		if (ir_is_int(extent[k], 1)) {
			value[k] = ir_index(p->pool, 0);
			continue;
		}
		if (used[k]) {
			expr x = first ? rest : ir_binary(IR_MOD, rest, extent[k]);
			value[k] = emit_declare(p, b, names[k], x, extent[k]);
			if (value[k]->op == IR_VAR && value[k] != x)
				value[k] = ir_var_multiple(p->pool, names[k], extent[k], ir_multiple(x));
		}
		if (!first)
			rest = ir_binary(IR_FLOORDIV, rest, extent[k]);
	}
}

/* ---- Counts. */

expr out_count(struct ir_program *p, const struct ir_stage *s)
{
	return ir_buffer_count(p, s->out);
}

expr space_count(struct ir_program *p, const struct ir_stage *s)
{
	bool own = s->kind == IR_SCATTER || s->kind == IR_COMPACT;
	expr n = own ? ir_index(p->pool, 1) : out_count(p, s);
	for (int k = 0; k < s->space_rank; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return n;
}

static bool typical(void *user, const char *name, int64_t *value)
{
	const struct sched_target *t = user;
	*value = t->typical;
	for (int i = 0; i < t->extents; i++)
		if (strcmp(t->extent[i].symbol, name) == 0)
			*value = t->extent[i].value;
	return true;
}

static bool knows(const struct sched_target *t, const char *symbol)
{
	for (int i = 0; i < t->extents; i++)
		if (strcmp(t->extent[i].symbol, symbol) == 0)
			return true;
	return false;
}

struct sched_target with_sizes(struct ir_program *p, const struct sched_target *t)
{
	struct sched_target known = *t;
	int missing = 0;
	vec_each (size, &p->sizes)
		missing += !knows(t, size->symbol);
	if (!missing)
		return known;
	struct sched_extent *extent = NEWN(p->arena, struct sched_extent, t->extents + p->sizes.n);
	for (int i = 0; i < t->extents; i++)
		extent[i] = t->extent[i];
	known.extent = extent;
	vec_each (size, &p->sizes) {
		if (knows(&known, size->symbol))
			continue;
		int64_t half = about(ir_size_limit(p, size->limit), &known) / 2;
		extent[known.extents++] = (struct sched_extent){ size->symbol, half > 0 ? half : 1 };
	}
	return known;
}

int64_t about(expr e, const struct sched_target *t)
{
	int64_t n;
	return ir_eval_int(e, typical, (void *)t, &n) && n > 0 ? n : 1;
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

/* ---- Kernels. */

struct ir_step *step_new(struct ir_plan *plan)
{
	struct ir_step *step = NEW(plan->program->arena, struct ir_step);
	vec_push(plan->program->arena, &plan->steps, step);
	return step;
}

struct ir_kernel *kernel_new(struct ir_plan *plan, const struct ir_stage *s, const char *suffix,
                             const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = NEW(p->arena, struct ir_kernel);
	struct str params = str_new(p->arena);
	k->name = arena_printf(p->arena, "%s_%s%s", str_identifier(p->arena, p->name), s->out->name, suffix);
	k->rule = arena_printf(p->arena, "%s %d", c->rule->name, c->rule->version);
	for (int i = 0; i < SCHED_MAX_PARAMS && c->rule->params[i]; i++)
		str_printf(&params, "%s%s %d", i ? ", " : "", c->rule->params[i], c->param[i]);
	k->params = str_text(&params);
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
	if (e->op != IR_SYMBOL || ir_size_find(c->p, e->name))
		return;
	vec_each (have, &c->k->symbols)
		if (strcmp(*have, e->name) == 0)
			return;
	vec_push(c->p->arena, &c->k->symbols, e->name);
}

static void collect_block(struct collect *c, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, collect_node, c);
		vec_each (a, &s->args)
			if (a->buf)
				add_buffer(c, a->buf);
		if (s->buf && s->kind == IR_LOAD_VECTOR)
			add_buffer(c, s->buf);
		if (s->body)
			collect_block(c, s->body);
	}
}

static void add_written(struct collect *c, const struct ir_buffer *b)
{
	if (ir_kernel_writes(c->k, b) || ir_kernel_shares(c->k, b))
		return;
	vec_push(c->p->arena, &c->k->written, b);
	add_buffer(c, b);
}

static void collect_written(struct collect *c, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		if (s->buf && s->kind != IR_LOAD_VECTOR)
			add_written(c, s->buf);
		vec_each (x, &s->args)
			if (x->written)
				add_written(c, x->buf);
		if (s->body)
			collect_written(c, s->body);
	}
}

static int order_buffers(const struct ir_program *p, const struct ir_buffer *b)
{
	enum ir_role r = p->buffers.at[b->id]->role;
	return (r == IR_INPUT ? 0 : r == IR_CONSTANT ? 1 : r == IR_TEMP ? 2 : 3) * 4096 + b->id;
}

/* ---- Whether 32 bits are enough. */

struct fit {
	struct ir_program *p;
	expr limit, fits; /* bool over symbols */
	struct {
		VEC(expr);
	} checked; /* bounds that `fits` says are within the limit */
};

/* What a guard cannot compute at run time: all but index arithmetic. */
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

/* Steps on the way to a position may be larger than all positions: i * in / out of a resize. */
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
		if (s->body)
			fit_block(f, s->body);
	}
}

/* bool: every position in the kernel's buffers, its thread count, and what is computed on the way fit 31 bits, with
 * room for a last block. */
static expr fits_int(struct ir_program *p, const struct ir_kernel *k)
{
	struct fit f = { p, ir_index(p->pool, INT32_MAX - (1 << 20)), ir_int(p->pool, TYPE_BOOL, 1), { 0 } };
	vec_each (b, &k->buffers)
		must_fit(&f, ir_size_limit(p, (*b)->dim[0]));
	must_fit(&f, ir_binary(IR_MUL, k->blocks, ir_index(p->pool, k->threads)));
	fit_block(&f, &k->body);
	return f.fits;
}

/* ---- Sizes that are known only when the kernel runs. */

struct size_use {
	struct ir_program *p;
	const struct ir_size *found[SCHED_MAX_SIZES];
	int n;
};

static void find_size(void *user, expr e)
{
	struct size_use *u = user;
	const struct ir_size *size = e->op == IR_SYMBOL ? ir_size_find(u->p, e->name) : NULL;
	for (int i = 0; i < u->n; i++)
		if (size == u->found[i])
			return;
	if (!size)
		return;
	ck(u->n < SCHED_MAX_SIZES);
	u->found[u->n++] = size;
}

static void find_sizes(struct size_use *u, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		ir_stmt_walk(s, find_size, u);
		if (s->body)
			find_sizes(u, s->body);
	}
}

/* Each size that a body mentions is read from where it was counted, under the symbol's name: blocks are launched for the
 * most that it can be. */
static void sizes_here(struct collect *c, struct ir_block *b)
{
	struct size_use u = { .p = c->p };
	struct ir_block head = { 0 };
	find_sizes(&u, b);
	if (!u.n)
		return;
	for (int i = 0; i < u.n; i++) {
		const struct ir_buffer *count = flat_view(c->p, u.found[i]->count);
		expr zero = ir_index(c->p->pool, 0);
		emit_constant(c->p, &head, u.found[i]->symbol, ir_cast(ir_load(c->p->pool, count, &zero), TYPE_INDEX), NULL);
	}
	for (int i = 0; i < b->n; i++)
		vec_push(c->p->arena, &head, b->at[i]);
	*b = head;
}

const char *kernel_unique_name(const struct ir_plan *plan, const char *name)
{
	const char *unique = name;
	for (int number = 2;; number++) {
		bool taken = false;
		vec_each (step, &plan->steps)
			vec_each (k, *step)
				taken |= strcmp((*k)->name, unique) == 0;
		if (!taken)
			return unique;
		unique = arena_printf(plan->program->arena, "%s_%d", name, number);
	}
}

/* Arguments, comment and name; bool: whether 32 bits are enough for its positions. Null: no such kernel can be launched, the
 * step's later ones do it. */
static expr complete(struct ir_plan *plan, struct ir_kernel *k, const struct ir_stage *s)
{
	struct ir_program *p = plan->program;
	struct collect c = { p, k };
	struct str text = str_new(p->arena);
	struct size_use guarded = { .p = p };
	if (k->guard)
		ir_walk(k->guard, find_size, &guarded);
	if (guarded.n) /* who launches does not know the size */
		return NULL;
	collect_written(&c, &k->body);
	collect_written(&c, &k->serial);
	sizes_here(&c, &k->body);
	if (k->serial.n)
		sizes_here(&c, &k->serial);
	k->blocks = ir_size_limit(p, k->blocks);
	collect_block(&c, &k->body);
	collect_block(&c, &k->serial);
	for (int i = 1; i < k->buffers.n; i++) /* inputs, constants, intermediates, outputs */
		for (int j = i; j > 0 && order_buffers(p, k->buffers.at[j - 1]) > order_buffers(p, k->buffers.at[j]);
		     j--) {
			const struct ir_buffer *b = k->buffers.at[j];
			k->buffers.at[j] = k->buffers.at[j - 1];
			k->buffers.at[j - 1] = b;
		}
	for (int i = 1; i < k->symbols.n; i++)
		for (int j = i; j > 0 && strcmp(k->symbols.at[j - 1], k->symbols.at[j]) > 0; j--) {
			const char *n = k->symbols.at[j];
			k->symbols.at[j] = k->symbols.at[j - 1];
			k->symbols.at[j - 1] = n;
		}
	ir_print_stage(&text, s);
	k->about = str_text(&text);

	k->name = kernel_unique_name(plan, k->name);
	return fits_int(p, k);
}

static bool is_never(expr fits)
{
	return fits->op == IR_CONST_INT && !fits->i;
}

bool kernel_finish_narrow(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	expr fits = complete(plan, k, s);
	if (!fits)
		return true;
	bool always = ir_is_int(fits, 1);
	k->index64 = is_never(fits);
	if (!k->index64 && !always)
		k->guard = k->guard ? ir_binary(IR_AND, k->guard, fits) : fits;
	vec_push(plan->program->arena, step, k);
	return k->index64 || always;
}

void kernel_finish_wide(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	complete(plan, k, s);
	k->index64 = true;
	vec_push(plan->program->arena, step, k);
}

void kernel_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s)
{
	bool guarded = k->guard;
	if (kernel_finish_narrow(plan, step, k, s) || guarded)
		return;
	struct ir_kernel *wide = NEW(plan->program->arena, struct ir_kernel);
	*wide = *k;
	wide->name = kernel_unique_name(plan, arena_printf(plan->program->arena, "%s_64", k->name));
	wide->index64 = true;
	wide->guard = NULL;
	vec_push(plan->program->arena, step, wide);
}
