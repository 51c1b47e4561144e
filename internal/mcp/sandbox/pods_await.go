package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// state is what the cluster says of a Pod or a SandboxClaim.
type state struct {
	Metadata struct{ DeletionTimestamp string }
	Status   struct {
		Phase, Reason, Message string
		PodIP                  string
		Sandbox                struct{ PodIPs []string }
		Conditions             []struct{ Type, Status, Reason, Message string }
		ContainerStatuses      []struct {
			State struct {
				Waiting, Terminated *struct{ Reason, Message string }
			}
		}
	}
}

// hopeless are the reasons after which a pod or a claim never gets ready.
func hopeless() []string {
	return []string{
		"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", // of containers
		"TemplateNotFound", "WarmPoolNotFound", "InvalidMetadata", "EnvVarsInjectionRejected",
		"VolumeClaimTemplatesError", "ClaimExpired", "SandboxExpired", // of claims
	}
}

// read says at which address a pod is ready, else why not, and whether there is no hope.
func (s state) read() (address, why string, over bool) {
	if s.Metadata.DeletionTimestamp != "" {
		return "", "it is being deleted", true
	}
	note := func(reason, message string) {
		switch {
		case reason == "" || over:
			return
		case message == "":
			why = reason
		default:
			why = reason + ": " + message
		}
		over = slices.Contains(hopeless(), reason)
	}
	ready := false
	for _, c := range s.Status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
		if c.Status != "True" {
			note(c.Reason, c.Message)
		}
	}
	for _, c := range s.Status.ContainerStatuses {
		for _, x := range []*struct{ Reason, Message string }{c.State.Waiting, c.State.Terminated} {
			if x != nil {
				note(x.Reason, x.Message)
			}
		}
	}
	if s.Status.Phase == "Failed" || s.Status.Phase == "Succeeded" {
		note(s.Status.Reason, s.Status.Message)
		return "", "it has ended: " + why, true
	}
	for _, ip := range append(s.Status.Sandbox.PodIPs, s.Status.PodIP) {
		if ready && ip != "" {
			return ip, "", false
		}
	}
	return "", why, over
}

// lateError is that a pod did not get ready in time.
type lateError struct {
	after time.Duration // 0: who asked does not want it any more
	why   string
}

func (l *lateError) Error() string {
	text := "it is not ready"
	if l.after > 0 {
		text += fmt.Sprintf(" after %s", l.after)
	}
	if l.why != "" {
		text += ": " + l.why
	}
	return text
}

// await watches an object until it is ready, and returns the pod's address. A watch begins with what the object is, and
// ends after some minutes by itself.
func (c *Cluster) await(ctx context.Context, path, name string) (address string, err error) {
	why := ""
	for {
		over := false
		err := c.do(ctx, http.MethodGet, path+"?watch=1&fieldSelector=metadata.name%3D"+name, nil,
			func(r io.Reader) error {
				for events := json.NewDecoder(r); address == "" && !over; {
					var e struct {
						Type   string
						Object state
					}
					if err := events.Decode(&e); err != nil {
						return nil // the watch has ended
					}
					switch e.Type {
					case "ADDED", "MODIFIED":
						var said string
						if address, said, over = e.Object.read(); said != "" {
							why = said
						}
					case "DELETED":
						why, over = "it was deleted", true
					}
				}
				return nil
			})
		refused, is := errors.AsType[*refusedError](err)
		switch {
		case address != "":
			return address, nil
		case over:
			return "", errors.New(why)
		case is && !refused.passing():
			return "", err
		case err != nil && ctx.Err() == nil:
			why = err.Error()
		}
		if !wait(ctx, c.pause) {
			return "", &lateError{why: why}
		}
	}
}
