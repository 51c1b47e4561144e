import { useEffect, useMemo, useRef, useState } from 'react'
import { bundled, failureOf, send, useAnswer, type Failure } from '../ask'
import { Block, Empty, Problem, Text, useKeys, VirtualList, Waits } from '../parts'
import { change, href, type Place } from '../place'
import { count, date, number, percent, visible, words } from '../words'

interface Gold { name: string; arguments: unknown; asks?: string; reasoning?: string }
interface Review { status: string; why?: string; edited?: string; steps: number }
interface Play { name: string; results?: { status: string; text: string }[]; seen?: { status: string; text: string }[]; changed?: string[]; files?: Record<string, string>; at?: number }

export const keys: [string, string][] = [
  ['j k', 'next task, task before'], ['a', 'accept, and go to the next'], ['x', 'reject, with a reason'], ['e', 'edit what is asked'], ['u', 'undo the last decision on the task'], ['/', 'search'], ['?', 'these keys'],
]

interface Task {
  id: string
  task?: string
  asks: string
  split: string
  difficulty?: string
  tags?: string[]
  gold?: Gold[]
  gold_answer?: string
  gold_reasoning?: string
  setup?: Gold[]
  checks?: Record<string, unknown>[]
  needs: string[]
  kind: string
  attempts: number
  passed: number
  review: Review
  plays: Play[]
  provenance?: { by: string; version?: string; kind?: string; wording?: string; teacher?: string; quality?: number; proof?: string[]; seed?: number; servers?: Record<string, string>; tools?: Record<string, string>; prompts?: Record<string, string>; reference?: { by: string; runs: number; passed: number } }
}
interface Cover { name: string; tasks: number; made: number }
interface TasksOf { tasks: Task[]; left: string; tools: Cover[]; kinds: Cover[] }

export function Tasks({ place, version }: { place: Place; version: number }) {
  const answer = useAnswer<TasksOf>('tasks', { run: place.run }, version)
  return <Waits of={answer}>{(t) => <List all={t} place={place} />}</Waits>
}

function List({ all, place }: { all: TasksOf; place: Place }) {
  const q = place.params.get('q') ?? ''
  const [typed, type] = useState(q)
  const [decided, decide] = useState<Record<string, Review>>({})
  const [writing, write] = useState<{ do: string; text: string }>()
  const [failure, fail] = useState<Failure>()
  const status = place.params.get('status') ?? ''
  const reviewOf = (t: Task) => decided[t.id] ?? t.review
  const list = useMemo(() => {
    const parts = q.toLowerCase().split(/\s+/).filter(Boolean)
    return all.tasks.filter((t) => (!status || t.id === place.params.get('task') || reviewOf(t).status === status) && parts.every((w) => `${t.id} ${t.asks} ${t.needs.join(' ')} ${t.kind} ${t.split} ${(t.tags ?? []).join(' ')}`.toLowerCase().includes(w)))
  }, [all, q, status, decided])
  const id = place.params.get('task') ?? list[0]?.id
  const at = list.findIndex((t) => t.id === id)
  const choose = (i: number) => list[i] && change(place, { task: list[i].id })
  const decideOn = async (what: string, more: { text?: string; why?: string } = {}) => {
    if (!id) return
    fail(undefined)
    try {
      const review = await send<Review>('review', { run: place.run }, { task: id, do: what, ...more })
      decide((d) => ({ ...d, [id]: review }))
      if (what === 'accept' || what === 'reject') choose(Math.min(list.length - 1, at + 1))
    } catch (err) {
      fail(failureOf(err))
    }
  }
  const edit = () => at >= 0 && write({ do: 'edit', text: reviewOf(list[at]).edited ?? list[at].task ?? '' })
  useKeys(
    {
      j: () => choose(Math.min(list.length - 1, at + 1)), k: () => choose(Math.max(0, at - 1)), '/': () => document.getElementById('tasks-search')?.focus(),
      ...(bundled ? {} : { a: () => void decideOn('accept'), x: () => write({ do: 'reject', text: '' }), e: edit, u: () => void decideOn('undo') }),
    },
    !writing,
  )
  const tally = (s: string) => all.tasks.filter((t) => reviewOf(t).status === s).length
  if (all.tasks.length === 0) return <Empty>This run keeps no tasks. Runs of <code>hone train</code>, <code>eval</code> and <code>demo</code> do.</Empty>
  const set = (text: string) => {
    type(text)
    change(place, { q: text, task: '' })
  }
  return (
    <div className="split">
      <div className="side">
        <label><span className="hide">Search tasks</span><input id="tasks-search" type="search" placeholder="words of a task, tool, kind, split" value={typed} onChange={(e) => set(e.target.value)} /></label>
        <label>
          <span className="hide">Status</span>
          <select value={status} onChange={(e) => change(place, { status: e.target.value, task: '' })}>
            <option value="">any status</option><option value="undecided">undecided</option><option value="accepted">accepted</option><option value="rejected">rejected</option>
          </select>
        </label>
        <p className="quiet">{count(list.length, 'task')} of {all.tasks.length}: {tally('undecided')} undecided, {tally('accepted')} accepted, {tally('rejected')} rejected</p>
        <VirtualList count={list.length} height={46} at={at} label="Tasks">
          {(i) => {
            const t = list[i]
            return (
              <a key={t.id} className={'entry' + (i === at ? ' here' : '')} href={href(place.run, 'tasks', { ...Object.fromEntries(place.params), task: t.id })} aria-current={i === at ? 'true' : undefined}>
                <span className="clip"><Decided review={reviewOf(t)} /><Text>{reviewOf(t).edited || t.asks || t.id}</Text></span>
                <span className="quiet clip">{t.split} &middot; {t.kind || 'maker not recorded'}{t.attempts > 0 && ` \u00b7 ${t.passed} of ${t.attempts} pass`}</span>
              </a>
            )
          }}
        </VirtualList>
      </div>
      <div className="main">
        {failure && <Problem failure={failure} />}
        {!bundled && at >= 0 && (
          <div className="bar">
            <button onClick={() => void decideOn('accept')}>Accept <kbd>a</kbd></button>
            <button onClick={() => write({ do: 'reject', text: '' })}>Reject <kbd>x</kbd></button>
            <button onClick={edit}>Edit <kbd>e</kbd></button>
            <button onClick={() => void decideOn('undo')}>Undo <kbd>u</kbd></button>
            <span className="quiet">What is not rejected is in <code>{visible(all.left)}</code> with the first decision.</span>
          </div>
        )}
        {writing && <Writing of={writing} write={write} done={(w) => void decideOn(w.do, w.do === 'edit' ? { text: w.text } : { why: w.text.trim() || undefined })} />}
        {at >= 0 ? <One t={list[at]} review={reviewOf(list[at])} place={place} /> : <Empty>No task is like that. Take a word away.</Empty>}
        <h2>Coverage</h2>
        <div className="pair">
          <Covers title="tool" list={all.tools} total={all.tasks.length} set={set} />
          <Covers title="kind" list={all.kinds} total={all.tasks.length} set={set} />
        </div>
      </div>
    </div>
  )
}

function Covers({ title, list, total, set }: { title: string; list: Cover[]; total: number; set: (q: string) => void }) {
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{title}</th><th className="n">tasks</th><th className="n">made</th><th className="n">share</th></tr></thead>
        <tbody>
          {list.map((c) => (
            <tr key={c.name}>
              <td><button className="link" onClick={() => set(c.name)}><Text>{c.name}</Text></button></td>
              <td className="n">{c.tasks}</td><td className="n">{c.made}</td><td className="n">{percent(c.tasks / total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Decided({ review }: { review: Review }) {
  const [sign, tone] = review.status === 'accepted' ? ['\u2713', 'good'] : review.status === 'rejected' ? ['\u2717', 'poor'] : ['\u00b7', 'none']
  return <span className={'mark ' + tone} role="img" aria-label={review.status}>{sign}</span>
}

function Writing({ of, write, done }: { of: { do: string; text: string }; write: (w: typeof of | undefined) => void; done: (w: typeof of) => void }) {
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus(), [])
  const keep = () => {
    write(undefined)
    done(of)
  }
  return (
    <div className="writing">
      <label>
        {of.do === 'reject' ? 'Reject, because' : 'What is asked'}
        <textarea ref={box} rows={of.do === 'reject' ? 2 : 4} value={of.text} onChange={(e) => write({ ...of, text: e.target.value })}
          onKeyDown={(e) => {
            if (e.key === 'Escape') write(undefined)
            if (e.key === 'Enter' && (of.do === 'reject' || e.ctrlKey || e.metaKey)) {
              e.preventDefault()
              keep()
            }
          }} />
      </label>
      <div className="bar"><button onClick={keep}>Keep <kbd>{of.do === 'reject' ? 'Enter' : 'Ctrl+Enter'}</kbd></button><button onClick={() => write(undefined)}>Leave it <kbd>Esc</kbd></button></div>
    </div>
  )
}

function One({ t, review, place }: { t: Task; review: Review; place: Place }) {
  const p = t.provenance
  const facts: [string, string][] = [
    ['split', t.split], ['difficulty', t.difficulty ?? ''], ['tags', (t.tags ?? []).join(', ')], ['made by', p ? `${p.by} ${p.version ?? ''}` : 'not recorded, as of tasks that people wrote'], ['kind', p?.kind ?? ''],
    ['wording', p?.wording ?? ''], ['teacher', p?.teacher ?? ''], ['quality', p?.quality ? `${number(p.quality)} of 10` : ''],
    ['reference agent', p?.reference ? `${p.reference.by}: ${p.reference.passed} of ${p.reference.runs} pass` : ''], ['servers', Object.entries(p?.servers ?? {}).map(([s, v]) => `${s} ${v}`).join(', ')],
    ['its tools as they were', hashes(p?.tools)], ['prompts that made and judged it', hashes(p?.prompts)], ['seed', p?.seed ? String(p.seed) : ''], ['proved by plays', (p?.proof ?? []).join(', ')],
  ]
  return (
    <>
      <h2 className="task"><Text>{review.edited || t.asks || t.id}</Text></h2>
      {review.edited && <p className="quiet">It was: <Text>{t.asks}</Text></p>}
      <p className="quiet"><Text>{t.id}</Text> &middot; {review.status}{review.why && <> because <Text>{review.why}</Text></>}{t.attempts > 0 && <> &middot; <a href={href(place.run, 'trajectories', { q: 'scenario:' + t.id })}>{count(t.attempts, 'attempt')}, {percent(t.passed / t.attempts)} pass</a></>}</p>
      <dl className="facts">{facts.filter(([, v]) => v).map(([n, v]) => <div key={n}><dt>{n}</dt><dd><Text>{v}</Text></dd></div>)}</dl>
      {(t.setup ?? []).length > 0 && <><h2>Set up</h2>{t.setup!.map((g, i) => <GoldCall key={i} g={g} />)}</>}
      {(t.gold ?? []).length > 0 && <><h2>Known good calls</h2>{t.gold!.map((g, i) => <GoldCall key={i} g={g} />)}</>}
      {t.gold_reasoning && <><h2>How the answer follows</h2><Block>{t.gold_reasoning}</Block></>}
      {t.gold_answer && <><h2>Known good answer</h2><Block>{t.gold_answer}</Block></>}
      {t.plays.map((p) => (
        <details key={p.name}>
          <summary>The play that proved it: <Text>{p.name.slice(0, 16)}</Text>{p.at ? `, begun ${date(new Date(1000 * p.at).toISOString())}` : ''}</summary>
          {(p.results ?? []).map((r, i) => <div key={i}><p className="quiet">call {i}: {words(r.status)}</p><Block className="small result">{r.text}</Block></div>)}
          {(p.seen ?? []).map((r, i) => <div key={'s' + i}><p className="quiet">seen afterwards: {words(r.status)}</p><Block className="small">{r.text}</Block></div>)}
          {(p.changed ?? []).map((c) => <p key={c} className="quiet"><Text>{c}</Text></p>)}
          {Object.entries(p.files ?? {}).map(([file, text]) => <div key={file}><p className="quiet"><Text>{file}</Text> holds then</p><Block className="small">{text}</Block></div>)}
        </details>
      ))}
      <h2>Checks</h2>
      {(t.checks ?? []).length === 0 ? <p className="quiet">It has none: only a judge can score it.</p> : <ul className="checks">{t.checks!.map((c, i) => <li key={i}><b>{words(String(c.type))}</b> <Text className="args">{JSON.stringify(Object.fromEntries(Object.entries(c).filter(([k]) => k !== 'type')))}</Text></li>)}</ul>}
    </>
  )
}

// hashes are names with the beginnings of their SHA-256.
function hashes(of: Record<string, string> = {}): string {
  return Object.entries(of).map(([name, hash]) => `${name} ${hash.slice(0, 8)}`).join(', ')
}

function GoldCall({ g }: { g: Gold }) {
  return (
    <div className="call">
      <div className="call-head"><Text className="tool">{g.name}</Text>{g.asks && <span className="quiet">said before: {visible(g.asks)}</span>}</div>
      {g.reasoning && <Block className="small">{g.reasoning}</Block>}
      <Block className="small args">{JSON.stringify(g.arguments, null, 2)}</Block>
    </div>
  )
}
