import { useAnswer } from '../ask'
import { Block, Empty, Text, Waits } from '../parts'
import { href, type Place } from '../place'
import { count, date, duration, percent, visible, words } from '../words'

interface Tool { name: string; description: string; schema: string; findings: string[]; status: string; calls: number; answers: Record<string, number>; p50: number; p95: number }
interface Texts { description: string; schema: string; annotations: string }
interface Since { run: string; created: string; changes: { tool: string; kind: string; fields?: string[]; was: Texts; is: Texts }[] }
interface ServersOf { servers: { since: Since | null; name: string; version: string; era: string; transport: string; warnings: string[]; tools: Tool[] }[]; others: Tool[]; hash: string }

export function Servers({ place, version }: { place: Place; version: number }) {
  const answer = useAnswer<ServersOf>('servers', { run: place.run }, version)
  return (
    <Waits of={answer}>
      {(s) =>
        s.servers.length === 0 && s.others.length === 0 ? <Empty>This run keeps no list of tools.</Empty> : (
          <>
            {s.servers.map((x) => (
              <section key={x.name}>
                <h2><Text>{x.name}</Text></h2>
                <p className="quiet">{[x.version && `version ${x.version}`, x.transport, `protocol ${x.era}`, count(x.tools.length, 'tool')].filter(Boolean).map((t) => visible(String(t))).join(' \u00b7 ')}</p>
                {x.warnings.map((w) => <p key={w} className="alert"><Text>{w}</Text></p>)}
                <Changes since={x.since} />
                <Tools list={x.tools} place={place} />
              </section>
            ))}
            {s.others.length > 0 && <section><h2>Called, but in no list</h2><Tools list={s.others} place={place} /></section>}
            {s.hash && <p className="quiet">All runs whose tools have the SHA-256 {s.hash.slice(0, 16)} were shown the same ones.</p>}
          </>
        )
      }
    </Waits>
  )
}

// Changes are what a person approved otherwise the last time.
function Changes({ since }: { since: Since | null }) {
  if (!since) return <p className="quiet">No earlier run in this folder had this server, so its tools were approved with this one.</p>
  const last = <><Text>{since.run}</Text> ({date(since.created)})</>
  if (since.changes.length === 0) return <p className="quiet">Nothing has changed since the last run before that had it, {last}.</p>
  return (
    <div className="alert changes">
      <strong>{count(since.changes.length, 'tool')} changed</strong> since the last run before that had it, {last}.
      {since.changes.map((c) => (
        <details key={c.tool}>
          <summary><Text>{c.tool}</Text>: {c.kind}{c.fields && ` (${c.fields.join(', ')})`}</summary>
          {(['description', 'schema', 'annotations'] as const).filter((k) => c.was[k] !== c.is[k]).map((k) => (
            <div className="pair tight" key={k}>
              <div><p className="quiet">{k}, then</p><Block className="small">{c.was[k] || '-'}</Block></div>
              <div><p className="quiet">now</p><Block className="small">{c.is[k] || '-'}</Block></div>
            </div>
          ))}
        </details>
      ))}
    </div>
  )
}

function Tools({ list, place }: { list: Tool[]; place: Place }) {
  return (
    <div className="scroll">
      <table className="tools">
        <thead><tr><th>tool</th><th className="n">calls</th><th className="n">not ok</th><th className="n">median</th><th className="n">95%</th><th>what it says of itself</th></tr></thead>
        <tbody>
          {list.map((t) => {
            const wrong = Object.entries(t.answers).filter(([s]) => s !== 'ok')
            const n = wrong.reduce((sum, [, k]) => sum + k, 0)
            return (
              <tr key={t.name}>
                <th scope="row">{t.calls > 0 ? <a href={href(place.run, 'trajectories', { q: 'tool:' + t.name })}><Text>{t.name || 'no name'}</Text></a> : <Text>{t.name || 'no name'}</Text>}</th>
                <td className="n">{t.calls.toLocaleString('en')}</td>
                <td className="n" title={wrong.map(([s, k]) => `${words(s)} ${k}`).join(', ')}>{t.calls ? `${n} (${percent(n / t.calls)})` : '-'}</td>
                <td className="n">{t.calls ? duration(t.p50) : '-'}</td>
                <td className="n">{t.calls ? duration(t.p95) : '-'}</td>
                <td>
                  {t.findings.map((f) => <p key={f} className="wrong"><Text>{f}</Text></p>)}
                  <details><summary><Text>{t.description.slice(0, 120) || 'no description'}</Text></summary>{t.description.length > 120 && <Block className="small">{t.description}</Block>}<Block className="small args">{pretty(t.schema)}</Block></details>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
