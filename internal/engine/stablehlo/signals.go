package stablehlo

/*
#include <signal.h>

// hone_of_go is how Go's runtime has a signal handled: all of them alike, on a stack of their own.
static struct sigaction hone_of_go;

static void hone_know_signals(void) {
	struct sigaction urgent; // by which the runtime interrupts goroutines
	if (sigaction(SIGURG, NULL, &urgent) == 0 && (urgent.sa_flags & SA_ONSTACK)) hone_of_go = urgent;
}

static int hone_ends(int number) {
	return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

static void hone_mend_signals(void) {
	if (!(hone_of_go.sa_flags & SA_ONSTACK)) return;
	for (int number = 1; number < 32; number++) {
		struct sigaction now;
		if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) continue;
		int of_go = now.sa_sigaction == hone_of_go.sa_sigaction;
		if (of_go ? !(now.sa_flags & SA_ONSTACK) : hone_ends(number)) sigaction(number, &hone_of_go, NULL);
	}
}
*/
import "C"

import (
	"sync"
	"time"
)

// guardPeriod is how often signals are looked at while a plug-in works: seldom enough to cost nothing.
const guardPeriod = time.Millisecond

// guardSignals keeps the handlers of signals as Go needs them while a plug-in works, until it is told to stop. NVRTC,
// which compiles for cuDNN, sets handlers of its own of SIGINT and SIGTERM for 150 ms, and puts the old ones back with
// signal(2): without SA_ONSTACK. A handler of Go's then runs on the stack of the goroutine that it interrupts, where
// the runtime ends the process ("non-Go code set up signal handler without SA_ONSTACK flag", docs/log). Other handlers
// that are not Go's stay, but for those of signals that ask the process to end.
func guardSignals() (stop func()) {
	var working sync.WaitGroup
	over := make(chan struct{})
	working.Go(func() {
		tick := time.NewTicker(guardPeriod)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				C.hone_mend_signals()
			}
		}
	})
	return func() {
		close(over)
		working.Wait()
		C.hone_mend_signals()
	}
}

// knowSignals remembers how Go handles signals, before a plug-in is loaded that may change it.
var knowSignals = sync.OnceFunc(func() { C.hone_know_signals() })
