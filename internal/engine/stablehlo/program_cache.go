package stablehlo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"

	"hone/internal/blob"
)

// program is a compiled program.
type program struct {
	*pjrt.LoadedExecutable
	memory Memory // by the compiler that compiled it: one that is loaded again need not know
	kept   bool   // it was loaded, and nothing was compiled
}

// FromCache reports whether the program was loaded from where compiled programs are kept.
func (e *Executable) FromCache() bool { return e.program.kept }

// kept is where programs are kept, and what all of a client's keys begin with.
type kept struct {
	store *Programs
	base  func() (string, error)
}

// Keep has programs kept in a store from now on, and taken from there. environment is what of the process's environment
// the compiler reads. It is called before anything is compiled.
func (b *Backend) Keep(store *Programs, environment string) {
	libraries, err := libraryVersions("/proc/self/maps") // now, since compiling loads more of them
	b.kept = &kept{store: store, base: sync.OnceValues(func() (string, error) {
		if err != nil {
			return "", err
		}
		return b.identity(libraries, environment)
	})}
}

// Announce is told the name of each program before it is compiled, and how many tokens a row of its ids has, 0 where it
// is given none. What it returns is called when the program is compiled, or failed to be.
type Announce = func(program string, tokens int) (compiled func())

// Announce has announce told of each program that is compiled; programs that are loaded again are none. It is called
// before anything is compiled.
func (b *Backend) Announce(announce Announce) { b.announce = announce }

// widest is how many tokens a row of ids has among a program's inputs: the last matrix of whole numbers, for what
// stands before it is what rows begin with.
func widest(in []shapes.Shape) int {
	for _, s := range slices.Backward(in) {
		if s.DType == dtypes.Int32 && s.Rank() == 2 {
			return s.Dimensions[1]
		}
	}
	return 0
}

// load makes a program of a text for the backend's devices: for any one, or for a replica on each of several.
func (b *Backend) load(text string, tokens int) (program, error) {
	key, keep := b.key(text)
	if keep {
		if p, ok := b.reload(key, text); ok {
			return p, nil
		}
	}
	if b.announce != nil {
		_, name, _ := strings.Cut(text, "module @")
		defer b.announce(name[:strings.IndexAny(name+" ", " \n")], tokens)()
	}
	c := b.plugin.newTranslation(text, settingsOf(text), nil, keep)
	defer c.release()
	p, err := b.translate(c)
	if err == nil && keep {
		b.keep(key, p, c)
	}
	return p, err
}

// key is what a program is kept under; false where none are.
func (b *Backend) key(text string) (string, bool) {
	if b.kept == nil {
		return "", false
	}
	base, err := b.kept.base()
	if err != nil {
		b.kept.store.Unkept(err.Error())
	}
	return ProgramKey(base, fmt.Sprint(b.replicaDevices()), text), err == nil
}

// keep stores what was compiled.
func (b *Backend) keep(key string, p program, c *translation) {
	code, err := c.bytes()
	if err == nil {
		var about []byte
		if about, err = json.Marshal(p.memory); err == nil {
			b.kept.store.Put(key, Program{Code: code, About: about})
			return
		}
	}
	b.kept.store.Unkept(err.Error())
}

// CanKeep is an error where the plug-in cannot serialise a program, or not load it again.
func (b *Backend) CanKeep() error {
	const text = "module @keep {\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {\nreturn %x : tensor<f32>\n}\n}\n"
	if _, err := b.identity("", ""); err != nil {
		return err
	}
	one := b.On(0)
	c := b.plugin.newTranslation(text, "", nil, true)
	defer c.release()
	p, err := one.translate(c)
	if err != nil {
		return err
	}
	defer p.Destroy()
	code, err := c.bytes()
	if err != nil {
		return err
	}
	again := b.plugin.newTranslation(text, "", code, false)
	defer again.release()
	loaded, err := one.translate(again)
	if err != nil {
		return err
	}
	return loaded.Destroy()
}

// reload makes a program of what was kept; false where there is nothing, or nothing that the plug-in takes.
func (b *Backend) reload(key, text string) (program, bool) {
	stored, ok := b.kept.store.Get(key)
	if !ok {
		return program{}, false
	}
	c := b.plugin.newTranslation(text, "", stored.Code, false)
	defer c.release()
	var memory Memory
	err := json.Unmarshal(stored.About, &memory)
	var p program
	if err == nil {
		p, err = b.translate(c)
	}
	if OutOfMemory(err) {
		return program{}, false
	}
	if err != nil {
		b.kept.store.Remove(key)
		b.kept.store.Unkept("it does not load what it serialised: " + err.Error())
		return program{}, false
	}
	p.memory, p.kept = memory, true
	return p, true
}

// replicaDevices are the devices that a program is compiled for; none where it runs on any.
func (b *Backend) replicaDevices() []int {
	if len(b.devices) == 1 {
		return nil
	}
	return b.devices
}

// translate has go-xla compile or load.
func (b *Backend) translate(c *translation) (program, error) {
	config := b.client.Compile().WithStableHLO(c.text())
	if devices := b.replicaDevices(); devices != nil {
		config = config.WithSPMD(len(devices)).WithDeviceAssignment(devices)
	}
	defer guardSignals()()
	loaded, err := config.Done()
	if err != nil {
		return program{}, err
	}
	return program{LoadedExecutable: loaded, memory: memoryOf(loaded.OnDeviceMemoryUsageStats)}, nil
}

// identity is all that a compiled program hangs on beside its text: the plug-in, wherever it is, and the libraries it
// calls, the devices and their client, the processor, and what the compiler reads of the environment.
func (b *Backend) identity(libraries, environment string) (string, error) {
	plugin, err := b.plugin.hash()
	if err != nil {
		return "", err
	}
	major, minor := b.plugin.Version()
	kinds, err := b.plugin.kinds(b.client)
	if err != nil {
		return "", err
	}
	processor, err := readProcessor("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	return ProgramKey(plugin, fmt.Sprint(major, ".", minor), b.client.Platform(),
		b.client.PlatformVersion(), libraries, strings.Join(kinds, "\n"), b.options, processor, environment), nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, _, err := blob.SumFrom(f)
	return string(sum[:]), err
}

// readProcessor returns what /proc/cpuinfo says of the first processor that decides which instructions a compiler
// writes, and how many processors there are, over which it spreads work.
func readProcessor(cpuinfo string) (string, error) {
	text, err := os.ReadFile(cpuinfo)
	if err != nil {
		return "", err
	}
	lines := []string{fmt.Sprint(runtime.GOARCH, " ", runtime.NumCPU())}
	first, _, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(first) {
		name, _, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer",
			"CPU variant", "CPU part", "CPU revision":
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 1 {
		return "", fmt.Errorf("%s does not say which processor this is", cpuinfo)
	}
	return strings.Join(lines, "\n"), nil
}

// libraryVersions names the libraries of NVIDIA that the process has loaded: kernels come from some of them. They are
// large, so size and time stand for their contents.
func libraryVersions(maps string) (string, error) {
	f, err := os.Open(maps)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var found []string
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		_, path, ok := strings.Cut(scan.Text(), "/")
		name := filepath.Base(path)
		if !ok || !strings.HasPrefix(name, "libcu") && !strings.HasPrefix(name, "libnv") {
			continue
		}
		if info, err := os.Stat("/" + path); err == nil {
			found = append(found, fmt.Sprint(name, " ", info.Size(), " ", info.ModTime().UnixNano()))
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "\n"), scan.Err()
}
