// What an evaluation says beside its rates: what to do next, what is in no rate, repeats, costs, terms of the reward, what it can find.
import type { ReactNode } from 'react'
import { Lane, Text, type Interval } from '../parts'
import { href, type Place } from '../place'
import { count, dollars, duration, number, percent, points, visible, words } from '../words'
import type { EvaluationOf, Results } from './evaluation'

export function Next({ e, place }: { e: EvaluationOf; place: Place }) {
  if (e.next.length === 0) return null
  return (
    <section>
      <h2>Next</h2>
      <ul className="plain">
        {e.next.map((s) => (
          <li key={s.says}>
            {s.scenario ? <Task id={s.scenario} e={e} place={place} text={s.says} /> : visible(s.says)} {s.command && <code>{visible(s.command)}</code>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Task({ id, e, place, text }: { id: string; e: EvaluationOf; place: Place; text?: string }) {
  const said = text ?? (e.tasks[id]?.task || id)
  if (!e.attempts[id]) return <Text>{said}</Text>
  return <a href={href(place.run, 'evaluation', { ...Object.fromEntries(place.params), scenario: id })}><Text>{said}</Text></a>
}

// Learnt says which scenarios say little, since the model was trained on them or on near ones.
export function Learnt({ r, e, place }: { r: Results; e: EvaluationOf; place: Place }) {
  const on = r.trained_on ?? []
  const near = r.near_trained ?? []
  return (
    <>
      {on.length > 0 && <p className="problem">The model was trained on {count(on.length, 'scenario')} of these; success on them says little about new tasks: {on.slice(0, 20).map((id, i) => <span key={id}>{i > 0 && '; '}<Task id={id} e={e} place={place} /></span>)}{on.length > 20 && ` and ${on.length - 20} more`}.</p>}
      {near.length > 0 && (
        <div className="problem">
          <p>Near to what the model was trained on:</p>
          <ul className="plain">
            {near.slice(0, 20).map((n) => (
              <li key={n.scenario_id}><Task id={n.scenario_id} e={e} place={place} />: <Text>{n.source.name || n.source.where}</Text> ({n.same_values ? 'a near copy' : 'but for values, such as numbers'}, similarity {n.similarity.toFixed(2)})</li>
            ))}
            {near.length > 20 && <li>and {near.length - 20} more</li>}
          </ul>
        </div>
      )}
    </>
  )
}

// Lost is what is in no rate, and why.
export function Lost({ r, e, place }: { r: Results; e: EvaluationOf; place: Place }) {
  const order = (r.order ?? []).filter((s) => r.systems[s].num_excluded > 0)
  const outcomes = [...new Set(order.flatMap((s) => Object.keys(r.systems[s].excluded ?? {})))].sort()
  const broken = (r.order ?? []).flatMap((s) => (r.systems[s].checks_failed_to_run ?? []).map((b) => ({ ...b, system: s })))
  const unmeasured = r.unmeasured ?? []
  if (order.length === 0 && broken.length === 0 && unmeasured.length === 0) return null
  return (
    <section>
      <h2>In no rate</h2>
      {order.length > 0 && (
        <>
          <p className="quiet">These episodes ended by no fault of the model, or nobody can say how. The worst case is the whole episode, were all of them failures.</p>
          <Table head={['system', ...outcomes.map(words), 'of all', 'worst case']}>
            {order.map((s) => {
              const x = r.systems[s]
              return (
                <tr key={s}>
                  <th scope="row"><Text>{s}</Text></th>
                  {outcomes.map((o) => <td key={o} className="n">{x.excluded?.[o] ?? 0}</td>)}
                  <td className="n">{x.num_excluded} of {x.num_excluded + x.num_episodes}{x.unreliable && ', half or more: its rates say little'}</td>
                  <td className="n">{x.worst_case?.n ? percent(x.worst_case.mean) : '-'}</td>
                </tr>
              )
            })}
          </Table>
        </>
      )}
      {broken.length > 0 && (
        <>
          <h3>Checks that gave no verdict</h3>
          <ul className="plain">{broken.slice(0, 100).map((b, i) => <li key={i}><Task id={b.scenario_id} e={e} place={place} /> <Text>{b.check}</Text>, <Text>{b.system}</Text>: {count(b.num, 'episode')}</li>)}</ul>
        </>
      )}
      {unmeasured.length > 0 && <p>No system has an episode that counts of {count(unmeasured.length, 'scenario')}: {unmeasured.slice(0, 20).map((id, i) => <span key={id}>{i > 0 && '; '}<Task id={id} e={e} place={place} /></span>)}.</p>}
    </section>
  )
}

// Repeats are pass@k and pass^k, where scenarios were repeated.
export function Repeats({ r }: { r: Results }) {
  const order = (r.order ?? []).filter((s) => (r.systems[s].passes ?? []).length > 1)
  if (order.length === 0) return null
  const ks = [...new Set(order.flatMap((s) => r.systems[s].passes!.map((p) => p.k)))].sort((a, b) => a - b)
  return (
    <section>
      <h2>Over repeats</h2>
      <p className="quiet">pass@k: at least one of k attempts does the task. pass^k: each of k attempts does it.</p>
      <Table head={['system', '', ...ks.map((k) => `k = ${k}`)]}>
        {order.flatMap((s) => (['any', 'all'] as const).map((which) => (
          <tr key={s + which}>
            <th scope="row"><Text>{s}</Text></th>
            <td>{which === 'any' ? 'pass@k' : 'pass^k'}</td>
            {ks.map((k) => {
              const x = r.systems[s].passes!.find((p) => p.k === k)?.[which]
              return <td key={k} className="n">{x?.n ? <>{percent(x.mean)}<br /><span className="quiet">{percent(x.low)} to {percent(x.high)}</span></> : '-'}</td>
            })}
          </tr>
        )))}
      </Table>
    </section>
  )
}

// Amounts are what an episode takes.
export function Amounts({ r, e }: { r: Results; e: EvaluationOf }) {
  const order = r.order ?? []
  const rows: { name: string; says: string; unit: string; of: (s: string) => Interval | undefined }[] = []
  for (const m of e.metrics) {
    if (m.share || !order.some((s) => r.systems[s].metrics?.[m.name]?.n && r.systems[s].metrics![m.name].mean !== 0)) continue
    rows.push({ ...m, of: (s) => r.systems[s].metrics?.[m.name] })
    if (m.name === 'seconds') {
      rows.push({ name: 'seconds, median', says: 'half of the episodes take no longer', unit: 's', of: (s) => r.systems[s].seconds_p50 })
      rows.push({ name: 'seconds, 95th percentile', says: '19 of 20 episodes take no longer', unit: 's', of: (s) => r.systems[s].seconds_p95 })
    }
  }
  if (rows.length === 0) return null
  const text = (unit: string, x: number) => (unit === 's' ? duration(x) : unit === '$' ? dollars(x) : number(x))
  return (
    <section>
      <h2>Cost and time of an episode</h2>
      <Table head={['mean of the episodes', ...order]}>
        {rows.map((m) => (
          <tr key={m.name}>
            <th scope="row">{words(m.name)}<br /><span className="quiet">{m.says}</span></th>
            {order.map((s) => {
              const x = m.of(s)
              return <td key={s} className="n">{x?.n ? <>{text(m.unit, x.mean)}<br /><span className="quiet">{text(m.unit, x.low)} to {text(m.unit, x.high)}</span></> : '-'}</td>
            })}
          </tr>
        ))}
      </Table>
    </section>
  )
}

export function Rewards({ e }: { e: EvaluationOf }) {
  const order = e.order ?? []
  if (!e.terms?.length) return null
  const ends = e.terms.flatMap((t) => order.flatMap((s) => (t.scores[s]?.n ? [t.scores[s].low, t.scores[s].high] : [])))
  const [low, high] = [Math.min(0, ...ends), Math.max(1, ...ends)]
  return (
    <section>
      <h2>Terms of the reward</h2>
      <p className="quiet">The mean score of the episodes that have the term, before its weight.</p>
      <Table head={['term', 'weight', ...order.flatMap((s) => [s, ''])]}>
        {e.terms.map((t) => (
          <tr key={t.name}>
            <th scope="row"><Text>{t.name}</Text></th>
            <td className="n">{t.name === 'extra' ? 'minus what checks and end earned' : number(t.weight)}</td>
            {order.map((s) => {
              const x = t.scores[s]
              return [<td key={s} className="n">{x?.n ? number(x.mean) : '-'}</td>, <td key={s + 'lane'} className="lane-cell">{x?.n ? <Lane of={x} low={low} high={high} tone="blue" /> : null}</td>]
            })}
          </tr>
        ))}
      </Table>
    </section>
  )
}

// Power is how small a gain so many scenarios find.
export function Power({ e }: { e: EvaluationOf }) {
  const p = e.power
  if (!p) return null
  const repeats = [...new Set(p.rows.map((x) => x.repeats))]
  const gains = [...new Set(p.rows.map((x) => x.difference))]
  return (
    <section>
      <h2>What the evaluation can find</h2>
      <p className="says">
        {count(p.scenarios, 'scenario')} with {count(p.repeats, 'repeat')} {p.found ? <>find a gain of {(100 * p.detectable).toFixed(1)} points or more over <Text>{p.old}</Text>, in 80% of evaluations like this one.</> : <>are too few to find any gain over <Text>{p.old}</Text> for certain.</>}
      </p>
      <Table head={['gain in points', ...repeats.map((k) => `scenarios, ${count(k, 'repeat')}`)]}>
        {gains.map((g) => <tr key={g}><th scope="row">{points(g)}</th>{repeats.map((k) => <td key={k} className="n">{p.rows.find((x) => x.difference === g && x.repeats === k)?.scenarios || '-'}</td>)}</tr>)}
      </Table>
      <p className="quiet">By what was seen: <Text>{p.old}</Text> does {percent(p.rate, 1)}, attempts of one system at a scenario correlate by {p.within.toFixed(2)}, those of both by {p.across.toFixed(2)}.{!p.repeated && ' Without repeats the one is taken to be the other.'}{(p.family_size ?? 0) > 1 && ` A family of scenarios has ${number(p.family_size)} of them, whose differences correlate by ${(p.family ?? 0).toFixed(2)}.`}</p>
    </section>
  )
}

// Ran is where the time went, and what ran.
export function Ran({ e }: { e: EvaluationOf }) {
  const parts = e.parts ?? []
  const all = parts.reduce((sum, p) => sum + p.seconds, 0)
  return (
    <section className="pair">
      {parts.length > 0 && (
        <div>
          <h2>Time of the run</h2>
          <Table head={['part', 'time', 'share']}>
            {parts.map((p) => <tr key={p.name}><th scope="row"><Text>{p.name}</Text></th><td className="n">{duration(p.seconds)}</td><td className="n">{percent(p.seconds / (all || 1))}</td></tr>)}
          </Table>
          <p className="quiet">{parts.some((p) => p.name === 'models') ? "Times are added up over the episodes, many of which run at once. Orchestration is the part of the episodes' time in which no model, tool or user worked." : 'Orchestration is the time in which neither trainer nor sampler worked.'}</p>
        </div>
      )}
      {(e.facts ?? []).length > 0 && (
        <div>
          <h2>What ran</h2>
          <dl className="facts">{e.facts!.filter((f) => f.value).map((f) => <div key={f.name}><dt><Text>{f.name}</Text></dt><dd><Text>{f.value}</Text></dd></div>)}</dl>
        </div>
      )}
    </section>
  )
}

function Table({ head, children }: { head: string[]; children: ReactNode }) {
  return (
    <div className="scroll">
      <table>
        <thead><tr>{head.map((h, i) => <th key={i} className={i > 0 ? 'n' : undefined}>{h ? <Text>{h}</Text> : <span className="hide">drawn</span>}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
