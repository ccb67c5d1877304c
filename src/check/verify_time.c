/* Times of a plugin's runs, between events of the device. See verify.h. */
#include "check/verify.h"

enum { WARM = 3 }; /* runs before the first measured one */

int verify_time(void *timer, int (*run)(void *of, struct err *e), void *of, struct err *e)
{
	struct verify_timer *t = timer;
	struct dev *d = t->dev;
	struct dev_event *from = NULL, *to = NULL;
	int rc = d->event_new(d, &from, e);
	if (rc == 0)
		rc = d->event_new(d, &to, e);
	for (int i = 0; i < WARM && rc == 0; i++)
		rc = run(of, e);
	for (int i = 0; i < t->times && rc == 0; i++) {
		if ((rc = d->event_record(d, from, e)) == 0 && (rc = run(of, e)) == 0 &&
		    (rc = d->event_record(d, to, e)) == 0)
			rc = d->event_ns(d, &t->ns[i], from, to, e);
	}
	if (from)
		d->event_free(d, from);
	if (to)
		d->event_free(d, to);
	return rc;
}
