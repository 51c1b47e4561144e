package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hone/internal/episode/scenario"
)

func splits() []string { return []string{scenario.Train, scenario.Validation, scenario.Test} }

var slotName = regexp.MustCompile(`\{,?(\w+)\}`)

// needed are the slots that each wording of a pattern has, and after a bar those that it may have besides.
func needed() map[string]string {
	return map[string]string{
		"lookup": "attr x | one", "pair": "attr attr2 x | one", "exchange": "attr x y",
		"join": "attr ref x | refone one", "join_label": "| asks ref x one", "count": "filter many",
		"sum": "attr filter many", "avg": "attr filter many", "min": "attr filter many", "max": "attr filter many",
		"best": "attr end filter | many one", "best_super": "filter super | many one", "top": "attr end many n",
		"list": "filter many", "compare": "attr x y", "yes_no": "filter many", "missing": "attr | many one",
		"unrelated": "others | many one", "most": "one others", "set": "attr v x | one",
		"set_value": "v x",
		"set_all":   "attr filter many v", "raise": "attr v x | one", "lower": "attr v x | one",
		"raise_all": "attr filter many v", "lower_all": "attr filter many v", "remove": "x | one many",
		"remove_all": "filter many", "insert": "given x | one many", "insert_bare": "x | one many",
		"add_unless": "given x | one many", "set_if": "attr bound v x", "correct": "attr old v x",
		"set_two": "attr attr2 v v2 x | one", "set_nothing": "attr x | one", "verb": "verb x | one",
		"verb_all": "filter many verb", "mark": "v x | attr one", "append": "v x | one", "unappend": "v x",
		"notes": "x | one", "edge_from": "rel y", "edge_to": "rel x", "edge_count": "rel y", "edge_add": "rel x y",
		"edge_remove": "rel x y", "worth": "attr many v", "most_of": "attr others | many one",
		"worth_some": "attr filter many v", "report": "attr filter many", "cannot": "verb", "asks": "asks | x",
		"move_all": "filter many y | attr x", "fill": "attr many v | filter", "percent_up": "attr filter many v",
		"percent_down": "attr filter many v", "remove_with": "others x | one", "remove_unrelated": "filter many others",
		"which": "many", "stock_worth": "filter many", "turnover": "filter many", "above_other": "attr attr2 many",
		"below_other": "attr attr2 many", "list_of": "attr filter many", "how_many": "many", "left": "attr | x",
		"set_when": "attr attr2 rel v x", "set_either": "attr attr2 old rel v x", "same_as": "attr x y",
		"having": "many n others", "compare_count": "others x y", "compare_sum": "attr others x y",
		"compare_avg": "attr others x y",
		"new_table":   "given n old",
		"append_as":   "attr v x|one",
		"clear":       "attr x | one", "clear_of": "attr x y | one", "clear_all": "attr filter many",
		"hand_over": "others x y | one", "leave_without": "attr others x | one",
		"set_both": "attr attr2 ref v v2 x | one", "remove_raise": "attr ref v x | one",
		"remove_lower": "attr ref v x | one", "add_set": "attr given ref v x | one",
		"add_raise": "attr given ref v x | one", "add_lower": "attr given ref v x | one",
		"worth_best": "attr end filter v | many one", "sum_each": "attr others | many one",
		"worth_each": "attr others v | many one", "having_avg": "attr bound many others | one",
		"having_sum": "attr bound many others | one",

		"across": "ends filter many", "across_count": "ends filter many", "most_by": "attr one others",
		"most_by_sum": "attr one others v", "sum_many": "attr filter many", "room_left": "attr others x",
		"room_some": "attr many others", "room_over": "attr many others", "room_none": "attr many others",
		"called": "v x | one", "yes_who": "filter many", "remove_all_with": "filter many others",
		"set_if_room":   "attr others x y",
		"count_of_each": "given others | one many", "event": "v v2 x",
		"event_named": "attr2 v v2 x", "raise_lower": "attr v v2 x y", "add_if_none": "filter given many x | one",
		"set_when_of": "attr attr2 ref rel v x", "told": "v verb x", "told_with": "given v verb x",
		"add_next": "given one", "add_next_raise": "attr given one ref v", "add_next_lower": "attr given one ref v",

		"which_one": "one | many", "how_many_left": "many", "went": "v x | attr", "came": "v x | attr",
		"went_unit": "attr v x", "came_unit": "attr v x", "add_out": "attr given one | ref",
		"add_in": "attr given one | ref", "undo_out": "attr ref x", "undo_in": "attr ref x", "amend": "attr old v",
		"amend_more": "attr v", "likewise": "x", "likewise_remove": "x", "count_that": "others | one",
		"sum_that": "attr others | one", "of_that": "attr | one", "set_that": "attr v | one", "remove_that": "one",
		"also_set": "attr ref v", "compare_kinds": "a attr b many",

		"products": "a b item item2 n v", "bill": "given v", "percent_of": "a b", "plus_percent": "a b | item",
		"minus_percent": "a b | item", "percent_change": "a b | item", "before_percent": "a b | item",
		"scale": "a item2 n v | item", "cheaper": "a b v v2 | item", "groups": "a b item", "rest": "a b",
		"loop": "a b n | item", "mean": "given", "root": "a", "diagonal": "a b | item", "convert": "a b item item2",
		"travel": "a b", "wage": "a b v", "shares": "a n v v2 y | x", "growth": "a b n", "goal": "a b v",
		"chain": "a b v v2", "divides": "a b", "time_at": "city city2 time", "time_two": "city city2 name time",
		"time_first": "city city2 name time x y", "arrival": "city city2 time v", "flight": "city city2 name time",
		"ahead": "city city2", "open": "city city2 name time", "latest": "city city2 time v | x",
		"talk": "a city city2 name time", "clock_cannot": "verb", "clock_ask": "time", "sum_ask": "a",

		"steps": "given", "steps_end": "given", "rate": "a b many n x y | ends head item", "per_hundred": "a v",
		"range": "b given", "unit": "a item item2", "degrees": "a item item2", "pace": "n time", "interest": "a b n",
		"order_off": "a b item n v", "tip_split": "a b n", "gain": "a b n", "growth_plus": "a b n v", "leg": "a b",
		"square": "a b head", "root_or": "a b", "divides_rest": "a b", "deal": "a b item x y",
		"deal_three": "given item", "total_each": "a b n v", "split": "a n", "part_of_all": "a b v | item",
		"people_ask": "a", "percent_ask": "a", "due": "city city2 time v",
		"job_end": "a b city city2 many time | verb", "sail": "a city city2 many name time | head item",
		"shift_pay": "a city city2 name time", "day_too": "city city2 time", "day_changed": "city city2 time",
		"earlier_later": "city city2 name time", "order_times": "given", "claim": "city city2 name time",

		"edge_ensure": "rel v x y", "take_off": "attr v x", "say_on": "attr v x", "note_replace": "old v x",
		"note_all": "filter many v", "edge_swap": "rel v x y", "edge_retarget": "rel v x y", "take_over": "rel v x",
		"rename":  "v x",
		"note_if": "filter many v x", "notes_drop": "a old x", "notes_merge": "a old v x", "notes_renew": "a b old v x",
		"tie_and_note": "a rel v x", "tie_and_note_swap": "a old rel v x y", "insert_tied": "a b old one rel v x",
		"forget": "x", "forget_all": "filter many", "respell": "v x",
		"date_shift": "attr v x", "sense_drop": "attr x", "sense_swap": "attr v x", "like_peers": "given x | many one",
		"like_one": "given one x y", "each_count": "others v | many one", "winner": "asks filter many super",
		"winner_two": "asks super x y",
		"winner_one": "asks filter many", "respell_new": "v", "recount": "others v x y",
		"link_like": "filter many others x", "list_values": "filter many v | attr", "places_left": "attr others x",

		"answer_write": "name", "biggest": "folder", "boxes_count": "file", "boxes_done": "file",
		"boxes_open": "file", "file_copy": "file folder name", "file_create": "folder lines name",
		"file_create_top": "lines name", "file_delete": "file", "file_move": "file folder",
		"file_move_where": "file", "file_pair": "attr file", "file_rename": "file name", "file_set": "attr file v",
		"file_set_if": "attr file old v", "file_there": "name", "file_where": "name", "files_count": "folder",
		"files_kind": "ext", "files_list": "folder", "files_move_all": "folder folder2",
		"files_move_kind": "ext folder folder2", "files_move_mention": "folder folder2 word",
		"folder_create": "folder name", "folder_create_top": "name", "folder_set": "attr folder v",
		"item_add": "file item", "item_add_head": "file head item", "item_add_two": "file item item2",
		"item_add_unless": "file item", "item_add_what": "file", "item_amount": "file word",
		"item_amount_set": "file v word", "item_move": "file file2 item", "item_remove": "file item",
		"item_replace": "file item old", "item_there": "file item", "item_tick": "file item",
		"item_untick": "file item", "items_both": "file file2", "items_count": "file",
		"items_count_head": "file head", "items_list": "file", "items_list_head": "file head",
		"items_only": "file file2", "items_write": "file filter many name", "last_line": "file",
		"line_add": "file item", "mention_file": "word", "mention_lines": "file word",
		"found_pair": "attr", "found_set": "attr v", "found_remove": "item", "found_tick": "item",
		"found_untick": "item", "row_add": "file given", "found_row_add": "given", "item_remove_two": "item item2",
		"item_remove_two_of": "file item item2", "line_from": "attr file given x", "set_as": "attr file file2",
		"rated": "attr x", "found_set_if": "attr old v", "found_sums": "attr ref",
		"found_write": "filter many name",
		"items_swap":  "file item item2", "file_delete_or_move": "file folder",
		"found_replace": "item old", "found_amount": "word", "found_amount_set": "v word",
		"priced_total": "file", "stock_take": "file", "entries_sum": "attr file", "grouped_sums": "attr file ref",
		"set_and_tick": "attr file v x", "letter_fill": "file name x", "row_move": "file name x",
		"files_hyphenate": "folder", "boxes_all": "folder", "boxes_collect": "folder name",
		"rename_everywhere": "old v", "file_size": "file",
		"point_tick": "v x | attr", "point_untick": "v x | attr", "point_tick_nth": "n x | attr",
		"point_tick_all": "attr x", "part_add": "attr v x", "part_note": "attr v x", "point_add_done": "attr v x",
		"point_drop": "v x | attr", "points_open": "x | attr", "points_done": "x | attr",
		"points_count": "x | attr", "point_is_done": "v x | attr", "part_write": "attr v x",
		"part_clear": "attr x", "part_says": "attr x", "make_with": "attr one v x", "link_add": "rel x y",
		"depend_add": "x y", "link_drop": "rel x y", "link_ask": "rel x | many one",
		"link_through": "attr rel x | one", "link_back": "rel x | many one", "make_under": "one v x",
		"finish_open": "v verb x", "finish_done": "verb x | one", "paper_ask": "attr x | one",
		"papers_ask": "attr many", "paper_set": "attr v x | old one", "paper_add": "v x | one",
		"paper_drop": "attr x | one", "paper_new": "one v x", "group_new": "one v x", "group_rename": "v x | one",
		"group_move": "v x | one",

		"do_set": "attr v", "do_assign": "v", "do_rank": "v", "do_due": "v", "do_tick": "v", "do_write": "attr v",
		"do_join": "attr v", "do_add": "attr v", "edit_several": "does x", "edit_told": "does v x",
		"each_later": "filter many n | attr", "each_earlier": "filter many n | attr", "each_join": "attr filter many v",
		"each_hand": "filter many v | old", "points_each": "attr filter many | one", "points_total": "attr filter many",
		"link_open": "rel v x | many one", "make_linked": "does one rel v x", "make_children": "does v x | one many",
		"make_points": "attr does x | one many", "points_if": "attr does else x",
		"paper_copy": "a attr x y | one", "paper_set_add": "attr item v x", "group_shift": "many n x | attr",

		"of_set": "attr v x", "of_assign": "v x", "of_rank": "v x", "of_due": "v x", "of_join": "attr v x",
		"as_set": "attr v", "as_assign": "v", "as_rank": "v", "as_due": "v", "things_told": "does | many",
		"edit_short": "does x", "finish_all": "many v verb", "setting_add": "attr v", "setting_drop": "attr v",
		"points_add": "attr v x", "point_fix": "old v x", "text_set": "a attr v x", "text_line": "attr v x",
		"links_add": "rel v x y | many", "links_only": "does rel x y", "paper_swap": "a b x | one",
		"paper_sum": "x | one", "paper_left": "n x | one", "paper_of": "attr one x y", "offer_ask": "end given x",
		"offer_price": "end given x", "offer_take": "attr end given v x", "offer_count": "attr filter given many",
		"give_least": "filter given many x", "best_pair": "attr end filter many", "group_renew": "given v x | one",
		"group_merge": "x y | one", "group_fill": "filter given many v x", "group_shift_open": "filter many n x | attr",
		"make_short": "does one rel v x", "do_close": "one", "as_close": "one", "as_write": "attr v",
		"say_by": "attr v x y", "told_done": "x", "told_begun": "x", "told_back": "x", "told_does": "does x",
		"each_does": "does filter many", "list_with": "attr filter many", "group_named": "given name v x",
		"link_open_who": "rel v x | many", "note_both": "attr name v",

		"as_like": "attr x", "as_after": "x", "as_linked": "rel x", "make_like": "does v | one",
		"like_set": "attr x y", "like_who": "x y", "like_due": "x y", "each_assign": "v x", "each_rank": "v x",
		"each_due": "v x", "each_set": "attr v x", "each_under": "lines x | one many",
		"each_under_all": "does lines x | one many", "each_new": "lines | one many",
		"each_new_all": "does lines | one many", "if_done": "does else v x", "if_is": "attr does else v x",
		"if_free": "does else x", "if_before": "attr does else v x", "if_none": "attr does else x",
		"leave_all": "one", "leave_who": "one", "leave_tell": "attr", "one_later": "n x | attr",
		"one_earlier": "n x | attr", "group_later": "many n x", "group_earlier": "many n x",

		"bill_of": "file x", "bills": "file given", "charge_both": "given x", "due_all": "given", "due_of": "x",
		"files_move_month": "folder folder2 word", "found_line_drop": "word", "lent_back": "time x",
		"lent_out": "time x y", "letters_fill": "file filter many name", "line_drop": "file word",
		"missing_rows": "file file2", "only_add": "file file2", "paid_none": "one", "paid_told": "time v v2 x",
		"paid_told_plain": "time v x", "set_across": "attr attr2 old v x", "sold_more": "n x",
		"sums_by_name": "attr ref", "swap_in": "attr x y", "which_look": "attr x", "which_set": "attr v x",

		"all_set": "attr v | n", "all_mark": "v | attr n", "all_rank": "v | n", "all_assign": "v | n",
		"all_due": "v | n", "all_join": "attr v | n", "that_set": "attr v | one", "that_mark": "v | attr one",
		"that_rank": "v | one", "that_assign": "v | one", "that_due": "v | one", "that_join": "attr v | one",
		"that_tick": "v", "that_write": "attr v | one", "that_add": "attr v | one", "that_say": "attr v | one",
		"that_of": "attr | one", "that_link": "rel | one many", "that_same": "x", "that_does": "does",
		"more_does": "does",

		"mention_which": "folder word", "word_replace": "file old v", "word_replace_all": "folder old v",
	}
}

// plainly is a wording without what makes no other wording of it: marks, capitals and words of courtesy.
func plainly(wording string) string {
	text := regexp.MustCompile(`[^\w{}' ]`).ReplaceAllString(strings.ToLower(wording), " ")
	text = regexp.MustCompile(`\b(?:please|could you|can you|would you|for me)\b`).ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text), " ")
}

// Each pattern has words for each split that say all of its slots, and no held-out wording is one of training's.
func TestWordings(t *testing.T) {
	slots := needed()
	for pattern := range slots {
		if wordings()[pattern] == nil {
			t.Errorf("%s has no words", pattern)
		}
	}
	for pattern, by := range wordings() {
		must, may, _ := strings.Cut(slots[pattern], "|")
		said := map[string]string{}
		for _, split := range splits() {
			least := map[string]int{scenario.Train: 8, scenario.Validation: 3, scenario.Test: 4}
			if len(by[split]) < least[split] {
				t.Errorf("%s has %d wordings for %s", pattern, len(by[split]), split)
			}
			for _, text := range by[split] {
				has := map[string]bool{}
				for _, m := range slotName.FindAllStringSubmatch(text, -1) {
					if has[m[1]] = true; !slices.Contains(strings.Fields(must+" "+may), m[1]) {
						t.Errorf("%s: %q has the slot %s", pattern, text, m[1])
					}
				}
				for _, name := range strings.Fields(must) {
					if !has[name] {
						t.Errorf("%s: %q says no %s", pattern, text, name)
					}
				}
				if len(has) == 0 || strings.Contains(text, "{filter}") && !strings.Contains(text, "{many} {filter}") {
					t.Errorf("%s: %q", pattern, text)
				}
				if of, is := said[plainly(text)]; is && of != split {
					t.Errorf("%s: %q is said in %s and in %s", pattern, text, of, split)
				}
				said[plainly(text)] = split
			}
		}
	}
}

// No manner of a held-out split is one of training's, and each answer's form can be asked for.
func TestManners(t *testing.T) {
	for of, by := range manners() {
		said := map[string]string{}
		for _, split := range splits() {
			if len(by[split]) < 2 {
				t.Errorf("%s has %d for %s", of, len(by[split]), split)
			}
			for _, text := range by[split] {
				if was, is := said[plainly(text)]; is && was != split && strings.TrimSpace(text) != "" {
					t.Errorf("%s: %q is said in %s and in %s", of, text, was, split)
				}
				said[plainly(text)] = split
				if of == "last" && !strings.Contains(text, "ANSWER: ") {
					t.Errorf("%q says not what the last line is", text)
				}
			}
		}
	}
	for _, of := range []string{"number", "text", "list", "yes_no", "unknown"} {
		for _, f := range forms(of) {
			if f.manner != "" && manners()[f.manner] == nil {
				t.Errorf("%s: nobody asks for %s", of, f.manner)
			}
		}
	}
}

// Each split has words of its own.
func TestSplitsAreSaidInTheirOwnWords(t *testing.T) {
	w := Invent(rand.New(rand.NewPCG(1, 1)), 0)
	asWritten := func(_ *rand.Rand, wording string) string { return wording }
	for _, kind := range []string{Lookup, Count, Set, Remove} {
		p := Draw(rand.New(rand.NewPCG(2, 2)), w, kind)
		for _, split := range splits() {
			for seed := range uint64(20) {
				text, _, _ := p.say(rand.New(rand.NewPCG(seed, 3)), split, asWritten)
				if !slices.ContainsFunc(wordings()[p.pattern][split], func(of string) bool {
					return strings.HasPrefix(text, fill(of, p.slots))
				}) {
					t.Errorf("%s: %q", split, text)
				}
			}
		}
	}
}

// However a request is typed and addressed, its names and values stand in it as they are.
func TestNamesStayAsTheyAre(t *testing.T) {
	slots := map[string]string{"asks": "Who is it?"}
	for _, name := range strings.Fields("one many attr ref refone filter end super n others attr2 v2") {
		slots[name] = "old pet"
	}
	for i, name := range strings.Fields("x y v v2 old given bound rel verb ends") {
		slots[name] = "élan d'Été " + strings.Repeat("q", i+1) + ". Note: I've" // nothing in it may be mended
	}
	var typed, begun, addressed int
	for pattern, by := range wordings() {
		for _, split := range splits() {
			for i, wording := range by[split] {
				r := rand.New(rand.NewPCG(uint64(i), uint64(len(pattern))))
				p := &Program{pattern: pattern, slots: slots}
				hand := mistype(r, wording)
				text := p.address(r, split, fill(hand, slots))
				for _, m := range slotName.FindAllStringSubmatch(wording, -1) {
					value := slots[m[1]]
					if m[1] != "verb" && strings.HasPrefix(value, "élan") && !strings.Contains(text, value) {
						t.Errorf("%q has no %s %q", text, m[1], value)
					}
				}
				if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
					t.Errorf("%q", text)
				}
				if hand != wording {
					typed++
				}
				if strings.HasPrefix(text, slots["x"]) {
					begun++
				}
				if !strings.Contains(text, fill(hand, slots)[1:]) || len(text) > len(fill(hand, slots))+2 {
					addressed++
				}
			}
		}
	}
	if typed < 50 || begun < 20 || addressed < 100 {
		t.Errorf("%d are typed, %d begin with a name, %d are addressed", typed, begun, addressed)
	}
}

func TestMistype(t *testing.T) {
	const wording = "What's the {attr} of the {one} {x}, don't you know?"
	seen := map[string]bool{}
	for seed := range uint64(300) {
		seen[mistype(rand.New(rand.NewPCG(seed, 1)), wording)] = true
	}
	for _, want := range []string{
		wording,
		"what's the {attr} of the {one} {x}, don't you know?",
		"Whats the {attr} of the {one} {x}, dont you know?",
		"What's the {attr} of the {one} {x}, don't you know",
	} {
		if !seen[want] {
			t.Errorf("%q is not among %v", want, seen)
		}
	}
	for text := range seen {
		if slots := slotName.FindAllString(text, -1); !slices.Equal(slots, slotName.FindAllString(wording, -1)) {
			t.Errorf("%q", text)
		}
	}
	if got := swap(rand.New(rand.NewPCG(1, 1)),
		"the total {attribute} of {x}"); got == "the total {attribute} of {x}" ||
		!strings.Contains(got, "{attribute}") {
		t.Errorf("%q", got)
	}
	if got := swap(rand.New(rand.NewPCG(1, 1)), "{attribute} of {x}"); got != "{attribute} of {x}" {
		t.Errorf("%q", got)
	}
}

// Where the name of a column is no noun, what it holds is said by one.
func TestNounsOfColumns(t *testing.T) {
	born := Column{Name: "born", Kind: Number, Says: "year of birth"}
	for got, want := range map[string]string{
		born.caption():                        "year of birth",
		born.withPhrase():                     "whose year of birth is {v}",
		born.lessPhrase():                     "whose year of birth is below {v}",
		(Column{Name: "doctor_id"}).caption(): "doctor",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	said := map[string]bool{}
	for seed := range uint64(300) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		for _, kind := range []string{Lookup, Set, Total, Top} {
			if p := Draw(rand.New(rand.NewPCG(seed, 2)), w, kind); p != nil {
				said[p.slots["attr"]] = true
			}
		}
	}
	if !said["year of birth"] || !said["due date"] || said["born"] || said["due"] {
		t.Errorf("said are %v", said)
	}
}

// A list whose order is checked is asked for in that order.
func TestOrderIsAskedFor(t *testing.T) {
	ordered := 0
	for seed := range uint64(200) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 2)), w, List)
		if p == nil || !p.Answer.Order {
			continue
		}
		ordered++
		text := strings.ToLower(p.Word(rand.New(rand.NewPCG(seed, 3)), scenario.Train).Task)
		if !strings.Contains(text, "ascending") && !strings.Contains(text, "alphabet") &&
			!strings.Contains(text, "a to z") && !strings.Contains(text, "surname") &&
			!strings.Contains(text, "last name") {
			t.Errorf("%q", text)
		}
	}
	if ordered < 10 {
		t.Errorf("%d have an order", ordered)
	}
}

// Entries with commas are asked for line by line, and so are they answered; a set of lines passes.
func TestCommasStandInLines(t *testing.T) {
	lines := manners()["lines"][scenario.Train]
	for seed := range uint64(40) {
		for _, way := range []string{"", "ordered", "sort"} {
			p := NewQuestion(List, "list", map[string]string{"many": "things", "filter": "at home"},
				Answer{Form: "list", Values: []string{"brush, small", "tape"}, Order: way != ""})
			if p.alphabetical = way == "ordered"; way == "sort" {
				p.slots["sort"] = "yes"
			}
			task := p.Word(rand.New(rand.NewPCG(seed, 9)), scenario.Train)
			said := slices.ContainsFunc(lines, func(m string) bool {
				return strings.Contains(strings.ToLower(task.Task), strings.ToLower(strings.TrimSuffix(m, ".")))
			})
			if task.Answer != "brush, small\ntape" || !said || strings.Contains(strings.ToLower(task.Task), "comma") {
				t.Errorf("%q: %q", task.Task, task.Answer)
			}
			for _, c := range task.Checks {
				if why := c.AnswerUnmet(task.Answer); why != "" {
					t.Errorf("%q: %s", task.Answer, why)
				}
			}
		}
	}
}

func TestFollow(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"How many?", "Just the number."}: "How many? Just the number.",
		{"how many", "Just the number."}:  "how many, just the number.",
		{"how many", "I only need it."}:   "how many, I only need it.",
	} {
		if got := follow(in[0], in[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Who does not say which thing is meant says its noun once.
func TestNounIsSaidOnce(t *testing.T) {
	for x, want := range map[string]string{
		"the client": "the client: the rate being?", "Quay": "Quay (client): the rate being?",
	} {
		slots := map[string]string{"x": x, "one": "client", "attr": "rate"}
		if got := fill("{x} ({one}): the {attr} being?", slots); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
