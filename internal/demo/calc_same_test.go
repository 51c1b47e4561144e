package demo_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"testing"

	"hone/internal/chat"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// answering answers every call as calc-mcp might, with what depends on the whole call.
func answering(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
	n := crc32.ChecksumIEEE([]byte(c.Name + c.Arguments))
	var a map[string]any
	_ = json.Unmarshal([]byte(c.Arguments), &a) // drawn by the demo
	text := fmt.Sprintf("w%08x", n)
	switch {
	case c.Name == "date" && a["action"] == "add":
		text = fmt.Sprintf("20%02d-01-02T00:00:00.000Z", n%100)
	case c.Name == "math":
		text = fmt.Sprint(n)
	case c.Name == "hash", c.Name == "date", c.Name == "base", c.Name == "count":
		text = fmt.Sprintf(`{"hash":"h%08x","days":%d,"weekday":"day %d","result":"%d","characters":%d,"words":%d}`,
			n, n%9999, n%7, n, n%8888, n%7777)
	}
	return trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: text}
}

// The demo's tasks are the same as ever, to the byte: every learning figure was measured on these. The hashes were
// taken when the kinds were Go code.
func TestTasksAreTheSame(t *testing.T) {
	for seed, want := range map[uint64]string{
		1: "72bd8a74fb86f095b9e4a1f4bb3c52b418b86df40f7d9416fb18d29d84f64a21",
		2: "fec9c78277b33c3a722d84490447733876d4db6be6f36dafac0b7aa9734027ed",
		3: "9ca714b9d8b4de04715453e12cb5b6dbb2af0c1c4c3e7e602962540da8c67bb4",
	} {
		h := sha256.New()
		sum := func(what any) {
			text, err := json.Marshal(what)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = h.Write(append(text, '\n')) // a hash does not fail
		}
		for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
			for _, d := range demo.Generate(seed, split, 400) {
				_, _ = io.WriteString(h, d.ID+d.Kind+d.Task+d.Split+fmt.Sprint(d.Tags))
				s, messages, err := d.Execute(t.Context(), answering)
				if err != nil {
					_, _ = io.WriteString(h, "dropped") // in which words is no part of a task
					continue
				}
				sum(s)
				sum(messages)
			}
		}
		for _, size := range []demo.Size{
			demo.Full(), {Demonstrations: 100, Train: 200, Test: 80, Validation: 40, ShownKinds: 8},
			{Demonstrations: 30, Train: 60, Test: 64, Validation: 32, Held: scenario.Validation},
		} {
			tasks, err := demo.Execute(t.Context(), seed, size, answering, func(string, error) {})
			if err != nil {
				t.Fatal(err)
			}
			sum(struct {
				Size           demo.Size
				Demonstrations [][]chat.Message
				Train, Test    []scenario.Scenario
				Validation     []scenario.Scenario
				Solutions      [][]chat.Message
			}{tasks.Size, said(tasks.Demonstrations), tasks.Train, tasks.Test, tasks.Validation, said(tasks.Solutions)})
			for i, solved := range tasks.Solutions {
				if solved.Scenario.ID != tasks.Train[i].ID {
					t.Errorf("seed %d: solution %d of %s is of %s", seed, i, tasks.Train[i].ID, solved.Scenario.ID)
				}
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
			t.Errorf("seed %d: %s, want %s", seed, got, want)
		}
	}
}

// said are the conversations, nil where there are none.
func said(list []scenario.Solved) (messages [][]chat.Message) {
	for _, s := range list {
		messages = append(messages, s.Messages)
	}
	return messages
}
