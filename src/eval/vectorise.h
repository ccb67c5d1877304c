/* Included last by kernel files: enables vectorisation of their loops, which GCC's -O2 would skip, and defines the
 * loops of most kernels. */
#ifndef TPAT_EVAL_VECTORISE_H
#define TPAT_EVAL_VECTORISE_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3")
#endif

/* Define kernels of one operand x, or two, x and y: registers of type T in, type R out; one lane if nothing varies. */
#define UNARY(NAME, R, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		R *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) { \
			T x = a[l]; \
			d[l] = (R)(EXPR); \
		} \
	}

#define BINARY(NAME, R, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a], *restrict b = f->r[i->b]; \
		R *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) { \
			T x = a[l], y = b[l]; \
			d[l] = (R)(EXPR); \
		} \
	}

#endif
