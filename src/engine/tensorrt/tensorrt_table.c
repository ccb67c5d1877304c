/* One plugin's tables as C text: expressions, tensors, buffers, kernels, code. The form is that of tpat_rt.h; comments
 * explain the numbers. */
#include "engine/tensorrt/tensorrt.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "gen/language.h"

enum { INLINE_BYTES = 64 }; /* constants up to this size are written as numbers, larger ones to a file */

/* A step of some plans, and the rows of its kernels' expressions. */
struct table_step {
	const struct ir_step *step;
	int32_t *blocks, *guard; /* a kernel */
};

/* A constraint that can be checked before launch, and its rows. */
struct table_demand {
	const struct ir_demand *demand;
	int32_t holds, extent[2];
};

struct table {
	struct arena *arena;
	struct tensorrt_exprs exprs;
	const struct engine_library *library;
	const struct engine_plugin *plugin;
	const struct ir_program *program;
	const char *id;     /* the plugin's name as an identifier, the prefix of all names in the table */
	const char *tables; /* the prefix of the tables other than the buffers: of the plugin with the same kernels */
	struct tensorrt_data *data; /* of the library */
	const char *folder;
	int32_t one;
	struct {
		VEC(struct table_step);
	} steps;     /* of all plans, each once */
	int *buffer; /* index + 1 of a program buffer among the table's buffers, or 0 */
	int32_t *buffer_bytes;
	struct {
		VEC(const struct ir_buffer *);
	} buffers;
	struct {
		VEC(struct table_demand);
	} demands;
	struct str *out;
	struct err *err;
};

/* Writes text for a one-line comment, which it must not end. */
static void put_comment(struct str *out, const char *text)
{
	str_add(out, "/* ");
	for (const char *c = text; *c; c++)
		str_add(out, *c == '\n' ? " " : c[0] == '*' && c[1] == '/' ? "* " : (char[]){ *c, 0 });
	str_add(out, " */");
}

/* ---- First pass: rows for all expressions. */

static int row_of(struct table *t, int32_t *row, expr x)
{
	return tensorrt_expr_row(row, &t->exprs, x, t->err);
}

static int add_tensor(struct table *t, const struct ir_buffer *b, const char *what)
{
	int32_t row;
	if (b->rank > TPAT_RT_MAX_RANK)
		return err_set(t->err, ERR_UNSUPPORTED, "%s %s has %d dimensions; TensorRT takes at most %d.", what,
		               b->name, b->rank, TPAT_RT_MAX_RANK);
	for (int k = 0; k < b->rank; k++)
		TRY(row_of(t, &row, tensorrt_extent(b, k)));
	return 0;
}

static int add_buffer(struct table *t, const struct ir_buffer *view)
{
	struct ir_buffer *b = t->program->buffers.at[view->id];
	if (b->role == IR_INPUT || b->role == IR_OUTPUT || t->buffer[b->id])
		return 0;
	int32_t count;
	struct ir_program *p = t->plugin->plan[0]->program;
	TRY(row_of(t, &count, ir_size_limit(p, ir_buffer_count(p, b))));
	int bits = type_info(b->type)->bits;
	if (b->role == IR_CONSTANT)
		count = tensorrt_expr_number(&t->exprs, tensor_bytes(b->data));
	else /* packed types get a byte per element, which is enough */
		count = tensorrt_expr_times(&t->exprs, count, bits < 8 ? 1 : bits / 8);
	vec_push(t->arena, &t->buffers, b);
	t->buffer[b->id] = t->buffers.n;
	t->buffer_bytes[b->id] = count;
	return 0;
}

static int parameter_row(struct table *t, int32_t *row, const struct ir_parameter *x)
{
	if (ir_parameter_is_wide(x))
		return row_of(t, row, x->value);
	*row = tensorrt_expr_number(&t->exprs, ir_parameter_bits(x));
	return 0;
}

static int add_kernel(struct table *t, const struct ir_kernel *k, int32_t *blocks, int32_t *guard)
{
	int32_t row;
	if (ir_kernel_args(k) > TPAT_RT_MAX_ARGS)
		return err_set(t->err, ERR_UNSUPPORTED, "Kernel %s has %d arguments; a kernel takes at most %d.",
		               k->name, ir_kernel_args(k), TPAT_RT_MAX_ARGS);
	vec_each (b, &k->buffers)
		TRY(add_buffer(t, *b));
	vec_each (symbol, &k->symbols)
		TRY(row_of(t, &row, *symbol));
	vec_each (x, &k->parameters)
		TRY(parameter_row(t, &row, x));
	TRY(row_of(t, blocks, k->blocks));
	*guard = -1;
	if (k->guard)
		TRY(row_of(t, guard, k->guard));
	vec_each (m, &k->maps)
		for (int d = 0; d < m->rank; d++) {
			TRY(row_of(t, &row, m->dim[d]));
			TRY(row_of(t, &row, m->stride[d]));
			if (m->count[d])
				TRY(row_of(t, &row, m->count[d]));
		}
	return 0;
}

static bool same_step(const struct ir_step *a, const struct ir_step *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!ir_launch_same(a->at[i], b->at[i]))
			return false;
	return true;
}

/* Returns the index of a step among those of all plans. */
static int find_step(const struct table *t, const struct ir_step *step)
{
	for (int i = 0; i < t->steps.n; i++)
		if (same_step(t->steps.at[i].step, step))
			return i;
	return -1;
}

static int add_step(struct table *t, const struct ir_step *step)
{
	struct table_step s = { step, NEWN(t->arena, int32_t, step->n + 1), NEWN(t->arena, int32_t, step->n + 1) };
	if (find_step(t, step) >= 0)
		return 0;
	for (int k = 0; k < step->n; k++)
		TRY(add_kernel(t, step->at[k], &s.blocks[k], &s.guard[k]));
	vec_push(t->arena, &t->steps, s);
	return 0;
}

static int add_demand(struct table *t, const struct ir_demand *d)
{
	struct table_demand x = { d, 0, { 0 } };
	expr holds = ir_demand_holds(d);
	if (ir_is_int(holds, 1))
		return 0;
	TRY(row_of(t, &x.holds, holds));
	for (int k = 0; k < 2; k++)
		TRY(row_of(t, &x.extent[k], d->extent[k]));
	vec_push(t->arena, &t->demands, x);
	return 0;
}

/* Sizes are known only after the kernels have run, too late for checks: checks use their upper bounds. */
static int add_demands(struct table *t)
{
	struct ir_program *p = t->plugin->plan[0]->program;
	vec_each (d, &p->demands) {
		struct ir_demand *limits = NEW(t->arena, struct ir_demand);
		TRY(add_demand(t, ir_demand_of_limits(p, d, limits) ? limits : d));
	}
	return 0;
}

static int add_all(struct table *t)
{
	vec_each (b, &t->program->inputs)
		TRY(add_tensor(t, *b, "Input"));
	vec_each (b, &t->program->outputs)
		TRY(add_tensor(t, *b, "Output"));
	t->one = tensorrt_expr_number(&t->exprs, 1);
	for (int i = 0; i < t->plugin->plans; i++)
		vec_each (step, &t->plugin->plan[i]->steps)
			TRY(add_step(t, *step));
	return add_demands(t);
}

/* ---- Known when kernels are launched: input extents, and extents of whole outputs. */

static bool is_output_extent(struct table *t, int32_t row)
{
	vec_each (b, &t->program->outputs)
		for (int k = 0; k < (*b)->rank; k++) {
			int32_t own;
			if (tensorrt_expr_row(&own, &t->exprs, (*b)->dim[k], t->err) == 0 && own == row)
				return true;
		}
	return false;
}

static bool is_launched(struct table *t, int32_t row)
{
	const struct tpat_rt_expr *x = &t->exprs.row.at[row];
	if (x->op == TPAT_RT_CONST || x->op == TPAT_RT_DIM || is_output_extent(t, row))
		return true;
	if (x->op == TPAT_RT_VALUE)
		return false;
	bool a = x->op == TPAT_RT_SIZE || is_launched(t, x->a), b = x->op == TPAT_RT_NOT || is_launched(t, x->b);
	return a && b && ((x->op != TPAT_RT_SELECT && x->op != TPAT_RT_SIZE) || is_launched(t, x->c));
}

static int check_launched(struct table *t, int32_t row, const char *what, const char *name)
{
	if (row < 0 || is_launched(t, row))
		return 0;
	err_set(t->err, ERR_UNSUPPORTED,
	        "The plugin of %s needs %s %s at launch, but it depends on the value of an input's element.",
	        t->program->name, what, name);
	return err_advise(t->err,
	                  "Only extents of outputs are known at launch. Make that input a constant of the model.");
}

static int check_values(struct table *t)
{
	if (!t->program->values.n)
		return 0;
	vec_each (b, &t->buffers)
		TRY(check_launched(t, t->buffer_bytes[(*b)->id], "the size of", (*b)->name));
	vec_each (s, &t->steps) {
		for (int n = 0; n < s->step->n; n++) {
			const struct ir_kernel *k = s->step->at[n];
			TRY(check_launched(t, s->blocks[n], "the grid of", k->name));
			TRY(check_launched(t, s->guard[n], "the guard of", k->name));
			vec_each (m, &k->maps)
				for (int d = 0; d < m->rank; d++) {
					int32_t dim, stride;
					TRY(row_of(t, &dim, m->dim[d]));
					TRY(row_of(t, &stride, m->stride[d]));
					TRY(check_launched(t, dim, "the extents that tiles are taken from by",
					                   k->name));
					TRY(check_launched(t, stride, "the strides of", k->name));
					if (m->count[d]) {
						TRY(row_of(t, &dim, m->count[d]));
						TRY(check_launched(t, dim, "the extents that tiles are taken from by",
						                   k->name));
					}
				}
			vec_each (symbol, &k->symbols) {
				int32_t row;
				TRY(row_of(t, &row, *symbol));
				TRY(check_launched(t, row, "the number", (*symbol)->name));
			}
		}
	}
	return 0;
}

/* ---- Second pass: the text. */

static void put_exprs(struct table *t)
{
	str_line(t->out, "/* Sizes: { operation, operands (earlier rows; of DIM: input, axis; of SIZE: output first), "
	                 "number }. */");
	str_line(t->out, "static const struct tpat_rt_expr %s_expr[] = {", t->id);
	for (int i = 0; i < t->exprs.row.n; i++) {
		const struct tpat_rt_expr *x = &t->exprs.row.at[i];
		str_printf(t->out, "\t/* %d */ { TPAT_RT_%s, %" PRId32 ", %" PRId32 ", %" PRId32 ", ", i,
		           tensorrt_expr_op(x->op), x->a, x->b, x->c);
		/* INT64_MIN has no literal. */
		if (x->value == INT64_MIN)
			str_add(t->out, "INT64_MIN },");
		else
			str_printf(t->out, "INT64_C(%" PRId64 ") },", x->value);
		if (t->exprs.text.at[i]) {
			str_add(t->out, " ");
			put_comment(t->out, t->exprs.text.at[i]);
		}
		str_add(t->out, "\n");
	}
	str_line(t->out, "};");
}

/* "f32[N,768]" */
static void put_type(struct str *out, const struct ir_buffer *b)
{
	str_printf(out, "%s[", type_name(b->type));
	for (int k = 0; k < b->rank; k++) {
		str_add(out, k ? "," : "");
		ir_print_expr(out, b->dim[k], 0);
	}
	str_add(out, "]");
}

static int place(struct ir_buffer *const *list, int n, const struct ir_buffer *b)
{
	for (int i = 0; i < n; i++)
		if (list[i] == b)
			return i;
	return -1;
}

/* `first`: the place of the first one among inputs and outputs. */
static void put_tensors(struct table *t, const char *what, struct ir_buffer *const *buffer, int n, int first)
{
	int32_t row;
	for (int i = 0; i < n; i++) {
		if (buffer[i]->rank == 0)
			continue;
		str_printf(t->out, "static const int32_t %s_%s_%d[] = {", t->id, what, i);
		for (int k = 0; k < buffer[i]->rank; k++) {
			ck(row_of(t, &row, tensorrt_extent(buffer[i], k)) == 0);
			str_printf(t->out, "%s %" PRId32, k ? "," : "", row);
		}
		str_add(t->out, " };\n");
	}
	if (n == 0)
		return;
	str_printf(t->out, "static const struct tpat_rt_tensor %s_%s[] = {\n", t->id, what);
	for (int i = 0; i < n; i++) {
		str_add(t->out, "\t{ .name = ");
		tensorrt_string(t->out, buffer[i]->name);
		str_printf(t->out, ", .type = %d, .rank = %d, ", buffer[i]->edge ? buffer[i]->edge : buffer[i]->type,
		           buffer[i]->rank);
		if (buffer[i]->role == IR_INPUT && ir_value_is(t->program, buffer[i]))
			str_add(t->out, ".shape_input = 1, ");
		if (t->plugin->format && t->plugin->format[first + i])
			str_printf(t->out, ".format = %d, ", t->plugin->format[first + i]);
		if (buffer[i]->rank)
			str_printf(t->out, ".dim = %s_%s_%d%s", t->id, what, i,
			           buffer[i]->edge || buffer[i]->replaces ? ", " : " ");
		if (buffer[i]->edge)
			str_printf(t->out, ".holds = %d%s", buffer[i]->type, buffer[i]->replaces ? ", " : " ");
		if (buffer[i]->replaces)
			str_printf(t->out, ".replaces = %d ",
			           1 + place(t->program->inputs.at, t->program->inputs.n, buffer[i]->replaces));
		str_add(t->out, "}, /* ");
		put_type(t->out, buffer[i]);
		if (buffer[i]->edge)
			str_printf(t->out, ", declared as %s", type_name(buffer[i]->edge));
		if (buffer[i]->replaces)
			str_printf(t->out, ", may have the memory of %s", buffer[i]->replaces->name);
		str_add(t->out, " */\n");
	}
	str_add(t->out, "};\n");
}

/* The number avoids clashes with tables, and of "w_end" with the end of "w". */
static const char *constant_name(const struct table *t, const struct ir_buffer *b)
{
	return arena_printf(t->arena, "%s_%d_%s", t->id, b->id, b->name);
}

/* Writes a constant, or the name of equal data of another plugin: those share one copy on the device. */
static int put_constant(struct table *t, const struct ir_buffer *b)
{
	const struct tensor *value = tensorrt_constant(t->plugin, b);
	int64_t n = tensor_bytes(value);
	const unsigned char *byte = value->data;
	const char *same = n > INLINE_BYTES ? tensorrt_data_find(t->data, value, constant_name(t, b)) : NULL;
	if (same) {
		str_printf(t->out, "#define %s %s /* ", constant_name(t, b), same);
		put_type(t->out, b);
		str_add(t->out, " */\n");
		return 0;
	}
	str_add(t->out, "/* ");
	put_type(t->out, b);
	str_add(t->out, " */\n");
	if (n <= INLINE_BYTES) {
		str_printf(t->out, "static const unsigned char %s[] __attribute__((aligned(64))) = {",
		           constant_name(t, b));
		for (int64_t i = 0; i < n; i++)
			str_printf(t->out, "%s%s%d", i ? "," : "", i % 16 ? " " : "\n\t", byte[i]);
		str_printf(t->out, "%s\n};\n", n ? "" : " 0");
		return 0;
	}
	const char *name = arena_printf(t->arena, "data/%s.%s.bin", t->id, b->name);
	str_printf(t->out, "TPAT_FILE(%s, \"%s\");\n", constant_name(t, b), name);
	return file_make(path_join(t->arena, t->folder, name), byte, (size_t)n, t->err);
}

static int put_buffers(struct table *t)
{
	vec_each (b, &t->buffers)
		if ((*b)->role == IR_CONSTANT)
			TRY(put_constant(t, *b));
	if (t->buffers.n == 0)
		return 0;
	str_line(t->out, "/* { name, bytes (a row of the sizes), contents: null for workspace } */");
	str_printf(t->out, "static const struct tpat_rt_buffer %s_buffer[] = {\n", t->id);
	vec_each (pb, &t->buffers) {
		const struct ir_buffer *b = *pb;
		str_add(t->out, "\t{ ");
		tensorrt_string(t->out, b->name);
		str_printf(t->out, ", %" PRId32 ", ", t->buffer_bytes[b->id]);
		if (b->role == IR_CONSTANT)
			str_printf(t->out, "%s }, /* ", constant_name(t, b));
		else
			str_add(t->out, "NULL }, /* ");
		put_type(t->out, b);
		str_add(t->out, " */\n");
	}
	str_add(t->out, "};\n");
	return 0;
}

static const char *pointer_text(struct table *t, const struct ir_buffer *view)
{
	const struct ir_buffer *b = t->program->buffers.at[view->id];
	const char *kind = b->role == IR_INPUT ? "INPUT" : b->role == IR_OUTPUT ? "OUTPUT" : "BUFFER";
	int index = b->role == IR_INPUT    ? place(t->program->inputs.at, t->program->inputs.n, b)
	            : b->role == IR_OUTPUT ? place(t->program->outputs.at, t->program->outputs.n, b)
	                                   : t->buffer[b->id] - 1;
	ck(index >= 0);
	return arena_printf(t->arena, "{ TPAT_RT_ARG_%s, %d }", kind, index);
}

static void put_rows(struct table *t, const expr *e, int n)
{
	str_add(t->out, ", {");
	for (int i = 0; i < n; i++) {
		int32_t row;
		ck(row_of(t, &row, e[i]) == 0);
		str_printf(t->out, "%s %" PRId32, i ? "," : "", row);
	}
	str_add(t->out, " }");
}

static void put_walk(struct table *t, const struct ir_tensor_map *m)
{
	static const char *const name[] = { "first", "step", "count" };
	for (int what = 0; what < 3; what++)
		for (int d = 1; d < m->rank - 1; d++) {
			int32_t row = what ? m->step[d] : m->first[d];
			ck(what < 2 || row_of(t, &row, m->count[d]) == 0);
			if (d == 1)
				str_printf(t->out, ", .%s = { 0", name[what]);
			str_printf(t->out, ", %" PRId32 "%s", row, d == m->rank - 2 ? " }" : "");
		}
}

static void put_maps(struct table *t, const struct ir_kernel *k, int step, int number)
{
	if (!k->maps.n)
		return;
	str_printf(t->out, "static const struct tpat_rt_map %s_map_%d_%d[] = {\n", t->id, step, number);
	vec_each (m, &k->maps) {
		str_printf(t->out, "\t{ %s, %d, %d", pointer_text(t, m->buf), type_info(m->buf->type)->bits / 8,
		           m->rank);
		put_rows(t, m->dim, m->rank);
		put_rows(t, m->stride, m->rank);
		for (int i = 0; i < m->rank; i++)
			str_printf(t->out, "%s%d", i ? ", " : ", { ", m->box[i]);
		str_printf(t->out, " }, .pixels = %d", m->pixels);
		if (m->pixels)
			put_walk(t, m);
		str_add(t->out, " }, ");
		put_comment(t->out, m->var->hint);
		str_add(t->out, "\n");
	}
	str_add(t->out, "};\n");
}

static void put_args(struct table *t, const struct ir_kernel *k, int step, int number)
{
	if (ir_kernel_args(k) == 0)
		return;
	str_printf(t->out, "static const struct tpat_rt_arg %s_arg_%d_%d[] = {\n", t->id, step, number);
	vec_each (view, &k->buffers) {
		str_printf(t->out, "\t%s, ", pointer_text(t, *view));
		put_comment(t->out, (*view)->name);
		str_add(t->out, "\n");
	}
	vec_each (symbol, &k->symbols) {
		int32_t row;
		ck(row_of(t, &row, *symbol) == 0);
		str_printf(t->out, "\t{ TPAT_RT_ARG_%s, %" PRId32 " }, ", k->index64 ? "LONG" : "INT", row);
		put_comment(t->out, (*symbol)->name);
		str_add(t->out, "\n");
	}
	vec_each (x, &k->parameters) {
		struct str value = str_new(t->arena);
		int32_t row;
		ck(parameter_row(t, &row, x) == 0);
		ir_print_expr(&value, x->value, 0);
		str_printf(t->out, "\t{ TPAT_RT_ARG_%s, %" PRId32 " }, ", ir_parameter_is_wide(x) ? "LONG" : "INT",
		           row);
		put_comment(t->out, arena_printf(t->arena, "%s %s", x->var->hint, str_text(&value)));
		str_add(t->out, "\n");
	}
	str_add(t->out, "};\n");
}

static void put_kernels(struct table *t, int i, const struct map *parts)
{
	const struct table_step *s = &t->steps.at[i];
	for (int k = 0; k < s->step->n; k++)
		str_printf(t->out, "tpat_rt_cpu %s;\n", tensorrt_cpu_name(t->plugin, s->step->at[k], t->arena));
	str_printf(t->out, "static const struct tpat_rt_kernel %s_kernel_%d[] = {\n", t->id, i);
	for (int k = 0; k < s->step->n; k++) {
		const struct ir_kernel *x = s->step->at[k];
		int args = ir_kernel_args(x), part = *(const int *)map_get(parts, x->name);
		str_add(t->out, "\t{ .name = ");
		tensorrt_string(t->out, x->name);
		if (args)
			str_printf(t->out, ", .arg = %s_arg_%d_%d, .args = %d", t->id, i, k, args);
		str_printf(t->out, ",\n\t  .grid = { %" PRId32 ", %" PRId32 ", %" PRId32 " }, .block = { %d, 1, 1 }",
		           s->blocks[k], t->one, t->one, x->threads);
		if (x->shared_bytes)
			str_printf(t->out, ", .shared_bytes = %d", x->shared_bytes);
		if (x->maps.n)
			str_printf(t->out, ", .map = %s_map_%d_%d, .maps = %d", t->id, i, k, x->maps.n);
		if (x->arch)
			str_printf(t->out, ", .arch = %d", x->arch);
		if (x->early)
			str_add(t->out, ", .early = 1");
		if (x->together)
			str_add(t->out, ", .together = 1");
		if (x->fills)
			str_printf(t->out, ", .fills = %d",
			           1 + place(t->program->outputs.at, t->program->outputs.n, x->fills));
		if (part)
			str_printf(t->out, ", .part = %d", part);
		str_printf(t->out, ", .guard = %" PRId32 ",\n\t  .cpu = %s },\n", s->guard[k],
		           tensorrt_cpu_name(t->plugin, x, t->arena));
	}
	str_add(t->out, "};\n");
}

/* Writes the steps of all plans, and those that each plan uses. */
static void put_tactics(struct table *t)
{
	const struct engine_plugin *p = t->plugin;
	const struct map parts = tensorrt_kernel_parts(p, t->arena);
	for (int i = 0; i < t->steps.n; i++)
		for (int k = 0; k < t->steps.at[i].step->n; k++) {
			put_args(t, t->steps.at[i].step->at[k], i, k);
			put_maps(t, t->steps.at[i].step->at[k], i, k);
		}
	if (t->steps.n)
		str_line(t->out, "/* Kernels; the first of a step whose guard is not 0 is launched. */");
	for (int i = 0; i < t->steps.n; i++)
		put_kernels(t, i, &parts);
	for (int i = 0; i < p->plans; i++) {
		if (p->plan[i]->steps.n == 0)
			continue;
		str_printf(t->out, "static const struct tpat_rt_step %s_step_%d[] = {\n", t->id, i + 1);
		vec_each (step, &p->plan[i]->steps)
			str_printf(t->out, "\t{ %s_kernel_%d, %d },\n", t->id, find_step(t, *step), (*step)->n);
		str_add(t->out, "};\n");
	}
	str_line(t->out, "/* TensorRT's tactics 1, 2 ...: { steps, number of steps } */");
	str_printf(t->out, "static const struct tpat_rt_tactic %s_tactic[] = {\n", t->id);
	for (int i = 0; i < p->plans; i++)
		if (p->plan[i]->steps.n)
			str_printf(t->out, "\t{ %s_step_%d, %d },\n", t->id, i + 1, p->plan[i]->steps.n);
		else
			str_add(t->out, "\t{ NULL, 0 },\n");
	str_add(t->out, "};\n");
}

/* Returns the node's label; a plugin for several nodes uses the first one's. */
static const char *demand_node(const struct table *t, const char *label)
{
	int others = t->plugin->nodes - 1;
	return others <= 0 ? label : arena_printf(t->arena, "%s, or another of %d with this plugin", label, others);
}

static void put_demands(struct table *t)
{
	if (!t->demands.n)
		return;
	str_line(t->out,
	         "/* Before anything is launched: { holds (a row), extents (rows), their names, node, rule } */");
	str_printf(t->out, "static const struct tpat_rt_demand %s_demand[] = {\n", t->id);
	vec_each (x, &t->demands) {
		const struct ir_demand *d = x->demand;
		str_printf(t->out, "\t{ %" PRId32 ", { %" PRId32 ", %" PRId32 " }, { ", x->holds, x->extent[0],
		           x->extent[1]);
		for (int k = 0; k < 2; k++) {
			const char *name = ir_demand_name(d, k, t->arena);
			str_add(t->out, k ? ", " : "");
			if (name)
				tensorrt_string(t->out, name);
			else
				str_add(t->out, "NULL");
		}
		str_add(t->out, " }, ");
		tensorrt_string(t->out, demand_node(t, d->node));
		str_add(t->out, ", ");
		tensorrt_string(t->out, ir_demand_rule(d));
		str_add(t->out, " },\n");
	}
	str_add(t->out, "};\n");
}

/* Returns a hash of how the plugin runs; ignores names of plugin and tensors. */
static const char *kernels_hash(const struct table *t)
{
	uint64_t hash = hash_str(hash_str(0, t->library->generator), t->plugin->decisions);
	return arena_printf(t->arena, "%016" PRIx64, hash);
}

/* ".input = X_input, .inputs = 2," or nothing if there are none. */
static void put_list(const char *id, struct str *row, const char *what, int n)
{
	if (n)
		str_printf(row, "\t\t.%s = %s_%s, .%ss = %d,\n", what, id, what, what, n);
}

static void put_row(struct table *t, struct str *row)
{
	const struct engine_plugin *p = t->plugin;
	const struct {
		const char *member, *text;
	} texts[] = {
		{ "name", p->name },  { "version", p->version },      { "name_space", p->name_space },
		{ "hash", p->hash },  { "kernels", kernels_hash(t) }, { "code", p->like ? p->like->name : p->name },
		{ "about", p->about }
	};
	str_add(row, "\t{\n");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		str_printf(row, "\t\t.%s = ", texts[i].member);
		tensorrt_string(row, texts[i].text);
		str_add(row, ",\n");
	}
	put_list(t->tables, row, "input", t->program->inputs.n);
	put_list(t->tables, row, "output", t->program->outputs.n);
	put_list(t->tables, row, "expr", t->exprs.row.n);
	put_list(t->id, row, "buffer", t->buffers.n);
	put_list(t->tables, row, "tactic", p->plans);
	put_list(t->tables, row, "image", t->library->archs * tensorrt_parts(p, t->arena));
	put_list(t->tables, row, "demand", t->demands.n);
	if (p->of) {
		str_add(row, "\t\t.of = ");
		tensorrt_string(row, p->of);
		str_add(row, ",\n");
	}
	str_add(row, "\t},\n");
}

/* All tables of a plugin but its buffers. */
static void put_own_tables(struct table *t)
{
	put_exprs(t);
	put_tensors(t, "input", t->program->inputs.at, t->program->inputs.n, 0);
	put_tensors(t, "output", t->program->outputs.at, t->program->outputs.n, t->program->inputs.n);
	put_tactics(t);
	tensorrt_images(t->out, t->id, t->library, t->plugin);
	put_demands(t);
}

int tensorrt_table(struct str *out, struct str *row, const struct engine_library *l, const struct engine_plugin *p,
                   struct tensorrt_data *data, const char *folder, struct err *e)
{
	struct ir_program *program = p->plan[0]->program;
	struct arena *a = out->arena;
	struct table t = {
		.arena = a,
		.exprs = tensorrt_exprs_new(program, a),
		.library = l,
		.plugin = p,
		.program = program,
		.id = str_identifier(a, p->name),
		.tables = str_identifier(a, p->like ? p->like->name : p->name),
		.data = data,
		.folder = folder,
		.buffer = NEWN(a, int, program->buffers.n + 1),
		.buffer_bytes = NEWN(a, int32_t, program->buffers.n + 1),
		.out = out,
		.err = e,
	};
	TRY(add_all(&t));
	TRY(check_values(&t));
	put_comment(out, p->about);
	str_printf(out, "\n/* Kernels: ../kernels/%s.cu. Included once, by ../library.c. */\n", t.tables);
	if (p->like)
		str_printf(out, "/* The other tables are those of %s.h: only the weights differ. */\n", t.tables);
	str_add(out, "\n");
	TRY(put_buffers(&t));
	if (!p->like)
		put_own_tables(&t);
	put_row(&t, row);
	return 0;
}
