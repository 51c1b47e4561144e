package host

import (
	"io"

	"k8s.io/klog/v2"
)

// QuietLibraries keeps the logs of XLA, of its plug-in and of go-xla off stderr, but for errors: without --verbose
// nobody asked how their memory is allocated. It is done before a plug-in is loaded, which reads the variable that
// setenv sets then. Who set it meant it.
func (h *Host) QuietLibraries(setenv func(name, value string) error) error {
	const level = "TF_CPP_MIN_LOG_LEVEL"
	if setenv == nil || h.Verbose && !h.Quiet {
		return nil
	}
	klog.LogToStderr(false) // errors still go there
	klog.SetOutput(io.Discard)
	if _, set := h.LookupEnv(level); set {
		return nil
	}
	return setenv(level, "2") // errors, and what ends the process
}
