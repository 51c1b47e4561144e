package stablehlo

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void hone_trim(void) { malloc_trim(0); }
#else
static void hone_trim(void) {}
#endif
*/
import "C"

// trim gives the memory that a compiler took and freed back to the system. XLA compiles on many threads, and glibc
// keeps what each of them freed for itself: without this, a run of ten programs held 1.2 GB of it (docs/log).
func trim() { C.hone_trim() }
