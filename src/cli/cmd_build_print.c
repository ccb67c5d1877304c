/* Prints the results of tpat build, human-readable or as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* "  schedules: 2 from the tuning database t.db (1 measured at other extents), 1 by the cost model" */
static void print_tuned(const struct tpat_built *r)
{
	printf("  schedules: %d from the tuning database %s", r->from_db, r->db);
	if (r->near)
		printf(" (%d measured at other extents)", r->near);
	printf(", %d by the cost model\n", r->plugins - r->from_db);
	if (r->passed_over)
		printf("  skipped %d faster row%s of the database that cannot be built\n", r->passed_over,
		       r->passed_over == 1 ? "" : "s");
}

static void print_counts(const struct tpat_built *r, const char *engine)
{
	printf("%s: %d node%s, opset %lld. %s refuses %d", base(r->model), r->model_nodes,
	       r->model_nodes == 1 ? "" : "s", (long long)r->opset, engine, r->refused);
	for (int i = 0; i < r->refused_types.n; i++)
		printf("%s%s", i ? ", " : " (", r->refused_types.at[i]);
	if (r->follow)
		printf("; %d more read tensors of these", r->follow);
	printf("%s\n", r->refused_types.n ? ")" : "");
	printf("  %d node%s -> %d region%s", r->nodes, r->nodes == 1 ? "" : "s", r->regions,
	       r->regions == 1 ? "" : "s");
	if (r->output)
		printf(" -> %d distinct plugin%s", r->plugins, r->plugins == 1 ? "" : "s");
	if (r->folded)
		printf(", %d known at build time", r->folded);
	printf("\n");
	if (r->db)
		print_tuned(r);
}

void cli_print_plain(const struct tpat_plain_node *plain, int n)
{
	int nodes = 0;
	if (!n)
		return;
	printf("  %d node%s replaced by ", n, n == 1 ? "" : "s");
	for (int i = 0; i < n; i++)
		nodes += plain[i].nodes;
	printf("%d plain node%s: no plugin needed (", nodes, nodes == 1 ? "" : "s");
	for (int i = 0, listed = 0; i < n; i++) {
		int same = 0;
		bool first = true;
		for (int k = 0; k < n; k++) {
			bool equal = strcmp(plain[k].type, plain[i].type) == 0;
			same += equal;
			first &= !equal || k >= i;
		}
		if (first)
			printf("%s%s %d", listed++ ? ", " : "", plain[i].type, same);
	}
	printf(")\n");
}

/* The name without its middle if it has more than `most` columns. */
static const char *shorten_middle(const char *name, int most, char *out, size_t size)
{
	int width = str_width(name), head = (most - 3) / 2, tail = most - 3 - head, at = 0;
	const char *left = name, *right = name;
	if (width <= most)
		return name;
	for (const char *c = name; *c; at++) {
		int bytes = str_character(c);
		c += bytes ? bytes : 1;
		if (at + 1 == head)
			left = c;
		if (at + 1 == width - tail)
			right = c;
	}
	snprintf(out, size, "%.*s...%s", (int)(left - name), name, right);
	return out;
}

/* The regions that --auto chose: all of them, or the first few. */
static void print_joined(const struct tpat_built *r, bool all)
{
	enum { FEW = 16, AT = 41, LEAST = 40, MOST = 240 }; /* AT: the column of the names */
	int n = all || r->joins <= FEW ? r->joins : FEW;
	double apart = 0, together = 0;
	for (int i = 0; i < r->joins; i++) {
		apart += r->joined[i].apart_ns;
		together += r->joined[i].together_ns;
	}
	if (r->joins)
		printf("  estimated: %.1f us as single plugins with TensorRT's kernels between them, %.1f us joined\n"
		       "    nodes  refused  single us  joined us  region\n",
		       apart / 1e3, together / 1e3);
	for (int i = 0; i < n; i++) {
		const struct tpat_joined *j = &r->joined[i];
		char name[1024];
		int most = cli_columns(stdout) - AT < LEAST ? LEAST : cli_columns(stdout) - AT;
		printf("    %5d  %7d  %9.1f  %9.1f  %s\n%41s%s\n", j->nodes, j->refused, j->apart_ns / 1e3,
		       j->together_ns / 1e3,
		       all || most > MOST ? j->region : shorten_middle(j->region, most, name, sizeof name), "", j->why);
	}
	if (n < r->joins)
		printf("    and %d more, which -v shows\n", r->joins - n);
}

static void print_whys(const struct tpat_built *r)
{
	for (int i = 0; i < r->plugins; i++)
		if (r->plugin[i].why)
			cli_print_why(r->plugin[i].why);
}

static void print_plugins(const struct tpat_built *r)
{
	for (int i = 0; i < r->plugins; i++) {
		const struct tpat_plugin *p = &r->plugin[i];
		printf("  %s  %s\n", p->name, p->about);
		for (int n = 0; n < p->nodes.n; n++)
			printf("    %s\n", p->nodes.at[n]);
		if (p->formats)
			printf("    also in %s\n", p->formats);
		if (p->tuned_on)
			printf("    %.2f us%s%s on %s: %s\n", p->tuned_ns / 1e3, *p->tuned_shape ? " at " : "",
			       p->tuned_shape, p->tuned_on, p->decisions);
	}
}

static void print_files(const struct tpat_built *r)
{
	int width = cli_wider(20, r->output);
	if (r->portable)
		width = cli_wider(width, r->portable);
	for (int i = 0; i < r->libraries.n; i++)
		width = cli_wider(width, r->libraries.at[i]);
	for (int i = 0; i < r->earlier.n; i++)
		width = cli_wider(width, r->earlier.at[i]);
	if (r->folder)
		width = cli_wider(width - 1, r->folder) + 1; /* including its slash */
	const char *plain = r->plugins || r->earlier.n
	                            ? "still a plain ONNX model: the plugins' nodes carry the original operators"
	                            : "a plain ONNX model without plugins";
	printf("wrote %-*s %s\n", cli_field(width, r->output), r->output,
	       r->portable ? "for TensorRT only: the plugins' nodes do not carry the original operators" : plain);
	if (r->portable)
		printf("      %-*s %s\n", cli_field(width, r->portable), r->portable, plain);
	for (int i = 0; i < r->libraries.n; i++) {
		int plugins = r->libraries.n > 1 ? 1 : r->plugins;
		printf("      %-*s %d plugin%s", cli_field(width, r->libraries.at[i]), r->libraries.at[i], plugins,
		       plugins == 1 ? "" : "s");
		for (int k = 0; k < r->arch.n; k++)
			printf("%s %s", k ? "" : ",", r->arch.at[k]);
		printf(", %s%s%s\n", r->runs, r->host ? ", on " : "", r->host ? r->host : "");
	}
	for (int i = 0; i < r->earlier.n; i++)
		printf("   uses %-*s plugins of an earlier build\n", cli_field(width, r->earlier.at[i]),
		       r->earlier.at[i]);
	if (r->folder)
		printf("      %s%-*s kernels to read; rebuild with make\n", r->folder, width - str_width(r->folder),
		       "/");
	printf("next: %s\n", r->deploy);
}

void cli_print_built_json(const struct tpat_built *r)
{
	json_t *plugins = json_array();
	for (int i = 0; i < r->plugins; i++) {
		const struct tpat_plugin *p = &r->plugin[i];
		json_t *plugin =
		        cli_json("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:f, s:s?, s:o}", "name", p->name, "version",
		                 p->version, "namespace", p->name_space, "hash", p->hash, "about", p->about, "kernels",
		                 p->kernels, "tactics", p->tactics, "decisions", p->decisions, "tuned_ns", p->tuned_ns,
		                 "tuned_on", p->tuned_on, "nodes", cli_json_list(&p->nodes));
		if (p->formats)
			json_object_set_new(plugin, "formats", json_string(p->formats));
		if (p->why)
			json_object_set_new(plugin, "why", cli_json_why(p->why));
		json_array_append_new(plugins, plugin);
	}
	json_t *joined = json_array();
	for (int i = 0; i < r->joins; i++) {
		const struct tpat_joined *j = &r->joined[i];
		json_array_append_new(joined, cli_json("{s:s, s:i, s:i, s:i, s:i, s:s, s:f, s:f}", "region", j->region,
		                                       "nodes", j->nodes, "refused", j->refused, "edges", j->edges,
		                                       "edges_apart", j->edges_apart, "why", j->why, "apart_ns",
		                                       j->apart_ns, "together_ns", j->together_ns));
	}
	static const char format[] =
	        "{s:s, s:s?, s:s?, s:o, s:o, s:s?, s:i, s:I, s:i, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:s?, s:i, "
	        "s:i, s:s?}";
	json_t *built =
	        cli_json(format, "model", r->model, "output", r->output, "portable", r->portable, "libraries",
	                 cli_json_list(&r->libraries), "earlier", cli_json_list(&r->earlier), "folder", r->folder,
	                 "model_nodes", r->model_nodes, "opset", (json_int_t)r->opset, "refused", r->refused,
	                 "refused_types", cli_json_list(&r->refused_types), "nodes", r->nodes, "regions", r->regions,
	                 "folded", r->folded, "joined", joined, "plugins", plugins, "architectures",
	                 cli_json_list(&r->arch), "warnings", cli_json_list(&r->warnings), "db", r->db, "from_db",
	                 r->from_db, "passed_over", r->passed_over, "deploy", r->deploy);
	if (r->host)
		json_object_set_new(built, "host", json_string(r->host));
	json_object_set_new(built, "plain", cli_json_plain(r->plain, r->plains));
	json_object_set_new(built, "compiled", json_integer(r->compiled));
	json_object_set_new(built, "cached", json_integer(r->cached));
	cli_print_json(built);
}

void cli_print_built(const struct tpat_built *r, const char *engine, bool verbose)
{
	print_counts(r, engine);
	cli_print_plain(r->plain, r->plains);
	print_joined(r, verbose);
	if (verbose)
		print_plugins(r);
	if (r->output)
		print_files(r);
	print_whys(r);
}
