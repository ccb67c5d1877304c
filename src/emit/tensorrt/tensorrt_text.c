/* What a library's folder says of itself: README.md for people, Makefile to build again, tpat.json for machines. */
#include "emit/tensorrt/tensorrt.h"

#include <jansson.h>

#include "base/embed.h"
#include "base/file.h"

static const char *arch_name(const struct tensorrt_arch *x, struct arena *a)
{
	return arena_printf(a, x->ptx ? "compute_%d" : "sm_%d", x->arch);
}

void tensorrt_readme(struct str *out, const struct tensorrt_library *l)
{
	str_printf(out, "# %s\n\n", l->library);
	str_printf(out, "TensorRT plugins for `%s`, which takes them from the library `%s`. Made by %s from `%s`.\n\n", l->rewritten,
		   l->library, l->generator, l->model);
	str_add(out, "| plugin | what it computes | nodes |\n|---|---|---|\n");
	for (int i = 0; i < l->plugins; i++) {
		const struct tensorrt_plugin *p = &l->plugin[i];
		str_printf(out, "| `%s` | `%s` | ", p->name, p->about);
		for (int n = 0; n < p->nodes && n < 4; n++)
			str_printf(out, "%s%s", n ? ", " : "", p->node[n]);
		if (p->nodes > 4)
			str_printf(out, " and %d more", p->nodes - 4);
		str_add(out, " |\n");
	}
	str_printf(out, "\n## Use\n\n```\n%s\n```\n\n", l->deploy);
	str_printf(out, "Without the plugins `%s` is still a plain ONNX model: the nodes carry the original operators as local\n"
			"functions, so that any ONNX engine runs it.\n\n", l->rewritten);
	str_add(out, "The library runs with TensorRT 10 and 11 and needs no other file. When a program loads engines itself:\n"
		     "load the library first (`dlopen`, `ctypes.CDLL` or the plugin registry's `loadLibrary`), then the engine.\n\n");
	str_add(out, "## What is here\n\n"
		     "- `kernels/*.cu`: the kernels as CUDA C++, to read and to edit; `kernels/*.cpu.c`: the same for a processor\n"
		     "- `plugins/*.h`, `library.c`: what each plugin takes, gives and launches, as tables\n"
		     "- `code/`: the compiled kernels; `data/`: constants\n"
		     "- `rt/`: the runtime, C11, the same in every library: it reads the tables and is the TensorRT plugin\n"
		     "- `tpat.json`: all this for machines\n\n");
	str_add(out, "## Build again\n\n"
		     "`make` builds the library here with a C compiler alone; `make kernels` compiles `kernels/*.cu` anew with\n"
		     "nvcc, for example after a change; then `make` takes them in.\n");
}

/* Rules that compile every plugin's kernels for one architecture. */
static void put_kernel_rule(struct str *out, const struct tensorrt_arch *x)
{
	str_printf(out, "code/%%.%s_%d.%s: kernels/%%.cu kernels/tpat_device.h\n", x->ptx ? "compute" : "sm", x->arch,
		   x->ptx ? "ptx" : "cubin");
	str_printf(out, "\t$(NVCC) -std=c++17 -Ikernels %s -arch=%s_%d -o $@ $<\n\n", x->ptx ? "-ptx" : "-cubin",
		   x->ptx ? "compute" : "sm", x->arch);
}

void tensorrt_makefile(struct str *out, const struct tensorrt_library *l)
{
	str_printf(out, "# %s from its sources: `make` needs a C compiler, `make kernels` needs nvcc. See README.md.\n", l->library);
	str_printf(out, "LIBRARY := %s\nCC      ?= cc\nNVCC    ?= nvcc\nCFLAGS  ?= -O2\n\n", l->library);
	str_add(out, "SOURCES := library.c $(wildcard rt/*.c)\n\n");
	str_add(out, "$(LIBRARY): $(SOURCES) $(wildcard plugins/* rt/*.h rt/*/*.h code/* data/*)\n"
		     "\t$(CC) -std=gnu11 $(CFLAGS) -fPIC -fvisibility=hidden -Irt -shared -Wl,--no-undefined -o $@ $(SOURCES) "
		     "-ldl -lpthread\n\n");
	str_add(out, "CODE :=\n");
	for (int i = 0; i < l->plugins; i++)
		for (int k = 0; k < l->archs; k++)
			str_printf(out, "CODE += code/%s\n", tensorrt_code_name(&l->plugin[i], &l->arch[k], out->arena));
	str_add(out, "\n.PHONY: kernels clean\nkernels: $(CODE)\n\n");
	for (int k = 0; k < l->archs; k++)
		put_kernel_rule(out, &l->arch[k]);
	str_add(out, "clean:\n\trm -f $(LIBRARY)\n");
}

/* ---- tpat.json */

static json_t *text_list(const char *const *text, int n)
{
	json_t *list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_string(text[i]));
	return list;
}

static json_t *tensors(struct ir_buffer *const *buffer, int n, struct arena *a)
{
	json_t *list = json_array();
	for (int i = 0; i < n; i++) {
		json_t *shape = json_array();
		for (int k = 0; k < buffer[i]->rank; k++) {
			struct str s = str_new(a);
			int64_t number;
			ir_print_expr(&s, buffer[i]->dim[k], 0);
			json_array_append_new(shape, ir_const_int(buffer[i]->dim[k], &number) ? json_integer(number)
												: json_string(str_text(&s)));
		}
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", buffer[i]->name, "type",
						      type_name(buffer[i]->type), "shape", shape));
	}
	return list;
}

static json_t *steps(const struct ir_plan *plan)
{
	json_t *list = json_array();
	vec_each(step, &plan->steps) {
		json_t *kernels = json_array();
		vec_each(k, *step)
			json_array_append_new(kernels, json_pack("{s:s, s:s, s:s, s:i}", "name", (*k)->name, "rule", (*k)->rule,
								 "parameters", (*k)->params, "threads", (*k)->threads));
		json_array_append_new(list, kernels);
	}
	return list;
}

static json_t *plugin_json(const struct tensorrt_plugin *p, struct arena *a)
{
	const struct ir_program *program = p->plan->program;
	const char *id = str_identifier(a, p->name);
	json_t *x = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", p->name, "version", p->version, "namespace", p->name_space,
			      "hash", p->hash, "about", p->about);
	json_object_set_new(x, "nodes", text_list(p->node, p->nodes));
	json_object_set_new(x, "inputs", tensors(program->inputs.at, program->inputs.n, a));
	json_object_set_new(x, "outputs", tensors(program->outputs.at, program->outputs.n, a));
	json_object_set_new(x, "steps", steps(p->plan));
	json_object_set_new(x, "cuda", json_string(arena_printf(a, "kernels/%s.cu", id)));
	json_object_set_new(x, "cpu", json_string(arena_printf(a, "kernels/%s.cpu.c", id)));
	return x;
}

int tensorrt_json(struct str *out, const struct tensorrt_library *l, struct err *e)
{
	json_t *archs = json_array(), *plugins = json_array();
	for (int i = 0; i < l->archs; i++)
		json_array_append_new(archs, json_string(arch_name(&l->arch[i], out->arena)));
	for (int i = 0; i < l->plugins; i++)
		json_array_append_new(plugins, plugin_json(&l->plugin[i], out->arena));
	json_t *x = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "version", 1, "generator", l->generator, "model", l->model,
			      "rewritten", l->rewritten, "library", l->library, "architectures", archs, "plugins", plugins);
	size_t n = x ? json_dumpb(x, NULL, 0, JSON_INDENT(1)) : 0;
	if (n == 0) {
		json_decref(x);
		return err_set(e, ERR_MODEL, "tpat.json cannot be written: a name in the model is no UTF-8 text.");
	}
	char *text = arena_alloc(out->arena, n + 1);
	json_dumpb(x, text, n, JSON_INDENT(1));
	json_decref(x);
	str_addn(out, text, n);
	str_add(out, "\n");
	return 0;
}
