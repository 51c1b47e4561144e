package episodes

import (
	"path/filepath"
	"slices"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/llm"
)

// players are the endpoint that plays users, and what it cost.
type players struct {
	client  *llm.Client // nil where the configuration names none
	c       config.UserModel
	keyless error // what is said where its key is missing, once scenarios need it
}

// playersOf opens the endpoint of rollout.user. Its answers are kept in hone's cache folder: systems that say the same
// to a user are told the same, in whichever run, and a resumed run pays for nothing twice.
func playersOf(h *host.Host, c config.Config) (*players, error) {
	u := c.Rollout.User
	if u.URL == "" {
		return &players{}, nil
	}
	store, err := h.Store()
	if err != nil {
		return nil, err
	}
	key, keyless := h.KeyIn(u.KeyEnv, "the model that plays users", "rollout.user",
		"set rollout.user.key_env to another")
	client, err := llm.New(llm.Options{BaseURL: u.URL, Key: llm.Secret(key), TokenBudget: u.TokenBudget,
		CacheDir: filepath.Join(store.Dir, "users")})
	return &players{client, u, keyless}, err
}

// Runnable refuses scenarios whose episodes could not be run: for what the servers lack, or for want of a model that
// plays users.
func (l *Episodes) Runnable(c config.Config, list []scenario.Scenario) error {
	if scenario.NeedUserModel(list) && c.Rollout.User.Model == "" {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "users of the scenarios are to be played by a model, and none is named",
			Where: "rollout.user",
			Next:  `name one in hone.yaml, as rollout: {user: {url: "http://127.0.0.1:8000/v1", model: NAME}} (hone serve is such a server), or give these users "says" in place of a goal`,
		}
	}
	if scenario.NeedUserModel(list) && l.users != nil && l.users.keyless != nil {
		return l.users.keyless
	}
	own := environment.CompleteTask().Name
	if c.Rollout.CompleteTask &&
		slices.ContainsFunc(l.Catalog.Tools(), func(t chat.Tool) bool { return t.Name == own }) {
		return &fault.Error{Code: fault.CodeUsage, What: "a server has a tool " + own + " of its own",
			Where: "rollout.complete_task",
			Why:   "the model could not tell it from the one that hone would offer to end the episode",
			Next:  "set rollout.complete_task to false"}
	}
	return l.Set.Runnable(c, list)
}

// model plays users; nil where there is none.
func (p *players) model() environment.Model {
	if p == nil || p.client == nil {
		return nil
	}
	return llm.User{Client: p.client, Model: p.c.Model, Temperature: p.c.Temperature, MaxTokens: p.c.MaxTokens}
}

// SayUsers tells what the users cost, apart from what the policy did.
func (l *Episodes) SayUsers(h *host.Host) {
	if l.users == nil || l.users.client == nil {
		return
	}
	if spent := l.users.client.Usage(); spent.Total() > 0 {
		h.Say("simulated users: %s sent and %s received were paid for",
			fault.Count(spent.PromptTokens, "token"), fault.Count(spent.CompletionTokens, "token"))
	}
}
