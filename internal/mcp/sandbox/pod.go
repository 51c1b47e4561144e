package sandbox

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Pod says what runs one server for one session. Its texts go to Kubernetes as they stand: no variable of hone's is put
// into them, since what is secret belongs into Secret.
type Pod struct {
	Image   string            `json:"image,omitempty"` // of a server that speaks MCP over HTTP
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Secret  string            `json:"secret,omitempty"`       // a Secret whose keys are variables too
	Memory  string            `json:"memory,omitempty"`       // at most, and kept for it; default 256Mi
	CPU     string            `json:"cpu,omitempty"`          // kept for it; default 100m
	Runtime string            `json:"runtimeClass,omitempty"` // a RuntimeClass that isolates more, such as gvisor

	// Pool is a SandboxWarmPool of agent-sandbox, of which sessions claim pods. Without it each session makes a pod.
	Pool string `json:"pool,omitempty"`
}

// Labels by which NetworkPolicies choose the pods of sessions.
const (
	ServerLabel    = "hone/server"
	ComponentLabel = "app.kubernetes.io/component"
	Component      = "mcp-server"
)

// PodLabels are those of the pods of a server.
func PodLabels(server string) map[string]string {
	return map[string]string{ServerLabel: labelOf(server), ComponentLabel: Component}
}

// Lifetime is after how long a pod ends that nobody has deleted, since hone was killed.
const Lifetime = 4 * time.Hour

// object is a JSON object.
type object = map[string]any

// Spec is the PodSpec of a server that listens on a port. It may not become root, has no token of the cluster's and no
// capability, and ends with the session: it is not started again.
func (p Pod) Spec(port int) map[string]any {
	memory, cpu := cmp.Or(p.Memory, "256Mi"), cmp.Or(p.CPU, "100m")
	server := object{
		"name": "server", "image": p.Image, "ports": []any{object{"containerPort": port}},
		"readinessProbe":  object{"tcpSocket": object{"port": port}, "periodSeconds": 1, "failureThreshold": 300},
		"resources":       object{"requests": object{"cpu": cpu, "memory": memory}, "limits": object{"memory": memory}},
		"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}}},
		"volumeMounts":    []any{object{"name": "tmp", "mountPath": "/tmp"}},
	}
	if len(p.Args) > 0 {
		server["args"] = p.Args
	}
	var env []any
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, object{"name": name, "value": p.Env[name]})
	}
	if env != nil {
		server["env"] = env
	}
	if p.Secret != "" {
		server["envFrom"] = []any{object{"secretRef": object{"name": p.Secret}}}
	}
	spec := object{
		"automountServiceAccountToken":  false,
		"enableServiceLinks":            false,
		"restartPolicy":                 "Never",
		"terminationGracePeriodSeconds": 2,
		"securityContext": object{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
			"seccompProfile": object{"type": "RuntimeDefault"}},
		"containers": []any{server},
		"volumes":    []any{object{"name": "tmp", "emptyDir": object{}}},
	}
	if p.Runtime != "" {
		spec["runtimeClassName"] = p.Runtime
	}
	return spec
}
