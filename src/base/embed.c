/* Finds an embedded file by name. The table itself is generated. */
#include "base/embed.h"

#include <string.h>

#include "base/file.h"

const struct embed_file *embed_find(const char *name)
{
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

bool embed_is_header(const struct embed_file *f, enum kernel_language language)
{
	static const char folder[] = "rt/device/";
	if (strncmp(f->name, folder, sizeof folder - 1) != 0)
		return false;
	return (strcmp(path_base(f->name), "tpat_cpu.h") == 0) == (language == KERNEL_C);
}
