/* TensorRT as an engine: declarations of its parts, which tensorrt_engine.c combines. Turns scheduled programs into a
 * folder with readable sources and a shared library. Its tables have the form of tpat_rt.h; tpat embeds the runtime
 * (rt/) that makes TensorRT plugins of them. */
#ifndef TPAT_ENGINE_TENSORRT_H
#define TPAT_ENGINE_TENSORRT_H

#include "base/map.h"
#include "engine/engine.h"
#include "ir/kernel.h"
#include "tpat/tpat_rt.h"

/* ---- The members of struct engine. */

/* tensorrt_support.c */
enum type tensorrt_edge(const struct engine_version *v, enum type t);
enum type tensorrt_exchange(const struct engine_version *v, enum type t);
const char *tensorrt_lack(const struct engine_version *v, enum type t, const char **advice, struct arena *a);
bool tensorrt_is_old(const struct engine_version *v); /* 8.5 to 9.3: V2 plugins, and fewer types */
bool tensorrt_takes_type(const Onnx__NodeProto *node, enum type t);
enum engine_support tensorrt_support(const struct engine_node *n, const char **reason, struct arena *a);

/* tensorrt_version.c */
int tensorrt_version(struct engine_version *v, const char *text, struct err *e);

/* tensorrt_deploy.c */
void tensorrt_deploy(struct str *out, const struct engine_deploy *d);
const char *tensorrt_stem(struct arena *a, const char *model); /* "ocr" of "folder/ocr_tpat.onnx" */
/* A library's path for dlopen(), which searches a name without a folder elsewhere: with "./" then. */
const char *tensorrt_here(struct arena *a, const char *path);

/* tensorrt_ways.c */
extern const char *const tensorrt_ways[];
extern const struct engine_way_name tensorrt_way_names[];
int tensorrt_way(struct engine_file out[ENGINE_MOST_FILES], const struct engine_deploy *d, const char *way,
                 struct arena *a);

/* tensorrt_errors.c */
extern const struct engine_error tensorrt_errors[];

/* tensorrt_build.c: kernels by NVRTC, the library by $CC or cc. */
int tensorrt_build(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
                   struct err *e);

/* tensorrt_rebuild.c. The stamp is the output of cksum for the .cu files in kernels/, then the .h files. */
int tensorrt_rebuild(struct engine_again *r, struct arena *a, struct err *e);
#define TENSORRT_STAMP "code/kernels.cksum"
int tensorrt_stamp(struct str *out, const char *folder, struct err *e);

/* ---- The parts of a build. */

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
	} text; /* for each row: the expression as text, or null */
};
struct tensorrt_exprs tensorrt_exprs_new(const struct ir_program *p, struct arena *a);
/* Returns the row of `x`, after adding it if it is new. ERR_UNSUPPORTED if a symbol comes from no input's extent. */
int tensorrt_expr_row(int32_t *row, struct tensorrt_exprs *t, expr x, struct err *e);
int32_t tensorrt_expr_number(struct tensorrt_exprs *t, int64_t value);
int32_t tensorrt_expr_times(struct tensorrt_exprs *t, int32_t row, int64_t by);
extern const struct engine_layout tensorrt_layouts[];
const char *tensorrt_expr_op(int32_t op); /* "CEILDIV", of enum tpat_rt_op */
/* The extent that a plugin declares for an input or output. If it declares bytes, and the elements are narrower, the
 * last extent counts bytes. */
expr tensorrt_extent(const struct ir_buffer *b, int axis);

/* Data in `folder`/data, by the names that library.c has for it. */
struct tensorrt_datum {
	uint64_t hash;
	const struct tensor *value;
	const char *name;
};
struct tensorrt_data {
	VEC(struct tensorrt_datum);
	struct arena *arena;
};

/* tensorrt_data.c. */
/* Returns the plugin's value of one of its program's constants: its own of a weight. */
const struct tensor *tensorrt_constant(const struct engine_plugin *p, const struct ir_buffer *b);
/* Returns the name of equal data, or null after adding it as `name`. */
const char *tensorrt_data_find(struct tensorrt_data *d, const struct tensor *value, const char *name);

/* tensorrt_table.c: plugins/<plugin>.h, and the plugin's row of library.c. Constants of more than a few bytes are
 * written to `folder`/data, unless `data` has the same already. */
int tensorrt_table(struct str *table, struct str *row, const struct engine_library *l, const struct engine_plugin *p,
                   struct tensorrt_data *data, const char *folder, struct err *e);
void tensorrt_string(struct str *out, const char *text); /* a C string literal */

/* tensorrt_cpu.c: plugins/<plugin>.cpu.c, which gives the plugin's kernels for the processor names of their own in the
 * library. A folder of an earlier tpat has none. */
const char *tensorrt_cpu_file(const struct engine_plugin *p, struct arena *a);
const char *tensorrt_cpu_name(const struct engine_plugin *p, const struct ir_kernel *k, struct arena *a);
void tensorrt_cpu(struct str *out, const struct engine_plugin *p);

/* tensorrt_code.c. */
/* Returns the number of texts that the plugin's kernels, or those that it shares, are split into. */
int tensorrt_parts(const struct engine_plugin *p, struct arena *a);
/* Prints the CUDA text of each part. */
void tensorrt_cuda(struct str *text, const struct engine_plugin *p, int parts, struct arena *a);
/* Returns the part of each kernel by the kernel's name, as const int *, from 0. */
struct map tensorrt_kernel_parts(const struct engine_plugin *p, struct arena *a);
/* Returns a text's name in kernels/ without its ending: "relu", "relu.2" .... */
const char *tensorrt_part_name(const char *id, int part, struct arena *a);
/* Returns a part's name in code/. */
const char *tensorrt_code_name(const struct engine_plugin *p, int part, const struct engine_arch *arch,
                               struct arena *a);
/* Prints the table of compiled code. */
void tensorrt_images(struct str *out, const char *id, const struct engine_library *l, const struct engine_plugin *p);

/* tensorrt_text.c: README.md, Makefile, tpat.json. */
void tensorrt_readme(struct str *out, const struct engine_library *l);
void tensorrt_makefile(struct str *out, const struct engine_library *l);
void tensorrt_json(struct str *out, const struct engine_library *l);

#endif
