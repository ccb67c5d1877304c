/* A build as one HTML page. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/number.h"
#include "lib/page_inside.h"

static const char style[] =
        ":root{--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#d0d7de;--pre:#f6f8fa;--box:#eef1f4;"
        "--link:#0757ba;--tc:#57606a;--ts:#0a3069;--tn:#0550ae;--tk:#a40e26;--td:#6639ba}\n"
        "@media screen and "
        "(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#3d444d;--pre:#161b22;"
        "--box:#262c36;--link:#6cb2ff;--tc:#9198a1;--ts:#a5d6ff;--tn:#79c0ff;--tk:#ff7b72;--td:#d2a8ff}}\n"
        "*{box-sizing:border-box}\n"
        "body{margin:0 auto;max-width:75rem;padding:1rem;background:var(--bg);color:var(--fg);"
        "font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
        "h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}a{color:var(--link)}\n"
        "pre{background:var(--pre);padding:.75rem;overflow-x:auto;font-size:.8rem;line-height:1.4;tab-size:4;"
        "overflow-wrap:normal}\n"
        ".scroll{overflow:auto;max-height:80vh;border:1px solid var(--line);margin:.5rem 0}\n"
        "table{border-collapse:collapse;font-size:.875rem;overflow-wrap:normal}th,td{padding:.25rem "
        ".6rem;text-align:left;"
        "border-bottom:1px solid var(--line);vertical-align:top}td:first-child{white-space:nowrap}"
        ".nodes td:nth-child(2){overflow-wrap:anywhere;min-width:10rem}tr.chosen{font-weight:600}\n"
        "summary{cursor:pointer;font-weight:600;padding:.3rem 0}dt{color:var(--dim)}dd{margin:0 0 .4rem}"
        "@media (min-width:40rem){dl{display:grid;grid-template-columns:max-content 1fr;column-gap:1.5rem}}\n"
        ".z50:checked~.scroll svg{zoom:.5}.z25:checked~.scroll svg{zoom:.25}.z10:checked~.scroll svg{zoom:.1}"
        ".fit:checked~.scroll svg{max-width:100%;max-height:78vh;width:auto;height:auto}\n"
        "svg{display:block}svg text{font:12px system-ui,sans-serif;fill:var(--fg);text-anchor:middle}"
        ".edge{fill:none;stroke:var(--dim);stroke-width:1;opacity:.6}.grid{stroke:var(--line)}"
        ".roof{fill:none;stroke:var(--fg);stroke-width:2}.box{fill:var(--box);stroke:var(--dim)}\n"
        ".key{display:inline-block;width:.8em;height:.8em;border-radius:.2em;margin-right:.4em}\n"
        ".tc{color:var(--tc)}.ts{color:var(--ts)}.tn{color:var(--tn)}.tk{color:var(--tk)}.td{color:var(--td)}\n";

static const char style_print[] =
        "@media screen{.paper{display:none}}\n"
        "@media print{:root{--bg:#fff;--fg:#000;--pre:#fff;--box:#eee}"
        "body{max-width:none;font-size:11px}table{font-size:inherit}"
        "td:nth-child(2){overflow-wrap:anywhere}section>p{break-inside:avoid}"
        ".scroll{overflow:visible;max-height:none;border:0}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
        "svg{max-width:100%;height:auto}tr{break-inside:avoid}"
        "h2,h3,h4,summary{break-after:avoid}.zoom,.zoom+label,.screen{display:none}}\n";

/* A colour, mixed with so much of a background, 0 black or 255 white: text stays readable on it. */
static int mixed(int rgb, int background)
{
	int out = 0;
	for (int shift = 16; shift >= 0; shift -= 8)
		out |= ((rgb >> shift & 255) * 45 + background * 55) / 100 << shift;
	return out;
}

/* The colours of regions: the classes r0, r1 ..., paler in boxes. In the boxes of either background any two are at
 * least 11 apart in CIELAB, and consecutive ones 15, also as seen with protanopia, deuteranopia or tritanopia. */
static void put_colours(struct str *out)
{
	static const int colour[HTML_COLOURS] = { 0x197252, 0x84b800, 0xb907aa, 0x6e6304,
		                                  0x0b88fc, 0xc788c4, 0x46bf60, 0x7f0cec };
	for (int i = 0; i < HTML_COLOURS; i++)
		str_printf(out, ".r%d{fill:#%06x;stroke:#%06x;background:#%06x}rect.r%d{fill:#%06x}\n", i, colour[i],
		           colour[i], colour[i], i, mixed(colour[i], 255));
	str_add(out, "@media screen and (prefers-color-scheme:dark){");
	for (int i = 0; i < HTML_COLOURS; i++)
		str_printf(out, "rect.r%d{fill:#%06x}", i, mixed(colour[i], 0));
	str_add(out, "}\n");
}

static void put_fact(struct str *out, const char *name, const char *value)
{
	str_printf(out, "<dt>%s</dt><dd>", name);
	html_text(out, value);
	str_add(out, "</dd>\n");
}

static void put_summary(struct page *p)
{
	struct build *b = p->b;
	struct tpat_built *r = b->result;
	struct arena *a = b->arena;
	struct stat file;
	double ns = 0;
	char us[NUMBER_TEXT];
	for (int i = 0; i < b->plugins.n; i++)
		ns += p->plugin[i].ns * p->plugin[i].regions;
	struct str types = str_new(a);
	for (int i = 0; i < r->refused_types.n; i++)
		str_printf(&types, "%s%s", i ? ", " : "", r->refused_types.at[i]);
	str_add(&p->html, "<section id=\"summary\"><h2>Summary</h2>\n<dl>");
	if (stat(b->o->model, &file) == 0)
		put_fact(&p->html, "model",
		         arena_printf(a, "%s, %s, opset %lld", b->o->model, page_bytes((double)file.st_size, a),
		                      (long long)r->opset));
	put_fact(&p->html, "nodes",
	         arena_printf(a, "%d, of which %d in %d region%s", r->model_nodes, r->nodes, r->regions,
	                      r->regions == 1 ? "" : "s"));
	put_fact(&p->html, "refused",
	         arena_printf(a, "%s refuses %d%s%s", b->graph->engine->name, r->refused, types.n ? ": " : "",
	                      str_text(&types)));
	put_fact(&p->html, "plugins",
	         arena_printf(a,
	                      r->folded ? "%d distinct; the results of %d regions are known at build time"
	                                : "%d distinct",
	                      r->plugins, r->folded));
	put_fact(&p->html, "estimate",
	         arena_printf(a, "%s us for all plugins on %s", number_short(us, ns / 1e3), b->target.name));
	if (r->db)
		put_fact(&p->html, "tuning database",
		         arena_printf(a, "%s: it decided %d of %d plugins", r->db, r->from_db, r->plugins));
	const struct tpat_verified *v = b->o->verified;
	if (v)
		put_fact(&p->html, "verified",
		         arena_printf(a, "on %s: %d of %d plugins agree with the original nodes",
		                      v->device ? v->device : "an unknown device", v->checks - v->failed, v->plugins));
	for (int i = 0; i < r->warnings.n; i++)
		put_fact(&p->html, "note", r->warnings.at[i]);
	str_add(&p->html, "</dl></section>\n");
}

/* ---- Next commands. */

static void put_list(struct str *out, const char *option, const struct tpat_strings *list)
{
	for (int i = 0; i < list->n; i++)
		str_printf(out, " %s %s", option, str_shell(out->arena, list->at[i]));
}

static void put_text(struct str *out, const char *option, const char *text)
{
	if (text)
		str_printf(out, " %s %s", option, str_shell(out->arena, text));
}

/* The options that select nodes and give shapes. */
static void put_options(struct str *out, const struct tpat_build_options *o)
{
	put_list(out, "-n", &o->node);
	put_list(out, "-t", &o->type);
	str_add(out, !o->automatic ? "" : o->fast ? " --auto=fast" : " --auto");
	put_text(out, "--min-gain", o->min_gain);
	put_text(out, "--decompose", o->decompose);
	if (o->chains)
		str_printf(out, " --chains %d", o->chains);
	put_list(out, "--region", &o->region);
	put_list(out, "--from", &o->from);
	put_list(out, "--to", &o->to);
	put_list(out, "--pattern", &o->pattern);
	str_add(out, o->all ? " --all" : "");
	put_list(out, "--except", &o->except);
	put_list(out, "--shape", &o->shape);
	put_list(out, "--value", &o->value);
	put_list(out, "--profile", &o->profile);
	put_list(out, "--format", &o->format);
	str_add(out, o->in_place ? " --in-place" : "");
	str_add(out, o->keep_types ? " --keep-types" : "");
	str_add(out, o->any_types ? " --any-types" : "");
}

static void put_next(struct page *p)
{
	const struct tpat_build_options *o = p->b->o;
	struct arena *a = p->b->arena;
	const char *model = str_shell_path(a, o->model), *after = str_shell_path(a, p->b->out.model);
	struct str next = str_new(a);
	str_printf(&next, "# Build it.\ntpat build %s", model);
	put_options(&next, o);
	put_text(&next, "--gpu", o->gpu);
	put_text(&next, "--tensorrt", o->tensorrt);
	put_text(&next, "--engine-report", o->engine_report);
	put_text(&next, "--db", o->db);
	str_add(&next, o->no_db ? " --no-db" : "");
	str_add(&next, o->from_db_only ? " --from-db-only" : "");
	put_text(&next, "-o", o->output);
	str_printf(&next, "\n# Verify it; without a GPU, on an emulator.\ntpat verify %s --json > verified.json",
	           after);
	str_printf(&next, "\n# Write this page with each plugin's errors.\ntpat report %s", model);
	put_options(&next, o);
	put_text(&next, "--gpu", o->gpu);
	put_text(&next, "--tensorrt", o->tensorrt);
	put_text(&next, "--db", o->db);
	str_add(&next, " --verified verified.json");
	if (!o->any_types) { /* tune has no such option */
		str_printf(&next,
		           "\n# Search for faster schedules on the GPU: the next build takes them.\ntpat tune %s",
		           model);
		put_options(&next, o);
		put_text(&next, "--db", o->db);
	}
	str_printf(&next, "\n# Print the commands, or programs, that run the model in TensorRT.\ntpat deploy %s\n",
	           after);
	str_add(&p->html, "<section id=\"next\"><h2>Next commands</h2>\n<pre>");
	html_text(&p->html, str_text(&next));
	str_add(&p->html, "</pre></section>\n");
}

/* ---- The call. */

static int put_page(struct page *p)
{
	struct str *out = &p->html;
	str_add(out, "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta "
	             "charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
	             "initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
	html_format(out, "%s: tpat report", path_base(p->b->o->model));
	str_add(out, "</title>\n<style>\n");
	str_add(out, style);
	put_colours(out);
	str_add(out, style_print);
	str_add(out, "</style></head>\n<body>\n<h1>");
	html_text(out, path_base(p->b->o->model));
	str_add(out, "</h1>\n<p>What tpat " TPAT_VERSION " makes of this model. <a href=\"#before\">Before</a>, <a "
	             "href=\"#after\">after</a>, <a href=\"#plugins\">plugins</a>, <a href=\"#roofline\">roofline</a>, "
	             "<a href=\"#details\">details</a>, <a href=\"#next\">next commands</a>.</p>\n");
	put_summary(p);
	page_graphs(p);
	page_summary(p);
	put_next(p);
	str_add(out, "<section id=\"details\"><h2>Details</h2>\n");
	TRY(page_sections(p));
	str_add(out, "</section>\n</body></html>\n");
	return 0;
}

struct page_call {
	const struct tpat_build_options *o;
	const char *path;
	const struct tpat_page **out;
};

static int run(struct tpat *t, void *arg)
{
	struct page_call *c = arg;
	struct arena *a = t->arena;
	struct tpat_build_options *o = NEW(a, struct tpat_build_options);
	struct build *b = NEW(a, struct build);
	*o = *c->o;
	*b = (struct build){
		.o = o, .result = NEW(a, struct tpat_built), .talk = &t->talk, .arena = a, .err = &t->err
	};
	t->cleanup = build_end;
	t->cleanup_arg = b;
	o->explain = true;
	o->tactics = 1;
	o->dump = NULL;
	o->name = (struct tpat_strings){ 0 };
	TRY(build_select(b));
	tpat_output_names(&b->out, o->output ? o->output : tpat_output_model(o->model, a), a);
	if (file_same(c->path ? c->path : "", o->model))
		return err_set(&t->err, ERR_USAGE, "%s is the model: the report needs another file.", c->path);
	b->archs = 1; /* nothing is compiled */
	b->arch = NEW(a, struct engine_arch);
	*b->arch = (struct engine_arch){ .arch = b->target.arch };
	TRY(build_plugins(b));
	build_report(b);
	struct page p = { .b = b, .html = str_new(a) };
	page_measure(&p);
	TRY(put_page(&p));
	const char *path =
	        c->path ? c->path
	                : path_join(a, path_dir(a, o->model), arena_printf(a, "%s.html", path_stem(a, o->model)));
	TRY(file_send(path, str_text(&p.html), p.html.n, &t->err));
	struct tpat_page *out = NEW(a, struct tpat_page);
	*out = (struct tpat_page){ .path = arena_strdup(a, path),
		                   .bytes = p.html.n,
		                   .nodes = b->result->model_nodes,
		                   .regions = b->regions.n,
		                   .plugins = b->plugins.n,
		                   .left_out = p.left_out };
	*c->out = out;
	return 0;
}

int tpat_report(struct tpat *t, const struct tpat_page **out, const char *path, const struct tpat_build_options *o)
{
	struct page_call c = { o, path, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
