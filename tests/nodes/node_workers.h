/* Runs cases in worker processes, so that a crash, or a case that never ends, fails alone. */
#ifndef TPAT_TESTS_NODES_NODE_WORKERS_H
#define TPAT_TESTS_NODES_NODE_WORKERS_H

#include "tests/nodes/node_case.h"

/* Returns the results of n cases, in memory that lasts to the end of the process; null if there is too little.
 * `jobs`: number of workers; 0: one per processor. */
struct node_result *node_workers_run(const struct node_case *cases, int n, const struct node_options *o, int jobs);

#endif
