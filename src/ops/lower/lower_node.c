/* Lowers a node: checks its inputs' number and types, its attributes and opset against the op_def, runs the lower
 * function, and checks the results. */
#include "ops/lower/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static int slots_required(const struct op_slot *slot, int max)
{
	int n = 0;

	for (int k = 0; k < max && slot[k].kind; k++)
		if (slot[k].kind != OP_OPTIONAL && slot[k].kind != OP_ANY)
			n = k + 1;
	return n;
}

/* A list for messages: "i32 or i64"; whole families by name: "a float, an integer or bool". */
static const char *types_text(struct lower *l, uint32_t types)
{
	static const struct {
		uint32_t types;
		const char *name;
	} family[] = {
		{ TS_FLOAT, "a float" },
		{ TS_INT, "an integer" },
		{ TS_SINT, "a signed integer" },
		{ TS_F8, "an 8-bit float" },
		{ TS_PACKED, "a type narrower than a byte" },
	};
	const char *word[TYPE_COUNT];
	struct str s = str_new(l->program->arena);
	int n = 0;

	for (size_t k = 0; k < sizeof family / sizeof family[0]; k++) {
		if ((types & family[k].types) != family[k].types)
			continue;
		word[n++] = family[k].name;
		types &= ~family[k].types;
	}
	for (int t = 0; t < TYPE_COUNT; t++)
		if (types & 1u << t)
			word[n++] = type_name((enum type)t);
	for (int k = 0; k < n; k++)
		str_printf(&s, "%s%s", k == 0 ? "" : k == n - 1 ? " or " : ", ", word[k]);
	return str_text(&s);
}

/* "1 or 2", "3 or more" */
static const char *ranks_text(struct lower *l, uint32_t ranks)
{
	struct str s = str_new(l->program->arena);
	int least = 0, n = 0;

	while (!(ranks & 1u << least))
		least++;
	for (int r = least; r <= IR_MAX_RANK; r++)
		n += ranks >> r & 1;
	if (n == IR_MAX_RANK + 1 - least && n > 1)
		return arena_printf(l->program->arena, "%d or more", least);
	for (int r = least; n; r++)
		if (ranks & 1u << r)
			str_printf(&s, "%d%s", r, --n > 1 ? ", " : n ? " or " : "");
	return str_text(&s);
}

static int check_inputs(struct lower *l)
{
	const struct op_slot *slot = l->op->inputs;
	int required = slots_required(slot, OP_MAX_INPUTS);

	for (int i = 0; i < l->inputs || i < required; i++) {
		const struct op_slot *s = op_slot_of(slot, OP_MAX_INPUTS, i);
		bool given = i < l->inputs && l->input[i].given;

		if (!s)
			return lower_fail(l, ERR_MODEL, "it has %d inputs; the operator takes at most %d.", l->inputs,
			                  i);
		if (!given && s->kind != OP_OPTIONAL)
			return lower_fail(l, ERR_MODEL, "input \"%s\" (number %d) is missing; the operator needs it.",
			                  s->name, i + 1);
		if (given && s->types && !(s->types & 1u << l->input[i].buf->type))
			return lower_fail(l, ERR_UNSUPPORTED, "input \"%s\" is %s; it must be %s.", s->name,
			                  type_name(l->input[i].buf->type), types_text(l, s->types));
		if (given && s->ranks && !(s->ranks & 1u << value_rank(l->input[i])))
			return lower_fail(l, ERR_MODEL, "input \"%s\" is of rank %d; it must be of rank %s.", s->name,
			                  value_rank(l->input[i]), ranks_text(l, s->ranks));
	}
	for (int i = 0; i < l->outputs; i++)
		if (l->wanted[i] && !op_slot_of(l->op->outputs, OP_MAX_OUTPUTS, i))
			return lower_fail(l, ERR_MODEL, "it has %d outputs; the operator gives at most %d.", l->outputs,
			                  i);
	return 0;
}

static const char *kind_text(enum op_attr_kind kind)
{
	switch (kind) {
	case OP_INT: return "an integer";
	case OP_FLOAT: return "a float";
	case OP_STRING: return "a string";
	case OP_INTS: return "a list of integers";
	case OP_FLOATS: return "a list of floats";
	case OP_TENSOR: return "a tensor";
	case OP_STRINGS: return "a list of strings";
	case OP_GRAPH: return "a graph";
	case OP_WEIGHTS: return "a tensor or a list of floats";
	}
	return "something else";
}

/* True if `word` is one of "first|second|third". */
static bool is_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *w = words; w; w = strchr(w, '|')) {
		w += *w == '|';
		if (!strncmp(w, word, n) && (w[n] == '|' || !w[n]))
			return true;
	}
	return false;
}

static int unknown_attribute(struct lower *l, const char *name)
{
	const char *names[OP_MAX_ATTRS + 1] = { NULL }, *closest;

	for (int i = 0; i < OP_MAX_ATTRS && l->op->attrs[i].kind; i++)
		names[i] = l->op->attrs[i].name;
	lower_fail(l, ERR_MODEL, "attribute \"%s\" is not known in any version of the operator.", name);
	closest = str_closest(name, names);
	if (closest)
		err_advise(l->err, "Did the exporter mean \"%s\"?", closest);
	return ERR_MODEL;
}

/* Attributes that are ignored: exporters' private notes, and those that TensorRT's parser reads from every plugin's
 * node. */
static bool is_note(const char *name)
{
	return name[0] == '_' || !strcmp(name, "plugin_version") || !strcmp(name, "plugin_namespace");
}

/* True if the value can be read as the kind that the operator asks for. Plugins' attributes have no fixed kind. */
static bool kind_fits(const struct op_def *op, enum op_attr_kind want, const struct attr_value *v)
{
	bool listed = v->kind == OP_INTS || v->kind == OP_FLOATS || v->kind == OP_STRINGS;

	if (want == v->kind || (want == OP_FLOAT && v->kind == OP_INT))
		return true;
	if ((want == OP_INTS || want == OP_FLOATS) && listed && v->n == 0)
		return true;
	if (!op_any_domain(op))
		return false;
	switch (want) {
	case OP_INT: return v->kind == OP_INTS && v->n == 1;
	case OP_FLOAT: return (v->kind == OP_FLOATS || v->kind == OP_INTS) && v->n == 1;
	case OP_INTS: return v->kind == OP_INT;
	case OP_FLOATS: return v->kind == OP_FLOAT || v->kind == OP_INT || v->kind == OP_INTS;
	case OP_WEIGHTS: return v->kind == OP_TENSOR || v->kind == OP_FLOATS;
	default: return false;
	}
}

static int check_attributes(struct lower *l)
{
	for (int i = 0; i < l->attrs; i++) {
		const struct attr_value *v = &l->attr[i];
		const struct op_attr *def = op_attr_find(l->op, v->name);

		if (!def && is_note(v->name))
			continue;
		if (!def)
			return unknown_attribute(l, v->name);
		if (!kind_fits(l->op, def->kind, v))
			return lower_fail(l, ERR_MODEL, "attribute \"%s\" is %s; it must be %s.", v->name,
			                  kind_text(v->kind), kind_text(def->kind));
		int64_t number = def->kind != OP_INT ? 0 : v->kind == OP_INT ? v->i : v->ints[0];
		if (number > INT32_MAX || number < INT32_MIN) /* keeps what operators compute from it within 64 bits */
			return lower_fail(l, ERR_UNSUPPORTED, "attribute \"%s\" is %lld; it must fit into 32 bits.",
			                  v->name, (long long)number);
		if (def->kind == OP_INTS && !def->number && v->n > LOWER_MAX_TENSORS)
			return lower_fail(l, ERR_UNSUPPORTED, "attribute \"%s\" has %d elements; %d are the most.",
			                  v->name, v->n, LOWER_MAX_TENSORS);
		if (def->kind == OP_STRING && def->text && strchr(def->text, '|') && !is_word(def->text, v->s)) {
			lower_fail(l, ERR_MODEL, "attribute \"%s\" is \"%s\".", v->name, v->s);
			return err_advise(l->err, "It must be one of %s.", def->text);
		}
	}
	for (int i = 0; i < OP_MAX_ATTRS && l->op->attrs[i].kind; i++)
		if (l->op->attrs[i].required && !lower_has(l, l->op->attrs[i].name))
			return lower_fail(l, ERR_MODEL, "attribute \"%s\" is missing; the operator needs it.",
			                  l->op->attrs[i].name);
	return 0;
}

/* True if the loop's body makes sizes that depend on the turn. Buffers keep their extents in all turns, so such a body
 * is refused. */
static bool finds_sizes(const struct ir_program *p, const struct ir_loop *loop)
{
	struct ir_buffer *made;

	vec_each (s, &loop->body) {
		for (int i = 0; (made = ir_stage_made(*s, i)); i++)
			if (ir_size_is(p, made))
				return true;
		if ((*s)->loop && finds_sizes(p, (*s)->loop))
			return true;
	}
	return false;
}

static int refuse_sizes(struct lower *l)
{
	for (int i = 0; l->program->sizes.n && i < l->program->stages.n; i++) {
		const struct ir_stage *s = l->program->stages.at[i];

		if (!s->loop || !finds_sizes(l->program, s->loop))
			continue;
		lower_fail(l, ERR_UNSUPPORTED,
		           "a node in the loop has results whose sizes are computed in every iteration.");
		return err_advise(l->err, "Keep the loop outside the engine, or take nodes such as NonZero out of it.");
	}
	return 0;
}

/* In a loop a known value may depend on the turn; extents must be the same in all turns. */
static int check_extents(struct lower *l, int first)
{
	for (int i = first; i < l->program->buffers.n; i++) {
		const struct ir_buffer *b = l->program->buffers.at[i];

		for (int k = 0; k < b->rank; k++)
			if (b->dim[k]->varies)
				return lower_fail(
				        l, ERR_UNSUPPORTED,
				        "extent %d of its result changes between iterations of the loop around it.", k);
	}
	return 0;
}

/* Fails for inputs of different types that the operator's arithmetic cannot combine; false: they have one type. */
static bool refuse_types(struct lower *l)
{
	enum type first = TYPE_NONE;
	bool differ = false;
	struct str s = str_new(l->program->arena);

	for (int i = 0; i < l->inputs; i++) {
		if (!l->input[i].given)
			continue;
		enum type t = l->input[i].buf->type;

		str_printf(&s, "%s%s", s.n ? ", " : "", type_name(t));
		differ |= first != TYPE_NONE && t != first;
		if (first == TYPE_NONE)
			first = t;
	}
	if (!differ)
		return false;
	lower_fail(l, ERR_MODEL, "its inputs are %s; the operator does not compute with these types together.",
	           str_text(&s));
	err_advise(l->err, "Put a Cast before an input, to a type that the operator's definition allows there.");
	return true;
}

/* Runs the lower function. A bug that ck() finds there fails this node only: other nodes can still be taken. */
static int lower_guarded(struct lower *l)
{
	struct arena_guard guard;
	volatile int rc;

	if (setjmp(*arena_guard_push(&guard))) {
		arena_guard_pop(&guard);
		const char *bug = arena_guard_bug();
		if (!bug)
			arena_guard_jump(NULL);
		if (refuse_types(l))
			return l->err->code;
		lower_fail(l, ERR_UNSUPPORTED, "%s.", bug ? bug : "memory is out");
		return err_advise(l->err, "Please report it with the model.");
	}
	rc = l->op->lower(l);
	arena_guard_pop(&guard);
	return rc;
}

/* limit of a constant extent */
static const int64_t max_extent = (int64_t)1 << 40;

/* Refuses extents that exceed any memory: arithmetic with them would leave 64 bits. */
static int check_sizes(struct lower *l)
{
	int64_t n;

	for (int i = 0; i < l->inputs; i++)
		for (int k = 0; l->input[i].given && k < l->input[i].buf->rank; k++)
			if (ir_const_int(l->input[i].buf->dim[k], &n) && n > max_extent)
				return lower_fail(
				        l, ERR_UNSUPPORTED,
				        "axis %d of input number %d has extent %lld; no memory is that large.", k,
				        i + 1, (long long)n);
	return 0;
}

/* Checks the extents and expressions of the new stages: those that passes and printers could not walk, and those that
 * cannot be. */
static int check_made(struct lower *l, int first)
{
	int64_t n;

	for (int i = first; i < l->program->buffers.n; i++) {
		const struct ir_buffer *b = l->program->buffers.at[i];

		for (int k = 0; k < b->rank; k++) {
			if (b->dim[k]->size > IR_MAX_EXTENT || b->dim[k]->depth > IR_MAX_DEPTH) {
				lower_fail(l, ERR_UNSUPPORTED, "the expression of extent %d of \"%s\" is too long.", k,
				           b->name);
				return err_advise(
				        l->err, "Give the inputs' extents (--shape), or select fewer nodes together.");
			}
			if (ir_const_int(b->dim[k], &n) && (n < 0 || n > max_extent))
				return lower_fail(l, ERR_UNSUPPORTED, "extent %d of \"%s\" would be %lld.", k, b->name,
				                  (long long)n);
		}
	}
	return 0;
}

int lower_node(struct lower *l)
{
	if (l->opset < l->op->since[0])
		return lower_fail(l, ERR_UNSUPPORTED, "opset %d is the oldest of this operator that is supported.",
		                  l->op->since[0]);
	for (int i = 0; i < l->inputs; i++)
		l->input[i].pool = l->program->pool;
	TRY(check_inputs(l));
	TRY(check_attributes(l));
	int first = l->program->buffers.n, stages = l->program->stages.n;
	TRY(check_sizes(l));
	TRY(l->op->lower ? lower_guarded(l) : lower_fail(l, ERR_UNSUPPORTED, "the operator has no meaning here."));
	if (l->err->code)
		return l->err->code;
	TRY(refuse_sizes(l));
	TRY(check_extents(l, first));
	TRY(lower_demand_reads(l, stages));
	TRY(lower_demand_release(l, stages));
	TRY(check_made(l, first));
	for (int i = 0; i < l->outputs; i++)
		if (l->wanted[i] && !l->output[i].given)
			return lower_fail(l, ERR_UNSUPPORTED, "output number %d is used, and cannot be made here.",
			                  i + 1);
	return 0;
}
