/* Rule pick: elements are picked in order, each unless one picked before excludes it (non-maximum suppression). A block
 * goes over a row, and ends when all places are filled. Either it compares elements itself, each with the picks only;
 * or a kernel before it compares all pairs of a row on the whole GPU and stores one bit for each. */
#include "sched/order/row_axes.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, WORD_THREADS = 256, MOST_THREADS = 1024, MOST_WORDS = 1 << 24, MOST_BEFORE = 4096 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_PICK)
		return s;
	*why = "the stage is not a pick";
	return NULL;
}

static expr words_along(struct ir_program *p, const struct ir_stage *s)
{
	return ceil_div(p, s->space[0], WARP);
}

static expr all_words(struct ir_program *p, const struct ir_stage *s)
{
	return ir_binary(IR_MUL, ir_binary(IR_MUL, rows_along(p, s), words_along(p, s)), s->space[0]);
}

/* The condition on extents under which all words are stored. */
static expr words_fit(struct ir_program *p, const struct ir_stage *s)
{
	expr all = ir_size_limit(p, all_words(p, s)), row = ir_size_limit(p, words_along(p, s));
	return ir_binary(IR_AND, ir_binary(IR_LE, all, ir_index(p->pool, MOST_WORDS)),
	                 ir_binary(IR_LE, row, ir_index(p->pool, MOST_BEFORE)));
}

/* The most words of 32 elements that a row of stored words has. */
static int most_words(struct ir_program *p, const struct ir_stage *s)
{
	int64_t row;
	bool known = ir_const_int(ir_size_limit(p, words_along(p, s)), &row) && row < MOST_BEFORE;
	return known ? (int)(row > 0 ? row : 1) : MOST_BEFORE;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int64_t n = about(site->s->space[0], site->t);
	int count = 0;
	for (int threads = MOST_THREADS; threads >= WARP; threads /= 2) {
		if (threads > WARP && threads / 2 >= n)
			continue;
		for (int words = n > WARP && about_holds(words_fit(site->p, site->s), site->t); words >= 0; words--)
			out[count++] = (struct sched_choice){ &sched_pick, { threads, words } };
	}
	return count;
}

/* A row in a kernel. */
struct picker {
	struct ir_program *p;
	const struct ir_stage *s;
	struct row_place place;
	expr axis[2 * IR_MAX_RANK];
	struct {
		VEC(expr);
	} first; /* the first loads of vectors that hold all that is loaded of a buffer's last axis, such as a box */
};

enum { VECTOR_BYTES = 16 };

/* Elements of a vector along the last axis of a load's buffer, at constant positions; 1: none. */
static int width_of(expr load)
{
	int64_t extent, at;
	int width = load->n ? VECTOR_BYTES * 8 / type_info(load->type)->bits : 1;
	if (width > 1 &&
	    (!ir_const_int(load->buf->dim[load->n - 1], &extent) || !ir_const_int(load->arg[load->n - 1], &at)))
		return 1;
	while (width > 1 && extent % width)
		width /= 2;
	return width;
}

/* The load of the first element of the vector that has this load's element; *item: its place there. */
static expr first_of(expr load, int64_t *item)
{
	expr at[IR_MAX_RANK];
	int64_t last;
	for (int k = 0; k < load->n; k++)
		at[k] = load->arg[k];
	ck(ir_const_int(at[load->n - 1], &last));
	*item = last % width_of(load);
	at[load->n - 1] = ir_index(load->pool, last - *item);
	return ir_load(load->pool, load->buf, at);
}

static int vector_of(const struct picker *x, expr first)
{
	for (int i = 0; i < x->first.n; i++)
		if (x->first.at[i] == first)
			return i;
	return -1;
}

static void find_vector(void *user, expr e)
{
	struct picker *x = user;
	int64_t item;
	if (e->op != IR_LOAD || width_of(e) == 1)
		return;
	expr first = first_of(e, &item);
	if (vector_of(x, first) < 0)
		vec_push(x->p->arena, &x->first, first);
}

static struct ir_variable *array_for(const struct picker *x, int i)
{
	const struct ir_buffer *buf = x->first.at[i]->buf;
	return ir_variable_of(x->p->pool, buf->type, buf, IR_HOLDS_VECTOR, i + 1, "%s_v%d", buf->name, i + 1);
}

static expr load_of_vector(void *user, expr e, expr flat)
{
	const struct picker *x = user;
	int64_t item;
	(void)flat;
	int i = width_of(e) > 1 ? vector_of(x, first_of(e, &item)) : -1;
	return i < 0 ? NULL : item_of(array_for(x, i), ir_index(x->p->pool, item));
}

static struct picker picker_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row)
{
	struct picker x = { .p = p, .s = s, .place = row_place_of(p, b, s, row) };
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(s->value, used);
	if (s->where)
		ir_mark_axes(s->where, used);
	row_axes(p, b, s, row, used, x.axis);
	ir_walk_unconditional(s->value, find_vector, &x);
	return x;
}

/* The condition at element i, or the value at elements i and `before`. */
static expr at(struct picker *x, expr e, expr i, expr before)
{
	struct axes a = { .value = x->axis };
	x->axis[x->s->out->rank] = i;
	x->axis[x->s->out->rank + 1] = before;
	return to_kernel(x->p, e, &a);
}

static expr place_of(const struct picker *x, expr q)
{
	return row_position(&x->place, x->s->out->dim[x->s->axis], q);
}

static void put(const struct picker *x, struct ir_block *b, expr q, expr i)
{
	emit_store(x->p, b, x->s->out, place_of(x, q), ir_cast(i, x->s->out->type));
}

static expr get(const struct picker *x, expr q)
{
	expr place = place_of(x, q);
	return ir_cast(ir_load(x->p->pool, flat_view(x->p, x->s->out), &place), TYPE_INDEX);
}

static const struct ir_variable *emit_may(struct picker *x, struct ir_block *b)
{
	struct ir_lambda *may = emit_lambda(x->p, b, "may");
	expr i = emit_parameter(x->p, may, TYPE_INDEX, "i", x->s->space[0]);
	may->value = x->s->where ? at(x, x->s->where, i, NULL) : ir_int(x->p->pool, TYPE_BOOL, 1);
	return may->var;
}

static const struct ir_variable *emit_over(struct picker *x, struct ir_block *b)
{
	struct ir_program *p = x->p;
	struct ir_lambda *over = emit_lambda(p, b, "over");
	struct axes a = { .value = x->axis };
	int rank = x->s->out->rank;
	x->axis[rank] = emit_parameter(p, over, TYPE_INDEX, "i", x->s->space[0]);
	x->axis[rank + 1] = emit_parameter(p, over, TYPE_INDEX, "before", x->s->space[0]);
	for (int i = 0; i < x->first.n; i++) {
		expr first = x->first.at[i], flat = to_kernel(p, ir_flat(p->pool, first->buf, first->arg), &a);
		emit_load_vector(p, over->body, first->buf, flat, array_for(x, i), width_of(first));
	}
	a.load = load_of_vector;
	a.user = x;
	over->value = to_kernel(p, x->s->value, &a);
	return over->var;
}

static const struct ir_variable *emit_get(struct picker *x, struct ir_block *b)
{
	struct ir_lambda *found = emit_lambda(x->p, b, "get");
	found->value = get(x, emit_parameter(x->p, found, TYPE_INDEX, "q", x->s->out->dim[x->s->axis]));
	return found->var;
}

static const struct ir_variable *emit_put(struct picker *x, struct ir_block *b)
{
	struct ir_lambda *store = emit_lambda(x->p, b, "put");
	expr q = emit_parameter(x->p, store, TYPE_INDEX, "q", x->s->out->dim[x->s->axis]);
	put(x, store->body, q, emit_parameter(x->p, store, TYPE_INDEX, "i", NULL));
	return store->var;
}

/* The serial twin: compares each element with the picks. */
static void serial_row(struct picker *x, struct ir_block *b)
{
	struct ir_program *p = x->p;
	expr n = x->s->space[0], most = x->s->out->dim[x->s->axis], zero = ir_index(p->pool, 0),
	     one = ir_index(p->pool, 1), i, q;
	expr count = emit_variable(p, b, "count", zero);
	struct ir_block *turn = emit_loop(p, b, "element", zero, n, one, n, &i);
	emit(p, turn, IR_BREAK_IF)->leave = ir_binary(IR_LE, most, count);
	if (x->s->where)
		emit(p, turn, IR_BREAK_IF)->leave = ir_unary(IR_NOT, at(x, x->s->where, i, NULL));
	expr found = emit_variable(p, turn, "found", ir_int(p->pool, TYPE_BOOL, 0));
	struct ir_block *pairs = emit_loop(p, turn, "q", zero, count, one, most, &q);
	emit(p, pairs, IR_BREAK_IF)->leave = found;
	expr before = emit_constant(p, pairs, "before", get(x, q), n);
	emit_assign(p, pairs, found, at(x, x->s->value, i, before));
	turn = emit_if(p, turn, ir_unary(IR_NOT, found));
	put(x, turn, ir_var_of(count->var, most), i);
	emit_assign(p, turn, count, ir_binary(IR_ADD, count, one));
	struct ir_block *rest = emit_loop(p, b, "q", ir_var_of(count->var, NULL), most, one, most, &q);
	put(x, rest, q, ir_index(p->pool, -1));
}

/* words[row, w, i]: the elements 32 w .. 32 w + 31 before i that exclude it. */
static void words_kernel(struct ir_plan *plan, const struct ir_stage *s, const struct ir_buffer *words, expr fits,
                         const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "_words", c);
	struct ir_block *b = &k->body;
	expr dim[] = { rows_along(p, s), words_along(p, s), s->space[0] }, own[3];
	bool used[] = { true, true, true };
	expr point = declare_element(p, k, all_words(p, s), WORD_THREADS, 1);
	k->blocks = ir_select(fits, k->blocks, ir_index(p->pool, 0));
	declare_axes(p, b, point, 3, dim, (const char *[]){ "row", "word", "own" }, used, own);
	expr first = ir_binary(IR_MUL, own[1], ir_index(p->pool, WARP));
	b = emit_if(p, b, ir_binary(IR_LE, first, own[2]));
	struct picker x = picker_begin(p, b, s, own[0]);
	if (s->where)
		b = emit_if(p, b, at(&x, s->where, own[2], NULL));
	const struct ir_variable *over = emit_over(&x, b);
	struct ir_call *call = emit_invoke(p, b, &device_pick_word, IR_OF_NOTHING);
	const struct ir_variable *found = take_result(p, call, "found");
	add_value(p, call, own[2]);
	add_value(p, call, first);
	add_variable(p, call, over);
	emit_store(p, b, words, point, ir_var_of(found, NULL));
	emit_comment(p, &k->serial, "The next kernel compares elements itself.");
	kernel_finish(plan, step_new(plan), k, s);
}

/* `words` null: compares elements itself. */
static void rows_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                        const struct ir_buffer *words, expr fits, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, words ? "" : step->n ? "_more" : "", c);
	struct ir_block *b = &k->body;
	const struct ir_variable *before = NULL;
	expr rows = rows_along(p, s);
	k->threads = c->param[0];
	k->blocks = rows;
	if (ir_size_limit(p, rows) != rows)
		emit_return_if(p, b, ir_binary(IR_LE, rows, ir_block(p->pool, NULL)));
	const struct ir_variable *turn =
	        emit_shared(p, b, ir_object_new(p->pool, &device_pick_turn, IR_OF(IR_NUMBER(k->threads)), "turn"));
	if (words) {
		struct ir_variable *picked = ir_variable_new(p->pool, TYPE_U32, "picked");
		before = emit_shared(p, b, array_of(picked, most_words(p, s)));
	}
	expr row = emit_constant(p, b, "row", ir_block(p->pool, rows), rows);
	struct picker x = picker_begin(p, b, s, row);
	const struct ir_variable *may = emit_may(&x, b), *over = words ? NULL : emit_over(&x, b),
	                         *found = words ? NULL : emit_get(&x, b), *store = emit_put(&x, b);
	struct ir_call *call = emit_invoke(p, b, words ? &device_pick_row_by_words : &device_pick_row, IR_OF_NOTHING);
	add_variable(p, call, turn);
	if (words) {
		add_variable(p, call, before);
		expr all = ir_binary(IR_MUL, words_along(p, s), s->space[0]);
		add_address(p, call, words, ir_binary(IR_MUL, row, all), false);
	}
	add_value(p, call, s->space[0]);
	add_value(p, call, s->out->dim[s->axis]);
	add_variable(p, call, may);
	if (over)
		add_variable(p, call, over);
	if (found)
		add_variable(p, call, found);
	add_variable(p, call, store);

	b = &k->serial;
	if (ir_size_limit(p, rows) != rows)
		b = emit_if(p, b, ir_binary(IR_LT, ir_block(p->pool, NULL), rows));
	row = emit_constant(p, b, "row", ir_block(p->pool, rows), rows);
	x = picker_begin(p, b, s, row);
	serial_row(&x, b);
	if (words)
		kernel_needs(k, fits);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	const struct ir_stage *s = site->s;
	if (c->param[1]) {
		expr fits = words_fit(p, s), count = ir_select(fits, all_words(p, s), ir_index(p->pool, 0));
		const char *name = arena_printf(p->arena, "%s_words", s->out->name);
		struct ir_buffer *words = ir_buffer_new(p, name, TYPE_U32, 1, &count, IR_TEMP);
		words_kernel(plan, s, words, fits, c);
		struct ir_step *step = step_new(plan);
		rows_kernel(plan, step, s, words, fits, c);
		if (!step_fits_all(step))
			rows_kernel(plan, step, s, NULL, fits, c);
	} else {
		rows_kernel(plan, step_new(plan), s, NULL, NULL, c);
	}
}

/* Every element is visited, and half of them are picked, unless there are fewer places. The numbers are estimates, not
 * measurements: a step settles the 32 elements of a warp, with a barrier after it. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { STEP_NS = 120, PICK_NS = 30, FULL = 512, RESIDENT = 2048, BITS_A_NS = 800 };
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	double threads = c->param[0], rows = (double)about(rows_along(site->p, s), t),
	       n = (double)about(s->space[0], t);
	double picks = (double)about(s->out->dim[s->axis], t), pair = ir_cost(s->value), fill = threads / FULL, time;
	double waves = ceil(rows / (t->processors * ceil(RESIDENT / threads)));
	picks = picks < n / 2 ? picks : n / 2;
	if (c->param[1]) {
		time = rows * n * n / 2 * pair / cost_mixed_rate(t);
		time += waves * cost_wait(t, n / WARP * STEP_NS + n * n / 2 / BITS_A_NS);
		return 2 * t->launch_ns + time;
	}
	time = ceil(n / threads) * threads * (picks / 2 + WARP / 2) * pair;
	time = time / (cost_mixed_rate(t) / t->processors) / (fill < 1 ? fill : 1);
	return t->launch_ns + waves * cost_wait(t, time + n / WARP * STEP_NS + picks * PICK_NS);
}

const struct sched_rule sched_pick = {
	.name = "pick",
	.version = 1,
	.about = "A block goes over a row, and compares each element with those picked before.{words? A "
	         "kernel before it compares all pairs, and stores a bit for each.}",
	.param = { { "threads", WARP, MOST_THREADS }, { "words", 0, 1 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
