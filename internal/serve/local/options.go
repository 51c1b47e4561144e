package local

import (
	"net"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/modelfile"
)

// Listen listens at an address, before a model takes its time to load, and refuses what others can reach without a key.
func Listen(address string, keys []string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot listen", Where: address,
			Next: "name another address with --listen", Err: err}
	}
	if at, ok := listener.Addr().(*net.TCPAddr); keys == nil && (!ok || !at.IP.IsLoopback()) {
		_ = listener.Close() // nobody has come
		return nil, &fault.Error{Code: fault.CodeUsage, What: "will not serve without a key",
			Where: "--listen " + address, Why: "the address can be reached from other machines",
			Next: "name the variable that holds a key with --key-env, or listen on 127.0.0.1"}
	}
	return listener, nil
}

// check validates the flags and reads the keys.
func (o *Options) check(h *host.Host) ([]string, error) {
	wrong := ""
	switch {
	case len(o.Models) == 0:
		wrong = "--model is missing: give an adapter folder, or base"
	case o.Slots < 1:
		wrong = "--slots must be at least 1"
	case o.Context < 0:
		wrong = "--context must not be negative"
	case o.MaxAdapters < 0 || o.MaxRank < 0:
		wrong = "--max-adapters and --max-rank must not be negative"
	case o.MaxRank > 0 && o.MaxAdapters == 0:
		wrong = "--max-rank is of adapters loaded at run time: give --max-adapters too"
	}
	if wrong != "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone serve --help"}
	}
	if err := o.read(); err != nil {
		return nil, err
	}
	return Keys(h, o.KeyEnvs)
}

// Keys are what the variables of a server's clients' keys hold.
func Keys(h *host.Host, variables []string) (keys []string, err error) {
	for _, name := range variables {
		if name == "" {
			return nil, &fault.Error{
				Code:  fault.CodeUsage,
				What:  "no variable is named",
				Where: "--key-env",
				Why:   "it is empty, as a shell's variable is that is not set",
				Next:  "name the variable itself: --key-env MY_KEY",
			}
		}
		key, err := h.KeyIn(name, "clients to send", "--key-env "+name, "leave out --key-env")
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// read reads the folders of --model.
func (o *Options) read() error {
	names := map[string]bool{}
	for _, given := range o.Models {
		if given == Base {
			continue
		}
		dir, name := given, filepath.ToSlash(filepath.Clean(given))
		if before, after, named := strings.Cut(given, "="); named && before != "" &&
			!strings.ContainsAny(before, `/\`) {
			name, dir = before, after
		}
		switch {
		case isBase(dir):
			return &fault.Error{Code: fault.CodeUsage,
				What: "this is a base model, where an adapter's folder is asked for", Where: "--model " + given,
				Next: "hone serve --model " + Base + " --base-model " + dir}
		case names[name] || name == o.Base:
			return &fault.Error{Code: fault.CodeUsage, What: "two models have one name", Where: "--model " + given,
				Why: name, Next: "name it: --model NAME=" + dir}
		}
		names[name] = true
		o.adapters = append(o.adapters, adapterFolder{name, dir})
	}
	if o.MaxAdapters > 0 && len(o.adapters) > o.MaxAdapters {
		return &fault.Error{Code: fault.CodeUsage, What: "more adapters are given than --max-adapters",
			Next: "raise --max-adapters"}
	}
	return nil
}

// isBase reports whether --model is a whole model: a file, or a folder with a model's configuration and no adapter's.
func isBase(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	_, adapterErr := os.Stat(filepath.Join(dir, modelfile.ConfigFile))
	_, modelErr := os.Stat(filepath.Join(dir, "config.json"))
	return !info.IsDir() || adapterErr != nil && modelErr == nil
}
