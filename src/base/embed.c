/* Finding one of the texts that the program carries. The table itself is generated. */
#include "base/embed.h"

#include <string.h>

const struct embed_file *embed_find(const char *name)
{
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
