/* A roofline plot as SVG. */
#include <math.h>

#include "html/html.h"

enum { PLOT_WIDTH = 640, PLOT_HEIGHT = 320, LEFT = 60, RIGHT = 16, TOP = 16, BOTTOM = 44 };

/* Decades of both axes: operations per byte, and operations per nanosecond. */
struct axes {
	double least_x, most_x, least_y, most_y;
};

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
		str_printf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">1e%.0f</text>\n",
		           LEFT, y, PLOT_WIDTH - RIGHT, LEFT - 18, y + 4, k);
	}
	str_printf(out, "<text x=\"%d\" y=\"%d\">operations per byte</text>\n", (LEFT + PLOT_WIDTH) / 2,
	           PLOT_HEIGHT - 10);
	str_printf(out, "<text transform=\"translate(14 %d) rotate(-90)\">operations per ns</text>\n",
	           (PLOT_HEIGHT - BOTTOM) / 2);
}

static void draw_point(struct str *out, const struct axes *a, const struct html_point *p)
{
	double x = x_of(a, p->operations / p->bytes), y = y_of(a, p->operations / p->ns);
	str_printf(out, "<a href=\"#p%d\"><g><title>", p->target);
	html_text(out, p->text);
	str_printf(out, "</title><circle class=\"box r%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/></g></a>\n",
	           p->colour % HTML_COLOURS, x, y);
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
	str_printf(out,
	           "<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" "
	           "height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>Roofline</title>\n",
	           PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
	draw_grid(out, &a);
	str_printf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", x_of(&a, least),
	           y_of(&a, least * bytes_per_ns), x_of(&a, ridge), y_of(&a, operations_per_ns), PLOT_WIDTH - RIGHT);
	for (int i = 0; i < n; i++)
		if (is_drawn(&point[i]))
			draw_point(out, &a, &point[i]);
	str_add(out, "</svg></div>\n");
}
