package generate

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"hone/internal/blob"
	"hone/internal/chat"
)

//go:embed prompts/*.txt
var promptFiles embed.FS

// promptName names a file of prompts.
type promptName string

// The prompts: what the system message says, a line of "===", and what the user says, a template.
const (
	instructPrompt   promptName = "instruct"
	fillPrompt       promptName = "fill"
	callPrompt       promptName = "call"
	pickPrompt       promptName = "pick"
	qualityPrompt    promptName = "quality"
	rewordPrompt     promptName = "reword"
	rewordHeldPrompt promptName = "reword_held" // of tasks that training does not see
	askPrompt        promptName = "ask"         // of programs
	askHeldPrompt    promptName = "ask_held"
)

// evolutions are WizardLM's operators in depth (arXiv 2304.12244, section 3.2), as MCP-Flow takes them.
func evolutions() []promptName {
	return []promptName{"evolve_constrain", "evolve_deepen", "evolve_concretise", "evolve_reason"}
}

// prompt is one, read.
type prompt struct {
	name string
	hash string // SHA-256 of its file
	said *template.Template
	rule *template.Template
}

// readPrompt reads a prompt. That each can be read is tested.
func readPrompt(name promptName) (prompt, error) {
	text, err := fs.ReadFile(promptFiles, "prompts/"+string(name)+".txt")
	if err != nil {
		return prompt{}, err
	}
	rule, said, ok := strings.Cut(string(text), "\n===\n")
	if !ok {
		return prompt{}, fmt.Errorf("prompts/%s.txt has no line of ===", name)
	}
	p := prompt{name: string(name), hash: blob.Of(string(text)).String()}
	if p.rule, err = template.New(p.name).Option("missingkey=error").Parse(rule); err == nil {
		p.said, err = template.New(p.name).Option("missingkey=error").Parse(said)
	}
	return p, err
}

// asked is what a prompt fills in.
type asked struct {
	N           int
	Task        string
	Tool        string
	Description string
	Parameters  string
	Values      string
	Schema      string
	Calls       string
	Tools       []chat.Tool

	Person, Tone, Around, Wants string // of a program
	Examples                    []example
}

// messages are the prompt filled in. Examples are turns before what is asked, each with its answer: small models follow
// these more closely than rules.
func (p prompt) messages(data asked) ([]chat.Message, error) {
	rule, err := written(p.rule, data)
	if err != nil {
		return nil, err
	}
	list := []chat.Message{{Role: chat.System, Content: rule}}
	for _, e := range data.Examples {
		before := data
		before.Wants, before.Tone = e.Wants, e.Tone
		said, err := written(p.said, before)
		if err != nil {
			return nil, err
		}
		list = append(list, chat.Message{Role: chat.User, Content: said},
			chat.Message{Role: chat.Assistant, Content: e.Message})
	}
	said, err := written(p.said, data)
	return append(list, chat.Message{Role: chat.User, Content: said}), err
}

func written(t *template.Template, data asked) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, data)
	return strings.TrimRight(b.String(), "\n"), err
}
