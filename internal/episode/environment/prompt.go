package environment

import (
	"bytes"
	"encoding/json"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// rules are those of tau-bench (arXiv 2406.12045, user simulation) and tau2-bench (arXiv 2506.07982, simulation
// guidelines), in words of our own.
const rules = `You play a person who talks to an assistant. You are not the assistant.
- Write only what the person says next: one short message, in the first person, without quotation marks.
- Tell only what the assistant needs now. Do not tell everything at once.
- Use words of your own. Do not repeat the instructions below.
- Never make up a fact. When you are asked for what is not written below, say that you do not know it.
- Do not do the assistant's work, and do not confirm for it that something is done.
- The conversation goes on until all that you want is done. That the assistant offers to do it, or that you agree, is not yet done.
- When all that you want is done, write ` + scenario.StopToken + ` and nothing else.
- When the assistant passes you on to a person, write ` + scenario.TransferToken + ` and nothing else.
- When what is written below does not say how to go on, write ` + scenario.OutOfScopeToken + ` and nothing else.`

// greeting is what a model that plays a user is asked by before its first words, as tau-bench does. No policy said it.
const greeting = "Hi! How can I help you today?"

// System is what a model is told that plays a user.
func System(u *scenario.User) string {
	text := rules + "\n\nWhat you want:\n" + u.Goal
	if u.Persona != "" {
		text += "\n\nWho you are:\n" + u.Persona
	}
	if known := facts(u.Knows); known != "" {
		text += "\n\nWhat you know, to tell when you are asked for it:\n" + known
	}
	return text
}

// facts writes what a user knows: a text as it is, an object as indented JSON, in its order.
func facts(knows json.RawMessage) string {
	var text string
	if json.Unmarshal(knows, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, knows, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// Prompt turns a conversation round: what the user said is the assistant's there, and what the policy said to the user
// is the user's. Calls and their results are not the user's to see.
func Prompt(system string, messages []chat.Message) []chat.Message {
	prompt := []chat.Message{{Role: chat.System, Content: system}, {Role: chat.User, Content: greeting}}
	for _, m := range messages {
		switch {
		case m.Role == chat.User:
			m = chat.Message{Role: chat.Assistant, Content: m.Content}
		case m.Role == chat.Assistant && len(m.ToolCalls) == 0:
			m = chat.Message{Role: chat.User, Content: m.Content}
		default:
			continue
		}
		if last := &prompt[len(prompt)-1]; last.Role == m.Role { // between them were calls
			last.Content += "\n" + m.Content
			continue
		}
		prompt = append(prompt, m)
	}
	return prompt
}

// longest bounds what a user says, in bytes: an endpoint may not keep to its limit.
const longest = 4096

// read takes words apart: reasoning that was left in them, what is said, and whether that is the end.
func read(text string) Words {
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	var w Words
	// the first of them counts, as in tau2-bench
	for i, by := range []string{trajectory.EndedByOutOfScope, trajectory.EndedByUser, trajectory.EndedByTransfer} {
		token := scenario.EndTokens()[i]
		if w.Ended == "" && strings.Contains(text, token) {
			w.Ended = by
		}
		text = strings.ReplaceAll(text, token, "")
	}
	w.Text = strings.TrimSpace(text)
	if len(w.Text) > longest {
		w.Text = strings.ToValidUTF8(w.Text[:longest], "")
	}
	return w
}
