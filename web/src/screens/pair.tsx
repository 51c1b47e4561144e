// One scenario as two systems did it, turn beside turn.
import { useAnswer } from '../ask'
import { opening, signature, type Episode } from '../episode'
import { Block, Text, Waits } from '../parts'
import { change, href, type Place } from '../place'
import { duration, number, visible, words } from '../words'
import { Mark } from './trajectories'

type Attempts = Record<string, { name: string; passed: boolean; lost?: boolean }[]>

export function Pair({ place, task, scenario, systems, attempts }: { place: Place; task?: { task: string; made: boolean; kind?: string; difficulty?: string }; scenario: string; systems: string[]; attempts: Attempts }) {
  const all = systems.flatMap((s) => (attempts[s] ?? []).map((a, i) => ({ ...a, label: (attempts[s].length > 1 ? `${s}, repeat ${i}` : s) })))
  const left = place.params.get('left') ?? all[0]?.name
  const right = place.params.get('right') ?? (attempts[systems[systems.length - 1]]?.[0]?.name || all[all.length - 1]?.name)
  const rest = Object.fromEntries([...place.params].filter(([k]) => !['scenario', 'left', 'right'].includes(k)))
  return (
    <>
      <p><a href={href(place.run, 'evaluation', rest)}>&larr; evaluation</a></p>
      <h2 className="task"><Text>{task?.task || scenario}</Text></h2>
      <p className="quiet"><Text>{scenario}</Text>{task && <> &middot; {task.made ? 'a made task' : 'no maker is recorded'}{task.kind && `, ${visible(task.kind)}`}{task.difficulty && `, ${visible(task.difficulty)}`}</>}</p>
      <div className="pair tight">
        {[['left', left], ['right', right]].map(([side, name]) => (
          <div key={side}>
            <label>
              <span className="hide">{side} system</span>
              <select value={name} onChange={(e) => change(place, { [side!]: e.target.value })}>
                {all.map((a) => <option key={a.name} value={a.name}>{visible(a.label)}: {a.lost ? 'lost' : a.passed ? 'passed' : 'failed'}</option>)}
              </select>
            </label>
            {name && <Side place={place} name={name} />}
          </div>
        ))}
      </div>
    </>
  )
}

function Side({ place, name }: { place: Place; name: string }) {
  const answer = useAnswer<Episode>('episode', { run: place.run, id: name })
  return (
    <Waits of={answer}>
      {(e) => {
        const t = e.trajectory
        const checks = t.terms?.find((x) => x.name === 'checks')
        return (
          <div className="chat">
            <p><Mark passed={checks ? (checks.score >= 1 ? 1 : 0) : 2} outcome={t.outcome} /> <a href={href(place.run, 'trajectory', { id: name })}><Text>{name}</Text></a> <span className="quiet">reward {number(t.reward)}, {words(t.stop_reason)}, {duration(t.seconds)}</span></p>
            {checks?.why && <p className="wrong"><Text>{checks.why}</Text></p>}
            {opening(t).filter((m) => m.role !== 'system').map((m, i) => <article key={'o' + i} className={'message ' + m.role}><h3>{m.role}</h3><Block className="small">{m.content}</Block></article>)}
            {(t.turns ?? []).map((turn, k) => (
              <article key={k} className="message assistant">
                <h3>turn {k}</h3>
                {turn.content && <Block className="small">{turn.content}</Block>}
                {turn.parse_error && <p className="wrong"><Text>{turn.parse_error}</Text></p>}
                {(turn.calls ?? []).map((c, i) => {
                  const r = turn.results?.[i]
                  return (
                    <div key={i} className="call" data-call={signature(c)}>
                      <div className="call-head"><Text className="tool">{c.Name}</Text>{r && <span className={'status ' + r.status}>{words(r.status)} {duration(r.seconds)}</span>}</div>
                      <Block className="small args">{c.Arguments}</Block>
                      {r && <Block className="small result">{r.text || r.error}</Block>}
                    </div>
                  )
                })}
              </article>
            ))}
          </div>
        )
      }}
    </Waits>
  )
}
