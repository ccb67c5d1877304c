/* The lock of what sessions share. See run_inside.h. */
#include "run/run_inside.h"

void run_lock(struct run_session *s)
{
	if (s->on.lock)
		lock_take(s->on.lock);
	s->locked = true;
}

void run_unlock(struct run_session *s)
{
	ck(s->locked || !s->on.lock);
	s->locked = false;
	if (s->on.lock)
		lock_give(s->on.lock);
}
