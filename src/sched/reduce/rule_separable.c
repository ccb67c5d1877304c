/* Rule separable: a reduction over windows across rows, and then one over windows along its rows, like a separable
 * filter's two passes. A block makes `rows` rows of the first pass in shared memory, `width` neighbouring elements per
 * thread, and then the second pass, one thread per column. A window's weights are computed once for all elements that
 * share them. */
#include "sched/reduce/separable.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum { CHEAP = 3, WIDEST = 16 /* bytes per access */ };

static int bytes_of(const struct ir_buffer *b)
{
	return type_info(b->type)->bits / 8;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct separable f;
	if (separable_find(&f, p, s) && f.length * bytes_of(f.first->out) <= TARGET_ARRAYS_EVERYWHERE)
		return FOUND(p, f);
	*why = "the stage does not begin two passes over small windows, across rows and along them";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct separable *)site->found)->stages;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int rows[] = { 8, 4, 16, 7, 14, 2, 1 };
	enum { SEVERAL = 3 };
	int n = 0, tried = 0;
	struct separable f = *(const struct separable *)site->found;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && tried < SEVERAL; i++) {
		if (f.rows % rows[i] || rows[i] * f.length * bytes_of(f.first->out) > TARGET_ARRAYS_EVERYWHERE)
			continue;
		tried++;
		for (int width = 8; width >= 1; width /= 2)
			if (f.length % width == 0 && (width >= 4 || f.length % (2 * width)))
				for (int threads = 512; threads >= 256; threads /= 2)
					out[n++] =
					        (struct sched_choice){ &sched_separable, { rows[i], width, threads } };
	}
	return n;
}

/* ---- The kernel. */

struct vector {
	expr load; /* of the program */
	struct ir_variable *array;
};

struct separable_kernel {
	const struct separable *f;
	struct ir_program *p;
	const struct ir_buffer *made; /* rows of the first pass, in shared memory */
	int rows, width, threads;
	expr axis[IR_MAX_RANK]; /* of the current element */
	expr row, v, acc;       /* variables: row in the block, element in a vector, accumulator */
	expr first;             /* the block's first row */
	struct {
		VEC(struct vector);
	} vectors;
	struct {
		VEC(expr);
	} what, named; /* expressions shared by several elements, and the variables that hold them */
	int loads;
};

/* Redirects loads to the first pass's rows in shared memory and to vectors in registers. */
static expr at_hand(void *user, expr e, expr flat)
{
	struct separable_kernel *k = user;
	struct ir_program *p = k->p;
	(void)flat;
	if (e->buf == k->f->first->out) {
		struct axes here = { .value = k->axis, .load = at_hand, .user = k };
		expr along = to_kernel(p, e->arg[k->f->rank - 1], &here);
		expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, k->row, ir_index(p->pool, k->f->length)), along);
		return ir_load(p->pool, k->made, &at);
	}
	vec_each (x, &k->vectors)
		if (x->load == e)
			return item_of(x->array, k->v);
	return NULL;
}

static expr in_kernel(struct separable_kernel *k, expr e)
{
	struct axes here = { .value = k->axis, .load = at_hand, .user = k, .acc = k->acc };
	return to_kernel(k->p, e, &here);
}

/* ---- Expressions shared by all elements of a vector, or by all rows of a column. */

struct differs {
	expr variable, acc; /* acc: the accumulator, or null */
	bool found;
};

static void find_difference(void *user, expr e)
{
	struct differs *d = user;
	int64_t by;
	bool divides = (e->op == IR_FLOORDIV || e->op == IR_MOD || e->op == IR_REM) && !ir_const_int(e->arg[1], &by);
	/* Array elements differ. Loads and divisions that the model might not execute are not hoisted. */
	bool differs = e == d->variable || e == d->acc || e->op == IR_ELEMENT;
	d->found |= differs || divides || e->op == IR_LOAD;
}

static bool is_shared(const struct separable_kernel *k, expr e, expr variable)
{
	struct differs d = { variable, k->acc, false };
	ir_walk(e, find_difference, &d);
	return !d.found;
}

static expr rebuilt(expr e, const expr *arg)
{
	return e->op == IR_LOAD ? ir_load(e->pool, e->buf, arg) : ir_rebuild(e, arg);
}

static expr named(const struct separable_kernel *k, expr e)
{
	for (int i = 0; i < k->what.n; i++)
		if (k->what.at[i] == e)
			return k->named.at[i];
	return NULL;
}

/* Replaces the parts of e that variables already hold. */
static expr with_names(const struct separable_kernel *k, expr e)
{
	expr arg[IR_MAX_RANK], own = named(k, e);
	if (own || e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT)
		return own ? own : e;
	for (int i = 0; i < e->n; i++)
		arg[i] = with_names(k, e->arg[i]);
	return rebuilt(e, arg);
}

/* Hoists the parts of e that do not depend on `variable` and cost more than a few operations into variables. */
static expr name_shared(struct separable_kernel *k, struct ir_block *b, expr e, expr variable)
{
	expr arg[IR_MAX_RANK], own = named(k, e);
	if (own || e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT)
		return own ? own : e;
	if (ir_cost(e) >= CHEAP && is_shared(k, e, variable)) {
		bool weight = type_is_float(e->type) && e->op != IR_ADD;
		own = emit_constant(k->p, b, weight ? "weight" : "", with_names(k, e), NULL);
		vec_push(k->p->arena, &k->what, e);
		vec_push(k->p->arena, &k->named, own);
		return own;
	}
	for (int i = 0; i < e->n; i++)
		arg[i] = name_shared(k, b, e->arg[i], variable);
	return rebuilt(e, arg);
}

/* ---- The first pass. */

struct find_vectors {
	struct separable_kernel *k;
	struct ir_block *b;
};

static void load_vector(void *user, expr e)
{
	struct find_vectors *x = user;
	struct separable_kernel *k = x->k;
	struct ir_program *p = k->p;
	int inner = k->f->rank - 1;
	if (e->op != IR_LOAD || type_is_packed(e->type) ||
	    !vector_along(p, e, inner, k->f->first->out->dim[inner], k->width))
		return;
	vec_each (have, &k->vectors)
		if (have->load == e)
			return;
	struct ir_variable *array = ir_variable_new(p->pool, e->type, "%s_v%d", e->buf->name, k->loads++);
	expr at = in_kernel(k, ir_flat(p->pool, e->buf, e->arg));
	emit_load_vector(p, x->b, e->buf, at, array, k->width);
	vec_push(p->arena, &k->vectors, ((struct vector){ e, array }));
}

/* An expression of the first pass, for element v of the vector that starts at `at`. Loads its vectors and hoists what
 * its elements share. */
static expr of_vector(struct separable_kernel *k, struct ir_block *b, expr e, expr at)
{
	int inner = k->f->rank - 1;
	struct find_vectors x = { k, b };
	k->axis[inner] = at;
	ir_walk_unconditional(e, load_vector, &x);
	k->axis[inner] = ir_binary(IR_ADD, at, k->v);
	return name_shared(k, b, in_kernel(k, e), k->v);
}

/* Each iteration makes `width` elements of a row. */
static void first_pass(struct separable_kernel *k, struct ir_block *b, expr thread)
{
	const struct separable *f = k->f;
	const struct ir_stage *s = f->first;
	struct ir_program *p = k->p;
	expr v, vectors = ir_index(p->pool, f->length / k->width), width = ir_index(p->pool, k->width);
	expr items = ir_index(p->pool, k->rows * (f->length / k->width)), each = ir_index(p->pool, f->length);
	expr item;
	b = emit_loop(p, b, "item", thread, items, ir_index(p->pool, k->threads), items, &item);
	k->row = emit_constant(p, b, "row", ir_binary(IR_FLOORDIV, item, vectors), ir_index(p->pool, k->rows));
	expr at = ir_binary(IR_MUL, ir_binary(IR_MOD, item, vectors), width);
	at = ir_var_multiple(emit_constant(p, b, "at", at, NULL)->var, each, k->width);
	k->axis[f->rank - 2] = ir_binary(IR_ADD, k->first, k->row);
	struct ir_variable *parts = ir_variable_new(p->pool, s->value->type, "parts");
	struct ir_variable *made = ir_variable_new(p->pool, s->out->type, "made_v");
	emit_array(p, b, parts, k->width);
	/* One loop variable for all of them: k->acc and the values refer to it. */
	const struct ir_variable *each_v = ir_variable_new(p->pool, TYPE_INDEX, "v");
	struct ir_block *in = emit_unrolled_each(p, b, each_v, k->width, &k->v);
	emit_set(p, in, parts, k->v, ir_identity(p->pool, s->combine, s->value->type));
	k->acc = item_of(parts, k->v);
	for (int point = 0; point < f->first_points; point++) {
		expr value = of_vector(k, b, separable_at(f, s, s->value, point), at);
		in = emit_unrolled_each(p, b, each_v, k->width, &v);
		emit_set(p, in, parts, v, ir_combine_expr(s->combine, k->acc, value));
	}
	expr post = s->post ? of_vector(k, b, separable_at(f, s, s->post, 0), at) : ir_cast(k->acc, s->out->type);
	emit_array(p, b, made, k->width);
	in = emit_unrolled_each(p, b, each_v, k->width, &v);
	emit_set(p, in, made, v, post);
	emit_store_vector_flat(p, b, k->made, ir_binary(IR_ADD, ir_binary(IR_MUL, k->row, each), at), made, NULL,
	                       k->width);
	k->what.n = k->named.n = k->vectors.n = 0;
}

/* ---- The second pass. */

static expr position(const struct separable_kernel *k)
{
	expr at = ir_index(k->p->pool, 0);
	for (int i = 0; i < k->f->rank; i++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, k->f->second->out->dim[i]), k->axis[i]);
	return at;
}

/* Emits an element of the stage into `b`, and what elements that differ only in `variable` share into `shared`. */
static void one_element(struct separable_kernel *k, struct ir_block *shared, struct ir_block *b,
                        const struct ir_stage *s, expr variable)
{
	const struct separable *f = k->f;
	struct ir_program *p = k->p;
	expr value[SEPARABLE_POINTS], post;
	int points = s == f->first ? f->first_points : f->second_points;
	k->acc = NULL;
	if (s->kind == IR_REDUCE)
		k->acc = emit_combination(p, b, s->combine, s->value->type);
	for (int point = 0; point < points; point++) {
		value[point] = in_kernel(k, separable_at(f, s, s->value, point));
		if (variable)
			value[point] = name_shared(k, shared, value[point], variable);
	}
	for (int point = 0; point < points && k->acc; point++)
		emit_assign(p, b, k->acc, ir_combine_expr(s->combine, k->acc, value[point]));
	post = !k->acc   ? value[0]
	       : s->post ? in_kernel(k, separable_at(f, s, s->post, 0))
	                 : ir_cast(k->acc, s->out->type);
	if (variable && s->post)
		post = name_shared(k, shared, post, variable);
	if (s == f->second) {
		emit_store(p, b, s->out, position(k), post);
		return;
	}
	expr row = ir_binary(IR_MUL, k->row, ir_index(p->pool, f->length));
	emit_store_flat(p, b, k->made, ir_binary(IR_ADD, row, k->axis[f->rank - 1]), post);
}

/* Each iteration makes a column of all rows. */
static void second_pass(struct separable_kernel *k, struct ir_block *b, expr thread)
{
	const struct separable *f = k->f;
	struct ir_program *p = k->p;
	struct ir_block rows = { 0 };
	expr extent = ir_index(p->pool, f->result);
	b = emit_loop(p, b, "column", thread, extent, ir_index(p->pool, k->threads), extent, &k->axis[f->rank - 1]);
	const struct ir_variable *row = ir_variable_new(p->pool, TYPE_INDEX, "row");
	k->row = ir_var_of(row, ir_index(p->pool, k->rows));
	k->axis[f->rank - 2] = ir_binary(IR_ADD, k->first, k->row);
	one_element(k, b, &rows, f->second, k->row);
	*emit_unrolled_each(p, b, row, k->rows, &k->row) = rows;
}

/* ---- The whole kernel. */

/* The serial twin. */
static void serial(struct separable_kernel *k, struct ir_block *b)
{
	const struct separable *f = k->f;
	struct ir_program *p = k->p;
	expr none = ir_index(p->pool, 0), one = ir_index(p->pool, 1), rows = ir_index(p->pool, k->rows);
	for (int second = 0; second < 2; second++) {
		expr extent = ir_index(p->pool, second ? f->result : f->length);
		struct ir_block *in = emit_loop(p, b, "row", none, rows, one, rows, &k->row);
		k->axis[f->rank - 2] = ir_binary(IR_ADD, k->first, k->row);
		in = emit_loop(p, in, "column", none, extent, one, extent, &k->axis[f->rank - 1]);
		one_element(k, in, in, second ? f->second : f->first, NULL);
	}
}

static void declare_rows(struct separable_kernel *k, struct ir_block *b, expr blocks)
{
	const struct separable *f = k->f;
	struct ir_program *p = k->p;
	expr dim[IR_MAX_RANK], rows = ir_index(p->pool, k->rows);
	bool used[IR_MAX_RANK];
	for (int i = 0; i < f->rank - 1; i++) {
		dim[i] = i == f->rank - 2 ? ir_binary(IR_FLOORDIV, f->first->out->dim[i], rows) : f->first->out->dim[i];
		used[i] = true;
	}
	/* The block index alone would be unsigned. */
	expr strip = emit_constant(p, b, "strip", ir_block(p->pool, blocks), blocks);
	declare_axes(p, b, strip, f->rank - 1, dim, ir_axis_names[0], used, k->axis);
	k->first = ir_binary(IR_MUL, k->axis[f->rank - 2], rows);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct separable f = *(const struct separable *)site->found;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, f.second, "", c);
	struct ir_buffer *made = NEW(p->arena, struct ir_buffer);
	struct separable_kernel x = {
		.f = &f, .p = p, .made = made, .rows = c->param[0], .width = c->param[1], .threads = c->param[2]
	};
	k->threads = x.threads;
	k->blocks = ir_index(p->pool, f.rows / x.rows);
	for (int i = 0; i < f.rank - 2; i++)
		k->blocks = ir_binary(IR_MUL, k->blocks, f.first->out->dim[i]);
	*made = (struct ir_buffer){
		.name = "made", .type = f.first->out->type, .rank = 1, .role = IR_TEMP, .id = f.first->out->id
	};
	made->dim[0] = ir_index(p->pool, x.rows * f.length);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)made);
	expr thread = ir_thread(p->pool, ir_index(p->pool, x.threads));
	declare_rows(&x, &k->body, k->blocks);
	first_pass(&x, &k->body, thread);
	emit(p, &k->body, IR_SYNC);
	second_pass(&x, &k->body, thread);
	declare_rows(&x, &k->serial, k->blocks);
	serial(&x, &k->serial);
	kernel_finish(plan, step, k, f.second);
}

/* ---- Time: bytes moved plus work, per point of a window and per computed weight. Measured on an H100: 512 x 512 to
 * 224 x 224 with windows of 6 x 6, in f32 and f16. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	enum { OF_WEIGHT = 8, OF_ELEMENT = 10, OF_FIRST = 2, OF_SECOND = 3 };
	struct separable f = *(const struct separable *)site->found;
	double rows = c->param[0], width = c->param[1], threads = c->param[2], rate = cost_steady_rate(t);
	double outs = (double)about(out_count(f.p, f.second), t), blocks = outs / (double)f.result / rows;
	double first = f.first_points * (OF_FIRST + OF_WEIGHT / width) + OF_ELEMENT;
	double second = f.second_points * (OF_SECOND + OF_WEIGHT / rows) + OF_ELEMENT;
	/* Threads that are idle in an iteration of the first pass wait for the others. */
	double turns = ceil(rows * (double)f.length / width / threads);
	double work = 1.2 * blocks * (threads * turns * width * first + rows * (double)f.result * second) / rate;
	double bytes = (outs * bytes_of(f.second->out) + about_bytes_read(f.p, f.first->value, t)) / t->bytes_per_ns;
	double fill = blocks * threads / cost_full_threads(t), time = sqrt(work * work + bytes * bytes);
	time *= (1 + 0.015 * rows) * (1 + 0.03 * (turns - 1));
	time *= width * f.read_bytes > WIDEST ? 1.08 : width * f.read_bytes < WIDEST ? 1.02 : 1;
	return t->launch_ns + time / (fill < 1 ? fill : 1);
}

const struct sched_rule sched_separable = {
	.name = "separable",
	.version = 1,
	.about = "A block computes {rows row} of the first reduction in shared memory, and the second "
	         "reduction from there.",
	.param = { { "rows", 1, 16 }, { "width", 1, 8 }, { "threads", 256, 512 } },
	.match = match,
	.candidates = candidates,
	.span = span,
	.apply = apply,
	.estimate = estimate,
};
