/* Stages of an operator: maps, reductions, scans, scatters, constants; and the node's outputs. */
#include "ops/lower/lower.h"

enum { KNOWN_MAX = 64 }; /* the largest integer buffer whose elements are followed as expressions */

static const char *default_name(struct lower *l, const char *name)
{
	return name ? name : l->op->outputs[0].name ? l->op->outputs[0].name : "y";
}

static struct value new_buffer(struct lower *l, const char *name, enum type t, const struct space *s, int rank)
{
	struct ir_buffer *b = ir_buffer_new(l->program, default_name(l, name), t, rank, s->dim, IR_TEMP);

	return (struct value){ .buf = b, .given = true, .pool = l->program->pool };
}

/* Shape arithmetic: remembers the elements of a small integer buffer if all of them follow from extents. */
static void note_content(struct lower *l, const struct ir_stage *stage)
{
	struct ir_buffer *b = stage->out;
	int64_t extent[IR_MAX_RANK], at[IR_MAX_RANK] = { 0 }, n = 1;
	expr *content;

	if (b->type != TYPE_I64 && b->type != TYPE_I32 && b->type != TYPE_BOOL)
		return;
	for (int i = 0; i < b->rank; i++) {
		if (!ir_const_int(b->dim[i], &extent[i]) || extent[i] < 1 || extent[i] > KNOWN_MAX)
			return;
		n *= extent[i];
		if (n > KNOWN_MAX)
			return;
	}
	content = NEWN(l->program->arena, expr, n);
	for (int64_t k = 0; k < n; k++) {
		expr e = ir_element(l->program, stage, at);

		content[k] = e ? ir_integer_of(e, NULL, NULL) : NULL;
		if (!content[k] || content[k]->size > IR_MAX_CONTENT)
			return;
		for (int i = b->rank - 1; i >= 0 && ++at[i] == extent[i]; i--)
			at[i] = 0;
	}
	b->content = content;
}

struct value lower_map(struct lower *l, const char *name, enum type t, const struct space *s, expr value)
{
	struct value out = new_buffer(l, name, t, s, s->rank);
	struct ir_stage *stage = ir_stage_new(l->program, IR_MAP, out.buf);

	stage->value = cast(value, t);
	note_content(l, stage);
	return out;
}

/* Only maps make elements narrower than a byte. Other stages make type_unpacked(t), whole bytes, and this map packs
 * them. */
static struct value packed(struct lower *l, const char *name, enum type t, struct value unpacked)
{
	struct space s = space_of(l, unpacked);

	return lower_map(l, name, t, &s, at(unpacked, &s));
}

struct value lower_reduce(struct lower *l, const char *name, enum type t, const struct space *s, int rank,
                          enum ir_combine c, expr value, expr post)
{
	struct value out;
	struct ir_stage *stage;

	if (type_is_packed(t)) {
		post = cast(post ? post : acc(l, value->type), t);
		out = lower_reduce(l, "unpacked", type_unpacked(t), s, rank, c, value, post);
		return packed(l, name, t, out);
	}
	out = new_buffer(l, name, t, s, rank);
	stage = ir_stage_new(l->program, IR_REDUCE, out.buf);

	stage->value = value;
	stage->combine = c;
	stage->space_rank = s->rank - rank;
	for (int i = rank; i < s->rank; i++)
		stage->space[i - rank] = s->dim[i];
	stage->post = post ? cast(post, t) : NULL;
	note_content(l, stage);
	return out;
}

expr acc(struct lower *l, enum type t)
{
	return ir_acc(l->program->pool, t);
}

struct value lower_scan(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        enum ir_combine c, bool exclusive, bool reverse, expr value, expr post)
{
	struct value out;
	struct ir_stage *stage;

	if (type_is_packed(t)) {
		post = cast(post ? post : acc(l, value->type), t);
		out = lower_scan(l, "unpacked", type_unpacked(t), s, axis, c, exclusive, reverse, value, post);
		return packed(l, name, t, out);
	}
	out = new_buffer(l, name, t, s, s->rank);
	stage = ir_stage_new(l->program, IR_SCAN, out.buf);

	stage->value = value;
	stage->combine = c;
	stage->axis = axis;
	stage->exclusive = exclusive;
	stage->reverse = reverse;
	stage->post = post ? cast(post, t) : NULL;
	note_content(l, stage);
	return out;
}

struct value lower_scatter(struct lower *l, const char *name, enum type t, const struct space *out, expr init,
                           const struct space *s, enum ir_combine c, const expr *at, expr value, expr where)
{
	struct value v;
	struct ir_stage *stage;

	if (type_is_packed(t)) {
		v = lower_scatter(l, "unpacked", type_unpacked(t), out, cast(init, t), s, c, at, cast(value, t), where);
		return packed(l, name, t, v);
	}
	v = new_buffer(l, name, t, out, out->rank);
	stage = ir_stage_new(l->program, IR_SCATTER, v.buf);

	stage->init = cast(init, t);
	stage->value = cast(value, t);
	stage->combine = c;
	stage->where = where;
	stage->space_rank = s->rank;
	for (int i = 0; i < s->rank; i++)
		stage->space[i] = s->dim[i];
	for (int i = 0; i < out->rank; i++)
		stage->at[i] = at[i];
	return v;
}

/* A stage that gives positions along `axis` of s, whose last `further` axes are those of its elements. */
static struct ir_stage *positions_new(struct lower *l, enum ir_stage_kind kind, struct value *out, const char *name,
                                      enum type t, const struct space *s, int axis, int further, expr value)
{
	int rank = s->rank - further;
	*out = new_buffer(l, name, t, s, rank);
	struct ir_stage *stage = ir_stage_new(l->program, kind, out->buf);

	stage->value = value;
	stage->axis = axis;
	stage->space_rank = further;
	for (int i = 0; i < further; i++)
		stage->space[i] = s->dim[rank + i];
	return stage;
}

struct value lower_sort(struct lower *l, const char *name, enum type t, const struct space *s, int axis,
                        bool descending, expr value)
{
	struct value out;

	positions_new(l, IR_SORT, &out, name, t, s, axis, 1, value)->reverse = descending;
	return out;
}

struct value lower_pick(struct lower *l, const char *name, enum type t, const struct space *s, int axis, expr value,
                        expr where)
{
	struct value out;

	positions_new(l, IR_PICK, &out, name, t, s, axis, 2, value)->where = where;
	return out;
}

struct value lower_compact(struct lower *l, const char *name, enum type t, const struct space *s, expr value,
                           expr where, struct value *count)
{
	struct space one = { .rank = 1 };
	expr points = idx(l, 1);
	struct value found =
	        new_buffer(l, arena_printf(l->program->arena, "%s_count", default_name(l, name)), TYPE_I64, s, 0);
	struct value out;

	for (int i = 0; i < s->rank; i++)
		points = mul(points, s->dim[i]);
	one.dim[0] = ir_size_new(l->program, arena_printf(l->program->arena, "%s_size", default_name(l, name)),
	                         found.buf, ir_size_limit(l->program, points));
	out = new_buffer(l, name, t, &one, 1);
	struct ir_stage *stage = ir_stage_new(l->program, IR_COMPACT, out.buf);

	stage->value = cast(value, t);
	stage->where = where;
	stage->count = found.buf;
	stage->space_rank = s->rank;
	for (int i = 0; i < s->rank; i++)
		stage->space[i] = s->dim[i];
	if (count)
		*count = found;
	return out;
}

struct value lower_data(struct lower *l, const char *name, const struct tensor *t)
{
	struct space s = { .rank = t->rank };
	struct value v;
	int64_t n = tensor_count(t);

	for (int i = 0; i < t->rank; i++)
		s.dim[i] = idx(l, t->dim[i]);
	v = (struct value){ .given = true, .pool = l->program->pool };
	v.buf = ir_buffer_new(l->program, name ? name : "constant", t->type, t->rank, s.dim, IR_CONSTANT);
	v.buf->data = t;
	if (type_is_int(t->type) && n > 0 && n <= KNOWN_MAX) {
		expr *content = NEWN(l->program->arena, expr, n);

		for (int64_t k = 0; k < n; k++)
			content[k] = idx(l, tensor_int(t, k));
		v.buf->content = content;
	}
	return v;
}

/* True if the buffer has an owner already: it is an input of the node, a constant, or another output. */
static bool is_taken(struct lower *l, const struct ir_buffer *b)
{
	if (b->role != IR_TEMP)
		return true;
	for (int i = 0; i < l->inputs; i++)
		if (l->input[i].buf == b)
			return true;
	for (int i = 0; i < l->outputs; i++)
		if (l->output[i].buf == b)
			return true;
	return false;
}

void lower_output(struct lower *l, int i, struct value v)
{
	if (i >= l->outputs || !l->wanted[i])
		return;
	if (is_taken(l, v.buf)) {
		struct space s = space_of(l, v);

		v = lower_map(l, NULL, v.buf->type, &s, at(v, &s));
	}
	l->output[i] = v;
}

bool lower_wants(struct lower *l, int i)
{
	return i < l->outputs && l->wanted[i];
}
