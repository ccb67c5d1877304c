/* Launches of a plan's kernels. See launch.h. */
#include "ir/launch.h"

bool ir_inputs_symbol(void *inputs, expr symbol, int64_t *value)
{
	const struct ir_inputs *x = inputs;
	const struct ir_value *number = ir_value_find(x->program, symbol);
	int input, axis;
	if (number && number->known)
		return ir_eval_int(number->known, ir_inputs_symbol, inputs, value);
	for (int i = 0; number && i < x->program->inputs.n; i++)
		if (x->program->inputs.at[i] == number->buf && x->tensor[i] && x->tensor[i]->data) {
			*value = tensor_int(x->tensor[i], number->element);
			return true;
		}
	if (!ir_symbol_source(x->program, symbol, &input, &axis) || !x->tensor[input])
		return false;
	*value = x->tensor[input]->dim[axis];
	return true;
}

int ir_launch_value(const struct ir_launcher *l, expr x, int64_t *out, struct err *e)
{
	if (!ir_eval_int(ir_size_limit(l->program, x), l->symbol, l->user, out))
		return err_set(e, ERR_MODEL, "Program %s: an extent cannot be computed from the inputs' shapes.",
		               l->program->name);
	return 0;
}

int ir_launch_choose(const struct ir_kernel **out, const struct ir_launcher *l, const struct ir_step *step,
                     struct err *e)
{
	int64_t fits, blocks;
	vec_each (k, step) {
		if ((*k)->arch && l->arch && (*k)->arch != l->arch)
			continue;
		fits = 1;
		if ((*k)->guard)
			TRY(ir_launch_value(l, (*k)->guard, &fits, e));
		if (!fits)
			continue;
		TRY(ir_launch_value(l, (*k)->blocks, &blocks, e));
		if ((*k)->together && l->together && blocks > l->together(l->user, (*k)->threads))
			continue;
		*out = blocks ? *k : NULL;
		return 0;
	}
	return err_set(e, ERR_MODEL, "Program %s: no kernel fits these extents.", l->program->name);
}

/* ---- Arguments: pointers, then extents, numbers and tensor maps. */

struct arguments {
	void *at[TPAT_RT_MAX_ARGS], *pointer[TPAT_RT_MAX_ARGS];
	int64_t wide[TPAT_RT_MAX_ARGS];
	int32_t narrow[TPAT_RT_MAX_ARGS];
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];
	int n;
};

static void *memory_of(const struct ir_launcher *l, const struct ir_buffer *view)
{
	return l->memory(l->user, l->program->buffers.at[view->id]);
}

static int add_symbol(struct arguments *a, const struct ir_launcher *l, const struct ir_kernel *k, expr symbol,
                      struct err *e)
{
	int n = a->n++;
	if (!l->symbol(l->user, symbol, &a->wide[n]))
		return err_set(e, ERR_MODEL, "Kernel %s: nothing gives %s a value.", k->name, symbol->name);
	a->narrow[n] = (int32_t)a->wide[n];
	a->at[n] = k->index64 ? (void *)&a->wide[n] : (void *)&a->narrow[n];
	return 0;
}

static int map_values(struct tpat_rt_map_values *v, const struct ir_launcher *l, const struct ir_tensor_map *m,
                      struct err *e)
{
	*v = (struct tpat_rt_map_values){ .from = memory_of(l, m->buf),
		                          .element_bytes = type_info(m->buf->type)->bits / 8,
		                          .rank = m->rank,
		                          .pixels = m->pixels };
	for (int d = 0; d < m->rank; d++) {
		TRY(ir_launch_value(l, m->dim[d], &v->dim[d], e));
		TRY(ir_launch_value(l, m->stride[d], &v->stride[d], e));
		v->box[d] = m->box[d];
		v->first[d] = m->first[d];
		v->step[d] = m->step[d];
		if (m->count[d])
			TRY(ir_launch_value(l, m->count[d], &v->count[d], e));
	}
	return 0;
}

static int fill(struct arguments *a, const struct ir_launcher *l, const struct ir_kernel *k, struct err *e)
{
	if (ir_kernel_args(k) + k->maps.n > TPAT_RT_MAX_ARGS)
		return err_set(e, ERR_UNSUPPORTED, "Kernel %s has more than %d arguments.", k->name, TPAT_RT_MAX_ARGS);
	a->n = 0;
	vec_each (b, &k->buffers) {
		a->pointer[a->n] = memory_of(l, *b);
		a->at[a->n] = &a->pointer[a->n];
		a->n++;
	}
	vec_each (symbol, &k->symbols)
		TRY(add_symbol(a, l, k, *symbol, e));
	vec_each (x, &k->parameters) {
		int n = a->n++;
		a->at[n] = ir_parameter_is_wide(x) ? (void *)&a->wide[n] : (void *)&a->narrow[n];
		if (ir_parameter_is_wide(x))
			TRY(ir_launch_value(l, x->value, &a->wide[n], e));
		else
			a->narrow[n] = ir_parameter_bits(x);
	}
	for (int i = 0; i < k->maps.n; i++) {
		struct tpat_rt_map_values v;
		TRY(map_values(&v, l, &k->maps.at[i], e));
		if (l->tensor_map)
			TRY(l->tensor_map(l->user, a->map[i], &v, e));
		a->at[a->n++] = a->map[i];
	}
	return 0;
}

int ir_launch_kernel(const struct ir_launcher *l, const struct ir_kernel *k, struct err *e)
{
	struct arguments a;
	int64_t blocks;
	TRY(ir_launch_value(l, k->blocks, &blocks, e));
	TRY(fill(&a, l, k, e));
	const uint32_t grid[3] = { (uint32_t)blocks, 1, 1 }, block[3] = { (uint32_t)k->threads, 1, 1 };
	return l->launch(l->user, k, grid, block, a.at, e);
}
