// Each id of an episode, coloured by one of the numbers that training has of it.
import { useMemo } from 'react'
import { useAnswer } from '../ask'
import type { TokenRow, Tokens } from '../episode'
import { Empty, useKeys, Waits } from '../parts'
import { change, type Place } from '../place'
import { count, number, percent, visible } from '../words'

interface Mode {
  key: string
  name: string
  of: (row: TokenRow, i: number) => number | null
  both: boolean // below 0 is another colour than above
  says: string
}

const modes: Mode[] = [
  { key: 'mask', name: 'Mask', both: false, says: 'Blue is learnt, grey was sampled and is not learnt, plain was read', of: (r, i) => (r.trained[i] ? 1 : r.sampled[i] ? 0.12 : null) },
  { key: 'advantage', name: 'Advantage', both: true, says: 'Blue is pushed up, orange is pushed down', of: (r, i) => (r.sampled[i] ? r.advantage[i] : null) },
  { key: 'sampler', name: 'Sampler logprob', both: false, says: 'The darker, the less likely the token was to the sampler', of: (r, i) => neg(r.sampler[i]) },
  { key: 'trainer', name: 'Trainer logprob', both: false, says: 'The darker, the less likely the token was to the trainer', of: (r, i) => neg(r.trainer?.[i]) },
  { key: 'difference', name: 'Difference', both: true, says: 'Trainer minus sampler, in nats: blue is likelier to the trainer, orange less', of: (r, i) => (r.trainer?.[i] != null && r.sampler[i] != null ? r.trainer[i]! - r.sampler[i]! : null) },
  { key: 'entropy', name: 'Entropy', both: false, says: 'The darker, the less sure the policy was, in nats', of: (r, i) => r.entropy?.[i] ?? null },
]

function neg(x: number | null | undefined): number | null {
  return x === null || x === undefined ? null : -x
}

export function TokenView({ place, id }: { place: Place; id: string }) {
  const answer = useAnswer<Tokens>('tokens', { run: place.run, id })
  return <Waits of={answer}>{(t) => <View tokens={t} place={place} />}</Waits>
}

function View({ tokens, place }: { tokens: Tokens; place: Place }) {
  const mode = modes.find((m) => m.key === place.params.get('by')) ?? modes[0]
  const at = place.params.has('token') ? Number(place.params.get('token')) : -1
  const rows = tokens.rows.filter((r) => r.ids)
  const starts = useMemo(() => {
    let n = 0
    return rows.map((r) => {
      const first = n
      n += r.ids!.length
      return first
    })
  }, [tokens])
  const total = rows.reduce((n, r) => n + r.ids!.length, 0)
  const trained = rows.reduce((n, r) => n + r.trained.filter(Boolean).length, 0)
  const sampled = rows.reduce((n, r) => n + r.sampled.filter(Boolean).length, 0)
  const has = rows.some((r) => r.ids!.some((_, i) => mode.of(r, i) !== null))
  const range = useMemo(() => rangeOf(rows, mode), [tokens, mode])
  const move = (by: number) => change(place, { token: Math.max(0, Math.min(total - 1, at + by)) })
  useKeys({ ArrowRight: () => move(1), ArrowLeft: () => move(-1), ...Object.fromEntries(modes.map((m, i) => [String(i + 1), () => change(place, { by: m.key === 'mask' ? '' : m.key })])) })
  if (total === 0) return <Empty>This episode has no token ids: an endpoint sampled it, and told texts alone.</Empty>
  const r = rows.findLastIndex((_, k) => starts[k] <= at)
  const chosen = at >= 0 && at < total && r >= 0 ? { row: rows[r], i: at - starts[r], n: r } : undefined
  return (
    <section aria-label="Tokens">
      <p className="says">{tokens.learnt}</p>
      {tokens.note && <p className="says">{visible(tokens.note)}</p>}
      <div className="bar" role="group" aria-label="Colour by">
        {modes.map((m, i) => (
          <button key={m.key} aria-pressed={m === mode} onClick={() => change(place, { by: m.key === 'mask' ? '' : m.key })}>{m.name} <kbd>{i + 1}</kbd></button>
        ))}
      </div>
      <p className="quiet">
        {count(total, 'token')} in {count(rows.length, 'training row')}: {sampled.toLocaleString('en')} sampled, {trained.toLocaleString('en')} learnt. {mode.says}.{' '}
        {!has && (mode.key === 'mask' || mode.key === 'advantage' ? '' : 'This step did not keep it: grpo.keep_tokens does, from the next run on.')}
      </p>
      {has && mode.key !== 'mask' && <Scale mode={mode} range={range} />}
      <div className="detail" aria-live="polite">
        {chosen ? <Detail row={chosen.row} i={chosen.i} n={at} /> : <span className="quiet">Choose a token: a click, or the arrow keys. Its number is in the address then.</span>}
      </div>
      {rows.map((row, k) => (
        <div key={k}>
          {(row.begins || rows.length > 1) && <h3>row {k + 1} of {rows.length}{row.begins && <span className="quiet"> begins anew: {visible(row.begins)}</span>}</h3>}
          <div
            className="tokens"
            onClick={(e) => {
              const n = (e.target as HTMLElement).dataset.n
              if (n) change(place, { token: n })
            }}
          >
            {row.ids!.map((id, i) => {
              const n = starts[k] + i
              const x = mode.of(row, i)
              const text = row.texts[i]
              const share = x === null ? 0 : mode.key === 'mask' ? x : Math.min(1, Math.abs(x) / range)
              return (
                <span key={n} data-n={n} className={'token' + (n === at ? ' here' : '') + (x === null ? ' read' : mode.both && x < 0 ? ' down' : ' up') + (text === '' ? ' id' : '')} style={x === null ? undefined : { '--share': `${Math.round(70 * share)}%` } as React.CSSProperties}>
                  {text === '' ? `[${id}]` : shown(text)}
                  {text.includes('\n') && '\n'}
                </span>
              )
            })}
          </div>
        </div>
      ))}
    </section>
  )
}

// shown is a token's text with line breaks and spaces at its ends made visible.
function shown(text: string): string {
  return visible(text).replaceAll('\n', '\u21b5').replaceAll('\t', '\u21e5')
}

function Detail({ row, i, n }: { row: TokenRow; i: number; n: number }) {
  const facts: [string, string][] = [
    ['token', String(n)], ['id', String(row.ids![i])], ['text', JSON.stringify(visible(row.texts[i]))], ['turn', String(row.turns[i])],
    ['', row.trained[i] ? 'learnt' : row.sampled[i] ? 'sampled, not learnt' : 'read'],
  ]
  if (row.sampled[i]) facts.push(['advantage', number(row.advantage[i])])
  if (row.sampler[i] != null) facts.push(['sampler', `${number(row.sampler[i])} (${percent(Math.exp(row.sampler[i]!), 1)})`])
  if (row.trainer?.[i] != null) facts.push(['trainer', `${number(row.trainer[i])} (${percent(Math.exp(row.trainer[i]!), 1)})`])
  if (row.trainer?.[i] != null && row.sampler[i] != null) facts.push(['difference', number(row.trainer[i]! - row.sampler[i]!)])
  if (row.entropy?.[i] != null) facts.push(['entropy', number(row.entropy[i])])
  return <>{facts.map(([name, value]) => <span key={name + value}>{name && <b>{name} </b>}{value}</span>)}</>
}

// rangeOf is the number that has the full colour: the 98th percentile, so that one odd token does not pale the others.
function rangeOf(rows: TokenRow[], mode: Mode): number {
  const all = rows.flatMap((r) => r.ids!.map((_, i) => mode.of(r, i)).filter((x): x is number => x !== null).map(Math.abs)).sort((a, b) => a - b)
  return all[Math.floor(0.98 * (all.length - 1))] || all[all.length - 1] || 1
}

function Scale({ mode, range }: { mode: Mode; range: number }) {
  return (
    <p className="scale">
      {mode.both && <span className="token down" style={{ '--share': '70%' } as React.CSSProperties}>{number(-range, 2)}</span>}
      <span>0</span>
      <span className="token up" style={{ '--share': '70%' } as React.CSSProperties}>{mode.key.endsWith('er') && !mode.both ? number(-range, 2) : number(range, 2)}</span>
      <span className="quiet">and beyond</span>
    </p>
  )
}
