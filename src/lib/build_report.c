/* The result of tpat_build(). */
#include "lib/build_inside.h"

#include <string.h>

const char *build_about(const struct ir_program *p, struct arena *a)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	const char *text = str_text(&s);
	if (str_starts(text, "program "))
		text += strlen("program ");
	return arena_strndup(a, text, strcspn(text, "\n"));
}

static void count_nodes(struct build *b)
{
	struct map count = map_new(b->arena);
	struct tpat_texts list = { 0 };
	vec_each (g, &b->graph->graphs) {
		b->result->model_nodes += (*g)->nodes.n;
		vec_each (n, &(*g)->nodes) {
			const char *reason, *type = str_printable(b->arena, onnx_text(n->proto->op_type));
			if (graph_support(*g, n->index, &reason) != ENGINE_NO)
				continue;
			map_put(&count, type, (void *)((uintptr_t)map_get(&count, type) + 1));
			b->result->refused++;
		}
	}
	for (int i = 0; i < count.n; i++)
		vec_push(b->arena, &list,
		         arena_printf(b->arena, "%s %d", count.entry[i].name, (int)(uintptr_t)count.entry[i].value));
	b->result->refused_types = tpat_strings_of(&list);
}

void build_report(struct build *b)
{
	struct tpat_built *r = b->result;
	struct tpat_plugin *plugin = NEWN(b->arena, struct tpat_plugin, b->plugins.n + 1);
	struct tpat_texts warnings = { 0 };
	r->model = arena_strdup(b->arena, b->o->model);
	r->output = b->out.model;
	r->portable = b->out.portable;
	r->earlier = tpat_strings_of(&b->earlier);
	r->libraries = tpat_strings_of(&b->out.libraries);
	r->folder = b->plugins.n ? b->out.folder : NULL;
	r->opset = onnx_opset(b->model, "");
	r->regions = b->regions.n;
	vec_each (region, &b->regions) {
		r->nodes += (*region)->nodes.n;
		r->folded += (*region)->folded;
	}
	count_nodes(b);
	for (int i = 0; i < b->plugins.n; i++) {
		struct made *m = b->plugins.at[i];
		const struct made *own = build_scheduled(m);
		plugin[i] = (struct tpat_plugin){ .name = m->name,
			                          .version = GRAPH_PLUGIN_VERSION,
			                          .name_space = m->name_space,
			                          .hash = m->hash,
			                          .about = build_about(own->plan[0]->program, b->arena),
			                          .nodes = tpat_strings_of(&m->nodes) };
		vec_each (s, &own->plan[0]->steps)
			plugin[i].kernels += (*s)->n;
		plugin[i].tactics = own->plans;
		r->passed_over += m->tuned.passed_over;
		plugin[i].decisions = own->decisions;
		plugin[i].why = m->why;
		if (!m->tuned.choice)
			continue;
		plugin[i].tuned_ns = m->tuned.ns;
		plugin[i].tuned_shape = m->tuned.shape;
		plugin[i].tuned_on = m->tuned.device;
		r->from_db++;
		r->near += m->tuned.near;
	}
	r->db = b->tuned ? tpat_tuned_path(b->tuned) : NULL;
	if (b->tuned_warning)
		vec_push(b->arena, &warnings, b->tuned_warning);
	vec_each (w, &b->unfused)
		vec_push(b->arena, &warnings, *w);
	r->plugin = plugin;
	r->plugins = b->plugins.n;
	if (b->version.warning && b->plugins.n)
		vec_push(b->arena, &warnings, b->version.warning);
	vec_each (region, &b->regions)
		if ((*region)->shapes && b->version.shape_inputs)
			vec_push(b->arena, &warnings,
			         arena_printf(b->arena, "%s: an input's values determine extents, and %s.",
			                      (*region)->label, b->version.shape_inputs));
	vec_each (w, &b->graph->warnings)
		vec_push(b->arena, &warnings, arena_strdup(b->arena, *w));
	r->warnings = tpat_strings_of(&warnings);
	r->deploy = b->deploy;
}
