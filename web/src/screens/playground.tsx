// A conversation with a model that calls the tools of the run's servers. Each call waits for the person; a trajectory is gone on from at
// a turn; what comes of it is sent to curation. Nothing begins by an address alone, and none holds an endpoint or a key.
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Arguments } from '../arguments'
import { ask, bundled, failureOf, send, useAnswer, type Failure } from '../ask'
import { opening, type Episode } from '../episode'
import { Empty, Problem, Text, useKeys, Waits } from '../parts'
import { href, type Place } from '../place'
import { count, visible } from '../words'
import { Opening, TurnView } from './trajectory'

interface Question { number: number; server: string; tool: string; arguments: string; read_only: boolean; destructive: boolean; before?: string }
interface Play {
  version: string
  phase: '' | 'opening' | 'speaking' | 'asking' | 'calling' | 'waiting' | 'held' | 'over'
  model: string
  where: string
  branch?: string
  turn: number
  episode: Episode | null
  tools: string[]
  question: Question | null
  failure: Failure | null
  notes: string[]
  reads_unasked: boolean
  kept: { run: string; path: string; episode: string; trace: string } | null
}
type Move = Record<string, string | number | boolean>

export const keys: [string, string][] = [['y n', 'approve the call, refuse it'], ['Ctrl+Enter', 'say what is written']]

export function Playground({ place }: { place: Place }) {
  if (bundled) return <Empty>The playground is not in these files: in it a model speaks, and servers are started. <code>hone view {visible(place.run)}</code> has it, on the machine that has the run.</Empty>
  return <Conversation key={place.run} place={place} />
}

function Conversation({ place }: { place: Place }) {
  const { run } = place
  const [now, set] = useState<Play>()
  const [failure, fail] = useState<Failure>()
  const [moving, setMoving] = useState(false)
  const [another, setAnother] = useState(false)
  const going = Boolean(now?.phase)
  useEffect(() => {
    const stop = new AbortController()
    const follow = async () => {
      for (let since = ''; !stop.signal.aborted; ) {
        const next = await ask<Play>('playground', { run, since }, stop.signal)
        set((old) => later(old, next))
        if (!next.phase) return // until one begins
        since = next.version
      }
    }
    follow().catch((err) => stop.signal.aborted || fail(failureOf(err)))
    return () => stop.abort()
  }, [run, going])
  const move = async (what: Move) => {
    setMoving(true)
    fail(undefined)
    try {
      const next = await send<Play>('playground', { run }, what)
      set((old) => later(old, next))
      if (what.do === 'begin') setAnother(false)
      return true
    } catch (err) {
      fail(failureOf(err))
      return false
    } finally {
      setMoving(false)
    }
  }
  if (!now) return failure ? <Problem failure={failure} /> : <p className="quiet" role="status">Reading ...</p>
  const id = place.params.get('id') ?? ''
  const turn = Number(place.params.get('turn')) || 0
  const elsewhere = Boolean(now.phase) && id !== '' && (now.branch !== id || now.turn !== turn)
  const begins = !now.phase || (now.phase === 'over' && (another || elsewhere))
  return (
    <div className="chat">
      {failure && <Problem failure={failure} />}
      {elsewhere && !begins && <p className="says">Another conversation goes on. End it, and this one can begin.</p>}
      {begins ? <Begin key={id + turn} place={place} id={id} turn={turn} moving={moving} move={move} /> : <Talk now={now} run={run} moving={moving} move={move} again={() => setAnother(true)} />}
    </div>
  )
}

// later is the later of two states: the answers to a move and to a question may come in any order.
function later(old: Play | undefined, next: Play): Play {
  const [a, b] = [old?.version ?? '', next.version].map((v) => v.split('.').map(Number))
  return a.length === 2 && b.length === 2 && (a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])) ? old! : next
}

// typed is what was given last, as long as the page is open.
const typed = { endpoint: '', model: '', key_env: '', temperature: 0, reads_unasked: false }

function Begin({ place, id, turn, moving, move }: { place: Place; id: string; turn: number; moving: boolean; move: (m: Move) => Promise<boolean> }) {
  const [form, setForm] = useState({ ...typed, text: '' })
  const answer = useAnswer<Episode>(id ? 'episode' : '', { run: place.run, id })
  const put = (part: Partial<typeof form>) => {
    setForm({ ...form, ...part })
    const { text: _, ...rest } = { ...form, ...part }
    Object.assign(typed, rest)
  }
  const begin = () => void move({ do: 'begin', ...form, episode: id, turn })
  const field = (name: 'endpoint' | 'model' | 'key_env', label: string, hint: string) => (
    <label>{label}<input type="text" value={form[name]} placeholder={hint} spellCheck={false} autoComplete="off" onChange={(e) => put({ [name]: e.target.value })} /></label>
  )
  const turns = answer.value?.trajectory.turns ?? []
  const speaks = !id || (turn === turns.length && !(turns[turn - 1]?.calls ?? []).length) // the person, and not the model
  return (
    <section aria-label="Begin a conversation">
      <h2>{id ? 'Go on from a trajectory' : 'Talk with a model'}</h2>
      {id && (
        <Waits of={answer}>
          {(e) => (
            <>
              <p>
                <a href={href(place.run, 'trajectory', { id, turn })}><Text>{e.name}</Text></a>: {turn < turns.length ? `the model says turn ${turn} anew` : 'it goes on behind its last turn'}.
                {turn > 0 && ` ${count(Math.min(turn, turns.length), 'turn')} before it ${turn === 1 ? 'is' : 'are'} taken again as ${turn === 1 ? 'it was' : 'they were'}. The calls are made again, and each waits for you, so that the servers are as they were then.`}
              </p>
              <details><summary>What it begins with</summary>{opening(e.trajectory).map((m, i) => <Opening key={i} m={m} />)}{turns.slice(0, turn).map((t, k) => <TurnView key={k} e={e} turn={t} k={k} title={`turn ${k}`} />)}</details>
            </>
          )}
        </Waits>
      )}
      <div className="fields">
        {field('endpoint', 'Endpoint', 'http://127.0.0.1:8000/v1')}
        {field('model', 'Model', 'a name there, or PROVIDER/MODEL')}
        {field('key_env', 'Variable that holds the key', 'OPENAI_API_KEY, or none')}
        <label>Temperature<input type="number" min={0} max={2} step={0.1} value={form.temperature} onChange={(e) => put({ temperature: Number(e.target.value) })} /></label>
      </div>
      <p className="quiet"><code>hone serve</code> prints its endpoint. The key is read where <code>hone view</code> runs, and never comes to this page. The servers of the run start when you begin, and end with the view.</p>
      <label className="check"><input type="checkbox" checked={form.reads_unasked} onChange={(e) => put({ reads_unasked: e.target.checked })} /> Run read-only calls without asking</label>
      {speaks && <label>What you say first<textarea rows={3} value={form.text} onChange={(e) => put({ text: e.target.value })} onKeyDown={(e) => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && begin()} /></label>}
      <div className="bar"><button disabled={moving || (id !== '' && !answer.value)} onClick={begin}>Begin</button></div>
    </section>
  )
}

const says: Record<string, string> = { opening: 'The servers start ...', speaking: 'The model speaks ...', calling: 'The call is made ...', asking: 'A call waits for you.', waiting: 'It is your turn.', held: 'The model waits for you.', over: 'The conversation is over.' }

function Talk({ now, run, moving, move, again }: { now: Play; run: string; moving: boolean; move: (m: Move) => Promise<boolean>; again: () => void }) {
  const e = now.episode
  const turns = e?.trajectory.turns ?? []
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' })
  }, [turns.length, now.phase])
  const over = now.phase === 'over'
  return (
    <>
      <p className="quiet">
        <Text>{now.model}</Text>{now.where && <> at <Text>{now.where}</Text></>}
        {now.branch && <>, goes on from <a href={href(run, 'trajectory', { id: now.branch, turn: now.turn })}><Text>{now.branch}</Text>, turn {now.turn}</a></>}
        {now.tools.length > 0 && <>, is shown {count(now.tools.length, 'tool')}: <Text>{now.tools.slice(0, 12).join(', ')}</Text>{now.tools.length > 12 && ' and others'}</>}
      </p>
      {!over && <label className="check"><input type="checkbox" checked={now.reads_unasked} disabled={moving} onChange={(x) => void move({ do: x.target.checked ? 'let_reads' : 'ask_reads' })} /> Run read-only calls without asking</label>}
      {e && <section aria-label="Conversation">{opening(e.trajectory).map((m, i) => <Opening key={i} m={m} />)}{turns.map((turn, k) => <TurnView key={k} e={e} turn={turn} k={k} title={`turn ${k}${now.branch && k < now.turn ? ', taken again' : ''}`} waits={!over && k === turns.length - 1} />)}</section>}
      {now.notes.map((n) => <p key={n} className="alert"><Text>{n}</Text></p>)}
      <p role="status" className="quiet">{says[now.phase]}{now.question && ` It is ${visible(now.question.tool)} of ${visible(now.question.server)}.`}</p>
      {now.failure && <Problem failure={now.failure} />}
      {now.question && <Decision key={now.question.number} q={now.question} moving={moving} move={move} />}
      {now.phase === 'held' && <div className="bar"><button disabled={moving} onClick={() => void move({ do: 'go_on' })}>{turns.length && now.failure?.where === 'rollout.max_turns' ? 'Let it go on' : 'Ask again'}</button><End moving={moving} move={move} /></div>}
      {now.phase === 'waiting' && <Say key={turns.length} moving={moving} move={move}><Send moving={moving} move={move} /><End moving={moving} move={move} /></Say>}
      {['opening', 'speaking', 'calling', 'asking'].includes(now.phase) && <div className="bar"><End moving={moving} move={move} /></div>}
      {over && (
        <div className="bar">
          {!now.kept && e && <Send moving={moving} move={move} />}
          <button onClick={again}>Begin another</button>
        </div>
      )}
      {now.kept && <p className="says">It is kept as <a href={href(now.kept.run, 'trajectory', { id: now.kept.episode })}><Text>{now.kept.episode}</Text></a> of the run <Text>{now.kept.run}</Text>, in <code>{visible(now.kept.path)}</code>. <a href={href(now.kept.run, 'curate', { trace: now.kept.trace })}>Curate it</a></p>}
      <div ref={end} />
    </>
  )
}

interface Moves { moving: boolean; move: (m: Move) => Promise<boolean> }

function End({ moving, move }: Moves) {
  return <button disabled={moving} onClick={() => void move({ do: 'end' })}>End the conversation</button>
}

function Send({ moving, move }: Moves) {
  return <button disabled={moving} onClick={() => void move({ do: 'send' })}>Send to curation</button>
}

function Decision({ q, moving, move }: Moves & { q: Question }) {
  const decide = (what: string) => moving || void move({ do: what, number: q.number })
  useKeys({ y: () => decide('approve'), n: () => decide('refuse') })
  return (
    <section className="writing" aria-label="A call waits for you">
      <div className="call-head"><span className="quiet">{visible(q.server)}</span> <Text className="tool">{q.tool}</Text>{q.destructive ? <span className="tag">says that it destroys</span> : <span className="quiet">{q.read_only ? 'says that it only reads' : 'may change something'}</span>}</div>
      {q.before && <p className="quiet">The call is none of the model's: {visible(q.before)}.</p>}
      <Arguments text={q.arguments} reasons={[]} />
      <div className="bar"><button disabled={moving} onClick={() => decide('approve')}>Approve <kbd>y</kbd></button><button disabled={moving} onClick={() => decide('refuse')}>Refuse <kbd>n</kbd></button></div>
    </section>
  )
}

function Say({ moving, move, children }: Moves & { children: ReactNode }) {
  const [text, setText] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])
  const say = () => moving || void move({ do: 'say', text })
  return (
    <div className="writing">
      <label>You say<textarea ref={box} rows={3} value={text} onChange={(e) => setText(e.target.value)} onKeyDown={(e) => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && say()} /></label>
      <div className="bar"><button disabled={moving || !text.trim()} onClick={say}>Say <kbd>Ctrl+Enter</kbd></button>{children}</div>
    </div>
  )
}
