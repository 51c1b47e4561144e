package tinker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/testing/tinkertest"
)

var rewrite = flag.Bool("update", false, "write testdata/ours.json anew")

// wire is testdata/wire.json: messages as the SDK has them.
type wire struct {
	Rows []struct {
		IDs    []int32              `json:"ids"`
		Inputs map[string][]float32 `json:"inputs"`
	}
	Logprobs          [][]float32
	Forward, Backward []byte
	Passed            []byte
	PassedInChunks    []byte `json:"passed_in_chunks"`
	PassedBFloat16    []byte `json:"passed_bfloat16"`
	Sampled           []byte
}

func readWire(t *testing.T) (w wire) {
	t.Helper()
	text, err := os.ReadFile("testdata/wire.json")
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWireIsTheSDKs(t *testing.T) {
	w := readWire(t)
	p := pass{model: "model-1", seq: 300}
	for _, r := range w.Rows {
		p.rows = append(p.rows, Row(r))
	}
	for loss, want := range map[string][]byte{crossEntropy: w.Forward, importanceSampling: w.Backward} {
		p.loss, p.forwardOnly = loss, loss == crossEntropy
		if got := p.encode(); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x, the SDK has\n%x", loss, got, want)
		}
	}
	for name, text := range map[string][]byte{"passed": w.Passed, "passed in chunks": w.PassedInChunks,
		"passed as bfloat16": w.PassedBFloat16} {
		got, err := decodePassed(text)
		if err != nil || !slices.EqualFunc(got.logprobs, w.Logprobs, slices.Equal) {
			t.Errorf("%s: %v, %v; want %v", name, got.logprobs, err, w.Logprobs)
		}
	}
	got, err := decodeSampled(w.Sampled)
	want := []sampled{{true, []int32{5, 260000}, []float32{-0.5, -1.5}}, {false, []int32{7}, nil}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sampled: %v, %v; want %v", got, err, want)
	}
}

// What is cut anywhere is an error or a shorter message, and never ends the process.
func TestCutMessages(t *testing.T) {
	w := readWire(t)
	for n := range w.Passed {
		if p, err := decodePassed(w.Passed[:n]); err == nil && len(p.logprobs) > len(w.Logprobs) {
			t.Errorf("%d bytes: %v", n, p)
		}
	}
	for n := range w.Sampled {
		if s, err := decodeSampled(w.Sampled[:n]); err == nil && len(s) > 2 {
			t.Errorf("%d bytes: %v", n, s)
		}
	}
	tensor := encodeTensor(nil, typeFloat32, 0)
	for _, offsets := range [][]byte{{1}, bytes.Repeat([]byte{0xff}, 16), encodeInt32([]int32{0, 0, 8, 0})} {
		if rows, err := decodeBatched(appendBytes(tensor, 2, offsets)); err == nil {
			t.Errorf("offsets %x gave %v", offsets, rows)
		}
	}
}

// Each request in JSON that is made is one that the SDK's own types took (testdata/make_wire.py).
func TestRequestsAreTheSDKs(t *testing.T) {
	b := open(t, tinkertest.Options{}, Sum)
	asked := map[string][]any{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		body, _ := io.ReadAll(r.Body)
		var seen any
		if json.Unmarshal(body, &seen) == nil && len(asked[name]) < 2 && name != "session_heartbeat" {
			asked[name] = append(asked[name], seen)
		}
		q, _ := http.NewRequest(r.Method, b.URL+r.URL.Path, bytes.NewReader(body))
		q.Header = r.Header
		a, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Error(err)
			return
		}
		defer a.Body.Close()
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.StatusCode)
		_, _ = io.Copy(w, a.Body)
	}))
	defer front.Close()
	ctx := context.Background()
	c, err := Open(ctx, Options{URL: front.URL, BackOff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	beat, _ := json.Marshal(object{"session_id": c.session, "type": "session_heartbeat"})
	var body any
	_ = json.Unmarshal(beat, &body)
	asked["session_heartbeat"] = []any{body}
	x, err := New(ctx, c, lora, Habits{Reduction: Sum})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.HoldReference(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Gradient(ctx, steps()[0], objectives()["loss dapo"]); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Apply(update); err != nil {
		t.Fatal(err)
	}
	path, err := x.Publish()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSampler(c, 30, 60)
	if err := s.Hold(ctx, path, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(ctx, policy.Request{Prompt: []int32{4, 9}, Sampling: policy.Sampling{Temperature: 1, TopK: 5,
		TopP: 0.5, MaxTokens: 3, StopIDs: []int32{59}}}); err != nil {
		t.Fatal(err)
	}
	x.Close()
	text, err := json.MarshalIndent(asked, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = unnamed(x, text)
	if *rewrite {
		if err := os.WriteFile("testdata/ours.json", append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/ours.json")
	if err != nil || string(want) != string(text)+"\n" {
		t.Errorf("%v: the requests are not those of testdata/ours.json, which -update writes: make_wire.py in "+
			"testdata must take them then", err)
	}
}

// unnamed replaces what is drawn in names.
func unnamed(x *Trainer, text []byte) []byte {
	for _, path := range []string{x.state.Reference, x.published} {
		name := path[strings.LastIndex(path, "-")+1:]
		text = bytes.ReplaceAll(text, []byte(name), []byte("XXXXXXXX"))
	}
	return text
}

// The ways in which a server says that something is not there, lost or failed.
func TestFutures(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string // to questions for the future: a status, and a body
		begun   int      // how often what begins it is asked for
		want    string   // of the error; "": none
		code    fault.Code
	}{
		"try again": {[]string{`200 {"type": "try_again", "queue_state": "active"}`, `200 {"model_id": "m"}`}, 1, "",
			0},
		"late":      {[]string{`408 {}`, `200 {"model_id": "m"}`}, 1, "", 0},
		"gone":      {[]string{`410 {}`, `200 {"model_id": "m"}`}, 2, "", 0},
		"down":      {[]string{`503 {}`, `502 {}`, `200 {"model_id": "m"}`}, 1, "", 0},
		"the user":  {[]string{`200 {"error": "rank 999", "category": "user"}`}, 1, "rank 999 user", fault.CodeError},
		"refused":   {[]string{`400 {"detail": "rank 9"}`}, 1, "rank 9", fault.CodeError},
		"a number":  {[]string{`409 {"detail": "reused"}`}, 1, "reused", fault.CodeError},
		"no key":    {[]string{`401 {"detail": "sesame"}`}, 1, "trainer.key_env", fault.CodeUsage},
		"dead":      {[]string{`500 {"detail": "sesame"}`}, 1, "status 500", fault.CodeUnavailable},
		"nameless":  {[]string{`200 {}`}, 1, "model_id", fault.CodeUnavailable},
		"malformed": {[]string{`200 [`}, 1, "unexpected end", fault.CodeUnavailable},
	} {
		asked, begun := 0, 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-API-Key") != "sesame" {
				t.Errorf("%s: the key is %q", name, r.Header.Get("X-API-Key"))
			}
			switch strings.TrimPrefix(r.URL.Path, "/api/v1/") {
			case "get_server_capabilities":
				fmt.Fprint(w, `{"supported_models": [{"model_name": "base"}]}`)
			case "create_session":
				fmt.Fprint(w, `{"session_id": "s"}`)
			case "retrieve_future":
				answer := c.answers[min(asked, len(c.answers)-1)]
				asked++
				status, body, _ := strings.Cut(answer, " ")
				code := 0
				_, _ = fmt.Sscan(status, &code)
				w.WriteHeader(code)
				fmt.Fprint(w, body)
			default:
				begun++
				fmt.Fprint(w, `{"request_id": 7}`)
			}
		}))
		x, err := Open(context.Background(), Options{URL: s.URL + "/api/v1/", Key: "sesame", BackOff: time.Millisecond,
			Retries: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.create(context.Background(), lora)
		f, _ := errors.AsType[*fault.Error](err)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "sesame") || f == nil || f.Code != c.code) || begun != c.begun {
			t.Errorf("%s: begun %d times, %v", name, begun, err)
		}
		x.Close()
		s.Close()
	}
}
