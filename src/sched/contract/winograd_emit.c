/* The kernels of convolutions by Winograd's method: one that transforms the weights, and a call of winograd_product()
 * with functions for positions and results. See winograd.h. */
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/contract/contract_kernel.h"
#include "sched/contract/winograd.h"

#include <string.h>

enum { TAPS = 3, SIDE = 4 /* lines and columns of places */, RESULTS = 2 };

struct emitter {
	struct contract_kernel k;
	const struct patch *f;
	struct winograd_shape shape;
	expr row, first[PATCH_WAYS], exists; /* the block's first row; of a tile: its first result, and whether it is
	                                        one of the image's */
	bool all[2 * IR_MAX_RANK];
};

static struct emitter emitter_of(struct ir_program *p, const struct patch *f, const struct winograd_shape *shape)
{
	struct emitter m = { .k = { .c = &f->c, .p = p }, .f = f, .shape = *shape };
	memset(m.all, true, sizeof m.all);
	return m;
}

struct winograd_shape winograd_shape(int rows, int channels)
{
	return (struct winograd_shape){
		.rows = rows,
		.channels = channels,
		.bytes = 2 * 4 * channels * WINOGRAD_PLACES * (rows + WINOGRAD_TILES),
		.resident = rows < 64 ? 2 : 1,
	};
}

/* ---- Tiles and blocks. */

/* The tiles along one way of the image. */
static expr tiles_along(const struct patch *f, int way)
{
	return ceil_div(f->c.p, f->c.s->out->dim[f->axis[way]], RESULTS);
}

expr winograd_tiles(const struct patch *f)
{
	int axis[IR_MAX_RANK];
	expr dim[IR_MAX_RANK], n = ir_binary(IR_MUL, tiles_along(f, PATCH_DOWN), tiles_along(f, PATCH_ACROSS));
	const char *name[IR_MAX_RANK];
	for (int i = patch_far_axes(f, axis, dim, name); i-- > 0;)
		n = ir_binary(IR_MUL, dim[i], n);
	return n;
}

static expr row_blocks(const struct patch *f, const struct winograd_shape *s)
{
	return ceil_div(f->c.p, f->c.extent[CONTRACT_ROW], s->rows);
}

static expr tile_blocks(const struct patch *f)
{
	return ceil_div(f->c.p, winograd_tiles(f), WINOGRAD_TILES);
}

expr winograd_blocks(const struct patch *f, const struct winograd_shape *s)
{
	return ir_binary(IR_MUL, f->c.extent[CONTRACT_BATCH], ir_binary(IR_MUL, tile_blocks(f), row_blocks(f, s)));
}

/* Declares the block's rows and its group of the batch. Returns its first tile. */
static expr declare_block(struct emitter *m, struct ir_block *b, expr block)
{
	const struct contract *c = &m->f->c;
	expr rows = patch_part(&m->k, b, "rows", &block, row_blocks(m->f, &m->shape));
	expr tiles = patch_part(&m->k, b, "tiles", &block, tile_blocks(m->f));
	m->row = emit_declare(m->k.p, b, "first_row", times(rows, m->shape.rows), NULL);
	contract_declare_group(&m->k, b, CONTRACT_BATCH,
	                       patch_part(&m->k, b, "batch", &block, c->extent[CONTRACT_BATCH]), m->all);
	return times(tiles, WINOGRAD_TILES);
}

/* Declares where a tile is. */
static void declare_tile(struct emitter *m, struct ir_block *b, expr tile)
{
	const struct patch *f = m->f;
	expr dim[IR_MAX_RANK], value[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	int axis[IR_MAX_RANK], n = patch_far_axes(f, axis, dim, name);
	tile = emit_constant(m->k.p, b, "tile", tile, times(tile_blocks(f), WINOGRAD_TILES));
	m->exists = ir_binary(IR_LT, tile, winograd_tiles(f));
	for (int way = PATCH_WAYS - 1; way >= 0; way--) {
		expr count = tiles_along(f, way), part = ir_binary(IR_MOD, tile, count);
		m->first[way] = emit_constant(m->k.p, b, way == PATCH_DOWN ? "first_line" : "first_column",
		                              times(part, RESULTS), NULL);
		tile = ir_binary(IR_FLOORDIV, tile, count);
	}
	declare_axes(m->k.p, b, tile, n, dim, name, m->all, value);
	for (int i = 0; i < n; i++)
		m->k.axis[axis[i]] = value[i];
}

/* ---- The weights. */

/* The number of channels in whole steps, and of rows in whole blocks. */
static expr whole_channels(const struct emitter *m)
{
	const struct contract *c = &m->f->c;
	return times(ceil_div(m->k.p, c->s->space[m->f->channel - c->s->out->rank], m->shape.channels),
	             m->shape.channels);
}

static expr whole_rows(const struct emitter *m)
{
	return times(row_blocks(m->f, &m->shape), m->shape.rows);
}

static struct ir_buffer *weights_new(const struct emitter *m)
{
	const expr dim[] = { m->f->c.extent[CONTRACT_BATCH], whole_channels(m), index_(&m->k, WINOGRAD_PLACES),
		             whole_rows(m) };
	const struct ir_buffer *b = contract_load_of(&m->f->c.side[0])->buf;
	return ir_buffer_new(m->k.p, text(&m->k, "%s_transformed", b->name), TYPE_F32, 4, dim, IR_TEMP);
}

/* Declares the four values of G g, for the three of g. */
static void transform(struct emitter *m, struct ir_block *b, const expr *g, expr *made)
{
	struct ir_pool *pool = m->k.p->pool;
	expr half = ir_float(pool, TYPE_F32, 0.5), ends = ir_binary(IR_MUL, half, ir_binary(IR_ADD, g[0], g[2])),
	     middle = ir_binary(IR_MUL, half, g[1]);
	ends = emit_constant(m->k.p, b, "ends", ends, NULL);
	middle = emit_constant(m->k.p, b, "middle", middle, NULL);
	made[0] = g[0];
	made[1] = emit_constant(m->k.p, b, "sum", ir_binary(IR_ADD, ends, middle), NULL);
	made[2] = emit_constant(m->k.p, b, "difference", ir_binary(IR_SUB, ends, middle), NULL);
	made[3] = g[2];
}

/* A thread transforms the weights of a row and a channel; those that only fill up are zero. */
static void weights_kernel(struct ir_plan *plan, const struct patch *f, const struct sched_choice *choice,
                           const struct winograd_shape *s, const struct ir_buffer *out)
{
	enum { THREADS = 256 };
	const struct contract *c = &f->c;
	struct emitter m = emitter_of(plan->program, f, s);
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, c->whole, "_weights", choice);
	struct ir_block *b = &k->body;
	expr rows = out->dim[3], channels = out->dim[1], value[TAPS][SIDE], column[SIDE], place;
	expr count = ir_binary(IR_MUL, ir_binary(IR_MUL, out->dim[0], channels), rows);
	expr n = declare_element(p, k, count, THREADS, 1), rest = n;
	expr row = emit_constant(p, b, "row", ir_binary(IR_MOD, n, rows), rows);
	rest = ir_binary(IR_FLOORDIV, n, rows);
	expr channel = emit_constant(p, b, "channel", ir_binary(IR_MOD, rest, channels), channels);
	contract_declare_group(&m.k, b, CONTRACT_BATCH, ir_binary(IR_FLOORDIV, rest, channels), m.all);
	contract_declare_group(&m.k, b, CONTRACT_ROW, ir_var_of(row->var, c->extent[CONTRACT_ROW]), m.all);
	expr extent = c->s->space[f->channel - c->s->out->rank];
	expr fits =
	        ir_binary(IR_AND, ir_binary(IR_LT, row, c->extent[CONTRACT_ROW]), ir_binary(IR_LT, channel, extent));
	m.k.axis[f->channel] = ir_var_of(channel->var, extent);
	for (int x = 0; x < TAPS; x++) {
		expr g[TAPS];
		for (int y = 0; y < TAPS; y++) {
			m.k.axis[f->tap[PATCH_DOWN]] = index_(&m.k, y);
			m.k.axis[f->tap[PATCH_ACROSS]] = index_(&m.k, x);
			struct axes here = { .value = m.k.axis };
			expr weight = ir_cast(to_kernel(p, c->side[0].value, &here), TYPE_F32);
			weight = ir_select(fits, weight, ir_float(p->pool, TYPE_F32, 0));
			g[y] = emit_constant(p, b, "weight", weight, NULL);
		}
		transform(&m, b, g, value[x]);
	}
	place = emit_constant(p, b, "place", plus(ir_binary(IR_MUL, times(rest, WINOGRAD_PLACES), rows), row), NULL);
	for (int y = 0; y < SIDE; y++) {
		const expr g[] = { value[0][y], value[1][y], value[2][y] };
		transform(&m, b, g, column);
		for (int x = 0; x < SIDE; x++)
			emit_store(p, b, out, plus(place, times(rows, SIDE * y + x)), column[x]);
	}
	kernel_finish(plan, step, k, c->whole);
	k->about = "the weights of each row and channel, transformed\n";
	k->params = "a row and channel a thread";
}

/* ---- The sums. */

static expr parameter(struct emitter *m, struct ir_lambda *f, const char *name)
{
	return emit_parameter(m->k.p, f, TYPE_INDEX, name, NULL);
}

/* Declares where a line or a column of the tile's window is in the image. */
static expr place_of(struct emitter *m, struct ir_block *b, int way, expr place)
{
	expr at = plus(plus(m->first[way], m->f->rest[way]), place);
	return emit_constant(m->k.p, b, way == PATCH_DOWN ? "y" : "x", at, NULL);
}

/* The position of the image's element at a line and a column of the tile's window. */
static const struct ir_variable *emit_place(struct emitter *m, struct ir_block *b)
{
	const struct patch *f = m->f;
	expr load = contract_load_of(&f->c.side[1]), place[PATCH_WAYS], at[IR_MAX_RANK];
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "place_at");
	m->k.axis[f->channel] = parameter(m, fn, "channel");
	place[PATCH_DOWN] = parameter(m, fn, "line");
	place[PATCH_ACROSS] = parameter(m, fn, "column");
	struct axes here = { .value = m->k.axis };
	for (int d = 0; d < load->buf->rank; d++) {
		int way = d == f->dim[PATCH_DOWN] ? PATCH_DOWN : PATCH_ACROSS;
		at[d] = d == f->dim[way] ? place_of(m, fn->body, way, place[way])
		                         : to_kernel(m->k.p, load->arg[d], &here);
	}
	fn->value = ir_flat(m->k.p->pool, load->buf, at);
	return fn->var;
}

/* A function that tells whether an element of the image exists. */
static const struct ir_variable *emit_inside(struct emitter *m, struct ir_block *b)
{
	const struct patch *f = m->f;
	expr load = contract_load_of(&f->c.side[1]), fits = m->exists, place[PATCH_WAYS];
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "inside");
	place[PATCH_DOWN] = parameter(m, fn, "line");
	place[PATCH_ACROSS] = parameter(m, fn, "column");
	for (int way = 0; way < PATCH_WAYS; way++) {
		expr at = place_of(m, fn->body, way, place[way]);
		fits = ir_binary(IR_AND, fits, ir_binary(IR_LE, index_(&m->k, 0), at));
		fits = ir_binary(IR_AND, fits, ir_binary(IR_LT, at, load->buf->dim[f->dim[way]]));
	}
	fn->value = fits;
	return fn->var;
}

static struct ir_block *declare_result(struct emitter *m, struct ir_block *b, expr row, const expr *place)
{
	const struct patch_result at = { row, m->exists, m->first, place };
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

/* The same without a sum: adds up the products of one result. */
static const struct ir_variable *emit_direct(struct emitter *m, struct ir_block *b)
{
	struct ir_lambda *fn = emit_lambda(m->k.p, b, "direct");
	expr row = parameter(m, fn, "row"), place[PATCH_WAYS];
	place[PATCH_DOWN] = parameter(m, fn, "line");
	place[PATCH_ACROSS] = parameter(m, fn, "column");
	contract_sum_element(&m->k, declare_result(m, fn->body, row, place));
	return fn->var;
}

/* The same for a CPU, one element after the other, of the weights as they are. */
static void serial(struct emitter *m, struct ir_block *b, expr first)
{
	struct ir_program *p = m->k.p;
	expr tile, row, place[PATCH_WAYS], none = index_(&m->k, 0), one = index_(&m->k, 1),
	                                   two = index_(&m->k, RESULTS), tiles = index_(&m->k, WINOGRAD_TILES);
	b = emit_loop(p, b, "own", none, tiles, one, tiles, &tile);
	declare_tile(m, b, plus(first, tile));
	b = emit_loop(p, b, "row", m->row, plus(m->row, index_(&m->k, m->shape.rows)), one, NULL, &row);
	b = emit_loop(p, b, "line", none, two, one, two, &place[PATCH_DOWN]);
	b = emit_loop(p, b, "column", none, two, one, two, &place[PATCH_ACROSS]);
	contract_sum_element(&m->k, declare_result(m, b, row, place));
}

/* Returns false if positions may exceed 2^31. */
static bool sums_kernel(struct ir_plan *plan, struct ir_step *step, const struct patch *f,
                        const struct sched_choice *choice, const struct winograd_shape *s,
                        const struct ir_buffer *weights, int arch)
{
	const struct contract *c = &f->c;
	struct ir_program *p = plan->program;
	struct emitter m = emitter_of(p, f, s), alone = emitter_of(p, f, s);
	struct ir_kernel *k = kernel_new(plan, c->made[c->stages - 1], "", choice);
	struct ir_block *b = &k->body;
	k->threads = WINOGRAD_WARPS * WARP;
	k->blocks = winograd_blocks(f, s);
	k->shared_bytes = s->bytes;
	k->resident = s->resident;
	k->arch = arch;
	expr block = ir_block(p->pool, k->blocks),
	     lane = ir_binary(IR_MOD, ir_thread(p->pool, index_(&m.k, k->threads)), index_(&m.k, WARP));
	declare_tile(&m, b, plus(declare_block(&m, b, block), lane));
	const struct ir_template of = IR_OF(IR_NUMBER(s->channels), IR_NUMBER(s->rows));
	const struct ir_variable *memory =
	        emit_placed(p, b, ir_object_new(p->pool, &device_winograd, of, "memory"), NULL);
	const struct ir_variable *place = emit_place(&m, b), *inside = emit_inside(&m, b), *put = emit_put(&m, b),
	                         *direct = emit_direct(&m, b);
	expr group = index_(&m.k, 0); /* of the batch */
	if (!ir_is_int(c->extent[CONTRACT_BATCH], 1))
		group = ir_binary(IR_FLOORDIV, block, ir_binary(IR_MUL, tile_blocks(f), row_blocks(f, s)));
	expr size = ir_binary(IR_MUL, times(weights->dim[1], WINOGRAD_PLACES), weights->dim[3]);
	struct ir_call *call = emit_invoke(p, b, &device_winograd_product, IR_OF_NOTHING);
	add_variable(p, call, memory);
	add_address(p, call, contract_load_of(&c->side[1])->buf, index_(&m.k, 0), false);
	add_address(p, call, weights, plus(ir_binary(IR_MUL, group, size), m.row), false);
	add_value(p, call, m.row);
	add_value(p, call, weights->dim[3]);
	add_value(p, call, c->s->space[f->channel - c->s->out->rank]);
	add_variable(p, call, place);
	add_variable(p, call, inside);
	add_variable(p, call, put);
	add_variable(p, call, direct);

	serial(&alone, &k->serial, declare_block(&alone, &k->serial, block));
	bool enough = kernel_finish_narrow(plan, step, k, c->whole);
	k->about = contract_text(c);
	return enough;
}

void winograd_kernels(struct ir_plan *plan, const struct patch *f, const struct sched_choice *choice,
                      const struct winograd_shape *s, int arch)
{
	const struct emitter m = emitter_of(plan->program, f, s);
	const struct ir_buffer *weights = weights_new(&m);
	weights_kernel(plan, f, choice, s, weights);
	struct ir_step *step = step_new(plan);
	struct winograd_shape common = winograd_shape(s->rows, WINOGRAD_COMMON_CHANNELS);
	bool enough = sums_kernel(plan, step, f, choice, s, weights, arch);
	if (arch)
		enough = sums_kernel(plan, step, f, choice, &common, weights, 0);
	if (!enough)
		contract_element_kernel(plan, step, &f->c, choice);
}
