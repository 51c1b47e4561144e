package basemodel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/engine"
)

// ProgramCache is where compiled programs are kept: a folder of hone's downloads. It keeps none where the configuration has
// it so, where there is no folder, and where XLA is told to dump what it compiles, which it would not otherwise.
func ProgramCache(h *host.Host, e config.Engine) engine.Cache {
	flags := compilerEnvironment(h.Environ)
	if !h.KeepsPrograms || strings.Contains(flags, "xla_dump") {
		return engine.Cache{}
	}
	s, err := h.Store()
	if err != nil {
		return engine.Cache{}
	}
	return engine.Cache{Folder: filepath.Join(s.Dir, "programs"), Bytes: int64(e.ProgramCache * (1 << 30)), Environment: flags,
		Notice: func(text string) { h.Say("warning: %s", text) }}
}

// Compiling says what is compiled before the silence in which it is, of programs that take long. Each is compiled once for its lengths: where
// another length comes up in a later step, that step waits for it too.
func Compiling(h *host.Host) func(program string) {
	long := map[string]string{"rows": "training rows of one length", "tree": "training rows of one length, as trees", "prefix_backward": "what training rows begin with",
		"score": "the logprobs of rows of one length", "entropy": "the entropies of rows of one length", "logprobs": "the logprobs of rows of one length",
		"prefill": "prompts", "decode": "completions", "decode_chosen": "completions that are held to a form"}
	return func(program string) {
		if of, is := long[program]; is {
			h.Say("compiling the program for %s: once; on a CPU it may take a minute or two", of)
		}
	}
}

// compilerEnvironment is what XLA and the libraries it calls read of the environment, sorted. XLA_FLAGS may name a file of
// flags.
func compilerEnvironment(environ []string) string {
	var found []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		logs := strings.HasPrefix(name, "TF_CPP_")
		if logs || !strings.HasPrefix(name, "XLA_") && !strings.HasPrefix(name, "TF_") && name != "NVIDIA_TF32_OVERRIDE" {
			continue
		}
		if name == "XLA_FLAGS" && !strings.HasPrefix(value, "-") {
			text, _ := os.ReadFile(value) // the compiler says what is wrong with it
			entry += "\n" + string(text)
		}
		found = append(found, entry)
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

// SayPrograms says how many programs were compiled and how many needed not be. Of several devices, each counts its own.
func SayPrograms(h *host.Host, e *engine.Engine) {
	if e.NumDevices() == 1 && e.NumCompiled+e.NumLoaded > 0 && !e.PureGo() {
		h.Say("programs: %d compiled, %d that were kept from earlier", e.NumCompiled, e.NumLoaded)
	}
}
