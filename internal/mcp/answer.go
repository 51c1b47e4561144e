package mcp

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answerOf reads data as an answer with a result, the message of which there are most; nil where it is anything else,
// or may be. It is here because the SDK's decoder takes 32 KiB for each message, however short, and collecting that was
// half of what a call cost.
func answerOf(data []byte) *jsonrpc.Response {
	d := jsontext.NewDecoder(bytes.NewBuffer(data)) // which refuses a key that comes twice
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	r := &jsonrpc.Response{}
	version := false
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return nil
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		switch name {
		case "jsonrpc":
			version = string(value) == `"2.0"`
		case "id":
			r.ID = plainID(value)
		case "result":
			r.Result = data[end-len(value) : end : end]
		default: // an error, a request, or what the SDK should judge
			return nil
		}
	}
	if token, err := d.ReadToken(); err != nil || token.Kind() != '}' || int(d.InputOffset()) != len(data) {
		return nil
	}
	if !version || !r.ID.IsValid() || r.Result == nil {
		return nil
	}
	return r
}

// plainID is an id that is a whole number; the zero ID, which is not valid, for any other.
func plainID(value []byte) jsonrpc.ID {
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}
