/* The ways to run a rewritten model: files for TensorRT's APIs and for programs around it, from the templates of
 * deploy/. In a template @word@ stands for a value, written in the file's language. */
#include <inttypes.h>
#include <string.h>

#include "base/embed.h"
#include "base/file.h"
#include "engine/tensorrt/tensorrt.h"

/* One value of a template. */
struct value {
	const char *word, *text;
};

struct way {
	const struct engine_deploy *d;
	struct arena *a;
	const char *stem, *plan;
	struct value value[16];
	int values;
};

/* ---- Texts of each language. */

/* A literal of Python, C++ and of protocol buffers' text. */
static const char *quoted(struct arena *a, const char *text)
{
	struct str s = str_new(a);
	tensorrt_string(&s, text);
	return str_text(&s);
}

/* A value of a GLib key file. */
static const char *key_value(struct arena *a, const char *text)
{
	struct str s = str_new(a);
	for (const char *c = text; *c; c++)
		if (*c == '\\' || (*c == ' ' && c == text))
			str_add(&s, *c == ' ' ? "\\s" : "\\\\");
		else if (*c == '\n' || *c == '\t' || *c == '\r')
			str_add(&s, *c == '\n' ? "\\n" : *c == '\t' ? "\\t" : "\\r");
		else
			str_addn(&s, c, 1);
	return str_text(&s);
}

/* The part of the trtexec command without its notes, in one line. */
static const char *one_line(struct arena *a, const char *text)
{
	struct str s = str_new(a);
	for (const char *c = text; *c && *c != '\n'; c++) {
		if (c[0] == '\\' && c[1] == '\n') {
			c += 1 + strspn(c + 2, " ");
			continue;
		}
		str_addn(&s, c, 1);
	}
	return str_text(&s);
}

static void add(struct way *w, const char *word, const char *text)
{
	ck(w->values < (int)(sizeof w->value / sizeof *w->value));
	w->value[w->values++] = (struct value){ word, text };
}

/* ---- Values that several files have. */

static const char *list_of(struct way *w, const char *begin, const char *end)
{
	struct str s = str_new(w->a);
	str_add(&s, begin);
	for (int i = 0; i < w->d->libraries; i++) {
		const char *path = w->d->library[i];
		str_add(&s, i ? ", " : "");
		tensorrt_string(&s, tensorrt_here(w->a, path));
	}
	str_add(&s, end);
	return str_text(&s);
}

/* All libraries' absolute paths, with a separator between them, for a shell. */
static const char *joined(struct way *w, const char *separator)
{
	struct str s = str_new(w->a);
	for (int i = 0; i < w->d->libraries; i++)
		str_printf(&s, "%s%s", i ? separator : "", file_absolute(w->a, w->d->library[i]));
	return str_shell(w->a, str_text(&s));
}

static const char *trtexec(struct way *w, const char *plan)
{
	struct engine_deploy d = *w->d;
	struct str s = str_new(w->a);
	d.plan = plan;
	tensorrt_deploy(&s, &d);
	return str_text(&s);
}

/* "(1, 4)", or another language's brackets. */
static void put_extents(struct str *out, const struct engine_tensor *t, const int64_t *extent, const char *brackets)
{
	str_addn(out, brackets, 1);
	for (int k = 0; k < t->rank; k++)
		str_printf(out, "%s%" PRId64, k ? ", " : "", extent[k]);
	str_add(out, t->rank == 1 && *brackets == '(' ? "," : "");
	str_addn(out, brackets + 1, 1);
}

static const char *numpy_name(enum type t)
{
	static const char *const name[] = {
		[TYPE_F32] = "float32", [TYPE_F16] = "float16", [TYPE_BF16] = "bfloat16", [TYPE_F64] = "float64",
		[TYPE_I64] = "int64",   [TYPE_I32] = "int32",   [TYPE_I16] = "int16",     [TYPE_I8] = "int8",
		[TYPE_U8] = "uint8",    [TYPE_U16] = "uint16",  [TYPE_U32] = "uint32",    [TYPE_U64] = "uint64",
		[TYPE_BOOL] = "bool",
	};
	return (size_t)t < sizeof name / sizeof *name && name[t] ? name[t] : "float32";
}

/* The inputs as the entries of a Python dictionary, with the extents of `n` levels; 1: the usual ones. */
static const char *python_inputs(struct way *w, int n)
{
	struct str s = str_new(w->a);
	for (int i = 0; i < w->d->inputs; i++) {
		const struct engine_tensor *t = &w->d->input[i];
		str_add(&s, "\n    ");
		tensorrt_string(&s, t->name);
		str_printf(&s, ": (\"%s\"", numpy_name(t->type));
		for (int level = 0; level < n; level++) {
			str_add(&s, ", ");
			put_extents(&s, t, t->at[n == 1 ? 1 : level], "()");
		}
		str_add(&s, "),");
	}
	str_add(&s, w->d->inputs ? "\n" : "");
	return str_text(&s);
}

static void add_python(struct way *w, int levels)
{
	add(w, "model", quoted(w->a, w->d->model));
	add(w, "libraries", list_of(w, "[", "]"));
	add(w, "plan", quoted(w->a, w->plan));
	add(w, "inputs", python_inputs(w, levels));
	add(w, "guessed", w->d->guessed ? "; some are examples: replace them" : "");
}

/* TensorRT loads libraries through its registry from 8.6 on. */
static bool registry_loads(const struct way *w)
{
	return !tensorrt_is_old(w->d->version) || w->d->version->number >= 8600;
}

/* The body of a loop over the libraries, in Python. */
static void add_load(struct way *w)
{
	bool registry = registry_loads(w);
	add(w, "load",
	    registry ? "if tensorrt.get_plugin_registry().load_library(library) is None:"
	             : "ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)");
	add(w, "loaded", registry ? "    sys.exit(f\"TensorRT cannot load {library}.\")" : "");
}

/* True for 10.x: networks may be weakly typed there, and later ones have no such flag. */
static bool is_typed_by_flag(const struct way *w)
{
	return w->d->version->number >= 100000 && w->d->version->number < 110000;
}

/* ---- The ways. */

static void python(struct way *w)
{
	const struct engine_deploy *d = w->d;
	bool old = tensorrt_is_old(d->version);
	add_python(w, 3);
	add_load(w);
	add(w, "network",
	    old                   ? "1 << int(tensorrt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)"
	    : is_typed_by_flag(w) ? "1 << int(tensorrt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)"
	                          : "1 << int(tensorrt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)\n"
	                            "                                     if tensorrt.__version__.startswith(\"10.\") "
	                            "else 0");
	add(w, "precision",
	    old && d->half && d->byte ? "config.set_flag(tensorrt.BuilderFlag.FP16)\n"
	                                "    config.set_flag(tensorrt.BuilderFlag.INT8)"
	    : old && d->half          ? "config.set_flag(tensorrt.BuilderFlag.FP16)"
	    : old && d->byte          ? "config.set_flag(tensorrt.BuilderFlag.INT8)"
	                              : "config.profiling_verbosity = tensorrt.ProfilingVerbosity.DETAILED");
}

static void cpp(struct way *w)
{
	const struct engine_deploy *d = w->d;
	bool old = tensorrt_is_old(d->version);
	struct str inputs = str_new(w->a);
	for (int i = 0; i < d->inputs; i++) {
		const struct engine_tensor *t = &d->input[i];
		str_add(&inputs, "\n\t{ ");
		tensorrt_string(&inputs, t->name);
		str_printf(&inputs, ", { %d, ", t->rank);
		put_extents(&inputs, t, t->at[1], "{}");
		str_add(&inputs, " } },");
	}
	str_add(&inputs, d->inputs ? "\n" : "");
	add(w, "build", one_line(w->a, trtexec(w, NULL)));
	add(w, "plan", quoted(w->a, w->plan));
	add(w, "libraries", list_of(w, "{ ", " }"));
	add(w, "inputs", str_text(&inputs));
	add(w, "guessed", d->guessed ? " Some extents are examples: replace them." : "");
	bool wide = !old || d->version->number >= 9100; /* 9.1 has these types */
	add(w, "wide", !wide ? "" : "case nvinfer1::DataType::kINT64: return 8;\n\t");
	add(w, "half", !wide ? "" : "case nvinfer1::DataType::kBF16:\n\t");
	add(w, "load",
	    !old                ? "runtime->setEngineHostCodeAllowed(true); // the plan contains the plugin libraries"
	    : registry_loads(w) ? "for (const char *library : libraries)\n"
	                          "\t\tif (!runtime->getPluginRegistry().loadLibrary(library))\n"
	                          "\t\t\tfail(library);"
	                        : "for (const char *library : libraries) // its constructor registers the plugins\n"
	                          "\t\tif (!dlopen(library, RTLD_NOW | RTLD_GLOBAL))\n"
	                          "\t\t\tfail(library);");
	add(w, "dlopen", registry_loads(w) ? "" : "#include <dlfcn.h>\n");
}

static void ort(struct way *w)
{
	add_python(w, 1);
}

static void torch(struct way *w)
{
	struct str outputs = str_new(w->a);
	const char *command = quoted(w->a, one_line(w->a, trtexec(w, NULL)));
	add_python(w, 1);
	add_load(w);
	str_add(&outputs, "[");
	for (int i = 0; i < w->d->outputs; i++) {
		str_add(&outputs, i ? ", " : "");
		tensorrt_string(&outputs, w->d->output[i].name);
	}
	str_add(&outputs, "]");
	add(w, "outputs", str_text(&outputs));
	add(w, "build", arena_strndup(w->a, command + 1, strlen(command) - 2));
}

/* The command with absolute paths, for a script that runs elsewhere. */
static const char *trtexec_from_anywhere(struct way *w, const char *plan)
{
	struct engine_deploy d = *w->d;
	const char **library = NEWN(w->a, const char *, d.libraries + 1);
	for (int i = 0; i < d.libraries; i++)
		library[i] = file_absolute(w->a, d.library[i]);
	d.library = library;
	d.model = file_absolute(w->a, d.model);
	struct way far = *w;
	far.d = &d;
	return trtexec(&far, plan);
}

static void triton(struct way *w)
{
	const char *repository = arena_printf(w->a, "models/%s", w->stem);
	add(w, "name", str_printable(w->a, w->stem));
	add(w, "folder", str_shell(w->a, arena_printf(w->a, "%s/1", repository)));
	add(w, "repository", str_shell(w->a, arena_printf(w->a, "%s/", repository)));
	add(w, "build", trtexec_from_anywhere(w, arena_printf(w->a, "%s/1/model.plan", repository)));
	add(w, "libraries", joined(w, ";"));
	add(w, "preload", joined(w, ":"));
}

static const char *triton_type(enum type t)
{
	static const char *const name[] = {
		[TYPE_F32] = "FP32",  [TYPE_F16] = "FP16", [TYPE_BF16] = "BF16", [TYPE_I64] = "INT64",
		[TYPE_I32] = "INT32", [TYPE_I8] = "INT8",  [TYPE_U8] = "UINT8",  [TYPE_BOOL] = "BOOL",
	};
	return (size_t)t < sizeof name / sizeof *name && name[t] ? name[t] : "FP32";
}

/* A scalar has one element there: Triton has no tensors of rank 0. */
static const char *triton_tensors(struct way *w, const char *what, const struct engine_tensor *tensor, int n)
{
	struct str s = str_new(w->a);
	str_printf(&s, "%s [\n", what);
	for (int i = 0; i < n; i++) {
		const struct engine_tensor *t = &tensor[i], one = { .rank = 1, .dim = { 1 } };
		str_add(&s, "  {\n    name: ");
		tensorrt_string(&s, t->name);
		str_printf(&s, "\n    data_type: TYPE_%s\n    dims: ", triton_type(t->type));
		put_extents(&s, t->rank > 0 ? t : &one, t->rank > 0 ? t->dim : one.dim, "[]");
		str_printf(&s, "\n  }%s\n", i < n - 1 ? "," : "");
	}
	str_add(&s, "]\n");
	return n ? str_text(&s) : "";
}

static void pbtxt(struct way *w)
{
	add(w, "name", quoted(w->a, w->stem));
	add(w, "inputs", triton_tensors(w, "input", w->d->input, w->d->inputs));
	add(w, "outputs", triton_tensors(w, "output", w->d->output, w->d->outputs));
}

static void deepstream(struct way *w)
{
	const struct engine_deploy *d = w->d;
	const struct engine_tensor *t = d->inputs ? &d->input[0] : NULL;
	const char *dims = "";
	if (t && t->rank == 4)
		dims = arena_printf(w->a, "infer-dims=%" PRId64 ";%" PRId64 ";%" PRId64 "\n", t->at[1][1], t->at[1][2],
		                    t->at[1][3]);
	add(w, "model", key_value(w->a, file_absolute(w->a, d->model)));
	add(w, "plan", key_value(w->a, file_absolute(w->a, w->plan)));
	add(w, "library", key_value(w->a, d->libraries ? file_absolute(w->a, d->library[0]) : ""));
	add(w, "batch", arena_printf(w->a, "%" PRId64, t && t->rank > 0 ? t->at[1][0] : 1));
	add(w, "mode", d->half ? "2" : "0");
	add(w, "dims", dims);
}

static void polygraphy(struct way *w)
{
	static const char *const level[] = { "min", "opt", "max" };
	struct str plugins = str_new(w->a), shapes = str_new(w->a);
	if (!tensorrt_is_old(w->d->version) && (w->d->half || w->d->byte))
		str_add(&plugins, " --strongly-typed");
	for (int i = 0; i < w->d->libraries; i++)
		str_printf(&plugins, "%s%s", i ? " " : " \\\n    --plugins ",
		           str_shell(w->a, tensorrt_here(w->a, w->d->library[i])));
	for (int k = 0; k < 3 && w->d->dynamics; k++) {
		str_printf(&shapes, " \\\n    --trt-%s-shapes", level[k]);
		for (int i = 0; i < w->d->inputs; i++) {
			struct str one = str_new(w->a);
			str_printf(&one, "%s:", w->d->input[i].name);
			put_extents(&one, &w->d->input[i], w->d->input[i].at[k], "[]");
			str_printf(&shapes, " %s", str_shell(w->a, str_text(&one)));
		}
	}
	add(w, "model", str_shell(w->a, w->d->model));
	add(w, "plugins", str_text(&plugins));
	add(w, "shapes", str_text(&shapes));
}

/* The files of each way; a null `fill`: the trtexec command. */
static const struct part {
	const char *way, *file, *template;
	void (*fill)(struct way *w);
} parts[] = {
	{ "trtexec", "build_engine.sh", NULL, NULL },
	{ "python", "run_engine.py", "python", python },
	{ "cpp", "run_engine.cpp", "cpp", cpp },
	{ "triton", "serve.sh", "triton", triton },
	{ "triton", "config.pbtxt", "pbtxt", pbtxt },
	{ "deepstream", "nvinfer_config.txt", "deepstream", deepstream },
	{ "ort", "run_onnxruntime.py", "ort", ort },
	{ "torch-tensorrt", "run_torch.py", "torch", torch },
	{ "polygraphy", "compare.sh", "polygraphy", polygraphy },
};
enum { PARTS = sizeof parts / sizeof *parts };

const char *const tensorrt_ways[] = { "trtexec", "python",         "cpp",        "triton", "deepstream",
	                              "ort",     "torch-tensorrt", "polygraphy", NULL };

const struct engine_way_name tensorrt_way_names[] = {
	{ "tensorrt", "trtexec" },
	{ "trt", "trtexec" },
	{ "c++", "cpp" },
	{ "onnxruntime", "ort" },
	{ "onnx-runtime", "ort" },
	{ "tritonserver", "triton" },
	{ "triton-server", "triton" },
	{ "deepstream-sdk", "deepstream" },
	{ "torchtensorrt", "torch-tensorrt" },
	{ "torch-trt", "torch-tensorrt" },
	{ "torch", "torch-tensorrt" },
	{ NULL, NULL },
};

/* Writes the template with its values. A word that has none is a mistake of the template. */
static const char *filled(struct way *w, const char *template)
{
	struct str s = str_new(w->a);
	const struct embed_file *f = embed_find(arena_printf(w->a, "src/engine/tensorrt/deploy/%s.in", template));
	for (const char *c = f->text; *c;) {
		size_t n = *c == '@' ? strcspn(c + 1, "@\n \"") : 0;
		if (n == 0 || c[n + 1] != '@') {
			str_addn(&s, c++, 1);
			continue;
		}
		const char *text = NULL;
		for (int i = 0; i < w->values; i++)
			if (strlen(w->value[i].word) == n && strncmp(w->value[i].word, c + 1, n) == 0)
				text = w->value[i].text;
		ck(text);
		str_add(&s, text);
		c += n + 2;
	}
	return str_text(&s);
}

int tensorrt_way(struct engine_file out[ENGINE_MOST_FILES], const struct engine_deploy *d, const char *way,
                 struct arena *a)
{
	int n = 0;
	for (int i = 0; i < PARTS; i++) {
		const struct part *part = &parts[i];
		struct way w = { .d = d, .a = a, .stem = tensorrt_stem(a, d->model) };
		if (strcmp(part->way, way) != 0)
			continue;
		w.plan = arena_printf(a, "%s.plan", w.stem);
		const char *text = part->fill ? NULL : arena_printf(a, "%s\n", trtexec(&w, NULL));
		if (part->fill) {
			part->fill(&w);
			text = filled(&w, part->template);
		}
		if (str_ends(part->file, ".sh"))
			text = arena_printf(a, "#!/bin/sh\nset -e\n%s", text);
		ck(n < ENGINE_MOST_FILES);
		out[n++] = (struct engine_file){ part->file, text };
	}
	return n;
}
