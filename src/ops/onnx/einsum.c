/* Einsum: a sum of products over named axes: "ij,jk->ik". Letters name axes, "..." leading axes that broadcast; a
 * letter twice in one operand is its diagonal; letters missing in the result are summed. Without "->" the result has
 * the broadcast axes, then the letters that occur once, in ASCII order.
 * More than two operands are contracted from left to right; each step sums the letters that no later step needs.
 * Source: ONNX, operator Einsum, opsets 12 and 28, as numpy.einsum. */
#include "ops/lower/lower.h"

#include <string.h>

#include "base/ascii.h"

enum {
	FIRST_BROADCAST = 128, /* labels: a letter's own code; from here on the axes of "...", counted from the last */
	LABELS = FIRST_BROADCAST + IR_MAX_RANK,
};

struct term {
	int n; /* axes */
	int label[IR_MAX_RANK];
	int letters; /* the number of letters */
	int dots;    /* the position of "..." among the letters; -1: none */
};

struct operand {
	struct value v;
	struct term term;
};

/* ---- The equation ------------------------------------------------------------------------------------------------ */

/* One term, up to ',' or "->" or the end; letters only, "..." is marked. */
static int parse_term(struct lower *l, const char **text, struct term *out)
{
	const char *c = *text;

	*out = (struct term){ .dots = -1 };
	for (; *c && *c != ',' && *c != '-'; c++) {
		if (ascii_is_space(*c))
			continue;
		if (!strncmp(c, "...", 3) && out->dots < 0) {
			out->dots = out->n;
			c += 2;
		} else if (ascii_is_letter(*c) && out->n < IR_MAX_RANK) {
			out->label[out->n++] = *c;
		} else {
			return lower_fail(l, ERR_MODEL, "the equation \"%s\" is wrong at \"%s\".",
			                  lower_word(l, "equation"), c);
		}
	}
	out->letters = out->n;
	*text = c;
	return 0;
}

/* Puts the labels of `axes` broadcast axes where the term has its "...". */
static int expand_dots(struct lower *l, struct term *t, int axes)
{
	if (axes < 0 || (t->dots < 0 && axes) || t->n + axes > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "a term of the equation \"%s\" does not fit its operand's rank.",
		                  lower_word(l, "equation"));
	if (t->dots < 0)
		return 0;
	memmove(&t->label[t->dots + axes], &t->label[t->dots], (size_t)(t->n - t->dots) * sizeof *t->label);
	for (int i = 0; i < axes; i++)
		t->label[t->dots + i] = FIRST_BROADCAST + axes - 1 - i;
	t->n += axes;
	return 0;
}

static bool has(const struct term *t, int label)
{
	for (int i = 0; i < t->n; i++)
		if (t->label[i] == label)
			return true;
	return false;
}

static int count(const struct operand *x, int n, int label)
{
	int found = 0;

	for (int k = 0; k < n; k++)
		for (int i = 0; i < x[k].term.n; i++)
			found += x[k].term.label[i] == label;
	return found;
}

/* The result's term when the equation has none. */
static void implicit_result(const struct operand *x, int n, int broadcast, struct term *out)
{
	*out = (struct term){ 0 };
	for (int i = broadcast - 1; i >= 0; i--)
		out->label[out->n++] = FIRST_BROADCAST + i;
	for (int c = 0; c < FIRST_BROADCAST && out->n < IR_MAX_RANK; c++)
		if (count(x, n, c) == 1)
			out->label[out->n++] = c;
}

static int parse(struct lower *l, struct operand *x, struct term *result)
{
	const char *equation = lower_word(l, "equation"), *c = equation;
	int n = l->inputs, broadcast = 0;

	for (int k = 0; k < n; k++) {
		int axes;

		x[k].v = lower_input(l, k);
		TRY(parse_term(l, &c, &x[k].term));
		if (k + 1 < n ? *c != ',' : *c == ',')
			return lower_fail(l, ERR_MODEL, "the equation \"%s\" does not have %d terms.", equation, n);
		c += *c == ',';
		axes = value_rank(x[k].v) - x[k].term.letters;
		TRY(expand_dots(l, &x[k].term, axes));
		broadcast = axes > broadcast ? axes : broadcast;
	}
	if (!*c) {
		implicit_result(x, n, broadcast, result);
		return 0;
	}
	if (c[1] != '>')
		return lower_fail(l, ERR_MODEL, "the equation \"%s\" is wrong at \"%s\".", equation, c);
	c += 2;
	TRY(parse_term(l, &c, result));
	if (*c)
		return lower_fail(l, ERR_MODEL, "the equation \"%s\" is wrong at \"%s\".", equation, c);
	TRY(expand_dots(l, result, result->dots < 0 ? 0 : broadcast));
	for (int i = 0; i < result->n; i++)
		for (int k = 0; k < i; k++)
			if (result->label[k] == result->label[i])
				return lower_fail(l, ERR_MODEL,
				                  "the result of the equation \"%s\" names an axis twice.", equation);
	for (int i = 0; i < result->n; i++)
		if (!count(x, n, result->label[i]))
			return lower_fail(l, ERR_MODEL,
			                  "the result of the equation \"%s\" names an axis of no operand.", equation);
	return 0;
}

/* ---- Extents and elements ---------------------------------------------------------------------------------------- */

/* A value with only axis i of v, for use where extents broadcast. */
static struct value one_axis(struct lower *l, struct value v, int i)
{
	struct ir_buffer *b = NEW(l->program->arena, struct ir_buffer);

	*b = (struct ir_buffer){ .id = -1, .rank = 1, .dim = { value_dim(v, i) } };
	b->name = arena_printf(l->program->arena, "extent %d of %s", i, v.buf->name);
	return (struct value){ .buf = b, .given = true, .pool = v.pool };
}

/* Sets the extent of every label: the common extent of all its axes; an extent of 1 broadcasts. */
static int find_extents(struct lower *l, const struct operand *x, int n, expr *extent)
{
	for (int k = 0; k < n; k++)
		for (int i = 0; i < x[k].term.n; i++) {
			expr *e = &extent[x[k].term.label[i]];
			struct value both[2] = { one_axis(l, x[k].v, i), one_axis(l, x[k].v, i) };
			struct space s;

			both[0].buf->name = "an extent with the same letter";
			both[0].buf->dim[0] = *e ? *e : idx(l, 1);
			TRY(space_broadcast(l, &s, 2, both));
			*e = s.dim[0];
		}
	return 0;
}

static expr element(struct lower *l, const struct operand *x, const struct space *s, const struct term *axes)
{
	expr index[IR_MAX_RANK];

	for (int i = 0; i < x->term.n; i++) {
		int axis = 0;

		while (axes->label[axis] != x->term.label[i])
			axis++;
		index_axes(one_axis(l, x->v, i), 1, s, axis, &index[i]);
	}
	return wide(load(x->v, index));
}

/* The sum of products of n operands with the axes of `result`; t: the type it is stored in. */
static int contract(struct lower *l, const struct operand *x, int n, const struct term *result, const expr *extent,
                    const char *name, enum type t, struct value *out)
{
	struct term axes = *result;
	struct space s = { 0 };
	expr product;

	for (int label = 0; label < LABELS; label++) {
		if (!count(x, n, label) || has(result, label))
			continue;
		if (axes.n == IR_MAX_RANK)
			return lower_fail(l, ERR_UNSUPPORTED, "the equation has more than %d axes in one product.",
			                  IR_MAX_RANK);
		axes.label[axes.n++] = label;
	}
	for (int i = 0; i < axes.n; i++)
		space_push(l, &s, extent[axes.label[i]]);
	product = element(l, &x[0], &s, &axes);
	for (int k = 1; k < n; k++)
		product = mul(product, element(l, &x[k], &s, &axes));
	*out = axes.n == result->n ? lower_map(l, name, t, &s, product)
	                           : lower_reduce(l, name, t, &s, result->n, IR_SUM, product, NULL);
	return 0;
}

static int lower(struct lower *l)
{
	struct operand x[16];
	struct term result;
	expr extent[LABELS] = { NULL };
	enum type t = value_type(lower_input(l, 0));
	struct value y;
	int n = l->inputs;

	if (n > (int)(sizeof x / sizeof *x))
		return lower_fail(l, ERR_UNSUPPORTED, "it has %d operands; 16 are the most.", n);
	for (int k = 1; k < n; k++)
		if (value_type(lower_input(l, k)) != t)
			return lower_fail(l, ERR_MODEL, "the operands must have one type.");
	TRY(parse(l, x, &result));
	TRY(find_extents(l, x, n, extent));
	for (int k = 0; k + 2 < n; k++) { /* x[k] and x[k + 1] become x[k + 1] */
		struct term part = { 0 };

		for (int label = 0; label < LABELS; label++)
			if (count(&x[k], 2, label) && (count(&x[k + 2], n - k - 2, label) || has(&result, label))) {
				if (part.n == IR_MAX_RANK)
					return lower_fail(l, ERR_UNSUPPORTED, "a product has more than %d axes.",
					                  IR_MAX_RANK);
				part.label[part.n++] = label;
			}
		TRY(contract(l, &x[k], 2, &part, extent, "product", compute_type(t), &y));
		x[k + 1] = (struct operand){ y, part };
	}
	TRY(contract(l, n > 2 ? &x[n - 2] : x, n > 2 ? 2 : n, &result, extent, NULL, t, &y));
	lower_output(l, 0, y);
	return 0;
}

const struct op_def op_einsum = {
	.name = "Einsum",
	.since = { 12, 28 },
	.formula = "y = sum of the products of the inputs' elements, as the equation says",
	.inputs = { MANY("inputs", TS_NUMBER) },
	.outputs = { OUT("output") },
	.attrs = { ATTR("equation", OP_STRING, 0, "", "\"ij,jk->ik\"", true) },
	.lower = lower,
	.cases = { "a:f32[M,64] b:f32[64,33] equation=ij,jk->ik",
	           "a:f16[B,12,S,64] b:f16[B,12,T,64] equation=bhqd,bhkd->bhqk", "a:f32[N,33] equation=...ij->...ji",
	           "a:f32[7,7] equation=ii->i" },
};
