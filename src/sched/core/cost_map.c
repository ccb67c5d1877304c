/* Time of a map's kernel: bytes, waves of threads, instructions and memory accesses, counted for its mapping of
 * elements to threads. Mostly one of these is the limit; two that are close add up in part. */
#include "sched/build/accumulate.h"
#include "base/map.h"
#include "base/number.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include <math.h>

enum { LANES = 32, SECTOR = 32, LINE = 128, SAMPLES = 2 };
enum { SHIFT = 12 /* instructions for each access of a vector that is shifted */ };

struct facts {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_target *t;
	const struct map_shape *shape;
	struct vector_loads vectors;
	struct arena *scratch;
	int inner;
	expr own;        /* an element's position */
	uint32_t *axes;  /* by node: one bit per axis */
	double *chance;  /* by node: probability of its evaluation for an element */
	bool *to_places; /* by node: a data-dependent index: it contains a load */
	expr *node;      /* operands first */
	int nodes;
	bool apart;                                 /* elements of a vector share no instructions */
	double points, warps, instructions, cycles; /* instructions: per thread; cycles: per warp, of accesses */
	double bytes, cached;                       /* from and to memory; read from the L2 cache */
};

/* ---- The value's nodes. */

static void note_node(void *user, expr e)
{
	struct facts *f = user;
	f->node[f->nodes++] = e;
	if (e->op == IR_AXIS)
		f->axes[e->id] = 1u << e->i;
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++) {
		f->axes[e->id] |= f->axes[e->arg[i]->id];
		f->to_places[e->id] |= e->arg[i]->op == IR_LOAD || f->to_places[e->arg[i]->id];
	}
}

static double instructions_of(expr e)
{
	bool is_float = type_is_float(e->type);
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT:
	case IR_AXIS:
	case IR_SYMBOL:
	case IR_VAR:
	case IR_ELEMENT:
	case IR_LOAD: return 0; /* counted with the accesses */
	case IR_CAST:
	case IR_CAST_SAT: return is_float == type_is_float(e->arg[0]->type) ? 1 : 4;
	case IR_FLOORDIV:
	case IR_MOD: return is_float ? 20 : 4;
	case IR_DIV: return 8;
	case IR_REM: return 20;
	case IR_SQRT: return 8;
	case IR_EXP: return 4;
	case IR_LOG: return 8;
	case IR_POW: return 30;
	default: return ir_op_info[e->op].kind == IR_CALL && e->op > IR_ROUND_EVEN ? 16 : 1;
	}
}

/* Number of times that a thread evaluates a node which depends on these axes. */
static double times(const struct facts *f, uint32_t axes)
{
	double n = f->shape->planes > 1 && axes & 1u << f->shape->axis ? f->shape->planes : 1;
	if (f->apart)
		return axes ? n * f->shape->width : n;
	return f->inner >= 0 && axes & 1u << f->inner ? n * f->shape->width : n;
}

/* ---- Positions that lanes read: the index is evaluated for some of them. */

struct place {
	const struct facts *f;
	const int64_t *axis;
	int64_t *value;
	unsigned char *state; /* by node: 0: not evaluated yet; 1: known; 2: unknown */
};

static int64_t floor_of(int64_t a, int64_t b)
{
	return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool evaluate(struct place *x, expr e, int64_t *out);

static bool compute(struct place *x, expr e, int64_t *out)
{
	int64_t a, b;
	if (e->op == IR_CONST_INT || e->op == IR_SYMBOL) {
		*out = e->op == IR_SYMBOL ? about(e, x->f->t) : e->i;
		return true;
	}
	if (e->op == IR_AXIS) {
		*out = x->axis[e->i];
		return true;
	}
	if (e->op == IR_SELECT)
		return evaluate(x, e->arg[0], &a) && evaluate(x, e->arg[a ? 1 : 2], out);
	if (e->op == IR_NOT && evaluate(x, e->arg[0], &a)) {
		*out = !a;
		return true;
	}
	if (e->n != 2 || type_is_float(e->arg[0]->type) || !evaluate(x, e->arg[0], &a) || !evaluate(x, e->arg[1], &b))
		return false;
	switch (e->op) {
	case IR_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
	case IR_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
	case IR_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
	case IR_FLOORDIV: *out = floor_of(a, b); return true;
	case IR_MOD: *out = (int64_t)((uint64_t)a - (uint64_t)floor_of(a, b) * (uint64_t)b); return true;
	case IR_MIN: *out = a < b ? a : b; return true;
	case IR_MAX: *out = a > b ? a : b; return true;
	case IR_EQ: *out = a == b; return true;
	case IR_LT: *out = a < b; return true;
	case IR_LE: *out = a <= b; return true;
	case IR_AND: *out = a && b; return true;
	case IR_OR: *out = a || b; return true;
	default: return false;
	}
}

static bool evaluate(struct place *x, expr e, int64_t *out)
{
	if (!x->state[e->id])
		x->state[e->id] = compute(x, e, &x->value[e->id]) ? 1 : 2;
	*out = x->value[e->id];
	return x->state[e->id] == 1;
}

/* Evaluates an index, such as the position that a load reads, for element `at`, counted along the threads' space. */
static bool position(const struct facts *f, expr flat, int64_t at, int64_t *out)
{
	int64_t axis[IR_MAX_RANK] = { 0 };
	struct arena_mark mark = arena_mark(f->scratch);
	struct place x = { f, axis, NEWN(f->scratch, int64_t, flat->id + 1),
		           NEWN(f->scratch, unsigned char, flat->id + 1) };
	for (int k = f->s->out->rank - 1; k >= 0; k--) {
		int64_t extent = about(f->s->out->dim[k], f->t);
		bool along = f->shape->planes > 1 && k == f->shape->axis;
		extent = along ? extent / f->shape->planes : extent;
		axis[k] = at % (extent > 0 ? extent : 1) * (along ? f->shape->planes : 1);
		at /= extent > 0 ? extent : 1;
	}
	bool known = evaluate(&x, flat, out);
	arena_release(f->scratch, mark);
	return known;
}

/* The share of the elements for which a condition holds, if their positions decide and it holds for almost all of them,
 * as inside of padded rows, or almost none; else half. */
static double share_of(const struct facts *f, expr condition)
{
	enum { TRIED = 32 };
	const double FEW = 0.2;
	double found = 0;
	uint64_t all = (uint64_t)fmin(fmax(f->points, 1), 0x1p40);
	for (uint64_t i = 0; i < TRIED; i++) {
		int64_t holds;
		if (!position(f, condition, (int64_t)(hash_u64(0, i) % all), &holds))
			return 0.5;
		found += holds != 0;
	}
	found /= TRIED;
	return found <= FEW || found >= 1 - FEW ? found : 0.5;
}

static void note_chances(struct facts *f)
{
	f->chance[f->s->value->id] = 1;
	for (int i = f->nodes - 1; i >= 0; i--) {
		expr e = f->node[i];
		double holds = e->op == IR_SELECT ? share_of(f, e->arg[0]) : 1;
		for (int k = 0; k < e->n; k++) {
			double *chance = &f->chance[e->arg[k]->id], here = f->chance[e->id];
			here *= e->op != IR_SELECT || k == 0 ? 1 : k == 1 ? holds : 1 - holds;
			*chance = *chance < here ? here : *chance;
		}
	}
}

struct sector_set {
	int64_t at[4 * LANES];
	int n;
};

static void add_place(struct sector_set *set, int64_t place)
{
	for (int i = 0; i < set->n; i++)
		if (set->at[i] == place)
			return;
	if (set->n < (int)(sizeof set->at / sizeof *set->at))
		set->at[set->n++] = place;
}

/* ---- Loads. */

/* Number of the warp at that fraction of all, at most 2^40, so that its elements' positions do not overflow. */
static int64_t warp_at(const struct facts *f, double share)
{
	double warp = f->warps * share;
	return warp < 0x1p40 ? (int64_t)warp : (int64_t)1 << 40;
}

/* Returns the number of cache lines of one warp access; adds the sectors of all its elements to `all`. */
static double lines_of_access(const struct facts *f, expr flat, double size, int64_t warp, struct sector_set *all)
{
	struct sector_set lines = { .n = 0 };
	int64_t at, width = f->shape->width;
	for (int lane = 0; lane < LANES; lane++)
		for (int v = 0; v < (width > 1 ? 2 : 1); v++) {
			if (!position(f, flat, (warp * LANES + lane) * width + v * (width - 1), &at))
				return -1;
			if (v == 0)
				add_place(&lines, floor_of(number_int((double)at * size), LINE));
			add_place(all, floor_of(number_int((double)at * size), SECTOR));
		}
	return lines.n;
}

static bool is_shifted(const struct facts *f, expr load)
{
	return f->shape->shifted && f->shape->shifted(f->shape->user, load);
}

/* Number of accesses of a thread for the elements of its vector. */
static double accesses(const struct facts *f, expr load, expr flat)
{
	if (is_shifted(f, load))
		return ceil(f->shape->width * type_info(load->type)->bits / 128.0) + 1;
	int vector = f->shape->vectors ? vector_loads_accesses(&f->vectors, load) : -1;
	struct sector_set different = { .n = 0 };
	int64_t at;
	if (vector >= 0)
		return vector;
	if (f->shape->vectors && ir_const_int(ir_binary(IR_SUB, flat, f->own), &at) && at % f->shape->width == 0)
		return ceil(f->shape->width * type_info(load->type)->bits / 128.0); /* also if vectors continue
		                                                                       from row to row */
	if (f->inner < 0 || !(f->axes[load->id] & 1u << f->inner))
		return 1;
	for (int v = 0; v < f->shape->width; v++) {
		if (!position(f, flat, warp_at(f, 0.5) * LANES * f->shape->width + v, &at))
			return f->shape->width;
		add_place(&different, at);
	}
	return different.n;
}

/* Adds all loads of one buffer: data that one of them has read are in the L1 cache for the others. */
static void add_buffer(struct facts *f, const struct ir_buffer *b)
{
	double size = type_info(b->type)->bits / 8.0, elements = (double)about(ir_buffer_count(f->p, b), f->t);
	struct sector_set sectors[SAMPLES] = { 0 };
	double all = 0, anywhere = 0, chance = 0, planes = 1;
	for (int i = 0; i < f->nodes; i++) {
		expr e = f->node[i];
		if (e->op != IR_LOAD || e->buf != b)
			continue;
		expr flat = ir_flat(f->p->pool, b, e->arg);
		bool shifted = is_shifted(f, e);
		double n = accesses(f, e, flat) * (shifted ? 1 : f->chance[e->id]), lines = 0;
		for (int k = 0; k < SAMPLES && lines >= 0; k++) {
			int64_t warp = warp_at(f, (k + 1.0) / (SAMPLES + 1));
			lines = f->to_places[e->id] ? -1 : lines_of_access(f, flat, size, warp, &sectors[k]);
		}
		double share = times(f, f->axes[e->id] & ~(f->inner >= 0 ? 1u << f->inner : 0));
		if (lines < 0) { /* data-dependent: neighbours often share a sector, and most are cached */
			anywhere += times(f, f->axes[e->id]) * SECTOR / 8.0 * f->chance[e->id];
			lines = LANES / 4.0;
		} else {
			planes = planes < share ? share : planes;
			chance = chance < f->chance[e->id] ? f->chance[e->id] : chance;
		}
		f->instructions += n * (shifted ? SHIFT : 3) * share;
		f->cycles += n * share * fmax(lines, cost_table(f->t)->access);
	}
	for (int k = 0; k < SAMPLES; k++)
		all += sectors[k].n / (double)SAMPLES;
	double read = f->warps * (all * SECTOR * planes + anywhere * LANES), first = elements * size;
	f->bytes += read < first ? read : first;
	f->cached += read * (chance > 0 ? chance : 1);
}

static void add_loads(struct facts *f)
{
	for (int i = 0; i < f->nodes; i++) {
		bool again = f->node[i]->op != IR_LOAD;
		for (int k = 0; k < i && !again; k++)
			again = f->node[k]->op == IR_LOAD && f->node[k]->buf == f->node[i]->buf;
		if (!again)
			add_buffer(f, f->node[i]->buf);
	}
}

/* Factor on a thread's wait for memory: a load with a guard at a position from memory waits for its own position and
 * for the element before it. Measured on an H200: of sampled images, each further element of a thread takes as long as
 * the first. */
static double guarded_waits(const struct facts *f)
{
	for (int i = 0; i < f->nodes && !f->shape->clamped; i++)
		if (f->node[i]->op == IR_LOAD && f->to_places[f->node[i]->id] && f->chance[f->node[i]->id] < 1)
			return 1 + 0.5 * f->shape->width;
	return 1;
}

/* ---- Total. */

static double sum_of_limits(const double *limit, int n, double norm)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += pow(limit[i], norm);
	return pow(sum, 1 / norm);
}

double map_time(struct ir_program *p, const struct ir_stage *s, const struct map_shape *shape,
                const struct sched_target *t)
{
	enum { START = 12, DIVISION = 6 }; /* instructions: thread index and store; one axis from the index */
	struct arena *scratch = arena_new();
	struct facts f = { .p = p, .s = s, .t = t, .shape = shape, .scratch = scratch, .inner = -1 };
	size_t nodes = s->value->id + 1;
	f.axes = NEWN(scratch, uint32_t, nodes);
	f.chance = NEWN(scratch, double, nodes);
	f.to_places = NEWN(scratch, bool, nodes);
	f.node = NEWN(scratch, expr, nodes);
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f.inner = k;
	f.own = ir_own_position(p->pool, s->out);
	double size = type_info(s->out->type)->bits / 8.0, stores = ceil(size * shape->width / 16) * shape->planes;
	f.points = (double)about(out_count(p, s), t);
	double threads = f.points / (shape->width * shape->planes);
	f.warps = ceil(threads / LANES);
	ir_walk(s->value, note_node, &f);
	note_chances(&f);
	for (int i = 0; i < f.nodes; i++)
		f.apart |= shape->apart && f.node[i]->op == IR_LOAD && f.to_places[f.node[i]->id];
	if (shape->vectors && shape->width > 1 && f.inner >= 0)
		vector_loads_find(&f.vectors, p, s->value, f.inner, s->out->dim[f.inner], shape->width);
	f.bytes = f.points * size;
	f.instructions = START + stores;
	for (uint32_t axes = f.axes[s->value->id] >> 1; axes; axes >>= 1)
		f.instructions += axes & 1 ? DIVISION * (f.apart ? shape->width : 1) : 0;
	for (int i = 0; i < f.nodes; i++)
		f.instructions += f.axes[f.node[i]->id]
		                          ? instructions_of(f.node[i]) * times(&f, f.axes[f.node[i]->id]) *
		                                    f.chance[f.node[i]->id]
		                          : 0;
	const struct cost_table *measured = cost_table(t);
	f.cycles = stores * measured->access;
	add_loads(&f);
	/* Few threads do not reach the memory bandwidth. */
	double processors = f.warps / 8 < t->processors ? f.warps / 8 : t->processors;
	double each = shape->width * shape->planes < 8 ? shape->width * shape->planes : 8;
	double share = threads * each / cost_full_threads(t), clock = cost_counted_clock(t);
	double waves = threads / ((double)t->processors * t->threads);
	const double limit[] = {
		f.bytes / t->bytes_per_ns * (1 + measured->apart * (shape->planes - 1)) / (share < 1 ? share : 1),
		f.cached / t->l2_bytes_per_ns,
		(waves > 1 ? waves : 1) * guarded_waits(&f) * measured->wave + waves * 2 * f.instructions,
		f.warps * f.instructions / (processors * t->schedulers * clock),
		f.warps * f.cycles / (processors * clock),
	};
	arena_free(scratch);
	/* Prefer the wider of equals: dynamic extents may turn out larger. */
	double time = sum_of_limits(limit, sizeof limit / sizeof *limit, measured->norm);
	return t->launch_ns + time * (1 + 0.01 * log2(8.0 / shape->width));
}
