/* A graph as SVG: each box in the row of its depth, the length of the longest path to it. */
#include <stdlib.h>
#include <string.h>

#include "html/html.h"

enum { WIDTH = 140, HEIGHT = 26, GAP = 12, BETWEEN = 26, MOST_IN_ROW = 24, MOST_TEXT = 18 };
enum { FITS_WIDTH = 600, FITS_HEIGHT = 600 }; /* smaller pictures need no switch */
enum { PAPER_WIDTH = 700, PAPER_HEIGHT = 1000, MOST_PAPER = 6 };

struct place {
	int depth, row, column;
	double wish; /* the mean column of the boxes before */
	int before;  /* edges that arrive */
};

struct drawing {
	const struct html_graph *g;
	struct place *place;
	int *order; /* boxes by depth, then by wish */
	int *first; /* of each box's edges in `edge`; one more than there are boxes */
	struct html_edge *edge;
	int edges, rows, columns;
	struct arena *arena;
};

static int compare_edges(const void *a, const void *b)
{
	const struct html_edge *x = a, *y = b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* Sorts the edges, and leaves out repeated ones. */
static void index_edges(struct drawing *d)
{
	int n = d->g->boxes.n, all = d->g->edges.n;
	d->edge = NEWN(d->arena, struct html_edge, all + 1);
	if (all)
		memcpy(d->edge, d->g->edges.at, (size_t)all * sizeof *d->edge);
	qsort(d->edge, (size_t)all, sizeof *d->edge, compare_edges);
	for (int i = 0; i < all; i++)
		if (i == 0 || compare_edges(&d->edge[i], &d->edge[i - 1]) != 0)
			d->edge[d->edges++] = d->edge[i];
	d->first = NEWN(d->arena, int, n + 2);
	for (int i = 0; i < d->edges; i++) {
		d->first[d->edge[i].from + 1]++;
		d->place[d->edge[i].to].before++;
	}
	for (int i = 0; i < n; i++)
		d->first[i + 1] += d->first[i];
}

/* Sets depths, and `order` to a topological one. */
static void find_depths(struct drawing *d)
{
	int n = d->g->boxes.n, known = 0;
	int *left = NEWN(d->arena, int, n + 1);
	d->order = NEWN(d->arena, int, n + 1);
	for (int i = 0; i < n; i++) {
		left[i] = d->place[i].before;
		if (!left[i])
			d->order[known++] = i;
	}
	for (int k = 0; k < known; k++)
		for (int i = d->first[d->order[k]]; i < d->first[d->order[k] + 1]; i++) {
			int to = d->edge[i].to, depth = d->place[d->order[k]].depth + 1;
			if (depth > d->place[to].depth)
				d->place[to].depth = depth;
			if (--left[to] == 0)
				d->order[known++] = to;
		}
}

struct ranked {
	double wish;
	int box;
};

static int compare_wishes(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->wish != y->wish ? (x->wish > y->wish) - (x->wish < y->wish) : x->box - y->box;
}

/* Gives each box of one depth, `box[n]`, its row and column. */
static void place_row(struct drawing *d, struct ranked *box, int n)
{
	for (int i = 0; i < n; i++) {
		const struct place *p = &d->place[box[i].box];
		box[i].wish = p->before ? p->wish / p->before : 0;
	}
	qsort(box, (size_t)n, sizeof *box, compare_wishes);
	for (int i = 0; i < n; i++) {
		struct place *p = &d->place[box[i].box];
		p->row = d->rows + i / MOST_IN_ROW;
		p->column = i % MOST_IN_ROW;
		if (p->column >= d->columns)
			d->columns = p->column + 1;
		for (int k = d->first[box[i].box]; k < d->first[box[i].box + 1]; k++)
			d->place[d->edge[k].to].wish += p->column;
	}
	d->rows += (n + MOST_IN_ROW - 1) / MOST_IN_ROW;
}

static void place_all(struct drawing *d)
{
	int n = d->g->boxes.n, deepest = 0;
	for (int i = 0; i < n; i++)
		deepest = d->place[i].depth > deepest ? d->place[i].depth : deepest;
	int *start = NEWN(d->arena, int, deepest + 3);
	struct ranked *box = NEWN(d->arena, struct ranked, n + 1);
	for (int i = 0; i < n; i++)
		start[d->place[i].depth + 2]++;
	for (int k = 1; k <= deepest + 1; k++)
		start[k + 1] += start[k];
	for (int i = 0; i < n; i++)
		box[start[d->place[i].depth + 1]++].box = i;
	for (int k = 0; k <= deepest && n; k++)
		place_row(d, box + start[k], start[k + 1] - start[k]);
}

static int left_of(const struct place *p)
{
	return GAP + p->column * (WIDTH + GAP);
}

static int top_of(const struct place *p)
{
	return GAP + p->row * (HEIGHT + BETWEEN);
}

static void draw_edges(struct str *out, const struct drawing *d)
{
	str_add(out, "<path class=\"edge\" d=\"");
	for (int i = 0; i < d->edges; i++) {
		const struct place *a = &d->place[d->edge[i].from], *b = &d->place[d->edge[i].to];
		int x = left_of(a) + WIDTH / 2, y = top_of(a) + HEIGHT, to_x = left_of(b) + WIDTH / 2, to_y = top_of(b);
		int lane = left_of(b) + WIDTH + GAP / 2;
		if (b->row == a->row + 1 && a->column == b->column)
			str_printf(out, "M%d %dV%d", x, y, to_y);
		else if (b->row == a->row + 1)
			str_printf(out, "M%d %dC%d %d %d %d %d %d", x, y, x, y + BETWEEN, to_x, to_y - BETWEEN, to_x,
			           to_y);
		else /* down the gap beside the boxes of the rows between */
			str_printf(out, "M%d %dC%d %d %d %d %d %dV%dC%d %d %d %d %d %d", x, y, x, y + BETWEEN, lane, y,
			           lane, y + BETWEEN, to_y - BETWEEN, lane, to_y, to_x, to_y - BETWEEN, to_x, to_y);
	}
	str_add(out, "\"/>\n");
}

/* The text, cut to what fits into a box. */
static void put_short(struct str *out, const char *text)
{
	const char *c = text;
	int n = 0;
	if (str_width(text) <= MOST_TEXT) {
		html_text(out, text);
		return;
	}
	for (; *c && n < MOST_TEXT - 1; n++) {
		int bytes = str_character(c);
		c += bytes ? bytes : 1;
	}
	html_text(out, arena_strndup(out->arena, text, (size_t)(c - text)));
	str_add(out, "\xe2\x80\xa6"); /* an ellipsis */
}

static void draw_box(struct str *out, const struct html_box *b, const struct place *p)
{
	int x = left_of(p), y = top_of(p);
	if (b->target >= 0)
		str_printf(out, "<a href=\"#p%d\">", b->target);
	str_printf(out, "<g><title>");
	html_text(out, b->title);
	str_printf(out, "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"box", x, y, WIDTH,
	           HEIGHT, b->outside ? HEIGHT / 2 : 4);
	if (b->colour >= 0)
		str_printf(out, " r%d", b->colour % HTML_COLOURS);
	str_printf(out, "\"/><text x=\"%d\" y=\"%d\">", x + WIDTH / 2, y + 17);
	put_short(out, b->text);
	str_add(out, b->target >= 0 ? "</text></g></a>\n" : "</text></g>\n");
}

/* Buttons that need no script: classes of the page's style. The place in the page is a unique name. */
static void put_zoom(struct str *out)
{
	static const struct {
		const char *class, *text;
	} zoom[] = { { "full", "100 %" }, { "z50", "50 %" }, { "z25", "25 %" }, { "z10", "10 %" }, { "fit", "whole" } };
	const size_t place = out->n;
	for (size_t i = 0; i < sizeof zoom / sizeof *zoom; i++)
		str_printf(out,
		           "<input type=\"radio\" class=\"zoom %s\" name=\"zoom%zu\" id=\"%s%zu\"%s/><label "
		           "for=\"%s%zu\"> %s</label>\n",
		           zoom[i].class, place, zoom[i].class, place, i ? "" : " checked=\"checked\"", zoom[i].class,
		           place, zoom[i].text);
}

void html_picture(struct str *out, const char *name, const struct html_graph *g)
{
	struct drawing d = { .g = g, .arena = out->arena };
	int n = g->boxes.n;
	if (n > HTML_MOST_BOXES) {
		html_format(out, "The picture would have %d boxes, and is left out: more than %d are not readable.", n,
		            HTML_MOST_BOXES);
		return;
	}
	d.place = NEWN(d.arena, struct place, n + 1);
	index_edges(&d);
	find_depths(&d);
	place_all(&d);
	const int width = GAP + d.columns * (WIDTH + GAP), height = 2 * GAP + d.rows * (HEIGHT + BETWEEN) - BETWEEN;
	if (width > FITS_WIDTH || height > FITS_HEIGHT)
		put_zoom(out);
	const int pages =
	        (int)((int64_t)height * PAPER_WIDTH / (width > PAPER_WIDTH ? width : PAPER_WIDTH) / PAPER_HEIGHT);
	if (pages > MOST_PAPER)
		str_printf(out, "<p class=\"paper\">The picture would take %d pages: see it on a screen.</p>\n", pages);
	str_printf(out,
	           "<div class=\"scroll%s\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" "
	           "height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
	           pages > MOST_PAPER ? " screen" : "", width, height, width, height);
	html_text(out, name);
	str_add(out, "</title>\n");
	draw_edges(out, &d);
	for (int i = 0; i < n; i++)
		draw_box(out, &g->boxes.at[i], &d.place[i]);
	str_add(out, "</svg></div>\n");
}
