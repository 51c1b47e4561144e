package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// AccountDir is where Kubernetes puts the token of a pod's service account, the API's certificate and the namespace.
const AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// ErrOutside is that hone does not run in a cluster.
var ErrOutside = errors.New("hone does not run in a pod of a cluster with a service account")

// Cluster makes pods in the namespace that hone runs in, one for each session of a server: one that it makes, or one
// that it claims of a warm pool of kubernetes-sigs/agent-sandbox. It speaks to the API by three plain requests. It may
// be used from many goroutines.
type Cluster struct {
	Patience time.Duration                    // how long a pod may take until it is ready
	Say      func(format string, args ...any) // is told of pods that could not be deleted

	api, namespace, account string
	pause                   time.Duration // before a request is made again
	owner                   []any         // hone's own pod, with which what it makes goes; nil: not known
	http                    *http.Client
}

// InCluster speaks to the API of the cluster that hone runs in, as its service account in dir (AccountDir). The error
// ErrOutside says that there is none. HONE_POD_NAME and HONE_POD_UID name hone's own pod, where they are set.
func InCluster(lookupEnv func(string) (string, bool), dir string) (*Cluster, error) {
	address, there := lookupEnv("KUBERNETES_SERVICE_HOST")
	port, _ := lookupEnv("KUBERNETES_SERVICE_PORT")
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if !there || err != nil {
		return nil, ErrOutside
	}
	certificate, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	transport.Proxy = nil
	transport.ResponseHeaderTimeout = 30 * time.Second
	c := &Cluster{Patience: 3 * time.Minute, pause: time.Second, Say: func(string, ...any) {}, account: dir,
		api:       "https://" + net.JoinHostPort(address, cmp.Or(port, "443")),
		namespace: strings.TrimSpace(string(namespace)), http: &http.Client{Transport: transport}}
	name, _ := lookupEnv("HONE_POD_NAME")
	if uid, _ := lookupEnv("HONE_POD_UID"); name != "" && uid != "" {
		c.owner = []any{object{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}}
	}
	return c, nil
}

// Open makes or claims a pod for one session of a server, and returns its address once it is ready. release deletes it.
// Nothing is left where there is an error: it says what the cluster refused, or for what a pod was waited for in vain.
func (c *Cluster) Open(
	ctx context.Context, server string, p Pod, port int,
) (address string, release func(), err error) {
	name, path, body := c.request(server, p, port)
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	remove := func() { c.remove(context.WithoutCancel(parent), path, name) }
	if err := c.create(ctx, path, body); err != nil {
		remove() // the answer may be lost, and the pod there
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	address, err = c.await(ctx, path, name)
	if err != nil {
		remove()
		if late, is := errors.AsType[*lateError](err); is && parent.Err() == nil {
			late.after = c.Patience
		}
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return net.JoinHostPort(address, fmt.Sprint(port)), remove, nil
}

// request is what to make, and where.
func (c *Cluster) request(server string, p Pod, port int) (name, path string, body any) {
	random := make([]byte, 5)
	_, _ = rand.Read(random) // never fails
	name = labelOf(server) + "-" + hex.EncodeToString(random)
	meta := object{"name": name, "labels": PodLabels(server)}
	if c.owner != nil {
		meta["ownerReferences"] = c.owner
	}
	if p.Pool == "" {
		spec := p.Spec(port)
		spec["activeDeadlineSeconds"] = int(Lifetime.Seconds())
		return name, "/api/v1/namespaces/" + c.namespace + "/pods",
			object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
	}
	return name, "/apis/" + SandboxAPI + "/namespaces/" + c.namespace + "/sandboxclaims",
		object{"apiVersion": SandboxAPI, "kind": "SandboxClaim", "metadata": meta, "spec": object{
			"warmPoolRef": object{"name": p.Pool},
			"lifecycle": object{"shutdownPolicy": "Delete",
				"shutdownTime": time.Now().Add(Lifetime).UTC().Format(time.RFC3339)}}}
}

// SandboxAPI is the group and version of agent-sandbox's claims.
const SandboxAPI = "extensions.agents.x-k8s.io/v1beta1"

// labelOf is a server's name as names and labels of Kubernetes are written, with room for what stands behind it. Where
// that is not the name as it is, a part of its sum tells it from others: two servers are never under one policy.
func labelOf(server string) string {
	text := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(server))
	text = strings.Trim(text[:min(len(text), 31)], "-")
	if text != server {
		sum := sha256.Sum256([]byte(server))
		text = strings.TrimPrefix(text+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	return "mcp-" + text
}

// refusedError is what the API says against a request.
type refusedError struct {
	status int
	text   string
}

func (r *refusedError) Error() string {
	return fmt.Sprintf("the cluster refuses it: HTTP %d: %s", r.status, r.text)
}

// passing reports whether the same request may succeed later.
func (r *refusedError) passing() bool {
	return r.status == http.StatusTooManyRequests || r.status >= 500
}

// create makes an object, again while the API has no answer or no time.
func (c *Cluster) create(ctx context.Context, path string, body any) error {
	for again := false; ; again = true {
		err := c.do(ctx, http.MethodPost, path, body, nil)
		refused, is := errors.AsType[*refusedError](err)
		if err == nil || is && again && refused.status == http.StatusConflict {
			return nil // the request before arrived: nobody else has the name
		}
		if is && !refused.passing() || !wait(ctx, c.pause) {
			return err
		}
	}
}

// remove deletes an object that may not be there.
func (c *Cluster) remove(ctx context.Context, path, name string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := c.do(ctx, http.MethodDelete, path+"/"+name, nil, nil)
		refused, is := errors.AsType[*refusedError](err)
		if err == nil || is && refused.status == http.StatusNotFound {
			return
		}
		if is && !refused.passing() || !wait(ctx, c.pause) {
			c.Say("%s could not be deleted, and ends by itself within %s: %v", name, Lifetime, err)
			return
		}
	}
}

// wait reports whether a time has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// do makes a request, and has read the answer where there is one.
func (c *Cluster) do(ctx context.Context, method, path string, body any, read func(io.Reader) error) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, c.api+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(c.account, "token")) // it is replaced each hour
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		var said struct{ Message string }
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
		if json.Unmarshal(text, &said) != nil || said.Message == "" {
			said.Message = http.StatusText(answer.StatusCode)
		}
		return &refusedError{answer.StatusCode, said.Message}
	}
	if read == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	return read(answer.Body)
}
