/* The extents of symbols that nothing tells: 4, 64 and 1024. If 64 is too few for a tensor, such as samples of which
 * 160 make a frame, or rows of which 196 make an image, it counts these: 64 frames, 64 images. */
#include "sched/core/choose.h"

enum { MOST_MULTIPLE = 1 << 20, MANY = 1 << 24 /* where what is added to the symbol no longer counts */ };

const int64_t sched_usual_extent[SCHED_USUAL_POINTS] = { 4, 64, 1024 };
static const int64_t usual = 64;

struct values {
	expr symbol; /* which alone has this value; null: none */
	int64_t value;
};

static bool value_of(void *user, expr symbol, int64_t *value)
{
	const struct values *x = user;
	*value = symbol == x->symbol ? x->value : usual;
	return true;
}

static int64_t at(expr e, expr symbol, int64_t value)
{
	struct values x = { symbol, value };
	int64_t n;
	return ir_eval_int(e, value_of, &x, &n) ? n : 1;
}

struct dividing {
	expr symbol;
	bool found;
	int64_t multiple;
};

static void note_symbol(void *user, expr e)
{
	struct dividing *d = user;
	d->found |= e == d->symbol;
}

static bool mentions(expr e, expr symbol)
{
	struct dividing d = { symbol, false, 1 };
	ir_walk(e, note_symbol, &d);
	return d.found;
}

static void note_quotient(void *user, expr e)
{
	struct dividing *d = user;
	int64_t divisor, most;
	if (e->op != IR_FLOORDIV || !ir_const_int(e->arg[1], &divisor) || !mentions(e->arg[0], d->symbol))
		return;
	most = at(e->arg[0], d->symbol, MANY) - at(e->arg[0], d->symbol, 0);
	int64_t multiple = most > 0 && divisor < INT32_MAX ? (divisor * MANY + most / 2) / most : 1;
	if (multiple > d->multiple && multiple <= MOST_MULTIPLE)
		d->multiple = multiple;
}

int64_t sched_usual_quotient(expr e, expr symbol)
{
	struct dividing d = { symbol, false, 1 };
	ir_walk(e, note_quotient, &d);
	return d.multiple;
}

int64_t sched_usual_multiple(expr symbol, const expr *dim, int rank)
{
	int64_t multiple = 1;
	bool plane = false;
	for (int k = 0; k < rank; k++) {
		if (dim[k]->op == IR_CONST_INT || at(dim[k], NULL, 0) > 0)
			continue;
		int64_t own = sched_usual_quotient(dim[k], symbol);
		multiple = own > multiple ? own : multiple;
		plane |= !mentions(dim[k], symbol);
	}
	return plane ? (multiple + usual - 1) / usual : multiple;
}

int64_t sched_usual_common(int64_t a, int64_t b)
{
	int64_t x = a, y = b;
	while (y) {
		int64_t rest = x % y;
		x = y;
		y = rest;
	}
	return a / x * b <= MOST_MULTIPLE ? a / x * b : a > b ? a : b;
}

struct sched_points sched_usual_points(struct ir_program *p, const struct sched_target *t)
{
	struct {
		VEC(expr);
	} symbol = { 0 };
	struct {
		VEC(const int64_t *);
	} value = { 0 };
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++) {
			expr d = (*b)->dim[k];
			bool known = d->op != IR_SYMBOL;
			vec_each (have, &symbol)
				known |= *have == d;
			if (known)
				continue;
			int64_t *own = NEWN(p->arena, int64_t, SCHED_USUAL_POINTS), multiple = 1;
			vec_each (other, &p->buffers)
				multiple = sched_usual_common(multiple,
				                              sched_usual_multiple(d, (*other)->dim, (*other)->rank));
			for (int i = 0; i < SCHED_USUAL_POINTS; i++)
				own[i] = sched_usual_extent[i] * multiple;
			vec_push(p->arena, &symbol, d);
			vec_push(p->arena, &value, (const int64_t *)own);
		}
	/* If numbers are not known at launch, use one way only: further ways could need further numbers. */
	if (!symbol.n || p->values.n)
		return sched_points_of(t, NULL, NULL, 0, 1, 0, p->arena);
	return sched_points_of(t, symbol.at, value.at, symbol.n, SCHED_USUAL_POINTS, 1, p->arena);
}
