/* The functions of an attention kernel: what is computed for a query and a key. */
#include "sched/attend/attend_kernel.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

struct ir_lambda *attend_lambda(struct attend_place *at, struct ir_block *b, enum attend_role role)
{
	static const char *const name[ATTEND_ROLES] = {
		[ATTEND_QUERY] = "query_at",      [ATTEND_KEY] = "key_at",          [ATTEND_VALUE] = "value_at",
		[ATTEND_SCORE] = "score_at",      [ATTEND_KEPT_FROM] = "kept_from", [ATTEND_KEPT_TO] = "kept_to",
		[ATTEND_KEPT_SOME] = "kept_some", [ATTEND_KEPT_ALL] = "kept_all",   [ATTEND_SUM] = "sum_at",
		[ATTEND_LARGEST] = "largest_at",  [ATTEND_WEIGHT] = "weight_at",    [ATTEND_PUT] = "put",
		[ATTEND_RESULT] = "result_at",    [ATTEND_PLACE] = "place_at",
	};
	struct ir_lambda *lambda = emit_lambda(at->a->p, b, name[role]);
	at->function[role] = lambda->var;
	return lambda;
}

struct attend_function attend_begin(struct attend_place *at, struct ir_block *b, enum attend_role role, bool of_query,
                                    bool of_key, const char *place, int places)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	struct attend_function f = { .at = at, .lambda = attend_lambda(at, b, role) };
	if (of_query)
		f.query = emit_parameter(p, f.lambda, TYPE_INDEX, "query", attend_queries(a));
	if (of_key)
		f.key = emit_parameter(p, f.lambda, TYPE_INDEX, "key", a->dim[a->rows]);
	if (place)
		f.place = emit_parameter(p, f.lambda, TYPE_INDEX, place, ir_index(p->pool, places));
	return f;
}

void attend_parameter(struct attend_function *f, expr variable)
{
	take_parameter(f->at->a->p, f->lambda, variable->var);
}

expr attend_here(struct attend_function *f, expr e)
{
	return attend_expr(f->at, e, f->query, f->key, f->place);
}

void attend_emit_score(struct attend_place *at, struct ir_block *b, expr score)
{
	struct attend_function f = attend_begin(at, b, ATTEND_SCORE, true, true, NULL, 0);
	attend_parameter(&f, at->a->product);
	f.lambda->value = attend_here(&f, score);
}

void attend_emit_softmax(struct attend_place *at, struct ir_block *b)
{
	const struct attend *a = at->a;
	struct attend_function f = attend_begin(at, b, ATTEND_LARGEST, true, false, NULL, 0);
	attend_parameter(&f, a->seen);
	f.lambda->value = attend_here(&f, a->largest);
	f = attend_begin(at, b, ATTEND_SUM, true, false, NULL, 0);
	attend_parameter(&f, attend_largest(a));
	attend_parameter(&f, a->added);
	f.lambda->value = attend_here(&f, a->sum);
}

void attend_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct attend *a)
{
	struct str about = str_new(a->p->arena);
	kernel_finish(plan, step, k, a->stage[a->stages - 1]);
	for (int i = 0; i < a->stages; i++)
		ir_print_stage(&about, a->stage[i]);
	for (int i = 0; i < step->n; i++) /* the twin with 64-bit positions, too */
		step->at[i]->about = str_text(&about);
}
