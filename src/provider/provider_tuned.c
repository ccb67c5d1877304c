/* Schedules from the tuning database, as tpat build takes them. See provider.h. */
#include <string.h>

#include "lib/tpat_inside.h"
#include "provider/provider.h"

/* One thread at a time calls this: it holds the provider's lock. */
static const struct sched_choice *choose(void *user, struct ir_program *program, const struct sched_target *t,
                                         const char *region)
{
	struct provider *p = user;
	struct tpat_tuned_choice found;
	struct err ignored = { 0 };
	char hash[33];
	ir_hash(program, hash);
	if (tpat_tuned_find(&found, p->tuned, program, hash, t, false, &ignored) < 0 || !found.choice)
		return NULL;
	provider_log(p, ORT_LOG_INFO,
	             arena_printf(p->arena, PROVIDER_NAME " takes the tuned schedule of %s: %.1f us on %s.", region,
	                          found.ns / 1000, found.device));
	return found.choice;
}

int provider_tuned_open(struct provider *p, const struct provider_options *o, struct err *e)
{
	const char *warning = NULL;
	if (o->database && strcmp(o->database, "none") == 0)
		return 0;
	TRY(tpat_tuned_open(&p->tuned, o->database, o->database != NULL, &warning, p->arena, e));
	if (warning)
		provider_log(p, ORT_LOG_WARNING, arena_printf(p->arena, PROVIDER_NAME ": %s", warning));
	if (strcmp(p->on.dev->kind, "cpu") == 0)
		tpat_tuned_of_processor(p->tuned);
	p->on.choose = choose;
	p->on.user = p;
	return 0;
}

void provider_tuned_close(struct provider *p)
{
	tpat_tuned_close(p->tuned);
}
