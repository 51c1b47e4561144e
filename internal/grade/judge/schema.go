package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// longestReason bounds, in characters, a reason of a judge that is held to the schema.
const longestReason = 160

// schema is the JSON Schema of a reply, for a model that can be held to it: the ids each once, in the order in which
// attempts are shown, the reason before the score, scores in steps of a twentieth of the scale.
func (r *Rubric) schema(number int, alone bool) json.RawMessage {
	score := `"score": {"enum": [` + steps(0, 1, false) + `]}`
	key := "score"
	if len(r.Axes) > 0 {
		var axes, names []string
		for _, a := range r.Axes {
			axes = append(axes, fmt.Sprintf(`%q: {"enum": [%s]}`, a.Name, steps(r.Least, r.Most, r.Whole)))
			names = append(names, strconv.Quote(a.Name))
		}
		score = `"axes": {"type": "object", "properties": {` + strings.Join(axes, ", ") + `}, "required": [` +
			strings.Join(names, ", ") + `], "additionalProperties": false}`
		key = "axes"
	} else if alone {
		score, key = `"passed": {"type": "boolean"}`, "passed"
	}
	entry := func(first, reason string) string {
		keys := `"` + reason + `", "` + key + `"`
		if first != "" {
			keys = `"trajectory_id", ` + keys
		}
		return fmt.Sprintf(`{"type": "object", "properties": {%s%q: {"type": "string", "maxLength": %d}, %s}, "required": [%s], "additionalProperties": false}`, first, reason, longestReason, score, keys)
	}
	if alone {
		return json.RawMessage(entry("", "reason"))
	}
	var items []string
	for place := range number {
		items = append(items, entry(fmt.Sprintf(`"trajectory_id": {"const": "%d"}, `, place+1), "explanation"))
	}
	return json.RawMessage(fmt.Sprintf(`{"type": "object", "properties": {"scores": {"type": "array", "prefixItems": [%s], "minItems": %d, "maxItems": %d}}, "required": ["scores"], "additionalProperties": false}`,
		strings.Join(items, ", "), number, number))
}

// steps are the numbers from least to most, whole ones or twentieths of the scale.
func steps(least, most float64, whole bool) string {
	width := (most - least) / 20
	if whole {
		width = 1
	}
	var all []string
	for n := 0; ; n++ {
		x := least + float64(n)*width
		if x > most+1e-9 {
			return strings.Join(all, ", ")
		}
		all = append(all, strconv.FormatFloat(x, 'g', 4, 64))
	}
}
