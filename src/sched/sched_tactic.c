/* What to do with a whole program, for several sets of extents at once. Kernels are not made here; see sched.h. */
#include "sched/build.h"

#include <string.h>

/* How much slower the usual extents' choice must be at other extents for these to get kernels of their own. */
static const double WORTH = 1.2;

enum { SMALL = 4, USUAL = 64, LARGE = 1024 };

/* ---- Points. */

struct sched_points sched_points_of(const struct sched_target *t, const char *const *symbol,
                                    const int64_t *const *value, int symbols, int n, int opt, struct arena *a)
{
	struct sched_points points = { .n = n, .opt = opt };
	ck(n > 0 && n <= SCHED_MAX_POINTS && opt < n);
	for (int i = 0; i < n; i++) {
		struct sched_extent *extent = NEWN(a, struct sched_extent, symbols + 1);
		for (int k = 0; k < symbols; k++)
			extent[k] = (struct sched_extent){ symbol[k], value[k][i] };
		points.target[i] = *t;
		points.target[i].extent = extent;
		points.target[i].extents = symbols;
	}
	return points;
}

struct sched_points sched_usual_points(struct ir_program *p, const struct sched_target *t)
{
	static const int64_t usual[] = { SMALL, USUAL, LARGE };
	struct {
		VEC(const char *);
	} symbol = { 0 };
	struct {
		VEC(const int64_t *);
	} value = { 0 };
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++) {
			const char *name = (*b)->dim[k]->op == IR_SYMBOL ? (*b)->dim[k]->name : NULL;
			bool known = !name;
			vec_each (have, &symbol)
				known = known || strcmp(*have, name) == 0;
			if (known)
				continue;
			vec_push(p->arena, &symbol, name);
			vec_push(p->arena, &value, usual);
		}
	/* What depends on numbers that are not known at launch is better done in one way: each way could need one more. */
	if (!symbol.n || p->values.n)
		return sched_points_of(t, NULL, NULL, 0, 1, 0, p->arena);
	return sched_points_of(t, symbol.at, value.at, symbol.n, 3, 1, p->arena);
}

/* ---- One point. */

static const struct sched_choice *decide(struct ir_program *p, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	sched_decide(p, t, NULL, list);
	return list;
}

double sched_time(const struct ir_program *p, const struct sched_choice *list, int from, int to,
                  const struct sched_target *t)
{
	double sum = 0;
	for (int i = from; i < to; i += sched_span(p, p->stages.at[i], &list[i]))
		sum += sched_estimate(p, p->stages.at[i], &list[i], t);
	return sum;
}

/* ---- Several points. */

int sched_part_end(const struct ir_program *p, const struct sched_choice *const *list, int n, int from)
{
	int end[SCHED_MAX_POINTS], most = from;
	for (int i = 0; i < n; i++) {
		end[i] = from + sched_span(p, p->stages.at[from], &list[i][from]);
		most = end[i] > most ? end[i] : most;
	}
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < n; i++)
			for (; end[i] < most; moved = true) {
				end[i] += sched_span(p, p->stages.at[end[i]], &list[i][end[i]]);
				most = end[i] > most ? end[i] : most;
			}
	}
	return most;
}

/* `own` at a point, but what is usual wherever that is hardly slower. */
static const struct sched_choice *adopt(const struct ir_program *p, const struct sched_choice *own,
                                        const struct sched_choice *usual, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	const struct sched_choice *both[] = { own, usual };
	for (int i = 0, end; i < p->stages.n; i = end) {
		end = sched_part_end(p, both, 2, i);
		bool better = sched_time(p, usual, i, end, t) > WORTH * sched_time(p, own, i, end, t);
		memcpy(list + i, (better ? own : usual) + i, sizeof *list * (size_t)(end - i));
	}
	return list;
}

struct sched_tactic sched_tactic_best(struct ir_program *p, const struct sched_points *points)
{
	struct sched_tactic best = { { 0 } };
	const struct sched_choice *usual = decide(p, &points->target[points->opt]);
	for (int i = 0; i < points->n; i++)
		best.choice[i] = i == points->opt
		                         ? usual
		                         : adopt(p, decide(p, &points->target[i]), usual, &points->target[i]);
	return best;
}
