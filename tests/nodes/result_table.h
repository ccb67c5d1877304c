/* The results of a run of node_test as a file, for docs/operators.md and to compare devices: tab-separated columns
 * name, operators, "numbers" or "other" (whether all inputs and outputs are tensors of numbers), verdict, reason. */
#ifndef TPAT_TESTS_NODES_RESULT_TABLE_H
#define TPAT_TESTS_NODES_RESULT_TABLE_H

#include <stdio.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"

struct result_row {
	const char *name, *operators, *values, *verdict, *reason;
};
struct result_table {
	VEC(struct result_row);
	struct map by_name; /* struct result_row */
};

/* Reads a table; lines that start with # are comments. A file of names only is a table too. */
int result_table_read(struct result_table *out, const char *path, struct arena *a, struct err *e);
/* Returns null if there is none of that name. */
const struct result_row *result_table_find(const struct result_table *t, const char *name);
void result_table_head(FILE *file);
void result_table_write(FILE *file, const struct result_row *row);

#endif
