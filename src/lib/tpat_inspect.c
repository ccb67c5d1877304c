/* The contents of a plugin library, from its tables. */
#include "lib/tpat_inside.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"

struct inspect {
	void *handle;
	struct arena *arena;
	struct tpat_texts problems;
};

static void clean_up(void *arg)
{
	struct inspect *x = arg;
	if (x->handle)
		dlclose(x->handle);
}

/* "x: f32[n0,3]": extents as numbers, or their source. */
static struct tpat_strings tensors(const struct tpat_rt_plugin *p, const struct tpat_rt_tensor *tensor, int n,
                                   struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int i = 0; i < n; i++) {
		struct str s = str_new(a);
		str_printf(&s, "%s: %s[", tensor[i].name, type_name((enum type)tensor[i].type));
		for (int k = 0; k < tensor[i].rank; k++) {
			const struct tpat_rt_expr *x = &p->expr[tensor[i].dim[k]];
			if (x->op == TPAT_RT_CONST)
				str_printf(&s, "%s%" PRId64, k ? "," : "", x->value);
			else
				str_printf(&s, "%s?", k ? "," : "");
		}
		str_add(&s, "]");
		vec_push(a, &list, str_text(&s));
	}
	return tpat_strings_of(&list);
}

/* "tactic 2, launch 1: NAME, 256 threads, for some shapes". A launch takes its first kernel that fits the shapes. */
static void add_kernel(struct tpat_texts *list, const struct tpat_rt_plugin *p, int tactic, int step, int number,
                       struct arena *a)
{
	const struct tpat_rt_tactic *t = &p->tactic[tactic];
	const struct tpat_rt_kernel *x = &t->step[step].kernel[number];
	struct str s = str_new(a);
	if (p->tactics > 1)
		str_printf(&s, "tactic %d", tactic + 1);
	if (t->steps > 1)
		str_printf(&s, "%slaunch %d", s.n ? ", " : "", step + 1);
	str_printf(&s, "%s%s, %d threads%s", s.n ? ": " : "", x->name, (int)(x->block[0] * x->block[1] * x->block[2]),
	           x->guard >= 0 ? ", for some shapes"
	           : number      ? ", for all others"
	                         : "");
	vec_push(a, list, str_text(&s));
}

static struct tpat_strings kernels(const struct tpat_rt_plugin *p, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int t = 0; t < p->tactics; t++)
		for (int i = 0; i < p->tactic[t].steps; i++)
			for (int k = 0; k < p->tactic[t].step[i].kernels; k++)
				add_kernel(&list, p, t, i, k, a);
	return tpat_strings_of(&list);
}

static struct tpat_strings code(const struct tpat_rt_plugin *p, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int i = 0, next; i < p->images; i = next) {
		const struct tpat_rt_image *x = &p->image[i];
		size_t bytes = 0;
		for (next = i; next < p->images && p->image[next].arch == x->arch && p->image[next].ptx == x->ptx;
		     next++)
			bytes += (size_t)((const char *)p->image[next].end - (const char *)p->image[next].data);
		vec_push(a, &list,
		         arena_printf(a, x->ptx ? "PTX (compute_%d), %zu bytes" : "sm_%d, %zu bytes", (int)x->arch,
		                      bytes));
	}
	return tpat_strings_of(&list);
}

/* ---- Formats and memory of its tensors. */

static const char *format_name(const struct engine *e, int number)
{
	for (const struct engine_layout *l = e->layouts; l && l->name; l++)
		if (l->number == number)
			return l->name;
	return "?";
}

static void add_tensors(struct str *s, const struct tpat_rt_tensor *tensor, int n)
{
	for (int i = 0; i < n; i++)
		if (tensor[i].format)
			str_printf(s, "%s%s", str_ends(str_text(s), ":") ? " " : ", ", tensor[i].name);
}

/* The plugin in its other formats is a plugin of the library each time. */
static struct tpat_strings formats(const struct tpat_rt_library *l, const struct tpat_rt_plugin *p,
                                   const struct engine *engine, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int i = 0; i < l->plugins; i++) {
		const struct tpat_rt_plugin *x = &l->plugin[i];
		struct str s = str_new(a);
		int number = 0;
		if (!x->of || strcmp(x->of, p->name) != 0)
			continue;
		for (int k = 0; k < x->inputs + x->outputs && !number; k++)
			number = (k < x->inputs ? &x->input[k] : &x->output[k - x->inputs])->format;
		str_printf(&s, "%s:", format_name(engine, number));
		add_tensors(&s, x->input, x->inputs);
		add_tensors(&s, x->output, x->outputs);
		vec_push(a, &list, str_text(&s));
	}
	return tpat_strings_of(&list);
}

static struct tpat_strings in_place(const struct tpat_rt_plugin *p, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int i = 0; i < p->outputs; i++)
		if (p->output[i].replaces)
			vec_push(
			        a, &list,
			        arena_printf(a, "%s: %s", p->output[i].name, p->input[p->output[i].replaces - 1].name));
	return tpat_strings_of(&list);
}

static void describe_plugin(struct tpat_inspected_plugin *out, const struct tpat_rt_library *l,
                            const struct tpat_rt_plugin *p, const struct engine *engine, struct arena *a)
{
	*out = (struct tpat_inspected_plugin){
		.name = arena_strdup(a, p->name),
		.version = arena_strdup(a, p->version),
		.name_space = arena_strdup(a, p->name_space),
		.hash = arena_strdup(a, p->hash),
		.about = arena_strdup(a, p->about),
		.inputs = tensors(p, p->input, p->inputs, a),
		.outputs = tensors(p, p->output, p->outputs, a),
		.kernels = kernels(p, a),
		.code = code(p, a),
		.formats = formats(l, p, engine, a),
		.in_place = in_place(p, a),
	};
}

static bool exports(void *handle, const char *function)
{
	return dlsym(handle, function) != NULL;
}

/* Checks for the functions that the engine looks up, and for duplicate names, which its registry refuses. */
static void find_problems(struct inspect *x, const struct tpat_rt_library *l, const struct engine *engine)
{
	for (const char *const *entry = engine->entry; *entry; entry++)
		if (!dlsym(x->handle, *entry))
			vec_push(x->arena, &x->problems,
			         arena_printf(x->arena, "The library does not export %s, which %s calls.", *entry,
			                      engine->name));
	for (int i = 0; i < l->plugins; i++) {
		if (l->plugin[i].images == 0)
			vec_push(x->arena, &x->problems,
			         arena_printf(x->arena, "Plugin %s has no compiled code.", l->plugin[i].name));
		for (int k = 0; k < i; k++)
			if (strcmp(l->plugin[i].name, l->plugin[k].name) == 0)
				vec_push(x->arena, &x->problems,
				         arena_printf(x->arena, "Two plugins are called %s.", l->plugin[i].name));
	}
}

struct inspect_call {
	const char *library;
	const struct tpat_inspected **out;
};

static int run(struct tpat *t, void *arg)
{
	struct inspect_call *c = arg;
	struct arena *a = t->arena;
	struct inspect *x = NEW(a, struct inspect);
	x->arena = a;
	t->cleanup = clean_up;
	t->cleanup_arg = x;
	if (!file_exists(c->library))
		return err_set(&t->err, ERR_MODEL, "%s: there is no such file.", c->library);
	TRY(file_check(c->library, &t->err));
	TRY(machine_check(c->library, &t->err));
	x->handle = dlopen(file_absolute(a, c->library), RTLD_NOW | RTLD_LOCAL);
	if (!x->handle) {
		err_set(&t->err, ERR_MODEL, "%s cannot be opened as a library: %s.", c->library, dlerror());
		return err_advise(&t->err, "Give a library that tpat build wrote: libtpat_<model>.so.");
	}
	const struct tpat_rt_library *l = dlsym(x->handle, "tpat_library");
	if (!l) {
		err_set(&t->err, ERR_MODEL, "%s is not a library that tpat made: it has no tpat_library.", c->library);
		return err_advise(&t->err, "tpat build writes one next to the rewritten model: libtpat_<model>.so.");
	}
	TRY(engine_check_tables(l, c->library, &t->err));
	struct tpat_inspected_plugin *plugin = NEWN(a, struct tpat_inspected_plugin, l->plugins + 1);
	const struct engine *engine = engine_of_library(exports, x->handle);
	engine = engine ? engine : engine_find(NULL);
	int n = 0;
	for (int i = 0; i < l->plugins; i++)
		if (!l->plugin[i].of)
			describe_plugin(&plugin[n++], l, &l->plugin[i], engine, a);
	find_problems(x, l, engine);
	struct tpat_inspected *result = NEW(a, struct tpat_inspected);
	*result = (struct tpat_inspected){
		.library = arena_strdup(a, c->library),
		.model = arena_strdup(a, l->model),
		.generator = arena_strdup(a, l->generator),
		.plugin = plugin,
		.plugins = n,
		.problems = tpat_strings_of(&x->problems),
	};
	*c->out = result;
	return 0;
}

int tpat_inspect(struct tpat *t, const struct tpat_inspected **out, const char *library)
{
	struct inspect_call c = { library, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
