/* A case's inputs and expected outputs: a folder of tensors. */
#ifndef TPAT_TESTS_NODES_NODE_DATA_H
#define TPAT_TESTS_NODES_NODE_DATA_H

#include "graph/graph.h"

struct node_data {
	int inputs, outputs;
	struct tensor *input, *output;
	const char **input_name, **output_name;
};

/* Reads input_0.pb ... and output_0.pb ... of the folder; inputs that are missing there, or have initializers, have no
 * tensor. */
int node_data_read(struct node_data *d, const struct onnx_model *m, const char *dir, struct arena *a, struct err *e);
/* Compares the outputs, by name among `tensors`, with those expected; ERR_DIFFER if they differ. `name`: of the case.
 */
int node_data_compare(const struct node_data *d, struct graph *g, struct map *tensors, const char *name,
                      struct tensor_tolerance tolerance, struct arena *a, struct err *e);

#endif
