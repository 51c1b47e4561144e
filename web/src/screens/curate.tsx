// Traces before they are learnt from: a queue, the trace, and what sft would read of it. Keys are those of hone curate on a terminal
// where they can be; each is an operation in the same ledger, and can be undone.
import { useEffect, useMemo, useRef, useState } from 'react'
import { failureOf, send, useAnswer, type Failure } from '../ask'
import { Block, Empty, Problem, Text, useKeys, VirtualList, Waits } from '../parts'
import { change, href, type Place } from '../place'
import { count, visible } from '../words'
import type { Message } from '../episode'

interface Listed { id: string; status: string; why?: string; by?: string; rating?: number; messages: number; calls: number; operations?: number[]; findings?: string[]; task: string }
interface Traces { traces: Listed[]; data: string; command: string }
interface Op { seq: number; do: string; trace: string; at: string; author?: string; of?: number; message?: number; turn?: number; call?: number; text?: string; rating?: number; why?: string }
interface Shown extends Listed { conversation: Message[]; opening: number; log: Op[] }
interface Curated { op: Op; changed: Listed[]; order: string[] }
interface Preview { rows: { tokens: number; trained: number; begins?: string; pieces: { text: string; trained: boolean }[] }[] }

export const keys: [string, string][] = [
  ['j k', 'next trace, trace before'], ['a', 'accept'], ['x', 'reject, with a reason'], ['1 2 3 4 5', 'rate'], ['J K', 'next part of the trace, part before'], ['e', 'edit the part: text, reasoning or arguments'],
  ['d', 'delete the step: the message and the results of its calls'], ['D', 'delete the turn'], ['m', 'merge the turn with the one before'], ['s', 'split the trace before the turn'], ['h', 'drop the system message'],
  ['u', 'undo the last operation on the trace'], ['p', 'leave the system message out of, or in, what is shown'], ['t', 'show or hide the text that is trained'], ['/', 'search'], ['?', 'these keys'],
]

interface Part { message: number; call: number; turn: number; do: string; title: string; text: string }

export function Curate({ place }: { place: Place }) {
  const answer = useAnswer<Traces>('traces', { run: place.run })
  return <Waits of={answer}>{(t) => <Desk key={t.data} given={t} place={place} />}</Waits>
}

function Desk({ given, place }: { given: Traces; place: Place }) {
  const [list, setList] = useState(given.traces)
  const [said, say] = useState('')
  const [failure, fail] = useState<Failure>()
  const [changes, setChanges] = useState(0)
  const [writing, write] = useState<{ part?: Part; reject?: boolean; text: string }>()
  const [part, setPart] = useState(0)
  const q = place.params.get('q') ?? ''
  const status = place.params.get('status') ?? ''
  const shown = useMemo(() => {
    const parts = q.toLowerCase().split(/\s+/).filter(Boolean)
    return list.filter((t) => (!status || (status === 'findings' ? (t.findings?.length ?? 0) > 0 : t.status === status)) && parts.every((w) => `${t.id} ${t.task}`.toLowerCase().includes(w)))
  }, [list, q, status])
  const id = place.params.get('trace') ?? shown[0]?.id ?? ''
  const at = shown.findIndex((t) => t.id === id)
  const trace = useAnswer<Shown>(id ? 'trace' : '', { run: place.run, id }, changes)
  const text = place.params.get('text') !== '0'
  const parts = useMemo(() => (trace.value ? partsOf(trace.value) : []), [trace.value])
  const now = parts[Math.min(part, parts.length - 1)]
  const choose = (i: number) => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, i))]
    if (next) {
      setPart(0)
      change(place, { trace: next.id })
    }
  }
  const operate = async (op: Partial<Op>, then?: 'next') => {
    fail(undefined)
    try {
      const done = await send<Curated>('curate', { run: place.run }, op)
      setList((old) => merge(old, done))
      setChanges((n) => n + 1)
      say(`operation ${done.op.seq}: ${done.op.do.replaceAll('_', ' ')} ${done.op.trace}`)
      if (then) choose(at + 1)
    } catch (err) {
      fail(failureOf(err))
    }
  }
  const undo = () => {
    const live = lastLive(trace.value?.log ?? [])
    if (live) void operate({ do: 'undo', of: live })
    else say('nothing was done to it that could be undone')
  }
  const move = (by: number) => {
    const next = Math.max(0, Math.min(parts.length - 1, part + by))
    setPart(next)
    document.getElementById('part-' + next)?.scrollIntoView({ block: 'nearest' })
  }
  useKeys(
    {
      j: () => choose(at + 1), k: () => choose(at - 1), J: () => move(1), K: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
      a: () => id && void operate({ do: 'accept', trace: id }, 'next'),
      x: () => id && write({ reject: true, text: '' }),
      e: () => now && write({ part: now, text: now.text }),
      d: () => now && void operate({ do: 'delete_step', trace: id, message: now.message }),
      D: () => now && void operate({ do: 'delete_turn', trace: id, turn: now.turn }),
      m: () => now && void operate({ do: 'merge_turns', trace: id, turn: Math.max(1, now.turn - 1) }),
      s: () => now && void operate({ do: 'split', trace: id, turn: now.turn }),
      h: () => void operate({ do: 'drop_system', trace: id }),
      u: undo,
      p: () => change(place, { system: place.params.get('system') === '0' ? '' : '0' }),
      t: () => change(place, { text: text ? '0' : '' }),
      '/': () => document.getElementById('curate-search')?.focus(),
      ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [String(n), () => id && void operate({ do: 'rate', trace: id, rating: n })])),
    },
    !writing,
  )
  const tally = (s: string) => list.filter((t) => t.status === s).length
  if (given.traces.length === 0) return <Empty>This run left no traces to curate.</Empty>
  return (
    <div className={'split curate' + (text ? ' with-text' : '')}>
      <div className="side">
        <label><span className="hide">Search traces</span><input id="curate-search" type="search" placeholder="id or words of the task" value={q} onChange={(e) => change(place, { q: e.target.value, trace: '' })} /></label>
        <label>
          <span className="hide">Status</span>
          <select value={status} onChange={(e) => change(place, { status: e.target.value, trace: '' })}>
            <option value="">any status</option><option value="undecided">undecided</option><option value="accepted">accepted</option><option value="rejected">rejected</option><option value="findings">something does not hold</option>
          </select>
        </label>
        <p className="quiet">{count(tally('undecided'), 'trace')} undecided, {tally('accepted')} accepted, {tally('rejected')} rejected</p>
        <VirtualList count={shown.length} height={46} at={at} label="Traces">
          {(i) => {
            const t = shown[i]
            return (
              <a key={t.id} className={'entry' + (i === at ? ' here' : '')} href={href(place.run, 'curate', { ...Object.fromEntries(place.params), trace: t.id })} aria-current={i === at ? 'true' : undefined}>
                <span className="clip"><span className={'mark ' + ({ accepted: 'good', rejected: 'poor' }[t.status] ?? 'none')} role="img" aria-label={t.status}>{{ accepted: '\u2713', rejected: '\u2717' }[t.status] ?? '\u00b7'}</span><Text>{t.task || t.id}</Text></span>
                <span className="quiet clip"><Text>{t.id}</Text>{t.rating ? ` \u00b7 rated ${t.rating}` : ''}{t.findings?.length ? ' \u00b7 does not hold' : ''}</span>
              </a>
            )
          }}
        </VirtualList>
      </div>
      <div className="main">
        <p role="status" className="quiet">{said || 'Press ? for the keys. Nothing is taken away: each operation can be undone.'}</p>
        {failure && <Problem failure={failure} />}
        {shown.length === 0 ? <Empty>No trace is like that.</Empty> : (
          <Waits of={trace}>
            {(t) => (
              <>
                <h2 className="task"><Text>{t.task || t.id}</Text></h2>
                <p className="quiet"><Text>{t.id}</Text> &middot; {t.status}{t.why && <> because <Text>{t.why}</Text></>}{t.rating ? `, rated ${t.rating}` : ''}</p>
                <Buttons operate={(op) => void operate({ ...op, trace: id })} undo={undo} reject={() => write({ reject: true, text: '' })} edit={() => now && write({ part: now, text: now.text })} />
                {(t.findings ?? []).map((f) => <p key={f} className="wrong">Does not hold: <Text>{f}</Text></p>)}
                {writing && <Writing of={writing} write={write} operate={operate} id={id} />}
                {parts.filter((p) => place.params.get('system') !== '0' || t.conversation[p.message].role !== 'system').map((p) => {
                  const i = parts.indexOf(p)
                  return (
                    <article key={i} id={'part-' + i} className={'message ' + t.conversation[p.message].role + (p === now ? ' here' : '')} onClick={() => setPart(i)}>
                      <h3>{visible(p.title)}</h3>
                      <Block className={p.do === 'edit_arguments' ? 'args' : ''}>{p.text}</Block>
                    </article>
                  )
                })}
                {t.log.length > 0 && (
                  <details><summary>What was done ({t.log.length})</summary><ol className="plain">{t.log.map((op) => <li key={op.seq}>{op.seq}: {op.do.replaceAll('_', ' ')}{op.of ? ` ${op.of}` : ''}{op.why && `, because ${visible(op.why)}`} <span className="quiet">{visible(op.author ?? '')} {op.at}</span></li>)}</ol></details>
                )}
                <p className="quiet">What is left is written by <code>{given.command}</code>, which <code>hone sft</code> learns from.</p>
              </>
            )}
          </Waits>
        )}
      </div>
      {text && id && <div className="text-side"><Training run={place.run} id={id} changes={changes} /></div>}
    </div>
  )
}

function Buttons({ operate, undo, reject, edit }: { operate: (op: Partial<Op>) => void; undo: () => void; reject: () => void; edit: () => void }) {
  return (
    <div className="bar">
      <button onClick={() => operate({ do: 'accept' })}>Accept <kbd>a</kbd></button>
      <button onClick={reject}>Reject <kbd>x</kbd></button>
      <button onClick={edit}>Edit <kbd>e</kbd></button>
      <button onClick={undo}>Undo <kbd>u</kbd></button>
    </div>
  )
}

function Writing({ of, write, operate, id }: { of: { part?: Part; reject?: boolean; text: string }; write: (w: typeof of | undefined) => void; operate: (op: Partial<Op>, then?: 'next') => Promise<void>; id: string }) {
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus(), [])
  const done = () => {
    write(undefined)
    if (of.reject) void operate({ do: 'reject', trace: id, why: of.text.trim() || undefined }, 'next')
    else if (of.part && of.text !== of.part.text) void operate({ do: of.part.do, trace: id, message: of.part.message, call: of.part.call, text: of.text })
  }
  const label = of.reject ? 'Reject, because' : `Edit ${of.part!.title}`
  return (
    <div className="writing">
      <label>
        {visible(label)}
        <textarea ref={box} rows={of.reject ? 2 : Math.min(24, 2 + of.text.split('\n').length)} value={of.text} onChange={(e) => write({ ...of, text: e.target.value })}
          onKeyDown={(e) => {
            if (e.key === 'Escape') write(undefined)
            if (e.key === 'Enter' && (of.reject || e.ctrlKey || e.metaKey)) {
              e.preventDefault()
              done()
            }
          }} />
      </label>
      <div className="bar"><button onClick={done}>Keep <kbd>{of.reject ? 'Enter' : 'Ctrl+Enter'}</kbd></button><button onClick={() => write(undefined)}>Leave it <kbd>Esc</kbd></button></div>
    </div>
  )
}

function Training({ run, id, changes }: { run: string; id: string; changes: number }) {
  const answer = useAnswer<Preview>('preview', { run, id }, changes)
  return (
    <section aria-label="Text that is trained">
      <h2>What sft would read</h2>
      <p className="quiet">It learns what is marked.</p>
      <Waits of={answer}>
        {(p) => (
          <>
            {p.rows.map((r, i) => (
              <div key={i}>
                <h3>row {i + 1} of {p.rows.length}: {count(r.tokens, 'token')}, {r.trained} learnt{r.begins && <span className="quiet"> begins anew: {visible(r.begins)}</span>}</h3>
                <pre className="block training">{r.pieces.map((x, k) => (x.trained ? <mark key={k}>{visible(x.text)}</mark> : <span key={k}>{visible(x.text)}</span>))}</pre>
              </div>
            ))}
          </>
        )}
      </Waits>
    </section>
  )
}

function partsOf(t: Shown): Part[] {
  const out: Part[] = []
  let turn = 0
  t.conversation.forEach((m, i) => {
    if (m.role === 'user' && (i === 0 || t.conversation[i - 1].role !== 'user')) turn++
    const add = (operation: string, what: string, text: string, call = 0) => out.push({ message: i, call, turn, do: operation, text, title: `${i} ${m.role}${what}${m.role === 'user' && !what ? `, turn ${turn}` : ''}${i < t.opening ? ', given' : ''}` })
    if (m.reasoning_content) add('edit_reasoning', ' reasoning', m.reasoning_content)
    if (m.content || !(m.tool_calls ?? []).length) add('edit_text', '', m.content ?? '')
    ;(m.tool_calls ?? []).forEach((c, j) => add('edit_arguments', ' calls ' + c.function.name, c.function.arguments, j))
  })
  return out
}

// lastLive is the last operation that is not undone, and no undo itself.
function lastLive(log: Op[]): number | undefined {
  const live = new Map<number, boolean>()
  for (const op of [...log].reverse()) {
    if (live.get(op.seq) === false) continue
    live.set(op.seq, true)
    if (op.do === 'undo') live.set(op.of!, false)
  }
  return [...log].reverse().find((op) => live.get(op.seq) && op.do !== 'undo')?.seq
}

// merge puts what an operation changed into the list.
function merge(old: Listed[], done: Curated): Listed[] {
  const by = new Map(done.changed.map((t) => [t.id, t]))
  if (done.order.length === 0) return old.map((t) => by.get(t.id) ?? t)
  const before = new Map(old.map((t) => [t.id, t]))
  return done.order.map((id) => by.get(id) ?? before.get(id)!).filter(Boolean)
}

