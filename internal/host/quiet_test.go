package host

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// Without --verbose the libraries around a plug-in write errors alone; a level that the user set stays.
func TestLibrariesAreQuiet(t *testing.T) {
	if args, helper := os.LookupEnv("HONE_TEST_LIBRARIES"); helper {
		h := &Host{Verbose: strings.Contains(args, "-v"), Quiet: strings.Contains(args, "-q"), LookupEnv: os.LookupEnv}
		if err := h.QuietLibraries(os.Setenv); err != nil {
			t.Fatal(err)
		}
		klog.Warning("a warning")
		klog.Error("an error")
		_, _ = io.WriteString(os.Stderr, "level="+os.Getenv("TF_CPP_MIN_LOG_LEVEL")+";\n")
		return
	}
	for _, c := range []struct {
		args, set, level string
		warns            bool
	}{
		{args: "", level: "2"},
		{args: "-v", level: "", warns: true},
		{args: "-v -q", level: "2"},
		{args: "", set: "0", level: "0"},
	} {
		command := exec.Command(os.Args[0], "-test.run=^TestLibrariesAreQuiet$")
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "TF_CPP_") {
				command.Env = append(command.Env, entry)
			}
		}
		command.Env = append(command.Env, "HONE_TEST_LIBRARIES="+c.args)
		if c.set != "" {
			command.Env = append(command.Env, "TF_CPP_MIN_LOG_LEVEL="+c.set)
		}
		out, err := command.CombinedOutput()
		said := string(out)
		if err != nil || strings.Contains(said, "a warning") != c.warns || !strings.Contains(said, "an error") ||
			!strings.Contains(said, "level="+c.level+";") {
			t.Errorf("%+v: %v, %s", c, err, said)
		}
	}
}
