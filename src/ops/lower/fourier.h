/* Terms of discrete Fourier transforms over N places: y[k] = sum over n of x[n] e^(-2 pi i k n / N). */
#ifndef TPAT_OPS_FOURIER_H
#define TPAT_OPS_FOURIER_H

#include "ops/lower/lower.h"

/* [N, 2] in type t: cos(2 pi j / N) and sin(2 pi j / N). */
struct value fourier_turns(struct lower *l, enum type t, expr length);
/* The part (0 real, 1 imaginary) of (real + i imaginary) * e^(sign 2 pi i k n / N); the sign is + where `inverse`. A
 * null imaginary: a real number. */
expr fourier_term(struct value turn, expr length, bool inverse, expr k, expr n, expr part, expr real, expr imaginary);
/* The term of frequency k of a real signal, whose other half of frequencies is left out: each frequency but the first
 * and the middle one counts twice. */
expr fourier_mirrored(expr k, expr length, expr term);

#endif
