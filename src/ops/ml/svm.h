/* Inside of SVMClassifier: probabilities of classes from those of pairs. */
#ifndef TPAT_OPS_SVM_H
#define TPAT_OPS_SVM_H

#include "ops/ml/ml.h"

/* [n, classes] from pair: [n, pairs], the probability of the pair's first class beside its second; number: [classes,
 * classes], of classes i < j which pair they are. */
struct value svm_couple(struct lower *l, struct value pair, struct value number, int64_t classes);

#endif
