/* An edited kernel text: the folder and the plugin that it belongs to, and a view of the folder in which it replaces
 * the text there. */
#include "lib/tpat_inside.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

/* ---- The folder and the plugin. */

static int find_folder(struct tpat_edited *x, const char *folder, struct arena *a, struct err *e)
{
	const char *real = file_real(a, x->source), *in = path_dir(a, real ? real : x->source);
	bool inside = strcmp(path_base(in), "kernels") == 0 && file_exists(path_join(a, path_dir(a, in), "tpat.json"));
	if (!real || file_is_folder(real)) {
		err_set(e, ERR_MODEL, real ? "%s is a folder, not the text of a kernel." : "There is no file %s.",
		        x->source);
		return err_advise(e, "Name one that tpat build wrote, NAME.tpat/kernels/PLUGIN.cu, or a copy of it.");
	}
	if (!inside && !folder) {
		err_set(e, ERR_USAGE, "%s is not in the folder kernels/ of a build, so the build is unknown.",
		        x->source);
		return err_advise(e, "Name the build's folder: --folder NAME.tpat.");
	}
	const char *written = path_dir(a, x->source); /* shorter than the real path */
	bool whole = strcmp(path_base(written), "kernels") == 0 && strchr(written, '/');
	x->folder = folder ? folder : path_dir(a, whole ? written : in);
	x->inside = inside && file_same(path_dir(a, in), x->folder);
	return 0;
}

/* A plugin's own folder is one below the build's. */
int tpat_edited_place(const char **out, const struct tpat_edited *x, const char *what, struct arena *a, struct err *e)
{
	const char *name = json_member_text(x->record, what);
	const char *real = file_real(a, x->folder), *up = path_dir(a, real ? real : x->folder);
	if (!name || !*name || strchr(name, '/'))
		return err_set(e, ERR_MODEL, "%s: its tpat.json does not name the build's %s.", x->folder, what);
	*out = path_join(a, up, name);
	if (!file_exists(*out) && file_exists(path_join(a, up, "tpat.json")))
		*out = path_join(a, path_dir(a, up), name);
	if (file_exists(*out))
		return 0;
	err_set(e, ERR_MODEL, "There is no %s next to the folder %s.", name, x->folder);
	return err_advise(e, "Keep the rewritten model, its library and its folder together.");
}

/* The plugin that the text selects in the rewritten model, such as "#2" or the name of an output; else null. */
static const char *plugin_in_model(const struct tpat_edited *x, const char *text, struct arena *a)
{
	const struct tpat_strings none = { 0 };
	struct err ignored = { 0 };
	struct onnx_model *model = NULL;
	struct graph *root = NULL, *in;
	const char *path, *plugin = NULL;
	int node;
	if (tpat_edited_place(&path, x, "rewritten", a, &ignored) == 0 &&
	    tpat_open(&model, &root, path, &none, &none, NULL, a, &ignored) == 0 &&
	    graph_node_find(&in, &node, root, text, &ignored) == 0 &&
	    strcmp(onnx_domain(in->nodes.at[node].proto->domain), GRAPH_PLUGIN_DOMAIN) == 0)
		plugin = arena_strdup(a, in->nodes.at[node].proto->op_type);
	graph_free(root);
	onnx_model_free(model);
	return plugin;
}

static bool has_node(const struct json *plugin, const char *node)
{
	const struct json *nodes = json_member(plugin, "nodes");
	if (strcmp(json_member_text(plugin, "name"), node) == 0)
		return true;
	for (const struct json *n = nodes ? nodes->child : NULL; n; n = n->next)
		if (n->kind == JSON_IS_TEXT && strcmp(n->text, node) == 0)
			return true;
	return false;
}

/* True if the file is the plugin's text, or one of several: "x.cu", "x.2.cu". */
static bool has_text(const struct json *plugin, const char *file)
{
	const char *text = path_base(json_member_text(plugin, "cuda"));
	size_t n = strlen(text) - strlen(".cu"), digits;
	if (strcmp(text, file) == 0)
		return true;
	if (strncmp(text, file, n) != 0 || file[n] != '.')
		return false;
	digits = strspn(file + n + 1, "0123456789");
	return digits && strcmp(file + n + 1 + digits, ".cu") == 0;
}

static int unknown(const struct tpat_edited *x, const char *node, const struct json *plugins, struct arena *a,
                   struct err *e)
{
	struct str list = str_new(a);
	for (const struct json *p = plugins->child; p; p = p->next)
		if (json_member_text(p, "cuda"))
			str_printf(&list, "%s%s", list.n ? ", " : "", path_base(json_member_text(p, "cuda")));
	if (node)
		err_set(e, ERR_USAGE, "%s has no plugin or node \"%s\".", x->folder, node);
	else
		err_set(e, ERR_USAGE, "%s has no kernel text of the name %s.", x->folder, path_base(x->source));
	return err_advise(e, "Its texts are %s; %s.", str_text(&list),
	                  node ? "tpat.json lists the nodes of each" : "--node NODE says which one the file replaces");
}

static int find_plugin(struct tpat_edited *x, const char *node, struct arena *a, struct err *e)
{
	const struct json *plugins = json_member(x->record, "plugins"), *found = NULL;
	if (json_member(x->record, "libraries")) {
		err_set(e, ERR_USAGE, "%s has a folder for each plugin.", x->folder);
		return err_advise(e, "Name the plugin's own: %s/PLUGIN.", x->folder);
	}
	for (const struct json *p = plugins ? plugins->child : NULL; p && !found; p = p->next)
		if (json_member_text(p, "name") && json_member_text(p, "cuda") &&
		    (node ? has_node(p, node) : has_text(p, path_base(x->source))))
			found = p;
	const char *other = node && plugins && !found ? plugin_in_model(x, node, a) : NULL;
	for (const struct json *p = other ? plugins->child : NULL; p && !found; p = p->next)
		if (json_member_text(p, "cuda") && json_member_text(p, "name") &&
		    strcmp(json_member_text(p, "name"), other) == 0)
			found = p;
	if (!plugins || plugins->kind != JSON_IS_LIST)
		return err_set(e, ERR_MODEL, "%s: its tpat.json has no list of plugins.", x->folder);
	if (!found)
		return unknown(x, node, plugins, a, e);
	x->plugin = json_member_text(found, "name");
	x->text = node ? path_base(json_member_text(found, "cuda")) : path_base(x->source);
	x->inside &= strcmp(x->text, path_base(x->source)) == 0;
	x->steps = json_member(found, "steps");
	x->tactics = json_member(found, "tactics");
	return 0;
}

/* ---- The kernels that the plugin launches must be there. */

/* True if the text has "NAME(". */
static bool has_kernel(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)); at += n)
		if (at > text && at[-1] == ' ' && at[n] == '(')
			return true;
	return false;
}

/* Kernels of the old text that the new one lacks. Walks nested lists to the objects with names. */
static const char *missing(const struct json *j, const char *old, const char *new)
{
	const char *name = json_member_text(j, "name");
	if (name)
		return has_kernel(old, name) && !has_kernel(new, name) ? name : NULL;
	for (const struct json *c = j && j->kind == JSON_IS_LIST ? j->child : NULL; c; c = c->next) {
		const char *lacked = missing(c, old, new);
		if (lacked)
			return lacked;
	}
	return NULL;
}

static int check_kernels(const struct tpat_edited *x, struct arena *a, struct err *e)
{
	char *old, *new;
	TRY(file_read(&new, NULL, x->source, a, e));
	if (x->inside) /* the old text is gone */
		return 0;
	TRY(file_read(&old, NULL, path_join(a, path_join(a, x->folder, "kernels"), x->text), a, e));
	const char *lacked = missing(x->steps, old, new);
	lacked = lacked ? lacked : missing(x->tactics, old, new);
	if (!lacked)
		return 0;
	err_set(e, ERR_USAGE, "%s has no kernel %s, which plugin %s launches.", x->source, lacked, x->plugin);
	return err_advise(e, "Keep the kernels' names and parameters: the library's tables name them.");
}

/* The kernel of this name, from its parameters to the next kernel; null: the text has none. */
static const char *kernel_of(const char *text, const char *name, size_t *bytes)
{
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)); at += n) {
		if (at == text || at[-1] != ' ' || at[n] != '(')
			continue;
		const char *end = strstr(at, "extern \"C\"");
		*bytes = end ? (size_t)(end - at) : strlen(at);
		return at;
	}
	return NULL;
}

struct unused {
	const char *old, *new; /* texts; old: null: unknown */
	struct map *launched;
	struct tpat_texts names;
	struct arena *arena;
};

static void add_unused(struct unused *u, const struct json *j)
{
	const char *name = json_member_text(j, "name");
	size_t n, was = 0;
	const char *new = name ? kernel_of(u->new, name, &n) : NULL,
	           *old = name && u->old ? kernel_of(u->old, name, &was) : NULL;
	bool same = old && new && n == was &&memcmp(old, new, n) == 0;
	if (new && !same && !map_get(u->launched, name)) {
		map_put(u->launched, name, u);
		vec_push(u->arena, &u->names, name);
	}
	for (const struct json *c = !name && j && j->kind == JSON_IS_LIST ? j->child : NULL; c; c = c->next)
		add_unused(u, c);
}

/* True if the folder's own text was edited. */
static bool is_edited(const struct tpat_edited *x, struct arena *a)
{
	struct tpat_texts changes = { 0 };
	struct err ignored = { 0 };
	const char *name = arena_printf(a, "kernels/%s (edited)", x->text);
	bool recorded;
	if (tpat_record_changes(&changes, &recorded, x->folder, a, &ignored) < 0 || !recorded)
		return false;
	vec_each (change, &changes)
		if (strcmp(*change, name) == 0)
			return true;
	return false;
}

int tpat_edited_unused(struct tpat_strings *out, const struct tpat_edited *x, struct map *launched, struct arena *a,
                       struct err *e)
{
	struct unused u = { .launched = launched, .arena = a };
	char *old = NULL, *new;
	TRY(file_read(&new, NULL, x->source, a, e));
	if (!x->inside)
		TRY(file_read(&old, NULL, path_join(a, path_join(a, x->folder, "kernels"), x->text), a, e));
	u.old = old;
	u.new = new;
	if (!x->inside || is_edited(x, a)) {
		add_unused(&u, x->steps);
		add_unused(&u, x->tactics);
	}
	*out = tpat_strings_of(&u.names);
	return 0;
}

int tpat_edited_find(struct tpat_edited *out, const char *file, const char *folder, const char *node, struct arena *a,
                     struct err *e)
{
	*out = (struct tpat_edited){ .source = file };
	TRY(find_folder(out, folder, a, e));
	TRY(tpat_record_read(&out->record, out->folder, a, e));
	TRY(find_plugin(out, node, a, e));
	return check_kernels(out, a, e);
}

/* ---- The view. */

static int link_all(const char *to, const char *from, bool (*leaves_out)(const char *name), struct arena *a,
                    struct err *e)
{
	int n;
	const char **name = file_list(&n, from, a);
	TRY(file_mkdir(to, e));
	for (int i = 0; i < n; i++) {
		const char *at = path_join(a, to, name[i]);
		if (leaves_out && leaves_out(name[i]))
			continue;
		if (symlink(path_join(a, file_absolute(a, from), name[i]), at) < 0)
			return file_cannot_write(at, e);
	}
	return 0;
}

static bool is_kernels(const char *name)
{
	return strcmp(name, "kernels") == 0;
}

/* Replaces the link to a text by a copy of the edited one. */
static int put_text(const struct tpat_edited *x, const char *kernels, struct arena *a, struct err *e)
{
	const char *at = path_join(a, kernels, x->text);
	char *text;
	size_t n;
	TRY(file_read(&text, &n, x->source, a, e));
	unlink(at);
	return file_make(at, text, n, e);
}

int tpat_edited_view(const struct tpat_edited *x, int n, const char *view, struct arena *a, struct err *e)
{
	const char *kernels = path_join(a, view, "kernels");
	TRY(link_all(view, x->folder, is_kernels, a, e));
	TRY(link_all(kernels, path_join(a, x->folder, "kernels"), NULL, a, e));
	for (int i = 0; i < n; i++) {
		for (int other = 0; other < i; other++)
			if (strcmp(x[i].text, x[other].text) == 0)
				return err_set(e, ERR_USAGE, "%s and %s both replace %s.", x[other].source, x[i].source,
				               x[i].text);
		TRY(put_text(&x[i], kernels, a, e));
	}
	return 0;
}
