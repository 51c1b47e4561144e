package tinker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Remote is an adapter with its optimiser at a server. Its requests are numbered, in the order in which they act.
type Remote struct {
	*Client
	id  string
	seq int
}

// LoRA is the shape of an adapter that a server makes. Its alpha is the server's own; 32 where it is the API's.
type LoRA struct {
	Rank int
	Seed uint64
}

// create makes an adapter.
func (c *Client) create(ctx context.Context, l LoRA) (*Remote, error) {
	var told struct {
		ID string `json:"model_id"`
	}
	err := c.beginJSON(ctx, "create_model", object{"session_id": c.session, "model_seq_id": c.models.Add(1) - 1,
		"base_model": c.base, "type": "create_model", "lora_config": object{"rank": l.Rank,
			"seed": l.Seed % (1 << 31), "train_unembed": false, "train_mlp": true, "train_attn": true}}, &told)
	if err == nil && told.ID == "" {
		err = c.refusal("made no model", errors.New("the answer names no model_id"))
	}
	return &Remote{Client: c, id: told.ID}, err
}

// restore makes an adapter of what a save left at a path; optimizer says whether its moments come too.
func (c *Client) restore(ctx context.Context, l LoRA, path string, optimizer bool) (*Remote, error) {
	m, err := c.create(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := c.beginJSON(ctx, "load_weights", object{"model_id": m.id, "seq_id": m.next(), "path": path,
		"optimizer": optimizer, "type": "load_weights"}, nil); err != nil {
		m.unload(ctx)
		return nil, err
	}
	return m, nil
}

func (m *Remote) next() int { m.seq++; return m.seq }

// unloadTime is how long a server is asked to free a place: a run that is stopped does not wait longer.
const unloadTime = 20 * time.Second

// unload frees the adapter's place at the server. A server that is gone has none, and one that does not answer frees it
// when the session has ended.
func (m *Remote) unload(ctx context.Context) {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unloadTime)
	defer cancel()
	_ = m.beginJSON(ctx, "unload_model", object{"model_id": m.id, "type": "unload_model"}, nil)
}

// pass computes rows under a loss, and returns the logprobs of each row's IDs but the first. Unless it is forward only,
// the gradient is added to those that the next step takes.
func (m *Remote) pass(ctx context.Context, loss string, rows []Row, forwardOnly bool) ([][]float32, error) {
	body := pass{model: m.id, seq: m.next(), rows: rows, loss: loss, forwardOnly: forwardOnly}.encode()
	a, err := m.begin(ctx, "forward_backward", protoType, body)
	if err != nil {
		return nil, err
	}
	p, err := decodePassed(a.body)
	if err == nil && !strings.HasPrefix(a.kind, protoType) {
		err = fmt.Errorf("the answer is %q", a.kind)
	}
	if err == nil && len(p.logprobs) != len(rows) {
		err = fmt.Errorf("%d rows have logprobs of %d", len(rows), len(p.logprobs))
	}
	for i := 0; err == nil && i < len(rows); i++ {
		if n := len(p.logprobs[i]); n != len(rows[i].IDs)-1 {
			err = fmt.Errorf("row %d has %d logprobs for %d tokens", i, n, len(rows[i].IDs)-1)
		}
	}
	if err != nil {
		return nil, m.refusal("answered forward_backward with what is no pass", err)
	}
	return p.logprobs, nil
}

// adam is how a step is taken.
type adam struct{ rate, beta1, beta2, epsilon, decay, maxNorm float64 }

// step takes an optimiser step along the gradients since the last. The norm is NaN where the server tells none.
func (m *Remote) step(ctx context.Context, a adam) (norm float64, err error) {
	var told struct {
		Metrics map[string]float64 `json:"metrics"`
	}
	err = m.beginJSON(ctx, "optim_step", object{"model_id": m.id, "seq_id": m.next(), "type": "optim_step",
		"adam_params": object{"learning_rate": a.rate, "beta1": a.beta1, "beta2": a.beta2, "eps": a.epsilon,
			"weight_decay": a.decay, "grad_clip_norm": a.maxNorm}}, &told)
	norm = math.NaN()
	for name, x := range told.Metrics {
		if name == "grad_norm" || strings.HasSuffix(name, "/grad_norm") {
			norm = x
		}
	}
	return norm, err
}

// save keeps weights and moments at the server, under a name that is new, and returns their path.
func (m *Remote) save(ctx context.Context, name string) (path string, err error) {
	return m.keep(ctx, "save_weights", name)
}

// publish keeps the weights as samplers take them.
func (m *Remote) publish(ctx context.Context, name string) (path string, err error) {
	return m.keep(ctx, "save_weights_for_sampler", name)
}

func (m *Remote) keep(ctx context.Context, how, name string) (string, error) {
	var told struct {
		Path string `json:"path"`
	}
	err := m.beginJSON(ctx, how, object{"model_id": m.id, "seq_id": m.next(), "path": name, "type": how}, &told)
	if err == nil && !strings.HasPrefix(told.Path, scheme) {
		err = m.refusal("kept no weights", fmt.Errorf("it names the path %q", told.Path))
	}
	return told.Path, err
}

// scheme is what paths at a server begin with.
const scheme = "tinker://"

// archive writes the adapter that publish left at a path into a folder, in PEFT's form. The server sends it, or says
// where it is.
func (c *Client) archive(ctx context.Context, at, dir string) error {
	model, name, _ := strings.Cut(strings.TrimPrefix(at, scheme), "/")
	a, err := c.request(ctx, http.MethodGet, fmt.Sprintf("training_runs/%s/checkpoints/%s/archive",
		url.PathEscape(model), url.PathEscape(path.Base(name))), "", nil, "")
	for hops := 0; err == nil && a.location != "" && hops < 5; hops++ {
		to, failed := url.Parse(a.location)
		if failed != nil {
			err = failed
			break
		}
		if !to.IsAbs() {
			base, _ := url.Parse(c.o.URL) // Open parsed it
			to = base.ResolveReference(to)
		}
		a, err = c.request(ctx, http.MethodGet, to.String(), "", nil, "")
	}
	if err == nil {
		err = unpack(a.body, dir)
	}
	if err != nil {
		return c.refusal("gives no archive of the adapter "+at, err)
	}
	return nil
}

// unpack writes the files of an adapter that an archive has, whatever folder they lie in there.
func unpack(archive []byte, dir string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	missing := map[string]bool{"adapter_config.json": true, "adapter_model.safetensors": true}
	for files := tar.NewReader(zipped); ; {
		f, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := path.Base(f.Name)
		if f.Typeflag != tar.TypeReg || !missing[name] {
			continue
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return err
		}
		delete(missing, name)
	}
	for name := range missing {
		return fmt.Errorf("the archive has no %s", name)
	}
	return nil
}
