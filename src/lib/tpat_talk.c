/* What a call says and asks while it runs: the context's callbacks. See tpat.h. */
#include "base/number.h"
#include "base/threads.h"
#include "lib/tpat_inside.h"
#include "run/run.h"

void tpat_set_callbacks(struct tpat *t, const struct tpat_callbacks *c)
{
	t->talk.call = c ? *c : (struct tpat_callbacks){ 0 };
}

bool tpat_stops(const struct tpat_talk *x)
{
	return x && x->call.cancel && x->call.cancel(x->call.user);
}

int tpat_cancelled(struct err *e)
{
	return err_set(e, ERR_CANCELLED, "Interrupted.");
}

void tpat_say(struct tpat_talk *x, enum tpat_log_level level, const char *format, ...)
{
	char text[4096];
	va_list ap;
	if (!x || !x->call.log)
		return;
	va_start(ap, format);
	number_vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	lock_take(x->lock);
	x->call.log(x->call.user, level, text);
	lock_give(x->lock);
}

static bool stop(void *user)
{
	return tpat_stops(user);
}

static void compiled(void *user, const char *piece)
{
	tpat_say(user, TPAT_LOG_NOTE, "%s: compiled", piece);
}

void tpat_watch(struct run_session *s, struct tpat_talk *x)
{
	run_watch(s, &(struct run_watch){ stop, compiled, x });
}
