/* SPDX-License-Identifier: Apache-2.0
 * tpat_packed.h: functions for kernels that multiply packed weights by 16-bit floats. A row of weights lies in memory
 * as numbers of 4 or 8 bits, and is converted in registers, exactly, to the left operand of tensor cores; the columns
 * are the right operand. So a weight is read once for up to 8 * COLUMNS columns. Compiled like tpat_device.h. Source of
 * the conversion: a number in the low bits of a float's mantissa (Kim, Henry, Fahim and Awadalla, Who Says Elephants
 * Can't Run, 2022). */
#ifndef TPAT_PACKED_H
#define TPAT_PACKED_H

#include "tpat_mma.h"

#define TPAT_FN __device__ __forceinline__

/* Kinds of numbers: unsigned, signed (two's complement), and 8-bit floats. */
enum packed_kind { PACKED_U4, PACKED_I4, PACKED_U8, PACKED_I8, PACKED_F8 };
template <packed_kind KIND> TPAT_FN constexpr int packed_bits() { return KIND <= PACKED_I4 ? 4 : 8; }

enum {
	PACKED_PIECE = 64, /* bytes of a row that a warp converts at a time */
	PACKED_AHEAD = 1,  /* pieces by which scales and columns are loaded ahead */
};

/* A zero point that all numbers share. */
template <int ZERO> struct packed_zero {
	template <class I> TPAT_FN int operator()(I, I) const { return ZERO; }
};
template <class Zero> struct packed_is_shared {
	static const bool yes = false;
};
template <int ZERO> struct packed_is_shared<packed_zero<ZERO>> {
	static const bool yes = true;
};
/* Zero points are integers, which the conversion of a number subtracts, or any floats. */
template <class Z> struct packed_is_float {
	static const bool yes = false;
};
template <> struct packed_is_float<float> {
	static const bool yes = true;
};

/* ---- Conversion ---- */

/* Two numbers of T in a word, less `zero` and times `scale` (if ROUNDED), which are the same twice. */
template <class T> struct packed_shift {
	u32 low, high; /* what is subtracted from the numbers in the low and, of 4 bits, in the high half of a byte */
};

#if TPAT_ARCH >= 800
TPAT_FN u32 packed_fma(u32 x, u32 y, u32 z, f16)
{
	u32 r;
	asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
	return r;
}
TPAT_FN u32 packed_fma(u32 x, u32 y, u32 z, bf16)
{
	u32 r;
	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
	return r;
}
TPAT_FN u32 packed_bytes(u32 x, u32 y, u32 select)
{
	u32 r;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(select));
	return r;
}
/* x & mask | bits */
TPAT_FN u32 packed_bits_of(u32 x, u32 mask, u32 bits)
{
	u32 r;
	asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
	return r;
}
#else
template <class T> TPAT_FN float packed_half(u32 x, int i, T) { return to_f32(T{ (u16)(x >> 16 * i) }); }
template <class T> TPAT_FN u32 packed_fma(u32 x, u32 y, u32 z, T t)
{
	float v[2];
	for (int i = 0; i < 2; i++) /* one rounding: the product of two 11-bit numbers is exact */
		v[i] = packed_half(x, i, t) * packed_half(y, i, t) + packed_half(z, i, t);
	return mma_pack(v[0], v[1], t);
}
TPAT_FN u32 packed_bytes(u32 x, u32 y, u32 select)
{
	const u64 both = (u64)y << 32 | x;
	u32 r = 0;
	for (int i = 0; i < 4; i++)
		r |= (u32)(both >> (select >> 4 * i & 7) * 8 & 0xff) << 8 * i;
	return r;
}
TPAT_FN u32 packed_bits_of(u32 x, u32 mask, u32 bits) { return (x & mask) | bits; }
#endif

template <class T> TPAT_FN u32 packed_twice(T x) { return x.bits * 0x10001u; }

/* A float whose last bit is worth 1, twice: its low bits hold a number. 1024 and 128. */
TPAT_FN constexpr u32 packed_base(f16) { return 0x64006400; }
TPAT_FN constexpr u32 packed_base(bf16) { return 0x43004300; }
TPAT_FN f16 packed_round(float x, f16) { return round_f16(x); }
TPAT_FN bf16 packed_round(float x, bf16) { return round_bf16(x); }
TPAT_FN constexpr u32 packed_one(f16) { return 0x3c003c00; }
TPAT_FN constexpr u32 packed_one(bf16) { return 0x3f803f80; }
TPAT_FN constexpr u32 packed_sixteenth(f16) { return 0x2c002c00; }
TPAT_FN constexpr u32 packed_sixteenth(bf16) { return 0x3d803d80; }

/* Returns the addends that convert numbers with this zero point: minus the base and the zero point, twice. */
template <packed_kind KIND> TPAT_FN packed_shift<f16> packed_shift_of(int zero, f16)
{
	const int z = KIND == PACKED_I4 ? zero + 8 : KIND == PACKED_I8 ? zero + 128 : zero;
	return { (0xe400u + z) * 0x10001u, (0xd400u + 16 * z) * 0x10001u }; /* -1024 - z, -64 - z */
}
template <packed_kind KIND> TPAT_FN packed_shift<bf16> packed_shift_of(int zero, bf16)
{
	const int z = KIND == PACKED_I4 ? zero + 8 : KIND == PACKED_I8 ? zero + 128 : zero;
	if constexpr (packed_bits<KIND>() == 8)
		return { 0, (u32)z };
	else
		return { (0xc300u + z) * 0x10001u, packed_twice(round_bf16(-(float)(8 + z))) }; /* -128 - z, -8 - z */
}

/* The middle of a kind's numbers. */
template <packed_kind KIND> TPAT_FN constexpr int packed_middle()
{
	return KIND == PACKED_U4 ? 8 : KIND == PACKED_U8 ? 128 : 0;
}

/* Converts two consecutive numbers of 8 bits of a word, from number 2 * i on. */
template <packed_kind KIND> TPAT_FN u32 packed_bytes_to(u32 q, int i, packed_shift<f16> less, f16)
{
	if constexpr (KIND == PACKED_F8) {
#if TPAT_ARCH >= 890
		u32 r;
		const u16 two = (u16)(q >> 16 * i);
		asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(two));
		return r;
#else
		return mma_pack(to_f32(f8e4m3fn{ (u8)(q >> 16 * i) }), to_f32(f8e4m3fn{ (u8)(q >> (16 * i + 8)) }),
		                f16());
#endif
	} else {
		const u32 x = KIND == PACKED_I8 ? q ^ 0x80808080u : q;
		return packed_fma(packed_bytes(x, packed_base(f16()), i ? 0x7372 : 0x7170), 0x3c003c00, less.low,
		                  f16());
	}
}
template <packed_kind KIND> TPAT_FN u32 packed_bytes_to(u32 q, int i, packed_shift<bf16> less, bf16)
{
	float v[2];
#pragma unroll
	for (int e = 0; e < 2; e++) {
		const u32 byte = q >> (16 * i + 8 * e) & 0xff;
		if constexpr (KIND == PACKED_F8)
			v[e] = to_f32(f8e4m3fn{ (u8)byte });
		else /* at most 9 bits, of which the sums of 8-bit floats hold 8: -255 .. 255 */
			v[e] = (float)((int)(KIND == PACKED_I8 ? byte ^ 0x80 : byte) - (int)less.high);
	}
	return mma_pack(v[0], v[1], bf16());
}

/* ---- Products ---- */

/* Each warp copies PIECES neighbouring pieces of 16 * TILES rows at a time, and STAGES - 1 such copies ahead. The warps
 * form DOWN groups, each with rows of its own; the warps of a group work at different depths. Rows are padded by 16
 * bytes, so that lanes read words of different rows from different banks. */
template <packed_kind KIND, int TILES, int WARPS, int STAGES, int PIECES, int DOWN> struct packed_slots {
	static const int rows = 16 * TILES, pitch = PIECES * PACKED_PIECE + 16;
	uint4 memory[WARPS * STAGES * rows * pitch / 16];
	TPAT_FN u8 *slot(int warp, int stage) { return (u8 *)memory + (warp * STAGES + stage) * rows * pitch; }
};

/* The values of a lane for a piece: 4 words of weights a row meet 4 groups of these, of 8 or 4 columns' elements. */
template <int COLUMNS, int EACH> struct packed_columns {
	u32 word[4][COLUMNS][EACH / 2];
};

/* Elements k .. k + EACH of 8 * COLUMNS columns, for one word of weights; zeros where left_at() is negative. */
template <bool WIDE, int COLUMNS, int WORDS, class T, class I, class At>
TPAT_FN void packed_fetch(u32 (&to)[COLUMNS][WORDS], const T *from, I column, I k, const At &left_at)
{
	const int g = warp_lane() / 4;
#pragma unroll
	for (int c = 0; c < COLUMNS; c++) {
		T v[2 * WORDS];
		if constexpr (WIDE) {
			const auto place = left_at(column + 8 * c + g, k);
			load_if(v, from + (place < 0 ? 0 : place), place >= 0);
		} else {
#pragma unroll
			for (int e = 0; e < 2 * WORDS; e++) {
				const auto place = left_at(column + 8 * c + g, k + e);
				v[e] = T{ 0 };
				if (place >= 0)
					v[e] = from[place];
			}
		}
		memcpy(to[c], v, sizeof v);
	}
}

/* Copies pieces of the rows from byte `at` on, zeros beyond their bytes. */
template <int ROWS, int BYTES, class I>
TPAT_FN void packed_copy(u8 *slot, const u8 *weights, I row_bytes, I bytes, I row, I rows, I at)
{
	const int parts = BYTES / 16;
#pragma unroll
	for (int i = 0; i < ROWS * parts / 32; i++) {
		const int all = i * 32 + warp_lane(), r = all / parts, part = all % parts * 16;
		const I from = row + r < rows ? row + r : rows - 1;
		copy_async<16>(slot + r * (BYTES + 16) + part,
		               weights + from * row_bytes + (at + part < bytes ? at + part : 0), at + part < bytes);
	}
}

/* The numbers of one word of a row, as floats less the zero point: word[i] has, of 8 bits, the numbers 2 * i and 2 * i
 * + 1, and of 4 bits the numbers i and i + 4. */
template <packed_kind KIND, class T, int N> TPAT_FN void packed_convert(u32 (&word)[N], u32 q, packed_shift<T> less)
{
	if constexpr (packed_bits<KIND>() == 8) {
		word[0] = packed_bytes_to<KIND>(q, 0, less, T());
		word[1] = packed_bytes_to<KIND>(q, 1, less, T());
	} else {
		const u32 base = packed_base(T()), one = packed_one(T()), sixteenth = packed_sixteenth(T());
		q = KIND == PACKED_I4 ? q ^ 0x88888888u : q;
#pragma unroll
		for (int i = 0; i < 2; i++) {
			const u32 low = packed_bits_of(q >> 8 * i, 0x000f000f, base);
			const u32 high = packed_bits_of(q >> 8 * i, 0x00f000f0, base);
			word[2 * i] = packed_fma(low, one, less.low, T());
			word[2 * i + 1] = packed_fma(high, sixteenth, less.high, T());
		}
	}
}

/* Scales and zero points of a lane's rows for one piece: of span t, t + 4 ... of the piece, and lane 4 * g + t. */
template <int ROWS, int MINE, class Z> struct packed_scales {
	float scale[ROWS][MINE];
	Z zero[ROWS][MINE];
};

/* put(row, column, sum) for rows row .. row + 16 * TILES * DOWN and columns column .. column + 8 * COLUMNS, as far as
 * they are below `rows` and `columns`: the sums over k < depth of weight * column's element. A weight is (number -
 * zero_at(row, block)) * scale_at(row, block), in f32: the scale is applied to sums over a block; or if ROUNDED, that
 * rounded to T: the scale is a T. Zero points are integers of the numbers' range, or floats, which are Ts. A float is
 * subtracted from the sum over a block, times the sum of the column's elements; or if ROUNDED, from each number, and
 * the difference is rounded to T. BLOCK numbers along k share a scale and a zero point; 0: all of a row. Numbers are
 * `row_bytes` apart from row to row, of which the first `bytes` (a multiple of 16) hold numbers. left_at(column, k):
 * position of an element in `left`, or -1; WIDE: 16 bytes (of 8-bit numbers 8) from a multiple of that on are
 * neighbours. WARPS / DOWN warps share the pieces of 16 * TILES rows. Blocks begin with different pieces, so that they
 * read from all channels of the memory at any time.
 */
template <int BLOCK, bool ROUNDED, bool WIDE, int COLUMNS, packed_kind KIND, int TILES, int WARPS, int STAGES,
          int PIECES, int DOWN, class W, class T, class I, class At, class Scale, class Zero, class Put>
TPAT_FN void packed_product(packed_slots<KIND, TILES, WARPS, STAGES, PIECES, DOWN> &slots, const W *weights, I row,
                            typename identity<I>::type rows, typename identity<I>::type row_bytes,
                            typename identity<I>::type bytes, const T *left, typename identity<I>::type column,
                            typename identity<I>::type columns, const At &left_at, const Scale &scale_at,
                            const Zero &zero_at, const Put &put)
{
	const int bits = packed_bits<KIND>(), each = 32 / bits, depth = PACKED_PIECE * 8 / bits;
	const int block = BLOCK == 0 || BLOCK > depth ? depth : BLOCK, spans = depth / block;
	const int mine = (spans + 3) / 4, words = 4 / spans; /* a span's words of a row */
	static_assert(BLOCK == 0 || (BLOCK > depth ? BLOCK % depth : depth % BLOCK) == 0, "blocks of whole pieces");
	static_assert(spans <= 4, "a word has one block");
	typedef decltype(zero_at((I)0, (I)0)) zero_type;
	const bool shared_zero = packed_is_shared<Zero>::yes, whole = ROUNDED || BLOCK == 0;
	const bool float_zero = packed_is_float<zero_type>::yes, sums_zero = float_zero && !ROUNDED;
	const int middle = sums_zero ? packed_middle<KIND>() : 0; /* less of it cancels in the sums */
	const bool early = COLUMNS <= 2; /* else the columns of the next piece would take too many registers */
	const int warp = block_thread() / 32, lane = warp_lane(), g = lane / 4, t = lane % 4;
	const int copy_bytes = PIECES * PACKED_PIECE, pitch = slots.pitch, along = WARPS / DOWN, own = warp / DOWN;
	const I first = row, mine_from = row + warp % DOWN * (16 * TILES);
	const I copies = (bytes + copy_bytes - 1) / copy_bytes;
	const I turns = (copies <= own ? 0 : (copies - own + along - 1) / along) * PIECES;
	const I shift = first / (16 * TILES * DOWN) * along % (copies ? copies : 1);
	const auto piece_of = [&](I turn) {
		const I at = own + turn / PIECES * along + shift;
		return (at < copies ? at : at - copies) * PIECES + turn % PIECES;
	};
	mma_sum<float> sum[TILES][COLUMNS] = {}, elements[COLUMNS] = {};
	const mma_a<T> ones = { { packed_one(T()), packed_one(T()), packed_one(T()), packed_one(T()) } };
	packed_columns<COLUMNS, each> now, next;
	packed_scales<2 * TILES, mine, zero_type> scales[PACKED_AHEAD + 1];

	const auto fetch = [&](I turn) {
		const I piece = piece_of(turn);
#pragma unroll
		for (int w = 0; w < 4 && early; w++)
			packed_fetch<WIDE>(next.word[w], left, (I)column, piece * depth + (4 * w + t) * each, left_at);
	};
	const auto fetch_scales = [&](packed_scales<2 * TILES, mine, zero_type> &to, I turn) {
		const I all = bytes * (8 / bits);
#pragma unroll
		for (int r = 0; r < 2 * TILES; r++)
#pragma unroll
			for (int m = 0; m < mine; m++) {
				const I at = mine_from + 8 * r + g, here = at < rows ? at : rows - 1;
				const I k = piece_of(turn) * depth + (t + 4 * m) % spans * block;
				const I b = BLOCK ? (k < all ? k : 0) / (BLOCK ? BLOCK : 1) : 0;
				to.scale[r][m] = scale_at(here, b);
				if (!shared_zero)
					to.zero[r][m] = zero_at(here, b);
			}
	};
	const auto copy = [&](int stage, I turn) {
		if (turn < turns)
			packed_copy<16 * TILES, copy_bytes>(slots.slot(warp, stage), (const u8 *)weights, (I)row_bytes,
			                                    (I)bytes, mine_from, (I)rows,
			                                    piece_of(turn) * PACKED_PIECE);
		copy_commit();
	};
#pragma unroll
	for (int s = 0; s < STAGES - 1; s++)
		copy(s, (I)(s * PIECES));
#pragma unroll
	for (int i = 0; i < PACKED_AHEAD; i++)
		if (i < turns)
			fetch_scales(scales[i + 1], (I)i);
	if (turns > 0)
		fetch(0);
	int stage = 0;
	for (I turn = 0; turn < turns; turn++) {
		if (early)
			now = next;
#pragma unroll
		for (int i = 0; i < PACKED_AHEAD; i++)
			scales[i] = scales[i + 1];
		if (turn + PACKED_AHEAD < turns)
			fetch_scales(scales[PACKED_AHEAD], turn + PACKED_AHEAD);
		if (turn + 1 < turns)
			fetch(turn + 1);
		if (turn % PIECES == 0) {
			copy_wait<STAGES - 2>();
			__syncwarp();
			copy(stage ? stage - 1 : STAGES - 1, turn + (STAGES - 1) * PIECES);
		}
		const u8 *slot = slots.slot(warp, stage) + (int)(turn % PIECES) * PACKED_PIECE;
		if (turn % PIECES == PIECES - 1)
			stage = stage + 1 < STAGES ? stage + 1 : 0;
#pragma unroll
		for (int span = 0; span < spans; span++) {
			mma_sum<float> part[TILES][COLUMNS] = {};
			packed_shift<T> less[2 * TILES];
			float times[2 * TILES], zeros[2 * TILES];
			if constexpr (sums_zero && !whole)
#pragma unroll
				for (int c = 0; c < COLUMNS; c++)
					elements[c] = {};
#pragma unroll
			for (int r = 0; r < 2 * TILES; r++) {
				const int from = (lane & ~3) | span % 4;
				const float scale = scales[0].scale[r][span / 4];
				times[r] = spans > 1 ? shuffle(scale, from) : scale;
				if constexpr (shared_zero) {
					less[r] = packed_shift_of<KIND>(zero_at((I)0, (I)0), T());
				} else {
					const zero_type own = scales[0].zero[r][span / 4],
					                zero = spans > 1 ? shuffle(own, from) : own;
					less[r] = packed_shift_of<KIND>(float_zero ? middle : (int)zero, T());
					zeros[r] = (float)zero;
				}
			}
#pragma unroll
			for (int w = span * words; w < (span + 1) * words; w++) {
				if (!early)
					packed_fetch<WIDE>(now.word[w], left, (I)column,
					                   piece_of(turn) * depth + (4 * w + t) * each, left_at);
				/* Numbers of 4 bits come in pairs that are four apart. */
				mma_b<T> b[COLUMNS][each / 4];
#pragma unroll
				for (int c = 0; c < COLUMNS; c++) {
					const u32(&v)[each / 2] = now.word[w][c];
					if constexpr (bits == 8) {
						b[c][0] = { { v[0], v[1] } };
					} else {
						b[c][0] = { { packed_bytes(v[0], v[2], 0x5410),
							      packed_bytes(v[0], v[2], 0x7632) } };
						b[c][1] = { { packed_bytes(v[1], v[3], 0x5410),
							      packed_bytes(v[1], v[3], 0x7632) } };
					}
				}
#pragma unroll
				for (int c = 0; c < COLUMNS && sums_zero; c++)
#pragma unroll
					for (int e = 0; e < each / 4; e++)
						mma(elements[c], ones, b[c][e]);
#pragma unroll
				for (int i = 0; i < TILES; i++) {
					mma_a<T> a[each / 4];
#pragma unroll
					for (int half = 0; half < 2; half++) {
						u32 q[1], v[each / 2];
						load(q,
						     (const u32 *)(slot + (16 * i + 8 * half + g) * pitch) + 4 * w + t);
						packed_convert<KIND>(v, q[0], less[2 * i + half]);
#pragma unroll
						for (int e = 0; e < each / 2; e++) {
							if constexpr (ROUNDED && float_zero)
								v[e] = packed_fma(v[e], packed_one(T()),
								                  packed_twice(packed_round(
								                          -zeros[2 * i + half], T())),
								                  T());
							if constexpr (ROUNDED)
								v[e] = packed_fma(v[e],
								                  packed_twice(packed_round(
								                          times[2 * i + half], T())),
								                  0x80008000, T());
							a[e / 2].word[half + e % 2 * 2] = v[e];
						}
					}
#pragma unroll
					for (int c = 0; c < COLUMNS; c++)
#pragma unroll
						for (int e = 0; e < each / 4; e++)
							mma(whole ? sum[i][c] : part[i][c], a[e], b[c][e]);
				}
			}
			if constexpr (!whole) {
#pragma unroll
				for (int i = 0; i < TILES; i++)
#pragma unroll
					for (int c = 0; c < COLUMNS; c++)
#pragma unroll
						for (int e = 0; e < 4; e++) {
							const int r = 2 * i + e / 2;
							float of_block = part[i][c].at[e];
							if constexpr (sums_zero)
								of_block += (middle - zeros[r]) * elements[c].at[e];
							sum[i][c].at[e] += of_block * times[r];
						}
			}
		}
		__syncwarp();
	}
	if constexpr (sums_zero && whole)
#pragma unroll
		for (int r = 0; r < 2 * TILES; r++) {
			const I at = mine_from + 8 * r + g;
			const float zero = middle - zero_at(at < rows ? at : rows - 1, (I)0);
#pragma unroll
			for (int c = 0; c < COLUMNS; c++)
#pragma unroll
				for (int e = 0; e < 2; e++)
					sum[r / 2][c].at[r % 2 * 2 + e] += zero * elements[c].at[e];
		}
	copy_wait<0>();
	__syncthreads();
	/* The warps' sums, in the slots: [warp][row][column]. */
	const int wide = 8 * COLUMNS, all = 16 * TILES * wide;
	static_assert(all * 4 <= STAGES * 16 * TILES * (PIECES * PACKED_PIECE + 16), "sums fit");
	float *shared = (float *)slots.memory;
#pragma unroll
	for (int i = 0; i < TILES; i++)
#pragma unroll
		for (int c = 0; c < COLUMNS; c++)
#pragma unroll
			for (int half = 0; half < 2; half++) {
				const float two[2] = { sum[i][c].at[2 * half], sum[i][c].at[2 * half + 1] };
				store(shared + warp * all + (16 * i + 8 * half + g) * wide + 8 * c + 2 * t, two);
			}
	__syncthreads();
	for (int e = block_thread(); e < all * DOWN; e += 32 * WARPS) {
		const int r = e % (16 * TILES * DOWN), c = e / (16 * TILES * DOWN);
		if (first + r >= rows || column + c >= columns)
			continue;
		const float *at = shared + r / (16 * TILES) * all + r % (16 * TILES) * wide + c;
		float total = at[0];
#pragma unroll
		for (int w = 1; w < along; w++)
			total += at[w * DOWN * all];
		if constexpr (BLOCK == 0 && !ROUNDED)
			total *= scale_at(first + r, (I)0);
		put(first + r, column + c, total);
	}
}

#undef TPAT_FN
#endif
