/* The plugins of a build: their figures, and for each its program, its schedule and its kernels. */
#include <string.h>

#include "base/number.h"
#include "gen/language.h"
#include "lib/page_inside.h"
#include "tune/tune.h"

/* ---- Figures. */

/* Sets bytes, operations and the bound, if all extents are known. */
static void measure_bounds(struct page_plugin *x, const struct ir_plan *plan, struct arena *a)
{
	const struct sched_target *t = x->at;
	struct tune_roofline r;
	double bytes;
	if (!tpat_roofline(&r, &bytes, plan->program, t, plan->steps.n, a)) /* a step is one launch */
		return;
	x->bytes = bytes;
	x->operations = r.operations;
	x->bound = strcmp(r.bound, "launch") == 0 ? "launches" : r.bound;
	x->bound_ns = strcmp(r.bound, "memory") == 0       ? r.memory_ns
	              : strcmp(r.bound, "arithmetic") == 0 ? r.arithmetic_ns
	                                                   : 0;
}

void page_measure(struct page *p)
{
	struct build *b = p->b;
	p->plugin = NEWN(b->arena, struct page_plugin, b->plugins.n + 1);
	for (int i = 0; i < b->plugins.n; i++) {
		struct page_plugin *x = &p->plugin[i];
		const struct made *own = build_scheduled(b->plugins.at[i]);
		struct ir_program *program = own->plan[0]->program;
		struct sched_points *points = NEW(b->arena, struct sched_points);
		*points = tpat_profile_points(b->extents, &b->target, own->region, program, NULL);
		x->made = b->plugins.at[i];
		x->at = &points->target[points->opt];
		x->regions = x->made->nodes.n;
		x->launches = own->plan[0]->steps.n;
		for (int k = 0; own->why && k < own->why->stages; k++)
			if (own->why->stage[k].rules && own->why->stage[k].rule[0].chosen)
				x->ns += own->why->stage[k].rule[0].ns;
		measure_bounds(x, own->plan[0], b->arena);
	}
	page_find_checks(p);
}

/* ---- The table, and the roofline. */

const char *page_bytes(double bytes, struct arena *a)
{
	const char *const unit[] = { "bytes", "KB", "MB", "GB" };
	int k = 0;
	for (; bytes >= 9999.5 && k < 3; k++)
		bytes /= 1000;
	return arena_printf(a, "%.4g %s", bytes, unit[k]);
}

static void put_row(struct str *out, const struct page *p, int i)
{
	const struct page_plugin *x = &p->plugin[i];
	char us[NUMBER_TEXT];
	str_printf(out, "<tr><td><span class=\"key r%d\"></span><a href=\"#p%d\">plugin %d</a></td><td>",
	           i % HTML_COLOURS, i, i + 1);
	html_text(out, x->made->nodes.at[0]);
	if (x->regions > 1)
		str_printf(out, " and %d more", x->regions - 1);
	str_printf(out, "</td><td>%d</td><td>%s</td><td>", x->launches, number_short(us, x->ns / 1e3));
	if (x->bound_ns > 0)
		str_printf(out, "%s (%s)", number_short(us, x->bound_ns / 1e3), x->bound);
	else
		str_add(out, x->bound ? x->bound : "");
	str_add(out, "</td><td>");
	if (x->bound)
		str_add(out, page_bytes(x->bytes, out->arena));
	if (p->b->o->verified) {
		str_add(out, "</td><td>");
		if (!x->check || x->check->error)
			str_add(out, !x->check || x->check->lacks ? "not verified" : "failed");
		else
			str_printf(out, "%s%.3g", x->check->passed ? "" : "DIFFERS: ", x->check->max_absolute);
	}
	str_add(out, "</td></tr>\n");
}

void page_summary(struct page *p)
{
	const struct sched_target *t = &p->b->target;
	struct html_point *point = NEWN(p->b->arena, struct html_point, p->b->plugins.n + 1);
	struct str *out = &p->html;
	str_add(out,
	        "<section id=\"plugins\"><h2>Plugins</h2>\n<p>Times are estimates of the cost model at the optimum "
	        "shapes (64 for dimensions without a profile), in "
	        "microseconds. The bound is the time for memory traffic or for arithmetic, whichever is longer, or "
	        "<em>launches</em> if these take longer than both.</p>\n<div class=\"scroll\"><table "
	        "class=\"nodes\"><tr><th>plugin</th><th>nodes</th><th>launches</th>"
	        "<th>estimate</th><th>bound</th><th>inputs and outputs</th>");
	str_add(out, p->b->o->verified ? "<th>largest error</th></tr>\n" : "</tr>\n");
	for (int i = 0; i < p->b->plugins.n; i++) {
		const struct page_plugin *x = &p->plugin[i];
		put_row(out, p, i);
		point[i] = (struct html_point){ arena_printf(p->b->arena, "plugin %d: %s", i + 1, x->made->nodes.at[0]),
			                        x->operations,
			                        x->bytes,
			                        x->ns,
			                        i,
			                        i };
	}
	str_add(out, "</table></div>\n</section>\n<section id=\"roofline\"><h2>Roofline</h2>\n<p>");
	html_format(out,
	            "Each plugin by its multiply-adds and bytes, at the estimated time. The lines are the limits of "
	            "%s: %.3g TB/s "
	            "of memory traffic, and %.3g T multiply-adds of f32 per second. Products on tensor cores may be "
	            "above them.",
	            t->name, t->bytes_per_ns / 1e3, t->fma[TYPE_F32] * t->processors * t->clock_ghz / 1e3);
	str_add(out, "</p>\n");
	html_roofline(out, point, p->b->plugins.n, t->bytes_per_ns, t->fma[TYPE_F32] * t->processors * t->clock_ghz);
	str_add(out, "</section>\n");
}

/* ---- Schedules. */

/* Rules with the same reason share an item. */
static void put_others(struct str *out, const struct tpat_stage *x)
{
	str_add(out, "<ul>");
	for (int k = 0; k < x->rules; k++) {
		bool told = x->rule[k].applies;
		for (int i = 0; i < k; i++)
			told |= !x->rule[i].applies && strcmp(x->rule[i].why, x->rule[k].why) == 0;
		if (told)
			continue;
		str_add(out, "<li><b>");
		const char *between = "";
		for (int i = k; i < x->rules; i++)
			if (!x->rule[i].applies && strcmp(x->rule[i].why, x->rule[k].why) == 0) {
				html_format(out, "%s%s", between, x->rule[i].name);
				between = ", ";
			}
		str_add(out, "</b>: ");
		html_text(out, x->rule[k].why);
		str_add(out, "</li>");
	}
	str_add(out, "</ul>\n");
}

static void put_rules(struct str *out, const struct tpat_stage *x)
{
	int n = 0;
	char us[NUMBER_TEXT];
	str_add(out, "<div class=\"scroll\"><table><tr><th>rule</th><th>estimate, us</th><th>stages</th>"
	             "<th>parameters</th></tr>\n");
	for (; n < x->rules && x->rule[n].applies; n++) {
		const struct tpat_rule *r = &x->rule[n];
		str_add(out, r->chosen ? "<tr class=\"chosen\"><td>" : "<tr><td>");
		html_format(out, r->chosen ? "%s (chosen)" : "%s", r->name);
		str_printf(out, "</td><td>%s</td><td>%d</td><td>", number_short(us, r->ns / 1e3), r->stages);
		html_text(out, r->parameters);
		str_add(out, "</td></tr>\n");
	}
	str_add(out, "</table></div>\n");
	if (n == x->rules)
		return;
	str_printf(out, "<details><summary>%d other rules do not apply</summary>", x->rules - n);
	put_others(out, x);
	str_add(out, "</details>\n");
}

static void put_schedule(struct str *out, const struct tpat_schedule *s)
{
	for (int i = 0; i < s->stages; i++) {
		str_printf(out, "<h4>Stage %d</h4><pre>", i);
		html_code(out, s->stage[i].text, HTML_PROGRAM);
		str_add(out, "</pre>\n");
		if (s->stage[i].made_with != i)
			str_printf(out, "<p>Made together with stage %d.</p>\n", s->stage[i].made_with);
		else
			put_rules(out, &s->stage[i]);
	}
}

/* ---- Sections. */

static void put_labels(struct str *out, const struct made *m, int from, int to)
{
	str_add(out, "<p>");
	for (int i = from; i < to; i++) {
		str_add(out, i == from ? "" : ", ");
		html_text(out, m->nodes.at[i]);
	}
	str_add(out, "</p>\n");
}

/* The nodes of a plugin; of many, some are folded away. */
static void put_nodes(struct str *out, const struct made *m)
{
	enum { FEW = 10 };
	const int shown = m->nodes.n > FEW ? FEW / 2 : m->nodes.n;
	put_labels(out, m, 0, shown);
	if (shown == m->nodes.n)
		return;
	str_printf(out, "<details><summary>and %d more</summary>", m->nodes.n - shown);
	put_labels(out, m, shown, m->nodes.n);
	str_add(out, "</details>\n");
}

/* Its other formats. */
static void put_formats(struct str *out, const struct build *b, const struct made *m)
{
	int n = 0;
	vec_each (x, &b->stored)
		if ((*x)->of == m)
			str_printf(out, n++ ? ", %s (%.4g us)" : "<p>It also takes the formats %s (%.4g us)",
			           (*x)->layout->name, build_scheduled(*x)->ns / 1e3);
	if (n)
		str_printf(out, "; row-major %.4g us.</p>\n", build_scheduled(m)->ns / 1e3);
	vec_each (w, &b->weighed)
		if (w->of == m)
			str_printf(out,
			           "<p>%s: its kernels take %.4g us, the row-major ones and TensorRT's reformatting "
			           "around them %.4g us. So it %s this format.</p>\n",
			           w->layout->name, w->ns / 1e3, (build_scheduled(m)->ns + w->reformats_ns) / 1e3,
			           w->taken ? "has" : "does not have");
}

/* The outputs that may have the memory of inputs. */
static void put_in_place(struct str *out, const struct made *m)
{
	const struct ir_program *p = build_scheduled(m)->plan[0]->program;
	for (int i = 0; i < p->outputs.n; i++)
		if (p->outputs.at[i]->replaces) {
			str_add(out, "<p>");
			html_format(out, "Its output %s may have the memory of its input %s.", p->outputs.at[i]->name,
			            p->outputs.at[i]->replaces->name);
			str_add(out, "</p>\n");
		}
}

static void put_part(struct str *out, const char *title, struct str *text, enum html_language language)
{
	str_printf(out, "<details><summary>%s</summary><pre>", title);
	html_code(out, str_text(text), language);
	str_add(out, "</pre></details>\n");
}

static void put_parts(struct str *out, const struct build *b, const struct made *m)
{
	const struct made *own = build_scheduled(m);
	struct str program = str_new(b->arena), kernels = str_new(b->arena);
	ir_print_program(&program, own->plan[0]->program);
	put_part(out, "Program", &program, HTML_PROGRAM);
	if (own->why) {
		str_add(out, "<details><summary>Schedule</summary>\n<p>Decisions: <code>");
		html_text(out, own->decisions);
		str_add(out, "</code>");
		if (own->tuned.choice) {
			str_printf(out, ", measured: %.4g us on ", own->tuned.ns / 1e3);
			html_text(out, own->tuned.device);
		}
		str_add(out, ".</p>\n");
		put_schedule(out, own->why);
		str_add(out, "</details>\n");
	}
	b->graph->engine->language->print(&kernels, own->plan, 1);
	put_part(out, "Kernels", &kernels, HTML_CUDA);
	vec_each (x, &b->stored) {
		struct str text = str_new(b->arena);
		if ((*x)->of != m || (*x)->like)
			continue;
		b->graph->engine->language->print(&text, (*x)->plan, 1);
		put_part(out, arena_printf(b->arena, "Kernels for %s", (*x)->layout->name), &text, HTML_CUDA);
	}
}

int page_sections(struct page *p)
{
	struct build *b = p->b;
	for (int i = 0; i < b->plugins.n; i++) {
		const struct made *m = b->plugins.at[i];
		struct str parts = str_new(b->arena), head = str_new(b->arena);
		str_printf(&head, "<section id=\"p%d\"><h3><span class=\"key r%d\"></span>Plugin %d</h3>\n<pre>", i,
		           i % HTML_COLOURS, i + 1);
		html_text(&head, build_about(build_scheduled(m)->plan[0]->program, b->arena));
		str_add(&head, "</pre>\n");
		put_nodes(&head, m);
		put_formats(&head, b, m);
		put_in_place(&head, m);
		if (p->plugin[i].check) {
			str_add(&head, "<p>");
			page_check(&head, &p->plugin[i]);
			str_add(&head, "</p>\n");
		}
		for (int k = 0; k < i && m->like; k++)
			if (b->plugins.at[k] == m->like)
				str_printf(&parts,
				           "<p>The program, schedule and kernels of <a href=\"#p%d\">plugin %d</a>, "
				           "with other weights.</p>\n",
				           k, k + 1);
		if (!m->like) {
			put_parts(&parts, b, m);
			TRY(page_tuning(&parts, p, &p->plugin[i]));
		}
		str_add(&p->html, str_text(&head));
		if (p->html.n + parts.n < PAGE_MOST_BYTES) {
			str_add(&p->html, str_text(&parts));
		} else {
			p->left_out++;
			str_add(&p->html, "<p>Its program and kernels are left out: the page would be too long. Report "
			                  "fewer nodes with -n.</p>\n");
		}
		str_add(&p->html, "</section>\n");
	}
	return 0;
}
