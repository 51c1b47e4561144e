package mcp

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Whatever answerOf reads, the SDK reads the same.
func FuzzAnswerOf(f *testing.F) {
	for _, seed := range answers() {
		f.Add([]byte(seed.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := answerOf(data)
		if got == nil {
			return
		}
		want, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			t.Fatalf("%q: the SDK refuses it: %v", data, err)
		}
		r, ok := want.(*jsonrpc.Response)
		if !ok || r.Error != nil || r.ID != got.ID || !sameJSON(r.Result, got.Result) {
			t.Errorf("%q: read as %+v, by the SDK as %+v", data, got, want)
		}
	})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

type answerCase struct {
	text   string
	result string // "" where it is left to the SDK
}

func answers() []answerCase {
	return []answerCase{
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, `{"content":[]}`},
		{`{"result": {"b":1.50, "a":"\u00e9"} ,"id":12,"jsonrpc":"2.0"}`, `{"b":1.50, "a":"\u00e9"}`},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, `null`},
		{`{"jsonrpc":"2.0","id":"1","result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":1.5,"result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, ""},
		{`{"jsonrpc":"1.0","id":1,"result":{}}`, ""},
		{`{"id":1,"result":{}}`, ""},
		{`{"jsonrpc":"2.0","result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":1}`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"Result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{}} {}`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{`, ""},
		{`[]`, ""},
	}
}

func TestAnswerOf(t *testing.T) {
	for _, tc := range answers() {
		got := answerOf([]byte(tc.text))
		if (got != nil) != (tc.result != "") || got != nil && string(got.Result) != tc.result {
			t.Errorf("%s: %+v, want the result %s", tc.text, got, tc.result)
		}
	}
}
