/* Rule scan_tiles: rows that are long and few. Blocks take a row's tiles, each going on from what those before it made; so
 * the values are read once, by the whole device. */
#include "sched/scan_row.h"

enum { LONG = 1 << 13, LANES = 1024 }; /* a shorter row is quicker made by one block */

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCAN)
		return true;
	*why = "the stage is no scan";
	return false;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	static const int shape[][2] = { { 256, 8 }, { 256, 16 }, { 512, 4 } };
	int n = 0;
	(void)p;
	(void)s;
	(void)t;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		out[n++] = (struct sched_choice){ &sched_scan_tiles, { shape[i][0], shape[i][1] } };
	return n;
}

/* All rows on one processor, by the first block. */
static void serial(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, expr rows)
{
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, NULL), zero = ir_index(p->pool, 0);
	struct ir_block *b = emit_if(p, &k->serial, ir_binary(IR_EQ, block, zero));
	b = emit_for(p, b, "row", zero, rows, ir_index(p->pool, 1));
	scan_row_serial(p, b, s, ir_var(p->pool, TYPE_INDEX, "row", rows));
}

/* A block a row, where rows turn out to be short. */
static void short_rows(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, expr is_short)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "_short", c);
	expr rows = scan_rows(p, s), lanes = ir_index(p->pool, LANES);
	k->threads = LANES;
	k->blocks = rows;
	k->guard = is_short;
	expr lane = emit_constant(p, &k->body, "lane", ir_var(p->pool, TYPE_INDEX, IR_THREAD, lanes), lanes);
	expr row = emit_constant(p, &k->body, "row", ir_var(p->pool, TYPE_INDEX, IR_BLOCK, rows), rows);
	scan_row_lanes(p, &k->body, s, row, lane, LANES);
	serial(p, k, s, rows);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct tiles t = { .threads = c->param[0], .items = c->param[1] };
	expr rows = scan_rows(p, s), extent = s->out->dim[s->axis], zero = ir_index(p->pool, 0), item, inside;
	expr in_row = tiles_of(p, &t, extent), count = ir_binary(IR_MUL, rows, in_row), state = count;
	enum type type = s->value->type;
	expr is_short = ir_binary(IR_LE, ir_size_limit(p, extent), ir_index(p->pool, LONG));
	bool varies = is_short->op != IR_CONST_INT;
	if (varies) /* no tiles then */
		state = ir_select(is_short, zero, count);
	t = tiles_new(plan, s, state, type, t.threads, t.items);
	struct ir_step *step = step_new(plan);
	if (varies)
		short_rows(plan, step, s, c, is_short);

	struct ir_kernel *k = kernel_new(plan, s, "", c);
	tiles_take(p, k, &t, count);
	expr row = zero, first = t.tile;
	if (!ir_is_int(rows, 1)) {
		row = emit_constant(p, &k->body, "row", ir_binary(IR_FLOORDIV, t.tile, in_row), rows);
		first = emit_constant(p, &k->body, "point", ir_binary(IR_MOD, t.tile, in_row), in_row);
	}
	struct scan_row r = scan_row_begin(p, &k->body, s, row);
	expr sum = r.sum;
	tiles_array(p, &k->body, &t, "parts", type);
	struct ir_block *b = tiles_items(p, &k->body, &t, &item);
	expr at = emit_constant(p, b, "step", tiles_position(p, &t, first, item), NULL);
	expr part = scan_part(p, b, &r, at, &inside);
	emit_lanes_scan(p, b, part, sum, s->combine, t.threads);
	tiles_set(p, b, "parts", item, part);
	expr before = tiles_before(p, &k->body, &t, sum, s->combine, first);
	b = tiles_items(p, &k->body, &t, &item);
	at = emit_constant(p, b, "step", tiles_position(p, &t, first, item), NULL);
	b = emit_if(p, b, ir_binary(IR_LT, at, extent));
	scan_store_step(p, b, &r, ir_combine_expr(s->combine, before, tiles_item(p, "parts", type, item)));
	serial(p, k, s, rows);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_scan_tiles = {
	.name = "scan_tiles",
	.version = 1,
	.help = "blocks of `threads` make tiles of `items` a thread, one after the other in a row",
	.params = { "threads", "items" },
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
};
