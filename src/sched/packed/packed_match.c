/* Recognises sums of products with packed weights. See packed.h. */
#include "sched/packed/packed.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/stored.h"

#include <math.h>

/* ---- The number: an element of 4 or 8 bits, or half a byte. */

static expr reduced_axis(const struct packed *m)
{
	return ir_axis(m->p->pool, m->s->out->rank, m->s->space[0]);
}

/* Finds row and length of a row: the position of a byte, or of an element, is row * length + k / each. */
static bool find_rows(struct packed *m, expr load, int each)
{
	struct ir_pool *pool = m->p->pool;
	expr k = reduced_axis(m), along = ir_binary(IR_FLOORDIV, k, ir_index(pool, each));
	expr flat = ir_flat(pool, load->buf, load->arg);
	bool used[2 * IR_MAX_RANK] = { false };
	int64_t stride, count;
	ir_mark_axes(flat, used);
	m->row = -1;
	for (int a = 0; a < m->s->out->rank; a++)
		if (used[a]) {
			if (m->row >= 0)
				return false;
			m->row = a;
		}
	if (m->row < 0 || !ir_const_int(m->s->out->dim[m->row], &m->rows))
		return false;
	expr length = ir_stride(flat, m->row), axis = ir_axis(pool, m->row, m->s->out->dim[m->row]);
	if (!length || !ir_const_int(length, &stride) || stride < 1 ||
	    flat != ir_binary(IR_ADD, ir_binary(IR_MUL, axis, length), along))
		return false;
	int bits = type_info(load->buf->type)->bits;
	m->row_bytes = stride * bits / 8;
	m->numbers = load->buf;
	return stride * bits % 8 == 0 && m->row_bytes % 16 == 0 &&
	       ir_const_int(ir_buffer_count(m->p, load->buf), &count) && count >= stride * m->rows;
}

static bool take_element(struct packed *m, expr load)
{
	static const struct {
		enum type type;
		const struct ir_device_word *kind;
	} kinds[] = { { TYPE_U4, &device_PACKED_U4 },
		      { TYPE_I4, &device_PACKED_I4 },
		      { TYPE_U8, &device_PACKED_U8 },
		      { TYPE_I8, &device_PACKED_I8 },
		      { TYPE_F8E4M3FN, &device_PACKED_F8 } };
	if (load->op != IR_LOAD)
		return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (load->buf->type == kinds[i].type) {
			m->kind = kinds[i].kind;
			m->bits = type_info(kinds[i].type)->bits;
			return find_rows(m, load, 1);
		}
	return false;
}

/* byte >> k % 2 * 4 & 15 */
static bool take_half(struct packed *m, expr e)
{
	struct ir_pool *pool = m->p->pool;
	expr two = ir_index(pool, 2),
	     shift = ir_binary(IR_MUL, ir_binary(IR_MOD, reduced_axis(m), two), ir_index(pool, 4));
	if (e->op != IR_BITAND || !ir_is_int(e->arg[1], 15) || e->arg[0]->op != IR_SHR ||
	    e->arg[0]->arg[1] != ir_cast(shift, e->type))
		return false;
	expr byte = e->arg[0]->arg[0];
	if (byte->op != IR_CAST || byte->arg[0]->op != IR_LOAD || byte->arg[0]->buf->type != TYPE_U8)
		return false;
	m->kind = &device_PACKED_U4;
	m->bits = 4;
	return find_rows(m, byte->arg[0], 2);
}

static bool take_number(struct packed *m, expr e)
{
	/* Every float type of 16 bits has all numbers of 8 bits. */
	while (e->op == IR_CAST && (type_is_int(e->type) || e->type == TYPE_F32 || e->type == m->type))
		e = e->arg[0];
	return take_element(m, e) || take_half(m, e);
}

/* ---- Zero point and scale: over the row and whole blocks of k. */

struct blocks {
	expr axis;
	int64_t block; /* the greatest common divisor of what k is divided by */
	bool fine;
};

static int64_t common(int64_t a, int64_t b)
{
	return b ? common(b, a % b) : a;
}

static void find_blocks(struct blocks *f, expr e)
{
	int64_t by;
	if (e == f->axis)
		f->fine = false;
	if (e->op == IR_FLOORDIV && e->arg[0] == f->axis && ir_const_int(e->arg[1], &by)) {
		f->block = common(f->block, by);
		return;
	}
	for (int i = 0; i < e->n; i++)
		find_blocks(f, e->arg[i]);
}

/* True if e depends on the row and on whole blocks of k alone. */
static bool take_blocks(struct packed *m, expr e)
{
	struct blocks f = { reduced_axis(m), m->block, true };
	bool used[2 * IR_MAX_RANK] = { false };
	find_blocks(&f, e);
	ir_mark_axes(e, used);
	for (int a = 0; a < m->s->out->rank; a++)
		f.fine &= a == m->row || !used[a];
	m->block = (int)f.block;
	return f.fine && f.block <= 1 << 20;
}

/* A number of the same bits and sign as the weights', so that the difference is exact. */
static bool is_own_number(const struct packed *m, expr e)
{
	bool is_signed = m->kind == &device_PACKED_I4 || m->kind == &device_PACKED_I8;
	int64_t x;
	if (m->kind == &device_PACKED_F8)
		return ir_is_int(e, 0);
	if (ir_const_int(e, &x)) {
		int64_t least = is_signed ? -(1 << (m->bits - 1)) : 0;
		return x >= least && x < least + (1 << m->bits);
	}
	while (e->op == IR_CAST && type_is_int(e->type))
		e = e->arg[0];
	if (e->op == IR_BITAND && ir_is_int(e->arg[1], 15))
		return m->bits == 4 && !is_signed;
	return e->op == IR_LOAD && type_is_int(e->buf->type) && type_info(e->buf->type)->bits == m->bits &&
	       type_is_signed(e->buf->type) == is_signed;
}

/* Any numbers of the columns' type: less_rounded tells whether the difference is rounded to it, as a weight must be
 * then. */
static bool take_float_zero(struct packed *m, expr e, bool less_rounded)
{
	if (e->op != IR_CAST || e->type != TYPE_F32 || e->arg[0]->op != IR_LOAD || e->arg[0]->type != m->type ||
	    less_rounded != m->rounded || m->kind == &device_PACKED_F8)
		return false;
	m->zero = e;
	return take_blocks(m, e);
}

static bool take_zero(struct packed *m, expr e, bool less_rounded)
{
	if (e->op == IR_CONST_FLOAT) {
		if (!(fabs(e->f) <= 255) || e->f != floor(e->f))
			return false;
		e = ir_int(m->p->pool, TYPE_I32, (int64_t)e->f);
	}
	if (take_float_zero(m, e, less_rounded))
		return true;
	while (e->op == IR_CAST && (e->type == TYPE_F32 || e->type == m->type))
		e = e->arg[0];
	if (!type_is_int(e->type) || !is_own_number(m, e))
		return false;
	m->zero = ir_cast(e, TYPE_I32);
	return take_blocks(m, m->zero);
}

static bool take_scale(struct packed *m, expr e)
{
	expr load = e->op == IR_CAST ? e->arg[0] : e;
	m->scale = e;
	return e->type == TYPE_F32 && load->op == IR_LOAD && type_is_float(load->type) && take_blocks(m, e);
}

/* number - zero, of floats or of integers */
static bool take_difference(struct packed *m, expr e)
{
	int64_t x;
	if (take_number(m, e))
		return true;
	if (e->op == IR_CAST && e->type == TYPE_F32)
		e = e->arg[0];
	bool rounded = e->op == IR_CAST && e->type == m->type && e->arg[0]->type == TYPE_F32;
	if (rounded)
		e = e->arg[0];
	if (e->op == IR_ADD && ir_const_int(e->arg[1], &x)) /* less a constant */
		return take_number(m, e->arg[0]) && take_zero(m, ir_int(m->p->pool, TYPE_I32, -x), rounded);
	return e->op == IR_SUB && take_number(m, e->arg[0]) && take_zero(m, e->arg[1], rounded);
}

static bool take_scaled(struct packed *m, expr e)
{
	if (e->op == IR_MUL && e->type == TYPE_F32)
		for (int i = 0; i < 2; i++)
			if (take_difference(m, e->arg[i]) && take_scale(m, e->arg[!i]))
				return true;
	return false;
}

static bool take_weight(struct packed *m, expr e)
{
	m->zero = ir_int(m->p->pool, TYPE_I32, 0);
	m->block = 0;
	m->rounded = e->op == IR_CAST && e->arg[0]->op == IR_CAST && e->arg[0]->type == m->type;
	if (!m->rounded)
		return take_scaled(m, e);
	return take_scaled(m, e->arg[0]->arg[0]) && m->scale->op == IR_CAST && m->scale->arg[0]->type == m->type;
}

/* ---- The columns. */

static bool take_left(struct packed *m, expr e)
{
	if (e->op != IR_CAST || e->arg[0]->op != IR_LOAD ||
	    (e->arg[0]->type != TYPE_F16 && e->arg[0]->type != TYPE_BF16))
		return false;
	m->left = e->arg[0];
	m->type = m->left->type;
	return true;
}

static bool find_columns(struct packed *m)
{
	struct ir_pool *pool = m->p->pool;
	expr flat = ir_flat(pool, m->left->buf, m->left->arg), stride = ir_stride(flat, m->s->out->rank);
	int each = 32 / m->bits;
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(flat, used);
	if (used[m->row] || !stride || !ir_is_int(stride, 1))
		return false;
	m->columns = ir_index(pool, 1);
	m->wide = m->depth % each == 0;
	for (int a = 0; a < m->s->out->rank; a++) {
		if (a == m->row)
			continue;
		m->columns = ir_binary(IR_MUL, m->columns, m->s->out->dim[a]);
		expr step = ir_stride(flat, a);
		m->wide &= !used[a] || (step && ir_multiple(step) % each == 0);
	}
	expr first[2 * IR_MAX_RANK] = { NULL };
	for (int a = 0; a <= m->s->out->rank; a++)
		first[a] = ir_index(pool, 0);
	m->wide &= ir_multiple(ir_bind_axes(pool, flat, first)) % each == 0;
	return true;
}

/* Blocks that the kernel has: whole pieces of 64 bytes, or a quarter, a half or all of one. */
static bool has_block(const struct packed *m)
{
	int piece = 64 * 8 / m->bits;
	if (m->block == 0 || m->block >= piece)
		return m->block % piece == 0;
	return piece % m->block == 0 && piece / m->block <= 4;
}

static bool match_sum(struct packed *m, struct ir_program *p, const struct ir_stage *s)
{
	*m = (struct packed){ .p = p, .s = s, .stages = 1 };
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || s->space_rank != 1 || s->value->type != TYPE_F32 ||
	    s->value->op != IR_MUL || type_is_packed(s->out->type) || !ir_const_int(s->space[0], &m->depth) ||
	    m->depth < 1 || ir_size_limit(p, out_count(p, s)) != out_count(p, s))
		return false;
	for (int i = 0; i < 2; i++)
		if (take_left(m, s->value->arg[i]) && take_weight(m, s->value->arg[!i]) && find_columns(m) &&
		    has_block(m))
			return true;
	return false;
}

/* ---- Weights that a map before the sum makes. */

struct reads {
	const struct ir_buffer *of;
	expr load;
	int n;
};

static void note_read(void *user, expr e)
{
	struct reads *r = user;
	if (e->op != IR_LOAD || e->buf != r->of)
		return;
	r->load = e;
	r->n++;
}

/* Returns the sum after the map, the only reader of its result, with the map in place of that; or null. */
static const struct ir_stage *sum_of_map(struct ir_program *p, const struct ir_stage *map)
{
	int at = 0;
	while (at < p->stages.n && p->stages.at[at] != map)
		at++;
	if (map->kind != IR_MAP || at + 1 >= p->stages.n || p->stages.at[at + 1]->kind != IR_REDUCE)
		return NULL;
	const struct ir_stage *sum = p->stages.at[at + 1], *made[] = { map, sum };
	struct reads r = { map->out, NULL, 0 };
	ir_walk(sum->value, note_read, &r);
	if (r.n != 1 || stage_is_stored(p, made, 2, 0) || (sum->post && ir_uses(sum->post, IR_LOAD)))
		return NULL;
	expr value = ir_bind_axes(p->pool, map->value, r.load->arg);
	struct ir_stage *whole = NEW(p->arena, struct ir_stage);
	*whole = *sum;
	whole->value = substitute(&(struct substitution){ &r.load, &value, 1 }, sum->value);
	return whole;
}

bool packed_match(struct packed *m, struct ir_program *p, const struct ir_stage *s)
{
	if (s->kind == IR_REDUCE)
		return match_sum(m, p, s);
	const struct ir_stage *sum = sum_of_map(p, s);
	if (!sum || !match_sum(m, p, sum))
		return false;
	m->stages = 2;
	return true;
}
