/* Pieces of HTML that are well-formed XML too: escaped text, coloured code, and pictures as SVG. They need no
 * script and name no other file. Their colours are classes of the page's style. */
#ifndef TPAT_HTML_HTML_H
#define TPAT_HTML_HTML_H

#include "base/str.h"
#include "base/vec.h"

/* Appends text for an element or a quoted attribute. Bytes that are not UTF-8, and control characters other than tab
 * and newline, become U+FFFD. */
void html_text(struct str *out, const char *text);
/* The same for printf's result. */
void html_format(struct str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum html_language { HTML_CUDA, HTML_PROGRAM };
/* Appends CUDA C++ or a tensor program, with comments, strings, numbers, keywords and directives in spans of the
 * classes tc, ts, tn, tk and td. */
void html_code(struct str *out, const char *text, enum html_language language);

/* ---- html_picture.c: a graph as boxes in rows, by depth. */

enum { HTML_COLOURS = 8, HTML_MOST_BOXES = 3000 };

struct html_box {
	const char *text, *title; /* shown; shown under the pointer */
	int colour;               /* of a region: the class rN, modulo HTML_COLOURS; -1: none */
	int target;               /* number N of the section "pN" that the box leads to; -1: none */
	int outside;              /* nonzero: an input or output of the model */
};
struct html_edge {
	int from, to; /* boxes */
};
struct html_graph {
	struct {
		VEC(struct html_box);
	} boxes;
	struct {
		VEC(struct html_edge);
	} edges; /* without cycles; repeated ones count once */
};
/* Appends the graph as SVG. `name`: of the picture, for readers that do not see it. Of more than HTML_MOST_BOXES boxes
 * appends a sentence instead. */
void html_picture(struct str *out, const char *name, const struct html_graph *g);

/* ---- html_plot.c: a roofline, and the course of a search. */

struct html_point {
	const char *text;
	double operations, bytes, ns;
	int colour, target; /* as of a box */
};
/* Appends a plot of operations per nanosecond over operations per byte, both logarithmic, under the two bounds. Leaves
 * out points without operations, bytes or time; without any other appends a sentence. */
void html_roofline(struct str *out, const struct html_point *point, int n, double bytes_per_ns,
                   double operations_per_ns);

struct html_trial {
	const char *text; /* shown under the pointer */
	double when, ns;  /* seconds, of which only the order counts; positive */
};
/* Sorts the trials by time, and appends a plot of their times by number, with the best so far as a line. */
void html_curve(struct str *out, struct html_trial *trial, int n);

#endif
