package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"hone/internal/fault"
)

// MaxFileBytes is the size above which a configuration file is refused.
const MaxFileBytes = 1 << 20

// DefaultFile is the configuration where no other is named.
const DefaultFile = "hone.yaml"

// Read is the configuration of the file at path; where path is "", that of DefaultFile, and the defaults where there is
// none.
func Read(path string) (Config, error) {
	if path == "" {
		if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
			return Default(), nil
		}
		path = DefaultFile
	}
	return Load(path)
}

// Load reads a configuration file over the defaults and validates it. Its errors name file, line and column and show
// the line with a caret under the place.
func Load(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		next := "check the path and its permissions"
		if errors.Is(err, fs.ErrNotExist) {
			next = "hone config show > hone.yaml writes one with every default"
		}
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "cannot read the configuration", Where: path,
			Err: err, Next: next}
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return Config{}, &fault.Error{Code: fault.CodeUsage, What: "cannot read the configuration", Where: path,
			Err: err, Next: "name a file that can be read with --config"}
	}
	return Parse(path, src)
}

// Parse is Load on text; name is used in errors only.
func Parse(name string, src []byte) (Config, error) {
	s := source{name, src}
	c := Default()
	if len(src) > MaxFileBytes {
		return c, &fault.Error{Code: fault.CodeUsage, What: "the configuration is too large", Where: name,
			Why: fmt.Sprintf("more than %d bytes", MaxFileBytes), Next: "hone config schema lists what belongs into it"}
	}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return c, s.yamlError(err)
	}
	if len(file.Docs) > 1 {
		return c, s.at(file.Docs[1].Start, "it holds more than one document", "keep one document, without ---")
	}
	if len(file.Docs) == 1 && file.Docs[0].Body != nil {
		body := file.Docs[0].Body
		if err := s.refuseAliases(body); err != nil {
			return c, err
		}
		if err := s.passOver(body, ""); err != nil {
			return c, err
		}
		if err := s.checkKeys(body, reflect.TypeFor[Config](), ""); err != nil {
			return c, err
		}
		if name := s.find(file, "grpo.recipe"); name != nil && recipes[name.Value].take != nil {
			recipes[name.Value].take(&c.GRPO)
		}
		if err := yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(body, &c); err != nil &&
			!errors.Is(err, io.EOF) {
			return c, cmp.Or(s.misfit(body, reflect.TypeFor[Config](), ""), s.yamlError(err))
		}
	}
	err = c.Validate()
	if v, ok := errors.AsType[*ValueError](err); ok {
		return c, s.at(s.find(file, v.Path), v.Error(), "hone config schema describes each key")
	}
	return c, err
}

// YAML returns every key with the value in force. Parsing it gives c back.
func (c *Config) YAML() ([]byte, error) {
	// No exponents: readers of YAML 1.1 take 2e-05 for a text.
	plain := yaml.CustomMarshaler(func(x float64) ([]byte, error) {
		return strconv.AppendFloat(nil, x, 'f', -1, 64), nil
	})
	quoted := yaml.CustomMarshaler(func(x string) ([]byte, error) { return []byte(scalar(x)), nil })
	return yaml.MarshalWithOptions(c, yaml.IndentSequence(true), plain, quoted)
}

// JSON is YAML's keys, in the same order, as one JSON object.
func (c *Config) JSON() ([]byte, error) {
	b, err := c.YAML()
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(b)
}

// scalar writes a text so that every YAML reader takes it for that text. The library leaves a lone tab unquoted.
func scalar(s string) string {
	letters := strings.Trim(s, plainRunes) == ""
	reserved := []string{"", "null", "true", "false", "yes", "no", "on", "off", "y", "n"}
	if letters && s != "" && 'A' <= s[0]&^0x20 && s[0]&^0x20 <= 'Z' && !slices.Contains(reserved, strings.ToLower(s)) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"

// source is the text that errors point into.
type source struct {
	name string
	text []byte
}

// refuseAliases keeps a small file from standing for millions of nodes.
func (s source) refuseAliases(body ast.Node) error {
	v := &aliasFinder{}
	ast.Walk(v, body)
	if v.found == nil {
		return nil
	}
	return s.at(v.found, "anchors, aliases and merge keys are not supported", "write the values out")
}

type aliasFinder struct{ found *token.Token }

func (v *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		if v.found == nil {
			v.found = n.GetToken()
		}
	}
	return v
}

// checkKeys refuses keys the struct t does not have. The decoder is strict too, but does not know what is near.
func (s source) checkKeys(n ast.Node, t reflect.Type, prefix string) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		if n.Type() == ast.NullType {
			return nil
		}
		what := "the file"
		if prefix != "" {
			what = strings.TrimSuffix(prefix, ".")
		}
		return s.at(n.GetToken(), what+" is not a mapping of keys to values", "hone config schema describes each key")
	}
	fields := fieldsOf(t)
next:
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		for _, f := range fields {
			if f.key != key.Value {
				continue
			}
			if err := s.checkSections(it.Value(), f.typ, prefix+f.key+"."); err != nil {
				return err
			}
			continue next
		}
		if now := renameOf(prefix + key.Value); now != "" {
			return s.at(key, fmt.Sprintf("%s is %s now, at the top of the file", prefix+key.Value, now),
				"move it there: it holds for sft and for train")
		}
		return s.at(key, fmt.Sprintf("unknown key %q", prefix+key.Value)+nearestKey(key.Value, prefix, t),
			"hone config schema lists the keys")
	}
	return nil
}

// checkSections is checkKeys of a key's value where that is a section, or several by names.
func (s source) checkSections(n ast.Node, t reflect.Type, prefix string) error {
	if t.Kind() == reflect.Struct {
		return s.checkKeys(n, t, prefix)
	}
	m, ok := n.(ast.MapNode)
	if !ok || !isMapOfSections(t) {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		if err := s.checkSections(it.Value(), t.Elem(), prefix+it.Key().GetToken().Value+"."); err != nil {
			return err
		}
	}
	return nil
}

// renameOf is the new name of a key that had another once.
func renameOf(key string) string {
	if key == "sft.lora" {
		return "lora"
	}
	return ""
}

// find returns the token of a key's value, nil where the file does not set it.
func (s source) find(file *ast.File, path string) *token.Token {
	p, err := yaml.PathString("$." + path)
	if err != nil {
		return nil
	}
	n, err := p.FilterFile(file)
	if err != nil {
		return nil
	}
	return n.GetToken()
}

func (s source) yamlError(err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		return s.at(e.GetToken(), e.GetMessage(), "hone config schema describes each key")
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the configuration is not valid", Where: s.name, Err: err,
		Next: "hone config schema describes each key"}
}

// at points at a token: file:line:column, the line, a caret.
func (s source) at(tk *token.Token, why, next string) error {
	e := &fault.Error{Code: fault.CodeUsage, What: "the configuration is not valid", Where: s.name,
		Why: why, Next: next}
	if tk == nil || tk.Position == nil {
		return e
	}
	line, column := tk.Position.Line, tk.Position.Column
	e.Where = fmt.Sprintf("%s:%d:%d", s.name, line, column)
	lines := strings.Split(string(s.text), "\n")
	if line < 1 || line > len(lines) {
		return e
	}
	number := fmt.Sprintf("%6d | ", line)
	e.Where += "\n" + number + strings.TrimRight(lines[line-1], "\r") +
		"\n" + strings.Repeat(" ", len(number)+max(column-1, 0)) + "^"
	return e
}
