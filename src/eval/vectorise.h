/* Included last by the files of kernels: their loops are to be vectorised also where -O2 of GCC would not. */
#ifndef TPAT_EVAL_VECTORISE_H
#define TPAT_EVAL_VECTORISE_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3")
#endif

#endif
