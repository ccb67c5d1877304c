/* Earlier measurements of a plugin: its verification, and the trials of tpat tune. */
#include <string.h>

#include "db/db.h"
#include "lib/page_inside.h"

/* ---- Verification. */

/* True if one of the plugin's regions makes the tensor, or is that node. */
static bool makes(const struct page *p, const struct made *m, const char *tensor, const char *node)
{
	vec_each (label, &m->nodes)
		if (strcmp(*label, node) == 0)
			return true;
	for (int i = 0; i < p->b->regions.n; i++)
		for (int k = 0; p->b->made[i] == m && k < p->b->regions.at[i]->outputs.n; k++)
			if (strcmp(p->b->regions.at[i]->outputs.at[k]->name, tensor) == 0)
				return true;
	return false;
}

void page_find_checks(struct page *p)
{
	const struct tpat_verified *v = p->b->o->verified;
	for (int i = 0; i < p->b->plugins.n; i++)
		for (int k = 0; v && k < v->checks && !p->plugin[i].check; k++)
			if (makes(p, p->plugin[i].made, v->check[k].tensor, v->check[k].node))
				p->plugin[i].check = &v->check[k];
}

void page_check(struct str *out, const struct page_plugin *x)
{
	const struct tpat_check *k = x->check;
	if (!k)
		return;
	html_text(out, k->passed  ? "Verified: agrees with the original nodes"
	               : k->lacks ? "Verified: could not run"
	                          : "Verified: DIFFERS from the original nodes");
	if (k->inputs && k->outputs)
		html_format(out, " for %s -> %s", k->inputs, k->outputs);
	if (k->error)
		html_format(out, ". %s", k->error);
	else
		html_format(out, ". Largest errors: absolute %.3g, relative %.3g", k->max_absolute, k->max_relative);
	if (!k->error && !k->passed)
		html_format(out, "; %lld of %lld elements differ, the worst: %s%s", (long long)k->differing,
		            (long long)k->elements, k->output, k->worst);
	str_add(out, k->error ? "" : ".");
	if (k->note)
		html_format(out, " %s", k->note);
}

/* ---- The tuning curve. */

struct run {
	const struct db_trial *trial;
	int n, ok;
};

/* The largest group of trials with the same extents on the same GPU. Trials are in that order. */
static struct run largest(const struct db_trials *all)
{
	struct run best = { 0 }, now = { 0 };
	vec_each (t, all) {
		bool same = now.n && strcmp(t->key.shape, now.trial->key.shape) == 0 &&
		            strcmp(t->key.device, now.trial->key.device) == 0;
		if (!same)
			now = (struct run){ .trial = t };
		now.n++;
		now.ok += t->status == DB_OK;
		if (now.ok > best.ok)
			best = now;
	}
	return best;
}

int page_tuning(struct str *out, struct page *p, const struct page_plugin *x)
{
	struct db_trials all = { 0 };
	struct build *b = p->b;
	if (!b->tuned)
		return 0;
	TRY(tpat_tuned_trials(&all, b->tuned, x->made->hash, &b->target, b->err));
	struct run r = largest(&all);
	if (!r.ok)
		return 0;
	struct html_trial *trial = NEWN(b->arena, struct html_trial, r.ok);
	int n = 0;
	for (int i = 0; i < r.n; i++)
		if (r.trial[i].status == DB_OK)
			trial[n++] =
			        (struct html_trial){ r.trial[i].decisions, (double)r.trial[i].when, r.trial[i].ns };
	str_add(out, "<details><summary>Tuning</summary>\n<p>");
	html_format(out, "%d schedule%s measured on %s", r.ok, r.ok == 1 ? "" : "s", r.trial->key.device);
	if (*r.trial->key.shape)
		html_format(out, " with the extents %s", r.trial->key.shape);
	if (r.n > r.ok)
		html_format(out, "; %d more failed", r.n - r.ok);
	str_add(out, ". Each point is a trial; the line is the best time so far.</p>\n");
	html_curve(out, trial, n);
	str_add(out, "</details>\n");
	return 0;
}
