/* Random extents for a tensor program, which satisfy what its operators demand. See verify_draw.h. */
#include "check/verify_draw.h"

enum {
	TRIES = 280,    /* per attempt, to find extents that satisfy the operators' demands */
	MULTIPLES = 40, /* tries with any extents, before multiples of powers of two where demands fail */
};

/* Factor of the extents in each group of attempts; 0: no extent is larger than SMALL. */
enum { SMALL = 4, LARGEST_SCALE = 32 };
static const int scales[DRAW_SCALES] = { 1, 0, 2, 4, 8, 16, LARGEST_SCALE, 1 };

uint64_t draw_next(struct draw *d)
{
	return d->state = hash_u64(d->state, 0x9e3779b97f4a7c15u);
}

/* Small and odd sizes, and some beyond a warp or a block's tile. Later attempts use smaller and larger ranges, for
 * programs whose results would be empty; every other one makes all extents equal, for programs that need that. */
static int64_t random_extent(struct draw *d)
{
	static const int range[][2] = { { 5, 16 }, { 1, 8 }, { 17, 40 } };
	int which = d->run % 3, scale = scales[d->attempt / DRAW_PER_SCALE];
	if (scale == LARGEST_SCALE) { /* small ones have been tried */
		static const int more[DRAW_PER_SCALE] = { 1, 1, 2, 4 };
		scale *= more[d->attempt % DRAW_PER_SCALE];
		which = which == 1 ? 0 : which;
	}
	uint64_t random = d->attempt % 2 ? hash_u64(d->c->seed, (uint64_t)(d->run * 64 + d->attempt)) : draw_next(d);
	int width = range[which][1] - range[which][0] + 1;
	int64_t n = scale ? (range[which][0] + (int)(random % (uint64_t)width)) * (int64_t)scale
	                  : 1 + (int64_t)(random % SMALL);
	return n >> d->halved ? n >> d->halved : 1;
}

/* Multiples of 2, 4, 8 ..., small ones first. */
static int64_t random_multiple(struct draw *d)
{
	int try = d->try - MULTIPLES;
	return (int64_t)(1 + draw_next(d) % (try < TRIES / 4 ? 2 : 5)) << (1 + try % 6);
}

/* Picks a new symbol's value. */
static int64_t draw_extent(struct draw *d, expr symbol)
{
	if (ir_value_find(d->c->reference, symbol))
		return 1 + (int64_t)(draw_next(d) % DRAW_EXTENTS);
	bool multiple = d->try >= MULTIPLES && map_get(&d->tight, symbol->name);
	return multiple ? random_multiple(d) : random_extent(d);
}

bool draw_symbol(void *user, expr symbol, int64_t *value)
{
	struct draw *d = user;
	uintptr_t known = (uintptr_t)map_get(&d->symbols, symbol->name);
	const struct ir_value *derived = known ? NULL : ir_value_find(d->c->reference, symbol);
	if (derived && derived->known)
		return ir_eval_int(derived->known, draw_symbol, d, value);
	if (!known) {
		known = (uintptr_t)draw_extent(d, symbol) + 1;
		d->drawn = true;
		map_put(&d->symbols, symbol->name, (void *)known);
	}
	*value = (int64_t)(known - 1);
	return true;
}

/* Given extents determine the symbols that are alone in them. */
static int take_given(struct draw *d, const struct ir_buffer *b, int rank, const int64_t *dim)
{
	if (rank != b->rank)
		return err_set(d->err, ERR_USAGE, "Input %s of plugin %s has %d dimensions, not %d.", b->name,
		               d->c->plugin, b->rank, rank);
	for (int k = 0; k < rank; k++) {
		int64_t fixed;
		if (ir_const_int(b->dim[k], &fixed) && fixed != dim[k])
			return err_set(d->err, ERR_USAGE,
			               "Input %s of plugin %s has extent %lld at dimension %d, not %lld.", b->name,
			               d->c->plugin, (long long)fixed, k, (long long)dim[k]);
		if (b->dim[k]->op != IR_SYMBOL)
			continue;
		uintptr_t known = (uintptr_t)map_get(&d->symbols, b->dim[k]->name);
		int input, axis;
		if (known && known != (uintptr_t)dim[k] + 1 &&
		    ir_symbol_source(d->c->reference, b->dim[k], &input, &axis))
			return err_set(d->err, ERR_USAGE,
			               "Input %s of plugin %s has extent %lld at dimension %d, and input %s must have "
			               "the same at dimension %d, not %lld.",
			               d->c->reference->inputs.at[input]->name, d->c->plugin, (long long)known - 1,
			               axis, b->name, k, (long long)dim[k]);
		map_put(&d->symbols, b->dim[k]->name, (void *)((uintptr_t)dim[k] + 1));
	}
	return 0;
}

/* The elements of a given tensor that decide extents. */
static void take_values(struct draw *d, const struct ir_buffer *b, const struct tensor *t)
{
	int64_t n = tensor_count(t);
	vec_each (v, &d->c->reference->values)
		if (v->buf == b && v->element < n && tensor_int(t, v->element) >= 0)
			map_put(&d->symbols, v->symbol->name, (void *)((uintptr_t)tensor_int(t, v->element) + 1));
}

static int take_all_given(struct draw *d)
{
	const struct ir_program *p = d->c->reference;
	for (int i = 0; i < p->inputs.n; i++) {
		const struct verify_input *in = &d->c->input[i];
		if (in->tensor)
			TRY(take_given(d, p->inputs.at[i], in->tensor->rank, in->tensor->dim));
		else if (in->rank >= 0)
			TRY(take_given(d, p->inputs.at[i], in->rank, in->dim));
		if (in->tensor && in->tensor->data)
			take_values(d, p->inputs.at[i], in->tensor);
	}
	return 0;
}

/* ---- Extents that operators demand. */

bool draw_known(void *user, expr symbol, int64_t *value)
{
	struct draw *d = user;
	uintptr_t known = (uintptr_t)map_get(&d->symbols, symbol->name);
	const struct ir_value *derived = known ? NULL : ir_value_find(d->c->reference, symbol);
	if (derived && derived->known)
		return ir_eval_int(derived->known, draw_known, d, value);
	*value = (int64_t)known - 1;
	return known != 0;
}

static bool is_open(struct draw *d, expr e)
{
	int64_t unused;
	const struct ir_value *value = ir_value_find(d->c->reference, e);
	return e->op == IR_SYMBOL && !draw_known(d, e, &unused) && (!value || value->buf) &&
	       !ir_size_find(d->c->reference, e);
}

enum { FACTORS = 12 }; /* open symbols of an extent, at most */

struct open_symbols {
	struct draw *d;
	expr at[FACTORS];
	int n;
};

static void note_open(void *user, expr e)
{
	struct open_symbols *s = user;
	if (is_open(s->d, e) && s->n < FACTORS)
		s->at[s->n++] = e;
}

static void set(struct draw *d, expr symbol, int64_t value)
{
	map_put(&d->symbols, symbol->name, (void *)((uintptr_t)value + 1));
	d->drawn = true;
}

/* A random divisor of `n`, often a small one. */
static int64_t random_divisor(struct draw *d, int64_t n)
{
	int64_t found = 1, most = draw_next(d) % 2 ? 16 : 4096, seen = 1;
	for (int64_t k = 2; k <= most && k <= n; k++)
		if (n % k == 0 && draw_next(d) % (uint64_t)++seen == 0)
			found = k;
	return found;
}

/* A demand on a product, such as Reshape's on the number of elements: its open symbols become random factors of the
 * demanded number, over what the product is without them. Leaves extents of another form to chance. */
static void solve_product(struct draw *d, const struct ir_demand *x, int which)
{
	struct open_symbols s = { .d = d };
	int64_t other, once;
	ir_walk(x->extent[which], note_open, &s);
	if (!s.n || s.n == FACTORS || !ir_eval_int(x->extent[!which], draw_symbol, d, &other) || other <= 0)
		return;
	s.n = 0; /* the other side may have drawn some of them */
	ir_walk(x->extent[which], note_open, &s);
	for (int i = 0; i < s.n; i++)
		set(d, s.at[i], 1);
	if (!s.n || !ir_eval_int(x->extent[which], draw_known, d, &once) || once <= 0 || other % once) {
		for (int i = 0; i < s.n; i++) /* open again */
			map_put(&d->symbols, s.at[i]->name, NULL);
		return;
	}
	int64_t left = other / once;
	for (int i = 0; i < s.n; i++) {
		int last = (int)(draw_next(d) % (uint64_t)(s.n - i));
		expr symbol = s.at[i + last];
		s.at[i + last] = s.at[i];
		int64_t factor = i + 1 < s.n ? random_divisor(d, left) : left;
		set(d, symbol, factor);
		left /= factor;
	}
}

static bool has_open(struct draw *d, expr e)
{
	struct open_symbols s = { .d = d };
	ir_walk(e, note_open, &s);
	return s.n > 0;
}

/* A symbol that must be at most, or at least, `bound`: half of the time that, else any such number. Another demand on
 * it may ask for more. */
static int64_t bounded(struct draw *d, bool at_most, int64_t bound)
{
	int64_t any = random_extent(d);
	return draw_next(d) % 2 || (at_most ? any > bound : any < bound) ? bound : any;
}

/* Sets a symbol to its demanded value; if 1 is allowed, to 1 half of the time. */
static void solve(struct draw *d, const struct ir_demand *x)
{
	int which = !is_open(d, x->extent[0]);
	int64_t other;
	if (x->relation == IR_SAME && !is_open(d, x->extent[which])) {
		bool open = has_open(d, x->extent[0]);
		solve_product(d, x, open && has_open(d, x->extent[1]) ? (int)(draw_next(d) % 2) : !open);
		return;
	}
	bool one = (x->relation == IR_BROADCAST || (x->relation == IR_ONE_OR && which == 0)) && draw_next(d) % 2;
	if (!is_open(d, x->extent[which]) || !ir_eval_int(x->extent[!which], draw_symbol, d, &other) || other < 0)
		return;
	if (x->relation == IR_AT_MOST)
		other = bounded(d, which == 0, other);
	if (is_open(d, x->extent[which])) /* the other side may depend on it */
		map_put(&d->symbols, x->extent[which]->name, (void *)((uintptr_t)(one ? 1 : other) + 1));
	d->drawn = true;
}

static const struct ir_demand *first_broken(struct draw *d, const struct ir_demand *x, int n)
{
	int64_t holds;
	for (int i = 0; i < n; i++)
		if (ir_eval_int(ir_demand_holds(&x[i]), draw_known, d, &holds) && !holds)
			return &x[i];
	return NULL;
}

static int try_extents(struct draw *d, const struct ir_demand **broken)
{
	const struct ir_program *p = d->c->reference;
	int64_t unused;
	d->symbols = map_new(d->arena);
	TRY(take_all_given(d));
	vec_each (x, &p->demands)
		solve(d, x);
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++)
			ir_eval_int((*b)->dim[k], draw_symbol, d, &unused);
	vec_each (v, &p->values)
		if (v->buf)
			draw_symbol(d, v->symbol, &unused);
	*broken = first_broken(d, p->demands.at, p->demands.n);
	if (!*broken)
		*broken = first_broken(d, d->c->demand, d->c->demands);
	return 0;
}

static void note_tight(void *user, expr e)
{
	struct draw *d = user;
	if (e->op == IR_SYMBOL)
		map_put(&d->tight, e->name, d);
}

int draw_extents(struct draw *d)
{
	const struct ir_demand *broken = NULL;
	const char *text[2];
	int64_t number;
	d->tight = map_new(d->arena);
	for (d->try = 0; d->try < TRIES && (d->try == 0 || d->drawn); d->try++) {
		d->drawn = false;
		TRY(try_extents(d, &broken));
		if (!broken)
			return 0;
		for (int k = 0; k < 2; k++)
			ir_walk(broken->extent[k], note_tight, d);
	}
	for (int k = 0; k < 2; k++)
		text[k] = ir_eval_int(broken->extent[k], draw_known, d, &number)
		                  ? arena_printf(d->arena, "%lld", (long long)number)
		                  : "?";
	return err_set(d->err, ERR_MODEL, "node %s: %s.", broken->node,
	               ir_demand_text(broken, text[0], text[1], d->arena));
}
