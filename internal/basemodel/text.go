package basemodel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// Text is a base model's tokenizer and chat template: how it is prompted.
type Text struct {
	Tokenizer *tokenizer.Tokenizer
	Template  string // empty where the model has none
	Name      string // of the template, for errors
	Own       bool   // the template is the model's, not one that the configuration or a flag names
	BOS, EOS  string
	Variables *chat.Object // of the template, beside the conversation

	format string // of tool calls; empty tells it from the template

	trained *render.Prompting // what the model was trained under, where that is known: it comes before all of the above
}

// ReadText reads it from where the model has it: in a GGUF file, or beside the weights in a folder.
func ReadText(c config.Model, file *modelfile.Model) (*Text, error) {
	v := file.Vocabulary
	t := WithoutModel(c)
	t.Name, t.Own = file.Path, true
	own := templates{}
	maps.Copy(own, v.Templates)
	if v.ChatTemplate != "" {
		own[defaultTemplate] = v.ChatTemplate
	}
	var err error
	if len(v.Tokens) > 0 {
		t.Tokenizer, err = openTokenizer(v)
		t.BOS, t.EOS = tokenOf(v, v.BOS), tokenOf(v, v.EOS)
	} else if t.Tokenizer, err = tokenizer.Load(filepath.Join(file.Path, "tokenizer.json")); err == nil {
		err = t.readFolder(file.Path, own)
	}
	if err != nil {
		return t, err
	}
	if c.ChatTemplate != "" {
		return t, t.ReplaceTemplate(c.ChatTemplate)
	}
	if len(v.Tokens) == 0 {
		p, found, err := render.ReadPrompting(file.Path)
		if found { // a merged model
			t.trained = &p
		}
		if found || err != nil {
			return t, err
		}
	}
	t.Template, err = own.text(file.Path)
	return t, err
}

// Under is the same model prompted as an adapter was trained; nil is as the model itself is.
func (t *Text) Under(trained *render.Prompting) *Text {
	t.trained = trained
	return t
}

// WithoutModel has what the configuration says of a chat template, and none.
func WithoutModel(c config.Model) *Text {
	return &Text{Variables: templateVariables(c.TemplateVariables), format: c.ToolFormat}
}

// templateVariables are the configuration's as a template takes them.
func templateVariables(variables config.Variables) *chat.Object {
	return templateValue(map[string]any(variables)).(*chat.Object)
}

// templateValue makes a chat.Value of what YAML gave, whose numbers are of several types. config has refused all
// others.
func templateValue(v any) chat.Value {
	switch v := v.(type) {
	case map[string]any:
		o := chat.NewObject()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			o.Set(key, templateValue(v[key]))
		}
		return o
	case []any:
		list := []chat.Value{}
		for _, item := range v {
			list = append(list, templateValue(item))
		}
		return list
	case float64:
		return chat.Number(chat.AppendFloat(nil, v))
	case nil, bool, string:
		return v
	}
	return chat.Number(fmt.Sprint(v)) // an integer
}

func tokenOf(v modelfile.Vocabulary, id int32) string {
	if id < 0 || int(id) >= len(v.Tokens) {
		return ""
	}
	return v.Tokens[id]
}

// ReplaceTemplate takes the template of a file in place of the model's.
func (t *Text) ReplaceTemplate(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the chat template", Where: path, Err: err,
			Next: "name a file with Jinja text, as chat_template.jinja beside a model"}
	}
	t.Template, t.Name, t.Own, t.trained = string(text), path, false, nil
	return nil
}

// readFolder reads tokenizer_config.json and the files of templates.
func (t *Text) readFolder(dir string, own templates) error {
	path := filepath.Join(dir, "tokenizer_config.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = t.readConfig(text, own)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the tokenizer's configuration", Where: path,
			Err: err, Next: "fetch the model again"}
	}
	return own.readFiles(dir)
}

func (t *Text) readConfig(text []byte, own templates) error {
	var c struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
		BOS          specialToken    `json:"bos_token"`
		EOS          specialToken    `json:"eos_token"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	t.BOS, t.EOS = string(c.BOS), string(c.EOS)
	return own.read(c.ChatTemplate)
}

// specialToken is a token's text, which older files put in an object.
type specialToken string

// UnmarshalJSON implements json.Unmarshaler.
func (s *specialToken) UnmarshalJSON(raw []byte) error {
	var o struct{ Content string }
	if len(raw) > 0 && raw[0] == '{' {
		err := json.Unmarshal(raw, &o)
		*s = specialToken(o.Content)
		return err
	}
	var text *string
	err := json.Unmarshal(raw, &text)
	if text != nil {
		*s = specialToken(*text)
	}
	return err
}

// Renderer returns what the model is prompted with: what it was trained under; else its own template where that knows
// tools, or whatever the configuration names; else ChatML with hone's way of listing tools. system is for conversations
// without a system message; empty leaves it to what the model was trained under, or to the template.
func (t *Text) Renderer(system string) (render.Renderer, error) {
	if t.trained != nil {
		p := *t.trained
		p.System, p.ToolFormat = cmp.Or(system, p.System), cmp.Or(t.format, p.ToolFormat)
		if t.Variables != nil && t.Variables.Len() > 0 {
			p.Variables = mergeVariables(p.Variables, t.Variables)
		}
		if err := t.noTemplateKeys(p.Template == ""); err != nil {
			return nil, err
		}
		return p.Renderer(t.vocabulary(), t.Name)
	}
	if r, err := t.inForm(system); r != nil || err != nil {
		return r, err
	}
	if t.Own && !render.KnowsTools(t.Template) {
		if err := t.noTemplateKeys(true); err != nil {
			return nil, err
		}
		return render.NewChatML(t.Tokenizer, render.Options{System: cmp.Or(system, render.OwnSystem(t.Template))})
	}
	p := render.Prompting{System: system, Template: t.Template, Variables: t.Variables, ToolFormat: t.format}
	return p.Renderer(t.vocabulary(), t.Name)
}

// inForm is the renderer where the configuration names a form of calls that the model's own template does not write,
// and hone has one for; nil elsewhere.
func (t *Text) inForm(system string) (render.Renderer, error) {
	if !t.Own || t.Template == "" || t.format == "" {
		return nil, nil
	}
	f, err := toolcall.ByName(t.format)
	if err != nil || render.Writes(t.Template, f) {
		return nil, err
	}
	if f.Name() == toolcall.Hermes().Name() && !render.KnowsTools(t.Template) { // which hone's ChatML writes
		return nil, nil
	}
	source, ok := render.Rewritten(t.Template, f)
	if !ok {
		return nil, nil
	}
	p := render.Prompting{System: system, Template: source, Variables: t.Variables, ToolFormat: f.Name()}
	return p.Renderer(t.vocabulary(), t.Name)
}

// ToolFormat is how calls are written for the model.
func (t *Text) ToolFormat() (toolcall.Format, error) {
	r, err := t.Renderer("")
	if err != nil {
		return toolcall.Format{}, err
	}
	return r.ToolFormat(), nil
}

func (t *Text) vocabulary() render.Vocabulary {
	return render.Vocabulary{Tokenizer: t.Tokenizer, BOS: t.BOS, EOS: t.EOS}
}

// mergeVariables are variables with others over them.
func mergeVariables(variables, over *chat.Object) *chat.Object {
	out := chat.NewObject()
	for _, o := range []*chat.Object{variables, over} {
		for i := 0; o != nil && i < o.Len(); i++ {
			out.Set(o.At(i))
		}
	}
	return out
}

// noTemplateKeys refuses what the configuration says of a template where hone's own form (own) is used.
func (t *Text) noTemplateKeys(own bool) error {
	if own {
		if t.format != "" && t.format != toolcall.Hermes().Name() {
			return &fault.Error{Code: fault.CodeUsage, What: "the model is not told of tools in the form " + t.format,
				Where: "model.tool_format",
				Why:   "its chat template knows none, and hone's writes " + toolcall.Hermes().Name(),
				Next:  "name a template with model.chat_template, or leave out model.tool_format"}
		}
		if t.Variables != nil && t.Variables.Len() > 0 {
			return &fault.Error{Code: fault.CodeUsage, What: "the model's prompt has no variables",
				Where: "model.template_variables", Why: "its chat template knows no tools, so hone's is used",
				Next: "name a template with model.chat_template, or leave out model.template_variables"}
		}
	}
	return nil
}

func openTokenizer(v modelfile.Vocabulary) (*tokenizer.Tokenizer, error) {
	return tokenizer.New(tokenizer.Options{
		Model:         v.Model,
		Tokens:        v.Tokens,
		Merges:        v.Merges,
		Scores:        v.Scores,
		Types:         v.TokenTypes,
		PreTokenizer:  v.PreTokenizer,
		BOS:           v.BOS,
		EOS:           v.EOS,
		AddBOS:        v.AddBOS,
		AddEOS:        v.AddEOS,
		NoSpacePrefix: v.NoSpacePrefix,
	})
}

// OpenText opens the text layer of a base model, the configuration's where base is empty; no device is opened.
func OpenText(h *host.Host, c config.Model, base string) (*Text, error) {
	file, err := openFile(h, cmp.Or(base, c.Base))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	return ReadText(c, file)
}

// CountPrompt returns how many tokens the prompt of one short message has with some tools, under a system message.
func (t *Text) CountPrompt(system string) (func(tools []chat.Tool) (int, error), error) {
	r, err := t.Renderer(system)
	if err != nil {
		return nil, err
	}
	return func(tools []chat.Tool) (int, error) {
		ids, err := r.Prompt([]chat.Message{{Role: chat.User, Content: "?"}}, tools)
		return len(ids), err
	}, nil
}
