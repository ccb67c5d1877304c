/* Functions of one element that several operators apply. x and the factors are of one compute type. */
#ifndef TPAT_OPS_FORMULAS_H
#define TPAT_OPS_FORMULAS_H

#include "ops/lower/lower.h"

expr sigmoid(expr x);                             /* 1 / (1 + exp(-x)) */
expr silu(expr x, expr gate);                     /* x / (1 + exp(-gate)); SiLU where the gate is x */
expr softplus(expr x);                            /* log(1 + exp(x)), without overflow */
expr softsign(expr x);                            /* x / (1 + |x|) */
expr leaky_relu(expr x, expr alpha);              /* x < 0 ? alpha * x : x */
expr elu(expr x, expr alpha);                     /* x > 0 ? x : alpha * (exp(x) - 1) */
expr hard_sigmoid(expr x, expr alpha, expr beta); /* min(max(alpha * x + beta, 0), 1) */
expr gelu(expr x);                                /* x/2 (1 + erf(x / sqrt(2))) */
expr gelu_tanh(expr x);                           /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */

#endif
