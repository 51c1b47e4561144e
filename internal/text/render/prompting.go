package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/fault"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// Renderer is what a Vendor is.
type Renderer interface {
	rollout.Renderer
	// Reader reads a completion's text as it grows; prompt is what it was sampled behind, tools what it may call.
	Reader(prompt []int32, tools []chat.Tool) *Reader
	// Opens returns the tag that ends the reasoning where a prompt has begun it, and "" where it has not.
	Opens(prompt []int32) string
	// Closes returns the tag that ends the model's reasoning, and "" where it has none.
	Closes() string
	// Sequences renders a conversation as training rows, in which its assistant messages from first on are trained.
	Sequences(messages []chat.Message, first int, tools []chat.Tool) ([]Sequence, error)
	// Template is Jinja text with which another server prompts the same, given neither a system message nor variables.
	Template() string
	// ToolFormat is how the model writes calls.
	ToolFormat() toolcall.Format
	// Prompting is all that makes the renderer, but for the vocabulary.
	Prompting() Prompting
}

// Prompting is how conversations become prompts. What a model was trained under must be what it is served under, so
// this travels with its adapter. Its JSON, in PromptingFile:
//
//	{"prompt": {"system": "Use the tools.", "tool_list": "compact"}}
//	{"prompt": {"system": "", "chat_template": "{% for ...", "template_variables": {"enable_thinking": false}, "tool_format": "hermes"}}
type Prompting struct {
	System     string       // of conversations that do not begin with a system message; empty leaves it to the template
	ToolList   ToolFormat   // of ChatML, hone's own form; empty where there is a template
	Template   string       // Jinja text as the vendor wrote it
	Variables  *chat.Object // of the template; may be nil
	ToolFormat string       // how the template's calls are written, by name
}

// Files beside an adapter's weights, or a merged model's.
const (
	PromptingFile = "hone.json"           // hone's own, which other libraries leave alone
	TemplateFile  = "chat_template.jinja" // which transformers and vLLM read
)

// Vocabulary is what a renderer takes from the base model and not from a Prompting.
type Vocabulary struct {
	Tokenizer *tokenizer.Tokenizer
	BOS, EOS  string
}

// Renderer makes the renderer again. name is the template's in errors.
func (p Prompting) Renderer(v Vocabulary, name string) (Renderer, error) {
	if p.Template == "" {
		return NewChatML(v.Tokenizer, Options{System: p.System, ToolFormat: p.ToolList})
	}
	o := VendorOptions{Template: p.Template, Name: name, BOS: v.BOS, EOS: v.EOS, System: p.System,
		Variables: p.Variables}
	if p.ToolFormat != "" {
		var err error
		if o.Format, err = toolcall.ByName(p.ToolFormat); err != nil {
			return nil, err
		}
	}
	return NewVendor(v.Tokenizer, o)
}

// Prompting implements Renderer. The form of the calls is named also where the template told it.
func (v *Vendor) Prompting() Prompting {
	if own := v.options.own; own != nil {
		return Prompting{System: own.System, ToolList: own.ToolFormat}
	}
	return Prompting{System: v.options.System, Template: v.options.Template, Variables: v.options.Variables,
		ToolFormat: v.format.Name()}
}

// Save writes what a renderer prompts by into the folder of an adapter: PromptingFile for hone, TemplateFile for
// others.
func Save(dir string, r Renderer) error {
	p := r.Prompting()
	prompt := chat.NewObject("system", p.System)
	if p.Template == "" {
		prompt.Set("tool_list", string(p.ToolList))
	} else {
		prompt.Set("chat_template", p.Template)
		if p.Variables != nil && p.Variables.Len() > 0 {
			prompt.Set("template_variables", p.Variables)
		}
		prompt.Set("tool_format", p.ToolFormat)
	}
	text, err := chat.AppendJSON(nil, chat.NewObject("prompt", prompt), chat.Format{Indent: "  ", KeepNumbers: true})
	if err != nil {
		return err
	}
	if err := blob.Write(filepath.Join(dir, PromptingFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return blob.Write(filepath.Join(dir, TemplateFile), []byte(r.Template()), 0o644)
}

// ReadPrompting reads what Save wrote; found is false where the folder has no such file, as those that others made.
func ReadPrompting(dir string) (p Prompting, found bool, err error) {
	path := filepath.Join(dir, PromptingFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err == nil {
		err = p.parse(text)
	}
	if err != nil {
		return p, false, &fault.Error{Code: fault.CodeUsage, What: "cannot read what the model was trained under",
			Where: path, Err: err, Next: "copy the folder again, with all its files"}
	}
	return p, true, nil
}

func (p *Prompting) parse(text []byte) error {
	v, err := chat.Decode(text, chat.DecodeOptions{})
	if err != nil {
		return err
	}
	file, _ := v.(*chat.Object)
	if file == nil {
		return errors.New("it is not an object")
	}
	v, _ = file.Get("prompt")
	prompt, _ := v.(*chat.Object)
	if prompt == nil {
		return errors.New(`it has no object "prompt"`)
	}
	list := ""
	for i := range prompt.Len() {
		key, value := prompt.At(i)
		known := true
		texts := map[string]*string{"system": &p.System, "chat_template": &p.Template, "tool_format": &p.ToolFormat,
			"tool_list": &list}
		if to, isText := texts[key]; isText {
			*to, known = asText(value)
		} else if key == "template_variables" {
			p.Variables, known = value.(*chat.Object)
		} else {
			return fmt.Errorf("unknown key %q: it was written by a later hone", key)
		}
		if !known {
			return fmt.Errorf("%q is of another type", key)
		}
	}
	p.ToolList = ToolFormat(list)
	if (p.Template == "") == (list == "") {
		return errors.New(`one of "chat_template" and "tool_list" must be there`)
	}
	return nil
}

func asText(v chat.Value) (string, bool) {
	text, ok := v.(string)
	return text, ok
}
