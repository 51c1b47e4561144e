package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// retiredKeys are the keys that an older hone had, and what to do instead. The configuration that a run keeps names
// each key, so that a run of before can go on they are passed over where they were switched off.
func retiredKeys() map[string]string {
	return map[string]string{
		"grpo.recoveries": "leave it out: groups that went on from failed calls cost 6.6 points [3.4, 9.7] " +
			"(docs/LEARNING.md, credit for turns)",
		"grpo.mask_truncated": "leave it out: no measurement said what leaving out the episodes that a limit cut is " +
			"worth; rewards.overlong makes answers shorter before a limit cuts them",
		"rewards.rules": "MCP-Bench's metrics are a program now: set rewards.program.command to [hone-bench, " +
			"reward, CATALOG]",
	}
}

// passOver takes the retired keys below prefix out of a file that switches them off, and refuses those that act.
func (s source) passOver(n ast.Node, prefix string) error {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil
	}
	var err error
	m.Values = slices.DeleteFunc(m.Values, func(v *ast.MappingValueNode) bool {
		name := prefix + v.Key.GetToken().Value
		instead, gone := retiredKeys()[name]
		switch {
		case err != nil:
		case !gone:
			err = s.passOver(v.Value, name+".")
		case !isOff(v.Value):
			err = s.at(v.Key.GetToken(), fmt.Sprintf("hone has no key %s any more", name), instead)
		}
		return gone
	})
	return err
}

// isOff reports whether a value, or each value below it, is 0, false or empty.
func isOff(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.MappingNode:
		return !slices.ContainsFunc(n.Values, func(v *ast.MappingValueNode) bool { return !isOff(v.Value) })
	case *ast.SequenceNode:
		return len(n.Values) == 0
	case *ast.NullNode:
		return true
	case *ast.BoolNode:
		return !n.Value
	case *ast.StringNode:
		return n.Value == ""
	case *ast.IntegerNode:
		return fmt.Sprint(n.Value) == "0"
	case *ast.FloatNode:
		return n.Value == 0
	}
	return false
}
