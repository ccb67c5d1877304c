/* Rule table: a map whose elements each depend on one 8-bit element and on uniform values only, as between quantised
 * operators. There are 256 possible results, however long the chain of operations. Each block computes them in shared
 * memory, one per thread, while its vectorised loads are in flight, and then looks its elements up. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

enum { THREADS = 256 /* one per entry */, WIDEST = 16 /* bytes */ };

struct table {
	struct ir_program *p;
	const struct ir_stage *s;
	expr load; /* of the 8-bit element */
	expr own;  /* position of an element, over its axes */
	expr count;
	int width; /* elements per thread */
	const struct ir_buffer *shared;
};

static void find_load(void *user, expr e)
{
	struct table *f = user;
	bool byte = e->op == IR_LOAD && type_info(e->type)->bits == 8 && e->type != TYPE_BOOL;
	if (byte && !f->load && ir_is_int(ir_binary(IR_SUB, ir_flat(f->p->pool, e->buf, e->arg), f->own), 0))
		f->load = e;
}

/* The value of an element from its table index, the bits of its 8-bit element. */
static expr entry_value(const struct table *f, expr entry)
{
	enum type t = f->load->type;
	expr code = type_is_int(t) ? ir_cast(entry, t) : ir_bitcast(ir_cast(entry, TYPE_U8), t);
	return substitute(&(struct substitution){ &f->load, &code, 1 }, f->s->value);
}

static expr entry_of(expr code)
{
	expr bits = type_is_int(code->type) ? ir_cast(code, TYPE_U8) : ir_bitcast(code, TYPE_U8);
	return ir_cast(bits, TYPE_INDEX);
}

static bool find(struct table *f, struct ir_program *p, const struct ir_stage *s)
{
	*f = (struct table){ .p = p, .s = s };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	f->own = ir_own_position(p->pool, s->out);
	f->count = out_count(p, s);
	ir_walk(s->value, find_load, f);
	expr entry = ir_some(p->pool, TYPE_INDEX, NULL);
	return f->load && f->load != s->value && !ir_uses(entry_value(f, entry), IR_AXIS);
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct table f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a map of one 8-bit input element";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	out[0] = (struct sched_choice){ &sched_table, { WIDEST * 8 / type_info(s->out->type)->bits } };
	return 1;
}

/* The time of a copy, during which other blocks compute their tables, and one wait for a table. Measured on an H100: as
 * fast as a copy. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { WAIT_NS = 400 };
	struct ir_stage lookup = *s;
	const struct map_shape shape = { .planes = 1, .axis = -1, .width = c->param[0], .vectors = true };
	struct table f = *(const struct table *)site->found;
	lookup.value = ir_cast(entry_of(f.load), s->out->type);
	double blocks = (double)about(ceil_div(p, f.count, THREADS * c->param[0]), t);
	double fill = blocks * THREADS * ir_cost(s->value) / cost_steady_rate(t);
	double time = map_time(p, &lookup, &shape, t);
	return (time > fill ? time : fill) + WAIT_NS;
}

/* ---- The kernel. */

static void store_entry(struct table *f, struct ir_block *b, expr entry)
{
	emit_store_flat(f->p, b, f->shared, entry, to_kernel(f->p, entry_value(f, entry), &(struct axes){ 0 }));
}

static expr look_up(struct table *f, expr code)
{
	expr at = entry_of(code);
	return ir_load(f->p->pool, f->shared, &at);
}

/* Looks up elements from ... to - 1 one by one. */
static void look_up_each(struct table *f, struct ir_block *b, expr from, expr to)
{
	struct ir_program *p = f->p;
	expr at;
	struct ir_block *body = emit_loop(p, b, "each", from, to, ir_index(p->pool, 1), f->count, &at);
	emit_store(p, body, f->s->out, at, look_up(f, ir_load(p->pool, flat_view(p, f->load->buf), &at)));
}

static void look_up_vector(struct table *f, struct ir_block *b, expr element, const struct ir_variable *from)
{
	struct ir_program *p = f->p;
	struct ir_variable *result = ir_variable_new(p->pool, f->s->out->type, "%s_v", f->s->out->name);
	expr v;
	emit_array(p, b, result, f->width);
	struct ir_block *items = emit_unrolled(p, b, "v", f->width, &v);
	emit_set(p, items, result, v, look_up(f, item_of(from, v)));
	emit_store_vector(p, b, f->s->out, element, result, f->width);
}

/* Loads the vector while the table is computed. A vector past the end is looked up element by element. */
static void look_up_block(struct table *f, struct ir_block *b, expr first, expr thread)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *from = f->load->buf;
	struct ir_variable *array = ir_variable_new(p->pool, from->type, "%s_v", from->name);
	expr width = ir_index(p->pool, f->width), position = ir_binary(IR_ADD, first, ir_binary(IR_MUL, thread, width));
	bool sure = ir_is_int(ir_binary(IR_LE, ir_binary(IR_ADD, position, width), f->count), 1);
	expr element = emit_declare(p, b, "element", position, NULL);
	expr inside =
	        sure ? ir_int(p->pool, TYPE_BOOL, 1) : ir_binary(IR_LE, ir_binary(IR_ADD, element, width), f->count);
	if (sure) {
		emit_load_vector(p, b, from, element, array, f->width);
	} else {
		emit_array(p, b, array, f->width);
		emit_load_into(p, emit_if(p, b, inside), from, element, array, NULL, f->width);
	}
	store_entry(f, b, emit_constant(p, b, "entry", thread, f->shared->dim[0]));
	emit(p, b, IR_SYNC);
	look_up_vector(f, sure ? b : emit_if(p, b, inside), element, array);
	if (!sure)
		look_up_each(f, emit_if(p, b, ir_unary(IR_NOT, inside)), element, f->count);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct table f = *(const struct table *)site->found;
	f.width = c->param[0];
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "_table", c);
	struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
	*shared = (struct ir_buffer){
		.name = "table", .type = s->out->type, .rank = 1, .role = IR_TEMP, .id = s->out->id
	};
	shared->dim[0] = ir_index(p->pool, THREADS);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	f.shared = shared;
	k->threads = THREADS;
	k->blocks = ceil_div(p, f.count, THREADS * f.width);
	expr each = ir_index(p->pool, THREADS * f.width);
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), each);
	look_up_block(&f, &k->body, first, ir_thread(p->pool, shared->dim[0]));
	/* For a CPU: the same for a whole block. */
	expr entry, none = ir_index(p->pool, 0), one = ir_index(p->pool, 1), entries = shared->dim[0];
	struct ir_block *b = emit_loop(p, &k->serial, "entry", none, entries, one, entries, &entry);
	store_entry(&f, b, entry);
	look_up_each(&f, &k->serial, first, ir_binary(IR_MIN, ir_binary(IR_ADD, first, each), f.count));
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_table = {
	.name = "table",
	.version = 1,
	.about = "Each block computes all 256 possible results in shared memory, and looks its elements up "
	         "there.",
	.param = { { "width", 1, 16 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
