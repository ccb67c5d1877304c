/* The monotonic clock. */
#ifndef TPAT_BASE_CLOCK_H
#define TPAT_BASE_CLOCK_H

/* Seconds since some point in the past; never goes back. */
double clock_seconds(void);

#endif
