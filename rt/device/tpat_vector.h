/* SPDX-License-Identifier: Apache-2.0
 * tpat_vector.h: vector loads and stores: a few neighbouring elements at once, between memory and an array of
 * registers. Part of tpat_device.h. */
#ifndef TPAT_VECTOR_H
#define TPAT_VECTOR_H

#include "tpat_types.h"

template <int N> TPAT_FN void copy_vector(void *to, const void *from)
{
	if constexpr (N == 1)
		*(u8 *)to = *(const u8 *)from;
	else if constexpr (N == 2)
		*(u16 *)to = *(const u16 *)from;
	else if constexpr (N == 4)
		*(u32 *)to = *(const u32 *)from;
	else if constexpr (N == 8)
		*(uint2 *)to = *(const uint2 *)from;
	else
		*(uint4 *)to = *(const uint4 *)from;
}

/* The widest access whose size divides N bytes. */
template <int N> struct vector_part {
	static const int bytes = N % 16 == 0 ? 16 : N % 8 == 0 ? 8 : N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1;
};

/* v = p[0 .. N), in accesses of 1, 2, 4, 8 or 16 bytes; p is aligned to that size. */
template <int N, class T> TPAT_FN void load(T (&v)[N], const T *p)
{
	const int bytes = N * sizeof(T), part = vector_part<bytes>::bytes;
#ifdef TPAT_EMULATOR
	for (int i = 0; i < bytes; i += part)
		emulator_load((char *)v + i, (const char *)p + i, part);
#else
	union {
		uint4 align;
		char byte[bytes];
	} u;
#pragma unroll
	for (int i = 0; i < bytes; i += part)
		copy_vector<part>(u.byte + i, (const char *)p + i);
	memcpy(v, u.byte, bytes);
#endif
}

/* v = in ? p[0 .. N) : 0, of 1, 2, 4, 8 or 16 bytes: whole words, zero if the access is skipped. */
template <int N, class T> TPAT_FN void load_if(T (&v)[N], const T *p, bool in)
{
	const int bytes = N * sizeof(T);
	static_assert(bytes == vector_part<bytes>::bytes, "one access");
#ifdef TPAT_EMULATOR
	memset(v, 0, bytes);
	if (in)
		emulator_load(v, p, bytes);
#else
	union {
		uint4 align;
		u32 word[4];
	} u;
	u.align = make_uint4(0, 0, 0, 0);
	if (in)
		copy_vector<bytes>(u.word, p);
	memcpy(v, u.word, bytes);
#endif
}

/* v = p[0 .. N), of 4, 8, 16 or more bytes, for a p of any alignment. The elements are taken from the aligned vectors
 * that contain them; all bytes of these vectors must be readable. The distance of p from an aligned address is FIRST
 * elements plus a multiple of STEP; the compiler decides what follows from that. */
template <int STEP, int FIRST, int N, class T> TPAT_FN void load_shifted(T (&v)[N], const T *p)
{
	const int bytes = N * sizeof(T), part = vector_part<bytes>::bytes, words = bytes / 4, most = part / 4;
	const int step = STEP * (int)sizeof(T), least = FIRST * (int)sizeof(T) % part;
	static_assert(bytes >= 4 && bytes % 4 == 0 && FIRST >= 0, "whole words");
	union {
		uint4 align;
		u32 word[words + most];
	} u;
	const unsigned shift = step % part == 0 ? least : (unsigned)((size_t)p % part);
	const char *first = (const char *)p - shift;
#pragma unroll
	for (int i = 0; i <= bytes; i += part) {
		const char *from = first + (i < bytes || shift ? i : i - part);
#ifdef TPAT_EMULATOR
		emulator_load(u.word + i / 4, from, part);
#else
		copy_vector<part>(u.word + i / 4, from);
#endif
	}
#pragma unroll
	for (int turn = most / 2; turn > 0; turn /= 2) {
		const bool moved = step % (8 * turn) == 0 ? least & 4 * turn : shift & 4 * turn;
#pragma unroll
		for (int i = 0; i < words + turn; i++)
			u.word[i] = moved ? u.word[i + turn] : u.word[i];
	}
	const unsigned rest = step % 4 == 0 ? least % 4 : shift % 4;
	if constexpr (sizeof(T) < 4 && (step % 4 != 0 || least % 4 != 0)) {
#pragma unroll
		for (int i = 0; i < words; i++)
			u.word[i] = (u32)(((u64)u.word[i + 1] << 32 | u.word[i]) >> rest * 8);
	}
	memcpy(v, u.word, bytes);
}

/* p[0 .. N) = v */
template <int N, class T> TPAT_FN void store(T *p, const T (&v)[N])
{
	const int bytes = N * sizeof(T), part = vector_part<bytes>::bytes;
#ifdef TPAT_EMULATOR
	for (int i = 0; i < bytes; i += part)
		emulator_store((char *)p + i, (const char *)v + i, part);
#else
	union {
		uint4 align;
		char byte[bytes];
	} u;
	memcpy(u.byte, v, bytes);
#pragma unroll
	for (int i = 0; i < bytes; i += part)
		copy_vector<part>((char *)p + i, u.byte + i);
#endif
}

/* The same for data used once and larger than the caches: 16-byte vectors bypass the L1 cache, and are evicted first
 * from L2. Measured on an H100: rows of 25 to 67 MB take 2 to 5 % less time if both loads and stores do so. */
template <int N, class T> TPAT_FN void load_once(T (&v)[N], const T *p)
{
#if TPAT_ARCH
	if constexpr (N * sizeof(T) == 16) {
		uint4 u;
		asm volatile("ld.global.nc.L1::no_allocate.v4.u32 { %0, %1, %2, %3 }, [%4];"
		             : "=r"(u.x), "=r"(u.y), "=r"(u.z), "=r"(u.w)
		             : "l"(p));
		memcpy(v, &u, 16);
	} else
#endif
		load(v, p);
}

template <int N, class T> TPAT_FN void store_once(T *p, const T (&v)[N])
{
#if TPAT_ARCH
	if constexpr (N * sizeof(T) == 16) {
		uint4 u;
		memcpy(&u, v, 16);
		asm volatile("st.global.cs.v4.u32 [%0], { %1, %2, %3, %4 };" ::"l"(p), "r"(u.x), "r"(u.y), "r"(u.z),
		             "r"(u.w)
		             : "memory");
	} else
#endif
		store(p, v);
}

#endif
