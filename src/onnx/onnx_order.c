/* The topological order of nodes: stable, and where there is none, a cycle. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <stdio.h>
#include <string.h>

/* Node indices, in the direction of data flow. */
struct cycle {
	VEC(int);
};

struct order {
	struct arena *arena;
	size_t n;
	struct {
		VEC(int);
	} before;        /* per node, in order: the producers of its inputs */
	int *first;      /* n + 1: where a node's entries in `before` begin */
	int *waits;      /* how many of them have not been emitted */
	int *heap, size; /* ready nodes, smallest index on top */
};

static void add_reads(struct order *o, const Onnx__NodeProto *node, const struct map *producer)
{
	uintptr_t p;
	for (size_t k = 0; k < node->n_input; k++)
		if (*node->input[k] && (p = (uintptr_t)map_get(producer, node->input[k])))
			vec_push(o->arena, &o->before, (int)(p - 1));
	struct map inner = onnx_node_captures(node, o->arena);
	for (int k = 0; k < inner.n; k++)
		if ((p = (uintptr_t)map_get(producer, inner.entry[k].name)))
			vec_push(o->arena, &o->before, (int)(p - 1));
}

static void find_reads(struct order *o, Onnx__NodeProto *const *node)
{
	struct map producer = map_new(o->arena); /* index + 1 by output; the first of two */
	for (size_t i = 0; i < o->n; i++)
		for (size_t k = 0; k < node[i]->n_output; k++)
			if (*node[i]->output[k] && !map_get(&producer, node[i]->output[k]))
				map_put(&producer, node[i]->output[k], (void *)(i + 1));
	o->first = NEWN(o->arena, int, o->n + 1);
	for (size_t i = 0; i < o->n; i++) {
		o->first[i] = o->before.n;
		add_reads(o, node[i], &producer);
	}
	o->first[o->n] = o->before.n;
}

static bool is_sorted(const struct order *o)
{
	for (int i = 0; i < (int)o->n; i++)
		for (int k = o->first[i]; k < o->first[i + 1]; k++)
			if (o->before.at[k] >= i)
				return false;
	return true;
}

static void heap_push(struct order *o, int x)
{
	int i = o->size++;
	for (; i && o->heap[(i - 1) / 2] > x; i = (i - 1) / 2)
		o->heap[i] = o->heap[(i - 1) / 2];
	o->heap[i] = x;
}

static int heap_pop(struct order *o)
{
	int top = o->heap[0], x = o->heap[--o->size], i = 0, child;
	for (; (child = 2 * i + 1) < o->size; i = child) {
		child += child + 1 < o->size && o->heap[child + 1] < o->heap[child];
		if (o->heap[child] >= x)
			break;
		o->heap[i] = o->heap[child];
	}
	o->heap[i] = x;
	return top;
}

/* Kahn's algorithm (1962) with a heap, which takes the first ready node. Returns the number of ordered nodes. */
static size_t kahn(struct order *o, int *result)
{
	int n = (int)o->n;
	int *next = NEWN(o->arena, int, n + 1), *after = NEWN(o->arena, int, o->before.n);
	size_t done = 0;
	for (int k = 0; k < o->before.n; k++)
		next[o->before.at[k] + 1]++;
	for (int i = 0; i < n; i++)
		next[i + 1] += next[i];
	int *fill = NEWN(o->arena, int, n + 1);
	memcpy(fill, next, sizeof(int) * (size_t)(n + 1));
	for (int i = 0; i < n; i++)
		for (int k = o->first[i]; k < o->first[i + 1]; k++)
			after[fill[o->before.at[k]]++] = i;
	for (int i = 0; i < n; i++)
		if (!(o->waits[i] = o->first[i + 1] - o->first[i]))
			heap_push(o, i);
	while (o->size) {
		int i = heap_pop(o);
		result[done++] = i;
		for (int k = next[i]; k < next[i + 1]; k++)
			if (!--o->waits[after[k]])
				heap_push(o, after[k]);
	}
	return done;
}

/* Walks from a waiting node back along its producers until a node repeats. */
static void find_cycle(const struct order *o, struct cycle *cycle)
{
	int *seen = NEWN(o->arena, int, o->n), at = 0;
	while (!o->waits[at])
		at++;
	for (int step = 1; !seen[at]; step++) {
		seen[at] = step;
		vec_push(o->arena, cycle, at);
		int k = o->first[at];
		while (!o->waits[o->before.at[k]])
			k++;
		at = o->before.at[k];
	}
	/* Drops the nodes before the cycle, reverses the rest, and starts with the node that is first in the file. */
	int n = cycle->n - (seen[at] - 1), first = 0, *turned = NEWN(o->arena, int, n);
	for (int i = 0; i < n; i++) {
		turned[i] = cycle->at[cycle->n - 1 - i];
		first = turned[i] < turned[first] ? i : first;
	}
	for (int i = 0; i < n; i++)
		cycle->at[i] = turned[(first + i) % n];
	cycle->n = n;
}

/* False if there is a cycle: nothing is reordered then. */
static bool order_nodes(Onnx__NodeProto **node, size_t n, struct cycle *cycle, struct arena *a)
{
	struct order o = { .arena = a, .n = n };
	find_reads(&o, node);
	if (is_sorted(&o))
		return true;
	o.waits = NEWN(a, int, n);
	o.heap = NEWN(a, int, n);
	int *result = NEWN(a, int, n);
	if (kahn(&o, result) < n) {
		find_cycle(&o, cycle);
		return false;
	}
	Onnx__NodeProto **old = NEWN(a, Onnx__NodeProto *, n);
	memcpy(old, node, sizeof *node * n);
	for (size_t i = 0; i < n; i++)
		node[i] = old[result[i]];
	return true;
}

int onnx_sort_nodes(Onnx__NodeProto **node, size_t n, struct err *e)
{
	struct arena *scratch = arena_new();
	struct cycle cycle = { 0 };
	int rc = 0;
	if (!order_nodes(node, n, &cycle, scratch)) {
		const char **label = onnx_label_nodes(node, n, scratch);
		struct str list = str_new(scratch);
		for (int i = 0; i < cycle.n && list.n < 600; i++)
			str_printf(&list, "%s (%s) -> ", label[cycle.at[i]], onnx_text(node[cycle.at[i]]->op_type));
		if (list.n >= 600)
			str_add(&list, "... -> ");
		rc = err_set(e, ERR_MODEL, "these nodes form a cycle: %s%s.", str_text(&list), label[cycle.at[0]]);
		err_advise(e, "A graph cannot have a cycle: export the model again, or undo the edit that made it.");
	}
	arena_free(scratch);
	return rc;
}

int onnx_graph_sort(struct onnx_model *m, Onnx__GraphProto *g, struct err *e)
{
	return onnx_sort_nodes(g->node, g->n_node, e) < 0 ? err_where(e, "%s: ", m->path) : 0;
}
