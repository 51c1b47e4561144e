package eval

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/mcp"
	"hone/internal/text/render"
)

// episodeForm is raised when hone runs an episode of the same settings otherwise than before: the loop, what the model
// is shown, how it is sampled or read. A kept episode of another form is not reused.
const episodeForm = 1

// circumstances are all that an episode of a system depends on, beside its scenario and repeat. Their JSON is hashed.
type circumstances struct {
	Form     int
	Hone     string        // the version: a release may mend what an episode says
	Settings config.Config // those of its keys that matter to an episode
	Servers  string        // how they are started, and with what
	Tools    string        // the catalog's hash
	Versions []string      // of the servers, as they say themselves
	Speaker  speaker
}

// speaker is who speaks in an episode: a model on this machine, or one of an endpoint.
type speaker struct {
	Base      string      `json:",omitempty"` // fingerprint of the base model's files
	Adapter   string      `json:",omitempty"` // checksum
	Prompting string      `json:",omitempty"` // how conversations become its prompts
	LoRA      *model.LoRA `json:",omitempty"` // the shape that the sampler's programs are made for
	Device    string      `json:",omitempty"`
	DType     string      `json:",omitempty"`
	URL       string      `json:",omitempty"`
	Model     string      `json:",omitempty"`
	Initial   string      `json:",omitempty"` // the calibration of an initial-call agent, which names its weights
}

// onThisMachine is the model that is published now.
func (b *bench) onThisMachine() (speaker, error) {
	l := b.local
	if b.base == "" {
		var err error
		if b.base, err = basemodel.Fingerprint(b.Host, b.Config.Model.Base); err != nil {
			return speaker{}, err
		}
	}
	lora, err := l.Model.AdapterShape(b.given, b.under)
	if err != nil {
		return speaker{}, err
	}
	p, err := promptingSum(l.Model.Renderer.Prompting())
	return speaker{Base: b.base, Adapter: l.Held(), Prompting: p, LoRA: &lora, Device: l.Device(),
		DType: string(l.Model.Options.DType)}, err
}

func promptingSum(p render.Prompting) (string, error) {
	var variables []byte
	var err error
	if p.Variables != nil {
		variables, err = chat.AppendJSON(nil, p.Variables, chat.Format{})
	}
	return blob.Parts(p.System, string(p.ToolList), p.Template, p.ToolFormat, string(variables)).String(), err
}

// settingsOfEpisodes are the settings that an episode depends on: all but those that are listed here. So a key that is
// new counts until somebody knows better.
func settingsOfEpisodes(c config.Config, local bool) config.Config {
	c.Name, c.RunsDir, c.Scenarios, c.Rewards, c.LoRA, c.SFT, c.GRPO, c.Providers =
		"", "", config.Scenarios{}, config.Rewards{}, config.LoRA{}, config.SFT{}, config.GRPO{}, nil
	c.Judge = config.Judge{}                                     // a reused episode is scored again
	c.MCP.Config, c.MCP.Only, c.MCP.AllowFindings = "", nil, nil // the servers themselves count
	c.Model = config.Model{Context: c.Model.Context}
	c.Rollout.Temperature = 0 // of training
	c.Eval = config.Eval{Temperature: c.Eval.Temperature, TopK: c.Eval.TopK, TopP: c.Eval.TopP, MinP: c.Eval.MinP}
	e := c.Engine
	c.Engine = config.Engine{}
	if local {
		c.Engine = config.Engine{Devices: e.Devices, ShardWeights: e.ShardWeights, Slots: e.Slots,
			JoinWeights: e.JoinWeights}
	}
	return c
}

// circumstancesOf are those of a system that speaks on the bench under settings of its own.
func (b *bench) circumstancesOf(who speaker, settings config.Config) circumstances {
	var versions []string
	for _, s := range b.local.Catalog.Servers {
		versions = append(versions, s.Name+" "+s.Version)
	}
	return circumstances{
		Versions: versions,
		Form:     episodeForm,
		Hone:     host.ReadBuild().Version,
		Settings: settingsOfEpisodes(settings, who.URL == ""),
		Servers:  b.servers,
		Tools:    b.local.Catalog.Hash,
		Speaker:  who,
	}
}

// contentKeys gives an episode its content key: the SHA-256 of its circumstances, its scenario and its repeat.
func (c circumstances) contentKeys(tasks []scenario.Scenario) (func(scenarioID string, repeat int) string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	of, programs := map[string]string{}, commandSums{}
	for i, s := range tasks {
		start, err := startOf(&tasks[i], programs)
		if err != nil {
			return nil, err
		}
		of[s.ID] = blob.Parts(string(text), s.ID, s.Hash(), start).String()
	}
	return func(id string, repeat int) string { return blob.Parts(of[id], strconv.Itoa(repeat)).String() }, nil
}

// startOf is what the files of a scenario hold: the folders that its servers begin with, and the programs that its
// checks run.
func startOf(s *scenario.Scenario, programs commandSums) (string, error) {
	var parts []string
	for server, folder := range s.Template {
		sum, err := folderSum(folder)
		if err != nil {
			return "", err
		}
		parts = append(parts, server+"="+sum)
	}
	for _, c := range s.Checks {
		if c.Type == scenario.CommandCheck && len(c.Command) > 0 {
			sum, err := programs.of("", c.Command)
			if err != nil {
				return "", err
			}
			parts = append(parts, sum)
		}
	}
	return strings.Join(slices.Sorted(slices.Values(parts)), "\n"), nil
}

// serversSum is how the servers are started, with which programs and packages, and what they begin with.
func serversSum(servers mcp.Config) (string, error) {
	text, err := json.Marshal(servers)
	parts, programs := []string{string(text)}, commandSums{}
	for name, s := range servers.Servers {
		if err == nil && s.Command != "" {
			var sum string
			sum, err = programs.of(s.Cwd, append([]string{s.Command}, s.Args...))
			parts = append(parts, name+"="+sum)
		}
		if err == nil && s.Template != "" {
			var sum string
			sum, err = folderSum(s.Template)
			parts = append(parts, name+"="+sum)
		}
		if err == nil && s.EnvFile != "" {
			var env []byte
			env, err = os.ReadFile(s.EnvFile)
			parts = append(parts, name+"="+blob.Of(env).String())
		}
	}
	return blob.Of(strings.Join(slices.Sorted(slices.Values(parts)), "\n")).String(), err
}

// enters tells whether a kept episode would have gone the same way on this stand: the context did not end it, and holds
// it.
func (s stand) enters(t *trajectory.Trajectory) bool {
	if s.Episodes.Room == 0 { // an endpoint keeps its own
		return true
	}
	if t.StopReason == trajectory.StopContextOverflow {
		return false
	}
	for _, row := range t.Rows() {
		if len(row.IDs) >= s.Episodes.Room {
			return false
		}
	}
	cut := t.StopReason == trajectory.StopMaxTokens
	return !cut || len(t.Turns) > 0 && len(t.Turns[len(t.Turns)-1].CompletionIDs) == s.Options.MaxTokens
}
