/* Random values for the inputs of a tensor program. See verify_draw.h. */
#include "check/verify_draw.h"

#include <math.h>

#include "check/coordinate_range.h"
#include "check/index_range.h"
#include "check/recurrence.h"

enum { INDEX_VALUES = 4 }; /* maximum of inputs that index sizes found at run time */

/* The number of positions an input indexes: the extent it reads from or is compared with. */
static int64_t positions(struct draw *d, const struct index_range *r)
{
	int64_t n;
	if (!ir_eval_int(r->limit, draw_known, d, &n))
		return INDEX_VALUES;
	return n > 1 ? n : 1;
}

/* The largest element of a float input. A weight of a recurrence is at most 1 / sqrt(terms), as PyTorch initialises it:
 * with larger ones rounding errors grow in each iteration, and soon nothing can be compared. */
static double largest(struct draw *d, const struct recurrence_weight *w)
{
	int64_t n;
	if (!w->terms || !ir_eval_int(w->terms, draw_known, d, &n) || n < 1)
		return 2;
	return 1 / sqrt((double)n) / (w->bits ? ldexp(1, w->bits - 1) : 1);
}

/* What a program does with an input. */
struct use {
	const struct index_range *index;
	const struct coordinate_range *coordinate;
	const struct recurrence_weight *weight;
};

/* Positions along the whole axis, and some beyond both of its ends. */
static bool draw_coordinates(struct draw *d, struct tensor *t, const struct coordinate_range *r)
{
	int64_t n;
	if (!r->limit || !ir_eval_int(r->limit, draw_known, d, &n) || n < 1)
		return false;
	double size = r->step * (double)n, beyond = size / 8;
	tensor_random(t, draw_next(d), r->low - beyond, r->low + size + beyond);
	return true;
}

static void draw_values(struct draw *d, struct tensor *t, const struct use *u)
{
	if (type_is_float(t->type) && !u->weight->terms && draw_coordinates(d, t, u->coordinate))
		return;
	uint64_t seed = draw_next(d);
	if (u->index->limit) {
		double n = (double)positions(d, u->index);
		tensor_random(t, seed, u->index->negative && type_is_signed(t->type) ? -n : 0, n - 1);
	} else if (type_is_float(t->type)) {
		tensor_random(t, seed, -largest(d, u->weight), largest(d, u->weight));
	} else if (type_is_int(t->type)) { /* the range of 8-bit values, also when stored in 32 bits */
		tensor_random(t, seed, type_is_signed(t->type) ? -128 : 0, 127);
	} else {
		tensor_random(t, seed, 0, 1);
	}
}

/* An input whose elements decide extents or follow from them, such as the target of a Reshape, has the values that fit
 * the drawn extents. False for other inputs. */
static bool fill_known(struct draw *d, const struct ir_buffer *b, struct tensor *t)
{
	const struct ir_program *p = d->c->reference;
	bool decides = ir_value_is(p, b), all = b->content != NULL;
	int64_t n = tensor_count(t), x;
	if (!type_is_int(b->type))
		return false;
	if (decides)
		tensor_random(t, draw_next(d), 1, DRAW_EXTENTS);
	for (int64_t k = 0; k < n && b->content; k++)
		if (b->content[k] && ir_eval_int(b->content[k], draw_known, d, &x))
			tensor_set_int(t, k, x);
		else
			all = false;
	vec_each (v, &p->values)
		if (v->buf == b && draw_known(d, v->symbol, &x))
			tensor_set_int(t, v->element, x);
	return decides || all;
}

int draw_inputs(struct draw *d, struct tensor *inputs)
{
	const struct ir_program *p = d->c->reference;
	const struct index_range *index = index_ranges(p, d->arena);
	const struct coordinate_range *coordinate = coordinate_ranges(p, d->arena);
	const struct recurrence_weight *weight = recurrence_weights(p, d->arena);
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		int64_t dim[IR_MAX_RANK];
		if (d->c->input[i].tensor) {
			inputs[i] = *d->c->input[i].tensor;
			if (inputs[i].type != b->type)
				return err_set(d->err, ERR_USAGE, "Input %s of plugin %s is %s, not %s.", b->name,
				               d->c->plugin, type_name(b->type), type_name(inputs[i].type));
		}
		for (int k = 0; k < b->rank; k++)
			if (!ir_eval_int(b->dim[k], draw_symbol, d, &dim[k]) || dim[k] < 0)
				return err_set(d->err, ERR_MODEL, "Extent %d of input %s cannot be computed.", k,
				               b->name);
		if (inputs[i].data || d->c->input[i].tensor)
			continue;
		TRY(tensor_new(&inputs[i], b->type, b->rank, dim, d->arena, d->err));
		if (tensor_count(&inputs[i]) > DRAW_LARGEST && d->c->input[i].rank < 0 && d->attempt)
			return err_set(d->err, ERR_MODEL, "Input %s becomes too large.", b->name);
	}
	for (int i = 0; i < p->inputs.n; i++) {
		uint32_t id = (uint32_t)p->inputs.at[i]->id;
		if (!d->c->input[i].tensor && !fill_known(d, p->inputs.at[i], &inputs[i]))
			draw_values(d, &inputs[i], &(struct use){ &index[id], &coordinate[id], &weight[id] });
	}
	return 0;
}
