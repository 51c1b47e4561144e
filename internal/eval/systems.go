package eval

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/modelfile"
)

// SystemsOf are the systems of hone eval: those that compare names, in order, then model, which is held against them.
// Without any it is the base model. Each is base, an adapter's folder, PROVIDER/MODEL, or the base URL of an endpoint
// followed by /MODEL.
func SystemsOf(c config.Config, model string, compare []string) ([]job.System, error) {
	var all []job.System
	var short [][]string // names of each, the shortest first
	add := func(flag, given string) error {
		s, names, err := parseSystem(c, flag, given)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, s.Is) {
			return &fault.Error{Code: fault.CodeUsage, What: "a system is named twice", Where: flag + " " + given,
				Next: "name each once"}
		}
		if flag == "--model" && given != job.BaseName {
			names = []string{job.ModelName}
		}
		all, short = append(all, s), append(short, names)
		return nil
	}
	for _, given := range compare {
		if err := add("--compare", given); err != nil {
			return nil, err
		}
	}
	if model != "" {
		if err := add("--model", model); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		all, short = []job.System{{}}, [][]string{{job.BaseName}}
	}
	for i, name := range distinct(short) {
		all[i].Name = name
	}
	return all, nil
}

func parseSystem(c config.Config, flag, given string) (s job.System, names []string, err error) {
	bad := func(what, why, next string) (job.System, []string, error) {
		return job.System{}, nil, &fault.Error{Code: fault.CodeUsage, What: what, Where: flag + " " + given,
			Why: why, Next: next}
	}
	if given == job.BaseName {
		return job.System{}, []string{job.BaseName}, nil
	}
	providers := c.AllProviders()
	if u, err := url.Parse(given); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		at, model, found := strings.Cut(given, "/v1/")
		if !found || model == "" {
			return bad("no model of the endpoint is named", "",
				"write its base URL and the model, as http://127.0.0.1:8000/v1/MODEL")
		}
		return job.System{Endpoint: &job.Remote{URL: at + "/v1", Model: model, Episodes: config.EpisodesAtOnce}},
			endings(append([]string{u.Host}, strings.Split(model, "/")...)), nil
	}
	at := basemodel.AdapterAt(given)
	_, notAdapter := os.Stat(filepath.Join(at, modelfile.ConfigFile))
	name, model, _ := strings.Cut(given, "/")
	p, known := providers[name]
	switch {
	case known && model != "" && notAdapter == nil:
		return bad("it is the name of a model and of a folder",
			"there is a provider "+name+", and an adapter in that folder", "write ./"+given+" for the folder")
	case known && model != "":
		r := &job.Remote{URL: p.URL, Model: model, KeyEnv: p.KeyEnv, API: p.API, Episodes: p.Episodes}
		if price, ok := p.Prices[model]; ok {
			r.Price = &price
		}
		return job.System{Endpoint: r}, endings(strings.Split(given, "/")), nil
	case notAdapter != nil && isBaseModel(given):
		return bad("a base model is no system of its own", "an evaluation has one base model, and adapters on it",
			"hone eval --base-model "+given+" --model base")
	case notAdapter != nil:
		return bad(
			"there is no such system", "it is neither base, nor an adapter's folder, nor a model of a provider: "+
				strings.Join(slices.Sorted(maps.Keys(providers)), ", "),
			"name a folder with "+modelfile.ConfigFile+", PROVIDER/MODEL, or http://HOST/v1/MODEL",
		)
	}
	folder, err := filepath.Abs(at)
	return job.System{Adapter: at}, endings(telling(folder)), err
}

// isBaseModel says whether a name is that of a model that hone engine install knows.
func isBaseModel(name string) bool {
	return slices.ContainsFunc(host.ModelAssets(), func(a host.Asset) bool { return a.Name == name })
}

// telling are the parts of an adapter's path that tell it from another.
func telling(folder string) []string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(folder), "/"), "/")
	kept := slices.DeleteFunc(slices.Clone(parts), func(p string) bool {
		return p == "final" || p == "adapter" || p == "checkpoints"
	})
	if len(kept) == 0 {
		return parts
	}
	return kept
}

// endings are the last part, the last two parts, and so on, joined, as names of stages can be.
func endings(parts []string) (names []string) {
	for i := range parts {
		name := strings.Map(func(r rune) rune {
			if r < 128 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("._-", r)) {
				return r
			}
			return '-'
		}, strings.Join(parts[len(parts)-1-i:], "-"))
		names = append(names, name)
	}
	return names
}

// distinct chooses a name for each system: the shortest that no other has.
func distinct(short [][]string) []string {
	level, names := make([]int, len(short)), make([]string, len(short))
	for moved := true; moved; {
		moved = false
		count := map[string]int{}
		for i := range short {
			names[i] = short[i][level[i]]
			count[names[i]]++
		}
		for i := range short {
			if count[names[i]] > 1 && level[i]+1 < len(short[i]) {
				level[i]++
				moved = true
			}
		}
	}
	for i := range names { // alike but for signs that a name cannot have
		for n, name := 2, names[i]; slices.Contains(names[:i], names[i]); n++ {
			names[i] = fmt.Sprintf("%s-%d", name, n)
		}
	}
	return names
}

// settle is the configuration of an evaluation: the base model of its systems, and lengths for what it runs on. An
// adapter is calibrated at temperature 0, whatever the model's card says: so its calls are proposed.
func (a Asked) settle(h *host.Host, c config.Config, systems []job.System) (config.Config, error) {
	var err error
	if c.Model.Base, err = baseOf(c, systems, a.Base); err != nil {
		return c, err
	}
	if a.Calibrate != 0 {
		c.SettleTemperature(0)
	}
	if slices.ContainsFunc(systems, job.System.IsLocal) {
		given := c
		c, err = basemodel.SettleLengths(h, c)
		for _, choice := range c.TemperatureChoice(given) {
			h.Say("%s", choice)
		}
		return c, err
	}
	return c, c.SettleLengths(true, true, 0) // an endpoint may think, whatever this machine is
}

// baseOf is the base model of all systems on this machine. given is the one that the user names, "" for none.
func baseOf(c config.Config, systems []job.System, given string) (base string, err error) {
	first := ""
	for _, s := range systems {
		if s.Adapter == "" {
			continue
		}
		of, err := basemodel.BaseOf(s.Adapter, given, c)
		if err != nil {
			return "", err
		}
		if first != "" && of != base {
			return "", &fault.Error{Code: fault.CodeUsage, What: "the adapters are over different base models",
				Where: first + " and " + s.Adapter, Why: base + " and " + of,
				Next: "name the base with --base-model where it is one in two places; else serve one of them, " +
					"and compare with its URL"}
		}
		first, base = s.Adapter, of
	}
	if first == "" {
		return basemodel.BaseOf("", given, c)
	}
	return base, nil
}
