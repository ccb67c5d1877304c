/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_rt.h: the interface between a generated plugin and the runtime (rt/).
 *
 * A generated library is data: one constant `struct tpat_rt_library` named tpat_library, which describes each plugin as
 * tensors, expressions over run-time extents, and a sequence of kernel launches. The runtime reads it: it is the
 * TensorRT plugin. Nothing here depends on TensorRT or CUDA headers. All tables are constant and shared by all
 * instances; every index is into the array of the same plugin.
 *
 * The struct starts with a version; a runtime refuses any other. */
#ifndef TPAT_RT_H
#define TPAT_RT_H

#include <stddef.h>
#include <stdint.h>

#define TPAT_RT_VERSION 11

/* Limits: extents of a tensor (TensorRT's), arguments of a kernel (4 KiB of them, CUDA's). */
#define TPAT_RT_MAX_RANK 8
#define TPAT_RT_MAX_ARGS 512
#define TPAT_RT_MAX_PARTS 16 /* of a plugin's code */
#define TPAT_RT_MAX_MAPS 4   /* of a kernel */
#define TPAT_RT_MAP_RANK 5
#define TPAT_RT_MAP_BYTES 128 /* of one kernel argument, aligned to 64 */

/* Marks the symbols that a generated library exports; all others are hidden. The table is `protected`, so that two
 * libraries in one process never read each other's. */
#ifdef _WIN32
#define TPAT_RT_EXPORT __declspec(dllexport)
#define TPAT_RT_TABLE __declspec(dllexport)
#else
#define TPAT_RT_EXPORT __attribute__((visibility("default")))
#define TPAT_RT_TABLE __attribute__((visibility("protected")))
#endif

/* One node of an expression; operands a, b, c are indices of earlier nodes of the same table. Values are int64.
 * The same table is evaluated with numbers (enqueue), with ranges (workspace) and with TensorRT's IExprBuilder
 * (shapes). A node that overflows, or whose VALUE is unknown, has no value, nor have nodes that use it (SELECT uses
 * only the chosen side). That is an error only if the number is needed. In output extents TensorRT itself computes both
 * sides of a SELECT and all divisions: there, divisors that are not constant must never be zero. */
enum tpat_rt_op {
	TPAT_RT_CONST, /* value */
	TPAT_RT_DIM,   /* extent b of input a */
	TPAT_RT_VALUE, /* element b of the integer shape input a. Launches cannot read device memory: there a node that
	                  depends on a VALUE takes its number from the output extent that is this node; without such an
	                  output, it may be used in shapes only */
	TPAT_RT_ADD,
	TPAT_RT_SUB,
	TPAT_RT_MUL,
	TPAT_RT_FLOORDIV, /* rounds toward minus infinity; division by zero gives 0 */
	TPAT_RT_CEILDIV,
	TPAT_RT_MOD, /* a - floordiv(a, b) * b */
	TPAT_RT_MIN,
	TPAT_RT_MAX,
	TPAT_RT_EQ, /* 1 or 0, like all below */
	TPAT_RT_LT,
	TPAT_RT_LE,
	TPAT_RT_AND,
	TPAT_RT_OR,
	TPAT_RT_NOT,    /* a */
	TPAT_RT_SELECT, /* a ? b : c */
	TPAT_RT_SIZE, /* a size that the kernels store in output a (a scalar INT32 or INT64); b is its likely and c its
	                 largest value. Evaluated with numbers it is c. INT64 becomes INT32 if TensorRT needs that */
};

struct tpat_rt_expr {
	int32_t op, a, b, c;
	int64_t value;
};

/* An input or output of the plugin. */
struct tpat_rt_tensor {
	const char *name; /* its name in the operator or region: "x", "scale" */
	int32_t type;     /* ONNX TensorProto.DataType */
	int32_t rank;
	const int32_t *dim;  /* rank expressions. Inputs: the required extent; its own DIM if any is allowed */
	int32_t shape_input; /* inputs: 1 if the runtime needs its values (TensorRT: shape input). These come after all
	                        other inputs */
	int32_t holds;    /* the ONNX type that the kernels read and write here, if only the bits are of `type`: such a
	                     tensor is between two plugins. Elements of less than a byte make the last extent smaller */
	int32_t replaces; /* outputs: number, from 1, of the input whose memory it may have; 0: none. The kernels then
	                     are right with that memory and with memory of its own */
	int32_t format; /* the engine's number of the format that it is stored in: `rank` and `dim` are those in memory;
	                   0: row-major */
};

/* An intermediate buffer in the workspace, or a constant in the library. */
struct tpat_rt_buffer {
	const char *name;
	int32_t bytes;    /* expression: its size; for constants it needs no extents */
	const void *data; /* constants and weights: the bytes, uploaded once per device, one copy for all plugins,
	                     clones and contexts that point to them; null: workspace */
};

enum tpat_rt_arg_kind {
	TPAT_RT_ARG_INPUT,  /* pointer to input `index` */
	TPAT_RT_ARG_OUTPUT, /* pointer to output `index` */
	TPAT_RT_ARG_BUFFER, /* pointer to buffer `index` */
	TPAT_RT_ARG_INT,    /* expression `index` as a 32-bit int */
	TPAT_RT_ARG_LONG,   /* expression `index` as a 64-bit int */
};
struct tpat_rt_arg {
	int32_t kind, index;
};

/* A CUDA tensor map: a tensor from which the GPU copies whole tiles. Expressions, innermost dimension first; strides
 * are in elements, 1 for the first dimension. */
struct tpat_rt_map {
	struct tpat_rt_arg from; /* a pointer */
	int32_t element_bytes, rank;
	int32_t dim[TPAT_RT_MAP_RANK], stride[TPAT_RT_MAP_RANK];
	int32_t box[TPAT_RT_MAP_RANK]; /* a tile's extents; the first is 128 bytes long */
	/* If `pixels` is not 0, a tile is that many consecutive positions of a walk over all dimensions but the first
	 * (CUDA: im2col): in each but the last, count[d] positions (an expression) from first[d] on in steps of
	 * step[d]. Positions outside the tensor read as zero. */
	int32_t pixels, first[TPAT_RT_MAP_RANK], step[TPAT_RT_MAP_RANK], count[TPAT_RT_MAP_RANK];
};
/* The same at run time. */
struct tpat_rt_map_values {
	const void *from;
	int32_t element_bytes, rank;
	int64_t dim[TPAT_RT_MAP_RANK], stride[TPAT_RT_MAP_RANK];
	int32_t box[TPAT_RT_MAP_RANK];
	int32_t pixels, first[TPAT_RT_MAP_RANK], step[TPAT_RT_MAP_RANK];
	int64_t count[TPAT_RT_MAP_RANK];
};

/* Runs one block of a kernel on the processor; arguments as for cuLaunchKernel. */
typedef void tpat_rt_cpu(void *const *args, const uint32_t block[3]);

struct tpat_rt_kernel {
	const char *name; /* of the function in the module */
	const struct tpat_rt_arg *arg;
	int32_t args;
	int32_t grid[3];               /* expressions; blocks. If any is 0 at run time, the kernel is not launched */
	int32_t block[3];              /* threads, constants */
	int32_t shared_bytes;          /* of dynamic shared memory, constant */
	int32_t guard;                 /* expression: the kernel fits if it is nonzero; -1: always */
	int32_t arch;                  /* required architecture of the code, 90 for sm_90; 0: any */
	const struct tpat_rt_map *map; /* tensor maps, passed as the last arguments */
	int32_t maps;
	int32_t early;    /* 1: its code for sm_90 and later itself waits for the previous kernel, which may still be
	                     running at launch */
	int32_t together; /* 1: its blocks wait for each other, so that all must run at the same time */
	tpat_rt_cpu *cpu; /* the same for the processor, compiled into the library; null: the library has none */
	int32_t part;     /* of the plugin's code that has it, from 0 */
	int32_t fills;    /* number, from 1, of the output that it only fills with the input which that output replaces:
	                     not launched if both have the same memory; 0: none */
};

/* One step of a tactic: launches its first kernel whose guard holds, whose architecture is loaded, and whose blocks run
 * at the same time if they must (the last one needs nothing of that). */
struct tpat_rt_step {
	const struct tpat_rt_kernel *kernel;
	int32_t kernels;
};

/* One way to run a plugin: its launches, in order. When building an engine, TensorRT measures a plugin's tactics and
 * keeps the number of the fastest. */
struct tpat_rt_tactic {
	const struct tpat_rt_step *step;
	int32_t steps;
};

/* A relation of two extents that kernels rely on and the tensor tables cannot express. Checked whenever extents change,
 * before any launch; skipped if it has no value (a size that the kernels compute). */
struct tpat_rt_demand {
	int32_t holds;       /* expression: nonzero if it holds */
	int32_t extent[2];   /* expressions: the two numbers */
	const char *name[2]; /* "extent 2 of x"; the first null: a number derived from others */
	const char *node;    /* the node that requires it */
	const char *rule;    /* "they must be equal"; without a first tensor: "it must be at least" */
};

/* Compiled code of one plugin for one architecture; of a plugin with many kernels, one of up to TPAT_RT_MAX_PARTS parts
 * with some of the kernels; an architecture's parts follow each other in their order. */
struct tpat_rt_image {
	int32_t arch; /* 90 for sm_90 */
	int32_t ptx;  /* 1: PTX text (NUL-terminated), runs on later architectures too; 0: cubin, runs on this major
	               * only */
	const void *data;
	const void *end;
};

struct tpat_rt_plugin {
	const char *name, *version, *name_space;
	const char *hash;    /* canonical hash of the program, hex: serialised and verified */
	const char *kernels; /* hash of its schedule, hex: likewise, since it determines the workspace and the meaning
	                        of tactic numbers */
	const char *code;    /* the plugin of the library whose kernels it runs: itself, or one with other weights */
	const char *about;   /* one line: what it computes */
	const struct tpat_rt_tensor *input, *output;
	int32_t inputs, outputs;
	const struct tpat_rt_expr *expr;
	int32_t exprs;
	const struct tpat_rt_buffer *buffer;
	int32_t buffers;
	const struct tpat_rt_tactic *tactic; /* at least one; TensorRT numbers them from 1, and 0, the default, is the
	                                        first */
	int32_t tactics;
	const struct tpat_rt_image *image;
	int32_t images;
	const struct tpat_rt_demand *demand;
	int32_t demands;
	const char *of; /* the plugin of the library that this one is, with tensors in other formats; null: its own */
};

struct tpat_rt_library {
	uint32_t version;      /* TPAT_RT_VERSION */
	const char *model;     /* the model's file name */
	const char *generator; /* "tpat 0.1.0" */
	const struct tpat_rt_plugin *plugin;
	int32_t plugins;
};

extern const struct tpat_rt_library tpat_library TPAT_RT_TABLE;

/* The device that runs the kernels. Defaults to the CUDA driver, opened on first use. `tpat verify --device cpu` and
 * the tests replace it before anything runs: tpat_rt_set_device(). All calls return 0, or nonzero with a sentence in
 * `why`. */
struct tpat_rt_device {
	uint32_t version; /* TPAT_RT_VERSION */
	void *user;
	/* A line of the runtime's log ("tpat plugin NAME: ..."; severity as TensorRT's: 1 error, 2 warning), if the
	 * process has no TensorRT to determine its logger's form. May be null. A device whose `load` is null is CUDA,
	 * with this log. */
	void (*log)(void *log_user, int severity, const char *line);
	void *log_user;
	/* Loads the plugin's code on the current device; once per code (`image` and `tactic`) and device. */
	int (*load)(void *user, const struct tpat_rt_plugin *plugin, void **module, char why[256]);
	/* Gets one of its kernels for launch(). May be null: launch() then takes the module. */
	int (*function)(void *user, void *module, const struct tpat_rt_plugin *plugin,
	                const struct tpat_rt_kernel *kernel, void **function, char why[256]);
	/* Uploads a constant buffer; once per buffer and device. */
	int (*upload)(void *user, const void *data, size_t bytes, void **pointer, char why[256]);
	int (*launch)(void *user, void *function, const struct tpat_rt_plugin *plugin,
	              const struct tpat_rt_kernel *kernel, const uint32_t grid[3], void **args, void *stream,
	              char why[256]);
	/* The number of the current device, to keep modules and uploads of devices apart; negative: no device. */
	int (*current)(void *user, char why[256]);
	/* Free modules and uploads, when the library is unloaded or the device replaced. May be null. */
	void (*unload)(void *user, int device, void *module);
	void (*release)(void *user, int device, void *pointer);
	/* True if a module has code for an architecture (kernels restricted to it then run). May be null: true for
	 * all. */
	int (*is_arch)(void *user, void *module, int32_t arch);
	/* The most blocks of `threads` threads that run at the same time, as kernels may need. May be null: any number.
	 */
	int32_t (*together)(void *user, void *module, int32_t threads);
	/* Writes a tensor map for kernels to `out`. May be null if they take none. */
	int (*map)(void *user, const struct tpat_rt_map_values *values, void *out, char why[256]);
	/* Copies within device memory, in stream order. May be null without TensorRT. */
	int (*copy)(void *user, void *to, const void *from, size_t bytes, void *stream, char why[256]);
	/* For engines that give plugins no workspace (ONNX Runtime); null elsewhere. Memory in stream order, aligned to
	 * 256 bytes; and a read that waits for the stream. */
	int (*alloc)(void *user, size_t bytes, void *stream, void **pointer, char why[256]);
	void (*free)(void *user, void *pointer, void *stream);
	int (*read)(void *user, void *to, const void *from, size_t bytes, void *stream, char why[256]);
};

/* Sets the device; the struct is copied; null: back to CUDA. Must not be called while a plugin of the library is in
 * use. */
void tpat_rt_set_device(const struct tpat_rt_device *device) TPAT_RT_EXPORT;

/* Registers the plugins with every TensorRT loaded in the process. Needed only by a program that opened the library
 * before TensorRT, not by one that loads it with TensorRT's loadLibrary. Returns the number of TensorRTs that have the
 * plugins. */
int32_t tpat_rt_register(void) TPAT_RT_EXPORT;

#endif
