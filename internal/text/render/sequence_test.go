package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// talk is a template that writes each message so, and prompts for one of the assistant's so.
func talk(message, prompt string) string {
	return `{%- for m in messages %}` + message + `{% endfor %}{% if add_generation_prompt %}` + prompt + `{% endif %}`
}

const (
	header    = `{{ '<|im_start|>' + m.role + '\n' }}`
	footer    = `{{ '<|im_end|>\n' }}`
	opensNext = `{{ '<|im_start|>assistant\n' }}`
)

// talker makes what renders by such a template.
func talker(t *testing.T, template string) *Vendor {
	t.Helper()
	return newVendor(t, own("opens"), func(o *VendorOptions) {
		o.Template, o.Name, o.Format = template, "talk", toolcall.Hermes()
	})
}

// A row is not trained on a message that the template would not have the model write; the error says why.
func TestMessagesThatATemplateCannotTrain(t *testing.T) {
	plain := talk(header+`{{ m.content }}`+footer, opensNext)
	bad := `{% if 'forbidden' in m.content %}{{ raise_exception('not this one') }}{% endif %}`
	whole := []chat.Message{{Role: chat.User, Content: "Rain?"}, {Role: chat.Assistant, Content: "Dry."}}
	with := func(at int, content string) []chat.Message {
		all := append([]chat.Message{}, whole...)
		all[at].Content = content
		return all
	}
	for name, c := range map[string]struct {
		template string
		messages []chat.Message
		says     string
	}{
		"the template refuses the prompt": {talk(bad+header+`{{ m.content }}`+footer, opensNext), with(0, "forbidden"),
			"not this one"},
		"the template refuses the message": {talk(bad+header+`{{ m.content }}`+footer, opensNext), with(1, "forbidden"),
			"not this one"},
		"no role": {plain, append(whole[:1:1], chat.Message{Role: "narrator", Content: "Dry."}, whole[1]),
			"roles are system, user, assistant and tool"},
		"nothing ends it": {
			talk(header+`{{ m.content }}{% if 'endless' not in m.content %}`+footer+`{% endif %}`, opensNext),
			with(1, "endless"), "the template writes no special token behind it",
		},
		"it is not shown": {
			talk(`{% if m.role == 'user' or 'silent' not in messages[0].content %}`+header+`{{ m.content }}`+
				footer+`{% endif %}`, opensNext), with(0, "silent"),
			"the template writes it otherwise than it prompts for it",
		},
		"what stands before it changes with it": {`{%- if 'odd' in messages[-1].content %}<s>{% endif %}` + plain,
			with(1, "odd"), "the template writes it otherwise than it prompts for it"},
	} {
		v := talker(t, c.template)
		if rows, err := v.Sequences(whole, 0, nil); err != nil || len(rows) != 1 {
			t.Errorf("%s: a plain conversation: %v", name, err)
		}
		if rows, err := v.Sequences(c.messages, 0, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d rows, %v, want %q", name, len(rows), err, c.says)
		}
	}
}

// Reasoning that has no place behind the prompt is left out of the row, and what is trained is the same whether the
// template says it with {% generation %} or not.
func TestReasoningWithoutAPlace(t *testing.T) {
	for name, content := range map[string]string{
		"unsaid": `{{ m.content }}`, "said": `{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}`,
	} {
		end := footer
		if name == "said" {
			end = `{{ '\n' }}`
		}
		v := talker(t, talk(header+`{% if m.role == 'user' %}{{ m.content }}`+footer+`{% else %}`+
			`{% if m.reasoning_content %}{{ 'HIDDEN: ' + m.reasoning_content }}{% endif %}{{ 'FINAL: ' }}`+content+end+
			`{% endif %}`, `{{ '<|im_start|>assistant\nFINAL: ' }}`))
		rows, err := v.Sequences([]chat.Message{{Role: chat.User, Content: "Rain?"},
			{Role: chat.Assistant, Content: "Dry.", ReasoningContent: "It is June."}}, 0, nil)
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: %v, %v", name, rows, err)
			continue
		}
		whole, trained := v.tok.Decode(rows[0].IDs), trainedText(v, rows[0])
		if strings.Contains(whole, "June") || trained != "Dry.<|im_end|>" {
			t.Errorf("%s: trained is %q of %q", name, trained, whole)
		}
	}
}

func trainedText(v *Vendor, row Sequence) string {
	var ids []int32
	for i, id := range row.IDs {
		if row.Trained[i] {
			ids = append(ids, id)
		}
	}
	return v.tok.Decode(ids)
}

// A template may have what follows the last stop token trained too.
func TestTrainedBehindTheStop(t *testing.T) {
	v := talker(t, talk(header+`{% if m.role == 'user' %}{{ m.content }}`+footer+
		`{% else %}{% generation %}{{ m.content }}`+footer+`{% endgeneration %}{% endif %}`, opensNext))
	rows, err := v.Sequences([]chat.Message{{Role: chat.User, Content: "Rain?"},
		{Role: chat.Assistant, Content: "Dry."}, {Role: chat.User, Content: "Sure?"},
		{Role: chat.Assistant, Content: "Yes."}}, 0, nil)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	if got, want := trainedText(v, rows[0]), "Dry.<|im_end|>\nYes.<|im_end|>\n"; got != want {
		t.Errorf("trained is %q, want %q", got, want)
	}
}

// Where a row begins anew it says what became of what, in whole characters.
func TestRewritesAreToldInWholeCharacters(t *testing.T) {
	v := talker(t, talk(header+`{{ m.content if loop.last else m.content | replace('é', 'è') }}`+footer, opensNext))
	rows, err := v.Sequences([]chat.Message{{Role: chat.User, Content: "Where?"},
		{Role: chat.Assistant, Content: "Café."}, {Role: chat.User, Content: "When?"},
		{Role: chat.Assistant, Content: "Now."}}, 0, nil)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	why, want := rows[1].Rewrite, `"é.<|im_end|>" became "è.<|im_end|>`
	if !utf8.ValidString(why) || !strings.Contains(why, want) {
		t.Errorf("%q, want %q", why, want)
	}
}
