/* SPDX-License-Identifier: Apache-2.0
 * tpat_fourier.h: short Fourier transforms of a thread's own elements, for kernels that make long ones in steps. A
 * complex number is a pair, and a transform an array of pairs in registers: all indices are known to the compiler.
 * Compiled like tpat_device.h. */
#ifndef TPAT_FOURIER_H
#define TPAT_FOURIER_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__
#define TPAT_KNOWN __device__ constexpr

/* ---- Constants: e^(2 pi i J / N) in double, by the compiler
 * ------------------------------------------------------------------------------------------------ */

/* Series of the cosine and of the sine at x, 0 <= x <= pi / 4. */
TPAT_KNOWN double fourier_cosine(double x)
{
	double sum = 1, term = 1;
	for (int i = 1; i < 12; i++) {
		term *= -x * x / ((2 * i - 1) * (2 * i));
		sum += term;
	}
	return sum;
}

TPAT_KNOWN double fourier_sine(double x)
{
	double sum = x, term = x;
	for (int i = 1; i < 12; i++) {
		term *= -x * x / ((2 * i) * (2 * i + 1));
		sum += term;
	}
	return sum;
}

/* The cosine of 2 pi j / n, 0 <= j < n, at the same angle of the first eighth of a turn. */
TPAT_KNOWN double fourier_cosine_of(int j, int n)
{
	const double turn = 6.283185307179586477;
	if (2 * j > n)
		j = n - j;
	if (4 * j > n)
		return -fourier_cosine_of(n - 2 * j, 2 * n);
	return 8 * j > n ? fourier_sine(turn * (n - 4 * j) / (4.0 * n)) : fourier_cosine(turn * j / n);
}

/* e^(2 pi i j / N). Only unrolled loops index it, so that the compiled code contains only constants. */
template <int N> struct fourier_table {
	double re[N], im[N];
	__device__ constexpr fourier_table() : re(), im()
	{
		for (int j = 0; j < N; j++) {
			re[j] = fourier_cosine_of(j, N);
			im[j] = fourier_cosine_of((4 * j + 3 * N) % (4 * N), 4 * N); /* a quarter back */
		}
	}
};

/* ---- Transforms
 * ------------------------------------------------------------------------------------------------ */

/* z = z * (c + i s) */
template <class T> TPAT_FN void fourier_turn(T (&z)[2], T c, T s)
{
	const T x = z[0], y = z[1];
	z[0] = x * c - y * s;
	z[1] = x * s + y * c;
}

/* The least prime factor, but 4 first. */
TPAT_KNOWN int fourier_factor(int n)
{
	if (n % 4 == 0)
		return 4;
	for (int p = 2; p * p <= n; p++)
		if (n % p == 0)
			return p;
	return n;
}

/* a, b = a + b, a - b */
template <class T> TPAT_FN void fourier_pair(T (&a)[2], T (&b)[2])
{
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const T x = a[i];
		a[i] = x + b[i];
		b[i] = x - b[i];
	}
}

template <bool INVERSE, class T> TPAT_FN void fourier_four(T (&z)[4][2])
{
	fourier_pair(z[0], z[2]);
	fourier_pair(z[1], z[3]);
	const T x = z[3][0], y = z[3][1]; /* a quarter turn */
	z[3][0] = INVERSE ? -y : y;
	z[3][1] = INVERSE ? x : -x;
	fourier_pair(z[0], z[1]);
	fourier_pair(z[2], z[3]);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const T second = z[1][i];
		z[1][i] = z[2][i];
		z[2][i] = second;
	}
}

/* A prime number P of elements: first adds and subtracts elements j and P - j. */
template <bool INVERSE, int P, class T> TPAT_FN void fourier_prime(T (&z)[P][2])
{
	constexpr fourier_table<P> turn;
	constexpr int HALF = (P - 1) / 2;
	T sum[HALF][2], less[HALF][2];
	const T first[2] = { z[0][0], z[0][1] };
#pragma unroll
	for (int j = 0; j < HALF; j++)
#pragma unroll
		for (int i = 0; i < 2; i++) {
			sum[j][i] = z[j + 1][i] + z[P - 1 - j][i];
			less[j][i] = z[j + 1][i] - z[P - 1 - j][i];
			z[0][i] += sum[j][i];
		}
#pragma unroll
	for (int k = 1; k <= HALF; k++) {
		T even[2] = { first[0], first[1] }, odd[2] = { 0, 0 };
#pragma unroll
		for (int j = 0; j < HALF; j++)
#pragma unroll
			for (int i = 0; i < 2; i++) {
				even[i] += sum[j][i] * (T)turn.re[(j + 1) * k % P];
				odd[i] += less[j][i] * (T)turn.im[(j + 1) * k % P];
			}
		/* even - i odd at k, even + i odd at P - k; the other way round if INVERSE */
		const int low = INVERSE ? P - k : k, high = P - low;
		z[low][0] = even[0] + odd[1];
		z[low][1] = even[1] - odd[0];
		z[high][0] = even[0] - odd[1];
		z[high][1] = even[1] + odd[0];
	}
}

/* z[k] = sum over n of z[n] e^(-2 pi i k n / R), or with + if INVERSE. */
template <bool INVERSE, int R, class T> TPAT_FN void fourier(T (&z)[R][2])
{
	constexpr int P = fourier_factor(R), Q = R / P;
	if constexpr (R == 1) {
		return;
	} else if constexpr (R == 2) {
		fourier_pair(z[0], z[1]);
	} else if constexpr (R == 4) {
		fourier_four<INVERSE>(z);
	} else if constexpr (P == R) {
		fourier_prime<INVERSE>(z);
	} else { /* n = Q a + b, k = c + P d: transforms over a, then over b */
		constexpr fourier_table<R> turn;
		T across[P][Q][2];
#pragma unroll
		for (int b = 0; b < Q; b++) {
			T part[P][2];
#pragma unroll
			for (int a = 0; a < P; a++) {
				part[a][0] = z[Q * a + b][0];
				part[a][1] = z[Q * a + b][1];
			}
			fourier<INVERSE>(part);
#pragma unroll
			for (int c = 0; c < P; c++) {
				if (b > 0 && c > 0)
					fourier_turn(part[c], (T)turn.re[b * c],
					             (T)(INVERSE ? turn.im[b * c] : -turn.im[b * c]));
				across[c][b][0] = part[c][0];
				across[c][b][1] = part[c][1];
			}
		}
#pragma unroll
		for (int c = 0; c < P; c++) {
			fourier<INVERSE>(across[c]);
#pragma unroll
			for (int d = 0; d < Q; d++) {
				z[c + P * d][0] = across[c][d][0];
				z[c + P * d][1] = across[c][d][1];
			}
		}
	}
}

/* z[r] *= w^r, of which turn[b] is w^(2^b), conjugated unless INVERSE. */
template <bool INVERSE, int R, int BITS, class T> TPAT_FN void fourier_turns(T (&z)[R][2], T (&turn)[BITS][2])
{
	T w[R][2];
#pragma unroll
	for (int r = 1; r < R; r++) {
		int high = 0;
#pragma unroll
		for (int b = 1; b < BITS; b++)
			high = r >> b ? b : high;
		const int rest = r - (1 << high);
		w[r][0] = turn[high][0];
		w[r][1] = INVERSE ? turn[high][1] : -turn[high][1];
		if (rest)
			fourier_turn(w[r], w[rest][0], w[rest][1]);
		fourier_turn(z[r], w[r][0], w[r][1]);
	}
}

#endif
