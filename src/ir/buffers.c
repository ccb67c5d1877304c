/* Buffers of a plan that runs. See buffers.h. */
#include "ir/buffers.h"

#include <string.h>

const struct tensor *ir_buffer_content(const struct ir_program *p, const struct tensor *const *inputs,
                                       const struct ir_buffer *b)
{
	for (int i = 0; i < p->inputs.n; i++)
		if (p->inputs.at[i] == b)
			return inputs[i];
	return b->role == IR_CONSTANT ? b->data : NULL;
}

int ir_buffer_bytes(size_t *out, const struct ir_launcher *l, const struct ir_buffer *b, struct err *e)
{
	int64_t n;
	TRY(ir_launch_value(l, ir_buffer_count(l->program, b), &n, e));
	*out = (size_t)type_bytes(b->type, n);
	return 0;
}

struct evaluation {
	const struct ir_found *found;
	struct ir_inputs inputs;
	struct err *err;
};

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	struct evaluation *x = user;
	const struct ir_size *size = ir_size_find(x->inputs.program, symbol);
	if (!size)
		return ir_inputs_symbol(&x->inputs, symbol, value);
	return x->found->read(x->found->user, value, size->count, x->err) == 0;
}

int ir_output_extents(int64_t *dim, const struct ir_buffer *b, const struct ir_found *f, struct err *e)
{
	struct evaluation x = { f, f->inputs, e };
	for (int k = 0; k < b->rank; k++)
		if (!ir_eval_int(b->dim[k], symbol_value, &x, &dim[k]))
			return e->code ? e->code : err_set(e, ERR_MODEL, "%s: an extent has no value.", b->name);
	return 0;
}

int ir_found_demands(const struct ir_found *f, struct arena *a, struct err *e)
{
	struct evaluation x = { f, f->inputs, e };
	vec_each (d, &f->inputs.program->demands)
		if (ir_size_limit(f->inputs.program, d->extent[0]) != d->extent[0] ||
		    ir_size_limit(f->inputs.program, d->extent[1]) != d->extent[1]) {
			TRY(ir_demand_check(f->inputs.program, d, symbol_value, &x, a, e));
			if (e->code)
				return e->code;
		}
	return 0;
}

static bool is_like(const struct tensor *t, const struct ir_buffer *b, const int64_t *dim)
{
	return t->data && t->type == b->type && t->rank == b->rank &&
	       memcmp(t->dim, dim, sizeof *dim * (size_t)b->rank) == 0;
}

int ir_output_tensor(struct tensor *out, const struct ir_buffer *b, const struct ir_found *f, struct arena *a,
                     struct err *e)
{
	int64_t dim[IR_MAX_RANK];
	TRY(ir_output_extents(dim, b, f, e));
	return is_like(out, b, dim) ? 0 : tensor_new(out, b->type, b->rank, dim, a, e);
}
