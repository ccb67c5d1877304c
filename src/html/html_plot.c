/* Plots as SVG: a roofline, and the course of a search. */
#include <math.h>
#include <stdlib.h>

#include "html/html.h"

enum { PLOT_WIDTH = 640, PLOT_HEIGHT = 320, LEFT = 60, RIGHT = 16, TOP = 16, BOTTOM = 44 };
enum { MOST_NUMBERED = 12 }; /* points with numbers next to them: more would overlap */

/* Decades of both axes: operations per byte, and operations per nanosecond. */
struct axes {
	double least_x, most_x, least_y, most_y;
};

static void begin_plot(struct str *out, const char *name)
{
	str_printf(out,
	           "<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" "
	           "height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>%s</title>\n",
	           PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT, name);
}

static bool is_drawn(const struct html_point *p)
{
	return p->operations > 0 && p->bytes > 0 && p->ns > 0;
}

static double x_of(const struct axes *a, double intensity)
{
	return LEFT + (log10(intensity) - a->least_x) / (a->most_x - a->least_x) * (PLOT_WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *a, double rate)
{
	return PLOT_HEIGHT - BOTTOM -
	       (log10(rate) - a->least_y) / (a->most_y - a->least_y) * (PLOT_HEIGHT - TOP - BOTTOM);
}

static struct axes axes_of(const struct html_point *point, int n, double ridge, double top)
{
	struct axes a = { floor(log10(ridge)) - 2, ceil(log10(ridge)) + 1, floor(log10(top)) - 3, ceil(log10(top)) };
	for (int i = 0; i < n; i++) {
		if (!is_drawn(&point[i]))
			continue;
		a.least_x = fmin(a.least_x, floor(log10(point[i].operations / point[i].bytes)));
		a.most_x = fmax(a.most_x, ceil(log10(point[i].operations / point[i].bytes)));
		a.least_y = fmin(a.least_y, floor(log10(point[i].operations / point[i].ns)));
		a.most_y = fmax(a.most_y, ceil(log10(point[i].operations / point[i].ns)));
	}
	return a;
}

static void draw_grid(struct str *out, const struct axes *a)
{
	for (double k = a->least_x; k <= a->most_x; k++) {
		double x = x_of(a, pow(10, k));
		str_printf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">1e%.0f</text>\n", x,
		           TOP, PLOT_HEIGHT - BOTTOM, x, PLOT_HEIGHT - BOTTOM + 14, k);
	}
	for (double k = a->least_y; k <= a->most_y; k++) {
		double y = y_of(a, pow(10, k));
		str_printf(out,
		           "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text style=\"text-anchor:end\" x=\"%d\" "
		           "y=\"%.1f\">1e%.0f</text>\n",
		           LEFT, y, PLOT_WIDTH - RIGHT, LEFT - 6, y + 2, k);
	}
	str_printf(out, "<text x=\"%d\" y=\"%d\">operations per byte</text>\n", (LEFT + PLOT_WIDTH) / 2,
	           PLOT_HEIGHT - 10);
	str_printf(out, "<text transform=\"translate(14 %d) rotate(-90)\">operations per ns</text>\n",
	           (PLOT_HEIGHT - BOTTOM) / 2);
}

static void draw_point(struct str *out, const struct axes *a, const struct html_point *p, bool numbered)
{
	double x = x_of(a, p->operations / p->bytes), y = y_of(a, p->operations / p->ns);
	str_printf(out, "<a href=\"#p%d\"><g><title>", p->target);
	html_text(out, p->text);
	str_printf(out, "</title><circle class=\"box r%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>", p->colour % HTML_COLOURS,
	           x, y);
	if (numbered)
		str_printf(out, "<text x=\"%.1f\" y=\"%.1f\">%d</text>", x, y - 10, p->target + 1);
	str_add(out, "</g></a>\n");
}

void html_roofline(struct str *out, const struct html_point *point, int n, double bytes_per_ns,
                   double operations_per_ns)
{
	int drawn = 0;
	for (int i = 0; i < n; i++)
		drawn += is_drawn(&point[i]);
	if (!drawn || !(bytes_per_ns > 0) || !(operations_per_ns > 0)) {
		str_add(out, "<p>No plugin has both arithmetic and known extents, so there is nothing to plot.</p>\n");
		return;
	}
	double ridge = operations_per_ns / bytes_per_ns;
	struct axes a = axes_of(point, n, ridge, operations_per_ns);
	double least = fmax(pow(10, a.least_x), pow(10, a.least_y) / bytes_per_ns); /* where the slope enters the plot
	                                                                             */
	begin_plot(out, "Roofline");
	draw_grid(out, &a);
	str_printf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", x_of(&a, least),
	           y_of(&a, least * bytes_per_ns), x_of(&a, ridge), y_of(&a, operations_per_ns), PLOT_WIDTH - RIGHT);
	for (int i = 0; i < n; i++)
		if (is_drawn(&point[i]))
			draw_point(out, &a, &point[i], drawn <= MOST_NUMBERED);
	str_add(out, "</svg></div>\n");
	if (drawn < n)
		str_printf(out, "<p>%d plugin%s without multiply-adds, or with unknown extents, %s not shown.</p>\n",
		           n - drawn, n - drawn == 1 ? "" : "s", n - drawn == 1 ? "is" : "are");
}

/* ---- The course of a search. */

enum { MOST_TRIALS = 600 }; /* drawn as points */

static int compare_trials(const void *a, const void *b)
{
	const struct html_trial *x = a, *y = b;
	if (x->when != y->when)
		return (x->when > y->when) - (x->when < y->when);
	return (x->ns < y->ns) - (x->ns > y->ns); /* the order within a second is unknown: slow ones first */
}

/* Labels of the logarithmic time axis: 1, 2 and 5 in each decade. */
static void draw_times(struct str *out, const struct axes *a)
{
	static const double step[] = { 1, 2, 5 };
	for (double k = floor(a->least_y); k <= a->most_y; k++)
		for (int i = 0; i < 3; i++) {
			double ns = step[i] * pow(10, k);
			if (log10(ns) < a->least_y || log10(ns) > a->most_y)
				continue;
			str_printf(out,
			           "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">%.4g</text>\n",
			           LEFT, y_of(a, ns), PLOT_WIDTH - RIGHT, LEFT - 22, y_of(a, ns) + 4, ns / 1e3);
		}
}

static double x_of_trial(int i, int n)
{
	return LEFT + 8 + (n > 1 ? (double)i / (n - 1) : 0) * (PLOT_WIDTH - LEFT - RIGHT - 16);
}

void html_curve(struct str *out, struct html_trial *trial, int n)
{
	double least = INFINITY, most = 0, best = INFINITY;
	qsort(trial, (size_t)n, sizeof *trial, compare_trials);
	for (int i = 0; i < n; i++) {
		least = fmin(least, trial[i].ns);
		most = fmax(most, trial[i].ns);
	}
	if (!(least > 0) || !isfinite(most))
		return;
	struct axes a = { .least_y = log10(least) - 0.1, .most_y = fmax(log10(most), log10(least) + 0.3) + 0.05 };
	begin_plot(out, "Tuning");
	draw_times(out, &a);
	str_printf(out, "<text x=\"%d\" y=\"%d\">trials, 1 to %d</text>\n", (LEFT + PLOT_WIDTH) / 2, PLOT_HEIGHT - 10,
	           n);
	str_printf(out, "<text transform=\"translate(14 %d) rotate(-90)\">microseconds</text>\n",
	           (PLOT_HEIGHT - BOTTOM) / 2);
	for (int i = 0; i < n; i += 1 + n / MOST_TRIALS) {
		str_add(out, "<g><title>");
		html_format(out, "%d: %.4g us, %s", i + 1, trial[i].ns / 1e3, trial[i].text);
		str_printf(out, "</title><circle class=\"box\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/></g>\n",
		           x_of_trial(i, n), y_of(&a, trial[i].ns));
	}
	str_add(out, "<path class=\"roof\" d=\"");
	for (int i = 0; i < n; i++)
		if (trial[i].ns < best) {
			str_printf(out, i ? "H%.1fV%.1f" : "M%.1f %.1f", x_of_trial(i, n), y_of(&a, trial[i].ns));
			best = trial[i].ns;
		}
	str_printf(out, "H%.1f\"/>\n</svg></div>\n<p>", x_of_trial(n - 1, n) + 8);
	html_format(out, "The first trial took %.4g us, the best %.4g us", trial[0].ns / 1e3, best / 1e3);
	str_add(out, ".</p>\n");
}
