import { useMemo } from 'react'
import { ask, useFetched } from '../ask'
import { opening, signature, usual, type Episode, type Turn } from '../episode'
import { Block, Empty, TermLegend, Terms, Text, useKeys, VirtualList, Waits } from '../parts'
import { change, href, type Place } from '../place'
import type { Followed, Rows } from '../rows'
import { count, duration, number, visible, words } from '../words'
import { Mark } from './trajectories'

interface Compared {
  asks: string
  names: string[]
  advantages: (number[] | null)[]
  says: string[]
}

interface GroupOf {
  asks: string
  attempts: Episode[]
  advantages: (number[] | null)[]
  says: string[]
}

interface Listed {
  scenario: string
  n: number
  scored: number
  mean: number
  spread: number
  passed: number
}

export function Groups({ place, followed }: { place: Place; followed: Followed }) {
  const { rows } = followed
  const stages = useMemo(() => stagesOf(rows), [rows, rows.version])
  const stage = place.params.get('stage') ?? (stages.find((s) => s.name === 'grpo') ?? stages[0])?.name ?? ''
  const steps = stages.find((s) => s.name === stage)?.steps ?? []
  const step = place.params.has('step') ? Number(place.params.get('step')) : (steps[steps.length - 1] ?? 0)
  const list = useMemo(() => groupsOf(rows, stage, step), [rows, rows.version, stage, step])
  const scenario = place.params.get('scenario') ?? list[0]?.scenario ?? ''
  const at = list.findIndex((g) => g.scenario === scenario)
  const choose = (i: number) => list[i] && change(place, { stage, step, scenario: list[i].scenario, turn: '' })
  const jump = (by: number) => {
    const i = steps.indexOf(step)
    const next = i < 0 ? steps[steps.length - 1] : steps[Math.max(0, Math.min(steps.length - 1, i + by))]
    if (next !== undefined) change(place, { stage, step: next, scenario: '', turn: '' })
  }
  useKeys({ j: () => choose(Math.min(list.length - 1, at + 1)), k: () => choose(Math.max(0, at - 1)), '[': () => jump(-1), ']': () => jump(1) })
  if (stages.length === 0 && !scenario) return <Empty>{followed.reading ? 'Reading the trajectories ...' : 'This run has no groups: nothing was attempted more than once in a step.'}</Empty>
  return (
    <div className="split">
      <div className="side">
        <div className="bar">
          <label>
            Stage{' '}
            <select value={stage} onChange={(e) => change(place, { stage: e.target.value, step: '', scenario: '' })}>
              {stages.map((s) => <option key={s.name} value={s.name}>{visible(s.name)}</option>)}
            </select>
          </label>
        </div>
        <label className="slider">
          Step {step}
          <input type="range" min={0} max={Math.max(0, steps.length - 1)} value={Math.max(0, steps.indexOf(step))} onChange={(e) => change(place, { stage, step: steps[Number(e.target.value)], scenario: '', turn: '' })} aria-valuetext={`step ${step}`} />
        </label>
        <p className="quiet">{count(list.length, 'group')}, those that teach first</p>
        <VirtualList count={list.length} height={46} at={at} label="Groups of the step">
          {(i) => {
            const g = list[i]
            return (
              <a key={g.scenario} className={'entry' + (i === at ? ' here' : '')} href={href(place.run, 'groups', { stage, step, scenario: g.scenario })} aria-current={i === at ? 'true' : undefined}>
                <Text className="clip">{g.scenario}</Text>
                <span className="quiet">
                  {g.passed} of {g.n} pass &middot; {g.scored ? `${number(g.mean)} \u00b1 ${number(g.spread)}` : 'not scored yet'}{g.scored > 1 && g.spread === 0 ? ' \u00b7 no spread' : ''}
                </span>
              </a>
            )
          }}
        </VirtualList>
      </div>
      <div className="main">{scenario ? <Group place={place} stage={stage} step={step} scenario={scenario} version={followed.reading ? 0 : followed.version} /> : <Empty>Step {step} has no group. Choose another.</Empty>}</div>
    </div>
  )
}

function stagesOf(rows: Rows): { name: string; steps: number[] }[] {
  const by = new Map<number, Map<number, Set<number>>>()
  const several = new Set<number>()
  for (let i = 0; i < rows.length; i++) {
    const s = rows.cols.stage[i]
    let steps = by.get(s)
    if (!steps) by.set(s, (steps = new Map()))
    let seen = steps.get(rows.cols.step[i])
    if (!seen) steps.set(rows.cols.step[i], (seen = new Set()))
    if (seen.has(rows.cols.scenario[i])) several.add(s)
    seen.add(rows.cols.scenario[i])
  }
  return [...by].filter(([s]) => several.has(s)).map(([s, steps]) => ({ name: rows.stages[s], steps: [...steps.keys()].sort((a, b) => a - b) }))
}

function groupsOf(rows: Rows, stage: string, step: number): Listed[] {
  const s = rows.stages.indexOf(stage)
  const by = new Map<number, number[]>()
  for (let i = 0; i < rows.length; i++) {
    if (rows.cols.stage[i] !== s || rows.cols.step[i] !== step) continue
    const list = by.get(rows.cols.scenario[i])
    if (list) list.push(i)
    else by.set(rows.cols.scenario[i], [i])
  }
  const out = [...by].map(([scenario, members]) => {
    const rewards = members.map((i) => rows.reward[i]).filter((x): x is number => x !== null)
    const mean = rewards.reduce((a, b) => a + b, 0) / (rewards.length || 1)
    const spread = rewards.length > 1 ? Math.sqrt(rewards.reduce((a, b) => a + (b - mean) ** 2, 0) / (rewards.length - 1)) : 0
    return { scenario: rows.scenarios[scenario], n: members.length, scored: rewards.length, mean, spread: spread < 1e-12 ? 0 : spread, passed: members.filter((i) => rows.cols.passed[i] === 1).length }
  })
  return out.sort((a, b) => b.spread - a.spread || a.mean - b.mean || (a.scenario < b.scenario ? -1 : 1))
}

function Group({ place, stage, step, scenario, version }: { place: Place; stage: string; step: number; scenario: string; version: number }) {
  const answer = useFetched<GroupOf>(`${place.run} ${stage} ${step} ${scenario}`, version, async () => {
    const c = await ask<Compared>('group', { run: place.run, stage, step, scenario })
    return { ...c, attempts: await Promise.all(c.names.map((id) => ask<Episode>('episode', { run: place.run, id }))) }
  })
  return <Waits of={answer}>{(g) => <Columns g={g} place={place} scenario={scenario} />}</Waits>
}

function Columns({ g, place, scenario }: { g: GroupOf; place: Place; scenario: string }) {
  const names = useMemo(() => [...new Set(g.attempts.flatMap((a) => (a.trajectory.terms ?? []).map((t) => t.name)))], [g])
  const turns = g.attempts.map((a) => a.trajectory.turns ?? [])
  const same = useMemo(() => usual(turns), [g])
  const span = Math.max(0.001, ...g.attempts.map((a) => (a.trajectory.terms ?? []).reduce((sum, t) => sum + Math.max(0, t.score * t.weight), 0)))
  const at = place.params.get('turn')
  const first = g.attempts[0]
  return (
    <>
      <h2 className="task"><Text>{g.asks || (first ? (opening(first.trajectory).findLast((m) => m.role === 'user')?.content ?? scenario) : scenario)}</Text></h2>
      <p className="quiet"><Text>{scenario}</Text> &middot; {count(g.attempts.length, 'attempt')}, turn beside turn. A call that is not the usual one of its turn is marked <span className="differs">differs</span>.</p>
      <TermLegend names={names} />
      <div className="columns-box" tabIndex={0} role="group" aria-label="Attempts as columns">
        <table className="columns">
          <thead>
            <tr>
              <th scope="col"><span className="hide">turn</span></th>
              {g.attempts.map((a, i) => {
                const t = a.trajectory
                const checks = t.terms?.find((x) => x.name === 'checks')
                const list = g.advantages[i]
                return (
                  <th key={a.name} scope="col">
                    <a href={href(place.run, 'trajectory', { id: a.name })}>
                      <Mark passed={checks ? (checks.score >= 1 ? 1 : 0) : 2} outcome={t.outcome} /> attempt {t.rollout}
                    </a>
                    <div className="sum">
                      <b>{a.scored ? number(t.reward) : 'not scored'}</b>
                      <span title={g.says[i]}>advantage {list ? [...new Set(list.map((x) => number(x)))].join(', ') : 'none'}</span>
                    </div>
                    <Terms terms={t.terms ?? []} names={names} span={span} />
                    {t.outcome !== 'ok' && <div className="tag">{words(t.outcome)}, {words(t.stop_reason)}</div>}
                    {(t.terms ?? []).filter((x) => x.judgement || (x.why && x.score < 1)).map((x) => (
                      <p key={x.name} className="why"><Text>{x.name}</Text>: <Text>{x.why || (x.judgement ? `${x.judgement.model} gave ${number(x.score)}` : '')}</Text></p>
                    ))}
                    {t.error && <p className="why bad"><Text>{t.error}</Text></p>}
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {same.map((usualCalls, k) => (
              <tr key={k} className={String(k) === at ? 'here' : undefined}>
                <th scope="row"><a href={href(place.run, 'groups', { ...Object.fromEntries(place.params), turn: k })} aria-label={`turn ${k}`}>{k}</a></th>
                {turns.map((list, i) => (
                  <td key={g.attempts[i].name}>{list[k] ? <Cell turn={list[k]} usual={usualCalls} to={href(place.run, 'trajectory', { id: g.attempts[i].name, turn: k })} /> : <span className="quiet">ended</span>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function Cell({ turn, usual, to }: { turn: Turn; usual: Set<string>; to: string }) {
  return (
    <div className="cell">
      {turn.reasoning_content && <details><summary>thinks</summary><Block className="small">{turn.reasoning_content}</Block></details>}
      {turn.content && <Block className="small">{turn.content}</Block>}
      {turn.parse_error && <p className="wrong">no whole call: <Text>{turn.parse_error}</Text></p>}
      {(turn.calls ?? []).map((c, i) => {
        const r = turn.results?.[i]
        const differs = usual.size > 0 && !usual.has(signature(c))
        return (
          <div key={i} className={'call' + (differs ? ' other' : '')}>
            <div className="call-head">
              <Text className="tool">{c.Name}</Text>
              {differs && <span className="differs">differs</span>}
              {r && <span className={'status ' + r.status}>{words(r.status)} {duration(r.seconds)}</span>}
            </div>
            <Block className="small args">{c.Arguments}</Block>
            {r && <Block className="small result">{r.text || r.error}</Block>}
          </div>
        )
      })}
      <a className="more" href={to} aria-label="open this turn">open</a>
    </div>
  )
}
