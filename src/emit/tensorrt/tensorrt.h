/* Plugin libraries for TensorRT: scheduled programs in; a folder with readable sources and a shared library out. Speaks
 * the form of tpat_rt.h; the runtime (rt/) that makes a TensorRT plugin of it is carried inside tpat. */
#ifndef TPAT_EMIT_TENSORRT_H
#define TPAT_EMIT_TENSORRT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "ir/kernel.h"
#include "tpat/tpat_rt.h"

/* One architecture to compile for: a cubin (sm_90), or PTX (compute_90) for that and all later ones. */
struct tensorrt_arch {
	int arch;
	bool ptx;
};

struct tensorrt_plugin {
	const char *name, *version, *name_space; /* as the model's nodes say them */
	const char *hash;                        /* of the program, ir_hash */
	const char *about;                       /* one line: "ConvInteger of x: u8[1,64,N,3], ..." */
	const char *decisions;                   /* of all plans, as text without names */
	const struct ir_plan *const *plan;       /* ways to run it, of one program; the first is the default */
	int plans;
	const char *const *node; /* labels of the nodes that it stands for */
	int nodes;
};

/* A library and what is said of it in its folder. File names only, no folders. */
struct tensorrt_library {
	const char *generator; /* "tpat 0.1.0" */
	const char *model;     /* the original: "ocr.onnx" */
	const char *rewritten; /* "ocr_tpat.onnx" */
	const char *portable;  /* "ocr_tpat_portable.onnx", which has local functions; null: `rewritten` has them */
	const char *library;   /* "libtpat_ocr.so" */
	const char *deploy;    /* the commands that come next, for the README */
	const struct tensorrt_plugin *plugin;
	int plugins;
	const struct tensorrt_arch *arch;
	int archs;
	int workers; /* threads that compile; 0: one a processor */
	/* Called now and then, from any thread; true stops the work (ERR_USAGE, "interrupted"). May be null. */
	bool (*progress)(void *user, int done, int all, const char *what);
	/* Called when the build has failed: for each plugin whose kernels NVRTC refused, and why, once an
	 * architecture. */
	void (*refused)(void *user, const struct tensorrt_plugin *p, const char *why);
	void *user;
};

/* Write all sources into `folder` (which exists and is empty), compile the kernels with NVRTC and the library with $CC
 * or cc, to `library`, a path that is the caller's to rename. Errors: ERR_UNSUPPORTED for what TensorRT has no place
 * for (names the tensor); ERR_DEVICE where NVRTC or the C compiler is missing or fails; ERR_USAGE for files that cannot
 * be written. */
int tensorrt_build(const struct tensorrt_library *l, const char *folder, const char *library, struct arena *a,
                   struct err *e);

/* ---- Building again: a folder whose kernels, tables or runtime somebody has edited. */

struct tensorrt_again {
	const char *folder, *work; /* the folder; an empty one, where everything is compiled */
	const char *library;       /* absolute path where to make the library */
	const char *const *plugin; /* names of the folder's plugins */
	int plugins;
	const struct tensorrt_arch *arch;
	int archs, workers;
	bool (*progress)(void *user, int done, int all, const char *what); /* as above */
	void *user;
	struct {
		VEC(const char *);
	} made; /* files under `work` that belong into the folder, by the same names: compiled code, and
	         * TENSORRT_STAMP */
};
/* Compiles the kernels that were edited since their code was made, and the library. Changes nothing in `folder`. */
int tensorrt_rebuild(struct tensorrt_again *r, struct arena *a, struct err *e);

/* Says from which kernels the code in the folder was made: what cksum prints of the .cu files in kernels/ and then the
 * .h files. */
#define TENSORRT_STAMP "code/kernels.cksum"
int tensorrt_stamp(struct str *out, const char *folder, struct err *e);

/* ---- Inside the folder: the parts of a build. */

/* IR expressions as the runtime's table: each node once, operands first. */
struct tensorrt_exprs {
	struct arena *arena;
	const struct ir_program *program;
	struct map memo; /* expr id -> row + 1 */
	struct {
		VEC(struct tpat_rt_expr);
	} row;
	struct {
		VEC(const char *);
	} text; /* one a row: the expression as text, or null */
};
struct tensorrt_exprs tensorrt_exprs_new(const struct ir_program *p, struct arena *a);
/* The row of `x`, added when it is new. ERR_UNSUPPORTED where a symbol comes from no input's extent. */
int tensorrt_expr_row(int32_t *row, struct tensorrt_exprs *t, expr x, struct err *e);
int32_t tensorrt_expr_number(struct tensorrt_exprs *t, int64_t value);
int32_t tensorrt_expr_extent(struct tensorrt_exprs *t, int input, int axis);
int32_t tensorrt_expr_times(struct tensorrt_exprs *t, int32_t row, int64_t by);

/* tensorrt_table.c: plugins/<plugin>.h, and the plugin's row of library.c. Constants of more than a few bytes are
 * written to `folder`/data. */
int tensorrt_table(struct str *table, struct str *row, const struct tensorrt_library *l,
                   const struct tensorrt_plugin *p, const char *folder, struct err *e);
void tensorrt_string(struct str *out, const char *text); /* a C string literal */
const char *tensorrt_code_name(const struct tensorrt_plugin *p, const struct tensorrt_arch *arch, struct arena *a);

/* tensorrt_text.c: README.md, Makefile, tpat.json. */
void tensorrt_readme(struct str *out, const struct tensorrt_library *l);
void tensorrt_makefile(struct str *out, const struct tensorrt_library *l);
void tensorrt_json(struct str *out, const struct tensorrt_library *l);

#endif
