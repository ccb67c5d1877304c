/* The error of convolutions with windows of 3 x 3 in f32, which kernels may compute by Winograd's method (rule
 * winograd): they multiply sums of the 4 x 4 elements that the windows of 2 x 2 results cover by sums of all weights of
 * a channel. So a rounding is as large as their norms' product, even if a result has no such product. See
 * error_inside.h. */
#include "check/error_inside.h"

enum { WINDOW = 3, SIDE = 2, WAYS = 2 };

struct window {
	const struct ir_stage *s;
	struct error_builder *b;
	expr image, weights; /* the factors, f64 */
	int n, tap[WAYS];    /* reduced axes, numbered after the result's, */
	int axis[WAYS];      /* and the result's axes along which they move */
};

static expr extent_of(const struct ir_stage *s, int axis)
{
	int rank = s->out->rank;
	return axis < rank ? s->out->dim[axis] : s->space[axis - rank];
}

/* Looks for an index that moves along a window: a reduced axis of three elements, and an axis of the result. */
static void find_window(void *user, expr e)
{
	struct window *w = user;
	int rank = w->s->out->rank;
	for (int d = 0; e->op == IR_LOAD && d < e->buf->rank; d++) {
		bool used[2 * IR_MAX_RANK] = { false };
		int tap = -1, axis = -1;
		ir_mark_axes(e->arg[d], used);
		for (int k = 0; k < rank + w->s->space_rank; k++) {
			axis = used[k] && k < rank ? k : axis;
			tap = used[k] && k >= rank && ir_is_int(extent_of(w->s, k), WINDOW) ? k : tap;
		}
		if (tap < 0 || axis < 0)
			continue;
		for (int i = 0; i < w->n; i++)
			if (i < WAYS && (w->tap[i] == tap || w->axis[i] == axis))
				return;
		if (w->n < WAYS) {
			w->tap[w->n] = tap;
			w->axis[w->n] = axis;
		}
		w->n++;
	}
}

static bool find(struct window *w)
{
	const struct ir_stage *s = w->s;
	if (!ir_sums_products(s) || s->value->type != TYPE_F32)
		return false;
	for (int side = 0; side < 2; side++) {
		w->n = 0;
		ir_walk(s->value->arg[side], find_window, w);
		w->image = ir_cast(s->value->arg[side], TYPE_F64);
		w->weights = ir_cast(s->value->arg[!side], TYPE_F64);
		if (w->n == WAYS)
			return true;
	}
	return false;
}

/* The axes that are not taps and that e uses, in order. Returns their number. */
static int axes_of(const struct window *w, expr e, int *axis)
{
	int n = 0;
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	for (int k = 0; k < w->s->out->rank + w->s->space_rank; k++)
		if (used[k] && k != w->tap[0] && k != w->tap[1])
			axis[n++] = k;
	return n;
}

/* A stage that sums the squares of e over the taps. */
static struct ir_buffer *squares_of(const struct window *w, expr e, const char *what)
{
	struct ir_program *p = w->b->x.p;
	int axis[2 * IR_MAX_RANK], n = axes_of(w, e, axis);
	expr dim[IR_MAX_RANK], to[2 * IR_MAX_RANK] = { NULL };
	for (int i = 0; i < n; i++) {
		dim[i] = extent_of(w->s, axis[i]);
		to[axis[i]] = ir_axis(p->pool, i, dim[i]);
	}
	for (int way = 0; way < WAYS; way++)
		to[w->tap[way]] = ir_axis(p->pool, n + way, extent_of(w->s, w->tap[way]));
	struct ir_buffer *out =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_%s", w->s->out->name, what), TYPE_F64, n, dim, IR_TEMP);
	struct ir_stage *made = ir_stage_new(p, IR_REDUCE, out);
	made->combine = IR_SUM;
	e = ir_bind_axes(p->pool, e, to);
	made->value = ir_binary(IR_MUL, e, e);
	made->space_rank = WAYS;
	for (int way = 0; way < WAYS; way++)
		made->space[way] = extent_of(w->s, w->tap[way]);
	return out;
}

/* The squares of all windows of a tile, at each of its elements. */
static struct ir_buffer *over_tiles(const struct window *w, const struct ir_buffer *squares)
{
	struct ir_program *p = w->b->x.p;
	int axis[2 * IR_MAX_RANK], n = axes_of(w, w->image, axis);
	expr sum = ir_float(p->pool, TYPE_F64, 0), at[IR_MAX_RANK], two = ir_index(p->pool, SIDE);
	for (int place = 0; place < SIDE * SIDE; place++) {
		for (int i = 0; i < n; i++) {
			at[i] = ir_axis(p->pool, i, squares->dim[i]);
			for (int way = 0; way < WAYS; way++) {
				if (axis[i] != w->axis[way])
					continue;
				expr first = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, at[i], two), two);
				expr other = ir_index(p->pool, place >> way & 1);
				expr last = ir_binary(IR_SUB, squares->dim[i], ir_index(p->pool, 1));
				at[i] = ir_binary(IR_MIN, ir_binary(IR_ADD, first, other), last);
			}
		}
		sum = ir_binary(IR_ADD, sum, ir_load(p->pool, squares, at));
	}
	struct ir_buffer *out =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_tiles", squares->name), TYPE_F64, n, squares->dim, IR_TEMP);
	ir_stage_new(p, IR_MAP, out)->value = sum;
	return out;
}

static expr load_of(const struct window *w, expr e, const struct ir_buffer *of, const int *to)
{
	int axis[2 * IR_MAX_RANK], n = axes_of(w, e, axis);
	expr at[IR_MAX_RANK];
	for (int i = 0; i < n; i++)
		at[i] = ir_axis(w->b->x.p->pool, to[axis[i]], of->dim[i]);
	return ir_load(w->b->x.p->pool, of, at);
}

struct ir_buffer *error_window_squares(struct error_builder *b, const struct ir_stage *s)
{
	struct window w = { .s = s, .b = b };
	struct ir_program *p = b->x.p;
	struct ir_buffer *known = map_get_u64(&b->squares, (uintptr_t)s);
	if (known || !find(&w))
		return known;
	const struct ir_buffer *image = over_tiles(&w, squares_of(&w, w.image, "image")),
	                       *weights = squares_of(&w, w.weights, "weights");
	struct ir_buffer *out = ir_buffer_new(p, arena_printf(p->arena, "%s_squares", s->out->name), TYPE_F64,
	                                      s->out->rank, s->out->dim, IR_TEMP);
	struct ir_stage *made = ir_stage_new(p, IR_REDUCE, out);
	int to[2 * IR_MAX_RANK];
	made->combine = IR_SUM;
	for (int k = 0, rank = s->out->rank; k < rank + s->space_rank; k++) {
		to[k] = k < rank ? k : rank + made->space_rank;
		if (k >= rank && k != w.tap[0] && k != w.tap[1])
			made->space[made->space_rank++] = extent_of(s, k);
	}
	made->value = ir_binary(IR_MUL, load_of(&w, w.image, image, to), load_of(&w, w.weights, weights, to));
	map_put_u64(&b->squares, (uintptr_t)s, out);
	return out;
}
