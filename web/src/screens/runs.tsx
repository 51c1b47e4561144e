import { useState } from 'react'
import { useAnswer } from '../ask'
import { Empty, Waits } from '../parts'
import { go, href } from '../place'
import { date, visible } from '../words'

export interface Listed {
  key: string
  path: string
  created?: string
  state: string
  live: boolean
  verb: string
  base: string
  steps: number
  rows: number
  error?: string
  tasks?: boolean
}

export function Runs({ version }: { version: number }) {
  const [picked, pick] = useState<string[]>([])
  const answer = useAnswer<Listed[]>('runs', {}, version)
  return (
    <Waits of={answer}>
      {(list) =>
        list.length === 0 ? (
          <Empty>There is no run here yet. <code>hone demo</code> makes one in about ten minutes.</Empty>
        ) : (
          <>
            <h2>Runs</h2>
            <div className="bar">
              <button disabled={picked.length < 2} onClick={() => go(href('', 'compare', { runs: picked.join(',') }))}>Compare {picked.length || ''} chosen</button>
              <span className="quiet">Choose two or more to see their curves in one plot.</span>
            </div>
            <div className="scroll">
              <table>
                <thead><tr><th>choose</th><th>run</th><th>made by</th><th>begun</th><th>state</th><th>base model</th><th className="n">steps</th><th className="n">trajectories</th></tr></thead>
                <tbody>
                  {list.map((r) => (
                    <tr key={r.key}>
                      <td><input type="checkbox" disabled={r.tasks} aria-label={'choose ' + r.key} checked={picked.includes(r.key)} onChange={() => pick((p) => (p.includes(r.key) ? p.filter((k) => k !== r.key) : [...p, r.key]))} /></td>
                      <td><a href={href(r.key, r.tasks ? 'tasks' : 'overview')}>{visible(r.key)}</a></td>
                      <td>{r.verb}</td>
                      <td>{date(r.created)}</td>
                      <td>{r.error ? <span className="bad">{visible(r.error)}</span> : <>{r.live && <i className="live" aria-hidden="true" />}{visible(r.state)}</>}</td>
                      <td>{visible(r.base)}</td>
                      <td className="n">{r.steps}</td>
                      <td className="n">{r.rows.toLocaleString('en')}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )
      }
    </Waits>
  )
}
