import { useAnswer } from '../ask'
import { Empty, Lane, Text, Waits, type Interval } from '../parts'
import { change, href, type Place } from '../place'
import { count, number, percent, points, visible, words } from '../words'
import { Amounts, Learnt, Lost, Next, Power, Ran, Repeats, Rewards } from './measures'
import { Pair } from './pair'

interface Change { scenario_id: string; old: number; new: number; kind?: string }
interface Delta { old: string; new: string; episode: Interval; first_call?: Interval; regressions?: Change[]; gains?: Change[] }
interface Summary {
  n: number
  num_episodes: number
  num_excluded: number
  excluded?: Record<string, number>
  unreliable?: boolean
  worst_case?: Interval
  checks_failed_to_run?: { scenario_id: string; check: string; num: number }[]
  metrics?: Record<string, Interval>
  seconds_p50?: Interval
  seconds_p95?: Interval
  passes?: { k: number; any: Interval; all: Interval }[]
}
interface Regression { scenario_id: string; kind?: string; system: string; rate: number; others: Record<string, number>; fall: number; every: boolean }
export interface Results {
  systems: Record<string, Summary>
  deltas: Delta[] | null
  order?: string[]
  regressions?: Regression[]
  part_regressions?: { property: string; value: string; old: string; new: string; delta: Interval }[]
  breakdowns?: { name: string; values: { value: string; completion: Interval[]; first_call: Interval[]; deltas?: Interval[] }[]; left_out?: number }[]
  never_done?: string[]
  always_done?: string[]
  unmeasured?: string[]
  trained_on?: string[]
  near_trained?: { scenario_id: string; similarity: number; same_values: boolean; source: { name: string; where: string } }[]
}
export interface EvaluationOf extends Results {
  confidence: number
  notes?: string[]
  made: Results | null
  written: Results | null
  num_made: number
  num_written: number
  tasks: Record<string, { task: string; kind?: string; difficulty?: string; made: boolean; tools?: string[]; server?: string }>
  attempts: Record<string, Record<string, { name: string; passed: boolean; lost?: boolean }[]>>
  judge: { model: string; episodes: number; samples: number; agreement: number; several: number; first: number; later: number; num_first: number; num_later: number; failed: number }[]
  facts?: { name: string; value: string }[]
  next: { says: string; scenario?: string; command?: string }[]
  metrics: { name: string; says: string; unit: string; share: boolean }[]
  terms?: { name: string; weight: number; scores: Record<string, Interval> }[]
  parts?: { name: string; seconds: number }[]
  power?: { old: string; new: string; rate: number; within: number; across: number; family_size?: number; family?: number; repeated: boolean; scenarios: number; repeats: number; detectable: number; found: boolean; rows: { difference: number; repeats: number; scenarios: number }[] }
}

const titles: Record<string, string> = { completion: 'whole episode', first_call: 'first call', validity: 'valid calls', tool_efficiency: 'tool efficiency', turn_efficiency: 'turn efficiency', recovery: 'recovery', abstention: 'abstention' }
const shares = Object.keys(titles)

export function Evaluation({ place, version }: { place: Place; version: number }) {
  const answer = useAnswer<EvaluationOf>('evaluation', { run: place.run }, version)
  return <Waits of={answer}>{(e) => <Page e={e} place={place} />}</Waits>
}

function Page({ e, place }: { e: EvaluationOf; place: Place }) {
  const order = e.order ?? []
  const scenario = place.params.get('scenario')
  if (order.length === 0) return <Empty>This run has evaluated no system. <code>hone eval</code> does, on a split that nothing was learnt from.</Empty>
  if (scenario) return <Pair place={place} task={e.tasks[scenario]} scenario={scenario} systems={order} attempts={e.attempts[scenario] ?? {}} />
  const kind = place.params.get('tasks') ?? (e.written ? 'written' : 'all')
  const part: Results = (kind === 'made' && e.made) || (kind === 'written' && e.written) || e
  return (
    <>
      {(e.notes ?? []).map((n) => <p className="says" key={n}>{visible(n)}</p>)}
      {e.made && e.written ? (
        <div className="bar" role="group" aria-label="Which tasks">
          {([['written', `Tasks of people, or of no known maker (${e.num_written})`], ['made', `Made tasks (${e.num_made})`], ['all', 'Both together']] as const).map(([key, name]) => (
            <button key={key} aria-pressed={kind === key} onClick={() => change(place, { tasks: key })}>{name}</button>
          ))}
          <span className="quiet">A rate on made tasks is no rate on people's.</span>
        </div>
      ) : (
        <p className="quiet">{e.num_made > 0 ? `All ${count(e.num_made, 'task')} were made by a program or a model: no rate here is one on people's tasks.` : `All ${count(e.num_written, 'task')} were written by people, or have no record of who made them.`}</p>
      )}
      <Learnt r={part} e={e} place={place} />
      <Rates r={part} confidence={e.confidence} />
      <Deltas r={part} />
      <Next e={e} place={place} />
      <Lost r={part} e={e} place={place} />
      <Regressions r={part} e={e} place={place} />
      <Breakdowns r={part} />
      <Repeats r={part} />
      <Amounts r={part} e={e} />
      <Rewards e={e} />
      {e.judge.length > 0 && <Judges e={e} />}
      <Power e={e} />
      <Ends r={part} e={e} place={place} />
      <Ran e={e} />
    </>
  )
}

function Rates({ r, confidence }: { r: Results; confidence: number }) {
  const order = r.order ?? []
  return (
    <section>
      <h2>Rates</h2>
      <div className="scroll">
        <table>
          <thead><tr><th>system</th>{shares.filter((m) => order.some((s) => r.systems[s]?.metrics?.[m]?.n)).map((m) => <th key={m} colSpan={2}>{titles[m]}</th>)}<th className="n">scenarios</th><th className="n">lost</th></tr></thead>
          <tbody>
            {order.map((s) => (
              <tr key={s}>
                <th scope="row"><Text>{s}</Text></th>
                {shares.filter((m) => order.some((o) => r.systems[o]?.metrics?.[m]?.n)).map((m) => {
                  const x = r.systems[s]?.metrics?.[m]
                  return [
                    <td key={m} className="n">{x?.n ? percent(x.mean) : '-'}<br /><span className="quiet">{x?.n ? `${percent(x.low)} to ${percent(x.high)}` : ''}</span></td>,
                    <td key={m + 'lane'} className="lane-cell">{x?.n ? <Lane of={x} low={0} high={1} tone="blue" /> : null}</td>,
                  ]
                })}
                <td className="n">{r.systems[s]?.n}</td>
                <td className="n">{r.systems[s]?.num_excluded || '-'}{r.systems[s]?.unreliable ? ', too many' : ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="quiet">Intervals of {percent(confidence)}. Episodes that are lost say nothing of a system, and are in no rate.</p>
    </section>
  )
}

function Deltas({ r }: { r: Results }) {
  const deltas = r.deltas ?? []
  if (deltas.length === 0) return null
  const ends = deltas.flatMap((d) => [d.episode.low, d.episode.high, 0])
  const [low, high] = [Math.min(...ends), Math.max(...ends)]
  return (
    <section>
      <h2>Differences, scenario by scenario</h2>
      <div className="scroll">
        <table>
          <thead><tr><th>systems</th><th className="n">points</th><th>interval</th><th><span className="hide">drawn</span></th><th>verdict</th><th className="n">better</th><th className="n">worse</th></tr></thead>
          <tbody>
            {deltas.map((d) => {
              const x = d.episode
              const tone = x.low > 0 ? 'good' : x.high < 0 ? 'poor' : 'grey'
              return (
                <tr key={d.old + d.new}>
                  <th scope="row"><Text>{d.new}</Text> against <Text>{d.old}</Text></th>
                  <td className="n">{x.n ? points(x.mean) : '-'}</td>
                  <td>{x.n ? `${points(x.low)} to ${points(x.high)}` : ''}</td>
                  <td className="lane-cell wide">{x.n ? <Lane of={x} low={low} high={high} zero tone={tone} /> : null}</td>
                  <td>{!x.n ? 'no scenario in common' : x.low > 0 ? 'better' : x.high < 0 ? 'worse' : 'no clear difference'}</td>
                  <td className="n">{d.gains?.length ?? 0}</td>
                  <td className="n">{d.regressions?.length ?? 0}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function Regressions({ r, e, place }: { r: Results; e: EvaluationOf; place: Place }) {
  const list = r.regressions ?? []
  const gains = (r.deltas ?? []).flatMap((d) => (d.gains ?? []).map((c) => ({ ...c, pair: d })))
  return (
    <section>
      <h2>What got worse</h2>
      {(r.part_regressions ?? []).map((p, i) => <p key={i} className="says"><Text>{p.property}</Text> <Text>{p.value}</Text>: <Text>{p.new}</Text> does {points(p.delta.mean)} points less than <Text>{p.old}</Text> ({points(p.delta.low)} to {points(p.delta.high)}).</p>)}
      {list.length === 0 ? <p className="quiet">No system does any scenario less often than another it is compared with.</p> : (
        <TaskTable>
          {list.slice(0, 200).map((x) => (
            <tr key={x.scenario_id + x.system}>
              <td><a href={href(place.run, 'evaluation', { ...Object.fromEntries(place.params), scenario: x.scenario_id })}><Text>{e.tasks[x.scenario_id]?.task || x.scenario_id}</Text></a></td>
              <td><Text>{x.system}</Text> {percent(x.rate)}</td>
              <td>{Object.entries(x.others).map(([s, rate]) => `${visible(s)} ${percent(rate)}`).join(', ')}</td>
              <td>{visible(x.kind ?? '')}</td>
            </tr>
          ))}
        </TaskTable>
      )}
      {gains.length > 0 && (
        <details>
          <summary>What got better ({gains.length})</summary>
          <TaskTable>
            {gains.slice(0, 200).map((c, i) => (
              <tr key={i}>
                <td><a href={href(place.run, 'evaluation', { ...Object.fromEntries(place.params), scenario: c.scenario_id })}><Text>{e.tasks[c.scenario_id]?.task || c.scenario_id}</Text></a></td>
                <td><Text>{c.pair.new}</Text> {percent(c.new)}</td>
                <td><Text>{c.pair.old}</Text> {percent(c.old)}</td>
                <td>{visible(c.kind ?? '')}</td>
              </tr>
            ))}
          </TaskTable>
        </details>
      )}
    </section>
  )
}

function TaskTable({ children }: { children: React.ReactNode }) {
  return (
    <div className="scroll">
      <table className="tasks">
        <thead><tr><th>task</th><th>does it</th><th>others</th><th>kind</th></tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

function Breakdowns({ r }: { r: Results }) {
  const order = r.order ?? []
  return (
    <section>
      <h2>By tool, server, difficulty</h2>
      {(r.breakdowns ?? []).map((b) => (
        <details key={b.name} open={b.values.length <= 12}>
          <summary>by {words(visible(b.name))}{b.left_out ? `, ${b.left_out} of few scenarios left out` : ''}</summary>
          <div className="scroll">
            <table>
              <thead><tr><th>{visible(b.name)}</th>{order.map((s) => <th key={s} colSpan={2}><Text>{s}</Text></th>)}<th className="n">scenarios</th></tr></thead>
              <tbody>
                {b.values.map((v) => (
                  <tr key={v.value}>
                    <th scope="row"><Text>{v.value}</Text></th>
                    {v.completion.map((x, i) => [
                      <td key={i} className="n">{x.n ? percent(x.mean) : '-'}</td>,
                      <td key={i + 'lane'} className="lane-cell">{x.n ? <Lane of={x} low={0} high={1} tone="blue" /> : null}</td>,
                    ])}
                    <td className="n">{Math.max(...v.completion.map((x) => x.n))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      ))}
    </section>
  )
}

function Judges({ e }: { e: EvaluationOf }) {
  return (
    <section>
      <h2>The judge</h2>
      {e.judge.map((j) => (
        <p key={j.model} className="says">
          <Text>{j.model}</Text> scored {count(j.episodes, 'episode')} by {count(j.samples, 'sample')}.{' '}
          {j.several > 0 && `Of ${j.several} with several samples it agrees with itself on ${percent(j.agreement)}. `}
          {j.num_first > 0 && j.num_later > 0 && `An episode that is shown first gets ${number(j.first)}, at other places ${number(j.later)}. `}
          {j.failed > 0 && `${count(j.failed, 'episode')} were scored by it in another judge's place.`}
        </p>
      ))}
    </section>
  )
}

function Ends({ r, e, place }: { r: Results; e: EvaluationOf; place: Place }) {
  const link = (id: string) => <li key={id}><a href={href(place.run, 'evaluation', { ...Object.fromEntries(place.params), scenario: id })}><Text>{e.tasks[id]?.task || id}</Text></a></li>
  const never = r.never_done ?? []
  return (
    <section>
      <h2>All tasks</h2>
      {never.length > 0 && <details><summary>No system ever does these ({never.length})</summary><ul className="plain">{never.slice(0, 300).map(link)}</ul></details>}
      {(r.always_done ?? []).length > 0 && <details><summary>All systems always do these ({r.always_done!.length})</summary><ul className="plain">{r.always_done!.slice(0, 300).map(link)}</ul></details>}
      <details><summary>Every task ({Object.keys(e.tasks).length})</summary><ul className="plain">{Object.keys(e.tasks).sort().slice(0, 1000).map(link)}</ul></details>
    </section>
  )
}
