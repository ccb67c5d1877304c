/* TfIdfVectorizer: counts how often each n-gram of a pool occurs in each row of tokens. The n tokens of an n-gram are
 * the same distance apart, one to max_skip_count + 1. Every position searches its n-gram in the sorted pool by
 * bisection and counts it. TF gives the counts, IDF the weight of each n-gram found, TFIDF their product. Strings are
 * not supported. Source: ONNX, operator TfIdfVectorizer, opset 9. */
#include "ops/lower/lower.h"

#include <stdlib.h>
#include <string.h>

struct gram {
	const int64_t *token;
	int64_t column;
	int n;
};

static int by_token(const void *a, const void *b)
{
	const struct gram *x = a, *y = b;

	for (int k = 0; k < x->n; k++)
		if (x->token[k] != y->token[k])
			return x->token[k] < y->token[k] ? -1 : 1;
	return x->token < y->token ? -1 : x->token > y->token;
}

struct counter {
	struct lower *l;
	struct value x;
	bool one; /* x has no rows */
	int64_t skips, columns;
	struct value count; /* i32[rows, columns], so far */
	bool counted;
};

static expr rows_of(const struct counter *c)
{
	return c->one ? idx(c->l, 1) : value_dim(c->x, 0);
}

/* The sorted n-grams as a constant [2^steps, n], the last one repeated, and their columns. */
static int new_pool(struct counter *c, const struct gram *g, int64_t count, int n, int64_t steps, struct value *pool,
                    struct value *column)
{
	struct lower *l = c->l;
	struct tensor *tokens = NEW(l->program->arena, struct tensor), *columns = NEW(l->program->arena, struct tensor);
	int64_t size = (int64_t)1 << steps;

	TRY(tensor_new(tokens, TYPE_I64, 2, (int64_t[]){ size, n }, l->program->arena, l->err));
	TRY(tensor_new(columns, TYPE_I32, 1, &size, l->program->arena, l->err));
	for (int64_t i = 0; i < size; i++) {
		const struct gram *from = &g[i < count ? i : count - 1];

		for (int k = 0; k < n; k++)
			tensor_set_int(tokens, i * n + k, from->token[k]);
		tensor_set_int(columns, i, from->column);
	}
	*pool = lower_data(l, "pool", tokens);
	*column = lower_data(l, "column", columns);
	return 0;
}

/* Token k of the n-gram at s: (row, skip, place). */
static expr token(const struct counter *c, const struct space *s, int k)
{
	expr extent = value_dim(c->x, value_rank(c->x) - 1);
	expr place = min_(add(s->at[2], muli(addi(s->at[1], 1), k)), addi(extent, -1));

	return cast(c->one ? load(c->x, &place) : load_list(c->x, 2, s->at[0], place), TYPE_I64);
}

/* The condition that entry `i` of the pool is not greater than the n-gram at s, in lexicographic order. */
static expr not_above(const struct counter *c, struct value pool, int n, expr i, const struct space *s)
{
	expr e = NULL;

	for (int k = n - 1; k >= 0; k--) {
		expr p = load_list(pool, 2, cast(i, TYPE_INDEX), idx(c->l, k)), t = token(c, s, k);

		e = e ? or_(lt(p, t), and_(eq(p, t), e)) : le(p, t);
	}
	return e;
}

/* Counts the n-grams of length n, the `count` ones of g. */
static int count_length(struct counter *c, struct gram *g, int64_t count, int n)
{
	struct lower *l = c->l;
	expr extent = value_dim(c->x, value_rank(c->x) - 1), here, next, found, first, start;
	struct space s = space_new(l, 3, (expr[]){ rows_of(c), idx(l, n == 1 ? 1 : c->skips), extent });
	struct space out = space_new(l, 2, (expr[]){ rows_of(c), idx(l, c->columns) });
	struct value pool, column, place;
	int64_t steps = 0;

	qsort(g, (size_t)count, sizeof *g, by_token);
	while ((int64_t)1 << steps < count)
		steps++;
	TRY(new_pool(c, g, count, n, steps, &pool, &column));
	here = num(l, TYPE_I32, 0);
	for (int64_t half = (int64_t)1 << steps >> 1; half; half /= 2) {
		next = addi(here, half);
		next = select_(not_above(c, pool, n, next, &s), next, here);
		place = lower_map(l, "entry", TYPE_I32, &s, next);
		here = load(place, s.at);
	}
	here = cast(here, TYPE_INDEX);
	found = lt(add(s.at[2], muli(addi(s.at[1], 1), n - 1)), extent);
	for (int k = 0; k < n; k++)
		found = and_(found, eq(load_list(pool, 2, here, idx(l, k)), token(c, &s, k)));
	first = cast(load(column, &here), TYPE_INDEX);
	start = c->counted ? load(c->count, out.at) : num(l, TYPE_I32, 0);
	c->count = lower_scatter(l, "count", TYPE_I32, &out, start, &s, IR_SUM, (expr[]){ s.at[0], first },
	                         num(l, TYPE_I32, 1), found);
	c->counted = true;
	return 0;
}

/* Reads the pool's n-grams, in the pool's order, and their lengths. */
static int read_pool(struct counter *c, struct gram **out, int64_t *first, int *lengths)
{
	struct lower *l = c->l;
	const int64_t *pool, *start, *column;
	int tokens = lower_int_list(l, "pool_int64s", &pool), columns = lower_int_list(l, "ngram_indexes", &column);
	int64_t n = 0;

	*lengths = lower_int_list(l, "ngram_counts", &start);
	*out = NEWN(l->program->arena, struct gram, tokens + 1);
	if (*lengths < 1 || *lengths > 64)
		return lower_fail(l, ERR_MODEL, "ngram_counts has %d elements; it must have 1 to 64.", *lengths);
	for (int k = 0; k < *lengths; k++) {
		int64_t end = k + 1 < *lengths ? start[k + 1] : tokens;

		first[k] = n;
		if (start[k] < 0 || end < start[k] || end > tokens || (end - start[k]) % (k + 1))
			return lower_fail(
			        l, ERR_MODEL,
			        "ngram_counts places the %d-grams at %lld to %lld of %d tokens, which is not possible.",
			        k + 1, (long long)start[k], (long long)end, tokens);
		for (int64_t i = start[k]; i < end; i += k + 1, n++) {
			if (n >= columns || column[n] < 0 || column[n] > INT32_MAX - 1)
				return lower_fail(l, ERR_MODEL, "ngram_indexes has no column for n-gram %lld.",
				                  (long long)n);
			(*out)[n] = (struct gram){ pool + i, column[n], k + 1 };
		}
	}
	first[*lengths] = n;
	for (int i = 0; i < columns; i++)
		c->columns = column[i] >= c->columns ? column[i] + 1 : c->columns;
	return 0;
}

static int weighted(struct counter *c)
{
	struct lower *l = c->l;
	const char *mode = lower_word(l, "mode");
	struct space s = space_new(l, 1, (expr[]){ idx(l, c->columns) }), rows;
	const double *at;
	const int64_t *column;
	int n = lower_floats(l, "weights", &at), columns = lower_int_list(l, "ngram_indexes", &column);
	struct tensor *data = NEW(l->program->arena, struct tensor);
	struct value weight;
	expr e, w;

	rows = c->one ? s : space_new(l, 2, (expr[]){ rows_of(c), idx(l, c->columns) });
	e = load_list(c->count, 2, c->one ? idx(l, 0) : rows.at[0], rows.at[rows.rank - 1]);
	w = num(l, TYPE_F32, 1);
	if (n && strcmp(mode, "TF") != 0) {
		if (n != columns)
			return lower_fail(l, ERR_MODEL, "there are %d weights for %d n-grams.", n, columns);
		TRY(tensor_new(data, TYPE_F32, 1, &c->columns, l->program->arena, l->err));
		for (int i = 0; i < n; i++)
			tensor_set_float(data, column[i], at[i]);
		weight = lower_data(l, "weight", data);
		w = load(weight, &rows.at[rows.rank - 1]);
	}
	if (!strcmp(mode, "IDF"))
		e = select_(gt(e, with(e, 0)), w, with(w, 0));
	else
		e = mul(cast(e, TYPE_F32), w);
	lower_output(l, 0, lower_map(l, NULL, TYPE_F32, &rows, e));
	return 0;
}

static int lower(struct lower *l)
{
	struct counter c = { .l = l, .x = lower_input(l, 0), .skips = lower_int(l, "max_skip_count") + 1 };
	int64_t least = lower_int(l, "min_gram_length"), most = lower_int(l, "max_gram_length"), first[65] = { 0 };
	struct gram *g;
	int lengths;

	if (lower_has(l, "pool_strings"))
		return lower_fail(l, ERR_UNSUPPORTED, "its pool holds strings.");
	if (value_rank(c.x) < 1 || value_rank(c.x) > 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have one or two.", value_rank(c.x));
	if (c.skips < 1 || c.skips > INT32_MAX || least < 1 || most < least)
		return lower_fail(l, ERR_MODEL,
		                  "n-grams of %lld to %lld tokens with at most %lld skips are not possible.",
		                  (long long)least, (long long)most, (long long)c.skips - 1);
	c.one = value_rank(c.x) == 1;
	TRY(read_pool(&c, &g, first, &lengths));
	for (int n = 1; n <= lengths; n++)
		if (n >= least && n <= most && first[n] > first[n - 1])
			TRY(count_length(&c, g + first[n - 1], first[n] - first[n - 1], n));
	if (!c.counted) {
		struct space out = space_new(l, 2, (expr[]){ rows_of(&c), idx(l, c.columns) });

		c.count = lower_map(l, "count", TYPE_I32, &out, num(l, TYPE_I32, 0));
	}
	return weighted(&c);
}

const struct op_def op_tfidf = {
	.name = "TfIdfVectorizer",
	.since = { 9 },
	.formula = "y[n, column] = how often the column's n-gram is found in row n, weighted",
	.inputs = { IN("x", TS_INDICES) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_WORD("mode", "TF|IDF|TFIDF", "counts, weights of what is found, or both"),
	           ATTR_INT_REQUIRED("min_gram_length", "tokens of the shortest n-gram"),
	           ATTR_INT_REQUIRED("max_gram_length", "tokens of the longest"),
	           ATTR_INT_REQUIRED("max_skip_count", "most places between neighbours"),
	           ATTR_LONG_INTS("ngram_counts", "where 1-grams, 2-grams ... begin in the pool"),
	           ATTR_LONG_INTS("ngram_indexes", "the column of each n-gram"),
	           ATTR_LONG_INTS("pool_int64s", "the n-grams, one after the other"),
	           ATTR_STRINGS("pool_strings", "not supported"), ATTR_FLOATS("weights", "one for each n-gram") },
	.lower = lower,
	.cases = { "x:i64[N,33] mode=TF min_gram_length=1 max_gram_length=2 max_skip_count=3 ngram_counts=0,2 "
	           "ngram_indexes=0,3,1,2 pool_int64s=0,1,1,0,1,1",
	           "x:i32[N] mode=TFIDF min_gram_length=2 max_gram_length=2 max_skip_count=0 ngram_counts=0,0 "
	           "ngram_indexes=1,0,2 pool_int64s=1,0,1,1,0,0 weights=0.5,2,1",
	           "x:i32[N,C] mode=IDF min_gram_length=3 max_gram_length=3 max_skip_count=1 ngram_counts=0,0,0 "
	           "ngram_indexes=0 pool_int64s=1,0,1" },
};
