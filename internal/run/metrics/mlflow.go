package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MLflowOptions say where a run is tracked, and what is known of it at its beginning.
type MLflowOptions struct {
	URL        string // of the server: http://HOST:PORT
	Token      string // sent as a bearer; "" sends none
	Experiment string // made where it is not there
	Name       string // of the run there
	Main       string // the stage that the run is for
	Began      time.Time
	Params     map[string]string // the configuration
	Client     *http.Client      // nil: one that follows no redirect
	Warn       func(text string) // is told of parameters that the server does not take; nil: nobody is
}

// MLflow implements Tracker. Make one with New.
type MLflow struct {
	o    MLflowOptions
	id   string
	made bool // by an Open that failed afterwards: the run's parameters are not there yet
}

// NewMLflow returns a tracker. Nothing is sent yet.
func NewMLflow(o MLflowOptions) *MLflow {
	if o.Client == nil {
		o.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	return &MLflow{o: o}
}

// Bounds of the API: of one request of log-batch, and of a parameter's value.
const (
	mostMetrics = 1000
	mostParams  = 100
	mostValue   = 6000
	mostAnswer  = 1 << 20
)

type param struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // milliseconds since 1970
	Step      int     `json:"step"`
}

type logBatch struct {
	RunID   string   `json:"run_id"`
	Metrics []metric `json:"metrics,omitempty"`
	Params  []param  `json:"params,omitempty"`
}

// Open implements Tracker.
func (s *MLflow) Open(ctx context.Context, id string) (string, error) {
	if s.made {
		return s.id, s.params(ctx)
	}
	if id != "" {
		err := s.call(ctx, "POST", "runs/update", map[string]any{"run_id": id, "status": "RUNNING"}, nil)
		if err == nil {
			s.id = id
			return id, nil
		}
		if f, ok := err.(*refusal); !ok || f.Code != mlflowMissing {
			return "", err
		}
	}
	experiment, err := s.experiment(ctx)
	if err != nil {
		return "", err
	}
	var made struct {
		Run struct {
			Info struct {
				RunID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	err = s.call(ctx, "POST", "runs/create", map[string]any{
		"experiment_id": experiment, "run_name": s.o.Name, "start_time": s.o.Began.UnixMilli(),
		"tags": []param{{"mlflow.source.name", "hone"}, {"mlflow.source.type", "LOCAL"}},
	}, &made)
	if err == nil && made.Run.Info.RunID == "" {
		err = fmt.Errorf("the answer to runs/create has no run.info.run_id")
	}
	if err != nil {
		return "", err
	}
	s.id, s.made = made.Run.Info.RunID, true
	return s.id, s.params(ctx)
}

// params sends the configuration.
func (s *MLflow) params(ctx context.Context) error {
	var list []param
	for _, key := range slices.Sorted(maps.Keys(s.o.Params)) {
		value := s.o.Params[key]
		if runes := []rune(value); len(runes) > mostValue {
			value = string(runes[:mostValue])
		}
		list = append(list, param{legal(key), value})
	}
	for part := range slices.Chunk(list, mostParams) {
		if err := s.sendParams(ctx, part); err != nil {
			return err
		}
	}
	s.made = false
	return nil
}

// sendParams sends all that the server takes: those before 2.3 take no value of more than 500 characters.
func (s *MLflow) sendParams(ctx context.Context, list []param) error {
	err := s.call(ctx, "POST", "runs/log-batch", logBatch{RunID: s.id, Params: list}, nil)
	switch {
	case !isRefused(err):
		return err
	case len(list) > 1:
		if err := s.sendParams(ctx, list[:len(list)/2]); err != nil {
			return err
		}
		return s.sendParams(ctx, list[len(list)/2:])
	case s.o.Warn != nil:
		s.o.Warn(fmt.Sprintf("mlflow does not take the parameter %s, and the run there goes on without: %v",
			list[0].Key, err))
	}
	return nil
}

// isRefused reports whether a request is refused for what is in it, and would be again.
func isRefused(err error) bool {
	f, ok := err.(*refusal)
	return ok && f.Status == http.StatusBadRequest
}

// experiment is the ID of the experiment, which is made where it is not there.
func (s *MLflow) experiment(ctx context.Context) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	err := s.call(ctx, "GET", "experiments/get-by-name?experiment_name="+url.QueryEscape(s.o.Experiment), nil, &found)
	if err == nil {
		return found.Experiment.ID, nil
	}
	if f, ok := err.(*refusal); !ok || f.Code != mlflowMissing {
		return "", err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = s.call(ctx, "POST", "experiments/create", map[string]any{"name": s.o.Experiment}, &made)
	return made.ID, err
}

// Send implements Tracker.
func (s *MLflow) Send(ctx context.Context, rows []Row) error {
	var list []metric
	for _, r := range rows {
		for _, name := range slices.Sorted(maps.Keys(r.Values)) {
			list = append(list,
				metric{legal(Tag(s.o.Main, r.Stage, name)), r.Values[name], r.At.UnixMilli(), r.Step})
		}
	}
	for part := range slices.Chunk(list, mostMetrics) {
		if err := s.call(ctx, "POST", "runs/log-batch", logBatch{RunID: s.id, Metrics: part}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Tracker.
func (s *MLflow) Close(ctx context.Context, status Status) error {
	word := map[Status]string{Finished: "FINISHED", Failed: "FAILED",
		Stopped: "KILLED"}[status]
	return s.call(ctx, "POST", "runs/update",
		map[string]any{"run_id": s.id, "status": word, "end_time": time.Now().UnixMilli()}, nil)
}

var notInMLflow = regexp.MustCompile(`[^A-Za-z0-9_\-. :/]`)

// legal is a name with the characters alone that MLflow takes.
func legal(name string) string { return notInMLflow.ReplaceAllString(name, "_") }

const mlflowMissing = "RESOURCE_DOES_NOT_EXIST"

// refusal is an error of the server's.
type refusal struct {
	Status  int
	Code    string `json:"error_code"`
	Message string `json:"message"`
	path    string
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s was answered with status %d", r.path, r.Status)
	if r.Code != "" {
		text += fmt.Sprintf(", %s: %s", r.Code, r.Message)
	}
	return text
}

// call asks the server. into is nil where the answer does not matter.
func (s *MLflow) call(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.o.URL, "/")+"/api/2.0/mlflow/"+path,
		bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	answer, err := s.o.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // read to its end
	text, err = io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		f := &refusal{path: path}
		_ = json.Unmarshal(text, f) // what is no JSON has no code
		f.Status = answer.StatusCode
		return f
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
