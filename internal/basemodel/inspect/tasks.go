package inspect

import (
	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/host"
)

// longestTask is how many tokens the longest task of a file of scenarios has behind what all prompts begin with. The
// tools stand before that, and --prefix says how long they are.
func longestTask(h *host.Host, c config.Config, path string) (int, error) {
	if path == "" {
		return 0, nil
	}
	list, err := scenario.Load(path)
	if err != nil {
		return 0, err
	}
	text, err := basemodel.OpenText(h, c.Model, c.Model.Base)
	if err != nil {
		return 0, err
	}
	renderer, err := text.Renderer(c.Rollout.System)
	if err != nil {
		return 0, err
	}
	var openings [][]chat.Message
	for _, s := range list {
		openings = append(openings, environment.Openings(c.Rollout.System, s)...)
	}
	var shared []int32
	longest := 0
	for i, messages := range openings {
		ids, err := renderer.Prompt(messages, nil)
		if err != nil {
			return 0, err
		}
		if longest = max(longest, len(ids)); i == 0 {
			shared = ids[:len(ids)-1]
		}
		shared = shared[:policy.CommonPrefix(shared, ids[:len(ids)-1])]
	}
	return longest - len(shared), nil
}
