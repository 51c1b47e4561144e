package basemodel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/host"
)

// ProgramCache is where compiled programs are kept: a folder of hone's downloads. It keeps none where the configuration
// has it so, where there is no folder, and where XLA is told to dump what it compiles, which it would not otherwise.
func ProgramCache(h *host.Host, e config.Engine) engine.Cache {
	flags := compilerEnvironment(h.Environ)
	if !h.KeepsPrograms || strings.Contains(flags, "xla_dump") {
		return engine.Cache{}
	}
	s, err := h.Store()
	if err != nil {
		return engine.Cache{}
	}
	return engine.Cache{Folder: filepath.Join(s.Dir, "programs"), Bytes: int64(e.ProgramCache * (1 << 30)),
		Environment: flags, Notice: func(text string) { h.Say("warning: %s", text) }}
}

// RowPrograms counts the programs of training rows that are compiled.
type RowPrograms struct {
	mu       sync.Mutex
	compiled int
	most     int // that there will be; 0: not known
}

// Expect says how many there will be at most.
func (r *RowPrograms) Expect(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = most
}

// next is which the program is that is compiled now: "program 3 of at most 6".
func (r *RowPrograms) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compiled++
	if r.most < r.compiled { // a later pass has another mix of rows
		return fmt.Sprintf("program %d", r.compiled)
	}
	return fmt.Sprintf("program %d of at most %d", r.compiled, r.most)
}

// Compiling says what is compiled before the silence in which it is, of programs that take long, and that it still is.
// How long a CPU takes is said once. Each is compiled once for its lengths: where another length comes up in a later
// step, that step waits for it too.
func Compiling(h *host.Host, gpu bool, rows *RowPrograms) func(program string, tokens int) func() {
	long := map[string]string{
		"rows": "training rows", "tree": "training rows", "prefix_backward": "what training rows begin with",
		"score": "the logprobs of rows", "entropy": "the entropies of rows", "logprobs": "the logprobs of rows",
		"prefill": "prompts", "decode": "completions", "decode_chosen": "completions that are held to a form",
	}
	var first sync.Once
	return func(program string, tokens int) func() {
		of, is := long[program]
		if !is {
			return func() {}
		}
		if strings.HasSuffix(of, "rows") {
			of += fmt.Sprintf(" of up to %d tokens", tokens)
		}
		which, each := "the program", ""
		if program == "rows" {
			which = rows.next()
		}
		if !gpu {
			first.Do(func() { each = "; each takes seconds to minutes, by the model and how busy the cores are" })
		}
		h.Say("compiling %s for %s%s", which, of, each)
		return h.Working("compiling the program for " + of)
	}
}

// compilerEnvironment is what XLA and the libraries it calls read of the environment, sorted. XLA_FLAGS may name a file
// of flags.
func compilerEnvironment(environ []string) string {
	var found []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		logs := strings.HasPrefix(name, "TF_CPP_")
		if logs || !strings.HasPrefix(name, "XLA_") && !strings.HasPrefix(name, "TF_") &&
			name != "NVIDIA_TF32_OVERRIDE" {
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
