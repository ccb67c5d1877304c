/* Rule strip: a transposition with short axes. Loads and stores are contiguous along different axes. A block takes
 * those that are innermost on one side whole, if they are short together, and `chunk` places of the one that is
 * innermost on the other side. On the first side these elements are contiguous: threads move them as vectors, whatever
 * the short axes' extents. On the other side threads move vectors along the long axis. Shared memory is between the
 * two. */
#include "sched/map/turned.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum {
	LANES = 32,
	BANK = 4,      /* bytes of a word of shared memory */
	MAX_PAD = 4,   /* elements after each place's */
	BYTES = 16,    /* of the widest access */
	SEGMENT = 128, /* bytes that neighbouring lanes access */
	LEAST_LINE = 32,
	MAX_CHUNK = 1024, /* places */
	MAX_THREADS = 512,
	LEAST_THREADS = 64,
	MAX_TURNS = 16,
	MAX_WHOLE = 512 /* extent of the short axes together */
};

struct strip {
	struct turned t;
	bool flat_loads;                    /* the loads are contiguous over all these axes; else the stores are */
	int along;                          /* the long axis */
	int short_axes, whole[IR_MAX_RANK]; /* the short axes, the outermost first */
	int extent;                         /* of the short ones together */
	bool apart; /* the long axis is not next to them: lines of `extent` elements are contiguous */
	int chunk, threads;
	int flat, width; /* elements per access of the contiguous side and along the long axis */
	int lanes;       /* neighbours along the long axis */
	/* In shared memory, places of the long axis are `pitch` elements apart. */
	int pitch;
	bool vectors;  /* the contiguous side accesses shared memory by vectors, too */
	double passes; /* bank_passes() */
	struct ir_buffer *shared[MAX_TURNED];
};

static int load_bytes(const struct turned *t)
{
	int least, most;
	turned_load_bytes(t, &least, &most);
	return most;
}

static int store_bytes(const struct turned *t)
{
	return type_info(t->s->out->type)->bits / 8;
}

/* ---- Which axes are taken whole. */

static bool is_short(const struct strip *f, int axis)
{
	for (int i = 0; i < f->short_axes; i++)
		if (f->whole[i] == axis)
			return true;
	return false;
}

/* Takes an axis outside the short ones so far. Returns false if they are not short with it. */
static bool take_short(struct strip *f, int axis)
{
	int64_t extent;
	if (!ir_const_int(f->t.dim[axis], &extent) || extent < 1 || extent * f->extent > MAX_WHOLE)
		return false;
	for (int i = f->short_axes++; i > 0; i--)
		f->whole[i] = f->whole[i - 1];
	f->whole[0] = axis;
	f->extent *= (int)extent;
	return true;
}

static expr stride(const struct strip *f, int load, int axis)
{
	expr e = f->t.load[load];
	return ir_stride(ir_flat(f->t.p->pool, e->buf, e->arg), axis);
}

/* An axis along which neighbours are as far apart in the loads as the short ones reach; -1: none. */
static int next_short(const struct strip *f)
{
	for (int k = 0; k < f->t.rank; k++) {
		bool next = k != f->along && !is_short(f, k) && !ir_is_int(f->t.dim[k], 1);
		for (int i = 0; i < f->t.loads && next; i++) {
			expr apart = stride(f, i, k);
			next = apart && ir_is_int(apart, f->extent);
		}
		if (next)
			return k;
	}
	return -1;
}

/* Bytes of the short axes on the contiguous side. */
static int line_bytes(const struct strip *f)
{
	return f->extent * (f->flat_loads ? load_bytes(&f->t) : store_bytes(&f->t));
}

static bool reaches_long(const struct strip *f)
{
	for (int i = 0; i < f->t.loads; i++) {
		expr apart = stride(f, i, f->along);
		if (!apart || !ir_is_int(apart, f->extent))
			return false;
	}
	return true;
}

static void take_loads(struct strip *f)
{
	for (int k = f->t.b; k >= 0 && take_short(f, k); k = next_short(f))
		if (reaches_long(f) || line_bytes(f) >= SEGMENT)
			break;
	f->apart = !reaches_long(f);
}

static void take_stores(struct strip *f)
{
	int k = f->t.rank - 1;
	while (k > f->along && (ir_is_int(f->t.dim[k], 1) || line_bytes(f) < SEGMENT) && take_short(f, k))
		k--;
	f->apart = k != f->along;
}

static bool take(struct strip *f, const struct turned *t, bool flat_loads)
{
	*f = (struct strip){ .t = *t, .flat_loads = flat_loads, .along = flat_loads ? t->a : t->b, .extent = 1 };
	(flat_loads ? take_loads : take_stores)(f);
	return f->extent > 1 && (!f->apart || line_bytes(f) >= LEAST_LINE);
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct turned t;
	struct strip f;
	*why = "the stage is not a map that reads and writes along different axes";
	if (!turned_find(&t, p, s) || t.condition)
		return NULL;
	if (take(&f, &t, false) || take(&f, &t, true))
		return FOUND(p, t);
	*why = "the axes inside the long one are not short";
	return NULL;
}

/* ---- The shape of a strip. */

/* True if vectors of that width fit the contiguous side's elements, in every strip. */
static bool flat_fits(const struct strip *f, int width)
{
	const struct turned *t = &f->t;
	struct ir_pool *pool = t->p->pool;
	expr inside = f->apart ? ir_index(pool, 0) : t->axis[f->along], count = ir_index(pool, f->extent);
	for (int i = 0; i < f->short_axes; i++)
		inside = ir_binary(IR_ADD, ir_binary(IR_MUL, inside, t->dim[f->whole[i]]), t->axis[f->whole[i]]);
	if (!turned_aligned(f->apart ? count : ir_binary(IR_MUL, t->dim[f->along], count), width))
		return false;
	for (int i = 0; f->flat_loads && i < t->loads; i++) {
		expr flat = ir_flat(pool, t->load[i]->buf, t->load[i]->arg);
		if (!turned_aligned(ir_binary(IR_SUB, flat, inside), width))
			return false;
	}
	return f->flat_loads || turned_aligned(ir_binary(IR_SUB, turned_place(t, t->axis), inside), width);
}

static bool along_fits(const struct strip *f, int width)
{
	const struct turned *t = &f->t;
	if (!divides(t->dim[f->along], width))
		return false;
	for (int i = 0; !f->flat_loads && i < t->loads; i++) {
		expr flat = ir_flat(t->p->pool, t->load[i]->buf, t->load[i]->arg);
		if (!turned_aligned(ir_binary(IR_SUB, flat, t->axis[f->along]), width))
			return false;
	}
	return true;
}

/* The most words of a bank that an access of a warp meets, each once. */
static int most_of_a_bank(const int *word)
{
	int in[LANES] = { 0 }, most = 0;
	for (int lane = 0; lane < LANES; lane++) {
		bool again = false;
		for (int other = 0; other < lane; other++)
			again |= word[other] == word[lane];
		in[word[lane] % LANES] += !again;
	}
	for (int bank = 0; bank < LANES; bank++)
		most = in[bank] > most ? in[bank] : most;
	return most;
}

/* Passes of the banks of shared memory, on both sides, for each byte of a warp's lane. */
static double bank_passes(const struct strip *f, int pitch, bool vectors)
{
	int size = load_bytes(&f->t), along[LANES], flat[LANES];
	double whole = fmax(0.25, 1.0 / (f->flat * size)); /* of vectors: each pass moves 128 bytes */
	for (int lane = 0; lane < LANES; lane++) {
		int e = lane * f->flat, at = lane % f->lanes * f->width;
		along[lane] = (at * pitch + lane / f->lanes % f->extent) * size / BANK;
		flat[lane] = (e / f->extent * pitch + e % f->extent) * size / BANK;
	}
	return (double)most_of_a_bank(along) / size + (vectors ? whole : (double)most_of_a_bank(flat) / size);
}

static void choose_pitch(struct strip *f)
{
	f->pitch = 0;
	for (int vectors = 1; vectors >= 0; vectors--)
		for (int pad = 0; pad <= (vectors ? f->flat : MAX_PAD); pad += vectors ? f->flat : 1) {
			double passes = bank_passes(f, f->extent + pad, vectors);
			if ((vectors && pad && f->extent % f->flat) || (f->pitch && passes >= f->passes))
				continue;
			f->pitch = f->extent + pad;
			f->vectors = vectors;
			f->passes = passes;
		}
}

static int64_t strip_bytes(const struct strip *f)
{
	int64_t bytes = 0, places = (int64_t)f->chunk * f->pitch;
	for (int i = 0; i < f->t.loads; i++)
		bytes += (places * type_info(f->t.load[i]->type)->bits / 8 + BYTES - 1) / BYTES * BYTES;
	return bytes;
}

static int vectors_of(const struct strip *f, bool contiguous_side)
{
	return f->chunk * f->extent / (contiguous_side ? f->flat : f->width);
}

/* The strip's shape for so many places and `lanes` neighbours along the long axis; 0: the fewest. Returns false if
 * there is none. */
static bool set_shape(struct strip *f, int chunk, int lanes)
{
	int sizes[2] = { load_bytes(&f->t), store_bytes(&f->t) };
	int flat = sizes[!f->flat_loads], along = sizes[f->flat_loads];
	for (f->flat = BYTES / flat; f->flat > 1 && !flat_fits(f, f->flat);)
		f->flat /= 2;
	for (f->width = BYTES / along; f->width > 1 && !along_fits(f, f->width);)
		f->width /= 2;
	f->lanes = lanes ? lanes : (LEAST_LINE + f->width * along - 1) / (f->width * along);
	f->chunk = chunk ? chunk : f->lanes * f->width;
	if (f->lanes > LANES || f->lanes * f->width > f->chunk)
		return false;
	choose_pitch(f);
	int a = vectors_of(f, true), b = vectors_of(f, false), most = a > b ? a : b;
	int turns = (most + MAX_THREADS - 1) / MAX_THREADS;
	turns = turns < 2 && most >= 4 * LEAST_THREADS ? 2 : turns;
	f->threads = ((most + turns - 1) / turns + LANES - 1) / LANES * LANES;
	f->threads = f->threads < LEAST_THREADS ? LEAST_THREADS : f->threads;
	return f->chunk <= MAX_CHUNK && turns <= MAX_TURNS && strip_bytes(f) <= TARGET_DECLARED_DATA;
}

/* True if half of the chunk would not take a known extent of the long axis whole. */
static bool chunk_is_used(const struct strip *f, int least)
{
	int64_t along;
	return f->chunk == least || !ir_const_int(f->t.dim[f->along], &along) || f->chunk / 2 < along;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	struct strip f;
	for (int flat_loads = 0; flat_loads < 2; flat_loads++) {
		if (!take(&f, site->found, flat_loads))
			continue;
		set_shape(&f, 0, 0);
		int least = f.chunk, few = f.lanes;
		for (int chunk = least; chunk <= MAX_CHUNK; chunk *= 2)
			for (int lanes = few; lanes <= LANES; lanes *= 2)
				if (set_shape(&f, chunk, lanes) && chunk_is_used(&f, least) && n < SCHED_RULE_CHOICES)
					out[n++] = (struct sched_choice){ &sched_strip, { chunk, lanes, flat_loads } };
	}
	return n;
}

static struct strip strip_of(const struct sched_site *site, const struct sched_choice *c)
{
	struct strip f;
	ck(take(&f, site->found, c->param[2]) && set_shape(&f, c->param[0], c->param[1]));
	return f;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *target = site->t;
	struct strip f = strip_of(site, c);
	int least, most, loaded = turned_load_bytes(&f.t, &least, &most), store = store_bytes(&f.t);
	double points = (double)about(out_count(f.t.p, site->s), target);
	double along = (double)about(f.t.dim[f.along], target), strips = ceil(along / f.chunk);
	double flat = f.flat * (f.flat_loads ? least : store), other = f.width * (f.flat_loads ? store : least);
	struct turned_blocks shape = { .blocks = points / (along * f.extent) * strips,
		                       .bytes = (double)f.chunk * f.extent * loaded,
		                       .over = strips * f.chunk / along,
		                       .access = flat < other ? flat : other };
	/* A pass of the banks takes a clock. */
	shape.passes_ns = points * loaded / LANES * f.passes * shape.over / (target->processors * target->clock_ghz);
	shape.resident = target_resident(target, f.threads, 0, (double)strip_bytes(&f));
	/* Stores of a block to more places: 1.2 to 1.8 times as slow. */
	shape.slower = f.flat_loads ? 1 + 0.08 * log2((double)f.chunk / (f.lanes * f.width)) : 1;
	/* Short lines do not fill the sectors of memory. */
	double segment = f.lanes * f.width * (f.flat_loads ? store : least);
	shape.slower *= segment < SEGMENT ? 1 + 16 / segment : 1;
	shape.slower *= f.apart ? 1 + 16.0 / line_bytes(&f) : 1;
	return turned_time(&f.t, &shape, target);
}

/* ---- The kernel. */

/* An element of shared memory: place `at` of the long axis, `place` of the short one. */
static expr in_shared(const struct strip *f, expr at, expr place)
{
	return ir_binary(IR_ADD, ir_binary(IR_MUL, at, ir_index(f->t.p->pool, f->pitch)), place);
}

/* The same for element `e` of the strip, in the order of the contiguous side. */
static expr in_shared_flat(const struct strip *f, expr e)
{
	expr extent = ir_index(f->t.p->pool, f->extent);
	return f->pitch == f->extent ? e
	                             : in_shared(f, ir_binary(IR_FLOORDIV, e, extent), ir_binary(IR_MOD, e, extent));
}

/* The loop over a thread's vectors on one side of the strip; *n: the vector's number. */
static struct ir_block *vectors(const struct strip *f, struct ir_block *b, bool contiguous_side, expr thread, expr *n)
{
	struct ir_program *p = f->t.p;
	expr turn;
	int count = vectors_of(f, contiguous_side), turns = (count + f->threads - 1) / f->threads;
	b = emit_turns(p, b, "turn", turns, &turn);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, turn, ir_index(p->pool, f->threads)), thread);
	if (turns * f->threads == count) {
		*n = emit_constant(p, b, "n", at, ir_index(p->pool, count));
		return b;
	}
	expr all = ir_index(p->pool, count), any = emit_constant(p, b, "n", at, NULL);
	b = emit_if(p, b, ir_binary(IR_LT, any, all));
	*n = ir_var_of(any->var, all);
	return b;
}

/* Sets the short axes by their flat position, in the order of the contiguous side. */
static void set_short(const struct strip *f, expr place, expr *axis)
{
	for (int i = f->short_axes - 1; i >= 0; i--) {
		expr dim = f->t.dim[f->whole[i]];
		axis[f->whole[i]] = i ? ir_binary(IR_MOD, place, dim) : place;
		place = ir_binary(IR_FLOORDIV, place, dim);
	}
}

/* The contiguous side: *e is the vector's first element in the strip, *column its place from the position of `axis`. */
static struct ir_block *flat_vectors(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *e,
                                     expr *column, expr *axis)
{
	struct ir_program *p = f->t.p;
	expr n, extent = ir_index(p->pool, f->extent), dim = f->t.dim[f->along];
	b = vectors(f, b, true, thread, &n);
	*e = ir_binary(IR_MUL, n, ir_index(p->pool, f->flat));
	if (f->flat > 1)
		*e = emit_constant(p, b, "element", *e, ir_index(p->pool, f->chunk * f->extent));
	set_short(f, ir_index(p->pool, 0), axis);
	axis[f->along] = f->apart ? ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, *e, extent)) : first;
	*column = f->apart ? ir_binary(IR_MOD, *e, extent) : *e;
	if (divides(dim, f->chunk))
		return b;
	expr rest = ir_binary(IR_MUL, ir_binary(IR_SUB, dim, first), extent);
	return emit_if(p, b, ir_binary(IR_LT, *e, rest));
}

/* The other side: a vector along the long axis, from place *at of the strip, at place *column of the short
 * axes. */
static struct ir_block *along_vectors(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *at,
                                      expr *column, expr *axis)
{
	struct ir_program *p = f->t.p;
	expr n, dim = f->t.dim[f->along], lanes = ir_index(p->pool, f->lanes), extent = ir_index(p->pool, f->extent);
	b = vectors(f, b, false, thread, &n);
	expr lane = ir_binary(IR_MOD, n, lanes), line = ir_binary(IR_FLOORDIV, n, lanes);
	expr group = ir_binary(IR_FLOORDIV, line, extent), vector = ir_binary(IR_MUL, group, lanes);
	vector = ir_binary(IR_MUL, ir_binary(IR_ADD, vector, lane), ir_index(p->pool, f->width));
	*at = emit_constant(p, b, "place", vector, ir_index(p->pool, f->chunk));
	*column = emit_constant(p, b, "column", ir_binary(IR_MOD, line, extent), extent);
	set_short(f, *column, axis);
	expr x = emit_constant(p, b, ir_axis_names[0][f->along], ir_binary(IR_ADD, first, *at), NULL);
	if (!divides(dim, f->chunk))
		b = emit_if(p, b, ir_binary(IR_LT, x, dim));
	axis[f->along] = ir_var_of(x->var, dim);
	return b;
}

struct strip_load {
	const struct strip *f;
	struct ir_variable **array; /* a vector of each load; null: from shared memory, at `at` */
	expr lane, at;
};

static expr from_strip(void *user, expr e, expr flat)
{
	const struct strip_load *l = user;
	(void)flat;
	const struct strip *f = l->f;
	for (int i = 0; i < f->t.loads; i++)
		if (f->t.load[i] == e)
			return l->array ? item_of(l->array[i], l->lane) : ir_load(f->t.p->pool, f->shared[i], &l->at);
	return NULL;
}

static expr element(const struct strip *f, const expr *axis, struct strip_load *from)
{
	struct axes here = { .value = axis, .load = from ? from_strip : NULL, .user = from };
	return to_kernel(f->t.p, f->t.value, &here);
}

/* Copies the elements of the contiguous side from memory. */
static void read_flat(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *axis)
{
	struct ir_program *p = f->t.p;
	expr e, column, v;
	b = flat_vectors(f, b, thread, first, &e, &column, axis);
	for (int i = 0; i < f->t.loads; i++) {
		const struct ir_buffer *buf = f->t.load[i]->buf;
		expr load = to_kernel(p, f->t.load[i], &(struct axes){ .value = axis });
		struct ir_variable *vector = ir_variable_new(p->pool, buf->type, "%s_v", buf->name);
		emit_load_vector(p, b, buf, ir_binary(IR_ADD, load->arg[0], column), vector, f->flat);
		if (f->vectors) {
			emit_store_vector_flat(p, b, f->shared[i], in_shared_flat(f, e), vector, NULL, f->flat);
			continue;
		}
		struct ir_block *items = emit_turns(p, b, "v", f->flat, &v);
		emit_store_flat(p, items, f->shared[i], in_shared_flat(f, ir_binary(IR_ADD, e, v)), item_of(vector, v));
	}
}

/* Copies vectors along the long axis from memory. */
static void read_along(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *axis)
{
	struct ir_program *p = f->t.p;
	expr at, column, v;
	b = along_vectors(f, b, thread, first, &at, &column, axis);
	for (int i = 0; i < f->t.loads; i++) {
		const struct ir_buffer *buf = f->t.load[i]->buf;
		expr load = to_kernel(p, f->t.load[i], &(struct axes){ .value = axis });
		struct ir_variable *vector = ir_variable_new(p->pool, buf->type, "%s_v", buf->name);
		emit_load_vector(p, b, buf, load->arg[0], vector, f->width);
		struct ir_block *items = emit_turns(p, b, "v", f->width, &v);
		emit_store_flat(p, items, f->shared[i], in_shared(f, ir_binary(IR_ADD, at, v), column),
		                item_of(vector, v));
	}
}

/* Computes and stores the elements of the contiguous side. */
static void write_flat(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *axis)
{
	struct ir_program *p = f->t.p;
	const struct ir_buffer *out = f->t.s->out;
	struct ir_variable *array[MAX_TURNED], *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	struct strip_load from = { .f = f };
	expr e, column, v, extent = ir_index(p->pool, f->extent);
	b = flat_vectors(f, b, thread, first, &e, &column, axis);
	expr to = ir_binary(IR_ADD, turned_place(&f->t, axis), column);
	for (int i = 0; f->vectors && i < f->t.loads; i++) {
		const struct ir_buffer *buf = f->shared[i];
		array[i] = ir_variable_new(p->pool, buf->type, "%s_v", buf->name);
		emit_load_flat(p, b, buf, in_shared_flat(f, e), array[i], f->flat);
		from.array = array;
	}
	emit_array(p, b, result, f->flat);
	struct ir_block *items = emit_turns(p, b, "v", f->flat, &from.lane);
	v = ir_binary(IR_ADD, e, from.lane);
	from.at = in_shared_flat(f, v);
	axis[f->along] = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, v, extent));
	set_short(f, ir_binary(IR_MOD, v, extent), axis);
	emit_set(p, items, result, from.lane, element(f, axis, &from));
	emit_store_vector(p, b, out, to, result, f->flat);
}

/* Computes and stores vectors along the long axis. */
static void write_along(const struct strip *f, struct ir_block *b, expr thread, expr first, expr *axis)
{
	struct ir_program *p = f->t.p;
	const struct ir_buffer *out = f->t.s->out;
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	struct strip_load from = { .f = f };
	expr at, column;
	b = along_vectors(f, b, thread, first, &at, &column, axis);
	expr to = turned_place(&f->t, axis);
	emit_array(p, b, result, f->width);
	struct ir_block *items = emit_turns(p, b, "v", f->width, &from.lane);
	from.at = in_shared(f, ir_binary(IR_ADD, at, from.lane), column);
	axis[f->along] = ir_binary(IR_ADD, axis[f->along], from.lane);
	emit_set(p, items, result, from.lane, element(f, axis, &from));
	emit_store_vector(p, b, out, to, result, f->width);
}

/* Declares the strip's first place of the long axis and the other axes. */
static expr declare_strip(struct strip *f, struct ir_block *b, expr block, expr *axis)
{
	struct ir_program *p = f->t.p;
	expr strips = ceil_div(p, f->t.dim[f->along], f->chunk);
	expr first = ir_binary(IR_MUL, ir_binary(IR_MOD, block, strips), ir_index(p->pool, f->chunk));
	first = emit_constant(p, b, "first", first, f->t.dim[f->along]);
	bool taken[IR_MAX_RANK] = { false };
	taken[f->along] = true;
	for (int i = 0; i < f->short_axes; i++)
		taken[f->whole[i]] = true;
	turned_axes(&f->t, b, ir_binary(IR_FLOORDIV, block, strips), taken, true, axis);
	return first;
}

/* One block: loads a strip, synchronises, stores it. */
static void move_strip(struct strip *f, struct ir_kernel *k, expr block)
{
	struct ir_program *p = f->t.p;
	expr axis[IR_MAX_RANK], thread = ir_thread(p->pool, ir_index(p->pool, f->threads));
	for (int i = 0; i < f->t.loads; i++) {
		const struct ir_buffer *buf = f->t.load[i]->buf;
		struct ir_buffer *shared = f->shared[i] = NEW(p->arena, struct ir_buffer);
		*shared = (struct ir_buffer){ .name = arena_printf(p->arena, "%s_strip%d", buf->name, i),
			                      .type = buf->type,
			                      .rank = 1,
			                      .role = IR_TEMP,
			                      .id = buf->id };
		shared->dim[0] = ir_index(p->pool, (int64_t)f->chunk * f->pitch);
		vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	}
	expr first = declare_strip(f, &k->body, block, axis);
	(f->flat_loads ? read_flat : read_along)(f, &k->body, thread, first, axis);
	emit(p, &k->body, IR_SYNC);
	(f->flat_loads ? write_along : write_flat)(f, &k->body, thread, first, axis);
}

/* The same strip for a CPU. */
static void serial_strip(struct strip *f, struct ir_block *b, expr block)
{
	struct ir_program *p = f->t.p;
	expr axis[IR_MAX_RANK], column, one = ir_index(p->pool, 1), dim = f->t.dim[f->along];
	expr first = declare_strip(f, b, block, axis), extent = ir_index(p->pool, f->extent);
	expr end = ir_binary(IR_MIN, dim, ir_binary(IR_ADD, first, ir_index(p->pool, f->chunk)));
	b = emit_loop(p, b, ir_axis_names[0][f->along], first, end, one, dim, &axis[f->along]);
	b = emit_loop(p, b, "column", ir_index(p->pool, 0), extent, one, extent, &column);
	set_short(f, column, axis);
	emit_store(p, b, f->t.s->out, turned_place(&f->t, axis), element(f, axis, NULL));
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct strip f = strip_of(site, c);
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, site->s, "", c);
	k->threads = f.threads;
	k->blocks = ceil_div(p, f.t.dim[f.along], f.chunk);
	for (int i = 0; i < f.t.rank; i++)
		if (i != f.along && !is_short(&f, i))
			k->blocks = ir_binary(IR_MUL, k->blocks, f.t.dim[i]);
	expr block = ir_block(p->pool, k->blocks);
	move_strip(&f, k, block);
	serial_strip(&f, &k->serial, block);
	kernel_finish(plan, step, k, site->s);
}

const struct sched_rule sched_strip = {
	.name = "strip",
	.version = 1,
	.about = "A block transposes {chunk place} of a long axis and the whole of short ones in shared memory. "
	         "{loads?Its loads are contiguous.}{loads!Its stores are contiguous.}",
	.param = { { "chunk", 1, MAX_CHUNK }, { "lanes", 1, LANES }, { "loads", 0, 1 } },
	.none = "a block's shared memory is too small for the short axes",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
