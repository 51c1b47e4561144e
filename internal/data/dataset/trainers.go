package dataset

import (
	"encoding/json"

	"hone/internal/chat"
)

// texts appends tools as a string of JSON: the libraries that read it need one type for the column, and the schemas of
// two tools are of two types.
func texts(dst []byte, tools []chat.Tool) []byte {
	return chat.AppendString(dst, string(AppendTools(nil, tools)), false)
}

// closeConversation appends where a row comes from and what became of its trace, and ends it. Without these, a trace
// that failed would be read back as one to imitate.
func closeConversation(dst []byte, r *Row) ([]byte, error) {
	terms, turns, err := r.Record()
	if err != nil {
		return dst, err
	}
	for _, m := range []struct {
		name, text string
	}{
		{"id", r.ID}, {"trace_id", r.TraceID}, {"scenario_id", r.ScenarioID}, {"scenario_hash", r.Scenario}, {"outcome",
			string(r.Outcome)}, {"terms", terms}, {"turns", turns},
	} {
		if m.text != "" {
			dst = append(append(append(dst, `,"`...), m.name...), `":`...)
			dst = chat.AppendString(dst, m.text, false)
		}
	}
	if r.NumTurns > 0 {
		text, _ := json.Marshal(map[string]int{"turn": r.Turn, "n_turns": r.NumTurns}) // two numbers
		dst = append(append(dst, ','), text[1:len(text)-1]...)
	}
	return append(dst, '}'), nil
}

// trlLine is a row of TRL's conversational prompt-completion form: https://huggingface.co/docs/trl/dataset_formats. The
// loss is on the completion, and with assistant_only_loss on what the assistant says of it. Arguments are objects, as
// its chat templates take them; datasets from 4.7 on reads such a column as it is.
func trlLine(dst []byte, r *Row) ([]byte, error) {
	cut := firstTarget(r)
	dst = AppendMessagesObjects(append(dst, `{"prompt":`...), r.Messages[:cut])
	dst = AppendMessagesObjects(append(dst, `,"completion":`...), r.Messages[cut:])
	dst = texts(append(dst, `,"tools":`...), r.Tools)
	return closeConversation(dst, r)
}

// axolotlLine is a row of Axolotl's type chat_template. Each message says whether it is trained, for
//
//	datasets: [{path: rows.jsonl, type: chat_template, roles_to_train: [], message_field_training: training}]
func axolotlLine(dst []byte, r *Row) ([]byte, error) {
	dst = append(dst, `{"messages":[`...)
	for i := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		one := AppendMessages(nil, r.Messages[i:i+1])
		dst = append(dst, one[1:len(one)-2]...)
		if r.Trains(i) {
			dst = append(dst, `,"training":true}`...)
		} else {
			dst = append(dst, `,"training":false}`...)
		}
	}
	dst = texts(append(dst, `],"tools":`...), r.Tools)
	return closeConversation(dst, r)
}
