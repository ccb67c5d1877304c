/* Inside SVMClassifier: probabilities of classes from those of pairs. */
#ifndef TPAT_OPS_SVM_H
#define TPAT_OPS_SVM_H

#include "ops/ml/ml.h"

/* [n, classes]: the probabilities of the classes. pair: [n, pairs], the probability of the pair's first class against
 * its second; number: [classes, classes], the index of the pair of classes i < j. */
struct value svm_couple(struct lower *l, struct value pair, struct value number, int64_t classes);

#endif
