/* The list of engines. */
#include "engine/engine.h"

#include <string.h>

static const struct engine *const engines[] = {
	&engine_tensorrt,
};

const struct engine *engine_find(const char *name)
{
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		if (!name || strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

const struct engine *engine_of_library(bool (*exports)(void *user, const char *function), void *user)
{
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		for (const char *const *entry = engines[i]->entry; *entry; entry++)
			if (exports(user, *entry))
				return engines[i];
	return NULL;
}

int engine_check_tables(const struct tpat_rt_library *l, const char *path, struct err *e)
{
	if (l->version == TPAT_RT_VERSION)
		return 0;
	err_set(e, ERR_MODEL, "%s has tables of version %u; this tpat reads version %d.", path, (unsigned)l->version,
	        TPAT_RT_VERSION);
	return err_advise(e, "Another version of tpat built it: use that one, or run tpat build again.");
}

int engine_layout_axis(const struct engine_layout *l, int rank, int axis)
{
	int channels = rank - l->axis;

	if (axis < channels)
		return axis;
	if (l->inner)
		return axis == channels || axis == rank ? -1 : axis;
	return axis == rank - 1 ? -1 : axis + 1;
}
