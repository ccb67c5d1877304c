/* GPUs by name: a user's words, and the longer names that drivers give. */
#include "base/ascii.h"
#include "lib/tpat_inside.h"

#include <string.h>

/* True if all words of `name` are in the text, ignoring case: "jetson orin nx" is in "NVIDIA Jetson Orin NX 16GB". */
static bool has_words(const char *text, const char *name)
{
	size_t n;

	for (name += strspn(name, " "); *name; name += n + strspn(name + n, " ")) {
		const char *at = text;

		n = strcspn(name, " ");
		while (*at && !ascii_same_n(at, name, n))
			at++;
		if (!*at)
			return false;
	}
	return true;
}

/* True if the name is in the text when both are read without spaces and signs: "rtx4090", "orin-nx". */
static bool has_letters(const char *text, const char *name)
{
	for (; *text; text++) {
		const char *at = text, *wanted = name;

		for (;; at++, wanted++) {
			while (*at && !ascii_is_alnum(*at))
				at++;
			while (*wanted && !ascii_is_alnum(*wanted))
				wanted++;
			if (!*wanted)
				return true;
			if (ascii_lower(*at) != ascii_lower(*wanted))
				break;
		}
	}
	return false;
}

const struct sched_target *tpat_gpu_named(const char *name)
{
	for (const struct sched_target *t = sched_targets; t->name; t++)
		if (ascii_same(t->name, name))
			return t;
	for (const struct sched_target *t = sched_targets; *name && t->name; t++)
		if (has_words(t->name, name))
			return t;
	while (*name && !ascii_is_alnum(*name))
		name++;
	for (const struct sched_target *t = sched_targets; *name && t->name; t++)
		if (has_letters(t->name, name))
			return t;
	return NULL;
}

const struct sched_target *tpat_gpu_in(const char *name, int arch)
{
	const struct sched_target *best = NULL;

	for (const struct sched_target *t = sched_targets; t->name; t++)
		if (t->arch == arch && has_words(name, t->name) && (!best || strlen(t->name) > strlen(best->name)))
			best = t;
	return best;
}
