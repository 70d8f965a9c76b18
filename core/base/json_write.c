#include "core/base/err.h"

int json_write_todo(void);
int json_write_todo(void) { return 0; }
