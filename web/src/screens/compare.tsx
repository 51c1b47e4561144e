import { useEffect, useMemo, useState } from 'react'
import { ask, failureOf, type Failure } from '../ask'
import { Empty, Problem } from '../parts'
import { change, href, type Place } from '../place'
import { Plot, type Line } from '../plot'
import { duration, number, percent, visible } from '../words'
import type { OverviewOf, Series } from './overview'

interface Of {
  o: OverviewOf
  series: Series[]
}

const shown = ['reward', 'success', 'loss', 'eval_loss', 'entropy', 'sampling/mismatch_kl', 'grad_norm', 'step_time']

export function Compare({ place }: { place: Place }) {
  const keys = useMemo(() => (place.params.get('runs') ?? '').split(',').filter(Boolean), [place.params])
  const [got, set] = useState<{ of: Of[]; failure?: Failure }>({ of: [] })
  useEffect(() => {
    let gone = false
    Promise.all(
      keys.map(async (run) => {
        const o = await ask<OverviewOf>('overview', { run })
        const stages = o.stages.filter((s) => s.steps > 0).map((s) => s.name)
        return { o, series: await Promise.all(stages.map((stage) => ask<Series>('series', { run, stage, names: shown.join(',') }))) }
      }),
    ).then((of) => gone || set({ of }), (err) => gone || set({ of: [], failure: failureOf(err) }))
    return () => void (gone = true)
  }, [keys])
  const plots = useMemo(() => {
    const out: { title: string; lines: Line[]; share: boolean }[] = []
    const stages = [...new Set(got.of.flatMap((x) => x.series.map((s) => s.stage)))]
    for (const stage of stages) {
      for (const name of shown) {
        const lines = got.of.flatMap((x, tone) => {
          const s = x.series.find((y) => y.stage === stage)
          return s?.values[name] ? [{ name: x.o.key, steps: s.steps, values: s.values[name], tone }] : []
        })
        if (lines.length > 0) out.push({ title: `${stage}: ${name}`, lines, share: name === 'success' })
      }
    }
    return out
  }, [got])
  if (keys.length === 0) return <Empty>No runs are chosen. <a href={href('', 'runs')}>Choose two or more</a>.</Empty>
  return (
    <>
      <p><a href="#/">&larr; runs</a></p>
      <h2>Runs side by side</h2>
      {got.failure && <Problem failure={got.failure} />}
      <div className="scroll">
        <table>
          <thead><tr><th>run</th><th>state</th><th>base model</th><th className="n">held-out success</th><th className="n">reward</th><th className="n">groups that teach</th><th className="n">steps</th><th className="n">work</th><th><span className="hide">leave out</span></th></tr></thead>
          <tbody>
            {got.of.map(({ o }) => {
              const c = o.cards
              return (
                <tr key={o.key}>
                  <th scope="row"><a href={href(o.key, 'overview')}>{visible(o.key)}</a></th>
                  <td>{visible(o.state)}</td>
                  <td>{visible(o.facts.find(([n]) => n === 'base model')?.[1] ?? '')}</td>
                  <td className="n">{c.held_out ? `${percent(c.held_out.mean)} (${percent(c.held_out.low)} to ${percent(c.held_out.high)})` : '-'}</td>
                  <td className="n">{c.reward ? number(c.reward.mean) : '-'}</td>
                  <td className="n">{c.trainable ? percent(c.trainable.mean) : '-'}</td>
                  <td className="n">{c.done}</td>
                  <td className="n">{duration(c.seconds)}</td>
                  <td><button className="link" onClick={() => change(place, { runs: keys.filter((k) => k !== o.key).join(',') })}>leave out</button></td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <div className="plots">{plots.map((p) => <Plot key={p.title} {...p} />)}</div>
    </>
  )
}
