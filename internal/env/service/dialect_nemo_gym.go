package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/serve"
)

// NeMo Gym 0.4 (nemo_gym/base_resources_server.py): a resources server. A row seeds a session, which a cookie or a
// token names; tools are called over MCP or by a request for each; verify has the row and the policy's response, and
// gives all back with the reward. Nothing ends a session but time.
//
// There is no reward that is none. So the dialect is served twice: under GymPath verify fails where the episode says
// nothing of the policy, which verifiers takes for a rollout to skip; under MaskedPath it answers with mask_sample,
// which newer NeMo Gym and NeMo RL look at. NeMo Gym's own agents know a server by host and port alone, so the routes
// of GymPath are at the root, too, but for MCP, which OpenEnv has there.
const (
	GymPath    = "/gym"
	MaskedPath = "/gym-masked"

	gymToken  = "X-NeMo-Gym-Session-Token"
	gymCookie = "session"
)

func (s *Server) nemoGymRoutes() (list []serve.Route) {
	for path, masks := range map[string]bool{"": false, GymPath: false, MaskedPath: true} {
		list = append(list,
			serve.Route{Method: "POST", Path: path + "/seed_session", Handle: s.seeding(path != "")},
			serve.Route{Method: "POST", Path: path + "/verify", Handle: s.verifying(masks)},
			serve.Route{Method: "POST", Path: path + "/aggregate_metrics", Handle: aggregateMetrics},
			serve.Route{Method: "POST", Path: path + "/{tool}", Handle: s.callByRequest})
		if s.o.MCP != nil && path != "" {
			handler := s.o.MCP(func(r *http.Request) Callable {
				return gymCalls{s.table.find(r.Header.Get(gymToken)), r.Context()}
			})
			for _, method := range []string{"POST", "GET", "DELETE"} {
				list = append(list, serve.Route{Method: method, Path: path + "/mcp", Handle: handler.ServeHTTP})
			}
		}
	}
	return list
}

// ReservedNames are the names under which NeMo Gym's requests have something else than a tool.
func ReservedNames() []string { return []string{"seed_session", "verify", "aggregate_metrics", "mcp"} }

func gymRefusal(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, object{"detail": err.Error()})
}

// atRoot are names under which a request at the root has something else than a tool.
func atRoot() []string {
	return []string{"create", "create_session", "delete", "delete_session", "ping", "reset", "step"}
}

func callableAtRoot(tools []chat.Tool) error {
	for _, t := range tools {
		if slices.Contains(atRoot(), t.Name) {
			return fmt.Errorf("the tool %s has a name that the root has for itself; speak MCP to %s", t.Name, GymPath)
		}
	}
	return nil
}

func (s *Server) seeding(mcp bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.seedSession(w, r, mcp) }
}

// seedSession begins the episode of a row, and answers when its servers are open: a failure then costs no sampling.
// Without MCP each tool must be one that a request at the root calls.
func (s *Server) seedSession(w http.ResponseWriter, r *http.Request, mcp bool) {
	var row struct {
		Metadata Ask `json:"verifier_metadata"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&row); err != nil {
		gymRefusal(w, http.StatusUnprocessableEntity, fault.JSON(err))
		return
	}
	one, err := s.tasks.choose(row.Metadata)
	var e *session
	if err == nil {
		e, err = s.table.begin(r.Context(), one)
	}
	if err == nil {
		err = e.awaitOpen(r.Context())
	}
	if err == nil && !mcp {
		if err = callableAtRoot(e.Tools()); err != nil {
			e.close(errGone)
		}
	}
	if err != nil {
		s.table.measureRefusal(err)
		status := http.StatusServiceUnavailable
		if isAsk(err) {
			status = http.StatusBadRequest
		}
		gymRefusal(w, status, err)
		return
	}
	keepSession(w, e)
	answer := object{}
	if s.o.MCP != nil && mcp {
		answer["mcp"] = object{"server_name": EnvironmentName, "url_path": "/mcp", "transport": "http",
			"headers": map[string]string{gymToken: e.id}}
	}
	writeJSON(w, http.StatusOK, answer)
}

// awaitOpen waits for the session's servers. Where they do not open, or the client goes, the session ends.
func (e *session) awaitOpen(ctx context.Context) error {
	if err := e.enter(ctx); err != nil {
		e.close(errGone)
		return err
	}
	over := e.over
	e.leave()
	if over == nil {
		return nil
	}
	e.close(errGone)
	return errors.New(cmp.Or(over.Error, string(over.Outcome)))
}

// gymSession is the session of a request, by its cookie or its token. Where there is none the request has its answer.
func (s *Server) gymSession(w http.ResponseWriter, r *http.Request) *session {
	id := r.Header.Get(gymToken)
	if cookie, err := r.Cookie(gymCookie); err == nil && id == "" {
		id = cookie.Value
	}
	e := s.table.find(id)
	if e == nil {
		gymRefusal(w, http.StatusNotFound, errNoSession)
		return nil
	}
	keepSession(w, e)
	return e
}

// keepSession names the session in an answer. Each one does, since NeMo Gym's simple agent sends the cookies of the
// last answer, and no others.
func keepSession(w http.ResponseWriter, e *session) {
	http.SetCookie(w, &http.Cookie{Name: gymCookie, Value: e.id, Path: "/", HttpOnly: true})
}

var errNoSession = errors.New("there is no such session: none was seeded, or it was idle for too long")

// callByRequest makes a call whose arguments are the body. The answer is the text that the policy is shown.
func (s *Server) callByRequest(w http.ResponseWriter, r *http.Request) {
	e := s.gymSession(w, r)
	if e == nil {
		return
	}
	arguments, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		gymRefusal(w, http.StatusBadRequest, err)
		return
	}
	text, _ := gymCalls{e, r.Context()}.CallTool(r.Context(),
		chat.ToolCall{Name: r.PathValue("tool"), Arguments: cmp.Or(strings.TrimSpace(string(arguments)), "{}")})
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// gymCalls is a session as one request sees it; nil: there is none. A client that gets an error in place of a result
// makes the call again, so none is one.
type gymCalls struct {
	session *session
	request context.Context
}

// Tools implements Callable.
func (g gymCalls) Tools() []chat.Tool {
	if g.session == nil {
		return nil
	}
	return g.session.Tools()
}

// CallTool implements Callable.
func (g gymCalls) CallTool(_ context.Context, c chat.ToolCall) (text string, failed bool) {
	if g.session == nil {
		return "Error: " + errNoSession.Error(), true
	}
	got, err := g.session.call(g.request, "", c)
	if err != nil {
		return "Error: " + err.Error(), true
	}
	return textOf(got)
}

// textOf is an answer for a policy; failed says that it is no result of the tool.
func textOf(a answer) (text string, failed bool) {
	switch {
	case a.result == nil:
		return "Error: the episode is over", true
	case a.result.Status == trajectory.CallTimeout || a.result.Status == trajectory.CallTransportError:
		return "Error: no answer; the episode is over", true
	}
	return a.result.Text, a.result.Status != trajectory.CallOK
}

// gymResponse is what is read of a Response of OpenAI.
type gymResponse struct {
	Response struct {
		Status string `json:"status"`
		Output []struct {
			Type    string `json:"type"`
			Role    string `json:"role"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"output"`
	} `json:"response"`
}

// lastWords are the texts behind the last call.
func (g gymResponse) lastWords() string {
	var words []string
	for _, item := range slices.Backward(g.Response.Output) {
		if item.Type != "message" && item.Type != "reasoning" {
			break
		}
		if item.Type == "message" {
			var text strings.Builder
			for _, part := range item.Content {
				text.WriteString(part.Text)
			}
			words = append(words, text.String())
		}
	}
	slices.Reverse(words)
	return strings.Join(words, "\n")
}

// verifying ends an episode with the last words of the policy's response, and answers with its reward. Asked again, it
// answers the same.
func (s *Server) verifying(masks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e := s.gymSession(w, r)
		if e == nil {
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		all, said := map[string]json.RawMessage{}, gymResponse{}
		if err == nil {
			err = errors.Join(json.Unmarshal(body, &all), json.Unmarshal(body, &said))
		}
		if err != nil {
			gymRefusal(w, http.StatusUnprocessableEntity, fault.JSON(err))
			return
		}
		stop := trajectory.StopReason("")
		if said.Response.Status == "incomplete" {
			stop = trajectory.StopMaxTokens
		}
		over, err := e.say(r.Context(), said.lastWords(), stop)
		switch {
		case err != nil:
			gymRefusal(w, http.StatusServiceUnavailable, err)
		case over.Reward == nil && !masks:
			gymRefusal(w, http.StatusServiceUnavailable, errors.New(string(over.Outcome)+": "+over.Error))
		default:
			writeJSON(w, http.StatusOK, gymVerdict(all, over))
		}
	}
}

// gymVerdict is the body that came with the verdict. Terms stand beside the reward too, each a number of its own, which
// verifiers counts.
func gymVerdict(body map[string]json.RawMessage, over *Verdict) object {
	answer := object{}
	for name, value := range body {
		answer[name] = value
	}
	answer["reward"], answer["mask_sample"], answer["reward_components"] = 0.0, !over.Trainable, over.Terms
	if over.Reward == nil {
		answer["failure_kind"], answer["failure_reason"] = over.Outcome, over.Error
		return answer
	}
	answer["reward"] = *over.Reward
	for _, name := range slices.Sorted(maps.Keys(over.Terms)) {
		answer["hone_"+name] = over.Terms[name]
	}
	return answer
}

// aggregateMetrics has the mean reward of the episodes that count.
func aggregateMetrics(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Responses []struct {
			Reward float64 `json:"reward"`
			Masked bool    `json:"mask_sample"`
		} `json:"verify_responses"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16*maxMessage)).Decode(&q); err != nil {
		gymRefusal(w, http.StatusUnprocessableEntity, fault.JSON(err))
		return
	}
	sum, n := 0.0, 0
	for _, x := range q.Responses {
		if !x.Masked {
			sum, n = sum+x.Reward, n+1
		}
	}
	m := object{"masked": len(q.Responses) - n}
	if n > 0 {
		m["mean/reward"] = sum / float64(n)
	}
	writeJSON(w, http.StatusOK, object{"group_level_metrics": []object{}, "agent_metrics": m, "key_metrics": m})
}
