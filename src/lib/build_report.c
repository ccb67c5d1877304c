/* The result of tpat_build(). */
#include "lib/build_inside.h"

#include <stdlib.h>
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

void build_count(struct build *b)
{
	struct map count = map_new(b->arena);
	struct tpat_texts list = { 0 };
	vec_each (g, &b->graph->graphs) {
		b->result->model_nodes += (*g)->nodes.n;
		vec_each (n, &(*g)->nodes) {
			const char *reason, *type = str_printable(b->arena, onnx_text(n->proto->op_type));
			if (graph_support(*g, n->index, &reason) != ENGINE_NO)
				continue;
			if (graph_follows(*g, n->index)) {
				b->result->follow++;
				continue;
			}
			map_put(&count, type, (void *)((uintptr_t)map_get(&count, type) + 1));
			b->result->refused++;
		}
	}
	if (b->graph->nodes_before)
		b->result->model_nodes = b->graph->nodes_before;
	vec_each (r, &b->graph->replaced) {
		map_put(&count, r->op, (void *)((uintptr_t)map_get(&count, r->op) + 1));
		b->result->refused++;
	}
	for (int i = 0; i < count.n; i++)
		vec_push(b->arena, &list,
		         arena_printf(b->arena, "%s %d", count.entry[i].name, (int)(uintptr_t)count.entry[i].value));
	b->result->refused_types = tpat_strings_of(&list);
}

/* ---- Regions that were joined. */

enum { MOST_TYPES = 6, MOST_LOSING = 8 }; /* listed */

struct count {
	const char *type;
	int n;
};

static int compare_counts(const void *a, const void *b)
{
	const struct count *x = a, *y = b;
	return x->n != y->n ? y->n - x->n : strcmp(x->type, y->type);
}

/* Appends "ConvInteger 2, Cast 1": the types of the region's nodes that TensorRT refuses, or of the others. */
static void count_types(struct str *out, struct build *b, const struct graph_region *r, bool refused)
{
	struct map seen = map_new(b->arena);
	struct count *count = NEWN(b->arena, struct count, r->nodes.n + 1);
	int n = 0;
	vec_each (i, &r->nodes) {
		const char *reason, *type;
		if ((graph_support(r->graph, *i, &reason) == ENGINE_NO) != refused)
			continue;
		type = str_printable(b->arena, onnx_text(r->graph->nodes.at[*i].proto->op_type));
		struct count *have = (struct count *)map_get(&seen, type);
		if (!have) {
			have = &count[n++];
			have->type = type;
			map_put(&seen, type, have);
		}
		have->n++;
	}
	qsort(count, (size_t)n, sizeof *count, compare_counts);
	for (int i = 0; i < n && i < MOST_TYPES; i++)
		str_printf(out, "%s%s %d",
		           i                    ? ", "
		           : refused || !out->n ? ""
		                                : " joined by ",
		           count[i].type, count[i].n);
	if (n > MOST_TYPES)
		str_printf(out, " ...");
}

/* The tensors at a plugin's edge, without constants. */
static int count_edges(const struct graph_region *r)
{
	int n = r->outputs.n;
	vec_each (v, &r->inputs)
		n += !(*v)->is_constant;
	return n;
}

static int count_edges_apart(const struct graph_region *r)
{
	int n = 0;
	vec_each (i, &r->nodes) {
		struct graph_region *one;
		struct err ignored = { 0 };
		const char *reason;
		if (graph_support(r->graph, *i, &reason) == ENGINE_NO &&
		    graph_region_new(&one, r->graph, i, 1, &ignored) == 0)
			n += count_edges(one);
	}
	return n;
}

static void report_joined(struct build *b)
{
	struct tpat_joined *joined = NEWN(b->arena, struct tpat_joined, b->regions.n + 1);
	int n = 0;
	vec_each (region, &b->regions) {
		const struct graph_region *r = *region;
		struct str why = str_new(b->arena);
		if (!r->joined)
			continue;
		count_types(&why, b, r, true);
		count_types(&why, b, r, false);
		if (r->fast)
			str_printf(&why, "; %s runs %d kernels", b->graph->engine->name, r->kernels);
		joined[n++] = (struct tpat_joined){ .region = arena_strdup(b->arena, str_printable(b->arena, r->label)),
			                            .nodes = r->nodes.n,
			                            .refused = r->refused,
			                            .why = str_text(&why),
			                            .edges = count_edges(r),
			                            .edges_apart = count_edges_apart(r),
			                            .apart_ns = r->apart_ns,
			                            .together_ns = r->together_ns };
	}
	b->result->joined = joined;
	b->result->joins = n;
}

/* Names the plugins that can only lose, or returns null. */
static const char *losing_text(struct build *b)
{
	struct str names = str_new(b->arena);
	int n = 0;
	vec_each (region, &b->regions)
		if (graph_region_loses(*region) && n++ < MOST_LOSING)
			str_printf(&names, "%s%s", names.n ? ", " : "", str_printable(b->arena, (*region)->label));
	if (!n)
		return NULL;
	if (n > MOST_LOSING)
		str_printf(&names, " and %d more", n - MOST_LOSING);
	return arena_printf(
	        b->arena,
	        "%s runs %s itself, and can fuse such nodes into the one before: a plugin adds a kernel, and "
	        "reads and writes its tensors once more.",
	        b->graph->engine->name, str_text(&names));
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
	r->plain = b->plain.node;
	r->plains = b->plain.n;
	report_joined(b);
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
		vec_each (x, &b->stored)
			if ((*x)->of == m)
				plugin[i].formats =
				        arena_printf(b->arena, "%s%s%s", plugin[i].formats ? plugin[i].formats : "",
				                     plugin[i].formats ? ", " : "", (*x)->layout->name);
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
	if (b->graph->version->warning && b->plugins.n)
		vec_push(b->arena, &warnings, b->graph->version->warning);
	vec_each (region, &b->regions)
		if ((*region)->shapes && b->graph->version->shape_inputs)
			vec_push(b->arena, &warnings,
			         arena_printf(b->arena, "%s: an input's values determine extents, and %s.",
			                      (*region)->label, b->graph->version->shape_inputs));
	vec_each (region, &b->regions)
		if (graph_region_sizes(*region).n && b->graph->version->sizes)
			vec_push(b->arena, &warnings,
			         arena_printf(b->arena, "%s: its kernels compute extents of outputs, and %s.",
			                      (*region)->label, b->graph->version->sizes));
	const char *losing = losing_text(b);
	if (losing)
		vec_push(b->arena, &warnings, losing);
	vec_each (w, &b->graph->warnings)
		vec_push(b->arena, &warnings, arena_strdup(b->arena, *w));
	r->warnings = tpat_strings_of(&warnings);
	vec_each (w, &warnings)
		tpat_say(b->talk, TPAT_LOG_WARNING, "%s", *w);
	r->deploy = b->deploy;
	r->guessed = b->guessed;
	r->runs = b->graph->version->runs;
}
