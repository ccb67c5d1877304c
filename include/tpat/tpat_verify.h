/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_verify.h: verifies plugins, runs edited kernels, and checks any plugin library. A part of tpat.h, which includes
 * it. */
#ifndef TPAT_VERIFY_H
#define TPAT_VERIFY_H

#include "tpat/tpat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Verification. */

struct tpat_verified;
struct tpat_verify_options {
	int version;              /* TPAT_VERIFY_VERSION */
	const char *model;        /* rewritten model */
	const char *library;      /* null: the model's own, next to it */
	struct tpat_strings node; /* plugins to check: nodes, as for tpat_build, or names of plugins; none: all */
	const char *device;       /* "cuda", "cuda:1"; "emulator": the CUDA text on the processor, every access checked;
	                             "cpu": the kernels in C. null: the first of these that works */
	struct tpat_strings input; /* "tensor=file.npy", ".npz" or ".pb": a plugin's input, by its name in the model */
	struct tpat_strings shape; /* "tensor:4x3x64": extents of a plugin's input */
	struct tpat_strings value; /* "tensor=16000", "tensor=1,2": values of a plugin's input, in its own type */
	uint64_t seed;
	int runs;             /* sets of random shapes and values per plugin; 0: 3, or 1 if all shapes are constant and
	                         the original nodes take more than 3e7 operations */
	const char *dump;     /* folder for .npz files of differing results; null: the current one */
	const char *tensorrt; /* act as this version: "8.6", "10.3"; null: 11 */
	bool (*progress)(void *user, const struct tpat_progress *p);
	/* Called after each plugin, with all results so far, the newest last. May be null. */
	void (*checked)(void *user, const struct tpat_verified *so_far);
	void *user;
};
enum { TPAT_VERIFY_VERSION = 5 };
#define TPAT_VERIFY_OPTIONS ((struct tpat_verify_options){ .version = TPAT_VERIFY_VERSION, .seed = 1 })

/* The measured time of one tactic. */
struct tpat_time {
	double ns, spread; /* median of one run; (third quartile - first) / median */
};

struct tpat_check {
	const char *plugin, *node;
	const char *tensor;           /* the node's first output in the model */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]": of the worst run */
	bool passed;
	const char *error;  /* why the plugin did not run, a sentence; or null */
	const char *output; /* name of the output with the worst element */
	int64_t elements, differing;
	double max_absolute, max_relative;
	const char *worst; /* "[2,1]: got 1.5, want 1.25"; "" when all are equal */
	const char *near;  /* the elements around the first that differs: lines "> [2,1] got 1.5, want 1.25", ">" at
	                      this one; "": all agree */
	const char *first; /* the first element that differs of the first tensor that does, a result of a stage or an
	                      output, and its neighbours: "mean[3]: got 1.5, want 1.25; from ..."; or null */
	const char *dump;  /* path of the .npz, or null: the inputs, and got_ and want_ of outputs and stages */
	const char *note;  /* how the results of loops were compared, where rounding errors grow: sentences; or null */
	const struct tpat_time *time; /* of each tactic at the extents of the first run; measured by tpat_kernel() */
	int times;
	bool lacks; /* it could not run here: not enough memory, no code for this GPU, or no working compiler */
};

struct tpat_verified {
	const char *library, *device; /* library: all opened ones, separated by ", "; device: null if none was */
	const struct tpat_check *check;
	int checks, failed;
	int plugins;      /* to check */
	bool interrupted; /* before all were checked */
	int lacking;      /* of those that failed, plugins that could not run here: they need not be wrong */
};

/* Runs every plugin of a rewritten model through its own interface, as TensorRT would, and compares with the original
 * nodes (the local function) in the interpreter. A plugin that does not run counts as failed; the others are still
 * checked. TPAT_DIFFER if results differ, TPAT_DEVICE if all that failed could not run here; *out is filled in these
 * cases too, and with TPAT_CANCELLED. Threads: opens the libraries in this process, which runs their constructors;
 * interpreter, "cpu" and "emulator" start threads. */
TPAT_API int tpat_verify(struct tpat *t, const struct tpat_verified **out, const struct tpat_verify_options *o);

/* ---- Running an edited kernel. */

struct tpat_kernel_options {
	int version;        /* TPAT_KERNEL_VERSION */
	const char *file;   /* the CUDA text: NAME.tpat/kernels/PLUGIN.cu, or an edited copy of it */
	const char *folder; /* the folder of the build, NAME.tpat; null: the one that the file is in */
	const char *node;   /* the plugin that the file belongs to, or a node of it; null: by the file's name */
	const char *device; /* "cuda", "cuda:1", "emulator"; null: the first that works */
	struct tpat_strings input, shape, value; /* as tpat_verify_options */
	uint64_t seed;
	int runs;         /* as there */
	int times;        /* measurements of the first run's extents; 0: 50 on a GPU, none elsewhere */
	const char *dump; /* folder for the .npz file of differing results; null: the current one */
	int workers;      /* threads that compile; 0: one a processor */
	bool (*progress)(void *user, const struct tpat_progress *p);
	void *user;
};
enum { TPAT_KERNEL_VERSION = 1 };
#define TPAT_KERNEL_OPTIONS ((struct tpat_kernel_options){ .version = TPAT_KERNEL_VERSION, .seed = 1 })

struct tpat_kernel_run {
	const char *file, *folder, *plugin, *device;
	bool inside;                    /* the file is the folder's own text */
	const struct tpat_check *check; /* with the times of its tactics */
	const struct tpat_time *before; /* the same for the unedited library, on a GPU; or null */
	struct tpat_strings unused;     /* edited kernels that no run launched; on a GPU this is unknown: empty */
};

/* Runs an edited kernel in place of the plugin's own and compares its results with those of the original nodes, as
 * tpat_verify() does. On a GPU it compiles the kernel with NVRTC, and also times it and the unedited library. Changes
 * no file of the build. TPAT_USAGE for a file that belongs to no build, or lacks a kernel; TPAT_DIFFER if results
 * differ: *out is filled in that case too. Threads: as tpat_verify(), and `workers` threads. */
TPAT_API int tpat_kernel(struct tpat *t, const struct tpat_kernel_run **out, const struct tpat_kernel_options *o);

/* ---- Checking any plugin library. */

struct tpat_finding {
	const char *plugin; /* its name; of the library itself: its path */
	const char *call;   /* the function, as TensorRT's headers name it: "getNbOutputs" */
	const char *what;   /* what it did, a clause */
	const char *rule;   /* the rule that it breaks, a clause */
	const char *method; /* where the headers have the rule: "IPluginV2::clone"; commas separate several */
	const char *fix;    /* what to do, sentences */
};
struct tpat_plugin_time {
	const char *plugin, *inputs; /* "f32[2,3] i64[4]" */
	int tactic;                  /* 0: the plugin has none */
	double us;                   /* of enqueue(), the median of 15 samples */
	double beside_us;            /* the same of the other library's fastest tactic; 0: not measured */
	bool captured;               /* on a GPU, in a CUDA graph: without the host's time */
};
struct tpat_plugin_checked {
	const char *library;
	const struct tpat_finding *finding;
	int findings;
	const struct tpat_plugin_time *time; /* of plugins without findings, if options ask for it */
	int times;
	struct tpat_strings plugins; /* names of those whose checks were completed */
	struct tpat_strings notes;   /* "NAME: what could not be checked" */
};

struct tpat_check_options {
	int version;                   /* TPAT_CHECK_VERSION */
	const char *library;           /* path */
	const char *plugin;            /* name; null: all of the library */
	struct tpat_strings input;     /* "f32[1:4,3,8,8]", shape inputs "i64[2]=3,4", or "FILE.npy" with values
	                                * (.npz, .pb): for a build, in order; may be none */
	const char *tensorrt;          /* the version to act as: "8.6", "10.3"; null: 11 */
	struct tpat_strings attribute; /* "NAME=VALUE", "NAME=1,2": for createPlugin(); may be none */
	bool host_memory;              /* call enqueue() with host memory: the plugin computes on the processor */
	struct tpat_strings expect;    /* files of the outputs, in order, that `input` gives at the largest extents */
	bool time;                     /* also time enqueue() of each tactic; needs `input` */
	const char *beside;            /* path of a library to compare with: its plugin gets the same inputs, and no
	                                * attributes. Null: none */
};
enum { TPAT_CHECK_VERSION = 4 };
#define TPAT_CHECK_OPTIONS ((struct tpat_check_options){ .version = TPAT_CHECK_VERSION })

/* Calls a plugin library as TensorRT does (IPluginV3, IPluginV2DynamicExt), and checks its answers against the rules in
 * TensorRT's headers: creators, fields, capabilities, clones, serialisation. With `input` it also plays an engine's
 * build and runs, on the first GPU if there is one, or in host memory. The library's code runs in a forked process.
 * TPAT_DIFFER if there are findings; *out is filled in that case too. TPAT_USAGE if the library has no such plugin.
 * Threads: starts none; forks. */
TPAT_API int tpat_check_plugin(struct tpat *t, const struct tpat_plugin_checked **out,
                               const struct tpat_check_options *o);

#ifdef __cplusplus
}
#endif

#endif
