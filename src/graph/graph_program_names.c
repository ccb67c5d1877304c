/* Names of a region's program and of its tensors. */
#include "graph/graph_program.h"

#include <string.h>

#include "base/ascii.h"

/* "LayerNormalization" -> "layer_normalization", "LSTM" -> "lstm", "MatMul" -> "mat_mul" */
static char *snake(struct arena *a, const char *name)
{
	struct str s = str_new(a);

	for (const char *c = name; *c; c++) {
		bool edge = c > name && ascii_is_upper(*c) &&
		            (ascii_is_lower(c[-1]) || ascii_is_digit(c[-1]) ||
		             (ascii_is_upper(c[-1]) && ascii_is_lower(c[1])));
		char lower = ascii_lower(*c);

		if (edge)
			str_add(&s, "_");
		str_addn(&s, &lower, 1);
	}
	return str_identifier(a, str_text(&s));
}

const char *region_program_name(const struct graph_region *r, struct arena *a)
{
	const struct graph *g = r->graph;
	const char *first = snake(a, onnx_text(g->nodes.at[r->nodes.at[0]].proto->op_type));

	if (r->nodes.n == 1)
		return first;
	return arena_printf(a, "region_%s_%s", first,
	                    snake(a, onnx_text(g->nodes.at[r->nodes.at[r->nodes.n - 1]].proto->op_type)));
}

/* Returns the end of a name that is too long to read in a kernel, from the start of a word. Exporters of TensorFlow
 * join the names of all operators that they fused into one with ";": the first names the result. */
static const char *readable_part(struct arena *a, const char *name)
{
	enum { LONGEST = 48 };
	size_t n = strlen(name);
	const char *end = strchr(name, ';');

	if (n <= LONGEST)
		return name;
	n = end > name ? (size_t)(end - name) : n;
	const char *start = n > LONGEST ? name + n - LONGEST : name;
	for (const char *c = start; start > name && c < name + n - 1; c++)
		if (strchr("/.:_", *c)) {
			start = c + 1;
			break;
		}
	return arena_strndup(a, start, (size_t)(name + n - start));
}

const char *region_fresh_symbol(struct region_build *b)
{
	const char *name;

	do
		name = arena_printf(b->p->arena, "n%d", b->fresh++);
	while (map_get(&b->symbols, name));
	return name;
}

const char *region_symbol_name(struct region_build *b, const char *name)
{
	if (b->o->numbered)
		return region_fresh_symbol(b);

	const char *s = readable_part(b->p->arena, name);

	while (s != name && map_get(&b->symbols, s))
		s = arena_printf(b->p->arena, "%s_", s);
	return s;
}

const char *region_clear_name(const struct region_build *b, const char *name)
{
	char *s = str_identifier(b->p->arena, readable_part(b->p->arena, name));

	while (ir_name_reserved(s) || map_get(&b->symbols, s) || ir_number_named(b->p, s))
		s = arena_printf(b->p->arena, "%s_", s);
	return s;
}

static const char *slot_name(const struct region_build *b, const struct op_slot *slot, int max, int i)
{
	int k = 0;

	while (k < i && k + 1 < max && slot[k + 1].kind)
		k++;
	if (!slot[k].kind)
		return "x";
	return slot[k].kind >= OP_VARIADIC ? arena_printf(b->p->arena, "%s%d", slot[k].name, i - k + 1) : slot[k].name;
}

/* The first letter, and the tensor's place in the list; or null. */
static const char *number_in(const struct region_build *b, const char *letter, struct graph_value *const *list, int n,
                             const struct graph_value *v)
{
	for (int i = 0; i < n; i++)
		if (list[i] == v)
			return arena_printf(b->p->arena, "%s%d", letter, i);
	return NULL;
}

static const char *edge_number(const struct region_build *b, const struct graph_value *v)
{
	const struct graph_region *r = b->r;
	const char *name = number_in(b, "x", r->inputs.at, r->inputs.n, v);

	if (!name)
		name = number_in(b, "y", r->outputs.at, r->outputs.n, v);
	if (!name)
		name = number_in(b, "c", r->constants.at, r->constants.n, v);
	return name ? name : v->name;
}

const char *region_edge_name(const struct region_build *b, const struct graph_value *v)
{
	const struct graph_node *n = &b->g->nodes.at[b->r->nodes.at[0]];

	if (b->r->nodes.n == 1 && n->op) {
		if (v->producer == n->index)
			return region_clear_name(b, slot_name(b, n->op->outputs, OP_MAX_OUTPUTS, v->output));
		for (size_t i = 0; i < n->proto->n_input; i++)
			if (strcmp(n->proto->input[i], v->name) == 0)
				return region_clear_name(b, slot_name(b, n->op->inputs, OP_MAX_INPUTS, (int)i));
	}
	return region_clear_name(b, b->o->numbered ? edge_number(b, v) : v->name);
}

void region_rename(struct region_build *b, struct ir_buffer *buf, const char *name)
{
	struct ir_buffer *other = ir_buffer_named(b->p, name);

	if (other == buf)
		return;
	for (int i = 2; other && (other->role == IR_INPUT || other->role == IR_OUTPUT); i++) {
		name = arena_printf(b->p->arena, "%s%d", name, i);
		other = ir_buffer_named(b->p, name);
	}
	if (other)
		ir_buffer_rename(b->p, other, buf->name);
	ir_buffer_rename(b->p, buf, name);
}
