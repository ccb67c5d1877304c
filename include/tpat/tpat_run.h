/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_run.h: runs whole models with tpat's own kernels, without an inference engine. A part of tpat.h, which includes
 * it. */
#ifndef TPAT_RUN_H
#define TPAT_RUN_H

#include "tpat/tpat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Once, on files or random values: `tpat run`. */

struct tpat_run_options {
	int version;               /* TPAT_RUN_VERSION */
	const char *model;         /* path */
	const char *device;        /* "cuda", "cuda:1", "cpu", "emulator", "interpreter"; null: cpu */
	struct tpat_strings input; /* "tensor=file.npy", ".npz" or ".pb", or a folder with input_0.pb, input_1.pb ...;
	                              other inputs are random: floats from -1 to 1, integers 0 or 1 */
	struct tpat_strings shape; /* "tensor:4x3x64": extents of a random input */
	struct tpat_strings value; /* "tensor=16000": inputs to make constant, in their own types */
	const char *output;        /* path of an .npz file for the outputs; null: none */
	uint64_t seed;
	const char *expect;      /* the outputs to compare with: an .npz file, the .pb or .npy file of a single output,
	                            or a folder with output_0.pb, output_1.pb ...; null: none */
	double tolerance;        /* relative to each element and to its tensor's largest; 0: by the output's type */
	int time;                /* runs to time after a warm-up; 0: none */
	bool cuda_graph;         /* with `time`: also time a recorded graph of the launches */
	bool profile;            /* time each launch */
	const char *profile_out; /* path of a file of Chrome's trace events, for Perfetto; null: none */
};
enum { TPAT_RUN_VERSION = 2 };
#define TPAT_RUN_OPTIONS ((struct tpat_run_options){ .version = TPAT_RUN_VERSION, .seed = 1 })

struct tpat_ran {
	const char *device;         /* "NVIDIA H100 80GB HBM3", "interpreter" */
	int nodes, pieces, kernels; /* nodes that ran; programs that they made; launches */
	int phases; /* graphs that ran: each one but the last computed integers that decide extents of later nodes.
	               Times and memory are those of the last, where they are constants */
	struct tpat_strings outputs; /* "y: f32[4,3]" */
	int64_t held, weights;       /* bytes of device memory; of these, for constants */
	double ns, spread;           /* with `time`: median of one run; (third quartile - first) / median */
	double graph_ns;             /* the same, recorded; 0: not measured, or the device records no launches */
	const struct tpat_ran_launch *launch; /* with `profile` or `profile_out`: in order */
	int launches;
	int compared;            /* outputs compared with `expect` */
	int64_t elements, wrong; /* of these outputs; beyond the tolerance */
	double max_absolute, max_relative;
	const char *differs; /* the first output that differs, with its first such element, a sentence; or null */
};

/* One launch of a kernel. */
struct tpat_ran_launch {
	const char *piece;  /* the nodes of its program: "conv1..relu3" */
	const char *node;   /* the last node whose result it writes, with those fused into it; "": unknown */
	const char *kernel; /* the function */
	double ns;          /* median */
	double bytes;       /* of all tensors that it reads or writes, each once */
};

/* Errors: TPAT_UNSUPPORTED for a node that tpat does not support; TPAT_DIFFER if an output is not as expected: *out is
 * filled in that case too. Threads: interpreter, "cpu" and "emulator" start threads. */
TPAT_API int tpat_run(struct tpat *t, const struct tpat_ran **out, const struct tpat_run_options *o);

/* ---- Many times, on the caller's tensors. */

/* Element types; the numbers are those of ONNX's TensorProto.DataType. */
enum tpat_type {
	TPAT_F32 = 1,
	TPAT_U8 = 2,
	TPAT_I8 = 3,
	TPAT_U16 = 4,
	TPAT_I16 = 5,
	TPAT_I32 = 6,
	TPAT_I64 = 7,
	TPAT_BOOL = 9, /* a byte, 0 or 1 */
	TPAT_F16 = 10,
	TPAT_F64 = 11,
	TPAT_U32 = 12,
	TPAT_U64 = 13,
	TPAT_C64 = 14,
	TPAT_C128 = 15,
	TPAT_BF16 = 16,
	TPAT_F8E4M3FN = 17,
	TPAT_F8E4M3FNUZ = 18,
	TPAT_F8E5M2 = 19,
	TPAT_F8E5M2FNUZ = 20,
	TPAT_U4 = 21, /* types of 4 and 2 bits are packed, the first element in the low bits */
	TPAT_I4 = 22,
	TPAT_F4E2M1 = 23,
	TPAT_F8E8M0 = 24,
	TPAT_U2 = 25,
	TPAT_I2 = 26,
};

/* A tensor: dense, row-major, little-endian. It owns nothing. */
struct tpat_tensor {
	const char *name;
	enum tpat_type type;
	int rank;           /* number of extents; 0: a scalar; -1: unknown (only in tpat_session_about) */
	const int64_t *dim; /* extents; -1: not known before a run (only in tpat_session_about) */
	const void *data;   /* host memory; null: none */
	const void *device; /* memory of the session's device, aligned to 256 bytes as cudaMalloc() returns it; null:
	                       none */
};

struct tpat_session_options {
	int version;               /* TPAT_SESSION_VERSION */
	const char *model;         /* path */
	const char *device;        /* "cuda", "cuda:1", "cpu", "emulator", "interpreter"; null: cpu */
	struct tpat_strings shape; /* "x:4x3xHxW": extents of an input. Fixed extents make faster kernels */
	struct tpat_strings value; /* "sr=16000": inputs to make constant, in their own types */
	bool stay; /* leave outputs on the device: their host memory is null, and a run copies none of them */
};
enum { TPAT_SESSION_VERSION = 1 };
#define TPAT_SESSION_OPTIONS ((struct tpat_session_options){ .version = TPAT_SESSION_VERSION })

/* An open model on a device, with its compiled kernels, constants and memory. It belongs to no context. One thread at a
 * time may use it, with any context; different sessions are independent, also on one device. */
struct tpat_session;

struct tpat_session_about {
	const char *device;               /* "NVIDIA H100 80GB HBM3", "interpreter" */
	const struct tpat_tensor *input;  /* names, types and extents, in the model's order */
	const struct tpat_tensor *output; /* the same */
	int inputs, outputs;
};

struct tpat_session_ran {
	const struct tpat_tensor *output; /* in the model's order, with their extents */
	int outputs;
	int nodes, pieces, kernels; /* nodes that ran; programs that they made; launches */
	int64_t held, weights;      /* bytes of device memory; of these, for constants */
};

/* Opens a model. *out is the caller's: close it. Later changes of the file do not matter. Errors: as tpat_run().
 * Threads: starts none. */
TPAT_API int tpat_session_open(struct tpat *t, struct tpat_session **out, const struct tpat_session_options *o);
/* Null is fine. Frees all results of the session. Threads: any, when no run of the session is going on. */
TPAT_API void tpat_session_close(struct tpat_session *s);
/* The model's inputs and outputs, and the device. Valid until the session is closed. Threads: any. */
TPAT_API const struct tpat_session_about *tpat_session_about(const struct tpat_session *s);

/* Runs the model on `inputs` tensors, in any order, each named as an input of the model. It returns when the device is
 * done. The first run compiles the kernels; later runs reuse them, also with other extents. A model in which the values
 * of integers decide extents runs in phases, as in tpat_run(): the nodes after such values are compiled for them, and
 * reused while the values stay the same.
 *
 * Inputs are the caller's, who must not change them during the call. A tensor with `device` is read there, without a
 * copy: everything that writes it must have finished before the call. Devices "cuda" and "cpu" take such tensors (CUDA:
 * of its primary context, which the CUDA runtime uses).
 *
 * *out and the outputs are the session's, valid until its next run or tpat_session_close(). `data` is null with the
 * option `stay`, and `device` in the interpreter and for results known at build time; one of them is not null unless
 * the tensor is empty.
 *
 * Errors: TPAT_USAGE for an input that the model does not have, that is missing, or has another type, rank or extents;
 * TPAT_MODEL for extents that do not fit an operator; TPAT_DEVICE from compiler and device; TPAT_CANCELLED. After an
 * error the session can run again. Threads: as tpat_run(). */
TPAT_API int tpat_session_run(struct tpat *t, const struct tpat_session_ran **out, struct tpat_session *s,
                              const struct tpat_tensor *input, int inputs);

#ifdef __cplusplus
}
#endif

#endif
