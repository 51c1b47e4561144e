package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hone/internal/engine"
)

// Text is the program in StableHLO for a person: what each input and each result is, then one operation a line, with a
// comment wherever operations of another layer begin.
func (p Program) Text() string {
	var b strings.Builder
	for i, name := range p.inputs {
		name, donated := strings.CutSuffix(name, engine.DonatedSuffix)
		if donated {
			name += ", donated"
		}
		fmt.Fprintf(&b, "// %%p%d: %s\n", i, name)
	}
	for i, name := range p.results {
		fmt.Fprintf(&b, "// result %d: %s\n", i, name)
	}
	layers := layersOf(p.inputs)
	for line := range strings.Lines(p.HLO) {
		if mark := layers.next(line); mark != "" {
			b.WriteString("// " + mark + "\n")
		}
		b.WriteString(line)
	}
	return b.String()
}

// outside is the layer of the embedding, the last norm and the head.
const outside = -1

// layers follows which layer of the model a program's text is in: that of the weight, or of the cached keys and values,
// that was read last. Programs read those of a layer where they compute it, forward and back.
type layers struct {
	held    map[string]int // inputs that a layer holds
	current int
	begun   bool
}

var (
	layerInName = regexp.MustCompile(`layers\.([0-9]+)\.`)
	keyOrValue  = regexp.MustCompile(`^(?:prefix|cache|d)([0-9]+)$`) // a layer's keys, then its values
)

func layersOf(inputs []string) *layers {
	l := &layers{held: map[string]int{}}
	for i, name := range inputs {
		name = strings.TrimSuffix(name, engine.DonatedSuffix)
		value := "%p" + strconv.Itoa(i)
		if m := layerInName.FindStringSubmatch(name); m != nil {
			l.held[value], _ = strconv.Atoi(m[1]) // digits, by the expression
		} else if m := keyOrValue.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[1])
			l.held[value] = n / 2
		} else if strings.HasSuffix(name, ".weight") {
			l.held[value] = outside
		}
	}
	return l
}

// next reads the text's next line, and returns a mark where another layer begins with it.
func (l *layers) next(line string) string {
	names := nameOf.FindAllString(line, -1)
	if len(names) == 0 || !strings.HasPrefix(line, names[0]) {
		return "" // no operation of the main function's own
	}
	for _, name := range names[1:] {
		layer, is := l.held[name]
		if !is || l.begun && layer == l.current {
			continue
		}
		l.begun, l.current = true, layer
		if layer == outside {
			return "outside of the layers"
		}
		return fmt.Sprint("layer ", layer)
	}
	return ""
}
