/* Plugins of earlier builds: a rewritten model can be rewritten again, and still needs its libraries. They are next to
 * the model, where every build puts them; a library is recognised by the plugin names in it. */
#include "lib/build_inside.h"

#include <string.h>

#include "base/file.h"

bool tpat_library_holds(const char *library, const char *plugin)
{
	struct file_map m;
	struct err ignored = { 0 };
	if (file_is_special(library) || file_map_open(&m, library, &ignored) < 0)
		return false;
	bool holds = memmem(m.data, m.size, plugin, strlen(plugin) + 1) != NULL; /* with its NUL */
	file_map_close(&m);
	return holds;
}

const char *tpat_library_find(const char *folder, const char *plugin, struct arena *a)
{
	int n;
	const char **name = file_list(&n, folder, a);
	for (int i = 0; i < n; i++) {
		const char *path = strcmp(folder, ".") == 0 ? name[i] : path_join(a, folder, name[i]);
		if (str_starts(name[i], "libtpat_") && str_ends(name[i], ".so") && tpat_library_holds(path, plugin))
			return path;
	}
	return NULL;
}

const char *tpat_folder_find(const char *folder, const char *plugin, struct arena *a)
{
	int n;
	const char *id = str_identifier(a, plugin), **name = file_list(&n, folder, a);
	const char *table = arena_printf(a, "plugins/%s.h", id);
	for (int i = 0; i < n; i++) {
		const char *whole = path_join(a, folder, name[i]), *own = path_join(a, whole, id);
		if (!str_ends(name[i], ".tpat"))
			continue;
		if (file_exists(path_join(a, whole, table)))
			return whole;
		if (file_exists(path_join(a, own, table)))
			return own;
	}
	return NULL;
}

/* ---- A rewritten model's libraries. */

/* Sets the names of a model's library and folder; for a portable model, those of the main one. */
static void names_of(struct tpat_output *names, const char *model, struct arena *a)
{
	const char *stem = path_stem(a, model);
	size_t n = strlen(stem) - (str_ends(stem, "_portable") ? strlen("_portable") : 0);
	tpat_output_names(names, model, a);
	if (!file_is_folder(names->folder) && stem[n] && n)
		tpat_output_names(names, path_join(a, path_dir(a, model), arena_printf(a, "%.*s.onnx", (int)n, stem)),
		                  a);
}

const char *tpat_library_of(const char **out, const char *model, const char *plugin, bool search, struct arena *a)
{
	struct tpat_output names;
	names_of(&names, model, a);
	const char *folder = names.folder, *library = names.library;
	const char *own = path_join(a, folder, str_identifier(a, plugin));
	if (file_is_folder(own)) {
		folder = own;
		library = tpat_output_split(&names, plugin, a);
	}
	if (search && file_exists(library) && !tpat_library_holds(library, plugin)) {
		const char *dir = path_dir(a, model), *earlier = tpat_library_find(dir, plugin, a);
		const char *sources = tpat_folder_find(dir, plugin, a);
		library = earlier ? earlier : library;
		folder = sources ? sources : folder;
	}
	*out = folder;
	return library;
}

/* ---- Libraries that a build needs. */

struct search {
	struct build *b;
	struct map plugins; /* already looked up */
};

static int find_one(void *arg, ProtobufCMessage *message)
{
	struct search *s = arg;
	struct build *b = s->b;
	const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
	const char *plugin = onnx_text(node->op_type), *folder = path_dir(b->arena, b->o->model);
	char described[ONNX_DESCRIBE];
	if (strcmp(onnx_domain(node->domain), GRAPH_PLUGIN_DOMAIN) != 0 || map_get(&s->plugins, plugin))
		return 0;
	onnx_node_describe(node, described);
	map_put(&s->plugins, plugin, s);
	if (!onnx_function_find(b->model, node->domain, plugin, node->overload)) {
		err_set(b->err, ERR_MODEL, "%s: %s is a plugin of an earlier build, without its original operators.",
		        b->model->path, described);
		return err_advise(b->err, "Start from the portable model next to this one: %s.",
		                  tpat_portable_name(b->o->model, b->arena));
	}
	const char *library = tpat_library_find(folder, plugin, b->arena);
	if (!library) {
		err_set(b->err, ERR_MODEL,
		        "%s: %s is a plugin of an earlier build, and no library libtpat_*.so in %s contains it.",
		        b->model->path, described, folder);
		return err_advise(b->err, "Put that library next to the model, or start from the original model.");
	}
	if (file_same(library, b->out.library)) {
		err_set(b->err, ERR_USAGE,
		        "%s contains the plugin %s, which the model still needs, so it is not replaced.", library,
		        plugin);
		return err_advise(b->err, "Give the output another name: -o NAME.");
	}
	vec_each (have, &b->earlier)
		if (strcmp(*have, library) == 0)
			return 0;
	vec_push(b->arena, &b->earlier, library);
	return 0;
}

/* Finds the plugins that stay in the graph and in its bodies. */
static int find_in(struct search *s, const struct graph *g)
{
	bool *taken = NEWN(s->b->arena, bool, g->nodes.n + 1);
	vec_each (r, &s->b->regions)
		for (int i = 0; (*r)->graph == g && i < (*r)->nodes.n; i++)
			taken[(*r)->nodes.at[i]] = true;
	vec_each (n, &g->nodes) {
		if (taken[n->index])
			continue;
		TRY(find_one(s, &n->proto->base));
		vec_each (body, &n->bodies)
			TRY(find_in(s, *body));
	}
	return 0;
}

int build_find_earlier(struct build *b)
{
	struct search s = { b, map_new(b->arena) };
	return find_in(&s, b->graph);
}
