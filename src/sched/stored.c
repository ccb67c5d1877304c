/* Which of the stages that one kernel makes others read, too. See build.h. */
#include "sched/build.h"

bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which)
{
	const struct ir_buffer *out = made[which]->out;
	if (out->role == IR_OUTPUT)
		return true;
	vec_each (s, &p->stages) {
		bool inside = false;
		for (int i = 0; i < n; i++)
			inside |= made[i] == *s;
		if (!inside && ir_stage_reads(*s, out))
			return true;
	}
	vec_each (size, &p->sizes)
		if (size->count == out)
			return true;
	return false;
}
