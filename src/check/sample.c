/* Results at sampled elements. See sample.h. A stage read at some positions becomes a stage over the axes of these
 * positions: out[i, j] read at (at0[s], r) is out'[s, r], whose value is out's with at0[s] for i and r for j. */
#include "check/sample.h"

#include <string.h>

#include "base/threads.h"
#include "check/error_bound.h"
#include "eval/eval.h"
#include "ir/launch.h"

enum { MOST_ELEMENTS = 4096, FEWEST_ELEMENTS = 64 };
static const double OPERATIONS_A_SECOND = 4e8; /* of the interpreter, per processor */
static const double SECONDS = 4;
static const double SAMPLE_WORK = 4e8; /* budget of a sample: expensive elements reduce their number */

/* A stage evaluated at certain positions. */
struct version {
	const struct ir_buffer *of;
	expr index[IR_MAX_RANK]; /* over its own axes */
	struct ir_buffer *out;
};

struct sampler {
	const struct ir_program *from;
	struct ir_program *to;
	struct ir_buffer **edge; /* inputs and constants, by id in `from` */
	struct {
		VEC(struct version *);
	} versions;
	bool refused;
};

struct sample {
	const struct ir_program *program;
	int64_t **at; /* by output: positions of its elements */
	int *n;
	struct tensor *want;
	const struct ir_program *sampled; /* the program that computes them from these inputs */
	const struct tensor *const *inputs;
};

/* ---- The program of a sample. */

struct axes_used {
	bool used[2 * IR_MAX_RANK];
	expr axis[2 * IR_MAX_RANK];
};

static void note_axis(void *user, expr e)
{
	struct axes_used *u = user;
	if (e->op == IR_AXIS) {
		u->used[e->i] = true;
		u->axis[e->i] = e;
	}
}

struct renaming {
	const expr *axis;  /* by axis: its replacement */
	struct sampler *s; /* null: keep loads */
};

static expr read_at(struct sampler *s, const struct ir_buffer *b, const expr *index, enum ir_role role);

static expr rename_leaf(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	struct renaming *x = user;
	(void)p;
	if (e->op == IR_AXIS)
		return x->axis[e->i];
	return e->op == IR_LOAD && x->s ? read_at(x->s, e->buf, arg, IR_TEMP) : NULL;
}

static expr copy(struct sampler *s, expr e)
{
	return ir_copy(s->to->pool, e, rename_leaf, &(struct renaming){ NULL, s });
}

static struct ir_buffer *find_version(const struct sampler *s, const struct ir_buffer *b, const expr *index)
{
	vec_each (v, &s->versions)
		if ((*v)->of == b && memcmp((*v)->index, index, sizeof *index * (size_t)b->rank) == 0)
			return (*v)->out;
	return NULL;
}

/* Makes a stage for the elements of b at `index`, over `axes` axes of these extents. */
static struct ir_buffer *make_version(struct sampler *s, const struct ir_buffer *b, const expr *index, int axes,
                                      const expr *extent, enum ir_role role)
{
	const struct ir_stage *stage = ir_stage_of(s->from, b);
	struct ir_program *to = s->to;
	expr axis[2 * IR_MAX_RANK], space[IR_MAX_RANK], value, post = NULL;
	if (!stage || (stage->kind != IR_MAP && stage->kind != IR_REDUCE)) {
		s->refused = true;
		return NULL;
	}
	int reduced = stage->kind == IR_REDUCE ? stage->space_rank : 0;
	memcpy(axis, index, sizeof *index * (size_t)b->rank);
	for (int k = 0; k < reduced; k++) {
		space[k] = copy(s, stage->space[k]);
		axis[b->rank + k] = ir_axis(to->pool, axes + k, space[k]);
	}
	struct renaming x = { axis, s };
	value = ir_copy(to->pool, stage->value, rename_leaf, &x);
	if (stage->post)
		post = ir_copy(to->pool, stage->post, rename_leaf, &x);
	if (s->refused)
		return NULL;
	struct ir_buffer *out = ir_buffer_new(to, b->name, b->type, axes, extent, role);
	struct ir_stage *made = ir_stage_new(to, stage->kind, out);
	made->value = value;
	made->post = post;
	made->combine = stage->combine;
	made->space_rank = reduced;
	memcpy(made->space, space, sizeof *space * (size_t)reduced);
	return out;
}

/* Reads buffer b at `index`, an expression over the reading stage's axes. */
static expr read_at(struct sampler *s, const struct ir_buffer *b, const expr *index, enum ir_role role)
{
	struct axes_used u = { { false }, { NULL } };
	expr renamed[2 * IR_MAX_RANK], outer[IR_MAX_RANK], extent[IR_MAX_RANK];
	int axes = 0;
	if (s->edge[b->id])
		return ir_load(s->to->pool, s->edge[b->id], index);
	for (int k = 0; k < b->rank; k++)
		ir_walk(index[k], note_axis, &u);
	for (int k = 0; k < 2 * IR_MAX_RANK; k++) {
		if (!u.used[k])
			continue;
		if (axes == IR_MAX_RANK) {
			s->refused = true;
			break;
		}
		outer[axes] = u.axis[k];
		extent[axes] = u.axis[k]->arg[0];
		renamed[k] = ir_axis(s->to->pool, axes, extent[axes]);
		axes++;
	}
	struct version *v = NEW(s->to->arena, struct version);
	v->of = b;
	for (int k = 0; k < b->rank && !s->refused; k++)
		v->index[k] = ir_copy(s->to->pool, index[k], rename_leaf, &(struct renaming){ renamed, NULL });
	v->out = s->refused ? NULL : role == IR_TEMP ? find_version(s, b, v->index) : NULL;
	if (!v->out && !s->refused) {
		v->out = make_version(s, b, v->index, axes, extent, role);
		vec_push(s->to->arena, &s->versions, v);
	}
	return v->out && !s->refused ? ir_load(s->to->pool, v->out, outer) : ir_const(s->to->pool, b->type, 0);
}

static struct ir_buffer *copy_edge(struct sampler *s, const struct ir_buffer *b)
{
	expr dim[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++)
		dim[k] = copy(s, b->dim[k]);
	struct ir_buffer *made = ir_buffer_new(s->to, b->name, b->type, b->rank, dim, b->role);
	made->data = b->data;
	made->weight = b->weight;
	return s->edge[b->id] = made;
}

/* `n`: elements per output. Inputs: the program's, then a list of positions for each axis of each output. */
static struct ir_program *program_of(const struct ir_program *p, const int *n, struct arena *a)
{
	struct sampler s = { .from = p,
		             .to = ir_program_new(a, p->name),
		             .edge = NEWN(a, struct ir_buffer *, p->buffers.n + 1) };
	struct ir_pool *pool = s.to->pool;
	vec_each (b, &p->inputs)
		copy_edge(&s, *b);
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			copy_edge(&s, *b);
	for (int o = 0; o < p->outputs.n && !s.refused; o++) {
		const struct ir_buffer *b = p->outputs.at[o];
		expr count = ir_index(pool, n[o]), place = ir_axis(pool, 0, count), index[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++) {
			struct ir_buffer *at = ir_buffer_new(s.to, "at", TYPE_I64, 1, &count, IR_INPUT);
			index[k] = ir_cast(ir_load(pool, at, &place), TYPE_INDEX);
		}
		read_at(&s, b, index, IR_OUTPUT);
	}
	return s.refused || p->sizes.n || p->values.n ? NULL : s.to;
}

/* ---- Work. */

static double number(const struct ir_inputs *x, expr e)
{
	struct ir_inputs in = *x;
	int64_t n;
	return ir_eval_int(ir_size_limit(x->program, e), ir_inputs_symbol, &in, &n) ? (double)n : 1;
}

static double stage_work(const struct ir_inputs *x, const struct ir_stage *s)
{
	double points = 1, inside = 0;
	if (s->loop) {
		vec_each (b, &s->loop->body)
			inside += stage_work(x, *b);
		return inside * number(x, s->loop->trip);
	}
	for (int k = 0; k < s->out->rank; k++)
		points *= number(x, s->out->dim[k]);
	for (int k = 0; k < s->space_rank && s->kind == IR_REDUCE; k++)
		points *= number(x, s->space[k]);
	return points * (1 + ir_cost(s->value) / 4.0);
}

double sample_bytes(const struct ir_program *p, const struct ir_buffer *b, const struct tensor *const *inputs)
{
	const struct ir_inputs x = { p, inputs };
	double bytes = type_info(b->type)->bits / 8.0;
	for (int k = 0; k < b->rank; k++)
		bytes *= number(&x, b->dim[k]);
	return bytes;
}

double sample_work(const struct ir_program *p, const struct tensor *const *inputs)
{
	const struct ir_inputs x = { p, inputs };
	double work = 0;
	vec_each (s, &p->stages)
		work += stage_work(&x, *s);
	return work;
}

double sample_patience(void)
{
	return SECONDS * OPERATIONS_A_SECOND * threads_count();
}

/* ---- The elements. */

/* A random position along an axis: one in eight is the first, one in eight the last. */
static int64_t draw_place(uint64_t random, int64_t extent)
{
	return random % 8 == 0 ? 0 : random % 8 == 1 ? extent - 1 : (int64_t)((random >> 3) % (uint64_t)extent);
}

/* Picks positions along each axis of output o, as tensors, and the elements' flat positions. */
static int draw_places(struct sample *s, int o, const int64_t *dim, struct tensor *place, uint64_t seed,
                       struct arena *a, struct err *e)
{
	const struct ir_buffer *b = s->program->outputs.at[o];
	int64_t count = s->n[o];
	s->at[o] = NEWN(a, int64_t, count + 1);
	for (int k = 0; k < b->rank; k++) {
		TRY(tensor_new(&place[k], TYPE_I64, 1, &count, a, e));
		for (int i = 0; i < count; i++) {
			uint64_t number = (uint64_t)(o * IR_MAX_RANK + k) * MOST_ELEMENTS + (uint64_t)i;
			int64_t at = draw_place(hash_u64(seed, number), dim[k]);
			((int64_t *)place[k].data)[i] = at;
			s->at[o][i] = s->at[o][i] * dim[k] + at;
		}
	}
	return 0;
}

static int run(struct sample *s, const struct ir_program *sampled, const struct tensor *const *inputs, uint64_t seed,
               struct arena *a, struct err *e)
{
	const struct ir_program *p = s->program;
	const struct ir_inputs x = { p, inputs };
	const struct tensor **in = NEWN(a, const struct tensor *, sampled->inputs.n + 1);
	struct tensor *place = NEWN(a, struct tensor, sampled->inputs.n + 1);
	int n = p->inputs.n;
	memcpy(in, inputs, sizeof *in * (size_t)n);
	for (int o = 0; o < p->outputs.n; o++) {
		const struct ir_buffer *b = p->outputs.at[o];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++) {
			dim[k] = (int64_t)number(&x, b->dim[k]);
			in[n + k] = &place[n + k];
		}
		TRY(draw_places(s, o, dim, &place[n], seed, a, e));
		n += b->rank;
	}
	s->sampled = sampled;
	s->inputs = in;
	return eval_program(sampled, in, s->want, NULL, a, e);
}

int sample_new(struct sample **out, const struct ir_program *p, const struct tensor *const *inputs, uint64_t seed,
               struct arena *a, struct err *e)
{
	const struct ir_inputs x = { p, inputs };
	struct sample *s = NEW(a, struct sample);
	*s = (struct sample){ .program = p,
		              .at = NEWN(a, int64_t *, p->outputs.n + 1),
		              .n = NEWN(a, int, p->outputs.n + 1),
		              .want = NEWN(a, struct tensor, p->outputs.n + 1) };
	double all = sample_work(p, inputs);
	*out = NULL;
	for (int most = MOST_ELEMENTS; most >= FEWEST_ELEMENTS; most /= 4) {
		for (int o = 0; o < p->outputs.n; o++) {
			double count = 1;
			for (int k = 0; k < p->outputs.at[o]->rank; k++)
				count *= number(&x, p->outputs.at[o]->dim[k]);
			s->n[o] = p->outputs.at[o]->rank == 0 ? 1 : count < most ? (int)count : most;
		}
		struct ir_program *sampled = program_of(p, s->n, a);
		if (!sampled)
			return 0;
		double work = sample_work(sampled, inputs);
		if (work >= all || (work > SAMPLE_WORK && most / 4 >= FEWEST_ELEMENTS))
			continue;
		*out = s;
		TRY(ir_check(sampled, e));
		return run(s, sampled, inputs, seed, a, e);
	}
	return 0;
}

const struct tensor *sample_want(const struct sample *s)
{
	return s->want;
}

void sample_bounds(struct tensor *bound, const struct sample *s, struct arena *a)
{
	error_bounds(bound, NULL, s->sampled, s->inputs, a);
}

static void take_one(struct tensor *to, int64_t i, const struct tensor *from, int64_t at)
{
	int bits = type_info(from->type)->bits;
	if (bits >= 8)
		memcpy((char *)to->data + i * (bits / 8), (const char *)from->data + at * (bits / 8),
		       (size_t)(bits / 8));
	else if (type_is_float(from->type))
		tensor_set_float(to, i, tensor_float(from, at));
	else
		tensor_set_int(to, i, tensor_int(from, at));
}

int sample_take(struct tensor *out, const struct sample *s, const struct tensor *outputs, struct arena *a,
                struct err *e)
{
	for (int o = 0; o < s->program->outputs.n; o++) {
		TRY(tensor_new(&out[o], s->want[o].type, s->want[o].rank, s->want[o].dim, a, e));
		for (int i = 0; i < s->n[o]; i++)
			take_one(&out[o], i, &outputs[o], s->at[o][i]);
	}
	return 0;
}
