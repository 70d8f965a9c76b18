#ifndef WARDER_VERSION_H
#define WARDER_VERSION_H
#define WARDER_VERSION "0.1.0"
#endif
