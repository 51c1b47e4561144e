package folders

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

func split(list string) []string { return strings.Split(list, "|") }

// newNames are names for new files.
func newNames() []string {
	return split(
		"summary|overview|todo-friday|ideas|draft|handover|checklist|for-anna|results|backup|notes-old|plan-b|" +
			"selection|follow-up|spring|archive-list|contacts|questions|leftovers|shortlist|final|memo|agenda|" +
			"print-me|week-34|inventory|reminders|names|to-order|open-points",
	)
}

// newDirs are names for new folders.
func newDirs() []string {
	return split("archive|done|old|2025|sent|to-check|backup|final|misc|later|review|shared|drafts-old|inbox|records")
}

// newItems are entries for lists: things to have, or things to do.
func newItems() []string { return append(newThings(), newChores()...) }

func newThings() []string {
	return split("oat milk|AA batteries|two rolls of tape|birthday card|rubber gloves|light bulbs|paper towels|phone " +
		"charger|sunscreen|candles|first aid kit|sleeping mats|coffee filters|dog food|name tags|extension cord|blue " +
		"folder|bin bags|washing powder|matches|torch|umbrella|travel adapter|writing paper|picture hooks|string|" +
		"folding chairs|cool box|hand soap|envelopes")
}

func newChores() []string {
	return split("call the plumber|return library books|book train tickets|ask Tom for the key|renew the parking " +
		"permit|water the plants|fix the garden gate|send the form back|check the tyres|order new toner|pay the " +
		"deposit|print the labels|get a quote from the roofer|measure the window|write to the landlord|clean the " +
		"filter|cancel the old contract|empty the dehumidifier|oil the hinges|ring the school|pick up the parcel|" +
		"replace the broken pane|file the receipts|update the phone list|sharpen the knives|book the hall")
}

// newAmounts are entries with how much there is of each.
func newAmounts() (list []string) {
	for i, thing := range goods() {
		list = append(list, amounts()[i%len(amounts())]+" "+thing)
	}
	return list
}

func amounts() []string {
	return split("2|3|6|12|250 g|500 g|1 kg|2 l|40 cl|5 m|4 packs|2 boxes|3 bags")
}

// newKeys are properties that files may note.
func newKeys() []string {
	return split("phone number|budget|deadline|colour|contact person|website|opening hours|fax|weight|serial number|" +
		"postcode|insurance|password|discount|mileage|warranty")
}

// otherWords are words to put in the place of others.
func otherWords() []string {
	return split("Marlow|Kestrel|Hedwig|Tamsin|Orchard|Bramble|Lisbon|Ferris|October|Juniper|Novak|Whitfield|Saturn|" +
		"Pemberton|Okafor|Lindqvist|workshop|committee|cellar|courier|Castellan|Zürich")
}

// otherValue is another value of the form that one has: a number near it, another day, the other of two words; "" where
// its form is none of these.
func otherValue(r *rand.Rand, key, value string) string {
	if day, err := time.Parse(time.DateOnly, value); err == nil {
		return day.AddDate(0, 0, 1+r.IntN(40)).Format(time.DateOnly)
	}
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(max(0, n+pick(r, []int{-2, -1, 1, 2, 3, 5, 10, 20})))
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		_, digits, _ := strings.Cut(value, ".")
		return strconv.FormatFloat(n+float64(1+r.IntN(9))/2, 'f', len(digits), 64)
	}
	for _, two := range []string{
		"yes|no", "true|false", "on|off", "open|closed", "low|high", "paid|unpaid", "draft|final",
	} {
		a, b, _ := strings.Cut(two, "|")
		switch value {
		case a:
			return b
		case b:
			return a
		}
	}
	// a number with its unit, before or behind
	if at := hasDigit.FindStringIndex(value); at != nil {
		end := at[0]
		for end < len(value) && value[end] >= '0' && value[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(value[at[0]:end]); err == nil && n < 5000 &&
			!strings.ContainsAny(value[end:], "0123456789") {
			return value[:at[0]] + fmt.Sprint(n+1+r.IntN(9)) + value[end:]
		}
		return ""
	}
	if v, ok := programs.Natural(r, nil, key); ok && !strings.ContainsAny(v, ",:") && len(v) < 40 {
		return v
	}
	return ""
}
