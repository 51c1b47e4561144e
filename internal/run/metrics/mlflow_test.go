package metrics

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var mlflowServer = flag.String("mlflow", "",
	"URL of a real tracking server: what it is asked and answers is recorded as testdata/mlflow/contract.json")

const mlflowContract = "testdata/mlflow/contract.json"

// exchange is one request of the contract and its answer.
type exchange struct {
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request,omitempty"`
	Status  int             `json:"status"`
	Answer  json.RawMessage `json:"answer"`
}

// recorder keeps what goes over the wire.
type recorder struct{ list []exchange }

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	q.Body = io.NopCloser(bytes.NewReader(asked))
	answer, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(text))
	r.list = append(r.list, exchange{q.Method, q.URL.RequestURI(), steady(asked), answer.StatusCode, steady(text)})
	return answer, err
}

// steady is a body without what differs each time.
func steady(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	for pattern, with := range map[string]string{
		`"[0-9a-f]{32}"`: `"RUN"`, `"(end_time|creation_time|last_update_time)": ?[0-9]+`: `"$1": 1`,
		`"experiment_id": ?"[0-9]+"`:          `"experiment_id": "7"`,
		`"artifact_(uri|location)": ?"[^"]*"`: `"artifact_$1": "A"`, `"user_id": ?"[^"]*"`: `"user_id": "U"`,
		`"run_uuid": ?"[^"]*"`: `"run_uuid": "RUN"`,
	} {
		body = regexp.MustCompile(pattern).ReplaceAll(body, []byte(with))
	}
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return json.RawMessage(fmt.Sprintf("%q", body))
	}
	return out.Bytes()
}

// driveMLflow tracks a run that is stopped and goes on, as hone does.
func driveMLflow(t *testing.T, o MLflowOptions) {
	t.Helper()
	at := time.UnixMilli(1_700_000_000_123)
	o.Experiment, o.Name, o.Main, o.Began = "hone contract", "run1", "grpo", at
	o.Params = map[string]string{"grpo.steps": "4", "model.base": "toy",
		"rollout.system": strings.Repeat("é", mostValue+1)}
	row := func(stage string, step int, values map[string]float64) Row {
		return Row{Stage: stage, Step: step, At: at.Add(time.Duration(step) * time.Second), Values: values}
	}
	file := filepath.Join(t.TempDir(), "mlflow.json")
	warn := func(text string) { t.Error(text) }
	f := Follow("mlflow", file, NewMLflow(o), []Row{
		row("grpo", 0, map[string]float64{"reward": 0.5, "rewards/c(x)/mean": -1}), row("grpo", 1,
			map[string]float64{"reward": 0.625})}, warn)
	f.Close(Stopped)
	f = Follow("mlflow", file, NewMLflow(o), []Row{
		row("grpo", 0, map[string]float64{"reward": 0.5}), row("grpo", 1, map[string]float64{"reward": 0.625}),
		row("validation", 2, map[string]float64{"success": 1, "eval_loss": 1e-9}), row("grpo", 2,
			map[string]float64{"reward": 2})}, warn)
	f.Close(Finished)
}

// What is asked is what a real tracking server was seen to take, and its answers are understood. make parity records it
// anew and looks at what the server then has (testdata/mlflow/parity.py).
func TestContract(t *testing.T) {
	if *mlflowServer != "" {
		r := &recorder{}
		driveMLflow(t, MLflowOptions{URL: *mlflowServer, Client: &http.Client{Transport: r}})
		text, err := json.MarshalIndent(r.list, "", " ")
		if err == nil {
			err = os.WriteFile(mlflowContract, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(mlflowContract)
	if err != nil {
		t.Fatal(err)
	}
	var list []exchange
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	recorded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(q.Body)
		if n == len(list) {
			t.Errorf("one request too many: %s", q.URL)
			return
		}
		want := list[n]
		n++
		if got := (exchange{q.Method, q.URL.RequestURI(), steady(body), want.Status,
			want.Answer}); got.Method != want.Method || got.Path != want.Path || !sameJSON(got.Request, want.Request) {
			t.Errorf("request %d is %s %s %s\nrecorded is %s %s %s",
				n, got.Method, got.Path, got.Request, want.Method, want.Path, want.Request)
		}
		w.WriteHeader(want.Status)
		_, _ = w.Write(want.Answer)
	}))
	defer recorded.Close()
	driveMLflow(t, MLflowOptions{URL: recorded.URL + "/"})
	if n != len(list) || n < 8 {
		t.Errorf("%d of %d requests were made", n, len(list))
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// A server that was emptied gets a new run, one that refuses says why, and a redirect does not get the token.
func TestServersThatRefuse(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	status, body := 200, `{}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.URL.Path+" "+q.Header.Get("Authorization"))
		switch {
		case strings.HasSuffix(q.URL.Path, "runs/update") && status == 200:
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "gone"}`))
		case strings.HasSuffix(q.URL.Path, "runs/create") && status == 200:
			_, _ = w.Write([]byte(`{"run": {"info": {"run_id": "new"}}}`))
		default:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}))
	defer s.Close()
	x := NewMLflow(MLflowOptions{URL: s.URL, Token: "sesame", Experiment: "e"})
	if id, err := x.Open(t.Context(), "old"); id != "new" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if !slices.Contains(asked, "/api/2.0/mlflow/runs/update Bearer sesame") {
		t.Errorf("%q", asked)
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{302, "", "status 302"},
		{403, `{"error_code": "PERMISSION_DENIED", "message": "no"}`, "status 403, PERMISSION_DENIED: no"},
		{500, "<html>", "status 500"},
	} {
		mu.Lock()
		asked, status, body = nil, c.status, c.body
		mu.Unlock()
		if _, err := x.Open(t.Context(), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v", c.status, err)
		}
		if len(asked) != 1 {
			t.Errorf("%q", asked)
		}
	}
}

// A server that does not take a parameter, as those before 2.3 take no long one, gets the rest and all metrics; and one
// that fails in between has no run made twice.
func TestParametersThatAreRefused(t *testing.T) {
	var mu sync.Mutex
	var made, failures, rows int
	params := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var b logBatch
		if err := json.NewDecoder(q.Body).Decode(&b); err != nil && q.Method == http.MethodPost {
			t.Error(err)
		}
		switch {
		case strings.HasSuffix(q.URL.Path, "get-by-name"):
			_, _ = io.WriteString(w, `{"experiment": {"experiment_id": "7"}}`)
		case strings.HasSuffix(q.URL.Path, "runs/create"):
			made++
			_, _ = fmt.Fprintf(w, `{"run": {"info": {"run_id": "run%d"}}}`, made)
		case len(b.Params) > 0 && failures == 0:
			failures++
			w.WriteHeader(503)
		case slices.ContainsFunc(b.Params, func(p param) bool { return len(p.Value) > 500 }):
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error_code": "INVALID_PARAMETER_VALUE", "message": "had length 501, which exceeded length limit of 500"}`)
		default:
			for _, p := range b.Params {
				params[p.Key] = true
			}
			rows += len(b.Metrics)
			_, _ = io.WriteString(w, `{}`)
		}
	}))
	defer s.Close()
	var warned []string
	x := NewMLflow(MLflowOptions{
		URL:        s.URL,
		Experiment: "e",
		Main:       "grpo",
		Params:     map[string]string{"a": "1", "rollout.system": strings.Repeat("x", 501), "z": "2"},
		Warn:       func(text string) { warned = append(warned, text) },
	})
	if id, err := x.Open(t.Context(), ""); err == nil {
		t.Errorf("%q, and the server failed", id)
	}
	if id, err := x.Open(t.Context(), ""); id != "run1" || err != nil || made != 1 {
		t.Errorf("%q, %v, %d runs made", id, err, made)
	}
	if err := x.Send(t.Context(),
		[]Row{{Stage: "grpo", Values: map[string]float64{"reward": 1}}}); err != nil || rows != 1 {
		t.Errorf("%v, %d rows", err, rows)
	}
	if !params["a"] || !params["z"] || len(params) != 2 || len(warned) != 1 ||
		!strings.Contains(warned[0], "rollout.system") || !strings.Contains(warned[0], "limit of 500") {
		t.Errorf("parameters %v, warned of %q", params, warned)
	}
}
