/* Shared by the parts of tpat_report(): a build, as sections of a page. */
#ifndef TPAT_LIB_PAGE_INSIDE_H
#define TPAT_LIB_PAGE_INSIDE_H

#include "html/html.h"
#include "lib/build_inside.h"

/* Figures of a plugin at the optimum extents; 0: unknown. */
struct page_plugin {
	struct made *made;
	const struct sched_target *at; /* the target with these extents */
	double ns;                     /* the cost model's estimate of the whole plugin */
	double bytes, operations;      /* inputs read once, outputs written once; multiply-adds */
	const char *bound;             /* "memory", "arithmetic" or "launches"; null: unknown */
	double bound_ns;               /* 0: of launches, or unknown */
	int launches, regions;
	const struct tpat_check *check; /* of its verification; null: unknown */
};

struct page {
	struct build *b;
	struct page_plugin *plugin; /* as b->plugins */
	int left_out;
	struct str html;
};

enum { PAGE_MOST_BYTES = 4800000 }; /* the page stays shorter: sections that do not fit are left out */

/* page_graph.c: the graphs as pictures, before and after. */
void page_graphs(struct page *p);
/* page_plugins.c: the plugins' figures; their table, and a roofline; a section for each. */
void page_measure(struct page *p);
void page_summary(struct page *p);
const char *page_bytes(double bytes, struct arena *a); /* "13.61 MB" */
int page_sections(struct page *p);
/* page_checks.c: finds each plugin's verification; appends it to a section, and the tuning curve. */
void page_find_checks(struct page *p);
void page_check(struct str *out, const struct page_plugin *x);
int page_tuning(struct str *out, struct page *p, const struct page_plugin *x);

#endif
