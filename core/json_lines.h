/*
 * json_lines: files of JSON lines as the contract has them: blank lines and lines that start with `#` are skipped,
 * every other line is one object.  It never keeps a file.
 */
#ifndef WARDER_JSON_LINES_H
#define WARDER_JSON_LINES_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/base/json.h"

/* Calls `each` for every object (owned by the walk; `each` may steal it by setting *object to NULL).  A negative return
 * ends the walk and is returned, with "NAME:LINE: " put before err's text; a line that is no JSON object is E_USAGE. */
int json_lines_each(const char *name, const char *text, size_t len,
		    int (*each)(int line, json_node **object, void *arg, struct err *err), void *arg,
		    struct err *err) WARN_UNUSED;

#endif
