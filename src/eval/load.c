/* Elements between buffers and registers. A load of contiguous elements in the register's format copies nothing: the
 * register points into the buffer. */
#include <string.h>

#include "eval/code.h"
#include "eval/vectorise.h"

/* The positions of a chunk's lanes. */
struct place {
	int64_t first, step;
	const int64_t *offset; /* null: first + step * lane */
	const int32_t *mask;   /* readable lanes; null: all are inside the buffer */
	int n;
};

/* False if no lane is read. */
static bool locate(const struct frame *f, const struct insn *i, struct place *p)
{
	const struct access *x = i->access;
	p->n = i->varying ? f->n : 1;
	p->mask = x->guard >= 0 ? f->r[x->guard] : NULL;
	if (p->mask && !x->guard_varying) {
		if (!*p->mask)
			return false;
		p->mask = NULL;
	}
	uint64_t first = (uint64_t)x->base.constant;
	for (int t = 0; t < x->base.n; t++)
		first += (uint64_t)x->base.at[t].coefficient * *(const uint64_t *)f->r[x->base.at[t].reg];
	int64_t least = 0, greatest = 0;
	bool far = false;
	if (x->offset >= 0) {
		p->offset = f->r[x->offset];
		const int64_t *end = p->offset + f->code->space->lanes;
		far = __builtin_add_overflow((int64_t)first, end[OFFSET_LEAST], &least) ||
		      __builtin_add_overflow((int64_t)first, end[OFFSET_GREATEST], &greatest);
		if (end[OFFSET_HAS_STEP]) {
			first += (uint64_t)p->offset[0];
			p->offset = NULL;
			p->step = end[OFFSET_STEP];
		}
	} else {
		p->offset = NULL;
		p->step = x->step;
		first += (uint64_t)x->step * (uint64_t)f->lane;
		least = greatest = (int64_t)first;
		if (p->step > 0)
			far = __builtin_add_overflow(least, p->step * (p->n - 1), &greatest);
		else
			far = __builtin_add_overflow(greatest, p->step * (p->n - 1), &least);
	}
	p->first = (int64_t)first;
	if (p->mask && !far && least >= 0 && greatest < x->count)
		p->mask = NULL; /* the other lanes' elements exist and are unused */
	return true;
}

/* Loads type T from memory as R into the register; DIRECT: the same format. */
#define LOAD(NAME, T, R, DIRECT, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		struct place p; \
		R *restrict d = f->own[i->d]; \
		f->r[i->d] = d; \
		if (!locate(f, i, &p)) \
			return; \
		const T *restrict from = (const T *)i->access->data + p.first; \
		if (p.mask) { \
			for (int l = 0; l < p.n; l++) { \
				T v = p.mask[l] ? from[p.offset ? p.offset[l] : p.step * l] : (T)0; \
				d[l] = (EXPR); \
			} \
		} else if (p.offset) { \
			const int64_t *restrict offset = p.offset; \
			for (int l = 0; l < p.n; l++) { \
				T v = from[offset[l]]; \
				d[l] = (EXPR); \
			} \
		} else if (p.step == 1 || p.n == 1) { \
			if (DIRECT) { \
				f->r[i->d] = (void *)(uintptr_t)from; \
				return; \
			} \
			for (int l = 0; l < p.n; l++) { \
				T v = from[l]; \
				d[l] = (EXPR); \
			} \
		} else { \
			for (int l = 0; l < p.n; l++) { \
				T v = from[p.step * l]; \
				d[l] = (EXPR); \
			} \
		} \
	}
LOAD(load_f32, float, float, true, v)
LOAD(load_f64, double, double, true, v)
LOAD(load_i64, int64_t, int64_t, true, v)
LOAD(load_u32, uint32_t, int64_t, false, v)
LOAD(load_i32, int32_t, int32_t, true, v)
LOAD(load_i16, int16_t, int32_t, false, v)
LOAD(load_u16, uint16_t, int32_t, false, v)
LOAD(load_i8, int8_t, int32_t, false, v)
LOAD(load_u8, uint8_t, int32_t, false, v)
LOAD(load_bool, uint8_t, int32_t, false, v != 0)

/* The types that need decoding, floats to f32 and integers to i32: contiguous ones in one call, others one at a
 * time. */
static void load_other(struct frame *f, const struct insn *i)
{
	struct place p;
	enum type t = i->access->type;
	const void *data = i->access->data;
	if (!locate(f, i, &p))
		return;
	if (!p.mask && !p.offset && (p.step == 1 || p.n == 1)) {
		eval_run_load(t, data, p.first, p.n, f->r[i->d]);
		return;
	}
	for (int l = 0; l < p.n; l++) {
		int64_t at = p.first + (p.offset ? p.offset[l] : p.step * l);
		bool there = !p.mask || p.mask[l];
		if (type_is_float(t))
			((float *)f->r[i->d])[l] = there ? (float)type_load_float(t, data, at) : 0;
		else
			((int32_t *)f->r[i->d])[l] = there ? (int32_t)type_load_int(t, data, at) : 0;
	}
}

static insn_fn kernel_of(enum type t)
{
	switch ((int)t) {
	case TYPE_F32: return load_f32;
	case TYPE_F64: return load_f64;
	case TYPE_I64:
	case TYPE_U64:
	case TYPE_INDEX: return load_i64;
	case TYPE_U32: return load_u32;
	case TYPE_I32: return load_i32;
	case TYPE_I16: return load_i16;
	case TYPE_U16: return load_u16;
	case TYPE_I8: return load_i8;
	case TYPE_U8: return load_u8;
	case TYPE_BOOL: return load_bool;
	default: return load_other;
	}
}

void eval_positions(const struct frame *f, const struct access *x, int64_t *at)
{
	const int64_t *offset = x->offset >= 0 ? f->r[x->offset] : NULL;
	uint64_t first = (uint64_t)x->base.constant;
	vec_each (t, &x->base)
		first += (uint64_t)t->coefficient * *(const uint64_t *)f->r[t->reg];
	for (int l = 0; l < f->n; l++)
		at[l] = (int64_t)(first + (offset ? (uint64_t)offset[l] : (uint64_t)x->step * (uint64_t)(f->lane + l)));
}

bool eval_load_decodes(enum type t)
{
	return kernel_of(t) == load_other;
}

int eval_load(struct code *c, const struct access *x)
{
	int d = eval_reg_new(c, eval_kind(x->type), x->varying, x->axes);
	struct insn *i = eval_emit_raw(c, kernel_of(x->type), d);
	i->access = x;
	i->varying = x->varying;
	return d;
}

#define COPY_RUN(T, R) \
	{ \
		const T *restrict from = (const T *)data + at; \
		R *restrict d = reg; \
		for (int l = 0; l < n; l++) \
			d[l] = from[l]; \
		break; \
	}

/* Loads `n` contiguous elements from `at` on into a register; `data` is aligned for its type. */
void eval_run_load(enum type t, const void *data, int64_t at, int n, void *reg)
{
	int64_t wide[EVAL_LANES];
	double real[EVAL_LANES];
	switch ((int)t) {
	case TYPE_F32: COPY_RUN(float, float)
	case TYPE_F64: COPY_RUN(double, double)
	case TYPE_I64:
	case TYPE_U64:
	case TYPE_INDEX: COPY_RUN(int64_t, int64_t)
	case TYPE_U32: COPY_RUN(uint32_t, int64_t)
	case TYPE_I32: COPY_RUN(int32_t, int32_t)
	default:
		if (type_is_float(t)) {
			type_load_floats(t, data, at, n, real);
			for (int l = 0; l < n; l++)
				((float *)reg)[l] = (float)real[l];
		} else {
			type_load_ints(t, data, at, n, wide);
			for (int l = 0; l < n; l++)
				((int32_t *)reg)[l] = (int32_t)wide[l];
		}
	}
}

#define STORE_RUN(T, R) \
	{ \
		T *restrict to = (T *)data + at; \
		const R *restrict from = reg; \
		for (int l = 0; l < n; l++) \
			to[l] = (T)from[l]; \
		break; \
	}

void eval_run_store(enum type t, void *data, int64_t at, int n, const void *reg)
{
	int64_t wide[EVAL_LANES];
	double real[EVAL_LANES];
	switch ((int)t) {
	case TYPE_F32: STORE_RUN(float, float)
	case TYPE_F64: STORE_RUN(double, double)
	case TYPE_I64:
	case TYPE_U64:
	case TYPE_INDEX: STORE_RUN(int64_t, int64_t)
	case TYPE_U32: STORE_RUN(uint32_t, int64_t)
	case TYPE_I32: STORE_RUN(int32_t, int32_t)
	case TYPE_I16:
	case TYPE_U16: STORE_RUN(uint16_t, int32_t)
	case TYPE_I8:
	case TYPE_U8:
	case TYPE_BOOL: STORE_RUN(uint8_t, int32_t)
	default:
		if (type_is_float(t)) {
			for (int l = 0; l < n; l++)
				real[l] = (double)((const float *)reg)[l];
			type_store_floats(t, data, at, n, real, false);
		} else {
			for (int l = 0; l < n; l++)
				wide[l] = ((const int32_t *)reg)[l];
			type_store_ints(t, data, at, n, wide);
		}
	}
}
