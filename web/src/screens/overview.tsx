import { useMemo, useState } from 'react'
import { useAnswer } from '../ask'
import { Empty, Lane, useKeys, Waits, type Interval } from '../parts'
import { change, go, href, type Place } from '../place'
import { Plot, type Line, type Mark } from '../plot'
import { count, date, dollars, duration, number, percent, visible, words } from '../words'

export interface Measured extends Interval {
  step: number
  episodes: number
}

export interface OverviewOf {
  key: string
  name: string
  path: string
  created: string
  state: string
  live: boolean
  verb?: string
  attempts: number
  facts: [string, string][]
  stages: { name: string; status: string; trajectories: number; steps: number; metrics: string[] }[]
  checkpoints: { stage: string; step: number }[]
  cards: { reward: Measured | null; held_out: Measured | null; trainable: Measured | null; cost: number | null; budget: number; seconds: number; done: number; steps: number; left: number | null; main_stage: string }
  words: string[]
  alerts: { name: string; says: string; next: string; see?: string }[]
  panels: { title: string; names: string[]; share?: boolean; held?: Record<string, string> }[]
  trouble?: string
}

export interface Series {
  stage: string
  steps: number[]
  values: Record<string, (number | null)[]>
}

export function Overview({ place, version }: { place: Place; version: number }) {
  const answer = useAnswer<OverviewOf>('overview', { run: place.run }, version)
  return <Waits of={answer}>{(o) => <Facts o={o} place={place} version={version} />}</Waits>
}

function Facts({ o, place, version }: { o: OverviewOf; place: Place; version: number }) {
  const c = o.cards
  return (
    <>
      {o.trouble && <p className="problem" role="alert">{visible(o.trouble)}</p>}
      <p className="lead">
        {o.verb ?? 'A run'} &middot; {visible(o.state)} &middot; begun {date(o.created)}
        {o.attempts > 1 && <> &middot; {count(o.attempts, 'attempt')}</>}
      </p>
      {o.alerts.length > 0 && (
        <section aria-label="Alerts">
          {o.alerts.map((a) => (
            <div className="alert" key={a.name}>
              <strong>{a.name}</strong> {visible(a.says)} <span className="next">{visible(a.next)}</span>{' '}
              {a.see && <a href={href(place.run, 'trajectories', { q: a.see })}>Show these trajectories</a>}
            </div>
          ))}
        </section>
      )}
      <h2 className="hide">Numbers</h2>
      <section className="cards" aria-label="Numbers">
        {c.held_out && <IntervalCard title="Held-out success" of={c.held_out} share note={`${count(c.held_out.n, 'scenario')} after ${count(c.held_out.step, 'step')}`} />}
        {c.reward && <IntervalCard title="Reward" of={c.reward} note={`${count(c.reward.episodes, 'episode')} of step ${c.reward.step}`} />}
        {c.trainable && (
          <Card title="Groups that teach" value={percent(c.trainable.mean)} note={`of those of the last ${count(c.trainable.n, 'step')}: in these, rewards differ`} />
        )}
        {c.main_stage && (
          <Card title="Steps" value={c.steps ? `${c.done} of ${c.steps}` : String(c.done)} note={c.left !== null && o.live ? `about ${duration(c.left)} left, by the last steps` : `${duration(c.seconds)} of work`} />
        )}
        {c.cost !== null && <Card title="Cost of the judge" value={dollars(c.cost)} note={c.budget ? `of a budget of ${dollars(c.budget)}` : 'no budget is set'} bar={c.budget ? c.cost / c.budget : undefined} />}
      </section>
      {o.words.length > 0 && (
        <section aria-label="Where the time went">
          {o.words.map((w) => (
            <p key={w} className="says">{visible(w.charAt(0).toUpperCase() + w.slice(1))}.</p>
          ))}
        </section>
      )}
      <Plots o={o} place={place} version={version} />
      <section className="pair">
        <div>
          <h2>Stages</h2>
          <div className="scroll">
            <table>
              <thead><tr><th>stage</th><th>state</th><th className="n">steps</th><th className="n">trajectories</th></tr></thead>
              <tbody>
                {o.stages.map((s) => (
                  <tr key={s.name}>
                    <td>{s.trajectories > 0 ? <a href={href(place.run, 'trajectories', { q: 'stage:' + s.name })}>{visible(s.name)}</a> : visible(s.name)}</td>
                    <td>{visible(s.status || '-')}</td>
                    <td className="n">{s.steps.toLocaleString('en')}</td>
                    <td className="n">{s.trajectories.toLocaleString('en')}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
        <div>
          <h2>What ran</h2>
          <dl className="facts">
            {o.facts.map(([name, value]) => (
              <div key={name}><dt>{name}</dt><dd>{visible(value)}</dd></div>
            ))}
          </dl>
        </div>
      </section>
    </>
  )
}

function Card({ title, value, note, bar }: { title: string; value: string; note: string; bar?: number }) {
  return (
    <div className="card">
      <h3>{title}</h3>
      <p className="big">{value}</p>
      {bar !== undefined && <div className="budget" aria-hidden="true"><i style={{ width: `${Math.min(100, 100 * bar)}%` }} /></div>}
      <p className="note">{note}</p>
    </div>
  )
}

function IntervalCard({ title, of, share, note }: { title: string; of: Measured; share?: boolean; note: string }) {
  const text = (x: number) => (share ? percent(x) : number(x))
  const pad = (of.high - of.low) / 2 || 0.5
  const [low, high] = share ? [0, 1] : [Math.min(0, of.low - pad), of.high + pad]
  return (
    <div className="card">
      <h3>{title}</h3>
      <p className="big">{text(of.mean)}</p>
      <Lane of={of} low={low} high={high} tone="blue" />
      <p className="note">
        {text(of.low)} to {text(of.high)}{of.too_few ? ', too few to tell' : ''} &middot; {note}
      </p>
    </div>
  )
}

function Plots({ o, place, version }: { o: OverviewOf; place: Place; version: number }) {
  const [own, setOwn] = useState(place.params.get('metric') ?? '')
  const stage = place.params.get('stage') ?? o.cards.main_stage ?? ''
  const names = useMemo(() => [...new Set([...o.panels.flatMap((p) => p.names), 'time/programs'])], [o.panels])
  const main = useAnswer<Series>(stage ? 'series' : '', { run: place.run, stage, names: names.join(',') }, version)
  const held = useAnswer<Series>(o.stages.some((s) => s.name === 'validation') ? 'series' : '', { run: place.run, stage: 'validation', names: 'success,reward,eval_loss' }, version)
  const other = useAnswer<Series>(own && stage ? 'series' : '', { run: place.run, stage, names: own }, version)
  const marks = useMemo<Mark[]>(
    () => [
      ...o.checkpoints.filter((c) => c.stage === stage).map((c) => ({ step: c.step, kind: 'checkpoint' as const })),
      ...(held.value?.steps ?? []).map((step) => ({ step, kind: 'evaluation' as const })),
      ...restarts(main.value).map((step) => ({ step, kind: 'restart' as const })),
    ],
    [o.checkpoints, stage, held.value, main.value],
  )
  const drawn = useMemo(() => {
    const lines = o.panels.map((panel) => {
      const out: Line[] = []
      for (const name of panel.names) if (main.value?.values[name]) out.push({ name, steps: main.value.steps, values: main.value.values[name], tone: out.length })
      for (const [name, label] of Object.entries(panel.held ?? {})) {
        const values = held.value?.values[name]
        if (held.value && values) out.push({ name: label, steps: held.value.steps, values, tone: 1 + out.length })
      }
      return { panel, lines: panel.title === 'Stability' ? out.slice(0, 3) : out.slice(0, 4) }
    })
    return lines.filter((x) => x.lines.length > 0)
  }, [o.panels, main.value, held.value])
  const ownLines = useMemo<Line[]>(() => (own && other.value?.values[own] ? [{ name: own, steps: other.value.steps, values: other.value.values[own], tone: 3 }] : []), [own, other.value])
  useKeys({ g: () => go(href(place.run, 'groups')), t: () => go(href(place.run, 'trajectories')) })
  const stages = o.stages.filter((s) => s.steps > 0)
  const all = stages.find((s) => s.name === stage)?.metrics ?? []
  if (stages.length === 0) return <Empty>No step has been measured yet. Curves come with the first one.</Empty>
  const open = stage === 'grpo' ? (step: number) => go(href(place.run, 'groups', { stage, step })) : undefined
  return (
    <section aria-label="Curves">
      <div className="bar">
        <label>
          Stage{' '}
          <select value={stage} onChange={(e) => change(place, { stage: e.target.value })}>
            {stages.map((s) => <option key={s.name} value={s.name}>{visible(s.name)}</option>)}
          </select>
        </label>
        <label>
          One more{' '}
          <select value={own} onChange={(e) => { setOwn(e.target.value); change(place, { metric: e.target.value }) }}>
            <option value="">choose a metric</option>
            {all.map((m) => <option key={m} value={m}>{visible(m)}</option>)}
          </select>
        </label>
        <span className="quiet">c checkpoint, e evaluation, r restart{open ? '; a click opens the groups of a step' : ''}</span>
      </div>
      <div className="plots">
        {drawn.map(({ panel, lines }) => <Plot key={panel.title} title={panel.title} lines={lines} marks={marks} share={panel.share} onStep={open} />)}
        {ownLines.length > 0 && <Plot title={words(own)} lines={ownLines} marks={marks} onStep={open} />}
      </div>
      {main.failure && <p className="problem">{main.failure.what}</p>}
    </section>
  )
}

// restarts are steps at which an attempt of the run began anew: elapsed time of work went on, and programs were compiled again.
function restarts(s: Series | undefined): number[] {
  const programs = s?.values['time/programs']
  if (!s || !programs) return []
  const out: number[] = []
  for (let i = 1; i < s.steps.length; i++) if ((programs[i] ?? 0) < (programs[i - 1] ?? 0)) out.push(s.steps[i])
  return out
}
