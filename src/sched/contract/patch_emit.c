/* The kernel of sums over a patch of an image: a call of patch_product() with functions for positions and results. See
 * patch.h. */
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/contract/contract_kernel.h"
#include "sched/contract/patch.h"

#include <string.h>

#include "ir/axis_names.h"

void patch_find_size(struct patch_shape *s, const struct patch *f)
{
	int size[PATCH_WAYS] = { s->down, s->across };
	for (int way = 0; way < PATCH_WAYS; way++)
		size[way] = (size[way] - 1) * f->step[way] + ((int)f->taps[way] - 1) * f->apart[way] + 1;
	s->lines = size[PATCH_DOWN];
	s->columns = size[PATCH_ACROSS];
}

int patch_taps(const struct patch *f)
{
	return (int)(f->taps[PATCH_DOWN] * f->taps[PATCH_ACROSS]);
}

int64_t patch_channels(const struct patch *f, const struct sched_target *t)
{
	return about(f->c.s->space[f->channel - f->c.s->out->rank], t);
}

int64_t patch_extent(const struct patch *f, int way, const struct sched_target *t)
{
	return f->axis[way] < 0 ? 1 : about(f->c.s->out->dim[f->axis[way]], t);
}

int patch_far_axes(const struct patch *f, int *axis, expr *dim, const char **name)
{
	const struct contract *c = &f->c;
	int n = 0;
	for (int i = 0; i < c->axes[CONTRACT_COLUMN]; i++) {
		int k = c->axis[CONTRACT_COLUMN][i];
		if (k == f->axis[PATCH_DOWN] || k == f->axis[PATCH_ACROSS])
			continue;
		axis[n] = k;
		dim[n] = c->s->out->dim[k];
		name[n++] = ir_axis_names[0][k];
	}
	return n;
}

expr patch_part(const struct contract_kernel *k, struct ir_block *b, const char *name, expr *place, expr count)
{
	expr part = ir_binary(IR_MOD, *place, count);
	*place = ir_binary(IR_FLOORDIV, *place, count);
	return ir_is_int(count, 1) ? index_(k, 0) : emit_constant(k->p, b, name, part, count);
}

struct ir_block *patch_declare_result(struct contract_kernel *k, const struct patch *f, struct ir_block *b,
                                      const struct patch_result *at, const bool *used)
{
	const struct contract *c = &f->c;
	expr fits = ir_binary(IR_LT, at->row, c->extent[CONTRACT_ROW]);
	if (at->exists)
		fits = ir_binary(IR_AND, at->exists, fits);
	for (int way = 0; way < PATCH_WAYS; way++) {
		if (f->axis[way] < 0)
			continue;
		expr extent = c->s->out->dim[f->axis[way]];
		expr place = plus(at->first[way], at->place[way]);
		place = emit_constant(k->p, b, ir_axis_names[0][f->axis[way]], place, NULL);
		fits = ir_binary(IR_AND, fits, ir_binary(IR_LT, place, extent));
		k->axis[f->axis[way]] = ir_var_of(place->var, extent);
	}
	b = emit_if(k->p, b, fits);
	contract_declare_group(k, b, CONTRACT_ROW, ir_var_of(at->row->var, c->extent[CONTRACT_ROW]), used);
	return contract_if_inside(k, b);
}

struct emitter {
	struct contract_kernel k;
	const struct patch *f;
	struct patch_shape shape;
	expr first[PATCH_WAYS], row; /* of the block: its first element and its first row */
	bool all[2 * IR_MAX_RANK];
};

static expr count_of(const struct emitter *m, int way, int several)
{
	const struct patch *f = m->f;
	return f->axis[way] < 0 ? index_(&m->k, 1) : ceil_div(m->k.p, f->c.s->out->dim[f->axis[way]], several);
}

static expr blocks_of(const struct emitter *m)
{
	const struct contract *c = &m->f->c;
	int axis[IR_MAX_RANK];
	expr dim[IR_MAX_RANK], n = c->extent[CONTRACT_BATCH];
	const char *name[IR_MAX_RANK];
	for (int i = patch_far_axes(m->f, axis, dim, name); i-- > 0;)
		n = ir_binary(IR_MUL, n, dim[i]);
	n = ir_binary(IR_MUL, n, ceil_div(m->k.p, c->extent[CONTRACT_ROW], m->shape.rows));
	n = ir_binary(IR_MUL, n, count_of(m, PATCH_DOWN, m->shape.down));
	return ir_binary(IR_MUL, n, count_of(m, PATCH_ACROSS, m->shape.across));
}

/* Declares what the block makes. */
static void declare_block(struct emitter *m, struct ir_block *b, expr place)
{
	const struct contract *c = &m->f->c;
	const struct patch_shape *s = &m->shape;
	expr rows = ceil_div(m->k.p, c->extent[CONTRACT_ROW], s->rows), dim[IR_MAX_RANK], value[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	int axis[IR_MAX_RANK];
	expr across = patch_part(&m->k, b, "across", &place, count_of(m, PATCH_ACROSS, s->across));
	expr down = patch_part(&m->k, b, "down", &place, count_of(m, PATCH_DOWN, s->down));
	m->first[PATCH_ACROSS] = emit_declare(m->k.p, b, "first_column", times(across, s->across), NULL);
	m->first[PATCH_DOWN] = emit_declare(m->k.p, b, "first_line", times(down, s->down), NULL);
	m->row = emit_declare(m->k.p, b, "first_row", times(patch_part(&m->k, b, "rows", &place, rows), s->rows), NULL);
	contract_declare_group(&m->k, b, CONTRACT_BATCH,
	                       patch_part(&m->k, b, "batch", &place, c->extent[CONTRACT_BATCH]), m->all);
	int n = patch_far_axes(m->f, axis, dim, name);
	declare_axes(m->k.p, b, place, n, dim, name, m->all, value);
	for (int i = 0; i < n; i++)
		m->k.axis[axis[i]] = value[i];
}

static expr parameter(struct emitter *m, struct ir_lambda *f, const char *name)
{
	return emit_parameter(m->k.p, f, TYPE_INDEX, name, NULL);
}

static expr inside(expr x, expr extent)
{
	return ir_binary(IR_AND, ir_binary(IR_LE, ir_index(x->pool, 0), x), ir_binary(IR_LT, x, extent));
}

/* The position of the image's element at a line and a column of the patch, or -1. */
static const struct ir_variable *emit_image(struct emitter *m, struct ir_block *b)
{
	const struct patch *f = m->f;
	expr load = contract_load_of(&f->c.side[1]), place[PATCH_WAYS], at[IR_MAX_RANK];
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "image_at");
	expr channel = parameter(m, fn, "channel");
	place[PATCH_DOWN] = parameter(m, fn, "line");
	place[PATCH_ACROSS] = parameter(m, fn, "column");
	expr fits = ir_binary(IR_LT, channel, f->c.s->space[f->channel - f->c.s->out->rank]);
	struct axes here = { .value = m->k.axis };
	m->k.axis[f->channel] = channel;
	for (int d = 0; d < load->buf->rank; d++) {
		int way = d == f->dim[PATCH_DOWN] ? PATCH_DOWN : PATCH_ACROSS;
		if (d != f->dim[way]) {
			at[d] = to_kernel(m->k.p, load->arg[d], &here);
			if (!ir_is_int(inside(load->arg[d], load->buf->dim[d]), 1))
				fits = ir_binary(IR_AND, fits, inside(at[d], load->buf->dim[d]));
			continue;
		}
		expr first = plus(times(m->first[way], f->step[way]), f->rest[way]);
		at[d] = emit_constant(m->k.p, fn->body, way == PATCH_DOWN ? "y" : "x", plus(first, place[way]), NULL);
		fits = ir_binary(IR_AND, fits, inside(at[d], load->buf->dim[d]));
	}
	fn->value = ir_select(fits, ir_flat(m->k.p->pool, load->buf, at), index_(&m->k, -1));
	return fn->var;
}

/* The same of the weight of a row and a tap. */
static const struct ir_variable *emit_weights(struct emitter *m, struct ir_block *b)
{
	const struct patch *f = m->f;
	const struct contract *c = &f->c;
	const struct contract_operand *o = &c->side[0];
	expr load = contract_load_of(o), condition = contract_condition_of(o);
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "weight_at");
	expr row = parameter(m, fn, "row"), channel = parameter(m, fn, "channel"), tap = parameter(m, fn, "tap");
	expr taps = index_(&m->k, f->taps[PATCH_ACROSS]),
	     all = index_(&m->k, f->taps[PATCH_DOWN] * f->taps[PATCH_ACROSS]);
	expr fits = ir_binary(IR_AND, ir_binary(IR_LT, row, c->extent[CONTRACT_ROW]),
	                      ir_binary(IR_LT, channel, c->s->space[f->channel - c->s->out->rank]));
	tap = ir_var_of(tap->var, all);
	contract_declare_group(&m->k, fn->body, CONTRACT_ROW, ir_var_of(row->var, c->extent[CONTRACT_ROW]), m->all);
	m->k.axis[f->channel] = channel;
	m->k.axis[f->tap[PATCH_ACROSS]] = ir_binary(IR_MOD, tap, taps);
	if (f->tap[PATCH_DOWN] >= 0)
		m->k.axis[f->tap[PATCH_DOWN]] = ir_binary(IR_FLOORDIV, tap, taps);
	struct axes here = { .value = m->k.axis };
	if (condition)
		fits = ir_binary(IR_AND, fits, to_kernel(m->k.p, condition, &here));
	fn->value = ir_select(fits, to_kernel(m->k.p, load, &here)->arg[0], index_(&m->k, -1));
	return fn->var;
}

static struct ir_block *declare_result(struct emitter *m, struct ir_block *b, expr row, const expr *place)
{
	const struct patch_result at = { row, NULL, m->first, place };
	return patch_declare_result(&m->k, m->f, b, &at, m->all);
}

static const struct ir_variable *emit_put(struct emitter *m, struct ir_block *b)
{
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "put");
	expr row = parameter(m, fn, "row"), place[PATCH_WAYS];
	place[PATCH_DOWN] = parameter(m, fn, "line");
	place[PATCH_ACROSS] = parameter(m, fn, "column");
	m->k.all = emit_parameter(m->k.p, fn, TYPE_F32, "sum", NULL);
	contract_make_element(&m->k, declare_result(m, fn->body, row, place), 1);
	return fn->var;
}

/* The same for a CPU, one element after the other. */
static void serial(struct emitter *m, struct ir_block *b)
{
	const struct patch_shape *s = &m->shape;
	expr row, place[PATCH_WAYS], none = index_(&m->k, 0), one = index_(&m->k, 1);
	b = emit_loop(m->k.p, b, "row", m->row, plus(m->row, index_(&m->k, s->rows)), one, NULL, &row);
	b = emit_loop(m->k.p, b, "line", none, index_(&m->k, s->down), one, index_(&m->k, s->down), &place[PATCH_DOWN]);
	b = emit_loop(m->k.p, b, "column", none, index_(&m->k, s->across), one, index_(&m->k, s->across),
	              &place[PATCH_ACROSS]);
	contract_sum_element(&m->k, declare_result(m, b, row, place));
}

static struct emitter emitter_of(struct ir_program *p, const struct patch *f, const struct patch_shape *shape)
{
	struct emitter m = { .k = { .c = &f->c, .p = p }, .f = f, .shape = *shape };
	memset(m.all, true, sizeof m.all);
	return m;
}

expr patch_blocks(const struct patch *f, const struct patch_shape *s)
{
	const struct emitter m = emitter_of(f->c.p, f, s);
	return blocks_of(&m);
}

void patch_kernels(struct ir_plan *plan, struct ir_step *step, const struct patch *f, const struct sched_choice *choice,
                   const struct patch_shape *s, const struct patch_function *product)
{
	const struct contract *c = &f->c;
	struct ir_program *p = plan->program;
	struct emitter m = emitter_of(p, f, s), alone = emitter_of(p, f, s);
	struct ir_kernel *k = kernel_new(plan, c->made[c->stages - 1], "", choice);
	struct ir_block *b = &k->body;
	k->threads = s->threads;
	k->blocks = blocks_of(&m);
	k->shared_bytes = s->bytes;
	declare_block(&m, b, ir_block(p->pool, k->blocks));
	const struct ir_variable *patch =
	        emit_placed(p, b, ir_object_new(p->pool, product->type, product->of, "patch"), NULL);
	const struct ir_variable *image = emit_image(&m, b), *weights = emit_weights(&m, b), *put = emit_put(&m, b);
	struct ir_call *call = emit_invoke(p, b, product->function, product->way);
	add_variable(p, call, patch);
	add_address(p, call, contract_load_of(&c->side[1])->buf, index_(&m.k, 0), false);
	add_address(p, call, contract_load_of(&c->side[0])->buf, index_(&m.k, 0), false);
	add_value(p, call, m.row);
	add_value(p, call, c->extent[CONTRACT_ROW]);
	add_value(p, call, c->s->space[f->channel - c->s->out->rank]);
	add_variable(p, call, image);
	add_variable(p, call, weights);
	add_variable(p, call, put);

	declare_block(&alone, &k->serial, ir_block(p->pool, k->blocks));
	serial(&alone, &k->serial);
	bool enough = kernel_finish_narrow(plan, step, k, c->whole);
	k->about = contract_text(c);
	if (!enough)
		contract_element_kernel(plan, step, c, choice);
}
