/* Counts what this process must still finish or remove: temporary folders, folders of builds, files that are being
 * written. While there is none, the process may end at any time. Any thread may call these. */
#ifndef TPAT_BASE_UNFINISHED_H
#define TPAT_BASE_UNFINISHED_H

#include <stdbool.h>

void unfinished_begin(void);
void unfinished_end(void);
bool unfinished_any(void);

#endif
