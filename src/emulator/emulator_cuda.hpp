/* CUDA C for a C++17 compiler: what kernel texts use of the language and its built-in functions. Compiled in front of
 * every text (as a precompiled header), together with tpat_device.h, tpat_mma.h, tpat_fma.h, tpat_wgmma.h,
 * tpat_attention.h, tpat_attention_few.h, tpat_attention_wide.h, tpat_compact.h, tpat_pick.h, tpat_words.h, tpat_sort.h, tpat_radix.h,
 * tpat_digits.h, tpat_cluster.h, tpat_select.h, tpat_fourier.h and tpat_check.h. */
#ifndef TPAT_EMULATOR_EMULATOR_CUDA_H
#define TPAT_EMULATOR_EMULATOR_CUDA_H

#define TPAT_EMULATOR 1

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utility>

#include "emulator_host.h"

#define __device__
#define __host__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define EMULATOR_RAW __attribute__((no_sanitize("thread"), noinline))

/* Constant for the thread that runs, so that the compiler may keep its values; defined elsewhere (emulator_hooks.cpp),
 * so that it cannot know them. */
extern "C" {
extern const struct emulator_index emulator_here __attribute__((visibility("hidden")));
extern const struct emulator_host emulator_host __attribute__((visibility("hidden")));
}

/* ---- Kernels and shared memory ---- */
template <class T> static inline T *emulator_checked(T *p, int number)
{
	emulator_host.argument(p, number);
	return p;
}
template <class T> static inline T emulator_checked(T value, int) { return value; }

template <auto F> struct emulator_caller;
template <class... A, void (*F)(A...)> struct emulator_caller<F> {
	template <size_t... I> static void call_with(void **args, std::index_sequence<I...>)
	{
		F(emulator_checked(*(A *)args[I], (int)I)...);
	}
	static void call(void **args) { call_with(args, std::index_sequence_for<A...>()); }
};

static inline int emulator_first() { return 0; }
template <class... A> static inline constexpr int emulator_first(int first, A...) { return first; }
static inline void *emulator_shared(int id, size_t n, const char *name) { return emulator_host.shared(id, n, name); }
static inline void *emulator_dynamic_shared(const char *name) { return emulator_host.dynamic_shared(name); }
static inline void emulator_atomic_get(void *to, const void *p, size_t n) { emulator_host.atomic_get(to, p, n); }
static inline void emulator_atomic_put(void *p, const void *from, size_t n) { emulator_host.atomic_put(p, from, n); }

/* One access of n bytes; the copy itself is not instrumented. */
static inline EMULATOR_RAW void emulator_load(void *to, const void *p, size_t n)
{
	if ((uintptr_t)p - emulator_host.base < emulator_host.span)
		emulator_host.read(p, n, 1);
	emulator_host.copy(to, p, n);
}
static inline EMULATOR_RAW void emulator_store(void *p, const void *from, size_t n)
{
	if ((uintptr_t)p - emulator_host.base < emulator_host.span)
		emulator_host.write(p, n, 1);
	emulator_host.copy(p, from, n);
}

/* ---- Built-in variables and types ---- */
typedef struct emulator_triple uint3;
#define threadIdx emulator_here.thread
#define blockIdx emulator_here.block
#define blockDim emulator_here.block_dim
#define gridDim emulator_here.grid_dim
#define warpSize 32
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_trap())

#define EMULATOR_VECTOR(T, name, align2, align4)                                                                       \
	struct __align__(align2) name##2 { T x, y; };                                                                  \
	struct __align__(align4) name##4 { T x, y, z, w; };                                                            \
	static inline name##2 make_##name##2(T x, T y) { return { x, y }; }                                            \
	static inline name##4 make_##name##4(T x, T y, T z, T w) { return { x, y, z, w }; }
EMULATOR_VECTOR(signed char, char, 2, 4)
EMULATOR_VECTOR(unsigned char, uchar, 2, 4)
EMULATOR_VECTOR(short, short, 4, 8)
EMULATOR_VECTOR(unsigned short, ushort, 4, 8)
EMULATOR_VECTOR(int, int, 8, 16)
EMULATOR_VECTOR(unsigned, uint, 8, 16)
EMULATOR_VECTOR(float, float, 8, 16)
EMULATOR_VECTOR(double, double, 16, 16)
EMULATOR_VECTOR(long long, longlong, 16, 16)
EMULATOR_VECTOR(unsigned long long, ulonglong, 16, 16)

/* ---- Barriers, votes, shuffles: macros, so that reports can name the line ---- */
#define __syncthreads() ((void)emulator_host.barrier(EMULATOR_VOTE_NONE, 0, __FILE__, __LINE__))
#define __syncthreads_count(p) emulator_host.barrier(EMULATOR_VOTE_COUNT, !!(p), __FILE__, __LINE__)
#define __syncthreads_and(p) emulator_host.barrier(EMULATOR_VOTE_AND, !!(p), __FILE__, __LINE__)
#define __syncthreads_or(p) emulator_host.barrier(EMULATOR_VOTE_OR, !!(p), __FILE__, __LINE__)

static inline unsigned emulator_mask(unsigned mask = 0xffffffff) { return mask; }
static inline void emulator_sync_warp(const char *file, int line, unsigned mask)
{
	emulator_host.exchange(EMULATOR_SYNC_WARP, mask, 0, 0, 32, file, line);
}
template <class T>
static inline T emulator_shuffle(const char *file, int line, int kind, unsigned mask, T v, int lane, int width = 32)
{
	static_assert(sizeof(T) <= 8, "shuffles move 4 or 8 bytes");
	uint64_t bits = 0;
	memcpy(&bits, &v, sizeof v);
	bits = emulator_host.exchange(kind, mask, bits, lane, width, file, line);
	memcpy(&v, &bits, sizeof v);
	return v;
}
static inline unsigned emulator_ballot(const char *file, int line, unsigned mask, bool p)
{
	return (unsigned)emulator_host.exchange(EMULATOR_BALLOT, mask, p, 0, 32, file, line);
}
#define __syncwarp(...) emulator_sync_warp(__FILE__, __LINE__, emulator_mask(__VA_ARGS__))
#define __shfl_sync(...) emulator_shuffle(__FILE__, __LINE__, EMULATOR_SHUFFLE, __VA_ARGS__)
#define __shfl_up_sync(...) emulator_shuffle(__FILE__, __LINE__, EMULATOR_SHUFFLE_UP, __VA_ARGS__)
#define __shfl_down_sync(...) emulator_shuffle(__FILE__, __LINE__, EMULATOR_SHUFFLE_DOWN, __VA_ARGS__)
#define __shfl_xor_sync(...) emulator_shuffle(__FILE__, __LINE__, EMULATOR_SHUFFLE_XOR, __VA_ARGS__)
#define __ballot_sync(mask, p) emulator_ballot(__FILE__, __LINE__, mask, p)
#define __any_sync(mask, p) (emulator_ballot(__FILE__, __LINE__, mask, p) != 0)
#define __all_sync(mask, p) (emulator_ballot(__FILE__, __LINE__, mask, !(p)) == 0)
#define __activemask() emulator_host.active_lanes()
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __nanosleep(ns) ((void)(ns))

/* ---- Atomics ---- */
#define EMULATOR_ATOMIC(name, next)                                                                                    \
	template <class T, class U> static inline T name(T *p, U operand)                                              \
	{                                                                                                              \
		T old, v = (T)operand;                                                                                 \
		emulator_atomic_get(&old, p, sizeof old);                                                              \
		v = (T)(next);                                                                                         \
		emulator_atomic_put(p, &v, sizeof v);                                                                  \
		return old;                                                                                            \
	}
EMULATOR_ATOMIC(atomicAdd, old + v)
EMULATOR_ATOMIC(atomicSub, old - v)
EMULATOR_ATOMIC(atomicExch, v)
EMULATOR_ATOMIC(atomicMax, old > v ? old : v)
EMULATOR_ATOMIC(atomicMin, old < v ? old : v)
EMULATOR_ATOMIC(atomicAnd, old & v)
EMULATOR_ATOMIC(atomicOr, old | v)
EMULATOR_ATOMIC(atomicXor, old ^ v)
EMULATOR_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T, class U, class V> static inline T atomicCAS(T *p, U expected, V next)
{
	T old, v = (T)next;
	emulator_atomic_get(&old, p, sizeof old);
	if (old == (T)expected)
		emulator_atomic_put(p, &v, sizeof v);
	return old;
}

/* ---- Loads and stores with hints ---- */
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldca(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }

/* ---- Bits ---- */
template <class To, class From> static inline To emulator_cast(From from)
{
	static_assert(sizeof(To) == sizeof(From), "same size");
	To to;
	memcpy(&to, &from, sizeof to);
	return to;
}
static inline float __uint_as_float(unsigned x) { return emulator_cast<float>(x); }
static inline float __int_as_float(int x) { return emulator_cast<float>(x); }
static inline unsigned __float_as_uint(float x) { return emulator_cast<unsigned>(x); }
static inline int __float_as_int(float x) { return emulator_cast<int>(x); }
static inline double __longlong_as_double(long long x) { return emulator_cast<double>(x); }
static inline long long __double_as_longlong(double x) { return emulator_cast<long long>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x)
{
	unsigned y = 0;
	for (int i = 0; i < 32; i++)
		y |= (x >> i & 1) << (31 - i);
	return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }

/* ---- Mathematics that CUDA has and C has not, or has under another name ---- */
#define EMULATOR_MIN_MAX(T)                                                                                            \
	static inline T max(T a, T b) { return a > b ? a : b; }                                                        \
	static inline T min(T a, T b) { return a < b ? a : b; }
EMULATOR_MIN_MAX(int)
EMULATOR_MIN_MAX(unsigned)
EMULATOR_MIN_MAX(long)
EMULATOR_MIN_MAX(unsigned long)
EMULATOR_MIN_MAX(long long)
EMULATOR_MIN_MAX(unsigned long long)
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
/* Later C libraries declare some of CUDA's names too (glibc 2.41 sinpi, 2.42 rsqrt), so the functions have names of their own. */
#define rsqrtf emulator_rsqrtf
#define rsqrt emulator_rsqrt
#define rcbrtf emulator_rcbrtf
#define rcbrt emulator_rcbrt
#define normcdff emulator_normcdff
#define normcdf emulator_normcdf
#define sinpif emulator_sinpif
#define cospif emulator_cospif
#define sinpi emulator_sinpi
#define cospi emulator_cospi
static inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static inline float sinpif(float x) { return (float)sin(M_PI * fmod((double)x, 2.0)); }
static inline float cospif(float x) { return (float)cos(M_PI * fmod((double)x, 2.0)); }
static inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
static inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
static inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
/* The C library implements these names itself. */
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline int __float2int_ru(float x) { return (int)ceilf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline float __int2float_rn(int x) { return (float)x; }

#include "emulator_mma.hpp"

#include "tpat_device.h"
#include "tpat_mma.h"
#include "tpat_fma.h"
#include "tpat_cluster.h"
#include "tpat_wgmma.h"
#include "tpat_attention.h"
#include "tpat_attention_few.h"
#include "tpat_attention_wide.h"
#include "tpat_compact.h"
#include "tpat_pick.h"
#include "tpat_words.h"
#include "tpat_sort.h"
#include "tpat_radix.h"
#include "tpat_digits.h"
#include "tpat_select.h"
#include "tpat_fourier.h"
#include "tpat_check.h"

#endif
