/* Example extents for the command that builds an engine, if the user gave none. Tries common sizes of images, sequences
 * and batches until they fit the model's operators and declared extents. */
#include "lib/tpat_inside.h"

#include <strings.h>
#include <string.h>

#include "base/ascii.h"
#include "base/map.h"

enum { LEVELS = TPAT_PROFILE_SHAPES, LEAST = 0, USUAL = 1, MOST = 2, CANDIDATES = 12, MOST_TRIES = 2000 };

/* Kinds of extents. */
enum class { BATCH, CHANNEL, IMAGE, VOLUME, SEQUENCE, CLASSES };

/* Tried in this order. Image sizes are multiples of 32, the stride of most networks. */
static const int64_t candidate[CLASSES][LEVELS][CANDIDATES] = {
	[BATCH] = { { 1 }, { 8, 4, 2, 1 }, { 32, 16, 8, 4, 2, 1 } },
	[CHANNEL] = { { 3, 1 }, { 3, 1 }, { 3, 1 } },
	[IMAGE] = { { 320, 256, 224, 192, 160, 128, 96, 64, 32 },
	            { 640, 512, 320, 224, 256, 384, 448, 1024, 128, 96, 64, 32 },
	            { 1280, 1024, 960, 768, 896, 640, 512, 448, 384, 320, 256, 224 } },
	[VOLUME] = { { 32, 16, 8, 4 }, { 64, 96, 32, 128, 16 }, { 128, 96, 64, 160, 32 } },
	[SEQUENCE] = { { 1, 16, 32, 64, 100, 128 },
	               { 128, 64, 256, 100, 96, 80, 512, 32, 3000, 16, 1 },
	               { 512, 256, 384, 1024, 128, 480, 500, 3000, 64, 1 } },
};
/* Batches of images are small: an engine for 32 of 1280 x 1280 takes more memory than most GPUs have. */
static const int64_t image_batch[LEVELS][CANDIDATES] = { { 1 }, { 1 }, { 4, 2, 1 } };

struct symbol {
	expr symbol;
	enum class class;
	bool given;       /* by a profile */
	int64_t multiple; /* of this, if the elements of a Reshape demand it */
	int64_t value[LEVELS];
};

/* A constraint on two extents. */
struct demand {
	enum demand_kind { EQUAL, BROADCAST, POSITIVE, DECLARED } kind;
	expr a, b;
	int64_t number; /* DECLARED: the declared value of `a` */
};

struct tpat_example {
	struct graph *graph;
	struct arena *arena;
	struct {
		VEC(struct symbol);
	} symbols;
	struct {
		VEC(struct demand);
	} demands;
	struct map positive; /* extents with a constraint to be positive */
	int level, tries;
	bool images, multiples; /* multiples: the candidates count multiples of the symbols' own numbers */
};

/* ---- Symbols of the inputs, and their kinds. */

static struct symbol *find(struct tpat_example *x, expr e)
{
	vec_each (s, &x->symbols)
		if (s->symbol == e)
			return s;
	return NULL;
}

static bool says(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(name, *words))
			return true;
	return false;
}

/* Guesses by the symbol's name; CLASSES if that says nothing. */
static enum class by_name(const char *name) {
	static const char *const batch[] = { "batch", "bsz", NULL },
	        *const image[] = { "height", "width", NULL },
	                *const sequence[] = { "seq", "len", "token", "time", "frame", "past", "word", "step", NULL },
	                        *const channel[] = { "channel", NULL };
	static const char single[] = "BNHWTLSC";
	static const enum class of[] = { BATCH, BATCH, IMAGE, IMAGE, SEQUENCE, SEQUENCE, SEQUENCE, CHANNEL };
	const char *at = name[0] && !name[1] ? strchr(single, ascii_upper(*name)) : NULL;
	return says(name, batch)      ? BATCH
	       : says(name, sequence) ? SEQUENCE
	       : says(name, image)    ? IMAGE
	       : says(name, channel)  ? CHANNEL
	       : at                   ? of[at - single]
	                              : CLASSES;
}

static bool at_most(expr e, int64_t most)
{
	int64_t n;
	return ir_const_int(e, &n) && n <= most;
}

/* Guesses by the axis. */
static enum class by_place(const struct graph_value *v, int axis) {
	int64_t n; if (axis == 0) return BATCH; if (v->rank == 4 && at_most(v->dim[3], 4)) /* channels last */
	return IMAGE;
	if (v->rank == 4 && (at_most(v->dim[1], 4) || !ir_const_int(v->dim[1], &n))) return axis == 1 ? CHANNEL : IMAGE;
	if (v->rank == 5) return axis == 1 ? CHANNEL : VOLUME;
	return SEQUENCE;
}

struct walk {
	struct tpat_example *x;
	const struct graph_value *v;
	int axis;
};

static void note_symbol(void *user, expr e)
{
	struct walk *w = user;
	if (e->op != IR_SYMBOL || find(w->x, e))
		return;
	enum class class = by_name(e->name);
	struct symbol s = { .symbol = e, .class = class == CLASSES ? by_place(w->v, w->axis) : class, .multiple = 1 };
	w->x->images |= s.class == IMAGE || s.class == VOLUME;
	vec_push(w->x->arena, &w->x->symbols, s);
}

static void find_symbols(struct tpat_example *x)
{
	vec_each (v, &x->graph->inputs)
		for (int k = 0; k < (*v)->rank; k++)
			ir_walk((*v)->dim[k], note_symbol, &(struct walk){ x, *v, k });
}

/* ---- The model's constraints. */

static void demand(struct tpat_example *x, enum demand_kind kind, expr a, expr b, int64_t number)
{
	struct demand d = { kind, a, b, number };
	if (kind == POSITIVE && map_get_u64(&x->positive, a->id + 1))
		return;
	if (kind == POSITIVE)
		map_put_u64(&x->positive, a->id + 1, x);
	if (a == b || (a->op == IR_CONST_INT && (!b || b->op == IR_CONST_INT)))
		return;
	vec_push(x->arena, &x->demands, d);
}

static bool is_one_of(const char *type, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(type, *list) == 0)
			return true;
	return false;
}

static const struct graph_value *input(struct tpat_example *x, const struct graph_node *n, size_t i)
{
	const struct graph_value *v = i < n->proto->n_input ? graph_value_find(x->graph, n->proto->input[i]) : NULL;
	return v && v->rank >= 0 ? v : NULL;
}

static const struct graph_value *output(struct tpat_example *x, const struct graph_node *n)
{
	const struct graph_value *v = n->proto->n_output ? graph_value_find(x->graph, n->proto->output[0]) : NULL;
	return v && v->rank >= 0 ? v : NULL;
}

static void demand_broadcast(struct tpat_example *x, const struct graph_node *n)
{
	const struct graph_value *a = input(x, n, 0), *b;
	for (size_t i = 1; a && i < n->proto->n_input; i++)
		for (int k = 1; (b = input(x, n, i)) && k <= a->rank && k <= b->rank; k++)
			demand(x, BROADCAST, a->dim[a->rank - k], b->dim[b->rank - k], 0);
}

static void demand_concat(struct tpat_example *x, const struct graph_node *n)
{
	const struct graph_value *a = input(x, n, 0), *b;
	struct err none = { 0 };
	int64_t axis;
	if (!a || onnx_attr_int(&axis, n->proto, "axis", 0, &none) < 0)
		return;
	axis += axis < 0 ? a->rank : 0;
	for (size_t i = 1; i < n->proto->n_input; i++)
		for (int k = 0; (b = input(x, n, i)) && b->rank == a->rank && k < a->rank; k++)
			if (k != axis)
				demand(x, EQUAL, a->dim[k], b->dim[k], 0);
}

static expr elements(struct tpat_example *x, const struct graph_value *v)
{
	expr n = ir_index(x->graph->pool, 1);
	for (int k = 0; k < v->rank; k++)
		n = ir_binary(IR_MUL, n, v->dim[k]);
	return n;
}

static void demand_of(struct tpat_example *x, const struct graph_node *n)
{
	static const char *const broadcast[] = { "Add",   "Sub",   "Mul",     "Div",         "Pow",
		                                 "Where", "And",   "Or",      "Xor",         "Mod",
		                                 "Max",   "Min",   "Sum",     "Mean",        "PRelu",
		                                 "Less",  "Equal", "Greater", "LessOrEqual", "GreaterOrEqual",
		                                 NULL };
	const char *type = onnx_text(n->proto->op_type);
	const struct graph_value *a = input(x, n, 0), *b = input(x, n, 1), *out = output(x, n);
	if (is_one_of(type, broadcast))
		demand_broadcast(x, n);
	else if (strcmp(type, "Concat") == 0)
		demand_concat(x, n);
	else if (strcmp(type, "Reshape") == 0 && a && out)
		demand(x, EQUAL, elements(x, a), elements(x, out), 0);
	else if (strcmp(type, "MatMul") == 0 && a && b && a->rank > 1 && b->rank > 1)
		demand(x, EQUAL, a->dim[a->rank - 1], b->dim[b->rank - 2], 0);
}

/* Adds a constraint if an axis is declared as a number, but inferred as an expression: the model was exported at
 * matching extents. */
static void demand_declared(struct tpat_example *x, const struct graph_value *v)
{
	const struct onnx_value *known = onnx_value_find(x->graph->index, v->name);
	const Onnx__TensorShapeProto *shape;
	enum type type;
	if (!known || !known->info || !onnx_value_type(known->info, &type, &shape) || !shape ||
	    (int)shape->n_dim != v->rank)
		return;
	for (int k = 0; k < v->rank; k++)
		if (shape->dim[k]->has_dim_value && v->dim[k]->op != IR_CONST_INT)
			demand(x, DECLARED, v->dim[k], NULL, shape->dim[k]->dim_value);
}

static void find_demands(struct tpat_example *x)
{
	vec_each (v, &x->graph->values) {
		for (int k = 0; k < (*v)->rank; k++)
			demand(x, POSITIVE, (*v)->dim[k], NULL, 0);
		if ((*v)->rank >= 0)
			demand_declared(x, *v);
	}
	vec_each (n, &x->graph->nodes)
		if (!n->folded && !*onnx_domain(n->proto->domain))
			demand_of(x, n);
}

/* Images that are rows of one axis, for instance: it is a multiple of the rows of an image. */
static void find_multiples(struct tpat_example *x)
{
	vec_each (s, &x->symbols)
		vec_each (d, &x->demands)
			if (d->kind == EQUAL)
				for (int side = 0; side < 2; side++)
					s->multiple = sched_usual_common(
					        s->multiple, sched_usual_quotient(side ? d->b : d->a, s->symbol));
}

/* ---- The search. */

static bool value_of(void *user, expr symbol, int64_t *value)
{
	struct tpat_example *x = user;
	const struct symbol *s = find(x, symbol);
	if (s)
		*value = s->value[x->level];
	return s != NULL;
}

/* Numbers that arrive as data are unknown. */
static bool holds(struct tpat_example *x, const struct demand *d)
{
	int64_t a, b = 0;
	if (!ir_eval_int(d->a, value_of, x, &a) || (d->b && !ir_eval_int(d->b, value_of, x, &b)))
		return true;
	switch (d->kind) {
	case EQUAL: return a == b;
	case BROADCAST: return a == b || a == 1 || b == 1;
	case POSITIVE: return a > 0;
	case DECLARED: return x->level != USUAL || a == d->number;
	}
	return true;
}

static bool all_hold(struct tpat_example *x, bool declared)
{
	if (x->tries++ >= MOST_TRIES)
		return false;
	vec_each (d, &x->demands)
		if ((d->kind != DECLARED || declared) && !holds(x, d))
			return false;
	return true;
}

static const int64_t *candidates(const struct tpat_example *x, enum class class, int level)
{
	return class == BATCH && x->images ? image_batch[level] : candidate[class][level];
}

/* Gives all symbols of a class the same value. False at the end of the list, or if the value is on the wrong side of
 * the optimum. */
static bool set_class(struct tpat_example *x, enum class class, int which)
{
	int64_t n = which < CANDIDATES ? candidates(x, class, x->level)[which] : 0;
	if (!n)
		return false;
	vec_each (s, &x->symbols)
		if (s->class == class && !s->given) {
			n = candidates(x, class, x->level)[which] * (x->multiples ? s->multiple : 1);
			if ((x->level == LEAST && n > s->value[USUAL]) || (x->level == MOST && n < s->value[USUAL]))
				n = s->value[USUAL];
			s->value[x->level] = n;
		}
	return true;
}

static bool try_classes(struct tpat_example *x, enum class class, bool declared)
{
	if (class == CLASSES)
		return all_hold(x, declared);
	bool used = false;
	vec_each (s, &x->symbols)
		used |= s->class == class && !s->given;
	if (!used)
		return try_classes(x, class + 1, declared);
	for (int i = 0; set_class(x, class, i); i++)
		if (try_classes(x, class + 1, declared))
			return true;
	return false;
}

static bool search_with(struct tpat_example *x, bool multiples)
{
	x->tries = 0;
	x->multiples = multiples;
	return (x->level == USUAL && try_classes(x, 0, true)) || try_classes(x, 0, false);
}

/* If nothing fits, uses the first of each list. The levels after the first one begin as that one ended. */
static void search(struct tpat_example *x, int level)
{
	x->level = level;
	if (search_with(x, x->multiples) || search_with(x, true))
		return;
	x->multiples = false;
	for (int class = 0; class < CLASSES; class ++)
		set_class(x, class, 0);
}

static int take_profiles(struct tpat_example *x, const struct tpat_strings *profile, struct err *e)
{
	struct tpat_strings all;
	TRY(tpat_profiles(&all, x->graph, profile, x->arena, e));
	for (int i = 0; i < all.n; i++) {
		struct tpat_profile p;
		TRY(tpat_profile_read(&p, x->graph, all.at[i], x->arena, e));
		for (int k = 0; k < p.input->rank; k++) {
			struct symbol *s = find(x, p.input->dim[k]);
			for (int level = 0; s && level < LEVELS; level++)
				s->value[level] = p.shape[level].dim[k].value;
			if (s)
				s->given = true;
		}
	}
	return 0;
}

int tpat_example(struct tpat_example **out, struct graph *g, const struct tpat_strings *profile, struct arena *a,
                 struct err *e)
{
	struct tpat_example *x = *out = NEW(a, struct tpat_example);
	x->graph = g;
	x->arena = a;
	x->positive = map_new(a);
	find_symbols(x);
	TRY(take_profiles(x, profile, e));
	if (x->symbols.n)
		find_demands(x);
	find_multiples(x);
	search(x, USUAL);
	search(x, LEAST);
	search(x, MOST);
	return 0;
}

int64_t tpat_example_extent(struct tpat_example *x, expr extent, int level)
{
	int64_t n = 1;
	x->level = level;
	ir_eval_int(extent, value_of, x, &n);
	return n < 1 ? 1 : n;
}
