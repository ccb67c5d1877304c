/* SPDX-License-Identifier: Apache-2.0
 * tpat_words.h: words by which blocks of one launch pass values on, turn by turn: the value, and above it the turn's
 * number. A word is one access, so nothing else needs an order. All words are zero before the kernel starts. Compiled
 * like tpat_device.h. */
#ifndef TPAT_WORDS_H
#define TPAT_WORDS_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

template <class T, class I> TPAT_FN void word_pass(u64 *to, T v, I turn)
{
	static_assert(sizeof(T) <= 4, "the upper half is the turn's");
	u64 word = 0;
	memcpy(&word, &v, sizeof v);
	word |= (u64)(u32)turn << 32;
#ifdef TPAT_EMULATOR
	emulator_atomic_put(to, &word, sizeof word);
#else
	store_fresh(to, word);
#endif
}

/* v[i] = the value of the turn in words[at[i]]; waits for it. Reads all words that are missing at once, each time. */
template <class T, int N, class I, class J>
TPAT_FN void words_take(T (&v)[N], const u64 *words, const I (&at)[N], J turn)
{
	u64 word[N];
	bool missing = true;
#pragma unroll
	for (int i = 0; i < N; i++)
		word[i] = (u64)(u32) ~(u32)turn << 32;
	while (missing) {
#ifdef TPAT_EMULATOR
		for (int i = 0; i < N; i++)
			while ((u32)(word[i] >> 32) != (u32)turn) {
				emulator_atomic_get(&word[i], words + at[i], sizeof word[i]);
				if ((u32)(word[i] >> 32) != (u32)turn)
					emulator_host.until_not((const uint64_t *)words + at[i], word[i], __FILE__,
					                        __LINE__);
			}
#else
#pragma unroll
		for (int i = 0; i < N; i++)
			if ((u32)(word[i] >> 32) != (u32)turn)
				word[i] = load_fresh(words + at[i]);
#endif
		missing = false;
#pragma unroll
		for (int i = 0; i < N; i++)
			missing |= (u32)(word[i] >> 32) != (u32)turn;
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		memcpy(&v[i], &word[i], sizeof v[i]);
}

#undef TPAT_FN
#endif
