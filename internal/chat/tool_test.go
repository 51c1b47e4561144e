package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestToolOfAnotherForm(t *testing.T) {
	for _, text := range []string{
		`{"name": "f", "inputSchema": {}}`, `{"name": "f", "input_schema": {}}`, `{"type": "function"}`, `{}`,
	} {
		var tool Tool
		if err := json.Unmarshal([]byte(text), &tool); err == nil || !strings.Contains(err.Error(), "function name") {
			t.Errorf("%s became %+v (%v)", text, tool, err)
		}
	}
}
