/* Shared by the files of host_check: a checker, how it speaks, and a plugin's calls for V2 and V3 alike. */
#ifndef TPAT_ENGINE_HOST_CHECK_H
#define TPAT_ENGINE_HOST_CHECK_H

#include "base/vec.h"
#include "engine/tensorrt/host_inside.h"

enum check_rule {
#define RULE(id, method, text, fix) RULE_##id,
#include "engine/tensorrt/host_check_rules.def"
#undef RULE
	RULE_COUNT
};

enum { CHECK_LONGEST_NAME = 1024, CHECK_MOST_FIELDS = 4096, CHECK_TYPES = 12, CHECK_FORMATS = 13 };

/* What an engine file keeps of a plugin. V3: also as fields; `bytes` are those of all fields, to compare. */
struct check_saved {
	struct trt_fields fields;
	const char *bytes;
	size_t n;
};

struct check_said {
	int rule;
	const char *call;
};

struct check_calls;
struct checker {
	const struct engine_checking *c;
	struct host *host;
	struct arena *arena;
	const char *plugin, *call;          /* the present ones; a plugin's name, or the library's path */
	const struct trt_fields *no_fields; /* a read beyond them is a fault */
	int probe;                          /* socket of a forked probe; negative: this is none */
	int form;                           /* 8, 10 or 11: the layout of V2 interfaces */
	void *creator;
	const struct check_calls *calls;
	const struct trt_fields *declared; /* the creator's getFieldNames */
	struct trt_fields given;           /* the user's attributes */
	void *lent;                        /* of check_lend(); null: none */
	struct {
		VEC(struct check_said);
	} said; /* of this plugin */
};

/* host_check_say.c. check_found() says a rule once for each call. */
void check_step(struct checker *k, const char *call);
void check_found(struct checker *k, enum check_rule rule, const char *what, ...) __attribute__((format(printf, 3, 4)));
void check_note(struct checker *k, const char *text, ...) __attribute__((format(printf, 2, 3)));
/* The last line of the plugins' log, as ": line"; "" if there is none. Clears the log. */
const char *check_log(struct checker *k);
/* A text that the library returns, copied; null after a fault. `empty`: it may have no characters. */
const char *check_text(struct checker *k, const char *call, const char *(*get)(void *), void *object, bool empty);
bool check_interface(struct checker *k, void *object, const char *call, const char *kind);

/* host_check_fields.c */
/* `values`: each field must have its data. Returns false if the collection cannot be used. */
bool check_fields(struct checker *k, enum check_rule rule, const struct trt_fields *f, bool values);
struct trt_fields check_copy_fields(struct arena *a, const struct trt_fields *f);
/* The bytes of names, types, lengths and data. */
void check_flatten(struct arena *a, struct check_saved *s);
/* ". It has the fields NAME (kINT32), ..."; "" if it declares none. */
const char *check_declared(const struct checker *k);
/* The user's attributes as the ONNX parser passes them. */
struct trt_fields check_attributes(struct checker *k);
/* Makes a plugin from fields in memory that is taken away afterwards. */
void *check_create(struct checker *k, const struct trt_fields *f, int32_t phase);
/* Copies a call's arguments to memory that check_took() takes away after it. One call at a time. */
const void *check_lend(struct checker *k, const void *data, size_t bytes);
void check_took(struct checker *k);
/* Makes plugins from fields of other types and lengths, in processes of their own. */
void check_probe_fields(struct checker *k, const struct check_saved *saved);

/* A plugin's methods. Descriptions are those of TensorRT 10 and later; `n` counts inputs, then outputs. Methods that
 * return a status return 0 for success. */
struct check_calls {
	const char *create, *restore, *destroy, *types, *shapes, *prepare, *save, *attach; /* names of methods */
	void *(*make)(struct checker *k, const struct trt_fields *f, int32_t phase);
	/* Checks what V2 and V3 do not have in common; false if the plugin cannot be used. */
	bool (*own)(struct checker *k, void *plugin);
	void (*end)(void *plugin);
	int32_t (*begin)(void *plugin); /* before its first run: initialize(); pairs with stop(): terminate() */
	void (*stop)(void *plugin);
	void *(*clone)(void *plugin);
	int32_t (*outputs)(void *plugin);
	int32_t (*output_types)(void *plugin, int32_t *out, int32_t outputs, const int32_t *in, int32_t inputs);
	/* `values`: of shape inputs, `n` of them. */
	int32_t (*output_shapes)(const struct checker *k, void *plugin, const struct trt_dims_exprs *in, int32_t inputs,
	                         const struct trt_dims_exprs *values, int32_t n, struct trt_dims_exprs *out,
	                         int32_t outputs, struct trt_expr *builder);
	int32_t (*aliased_input)(void *plugin, int32_t output); /* -1: none */
	bool (*supports)(const struct checker *k, void *plugin, int32_t at, const struct trt_dynamic_desc *desc,
	                 const int32_t n[2]);
	int32_t (*configure)(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc,
	                     const int32_t n[2]);
	size_t (*workspace)(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc,
	                    const int32_t n[2]);
	/* False after a fault. Quiet about what only concerns other rules than those of saving. */
	bool (*saved)(struct checker *k, void *plugin, struct check_saved *out);
	void *(*again)(struct checker *k, const struct check_saved *saved);
	void *(*attach_new)(struct checker *k, void *plugin);            /* a plugin for a context */
	int32_t (*tactics)(void *plugin, int32_t *tactic, int32_t most); /* how many; at most `most` */
	int32_t (*set_tactic)(void *plugin, int32_t tactic);
	int32_t (*shape_change)(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2]);
	int32_t (*enqueue)(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2],
	                   const void *const *in, void *const *out, void *workspace, void *stream);
};
extern const struct check_calls check_calls_v3, check_calls_v2;
/* clang-format off */
/* The functions of a table: those of these names in its file. */
#define CHECK_FUNCTIONS \
	.make = make, .own = own, .end = end, .begin = begin, .stop = stop, .clone = copy_of, \
	.outputs = outputs, .output_types = output_types, .output_shapes = output_shapes, \
	.aliased_input = aliased_input, .supports = supports, .configure = configure, .workspace = workspace, \
	.saved = saved, .again = again, .attach_new = attach, .tactics = tactics, .set_tactic = set_tactic, \
	.shape_change = shape_change, .enqueue = enqueue
/* clang-format on */

/* host_check_object.c: clones, serialisation, leaks. Takes `plugin` over; false if no engine can be built of it. */
bool check_object(struct checker *k, void *plugin, struct check_saved *saved);
/* Calls `round` often, and finds out whether memory of the process grows; `what` names the calls. */
void check_leak(struct checker *k, const char *what, bool (*round)(void *arg), void *arg);

/* host_check_build.c: a plugin with the user's inputs. */
enum { CHECK_POINTS = 3 };
struct check_point {
	struct host_tensor *in, *out;
	struct trt_desc *desc; /* inputs, then outputs */
};
struct subject {
	struct checker *k;
	void *plugin; /* of the build phase */
	int32_t n[2]; /* inputs without shape inputs, outputs */
	int32_t *type, *format;
	int32_t *alias; /* by output: the input whose memory it shares; -1: none */
	bool aliased;   /* any */
	bool sized;     /* extents of outputs depend on size tensors */
	int points; /* the largest extents, the smallest, and, if those differ, ones between; each has data of its own
	             */
	struct check_point point[CHECK_POINTS];
	size_t workspace;
};
bool check_build(struct subject *s);

/* host_check_memory.c: memory with guard zones, of the GPU or of the process. */
enum { CHECK_GUARD = 256, CHECK_GUARD_BYTE = 0xc7, CHECK_GUARD_NAN = 0xff };
struct check_block {
	char *raw, *shadow; /* the guard, the bytes, the guard; a copy of what was written there */
	size_t bytes;
};
struct cuda_driver;
struct check_memory {
	const struct cuda_driver *cuda; /* null: memory of the process */
	void *context;
	int guard; /* each byte of the guards that are written */
	struct arena *arena;
	char why[256]; /* the last failure */
};
bool check_memory_open(struct check_memory *m, bool host_memory, struct arena *a);
/* True if a driver's call returned 0; else m->why says why not. */
bool check_memory_worked(struct check_memory *m, int rc, const char *what);
bool check_memory_enter(struct check_memory *m); /* in each further thread */
bool check_stream_new(struct check_memory *m, void **stream);
bool check_stream_wait(struct check_memory *m, void *stream);
bool check_block_new(struct check_memory *m, struct check_block *b, size_t bytes);
void *check_block_at(const struct check_block *b);
bool check_block_write(struct check_memory *m, struct check_block *b, const void *data, void *stream);
bool check_block_fill(struct check_memory *m, struct check_block *b, int byte, void *stream);
/* Reads all of the block into `to`, which has room for bytes and both guards. */
bool check_block_read(struct check_memory *m, const struct check_block *b, char *to, void *stream);

/* host_check_bench.c */
/* The memory of runs at one point, and what came out. */
struct check_bench {
	struct check_block *block; /* inputs, outputs, the workspace */
	char **input;              /* their elements */
	char *scratch;             /* the largest block and its guards */
	char *result;              /* of the last run: all outputs, one after the other */
	size_t bytes;              /* of the result */
	const void *in[HOST_MAX_TENSORS];
	void *out[HOST_MAX_TENSORS];
};
/* False: no memory. The contents of inputs depend on the point. */
bool check_bench_new(const struct subject *s, struct check_memory *m, struct check_bench *b, int point);
/* `output`, `space`: bytes that the outputs and the workspace hold before the run. */
bool check_bench_write(const struct subject *s, struct check_memory *m, struct check_bench *b, int output, int space,
                       void *stream);
bool check_bench_read(const struct subject *s, struct check_memory *m, struct check_bench *b, void *stream);
/* Reads, and finds blocks that were written to outside of their bounds, and inputs that changed. */
bool check_bench_verify(const struct subject *s, struct check_memory *m, struct check_bench *b, void *stream);

/* Finds outputs of the first point that are not those that the user expects. */
void check_bench_expected(const struct subject *s, const char *result);

/* Whether results of a point are the same, but for the rounding of sums in another order. */
bool check_bench_same(const struct subject *s, int point, const char *a, const char *b);
/* The same for methods that may round intermediate numbers in their own ways. */
bool check_bench_alike(const struct subject *s, int point, const char *a, const char *b);

/* host_check_time.c */
struct check_time {
	double ns;     /* of a round, the median */
	bool captured; /* of replays of a CUDA graph: without the time that the host takes */
};
struct check_timed {
	void *stream;
	bool (*round)(void *arg); /* puts its work into the stream */
	bool (*reset)(void *arg); /* overwrites the outputs */
	bool (*right)(void *arg); /* the outputs are those of a round */
	void *arg;
};
/* Times rounds on the GPU, or in the process where there is no CUDA. False if they fail. */
bool check_time(struct check_memory *m, const struct check_timed *x, struct check_time *out);

/* host_check_run.c: enqueues the plugin. */
void check_run(struct subject *s, const struct check_saved *saved);

#endif
