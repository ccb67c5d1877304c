/* The list of all operators, from the generated build/gen/op_list.inc, and the search in it. */
#include "ops/lower/op.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OP(folder, x) extern const struct op_def x;
#define OP_TABLE(folder, x) extern const struct op_def x[];
#include "op_list.inc"
#undef OP
#undef OP_TABLE

enum { OP_LIST_MAX = 1024 };

static const struct op_def *list[OP_LIST_MAX + 1];
static int count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *domain_of(const struct op_def *op)
{
	return op->domain ? op->domain : "";
}

static int compare(const char *domain, const char *name, const struct op_def *op)
{
	int order = strcmp(domain, domain_of(op));

	return order ? order : strcmp(name, op->name);
}

static int compare_items(const void *a, const void *b)
{
	const struct op_def *x = *(const struct op_def *const *)a, *y = *(const struct op_def *const *)b;

	return compare(domain_of(x), x->name, y);
}

static void add_rows(const struct op_def *row, int n)
{
	for (int i = 0; n < 0 ? row[i].name != NULL : i < n; i++) {
		ck(count < OP_LIST_MAX);
		list[count++] = &row[i];
	}
}

static void make_list(void)
{
#define OP(folder, x) add_rows(&x, 1);
#define OP_TABLE(folder, x) add_rows(x, -1);
#include "op_list.inc"
#undef OP
#undef OP_TABLE
	qsort(list, (size_t)count, sizeof list[0], compare_items);
}

const struct op_def *const *op_all(void)
{
	pthread_once(&once, make_list);
	return list;
}

bool op_any_domain(const struct op_def *op)
{
	return op->domain && !strcmp(op->domain, OP_ANY_DOMAIN);
}

static const struct op_def *find(const char *domain, const char *name)
{
	int low = 0, high = count;

	while (low < high) {
		int middle = (low + high) / 2, order = compare(domain, name, list[middle]);

		if (!order)
			return list[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct op_def *op_find(const char *domain, const char *name)
{
	const struct op_def *op;

	pthread_once(&once, make_list);
	op = find(!domain || !strcmp(domain, "ai.onnx") ? "" : domain, name);
	return op ? op : find(OP_ANY_DOMAIN, name);
}

const struct op_slot *op_slot_of(const struct op_slot *slot, int max, int i)
{
	for (int k = 0; k < max && slot[k].kind; k++)
		if (k == i || (slot[k].kind >= OP_VARIADIC && i > k))
			return &slot[k];
	return NULL;
}

const struct op_attr *op_attr_find(const struct op_def *op, const char *name)
{
	for (int i = 0; i < OP_MAX_ATTRS && op->attrs[i].kind; i++)
		if (!strcmp(op->attrs[i].name, name))
			return &op->attrs[i];
	return NULL;
}
