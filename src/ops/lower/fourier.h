/* Terms of discrete Fourier transforms of length N: y[k] = sum over n of x[n] e^(-2 pi i k n / N). */
#ifndef TPAT_OPS_FOURIER_H
#define TPAT_OPS_FOURIER_H

#include "ops/lower/lower.h"

/* [N, 2] in type t: cos(2 pi j / N) and sin(2 pi j / N). */
struct value fourier_turns(struct lower *l, enum type t, expr length);
/* Part `part` (0 real, 1 imaginary) of (real + i imaginary) * e^(-2 pi i k n / N), or with + if `inverse`. A null
 * `imaginary` means a real number. */
expr fourier_term(struct value turn, expr length, bool inverse, expr k, expr n, expr part, expr real, expr imaginary);
/* The term of frequency k in the inverse transform of a real signal, which has only the first N/2 + 1 frequencies:
 * each counts twice, except the first and the middle one. */
expr fourier_mirrored(expr k, expr length, expr term);

#endif
