/* Random shapes and values for a tensor program, tried until the program accepts them. */
#include "check/verify.h"

#include <string.h>

#include "check/index_range.h"
#include "check/sample.h"
#include "eval/eval.h"

enum {
	SCALE_ATTEMPTS = 4,     /* attempts per scale of extents */
	TRIES = 280,            /* per attempt, to find extents that satisfy the operators' demands */
	ELEMENTS_MAX = 1 << 22, /* per random tensor */
	EXTENTS = 5,            /* maximum of inputs that determine extents of results */
	MULTIPLES = 40,         /* tries with any extents, before multiples of powers of two where demands fail */
	INDEX_VALUES = 4,       /* maximum of inputs that index sizes found at run time */
	FULL_RUNS = 3,          /* one per range of extents, with a larger budget than later ones */
	HALVINGS = 5,           /* of extents that take too much work */
};

/* Operations per run; the emulator does about 1e7 multiplications and additions per second. */
static const double FULL_WORK = 1e7, LATER_WORK = 5e5;

/* Factor of the extents in each group of attempts; 0: no extent is larger than SMALL. */
enum { SMALL = 4 };
static const int scales[] = { 1, 0, 2, 4, 8, 16, 32, 1 };
enum { SCALES = sizeof scales / sizeof scales[0], ATTEMPTS = SCALES * SCALE_ATTEMPTS };

struct draw {
	const struct verify_case *c;
	struct map symbols; /* name -> value + 1: the model's demands have symbols of the same names */
	struct map tight;   /* symbols in demands that failed */
	struct arena *arena;
	uint64_t state;
	int run, attempt, try;
	int halved; /* number of times */
	bool drawn; /* at least one extent is random */
	struct err *err;
};

static uint64_t draw_next(struct draw *d)
{
	return d->state = hash_u64(d->state, 0x9e3779b97f4a7c15u);
}

/* Small and odd sizes, and some beyond a warp or a block's tile. Later attempts use smaller and larger ranges, for
 * programs whose results would be empty; every other one makes all extents equal, for programs that need that. */
static int64_t random_extent(struct draw *d)
{
	static const int range[][2] = { { 5, 16 }, { 1, 8 }, { 17, 40 } };
	int which = d->run % 3, scale = scales[d->attempt / SCALE_ATTEMPTS];
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
		return 1 + (int64_t)(draw_next(d) % EXTENTS);
	bool multiple = d->try >= MULTIPLES && map_get(&d->tight, symbol->name);
	return multiple ? random_multiple(d) : random_extent(d);
}

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	struct draw *d = user;
	uintptr_t known = (uintptr_t)map_get(&d->symbols, symbol->name);
	const struct ir_value *derived = known ? NULL : ir_value_find(d->c->reference, symbol);
	if (derived && derived->known)
		return ir_eval_int(derived->known, symbol_value, d, value);
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

static bool known_value(void *user, expr symbol, int64_t *value)
{
	struct draw *d = user;
	uintptr_t known = (uintptr_t)map_get(&d->symbols, symbol->name);
	const struct ir_value *derived = known ? NULL : ir_value_find(d->c->reference, symbol);
	if (derived && derived->known)
		return ir_eval_int(derived->known, known_value, d, value);
	*value = (int64_t)known - 1;
	return known != 0;
}

static bool is_open(struct draw *d, expr e)
{
	int64_t unused;
	const struct ir_value *value = ir_value_find(d->c->reference, e);
	return e->op == IR_SYMBOL && !known_value(d, e, &unused) && (!value || value->buf) &&
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
	if (!s.n || s.n == FACTORS || !ir_eval_int(x->extent[!which], symbol_value, d, &other) || other <= 0)
		return;
	s.n = 0; /* the other side may have drawn some of them */
	ir_walk(x->extent[which], note_open, &s);
	for (int i = 0; i < s.n; i++)
		set(d, s.at[i], 1);
	if (!s.n || !ir_eval_int(x->extent[which], known_value, d, &once) || once <= 0 || other % once) {
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
	if (!is_open(d, x->extent[which]) || !ir_eval_int(x->extent[!which], symbol_value, d, &other) || other < 0)
		return;
	if (is_open(d, x->extent[which])) /* the other side may depend on it */
		map_put(&d->symbols, x->extent[which]->name, (void *)((uintptr_t)(one ? 1 : other) + 1));
	d->drawn = true;
}

static const struct ir_demand *first_broken(struct draw *d, const struct ir_demand *x, int n)
{
	int64_t holds;
	for (int i = 0; i < n; i++)
		if (ir_eval_int(ir_demand_holds(&x[i]), known_value, d, &holds) && !holds)
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
			ir_eval_int((*b)->dim[k], symbol_value, d, &unused);
	vec_each (v, &p->values)
		if (v->buf)
			symbol_value(d, v->symbol, &unused);
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

static int draw_extents(struct draw *d)
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
		text[k] = ir_eval_int(broken->extent[k], known_value, d, &number)
		                  ? arena_printf(d->arena, "%lld", (long long)number)
		                  : "?";
	return err_set(d->err, ERR_MODEL, "node %s: %s.", broken->node,
	               ir_demand_text(broken, text[0], text[1], d->arena));
}

/* ---- Values. */

/* The number of positions an input indexes: the extent it reads from or is compared with. */
static int64_t positions(struct draw *d, const struct index_range *r)
{
	int64_t n;
	if (!ir_eval_int(r->limit, known_value, d, &n))
		return INDEX_VALUES;
	return n > 1 ? n : 1;
}

static void draw_values(struct draw *d, struct tensor *t, const struct index_range *r)
{
	uint64_t seed = draw_next(d);
	if (r->limit) {
		double n = (double)positions(d, r);
		tensor_random(t, seed, r->negative && type_is_signed(t->type) ? -n : 0, n - 1);
	} else if (type_is_float(t->type)) {
		tensor_random(t, seed, -2, 2);
	} else if (type_is_int(t->type)) { /* the range of 8-bit values, also when stored in 32 bits */
		tensor_random(t, seed, type_is_signed(t->type) ? -128 : 0, 127);
	} else {
		tensor_random(t, seed, 0, 1);
	}
}

/* An input whose elements decide extents or follow from them, such as the target of a Reshape, has the values that fit
 * the drawn extents. False for other inputs. */
static bool fill_known(struct draw *d, const struct ir_buffer *b, struct tensor *t)
{
	const struct ir_program *p = d->c->reference;
	bool decides = ir_value_is(p, b), all = b->content != NULL;
	int64_t n = tensor_count(t), x;
	if (!type_is_int(b->type))
		return false;
	if (decides)
		tensor_random(t, draw_next(d), 1, EXTENTS);
	for (int64_t k = 0; k < n && b->content; k++)
		if (b->content[k] && ir_eval_int(b->content[k], known_value, d, &x))
			tensor_set_int(t, k, x);
		else
			all = false;
	vec_each (v, &p->values)
		if (v->buf == b && known_value(d, v->symbol, &x))
			tensor_set_int(t, v->element, x);
	return decides || all;
}

static int draw_inputs(struct draw *d, struct tensor *inputs)
{
	const struct ir_program *p = d->c->reference;
	const struct index_range *range = index_ranges(p, d->arena);
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		int64_t dim[IR_MAX_RANK];
		if (d->c->input[i].tensor) {
			inputs[i] = *d->c->input[i].tensor;
			if (inputs[i].type != b->type)
				return err_set(d->err, ERR_USAGE, "Input %s of plugin %s is %s, not %s.", b->name,
				               d->c->plugin, type_name(b->type), type_name(inputs[i].type));
		}
		for (int k = 0; k < b->rank; k++)
			if (!ir_eval_int(b->dim[k], symbol_value, d, &dim[k]) || dim[k] < 0)
				return err_set(d->err, ERR_MODEL, "Extent %d of input %s cannot be computed.", k,
				               b->name);
		if (inputs[i].data || d->c->input[i].tensor)
			continue;
		TRY(tensor_new(&inputs[i], b->type, b->rank, dim, d->arena, d->err));
		if (tensor_count(&inputs[i]) > ELEMENTS_MAX && d->c->input[i].rank < 0 && d->attempt)
			return err_set(d->err, ERR_MODEL, "Input %s becomes too large.", b->name);
	}
	for (int i = 0; i < p->inputs.n; i++)
		if (!d->c->input[i].tensor && !fill_known(d, p->inputs.at[i], &inputs[i]))
			draw_values(d, &inputs[i], &range[p->inputs.at[i]->id]);
	return 0;
}

/* Rejects extents that make an inner tensor empty, such as a convolution over an input that is too small: models are
 * hardly made for them. They count if nothing better is found. */
static int refuse_empty(struct draw *d)
{
	int64_t n;
	vec_each (b, &d->c->reference->buffers)
		for (int k = 0; k < (*b)->rank && (*b)->role == IR_TEMP; k++)
			if ((*b)->dim[k]->op != IR_CONST_INT && ir_eval_int((*b)->dim[k], known_value, d, &n) && n <= 0)
				return err_set(d->err, ERR_MODEL, "With these extents %s becomes empty.", (*b)->name);
	return 0;
}

/* Extents and values; `last`: also accept extents that make a tensor empty. */
static int draw_all(struct draw *d, struct tensor *inputs, bool last)
{
	memset(inputs, 0, sizeof *inputs * (size_t)d->c->reference->inputs.n);
	TRY(draw_extents(d));
	TRY(draw_inputs(d, inputs));
	return last ? 0 : refuse_empty(d);
}

static const struct tensor **pointers_to(const struct draw *d, const struct tensor *inputs)
{
	int n = d->c->reference->inputs.n;
	const struct tensor **in = NEWN(d->arena, const struct tensor *, n + 1);
	for (int i = 0; i < n; i++)
		in[i] = &inputs[i];
	return in;
}

/* Halves the extents until the run is cheap, as long as the program accepts them. */
static void lighten(struct draw *d, struct tensor *inputs, uint64_t state)
{
	const struct ir_program *p = d->c->reference;
	struct tensor *smaller = NEWN(d->arena, struct tensor, p->inputs.n + 1);
	double work = sample_work(p, pointers_to(d, inputs)), less, most = d->run < FULL_RUNS ? FULL_WORK : LATER_WORK;
	struct map symbols = d->symbols;
	struct err unused = { 0 }, *e = d->err;
	d->err = &unused;
	while (d->drawn && work > most && d->halved < HALVINGS) {
		d->halved++;
		d->state = state;
		if (draw_all(d, smaller, false) < 0 || (less = sample_work(p, pointers_to(d, smaller))) >= work)
			break;
		memcpy(inputs, smaller, sizeof *inputs * (size_t)p->inputs.n);
		symbols = d->symbols;
		work = less;
	}
	d->symbols = symbols;
	d->err = e;
}

static int try_once(struct draw *d, struct tensor *inputs, struct tensor *want, bool last)
{
	const struct ir_program *p = d->c->reference;
	uint64_t state = d->state;
	d->halved = 0;
	TRY(draw_all(d, inputs, last));
	if (d->c->most_work == 0) /* else the run may be large: not all results are computed here */
		lighten(d, inputs, state);
	const struct tensor **in = pointers_to(d, inputs);
	if (!want)
		return 0;
	if (d->c->most_work > 0 && sample_work(p, in) > d->c->most_work) {
		memset(want, 0, sizeof *want * (size_t)p->outputs.n);
		return 0;
	}
	return eval_program(p, in, want, NULL, d->arena, d->err);
}

static bool is_dynamic(const struct ir_program *p)
{
	int64_t n;
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++)
			if (!ir_const_int((*b)->dim[k], &n))
				return true;
	return false;
}

static int keep(struct tensor *t, struct arena *a, struct err *e)
{
	struct tensor copy;
	if (!t->data)
		return 0;
	TRY(tensor_new(&copy, t->type, t->rank, t->dim, a, e));
	memcpy(copy.data, t->data, (size_t)tensor_bytes(t));
	*t = copy;
	return 0;
}

/* Copies the drawn tensors out of the attempt's memory. */
static int keep_all(const struct draw *d, struct tensor *inputs, struct tensor *want, struct arena *a)
{
	const struct ir_program *p = d->c->reference;
	for (int i = 0; i < p->inputs.n; i++)
		if (!d->c->input[i].tensor)
			TRY(keep(&inputs[i], a, d->err));
	for (int o = 0; want && o < p->outputs.n; o++)
		TRY(keep(&want[o], a, d->err));
	return 0;
}

/* One attempt in its own arena: the program's may be `a`, where its expressions would stay. */
static int attempt(struct draw *d, struct tensor *inputs, struct tensor *want, bool last, struct arena *a)
{
	d->arena = arena_new();
	int rc = try_once(d, inputs, want, last);
	if (rc == 0)
		rc = keep_all(d, inputs, want, a);
	arena_free(d->arena);
	return rc;
}

int verify_draw(struct tensor *inputs, struct tensor *want, const struct verify_case *c, int run, struct arena *a,
                struct err *e)
{
	struct draw d = { .c = c, .run = run, .err = e };
	int attempts = is_dynamic(c->reference) ? ATTEMPTS : 1, rc;
	char hash[33];
	ir_hash(c->reference, hash); /* not the name, which differs between builds */
	do {
		d.state = hash_u64(hash_str(c->seed, hash), (uint64_t)(run * ATTEMPTS + d.attempt));
		rc = attempt(&d, inputs, want, d.attempt + SCALE_ATTEMPTS >= attempts, a);
		if (rc != ERR_MODEL || d.attempt + 1 == attempts)
			break;
		err_clear(e);
	} while (++d.attempt < attempts);
	if (rc == ERR_MODEL && attempts > 1 && d.drawn)
		err_advise(e, "No extents that fit were found in %d attempts; give them with --shape NAME:1x3x64x64.",
		           attempts);
	return rc;
}
