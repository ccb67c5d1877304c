/* Times of tpat_run(), of all phases. */
#include "lib/tpat_inside.h"
#include "run/run.h"

enum { REPEATS = 9 }; /* runs to profile */

/* *ns: the sum; *spread: the largest. */
static int time_all(double *ns, double *spread, const struct tpat_run_options *o, const struct tpat_run_sessions *all,
                    bool recorded, struct err *e)
{
	*ns = *spread = 0;
	vec_each (s, all) {
		double part, its;
		TRY(run_time(&part, &its, *s, o->time, recorded, e));
		*ns += part;
		*spread = its > *spread ? its : *spread;
	}
	return 0;
}

static int profile(struct tpat_ran *r, const struct tpat_run_options *o, const struct tpat_run_sessions *all,
                   struct arena *a, struct err *e)
{
	struct {
		VEC(struct tpat_ran_launch);
	} launches = { 0 };
	vec_each (s, all) {
		struct run_launch_time *each;
		int n;
		TRY(run_profile(&each, &n, *s, o->time > 0 ? o->time : REPEATS, e));
		for (const struct run_launch_time *x = each; x < each + n; x++)
			vec_push(a, &launches,
			         ((struct tpat_ran_launch){ x->piece, x->node, x->kernel, x->ns, x->bytes }));
	}
	r->launch = launches.at;
	r->launches = launches.n;
	return 0;
}

int tpat_run_measure(struct tpat_ran *r, const struct tpat_run_options *o, const struct tpat_run_sessions *all,
                     struct arena *a, struct err *e)
{
	double spread;
	if (o->time > 0)
		TRY(time_all(&r->ns, &r->spread, o, all, false, e));
	if (o->time > 0 && o->cuda_graph)
		TRY(time_all(&r->graph_ns, &spread, o, all, true, e));
	if (!o->profile && !o->profile_out)
		return 0;
	TRY(profile(r, o, all, a, e));
	return o->profile_out ? tpat_run_trace(o->profile_out, o->model, r, a, e) : 0;
}
