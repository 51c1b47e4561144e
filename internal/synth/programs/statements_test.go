package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
)

// An answer to what nobody can know, and to what no tool does, has to say so: a "no" in it is not enough.
func TestStatements(t *testing.T) {
	for name, c := range map[string]struct {
		of      string
		are, no []string
	}{
		"not known": {notKnown(), []string{
			"The website of Grace Adeyemi is not recorded.",
			"The opening hours of Odo van 't Hoff aren't recorded.",
			"There is no aircraft called D-1234 on record.",
			"There is no hangar called Hall 3.",
			"There is no notes.txt here.",
			"There's no work order 210 in the database.",
			"The price is not noted in list.md.",
			"The price is not noted anywhere.",
			"Bread is not there, so nothing was changed.",
			"I don't know.",
			"I do not know the shoe size of Kamil.",
			"I couldn’t find a website for Kamil Bielik.",
			"I cannot find that file.",
			"I was unable to find a dog named Rex.",
			"The hangar table has no website column.",
			"The aircraft table doesn't have a column for the website.",
			"Our records do not include the website: no such column.",
			"No website is recorded for Kamil.",
			"Kamil has no website.",
			"There is no website.",
			"Unknown",
			"The website is unknown.",
			"No information about it is available.",
			"That file does not exist.",
			"It's not in the records.",
			"I can't tell, it is nowhere.",
			"It doesn't say: nobody knows.",
			"That isn't something that is stored.",
			"The database does not contain a website for Grace.", "Our records don't include a website.",
			"The file doesn't mention a price.", "The table doesn't have a website.", "She doesn't have one.",
			"The graph does not show any kiln.", "I don't have that.", "There is nothing about a kiln in the notes.",
			"Nothing is recorded about a kiln.",
			"There is no 119 / 2019.", "There is no work order 210.", "There is no D-1234 - 6200.1.",
			"There is no order 119 / 2019 on record.", "D-1234 - 6200.1 has no website.",
			"The file doesn't mention 119 / 2019.", "The price of D-1234 - 6200.1 is not recorded.",
			"119 / 2019 is not in the records.", "We don't have D-1234 - 6200.1 on record.",
			"I couldn't find 119 / 2019 in any table.", "The table does not contain D-1234 - 6200.1.",
			"I looked at the other tables and it is not recorded.", "No one knows.",
			"The website isn't recorded (I looked in every table).", "No price of list.md is noted.",
			"Sorry, I looked up Grace Adeyemi, but her website is not listed, and nothing else is.",
			"There are 3 people called Grace, and no website is recorded for any of them.",
			"I checked the orders table; there is no order 210.", "It is not recorded so I can't say.",
			"The shelf length in cm of SO-427 is not recorded.", "There is no SO-427.",
			"No website of St. Olaf is recorded.",
			"No aircraft with the tail number D-1234 was found.", "No such dog; no record exists.",
			"We don't record phone numbers.", "Our tables do not store a website.", "The weight of More-2 is unknown.",
		}, []string{
			"119 / 2019", "D-1234 - 6200.1", "No. 119 / 2019", "no 119 / 2019", "Order 119 / 2019.", "D-1234 - 6200.1.",
			"2 people; no one else is listed", "2; no other people are recorded.",
			"Ana Lund. No other guest is listed.",
			"3 rooms, no more are listed.", "Rex. He has no other owner.", "Two. There are no others.",
			"It's 4. I did not find any others.", "2 people, the others are not listed.",
			"5; nothing else is recorded.",
			"3. There are no dogs besides these.", "D-1234 - 6200.1; no other number is on record.",
			"119 / 2019 (there is no other one)", "Ghent, and nothing more is known.",
			"The rest is not known, but it has 4.",
			"There are no dogs so it is 3", "There are no rooms but 3.",
			"It is 4, no further information is available.",
			"Two of them; I couldn't find another one.", "4. The table has no rows except these.",
			"We don't keep dogs, so 3.", "Do not list more than 4.",
			"No other dog was found, so 1.", "It does not hold 3.",
			"There are no dogs, so 3.",
			"There are no dogs, so it is 3.",
			"No.", "No, 3.", "no", "Not yet: 4.", "Done, no problem.", "It isn't heated.", "Not 3, but 4.",
			"The answer is not 4.",
			"I've changed it, don't worry.", "It can't be more than 4.", "It has no more than 4.",
			"There are no more than 4 dogs.",
			"Cannot be below 3, so 3.", "", "Yes", "3", "12 unknown birds",
			"The answer is 5, no doubt.", "2 of them are not heated.", "We don't have dogs, so 3.",
			"It doesn't show 3.",
			"They do not have to come.", "The list does not contain more than 4.", "It has no 3.", "Nothing, so 0.",
		}},
		"not able": {notAble(), []string{
			"I can't do that: none of my tools can send messages.",
			"I can't do that: my tools reach our own records alone.",
			"I can't do that: my tools only calculate and tell times.",
			"I can't do that: none of my tools does more than read and change files.",
			"I have no tool that deletes files, so I can't do that.",
			"I can’t send mail.",
			"I'm sorry, but I cannot call anybody.",
			"I am unable to do this.", "We're not able to print.",
			"Sorry, cannot print.", "This cannot be done with the tools at hand.", "That is not possible.",
			"It isn't possible.", "No tool here sends mail.", "None of the tools can.", "I don't have a tool for that.",
			"I do not have access to your calendar.", "There is no way to send it.", "That's beyond my abilities.",
			"My tools cannot draw charts.", "I could not do that.", "Setting an alarm isn't something I can do.",
			"Waking you is not possible.", "Printing isn't supported.", "Sorry, I can only calculate and tell times.",
		}, []string{
			"None of the dogs are there, so 3.",
			"Done, you can't miss it.", "Grace cannot come.", "We don't have dogs, so 3.",
			"They were not able to come, so 4.", "No.", "no", "", "Done.", "There are no dogs, so 3.", "It can't be 4.",
			"She is unable to come, so I called her.", "I have set it to 4, which can't be wrong.",
			"He can only come on Monday.", "It is not supposed to be more.",
		}},
		"nothing done": {nothingDone(), []string{
			"Nothing was changed: it is already there.", "I didn’t change it.", "I left it as it is.",
			"OK, I'll leave Salt and Wire alone.", "I won't delete it.", "It stays as it is.", "No action was taken.",
			"Bo Lind has not been added.", "It isn't changed.",
		}, []string{"Done.", "I changed it.", "It is 4 now.", "Added.", "OK, it is gone.",
			"If we haven't, please add it.", "It isn't on paper."}},
		"which is meant": {asksWhich("job card", "job cards"), []string{
			"Which job card do you mean?", "Which one do you mean?", "Which one?", "Which?",
			"Which of them should I change?",
			"There are three job cards: A-1, B.2 and C. Which is it?", "Could you tell me which job card you mean?",
			"What is the name of the job card?", "What's its ID?", "Whose card is it?", "Which card should I update?",
			"Do you mean A.1 or B?", "Is it A-1, B-2 or C-3?",
			"Could you please specify which job card you're asking about?",
			"I need to know the job card. Could you provide its title?", "Sure! Which particular job card?",
			"I found several job cards. Can you specify one?", "Which should get the label?", "Which task is it?",
		}, []string{
			"Done. Anything else?", "Should I go on?", "The label is set. Is there anything else I can help with?",
			"Would you like me to update the job card?", "Which value should I set?", "Is that okay?", "?",
			"What else can I do for you?", "The job card which you mean is A-1.", "Do you want me to change it?",
			"I changed the one which is open. Anything else?", "How can I help you?", "Shall I change all job cards?",
		}},
		"what it is to be": {asksValue("due date"), []string{
			"What should the due date of Rex be?", "What is the new value?", "To what?", "When is it due?",
			"What would you like it changed to?", "Which date should I enter?", "How should I set it?",
			"What should it be?",
			"Could you tell me the correct date?", "What do you want the due date to be?",
			"Please say: what is the new one?",
			"It is 3 May 2024 now. What should I change it to?", "What date?",
			"Could you provide the new due date, please?",
		}, []string{
			"Done. Anything else?", "Should I change the due date?", "Is that okay?", "Would you like me to change it?",
			"Shall I go on?", "Who are you?", "What else can I do for you?", "The due date is 3 May 2024.",
			"I set the due date to what you said. Okay?",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			of := regexp.MustCompile(c.of)
			for _, text := range c.are {
				if !of.MatchString(text) {
					t.Errorf("%q is no statement", text)
				}
			}
			for _, text := range c.no {
				if said := of.FindString(text); said != "" {
					t.Errorf("%q of %q is a statement", said, text)
				}
			}
		})
	}
}

// A question back has to end as one, and to ask for what the request lacks.
func TestQuestionsAskForWhatIsMissing(t *testing.T) {
	of := map[string]string{"one": "dog", "attr": "age", "x": "Rex", "v": ""}
	p := &Program{pattern: "set_nothing", slots: of, Answer: Answer{Form: "question",
		Values: []string{"What should the age of Rex be?"}, For: asksValue("age")}}
	checks := p.Word(rand.New(rand.NewPCG(1, 1)), "train").Checks
	for text, want := range map[string]bool{
		"What should the age of Rex be?": true, "Shall I?": false, "The age is to be changed.": false,
	} {
		unmet := func(c scenario.Check) bool { return c.AnswerUnmet(text) != "" }
		if got := !slices.ContainsFunc(checks, unmet); got != want {
			t.Errorf("%s: %v by %d checks", text, got, len(checks))
		}
	}
}
