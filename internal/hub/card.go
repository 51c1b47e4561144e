package hub

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Card is what a card says of a model. What is empty is left out.
type Card struct {
	Name     string // org/name
	Adapter  bool   // else base and adapter in one
	Base     string // as the Hub names it, or a file's name
	OnHub    bool   // whether Base is a name of the Hub
	Revision string // of Base
	License  string // as the Hub abbreviates it: apache-2.0
	Datasets []string
	System   string // message that it was trained under
	Stages   []CardStage
	Servers  []CardServer
	Catalog  string // hash over all tools
	Systems  []CardSystem
	Deltas   []CardDelta
	Costs    []CardFact
	Version  string // of hone
}

// CardStage is one training.
type CardStage struct {
	Verb      string // sft or train
	Steps     int
	Data      string     // what it learnt from, in words
	Last      []CardFact // metrics at its end
	Inputs    []CardFact // SHA-256 of files by name
	Objective []CardFact // settings
}

// CardFact is a named value.
type CardFact struct{ Name, Value string }

// CardServer is one with the tools that were trained.
type CardServer struct {
	Name, Version string
	Tools         []CardFact // name and SHA-256 of what the model is told of it
}

// CardRate is a share with the interval that holds it, each in [0, 1].
type CardRate struct{ Mean, Low, High float64 }

// CardSystem is a measured model.
type CardSystem struct {
	Name      string
	Whole     CardRate
	FirstCall *CardRate
	Scenarios int
	IsThis    bool // the model of the card
}

// CardDelta is a difference of two systems on the same scenarios.
type CardDelta struct {
	Old, New string
	Whole    CardRate
}

// yamlString is a value as YAML and JSON read it.
func yamlString(text string) string {
	out, err := json.Marshal(text)
	if err != nil { // no text fails
		return `""`
	}
	return string(out)
}

// Markdown is the page.
func (m Card) Markdown() []byte {
	var b strings.Builder
	m.front(&b)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) }
	_, short, _ := strings.Cut(m.Name, "/")
	say("# %s\n\n", short)
	if m.Adapter {
		say("A LoRA adapter of `%s`", m.Base)
	} else {
		say("`%s`", m.Base)
	}
	say(", trained with hone to call the tools of MCP servers.\n")
	m.use(&b)
	if len(m.Systems) > 0 {
		say("\n## Results\n\nOn scenarios that no stage learnt from. In brackets the 95%% interval; differences are " +
			"on the same scenarios.\n\n| system | whole episode | first call | scenarios |\n|---|---|---|---|\n")
		for _, s := range m.Systems {
			first := ""
			if s.FirstCall != nil {
				first = s.FirstCall.percent(false)
			}
			say("| %s | %s | %s | %d |\n", cell(s.Name), s.Whole.percent(false), first, s.Scenarios)
		}
		for _, d := range m.Deltas {
			say("| %s - %s | %s | | |\n", cell(d.New), cell(d.Old), d.Whole.percent(true))
		}
	}
	m.training(&b)
	if len(m.Servers) > 0 {
		say("\n## Tools\n\nThe model was told of these tools. A hash is over name, description and schemas: " +
			"another version of a server may have others.\n\n| server | tool | SHA-256 |\n|---|---|---|\n")
		for _, s := range m.Servers {
			for _, t := range s.Tools {
				say("| %s %s | %s | `%s` |\n", cell(s.Name), cell(s.Version), cell(t.Name), short16(t.Value))
			}
		}
		say("\nCatalog: `%s`\n", m.Catalog)
	}
	if len(m.Costs) > 0 {
		say("\n## Cost\n\n")
		facts(&b, m.Costs)
	}
	return []byte(b.String())
}

// front is the front matter.
func (m Card) front(b *strings.Builder) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(b, format, args...) }
	say("---\n")
	if m.License != "" {
		say("license: %s\n", yamlString(m.License))
	}
	if m.OnHub {
		relation := "finetune"
		if m.Adapter {
			relation = "adapter"
		}
		say("base_model: %s\nbase_model_relation: %s\n", yamlString(m.Base), relation)
	}
	library := "transformers"
	if m.Adapter {
		library = "peft"
	}
	say("library_name: %s\npipeline_tag: text-generation\n", library)
	if len(m.Datasets) > 0 {
		say("datasets:\n")
		for _, d := range m.Datasets {
			say("- %s\n", yamlString(d))
		}
	}
	say("tags:\n- hone\n- mcp\n- tool-use\n")
	if m.Adapter {
		say("- lora\n")
	}
	for _, s := range m.Systems {
		if s.IsThis {
			say(
				"model-index:\n- name: %s\n  results:\n  - task:\n      type: text-generation\n"+
					"    dataset:\n      name: %s\n      type: hone-scenarios\n    metrics:\n"+
					"    - name: whole episode, in percent\n      type: success\n      value: %.1f\n",
				yamlString(m.Name), yamlString(fmt.Sprintf("%d held-out scenarios", s.Scenarios)), 100*s.Whole.Mean,
			)
		}
	}
	say("---\n\n")
}

// use is how it is served.
func (m Card) use(b *strings.Builder) {
	flag := "--model " + m.Name
	if !m.Adapter {
		flag = "--model base --base-model " + m.Name
	}
	_, _ = fmt.Fprintf(b,
		"\n```\nhone serve %s\n```\n\nserves it by OpenAI's protocol. It is prompted by `chat_template.jinja`", flag)
	if m.System != "" {
		_, _ = fmt.Fprintf(b, ", under this system message:\n\n> %s", strings.ReplaceAll(m.System, "\n", "\n> "))
	} else {
		b.WriteString(".")
	}
	b.WriteString("\n")
}

func (m Card) training(b *strings.Builder) {
	if len(m.Stages) == 0 {
		return
	}
	b.WriteString("\n## Training\n")
	for _, s := range m.Stages {
		_, _ = fmt.Fprintf(b, "\n`hone %s`: %d steps on %s.\n\n", s.Verb, s.Steps, s.Data)
		facts(b, s.Objective)
		facts(b, s.Last)
		for _, f := range s.Inputs {
			_, _ = fmt.Fprintf(b, "- %s: SHA-256 `%s`\n", f.Name, f.Value)
		}
	}
	revision := ""
	if m.Revision != "" {
		revision = " at `" + m.Revision + "`"
	}
	_, _ = fmt.Fprintf(b, "\nBase model: `%s`%s. Made by hone %s.\n", m.Base, revision, m.Version)
}

func facts(b *strings.Builder, list []CardFact) {
	for _, f := range list {
		_, _ = fmt.Fprintf(b, "- %s: %s\n", f.Name, f.Value)
	}
}

// cell is a text as a table's cell takes it.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// short16 is a hash that people compare.
func short16(hash string) string { return hash[:min(16, len(hash))] }

func (r CardRate) percent(signed bool) string {
	form := "%.1f%% [%.1f, %.1f]"
	if signed {
		form = "%+.1f points [%+.1f, %+.1f]"
	}
	return fmt.Sprintf(form, 100*r.Mean, 100*r.Low, 100*r.High)
}
