/* One case: a folder with a model and data sets. Each node, or the whole graph, becomes a program, which a backend
 * runs. */
#ifndef TPAT_TESTS_NODES_NODE_CASE_H
#define TPAT_TESTS_NODES_NODE_CASE_H

#include "tensor/tensor.h"
#include "tests/nodes/backends.h"

enum node_verdict {
	NODE_PASSED,
	NODE_FAILED,
	NODE_REFUSED, /* a node is not supported, though its operator is */
	NODE_SKIPPED,
	NODE_PASSED_OVER, /* counts for nothing */
	NODE_VERDICTS
};

/* The result of a case; workers write it into shared memory, so it has no pointers. */
struct node_result {
	bool done;
	enum node_verdict verdict;
	char text[sizeof(struct err)]; /* why it is not passed */
	char missing[128];             /* skipped: the missing operator, or another reason */
};

struct node_case {
	const char *name, *dir, *operators;
	const char *types; /* of inputs and outputs, as in the index */
	struct tensor_tolerance tolerance;
	int sets;
};

struct node_options {
	backend_fn *run;
	bool whole; /* the whole graph becomes one program */
	bool plain; /* nodes are replaced by plain ones first; cases without such nodes are passed over */
};

void node_case_run(const struct node_case *t, const struct node_options *o, struct node_result *r);
/* True if inputs or outputs are other values than tensors of numbers: sequences, optional values, text. */
bool node_case_has_other_values(const struct node_case *t);

#endif
