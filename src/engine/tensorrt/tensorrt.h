/* TensorRT as an engine: what its parts, which tensorrt_engine.c puts together, say to each other. Plugin libraries are
 * scheduled programs in; a folder with readable sources and a shared library out. They speak the form of tpat_rt.h; the
 * runtime (rt/) that makes a TensorRT plugin of it is carried inside tpat. */
#ifndef TPAT_ENGINE_TENSORRT_H
#define TPAT_ENGINE_TENSORRT_H

#include "base/map.h"
#include "engine/engine.h"
#include "ir/kernel.h"
#include "tpat/tpat_rt.h"

/* ---- The members of struct engine. */

/* tensorrt_support.c */
enum type tensorrt_edge(enum type t);
const char *tensorrt_lack(enum type t, const char **advice, struct arena *a);
bool tensorrt_takes_type(const Onnx__NodeProto *node, enum type t);
enum engine_support tensorrt_support(const struct engine_node *n, const char **reason, struct arena *a);

/* tensorrt_version.c */
int tensorrt_version(struct engine_version *v, const char *text, struct err *e);

/* tensorrt_deploy.c */
void tensorrt_deploy(struct str *out, const struct engine_deploy *d);

/* tensorrt_build.c: kernels by NVRTC, the library by $CC or cc. */
int tensorrt_build(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
                   struct err *e);

/* tensorrt_rebuild.c. The stamp: what cksum prints of the .cu files in kernels/ and then the .h files. */
int tensorrt_rebuild(struct engine_again *r, struct arena *a, struct err *e);
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
int tensorrt_table(struct str *table, struct str *row, const struct engine_library *l, const struct engine_plugin *p,
                   const char *folder, struct err *e);
void tensorrt_string(struct str *out, const char *text); /* a C string literal */
const char *tensorrt_code_name(const struct engine_plugin *p, const struct engine_arch *arch, struct arena *a);

/* tensorrt_text.c: README.md, Makefile, tpat.json. */
void tensorrt_readme(struct str *out, const struct engine_library *l);
void tensorrt_makefile(struct str *out, const struct engine_library *l);
void tensorrt_json(struct str *out, const struct engine_library *l);

#endif
