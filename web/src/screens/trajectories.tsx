import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { bundled, useAnswer } from '../ask'
import { help, parse, select, type SortKey } from '../filter'
import { Empty, Problem, Text, useKeys, VirtualList } from '../parts'
import { change, go, href, type Place } from '../place'
import { PASSED, FAILED, type Followed, type Rows } from '../rows'
import { count, duration, number, visible, words } from '../words'

const columns: [SortKey, string, string][] = [
  ['order', 'trajectory', 'w-name'],
  ['step', 'step', 'w-n'],
  ['reward', 'reward', 'w-n'],
  ['turns', 'turns', 'w-n'],
  ['calls', 'calls', 'w-n'],
  ['errors', 'errors', 'w-n'],
  ['tokens', 'tokens', 'w-n'],
  ['seconds', 'time', 'w-n'],
]

export function Trajectories({ place, followed }: { place: Place; followed: Followed }) {
  const { rows } = followed
  const q = place.params.get('q') ?? ''
  const sort = (place.params.get('sort') ?? 'order') as SortKey
  const down = place.params.get('down') === '1'
  const at = Number(place.params.get('at') ?? -1)
  const [typed, type] = useState(q)
  const search = useMemo(() => parse(q), [q])
  const text = useDeferredValue(search.text)
  const found = useAnswer<number[]>(text ? 'search' : '', { run: place.run, text }, rows.version)
  const searching = search.text !== text || (text !== '' && !found.value && !found.failure && !bundled)
  const selected = useMemo(() => (searching ? undefined : select(rows, search, text ? searched(rows, text, found.value) : undefined, sort, down)), [searching, rows, rows.version, search, text, found.value, sort, down])
  const last = useRef<Int32Array>(new Int32Array()) // stays until there is another one
  if (selected) last.current = selected
  const list = last.current
  const set = (next: string) => {
    type(next)
    change(place, { q: next, at: undefined })
  }
  const open = (i: number) => i >= 0 && i < list.length && go(href(place.run, 'trajectory', { id: rows.id(list[i]), q, sort: sort === 'order' ? '' : sort, down: down ? 1 : '' }))
  const move = (by: number) => change(place, { at: Math.max(0, Math.min(list.length - 1, at + by)) })
  useKeys({
    j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(20), PageUp: () => move(-20), Home: () => move(-1e9), End: () => move(1e9),
    Enter: () => open(at), '/': () => document.getElementById('search')?.focus(),
  })
  const words = [...new Set(rows.outcomes)].filter(Boolean)
  return (
    <div className="full">
      <div className="bar">
        <label className="grow">
          <span className="hide">Search</span>
          <input id="search" type="search" placeholder="outcome:limit reward<0.5 words" value={typed} onChange={(e) => set(e.target.value)} onKeyDown={(e) => e.key === 'Enter' && e.currentTarget.blur()} aria-describedby="search-help" />
        </label>
        <Choose label="Stage" name="stage" list={rows.stages} q={typed} set={set} />
        <Choose label="Outcome" name="outcome" list={words} q={typed} set={set} />
        <Choose label="Reason" name="reason" list={rows.stops.filter(Boolean)} q={typed} set={set} />
        <Choose label="Tool" name="tool" list={rows.tools} q={typed} set={set} />
        <Choose label="Passed" name="passed" list={['yes', 'no']} q={typed} set={set} />
      </div>
      <details className="quiet" id="search-help" aria-busy={searching}>
        <summary>{count(list.length, 'trajectory')} of {rows.length.toLocaleString('en')}{followed.reading && rows.total > rows.length ? `, reading ${rows.total.toLocaleString('en')}` : ''}. How to search</summary>
        <p>{help} {bundled ? 'In these files words are looked for in names alone.' : 'Words are looked for in the first 2,000 bytes of an episode, results of tools last.'}</p>
      </details>
      {followed.failure && <Problem failure={followed.failure} />}
      {text && found.failure && <Problem failure={found.failure} />}
      {search.problems.map((p) => <p className="problem" key={p} role="alert">{visible(p)}</p>)}
      <div className="thead">
        {columns.map(([key, name, width]) => (
          <button key={key} aria-label={`sort by ${name}`} className={width} onClick={() => change(place, { sort: key === 'order' ? '' : key, down: sort === key && !down ? 1 : '', at: undefined })}>
            {name}{sort === key && sort !== 'order' ? (down ? ' \u2193' : ' \u2191') : ''}
          </button>
        ))}
      </div>
      {list.length === 0 && !searching ? (
        <Empty>{rows.length === 0 ? (followed.reading ? 'Reading the first rows ...' : 'This run has no trajectory yet.') : 'No trajectory is like that. Take a word away.'}</Empty>
      ) : (
        <VirtualList count={list.length} height={30} at={at >= 0 ? at : undefined} label="Trajectories">
          {(i) => <Line key={i} rows={rows} i={list[i]} here={i === at} to={href(place.run, 'trajectory', { id: rows.id(list[i]), q, sort: sort === 'order' ? '' : sort, down: down ? 1 : '' })} />}
        </VirtualList>
      )}
    </div>
  )
}

// searched are the rows with a text: the server knows, and of files the names do.
function searched(rows: Rows, text: string, found: number[] | undefined): number[] {
  if (!bundled) return found ?? []
  const low = text.toLowerCase()
  const out: number[] = []
  for (let i = 0; i < rows.length; i++) if (rows.id(i).toLowerCase().includes(low)) out.push(i)
  return out
}

function Choose({ label, name, list, q, set }: { label: string; name: string; list: string[]; q: string; set: (q: string) => void }) {
  const now = new RegExp(`(?:^|\\s)${name}:(\\S+)`).exec(q)?.[1] ?? ''
  const without = q.replace(new RegExp(`(^|\\s)${name}:\\S+`), '').trim()
  if (list.length < 2 && !now) return null
  return (
    <label>
      <span className="hide">{label}</span>
      <select value={list.includes(now) ? now : ''} onChange={(e) => set((without + (e.target.value ? ` ${name}:${e.target.value}` : '')).trim())}>
        <option value="">{label}: any</option>
        {list.map((x) => <option key={x} value={x}>{visible(words(x))}</option>)}
      </select>
    </label>
  )
}

export function Line({ rows, i, here, to }: { rows: Rows; i: number; here: boolean; to: string }) {
  const c = rows.cols
  const bad = rows.bad.get(i)
  const outcome = rows.outcomes[c.outcome[i]]
  return (
    <a className={'line' + (here ? ' here' : '')} href={to} title={bad}>
      <span className="w-name">
        <Mark passed={c.passed[i]} outcome={outcome} bad={bad !== undefined} />
        <Text>{rows.id(i)}</Text>
        {bad ? <span className="bad"> cannot be read</span> : outcome !== 'ok' && <span className="tag">{words(outcome)}{outcome === 'limit' ? ' ' + words(rows.stops[c.stop[i]]) : ''}</span>}
      </span>
      <span className="w-n">{c.step[i]}</span>
      <span className="w-n">{rows.reward[i] === null ? 'not yet' : number(rows.reward[i])}</span>
      <span className="w-n">{c.turns[i]}</span>
      <span className="w-n">{c.calls[i]}</span>
      <span className="w-n">{c.errors[i]}</span>
      <span className="w-n">{c.tokens[i]}</span>
      <span className="w-n">{duration(c.seconds[i])}</span>
    </a>
  )
}

export function Mark({ passed, outcome, bad }: { passed: number; outcome: string; bad?: boolean }) {
  const lost = bad || !/^(ok|policy_error|limit)$/.test(outcome)
  const [sign, says, tone] = lost ? ['!', 'lost', 'lost'] : passed === PASSED ? ['\u2713', 'passed', 'good'] : passed === FAILED ? ['\u2717', 'failed', 'poor'] : ['\u00b7', 'not judged', 'none']
  return <span className={'mark ' + tone} role="img" aria-label={says} title={says}>{sign}</span>
}
