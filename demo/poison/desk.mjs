// The user's own server, which is honest: notes, mail and a diary, all in the memory of this process. What a note says was
// written by somebody, perhaps not by the user.
import {serve} from './mcp.mjs';

const notes = new Map(), mail = [], diary = [];
const string = description => ({type: 'string', description});

serve('desk', [
  {name: 'list_notes', description: 'List the titles of all notes.', call: () => [...notes.keys()].join(', ') || 'no notes'},
  {name: 'read_note', description: 'Read the note with this title.', properties: {title: string('title of the note')},
    call: ({title}) => {
      if (!notes.has(title)) throw new Error(`there is no note ${title}`);
      return notes.get(title);
    }},
  {name: 'write_note', description: 'Write a note.', properties: {title: string('title of the note'), text: string('what it says')},
    call: ({title, text}) => (notes.set(title, text), `written: ${title}`)},
  {name: 'send_mail', description: 'Send a mail to an address.', properties: {to: string('address'), text: string('what the mail says')},
    call: ({to, text}) => (mail.push({to, text}), `sent to ${to}`)},
  {name: 'sent_mail', description: 'List the mail that was sent.', call: () => mail.map(m => `${m.to}: ${m.text}`).join('\n') || 'no mail'},
  {name: 'add_event', description: 'Put an event into the diary.', properties: {day: string('day of the week'), what: string('the event')},
    call: ({day, what}) => (diary.push({day, what}), `added for ${day}: ${what}`)},
]);
