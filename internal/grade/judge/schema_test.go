package judge

import (
	"os"
	"testing"

	"hone/internal/chat/schema"
)

// What a model held to the schema writes can be read, of criteria and of axes, in a group and alone; what lacks an id
// cannot be written.
func TestSchemaOfReplies(t *testing.T) {
	text, err := os.ReadFile("../../../docs/rubrics/mcp-bench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	axes, err := ParseRubric("mcp-bench.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	const six = `"axes": {"task_fulfillment": 1.9, "grounding": 10, "tool_appropriateness": 5.5, "parameter_accuracy": 1, "dependency_awareness": 1.45, "parallelism_and_efficiency": 9.1}`
	for _, c := range []struct {
		name, reply string
		r           Rubric
		alone, fits bool
	}{
		{"criteria", `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.25}, {"trajectory_id": "2", "explanation": "", "score": 1}]}`, DefaultRubric(), false, true},
		{"an id missing", `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.25}]}`, DefaultRubric(), false, false},
		{"an id twice", `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.25}, {"trajectory_id": "1", "explanation": "x", "score": 0.25}]}`, DefaultRubric(), false, false},
		{"above 1", `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 2}, {"trajectory_id": "2", "explanation": "", "score": 1}]}`, DefaultRubric(), false, false},
		{"alone", `{"reason": "x", "passed": false}`, DefaultRubric(), true, true},
		{
			"axes", `{"scores": [{"trajectory_id": "1", "explanation": "x", ` + six +
				`}, {"trajectory_id": "2", "explanation": "x", ` + six + `}]}`, axes, false, true,
		},
		{"axes alone", `{"reason": "x", ` + six + `}`, axes, true, true},
	} {
		s := schema.Compile(c.r.schema(2, c.alone))
		if s.Err() != nil {
			t.Fatalf("%s: %v in %s", c.name, s.Err(), c.r.schema(2, c.alone))
		}
		if verdict, why := s.Validate(c.reply); (verdict == schema.Valid) != c.fits {
			t.Errorf("%s: %s %v", c.name, verdict, why)
		}
		var err error
		if c.alone {
			_, err = c.r.ReadOne(c.reply)
		} else {
			_, err = c.r.ReadGroup(c.reply, []string{"1", "2"})
		}
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
