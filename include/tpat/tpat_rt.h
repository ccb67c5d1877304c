/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_rt.h: what a generated plugin and the runtime (rt/) say to each other.
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

#define TPAT_RT_VERSION 4

/* Limits: extents of a tensor (TensorRT's), arguments of a kernel (4 KiB of them, CUDA's). */
#define TPAT_RT_MAX_RANK 8
#define TPAT_RT_MAX_ARGS 512
#define TPAT_RT_MAX_MAPS 4 /* of a kernel */
#define TPAT_RT_MAP_RANK 5
#define TPAT_RT_MAP_BYTES 128 /* of one as a kernel takes it, at a multiple of 64 */

/* What a generated library shows of itself; all else is hidden. The table is `protected`, so that two libraries in one
 * process never read each other's. */
#define TPAT_RT_EXPORT __attribute__((visibility("default")))
#define TPAT_RT_TABLE __attribute__((visibility("protected")))

/* One node of an expression; operands a, b, c are indices of earlier nodes of the same table. Values are int64.
 * The same table is evaluated with numbers (enqueue), with ranges (workspace) and with TensorRT's IExprBuilder
 * (shapes). A node that overflows, or whose VALUE cannot be known, has no value; nodes that use it have none either
 * (SELECT looks only at the side it takes). That is an error only where the number is needed. In extents of outputs
 * TensorRT computes both sides of a SELECT and all divisions itself: there, divisors that are not constant must not be
 * able to be zero. */
enum tpat_rt_op {
	TPAT_RT_CONST, /* value */
	TPAT_RT_DIM,   /* extent b of input a */
	TPAT_RT_VALUE, /* element b of the integer shape input a. Device memory cannot be read when a kernel is
	                * launched: there a node that depends on a VALUE has the number of the output extent that is
	                * this very node; where no output has one, it may serve shapes only */
	TPAT_RT_ADD,
	TPAT_RT_SUB,
	TPAT_RT_MUL,
	TPAT_RT_FLOORDIV, /* toward minus infinity; by zero gives 0 */
	TPAT_RT_CEILDIV,
	TPAT_RT_MOD, /* a - floordiv(a, b) * b */
	TPAT_RT_MIN,
	TPAT_RT_MAX,
	TPAT_RT_EQ, /* 1 or 0, as all below */
	TPAT_RT_LT,
	TPAT_RT_LE,
	TPAT_RT_AND,
	TPAT_RT_OR,
	TPAT_RT_NOT,    /* a */
	TPAT_RT_SELECT, /* a ? b : c */
	TPAT_RT_SIZE,   /* a size that only the kernels find out: output a (a scalar INT32 or INT64) will hold it; b its
	                 * likely and c its largest value. With numbers it stands for c. An INT64 one becomes INT32
	                 * where TensorRT takes no other */
};

struct tpat_rt_expr {
	int32_t op, a, b, c;
	int64_t value;
};

/* A tensor at the plugin's edge. */
struct tpat_rt_tensor {
	const char *name; /* the operator's or region's own name of it: "x", "scale" */
	int32_t type;     /* ONNX TensorProto.DataType */
	int32_t rank;
	const int32_t *dim;  /* rank expressions. Of an input: what its extent must equal; its own DIM where anything
	                        goes */
	int32_t shape_input; /* inputs: 1 when the runtime needs its values as a shape (TensorRT: shape input). These
	                      * come after all other inputs */
};

/* An intermediate buffer in the workspace, or a constant that travels in the library. */
struct tpat_rt_buffer {
	const char *name;
	int32_t bytes;    /* expression: its size; of a constant one that needs no extents */
	const void *data; /* constants: the bytes, uploaded once a device; null: workspace */
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

/* A tensor from which the GPU copies whole tiles by itself: CUDA's tensor map. Expressions, of the fastest running
 * dimension first; strides are in elements, that of the first dimension is 1. */
struct tpat_rt_map {
	struct tpat_rt_arg from; /* a pointer */
	int32_t element_bytes, rank;
	int32_t dim[TPAT_RT_MAP_RANK], stride[TPAT_RT_MAP_RANK];
	int32_t box[TPAT_RT_MAP_RANK]; /* a tile's extents; the first is 128 bytes long */
	/* Or, where `pixels` is not 0, tiles are of so many positions behind each other of a walk over all dimensions
	 * but the first (CUDA calls that im2col): in those that are not the last, from first[d] on, every step[d]th,
	 * count[d] of them (an expression). What lies outside of the tensor is zero. */
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

struct tpat_rt_kernel {
	const char *name; /* of the function in the module */
	const struct tpat_rt_arg *arg;
	int32_t args;
	int32_t grid[3];               /* expressions; blocks. Any 0 at run time: nothing to do, not launched */
	int32_t block[3];              /* threads, constants */
	int32_t shared_bytes;          /* of dynamic shared memory, constant */
	int32_t guard;                 /* expression that must be nonzero for this kernel to fit, or -1: always */
	int32_t arch;                  /* the one whose compiled code it needs, 90 for sm_90; 0: any */
	const struct tpat_rt_map *map; /* tensor maps, the last arguments */
	int32_t maps;
	int32_t early; /* 1: its code for sm_90 and later waits by itself for the kernel before it, which may
	                * still run when it is set up */
};

/* One step of a tactic: the first of its kernels whose guard holds and whose architecture was loaded is launched (the
 * last one has none of both). */
struct tpat_rt_step {
	const struct tpat_rt_kernel *kernel;
	int32_t kernels;
};

/* One way to run a plugin: all that it launches, in this order. TensorRT measures a plugin's tactics where it builds an
 * engine, and keeps the number of the fastest. */
struct tpat_rt_tactic {
	const struct tpat_rt_step *step;
	int32_t steps;
};

/* What the kernels rely on between two extents and the tables of tensors cannot say: looked at whenever extents change,
 * before anything is launched. One without a value (a size that only the kernels find out) is passed over. */
struct tpat_rt_demand {
	int32_t holds;       /* expression: not 0 when it does */
	int32_t extent[2];   /* expressions: the two numbers */
	const char *name[2]; /* "extent 2 of x"; the first null: a number that follows from others */
	const char *node;    /* that demands it */
	const char *rule;    /* "they must be equal"; without a first tensor: "it must be at least" */
};

/* Compiled code of one plugin for one architecture. */
struct tpat_rt_image {
	int32_t arch; /* 90 for sm_90 */
	int32_t ptx;  /* 1: PTX text (NUL-terminated), runs on later architectures too; 0: cubin, runs on this major
	               * only */
	const void *data;
	const void *end;
};

struct tpat_rt_plugin {
	const char *name, *version, *name_space;
	const char *hash;    /* canonical hash of the program, hex: serialised and checked */
	const char *kernels; /* hash of how it is run, hex: likewise, since it decides the workspace and what a tactic's
	                      * number means */
	const char *about;   /* one line: what it computes */
	const struct tpat_rt_tensor *input, *output;
	int32_t inputs, outputs;
	const struct tpat_rt_expr *expr;
	int32_t exprs;
	const struct tpat_rt_buffer *buffer;
	int32_t buffers;
	const struct tpat_rt_tactic *tactic; /* at least one; TensorRT knows the first as number 1, and as 0, the
	                                        default */
	int32_t tactics;
	const struct tpat_rt_image *image;
	int32_t images;
	const struct tpat_rt_demand *demand;
	int32_t demands;
};

struct tpat_rt_library {
	uint32_t version;      /* TPAT_RT_VERSION */
	const char *model;     /* the model's file name */
	const char *generator; /* "tpat 0.1.0" */
	const struct tpat_rt_plugin *plugin;
	int32_t plugins;
};

extern const struct tpat_rt_library tpat_library TPAT_RT_TABLE;

/* Who runs the kernels. The default is the CUDA driver, opened when first needed. `tpat verify --device cpu` and the
 * tests put their own in its place before anything runs: tpat_rt_set_device(). All calls return 0, or nonzero with a
 * sentence in `why`. */
struct tpat_rt_device {
	uint32_t version; /* TPAT_RT_VERSION */
	void *user;
	/* A line of the runtime's log ("tpat plugin NAME: ..."; severity as TensorRT's: 1 error, 2 warning), where the
	 * process holds no TensorRT that says how its logger looks. May be null. A device whose `load` is null is CUDA,
	 * with this log. */
	void (*log)(void *log_user, int severity, const char *line);
	void *log_user;
	/* The plugin's code made ready for the current device; once a plugin and device. */
	int (*load)(void *user, const struct tpat_rt_plugin *plugin, void **module, char why[256]);
	/* One of its kernels, as launch() takes it. May be null: then launch() takes what load() gave. */
	int (*function)(void *user, void *module, const struct tpat_rt_plugin *plugin,
	                const struct tpat_rt_kernel *kernel, void **function, char why[256]);
	/* A constant buffer, uploaded; once a buffer and device. */
	int (*upload)(void *user, const void *data, size_t bytes, void **pointer, char why[256]);
	int (*launch)(void *user, void *function, const struct tpat_rt_plugin *plugin,
	              const struct tpat_rt_kernel *kernel, const uint32_t grid[3], void **args, void *stream,
	              char why[256]);
	/* A number for the current device, so that what load and upload gave is kept apart a device; negative: no
	 * device. */
	int (*current)(void *user, char why[256]);
	/* Give back what load and upload gave, when the library is unloaded or the device replaced. May be null. */
	void (*unload)(void *user, int device, void *module);
	void (*release)(void *user, int device, void *pointer);
	/* Whether code that `load` gave is that of an architecture (kernels for it alone run). May be null: of every
	 * one. */
	int (*is_arch)(void *user, void *module, int32_t arch);
	/* A tensor map as kernels take it, into `out`. May be null where they take none. */
	int (*map)(void *user, const struct tpat_rt_map_values *values, void *out, char why[256]);
	/* Copy within the device's memory, after what was launched on the stream. May be null where no TensorRT is. */
	int (*copy)(void *user, void *to, const void *from, size_t bytes, void *stream, char why[256]);
};

/* The struct is copied; null: back to CUDA. Not to be called while a plugin of the library is in use. */
void tpat_rt_set_device(const struct tpat_rt_device *device) TPAT_RT_EXPORT;

/* Register the plugins with every TensorRT that is in the process by now. For a program that opened the library before
 * TensorRT; one that loads it with TensorRT's loadLibrary, or opens it later, need not call it. Returns how many
 * TensorRTs have the plugins now. */
int32_t tpat_rt_register(void) TPAT_RT_EXPORT;

#endif
