/* Reads and writes the results of node tests. See result_table.h. */
#include "tests/nodes/result_table.h"

#include <string.h>

#include "base/file.h"

/* The next of the tab-separated columns. */
static const char *column(char **line)
{
	char *start = *line, *end = start + strcspn(start, "\t");

	*line = *end ? end + 1 : end;
	*end = 0;
	return start;
}

int result_table_read(struct result_table *out, const char *path, struct arena *a, struct err *e)
{
	char *text;

	memset(out, 0, sizeof *out);
	out->by_name = map_new(a);
	TRY(file_read(&text, NULL, path, a, e));
	for (char *line = text, *next; *line; line = next) {
		struct result_row *row = NEW(a, struct result_row);

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (!*line || *line == '#')
			continue;
		row->name = column(&line);
		row->operators = column(&line);
		row->values = column(&line);
		row->verdict = column(&line);
		row->reason = column(&line);
		map_put(&out->by_name, row->name, row);
		vec_push(a, out, *row);
	}
	return 0;
}

const struct result_row *result_table_find(const struct result_table *t, const char *name)
{
	return map_get(&t->by_name, name);
}

void result_table_head(FILE *file)
{
	fprintf(file, "# name\toperators\tvalues\tverdict\treason\n");
}

void result_table_write(FILE *file, const struct result_row *row)
{
	fprintf(file, "%s\t%s\t%s\t%s\t%s\n", row->name, row->operators, row->values, row->verdict, row->reason);
}
