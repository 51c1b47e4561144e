package main

import (
	"io"

	"k8s.io/klog/v2"
)

// quietLibraries keeps the logs of XLA, of its plug-in and of go-xla off stderr, but for errors: without --verbose nobody asked how
// their memory is allocated. It is done before a plug-in is loaded, which reads the variable then. Who set it meant it.
func (a *app) quietLibraries() error {
	const level = "TF_CPP_MIN_LOG_LEVEL"
	if a.setenv == nil || a.Verbose && !a.Quiet {
		return nil
	}
	klog.LogToStderr(false) // errors still go there
	klog.SetOutput(io.Discard)
	if _, set := a.LookupEnv(level); set {
		return nil
	}
	return a.setenv(level, "2") // errors, and what ends the process
}
