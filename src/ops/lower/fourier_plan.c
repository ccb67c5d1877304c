/* Factors lengths, and computes in double what a transform's tables hold. */
#include "ops/lower/fourier_plan.h"

#include <math.h>
#include <string.h>

/* ---- Radices -------------------------------------------------------------------------------------------------------
 */

struct search {
	struct fourier_plan now, best;
	int64_t sum, best_sum;
};

/* Tries all products of radices up to `most`, in descending order, that make `rest`. */
static void search(struct search *s, int64_t rest, int64_t most)
{
	if (rest == 1) {
		bool better = s->now.n < s->best.n || (s->now.n == s->best.n && s->sum < s->best_sum);

		if (!s->best.n || better) {
			s->best = s->now;
			s->best_sum = s->sum;
		}
		return;
	}
	if (s->best.n && s->now.n + 1 > s->best.n)
		return;
	for (int64_t r = most < rest ? most : rest; r > 1; r--) {
		if (rest % r)
			continue;
		s->now.radix[s->now.n++] = r;
		s->sum += r;
		search(s, rest / r, r);
		s->sum -= r;
		s->now.n--;
	}
}

static void add_steps(struct fourier_plan *out, int64_t length)
{
	struct search s = { 0 };

	search(&s, length, FOURIER_RADIX_MAX);
	memcpy(out->radix + out->n, s.best.radix, sizeof out->radix[0] * (size_t)s.best.n);
	out->n += s.best.n;
}

/* The divisor of n that is nearest above its square root. */
static int64_t middle(int64_t n)
{
	int64_t best = n;

	for (int64_t d = 1; d * d <= n; d++)
		if (n % d == 0)
			best = n / d;
	return best;
}

void fourier_plan(struct fourier_plan *out, int64_t length)
{
	int64_t rest = length, part;

	*out = (struct fourier_plan){ .length = length };
	for (int64_t p = 2; rest > 1; p++) {
		if (p * p > rest)
			p = rest;
		for (; p > FOURIER_RADIX_MAX && rest % p == 0; rest /= p) { /* found in ascending order */
			memmove(out->radix + 1, out->radix, sizeof out->radix[0] * (size_t)out->n++);
			out->radix[0] = p;
		}
		while (p <= FOURIER_RADIX_MAX && rest % p == 0)
			rest /= p;
	}
	rest = length;
	for (int i = 0; i < out->n; i++)
		rest /= out->radix[i];
	part = rest > FOURIER_WHOLE ? middle(rest) : rest;
	add_steps(out, part);
	add_steps(out, rest / part);
}

int64_t fourier_smooth(int64_t least)
{
	int64_t best = 0, best_terms = 0;
	double end = (double)least * 1.25 + 8;

	for (int64_t n = least; (double)n <= end || !best; n++) {
		struct fourier_plan p;
		int64_t terms = 0, rest = n;

		for (int k = 2; k <= 7; k++)
			while (rest % k == 0)
				rest /= k;
		if (rest > 1 || n < 2)
			continue;
		fourier_plan(&p, n);
		for (int i = 0; i < p.n; i++)
			terms += p.radix[i] * n;
		terms *= p.n;
		if (!best || terms < best_terms) {
			best = n;
			best_terms = terms;
		}
	}
	return best;
}

/* ---- Numbers -------------------------------------------------------------------------------------------------------
 */

struct fourier_pair fourier_turn(int64_t j, int64_t n)
{
	int64_t quarter = 4 * j / n, rest = 4 * j % n; /* of a quarter turn, in n-ths */
	bool past = 2 * rest > n;
	double angle = 1.57079632679489661923 * (double)(past ? n - rest : rest) / (double)n;
	double c = cos(angle), s = 2 * rest == n ? c : sin(angle);
	struct fourier_pair x = past ? (struct fourier_pair){ s, c } : (struct fourier_pair){ c, s };

	switch (quarter) {
	case 0: return x;
	case 1: return (struct fourier_pair){ -x.im, x.re };
	case 2: return (struct fourier_pair){ -x.re, -x.im };
	default: return (struct fourier_pair){ x.im, -x.re };
	}
}

void fourier_compute(struct fourier_pair *x, int64_t length, struct arena *scratch)
{
	struct fourier_pair *y = NEWN(scratch, struct fourier_pair, length), *to = y, *from = x;
	struct fourier_pair *turn = NEWN(scratch, struct fourier_pair, length);
	struct fourier_plan plan;
	int64_t j = 1;

	for (int64_t i = 0; i < length; i++)
		turn[i] = fourier_turn(i, length);
	fourier_plan(&plan, length);
	for (int i = 0; i < plan.n; i++) {
		int64_t radix = plan.radix[i], k = j * radix, step = length / k;

		for (int64_t at = 0; at < length; at++) {
			struct fourier_pair sum = { 0 };
			int64_t row = at / step % j * step * radix + at % step;

			for (int64_t r = 0; r < radix; r++) {
				struct fourier_pair t = turn[at / step * r % k * step], z = from[row + r * step];

				sum.re += z.re * t.re + z.im * t.im;
				sum.im += z.im * t.re - z.re * t.im;
			}
			to[at] = sum;
		}
		from = to;
		to = to == y ? x : y;
		j = k;
	}
	if (from != x)
		memcpy(x, from, sizeof *x * (size_t)length);
}
